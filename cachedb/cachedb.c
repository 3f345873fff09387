/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "cachedb/directory.h"
#include "cachedb/internal.h"
#include "cachedb/space.h"

#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE_VALUE (2 * HUGE_PAGE)

/* ---- opening and closing ---------------------------------------------------------------------------------------------- */

static void cachedb_free(struct cachedb *db)
{
	store_unref(db->store);
	free(db->directory);
	free(db);
}

DEFINE_CLEANUP(struct cachedb *, cachedb_free)

int cachedb_open(const struct cachedb_options *options, struct cachedb **ret_db, struct error *error)
{
	_cleanup_(cachedb_free_p) struct cachedb *db = calloc(1, sizeof(*db));
	int r;

	if (!db)
		return -ENOMEM;
	db->max_bytes = options->max_bytes;
	db->min_free = options->min_free;
	db->read_only = options->read_only;
	db->directory = strdup(options->directory ? options->directory : "");
	if (!db->directory)
		return -ENOMEM;
	r = store_open(db->directory, db->read_only, &db->store, error);
	if (r < 0)
		return r;
	*ret_db = TAKE(db);
	return 0;
}

int cachedb_begin_anew(const char *name, struct error *error)
{
	_cleanup_(directory_release) struct directory directory = DIRECTORY_INIT;
	struct cachedb_options options = { .directory = name };
	struct cachedb *db = NULL;
	int r = directory_open(name, true, &directory, error);

	if (r < 0)
		return r;
	directory_mark_damaged(&directory);
	r = cachedb_open(&options, &db, error);
	cachedb_close(db);
	return r;
}

int write_touches(MDB_txn *txn, const struct store_tables *tables, const struct touch_list *list)
{
	int rc = counter_add(txn, tables, COUNTER_HITS, list->hits);

	if (!rc)
		rc = counter_add(txn, tables, COUNTER_MISSES, list->misses);
	for (size_t i = 0; i < list->n_slots && !rc; i++)
		if (list->slots[i].used_ns)
			rc = record_touch(txn, tables, &list->slots[i].key, list->slots[i].used_ns);
	return rc;
}

static int flush_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	return write_touches(txn, tables, userdata);
}

/* What cannot be written is forgotten: it only makes eviction and statistics a little less exact. */
static void flush_touches(struct cachedb *db)
{
	struct touch_list list = touches_take(store_touches(db->store));

	if (list.n_slots || list.hits || list.misses)
		store_write(db->store, flush_body, &list);
	free(list.slots);
}

struct cachedb *cachedb_close(struct cachedb *db)
{
	if (!db)
		return NULL;
	if (!db->read_only && store_is_ours(db->store))
		flush_touches(db);
	cachedb_free(db);
	return NULL;
}

void cachedb_touch(struct cachedb *db, const struct cachedb_key *key)
{
	if (!db->read_only && store_is_ours(db->store))
		touches_add(store_touches(db->store), key, wall_ns());
}

static void note_hit(struct cachedb *db, const struct cachedb_key *key)
{
	atomic_fetch_add(&db->count.hits, 1);
	if (db->read_only)
		return;
	touches_count(store_touches(db->store), 1, 0);
	if (touches_add(store_touches(db->store), key, wall_ns()))
		flush_touches(db);
}

static void note_miss(struct cachedb *db)
{
	atomic_fetch_add(&db->count.misses, 1);
	if (!db->read_only)
		touches_count(store_touches(db->store), 0, 1);
}

/* ---- quarantine ------------------------------------------------------------------------------------------------------- */

struct quarantine {
	const struct cachedb_key *key;
	const struct record *seen;	/* NULL when the index entry itself was unreadable */
	bool removed;
};

/* Somebody may have removed the record, and built and stored it again, between our reading and this transaction. */
static int quarantine_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct quarantine *quarantine = userdata;
	struct record record;
	int rc = record_load(txn, tables, quarantine->key, &record);

	quarantine->removed = false;
	if (rc == MDB_NOTFOUND)
		return 0;
	if (rc && rc != EBADMSG)
		return rc;
	if (!rc && (!quarantine->seen || record.created != quarantine->seen->created))
		return 0;
	quarantine->removed = true;
	return record_delete(txn, tables, quarantine->key);
}

static void quarantine(struct cachedb *db, const struct cachedb_key *key, const struct record *seen)
{
	struct quarantine job = { .key = key, .seen = seen };

	atomic_fetch_add(&db->count.corrupt, 1);
	if (!db->read_only)
		store_write(db->store, quarantine_body, &job);
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* A page fault for every 4 KiB would take longer than the copy into them. */
static uint8_t *allocate(size_t size)
{
	void *data;

	if (size < LARGE_VALUE)
		return malloc(size);
	if (posix_memalign(&data, HUGE_PAGE, size) != 0)
		return NULL;
	madvise(data, size, MADV_HUGEPAGE);
	return data;
}

static int lookup_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct lookup *lookup = userdata;
	int rc = record_load(txn, tables, lookup->key, &lookup->record);

	lookup->record_loaded = !rc;
	if (rc || !lookup->with_value)
		return rc;
	free(lookup->data);
	lookup->data = allocate(MAX(lookup->record.size, 1u));
	if (!lookup->data)
		return ENOMEM;
	return record_load_value(txn, tables, lookup->key, &lookup->record, lookup->data);
}

