/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn prepares everything before the fork and reports a failed exec as its own result (glibc: CLONE_VFORK with a shared error
 * slot), so that "cannot run it" and "it failed" cannot be confused.
 */
#include "build/engine/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

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
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
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

/* Reads to the end of file and keeps the end of what came, as one line. */
static void read_tail(int fd, char tail[STDERR_TAIL + 1])
{
	size_t size = 0;

	for (;;) {
		char bytes[4096];
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		size_t keep = MIN((size_t)n, (size_t)STDERR_TAIL);
		size_t old = MIN(size, STDERR_TAIL - keep);
		memmove(tail, tail + size - old, old);
		memcpy(tail + old, bytes + n - keep, keep);
		size = old + keep;
	}
	while (size && (tail[size - 1] == '\n' || tail[size - 1] == ' '))
		size--;
	tail[size] = 0;
	for (size_t i = 0; i < size; i++)
		if (tail[i] == '\n')
			tail[i] = '|';
		else if ((unsigned char)tail[i] < ' ')
			tail[i] = ' ';
}

static int explain(const struct process *process, int status, const char *tail, struct error *error)
{
	_cleanup_buffer_ struct buffer command = { 0 };
	char end[48];

	for (size_t i = 0; process->argv[i]; i++)
		buffer_printf(&command, "%s%s", i ? " " : "", process->argv[i]);
	if (WIFSIGNALED(status))
		snprintf(end, sizeof(end), "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(end, sizeof(end), "ended with status %d", WEXITSTATUS(status));
	return error_set(error, -EIO, "'%.*s' %s%s%s", (int)MIN(command.size, (size_t)300), command.data ? (char *)command.data : "", end,
			 *tail ? ": " : "", tail);
}

int process_run(const struct process *process, struct error *error)
{
	_cleanup_close_ int read_end = -1;
	char tail[STDERR_TAIL + 1];
	int pipe_fds[2], status;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	read_end = pipe_fds[0];
	int r = spawn(process, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (r < 0)
		return error_set(error, r, "cannot run '%s': %s", process->argv[0], strerror(-r));
	read_tail(read_end, tail);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(error, -errno, "cannot wait for '%s': %s", process->argv[0], strerror(errno));
	return status == 0 ? 0 : explain(process, status, tail, error);
}
