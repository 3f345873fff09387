/* SPDX-License-Identifier: MIT */
/* What one process sees: storing, reading, limits, order of eviction, refusals. */
#include "tests/cachedb/common.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

static struct cachedb_statistics statistics_of(struct cachedb *db)
{
	struct cachedb_statistics statistics;

	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	return statistics;
}

static int open_result(const char *path, bool read_only, struct error *error)
{
	struct cachedb_options options = { .directory = path, .read_only = read_only };
	struct cachedb *db = NULL;

	*error = (struct error){ 0 };
	int r = cachedb_open(&options, &db, error);
	if (r < 0)
		assert_null(db);
	cachedb_close(db);
	return r;
}

static void test_values_of_every_size_come_back_with_their_attributes(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 2000, 4095, 4096, 65536, 1048559, 1048560, 1048561, 3 * 1048560, 5000000 };
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_info info;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		put_value(db, i, sizes[i]);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct cachedb_key key = key_of(i);
			_cleanup_free_ uint8_t *data = value_of(i, sizes[i]);
			XXH128_hash_t digest = XXH3_128bits(data, sizes[i]);

			must_have(db, i, sizes[i]);
			assert_int_equal(cachedb_stat(db, &key, &info), 0);
			assert_int_equal(info.size, sizes[i]);
			assert_int_equal(info.digest[0], digest.low64);
			assert_int_equal(info.digest[1], digest.high64);
			assert_int_equal(info.cost_us, i);
			assert_int_equal(info.tag, i + 1);
			assert_int_equal(info.items, i + 2);
			assert_true(info.created > 0 && info.last_used >= info.created);
		}
		cachedb_close(db);
		db = open_cache(*state, 0);
	}
	cachedb_close(db);
	must_be_consistent(*state);
}

static void test_value_of_200_mib_is_stored_beside_others(void **state)
{
	const size_t size = (size_t)200 << 20;
	struct cachedb *db = open_cache(*state, 0);

	put_value(db, 1, 1000);
	put_value(db, 2, size);
	must_have(db, 2, size);
	must_have(db, 1, 1000);
	assert_true(statistics_of(db).map_bytes > size);
	cachedb_close(db);
}

static void test_missing_key_is_enoent_and_counted(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_key key = key_of(7);
	struct cachedb_info info = { .tag = 99 };

	assert_int_equal(cachedb_stat(db, &key, &info), -ENOENT);
	assert_int_equal(info.tag, 99);
	assert_int_equal(cachedb_delete(db, &key), -ENOENT);
	must_lack(db, 7);
	put_value(db, 7, 10);
	must_have(db, 7, 10);
	struct cachedb_statistics statistics = statistics_of(db);
	assert_int_equal(statistics.misses, 1);
	assert_int_equal(statistics.hits, 1);
	assert_int_equal(statistics.puts, 1);
	assert_int_equal(statistics.entries, 1);
	assert_int_equal(statistics.bytes, 10);
	cachedb_close(db);
}

static void test_second_put_of_a_key_keeps_the_first_value(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_key key = key_of(3);

	put_value(db, 3, 5000);
	assert_int_equal(cachedb_put(db, &key, (const uint8_t *)"other", 5, NULL, NULL), 0);
	must_have(db, 3, 5000);
	assert_int_equal(statistics_of(db).bytes, 5000);
	cachedb_close(db);
}

static void test_delete_and_clear_remove_all_chunks(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_key key = key_of(1);

	for (unsigned i = 0; i < 4; i++)
		put_value(db, i, 2500000);
	assert_int_equal(cachedb_delete(db, &key), 0);
	must_lack(db, 1);
	must_have(db, 2, 2500000);
	assert_int_equal(statistics_of(db).bytes, 3 * 2500000);
	cachedb_close(db);
	must_be_consistent(*state);

	db = open_cache(*state, 0);
	assert_int_equal(cachedb_clear(db), 0);
	assert_int_equal(statistics_of(db).entries, 0);
	assert_int_equal(statistics_of(db).bytes, 0);
	put_value(db, 1, 100);
	must_have(db, 1, 100);
	cachedb_close(db);
	must_be_consistent(*state);
}