int lookup_or_quarantine(struct cachedb *db, struct lookup *job)
{
	int r = store_read(db->store, lookup_body, job);

	if (r != -EBADMSG)
		return r;
	job->bad = true;
	quarantine(db, job->key, job->record_loaded ? &job->record : NULL);
	return -ENOENT;
}

int cachedb_stat(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info)
{
	struct lookup job = { .key = key };
	int r = lookup_or_quarantine(db, &job);

	if (r < 0)
		return r;
	*ret_info = record_info(&job.record);
	return 0;
}

int cachedb_get(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data)
{
	struct lookup job = { .key = key, .with_value = true };
	int r = lookup_or_quarantine(db, &job);

	if (r < 0) {
		free(job.data);
		if (r == -ENOENT)
			note_miss(db);
		return r;
	}
	note_hit(db, key);
	if (ret_info)
		*ret_info = record_info(&job.record);
	*ret_data = job.data;
	return 0;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

struct put {
	const struct cachedb_key *key;
	const struct record *record;
	const uint8_t *data;
	uint64_t max_bytes;		/* 0: no limit */
	struct touch_list touches;
	struct eviction eviction;
};

static int put_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct put *put = userdata;
	int rc = write_touches(txn, tables, &put->touches);

	put->eviction = (struct eviction){ 0 };
	if (!rc && put->max_bytes)
		rc = evict_to(txn, tables, put->max_bytes - put->record->size, EVICT_ALL_OR_NOTHING, &put->eviction);
	return rc ? rc : record_store(txn, tables, put->key, put->record, put->data);
}

static int put_failed(struct cachedb *db, int r, size_t size, struct error *error)
{
	struct space space = space_of(store_directory(db->store), &db->min_free);

	if (r == -EBUSY)
		return error_set(error, -ENOSPC, "cannot store %zu bytes in cache '%s': pinned files leave no room below its limit of %llu",
				 size, db->directory, (unsigned long long)db->max_bytes);
	if (r == -ENOSPC && space.keep && space.free < space.keep + size)
		return error_set(error, r, "cannot store %zu bytes in cache '%s': %llu MiB of its file system have to stay free, %llu MiB are",
				 size, db->directory, (unsigned long long)space.keep >> 20, (unsigned long long)space.free >> 20);
	return error_set(error, r, "cannot store %zu bytes in cache '%s': %s", size, db->directory, strerror(-r));
}

static int put_new(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, const struct record *record,
		   struct error *error)
{
	struct put put = { .key = key, .record = record, .data = data, .max_bytes = db->max_bytes };
	int r;

	if (db->read_only)
		return error_set(error, -EROFS, "cannot store %zu bytes in cache '%s': it was opened read only", (size_t)record->size,
				 db->directory);
	if (db->max_bytes && record->size > db->max_bytes)
		return error_set(error, -EFBIG, "cannot store %zu bytes in cache '%s': its limit is %llu", (size_t)record->size,
				 db->directory, (unsigned long long)db->max_bytes);
	put.touches = touches_take(store_touches(db->store));
	r = write_with_room(db, put_body, &put, record->size);
	free(put.touches.slots);
	if (r == -EEXIST)	/* another thread or process was faster; its bytes are ours */
		return 0;
	if (r < 0)
		return put_failed(db, r, record->size, error);
	atomic_fetch_add(&db->count.evictions, put.eviction.records);
	return 0;
}

int cachedb_put(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, size_t size,
		const struct cachedb_info *attributes, struct error *error)
{
	int64_t now = wall_ns();
	struct record record = { .size = size, .created = now / 1000000000, .used_ns = now };
	struct cachedb_info existing;
	int r;

	if (!cachedb_stat(db, key, &existing))
		return 0;
	if (attributes) {
		record.cost_us = attributes->cost_us;
		record.tag = attributes->tag;
		record.items = attributes->items;
	}
	record_digest(data, size, record.digest);
	r = put_new(db, key, data, &record, error);
	atomic_fetch_add(r < 0 ? &db->count.put_failures : &db->count.puts, 1);
	return r;
}

static int delete_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	return record_delete(txn, tables, userdata);
}

int cachedb_delete(struct cachedb *db, const struct cachedb_key *key)
{
	return db->read_only ? -EROFS : store_write(db->store, delete_body, (void *)key);
}
