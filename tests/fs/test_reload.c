/* SPDX-License-Identifier: MIT */
/* Edits of the logic under a live mount. Each has to be seen within a second of its end. */
#include "tests/fs/common.h"

#include <fcntl.h>
#include <sys/stat.h>

/* The n-th logic file below a folder, from 1. */
static const char *logic_file(void **state, const char *folder, unsigned n)
{
	const char *list = in_scratch(state, "list"), *path;

	assert_int_equal(shell("find '%s' -name '*.yaml' | LC_ALL=C sort | sed -n %up > '%s'", folder, n, list), 0);
	_cleanup_free_ char *text = read_text(list, NULL);
	text[strcspn(text, "\n")] = 0;
	path = in_scratch(state, "%s", text + strlen(*state) + 1);
	assert_int_equal(access(path, R_OK), 0);
	return path;
}

/* Waits until a shell command succeeds, for a second. */
PRINTF_LIKE(1, 2) static void soon(const char *format, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	double end = seconds() + 1;
	while (shell("%s", command) != 0) {
		if (seconds() > end)
			fail_msg("not after a second: %s", command);
		usleep(10000);
	}
}

/* What ls prints of the arch becomes that of a fresh look at the same logic. */
static void shows_what_a_fresh_look_does(const struct mount *mount, const char *logic)
{
	soon("[ \"$(cd '%s' && ls -d gfx942/* 2>&1 | LC_ALL=C sort)\" = \"$('%s' ls '%s' | cut -d' ' -f1 | LC_ALL=C sort)\" ]", mount->path, tensilefs(),
	     logic);
}

