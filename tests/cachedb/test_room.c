/* SPDX-License-Identifier: MIT */
/* What stays and what goes: pins, free space of the file system, and giving space back. */
#include "tests/cachedb/common.h"
#include "tests/common/child.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

static struct cachedb_statistics statistics_of(struct cachedb *db)
{
	struct cachedb_statistics statistics;

	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	return statistics;
}

static void pin(struct cachedb *db, unsigned n, const char *label)
{
	assert_int_equal(cachedb_pin(db, &(struct cachedb_pin){ key_of(n), label }, 1, NULL), 0);
}

static void unpin(struct cachedb *db, unsigned n, const char *label)
{
	assert_int_equal(cachedb_unpin(db, &(struct cachedb_pin){ key_of(n), label }, 1, NULL), 0);
}

static uint64_t collect(struct cachedb *db, uint64_t max_bytes)
{
	uint64_t freed;

	assert_int_equal(cachedb_gc(db, max_bytes, &freed), 0);
	return freed;
}

/* -ENOSPC with these words. */
static void must_be_refused(struct cachedb *db, unsigned n, size_t size, const char *words)
{
	_cleanup_free_ uint8_t *data = value_of(n, size);
	struct cachedb_key key = key_of(n);
	struct error error = { 0 };

	assert_int_equal(cachedb_put(db, &key, data, size, NULL, &error), -ENOSPC);
	if (!strstr(error.text, words))
		fail_msg("'%s' does not say '%s'", error.text, words);
}

/* ---- pins ------------------------------------------------------------------------------------------------------------- */

static void test_what_is_pinned_is_not_evicted(void **state)
{
	struct cachedb *db = open_cache(*state, 10000);

	put_value(db, 0, 1000);
	pin(db, 0, "a file");
	pin(db, 1, "a file that is stored later");
	put_value(db, 1, 1000);
	for (unsigned n = 2; n < 30; n++)
		put_value(db, n, 1000);
	must_have(db, 0, 1000);
	must_have(db, 1, 1000);
	must_have(db, 29, 1000);
	must_lack(db, 10);
	cachedb_close(db);

	db = open_cache(*state, 10000);		/* pins are not the process's */
	assert_int_equal(collect(db, 0), 8000);
	must_have(db, 0, 1000);
	must_have(db, 1, 1000);
	unpin(db, 0, "a file");
	assert_int_equal(collect(db, 0), 1000);
	must_lack(db, 0);
	must_have(db, 1, 1000);
	assert_int_equal(statistics_of(db).all_evictions, 29);
	cachedb_close(db);
	must_be_consistent(*state);
}

static void test_a_pin_stays_until_its_last_label_goes(void **state)
{
	struct cachedb *db = open_cache(*state, 0);

	put_value(db, 5, 1000);
	pin(db, 5, "release 1");
	pin(db, 5, "release 2");
	pin(db, 5, "release 2");
	assert_int_equal(statistics_of(db).pins, 2);
	assert_int_equal(statistics_of(db).pinned_entries, 1);
	assert_int_equal(statistics_of(db).pinned_bytes, 1000);
	unpin(db, 5, "release 1");
	unpin(db, 5, "release 3");		/* was none */
	assert_int_equal(collect(db, 0), 0);
	unpin(db, 5, "release 2");
	assert_int_equal(collect(db, 0), 1000);
	cachedb_close(db);
}

static void test_pins_that_fill_the_limit_refuse_new_values_and_lose_nothing(void **state)
{
	struct cachedb *db = open_cache(*state, 10000);

	for (unsigned n = 0; n < 9; n++) {
		put_value(db, n, 1000);
		pin(db, n, "");
	}
	put_value(db, 20, 1000);
	must_be_refused(db, 21, 1001, "pinned files leave no room below its limit of 10000");
	must_have(db, 20, 1000);		/* it would not have been enough */
	put_value(db, 22, 1000);
	must_lack(db, 20);
	for (unsigned n = 0; n < 9; n++)
		must_have(db, n, 1000);
	cachedb_close(db);
}

