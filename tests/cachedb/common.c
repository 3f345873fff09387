/* SPDX-License-Identifier: MIT */
#include "tests/cachedb/common.h"

#include <lmdb.h>
#include <sys/wait.h>

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct cachedb_key key_of(unsigned n)
{
	struct cachedb_key key;
	uint64_t state = 0x9e3779b97f4a7c15u + n;

	for (size_t i = 0; i < sizeof(key.bytes); i++)
		key.bytes[i] = (uint8_t)(next_random(&state) >> 32);
	return key;
}

uint8_t *value_of(unsigned n, size_t size)
{
	uint64_t state = 0xd1b54a32d192ed03u * (n + 1);
	uint8_t *data = malloc(round_up(MAX(size, 1u), 8));

	assert_non_null(data);
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = next_random(&state);
		memcpy(data + i, &word, 8);
	}
	return data;
}

struct cachedb *open_cache(const char *path, uint64_t max_bytes)
{
	struct cachedb_options options = { .directory = path, .max_bytes = max_bytes };
	struct cachedb *db = NULL;
	struct error error = { 0 };
	int r = cachedb_open(&options, &db, &error);

	if (r < 0)
		fail_msg("cachedb_open: %d: %s", r, error.text);
	return db;
}

void put_value(struct cachedb *db, unsigned n, size_t size)
{
	_cleanup_free_ uint8_t *data = value_of(n, size);
	struct cachedb_key key = key_of(n);
	struct cachedb_info attributes = { .cost_us = n, .tag = n + 1, .items = n + 2 };
	struct error error = { 0 };
	int r = cachedb_put(db, &key, data, size, &attributes, &error);

	if (r < 0)
		fail_msg("cachedb_put: %d: %s", r, error.text);
}

bool has_value(struct cachedb *db, unsigned n, size_t size)
{
	_cleanup_free_ uint8_t *data = NULL, *right = value_of(n, size);
	struct cachedb_key key = key_of(n);
	struct cachedb_info info;
	int r = cachedb_get(db, &key, &info, &data);

	if (r == -ENOENT)
		return false;
	assert_int_equal(r, 0);
	assert_int_equal(info.size, size);
	assert_memory_equal(data, right, size);
	return true;
}

void must_have(struct cachedb *db, unsigned n, size_t size)
{
	if (!has_value(db, n, size))
		fail_msg("value %u is missing", n);
}

void must_lack(struct cachedb *db, unsigned n)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct cachedb_key key = key_of(n);
	struct cachedb_info info;

	assert_int_equal(cachedb_get(db, &key, &info, &data), -ENOENT);
}

static void tell_nobody(void *userdata, const char *finding)
{
}

struct cachedb_check check_of(struct cachedb *db)
{
	struct cachedb_check found;
	struct error error = { 0 };

	if (cachedb_check(db, tell_nobody, NULL, &found, &error) < 0)
		fail_msg("cachedb_check: %s", error.text);
	return found;
}

/* Sizes of all chunks of one key; the index is right when the first 8 bytes of its record say the same. */
static uint64_t sum_chunks(MDB_txn *txn, MDB_dbi values, const MDB_val *key)
{
	uint8_t chunk[36] = { 0 };
	MDB_val name = { sizeof(chunk), chunk }, value;
	MDB_cursor *cursor;
	uint64_t sum = 0;

	memcpy(chunk, key->mv_data, 32);
	assert_int_equal(mdb_cursor_open(txn, values, &cursor), 0);
	int rc = mdb_cursor_get(cursor, &name, &value, MDB_SET_RANGE);
	while (!rc && !memcmp(name.mv_data, key->mv_data, 32)) {
		sum += value.mv_size;
		rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	return sum;
}

static uint64_t sum_all(MDB_txn *txn, MDB_dbi table)
{
	MDB_val name, value;
	MDB_cursor *cursor;
	uint64_t sum = 0;

	assert_int_equal(mdb_cursor_open(txn, table, &cursor), 0);
	while (!mdb_cursor_get(cursor, &name, &value, MDB_NEXT))
		sum += value.mv_size;
	mdb_cursor_close(cursor);
	return sum;
}

static void check_index(MDB_txn *txn, MDB_dbi index, MDB_dbi values, uint64_t stored_sum)
{
	MDB_val name, value;
	MDB_cursor *cursor;
	uint64_t size, sum = 0;

	assert_int_equal(mdb_cursor_open(txn, index, &cursor), 0);
	while (!mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) {
		memcpy(&size, value.mv_data, sizeof(size));
		assert_int_equal(sum_chunks(txn, values, &name), size);
		sum += size;
	}
	mdb_cursor_close(cursor);
	assert_int_equal(sum, stored_sum);
	assert_int_equal(sum, sum_all(txn, values));	/* no chunk without an index entry */
}

void must_be_consistent(const char *path)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi state, index, values;
	MDB_val name = { 5, "bytes" }, value;
	uint64_t stored_sum = 0;

	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_maxdbs(env, 3), 0);
	assert_int_equal(mdb_env_open(env, path, MDB_RDONLY, 0), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, "state", 0, &state), 0);
	assert_int_equal(mdb_dbi_open(txn, "index", 0, &index), 0);
	assert_int_equal(mdb_dbi_open(txn, "values", 0, &values), 0);
	if (!mdb_get(txn, state, &name, &value))
		memcpy(&stored_sum, value.mv_data, sizeof(stored_sum));
	check_index(txn, index, values, stored_sum);
	mdb_txn_abort(txn);
	mdb_env_close(env);
}

pid_t fork_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		setenv("CMOCKA_TEST_ABORT", "1", 1);
	return pid;
}

int in_child(int (*function)(void *userdata), void *userdata)
{
	int status;
	pid_t pid = fork_child();

	if (!pid)
		_exit(function(userdata));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
