/* SPDX-License-Identifier: MIT */
/* From what LLVM compiled to a struct ir and back to machine code, so that tests can take instructions out and change them. */
#pragma once

#include "build/codegen/ir_internal.h"

struct kernel {
	char name[64];
	const uint8_t *code;	/* in the object's memory */
	size_t size;
};

struct object {
	uint8_t *data;
	size_t size;
	struct kernel *kernels;
	size_t n_kernels;
};

/* Reads the functions of a relocatable ELF object, in order of their addresses. Fails the test when it is none. */
void object_load(struct object *object, const char *path);
void object_release(struct object *object);

/* Decodes a function; branches get labels. Instructions that are not decoded fail the test. */
struct ir *lift(const struct isa *isa, const uint8_t *code, size_t size);

/* The machine code as it stands, without passes. */
void lower(struct ir *ir, struct buffer *code);

/* Runs an LLVM tool: `arguments` ends with NULL, the first is the plain name ("clang"). Fails the test when the tool fails; skips it
 * when there is none. */
void run_tool(const char *const *arguments);

/* Creates a folder for this test's files and returns its path, which stays until release_folder(). */
const char *make_folder(void);
void release_folder(void);
