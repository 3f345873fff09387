/* SPDX-License-Identifier: MIT */
/* No room: on the file system, in the file, in the address space. */
#include "tests/cachedb/common.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Puts values until one fails, and checks that the failure has words, and that what was there before still is. */
static void fill_until_full(struct cachedb *db, size_t size)
{
	struct error error = { 0 };
	struct cachedb_statistics statistics;
	unsigned n;
	int r = 0;

	for (n = 0; n < 1000; n++) {
		_cleanup_free_ uint8_t *data = value_of(n, size);
		struct cachedb_key key = key_of(n);
		r = cachedb_put(db, &key, data, size, NULL, &error);
		if (r < 0)
			break;
	}
	assert_int_equal(r, -ENOSPC);
	assert_true(n > 3);
	assert_non_null(strstr(error.text, "No space left on device"));
	must_lack(db, n);
	for (unsigned i = 0; i < n; i++)
		must_have(db, i, size);
	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	assert_int_equal(statistics.entries, n);
	assert_int_equal(statistics.put_failures, 1);

	/* Room that is freed is used again: the database still works. */
	for (unsigned i = 0; i < 3; i++) {
		struct cachedb_key key = key_of(i);
		assert_int_equal(cachedb_delete(db, &key), 0);
	}
	put_value(db, n, size / 2);
	must_have(db, n, size / 2);
}

static void test_put_beyond_the_file_size_limit_is_enospc(void **state)
{
	struct rlimit before, limit;
	struct cachedb *db = open_cache(*state, 0);

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 6 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill_until_full(db, 700000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	put_value(db, 500, 3000000);		/* and grows on when it may */
	must_have(db, 500, 3000000);
	cachedb_close(db);
	must_be_consistent(*state);
}

#define NOT_ALLOWED 77

/* In a child with a mount namespace of its own. */
static int fill_small_disk(void *userdata)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", userdata, "tmpfs", 0, "size=8m,mode=0700") < 0)
		return NOT_ALLOWED;
	struct cachedb *db = open_cache(userdata, 0);
	fill_until_full(db, 600000);
	cachedb_close(db);
	must_be_consistent(userdata);
	return 0;
}

/* Disks of a few pages: too small even for the files of an empty cache, or just not. */
static int open_on_tiny_disks(void *userdata)
{
	struct cachedb_options options = { .directory = userdata };

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return NOT_ALLOWED;
	for (unsigned pages = 1; pages <= 26; pages++) {
		char size[64];
		struct error error = { 0 };
		struct cachedb *db;
		snprintf(size, sizeof(size), "size=%uk,mode=0700", 4 * pages);
		if (mount("tmpfs", userdata, "tmpfs", 0, size) < 0)
			return NOT_ALLOWED;
		int r = cachedb_open(&options, &db, &error);
		if (r == 0)
			cachedb_close(db);
		else if (r != -ENOSPC || !error.text[0] || pages == 26)
			return 1;
		if (umount2(userdata, MNT_DETACH) < 0)
			return 2;
	}
	return 0;
}

static void test_a_disk_too_small_for_an_empty_cache_is_enospc(void **state)
{
	int status = in_child(open_on_tiny_disks, *state);

	if (status == NOT_ALLOWED)
		skip();			/* needs the right to mount */
	assert_int_equal(status, 0);
}

static void test_put_on_a_full_disk_is_enospc(void **state)
{
	int status = in_child(fill_small_disk, *state);

	if (status == NOT_ALLOWED)
		skip();			/* needs the right to mount */
	assert_int_equal(status, 0);
}

static void test_cache_with_a_limit_lives_on_a_disk_that_is_hardly_larger(void **state)
{
	struct rlimit before, limit;
	struct cachedb *db = open_cache(*state, 4 << 20);

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 8 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned n = 0; n < 40; n++)
		put_value(db, n, 600000);
	must_have(db, 39, 600000);
	cachedb_close(db);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	must_be_consistent(*state);
}

static int put_without_address_space(void *userdata)
{
	struct cachedb *db = open_cache(userdata, 0);
	_cleanup_free_ uint8_t *data = value_of(1, 100 << 20);
	struct rlimit limit = { 0 };
	struct cachedb_key key = key_of(1);
	struct error error = { 0 };

	put_value(db, 2, 1000);
	limit.rlim_cur = limit.rlim_max = 128 << 20;
	if (setrlimit(RLIMIT_AS, &limit) < 0)
		return 1;
	if (cachedb_put(db, &key, data, 100 << 20, NULL, &error) != -ENOMEM || !error.text[0])
		return 2;
	if (!has_value(db, 2, 1000))		/* with the map that it had */
		return 3;
	put_value(db, 3, 1000);
	cachedb_close(db);
	return 0;
}

static void test_map_that_cannot_grow_is_enomem_and_loses_nothing(void **state)
{
	/* sanitizers reserve terabytes of address space */
	if (in_child(put_without_address_space, *state) != 0) {
#if defined(__SANITIZE_ADDRESS__)
		skip();
#else
		fail_msg("a map that cannot grow was not reported");
#endif
	}
	struct cachedb *db = open_cache(*state, 0);
	must_have(db, 2, 1000);
	must_have(db, 3, 1000);
	must_lack(db, 1);
	cachedb_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_put_beyond_the_file_size_limit_is_enospc),
		TEST(test_a_disk_too_small_for_an_empty_cache_is_enospc),
		TEST(test_put_on_a_full_disk_is_enospc),
		TEST(test_cache_with_a_limit_lives_on_a_disk_that_is_hardly_larger),
		TEST(test_map_that_cannot_grow_is_enomem_and_loses_nothing),
	};

	return cmocka_run_group_tests_name("cachedb-space", tests, NULL, NULL);
}
