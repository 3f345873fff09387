/* SPDX-License-Identifier: MIT */
#include "cachedb/digest.h"
#include "cachedb/internal.h"
#include "cachedb/pins.h"
#include "cachedb/space.h"

#include "base/array.h"
#include "base/buffer.h"

/* ---- walking ---------------------------------------------------------------------------------------------------------- */

#define BATCH 64

struct batch {				/* the next keys of the index */
	bool has_last;
	struct cachedb_key last;	/* the batch begins behind this one */
	size_t n;
	struct cachedb_key keys[BATCH];
};

/* Keys that do not ascend are those of a damaged tree, through which one could walk for ever. */
static int add_to_batch(struct batch *batch, const MDB_val *name)
{
	const struct cachedb_key *last = batch->n ? &batch->keys[batch->n - 1] : batch->has_last ? &batch->last : NULL;

	if (name->mv_size != sizeof(*last) || (last && memcmp(name->mv_data, last, sizeof(*last)) <= 0))
		return MDB_CORRUPTED;
	memcpy(&batch->keys[batch->n++], name->mv_data, sizeof(*last));
	return 0;
}

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
	for (; !rc && batch->n < BATCH; rc = rc ? rc : mdb_cursor_get(cursor, &name, &value, MDB_NEXT))
		rc = add_to_batch(batch, &name);
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

/* ---- pins ------------------------------------------------------------------------------------------------------------- */

struct pin_job {
	const struct cachedb_pin *pins;
	size_t n;
	int (*change)(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_pin *pin);
};

static int pin_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	const struct pin_job *job = userdata;
	int rc = 0;

	for (size_t i = 0; !rc && i < job->n; i++)
		rc = job->change(txn, tables, &job->pins[i]);
	return rc;
}

static int change_pins(struct cachedb *db, struct pin_job *job, struct error *error)
{
	int r = db->read_only ? -EROFS : store_write(db->store, pin_body, job);

	return r < 0 ? error_set(error, r, "cannot change the pins of cache '%s': %s", db->directory, strerror(-r)) : 0;
}

int cachedb_pin(struct cachedb *db, const struct cachedb_pin *pins, size_t n, struct error *error)
{
	return change_pins(db, &(struct pin_job){ pins, n, pin_set }, error);
}

int cachedb_unpin(struct cachedb *db, const struct cachedb_pin *pins, size_t n, struct error *error)
{
	return change_pins(db, &(struct pin_job){ pins, n, pin_clear }, error);
}

struct pin_list {
	struct buffer labels;		/* each with a NUL */
	struct cachedb_key *keys;
	size_t n, allocated;
};

static int list_pin(void *userdata, const struct cachedb_key *key, const char *label, size_t length)
{
	struct pin_list *list = userdata;

	if (ARRAY_GROW(list->keys, list->allocated, list->n) < 0)
		return ENOMEM;
	list->keys[list->n++] = *key;
	buffer_append(&list->labels, label, length);
	buffer_append(&list->labels, "", 1);
	return list->labels.failed ? ENOMEM : 0;
}

static int list_pins_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct pin_list *list = userdata;

	list->n = list->labels.size = 0;
	return pin_foreach(txn, tables, list_pin, list);
}

int cachedb_foreach_pin(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info),
			void *userdata)
{
	struct pin_list list = { 0 };
	struct cachedb_info info;
	int r = store_read(db->store, list_pins_body, &list);
	const char *label = (const char *)list.labels.data;

	for (size_t i = 0; r == 0 && i < list.n; i++, label += strlen(label) + 1) {
		struct cachedb_pin pin = { list.keys[i], label };
		r = cachedb_stat(db, &pin.key, &info);
		if (r == 0 || r == -ENOENT)
			r = callback(userdata, &pin, r == 0 ? &info : NULL);
	}
	buffer_release(&list.labels);
	free(list.keys);
	return r;
}

/* ---- checking --------------------------------------------------------------------------------------------------------- */

struct checking {
	struct cachedb *db;
	void (*tell)(void *userdata, const char *finding);
	void *userdata;
	struct cachedb_check found;
};

static int check_record(struct checking *checking, const struct cachedb_key *key)
{
	struct lookup job = { .key = key, .with_value = true };
	struct error finding;
	char text[KEY_TEXT_SIZE];
	int r = lookup_or_quarantine(checking->db, &job);

	free(job.data);
	if (r < 0 && !job.bad)
		return r == -ENOENT ? 0 : r;		/* evicted by somebody in the meantime */
	checking->found.records++;
	checking->found.bytes += job.record_loaded ? job.record.size : 0;
	checking->found.bad += job.bad;
	if (job.bad) {
		error_set(&finding, 0, "record %s: %s", key_to_text(key, text),
			  job.record_loaded ? "its value is not what was stored" : "its index entry is broken");
		checking->tell(checking->userdata, finding.text);
	}
	return 0;
}

struct sums {
	uint64_t orphans, bytes, stored;
	bool repair;
};

