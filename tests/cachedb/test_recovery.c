/* SPDX-License-Identifier: MIT */
/* Broken bytes. */
#include "tests/cachedb/common.h"

#include <lmdb.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <xxhash.h>

/* ---- broken bytes ----------------------------------------------------------------------------------------------------- */

/* Changes one byte of every place in data.mdb where `pattern` stands, `offset` bytes behind its begin; returns how many. */
static unsigned damage(const char *directory, const void *pattern, size_t size, size_t offset)
{
	char path[SCRATCH_SIZE + 16];
	unsigned n = 0;
	struct stat st;

	snprintf(path, sizeof(path), "%s/data.mdb", directory);
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	uint8_t *map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	for (uint8_t *at = map; (at = memmem(at, (size_t)(map + st.st_size - at), pattern, size)); at++, n++)
		at[offset] ^= 0x10;
	munmap(map, (size_t)st.st_size);
	return n;
}

static void expect_quarantine(const char *path, unsigned n, size_t size)
{
	struct cachedb *db = open_cache(path, 0);
	struct cachedb_statistics statistics;

	must_lack(db, n);
	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	assert_int_equal(statistics.corrupt, 1);
	assert_int_equal(statistics.misses, 1);
	must_lack(db, n);
	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	assert_int_equal(statistics.corrupt, 1);		/* it is gone, not found bad once more */
	put_value(db, n, size);
	must_have(db, n, size);
	cachedb_close(db);
	must_be_consistent(path);
}

static void test_broken_value_is_quarantined_and_can_be_built_again(void **state)
{
	const size_t size = 2500000;
	_cleanup_free_ uint8_t *data = value_of(5, size);
	const size_t places[] = { 0, 1, 1048560 - 24, 1048560, size - 30 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct cachedb *db = open_cache(*state, 0);
		put_value(db, 4, 1000);
		put_value(db, 5, size);
		cachedb_close(db);
		assert_true(damage(*state, data + places[i], 24, 0) >= 1);
		expect_quarantine(*state, 5, size);
		db = open_cache(*state, 0);
		must_have(db, 4, 1000);
		cachedb_close(db);
	}
}

static void test_broken_index_entry_is_quarantined(void **state)
{
	/* the fields of an entry stand behind the size and the digest: cost, times, tag, items, check */
	static const size_t places[] = { 0, 8, 16, 24, 32, 40, 48 };
	_cleanup_free_ uint8_t *data = value_of(6, 70000);
	XXH128_hash_t digest = XXH3_128bits(data, 70000);
	uint64_t pattern[2] = { digest.low64, digest.high64 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct cachedb *db = open_cache(*state, 0);
		put_value(db, 6, 70000);
		cachedb_close(db);
		assert_true(damage(*state, pattern, sizeof(pattern), places[i]) >= 1);
		expect_quarantine(*state, 6, 70000);
	}
}

static void test_check_finds_and_removes_every_bad_record(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_options options = { .directory = *state, .read_only = true };
	struct cachedb_check found;

	for (unsigned n = 0; n < 100; n++)
		put_value(db, n, 5000 + n);
	cachedb_close(db);
	for (unsigned n = 3; n < 100; n += 10) {
		_cleanup_free_ uint8_t *data = value_of(n, 5000 + n);
		assert_true(damage(*state, data + 200, 16, n % 16) >= 1);
	}
	assert_int_equal(cachedb_open(&options, &db, NULL), 0);
	for (unsigned round = 0; round < 2; round++) {		/* a reader counts and leaves all as it is */
		found = check_of(db);
		assert_int_equal(found.records, 100);
		assert_int_equal(found.bad, 10);
	}
	cachedb_close(db);
	db = open_cache(*state, 0);
	found = check_of(db);
	assert_int_equal(found.records, 100);
	assert_int_equal(found.bad, 10);
	found = check_of(db);
	assert_int_equal(found.records, 90);
	assert_int_equal(found.bad, 0);
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(has_value(db, n, 5000 + n), n % 10 != 3);
	cachedb_close(db);
	must_be_consistent(*state);
}

static void fill(const char *path)
{
	struct cachedb *db = open_cache(path, 0);

	for (unsigned n = 0; n < 30; n++)
		put_value(db, n, 40000);
	cachedb_close(db);
}

static void break_meta_pages(const char *path)
{
	uint8_t junk[8192];

	memset(junk, 0xa5, sizeof(junk));
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, junk, sizeof(junk), 0), sizeof(junk));
}

static void truncate_to_half(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size / 2), 0);
}

/* How many of the last pages of the file are free, in bytes: LMDB does not write those that a transaction took and gave back. */
static size_t free_at_the_end(const char *path)
{
	static bool is_free[1 << 16];
	MDB_val name, value;
	MDB_cursor *cursor;
	MDB_envinfo info;
	MDB_stat stat;
	MDB_env *env;
	MDB_txn *txn;
	size_t n, page, end;

	memset(is_free, 0, sizeof(is_free));
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_open(env, path, MDB_RDONLY, 0600), 0);
	assert_int_equal(mdb_env_info(env, &info), 0);
	assert_int_equal(mdb_env_stat(env, &stat), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
	assert_int_equal(mdb_cursor_open(txn, 0, &cursor), 0);
	while (mdb_cursor_get(cursor, &name, &value, MDB_NEXT) == 0) {
		memcpy(&n, value.mv_data, sizeof(n));
		for (size_t i = 1; i <= n; i++) {
			memcpy(&page, (uint8_t *)value.mv_data + i * sizeof(page), sizeof(page));
			is_free[page] = true;
		}
	}
	for (end = info.me_last_pgno + 1; is_free[end - 1]; end--)
		;
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	mdb_env_close(env);
	return (info.me_last_pgno + 1 - end) * stat.ms_psize;
}

