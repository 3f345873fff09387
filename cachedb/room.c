/* SPDX-License-Identifier: MIT */
#include "cachedb/internal.h"
#include "cachedb/space.h"

#define COMMIT_BYTES ((uint64_t)1 << 20)	/* that a commit needs beside the value: pages of the tree and of the free list */

/* ---- making room ------------------------------------------------------------------------------------------------------ */

struct collection {
	uint64_t max_bytes;
	bool relative;			/* the values have to become that much less, and else nothing is removed */
	struct touch_list touches;
	struct eviction eviction;
};

static int collect_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	struct collection *collection = userdata;
	uint64_t bytes, max_bytes = collection->max_bytes;
	int rc = write_touches(txn, tables, &collection->touches);

	if (!rc && collection->relative) {
		rc = counter_get(txn, tables, COUNTER_BYTES, &bytes);
		if (!rc && bytes < max_bytes)
			return ENOSPC;
		max_bytes = bytes - max_bytes;
	}
	return rc ? rc : evict_to(txn, tables, max_bytes, collection->relative ? EVICT_ALL_OR_NOTHING : EVICT_WHAT_CAN_GO,
				  &collection->eviction);
}

static int collect(struct cachedb *db, struct collection *collection)
{
	collection->touches = touches_take(store_touches(db->store));
	int r = store_write(db->store, collect_body, collection);
	free(collection->touches.slots);
	if (r == 0)
		atomic_fetch_add(&db->count.evictions, collection->eviction.records);
	return r;
}

/* A commit that changes nothing. LMDB gives pages out again from the second commit after the one that freed them. */
static int tick_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	uint64_t bytes;
	int rc = counter_get(txn, tables, COUNTER_BYTES, &bytes);

	return rc ? rc : counter_set(txn, tables, COUNTER_BYTES, bytes);
}

/* Disk full has many names, and LMDB's is EIO. */
static int full_is_enospc(struct cachedb *db, int r, uint64_t bytes)
{
	if (r == -EDQUOT || r == -EFBIG || (r == -EIO && space_lacks(store_directory(db->store), "data.mdb", bytes + COMMIT_BYTES)))
		return -ENOSPC;
	return r;
}

/*
 * Room for a value is often not in one piece: then the next round evicts as much again. It ends when there is not that much left
 * that may be evicted.
 */
int write_with_room(struct cachedb *db, store_body body, void *userdata, uint64_t bytes)
{
	struct collection collection = { .max_bytes = bytes + COMMIT_BYTES, .relative = true };
	int r;

	for (;;) {
		uint64_t growth = space_growth(store_directory(db->store), &db->min_free);
		r = full_is_enospc(db, store_write_within(db->store, body, userdata, growth), bytes);
		if (r != -ENOSPC || growth == UINT64_MAX)
			return r;
		r = collect(db, &collection);
		if (!r)
			r = store_write(db->store, tick_body, NULL);
		if (r)
			return r == -EBUSY ? -ENOSPC : full_is_enospc(db, r, bytes);	/* EBUSY: all that is left is pinned */
	}
}

/* ---- on demand -------------------------------------------------------------------------------------------------------- */

int cachedb_gc(struct cachedb *db, uint64_t max_bytes, uint64_t *ret_freed)
{
	struct collection collection = { .max_bytes = max_bytes };

	if (db->read_only)
		return -EROFS;
	int r = collect(db, &collection);
	if (r < 0)
		return r;
	*ret_freed = collection.eviction.bytes;
	return 0;
}

/* Makes so much room in the file. */
static int collect_bytes(struct cachedb *db, uint64_t lack)
{
	struct cachedb_statistics statistics;
	uint64_t freed;

	int r = cachedb_get_statistics(db, &statistics);
	return r < 0 ? r : cachedb_gc(db, statistics.bytes - MIN(statistics.bytes, lack), &freed);
}

int cachedb_compact(struct cachedb *db, uint64_t *ret_freed, struct error *error)
{
	uint64_t freed = 0, more = 0;

	if (db->read_only)
		return error_set(error, -EROFS, "cannot compact cache '%s': it was opened read only", db->directory);
	int r = store_compact(db->store, &freed);
	struct space space = space_of(store_directory(db->store), &db->min_free);
	if (r == 0 && space.free < space.keep) {
		r = collect_bytes(db, space.keep - space.free);
		if (r == 0)
			r = store_compact(db->store, &more);
	}
	if (r < 0)
		return error_set(error, r, "cannot compact cache '%s': %s", db->directory,
				 r == -EBUSY ? "another process uses it" : strerror(-r));
	*ret_freed = freed + more;
	return 0;
}

static int clear_body(MDB_txn *txn, const struct store_tables *tables, void *userdata)
{
	int rc = mdb_drop(txn, tables->index, 0);

	if (!rc)
		rc = mdb_drop(txn, tables->values, 0);
	return rc ? rc : counter_set(txn, tables, COUNTER_BYTES, 0);
}

int cachedb_clear(struct cachedb *db)
{
	return db->read_only ? -EROFS : store_write(db->store, clear_body, NULL);
}
