/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many CPUs this process may use at once: the smaller of its affinity mask and its cgroup's quota (cpu.max of version 2,
 * cpu.cfs_quota_us of version 1, at every level up to the root), rounded up, at least 1.
 */
unsigned cpus_available(void);
