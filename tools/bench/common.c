/* SPDX-License-Identifier: MIT */
#include "tools/bench/common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

double clock_seconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double wall(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

void report(const char *what, double value, const char *unit, const char *wanted)
{
	printf("%-62s %10.3f %-6s wanted: %s\n", what, value, unit, wanted);
	fflush(stdout);
}

void give_up(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

int shell(const char *format, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double quantile(double *values, size_t n, double part)
{
	qsort(values, n, sizeof(values[0]), compare_doubles);
	return values[(size_t)((double)(n - 1) * part)];
}
