/* SPDX-License-Identifier: MIT */
/*
 * One record: an entry of the index and the chunks of its value. All functions run inside a transaction and speak LMDB's language;
 * EBADMSG stands for bytes that are not what was written.
 *
 * Values are cut into chunks because one LMDB item of several hundred MiB needs as many adjacent free pages, which a cache that
 * lives through evictions does not have.
 */
#pragma once

#include "cachedb/cachedb.h"
#include "cachedb/store.h"

struct record {				/* as it lies in the index, in the byte order of the machine, like LMDB's own pages */
	uint64_t size;
	uint64_t digest[2];
	uint64_t cost_us;
	int64_t created;		/* seconds */
	int64_t used_ns;		/* nanoseconds, both since 1970 */
	uint32_t tag, items;
	uint64_t check;			/* XXH3, 64 bits, of the key and all fields above */
};

void record_digest(const uint8_t *data, size_t size, uint64_t ret_digest[2]);
struct cachedb_info record_info(const struct record *record);

/* MDB_NOTFOUND, EBADMSG. */
int record_load(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, struct record *ret_record);

/* Reads the value of a loaded record into `data`, which has room for record->size. EBADMSG when chunks are missing or too
 * many, or it has not the record's digest. */
int record_load_value(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, const struct record *record,
		      uint8_t *data);

/* Writes a new record and its value; MDB_KEYEXIST when there is one. */
int record_store(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, const struct record *record,
		 const uint8_t *data);

/* Sets the last use of an existing, sound record; silently does nothing for others. */
int record_touch(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, int64_t used_ns);

/* Removes index entry and value, whatever state they are in; MDB_NOTFOUND when there is neither. */
int record_delete(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key);

/* Whether this entry of the table of values belongs to no sound part of a record. */
int record_is_orphan(MDB_txn *txn, const struct store_tables *tables, const MDB_val *chunk_name, bool *ret_orphan);

/* Numbers that are kept in the database; 0 until they are set. */
enum counter {
	COUNTER_BYTES,			/* the sum of the sizes of all values */
	COUNTER_HITS,			/* since the cache was begun, as are the next two */
	COUNTER_MISSES,
	COUNTER_EVICTIONS,
};
int counter_get(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t *ret_value);
int counter_set(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t value);
int counter_add(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t more);
