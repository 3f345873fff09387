/* SPDX-License-Identifier: MIT */
/*
 * A socket and not a pair of pipes: sending to a worker that has died must not raise SIGPIPE in a program that is not ours alone.
 * Requests, replies and stderr are served by one poll(), so that a worker that writes before it has read everything, or floods
 * stderr, blocks nobody.
 */
#include "build/upstream/workers.h"
#include "build/process/process.h"

#include "base/clock.h"
#include "base/thread.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LARGEST_REPLY (1u << 30)	/* bytes; the longest kernel of hipBLASLt has 20 MB of text */

struct worker {
	pid_t pid;
	int channel, complaints;	/* our ends: the socket, the pipe that is its stderr */
	int64_t idle_since;		/* ms */
	struct process_tail tail;
	struct worker *next;		/* the one that was idle before it */
};

struct workers {
	struct workers_options options;
	char **argv;
	int stop;			/* eventfd: readable after workers_stop() */

	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t freed;		/* a worker is idle, or may be started; or all is stopped */
	struct worker *idle;		/* the last one used first: the others may end */
	unsigned n;			/* workers, busy ones included */
	bool stopped;

	pthread_t keeper;		/* ends workers that are idle for long; there is one with idle_seconds */
	bool keeping;
};

/* ---- one worker ------------------------------------------------------------------------------------------------------- */

/* Kills it, waits for it and returns its status as waitpid() gave it. */
static int worker_end(struct worker *worker)
{
	int status = 0;

	kill(-worker->pid, SIGKILL);
	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	close_p(&worker->channel);
	close_p(&worker->complaints);
	free(worker);
	return status;
}

static int make_ends(int channel[2], int complaints[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0)
		return -errno;
	if (pipe2(complaints, O_CLOEXEC) < 0) {
		int r = -errno;
		close(channel[0]);
		close(channel[1]);
		return r;
	}
	return 0;
}

static int worker_start(struct workers *workers, struct worker **ret_worker, struct error *error)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int channel[2], complaints[2];

	if (!worker)
		return -ENOMEM;
	int r = make_ends(channel, complaints);
	if (r < 0) {
		free(worker);
		return error_set(error, r, "cannot make a socket: %s", strerror(-r));
	}
	struct process_spawn spawn = {
		.argv = (const char *const *)workers->argv, .environment = workers->options.environment,
		.fds = { -1, complaints[1], complaints[1], channel[1], workers->options.program }, .n_fds = workers->options.program >= 0 ? 5 : 4,
	};
	r = process_spawn(&spawn, &worker->pid);
	close(channel[1]);
	close(complaints[1]);
	worker->channel = channel[0];
	worker->complaints = complaints[0];
	if (r < 0) {
		close(channel[0]);
		close(complaints[0]);
		free(worker);
		return error_set(error, r, "cannot run '%s': %s", workers->argv[0], strerror(-r));
	}
	fcntl(worker->channel, F_SETFL, O_NONBLOCK);
	fcntl(worker->complaints, F_SETFL, O_NONBLOCK);
	if (workers->options.memory)
		prlimit(worker->pid, RLIMIT_AS, &(struct rlimit){ workers->options.memory, workers->options.memory }, NULL);
	*ret_worker = worker;
	return 0;
}

/* An idle worker that says anything has ended, or does not keep to the protocol. */
static bool worker_is_sound(const struct worker *worker)
{
	struct pollfd polled = { .fd = worker->channel, .events = POLLIN };

	return poll(&polled, 1, 0) == 0;
}

static void drain_complaints(struct worker *worker)
{
	if (process_tail_read(&worker->tail, worker->complaints, NULL) == 0) {	/* it closed its end: there is no more to wait for */
		close(worker->complaints);
		worker->complaints = -1;
	}
}

/* ---- one request on one worker ---------------------------------------------------------------------------------------- */

struct exchange {
	struct worker *worker;
	struct buffer request;
	size_t sent;
	uint8_t head[5];		/* length, mark */
	size_t got;			/* of the whole reply */
	struct buffer reply;		/* what stands behind the mark */
};

static int exchange_init(struct exchange *exchange, const char *kind, const void *body, size_t size)
{
	size_t length = strlen(kind) + 1 + size;
	uint8_t head[] = { (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)(length >> 16), (uint8_t)(length >> 24) };

	if (length > UINT32_MAX)
		return -E2BIG;
	buffer_append(&exchange->request, head, sizeof(head));
	buffer_append_string(&exchange->request, kind);
	buffer_append_string(&exchange->request, "\n");
	buffer_append(&exchange->request, body, size);
	return exchange->request.failed ? -ENOMEM : 0;
}

static void exchange_release(struct exchange *exchange)
{
	buffer_release(&exchange->request);
	buffer_release(&exchange->reply);
}