static int note_pin(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info)
{
	char *seen = userdata;

	sprintf(seen + strlen(seen), "%s:%d ", pin->label, info ? (int)info->size : -1);
	return 0;
}

static void test_pins_can_be_listed_and_outlive_their_values(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	char seen[256] = "", long_label[2000];

	memset(long_label, 'x', sizeof(long_label) - 1);
	long_label[sizeof(long_label) - 1] = 0;
	pin(db, 1, long_label);			/* longer than a key of LMDB's */
	unpin(db, 1, long_label);
	put_value(db, 7, 500);
	pin(db, 7, "seven");
	assert_int_equal(cachedb_foreach_pin(db, note_pin, seen), 0);
	assert_string_equal(seen, "seven:500 ");
	assert_int_equal(cachedb_clear(db), 0);
	seen[0] = 0;
	assert_int_equal(cachedb_foreach_pin(db, note_pin, seen), 0);
	assert_string_equal(seen, "seven:-1 ");
	put_value(db, 7, 500);
	assert_int_equal(collect(db, 0), 0);
	cachedb_close(db);
}

static void test_what_is_read_elsewhere_can_be_kept_young(void **state)
{
	struct cachedb *db = open_cache(*state, 3000);
	struct cachedb_key key = key_of(0);

	for (unsigned n = 0; n < 3; n++)
		put_value(db, n, 1000);
	cachedb_touch(db, &key);
	put_value(db, 3, 1000);
	must_have(db, 0, 1000);
	must_lack(db, 1);
	cachedb_close(db);
}

static void test_lookups_are_counted_over_all_processes(void **state)
{
	for (unsigned round = 0; round < 3; round++) {
		struct cachedb *db = open_cache(*state, 0);
		put_value(db, 1, 1000);
		must_have(db, 1, 1000);
		must_have(db, 1, 1000);
		must_lack(db, 2);
		cachedb_close(db);
	}
	struct cachedb *db = open_cache(*state, 0);
	assert_int_equal(statistics_of(db).all_hits, 6);
	assert_int_equal(statistics_of(db).all_misses, 3);
	assert_int_equal(statistics_of(db).hits, 0);
	cachedb_close(db);
}

/* ---- the file system -------------------------------------------------------------------------------------------------- */

#define MIB ((uint64_t)1 << 20)

static struct cachedb *open_with_min_free(const char *path, unsigned percent, uint64_t bytes)
{
	struct cachedb_options options = { .directory = path, .min_free = { percent, bytes } };
	struct cachedb *db = NULL;

	assert_int_equal(cachedb_open(&options, &db, NULL), 0);
	return db;
}

static uint64_t free_of(const char *path)
{
	struct statvfs system;

	assert_int_equal(statvfs(path, &system), 0);
	return (uint64_t)system.f_bavail * system.f_frsize;
}

