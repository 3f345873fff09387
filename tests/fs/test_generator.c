/* SPDX-License-Identifier: MIT */
/* A mount whose kernels are made by a TensileLite, for which there is a stand-in. */
#include "tests/common/tool.h"
#include "tests/fs/common.h"

/* Options for `tensilefs`; static memory. There is no HIP compiler where PATH and ROCM_PATH lead. */
static const char *options_of(void **state)
{
	static char text[1024];
	struct standin standin = make_standin(state);

	if (!tool("llvm-mc"))
		skip();
	snprintf(text, sizeof(text), "--generator 'tensilelite:%s' --python '%s' --assembler '%s' --linker '%s' --bundle none", standin.folder,
		 standin.python, tool("llvm-mc"), real_linker());
	return text;
}

static void test_a_copy_from_the_mount_is_what_build_writes(void **state)
{
	const char *logic = copy_logic(state, "logic", 3), *options = options_of(state), *copy = in_scratch(state, "copy");
	const char *built = in_scratch(state, "built");
	char arguments[1200];

	need_fuse();
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	setenv("ROCM_PATH", *state, 1);
	setenv("PATH", *state, 1);
	snprintf(arguments, sizeof(arguments), "--no-cache -j2 %s", options);
	struct mount mount = mount_logic(state, logic, arguments);
	setenv("PATH", path, 1);
	assert_int_equal(shell("ls '%s/gfx942' > /dev/null", mount.path), 0);
	assert_int_equal(shell("test -e '%s'", in_scratch(state, "processes")), 1);		/* names start nothing */
	assert_int_equal(shell("cp -r '%s/gfx942' '%s'", mount.path, copy), 0);
	assert_true(mount_number(&mount, "kernels") > 0);
	assert_int_equal(mount_end(&mount), 0);

	assert_int_equal(shell("PATH='%s' '%s' build --no-cache -j1 %s '%s' '%s' 2>/dev/null", (char *)*state, tensilefs(), options, logic, built), 0);
	assert_int_equal(shell("diff -r '%s' '%s/gfx942'", copy, built), 0);
	assert_int_equal(run(state, "compare '%s' '%s/gfx942'", copy, built), 0);
	unsetenv("ROCM_PATH");
}

static void test_a_build_that_fails_fast_begins_no_other_file(void **state)
{
	const char *logic = copy_logic(state, "logic", 6), *options = options_of(state);

	write_text(in_scratch(state, "behaviour"), "C refuse\n");
	assert_int_equal(run(state, "build --no-cache -j1 --fail-fast %s '%s' '%s'", options, logic, in_scratch(state, "built")), 1);
	must_say(state, "err", "this kernel is refused");
	must_say(state, "err", "1 of ");
	assert_int_equal(shell("test $(grep -vc ^helpers '%s') = 1", in_scratch(state, "requests")), 0);
}

static void test_a_tensilelite_that_is_not_there_is_told(void **state)
{
	assert_int_equal(run(state, "build --no-cache --generator tensilelite:%s/nothing '%s' '%s'", (char *)*state, sample_logic(), in_scratch(state, "out")), 1);
	must_complain_once(state, "nothing");
	assert_int_equal(run(state, "build --no-cache --generator other '%s' '%s'", sample_logic(), in_scratch(state, "out")), 2);
	must_complain_once(state, "'other' is not 'native' or 'tensilelite:DIR'");
	assert_int_equal(run(state, "build --no-cache --build-id uuid '%s' '%s'", sample_logic(), in_scratch(state, "out")), 2);
	must_complain_once(state, "'uuid' is not one of");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_copy_from_the_mount_is_what_build_writes),
		TEST(test_a_build_that_fails_fast_begins_no_other_file),
		TEST(test_a_tensilelite_that_is_not_there_is_told),
	};
	return cmocka_run_group_tests_name("fs_generator", tests, NULL, NULL);
}
