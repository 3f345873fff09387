/* SPDX-License-Identifier: MIT */
#include "build/upstream/loader.h"

#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define ENDING_MS 500		/* from closing its sockets to having ended */
#define LARGEST_PID (1 << 22)

/* ---- the loader ------------------------------------------------------------------------------------------------------- */

static int make_sockets(int type, int *ret_ours, int *ret_theirs)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	*ret_ours = ends[0];
	*ret_theirs = ends[1];
	return 0;
}

static int make_pipe(int *ret_read, int *ret_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

static int spawn(const struct workers_options *options, struct loader *loader, struct error *error)
{
	_cleanup_close_ int control = -1, complaints = -1, leash = -1;

	int r = make_sockets(SOCK_SEQPACKET, &loader->control, &control);
	if (r == 0)
		r = make_pipe(&loader->complaints, &complaints);
	if (r == 0)
		r = make_pipe(&leash, &loader->leash);
	if (r < 0)
		return error_set(error, r, "cannot make a socket: %s", strerror(-r));
	fcntl(loader->complaints, F_SETFL, O_NONBLOCK);
	r = process_spawn(&(struct process_spawn){ .argv = options->argv, .environment = options->environment,
						   .fds = { -1, complaints, complaints, control, options->program, leash }, .n_fds = 6 },
			  &loader->pid);
	if (r < 0)
		return error_set(error, r, "cannot run '%s': %s", options->argv[0], strerror(-r));
	if (options->memory)
		prlimit(loader->pid, RLIMIT_AS, &(struct rlimit){ options->memory, options->memory }, NULL);
	return 0;
}

int loader_start(const struct workers_options *options, struct loader **ret_loader, struct error *error)
{
	struct loader *loader = malloc(sizeof(*loader));

	if (!loader)
		return -ENOMEM;
	*loader = (struct loader){ .control = -1, .complaints = -1, .leash = -1 };
	pthread_mutex_init(&loader->lock, NULL);
	int r = spawn(options, loader, error);
	if (r < 0) {
		loader_free(loader);
		return r;
	}
	*ret_loader = loader;
	return 0;
}

static short state_of(const struct loader *loader)
{
	struct pollfd polled = { .fd = loader->control, .events = POLLIN };

	return poll(&polled, 1, 0) < 0 ? 0 : polled.revents;
}

bool loader_is_sound(const struct loader *loader)
{
	return !state_of(loader);
}

/* False at the end of file. */
static bool hear(struct loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	int r = process_tail_read(&loader->tail, loader->complaints, NULL);
	pthread_mutex_unlock(&loader->lock);
	return r > 0;
}

/* Its socket closes before it can be waited for; a moment later it has told its own status. */
static bool ends_by_itself(const struct loader *loader)
{
	for (unsigned i = 0; i < ENDING_MS / 10 && state_of(loader) & POLLHUP; i++) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)loader->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
			return true;
		poll(NULL, 0, 10);
	}
	return false;
}

void loader_end(struct loader *loader)
{
	pthread_mutex_lock(&loader->lock);
	if (!loader->ended) {
		loader->killed = !ends_by_itself(loader);
		kill(-loader->pid, SIGKILL);
		while (waitpid(loader->pid, &loader->status, 0) < 0 && errno == EINTR)
			;
		loader->ended = true;
		process_tail_read(&loader->tail, loader->complaints, NULL);
	}
	pthread_mutex_unlock(&loader->lock);
}

void loader_last_words(struct loader *loader, struct process_tail *ret_tail)
{
	pthread_mutex_lock(&loader->lock);
	*ret_tail = loader->tail;
	pthread_mutex_unlock(&loader->lock);
}

void loader_free(struct loader *loader)
{
	close_p(&loader->control);
	close_p(&loader->complaints);
	close_p(&loader->leash);
	pthread_mutex_destroy(&loader->lock);
	free(loader);
}

/* ---- a worker --------------------------------------------------------------------------------------------------------- */

int worker_init(struct worker *worker, struct loader *loader)
{
	*worker = (struct worker){ .loader = loader, .channel = -1, .complaints = -1, .leash = -1, .theirs = { -1, -1, -1 },
				 .loader_complaints = loader->complaints };
	int r = make_sockets(SOCK_STREAM, &worker->channel, &worker->theirs[0]);
	if (r == 0)
		r = make_pipe(&worker->complaints, &worker->theirs[1]);
	if (r == 0)
		r = make_sockets(SOCK_STREAM, &worker->leash, &worker->theirs[2]);
	if (r < 0)
		return r;
	fcntl(worker->channel, F_SETFL, O_NONBLOCK);
	fcntl(worker->complaints, F_SETFL, O_NONBLOCK);
	fcntl(worker->leash, F_SETFL, O_NONBLOCK);
	return 0;
}

