/* SPDX-License-Identifier: MIT */
/* Workers: what they are asked comes back, and whatever one of them does, the others and we go on. */
#include "build/process/process.h"
#include "build/upstream/workers.h"
#include "tests/common/files.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static const char *const standin[] = { STANDIN, NULL };

static struct workers *start(unsigned most, unsigned seconds)
{
	struct workers *workers;

	assert_int_equal(workers_new(&(struct workers_options){ .argv = standin, .program = -1, .most = most, .seconds = seconds }, &workers), 0);
	return workers;
}

/* The reply as malloc memory with a NUL; NULL when there was none: then the code and the message are in *ret_code and *error. */
static char *ask_for(struct workers *workers, const char *kind, const char *body, int *ret_code, struct error *error)
{
	struct buffer reply = { 0 };

	error->text[0] = 0;
	*ret_code = workers_ask(workers, kind, body, strlen(body), &reply, error);
	if (*ret_code < 0) {
		assert_int_equal(reply.size, 0);
		return NULL;
	}
	buffer_append(&reply, "", 1);
	assert_false(reply.failed);
	return (char *)reply.data;
}

static char *ask(struct workers *workers, const char *kind, const char *body)
{
	struct error error;
	int code;
	char *reply = ask_for(workers, kind, body, &code, &error);

	if (!reply)
		fail_msg("%s: %d: %s", kind, code, error.text);
	return reply;
}

static void assert_echo(struct workers *workers, const char *text)
{
	_cleanup_free_ char *reply = ask(workers, "echo", text);

	assert_string_equal(reply, text);
}

/* It fails in this way, with these words, and the next request is answered. */
static void assert_fails(struct workers *workers, const char *kind, const char *body, int code, const char *words)
{
	struct error error;
	int got;

	assert_null(ask_for(workers, kind, body, &got, &error));
	if (got != code || !strstr(error.text, words))
		fail_msg("%s: %d: %s", kind, got, error.text);
	assert_echo(workers, "still here");
}

static void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

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

static void test_a_worker_lives_on(void **state)
{
	struct workers *workers = start(4, 60);
	_cleanup_free_ char *first = ask(workers, "pid", ""), *second = ask(workers, "pid", "");

	assert_string_equal(first, second);
	assert_fails(workers, "refuse", "the reason", -EIO, "the reason");
	_cleanup_free_ char *third = ask(workers, "pid", "");
	assert_string_equal(first, third);
	workers_unref(workers);
}

static void test_a_worker_that_fails_is_replaced(void **state)
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
	struct workers *workers = start(1, 60);
	unsigned before = open_descriptors();

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		_cleanup_free_ char *old = ask(workers, "pid", "");
		assert_fails(workers, ways[i].kind, ways[i].body, ways[i].code, ways[i].words);
		_cleanup_free_ char *new = ask(workers, "pid", "");
		assert_string_not_equal(old, new);
		assert_int_equal(kill(atoi(old), 0), -1);	/* ended and waited for */
	}
	assert_int_equal(open_descriptors(), before + 2);	/* of the one that lives */
	workers_unref(workers);
	assert_no_children();
}

/* What it has not read of a request it would take for the next one. */
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

/* A process of somebody else's, which may not have been waited for when it is dead. */
static bool is_alive(pid_t pid)
{
	char path[64], letter = 'Z';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	assert_int_equal(fscanf(file, "%*d %*s %c", &letter), 1);
	fclose(file);
	return letter != 'Z';
}

