/* SPDX-License-Identifier: MIT */
/* What workers are forked from: that it is started again when it is no good any more, whom that harms, and that nobody outlives us. */
#include "base/clock.h"
#include "build/process/program.h"
#include "tests/upstream/asking.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

/* Workers of a stand-in of which the first one does what no loader should; "starts" has a line for each. */
static struct workers *start_badly(void **state, const char *first, unsigned seconds)
{
	const char *const argv[] = { STANDIN, in_scratch(state, "starts"), first, NULL };

	return start_with(&(struct workers_options){ .argv = argv, .program = -1, .most = 8, .seconds = seconds });
}

/* The same of what is forked by worker.py. */
static struct workers *start_python(void **state, const char *first, unsigned seconds)
{
	_cleanup_free_ char *python = program_search("python3");
	const char *const argv[] = { python, TENSILEFS_SOURCE "/tests/upstream/forking.py", in_scratch(state, "starts"), *first ? first : NULL, NULL };

	assert_non_null(python);
	return start_with(&(struct workers_options){ .argv = argv, .program = -1, .most = 8, .seconds = seconds });
}

typedef struct workers *start_function(void **state, const char *first, unsigned seconds);

static size_t starts(void **state)
{
	return count_lines(in_scratch(state, "starts"));
}

static void kill_loader(void **state)
{
	pid_t pid = pid_in(in_scratch(state, "starts"), starts(state) - 1);

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);	/* its status is the workers' to take */
}

/* ---- one that lives --------------------------------------------------------------------------------------------------- */

static void test_it_is_started_once_for_many(void **state)
{
	struct workers *workers = start_badly(state, "", 60);
	struct asker askers[16];

	for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
		ask_begin(&askers[i], workers, "echo", "x");
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		ask_end(&askers[i]);
		assert_int_equal(askers[i].code, 0);
	}
	assert_int_equal(starts(state), 1);
	workers_unref(workers);
	assert_no_children();
}

static void test_an_idle_one_ends_after_a_while_and_comes_back(void **state)
{
	const char *const argv[] = { STANDIN, in_scratch(state, "starts"), NULL };
	struct workers *workers = start_with(&(struct workers_options){ .argv = argv, .program = -1, .most = 2, .idle_seconds = 1 });
	const char *go = in_scratch(state, "go");
	struct asker busy;

	assert_echo(workers, "one");
	ask_begin(&busy, workers, "wait", go);
	poll(NULL, 0, 2500);
	assert_echo(workers, "as long as one is busy");
	assert_int_equal(starts(state), 1);
	write_text(go, "");
	ask_end(&busy);
	assert_int_equal(busy.code, 0);
	wait_until_dead(in_scratch(state, "starts"), 0);
	assert_echo(workers, "a new one");
	assert_int_equal(starts(state), 2);
	workers_unref(workers);
	assert_no_children();
}

static void test_one_that_cannot_fork_says_so_and_stays(void **state)
{
	struct workers *workers = start_badly(state, "poor", 60);

	assert_fails(workers, "echo", "", -EAGAIN, "cannot fork the worker");
	assert_int_equal(starts(state), 1);
	workers_unref(workers);
	assert_no_children();
}

static void test_one_that_says_a_lot_while_it_loads_blocks_nobody(void **state)
{
	struct workers *workers = start_badly(state, "flood", 60);

	assert_echo(workers, "in time");
	assert_int_equal(starts(state), 1);
	workers_unref(workers);
	assert_no_children();
}

/* ---- one that fails --------------------------------------------------------------------------------------------------- */

