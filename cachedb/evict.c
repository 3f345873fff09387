/* SPDX-License-Identifier: MIT */
#include "cachedb/evict.h"
#include "cachedb/pins.h"

struct candidate {
	struct cachedb_key key;
	int64_t used_ns;
	uint64_t size;
};

struct candidates {			/* for eviction: all records but those that are pinned */
	struct candidate *list;
	size_t n;
	uint64_t bytes, pinned_bytes;
};

static int older_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->used_ns != y->used_ns)
		return x->used_ns < y->used_ns ? -1 : 1;
	return memcmp(&x->key, &y->key, sizeof(x->key));
}

/* A broken entry gets time 0 and size 0: it is the first to go, and nothing is known to be won by it. */
static int read_candidate(MDB_txn *txn, const struct store_tables *tables, const MDB_val *name, struct candidate *ret_candidate)
{
	struct candidate candidate = { 0 };
	struct record record;

	memcpy(candidate.key.bytes, name->mv_data, MIN(name->mv_size, sizeof(candidate.key.bytes)));
	int rc = record_load(txn, tables, &candidate.key, &record);
	if (!rc) {
		candidate.used_ns = record.used_ns;
		candidate.size = record.size;
	}
	*ret_candidate = candidate;
	return rc == EBADMSG ? 0 : rc;
}

/* Puts it into the next place of the list, which has room. A broken entry is of no use to whom pins it. */
static int add_candidate(MDB_txn *txn, const struct store_tables *tables, const MDB_val *name, struct candidates *candidates)
{
	struct candidate *candidate = &candidates->list[candidates->n];
	bool pinned = false;
	int rc = read_candidate(txn, tables, name, candidate);

	if (!rc && candidate->used_ns)
		rc = pin_exists(txn, tables, &candidate->key, &pinned);
	if (rc)
		return rc;
	candidates->n += !pinned;
	*(pinned ? &candidates->pinned_bytes : &candidates->bytes) += candidate->size;
	return 0;
}

static int list_candidates(MDB_txn *txn, const struct store_tables *tables, struct candidates *candidates)
{
	MDB_cursor *cursor;
	MDB_stat stat;
	MDB_val name, value;
	int rc = mdb_stat(txn, tables->index, &stat);

	if (rc)
		return rc;
	candidates->list = calloc(stat.ms_entries + 1, sizeof(*candidates->list));
	if (!candidates->list)
		return ENOMEM;
	rc = mdb_cursor_open(txn, tables->index, &cursor);
	if (rc)
		return rc;
	while (candidates->n < stat.ms_entries && !(rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) &&
	       !(rc = add_candidate(txn, tables, &name, candidates)))
		;
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

static int evict_oldest(MDB_txn *txn, const struct store_tables *tables, struct candidates *candidates, uint64_t max_bytes,
			struct eviction *ret_eviction)
{
	struct eviction eviction = { 0 };
	uint64_t bytes = candidates->bytes + candidates->pinned_bytes;
	int rc = 0;

	qsort(candidates->list, candidates->n, sizeof(*candidates->list), older_first);
	for (size_t i = 0; !rc && i < candidates->n && bytes - eviction.bytes > max_bytes; i++) {
		rc = record_delete(txn, tables, &candidates->list[i].key);
		eviction.bytes += candidates->list[i].size;
		eviction.records++;
	}
	/* The sum is written from what was seen, so an error in it does not live on. */
	if (!rc)
		rc = counter_set(txn, tables, COUNTER_BYTES, bytes - eviction.bytes);
	if (!rc)
		rc = counter_add(txn, tables, COUNTER_EVICTIONS, eviction.records);
	*ret_eviction = eviction;
	return rc;
}

int evict_to(MDB_txn *txn, const struct store_tables *tables, uint64_t max_bytes, enum eviction_mode mode, struct eviction *ret_eviction)
{
	struct candidates candidates = { 0 };
	uint64_t bytes;
	int rc = counter_get(txn, tables, COUNTER_BYTES, &bytes);

	*ret_eviction = (struct eviction){ 0 };
	if (rc || bytes <= max_bytes)
		return rc;
	rc = list_candidates(txn, tables, &candidates);
	if (!rc && candidates.pinned_bytes > max_bytes && mode == EVICT_ALL_OR_NOTHING)
		rc = EBUSY;
	if (!rc)
		rc = evict_oldest(txn, tables, &candidates, max_bytes, ret_eviction);
	free(candidates.list);
	return rc;
}
