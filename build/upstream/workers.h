/* SPDX-License-Identifier: MIT */
/*
 * Worker processes that answer a request each: forks of one process, the loader, which has loaded what all of them need.
 *
 *     r = workers_new(&options, &workers);
 *     r = workers_ask(workers, "kernel", body, size, &reply, &error);    // from any number of threads
 *     workers_stop(workers);
 *     workers_unref(workers);
 *
 * The program is any that speaks the protocol, whose description stands in worker.py: that one, and the stand-ins of the tests,
 * which also crash, hang, flood stderr and answer nonsense. The loader finds /dev/null at descriptor 0, a pipe whose end is kept for
 * messages at 1 and 2, the socket over which it is given requests at 3, `program` at 4, and at 5 what ends when nobody wants it any
 * more. It is started by the first request, and again by the next one when it has ended.
 *
 * A worker is killed, with all that it started, as soon as its reply is there, and when it is late; one that fails or dies harms no
 * other. A loader that dies, does not take a request in its time, or does not tell that a worker has ended, is replaced: the requests
 * that it has not forked for fail, and those that it has are answered. None of them outlives us, not even when we are killed.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct workers;

struct workers_options {
	const char *const *argv;	/* NULL-terminated, argv[0] a path; copied */
	const char *const *environment;	/* further "NAME=value", NULL-terminated, or NULL; lives as long as the workers */
	int program;			/* a descriptor that they inherit, or -1; lives as long as the workers */
	unsigned most;			/* workers at once, at least 1; the loader is not among them */
	unsigned seconds;		/* for one request, loading included; 0: no limit */
	unsigned idle_seconds;		/* after so long without a request the loader is ended; 0: never */
	uint64_t memory;		/* RLIMIT_AS of each process, bytes; 0: no limit */
};

int workers_new(const struct workers_options *options, struct workers **ret_workers);
struct workers *workers_unref(struct workers *workers);	/* with nobody asking; accepts NULL, returns NULL */
DEFINE_CLEANUP(struct workers *, workers_unref)
void workers_stop(struct workers *workers);		/* kills all; what waits or comes gets -ECANCELED */

/*
 * One request, on a new worker; waits while there are as many as there may be. -EIO: it refused, and the text is its reason, or it
 * died (exit status or signal, and the end of its stderr), or the loader did before it had forked it; -ETIMEDOUT; -EPROTO: what it
 * wrote is no reply; -ECANCELED; -ENOENT, -EACCES, -EAGAIN ... when the loader cannot be started or cannot fork.
 */
int workers_ask(struct workers *workers, const char *kind, const void *body, size_t size, struct buffer *ret_reply, struct error *error);
