/* SPDX-License-Identifier: MIT */
/*
 * Ways to read a file by system calls. Each opens `path`, which nobody has looked at before, and writes what it got to `out`: the bytes,
 * preceded by sizes it was told. 0, or a negative errno.
 */
#pragma once

#include <stdbool.h>

struct call {
	const char *name;
	int (*read)(const char *path, int out);
	bool may_lack;			/* not every kernel or file system can */
};

extern const struct call calls[];	/* ends with a nameless one */
