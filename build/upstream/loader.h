/* SPDX-License-Identifier: MIT */
/*
 * The process that has loaded TensileLite, and the workers that it forks, one for each request, as they are seen from here; what is
 * said between them and us stands in worker.py. For workers.c, which says who starts and ends what when.
 *
 *     r = loader_start(&options, &loader, &error);
 *     r = worker_init(&worker, loader);
 *     do {
 *             worker_watch(&worker, polled);           // until the loader has taken it, and for what both say on stderr
 *             poll(polled, ...);                       // with what else there is to wait for: request and reply on worker.channel
 *             r = worker_attend(&worker, polled);
 *     } while (...);
 *     worker_end(&worker, WORKER_GRACE_MS);            // kills it with all that it started
 *     worker_release(&worker);
 *     loader_end(loader);
 *     loader_free(loader);
 *
 * A loader and each worker are held by a leash, whose closing the kernel answers by killing their process group. So they end with us,
 * however we end, and a worker ends when it is to though its loader is stuck or dead. As its reply comes from itself, a worker whose
 * loader has died is not harmed; only how it ends is not known any more.
 */
#pragma once

#include "build/process/process.h"
#include "build/upstream/workers.h"

#include <poll.h>
#include <pthread.h>

/* ---- the loader ------------------------------------------------------------------------------------------------------- */

struct loader {
	pid_t pid;			/* its process group, too */
	int control;			/* our ends: requests are handed over here; */
	int complaints;			/* the pipe that is its stderr; */
	int leash;			/* kept open as long as it is wanted */
	unsigned users;			/* requests, and one when it is the workers' own; protected by their lock */

	pthread_mutex_t lock;		/* protects what follows */
	struct process_tail tail;
	bool ended, killed;		/* waited for; it did not end by itself */
	int status;			/* as waitpid() gave it */
};

/* -ENOENT, -EACCES ...: it cannot be run. */
int loader_start(const struct workers_options *options, struct loader **ret_loader, struct error *error);

/* Whether it can be given a request: it has not ended, and has not said what it should not. */
bool loader_is_sound(const struct loader *loader);

/* Kills it, but no worker, and waits for it. Others may do so at the same time; who uses it can go on. */
void loader_end(struct loader *loader);
void loader_free(struct loader *loader);	/* which has ended */

/* What it said on stderr until now. */
void loader_last_words(struct loader *loader, struct process_tail *ret_tail);

/* ---- a worker --------------------------------------------------------------------------------------------------------- */

#define WORKER_GRACE_MS 5000		/* for a loader to tell that a worker that was killed has ended */
#define WORKER_POLLED 4

struct worker {
	struct loader *loader;
	int channel;			/* our ends: non-blocking; the request and the reply; */
	int complaints;			/* the pipe that is its stderr, -1 when that has ended; */
	int leash;			/* and the loader's report. -1: both have closed their end */
	int loader_complaints;		/* loader->complaints, -1 when that has ended */
	int theirs[3];			/* the other ends in this order, -1 when they have been handed over */
	uint8_t report[8];		/* what the loader has told */
	size_t reported;		/* bytes of it */
	struct process_tail tail;
};

int worker_init(struct worker *worker, struct loader *loader);
void worker_release(struct worker *worker);	/* accepts what worker_init() failed to make */

void worker_watch(const struct worker *worker, struct pollfd polled[static WORKER_POLLED]);

/* -EPIPE: the loader takes nothing any more. -EPROTO: what it told is no report. Or why nothing can be handed over. */
int worker_attend(struct worker *worker, const struct pollfd polled[static WORKER_POLLED]);

/* Waits until the loader has told how it ended, or cannot tell any more, for `ms` at most. */
void worker_wait(struct worker *worker, int ms);

/* Kills it with all that it started, and waits as above. */
void worker_end(struct worker *worker, int ms);

/* What the loader has told: that it has forked; how the worker ended; why there is none, a negative errno, or 0. */
bool worker_was_forked(const struct worker *worker);
bool worker_has_ended(const struct worker *worker, int *ret_status);
int worker_failure(const struct worker *worker);
