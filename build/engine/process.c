/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn prepares everything before the fork and reports a failed exec as its own result (glibc: CLONE_VFORK with a shared error
 * slot), so that "cannot run it" and "it failed" cannot be confused.
 */
#include "build/engine/process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>

#define STDERR_TAIL 600		/* bytes; leaves room for the command in struct error */

static const char *const kept_variables[] = { "PATH", "LD_LIBRARY_PATH", "TMPDIR" };

struct environment {
	char *entries[ARRAY_SIZE(kept_variables) + 2];	/* NULL-terminated; all but the last are malloc memory */
};

static void environment_release(struct environment *environment)
{
	for (size_t i = 0; environment->entries[i]; i++)
		free(environment->entries[i]);
}

static int environment_init(struct environment *environment)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kept_variables); i++) {
		const char *value = getenv(kept_variables[i]);
		if (!value)
			continue;
		if (asprintf(&environment->entries[n], "%s=%s", kept_variables[i], value) < 0) {
			environment->entries[n] = NULL;
			return -ENOMEM;
		}
		n++;
	}
	environment->entries[n] = strdup("LC_ALL=C");
	return environment->entries[n] ? 0 : -ENOMEM;
}

static int spawn(const struct process *process, int error_fd, pid_t *ret_pid)
{
	_cleanup_(environment_release) struct environment environment = { 0 };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, defaults;

	int r = environment_init(&environment);
	if (r < 0)
		return r;
	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	r = posix_spawnattr_init(&attributes);
	if (r)
		return -r;
	r = posix_spawn_file_actions_init(&actions);
	if (r) {
		posix_spawnattr_destroy(&attributes);
		return -r;
	}
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, process->output, 1);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, error_fd, 2);
	if (!r && process->input >= 0)
		r = posix_spawn_file_actions_adddup2(&actions, process->input, 3);
	if (!r)
		r = posix_spawn_file_actions_addclosefrom_np(&actions, process->input >= 0 ? 4 : 3);
	if (!r)
		r = posix_spawn(ret_pid, process->argv[0], &actions, &attributes, (char *const *)process->argv, environment.entries);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

/* ---- what it says ----------------------------------------------------------------------------------------------------- */

/* The end of what it wrote to stderr. */
struct tail {
	size_t size;
	char text[STDERR_TAIL + 1];
};

static void tail_add(struct tail *tail, const char *bytes, size_t n)
{
	size_t keep = MIN(n, (size_t)STDERR_TAIL);
	size_t old = MIN(tail->size, STDERR_TAIL - keep);

	memmove(tail->text, tail->text + tail->size - old, old);
	memcpy(tail->text + old, bytes + n - keep, keep);
	tail->size = old + keep;
}

/* Makes it one line. */
static void tail_finish(struct tail *tail)
{
	while (tail->size && (tail->text[tail->size - 1] == '\n' || tail->text[tail->size - 1] == ' '))
		tail->size--;
	tail->text[tail->size] = 0;
	for (size_t i = 0; i < tail->size; i++)
		if (tail->text[i] == '\n')
			tail->text[i] = '|';
		else if ((unsigned char)tail->text[i] < ' ')
			tail->text[i] = ' ';
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads until the end of file, which comes when the process (and what it started) has ended. -ETIMEDOUT, -ECANCELED. */
static int read_stderr(const struct process *process, int fd, struct tail *tail)
{
	int64_t end = process->seconds ? now_ms() + (int64_t)process->seconds * 1000 : INT64_MAX;

	for (;;) {
		struct pollfd polled[] = { { .fd = fd, .events = POLLIN }, { .fd = process->stop, .events = POLLIN } };
		char bytes[4096];
		int64_t left = end - now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(polled, ARRAY_SIZE(polled), process->seconds ? (int)MIN(left, (int64_t)INT_MAX) : -1) < 0 && errno != EINTR)
			return -errno;
		if (polled[1].revents)
			return -ECANCELED;
		if (!polled[0].revents)
			continue;
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		if (n > 0)
			tail_add(tail, bytes, (size_t)n);
	}
}

/* ---- how it ended ----------------------------------------------------------------------------------------------------- */

/* `killed`: why we ended it, or 0. */
static int explain(const struct process *process, int killed, int status, const char *tail, struct error *error)
{
	_cleanup_buffer_ struct buffer command = { 0 };
	char end[64];

	for (size_t i = 0; process->argv[i]; i++)
		buffer_printf(&command, "%s%s", i ? " " : "", process->argv[i]);
	if (killed == -ETIMEDOUT)
		snprintf(end, sizeof(end), "did not end within %u seconds and was killed", process->seconds);
	else if (killed < 0)
		snprintf(end, sizeof(end), "was killed: %s", killed == -ECANCELED ? "nobody waits any more" : strerror(-killed));
	else if (WIFSIGNALED(status))
		snprintf(end, sizeof(end), "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(end, sizeof(end), "ended with status %d", WEXITSTATUS(status));
	return error_set(error, killed < 0 ? killed : -EIO, "'%.*s' %s%s%s", (int)MIN(command.size, (size_t)300),
			 command.data ? (char *)command.data : "", end, *tail ? ": " : "", tail);
}

int process_run(const struct process *process, struct error *error)
{
	_cleanup_close_ int read_end = -1;
	struct tail tail = { 0 };
	int pipe_fds[2], status;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	read_end = pipe_fds[0];
	int r = spawn(process, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (r < 0)
		return error_set(error, r, "cannot run '%s': %s", process->argv[0], strerror(-r));
	int killed = read_stderr(process, read_end, &tail);
	if (killed < 0)
		kill(-pid, SIGKILL);
	tail_finish(&tail);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(error, -errno, "cannot wait for '%s': %s", process->argv[0], strerror(errno));
	return killed == 0 && status == 0 ? 0 : explain(process, killed, status, tail.text, error);
}
