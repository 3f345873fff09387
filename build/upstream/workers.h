/* SPDX-License-Identifier: MIT */
/*
 * Long-lived worker processes that answer requests over a socket: one request in, one reply out, one at a time each.
 *
 *     r = workers_new(&options, &workers);
 *     r = workers_ask(workers, "kernel", body, size, &reply, &error);    // from any number of threads
 *     workers_stop(workers);
 *     workers_unref(workers);
 *
 * The program is any that speaks the protocol, whose description stands in worker.py: that one, and the stand-ins of the tests,
 * which also crash, hang, flood stderr and answer nonsense. It finds /dev/null at descriptor 0, a pipe whose end is kept for
 * messages at 1 and 2, the socket at 3, and `program` at 4. A process is started when a request finds no idle one and there are
 * fewer than `most`. One that fails, dies or is late is killed with all that it started, waited for, and its place is free again.
 * One that refuses a request lives on.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct workers;

struct workers_options {
	const char *const *argv;	/* NULL-terminated, argv[0] a path; copied */
	const char *const *environment;	/* further "NAME=value", NULL-terminated, or NULL; lives as long as the workers */
	int program;			/* a descriptor that they inherit, or -1; lives as long as the workers */
	unsigned most;			/* processes at once, at least 1 */
	unsigned seconds;		/* for one request, start included; 0: no limit */
	unsigned idle_seconds;		/* after so long without a request a worker is ended; 0: never */
	uint64_t memory;		/* RLIMIT_AS of each, bytes; 0: no limit */
};

int workers_new(const struct workers_options *options, struct workers **ret_workers);
struct workers *workers_unref(struct workers *workers);	/* with nobody asking; accepts NULL, returns NULL */
DEFINE_CLEANUP(struct workers *, workers_unref)
void workers_stop(struct workers *workers);		/* kills all; what waits or comes gets -ECANCELED */

/*
 * One request, on an idle worker or a new one; waits for one when all are busy. -EIO: it refused, and the text is its reason, or it
 * died (exit status or signal, and the end of its stderr); -ETIMEDOUT; -EPROTO: what it wrote is no reply; -ECANCELED; -ENOENT,
 * -EACCES ... when it cannot be started.
 */
int workers_ask(struct workers *workers, const char *kind, const void *body, size_t size, struct buffer *ret_reply, struct error *error);
