/* SPDX-License-Identifier: MIT */
/*
 * Locks, in their order:
 *     registry.lock	the list of stores and their reference counts
 *     store->map_lock	shared by every transaction, exclusive while the environment is resized or reopened, which LMDB allows only
 *			without transactions
 * LMDB's own lock of writers, over all processes, is taken inside map_lock.
 */
#include "cachedb/store.h"
#include "cachedb/directory.h"
#include "cachedb/environment.h"
#include "cachedb/touch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define LARGEST_GROWTH ((size_t)1 << 30)	/* the map doubles until here, then grows by this much */

struct store {
	struct store *next;			/* protected by registry.lock, as is references */
	unsigned references;
	pid_t pid;
	struct directory directory;
	pthread_rwlock_t map_lock;
	MDB_env *env;				/* protected by map_lock; NULL when reopening it has failed */
	struct store_tables tables;		/* protected by map_lock */
	bool read_only;				/* protected by map_lock */
	struct touches touches;
};

/*
 * LMDB forbids opening a database twice in one process (its fcntl locks would go with the first close), and callers cannot know of
 * each other. Hence this list, the only mutable state of the program that is not reached from a handle.
 */
static struct {
	pthread_mutex_t lock;
	struct store *first;
} registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool store_is_ours(const struct store *store)
{
	return store->pid == getpid();
}

struct touches *store_touches(struct store *store)
{
	return &store->touches;
}

int store_directory(const struct store *store)
{
	return store->directory.fd;
}

static int to_errno(int rc)
{
	switch (rc) {
	case MDB_NOTFOUND:
		return -ENOENT;
	case MDB_KEYEXIST:
		return -EEXIST;
	case MDB_READERS_FULL:
		return -EAGAIN;
	case MDB_MAP_FULL:
		return -ENOSPC;
	default:
		return rc > 0 ? -rc : rc < 0 ? -EIO : 0;
	}
}

/* ---- starting and stopping --------------------------------------------------------------------------------------------- */

/* Opens the environment of a store that has none; begins anew when the old database is damaged and nobody uses it. */
static int store_start(struct store *store, struct error *error)
{
	const char *name = store->directory.name;
	bool damaged = directory_is_damaged(&store->directory);
	int rc = damaged ? MDB_CORRUPTED : environment_open(&store->directory, store->read_only, &store->env, &store->tables);

	if (environment_is_damaged(rc) && !store->read_only) {
		int r = directory_start_anew(&store->directory);
		if (r < 0)
			return error_set(error, -EIO, "cache '%s' is damaged and cannot be begun anew: %s", name,
					 r == -EBUSY ? "another process uses it" : strerror(-r));
		rc = environment_open(&store->directory, false, &store->env, &store->tables);
	}
	if (!rc)
		return 0;
	return error_set(error, to_errno(rc), "cannot open cache '%s': %s", name, mdb_strerror(rc));
}

/* Under the exclusive map_lock. */
static void store_stop(struct store *store)
{
	if (store->env)
		mdb_env_close(store->env);
	store->env = NULL;
}

/* ---- one store a directory -------------------------------------------------------------------------------------------- */

static int init_map_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attributes;

	/* Else a steady stream of readers would keep the map from growing. */
	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	int r = -pthread_rwlock_init(lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
	return r;
}

static void store_free(struct store *store)
{
	if (store_is_ours(store))	/* else the parent's reader slots would be cleared */
		store_stop(store);
	directory_release(&store->directory);
	pthread_rwlock_destroy(&store->map_lock);
	touches_destroy(&store->touches);
	free(store);
}

