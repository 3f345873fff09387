/* SPDX-License-Identifier: MIT */
#include "build/engine/pool.h"

#include "base/macro.h"
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <string.h>

struct pool {
	pthread_mutex_t lock;		/* protects all below but threads[] */
	pthread_cond_t work;		/* a task was queued, or stopping */
	pthread_cond_t quick_work;	/* the same for the workers of POOL_QUICK alone */
	pthread_cond_t gap;		/* a task ended or rests, for those that are `resuming` */
	struct pool_task *first[POOL_N_QUEUES], *last[POOL_N_QUEUES];
	size_t queued[POOL_N_QUEUES];
	size_t running, quick_running;	/* tasks on the workers of each kind, but for those that rest: see rest() */
	size_t resuming;		/* that have rested and wait for their turn */
	bool stopping;
	bool gives_way;			/* constant, as the rest is after pool_new() */
	unsigned most;			/* so many tasks run at once on the workers that serve all queues */
	unsigned n_threads, n_quick;
	pthread_t threads[];		/* n_threads, then n_quick that serve POOL_QUICK alone */
};

static void queue_insert(struct pool *pool, struct pool_task *task, enum pool_queue queue, bool front)
{
	task->queue = queue;
	task->queued = true;
	task->previous = front ? NULL : pool->last[queue];
	task->next = front ? pool->first[queue] : NULL;
	*(task->previous ? &task->previous->next : &pool->first[queue]) = task;
	*(task->next ? &task->next->previous : &pool->last[queue]) = task;
	pool->queued[queue]++;
}

static void queue_remove(struct pool *pool, struct pool_task *task)
{
	*(task->previous ? &task->previous->next : &pool->first[task->queue]) = task->next;
	*(task->next ? &task->next->previous : &pool->last[task->queue]) = task->previous;
	pool->queued[task->queue]--;
	task->queued = false;
}

/* From one of the first `n_queues` queues. */
static struct pool_task *queue_take(struct pool *pool, unsigned n_queues)
{
	for (unsigned queue = 0; queue < n_queues; queue++) {
		struct pool_task *task = pool->first[queue];
		if (task) {
			queue_remove(pool, task);
			return task;
		}
	}
	return NULL;
}

/*
 * Makes the calling thread, and programs it starts, give way to threads that wake up for a moment. A batch thread takes the CPU
 * from nobody (sched(7)); the nice value makes others come before it sooner. It is small: on a machine that is busy with other
 * work, builds shall still get a fair part. Both need no privilege.
 */
static void give_way(void)
{
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
	setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 5);
}

/* Runs tasks of the first `n_queues` queues, while fewer than `most` do; counts them in *running. */
static void serve(struct pool *pool, unsigned n_queues, size_t most, pthread_cond_t *work, size_t *running)
{
	pthread_mutex_lock(&pool->lock);
	while (!pool->stopping) {
		struct pool_task *task = *running + pool->resuming < most ? queue_take(pool, n_queues) : NULL;
		if (!task) {
			pthread_cond_wait(work, &pool->lock);
			continue;
		}
		++*running;
		pthread_mutex_unlock(&pool->lock);
		task->run(task, false);
		pthread_mutex_lock(&pool->lock);
		--*running;
		if (pool->resuming)
			pthread_cond_signal(&pool->gap);
	}
	pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *userdata)
{
	struct pool *pool = userdata;

	if (pool->gives_way)
		give_way();
	serve(pool, POOL_N_QUEUES, pool->most, &pool->work, &pool->running);
	return NULL;
}

static void *quick_worker(void *userdata)
{
	struct pool *pool = userdata;

	serve(pool, POOL_QUICK + 1, SIZE_MAX, &pool->quick_work, &pool->quick_running);
	return NULL;
}

/* Starts one more of a kind of worker, of which there are *n. */
static int start_worker(struct pool *pool, void *(*body)(void *), const char *kind, unsigned *n)
{
	pthread_t *thread = &pool->threads[pool->n_threads + pool->n_quick];
	char name[16];

	snprintf(name, sizeof(name), "tfs-%s-%u", kind, *n % 100000);
	int r = thread_start(name, body, pool, thread);
	*n += r == 0;
	return r;
}

