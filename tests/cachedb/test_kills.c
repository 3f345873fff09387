/* SPDX-License-Identifier: MIT */
/*
 * kill -9 at random points, a thousand times. Workers share a cache, in which each owns some keys: it puts, deletes, pins, evicts
 * and compacts, and reads those of all. It says before and after each change of an own key what it does, in memory that outlives
 * it; who takes its place compares that with what is there. So a committed value that is lost, a deleted one that is back and a
 * wrong byte are each seen by the next worker, while the others go on.
 *
 * The number of kills can be given: test_cachedb_kills [N].
 */
#include "tests/cachedb/common.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define N_WORKERS 3
#define N_OWN 16			/* keys that a worker owns */
#define LIMIT 4000000			/* bytes; all values are about three times as much */

static unsigned n_kills = 1000;

enum fate { ABSENT, PUTTING, PRESENT, DELETING };	/* the middle of a change may end either way, but not in between */

struct life {				/* of one worker after the other, in shared memory */
	_Atomic uint8_t fates[N_OWN];
	_Atomic unsigned starts, changes, steps;
};

struct worker {
	const char *path;
	uint64_t max_bytes;		/* 0: nothing may be lost */
	bool compacts;
	unsigned id, n_workers, seed;
	struct life *lives;
	pid_t pid;
	unsigned first_step;		/* how many steps its predecessors have made */
};

static unsigned pick(struct worker *worker, unsigned n)
{
	return (unsigned)rand_r(&worker->seed) / 7 % n;
}

static size_t size_of(unsigned n)
{
	return n % N_OWN == 0 ? 1200000 + n : n * 3001 % 60000;
}

static unsigned key_number(const struct worker *worker, unsigned own)
{
	return worker->id * N_OWN + own;
}

/* ---- what a worker does ----------------------------------------------------------------------------------------------- */

static void compare_with_predecessor(const struct worker *worker, struct cachedb *db)
{
	struct life *life = &worker->lives[worker->id];

	for (unsigned i = 0; i < N_OWN; i++) {
		unsigned n = key_number(worker, i);
		bool there = has_value(db, n, size_of(n));
		if (!worker->max_bytes && life->fates[i] == PRESENT && !there)
			fail_msg("value %u was committed and is lost", n);
		if (life->fates[i] == ABSENT && there)
			fail_msg("value %u was deleted and is back", n);
		life->fates[i] = there ? PRESENT : ABSENT;
	}
	life->starts++;
}

static void change_one(struct worker *worker, struct cachedb *db)
{
	struct life *life = &worker->lives[worker->id];
	unsigned i = pick(worker, N_OWN), n = key_number(worker, i);
	struct cachedb_key key = key_of(n);

	if (life->fates[i] == PRESENT && pick(worker, 3) == 0) {
		life->fates[i] = DELETING;
		cachedb_delete(db, &key);
		life->fates[i] = ABSENT;
	} else {
		life->fates[i] = life->fates[i] == PRESENT && !worker->max_bytes ? PRESENT : PUTTING;
		put_value(db, n, size_of(n));
		life->fates[i] = PRESENT;
	}
	life->changes++;
}

static void change_pins(struct worker *worker, struct cachedb *db)
{
	struct cachedb_pin pin = { key_of(key_number(worker, 1)), "kept" };

	assert_int_equal(cachedb_pin(db, &pin, 1, NULL), 0);
	if (pick(worker, 2))
		assert_int_equal(cachedb_unpin(db, &pin, 1, NULL), 0);
}

static void make_room(struct worker *worker, struct cachedb *db)
{
	struct error error;
	uint64_t freed;

	if (worker->max_bytes)
		assert_int_equal(cachedb_gc(db, worker->max_bytes / 2, &freed), 0);
	if (worker->compacts) {
		int r = cachedb_compact(db, &freed, &error);
		if (r < 0 && r != -EBUSY && r != -EUCLEAN)
			fail_msg("%s", error.text);
	}
}