static void test_least_recently_used_goes_first(void **state)
{
	struct cachedb *db = open_cache(*state, 3000000);

	for (unsigned i = 0; i < 3; i++)
		put_value(db, i, 1000000);
	must_have(db, 0, 1000000);		/* 1 is now the oldest, though nothing of this read was written yet */
	put_value(db, 3, 1000000);
	must_lack(db, 1);
	must_have(db, 0, 1000000);
	must_have(db, 2, 1000000);
	must_have(db, 3, 1000000);
	assert_int_equal(statistics_of(db).evictions, 1);
	assert_int_equal(statistics_of(db).bytes, 3000000);
	cachedb_close(db);
	must_be_consistent(*state);
}

static void test_last_use_survives_the_process(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	uint64_t freed;

	for (unsigned i = 0; i < 3; i++)
		put_value(db, i, 1000);
	must_have(db, 0, 1000);
	cachedb_close(db);
	db = open_cache(*state, 0);
	assert_int_equal(cachedb_gc(db, 2500, &freed), 0);
	assert_int_equal(freed, 1000);
	must_lack(db, 1);
	must_have(db, 0, 1000);
	must_have(db, 2, 1000);
	cachedb_close(db);
}

static void test_reads_do_not_write(void **state)
{
	char path[SCRATCH_SIZE + 16];
	struct cachedb *db = open_cache(*state, 0);
	struct stat before, after;

	for (unsigned i = 0; i < 20; i++)
		put_value(db, i, 1000);
	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	assert_int_equal(stat(path, &before), 0);
	for (unsigned round = 0; round < 20; round++)
		for (unsigned i = 0; i < 20; i++)
			must_have(db, i, 1000);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	cachedb_close(db);
	assert_int_equal(stat(path, &after), 0);
	assert_false(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
}

static void test_more_reads_than_are_remembered_keep_their_order(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	uint64_t freed;

	for (unsigned i = 0; i < 300; i++)
		put_value(db, i, 10);
	for (unsigned i = 0; i < 300; i++)
		must_have(db, 299 - i, 10);
	assert_int_equal(cachedb_gc(db, 1000, &freed), 0);
	assert_int_equal(freed, 2000);
	for (unsigned i = 0; i < 100; i++)
		must_have(db, i, 10);
	must_lack(db, 100);
	cachedb_close(db);
}

static void test_eviction_keeps_the_file_small(void **state)
{
	char path[SCRATCH_SIZE + 16];
	struct cachedb *db = open_cache(*state, 8 << 20);
	struct stat st;

	for (unsigned i = 0; i < 60; i++)
		put_value(db, i, 700000 + 30000 * (i % 11));
	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 16 << 20);		/* 60 values are 51 MB */
	assert_true(statistics_of(db).bytes <= 8 << 20);
	cachedb_close(db);
	must_be_consistent(*state);
}

static void test_value_beyond_the_limit_is_refused_and_evicts_nothing(void **state)
{
	struct cachedb *db = open_cache(*state, 5000);
	_cleanup_free_ uint8_t *data = value_of(2, 5001);
	struct cachedb_key key = key_of(2);
	struct error error = { 0 };

	put_value(db, 1, 5000);
	assert_int_equal(cachedb_put(db, &key, data, 5001, NULL, &error), -EFBIG);
	assert_non_null(strstr(error.text, "limit is 5000"));
	must_have(db, 1, 5000);
	assert_int_equal(statistics_of(db).put_failures, 1);
	cachedb_close(db);
}

static int count_record(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info)
{
	unsigned *counts = userdata;

	for (unsigned i = 0; i < 200; i++) {
		struct cachedb_key other = key_of(i);
		if (!memcmp(&other, key, sizeof(other))) {
			assert_int_equal(info->size, i);
			counts[i]++;
			return 0;
		}
	}
	fail_msg("a key that was never stored");
	return 0;
}

static int stop_at_third(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info)
{
	return ++*(int *)userdata == 3 ? 42 : 0;
}

struct delete_all { struct cachedb *db; unsigned n; };

