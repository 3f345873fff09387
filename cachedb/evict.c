/* SPDX-License-Identifier: MIT */
#include "cachedb/evict.h"

struct candidate {
	struct cachedb_key key;
	int64_t used_ns;
	uint64_t size;
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

static int list_candidates(MDB_txn *txn, const struct store_tables *tables, struct candidate **ret_candidates, size_t *ret_n,
			   uint64_t *ret_bytes)
{
	_cleanup_free_ struct candidate *candidates = NULL;
	MDB_cursor *cursor;
	MDB_stat stat;
	MDB_val name, value;
	uint64_t bytes = 0;
	size_t n = 0;
	int rc = mdb_stat(txn, tables->index, &stat);

	if (rc)
		return rc;
	candidates = calloc(MAX(stat.ms_entries, 1u), sizeof(*candidates));
	if (!candidates)
		return ENOMEM;
	rc = mdb_cursor_open(txn, tables->index, &cursor);
	if (rc)
		return rc;
	while (n < stat.ms_entries && !(rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) &&
	       !(rc = read_candidate(txn, tables, &name, &candidates[n])))
		bytes += candidates[n++].size;
	mdb_cursor_close(cursor);
	if (rc && rc != MDB_NOTFOUND)
		return rc;
	*ret_candidates = TAKE(candidates);
	*ret_n = n;
	*ret_bytes = bytes;
	return 0;
}

int evict_to(MDB_txn *txn, const struct store_tables *tables, uint64_t max_bytes, uint64_t *ret_evictions, uint64_t *ret_freed)
{
	_cleanup_free_ struct candidate *candidates = NULL;
	uint64_t bytes, freed = 0;
	size_t n, i = 0;
	int rc = record_total(txn, tables, &bytes);

	*ret_evictions = *ret_freed = 0;
	if (rc || bytes <= max_bytes)
		return rc;
	rc = list_candidates(txn, tables, &candidates, &n, &bytes);
	if (rc)
		return rc;
	qsort(candidates, n, sizeof(*candidates), older_first);
	for (; !rc && i < n && bytes - freed > max_bytes; i++) {
		rc = record_delete(txn, tables, &candidates[i].key);
		freed += candidates[i].size;
	}
	/* The sum is written from what was seen, so an error in it does not live on. */
	if (!rc)
		rc = record_set_total(txn, tables, bytes - freed);
	*ret_evictions = i;
	*ret_freed = freed;
	return rc;
}
