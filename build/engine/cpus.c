/* SPDX-License-Identifier: MIT */
/*
 * Sources: sched_setaffinity(2); Linux Documentation/admin-guide/cgroup-v2.rst, "cpu.max"; Documentation/scheduler/sched-bwc.rst.
 */
#include "build/engine/cpus.h"

#include "base/macro.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static unsigned affinity(void)
{
	/* More CPUs than a cpu_set_t holds (1024) make the call fail with EINVAL until the set is large enough. */
	for (int cpus = CPU_SETSIZE; cpus <= CPU_SETSIZE * 64; cpus *= 2) {
		cpu_set_t *set = CPU_ALLOC((size_t)cpus);
		if (!set)
			break;
		size_t size = CPU_ALLOC_SIZE((size_t)cpus);
		int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
		CPU_FREE(set);
		if (count > 0)
			return (unsigned)count;
	}
	return 1;
}

static bool read_line(const char *directory, const char *file, char *line, size_t size)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, file) >= sizeof(path))
		return false;
	FILE *stream = fopen(path, "re");
	if (!stream)
		return false;
	bool found = fgets(line, (int)size, stream) != NULL;
	fclose(stream);
	return found;
}

/* CPUs that the quota of one cgroup directory allows; UINT_MAX: no limit. */
static unsigned quota_of(const char *directory)
{
	char line[128];
	long long quota = -1, period = 0;

	if (read_line(directory, "cpu.max", line, sizeof(line))) {
		if (sscanf(line, "%lld %lld", &quota, &period) != 2)
			return UINT_MAX;	/* "max 100000" */
	} else if (read_line(directory, "cpu.cfs_quota_us", line, sizeof(line))) {
		if (sscanf(line, "%lld", &quota) != 1 || !read_line(directory, "cpu.cfs_period_us", line, sizeof(line)) ||
		    sscanf(line, "%lld", &period) != 1)
			return UINT_MAX;
	}
	if (quota <= 0 || period <= 0)
		return UINT_MAX;
	return (unsigned)MIN(ceil_div((uint64_t)quota, (uint64_t)period), UINT_MAX);
}

/* The smallest quota on the way from `group` up to the root of the hierarchy mounted at `mount`. */
static unsigned quota_upwards(const char *mount, const char *group)
{
	char directory[PATH_MAX];
	unsigned smallest = UINT_MAX;
	size_t root = strlen(mount);

	if ((size_t)snprintf(directory, sizeof(directory), "%s%s", mount, group) >= sizeof(directory))
		return UINT_MAX;
	for (;;) {
		smallest = MIN(smallest, quota_of(directory));
		char *slash = strrchr(directory, '/');
		if (!slash || (size_t)(slash - directory) < root)
			return smallest;
		*slash = 0;
	}
}

static bool has_controller(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = list; *at;) {
		size_t word = strcspn(at, ",");
		if (word == length && memcmp(at, name, length) == 0)
			return true;
		at += word + (at[word] == ',');
	}
	return false;
}

static unsigned cgroup_quota(void)
{
	_cleanup_free_ char *line = NULL;
	size_t allocated = 0;
	unsigned smallest = UINT_MAX;
	FILE *stream = fopen("/proc/self/cgroup", "re");

	if (!stream)
		return UINT_MAX;
	while (getline(&line, &allocated, stream) > 0) {	/* hierarchy:controllers:path */
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*group++ = 0;
		group[strcspn(group, "\n")] = 0;
		controllers++;
		if (!*controllers)
			smallest = MIN(smallest, MIN(quota_upwards("/sys/fs/cgroup", group), quota_upwards("/sys/fs/cgroup/unified", group)));
		else if (has_controller(controllers, "cpu"))
			smallest = MIN(smallest, MIN(quota_upwards("/sys/fs/cgroup/cpu", group), quota_upwards("/sys/fs/cgroup/cpu,cpuacct", group)));
	}
	fclose(stream);
	return smallest;
}

unsigned cpus_available(void)
{
	return MAX(1u, MIN(affinity(), cgroup_quota()));
}
