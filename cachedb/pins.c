/* SPDX-License-Identifier: MIT */
#include "cachedb/pins.h"

#include <xxhash.h>

/* Longer than the names of the counters in the same table, which is how one knows it. Labels can be longer than a key of LMDB's. */
struct pin_name {
	struct cachedb_key key;
	uint64_t label[2];		/* its digest */
};

static struct pin_name name_of(const struct cachedb_pin *pin)
{
	XXH128_hash_t digest = XXH3_128bits(pin->label, strlen(pin->label));

	return (struct pin_name){ .key = pin->key, .label = { digest.low64, digest.high64 } };
}

int pin_set(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_pin *pin)
{
	struct pin_name pin_name = name_of(pin);
	MDB_val name = { sizeof(pin_name), &pin_name }, value = { strlen(pin->label), (void *)pin->label };

	return mdb_put(txn, tables->state, &name, &value, 0);
}

int pin_clear(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_pin *pin)
{
	struct pin_name pin_name = name_of(pin);
	MDB_val name = { sizeof(pin_name), &pin_name };
	int rc = mdb_del(txn, tables->state, &name, NULL);

	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* From the first pin at or behind `name`, which is moved along. */
static int walk(MDB_txn *txn, const struct store_tables *tables, MDB_val *name, pin_callback callback, void *userdata)
{
	MDB_val value;
	MDB_cursor *cursor;
	int rc = mdb_cursor_open(txn, tables->state, &cursor);

	if (rc)
		return rc;
	for (rc = mdb_cursor_get(cursor, name, &value, MDB_SET_RANGE); !rc; rc = mdb_cursor_get(cursor, name, &value, MDB_NEXT)) {
		struct cachedb_key key;
		if (name->mv_size != sizeof(struct pin_name))
			continue;
		memcpy(&key, name->mv_data, sizeof(key));
		rc = callback(userdata, &key, value.mv_data, value.mv_size);
		if (rc)
			break;
	}
	mdb_cursor_close(cursor);
	return rc == MDB_NOTFOUND ? 0 : rc;
}

int pin_foreach(MDB_txn *txn, const struct store_tables *tables, pin_callback callback, void *userdata)
{
	struct pin_name first = { 0 };
	MDB_val name = { sizeof(first), &first };

	return walk(txn, tables, &name, callback, userdata);
}

struct search {
	const struct cachedb_key *key;
	bool found;
};

enum { STOP = -1 };			/* no code of LMDB's */

static int compare_first(void *userdata, const struct cachedb_key *key, const char *label, size_t length)
{
	struct search *search = userdata;

	search->found = !memcmp(key, search->key, sizeof(*key));
	return STOP;
}

int pin_exists(MDB_txn *txn, const struct store_tables *tables, const struct cachedb_key *key, bool *ret_exists)
{
	struct pin_name first = { .key = *key };
	struct search search = { .key = key };
	MDB_val name = { sizeof(first), &first };
	int rc = walk(txn, tables, &name, compare_first, &search);

	if (rc && rc != STOP)
		return rc;
	*ret_exists = search.found;
	return 0;
}