static void test_added_renamed_and_removed_files_are_seen(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *more = copy_logic(state, "more", 4), *base = in_scratch(state, "base");
	const char *third = logic_file(state, more, 3), *fourth = logic_file(state, more, 4);
	struct mount mount = mount_logic(state, logic, "--no-cache -o entry_timeout=600");

	assert_int_equal(shell("mkdir '%s' && cp '%s' '%s' && '%s' ls '%s' | grep '_Type_.*co' | cut -d' ' -f1 > '%s'", base, third, base, tensilefs(),
			       base, in_scratch(state, "name")), 0);
	_cleanup_free_ char *name = read_text(in_scratch(state, "name"), NULL);
	name[strcspn(name, "\n")] = 0;
	assert_int_equal(shell("test -e '%s/%s'", mount.path, name), 1);		/* which the kernel keeps in mind */
	assert_int_equal(shell("cp '%s' '%s/third.yaml'", third, logic), 0);
	soon("test -s '%s/%s'", mount.path, name);
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(shell("mkdir -p '%s/new/folder' && mv '%s/third.yaml' '%s/new/folder/renamed.yaml'", logic, logic, logic), 0);
	soon("grep -qs renamed.yaml '%s/.tensilefs/logic/%s'", mount.path, name);
	assert_int_equal(shell("cp '%s' '%s/new/folder/'", fourth, logic), 0);
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(shell("rm -r '%s/new'", logic), 0);
	soon("! test -e '%s/%s'", mount.path, name);
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_half_written_file_is_seen_when_it_is_whole(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *more = copy_logic(state, "more", 2), *second = logic_file(state, more, 2);
	struct mount mount = mount_logic(state, logic, "--no-cache");

	assert_int_equal(shell("head -c 300 '%s' > '%s/half.yaml'", second, logic), 0);
	soon("grep -q half.yaml '%s/.tensilefs/status'", mount.path);
	assert_int_equal(shell("test $(ls '%s/gfx942' | wc -l) = 6", mount.path), 0);
	assert_int_equal(shell("tail -c +301 '%s' >> '%s/half.yaml'", second, logic), 0);
	soon("test $(ls '%s/gfx942' | wc -l) = 8 && ! grep -q half.yaml '%s/.tensilefs/status'", mount.path, mount.path);
	assert_int_equal(shell("cp -r '%s/gfx942' '%s'", mount.path, in_scratch(state, "copy")), 0);
	assert_int_equal(mount_end(&mount), 0);
}

/* Cuts a logic file off in the head, or in the solutions. `folder` is where the files of the mount are: below it, or "". */
static void check_broken(void **state, const char *cut, const char *options, const char *folder)
{
	const char *logic = copy_logic(state, "logic", 2), *broken = logic_file(state, logic, 1), *good = in_scratch(state, "good");
	const char *first = in_scratch(state, "first"), *now = in_scratch(state, "now");
	struct mount mount = mount_logic(state, logic, options);

	assert_int_equal(shell("cp -r '%s%s' '%s' && cp '%s' '%s'", mount.path, folder, first, broken, good), 0);
	uint64_t builds = mount_number(&mount, "builds");
	assert_int_equal(shell("head -c %s '%s' > '%s'", cut, good, broken), 0);
	soon("tr '\\n' ' ' < '%s/.tensilefs/status' | grep -q '\"stale\":.*%s'", mount.path, strrchr(broken, '/') + 1);
	assert_int_equal(shell("rm -rf '%s'; cp -r '%s%s' '%s' && diff -r '%s' '%s'", now, mount.path, folder, now, first, now), 0);
	assert_int_equal(mount_number(&mount, "builds"), builds);
	assert_int_equal(shell("sed 's/LdsPadA: 16/LdsPadA: 8/' '%s' > '%s.new' && mv '%s.new' '%s'", good, broken, broken, broken), 0);
	soon("tr '\\n' ' ' < '%s/.tensilefs/status' | grep -q '\"stale\":\\[ *\\]'", mount.path);
	soon("rm -rf '%s'; cp -r '%s%s' '%s' && ! diff -rq '%s' '%s' >/dev/null", now, mount.path, folder, now, first, now);
	assert_int_equal(mount_number(&mount, "builds"), builds + 2);		/* the .co and the .dat of that file */
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_file_broken_in_its_head_keeps_its_last_good_version(void **state)
{
	check_broken(state, "200", "--no-cache", "/gfx942");
}

static void test_a_file_broken_in_its_solutions_keeps_its_last_good_version(void **state)
{
	check_broken(state, "-4000", "--no-cache", "/gfx942");
}

static void test_a_broken_file_keeps_the_library_that_it_is_part_of(void **state)
{
	check_broken(state, "200", "--no-cache -o layout=flat,library=merged", "");
}

static void test_the_whole_folder_can_be_replaced(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *other = copy_logic(state, "other", 3);
	struct mount mount = mount_logic(state, logic, "--no-cache");

	assert_int_equal(shell("rm '%s' && mv '%s' '%s.old'", logic_file(state, other, 1), logic, logic), 0);
	usleep(400000);
	assert_int_equal(shell("test $(ls '%s/gfx942' | wc -l) = 8", mount.path), 0);		/* nothing usable: as before */
	assert_int_equal(shell("mv '%s' '%s'", other, logic), 0);
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(shell("cp '%s.old'/*/*.yaml '%s' 2>/dev/null || cp $(find '%s.old' -name '*.yaml') '%s'", logic, logic, logic, logic), 0);
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_listing_while_files_come_and_go_shows_the_others_once(void **state)
{
	const char *logic = copy_logic(state, "logic", 3), *moved = logic_file(state, logic, 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *steady = strrchr(file_in(&mount, ".co", 1), '/') + 1;

	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(shell(i % 2 ? "mv '%s.away' '%s'" : "mv '%s' '%s.away'", moved, moved), 0);
		for (double end = seconds() + 0.2; seconds() < end;)
			assert_int_equal(shell("test $(ls '%s/gfx942' | grep -cx '%s') = 1", mount.path, steady), 0);
	}
	shows_what_a_fresh_look_does(&mount, logic);
	assert_int_equal(mount_end(&mount), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_added_renamed_and_removed_files_are_seen),
		TEST(test_a_half_written_file_is_seen_when_it_is_whole),
		TEST(test_a_file_broken_in_its_head_keeps_its_last_good_version),
		TEST(test_a_file_broken_in_its_solutions_keeps_its_last_good_version),
		TEST(test_a_broken_file_keeps_the_library_that_it_is_part_of),
		TEST(test_the_whole_folder_can_be_replaced),
		TEST(test_listing_while_files_come_and_go_shows_the_others_once),
	};
	need_fuse();
	return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
