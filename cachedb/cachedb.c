/* SPDX-License-Identifier: MIT */
#include "cachedb/cachedb.h"
#include "cachedb/evict.h"
#include "cachedb/record.h"
#include "cachedb/store.h"
#include "cachedb/touch.h"

#include <stdatomic.h>
#include <time.h>

#define FULL_DISK_SLACK ((uint64_t)1 << 20)	/* bytes that a commit needs beside the value: tree and free-list pages */

struct cachedb {
	struct store *store;
	char *directory;
	uint64_t max_bytes;
	bool read_only;
	struct {
		_Atomic uint64_t hits, misses, puts, put_failures, evictions, corrupt;
	} count;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

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

static int write_touches(MDB_txn *txn, const struct store_tables *tables, const struct touch_list *list)
{
	int rc = 0;

	for (size_t i = 0; i < list->n_slots && !rc; i++)
		if (list->slots[i].used_ns)
			rc = record_touch(txn, tables, &list->slots[i].key, list->slots[i].used_ns);
	return rc;
}

static int flush_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	return write_touches(txn, tables, userdata);
}

/* What cannot be written is forgotten: it only makes eviction a little less exact. */
static void flush_touches(struct cachedb *db)
{
	struct touch_list list = touches_take(store_touches(db->store));

	if (list.n_slots)
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

static void touch(struct cachedb *db, const struct cachedb_key *key)
{
	if (!db->read_only && touches_add(store_touches(db->store), key, now_ns()))
		flush_touches(db);
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

struct lookup {
	const struct cachedb_key *key;
	bool with_value;
	struct record record;
	bool record_loaded;
	bool bad;			/* found and put into quarantine */
	uint8_t *data;			/* malloc memory, the caller's; also after an error */
};

static int lookup_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct lookup *lookup = userdata;
	int rc = record_load(txn, tables, lookup->key, &lookup->record);

	lookup->record_loaded = !rc;
	if (rc || !lookup->with_value)
		return rc;
	free(lookup->data);
	lookup->data = malloc(MAX(lookup->record.size, 1u));
	if (!lookup->data)
		return ENOMEM;
	return record_load_value(txn, tables, lookup->key, &lookup->record, lookup->data);
}

/* -EBADMSG when the bytes are there but wrong. */
static int lookup(struct cachedb *db, struct lookup *lookup)
{
	uint64_t digest[2];
	int r = store_read(db->store, lookup_body, lookup);

	if (r < 0 || !lookup->with_value)
		return r;
	record_digest(lookup->data, lookup->record.size, digest);
	return memcmp(digest, lookup->record.digest, sizeof(digest)) ? -EBADMSG : 0;
}

static int lookup_or_quarantine(struct cachedb *db, struct lookup *job)
{
	int r = lookup(db, job);

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
			atomic_fetch_add(&db->count.misses, 1);
		return r;
	}
	atomic_fetch_add(&db->count.hits, 1);
	touch(db, key);
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
	uint64_t evictions;
};

static int put_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct put *put = userdata;
	uint64_t freed;
	int rc = write_touches(txn, tables, &put->touches);

	put->evictions = 0;
	if (!rc && put->max_bytes)
		rc = evict_to(txn, tables, put->max_bytes - put->record->size, &put->evictions, &freed);
	return rc ? rc : record_store(txn, tables, put->key, put->record, put->data);
}

/* The words for a failed put, and ENOSPC for what LMDB and the system call otherwise. */
static int put_failed(struct cachedb *db, int r, size_t size, struct error *error)
{
	if (r == -EDQUOT || r == -EFBIG || (r == -EIO && store_lacks_space(db->store, size + FULL_DISK_SLACK)))
		r = -ENOSPC;
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
	r = store_write(db->store, put_body, &put);
	free(put.touches.slots);
	if (r == -EEXIST)	/* another thread or process was faster; its bytes are ours */
		return 0;
	if (r < 0)
		return put_failed(db, r, record->size, error);
	atomic_fetch_add(&db->count.evictions, put.evictions);
	return 0;
}

int cachedb_put(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, size_t size,
		const struct cachedb_info *attributes, struct error *error)
{
	int64_t now = now_ns();
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

struct collection {
	uint64_t max_bytes;
	struct touch_list touches;
	uint64_t evictions, freed;
};

static int collect_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct collection *collection = userdata;
	int rc = write_touches(txn, tables, &collection->touches);

	return rc ? rc : evict_to(txn, tables, collection->max_bytes, &collection->evictions, &collection->freed);
}

