/* SPDX-License-Identifier: MIT */
/* LMDB's environment of a directory, opened as a cache wants it. Speaks LMDB's language: 0, a positive errno, or an MDB_ code. */
#pragma once

#include "cachedb/directory.h"
#include "cachedb/store.h"

#define FREE_TABLE 0		/* LMDB's own: transaction -> number and list of the pages that it freed; see mdb_stat(1) -f */

/*
 * For a directory of which this process has no environment open, as LMDB demands. Makes the database when there is none, unless
 * read_only; mdb_env_close() ends it. A code of damage when the file cannot be what LMDB has written.
 */
int environment_open(const struct directory *directory, bool read_only, MDB_env **ret_env, struct store_tables *ret_tables);

/* Is this one of the codes that say so? */
bool environment_is_damaged(int rc);