int pool_new(unsigned threads, unsigned quick, bool gives_way, struct pool **ret_pool)
{
	int r = 0;

	assert(threads > 0);
	struct pool *pool = calloc(1, sizeof(*pool) + (2 * threads + quick) * sizeof(pool->threads[0]));
	if (!pool)
		return -ENOMEM;
	pool->gives_way = gives_way;
	pool->most = threads;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->quick_work, NULL);
	pthread_cond_init(&pool->gap, NULL);

	for (unsigned i = 0; i < 2 * threads && r == 0; i++)	/* half of them take the place of those that rest */
		r = start_worker(pool, worker, "work", &pool->n_threads);
	for (unsigned i = 0; i < quick && r == 0; i++)
		r = start_worker(pool, quick_worker, "quick", &pool->n_quick);
	if (r < 0) {
		pool_unref(pool);
		return r;
	}
	*ret_pool = pool;
	return 0;
}

struct pool *pool_unref(struct pool *pool)
{
	struct pool_task *task;

	if (!pool)
		return NULL;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_cond_broadcast(&pool->quick_work);
	pthread_cond_broadcast(&pool->gap);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->n_threads + pool->n_quick; i++)
		pthread_join(pool->threads[i], NULL);
	while ((task = queue_take(pool, POOL_N_QUEUES)))	/* alone now, but a cancelled task may push another */
		task->run(task, true);
	pthread_cond_destroy(&pool->gap);
	pthread_cond_destroy(&pool->quick_work);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
	return NULL;
}

void pool_push(struct pool *pool, struct pool_task *task, enum pool_queue queue)
{
	pthread_mutex_lock(&pool->lock);
	queue_insert(pool, task, queue, false);
	pthread_cond_signal(&pool->work);
	if (queue == POOL_QUICK)
		pthread_cond_signal(&pool->quick_work);
	pthread_mutex_unlock(&pool->lock);
}

void pool_raise(struct pool *pool, struct pool_task *task)
{
	pthread_mutex_lock(&pool->lock);
	if (task->queued && task->queue == POOL_AHEAD) {
		queue_remove(pool, task);
		queue_insert(pool, task, POOL_WAITED, false);
	}
	pthread_mutex_unlock(&pool->lock);
}

unsigned pool_threads(const struct pool *pool)
{
	return pool->most;
}

unsigned pool_share(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	size_t running = MAX(pool->running, (size_t)1);
	pthread_mutex_unlock(&pool->lock);
	return (unsigned)MAX(pool->most / running, (size_t)1);
}

struct pool_counts pool_counts(struct pool *pool)
{
	struct pool_counts counts;

	pthread_mutex_lock(&pool->lock);
	counts = (struct pool_counts){ .running = pool->running, .quick_running = pool->quick_running };
	memcpy(counts.queued, pool->queued, sizeof(counts.queued));
	pthread_mutex_unlock(&pool->lock);
	return counts;
}

/* ---- loops ------------------------------------------------------------------------------------------------------------ */

struct loop {
	struct pool *pool;
	int (*run)(void *userdata, size_t i, struct error *error);
	void *userdata;
	size_t n;
	struct error *error;		/* of `result` */
	pthread_mutex_t lock;		/* protects all below; taken before the pool's */
	pthread_cond_t left;		/* a helper is done with the loop */
	size_t next;
	unsigned helpers;		/* helper tasks that are still in a queue or run */
	int result;
};

struct loop_helper {
	struct pool_task task;
	struct loop *loop;
};

/*
 * A loop's caller that has nothing left to do waits for the iterations of others, of which one may take long: a program that hangs.
 * Meanwhile another worker may run in its place. For callers that are no workers of all queues this is nothing.
 */
