/* SPDX-License-Identifier: MIT */
/*
 * posix_spawn prepares everything before the fork and reports a failed exec as its own result (glibc: CLONE_VFORK with a shared
 * error slot), so that "cannot run it" and "it failed" cannot be confused.
 */
#include "build/process/process.h"

#include "base/clock.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

static const char *const kept_variables[] = { "PATH", "LD_LIBRARY_PATH", "TMPDIR" };

#define MOST_VARIABLES 16

struct environment {
	char *entries[MOST_VARIABLES + 1];	/* NULL-terminated, malloc memory */
	size_t n;
};

static void environment_release(struct environment *environment)
{
	for (size_t i = 0; i < environment->n; i++)
		free(environment->entries[i]);
}

static int environment_add(struct environment *environment, const char *name, const char *value)
{
	if (environment->n == MOST_VARIABLES)
		return -E2BIG;
	if (asprintf(&environment->entries[environment->n], "%s%s%s", name, *value ? "=" : "", value) < 0) {
		environment->entries[environment->n] = NULL;
		return -ENOMEM;
	}
	environment->n++;
	return 0;
}

static int environment_init(struct environment *environment, const char *const *added)
{
	int r = environment_add(environment, "LC_ALL", "C");

	for (size_t i = 0; i < ARRAY_SIZE(kept_variables) && r == 0; i++) {
		const char *value = getenv(kept_variables[i]);
		if (value && *value)
			r = environment_add(environment, kept_variables[i], value);
	}
	for (; added && *added && r == 0; added++)
		r = environment_add(environment, *added, "");
	return r;
}

/* ---- starting --------------------------------------------------------------------------------------------------------- */

/*
 * What the file actions read from: copies of the descriptors above all that are written to, so that none is overwritten before its
 * turn.
 */
struct sources {
	int fds[PROCESS_DESCRIPTORS];
	unsigned n;
};

static void sources_release(struct sources *sources)
{
	for (unsigned i = 0; i < sources->n; i++)
		close_p(&sources->fds[i]);
}

static int sources_init(struct sources *sources, const struct process_spawn *spawn)
{
	for (unsigned i = 0; i < spawn->n_fds; i++) {
		int fd = spawn->fds[i] < 0 ? -1 : fcntl(spawn->fds[i], F_DUPFD_CLOEXEC, PROCESS_DESCRIPTORS);
		if (spawn->fds[i] >= 0 && fd < 0)
			return -errno;
		sources->fds[sources->n++] = fd;
	}
	return 0;
}

static int add_actions(posix_spawn_file_actions_t *actions, const struct sources *sources)
{
	int r = 0;

	for (unsigned i = 0; i < sources->n && !r; i++)
		r = sources->fds[i] < 0 ? posix_spawn_file_actions_addopen(actions, (int)i, "/dev/null", O_RDWR, 0) :
					  posix_spawn_file_actions_adddup2(actions, sources->fds[i], (int)i);
	return r ? r : posix_spawn_file_actions_addclosefrom_np(actions, (int)sources->n);
}

/*
 * A signal that we ignore would be ignored there too. So it may be with SIGXFSZ: then a program can say that a file became too
 * large.
 */
static void set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	sigdelset(&all, SIGXFSZ);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(attributes, 0);
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
}

