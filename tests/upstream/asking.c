/* SPDX-License-Identifier: MIT */
#include "tests/upstream/asking.h"

#include <poll.h>
#include <sys/wait.h>

static const char *const standin[] = { STANDIN, NULL };

struct workers *start_with(const struct workers_options *options)
{
	struct workers_options complete = *options;
	struct workers *workers;

	if (!complete.argv)
		complete.argv = standin;
	assert_int_equal(workers_new(&complete, &workers), 0);
	return workers;
}

struct workers *start(unsigned most, unsigned seconds)
{
	return start_with(&(struct workers_options){ .program = -1, .most = most, .seconds = seconds });
}

char *ask_for(struct workers *workers, const char *kind, const char *body, int *ret_code, struct error *error)
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

char *ask(struct workers *workers, const char *kind, const char *body)
{
	struct error error;
	int code;
	char *reply = ask_for(workers, kind, body, &code, &error);

	if (!reply)
		fail_msg("%s: %d: %s", kind, code, error.text);
	return reply;
}

void assert_echo(struct workers *workers, const char *text)
{
	_cleanup_free_ char *reply = ask(workers, "echo", text);

	assert_string_equal(reply, text);
}

void assert_fails(struct workers *workers, const char *kind, const char *body, int code, const char *words)
{
	struct error error;
	int got;

	assert_null(ask_for(workers, kind, body, &got, &error));
	if (got != code || !strstr(error.text, words))
		fail_msg("%s: %d: %s", kind, got, error.text);
	assert_echo(workers, "still here");
}

static void *run(void *userdata)
{
	struct asker *asker = userdata;

	free(ask_for(asker->workers, asker->kind, asker->body, &asker->code, &asker->error));
	return NULL;
}

void ask_begin(struct asker *asker, struct workers *workers, const char *kind, const char *body)
{
	*asker = (struct asker){ .workers = workers, .kind = kind, .body = body };
	assert_int_equal(pthread_create(&asker->thread, NULL, run, asker), 0);
}

void ask_end(struct asker *asker)
{
	pthread_join(asker->thread, NULL);
}

/* ---- processes -------------------------------------------------------------------------------------------------------- */

void assert_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

size_t count_lines(const char *path)
{
	if (access(path, F_OK) < 0)
		return 0;
	_cleanup_free_ char *text = read_text(path, NULL);
	size_t n = 0;

	for (const char *at = text; *at; at++)
		n += *at == '\n';
	return n;
}

void wait_for_lines(const char *path, size_t n)
{
	while (count_lines(path) < n)
		poll(NULL, 0, 5);
}

pid_t pid_in(const char *path, size_t line)
{
	_cleanup_free_ char *text = read_text(path, NULL);
	const char *at = text;

	for (size_t i = 0; i < line; i++)
		at = strchr(at, '\n') + 1;
	return atoi(at);
}

static bool is_alive(pid_t pid)
{
	char path[64], letter = 'Z';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%*d %*s %c", &letter) != 1)	/* it has been waited for between the two */
		letter = 'Z';
	fclose(file);
	return letter != 'Z';
}

void wait_until_dead(const char *path, size_t line)
{
	pid_t pid = pid_in(path, line);

	assert_true(pid > 1);
	while (is_alive(pid))
		poll(NULL, 0, 5);
}
