/* SPDX-License-Identifier: MIT */
/*
 * For tests that make files and run programs, each test in a new folder of its own: TEST(test_name) in the list of tests, and *state is the
 * folder. What goes wrong fails the test.
 */
#pragma once

#include "base/macro.h"
#include "tests/common/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

/* "scratch/name", formatted; static memory, the last 1024 stay valid. */
PRINTF_LIKE(2, 3) const char *in_scratch(void **state, const char *format, ...);

void write_text(const char *path, const char *text);
char *read_text(const char *path, size_t *ret_size);	/* malloc memory, NUL-terminated; the size without the NUL, or NULL */

/* A script in the scratch folder: `body` is shell. */
const char *make_script(void **state, const char *name, const char *body);

/* Runs a shell command; its exit status. */
PRINTF_LIKE(1, 2) int shell(const char *format, ...);
