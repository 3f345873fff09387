/* SPDX-License-Identifier: MIT */
/* Several threads, handles and processes on one cache. */
#include "tests/cachedb/common.h"
#include "tests/common/child.h"

#include <lmdb.h>
#include <pthread.h>
#include <sys/wait.h>

#define N_KEYS 40

static size_t size_of(unsigned n)
{
	return n * 20011 % 150000;
}

/* cmocka's assertions may only be used on the main thread, so workers count what is wrong. */
struct worker {
	pthread_t thread;
	struct cachedb *db;
	unsigned seed, wrong, hits;
};

static bool get_is_right(struct worker *worker, unsigned n)
{
	_cleanup_free_ uint8_t *data = NULL, *right = value_of(n, size_of(n));
	struct cachedb_key key = key_of(n);
	struct cachedb_info info;
	int r = cachedb_get(worker->db, &key, &info, &data);

	worker->hits += !r;
	return r == -ENOENT || (!r && info.size == size_of(n) && !memcmp(data, right, info.size));
}

static bool put_works(struct worker *worker, unsigned n)
{
	_cleanup_free_ uint8_t *data = value_of(n, size_of(n));
	struct cachedb_key key = key_of(n);

	return !cachedb_put(worker->db, &key, data, size_of(n), NULL, NULL);
}

static void *work(void *userdata)
{
	struct worker *worker = userdata;
	uint64_t freed;

	for (unsigned i = 0; i < 80; i++) {
		unsigned n = (unsigned)rand_r(&worker->seed) % N_KEYS;
		if (i % 4 == 0)
			worker->wrong += !put_works(worker, n);
		else if (i % 39 == 0)
			worker->wrong += cachedb_gc(worker->db, 300000, &freed) < 0;
		else
			worker->wrong += !get_is_right(worker, n);
	}
	return NULL;
}

/* Threads on several handles of one directory; the number of things that went wrong. */
static unsigned run_workers(const char *path, unsigned n_threads, unsigned n_handles, unsigned seed, unsigned *ret_hits)
{
	struct worker workers[16] = { 0 };
	struct cachedb *handles[4];
	unsigned wrong = 0, hits = 0;

	for (unsigned i = 0; i < n_handles; i++)
		handles[i] = open_cache(path, 2000000);
	for (unsigned i = 0; i < n_threads; i++) {
		workers[i].db = handles[i % n_handles];
		workers[i].seed = seed + i;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < n_threads; i++) {
		pthread_join(workers[i].thread, NULL);
		wrong += workers[i].wrong;
		hits += workers[i].hits;
	}
	for (unsigned i = 0; i < n_handles; i++)
		cachedb_close(handles[i]);
	*ret_hits = hits;
	return wrong;
}

static void test_threads_on_two_handles_see_only_right_bytes(void **state)
{
	unsigned hits;

	assert_int_equal(run_workers(*state, 8, 2, 1, &hits), 0);
	assert_true(hits > 100);
	must_be_consistent(*state);
}

static int process_body(void *userdata)
{
	unsigned hits;

	return run_workers(userdata, 3, 1, (unsigned)getpid(), &hits) ? 1 : 0;
}

static void test_processes_with_threads_see_only_right_bytes(void **state)
{
	pid_t pids[4];
	int status;

	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork_child();
		if (!pids[i])
			_exit(process_body(*state));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	must_be_consistent(*state);
}

static void *open_and_close(void *userdata)
{
	struct worker *worker = userdata;
	char *path = (char *)worker->db;

	for (unsigned i = 0; i < 15; i++) {
		struct cachedb_options options = { .directory = path, .read_only = i % 3 == 1 };
		struct cachedb *db;
		if (cachedb_open(&options, &db, NULL) < 0) {
			worker->wrong++;
			continue;
		}
		struct worker inner = { .db = db };
		worker->wrong += !get_is_right(&inner, 1) || !inner.hits;
		cachedb_close(db);
	}
	return NULL;
}

static void test_opening_and_closing_in_threads_never_disturbs_others(void **state)
{
	struct worker workers[4] = { 0 };
	struct cachedb *db = open_cache(*state, 0);

	put_value(db, 1, size_of(1));
	cachedb_close(db);
	for (unsigned i = 0; i < ARRAY_SIZE(workers); i++) {
		workers[i].db = *state;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, open_and_close, &workers[i]), 0);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(workers); i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].wrong, 0);
	}
}

static void test_closing_one_handle_leaves_the_other(void **state)
{
	char other_name[SCRATCH_SIZE + 8];

	snprintf(other_name, sizeof(other_name), "%s/../%s", (const char *)*state, strrchr(*state, '/') + 1);
	struct cachedb *a = open_cache(*state, 0), *b = open_cache(other_name, 0);
	put_value(a, 1, 1000);
	must_have(b, 1, 1000);
	a = cachedb_close(a);
	assert_null(a);
	put_value(b, 2, 1000);
	must_have(b, 2, 1000);
	cachedb_close(b);
}