static void test_one_that_fails_is_replaced(void **state)
{
	static const struct {
		const char *first;
		int code;
		const char *words;
	} ways[] = {
		{ "die", -EIO, "ended with status 3 before it took the request: nothing to load" },
		{ "hang", -ETIMEDOUT, "did not answer within 2 seconds" },
		{ "flood hang", -ETIMEDOUT, "did not answer within 2 seconds and was killed: x" },
		{ "flood forever", -ETIMEDOUT, "did not answer within 2 seconds and was killed: " },
		{ "drop", -EIO, "took a request and forgot it, and was killed" },
		{ "nonsense", -EPROTO, "no reply" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct workers *workers = start_badly(state, ways[i].first, 2);
		assert_fails(workers, "echo", "", ways[i].code, ways[i].words);
		assert_int_equal(starts(state), 2);
		workers_unref(workers);
		assert_no_children();
		assert_int_equal(unlink(in_scratch(state, "starts")), 0);
	}
}

/* The request is answered; how many processes there are would not be known. */
static void test_one_that_does_not_tell_who_ended_is_replaced(void **state)
{
	struct workers *workers = start_badly(state, "deaf", 60);

	assert_echo(workers, "one");
	assert_echo(workers, "two");
	assert_int_equal(starts(state), 2);
	workers_unref(workers);
	assert_int_equal(unlink(in_scratch(state, "starts")), 0);

	workers = start_badly(state, "deaf", 60);
	assert_fails(workers, "exit", "", -EIO, "ended, and what it was forked from does not tell how: a last word");
	workers_unref(workers);
	assert_no_children();
}

static void test_an_idle_one_that_ends_or_speaks_is_replaced(void **state)
{
	struct workers *workers = start_badly(state, "speak", 60);

	assert_echo(workers, "one");
	assert_echo(workers, "two");
	assert_int_equal(starts(state), 2);
	kill_loader(state);
	assert_echo(workers, "three");
	assert_int_equal(starts(state), 3);
	workers_unref(workers);
	assert_no_children();
}

static void die_while_others_work(void **state, start_function *start_one)
{
	struct workers *workers = start_one(state, "", 60);
	const char *go = in_scratch(state, "go"), *pids = in_scratch(state, "pids");
	struct asker lives, dies, hangs;

	assert_echo(workers, "one");
	ask_begin(&lives, workers, "wait", go);
	ask_begin(&dies, workers, "wait and crash", go);
	poll(NULL, 0, 300);
	ask_begin(&hangs, workers, "child", pids);	/* which has nothing of the others' that would keep us waiting for them */
	wait_for_lines(pids, 3);
	kill_loader(state);
	assert_echo(workers, "two");
	int64_t begin = now_ms();
	write_text(go, "");
	ask_end(&lives);
	ask_end(&dies);
	assert_true(now_ms() - begin < 4000);
	assert_int_equal(lives.code, 0);
	assert_int_equal(dies.code, -EIO);
	assert_non_null(strstr(dies.error.text, "ended after what it was forked from was killed by signal 9: a last word"));
	assert_int_equal(starts(state), 2);

	workers_stop(workers);			/* also what has no loader any more */
	ask_end(&hangs);
	assert_int_equal(hangs.code, -ECANCELED);
	wait_until_dead(pids, 1);
	wait_until_dead(pids, 2);
	workers_unref(workers);
	assert_no_children();
}

static void test_its_death_harms_no_request_that_is_under_way(void **state)
{
	die_while_others_work(state, start_badly);
}

static void test_the_death_of_python_harms_no_request_that_is_under_way(void **state)
{
	die_while_others_work(state, start_python);
}

static void die_before_one_is_late(void **state, start_function *start_one)
{
	struct workers *workers = start_one(state, "", 4);
	const char *pids = in_scratch(state, "pids");
	struct asker late;

	ask_begin(&late, workers, "child", pids);
	wait_for_lines(pids, 3);
	kill_loader(state);
	ask_end(&late);
	assert_int_equal(late.code, -ETIMEDOUT);
	wait_until_dead(pids, 1);
	wait_until_dead(pids, 2);
	assert_echo(workers, "next");
	workers_unref(workers);
	assert_no_children();
}

static void test_a_late_worker_is_killed_though_its_loader_is_dead(void **state)
{
	die_before_one_is_late(state, start_badly);
}

static void test_a_late_worker_is_killed_though_its_python_is_dead(void **state)
{
	die_before_one_is_late(state, start_python);
}

static void test_python_tells_how_workers_end_and_kills_what_they_leave(void **state)
{
	struct workers *workers = start_python(state, "", 60);
	const char *pids = in_scratch(state, "pids");

	assert_fails(workers, "child and crash", pids, -EIO, "was killed by signal 9: a last word");
	wait_until_dead(pids, 1);
	for (unsigned i = 0; i < 20; i++)
		assert_echo(workers, "next");
	assert_int_equal(starts(state), 1);
	workers_unref(workers);
	assert_no_children();
}

/* The worker is not waited for until the loader goes on; that it dies needs nobody. */
static void test_one_that_was_stopped_keeps_no_worker_alive(void **state)
{
	struct workers *workers = start_badly(state, "", 1);
	const char *pids = in_scratch(state, "pids");
	struct asker late;

	ask_begin(&late, workers, "child", pids);
	wait_for_lines(pids, 3);
	assert_int_equal(kill(pid_in(pids, 0), SIGSTOP), 0);
	ask_end(&late);
	assert_int_equal(late.code, -ETIMEDOUT);
	wait_until_dead(pids, 1);
	wait_until_dead(pids, 2);
	assert_echo(workers, "next");
	assert_int_equal(starts(state), 2);
	workers_unref(workers);
	assert_no_children();
}

/* ---- the end of all --------------------------------------------------------------------------------------------------- */

static void test_stopping_does_not_wait_until_it_has_loaded(void **state)
{
	struct workers *workers = start_badly(state, "hang", 0);
	struct asker askers[2];

	for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
		ask_begin(&askers[i], workers, "echo", "");
	wait_for_lines(in_scratch(state, "starts"), 1);
	workers_stop(workers);
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		ask_end(&askers[i]);
		assert_int_equal(askers[i].code, -ECANCELED);
	}
	assert_no_children();
	workers_unref(workers);
}

