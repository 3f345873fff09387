/* SPDX-License-Identifier: MIT */
/*
 * The engine's worker threads: three queues, and loops whose iterations the idle workers share.
 *
 *     struct pool_task task = { .run = build };             // inside the caller's own struct
 *     pool_push(pool, &task, POOL_WAITED);
 *
 * The queues, the first that has a task first: POOL_QUICK for what somebody waits for and that ends soon, as it runs no program;
 * POOL_WAITED for the rest of what somebody waits for; POOL_AHEAD. All workers serve all of them, but for a few that serve
 * POOL_QUICK alone: while every other worker waits for a linker, or generates a large file, what is quick is still done at once.
 *
 * A task belongs to the pool from pool_push() until run() is entered; run() may free it. It is run exactly once: by a worker, or
 * with `cancelled` by pool_unref(), which lets running tasks end and drops queued ones. A task must not wait for another task; a
 * loop (pool_parallel) is safe inside one, as the caller works on it too and never depends on a free worker.
 *
 * Workers block all signals and are named "tfs-work-N".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct pool;

enum pool_queue { POOL_QUICK, POOL_WAITED, POOL_AHEAD, POOL_N_QUEUES };

struct pool_task {
	void (*run)(struct pool_task *task, bool cancelled);
	struct pool_task *previous, *next;	/* these three are the pool's */
	enum pool_queue queue;
	bool queued;
};

/*
 * `threads` tasks at once, at least 1, and `quick` more of POOL_QUICK. `gives_way`: the former, and programs that they start, let
 * others have the CPU first.
 */
int pool_new(unsigned threads, unsigned quick, bool gives_way, struct pool **ret_pool);
struct pool *pool_unref(struct pool *pool);	/* accepts NULL, returns NULL */

void pool_push(struct pool *pool, struct pool_task *task, enum pool_queue queue);

/* Moves a task that still waits in POOL_AHEAD to POOL_WAITED. The caller knows that it has not been run. */
void pool_raise(struct pool *pool, struct pool_task *task);

/*
 * Calls run(userdata, i) for every i below n, spread over the caller and the workers that are idle. While the caller has only the
 * last iterations of others to wait for, another worker serves in its place. Returns 0, or the first failure (a negative errno) with
 * its message, after which no further iteration starts. -ECANCELED when the pool is being ended.
 */
int pool_parallel(struct pool *pool, size_t n, int (*run)(void *userdata, size_t i, struct error *error), void *userdata, struct error *error);

unsigned pool_threads(const struct pool *pool);		/* tasks at once on the workers that serve all queues */

/* How many threads a program that a task starts should use: the workers, shared among the tasks that run now; at least 1. */
unsigned pool_share(struct pool *pool);

struct pool_counts {
	size_t running, quick_running;	/* tasks on the workers that serve all queues, and on those of POOL_QUICK */
	size_t queued[POOL_N_QUEUES];
};
struct pool_counts pool_counts(struct pool *pool);