static int grow_elsewhere(void *userdata)
{
	struct cachedb *db = open_cache(userdata, 0);

	put_value(db, 1, 60 << 20);
	cachedb_close(db);
	return 0;
}

static void test_map_grown_by_another_process_is_adopted(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	struct cachedb_statistics before, after;

	assert_int_equal(cachedb_get_statistics(db, &before), 0);
	pid_t pid = fork_child();
	if (!pid) {
		char *arguments[] = { "/proc/self/exe", "grow", *state, NULL };
		execv(arguments[0], arguments);	/* an environment must not cross a fork */
		_exit(99);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	must_have(db, 1, 60 << 20);
	put_value(db, 2, 1000);
	assert_int_equal(cachedb_get_statistics(db, &after), 0);
	assert_true(after.map_bytes > before.map_bytes);
	cachedb_close(db);
}

static int use_after_fork(void *userdata)
{
	struct cachedb *db = userdata;
	struct cachedb_key key = key_of(1);
	struct cachedb_statistics statistics;
	struct cachedb_info info;
	uint8_t *data;

	if (cachedb_get(db, &key, &info, &data) != -ECHILD || cachedb_stat(db, &key, &info) != -ECHILD ||
	    cachedb_put(db, &key, NULL, 0, NULL, NULL) != -ECHILD || cachedb_delete(db, &key) != -ECHILD ||
	    cachedb_clear(db) != -ECHILD || cachedb_get_statistics(db, &statistics) != -ECHILD)
		return 1;
	cachedb_close(db);
	return 0;
}

static void test_forked_child_is_refused_and_harms_nobody(void **state)
{
	struct cachedb *db = open_cache(*state, 0);

	put_value(db, 1, 1000);
	must_have(db, 1, 1000);
	assert_int_equal(in_child(use_after_fork, db), 0);
	put_value(db, 2, 1000);
	must_have(db, 1, 1000);
	must_have(db, 2, 1000);
	cachedb_close(db);
}

/* Plain LMDB, with room for two readers. */
static MDB_env *open_plain(const char *path)
{
	MDB_env *env;

	return !mdb_env_create(&env) && !mdb_env_set_maxreaders(env, 2) && !mdb_env_set_mapsize(env, 1 << 26) &&
	       !mdb_env_open(env, path, MDB_NOTLS, 0600) ? env : NULL;
}

static bool hold_open(void *path)
{
	return open_plain(path);
}

static bool hold_reader(void *path)
{
	MDB_env *env = open_plain(path);
	MDB_txn *txn;

	return env && !mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
}

static void test_slots_of_killed_readers_are_used_again(void **state)
{
	struct cachedb *db = open_cache(*state, 0);
	char lock[SCRATCH_SIZE + 16];

	put_value(db, 1, 1000);
	cachedb_close(db);
	snprintf(lock, sizeof(lock), "%s/lock.mdb", (const char *)*state);
	assert_int_equal(unlink(lock), 0);
	pid_t holder = child_hold(hold_open, *state);	/* who makes the lock file decides how many readers there can be */
	db = open_cache(*state, 0);
	child_end(child_hold(hold_reader, *state));
	child_end(child_hold(hold_reader, *state));
	must_have(db, 1, 1000);
	put_value(db, 2, 1000);

	pid_t alive[2] = { child_hold(hold_reader, *state), child_hold(hold_reader, *state) };
	struct cachedb_key key = key_of(1);
	struct cachedb_info info;
	assert_int_equal(cachedb_stat(db, &key, &info), -EAGAIN);	/* both slots are taken by the living */
	child_end(alive[0]);
	must_have(db, 1, 1000);
	child_end(alive[1]);
	child_end(holder);
	cachedb_close(db);
}

static void test_pages_that_a_killed_reader_held_are_used_again(void **state)
{
	struct cachedb *db = open_cache(*state, 4 << 20);
	struct cachedb_statistics statistics;

	put_value(db, 0, 1000);
	cachedb_close(db);
	pid_t reader = child_hold(hold_reader, *state);
	db = open_cache(*state, 4 << 20);
	child_end(reader);
	for (unsigned i = 1; i < 60; i++)
		put_value(db, i, 1000000);
	assert_int_equal(cachedb_get_statistics(db, &statistics), 0);
	assert_true(statistics.map_bytes <= 32 << 20);		/* 59 MB were written */
	cachedb_close(db);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_threads_on_two_handles_see_only_right_bytes),
		TEST(test_processes_with_threads_see_only_right_bytes),
		TEST(test_opening_and_closing_in_threads_never_disturbs_others),
		TEST(test_closing_one_handle_leaves_the_other),
		TEST(test_map_grown_by_another_process_is_adopted),
		TEST(test_forked_child_is_refused_and_harms_nobody),
		TEST(test_slots_of_killed_readers_are_used_again),
		TEST(test_pages_that_a_killed_reader_held_are_used_again),
	};

	if (argc == 3 && !strcmp(argv[1], "grow"))
		return grow_elsewhere(argv[2]);
	return cmocka_run_group_tests_name("cachedb-sharing", tests, NULL, NULL);
}