int cachedb_gc(struct cachedb *db, uint64_t max_bytes, uint64_t *ret_freed)
{
	struct collection collection = { .max_bytes = max_bytes };
	int r;

	if (db->read_only)
		return -EROFS;
	collection.touches = touches_take(store_touches(db->store));
	r = store_write(db->store, collect_body, &collection);
	free(collection.touches.slots);
	if (r < 0)
		return r;
	atomic_fetch_add(&db->count.evictions, collection.evictions);
	*ret_freed = collection.freed;
	return 0;
}

static int clear_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	int rc = mdb_drop(txn, tables->index, 0);

	if (!rc)
		rc = mdb_drop(txn, tables->values, 0);
	return rc ? rc : record_set_total(txn, tables, 0);
}

int cachedb_clear(struct cachedb *db)
{
	return db->read_only ? -EROFS : store_write(db->store, clear_body, NULL);
}

/* ---- walking ---------------------------------------------------------------------------------------------------------- */

#define BATCH 64

struct batch {				/* the next keys of the index */
	bool has_last;
	struct cachedb_key last;	/* the batch begins behind this one */
	size_t n;
	struct cachedb_key keys[BATCH];
};

static int batch_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct batch *batch = userdata;
	MDB_val name = { sizeof(batch->last), &batch->last }, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn, tables->index, &cursor);

	if (rc)
		return rc;
	batch->n = 0;
	rc = mdb_cursor_get(cursor, &name, &value, batch->has_last ? MDB_SET_RANGE : MDB_FIRST);
	if (!rc && batch->has_last && name.mv_size == sizeof(batch->last) && !memcmp(name.mv_data, &batch->last, sizeof(batch->last)))
		rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT);
	for (; !rc && batch->n < BATCH; rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT))
		memcpy(&batch->keys[batch->n++], name.mv_data, MIN(name.mv_size, sizeof(batch->keys[0])));
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* 0 with n = 0 at the end. */
static int next_batch(struct cachedb *db, struct batch *batch)
{
	if (batch->n) {
		batch->last = batch->keys[batch->n - 1];
		batch->has_last = true;
	}
	return store_read(db->store, batch_body, batch);
}

int cachedb_foreach(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info),
		    void *userdata)
{
	struct batch batch = { 0 };
	struct cachedb_info info;
	int r;

	while (!(r = next_batch(db, &batch)) && batch.n)
		for (size_t i = 0; i < batch.n; i++) {
			r = cachedb_stat(db, &batch.keys[i], &info);
			if (r == -ENOENT)	/* evicted or quarantined in the meantime */
				continue;
			if (!r)
				r = callback(userdata, &batch.keys[i], &info);
			if (r)
				return r;
		}
	return r;
}

int cachedb_check(struct cachedb *db, uint64_t *ret_checked, uint64_t *ret_bad, struct error *error)
{
	struct batch batch = { 0 };
	uint64_t checked = 0, bad = 0;
	int r;

	while (!(r = next_batch(db, &batch)) && batch.n)
		for (size_t i = 0; i < batch.n; i++) {
			struct lookup job = { .key = &batch.keys[i], .with_value = true };
			r = lookup_or_quarantine(db, &job);
			free(job.data);
			if (r < 0 && r != -ENOENT)
				return error_set(error, r, "cannot check cache '%s': %s", db->directory, strerror(-r));
			checked++;
			bad += job.bad;
		}
	if (r < 0)
		return error_set(error, r, "cannot read the index of cache '%s': %s", db->directory, strerror(-r));
	*ret_checked = checked;
	*ret_bad = bad;
	return 0;
}

static int statistics_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct cachedb_statistics *statistics = userdata;
	MDB_stat stat;
	int rc = mdb_stat(txn, tables->index, &stat);

	if (rc)
		return rc;
	statistics->entries = stat.ms_entries;
	return record_total(txn, tables, &statistics->bytes);
}

int cachedb_get_statistics(struct cachedb *db, struct cachedb_statistics *ret_statistics)
{
	struct cachedb_statistics statistics = {
		.hits = atomic_load(&db->count.hits),
		.misses = atomic_load(&db->count.misses),
		.puts = atomic_load(&db->count.puts),
		.put_failures = atomic_load(&db->count.put_failures),
		.evictions = atomic_load(&db->count.evictions),
		.corrupt = atomic_load(&db->count.corrupt),
	};
	int r = store_read(db->store, statistics_body, &statistics);

	if (r < 0)
		return r;
	statistics.map_bytes = store_map_size(db->store);
	*ret_statistics = statistics;
	return 0;
}
