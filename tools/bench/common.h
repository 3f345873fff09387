/* SPDX-License-Identifier: MIT */
/* What the benchmarks share. They print what was measured beside what is wanted; nothing fails for being slow. */
#pragma once

#include "base/macro.h"

#include <stddef.h>
#include <time.h>

double clock_seconds(clockid_t id);
double wall(void);					/* monotonic */
void report(const char *what, double value, const char *unit, const char *wanted);
_Noreturn void give_up(const char *what, const char *why);
PRINTF_LIKE(1, 2) int shell(const char *format, ...);	/* what system() returns */

/* The value below which `part` (0 to 1) of the n values lie; sorts them. */
double quantile(double *values, size_t n, double part);
