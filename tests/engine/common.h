/* SPDX-License-Identifier: MIT */
/*
 * For the tests of the engine and of the mount: scratch folders, copies of the sample logic, made-up linkers, numbers of the
 * status.
 */
#pragma once

#include "build/engine/engine.h"
#include "tests/common/files.h"

#define SCRATCH_SIZE 128		/* bytes that the name of a scratch folder fits in */

/* The sample logic of the source tree. */
const char *sample_logic(void);

/* A copy of `n` files of it (0: all) to change; returns the folder. */
const char *copy_logic(void **state, const char *name, size_t n);

void replace_text(const char *path, const char *old, const char *new);	/* every occurrence; there must be one */

/* A script that says it is lld 22 and runs `body` for everything but --version; "$@" are lld's arguments. */
const char *make_linker(void **state, const char *name, const char *body);
const char *real_linker(void);		/* an absolute path; ends the program with 77 (skipped) when there is none */

/*
 * A stand-in for the user's TensileLite: a folder that has nothing but its name, and a python that runs standin.py, which says what
 * it leaves in the scratch folder. Skips the test where there is no python3.
 */
struct standin {
	const char *folder, *python;
};
struct standin make_standin(void **state);

/* What a program has been warned of: note_warning() is for engine_options.warn, with these as the userdata. */
struct warnings {
	unsigned n;
	char last[512];
};
void note_warning(void *userdata, const char *message);

struct engine *open_engine(const struct engine_options *options);

/* A number of the engine's status: status_number(engine, "built", "builds"). */
uint64_t status_number(struct engine *engine, const char *group, const char *key);

/* A file that can be made. */
struct artifact *get(struct engine *engine, struct engine_file *file);

struct engine_file *first_of_kind(struct engine *engine, enum engine_kind kind);
