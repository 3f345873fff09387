/* SPDX-License-Identifier: MIT */
/*
 * For the tests of the cache: scratch directories, values that follow from a number, and a look at the database with LMDB alone.
 *
 * Value n has a size and bytes that everyone can compute again; so any process can tell a right byte from a wrong one.
 */
#pragma once

#include "cachedb/cachedb.h"
#include "tests/common/scratch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SCRATCH_SIZE 256		/* bytes that the name of a scratch directory fits in */

/* A test with a new directory of its own, whose name is *state. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)

struct cachedb_key key_of(unsigned n);
uint8_t *value_of(unsigned n, size_t size);		/* malloc memory */

struct cachedb *open_cache(const char *path, uint64_t max_bytes);
void put_value(struct cachedb *db, unsigned n, size_t size);

/* True when value n is there; fails the test when its size or a byte is wrong. */
bool has_value(struct cachedb *db, unsigned n, size_t size);
void must_have(struct cachedb *db, unsigned n, size_t size);
void must_lack(struct cachedb *db, unsigned n);

/* What cachedb_check() finds; its findings go nowhere. */
struct cachedb_check check_of(struct cachedb *db);

/* Opens the database with plain LMDB and checks that index, chunks and the stored sum agree. The cache must be closed. */
void must_be_consistent(const char *path);

/* A fork whose child aborts at a failed assertion instead of going on with the next test. */
pid_t fork_child(void);

/* Runs the function in such a child, which leaves with the result; answers the exit status, or 128 + the signal. */
int in_child(int (*function)(void *userdata), void *userdata);
