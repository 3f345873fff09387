/* SPDX-License-Identifier: MIT */
/* Caches that cannot be used, or not in full: the program says so once and makes the right bytes all the same. */
#include "tests/common/child.h"
#include "tests/fs/common.h"

#include <lmdb.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* The build must succeed with the right bytes and say one line, with these words. */
static void must_build_with_one_warning(void **state, const char *options, const char *logic, const char *reference, const char *words)
{
	must_be_equal(reference, build(state, logic, options));
	must_complain_once(state, words);
}

/* A tmpfs on scratch/disk, also in children, until the function ends. False: not allowed. */
static bool mount_disk(void **state, const char *size)
{
	char options[64];

	mkdir(in_scratch(state, "disk"), 0700);
	snprintf(options, sizeof(options), "size=%s,mode=0700", size);
	return mount("none", in_scratch(state, "disk"), "tmpfs", 0, options) == 0;
}

static void unmount_disk(void **state)
{
	assert_int_equal(umount2(in_scratch(state, "disk"), MNT_DETACH), 0);
}

static void test_disks_that_are_full_cost_one_warning(void **state)
{
	const char *logic = copy_logic(state, "logic", 4), *reference = build(state, logic, "--no-cache");
	char options[256];

	snprintf(options, sizeof(options), "--cache '%s' --cache-min-free 99%%", in_scratch(state, "cache"));
	must_build_with_one_warning(state, options, logic, reference, "of its file system have to stay free");
	if (!mount_disk(state, "200k"))
		skip();
	snprintf(options, sizeof(options), "--cache '%s' --cache-min-free 0", in_scratch(state, "disk/cache"));
	must_build_with_one_warning(state, options, logic, reference, "No space left on device");
	unmount_disk(state);
	assert_true(mount_disk(state, "16k"));		/* not even an empty one fits */
	must_build_with_one_warning(state, options, logic, reference, "going on without a cache on disk");
	unmount_disk(state);
}

static void test_a_disk_that_cannot_be_written_is_read(void **state)
{
	const char *logic = copy_logic(state, "logic", 3), *reference = build(state, logic, "--no-cache");
	char options[256];

	if (!mount_disk(state, "20m"))
		skip();
	snprintf(options, sizeof(options), "--cache '%s'", in_scratch(state, "disk/cache"));
	build(state, logic, options);
	assert_int_equal(mount("none", in_scratch(state, "disk"), NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	must_build_with_one_warning(state, options, logic, reference, "it is only read");
	assert_int_equal(run(state, "cache check %s", options), 0);
	snprintf(options, sizeof(options), "--cache '%s'", in_scratch(state, "disk/other"));
	must_build_with_one_warning(state, options, logic, reference, "Read-only file system; going on without a cache on disk");
	unmount_disk(state);
}

static void test_caches_that_may_not_be_used_cost_one_warning(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *reference = build(state, logic, "--no-cache");
	const char *options = with_cache(state, ""), *cache_folder = in_scratch(state, "cache");

	build(state, logic, options);
	assert_int_equal(chmod(cache_folder, 0777), 0);
	must_build_with_one_warning(state, options, logic, reference, "can be written by others");
	assert_int_equal(chmod(cache_folder, 0700), 0);
	write_text(in_scratch(state, "cache/format"), "cachedb 99\n");
	must_build_with_one_warning(state, options, logic, reference, "has format 'cachedb 99'");
	write_text(in_scratch(state, "cache/format"), "cachedb 1\n");
	build(state, logic, options);				/* it was left alone */
	assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "err")), 0);
}

/* As another user, whom permissions hold back. */
static void build_as_user(void **state, const char *logic, const char *reference, const char *words)
{
	const char *out = in_scratch(state, "open/out");

	assert_int_equal(shell("rm -rf '%s' && cd / && setpriv --reuid 12345 --regid 12345 --clear-groups '%s' build --linker '%s' --cache '%s' '%s' '%s' "
			       ">'%s' 2>'%s'", out, in_scratch(state, "open/tensilefs"), real_linker(), in_scratch(state, "open/cache"), logic, out,
			       in_scratch(state, "out"), in_scratch(state, "err")), 0);
	must_be_equal(reference, out);
	if (words)
		must_complain_once(state, words);
	else
		assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "err")), 0);
}

