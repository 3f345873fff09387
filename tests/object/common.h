/* SPDX-License-Identifier: MIT */
/* For the tests of objects and bundles: LLVM's tools, files in a scratch directory, and a look into ELF files. */
#pragma once

#include "build/object/object.h"
#include "tests/common/scratch.h"
#include "tests/common/tool.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, working_scratch_make, working_scratch_remove)
#define SKIPPED 77			/* what meson takes for a skipped test */

/* A new working directory for one test, and its removal. */
int working_scratch_make(void **state);
int working_scratch_remove(void **state);

/* Runs a shell command in the working directory; fails the test when it fails. Its standard output, NUL terminated, malloc memory. */
PRINTF_LIKE(1, 2) char *run(const char *format, ...);

void write_file(const char *name, const void *bytes, size_t size);
struct buffer read_file(const char *name);

struct bytes {
	const uint8_t *data;
	size_t size;
};

/* The section's header; fails the test when there is none. section_bytes() is its content. */
const Elf64_Shdr *find_section(const struct buffer *elf, const char *name);
struct bytes section_bytes(const struct buffer *elf, const char *name);

/* A symbol of .symtab or .dynsym. */
const Elf64_Sym *find_symbol(const struct buffer *elf, const char *table, const char *strings, const char *name);

/* What stands at an address of a linked file, `size` bytes of it. */
const uint8_t *at_address(const struct buffer *elf, uint64_t address, size_t size);
