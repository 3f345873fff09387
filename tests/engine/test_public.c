/* SPDX-License-Identifier: MIT */
/* Only what an application sees: the installed header and the shared library. */
#include "tensilefs/tensilefs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int note_name(void *userdata, const char *name)
{
	char *object = userdata;

	if (strstr(name, ".co") && !*object)
		strcpy(object, name);
	return 0;
}

static void test_an_application_gets_bytes_that_outlive_the_library(void **state)
{
	struct tensilefs_options options = { .logic = TENSILEFS_SOURCE "/samples/logic", .linker = getenv("TENSILEFS_TEST_LINKER") };
	struct tensilefs *library;
	struct tensilefs_stat stat;
	struct tensilefs_bytes bytes;
	char reason[TENSILEFS_REASON] = "", object[256] = "", *json;

	if (tensilefs_open(&options, &library, reason) < 0)
		fail_msg("%s", reason);
	assert_null(tensilefs_fault(library, 0));
	assert_string_equal(tensilefs_arch(library, 0), "gfx942");
	assert_null(tensilefs_arch(library, 1));
	assert_int_equal(tensilefs_foreach(library, "gfx942", note_name, object), 0);
	assert_int_equal(tensilefs_foreach(library, "gfx90a", note_name, object), -ENOENT);
	assert_int_equal(tensilefs_stat(library, "gfx942", object, &stat), 0);
	assert_false(stat.known);
	if (tensilefs_get(library, "gfx942", object, &bytes, reason) < 0)
		fail_msg("%s", reason);
	assert_int_equal(tensilefs_stat(library, "gfx942", object, &stat), 0);
	assert_true(stat.known && stat.size == bytes.size && stat.kernels > 0);
	assert_int_equal(tensilefs_explain(library, "gfx942", object, &json, reason), 0);
	assert_non_null(strstr(json, "\"solutions\""));
	free(json);
	tensilefs_close(library);
	assert_memory_equal(bytes.data, "__CLANG_OFFLOAD_BUNDLE__", 24);
	tensilefs_bytes_release(&bytes);
	assert_null(bytes.data);
}

static int check_metadata(void *userdata, const char *name)
{
	struct tensilefs_bytes bytes;

	assert_string_equal(name + strlen(name) - 5, ".yaml");
	assert_int_equal(tensilefs_get(userdata, "gfx90a", name, &bytes, NULL), 0);
	assert_memory_equal(bytes.data, "---\n", 4);
	tensilefs_bytes_release(&bytes);
	return 0;
}

static void test_metadata_can_be_had_alone(void **state)
{
	struct tensilefs_options options = {
		.logic = TENSILEFS_SOURCE "/tests/assets/logic/archs", .keep_all = 1, .metadata_only = 1, .library_yaml = 1,
	};
	struct tensilefs *library;

	assert_int_equal(tensilefs_open(&options, &library, NULL), 0);
	assert_null(tensilefs_fault(library, 0));
	assert_int_equal(tensilefs_foreach(library, "gfx90a", check_metadata, library), 0);
	tensilefs_close(library);
}

static int count_file(void *userdata, const char *name)
{
	++*(int *)userdata;
	return 0;
}

static void test_a_library_can_be_had_as_a_whole(void **state)
{
	struct tensilefs_options options = {
		.logic = TENSILEFS_SOURCE "/tests/assets/logic/archs", .keep_all = 1, .metadata_only = 1, .library = TENSILEFS_LIBRARY_MERGED,
	};
	struct tensilefs_bytes here, there;
	struct tensilefs *library;
	int n = 0;

	assert_int_equal(tensilefs_open(&options, &library, NULL), 0);
	assert_int_equal(tensilefs_foreach(library, "gfx90a", count_file, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(tensilefs_get(library, "gfx90a", "TensileLibrary.dat", &here, NULL), 0);
	assert_int_equal(tensilefs_get(library, "gfx1100", "TensileLibrary.dat", &there, NULL), 0);
	assert_int_equal(here.size, there.size);
	assert_memory_equal(here.data, there.data, here.size);
	assert_non_null(memmem(here.data, here.size, "gfx1201", 7));
	tensilefs_bytes_release(&here);
	tensilefs_bytes_release(&there);
	tensilefs_close(library);
}

static void test_mistakes_are_answered_with_a_reason(void **state)
{
	struct tensilefs_options options = { .logic = "/no/such/logic" };
	struct tensilefs_bytes bytes;
	struct tensilefs *library;
	char reason[TENSILEFS_REASON] = "";

	assert_int_equal(tensilefs_open(&options, &library, reason), -ENOENT);
	assert_non_null(strstr(reason, "/no/such/logic"));
	assert_int_equal(tensilefs_open(NULL, &library, NULL), -EINVAL);
	options.logic = TENSILEFS_SOURCE "/samples/logic";
	assert_int_equal(tensilefs_open(&options, &library, NULL), 0);
	assert_int_equal(tensilefs_get(library, "gfx942", "nothing.co", &bytes, reason), -ENOENT);
	assert_int_equal(tensilefs_get(library, "gfx942", NULL, &bytes, reason), -EINVAL);
	tensilefs_close(library);
	tensilefs_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_application_gets_bytes_that_outlive_the_library),
		cmocka_unit_test(test_metadata_can_be_had_alone),
		cmocka_unit_test(test_a_library_can_be_had_as_a_whole),
		cmocka_unit_test(test_mistakes_are_answered_with_a_reason),
	};
	return cmocka_run_group_tests_name("public", tests, NULL, NULL);
}