static void test_what_a_worker_started_is_killed_with_it(void **state)
{
	struct workers *workers = start(1, 1);
	const char *path = in_scratch(state, "child");

	assert_fails(workers, "child", path, -ETIMEDOUT, "did not answer");
	_cleanup_free_ char *child = read_text(path, NULL);
	while (is_alive(atoi(child)))		/* the signal may take a moment; the test's own timeout is the limit */
		poll(NULL, 0, 5);
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

/* Without taking its status, which is the workers' to take. */
static void wait_for_end(const char *pid)
{
	assert_int_equal(waitid(P_PID, (id_t)atoi(pid), &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
}

static void test_an_idle_worker_that_ends_or_speaks_is_replaced(void **state)
{
	struct workers *workers = start(1, 60);
	_cleanup_free_ char *ending = ask(workers, "pid", ""), *bye = ask(workers, "later", "");

	assert_string_equal(bye, "bye");
	wait_for_end(ending);
	_cleanup_free_ char *killed = ask(workers, "pid", "");
	assert_int_equal(kill(atoi(killed), SIGKILL), 0);
	wait_for_end(killed);
	assert_echo(workers, "another");
	_cleanup_free_ char *once = ask(workers, "twice", "");
	assert_string_equal(once, "once");
	poll(NULL, 0, 100);			/* for the second reply to be there */
	assert_echo(workers, "another again");
	workers_unref(workers);
	assert_no_children();
}

static void test_an_idle_worker_ends_after_a_while(void **state)
{
	struct workers *workers;

	assert_int_equal(workers_new(&(struct workers_options){ .argv = standin, .program = -1, .most = 2, .idle_seconds = 1 }, &workers), 0);
	_cleanup_free_ char *pid = ask(workers, "pid", "");
	while (kill(atoi(pid), 0) == 0)		/* the test's own timeout is the limit */
		poll(NULL, 0, 20);
	assert_no_children();
	assert_echo(workers, "a new one");
	workers_unref(workers);
}

static void test_what_a_worker_inherits(void **state)
{
	static const char expected[] = "fd 0\nfd 1\nfd 2\nfd 3\nfd 4\nLC_ALL=C\n";
	const char *const environment[] = { "ONE=1", "TWO=2", NULL };
	struct workers *workers;

	assert_int_equal(setenv("TENSILEFS_TEST_SECRET", "x", 1), 0);
	assert_int_equal(workers_new(&(struct workers_options){ .argv = standin, .environment = environment, .program = 0, .most = 1 }, &workers), 0);
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
	struct workers *workers;

	assert_int_equal(workers_new(&(struct workers_options){ .argv = standin, .program = -1, .most = 1, .memory = 1 << 30 }, &workers), 0);
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

static void *hang(void *userdata)
{
	struct crowd *crowd = userdata;
	struct buffer reply = { 0 };

	atomic_fetch_add(&crowd->number, 1);
	crowd->failures += workers_ask(crowd->workers, "hang", "", 0, &reply, NULL) != -ECANCELED;
	return NULL;
}

static void test_stopping_ends_who_is_answered_and_who_waits(void **state)
{
	struct crowd crowd = { .workers = start(2, 0) };
	pthread_t threads[6];
	struct error error;
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hang, &crowd), 0);
	while (crowd.number < ARRAY_SIZE(threads))
		poll(NULL, 0, 1);
	workers_stop(crowd.workers);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(crowd.failures, 0);
	assert_no_children();
	assert_null(ask_for(crowd.workers, "echo", "", &code, &error));
	assert_int_equal(code, -ECANCELED);
	workers_unref(crowd.workers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_requests_and_replies_of_any_size),
		TEST(test_a_worker_lives_on),
		TEST(test_a_worker_that_fails_is_replaced),
		TEST(test_a_reply_before_the_end_of_the_request_is_refused),
		TEST(test_a_late_worker_is_killed),
		TEST(test_what_a_worker_started_is_killed_with_it),
		TEST(test_complaints_block_nobody),
		TEST(test_an_idle_worker_that_ends_or_speaks_is_replaced),
		TEST(test_an_idle_worker_ends_after_a_while),
		TEST(test_what_a_worker_inherits),
		TEST(test_memory_is_limited),
		TEST(test_a_program_that_is_not_there),
		TEST(test_many_threads_ask_at_once),
		TEST(test_stopping_ends_who_is_answered_and_who_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
