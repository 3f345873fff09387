/* SPDX-License-Identifier: MIT */
/*
 * The engine's worker threads: two queues, the waited one first, and loops whose iterations the idle workers share.
 *
 *     struct pool_task task = { .run = build };             // inside the caller's own struct
 *     pool_push(pool, &task, POOL_WAITED);
 *
 * A task belongs to the pool from pool_push() until run() is entered; run() may free it. It is run exactly once: by a worker, or with
 * `cancelled` by pool_unref(), which lets running tasks end and drops queued ones. A task must not wait for another task; a loop
 * (pool_parallel) is safe inside one, as the caller works on it too and never depends on a free worker.
 *
 * Workers block all signals and are named "tfs-work-N".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pool;

enum pool_queue { POOL_WAITED, POOL_AHEAD, POOL_N_QUEUES };

struct pool_task {
	void (*run)(struct pool_task *task, bool cancelled);
	struct pool_task *previous, *next;	/* these three are the pool's */
	enum pool_queue queue;
	bool queued;
};

/* `gives_way`: workers, and programs that they start, let others have the CPU first. */
int pool_new(unsigned threads, bool gives_way, struct pool **ret_pool);
struct pool *pool_unref(struct pool *pool);	/* accepts NULL, returns NULL */

void pool_push(struct pool *pool, struct pool_task *task, enum pool_queue queue);

/* Moves a task that still waits in POOL_AHEAD to POOL_WAITED. The caller knows that it has not been run. */
void pool_raise(struct pool *pool, struct pool_task *task);

/*
 * Calls run(userdata, i) for every i below n, spread over the caller and the workers that are idle. Returns 0, or the first failure (a
 * negative errno), after which no further iteration starts. -ECANCELED when the pool is being ended.
 */
int pool_parallel(struct pool *pool, size_t n, int (*run)(void *userdata, size_t i), void *userdata);

unsigned pool_threads(const struct pool *pool);

/* How many threads a program that a task starts should use: the workers, shared among the tasks that run now; at least 1. */
unsigned pool_share(struct pool *pool);

void pool_counts(struct pool *pool, size_t *ret_running, size_t *ret_waited, size_t *ret_ahead);
