/* SPDX-License-Identifier: MIT */
#include "build/engine/cpus.h"
#include "build/engine/pool.h"
#include "base/macro.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

struct noted {				/* a task that writes down when it ran */
	struct pool_task task;
	unsigned *clock, when;
	bool cancelled;
	sem_t *wait, *begun;		/* or NULL */
};

static void note(struct pool_task *task, bool cancelled)
{
	struct noted *noted = (struct noted *)task;

	noted->cancelled = cancelled;
	noted->when = __atomic_add_fetch(noted->clock, 1, __ATOMIC_SEQ_CST);
	if (noted->begun)
		sem_post(noted->begun);
	if (noted->wait)
		sem_wait(noted->wait);
}

static void test_waited_tasks_run_before_those_ahead(void **state)
{
	unsigned clock = 0;
	sem_t gate, begun;
	struct pool *pool;

	sem_init(&gate, 0, 0);
	sem_init(&begun, 0, 0);
	struct noted first = { .task.run = note, .clock = &clock, .wait = &gate, .begun = &begun };
	struct noted ahead[3], waited[2];
	assert_int_equal(pool_new(1, 0, false, &pool), 0);
	pool_push(pool, &first.task, POOL_WAITED);
	sem_wait(&begun);		/* the only worker is busy: the rest queues up */
	for (size_t i = 0; i < ARRAY_SIZE(ahead); i++) {
		ahead[i] = (struct noted){ .task.run = note, .clock = &clock };
		pool_push(pool, &ahead[i].task, POOL_AHEAD);
	}
	for (size_t i = 0; i < ARRAY_SIZE(waited); i++) {
		waited[i] = (struct noted){ .task.run = note, .clock = &clock };
		pool_push(pool, &waited[i].task, POOL_WAITED);
	}
	pool_raise(pool, &ahead[2].task);
	ahead[1].begun = &begun;	/* the last of all */
	sem_post(&gate);
	sem_wait(&begun);
	pool_unref(pool);
	assert_int_equal(waited[0].when, 2);
	assert_int_equal(waited[1].when, 3);
	assert_int_equal(ahead[2].when, 4);
	assert_int_equal(ahead[0].when, 5);
	assert_int_equal(ahead[1].when, 6);
}

/* Each of the others may wait for what a quick task does. */
static void test_quick_tasks_wait_for_no_others(void **state)
{
	unsigned clock = 0;
	sem_t gate, begun, done;
	struct pool *pool;

	sem_init(&gate, 0, 0);
	sem_init(&begun, 0, 0);
	sem_init(&done, 0, 0);
	struct noted busy[3], quick = { .task.run = note, .clock = &clock, .begun = &done };
	assert_int_equal(pool_new(2, 1, false, &pool), 0);
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {		/* one more than there are workers */
		busy[i] = (struct noted){ .task.run = note, .clock = &clock, .wait = &gate, .begun = &begun };
		pool_push(pool, &busy[i].task, i ? POOL_WAITED : POOL_AHEAD);
	}
	sem_wait(&begun);
	sem_wait(&begun);
	pool_push(pool, &quick.task, POOL_QUICK);
	sem_wait(&done);		/* none of the others has ended */
	struct pool_counts counts = pool_counts(pool);
	assert_int_equal(counts.running, 2);
	assert_int_equal(counts.queued[POOL_WAITED] + counts.queued[POOL_AHEAD], 1);
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
		sem_post(&gate);
	sem_wait(&begun);		/* the third was not taken by the quick one's worker */
	pool_unref(pool);
}

static void test_queued_tasks_are_cancelled_at_the_end(void **state)
{
	unsigned clock = 0;
	sem_t gate, begun;
	struct pool *pool;

	sem_init(&gate, 0, 0);
	sem_init(&begun, 0, 0);
	struct noted first = { .task.run = note, .clock = &clock, .wait = &gate, .begun = &begun };
	struct noted queued = { .task.run = note, .clock = &clock };
	assert_int_equal(pool_new(1, 0, false, &pool), 0);
	pool_push(pool, &first.task, POOL_WAITED);
	sem_wait(&begun);
	pool_push(pool, &queued.task, POOL_WAITED);
	sem_post(&gate);
	pool_unref(pool);
	assert_false(first.cancelled);
	assert_true(queued.when == 2);	/* run exactly once, by whom the end of the pool found first */
}

struct sum {
	unsigned char seen[1000];
	size_t fail_at;
	unsigned runs;
};

static int add_one(void *userdata, size_t i, struct error *error)
{
	struct sum *sum = userdata;

	__atomic_add_fetch(&sum->seen[i], 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&sum->runs, 1, __ATOMIC_SEQ_CST);
	return i == sum->fail_at ? error_set(error, -EBADMSG, "at %zu", i) : 0;
}

static void test_a_loop_visits_every_index_once(void **state)
{
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct sum sum = { .fail_at = SIZE_MAX };
		struct pool *pool;
		assert_int_equal(pool_new(threads, 0, false, &pool), 0);
		assert_int_equal(pool_parallel(pool, ARRAY_SIZE(sum.seen), add_one, &sum, NULL), 0);
		assert_int_equal(pool_parallel(pool, 0, add_one, &sum, NULL), 0);
		pool_unref(pool);
		for (size_t i = 0; i < ARRAY_SIZE(sum.seen); i++)
			assert_int_equal(sum.seen[i], 1);
	}
}