static void close_end(int *fd)
{
	close_p(fd);
	*fd = -1;
}

static void close_theirs(struct worker *worker)
{
	for (size_t i = 0; i < ARRAY_SIZE(worker->theirs); i++)
		close_end(&worker->theirs[i]);
}

void worker_release(struct worker *worker)
{
	close_theirs(worker);
	close_end(&worker->channel);
	close_end(&worker->complaints);
	close_end(&worker->leash);
}

/* 0 also when it cannot be done yet. Descriptors that are on their way are limited as open ones are. */
static int hand_over(struct worker *worker)
{
	union {
		char bytes[CMSG_SPACE(sizeof(worker->theirs))];
		struct cmsghdr aligned;
	} control = { 0 };
	struct msghdr message = { .msg_iov = &(struct iovec){ "", 1 }, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(worker->theirs)) };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), worker->theirs, sizeof(worker->theirs));
	int r = sendmsg(worker->loader->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
	switch (r) {
	case 0:
		close_theirs(worker);
		return 0;
	case -ETOOMANYREFS:
		poll(NULL, 0, 10);
		return 0;
	case -EAGAIN:
	case -EINTR:
		return 0;
	default:
		return r == -ECONNRESET ? -EPIPE : r;
	}
}

static int32_t number_at(const uint8_t *bytes)
{
	return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

static bool report_is_sound(const struct worker *worker)
{
	int32_t first = number_at(worker->report), status = number_at(worker->report + 4);

	if (worker->reported < 4)
		return true;
	if (first <= 0)
		return worker->reported == 4 && first < 0 && first > -4096;
	return first <= LARGEST_PID && (worker->reported < 8 || (status >= 0 && status <= 0xffff && (WIFEXITED(status) || WIFSIGNALED(status))));
}

static int read_report(struct worker *worker)
{
	uint8_t more[8];
	ssize_t n = recv(worker->leash, more, sizeof(more) - worker->reported, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		close_end(&worker->leash);
		return 0;
	}
	memcpy(worker->report + worker->reported, more, (size_t)n);
	worker->reported += (size_t)n;
	if (report_is_sound(worker))
		return 0;
	worker->reported = 0;
	return -EPROTO;
}

bool worker_was_forked(const struct worker *worker)
{
	return worker->reported >= 4 && number_at(worker->report) > 0;
}

bool worker_has_ended(const struct worker *worker, int *ret_status)
{
	if (worker->reported < 8)
		return false;
	*ret_status = number_at(worker->report + 4);
	return true;
}

int worker_failure(const struct worker *worker)
{
	return worker->reported >= 4 ? MIN(number_at(worker->report), 0) : 0;
}

enum { CONTROL, LOADER_COMPLAINTS, COMPLAINTS, LEASH };

void worker_watch(const struct worker *worker, struct pollfd polled[static WORKER_POLLED])
{
	polled[CONTROL] = (struct pollfd){ .fd = worker->theirs[0] >= 0 ? worker->loader->control : -1, .events = POLLOUT };
	polled[LOADER_COMPLAINTS] = (struct pollfd){ .fd = worker->loader_complaints, .events = POLLIN };
	polled[COMPLAINTS] = (struct pollfd){ .fd = worker->complaints, .events = POLLIN };
	polled[LEASH] = (struct pollfd){ .fd = worker->leash, .events = POLLIN };
}

int worker_attend(struct worker *worker, const struct pollfd polled[static WORKER_POLLED])
{
	int r = 0;

	if (polled[LOADER_COMPLAINTS].revents && !hear(worker->loader))
		worker->loader_complaints = -1;
	if (polled[COMPLAINTS].revents && process_tail_read(&worker->tail, worker->complaints, NULL) <= 0)
		close_end(&worker->complaints);
	if (polled[CONTROL].revents)
		r = hand_over(worker);
	if (r == 0 && polled[LEASH].revents)
		r = read_report(worker);
	return r;
}

void worker_wait(struct worker *worker, int ms)
{
	int64_t deadline = now_ms() + ms, left;
	int status, r = 0;

	while (r == 0 && worker->leash >= 0 && worker->theirs[0] < 0 && !worker_has_ended(worker, &status) && (left = deadline - now_ms()) > 0) {
		struct pollfd polled[WORKER_POLLED];
		worker_watch(worker, polled);
		if (poll(polled, ARRAY_SIZE(polled), (int)left) > 0)
			r = worker_attend(worker, polled);
	}
}

void worker_end(struct worker *worker, int ms)
{
	if (worker->leash >= 0)
		shutdown(worker->leash, SHUT_WR);
	worker_wait(worker, ms);
	if (worker->complaints >= 0)
		process_tail_read(&worker->tail, worker->complaints, NULL);
}