/* Bytes of the reply, its head included; 0 while that is not known. */
static size_t reply_size(const struct exchange *exchange)
{
	const uint8_t *head = exchange->head;

	if (exchange->got < 4)
		return 0;
	return 4 + (size_t)((uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24);
}

/* 1 when something was sent, 0 when nothing could be; -EPIPE: it has ended. */
static int send_more(struct exchange *exchange)
{
	struct buffer *request = &exchange->request;
	ssize_t n = send(exchange->worker->channel, request->data + exchange->sent, request->size - exchange->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	exchange->sent += (size_t)n;
	return 1;
}

/* 1 when the reply is complete. -EPIPE: it has ended. -EPROTO: it is no reply. */
static int receive_more(struct exchange *exchange)
{
	uint8_t bytes[65536];
	size_t size = reply_size(exchange);
	size_t wanted = size ? MIN(size - exchange->got, sizeof(bytes)) : 4 - exchange->got;
	ssize_t n = recv(exchange->worker->channel, bytes, wanted, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	for (ssize_t i = 0; i < n && exchange->got + (size_t)i < sizeof(exchange->head); i++)
		exchange->head[exchange->got + (size_t)i] = bytes[i];
	size_t in_head = exchange->got < sizeof(exchange->head) ? MIN(sizeof(exchange->head) - exchange->got, (size_t)n) : 0;
	buffer_append(&exchange->reply, bytes + in_head, (size_t)n - in_head);
	exchange->got += (size_t)n;
	size = reply_size(exchange);
	if ((size && (size < sizeof(exchange->head) || size > LARGEST_REPLY)) ||
	    (exchange->got >= sizeof(exchange->head) && exchange->head[4] != '+' && exchange->head[4] != '-'))
		return -EPROTO;
	if (exchange->reply.failed)
		return -ENOMEM;
	return size && exchange->got == size;
}

/*
 * 0 when the reply is complete, -EPIPE when the worker ended, or what went wrong. A reply before the end of the request is none:
 * the worker would take the next request for the rest of this one.
 */
static int exchange_run(struct exchange *exchange, int64_t deadline, int stop)
{
	struct worker *worker = exchange->worker;

	for (;;) {
		struct pollfd polled[] = {
			{ .fd = stop, .events = POLLIN },
			{ .fd = worker->complaints, .events = POLLIN },
			{ .fd = worker->channel, .events = exchange->sent < exchange->request.size ? POLLIN | POLLOUT : POLLIN },
		};
		int64_t left = deadline - now_ms();
		int r = 0;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(polled, ARRAY_SIZE(polled), (int)MIN(left, (int64_t)INT_MAX)) < 0 && errno != EINTR)
			return -errno;
		if (polled[0].revents)
			return -ECANCELED;
		if (polled[1].revents)
			drain_complaints(worker);
		if (polled[2].revents & (POLLIN | POLLHUP | POLLERR))
			r = receive_more(exchange);
		if (r == 0 && polled[2].revents & POLLOUT)
			r = MIN(send_more(exchange), 0);
		if (r > 0)
			return exchange->sent < exchange->request.size ? -EPROTO : 0;
		if (r < 0)
			return r;
	}
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

static void release_argv(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

static char **copy_argv(const char *const *argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	char **copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(argv[i]);
		if (!copy[i]) {
			release_argv(copy);
			return NULL;
		}
	}
	return copy;
}

/* Unlinks the first idle worker that is unused since before `since`, or NULL. With the lock. */
static struct worker *take_idle(struct workers *workers, int64_t since)
{
	for (struct worker **place = &workers->idle; *place; place = &(*place)->next)
		if ((*place)->idle_since <= since) {
			struct worker *worker = *place;
			*place = worker->next;
			return worker;
		}
	return NULL;
}

static void *keep(void *userdata)
{
	struct workers *workers = userdata;
	int64_t most = (int64_t)workers->options.idle_seconds * 1000;
	struct worker *worker;

	for (;;) {
		struct pollfd polled = { .fd = workers->stop, .events = POLLIN };
		if (poll(&polled, 1, (int)MIN(most / 2 + 1, (int64_t)INT_MAX)) > 0)
			return NULL;
		pthread_mutex_lock(&workers->lock);
		while ((worker = take_idle(workers, now_ms() - most))) {
			worker_end(worker);
			workers->n--;
			pthread_cond_signal(&workers->freed);
		}
		pthread_mutex_unlock(&workers->lock);
	}
}

int workers_new(const struct workers_options *options, struct workers **ret_workers)
{
	struct workers *workers = calloc(1, sizeof(*workers));
	int r = 0;

	if (!workers)
		return -ENOMEM;
	workers->options = *options;
	workers->argv = copy_argv(options->argv);
	workers->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->freed, NULL);
	if (!workers->argv || workers->stop < 0)
		r = workers->argv ? -errno : -ENOMEM;
	else if (options->idle_seconds) {
		r = thread_start("tfs-workers", keep, workers, &workers->keeper);
		workers->keeping = r == 0;
	}
	if (r < 0) {
		workers_unref(workers);
		return r;
	}
	*ret_workers = workers;
	return 0;
}

void workers_stop(struct workers *workers)
{
	struct worker *worker;

	pthread_mutex_lock(&workers->lock);
	workers->stopped = true;
	eventfd_write(workers->stop, 1);
	while ((worker = take_idle(workers, INT64_MAX))) {
		worker_end(worker);
		workers->n--;
	}
	pthread_cond_broadcast(&workers->freed);
	pthread_mutex_unlock(&workers->lock);
}

struct workers *workers_unref(struct workers *workers)
{
	if (!workers)
		return NULL;
	if (workers->stop >= 0)
		workers_stop(workers);
	if (workers->keeping)
		pthread_join(workers->keeper, NULL);
	close_p(&workers->stop);
	pthread_cond_destroy(&workers->freed);
	pthread_mutex_destroy(&workers->lock);
	release_argv(workers->argv);
	free(workers);
	return NULL;
}

/* An idle worker, or room for a new one: then *ret_worker is NULL. */
static int acquire(struct workers *workers, struct worker **ret_worker)
{
	struct worker *worker = NULL;
	bool room = false, stopped;

	pthread_mutex_lock(&workers->lock);
	while (!workers->stopped && !worker && !room) {
		worker = take_idle(workers, INT64_MAX);
		if (worker && !worker_is_sound(worker)) {
			worker_end(worker);
			workers->n--;
			worker = NULL;
		} else if (!worker) {
			room = workers->n < workers->options.most;
			if (!room)
				pthread_cond_wait(&workers->freed, &workers->lock);
		}
	}
	stopped = workers->stopped;
	workers->n += room && !stopped;
	pthread_mutex_unlock(&workers->lock);
	if (stopped && worker)
		worker_end(worker);
	*ret_worker = worker;
	return stopped ? -ECANCELED : 0;
}

/* Gives a place back: with its worker, or without one. */
static void release(struct workers *workers, struct worker *worker)
{
	pthread_mutex_lock(&workers->lock);
	if (worker && !workers->stopped) {
		worker->idle_since = now_ms();
		worker->tail.size = 0;
		worker->next = workers->idle;
		workers->idle = worker;
		worker = NULL;
	} else {
		workers->n--;
	}
	pthread_cond_signal(&workers->freed);
	pthread_mutex_unlock(&workers->lock);
	if (worker)
		worker_end(worker);
}

/* Ends a worker that did not answer, and says why. */
static int explain(struct workers *workers, struct worker *worker, int failure, struct error *error)
{
	const char *program = workers->argv[0];
	char ending[PROCESS_ENDING_SIZE];

	/* Its end of the socket closes before it can be waited for; a moment later it has told its own status. */
	for (unsigned i = 0; failure == -EPIPE && i < 50; i++) {
		siginfo_t info = { 0 };
		if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
			break;
		poll(NULL, 0, 10);
	}
	drain_complaints(worker);
	struct process_tail tail = worker->tail;
	int status = worker_end(worker);
	const char *said = process_tail_finish(&tail), *colon = *said ? ": " : "";

	switch (failure) {
	case -EPIPE:
		return error_set(error, -EIO, "the worker '%s' %s%s%s", program, process_print_ending(status, ending), colon, said);
	case -ETIMEDOUT:
		return error_set(error, failure, "the worker '%s' did not answer within %u seconds and was killed%s%s", program,
				 workers->options.seconds, colon, said);
	case -EPROTO:
		return error_set(error, failure, "the worker '%s' wrote what is no reply%s%s", program, colon, said);
	case -ECANCELED:
		return error_set(error, failure, "the worker '%s' was killed: nobody waits any more", program);
	default:
		return error_set(error, failure, "cannot talk to the worker '%s': %s", program, strerror(-failure));
	}
}

static int finish(const struct exchange *exchange, struct buffer *ret_reply, struct error *error)
{
	const struct buffer *reply = &exchange->reply;

	if (exchange->head[4] == '-')
		return error_set(error, -EIO, "%.*s", (int)MIN(reply->size, (size_t)1000), reply->size ? (const char *)reply->data : "");
	buffer_append(ret_reply, reply->data, reply->size);
	return ret_reply->failed ? -ENOMEM : 0;
}

int workers_ask(struct workers *workers, const char *kind, const void *body, size_t size, struct buffer *ret_reply, struct error *error)
{
	_cleanup_(exchange_release) struct exchange exchange = { 0 };

	int r = exchange_init(&exchange, kind, body, size);
	if (r == 0)
		r = acquire(workers, &exchange.worker);
	if (r < 0)
		return r == -ECANCELED ? error_set(error, r, "nobody waits any more") : r;
	int64_t deadline = workers->options.seconds ? now_ms() + (int64_t)workers->options.seconds * 1000 : INT64_MAX;
	if (!exchange.worker)
		r = worker_start(workers, &exchange.worker, error);
	if (r == 0) {
		r = exchange_run(&exchange, deadline, workers->stop);
		if (r < 0) {
			r = explain(workers, exchange.worker, r, error);
			exchange.worker = NULL;
		}
	}
	release(workers, exchange.worker);
	return r < 0 ? r : finish(&exchange, ret_reply, error);
}
