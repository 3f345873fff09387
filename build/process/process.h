/* SPDX-License-Identifier: MIT */
/*
 * Programs that the build runs: the linker, the assembler, python. What they inherit is the same for all, so that their output
 * depends on nothing but their input: the descriptors that are given and no other, an empty signal mask, no signal ignored but
 * SIGXFSZ, and an environment of PATH, LD_LIBRARY_PATH and TMPDIR as we have them, LC_ALL=C, and what is added. Each leads a
 * process group of its own, so that it can be killed together with all that it starts: kill(-pid, SIGKILL).
 *
 * They are waited for: a process that ignores SIGCHLD, or waits for children that it does not know, cannot tell how they ended.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <sys/types.h>

/* ---- running to its end ----------------------------------------------------------------------------------------------- */

/*
 * Runs a program and waits for it. 0 is /dev/null, 1 is `output`, 2 a pipe whose end is kept, 3 is `input` (-1: none).
 *
 * 0 when it ended with status 0. -ENOENT, -EACCES ... when it could not be started; -EIO when it ended otherwise: the message has
 * the command, the exit status or signal, and the end of its stderr as one line. -ETIMEDOUT and -ECANCELED when it was killed
 * because it ran longer than `seconds` or because `stop` was readable. However it ends, what it started and is still in its group
 * is killed.
 */
struct process {
	const char *const *argv;	/* NULL-terminated; argv[0] is a path, PATH is not searched */
	int input, output;
	unsigned seconds;		/* 0: no limit */
	int stop;			/* a descriptor, or -1 */
	struct buffer *said;		/* gets the first PROCESS_SAID_MOST bytes of what it wrote to stderr; or NULL */
	int *status;			/* set to what waitpid() said when it ended by itself, otherwise left as it is; or NULL */
};

#define PROCESS_SAID_MOST (4 << 20)

int process_run(const struct process *process, struct error *error);

/* ---- its parts, for those that talk to a program ---------------------------------------------------------------------- */

#define PROCESS_DESCRIPTORS 6

struct process_spawn {
	const char *const *argv;	/* as above */
	const char *const *environment;	/* further "NAME=value", NULL-terminated; or NULL */
	int fds[PROCESS_DESCRIPTORS];	/* fds[i] becomes descriptor i; -1: /dev/null */
	unsigned n_fds;
};

/* Starts it; the caller waits for it. -ENOENT, -EACCES ... when it cannot be run. */
int process_spawn(const struct process_spawn *spawn, pid_t *ret_pid);

/* The end of what a program wrote to stderr. Zero-initialise it. */
#define PROCESS_TAIL_SIZE 600	/* bytes; leaves room for the command in struct error */

struct process_tail {
	size_t size;
	char text[PROCESS_TAIL_SIZE + 1];
};

/*
 * Takes in what can be read from a non-blocking descriptor, within a bound, as a program may write faster than we read; also appended to
 * `said`, which holds PROCESS_SAID_MOST bytes at most, or NULL. 0 at the end of file, 1 before it, a negative errno.
 */
int process_tail_read(struct process_tail *tail, int fd, struct buffer *said);
const char *process_tail_finish(struct process_tail *tail);	/* makes one line of it, and returns that */

/* "ended with status 1", "was killed by signal 9"; `status` as waitpid() gave it. */
#define PROCESS_ENDING_SIZE 64
const char *process_print_ending(int status, char text[static PROCESS_ENDING_SIZE]);