static _Noreturn void live(struct worker *worker)
{
	struct cachedb *db = open_cache(worker->path, worker->max_bytes);

	compare_with_predecessor(worker, db);
	for (;;) {
		unsigned n = pick(worker, worker->n_workers * N_OWN), action = pick(worker, 32);
		worker->lives[worker->id].steps++;
		if (action < 12)
			change_one(worker, db);
		else if (action == 12)
			change_pins(worker, db);
		else if (action == 13)
			make_room(worker, db);
		else
			has_value(db, n, size_of(n));
	}
}

/* ---- killing ---------------------------------------------------------------------------------------------------------- */

static void start(struct worker *worker)
{
	worker->seed++;
	worker->first_step = worker->lives[worker->id].steps;
	worker->pid = fork_child();
	if (!worker->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(worker);
	}
}

static void end(struct worker *worker)
{
	int status;

	kill(worker->pid, SIGKILL);
	assert_int_equal(waitpid(worker->pid, &status, 0), worker->pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("a worker ended by itself, with %d", status);		/* an assertion of its own */
}

static void must_be_sound(const char *path)
{
	struct cachedb *db = open_cache(path, 0);
	struct cachedb_check found = check_of(db);

	assert_true(!found.bad && !found.orphans && !found.sum_is_wrong);
	cachedb_close(db);
	must_be_consistent(path);
}

/*
 * Half of them die at any time, also while they are opening the cache; the others after so many steps, however slow the machine is.
 */
static void let_live(const struct worker *worker, unsigned *seed, unsigned *promised)
{
	const struct life *life = &worker->lives[worker->id];
	siginfo_t info = { 0 };
	unsigned steps = (unsigned)rand_r(seed) / 7 % 30, end = worker->first_step + steps + 1;

	if (rand_r(seed) / 7 % 2) {
		while (life->steps < end && info.si_pid == 0) {
			usleep(100);
			assert_int_equal(waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
		}
		++*promised;
	}
	usleep((unsigned)rand_r(seed) % 5000);
}

static void survive(struct worker model, unsigned kills)
{
	struct life *lives = mmap(NULL, N_WORKERS * sizeof(*lives), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct worker workers[N_WORKERS];
	unsigned starts = 0, changes = 0, promised = 0, seed = 12345;

	assert_true(lives != MAP_FAILED);
	for (unsigned i = 0; i < model.n_workers; i++) {
		workers[i] = model;
		workers[i].id = i;
		workers[i].seed = 1000000 * i;
		workers[i].lives = lives;
		start(&workers[i]);
	}
	for (unsigned i = 0; i < kills; i++) {
		struct worker *worker = &workers[(unsigned)rand_r(&seed) / 7 % model.n_workers];
		let_live(worker, &seed, &promised);
		end(worker);
		if (i % 100 == 99) {
			for (unsigned k = 0; k < model.n_workers; k++)
				if (&workers[k] != worker)
					end(&workers[k]);
			must_be_sound(model.path);
			for (unsigned k = 0; k < model.n_workers; k++)
				if (&workers[k] != worker)
					start(&workers[k]);
		}
		start(worker);
	}
	for (unsigned i = 0; i < model.n_workers; i++) {
		end(&workers[i]);
		starts += lives[i].starts;
		changes += lives[i].changes;
	}
	must_be_sound(model.path);
	print_message("%u kills, %u starts that found all in order, %u changes\n", kills, starts, changes);
	assert_true(starts >= promised && changes > promised);
	munmap(lives, N_WORKERS * sizeof(*lives));
}

static void test_nothing_that_was_committed_is_lost(void **state)
{
	survive((struct worker){ .path = *state, .n_workers = N_WORKERS }, n_kills * 4 / 10);
}

static void test_only_right_bytes_are_left_while_evicting(void **state)
{
	survive((struct worker){ .path = *state, .n_workers = N_WORKERS, .max_bytes = LIMIT, .compacts = true }, n_kills * 4 / 10);
}

static void test_nothing_is_lost_while_compacting(void **state)
{
	survive((struct worker){ .path = *state, .n_workers = 1, .compacts = true }, n_kills * 2 / 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_that_was_committed_is_lost),
		TEST(test_only_right_bytes_are_left_while_evicting),
		TEST(test_nothing_is_lost_while_compacting),
	};

	if (argc > 1)
		n_kills = (unsigned)atoi(argv[1]);
	return cmocka_run_group_tests_name("cachedb-kills", tests, NULL, NULL);
}
