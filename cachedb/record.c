/* SPDX-License-Identifier: MIT */
#include "cachedb/record.h"

#include <endian.h>
#include <xxhash.h>

/* An LMDB value of its own pages begins 16 bytes into the first one: with this size a chunk fills 256 pages exactly. */
#define CHUNK_SIZE (((size_t)1 << 20) - 16)

struct chunk_key {
	struct cachedb_key key;
	uint32_t number;		/* big endian, so that chunks lie in order */
};

static MDB_val key_value(const struct cachedb_key *key)
{
	return (MDB_val){ sizeof(key->bytes), (void *)key->bytes };
}

static uint64_t record_check(const struct cachedb_key *key, const struct record *record)
{
	return XXH3_64bits_withSeed(record, offsetof(struct record, check), XXH3_64bits(key->bytes, sizeof(key->bytes)));
}

void record_digest(const uint8_t *data, size_t size, uint64_t ret_digest[2])
{
	XXH128_hash_t hash = XXH3_128bits(data, size);

	ret_digest[0] = hash.low64;
	ret_digest[1] = hash.high64;
}

static bool digest_is(const struct record *record, XXH128_hash_t hash)
{
	return record->digest[0] == hash.low64 && record->digest[1] == hash.high64;
}

struct cachedb_info record_info(const struct record *record)
{
	return (struct cachedb_info){
		.size = record->size,
		.digest = { record->digest[0], record->digest[1] },
		.cost_us = record->cost_us,
		.created = record->created,
		.last_used = record->used_ns / 1000000000,
		.tag = record->tag,
		.items = record->items,
	};
}

int record_load(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, struct record *ret_record)
{
	MDB_val name = key_value(key), value;
	struct record record;
	int rc = mdb_get(txn, tables->index, &name, &value);

	if (rc)
		return rc;
	if (value.mv_size != sizeof(record))
		return EBADMSG;
	memcpy(&record, value.mv_data, sizeof(record));
	if (record.check != record_check(key, &record))
		return EBADMSG;
	*ret_record = record;
	return 0;
}

int record_load_value(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, const struct record *record,
		      uint8_t *data)
{
	uint64_t done = 0;
	XXH3_state_t *state = XXH3_createState();
	int rc = state ? 0 : ENOMEM;

	if (state)
		XXH3_128bits_reset(state);
	for (uint32_t i = 0; !rc && done < record->size; i++) {
		struct chunk_key chunk = { *key, htobe32(i) };
		MDB_val name = { sizeof(chunk), &chunk }, value;
		rc = mdb_get(txn, tables->values, &name, &value);
		if (rc || value.mv_size != MIN(CHUNK_SIZE, record->size - done)) {
			rc = rc && rc != MDB_NOTFOUND ? rc : EBADMSG;
			break;
		}
		memcpy(data + done, value.mv_data, value.mv_size);
		XXH3_128bits_update(state, data + done, value.mv_size);		/* while it is in the CPU's cache */
		done += value.mv_size;
	}
	if (!rc && !digest_is(record, XXH3_128bits_digest(state)))
		rc = EBADMSG;
	XXH3_freeState(state);
	return rc;
}

static int store_index(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, const struct record *record,
		       unsigned flags)
{
	struct record checked = *record;
	MDB_val name = key_value(key), value = { sizeof(checked), &checked };

	checked.check = record_check(key, &checked);
	return mdb_put(txn, tables->index, &name, &value, flags);
}

int record_store(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, const struct record *record,
		 const uint8_t *data)
{
	uint64_t done = 0;
	int rc = store_index(txn, tables, key, record, MDB_NOOVERWRITE);

	for (uint32_t i = 0; !rc && done < record->size; i++) {
		struct chunk_key chunk = { *key, htobe32(i) };
		MDB_val name = { sizeof(chunk), &chunk };
		MDB_val value = { MIN(CHUNK_SIZE, record->size - done), (void *)(data + done) };
		rc = mdb_put(txn, tables->values, &name, &value, 0);
		done += value.mv_size;
	}
	return rc ? rc : counter_add(txn, tables, COUNTER_BYTES, record->size);
}

