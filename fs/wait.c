/* SPDX-License-Identifier: MIT */
/*
 * Parked requests.
 *
 * The kernel tells of an interruption once per request, at the first signal. Whether that signal ends the process shows in
 * /proc/PID/status: it does when it is pending, not blocked, and neither caught nor ignored. A process that only handles a signal (SIGCHLD,
 * SIGWINCH, Go's SIGURG) must not see its open fail, so it stays parked, but it is watched from then on, as no second INTERRUPT will
 * tell of the SIGKILL that may follow.
 */
#include "fs/internal.h"

#include "build/engine/trace.h"

#include <assert.h>
#include <signal.h>
#include <time.h>

#define WATCH_NS 50000000		/* between two looks at a watched process */

static struct waiter **bucket_of(struct fs *fs, fuse_req_t request)
{
	return &fs->waiters[((uintptr_t)request >> 5) % ARRAY_SIZE(fs->waiters)];
}

/* With fs->lock held. */
static struct waiter *find(struct fs *fs, fuse_req_t request)
{
	struct waiter *waiter = *bucket_of(fs, request);

	while (waiter && waiter->request != request)
		waiter = waiter->next_in_bucket;
	return waiter;
}

/* With fs->lock held. */
static void unpark(struct waiter *waiter)
{
	struct fs *fs = waiter->fs;
	struct waiter **at = bucket_of(fs, waiter->request);

	while (*at != waiter)
		at = &(*at)->next_in_bucket;
	*at = waiter->next_in_bucket;
	waiter->parked = false;
	fs->n_waiters--;
	fs->n_watched -= waiter->watched;
}

/* Reads a mask of signals from a line of /proc/PID/status. */
static uint64_t read_mask(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? strtoull(line + strlen(key), NULL, 16) : 0;
}

