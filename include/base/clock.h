/* SPDX-License-Identifier: MIT */
/* CLOCK_MONOTONIC, for durations and deadlines. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline uint64_t now_us(void)
{
	return (uint64_t)now_ns() / 1000;
}

static inline int64_t now_ms(void)
{
	return now_ns() / 1000000;
}
