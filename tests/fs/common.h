/* SPDX-License-Identifier: MIT */
/*
 * For the tests of the program: a real mount per test, as root or with fusermount3.
 */
#pragma once

#include "tests/engine/common.h"

#include <sys/types.h>

/* The program under test, from $TENSILEFS. */
const char *tensilefs(void);

/* Runs it with shell-quoted arguments; what it prints goes to "out" and "err" in scratch. Its exit status. */
PRINTF_LIKE(2, 3) int run(void **state, const char *format, ...);
void must_say(void **state, const char *stream, const char *words);	/* "out" or "err" */
void must_complain_once(void **state, const char *words);		/* one clear message: one line, from the program */

/* Builds into a new folder, which it returns; what is in the way of that fails the test. `options`: shell syntax. */
const char *build(void **state, const char *logic, const char *options);

/* Options for the cache in scratch/cache, and more of them; static memory, the last 8 stay valid. */
const char *with_cache(void **state, const char *more);

void must_be_equal(const char *a, const char *b);	/* folders, by all their files */

void need_fuse(void);		/* ends the program with 77 (skipped) where nothing can be mounted */

struct mount {
	char path[SCRATCH_SIZE + 16];	/* the mountpoint */
	pid_t pid;			/* of the daemon */
};

/* Mounts in the foreground of a child and waits until it is visible. `arguments` stand before LOGIC, shell syntax. */
struct mount mount_logic(void **state, const char *logic, const char *arguments);

/* Unmounts with SIGTERM and waits for the daemon; its exit status. */
int mount_end(struct mount *mount);

/*
 * Makes logic with `n` bases of one kernel each, all different: one file for devices of 1, 2, 3 ... compute units. Static memory,
 * as in_scratch().
 */
const char *many_bases(void **state, const char *name, size_t n);

/*
 * The n-th file of the mount's gfx942 with that suffix, without looking at more than names; static memory, the last 8 stay valid.
 */
const char *file_in(const struct mount *mount, const char *suffix, unsigned n);

uint64_t mount_number(const struct mount *mount, const char *key);	/* of .tensilefs/status, at any depth */
double seconds(void);							/* monotonic */