static int sum_index(MDB_txn *txn, const struct store_tables *tables, struct sums *sums)
{
	MDB_val name, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn, tables->index, &cursor);

	if (rc)
		return rc;
	while (!(rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT))) {
		struct cachedb_key key = { 0 };
		struct record record;
		memcpy(&key, name.mv_data, MIN(name.mv_size, sizeof(key)));
		rc = record_load(txn, tables, &key, &record);
		if (rc && rc != EBADMSG)
			break;
		sums->bytes += rc ? 0 : record.size;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int sum_orphans(MDB_txn *txn, const struct store_tables *tables, struct sums *sums)
{
	MDB_val name, value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn, tables->values, &cursor);

	if (rc)
		return rc;
	while (!(rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT))) {
		bool orphan;
		rc = record_is_orphan(txn, tables, &name, &orphan);
		if (!rc && orphan) {
			sums->orphans++;
			rc = sums->repair ? mdb_cursor_del(cursor, 0) : 0;
		}
		if (rc)
			break;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int sums_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct sums *sums = userdata;
	int rc = counter_get(txn, tables, COUNTER_BYTES, &sums->stored);

	sums->orphans = sums->bytes = 0;
	if (!rc)
		rc = sum_index(txn, tables, sums);
	if (!rc)
		rc = sum_orphans(txn, tables, sums);
	if (!rc && sums->repair && sums->bytes != sums->stored)
		rc = counter_set(txn, tables, COUNTER_BYTES, sums->bytes);
	return rc;
}

/* A transaction of one piece, as others may write at any time; it reads no values. */
static int check_sums(struct checking *checking)
{
	struct cachedb *db = checking->db;
	struct sums sums = { .repair = false };
	struct error finding;
	int r = store_read(db->store, sums_body, &sums);

	if (r < 0 || (!sums.orphans && sums.bytes == sums.stored))
		return r;
	checking->found.orphans = sums.orphans;
	/* A broken entry that is still there has a size that nobody knows. */
	checking->found.sum_is_wrong = sums.bytes != sums.stored && (!db->read_only || !checking->found.bad);
	if (sums.orphans) {
		error_set(&finding, 0, "%llu parts of values belong to no record", (unsigned long long)sums.orphans);
		checking->tell(checking->userdata, finding.text);
	}
	if (checking->found.sum_is_wrong) {
		error_set(&finding, 0, "the values have %llu bytes, not %llu as is noted", (unsigned long long)sums.bytes,
			  (unsigned long long)sums.stored);
		checking->tell(checking->userdata, finding.text);
	}
	sums.repair = true;
	return db->read_only ? 0 : store_write(db->store, sums_body, &sums);
}

int cachedb_check(struct cachedb *db, void (*tell)(void *userdata, const char *finding), void *userdata, struct cachedb_check *ret_check,
		  struct error *error)
{
	struct checking checking = { .db = db, .tell = tell, .userdata = userdata };
	struct batch batch = { 0 };
	int r;

	while (!(r = next_batch(db, &batch)) && batch.n)
		for (size_t i = 0; i < batch.n && r == 0; i++)
			r = check_record(&checking, &batch.keys[i]);
	if (r == 0)
		r = check_sums(&checking);
	if (r < 0)
		return error_set(error, r, "cannot check cache '%s': %s", db->directory, strerror(-r));
	*ret_check = checking.found;
	return 0;
}

/* ---- statistics ------------------------------------------------------------------------------------------------------- */

struct pin_count {
	MDB_txn *txn;
	const struct store_tables *tables;
	struct cachedb_statistics *statistics;
	struct cachedb_key last;
	bool has_last;
};

static int count_pin(void *userdata, const struct cachedb_key *key, const char *label, size_t length)
{
	struct pin_count *count = userdata;
	struct record record;

	count->statistics->pins++;
	if (count->has_last && !memcmp(key, &count->last, sizeof(*key)))
		return 0;		/* another label of the same one */
	count->last = *key;
	count->has_last = true;
	int rc = record_load(count->txn, count->tables, key, &record);
	if (!rc) {
		count->statistics->pinned_entries++;
		count->statistics->pinned_bytes += record.size;
	}
	return rc == MDB_NOTFOUND || rc == EBADMSG ? 0 : rc;
}

static int statistics_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct cachedb_statistics *statistics = userdata;
	struct pin_count count = { .txn = txn, .tables = tables, .statistics = statistics };
	MDB_stat stat;
	int rc = mdb_stat(txn, tables->index, &stat);

	statistics->pins = statistics->pinned_entries = statistics->pinned_bytes = 0;
	statistics->entries = rc ? 0 : stat.ms_entries;
	if (!rc)
		rc = counter_get(txn, tables, COUNTER_BYTES, &statistics->bytes);
	if (!rc)
		rc = counter_get(txn, tables, COUNTER_HITS, &statistics->all_hits);
	if (!rc)
		rc = counter_get(txn, tables, COUNTER_MISSES, &statistics->all_misses);
	if (!rc)
		rc = counter_get(txn, tables, COUNTER_EVICTIONS, &statistics->all_evictions);
	return rc ? rc : pin_foreach(txn, tables, count_pin, &count);
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
	struct store_size size;
	int r = store_read(db->store, statistics_body, &statistics);

	if (r == 0)
		r = store_measure(db->store, &size);
	if (r < 0)
		return r;
	struct space space = space_of(store_directory(db->store), &db->min_free);
	statistics.map_bytes = size.map_bytes;
	statistics.file_bytes = size.file_bytes;
	statistics.free_bytes = size.free_bytes;
	statistics.system_free = space.free;
	statistics.system_keep = space.keep;
	*ret_statistics = statistics;
	return 0;
}
