/* SPDX-License-Identifier: MIT */
/*
 * Sockets and not pairs of pipes: sending to a worker that has died must not raise SIGPIPE in a program that is not ours alone.
 * Whoever asks serves its request, the reply, and what worker and loader say on stderr, with one poll(), so that a worker that writes
 * before it has read everything, or floods stderr, blocks nobody, and there is no thread between them all.
 */
#include "build/upstream/workers.h"
#include "build/upstream/loader.h"

#include "base/clock.h"
#include "base/thread.h"

#include <limits.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define LARGEST_REPLY (1u << 30)	/* bytes; the longest kernel of hipBLASLt has 20 MB of text */
#define ENDING_MS 500			/* from closing its end of the channel to having ended */

struct workers {
	struct workers_options options;	/* with an argv of its own */
	int stop;			/* eventfd: readable after workers_stop() */

	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t freed;		/* a worker may be started; or all is stopped */
	struct loader *loader;		/* what the next request is handed to, or NULL */
	unsigned n;			/* requests under way */
	int64_t idle_since;		/* ms; while there are none */
	bool stopped;

	pthread_t keeper;		/* ends a loader that is idle for long; there is one with idle_seconds */
	bool keeping;
};

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
 * 0 when the reply is complete, -EPIPE when the worker ended, or what went wrong. A reply before the end of the request is none, as it
 * cannot be one to all of it.
 */
static int exchange_run(struct exchange *exchange, int64_t deadline, int stop)
{
	enum { STOP, CHANNEL, REST };

	for (;;) {
		bool sends = exchange->sent < exchange->request.size;
		struct pollfd polled[REST + WORKER_POLLED] = {
			[STOP] = { .fd = stop, .events = POLLIN },
			[CHANNEL] = { .fd = exchange->worker->channel, .events = sends ? POLLIN | POLLOUT : POLLIN },
		};
		int64_t left = deadline - now_ms();

		if (left <= 0)
			return -ETIMEDOUT;
		worker_watch(exchange->worker, polled + REST);
		if (poll(polled, ARRAY_SIZE(polled), (int)MIN(left, (int64_t)INT_MAX)) < 0 && errno != EINTR)
			return -errno;
		if (polled[STOP].revents)
			return -ECANCELED;
		int r = worker_attend(exchange->worker, polled + REST);
		if (r == 0 && polled[CHANNEL].revents & (POLLIN | POLLHUP | POLLERR))
			r = receive_more(exchange);
		if (r == 0 && polled[CHANNEL].revents & POLLOUT)
			r = MIN(send_more(exchange), 0);
		if (r > 0)
			return exchange->sent < exchange->request.size ? -EPROTO : 0;
		if (r < 0)
			return r;
	}
}

/*
 * Ends the worker, whatever came of it. Returns whether its loader can be given another one: not if it has not forked in all the time,
 * and not if it does not tell the end of the worker, so that we do not know how many there are.
 */
static bool exchange_end(struct exchange *exchange, int result)
{
	struct worker *worker = exchange->worker;
	bool was_given_time = result == -ETIMEDOUT || result == -ECANCELED;
	int status;

	if (result == -EPIPE)
		worker_wait(worker, ENDING_MS);
	worker_end(worker, was_given_time && !worker_was_forked(worker) ? 0 : WORKER_GRACE_MS);
	return worker_has_ended(worker, &status) || worker_failure(worker) < 0 || result == -ECANCELED;
}

/* ---- what went wrong -------------------------------------------------------------------------------------------------- */

/* The worker ended before it had answered, or there was none. The loader has ended, too, if it has not told. */
static int explain_end(const struct workers *workers, const struct worker *worker, const char *said, struct error *error)
{
	const struct loader *loader = worker->loader;
	const char *program = workers->options.argv[0], *colon = *said ? ": " : "";
	char ending[PROCESS_ENDING_SIZE];
	int status;

	if (worker_failure(worker) < 0)
		return error_set(error, worker_failure(worker), "cannot fork the worker '%s': %s", program, strerror(-worker_failure(worker)));
	if (worker_has_ended(worker, &status))
		return error_set(error, -EIO, "the worker '%s' %s%s%s", program, process_print_ending(status, ending), colon, said);
	if (loader->killed && worker_was_forked(worker))
		return error_set(error, -EIO, "the worker '%s' ended, and what it was forked from does not tell how%s%s", program, colon, said);
	if (loader->killed)
		return error_set(error, -EIO, "the worker '%s' took a request and forgot it, and was killed%s%s", program, colon, said);
	process_print_ending(loader->status, ending);
	if (worker_was_forked(worker))
		return error_set(error, -EIO, "the worker '%s' ended after what it was forked from %s%s%s", program, ending, colon, said);
	return error_set(error, -EIO, "the worker '%s' %s before it took the request%s%s", program, ending, colon, said);
}

