/* SPDX-License-Identifier: MIT */
/* The cache as users of the program see it: looking after it, kill -9, and eviction under a mount. */
#include "tests/fs/common.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int cache(void **state, const char *arguments)
{
	return run(state, "cache %s --linker '%s'", with_cache(state, arguments), real_linker());
}

/* The n-th code object's name. */
static const char *code_object(void **state, const char *logic, unsigned n)
{
	static char name[256];

	assert_int_equal(run(state, "ls '%s'", logic), 0);
	_cleanup_free_ char *text = read_text(in_scratch(state, "out"), NULL);
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		char *suffix = strrchr(line, '.');
		if (!suffix || strcmp(suffix, ".co") != 0 || n--)
			continue;
		snprintf(name, sizeof(name), "%s", strchr(line, '/') + 1);
		return name;
	}
	fail_msg("there is no such code object");
	return NULL;
}

static struct cachedb *open_cache(void **state)
{
	struct cachedb_options options = { .directory = in_scratch(state, "cache") };
	struct cachedb *db = NULL;

	assert_int_equal(cachedb_open(&options, &db, NULL), 0);
	return db;
}

/* ---- looking after it ------------------------------------------------------------------------------------------------- */

static uint64_t statistic(void **state, const char *key)
{
	struct json_object *value;

	assert_int_equal(cache(state, "stats --json"), 0);
	_cleanup_free_ char *text = read_text(in_scratch(state, "out"), NULL);
	struct json_object *all = json_tokener_parse(text);
	assert_true(json_object_object_get_ex(all, key, &value));
	uint64_t number = json_object_is_type(value, json_type_array) ? json_object_array_length(value) : json_object_get_uint64(value);
	json_object_put(all);
	return number;
}

static void test_wrong_calls_are_said(void **state)
{
	static const char *const calls[] = { "polish", "stats logic", "pin", "unpin", "check logic" };

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		assert_int_equal(cache(state, calls[i]), 2);
		must_complain_once(state, "usage: tensilefs cache stats|gc|check|clear|pin|unpin");
	}
	assert_int_equal(cache(state, "gc --cache-min-free 100%"), 2);
	must_complain_once(state, "'100' is not a possible number");
	assert_int_equal(cache(state, "gc --cache-min-free 5%%"), 2);
	assert_int_equal(cache(state, "check"), 1);		/* makes none */
	must_complain_once(state, "cannot open cache directory");
}

static void test_statistics_and_collection(void **state)
{
	const char *logic = copy_logic(state, "logic", 3);

	build(state, logic, with_cache(state, ""));
	uint64_t bytes = statistic(state, "bytes"), entries = statistic(state, "entries");
	assert_true(entries > 10 && statistic(state, "file_bytes") >= bytes && statistic(state, "misses") >= entries);
	assert_int_equal(statistic(state, "hits"), 0);
	build(state, logic, with_cache(state, ""));
	assert_true(statistic(state, "hits") > 8 && statistic(state, "latest_use") >= statistic(state, "oldest_use"));
	assert_int_equal(cache(state, "stats"), 0);
	must_say(state, "out", "latest use    20");
	assert_int_equal(cache(state, "gc --cache-size 20K"), 0);
	must_say(state, "out", " bytes smaller");
	assert_true(statistic(state, "bytes") <= 20480 && statistic(state, "file_bytes") < 200000 && statistic(state, "evictions") > 0);
	assert_int_equal(cache(state, "clear"), 0);
	assert_int_equal(statistic(state, "entries"), 0);
}

