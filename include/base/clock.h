/* SPDX-License-Identifier: MIT */
/* Times as one number. now_*() are CLOCK_MONOTONIC, for durations and deadlines; wall_ns() is what stamps files. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t timespec_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return timespec_ns(&now);
}

static inline int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return timespec_ns(&now);
}

static inline uint64_t now_us(void)
{
	return (uint64_t)now_ns() / 1000;
}

static inline int64_t now_ms(void)
{
	return now_ns() / 1000000;
}
