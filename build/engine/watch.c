/* SPDX-License-Identifier: MIT */
#include "build/engine/watch.h"

#include "build/engine/catalog.h"
#include "build/engine/edition.h"

#include "base/thread.h"

#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define PAUSE_MS 50			/* edits come in groups; a half-written file is soon a whole one */
#define LONGEST_US 300000		/* after which edits that never pause are looked at all the same */

#define CHANGES (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)

struct watch {
	struct engine *engine;
	engine_changed changed;
	void *userdata;
	pthread_t thread;
	int inotify, end;		/* `end`: an eventfd */
	char *name;			/* of the logic in its parent */
	int parent;			/* its watch descriptor, or -1 */
};

/* ---- what is watched -------------------------------------------------------------------------------------------------- */

/* A folder that is watched already keeps its watch. Folders that vanish meanwhile, or that we may not see, are no failure. */
static int watch_folder(const struct watch *watch, const char *path, int *ret_descriptor)
{
	int descriptor = inotify_add_watch(watch->inotify, path, CHANGES | IN_ONLYDIR);

	if (descriptor < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	*ret_descriptor = descriptor;
	return 0;
}

static int watch_one(void *userdata, const char *path)
{
	int descriptor;

	return watch_folder(userdata, path, &descriptor);
}

static int watch_tree(struct watch *watch)
{
	return logic_foreach_folder(watch->engine->logic, watch_one, watch);
}

/* The logic itself may be replaced, or be a single file. */
static int watch_parent(struct watch *watch)
{
	char path[PATH_MAX];

	_cleanup_free_ char *real = realpath(watch->engine->logic, NULL);
	if (!real)
		return -errno;
	snprintf(path, sizeof(path), "%s", real);
	watch->name = strdup(basename(path));
	if (!watch->name)
		return -ENOMEM;
	snprintf(path, sizeof(path), "%s", real);
	return watch_folder(watch, dirname(path), &watch->parent);
}

/* ---- an edit ---------------------------------------------------------------------------------------------------------- */

/* Files whose hash was known get a new one, so that broken logic shows at once. Costs the parsing, as asking for them would. */
static void check_files(struct watch *watch, const struct catalog_changes *changes)
{
	for (size_t i = 0; i < changes->n; i++) {
		struct engine_file *file = changes->changes[i].file;
		struct cachedb_key hash;
		pthread_mutex_lock(&watch->engine->lock);
		bool planned = file->planned && file->present && file->base;
		pthread_mutex_unlock(&watch->engine->lock);
		if (planned)
			engine_hash(watch->engine, file, &hash, NULL);
	}
}

/* Scans, and puts what was found in force. */
static void take_edit(struct watch *watch)
{
	struct engine *engine = watch->engine;
	_cleanup_(edition_unref_p) struct edition *before = engine_edition(engine);
	struct catalog_changes changes = { 0 };
	struct edition *after = NULL;
	struct error error = { 0 };

	watch_tree(watch);		/* before the scan: nothing is missed between the two */
	int r = edition_new(engine, before, &after, &error);
	pthread_mutex_lock(&engine->lock);
	if (r == 0)
		r = catalog_take(engine, before, after, &changes);
	free(engine->edit_failure);
	engine->edit_failure = r < 0 ? strdup(error_text(&error, r)) : NULL;
	if (r == 0) {
		edition_unref(engine->edition);		/* not the last reference: `before` is one */
		engine->edition = TAKE(after);
	}
	pthread_mutex_unlock(&engine->lock);
	edition_unref(after);
	for (size_t i = 0; i < changes.n; i++)
		watch->changed(watch->userdata, changes.changes[i].file, changes.changes[i].change);
	check_files(watch, &changes);
	free(changes.changes);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

/* Reads the events that there are. Does one of them concern the logic? */
static bool read_events(struct watch *watch)
{
	char space[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool concerns = false;
	ssize_t n;

	while ((n = read(watch->inotify, space, sizeof(space))) > 0) {
		for (char *at = space; at < space + n; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len) {
			const struct inotify_event *event = (const struct inotify_event *)at;
			concerns |= event->wd != watch->parent || (event->len && strcmp(event->name, watch->name) == 0);
		}
	}
	return concerns;
}

/* Waits for events, for `timeout` milliseconds at most. -ECANCELED at the end; 0: none came. */
static int wait_for_events(struct watch *watch, int timeout)
{
	struct pollfd fds[] = { { .fd = watch->inotify, .events = POLLIN }, { .fd = watch->end, .events = POLLIN } };

	int n = poll(fds, ARRAY_SIZE(fds), timeout);
	if (fds[1].revents)
		return -ECANCELED;
	return n > 0 ? 1 : 0;
}

static void *run(void *userdata)
{
	struct watch *watch = userdata;

	while (wait_for_events(watch, -1) >= 0) {
		if (!read_events(watch))
			continue;
		uint64_t begin = now_us();
		while (now_us() - begin < LONGEST_US && wait_for_events(watch, PAUSE_MS) > 0)
			read_events(watch);
		take_edit(watch);
	}
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static int start(struct watch *watch)
{
	watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->inotify < 0)
		return -errno;
	watch->end = eventfd(0, EFD_CLOEXEC);
	if (watch->end < 0)
		return -errno;
	int r = watch_parent(watch);
	if (r == 0)
		r = watch_tree(watch);
	return r < 0 ? r : thread_start("tfs-logic", run, watch, &watch->thread);
}

static void watch_free(struct watch *watch)
{
	if (watch->inotify >= 0)
		close(watch->inotify);
	if (watch->end >= 0)
		close(watch->end);
	free(watch->name);
	free(watch);
}

int watch_new(struct engine *engine, engine_changed changed, void *userdata, struct watch **ret_watch, struct error *error)
{
	struct watch *watch = malloc(sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	*watch = (struct watch){ .engine = engine, .changed = changed, .userdata = userdata, .inotify = -1, .end = -1, .parent = -1 };
	int r = start(watch);
	if (r < 0) {
		watch_free(watch);
		return error_set(error, r, "edits of '%s' cannot be watched: %s", engine->logic, strerror(-r));
	}
	*ret_watch = watch;
	return 0;
}

struct watch *watch_unref(struct watch *watch)
{
	if (!watch)
		return NULL;
	eventfd_write(watch->end, 1);
	pthread_join(watch->thread, NULL);
	watch_free(watch);
	return NULL;
}
