/* SPDX-License-Identifier: MIT */
/* Workers: what they are asked comes back, and whatever one of them does, the others and we go on. */
#include "build/process/process.h"
#include "tests/upstream/asking.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static unsigned open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

static void test_requests_and_replies_of_any_size(void **state)
{
	struct workers *workers = start(1, 60);
	size_t size = 20 << 20;
	_cleanup_free_ char *large = malloc(size + 1);

	assert_non_null(large);
	for (size_t i = 0; i < size; i++)
		large[i] = (char)('a' + i % 23);
	large[size] = 0;
	assert_echo(workers, "");
	assert_echo(workers, "a");
	assert_echo(workers, large);
	workers_unref(workers);
	assert_no_children();
}

static void test_all_are_forked_from_what_was_loaded_once(void **state)
{
	struct workers *workers = start(4, 60);
	_cleanup_free_ char *first = ask(workers, "pid", ""), *second = ask(workers, "pid", "");
	_cleanup_free_ char *loader = ask(workers, "loader", "");

	assert_string_not_equal(first, second);
	assert_fails(workers, "refuse", "the reason", -EIO, "the reason");
	_cleanup_free_ char *same = ask(workers, "loader", "");
	assert_string_equal(loader, same);
	workers_unref(workers);
	assert_no_children();
}

static void test_a_worker_that_fails_tells_how_and_harms_no_other(void **state)
{
	static const struct {
		const char *kind, *body;
		int code;
		const char *words;
	} ways[] = {
		{ "crash", "", -EIO, "killed by signal 11: a last word" },
		{ "exit", "", -EIO, "ended with status 7: a last word" },
		{ "flood and exit", "3000000", -EIO, "the last line" },
		{ "nonsense", "", -EPROTO, "no reply" },
		{ "oversize", "", -EPROTO, "no reply" },
		{ "empty", "", -EPROTO, "no reply" },
		{ "middle", "", -EIO, "ended with status 0" },
	};
	struct workers *workers = start(2, 60);
	_cleanup_free_ char *loader = ask(workers, "loader", "");
	unsigned before = open_descriptors();
	struct asker other;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const char *go = in_scratch(state, "go-%zu", i);
		ask_begin(&other, workers, "wait", go);
		assert_fails(workers, ways[i].kind, ways[i].body, ways[i].code, ways[i].words);
		write_text(go, "");
		ask_end(&other);
		assert_int_equal(other.code, 0);
	}
	_cleanup_free_ char *same = ask(workers, "loader", "");
	assert_string_equal(loader, same);
	assert_int_equal(open_descriptors(), before);
	workers_unref(workers);
	assert_no_children();
}

static void test_a_reply_before_the_end_of_the_request_is_refused(void **state)
{
	struct workers *workers = start(1, 60);
	_cleanup_free_ char *body = malloc((100 << 20) + 1);

	assert_non_null(body);
	memset(body, 'x', 100 << 20);
	body[100 << 20] = 0;
	assert_fails(workers, "echo", body, -EPROTO, "no reply");
	workers_unref(workers);
	assert_no_children();
}

static void test_a_late_worker_is_killed(void **state)
{
	struct workers *workers = start(1, 1);

	assert_fails(workers, "hang", "", -ETIMEDOUT, "did not answer within 1 seconds");
	workers_unref(workers);
	assert_no_children();
}

static void test_what_a_worker_started_is_killed_with_it(void **state)
{
	struct workers *workers = start(1, 1);
	_cleanup_free_ char *done = ask(workers, "child and answer", in_scratch(state, "answered"));

	wait_until_dead(in_scratch(state, "answered"), 1);
	assert_fails(workers, "child", in_scratch(state, "late"), -ETIMEDOUT, "did not answer");
	wait_until_dead(in_scratch(state, "late"), 1);
	assert_fails(workers, "child and crash", in_scratch(state, "crashed"), -EIO, "killed by signal 9");
	wait_until_dead(in_scratch(state, "crashed"), 1);
	workers_unref(workers);
}

static void test_a_worker_has_ended_when_its_reply_is_there(void **state)
{
	struct workers *workers = start(1, 60);

	for (unsigned i = 0; i < 20; i++) {
		_cleanup_free_ char *pid = ask(workers, "stay", "");
		assert_int_equal(kill(atoi(pid), 0), -1);
		assert_int_equal(errno, ESRCH);
	}
	workers_unref(workers);
}

static void test_complaints_block_nobody(void **state)
{
	struct workers *workers = start(1, 60);
	_cleanup_free_ char *flooded = ask(workers, "flood", "10000000"), *silent = ask(workers, "silence", "");

	assert_string_equal(flooded, "flooded");
	assert_string_equal(silent, "silent");
	assert_echo(workers, "after");
	workers_unref(workers);
}

static void test_a_second_reply_is_nobodys(void **state)
{
	struct workers *workers = start(1, 60);
	_cleanup_free_ char *once = ask(workers, "twice", "");

	assert_string_equal(once, "once");
	assert_echo(workers, "another");
	workers_unref(workers);
}