static int explain(const struct workers *workers, struct worker *worker, int failure, struct error *error)
{
	const char *program = workers->options.argv[0];

	if (!worker_was_forked(worker))
		loader_last_words(worker->loader, &worker->tail);
	const char *said = process_tail_finish(&worker->tail), *colon = *said ? ": " : "";
	switch (failure) {
	case -EPIPE:
		return explain_end(workers, worker, said, error);
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

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

static void release_argv(const char *const *argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free((char *)argv[i]);
	free((void *)argv);
}

static const char *const *copy_argv(const char *const *argv)
{
	size_t n = 0;

	while (argv[n])
		n++;
	const char **copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = strdup(argv[i]);
		if (!copy[i]) {
			release_argv(copy);
			return NULL;
		}
	}
	return copy;
}

/* With the lock; the last one to use it has it ended. */
static void unref_loader(struct loader *loader)
{
	if (--loader->users)
		return;
	loader_end(loader);
	loader_free(loader);
}

/* The next request starts another one. With the lock. */
static void drop_loader(struct workers *workers)
{
	if (workers->loader)
		unref_loader(workers->loader);
	workers->loader = NULL;
}

static void *keep(void *userdata)
{
	struct workers *workers = userdata;
	int64_t most = (int64_t)workers->options.idle_seconds * 1000;

	for (;;) {
		struct pollfd polled = { .fd = workers->stop, .events = POLLIN };
		if (poll(&polled, 1, (int)MIN(most / 2 + 1, (int64_t)INT_MAX)) > 0)
			return NULL;
		pthread_mutex_lock(&workers->lock);
		if (workers->n == 0 && workers->idle_since <= now_ms() - most)
			drop_loader(workers);
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
	workers->options.argv = copy_argv(options->argv);
	workers->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->freed, NULL);
	if (!workers->options.argv || workers->stop < 0)
		r = workers->options.argv ? -errno : -ENOMEM;
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
	pthread_mutex_lock(&workers->lock);
	workers->stopped = true;
	eventfd_write(workers->stop, 1);
	drop_loader(workers);		/* the requests under way use it until their workers have ended */
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
	release_argv(workers->options.argv);
	free(workers);
	return NULL;
}

/* The loader, which is started if there is none or it does not live any more. With the lock. */
static int use_loader(struct workers *workers, struct loader **ret_loader, struct error *error)
{
	int r = 0;

	if (workers->loader && !loader_is_sound(workers->loader)) {
		loader_end(workers->loader);
		drop_loader(workers);
	}
	if (!workers->loader) {
		r = loader_start(&workers->options, &workers->loader, error);
		if (r < 0)
			return r;
		workers->loader->users = 1;
	}
	workers->loader->users++;
	*ret_loader = workers->loader;
	return 0;
}

/* A place for one more worker, and what to fork it from. */
static int acquire(struct workers *workers, struct loader **ret_loader, struct error *error)
{
	int r;

	pthread_mutex_lock(&workers->lock);
	while (!workers->stopped && workers->n >= workers->options.most)
		pthread_cond_wait(&workers->freed, &workers->lock);
	if (workers->stopped)
		r = error_set(error, -ECANCELED, "nobody waits any more");
	else
		r = use_loader(workers, ret_loader, error);
	workers->n += r == 0;
	if (r < 0)
		pthread_cond_signal(&workers->freed);	/* for another one to try, who has not been woken for this place */
	pthread_mutex_unlock(&workers->lock);
	return r;
}

static void release(struct workers *workers, struct loader *loader, bool sound)
{
	pthread_mutex_lock(&workers->lock);
	if (!sound && loader == workers->loader)
		drop_loader(workers);
	unref_loader(loader);
	workers->n--;
	workers->idle_since = now_ms();
	pthread_cond_signal(&workers->freed);
	pthread_mutex_unlock(&workers->lock);
}

static int finish(const struct exchange *exchange, struct buffer *ret_reply, struct error *error)
{
	const struct buffer *reply = &exchange->reply;

	if (exchange->head[4] == '-')
		return error_set(error, -EIO, "%.*s", (int)MIN(reply->size, (size_t)1000), reply->size ? (const char *)reply->data : "");
	buffer_append(ret_reply, reply->data, reply->size);
	return ret_reply->failed ? -ENOMEM : 0;
}

/* On a new worker of the loader, which is ended if it is not sound. */
static int ask_loader(struct workers *workers, struct loader *loader, struct exchange *exchange, bool *ret_sound, struct error *error)
{
	int64_t deadline = workers->options.seconds ? now_ms() + (int64_t)workers->options.seconds * 1000 : INT64_MAX;
	_cleanup_(worker_release) struct worker worker;

	int r = worker_init(&worker, loader);
	if (r < 0)
		return error_set(error, r, "cannot make a socket: %s", strerror(-r));
	exchange->worker = &worker;
	r = exchange_run(exchange, deadline, workers->stop);
	*ret_sound = exchange_end(exchange, r);
	if (!*ret_sound)
		loader_end(loader);
	return r < 0 ? explain(workers, &worker, r, error) : 0;
}

int workers_ask(struct workers *workers, const char *kind, const void *body, size_t size, struct buffer *ret_reply, struct error *error)
{
	_cleanup_(exchange_release) struct exchange exchange = { 0 };
	struct loader *loader = NULL;
	bool sound = true;

	int r = exchange_init(&exchange, kind, body, size);
	if (r == 0)
		r = acquire(workers, &loader, error);
	if (r < 0)
		return r;
	r = ask_loader(workers, loader, &exchange, &sound, error);
	release(workers, loader, sound);
	return r < 0 ? r : finish(&exchange, ret_reply, error);
}