int record_touch(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, int64_t used_ns)
{
	struct record record;
	int rc = record_load(txn, tables, key, &record);

	if (rc == MDB_NOTFOUND || rc == EBADMSG || (!rc && record.used_ns >= used_ns))
		return 0;
	if (rc)
		return rc;
	record.used_ns = used_ns;
	return store_index(txn, tables, key, &record, 0);
}

/* By prefix and not by number, as the size in a broken index entry says nothing. */
static int delete_chunks(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, uint64_t *ret_bytes)
{
	struct chunk_key first = { *key, 0 };
	MDB_val name = { sizeof(first), &first }, value;
	MDB_cursor *cursor;
	uint64_t bytes = 0;
	int rc = mdb_cursor_open(txn, tables->values, &cursor);

	if (rc)
		return rc;
	rc = mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE);
	while (!rc && name.mv_size == sizeof(first) && !memcmp(name.mv_data, key, sizeof(*key))) {
		bytes += value.mv_size;
		rc = mdb_cursor_del(cursor, 0);
		if (!rc)	/* after a deletion "next" is the item that has moved up */
			rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	if (rc && rc != MDB_NOTFOUND)
		return rc;
	*ret_bytes = bytes;
	return 0;
}

int record_delete(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key)
{
	MDB_val name = key_value(key);
	uint64_t bytes, total;
	int missing = mdb_del(txn, tables->index, &name, NULL);
	int rc = missing == MDB_NOTFOUND ? 0 : missing;

	if (!rc)
		rc = delete_chunks(txn, tables, key, &bytes);
	if (!rc && missing && !bytes)
		return MDB_NOTFOUND;
	if (!rc)
		rc = counter_get(txn, tables, COUNTER_BYTES, &total);
	return rc ? rc : counter_set(txn, tables, COUNTER_BYTES, total - MIN(total, bytes));
}

/* The first chunk of what has no bytes does not exist either. */
int record_is_orphan(MDB_txn *txn, const struct store_tables *tables, const MDB_val *chunk_name, bool *ret_orphan)
{
	struct chunk_key chunk;
	struct record record;

	*ret_orphan = chunk_name->mv_size != sizeof(chunk);
	if (*ret_orphan)
		return 0;
	memcpy(&chunk, chunk_name->mv_data, sizeof(chunk));
	int rc = record_load(txn, tables, &chunk.key, &record);
	if (!rc)
		*ret_orphan = (uint64_t)be32toh(chunk.number) * CHUNK_SIZE >= record.size;
	else if (rc == MDB_NOTFOUND)
		*ret_orphan = true;
	return rc == MDB_NOTFOUND || rc == EBADMSG ? 0 : rc;	/* a broken entry takes its chunks along when it goes */
}

/* ---- counters --------------------------------------------------------------------------------------------------------- */

static MDB_val counter_name(enum counter counter)
{
	static const char *const names[] = { "bytes", "hits", "misses", "evictions" };	/* in the order of enum counter */

	return (MDB_val){ strlen(names[counter]), (void *)names[counter] };
}

int counter_get(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t *ret_value)
{
	MDB_val name = counter_name(counter), value;
	int rc = mdb_get(txn, tables->state, &name, &value);

	if (rc && rc != MDB_NOTFOUND)
		return rc;
	uint64_t number = 0;
	if (!rc && value.mv_size == sizeof(number))
		memcpy(&number, value.mv_data, sizeof(number));
	*ret_value = number;
	return 0;
}

int counter_set(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t number)
{
	MDB_val name = counter_name(counter), value = { sizeof(number), &number };

	return mdb_put(txn, tables->state, &name, &value, 0);
}

int counter_add(MDB_txn *txn, const struct store_tables *tables, enum counter counter, uint64_t more)
{
	uint64_t number;

	if (!more)
		return 0;
	int rc = counter_get(txn, tables, counter, &number);
	return rc ? rc : counter_set(txn, tables, counter, number + more);
}