static void shorten(const char *path, size_t bytes)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - (off_t)bytes), 0);
}

static void test_free_pages_that_are_missing_at_the_end_are_no_damage(void **state)
{
	char path[SCRATCH_SIZE + 16];
	uint64_t freed;

	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	fill(*state);
	struct cachedb *db = open_cache(*state, 0);
	for (unsigned n = 100; n < 110; n++) {		/* what is used moves to the front */
		assert_int_equal(cachedb_gc(db, 100000, &freed), 0);
		put_value(db, n, 3000);
	}
	cachedb_close(db);
	size_t missing = free_at_the_end(*state);
	assert_true(missing > 0);
	shorten(path, missing);
	db = open_cache(*state, 0);
	for (unsigned n = 105; n < 110; n++)
		must_have(db, n, 3000);
	for (unsigned n = 0; n < 30; n++)
		put_value(db, n, 40000);
	must_have(db, 109, 3000);
	cachedb_close(db);
	must_be_consistent(*state);

	shorten(path, free_at_the_end(*state) + 1);	/* one that is used */
	db = open_cache(*state, 0);
	must_lack(db, 109);
	cachedb_close(db);
}

static int hold_cache(void *userdata)
{
	int *pipes = userdata;
	char byte;

	/* only the lock counts, the database is not needed */
	struct cachedb *db = open_cache(getenv("HELD_CACHE"), 0);
	if (write(pipes[1], "x", 1) != 1 || read(pipes[2], &byte, 1) < 0)
		return 1;
	cachedb_close(db);
	return 0;
}

static void test_database_beyond_repair_is_begun_anew(void **state)
{
	void (*const breaks[])(const char *) = { break_meta_pages, truncate_to_half };
	char path[SCRATCH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		fill(*state);
		breaks[i](path);
		struct cachedb *db = open_cache(*state, 0);
		must_lack(db, 1);
		put_value(db, 1, 5000);
		must_have(db, 1, 5000);
		cachedb_close(db);
		must_be_consistent(*state);
	}
}

static void test_damaged_database_in_use_is_left_alone(void **state)
{
	struct cachedb_options options = { .directory = *state };
	struct cachedb *db = NULL;
	struct error error = { 0 };
	char path[SCRATCH_SIZE + 16], byte;
	int up[2], down[2], status;

	fill(*state);
	setenv("HELD_CACHE", *state, 1);
	assert_true(!pipe(up) && !pipe(down));
	pid_t pid = fork_child();
	if (!pid)
		_exit(hold_cache((int[]){ -1, up[1], down[0] }));
	assert_int_equal(read(up[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	break_meta_pages(path);
	assert_int_equal(cachedb_open(&options, &db, &error), -EIO);
	assert_null(db);
	assert_non_null(strstr(error.text, "another process uses it"));
	assert_int_equal(access(path, F_OK), 0);

	assert_int_equal(write(down[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	db = open_cache(*state, 0);
	must_lack(db, 1);
	cachedb_close(db);
	for (int i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
}

static void test_mark_of_damage_is_heeded_at_the_next_open(void **state)
{
	char path[SCRATCH_SIZE + 16];

	fill(*state);
	snprintf(path, sizeof(path), "%s/damaged", (const char *)*state);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	struct cachedb *db = open_cache(*state, 0);
	must_lack(db, 1);
	assert_int_equal(access(path, F_OK), -1);
	cachedb_close(db);
}

/* Takes the flags off all leaf pages: LMDB then finds pages that are neither branch nor leaf. */
static void break_leaves(const char *path)
{
	struct stat st;

	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t page = 2 * 4096; page < st.st_size; page += 4096) {
		uint16_t flags;
		assert_int_equal(pread(fd, &flags, sizeof(flags), page + 10), sizeof(flags));
		if (flags == 2)
			assert_int_equal(pwrite(fd, &(uint16_t){ 0 }, sizeof(flags), page + 10), sizeof(flags));
	}
}

static void test_damage_that_is_met_at_work_is_eio_and_heals_at_the_next_open(void **state)
{
	struct cachedb_key key = key_of(1);
	struct cachedb_info info;
	struct error error = { 0 };
	char path[SCRATCH_SIZE + 16];

	fill(*state);
	struct cachedb *db = open_cache(*state, 0);
	must_have(db, 1, 40000);
	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	break_leaves(path);
	assert_int_equal(cachedb_stat(db, &key, &info), -EIO);
	assert_int_equal(cachedb_put(db, &key, (const uint8_t *)"x", 1, NULL, &error), -EIO);
	assert_non_null(strstr(error.text, *state));
	cachedb_close(db);
	db = open_cache(*state, 0);
	must_lack(db, 1);
	put_value(db, 1, 40000);
	must_have(db, 1, 40000);
	cachedb_close(db);
	must_be_consistent(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_broken_value_is_quarantined_and_can_be_built_again),
		TEST(test_broken_index_entry_is_quarantined),
		TEST(test_check_finds_and_removes_every_bad_record),
		TEST(test_free_pages_that_are_missing_at_the_end_are_no_damage),
		TEST(test_database_beyond_repair_is_begun_anew),
		TEST(test_damaged_database_in_use_is_left_alone),
		TEST(test_mark_of_damage_is_heeded_at_the_next_open),
		TEST(test_damage_that_is_met_at_work_is_eio_and_heals_at_the_next_open),
	};

	return cmocka_run_group_tests_name("cachedb-recovery", tests, NULL, NULL);
}