static bool is_worker(const struct pool *pool)
{
	for (unsigned i = 0; i < pool->n_threads; i++)
		if (pthread_equal(pool->threads[i], pthread_self()))
			return true;
	return false;
}

static void rest(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->running--;
	pthread_cond_signal(&pool->gap);	/* both, as one that resumes may have been told of another gap already */
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

static void resume(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->resuming++;
	while (pool->running >= pool->most && !pool->stopping)
		pthread_cond_wait(&pool->gap, &pool->lock);
	pool->resuming--;
	pool->running++;
	pthread_mutex_unlock(&pool->lock);
}

static bool pool_is_stopping(struct pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	bool stopping = pool->stopping;
	pthread_mutex_unlock(&pool->lock);
	return stopping;
}

static void loop_work(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	while (loop->result == 0 && loop->next < loop->n) {
		size_t i = loop->next++;
		pthread_mutex_unlock(&loop->lock);
		struct error error = { 0 };
		int r = pool_is_stopping(loop->pool) ? -ECANCELED : loop->run(loop->userdata, i, &error);
		pthread_mutex_lock(&loop->lock);
		if (r < 0 && loop->result == 0) {
			loop->result = r;
			error_set(loop->error, r, "%s", error.text);
		}
	}
	pthread_mutex_unlock(&loop->lock);
}

static void loop_helper_run(struct pool_task *task, bool cancelled)
{
	struct loop_helper *helper = (struct loop_helper *)task;	/* its first member */
	struct loop *loop = helper->loop;

	assert(!cancelled);	/* pool_parallel() takes its helpers back before it returns */
	loop_work(loop);
	pthread_mutex_lock(&loop->lock);
	loop->helpers--;
	pthread_cond_signal(&loop->left);
	pthread_mutex_unlock(&loop->lock);
}

/* Puts the helpers in front of everything else: a task that has begun holds memory, so it should end before another begins. */
static void loop_push_helpers(struct loop *loop, struct loop_helper *helpers)
{
	struct pool *pool = loop->pool;

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < loop->helpers; i++) {
		helpers[i] = (struct loop_helper){ .task.run = loop_helper_run, .loop = loop };
		queue_insert(pool, &helpers[i].task, POOL_WAITED, true);
	}
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

/* Takes back the helpers that no worker picked up; returns how many. */
static unsigned loop_pull_helpers(struct pool *pool, struct loop_helper *helpers, unsigned n)
{
	unsigned taken = 0;

	pthread_mutex_lock(&pool->lock);
	for (unsigned i = 0; i < n; i++) {
		if (helpers[i].task.queued) {
			queue_remove(pool, &helpers[i].task);
			taken++;
		}
	}
	pthread_mutex_unlock(&pool->lock);
	return taken;
}

int pool_parallel(struct pool *pool, size_t n, int (*run)(void *userdata, size_t i, struct error *error), void *userdata, struct error *error)
{
	unsigned n_helpers = (unsigned)MIN((size_t)pool->most - 1, n ? n - 1 : 0);
	struct loop loop = { .pool = pool, .run = run, .userdata = userdata, .n = n, .error = error, .helpers = n_helpers };
	_cleanup_free_ struct loop_helper *helpers = calloc(n_helpers + 1, sizeof(*helpers));

	if (!helpers)
		return -ENOMEM;
	pthread_mutex_init(&loop.lock, NULL);
	pthread_cond_init(&loop.left, NULL);
	loop_push_helpers(&loop, helpers);
	loop_work(&loop);
	unsigned idle = loop_pull_helpers(pool, helpers, n_helpers);
	pthread_mutex_lock(&loop.lock);
	loop.helpers -= idle;
	bool rests = loop.helpers > 0 && is_worker(pool);
	if (rests)
		rest(pool);
	while (loop.helpers > 0)
		pthread_cond_wait(&loop.left, &loop.lock);
	pthread_mutex_unlock(&loop.lock);
	if (rests)
		resume(pool);
	pthread_cond_destroy(&loop.left);
	pthread_mutex_destroy(&loop.lock);
	return loop.result;
}