static void test_what_the_loader_inherits(void **state)
{
	static const char expected[] = "fd 0\nfd 1\nfd 2\nfd 3\nfd 4\nfd 5\nLC_ALL=C\n";
	const char *const environment[] = { "ONE=1", "TWO=2", NULL };

	assert_int_equal(setenv("TENSILEFS_TEST_SECRET", "x", 1), 0);
	struct workers *workers = start_with(&(struct workers_options){ .environment = environment, .program = 0, .most = 1 });
	_cleanup_free_ char *description = ask(workers, "describe", "");
	assert_memory_equal(description, expected, strlen(expected));
	assert_non_null(strstr(description, "\nONE=1\nTWO=2\n"));
	assert_null(strstr(description, "TENSILEFS_TEST_SECRET"));
	workers_unref(workers);
}

static void test_memory_is_limited(void **state)
{
#ifdef __SANITIZE_ADDRESS__
	skip();					/* its shadow alone is larger */
#else
	struct workers *workers = start_with(&(struct workers_options){ .program = -1, .most = 1, .memory = 1 << 30 });

	_cleanup_free_ char *reply = ask(workers, "memory", "");
	assert_string_equal(reply, "refused");
	workers_unref(workers);
#endif
}

static void test_a_program_that_is_not_there(void **state)
{
	const char *const argv[] = { in_scratch(state, "none"), NULL };
	struct workers *workers;
	struct error error;
	int code;

	assert_int_equal(workers_new(&(struct workers_options){ .argv = argv, .program = -1, .most = 1 }, &workers), 0);
	for (unsigned i = 0; i < 2; i++) {	/* its place is free again */
		assert_null(ask_for(workers, "echo", "", &code, &error));
		assert_int_equal(code, -ENOENT);
		assert_non_null(strstr(error.text, argv[0]));
	}
	workers_unref(workers);
}

/* ---- many at once ----------------------------------------------------------------------------------------------------- */

struct crowd {
	struct workers *workers;
	atomic_uint number, failures;
};

static void *ask_often(void *userdata)
{
	struct crowd *crowd = userdata;

	for (unsigned i = 0; i < 40; i++) {
		unsigned number = atomic_fetch_add(&crowd->number, 1);
		struct buffer reply = { 0 };
		char body[16];
		int length = snprintf(body, sizeof(body), "%u", number);
		int r = workers_ask(crowd->workers, number % 10 == 7 ? "crash" : "echo", body, (size_t)length, &reply, NULL);
		bool right = number % 10 == 7 ? r == -EIO : r == 0 && reply.size == (size_t)length && memcmp(reply.data, body, reply.size) == 0;
		crowd->failures += !right;
		buffer_release(&reply);
	}
	return NULL;
}

static void test_many_threads_ask_at_once(void **state)
{
	struct crowd crowd = { .workers = start(3, 60) };
	pthread_t threads[8];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &crowd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.number, 320);
	assert_int_equal(crowd.failures, 0);
	workers_unref(crowd.workers);
	assert_no_children();
}

/* At no time has the file more "+" than that before "-" of theirs. */
static void test_never_more_at_once_than_there_may_be(void **state)
{
	struct workers *workers = start(3, 60);
	const char *path = in_scratch(state, "count");
	struct asker askers[12];
	unsigned now = 0, most = 0;

	for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
		ask_begin(&askers[i], workers, "count", path);
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		ask_end(&askers[i]);
		assert_int_equal(askers[i].code, 0);
	}
	_cleanup_free_ char *text = read_text(path, NULL);
	for (const char *at = text; *at; at++) {
		now += *at == '+' ? 1u : -1u;
		most = MAX(most, now);
	}
	assert_int_equal(strlen(text), 2 * ARRAY_SIZE(askers));
	assert_int_equal(most, 3);
	workers_unref(workers);
}

static void test_stopping_ends_who_is_answered_and_who_waits(void **state)
{
	struct workers *workers = start(2, 0);
	const char *path = in_scratch(state, "pids");
	struct asker askers[6];
	struct error error;
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
		ask_begin(&askers[i], workers, "child", path);
	wait_for_lines(path, 6);		/* of two workers */
	workers_stop(workers);
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		ask_end(&askers[i]);
		assert_int_equal(askers[i].code, -ECANCELED);
	}
	assert_no_children();
	for (size_t i = 0; i < 6; i++)
		wait_until_dead(path, i);
	assert_null(ask_for(workers, "echo", "", &code, &error));
	assert_int_equal(code, -ECANCELED);
	workers_unref(workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests_and_replies_of_any_size),
		TEST(test_all_are_forked_from_what_was_loaded_once),
		TEST(test_a_worker_that_fails_tells_how_and_harms_no_other),
		TEST(test_a_reply_before_the_end_of_the_request_is_refused),
		TEST(test_a_late_worker_is_killed),
		TEST(test_what_a_worker_started_is_killed_with_it),
		TEST(test_a_worker_has_ended_when_its_reply_is_there),
		TEST(test_complaints_block_nobody),
		TEST(test_a_second_reply_is_nobodys),
		TEST(test_what_the_loader_inherits),
		TEST(test_memory_is_limited),
		TEST(test_a_program_that_is_not_there),
		TEST(test_many_threads_ask_at_once),
		TEST(test_never_more_at_once_than_there_may_be),
		TEST(test_stopping_ends_who_is_answered_and_who_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