static void occupy(const char *directory, const char *name, uint64_t bytes)
{
	char path[SCRATCH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
}

static void release(const char *directory, const char *name)
{
	char path[SCRATCH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(unlink(path), 0);
}

static int fill_up_to_min_free(const char *path)
{
	struct cachedb *db = open_with_min_free(path, 25, 1000 * MIB);

	for (unsigned n = 0; n < 100; n++) {
		put_value(db, n, n % 3 ? 700000 : 20000);
		must_have(db, n, n % 3 ? 700000 : 20000);
		assert_true(free_of(path) > 7 * MIB);		/* of 32; what a commit writes beside values is only guessed */
	}
	must_lack(db, 1);
	assert_true(statistics_of(db).bytes > 12 * MIB);
	assert_true(statistics_of(db).evictions > 10);
	assert_int_equal(statistics_of(db).system_keep, 8 * MIB);
	cachedb_close(db);
	must_be_consistent(path);
	return 0;
}

static int go_on_when_others_fill_the_disk(const char *path)
{
	struct cachedb *db = open_with_min_free(path, 100, 8 * MIB);

	for (unsigned n = 0; n < 16; n++)
		put_value(db, n, 600000);
	uint64_t before = statistics_of(db).file_bytes;
	occupy(path, "others", free_of(path) - 2 * MIB);
	for (unsigned n = 100; n < 140; n++) {		/* larger, smaller and much smaller than what goes for them */
		size_t size = n % 4 == 0 ? 1500000 : n % 4 == 1 ? 3000 : 500000;
		put_value(db, n, size);
		must_have(db, n, size);
	}
	assert_true(statistics_of(db).file_bytes <= before + MIB);
	must_be_refused(db, 200, 20 * MIB, "8 MiB of its file system have to stay free");
	must_have(db, 139, 500000);			/* nothing was evicted for what cannot be had */
	release(path, "others");
	for (unsigned n = 300; n < 306; n++)
		put_value(db, n, 1000000);
	assert_true(statistics_of(db).file_bytes > before + 2 * MIB);	/* and grows on when it may */
	cachedb_close(db);
	must_be_consistent(path);
	return 0;
}

static int refuse_on_a_disk_that_is_full_already(const char *path)
{
	struct cachedb *db = open_with_min_free(path, 100, 8 * MIB);

	occupy(path, "others", free_of(path) - 5 * MIB);
	must_be_refused(db, 1, 100000, "8 MiB of its file system have to stay free, 5 MiB are");
	must_lack(db, 1);
	cachedb_close(db);
	return 0;
}

static int compact_for_others(const char *path)
{
	struct cachedb *db = open_with_min_free(path, 100, 8 * MIB);
	uint64_t freed;

	for (unsigned n = 0; n < 10; n++)
		put_value(db, n, 1000000);
	occupy(path, "others", free_of(path) - 4 * MIB);
	assert_int_equal(cachedb_compact(db, &freed, NULL), -ENOSPC);	/* the new file has no room beside the old one */
	must_have(db, 0, 1000000);
	release(path, "others");
	occupy(path, "others", free_of(path) - 11 * MIB);
	assert_int_equal(cachedb_compact(db, &freed, NULL), 0);
	occupy(path, "more", 7 * MIB);
	collect(db, 3000000);
	assert_int_equal(cachedb_compact(db, &freed, NULL), 0);
	assert_true(freed > 6 * MIB && free_of(path) >= 8 * MIB);
	must_have(db, 9, 1000000);
	cachedb_close(db);
	must_be_consistent(path);
	return 0;
}

#define NOT_ALLOWED 77

struct on_disk {
	const char *path;
	int (*function)(const char *path);
};

/* In a child with a mount namespace of its own. */
static int with_disk(void *userdata)
{
	const struct on_disk *disk = userdata;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", disk->path, "tmpfs", 0, "size=32m,mode=0700") < 0)
		return NOT_ALLOWED;
	return disk->function(disk->path);
}

static void on_small_disk(void **state, int (*function)(const char *path))
{
	int status = in_child(with_disk, &(struct on_disk){ *state, function });

	if (status == NOT_ALLOWED)
		skip();			/* needs the right to mount */
	assert_int_equal(status, 0);
}

static void test_file_leaves_free_what_it_has_to(void **state)
{
	on_small_disk(state, fill_up_to_min_free);
}

static void test_full_disk_makes_new_values_take_the_place_of_old_ones(void **state)
{
	on_small_disk(state, go_on_when_others_fill_the_disk);
}

static void test_disk_that_is_too_full_from_the_start_is_said(void **state)
{
	on_small_disk(state, refuse_on_a_disk_that_is_full_already);
}

static void test_compaction_needs_room_and_gives_it_back(void **state)
{
	on_small_disk(state, compact_for_others);
}

/* ---- compaction ------------------------------------------------------------------------------------------------------- */

static void test_compaction_makes_the_file_small_and_keeps_what_is_in_it(void **state)
{
	struct cachedb *db = open_cache(*state, 0), *other = open_cache(*state, 0);
	uint64_t freed = 0;

	for (unsigned n = 0; n < 20; n++)
		put_value(db, n, 1000000);
	pin(db, 19, "kept");
	collect(db, 5000000);
	struct cachedb_statistics before = statistics_of(db);
	assert_true(before.free_bytes > 14 * MIB);
	assert_int_equal(cachedb_compact(db, &freed, NULL), 0);
	struct cachedb_statistics after = statistics_of(db);
	assert_int_equal(before.file_bytes - after.file_bytes, freed);
	assert_true(after.file_bytes < 6 * MIB && after.free_bytes < MIB);
	assert_int_equal(after.pins, 1);
	for (unsigned n = 15; n < 20; n++)
		must_have(other, n, 1000000);	/* a handle of the same process goes on */
	put_value(other, 30, 1000);
	must_have(db, 30, 1000);
	cachedb_close(other);
	cachedb_close(db);
	must_be_consistent(*state);
}

struct reader {
	struct cachedb *db;
	_Atomic bool stop;
	unsigned wrong, hits;
};

static void *read_on(void *userdata)
{
	struct reader *reader = userdata;
	struct cachedb_key key = key_of(3);
	_cleanup_free_ uint8_t *right = value_of(3, 100000);

	while (!reader->stop) {
		_cleanup_free_ uint8_t *data = NULL;
		struct cachedb_info info;
		int r = cachedb_get(reader->db, &key, &info, &data);
		reader->hits += r == 0;
		reader->wrong += r < 0 || info.size != 100000 || memcmp(data, right, 100000);
	}
	return NULL;
}

static void test_threads_read_on_while_the_file_is_replaced(void **state)
{
	struct reader reader = { .db = open_cache(*state, 0) };
	pthread_t thread;
	uint64_t freed;

	put_value(reader.db, 3, 100000);
	assert_int_equal(pthread_create(&thread, NULL, read_on, &reader), 0);
	for (unsigned n = 10; n < 20; n++) {
		put_value(reader.db, n, 50000);
		assert_int_equal(cachedb_compact(reader.db, &freed, NULL), 0);
	}
	reader.stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(reader.wrong, 0);
	assert_true(reader.hits > 10);
	cachedb_close(reader.db);
	must_be_consistent(*state);
}

static bool open_for_good(void *path)
{
	open_cache(path, 0);
	return true;
}

static void test_a_cache_in_use_is_not_compacted(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct error error;
	uint64_t freed;

	put_value(db, 1, 1000);
	cachedb_close(db);
	pid_t other = child_hold(open_for_good, *state);
	db = open_cache(*state, 0);
	assert_int_equal(cachedb_compact(db, &freed, &error), -EBUSY);
	assert_non_null(strstr(error.text, "another process uses it"));
	must_have(db, 1, 1000);
	put_value(db, 2, 1000);
	child_end(other);
	assert_int_equal(cachedb_compact(db, &freed, &error), 0);
	must_have(db, 2, 1000);
	cachedb_close(db);
	must_be_consistent(*state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_pinned_is_not_evicted),
		TEST(test_a_pin_stays_until_its_last_label_goes),
		TEST(test_pins_that_fill_the_limit_refuse_new_values_and_lose_nothing),
		TEST(test_pins_can_be_listed_and_outlive_their_values),
		TEST(test_what_is_read_elsewhere_can_be_kept_young),
		TEST(test_lookups_are_counted_over_all_processes),
		TEST(test_file_leaves_free_what_it_has_to),
		TEST(test_full_disk_makes_new_values_take_the_place_of_old_ones),
		TEST(test_disk_that_is_too_full_from_the_start_is_said),
		TEST(test_compaction_needs_room_and_gives_it_back),
		TEST(test_compaction_makes_the_file_small_and_keeps_what_is_in_it),
		TEST(test_threads_read_on_while_the_file_is_replaced),
		TEST(test_a_cache_in_use_is_not_compacted),
	};

	return cmocka_run_group_tests_name("cachedb-room", tests, NULL, NULL);
}