/* Signals whose default action leaves the process running, or only stops it. */
static uint64_t harmless_signals(void)
{
	static const int signals[] = { SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	uint64_t mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		mask |= 1ull << (signals[i] - 1);
	return mask;
}

static bool is_dying(pid_t pid)
{
	char path[32], status[4096];

	if (pid <= 0)
		return false;		/* in a pid namespace that we do not see: let it wait */
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *stream = fopen(path, "re");
	if (!stream)
		return errno == ENOENT || errno == ESRCH;
	size_t size = fread(status, 1, sizeof(status) - 1, stream);
	fclose(stream);
	status[size] = 0;
	uint64_t pending = read_mask(status, "\nSigPnd:") | read_mask(status, "\nShdPnd:");
	uint64_t spared = read_mask(status, "\nSigBlk:") | read_mask(status, "\nSigIgn:") | read_mask(status, "\nSigCgt:");
	uint64_t kill = 1ull << (SIGKILL - 1);
	return pending & (kill | ~(spared | harmless_signals()));
}

/*
 * Called by libfuse on a session thread when the kernel says that a request was interrupted, also from inside
 * fuse_req_interrupt_func(), which still uses the request when this returns: so the watcher thread answers, never this function. The
 * request is allocated, but may have been answered.
 */
static void interrupted(fuse_req_t request, void *userdata)
{
	struct fs *fs = userdata;

	pthread_mutex_lock(&fs->lock);
	struct waiter *waiter = find(fs, request);
	if (waiter && !waiter->watched) {
		waiter->watched = true;
		fs->n_watched++;
		pthread_cond_signal(&fs->watch);
	}
	pthread_mutex_unlock(&fs->lock);
}

/* ---- parking ---------------------------------------------------------------------------------------------------------- */

static const char *const waiting_names[] = {
	[WAIT_LOOKUP] = "lookup", [WAIT_GETATTR] = "getattr", [WAIT_OPEN] = "open", [WAIT_OPENDIR] = "opendir",
};

static const char *subject_name(const struct subject *subject)
{
	if (subject->file)
		return engine_file_name(subject->file);
	return subject->kind == NODE_COVERAGE ? "coverage" : "status";
}

static void trace_parked(const struct waiter *waiter)
{
	trace_wait_begin(waiter->fs->options.trace, waiter->serial, waiting_names[waiter->what],
			 TRACE_WITH({ "file", .text = subject_name(&waiter->node->subject) },
				    { "pid", .number = (uint64_t)fuse_req_ctx(waiter->request)->pid }));
}

static void trace_unparked(struct fs *fs, uint64_t serial, enum waiting_for what, const char *outcome)
{
	trace_wait_end(fs->options.trace, serial, waiting_names[what], TRACE_WITH({ "outcome", .text = outcome }));
}

struct waiter *waiter_new(struct fs *fs, struct node *node, fuse_req_t request, enum waiting_for what, const struct fuse_file_info *info,
			  const char *name)
{
	struct waiter *waiter = calloc(1, sizeof(*waiter));

	if (!waiter)
		return NULL;
	*waiter = (struct waiter){ .fs = fs, .node = node, .request = request, .what = what, .parked = true };
	if (info)
		waiter->info = *info;
	if (name && !(waiter->name = strdup(name))) {
		free(waiter);
		return NULL;
	}
	node_ref(fs, node);
	pthread_mutex_lock(&fs->lock);
	waiter->serial = fs->next_serial++;
	waiter->next_in_bucket = *bucket_of(fs, request);
	*bucket_of(fs, request) = waiter;
	fs->n_waiters++;
	pthread_mutex_unlock(&fs->lock);
	trace_parked(waiter);
	fuse_req_interrupt_func(request, interrupted, fs);
	pthread_mutex_lock(&fs->lock);
	waiter->armed = true;
	if (waiter->watched)
		pthread_cond_signal(&fs->watch);
	pthread_mutex_unlock(&fs->lock);
	return waiter;
}

bool waiter_claim(struct waiter *waiter)
{
	pthread_mutex_lock(&waiter->fs->lock);
	bool parked = waiter->parked;
	if (parked)
		unpark(waiter);
	pthread_mutex_unlock(&waiter->fs->lock);
	if (parked)
		trace_unparked(waiter->fs, waiter->serial, waiter->what, "answered");
	return parked;
}

void waiter_free(struct waiter *waiter)
{
	assert(!waiter->parked);
	node_unref(waiter->fs, waiter->node);
	free(waiter->name);
	free(waiter);
}

/* ---- watching --------------------------------------------------------------------------------------------------------- */

struct watched {
	uint64_t serial;
	fuse_req_t request;
	pid_t pid;
};

/* Copies who is watched, so that /proc is read without the lock. */
static size_t collect_watched(struct fs *fs, struct watched *watched, size_t max)
{
	size_t n = 0;

	for (size_t bucket = 0; bucket < ARRAY_SIZE(fs->waiters); bucket++)
		for (struct waiter *waiter = fs->waiters[bucket]; waiter && n < max; waiter = waiter->next_in_bucket)
			if (waiter->watched && waiter->armed)
				watched[n++] = (struct watched){ waiter->serial, waiter->request, fuse_req_ctx(waiter->request)->pid };
	return n;
}

static void end_wait(struct fs *fs, const struct watched *watched)
{
	pthread_mutex_lock(&fs->lock);
	struct waiter *waiter = find(fs, watched->request);
	bool same = waiter && waiter->serial == watched->serial;
	enum waiting_for what = same ? waiter->what : WAIT_LOOKUP;
	if (same) {
		unpark(waiter);
		fs->n_interrupted++;
	}
	pthread_mutex_unlock(&fs->lock);
	if (!same)
		return;
	trace_unparked(fs, watched->serial, what, "interrupted");
	fuse_reply_err(watched->request, EINTR);
}

void *watch_interrupted(void *userdata)
{
	struct fs *fs = userdata;
	struct watched watched[64];	/* more than that wait for the next look */

	pthread_mutex_lock(&fs->lock);
	while (!fs->ending) {
		if (fs->n_watched == 0) {
			pthread_cond_wait(&fs->watch, &fs->lock);
			continue;
		}
		size_t n = collect_watched(fs, watched, ARRAY_SIZE(watched));
		pthread_mutex_unlock(&fs->lock);
		for (size_t i = 0; i < n; i++)
			if (is_dying(watched[i].pid))
				end_wait(fs, &watched[i]);
		pthread_mutex_lock(&fs->lock);
		if (!fs->ending && fs->n_watched > 0) {
			struct timespec until;
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += WATCH_NS;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			pthread_cond_timedwait(&fs->watch, &fs->lock, &until);	/* a new interruption is looked at at once */
		}
	}
	pthread_mutex_unlock(&fs->lock);
	return NULL;
}