/* Takes over the directory on success. */
static int store_new(struct directory *directory, bool read_only, struct store **ret_store, struct error *error)
{
	struct store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	r = init_map_lock(&store->map_lock);
	if (r < 0) {
		free(store);
		return r;
	}
	touches_init(&store->touches);
	store->pid = getpid();
	store->references = 1;
	store->read_only = read_only;
	store->directory = *directory;
	*directory = (struct directory)DIRECTORY_INIT;
	r = directory_enter(&store->directory, read_only, error);
	if (!r)
		r = store_start(store, error);
	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

static struct store *find_store(const struct directory *directory)
{
	for (struct store *store = registry.first; store; store = store->next)
		if (store->directory.dev == directory->dev && store->directory.ino == directory->ino && store_is_ours(store))
			return store;
	return NULL;
}

/* A second handle wants to write where the first one only reads. */
static int make_writable(struct store *store, struct error *error)
{
	struct error ignored;
	int r = 0;

	pthread_rwlock_wrlock(&store->map_lock);
	if (store->read_only) {
		store_stop(store);
		store->read_only = false;
		r = store_start(store, error);
		if (r < 0) {
			store->read_only = true;
			store_start(store, &ignored);
		}
	}
	pthread_rwlock_unlock(&store->map_lock);
	return r;
}

static int store_open_locked(struct directory *directory, bool read_only, struct store **ret_store, struct error *error)
{
	struct store *store = find_store(directory);
	int r;

	if (store) {
		r = read_only ? 0 : make_writable(store, error);
		if (r < 0)
			return r;
		store->references++;
	} else {
		r = store_new(directory, read_only, &store, error);
		if (r < 0)
			return r;
		store->next = registry.first;
		registry.first = store;
	}
	*ret_store = store;
	return 0;
}

int store_open(const char *name, bool read_only, struct store **ret_store, struct error *error)
{
	_cleanup_(directory_release) struct directory directory = DIRECTORY_INIT;
	int r = directory_open(name, read_only, &directory, error);

	if (r < 0)
		return r;
	pthread_mutex_lock(&registry.lock);
	r = store_open_locked(&directory, read_only, ret_store, error);
	pthread_mutex_unlock(&registry.lock);
	return r;
}

/* The environment is closed under the registry's lock: nobody may open it again before that is done. */
struct store *store_unref(struct store *store)
{
	if (!store)
		return NULL;
	pthread_mutex_lock(&registry.lock);
	if (--store->references == 0) {
		struct store **link = &registry.first;
		while (*link != store)
			link = &(*link)->next;
		*link = store->next;
		store_free(store);
	}
	pthread_mutex_unlock(&registry.lock);
	return NULL;
}

/* ---- transactions ----------------------------------------------------------------------------------------------------- */

static size_t map_size(const struct store *store)
{
	MDB_envinfo info;

	return store->env && !mdb_env_info(store->env, &info) ? info.me_mapsize : 0;
}

/* The end of the last page in use, and so the smallest map that there can be. */
static size_t used_size(const struct store *store)
{
	MDB_envinfo info;
	MDB_stat stat;

	if (!store->env || mdb_env_info(store->env, &info) || mdb_env_stat(store->env, &stat))
		return 0;
	return (info.me_last_pgno + 1) * (size_t)stat.ms_psize;
}

/*
 * Under the exclusive map_lock. LMDB unmaps first: without address space for the new map it is left with none, and has to begin
 * again.
 */
static int resize_map(struct store *store, size_t size)
{
	struct error ignored;
	int rc = store->env ? mdb_env_set_mapsize(store->env, size) : EIO;

	if (rc && store->env) {
		store_stop(store);
		store_start(store, &ignored);
	}
	return rc;
}

static size_t most_map(const struct store *store, uint64_t growth)
{
	size_t used = used_size(store);

	return growth < SIZE_MAX - used ? used + growth : SIZE_MAX;
}

/* `seen` is the size that was too small. Another thread may have grown the map since, then there is nothing to do. */
static int store_grow(struct store *store, size_t seen, uint64_t growth)
{
	int rc = 0;

	pthread_rwlock_wrlock(&store->map_lock);
	size_t size = map_size(store), wanted = MIN(size + MIN(size, LARGEST_GROWTH), most_map(store, growth));
	if (size && size <= seen) {
		/* Pages that a killed reader holds are worth more than new ones. */
		mdb_reader_check(store->env, NULL);
		rc = wanted > size ? resize_map(store, wanted) : MDB_MAP_FULL;
	}
	pthread_rwlock_unlock(&store->map_lock);
	return rc;
}

/* Makes the map so small that the file cannot grow by more than `growth`: LMDB never writes behind its map. */
static void limit_map(struct store *store, uint64_t growth)
{
	pthread_rwlock_rdlock(&store->map_lock);
	bool fits = map_size(store) <= most_map(store, growth);
	pthread_rwlock_unlock(&store->map_lock);
	if (fits)
		return;
	pthread_rwlock_wrlock(&store->map_lock);
	size_t most = most_map(store, growth);
	if (map_size(store) > most)
		resize_map(store, most);
	pthread_rwlock_unlock(&store->map_lock);
}

/* Another process has grown the map. */
static int store_adopt_size(struct store *store)
{
	pthread_rwlock_wrlock(&store->map_lock);
	int rc = resize_map(store, 0);
	pthread_rwlock_unlock(&store->map_lock);
	return rc;
}

/*
 * MDB_PANIC: a meta page could not be written, and LMDB refuses every further use of this environment. Ours for one that could not
 * be opened again, too: memory or descriptors were short perhaps, and are there now.
 */
static int store_restart(struct store *store)
{
	struct error ignored;

	pthread_rwlock_wrlock(&store->map_lock);
	store_stop(store);
	int r = store_start(store, &ignored);
	pthread_rwlock_unlock(&store->map_lock);
	return -r;
}

static int run_once(struct store *store, unsigned flags, store_body body, void *userdata, size_t *ret_map_size)
{
	MDB_txn *txn;

	pthread_rwlock_rdlock(&store->map_lock);
	*ret_map_size = map_size(store);
	int rc = store->env ? mdb_txn_begin(store->env, NULL, flags, &txn) : MDB_PANIC;
	if (!rc) {
		rc = body(txn, &store->tables, userdata);
		if (rc || flags & MDB_RDONLY)
			mdb_txn_abort(txn);
		else
			rc = mdb_txn_commit(txn);
	}
	pthread_rwlock_unlock(&store->map_lock);
	return rc;
}

/* Once is enough for the remedies that do not help twice. */
struct remedies {
	bool cleared_readers, restarted;
};

/* 0 when the transaction should be tried again. */
static int remedy(struct store *store, int rc, size_t seen_map_size, uint64_t growth, struct remedies *tried)
{
	switch (rc) {
	case MDB_MAP_FULL:
		return store_grow(store, seen_map_size, growth);
	case MDB_MAP_RESIZED:
		return store_adopt_size(store);
	case MDB_READERS_FULL:
		if (tried->cleared_readers)
			return rc;
		tried->cleared_readers = true;
		pthread_rwlock_rdlock(&store->map_lock);
		rc = store->env ? mdb_reader_check(store->env, NULL) : EIO;
		pthread_rwlock_unlock(&store->map_lock);
		return rc;
	case MDB_PANIC:
		if (tried->restarted)
			return rc;
		tried->restarted = true;
		return store_restart(store);
	default:
		if (environment_is_damaged(rc))
			directory_mark_damaged(&store->directory);
		return rc;
	}
}

static int run(struct store *store, unsigned flags, store_body body, void *userdata, uint64_t growth)
{
	struct remedies tried = { 0 };
	size_t seen_map_size;
	int rc;

	if (!store_is_ours(store))
		return -ECHILD;
	do {
		if (growth != UINT64_MAX)
			limit_map(store, growth);
		rc = run_once(store, flags, body, userdata, &seen_map_size);
		if (!rc)
			return 0;
		rc = remedy(store, rc, seen_map_size, growth, &tried);
	} while (!rc);
	return to_errno(rc);
}

int store_read(struct store *store, store_body body, void *userdata)
{
	return run(store, MDB_RDONLY, body, userdata, UINT64_MAX);
}

int store_write(struct store *store, store_body body, void *userdata)
{
	return run(store, 0, body, userdata, UINT64_MAX);
}

int store_write_within(struct store *store, store_body body, void *userdata, uint64_t growth)
{
	return run(store, 0, body, userdata, growth);
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static int count_free_pages(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	return environment_count_free(txn, 0, userdata);
}

int store_measure(struct store *store, struct store_size *ret_size)
{
	struct stat file = { 0 };
	MDB_stat stat = { 0 };
	uint64_t pages;
	int fd, r = store_read(store, count_free_pages, &pages);

	if (r < 0)
		return r;
	pthread_rwlock_rdlock(&store->map_lock);
	if (store->env && !mdb_env_stat(store->env, &stat) && !mdb_env_get_fd(store->env, &fd))
		fstat(fd, &file);	/* not by its name: it may have been deleted */
	*ret_size = (struct store_size){ map_size(store), (uint64_t)file.st_size, pages * stat.ms_psize };
	pthread_rwlock_unlock(&store->map_lock);
	return 0;
}

/* Writes the compact copy beside the database, and syncs it. */
static int write_copy(struct store *store, const char *name)
{
	_cleanup_close_ int fd = openat(store->directory.fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int rc;

	if (fd < 0)
		return errno;
	rc = mdb_env_copyfd2(store->env, fd, MDB_CP_COMPACT);
	if (rc < 0)			/* MDB_INCOMPATIBLE: pages that nothing refers to, as processes that were killed may leave behind; nothing is lost */
		return EUCLEAN;
	return rc ? rc : fsync(fd) < 0 ? errno : 0;
}

/* While nobody else has the database open, which must be closed here too. A crash leaves the old file or the new one. */
static int replace_by_copy(struct store *store)
{
	static const char copy[] = "compact.mdb";
	int directory = store->directory.fd, rc = environment_open(&store->directory, false, &store->env, &store->tables);

	if (!rc)
		rc = write_copy(store, copy);
	store_stop(store);
	if (!rc && renameat(directory, copy, directory, "data.mdb") < 0)
		rc = errno;
	if (!rc && fsync(directory) < 0)
		rc = errno;
	if (rc)
		unlinkat(directory, copy, 0);
	return rc;
}

int store_compact(struct store *store, uint64_t *ret_freed)
{
	struct stat before = { 0 }, after = { 0 };
	struct error ignored;

	if (!store_is_ours(store))
		return -ECHILD;
	pthread_rwlock_wrlock(&store->map_lock);
	store_stop(store);
	int r = directory_be_alone(&store->directory);
	if (r == 0) {
		fstatat(store->directory.fd, "data.mdb", &before, 0);
		r = to_errno(replace_by_copy(store));
		fstatat(store->directory.fd, "data.mdb", &after, 0);
		directory_share(&store->directory);
	}
	int started = store_start(store, &ignored);
	pthread_rwlock_unlock(&store->map_lock);
	if (r < 0 || started < 0)
		return r < 0 ? r : started;
	*ret_freed = before.st_size > after.st_size ? (uint64_t)(before.st_size - after.st_size) : 0;
	return 0;
}