static int delete_record(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info)
{
	struct delete_all *all = userdata;

	all->n++;
	return cachedb_delete(all->db, key);
}

static void test_foreach_sees_every_record_once(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	unsigned counts[200] = { 0 };
	struct delete_all all = { .db = db };
	int calls = 0;

	for (unsigned i = 0; i < 200; i++)
		put_value(db, i, i);
	assert_int_equal(cachedb_foreach(db, count_record, counts), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(counts[i], 1);
	assert_int_equal(cachedb_foreach(db, stop_at_third, &calls), 42);
	assert_int_equal(calls, 3);
	assert_int_equal(cachedb_foreach(db, delete_record, &all), 0);	/* writing within a callback is allowed */
	assert_int_equal(all.n, 200);
	assert_int_equal(statistics_of(db).entries, 0);
	cachedb_close(db);
}

static void test_read_only_reads_and_refuses_to_write(void **state)
{
	struct cachedb_options options = { .directory = *state, .read_only = true };
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_key key = key_of(2);
	struct error error;
	uint64_t freed;

	put_value(db, 1, 3000);
	cachedb_close(db);
	assert_int_equal(cachedb_open(&options, &db, &error), 0);
	must_have(db, 1, 3000);
	assert_int_equal(cachedb_put(db, &key, (const uint8_t *)"x", 1, NULL, &error), -EROFS);
	assert_non_null(strstr(error.text, "read only"));
	assert_int_equal(cachedb_delete(db, &key), -EROFS);
	assert_int_equal(cachedb_gc(db, 0, &freed), -EROFS);
	assert_int_equal(cachedb_clear(db), -EROFS);

	/* A writing handle of the same process shares, and upgrades, the environment. */
	struct cachedb *writer = open_cache(*state, 0);
	put_value(writer, 2, 4000);
	must_have(db, 2, 4000);
	assert_int_equal(cachedb_put(db, &key, (const uint8_t *)"x", 1, NULL, NULL), 0);	/* it is there */
	cachedb_close(writer);
	must_have(db, 1, 3000);
	cachedb_close(db);
}

static void test_read_only_makes_nothing(void **state)
{
	char path[SCRATCH_SIZE + 16];
	struct error error;

	snprintf(path, sizeof(path), "%s/none", (const char *)*state);
	assert_int_equal(open_result(path, true, &error), -ENOENT);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(open_result(*state, true, &error), -ENOENT);
	assert_non_null(strstr(error.text, "'format'"));
}

static void test_directory_is_made_private_with_its_parents(void **state)
{
	char path[SCRATCH_SIZE + 16];
	struct error error;
	struct stat st;

	snprintf(path, sizeof(path), "%s/a/b/c", (const char *)*state);
	mode_t mask = umask(0);
	int r = open_result(path, false, &error);
	umask(mask);
	assert_int_equal(r, 0);
	for (int up = 0; up < 3; up++) {
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0700);
		*strrchr(path, '/') = 0;
	}
}

static void test_directory_that_others_can_write_is_refused(void **state)
{
	static const mode_t modes[] = { 0777, 0770, 0702, 01777 };
	struct error error;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(chmod(*state, modes[i]), 0);
		assert_int_equal(open_result(*state, false, &error), -EPERM);
		assert_non_null(strstr(error.text, "can be written by others"));
		assert_non_null(strstr(error.text, *state));
	}
	assert_int_equal(chmod(*state, 0755), 0);
	assert_int_equal(open_result(*state, false, &error), 0);
}

