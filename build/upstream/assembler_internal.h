/* SPDX-License-Identifier: MIT */
#pragma once

#include "build/upstream/assembler.h"

/* How the assembler calls its input in complaints, and the descriptor that it is. */
#define ASSEMBLER_INPUT "/proc/self/fd/3"

/* One run, however it ends. */
struct assembler_run {
	const char *triple;		/* "amdgcn-amd-amdhsa" */
	const char *options;		/* clang's, space-separated */
	const void *text;
	size_t size;
};

struct assembler_result {
	struct buffer object;
	struct buffer said;		/* what it wrote to stderr, ends with a NUL that size does not count */
	int status;			/* as waitpid() gives it */
	struct error error;		/* how it ended, when status is not 0 */
};

/* A negative errno when it could not be run to its end by itself. Release the result when it is 0. */
int assembler_run(struct program *program, const struct program_found *found, const struct assembler_run *run,
		  struct assembler_result *ret_result, struct error *error);
void assembler_result_release(struct assembler_result *result);

static inline bool assembler_is_content(const struct assembler_result *result)
{
	return result->status == 0 && result->said.size == 0;
}

/* It ended otherwise than by saying what it does not like. */
bool assembler_crashed(const struct assembler_result *result);

/* Whether it assembles one instruction for an AMD GPU: whether it is in working order. Else -EIO and its words. */
int assembler_check(struct program *program, const struct program_found *found, struct error *error);

/* The next complaint in what it said that names a line of the input; what comes back is behind it, NULL: there is none. */
struct assembler_complaint {
	unsigned line;			/* from 1 */
	const char *start;		/* of the complaint in what was said */
};
const char *assembler_next_complaint(const char *at, struct assembler_complaint *ret_complaint);
