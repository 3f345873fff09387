/* SPDX-License-Identifier: MIT */
/* What fails is an error to who asks, with its reason in both places of a mount; builds and proofs are strict. */
#include "tests/fs/common.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define KILLED "kill -9 $$"

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void must_have(const char *path, const char *attribute, const char *words)
{
	char value[2048];
	ssize_t n = getxattr(path, attribute, value, sizeof(value) - 1);

	assert_true(n > 0);
	value[n] = 0;
	if (!strstr(value, words))
		fail_msg("'%s' is not in '%s'", words, value);
}

static void must_fail(const struct mount *mount, const char *path, const char *words)
{
	struct stat st;

	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EIO);
	must_have(path, "user.tensilefs.state", "failed");
	must_have(path, "user.tensilefs.error", words);
	assert_int_equal(shell("grep -qF \"%s\" '%s/.tensilefs/errors/%s'", words, mount->path, base_name(path)), 0);
	assert_int_equal(shell("'%s' status --once '%s' | grep -F \"%s\" | grep -qF '  gfx942/%s: '", tensilefs(), mount->path, words,
			       base_name(path)), 0);
}

static void must_work(const struct mount *mount, const char *path)
{
	assert_int_equal(shell("test -s '%s' && cat '%s' >/dev/null", path, path), 0);
	must_have(path, "user.tensilefs.state", "built");
	assert_int_equal(getxattr(path, "user.tensilefs.error", NULL, 0), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(shell("test ! -e '%s/.tensilefs/errors/%s'", mount->path, base_name(path)), 0);
}

static struct mount mount_with(void **state, const char *linker)
{
	char arguments[512];

	snprintf(arguments, sizeof(arguments), "--no-cache -o ahead=0 --linker '%s'", linker);
	return mount_logic(state, copy_logic(state, "logic", 1), arguments);
}

static void test_a_failed_link_has_its_reason_in_both_places(void **state)
{
	static const struct { const char *body, *says; } linkers[] = {
		{ KILLED, "was killed by signal 9" },
		{ "echo 'error: no room' >&2; exit 3", "ended with status 3: error: no room" },
		{ "exit 0", "wrote 0 bytes that are no code object" },
	};
	struct mount mount = mount_with(state, make_linker(state, "lld", linkers[0].body));
	const char *path = file_in(&mount, ".co", 0);
	char body[512];

	for (size_t i = 0; i < ARRAY_SIZE(linkers); i++) {
		make_linker(state, "lld", linkers[i].body);
		must_fail(&mount, path, linkers[i].says);
	}
	must_work(&mount, file_in(&mount, ".dat", 0));
	snprintf(body, sizeof(body), "exec %s \"$@\"", real_linker());
	make_linker(state, "lld", body);
	must_work(&mount, path);		/* the next to ask tries again */
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_missing_linker_is_told_when_it_is_needed(void **state)
{
	const char *linker = in_scratch(state, "ld.lld");
	struct mount mount = mount_with(state, linker);

	must_work(&mount, file_in(&mount, ".dat", 0));
	must_fail(&mount, file_in(&mount, ".co", 0), "ld.lld' cannot be found or run");
	assert_int_equal(symlink(real_linker(), linker), 0);
	must_work(&mount, file_in(&mount, ".co", 0));
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- without a mount -------------------------------------------------------------------------------------------------- */

static void test_a_build_whose_linker_is_killed_fails(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *linker = make_linker(state, "lld", KILLED), *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --no-cache --linker '%s' '%s' '%s'", linker, logic, out), 1);
	must_say(state, "err", "was killed by signal 9");
	must_say(state, "err", "3 of 8 files could not be built");
	assert_int_equal(shell("test $(ls -A '%s/gfx942' | wc -l) = 5 && ! ls '%s'/gfx942/*.co 2>/dev/null", out, out), 0);
}

static void test_a_build_on_a_full_disk_fails_and_leaves_only_whole_files(void **state)
{
	const char *logic = copy_logic(state, "logic", 6), *out = in_scratch(state, "small"), *whole = in_scratch(state, "whole");

	assert_int_equal(mkdir(out, 0700), 0);
	if (mount("none", out, "tmpfs", 0, "size=160k,mode=0700") < 0)
		skip();
	assert_int_equal(run(state, "build --no-cache --linker '%s' '%s' '%s'", real_linker(), logic, whole), 0);
	assert_int_equal(run(state, "build --no-cache --linker '%s' '%s' '%s'", real_linker(), logic, out), 1);
	must_say(state, "err", "cannot write it into '");
	must_say(state, "err", "No space left on device");
	must_say(state, "err", "files could not be built");
	assert_int_equal(shell("cd '%s' && test $(ls -A gfx942 | wc -l) -gt 0 && for f in $(find . -type f); do cmp $f '%s'/$f || exit 1; done", out,
			       whole), 0);
}

static void test_a_proof_without_a_linker_is_none(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);

	assert_int_equal(run(state, "verify --no-cache --quick --linker /no/ld.lld '%s'", logic), 1);
	must_say(state, "err", "the linker '/no/ld.lld' cannot be found or run");
	must_say(state, "out", "0 of 0 kernels proven");
	assert_int_equal(run(state, "verify --no-cache --quick --linker '%s' '%s'", make_linker(state, "lld", KILLED), logic), 1);
	must_say(state, "err", "was killed by signal 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_failed_link_has_its_reason_in_both_places),
		TEST(test_a_missing_linker_is_told_when_it_is_needed),
		TEST(test_a_build_whose_linker_is_killed_fails),
		TEST(test_a_build_on_a_full_disk_fails_and_leaves_only_whole_files),
		TEST(test_a_proof_without_a_linker_is_none),
	};
	need_fuse();
	return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