static void test_pins_belong_to_the_bytes_and_go_by_the_name(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *name = code_object(state, logic, 0);

	build(state, logic, with_cache(state, ""));
	assert_int_equal(cache(state, "pin none"), 1);
	must_complain_once(state, "none");
	assert_int_equal(run(state, "cache pin '%s' none.co %s", logic, with_cache(state, "")), 1);
	must_complain_once(state, "there is no file 'none.co'");
	assert_int_equal(run(state, "cache pin '%s' %s --linker '%s' %s", logic, name, real_linker(), with_cache(state, "")), 0);
	must_say(state, "out", "1 files are pinned");
	assert_int_equal(cache(state, "gc --cache-size 1"), 0);
	assert_int_equal(statistic(state, "entries"), 1);
	assert_int_equal(statistic(state, "pinned_entries"), 1);
	assert_int_equal(cache(state, "stats"), 0);
	must_say(state, "out", "logic: gfx942: 1 files");

	/* Edited, it is another one, which is not pinned; the old one still is. */
	assert_int_equal(shell("sed -i 's/GlobalReadPerMfma: 1/GlobalReadPerMfma: 3/' '%s'/*/*/*.yaml '%s'/*/*.yaml '%s'/*.yaml 2>/dev/null; :",
			       logic, logic, logic), 0);
	build(state, logic, with_cache(state, ""));
	assert_int_equal(cache(state, "gc --cache-size 1"), 0);
	assert_int_equal(statistic(state, "entries"), 1);
	assert_int_equal(run(state, "cache pin '%s' --linker '%s' %s", logic, real_linker(), with_cache(state, "")), 0);
	uint64_t pins = statistic(state, "pins");
	assert_true(pins > 5 && statistic(state, "pinned_entries") == 1);	/* what is not there can be pinned, too */

	assert_int_equal(run(state, "cache unpin '%s' %s --arch gfx90a", logic, with_cache(state, "")), 1);
	must_complain_once(state, "is pinned under it");
	assert_int_equal(run(state, "cache unpin '%s' %s %s", logic, name, with_cache(state, "")), 0);
	must_say(state, "out", "2 pins were removed");
	assert_int_equal(statistic(state, "pins"), pins - 2);
	assert_int_equal(shell("rm -r '%s'", logic), 0);		/* its pins can still be removed, by its path */
	assert_int_equal(run(state, "cache unpin '%s' %s", logic, with_cache(state, "")), 0);
	assert_int_equal(statistic(state, "pins"), 0);
	assert_int_equal(cache(state, "gc --cache-size 1"), 0);
	assert_int_equal(statistic(state, "entries"), 0);
}

/* ---- checking it ------------------------------------------------------------------------------------------------------ */

/* Turns over a byte in the middle of the file's bytes in data.mdb. */
static void damage(void **state, const char *file)
{
	size_t size;
	_cleanup_free_ char *bytes = read_text(file, &size);
	_cleanup_close_ int fd = open(in_scratch(state, "cache/data.mdb"), O_RDWR | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0 && fstat(fd, &st) == 0 && size > 1000);
	uint8_t *map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	uint8_t *at = memmem(map, (size_t)st.st_size, bytes + size / 2, 100);
	assert_non_null(at);
	*at ^= 0x40;
	munmap(map, (size_t)st.st_size);
}

static void test_a_damaged_file_is_found_repaired_and_never_served(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *built = build(state, logic, with_cache(state, ""));
	char file[512];

	snprintf(file, sizeof(file), "%s/gfx942/%s", built, code_object(state, logic, 1));
	assert_int_equal(cache(state, "check"), 0);
	must_say(state, "out", ", 0 are damaged");
	damage(state, file);
	for (unsigned i = 0; i < 2; i++) {			/* looking changes nothing */
		assert_int_equal(cache(state, "check"), 1);
		must_complain_once(state, "its value is not what was stored");
		must_say(state, "out", ", 1 are damaged");
	}
	must_be_equal(built, build(state, logic, with_cache(state, "")));
	assert_int_equal(cache(state, "check"), 0);
	damage(state, file);
	assert_int_equal(cache(state, "check --repair"), 1);
	must_say(state, "out", "what was wrong has been repaired");
	assert_int_equal(cache(state, "check"), 0);
}

/* What a faulty generator or memory would leave: other bytes under a sound digest, which only making them anew can tell. */
static void replace_record(void **state, const struct cachedb_key *key, const void *data, size_t size)
{
	struct cachedb *db = open_cache(state);
	struct cachedb_info info;

	assert_int_equal(cachedb_stat(db, key, &info), 0);
	assert_int_equal(cachedb_delete(db, key), 0);
	assert_int_equal(cachedb_put(db, key, data, size, &info, NULL), 0);
	cachedb_close(db);
}

