/* SPDX-License-Identifier: MIT */
/* Small language helpers that every room uses. Header only, no state. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

/* _cleanup_(f) T x = NULL;  calls f(&x) when x leaves its scope. */
#define _cleanup_(f) __attribute__((cleanup(f)))

/* Makes f_p(T *p), the form _cleanup_ wants, from T f(T) ("x_unref accepts NULL and returns NULL"). */
#define DEFINE_CLEANUP(type, f)                                                                    \
	static inline void f##_p(type *p)                                                          \
	{                                                                                          \
		if (*p)                                                                            \
			f(*p);                                                                     \
	}

static inline void free_p(void *p)
{
	free(*(void **)p);
}

static inline void close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ _cleanup_(free_p)
#define _cleanup_close_ _cleanup_(close_p)

/* Hands a value out of a _cleanup_ variable: return TAKE(x); */
#define TAKE(ptr)                                                                                  \
	({                                                                                         \
		__typeof__(ptr) taken_ = (ptr);                                                    \
		(ptr) = NULL;                                                                      \
		taken_;                                                                            \
	})

static inline uint64_t round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

static inline uint64_t ceil_div(uint64_t value, uint64_t divisor)
{
	return (value + divisor - 1) / divisor;
}