/* A program that has asked, and is killed when the file has so many lines. */
static void be_killed(start_function *start_one, void **state, const char *first, const char *path, size_t lines)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct asker askers[2];
		struct workers *workers = start_one(state, first, 0);
		for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
			ask_begin(&askers[i], workers, "child", path);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	wait_for_lines(path, lines);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void be_killed_while_others_work(void **state, start_function *start_one)
{
	const char *pids = in_scratch(state, "pids");

	be_killed(start_one, state, "", pids, 6);
	for (size_t i = 0; i < 6; i++)
		wait_until_dead(pids, i);
}

static void be_killed_before_it_has_loaded(void **state, start_function *start_one)
{
	const char *loaders = in_scratch(state, "starts");

	be_killed(start_one, state, "hang", loaders, 1);
	wait_until_dead(loaders, 0);
}

static void test_nobody_outlives_a_program_that_is_killed(void **state)
{
	be_killed_while_others_work(state, start_badly);
}

static void test_no_python_outlives_a_program_that_is_killed(void **state)
{
	be_killed_while_others_work(state, start_python);
}

static void test_no_loader_outlives_a_program_that_is_killed(void **state)
{
	be_killed_before_it_has_loaded(state, start_badly);
}

static void test_no_loading_python_outlives_a_program_that_is_killed(void **state)
{
	be_killed_before_it_has_loaded(state, start_python);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_is_started_once_for_many),
		TEST(test_an_idle_one_ends_after_a_while_and_comes_back),
		TEST(test_one_that_cannot_fork_says_so_and_stays),
		TEST(test_one_that_says_a_lot_while_it_loads_blocks_nobody),
		TEST(test_one_that_fails_is_replaced),
		TEST(test_one_that_does_not_tell_who_ended_is_replaced),
		TEST(test_an_idle_one_that_ends_or_speaks_is_replaced),
		TEST(test_its_death_harms_no_request_that_is_under_way),
		TEST(test_the_death_of_python_harms_no_request_that_is_under_way),
		TEST(test_a_late_worker_is_killed_though_its_loader_is_dead),
		TEST(test_a_late_worker_is_killed_though_its_python_is_dead),
		TEST(test_python_tells_how_workers_end_and_kills_what_they_leave),
		TEST(test_one_that_was_stopped_keeps_no_worker_alive),
		TEST(test_stopping_does_not_wait_until_it_has_loaded),
		TEST(test_nobody_outlives_a_program_that_is_killed),
		TEST(test_no_python_outlives_a_program_that_is_killed),
		TEST(test_no_loader_outlives_a_program_that_is_killed),
		TEST(test_no_loading_python_outlives_a_program_that_is_killed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