static struct cachedb_key hash_of(void **state, const char *logic, const char *name)
{
	struct cachedb_key key;
	char digits[3] = "";

	assert_int_equal(run(state, "hash '%s' %s --linker '%s'", logic, name, real_linker()), 0);
	_cleanup_free_ char *text = read_text(in_scratch(state, "out"), NULL);
	for (size_t i = 0; i < sizeof(key.bytes); i++) {
		memcpy(digits, text + 2 * i, 2);
		key.bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return key;
}

static void test_files_made_anew_are_compared(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *name = code_object(state, logic, 0);
	const char *built = build(state, logic, with_cache(state, ""));
	char check[256];
	size_t size;

	snprintf(check, sizeof(check), "check --rebuild '%s'", logic);
	assert_int_equal(cache(state, check), 0);
	must_say(state, "out", ": 0 are wrong in the cache, 0 are not in it");
	_cleanup_free_ char *bytes = read_text(in_scratch(state, "%s/gfx942/%s", strrchr(built, '/') + 1, name), &size);
	struct cachedb_key key = hash_of(state, logic, name);
	bytes[100] ^= 1;
	replace_record(state, &key, bytes, size);
	assert_int_equal(cache(state, "check"), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(cache(state, check), 1);
		must_complain_once(state, "the cache has other bytes from byte 100 on");
		must_say(state, "err", name);
	}
	snprintf(check, sizeof(check), "check --repair --rebuild '%s'", logic);
	assert_int_equal(cache(state, check), 1);
	must_say(state, "out", "what was wrong has been repaired");
	assert_int_equal(cache(state, check), 0);
	must_be_equal(built, build(state, logic, with_cache(state, "")));
	write_text(in_scratch(state, "logic/broken.yaml"), "- {MinimumRequiredVersion: 4.33.0}\n");
	assert_int_equal(cache(state, check), 1);		/* which is the user's to repair */
	must_say(state, "out", "1 of 1 faults are no faults of the cache or could not be repaired");
	assert_int_equal(unlink(in_scratch(state, "logic/broken.yaml")), 0);
	assert_int_equal(cache(state, "clear"), 0);
	assert_int_equal(cache(state, check), 0);
	must_say(state, "out", "are wrong in the cache, ");
	assert_int_equal(shell("grep -q ', 0 are not in it' '%s'", in_scratch(state, "out")), 1);
}

struct memo {
	struct cachedb_key key;
	bool found;
};

static int find_memo(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info)
{
	struct memo *memo = userdata;

	if (info->size != sizeof(*key) || memo->found)
		return 0;
	*memo = (struct memo){ *key, true };
	return 0;
}

static void test_a_note_of_the_wrong_hash_is_found(void **state)
{
	const char *logic = copy_logic(state, "logic", 2);
	const char *built = build(state, logic, with_cache(state, ""));
	struct memo memo = { 0 };
	char check[256];

	struct cachedb *db = open_cache(state);
	assert_int_equal(cachedb_foreach(db, find_memo, &memo), 0);
	cachedb_close(db);
	assert_true(memo.found);
	struct cachedb_key other = hash_of(state, logic, code_object(state, logic, 0));
	struct cachedb_key another = hash_of(state, logic, code_object(state, logic, 1));
	replace_record(state, &memo.key, other.bytes, sizeof(other.bytes));
	snprintf(check, sizeof(check), "check --rebuild '%s'", logic);
	if (cache(state, check) == 0) {			/* that was the right one */
		replace_record(state, &memo.key, another.bytes, sizeof(another.bytes));
		assert_int_equal(cache(state, check), 1);
	}
	must_complain_once(state, "the cache has noted another hash for this logic");
	snprintf(check, sizeof(check), "check --repair --rebuild '%s'", logic);
	assert_int_equal(cache(state, check), 1);
	must_be_equal(built, build(state, logic, with_cache(state, "")));
	assert_int_equal(cache(state, check), 0);
}

enum wreckage { ALL, POINTERS, ENTRIES };

/*
 * Overwrites what is not the two pages that say where the tree is: all of it, or in larger leaves of the tree the pointers to the
 * entries, or the entries themselves. A page begins with its number, and has its flags at 10 and the bounds of its free part at 12.
 */
static void wreck_tree(void **state, enum wreckage wreckage)
{
	_cleanup_close_ int fd = open(in_scratch(state, "cache/data.mdb"), O_RDWR | O_CLOEXEC);
	uint8_t page[4096];
	uint16_t flags, bounds[2];

	assert_true(fd >= 0);
	for (off_t at = 2 * sizeof(page); pread(fd, page, sizeof(page), at) == sizeof(page); at += sizeof(page)) {
		memcpy(&flags, page + 10, sizeof(flags));
		memcpy(bounds, page + 12, sizeof(bounds));
		if (wreckage == ALL)
			memset(page, 0xff, sizeof(page));
		else if (flags != 2 || *(uint64_t *)page != (uint64_t)at / sizeof(page) || bounds[0] < 28)
			continue;
		else if (wreckage == POINTERS)
			memset(page + 16, 0xff, bounds[0] - 16);
		else
			memset(page + bounds[1], 0xff, sizeof(page) - bounds[1]);
		assert_int_equal(pwrite(fd, page, sizeof(page), at), sizeof(page));
	}
}

static void test_a_wrecked_database_is_survived_and_begun_anew(void **state)
{
	const char *logic = copy_logic(state, "logic", 4), *built = build(state, logic, with_cache(state, ""));

	setenv("ASAN_OPTIONS", "handle_segv=0:handle_sigbus=0:handle_abort=0", 1);	/* a crash shall be one under the sanitizers, too */
	for (enum wreckage i = ALL; i <= ENTRIES; i++) {
		for (unsigned looked = 0; looked < 2; looked++) {
			assert_int_equal(cache(state, "check"), 0);
			wreck_tree(state, i);
			if (looked) {
				assert_int_equal(cache(state, "check"), 1);
				must_complain_once(state, "cache'");
			}
			assert_int_equal(cache(state, "check --repair"), 1);
			must_say(state, "err", "it has been begun anew");
			assert_int_equal(cache(state, "check"), 0);
			must_be_equal(built, build(state, logic, with_cache(state, "")));
		}
	}
}

/* ---- kill -9 ---------------------------------------------------------------------------------------------------------- */

#define N_KILLS 30

static pid_t start_build(void **state, const char *logic, const char *out, const char *limit)
{
	const char *program = tensilefs(), *linker = real_linker(), *folder = in_scratch(state, "cache");
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program, program, "build", "-j", "2", "--linker", linker, "--cache", folder, "--cache-size", limit, logic, out, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* Two builds at a time, each killed somewhere on its way; every other cache is so small that they evict each other's files. */
static void test_killed_builds_leave_only_right_bytes(void **state)
{
	const char *logic = copy_logic(state, "logic", 0), *reference = build(state, logic, "--no-cache");
	const char *outs[2] = { in_scratch(state, "out-0"), in_scratch(state, "out-1") };
	unsigned seed = 4711, killed = 0;
	int status;

	assert_int_equal(cache(state, "clear"), 0);		/* the first may die before there is one */
	for (unsigned i = 0; i < N_KILLS / 2; i++) {
		const char *limit = i % 2 ? "300K" : "100M";
		pid_t pids[2] = { start_build(state, logic, outs[0], limit), start_build(state, logic, outs[1], limit) };
		for (unsigned k = 0; k < 2; k++) {
			usleep((unsigned)rand_r(&seed) % 100000);
			kill(pids[k], SIGKILL);
			assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
			killed += WIFSIGNALED(status);
			if (WIFEXITED(status))
				assert_int_equal(WEXITSTATUS(status), 0);
		}
		assert_int_equal(cache(state, "check"), 0);
		assert_int_equal(shell("{ cd '%s' 2>/dev/null && find . -type f -name '[^.]*' -exec cmp {} '%s'/{} ';'; } | grep .", outs[0],
				       reference), 1);
		assert_int_equal(shell("rm -rf '%s' '%s'", outs[0], outs[1]), 0);
	}
	assert_true(killed > N_KILLS / 3);
	must_be_equal(reference, build(state, logic, with_cache(state, "")));
	must_be_equal(reference, build(state, logic, with_cache(state, "")));
	assert_int_equal(run(state, "cache check --rebuild '%s' --linker '%s' %s", logic, real_linker(), with_cache(state, "")), 0);
}

/* ---- a mount over it -------------------------------------------------------------------------------------------------- */

static void test_open_files_keep_their_bytes_when_they_are_evicted(void **state)
{
	need_fuse();
	const char *logic = copy_logic(state, "logic", 4), *reference = build(state, logic, "--no-cache");
	struct mount mount = mount_logic(state, logic, with_cache(state, "--cache-size 100K -o ahead=0"));
	const char *file = file_in(&mount, ".co", 0);
	char expected[512];

	int fd = open(file, O_RDONLY);		/* for cmp, too */
	assert_true(fd >= 0);
	assert_int_equal(shell("cat '%s'/gfx942/* >/dev/null", mount.path), 0);		/* more than may stay */
	assert_true(mount_number(&mount, "disk_evictions") > 0);
	assert_int_equal(cache(state, "clear"), 0);
	assert_int_equal(shell("echo 1 >/proc/sys/vm/drop_caches 2>/dev/null || :"), 0);	/* so that the mount is asked */
	snprintf(expected, sizeof(expected), "%s/gfx942/%s", reference, strrchr(file, '/') + 1);
	assert_int_equal(shell("cmp '%s' /proc/self/fd/%d", expected, fd), 0);
	close(fd);
	must_be_equal(in_scratch(state, "mnt/gfx942"), in_scratch(state, "%s/gfx942", strrchr(reference, '/') + 1));
	assert_int_equal(mount_end(&mount), 0);

	mount = mount_logic(state, logic, with_cache(state, "--cache-size 100K"));	/* nothing in memory: what was evicted is built again */
	must_be_equal(in_scratch(state, "mnt/gfx942"), in_scratch(state, "%s/gfx942", strrchr(reference, '/') + 1));
	assert_true(mount_number(&mount, "builds") > 0);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(cache(state, "check"), 0);
}

static void test_a_cache_that_a_mount_uses_can_be_looked_after(void **state)
{
	need_fuse();
	const char *logic = copy_logic(state, "logic", 2), *reference = build(state, logic, "--no-cache");
	struct mount mount = mount_logic(state, logic, with_cache(state, ""));

	must_be_equal(in_scratch(state, "mnt/gfx942"), in_scratch(state, "%s/gfx942", strrchr(reference, '/') + 1));
	assert_int_equal(run(state, "cache pin '%s' --linker '%s' %s", logic, real_linker(), with_cache(state, "")), 0);
	assert_int_equal(cache(state, "gc --cache-size 1"), 0);
	must_complain_once(state, "another process uses it");
	assert_int_equal(mount_number(&mount, "disk_pinned_bytes"), statistic(state, "pinned_bytes"));
	assert_int_equal(run(state, "cache check --repair --rebuild '%s' --linker '%s' %s", logic, real_linker(), with_cache(state, "")), 0);
	must_say(state, "out", ": 0 are wrong in the cache, 0 are not in it");
	must_be_equal(in_scratch(state, "mnt/gfx942"), in_scratch(state, "%s/gfx942", strrchr(reference, '/') + 1));
	assert_int_equal(mount_end(&mount), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_wrong_calls_are_said),
		TEST(test_statistics_and_collection),
		TEST(test_pins_belong_to_the_bytes_and_go_by_the_name),
		TEST(test_a_damaged_file_is_found_repaired_and_never_served),
		TEST(test_files_made_anew_are_compared),
		TEST(test_a_note_of_the_wrong_hash_is_found),
		TEST(test_a_wrecked_database_is_survived_and_begun_anew),
		TEST(test_killed_builds_leave_only_right_bytes),
		TEST(test_open_files_keep_their_bytes_when_they_are_evicted),
		TEST(test_a_cache_that_a_mount_uses_can_be_looked_after),
	};
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