static void test_permissions_that_are_missing_cost_one_warning(void **state)
{
	if (geteuid() != 0 || shell("setpriv --version >/dev/null") != 0)
		skip();
	const char *logic = copy_logic(state, "logic", 2), *reference = build(state, logic, "--no-cache");
	const char *folder = in_scratch(state, "open/cache");
	assert_int_equal(shell("chmod 755 '%s' && cd '%s' && mkdir open open/cache && cp '%s' open/tensilefs && chown -R 12345:12345 open && "
			       "chmod -R a+rX logic", (char *)*state, (char *)*state, tensilefs()), 0);

	build_as_user(state, logic, reference, NULL);
	assert_int_equal(chmod(folder, 0), 0);
	build_as_user(state, logic, reference, "Permission denied; going on without a cache on disk");
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(shell("chmod 400 '%s'/*", folder), 0);
	build_as_user(state, logic, reference, "Permission denied; going on without a cache on disk");
	assert_int_equal(shell("rm '%s'/* && chmod 500 '%s'", folder, folder), 0);
	build_as_user(state, logic, reference, "Permission denied; going on without a cache on disk");
	assert_int_equal(shell("chown 0:0 '%s' && chmod 755 '%s'", folder, folder), 0);
	build_as_user(state, logic, reference, "belongs to user 0, not to user 12345");
}

/* All reader slots that there are: who makes the lock file says how many. */
static bool hold_readers(void *cache)
{
	MDB_env *env;
	MDB_txn *txn;

	return !mdb_env_create(&env) && !mdb_env_set_maxreaders(env, 1) && !mdb_env_set_mapsize(env, 1 << 26) &&
	       !mdb_env_open(env, cache, MDB_NOTLS, 0600) && !mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
}

static void test_readers_without_a_slot_cost_one_warning(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *reference = build(state, logic, "--no-cache");

	build(state, logic, with_cache(state, ""));
	assert_int_equal(unlink(in_scratch(state, "cache/lock.mdb")), 0);
	pid_t holder = child_hold(hold_readers, (void *)in_scratch(state, "cache"));
	must_build_with_one_warning(state, with_cache(state, ""), logic, reference, "cannot read cache");
	child_end(holder);
	build(state, logic, with_cache(state, ""));
	assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "err")), 0);
}

static void test_address_space_that_is_missing_costs_one_warning(void **state)
{
#if defined(__SANITIZE_ADDRESS__)
	skip();				/* it reserves terabytes */
#endif
	const char *logic = copy_logic(state, "logic", 0), *reference = build(state, logic, "--no-cache"), *out = in_scratch(state, "out-of-space");

	/* A file of 6 GiB, of which hardly anything is on disk. */
	build(state, logic, with_cache(state, ""));
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;
	MDB_val keys[] = { { 1, "x" }, { 1, "y" } }, value = { (size_t)3 << 30, NULL };
	assert_int_equal(mdb_env_create(&env), 0);
	assert_int_equal(mdb_env_set_mapsize(env, (size_t)9 << 30), 0);
	assert_int_equal(mdb_env_open(env, in_scratch(state, "cache"), MDB_WRITEMAP | MDB_NOSYNC, 0600), 0);
	assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
	assert_int_equal(mdb_dbi_open(txn, NULL, 0, &table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(mdb_put(txn, table, &keys[i], &value, MDB_RESERVE), 0);
	assert_int_equal(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
	assert_int_equal(shell("ulimit -v 4000000; '%s' build -j 2 --linker '%s' %s '%s' '%s' 2>'%s'", tensilefs(), real_linker(), with_cache(state, ""),
			       logic, out, in_scratch(state, "err")), 0);
	must_complain_once(state, "Cannot allocate memory; going on without a cache on disk");
	must_be_equal(reference, out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_disks_that_are_full_cost_one_warning),
		TEST(test_a_disk_that_cannot_be_written_is_read),
		TEST(test_caches_that_may_not_be_used_cost_one_warning),
		TEST(test_permissions_that_are_missing_cost_one_warning),
		TEST(test_readers_without_a_slot_cost_one_warning),
		TEST(test_address_space_that_is_missing_costs_one_warning),
	};
	return cmocka_run_group_tests_name("bad_cache", tests, NULL, NULL);
}