int process_spawn(const struct process_spawn *spawn, pid_t *ret_pid)
{
	_cleanup_(environment_release) struct environment environment = { 0 };
	_cleanup_(sources_release) struct sources sources = { 0 };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;

	int r = environment_init(&environment, spawn->environment);
	if (r == 0)
		r = sources_init(&sources, spawn);
	if (r < 0)
		return r;
	r = posix_spawnattr_init(&attributes);
	if (r)
		return -r;
	r = posix_spawn_file_actions_init(&actions);
	if (r) {
		posix_spawnattr_destroy(&attributes);
		return -r;
	}
	set_attributes(&attributes);
	r = add_actions(&actions, &sources);
	if (!r)
		r = posix_spawn(ret_pid, spawn->argv[0], &actions, &attributes, (char *const *)spawn->argv, environment.entries);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

/* ---- what it says ----------------------------------------------------------------------------------------------------- */

static void tail_add(struct process_tail *tail, const char *bytes, size_t n)
{
	size_t keep = MIN(n, (size_t)PROCESS_TAIL_SIZE);
	size_t old = MIN(tail->size, PROCESS_TAIL_SIZE - keep);

	memmove(tail->text, tail->text + tail->size - old, old);
	memcpy(tail->text + old, bytes + n - keep, keep);
	tail->size = old + keep;
}

int process_tail_read(struct process_tail *tail, int fd, struct buffer *said)
{
	char bytes[4096];
	ssize_t n = 1;

	for (unsigned i = 0; i < 64 && n > 0; i++) {
		n = read(fd, bytes, sizeof(bytes));
		tail_add(tail, bytes, (size_t)MAX(n, 0));
		if (said && n > 0)
			buffer_append(said, bytes, MIN((size_t)n, PROCESS_SAID_MOST - said->size));
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	return n != 0;
}

const char *process_tail_finish(struct process_tail *tail)
{
	while (tail->size && (tail->text[tail->size - 1] == '\n' || tail->text[tail->size - 1] == ' '))
		tail->size--;
	tail->text[tail->size] = 0;
	for (size_t i = 0; i < tail->size; i++)
		if (tail->text[i] == '\n')
			tail->text[i] = '|';
		else if ((unsigned char)tail->text[i] < ' ')
			tail->text[i] = ' ';
	return tail->text;
}

/*
 * Hears a process until it has ended, which its pidfd tells. Its stderr does not: it may close that and go on, and what it leaves
 * behind may keep it open. Only where there is no pidfd (-1: filters of system calls that do not know them) the end of file has to
 * do. -ETIMEDOUT, -ECANCELED.
 */
static int wait_for_end(const struct process *process, int pidfd, int said, struct process_tail *tail)
{
	int64_t end = process->seconds ? now_ms() + (int64_t)process->seconds * 1000 : INT64_MAX;
	struct pollfd polled[] = { { .fd = pidfd, .events = POLLIN }, { .fd = process->stop, .events = POLLIN }, { .fd = said, .events = POLLIN } };

	for (;;) {
		int64_t left = end - now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		int n = poll(polled, ARRAY_SIZE(polled), process->seconds ? (int)MIN(left, (int64_t)INT_MAX) : -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		if (polled[1].revents)
			return -ECANCELED;
		int r = polled[2].revents ? process_tail_read(tail, polled[2].fd, process->said) : 1;
		if (r == 0)
			polled[2].fd = -1;
		if (r < 0 || polled[0].revents || (pidfd < 0 && polled[2].fd < 0))
			return MIN(r, 0);
	}
}

/* ---- how it ended ----------------------------------------------------------------------------------------------------- */

const char *process_print_ending(int status, char text[static PROCESS_ENDING_SIZE])
{
	if (WIFSIGNALED(status))
		snprintf(text, PROCESS_ENDING_SIZE, "was killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, PROCESS_ENDING_SIZE, "ended with status %d", WEXITSTATUS(status));
	return text;
}

/* `killed`: why we ended it, or 0. */
static int explain(const struct process *process, int killed, int status, const char *tail, struct error *error)
{
	_cleanup_buffer_ struct buffer command = { 0 };
	char end[PROCESS_ENDING_SIZE];

	for (size_t i = 0; process->argv[i]; i++)
		buffer_printf(&command, "%s%s", i ? " " : "", process->argv[i]);
	if (killed == -ETIMEDOUT)
		snprintf(end, sizeof(end), "did not end within %u seconds and was killed", process->seconds);
	else if (killed < 0)
		snprintf(end, sizeof(end), "was killed: %s", killed == -ECANCELED ? "nobody waits any more" : strerror(-killed));
	else
		process_print_ending(status, end);
	return error_set(error, killed < 0 ? killed : -EIO, "'%.*s' %s%s%s", (int)MIN(command.size, (size_t)300),
			 command.data ? (char *)command.data : "", end, *tail ? ": " : "", tail);
}

int process_run(const struct process *process, struct error *error)
{
	_cleanup_close_ int read_end = -1;
	struct process_tail tail = { 0 };
	int pipe_fds[2], status;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	read_end = pipe_fds[0];
	int r = process_spawn(&(struct process_spawn){ .argv = process->argv, .n_fds = process->input >= 0 ? 4 : 3,
						       .fds = { -1, process->output, pipe_fds[1], process->input } },
			      &pid);
	close(pipe_fds[1]);
	if (r < 0)
		return error_set(error, r, "cannot run '%s': %s", process->argv[0], strerror(-r));
	_cleanup_close_ int pidfd = pidfd_open(pid, 0);
	fcntl(read_end, F_SETFL, O_NONBLOCK);
	int killed = wait_for_end(process, pidfd, read_end, &tail);
	kill(-pid, SIGKILL);		/* also what it has left behind; nobody else has its number before we have waited for it */
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(error, -errno, "cannot wait for '%s': %s", process->argv[0], strerror(errno));
	if (killed == 0 && process->status)
		*process->status = status;
	return killed == 0 && status == 0 ? 0 : explain(process, killed, status, process_tail_finish(&tail), error);
}
