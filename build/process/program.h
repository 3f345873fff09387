/* SPDX-License-Identifier: MIT */
/*
 * A program of the user's machine: named by the user, or the first of several that will do; asked who it is; run.
 *
 *     r = program_new(&kind, wanted, &program);                  // nothing is looked for yet
 *     r = program_identify(program, &found, &error);             // found->path, found->identity
 *     r = program_run(program, &call, &output, &error);          // call.argv[0] is found->path
 *     program_stop(program);                                     // kills what runs; from now on -ECANCELED
 *     program_unref(program);
 *
 * It is asked once, and again when the file behind its path has changed (an upgrade under a live mount). Any number of threads may
 * use one.
 */
#pragma once

#include "build/process/process.h"

struct program;

struct program_kind {
	const char *what;		/* "assembler", for messages */
	/* NULL-terminated. Tried in turn: names on PATH, and paths below $ROCM_PATH or /opt/rocm: "bin/hipcc". */
	const char *const *names;
	const char *missing;		/* what to say when there is none of them: what to install, how to name one */
	unsigned seconds;		/* how long a run may take */

	/*
	 * Who is the program at `path`? *ret_identity is malloc memory: all that its output depends on, no path. A message and a
	 * negative errno when it will not do. *ret_variant is the caller's.
	 */
	int (*ask)(struct program *program, const char *path, char **ret_identity, unsigned *ret_variant, struct error *error);
};

struct program_found {
	const char *path, *identity;
	unsigned variant;
};

/* `wanted`: a path or a name on PATH, which is then the only candidate; or NULL. `kind` lives on. */
int program_new(const struct program_kind *kind, const char *wanted, struct program **ret_program);
struct program *program_unref(struct program *program);		/* accepts NULL, returns NULL */
void program_stop(struct program *program);

/* Another limit than that of the kind, before the first use. 0: none. */
void program_set_limit(struct program *program, unsigned seconds);

/*
 * Finds it, or sees that it is the same as before. What comes back lives as long as the program. -ENOENT when there is none, with
 * the reason why the first that was found will not do; what ask() says when `wanted` will not do. Tried again at the next call.
 */
int program_identify(struct program *program, const struct program_found **ret_found, struct error *error);

/* What program_identify() would answer without running a program, or NULL. */
const struct program_found *program_current(struct program *program);

/* What it answered last, or NULL. */
const struct program_found *program_latest(struct program *program);

/*
 * A file of that name that can be run: on PATH, or below ROCm's folder, or `name` itself when it is a path. Malloc memory; NULL:
 * none.
 */
char *program_search(const char *name);

struct program_call {
	const char *const *argv;	/* argv[0] is a path */
	const void *input;		/* becomes /proc/self/fd/3; or NULL */
	size_t input_size;
	const int *input_fd;		/* without `input`: the descriptor that becomes it; or NULL */
	struct buffer *said;		/* gets what it wrote to stderr, see process.h; or NULL */
	int *status;			/* see process.h; or NULL */
};

/* Runs it in memory: no file is made. What it writes to stdout comes back, also when it fails. Errors as process_run(). */
int program_run(struct program *program, const struct program_call *call, struct buffer *ret_output, struct error *error);

/* Runs argv and gives what it printed as a text, malloc memory: what ask() starts with. Errors as process_run(). */
int program_ask(struct program *program, const char *const *argv, char **ret_text, struct error *error);