static void test_directory_of_somebody_else_is_refused(void **state)
{
	struct error error;

	if (geteuid() != 0)
		skip();			/* only root can give a directory away */
	assert_int_equal(chown(*state, 12345, 12345), 0);
	assert_int_equal(open_result(*state, false, &error), -EPERM);
	assert_non_null(strstr(error.text, "belongs to user 12345"));
	assert_int_equal(chown(*state, 0, 0), 0);
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[SCRATCH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static const char *const files[] = { "format", "data.mdb", "lock.mdb" };

static const char *path_in(const char *directory, const char *name)
{
	static char path[SCRATCH_SIZE + 16];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void test_files_are_private_whatever_the_umask(void **state)
{
	struct error error;
	struct stat st;
	mode_t mask = umask(0);

	int r = open_result(*state, false, &error);
	umask(mask);
	assert_int_equal(r, 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(stat(path_in(*state, files[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
}

static void test_files_that_others_can_write_are_refused(void **state)
{
	struct error error;

	assert_int_equal(open_result(*state, false, &error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(chmod(path_in(*state, files[i]), 0602), 0);
		assert_int_equal(open_result(*state, false, &error), -EPERM);
		assert_non_null(strstr(error.text, files[i]));
		assert_non_null(strstr(error.text, "mode 0602"));
		assert_int_equal(chmod(path_in(*state, files[i]), 0600), 0);
		if (geteuid() == 0) {
			assert_int_equal(chown(path_in(*state, files[i]), 12345, 0), 0);
			assert_int_equal(open_result(*state, false, &error), -EPERM);
			assert_non_null(strstr(error.text, "user 12345"));
			assert_int_equal(chown(path_in(*state, files[i]), 0, 0), 0);
		}
	}
	assert_int_equal(open_result(*state, false, &error), 0);
}

static void test_links_in_the_directory_are_not_followed(void **state)
{
	static const char *const names[] = { "format", "data.mdb", "lock.mdb", "compact.mdb" };
	char target[SCRATCH_SIZE + 16];
	struct error error;
	struct stat st;
	uint64_t freed;

	snprintf(target, sizeof(target), "%s", path_in(*state, "target"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		write_file(*state, "target", "");
		assert_int_equal(open_result(*state, false, &error), 0);
		assert_true(unlink(path_in(*state, names[i])) == 0 || i == 3);
		assert_int_equal(symlink(target, path_in(*state, names[i])), 0);
		if (i < 3) {
			assert_int_equal(open_result(*state, false, &error), -EPERM);
			assert_non_null(strstr(error.text, "is a link"));
		} else {
			struct cachedb *db = open_cache(*state, 0);
			assert_int_equal(cachedb_compact(db, &freed, &error), -ELOOP);
			cachedb_close(db);
		}
		assert_int_equal(stat(target, &st), 0);
		assert_int_equal(st.st_size, 0);
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			unlink(path_in(*state, names[k]));
	}
}

static void test_a_link_of_somebody_else_to_the_directory_is_refused(void **state)
{
	char real[SCRATCH_SIZE + 16], link[SCRATCH_SIZE + 16];
	struct error error;

	snprintf(real, sizeof(real), "%s", path_in(*state, "real"));
	snprintf(link, sizeof(link), "%s", path_in(*state, "link"));
	assert_int_equal(mkdir(real, 0755), 0);
	assert_int_equal(symlink(real, link), 0);
	assert_int_equal(open_result(link, false, &error), 0);
	if (geteuid() != 0)
		skip();			/* only root can give a link away */
	assert_int_equal(lchown(link, 12345, 12345), 0);
	assert_int_equal(open_result(link, false, &error), -EPERM);
	assert_non_null(strstr(error.text, "is a link that belongs to user 12345"));
	strcat(link, "//");
	assert_int_equal(open_result(link, false, &error), -EPERM);
}

static void test_other_format_and_foreign_database_are_left_alone(void **state)
{
	char path[SCRATCH_SIZE + 16], text[32] = "";
	struct error error;

	write_file(*state, "data.mdb", "somebody else's");
	assert_int_equal(open_result(*state, false, &error), -EMEDIUMTYPE);
	assert_non_null(strstr(error.text, "no cache of this program"));
	write_file(*state, "format", "cachedb 77\n");
	assert_int_equal(open_result(*state, false, &error), -EMEDIUMTYPE);
	assert_non_null(strstr(error.text, "'cachedb 77'"));

	snprintf(path, sizeof(path), "%s/data.mdb", (const char *)*state);
	FILE *file = fopen(path, "r");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "somebody else's");
}

static void test_not_a_directory_is_said(void **state)
{
	char path[SCRATCH_SIZE + 16];
	struct error error;

	write_file(*state, "file", "");
	snprintf(path, sizeof(path), "%s/file", (const char *)*state);
	assert_int_equal(open_result(path, false, &error), -ENOTDIR);
	assert_int_equal(open_result("", false, &error), -EINVAL);
	assert_int_equal(open_result(NULL, false, &error), -EINVAL);
}

static void test_descriptors_do_not_reach_programs_that_we_start(void **state)
{
	char path[64], target[SCRATCH_SIZE + 64];
	struct cachedb *db = open_cache(*state, 0);
	unsigned seen = 0;

	put_value(db, 1, 10);
	for (int fd = 3; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		if (strncmp(target, *state, strlen(*state)))
			continue;
		seen++;
		if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			fail_msg("'%s' stays open in children", target);
	}
	assert_true(seen >= 4);		/* directory, format, data.mdb, lock.mdb */
	cachedb_close(db);
}

static void set_most_descriptors(rlim_t most, struct rlimit *ret_before)
{
	assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ most, ret_before->rlim_max }), 0);
}

/* For a moment the database could not be opened again: that is not for ever. */
static void test_a_shortage_of_descriptors_passes(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_key key = key_of(1);
	struct rlimit before;
	struct cachedb_info info;
	uint64_t freed;

	put_value(db, 1, 1000);
	set_most_descriptors(0, &before);
	int compacted = cachedb_compact(db, &freed, NULL), found = cachedb_stat(db, &key, &info);
	set_most_descriptors(before.rlim_cur, &before);
	assert_int_equal(compacted, -EMFILE);
	assert_int_equal(found, -EMFILE);
	must_have(db, 1, 1000);
	put_value(db, 2, 1000);
	cachedb_close(db);
}

/* Who deletes the directory means the files: what has them open goes on with them. */
static void test_deleting_the_directory_disturbs_no_handle(void **state)
{
	struct cachedb *db = open_cache(*state, 0), *other;

	put_value(db, 1, 1000000);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		assert_int_equal(unlink(path_in(*state, files[i])), 0);
	assert_int_equal(rmdir(*state), 0);
	must_have(db, 1, 1000000);
	put_value(db, 2, 20000000);		/* more than the map has room for */
	struct cachedb_statistics statistics = statistics_of(db);
	assert_int_equal(statistics.entries, 2);
	assert_true(statistics.file_bytes > 21000000);
	other = open_cache(*state, 0);
	must_lack(other, 1);
	put_value(other, 1, 1000);
	cachedb_close(db);
	must_have(other, 1, 1000);
	cachedb_close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values_of_every_size_come_back_with_their_attributes),
		TEST(test_value_of_200_mib_is_stored_beside_others),
		TEST(test_missing_key_is_enoent_and_counted),
		TEST(test_second_put_of_a_key_keeps_the_first_value),
		TEST(test_delete_and_clear_remove_all_chunks),
		TEST(test_least_recently_used_goes_first),
		TEST(test_last_use_survives_the_process),
		TEST(test_reads_do_not_write),
		TEST(test_more_reads_than_are_remembered_keep_their_order),
		TEST(test_eviction_keeps_the_file_small),
		TEST(test_value_beyond_the_limit_is_refused_and_evicts_nothing),
		TEST(test_foreach_sees_every_record_once),
		TEST(test_read_only_reads_and_refuses_to_write),
		TEST(test_read_only_makes_nothing),
		TEST(test_directory_is_made_private_with_its_parents),
		TEST(test_directory_that_others_can_write_is_refused),
		TEST(test_directory_of_somebody_else_is_refused),
		TEST(test_files_are_private_whatever_the_umask),
		TEST(test_files_that_others_can_write_are_refused),
		TEST(test_links_in_the_directory_are_not_followed),
		TEST(test_a_link_of_somebody_else_to_the_directory_is_refused),
		TEST(test_other_format_and_foreign_database_are_left_alone),
		TEST(test_not_a_directory_is_said),
		TEST(test_descriptors_do_not_reach_programs_that_we_start),
		TEST(test_a_shortage_of_descriptors_passes),
		TEST(test_deleting_the_directory_disturbs_no_handle),
	};

	return cmocka_run_group_tests_name("cachedb", tests, NULL, NULL);
}
