/* SPDX-License-Identifier: MIT */
/*
 * Long-lived worker processes that speak one small protocol over a pair of pipes: a request in, progress and one reply out.
 *
 * The program is any that speaks it: worker.py, and the stand-ins of the tests, which also crash, hang, flood stderr and answer nonsense.
 * A process is started when a request finds no idle one and there are fewer than `most`; one that fails, dies or is late is killed and
 * its place is free again.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct workers;

struct workers_options {
	const char *const *argv;	/* NULL-terminated, argv[0] a path; copied */
	unsigned most;			/* processes at once */
	unsigned seconds;		/* for one request, start included */
	uint64_t memory;		/* RLIMIT_AS of each, bytes; 0: no limit */
};

int workers_new(const struct workers_options *options, struct workers **ret_workers);
struct workers *workers_unref(struct workers *workers);	/* accepts NULL, returns NULL */
void workers_stop(struct workers *workers);		/* kills all; what waits or comes gets -ECANCELED */

/*
 * One request, on an idle worker or a new one; waits for one when all are busy. The protocol's documentation stands in worker.py. -EIO: it
 * answered with a failure (the text is the reason), or died (exit status or signal, and the end of its stderr); -ETIMEDOUT; -EPROTO: what
 * it wrote is no reply; -ECANCELED.
 */
int workers_ask(struct workers *workers, const char *kind, const void *body, size_t size, struct buffer *ret_reply, struct error *error);