static void test_a_failure_stops_a_loop(void **state)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		struct sum sum = { .fail_at = 3 };
		struct error error = { 0 };
		struct pool *pool;
		assert_int_equal(pool_new(threads, 0, false, &pool), 0);
		assert_int_equal(pool_parallel(pool, ARRAY_SIZE(sum.seen), add_one, &sum, &error), -EBADMSG);
		assert_string_equal(error.text, "at 3");
		pool_unref(pool);
		if (threads == 1)
			assert_int_equal(sum.runs, 4);
	}
}

struct nested {
	struct pool_task task;
	struct pool *pool;
	struct sum sum;
	int result;
	sem_t *done;
};

static void run_nested(struct pool_task *task, bool cancelled)
{
	struct nested *nested = (struct nested *)task;

	nested->result = pool_parallel(nested->pool, ARRAY_SIZE(nested->sum.seen), add_one, &nested->sum, NULL);
	sem_post(nested->done);
}

static void test_loops_inside_of_all_workers_at_once_end(void **state)
{
	struct nested *nested = calloc(8, sizeof(*nested));
	struct pool *pool;
	sem_t done;

	sem_init(&done, 0, 0);
	assert_int_equal(pool_new(3, 0, true, &pool), 0);
	for (size_t i = 0; i < 8; i++) {
		nested[i] = (struct nested){ .task.run = run_nested, .pool = pool, .sum.fail_at = SIZE_MAX, .done = &done };
		pool_push(pool, &nested[i].task, POOL_WAITED);
	}
	for (size_t i = 0; i < 8; i++)
		sem_wait(&done);
	pool_unref(pool);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(nested[i].result, 0);
		assert_int_equal(nested[i].sum.runs, ARRAY_SIZE(nested[i].sum.seen));
	}
	free(nested);
}

struct look {
	struct pool_task task;
	int policy, nice;
	sem_t done;
};

static void look_at_thread(struct pool_task *task, bool cancelled)
{
	struct look *look = (struct look *)task;

	look->policy = sched_getscheduler(0);
	look->nice = getpriority(PRIO_PROCESS, 0);
	sem_post(&look->done);
}

struct long_loop {
	struct pool_task task;
	struct pool *pool;
	pthread_t caller;
	sem_t begun, taken, others, done;
};

/* That of the caller ends as soon as another worker has one, which then takes until the test has seen enough. */
static int run_long(void *userdata, size_t i, struct error *error)
{
	struct long_loop *loop = userdata;

	if (pthread_equal(pthread_self(), loop->caller)) {
		sem_wait(&loop->begun);
		return 0;
	}
	sem_post(&loop->begun);
	sem_post(&loop->taken);
	sem_wait(&loop->others);
	return 0;
}

static void run_long_loop(struct pool_task *task, bool cancelled)
{
	struct long_loop *loop = (struct long_loop *)task;

	loop->caller = pthread_self();
	pool_parallel(loop->pool, 2, run_long, loop, NULL);
	sem_post(&loop->done);
}

static void test_others_take_the_place_of_a_caller_that_waits_for_the_end_of_its_loop(void **state)
{
	struct long_loop loop = { .task.run = run_long_loop };
	unsigned clock = 0;
	sem_t begun;

	sem_init(&loop.begun, 0, 0);
	sem_init(&loop.taken, 0, 0);
	sem_init(&loop.others, 0, 0);
	sem_init(&loop.done, 0, 0);
	sem_init(&begun, 0, 0);
	assert_int_equal(pool_new(2, 0, false, &loop.pool), 0);
	pool_push(loop.pool, &loop.task, POOL_WAITED);
	sem_wait(&loop.taken);		/* both workers are in the loop, one of them with nothing to do but the other iteration */
	struct noted other = { .task.run = note, .clock = &clock, .begun = &begun };
	pool_push(loop.pool, &other.task, POOL_WAITED);
	sem_wait(&begun);
	sem_post(&loop.others);
	sem_wait(&loop.done);
	pool_unref(loop.pool);
}

static void test_workers_that_give_way_are_behind_others(void **state)
{
	int policy = sched_getscheduler(0), nice = getpriority(PRIO_PROCESS, 0);

	for (int gives_way = 0; gives_way < 2; gives_way++) {
		struct look look = { .task.run = look_at_thread };
		struct pool *pool;
		sem_init(&look.done, 0, 0);
		assert_int_equal(pool_new(1, 0, gives_way, &pool), 0);
		pool_push(pool, &look.task, POOL_WAITED);
		sem_wait(&look.done);
		pool_unref(pool);
		assert_int_equal(look.policy, gives_way ? SCHED_BATCH : policy);
		assert_int_equal(look.nice, gives_way ? MIN(nice + 5, 19) : nice);
	}
	assert_int_equal(getpriority(PRIO_PROCESS, 0), nice);
}

static void test_affinity_limits_the_workers(void **state)
{
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_true(cpus_available() >= 1 && cpus_available() <= (unsigned)CPU_COUNT(&before));
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	unsigned cpus = cpus_available();
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(cpus, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waited_tasks_run_before_those_ahead),
		cmocka_unit_test(test_quick_tasks_wait_for_no_others),
		cmocka_unit_test(test_queued_tasks_are_cancelled_at_the_end),
		cmocka_unit_test(test_a_loop_visits_every_index_once),
		cmocka_unit_test(test_a_failure_stops_a_loop),
		cmocka_unit_test(test_loops_inside_of_all_workers_at_once_end),
		cmocka_unit_test(test_others_take_the_place_of_a_caller_that_waits_for_the_end_of_its_loop),
		cmocka_unit_test(test_workers_that_give_way_are_behind_others),
		cmocka_unit_test(test_affinity_limits_the_workers),
	};
	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
