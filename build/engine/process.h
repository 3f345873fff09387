/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

/*
 * Runs a program and waits for it. It inherits four descriptors and no other: 0 is /dev/null, 1 is `output`, 2 a pipe whose last
 * few hundred bytes are kept, 3 is `input` (-1: none). Its signal mask is empty, its environment is ours less everything that could
 * change what it writes: only PATH, LD_LIBRARY_PATH and TMPDIR are kept, and LC_ALL is "C".
 *
 * 0 when it ended with status 0. -ENOENT, -EACCES ... when it could not be started; -EIO when it ended otherwise: the message has
 * the command, the exit status or signal, and the end of its stderr as one line. -ETIMEDOUT and -ECANCELED when it was killed, together
 * with all that it started (it leads a process group of its own), because it ran longer than `seconds` or because `stop` was readable.
 */
struct process {
	const char *const *argv;	/* NULL-terminated; argv[0] is a path, PATH is not searched */
	int input, output;
	unsigned seconds;		/* 0: no limit */
	int stop;			/* a descriptor, or -1 */
};

int process_run(const struct process *process, struct error *error);
