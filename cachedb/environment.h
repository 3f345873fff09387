/* SPDX-License-Identifier: MIT */
/* LMDB's environment of a directory, opened as a cache wants it. Speaks LMDB's language: 0, a positive errno, or an MDB_ code. */
#pragma once

#include "cachedb/directory.h"
#include "cachedb/store.h"

/*
 * For a directory of which this process has no environment open, as LMDB demands. Makes the database when there is none, unless
 * read_only; mdb_env_close() ends it. A code of damage when the file cannot be what LMDB has written.
 */
int environment_open(const struct directory *directory, bool read_only, MDB_env **ret_env, struct store_tables *ret_tables);

/* Is this one of the codes that say so? */
bool environment_is_damaged(int rc);

/* How many of the pages from number `first` on are free. LMDB lets transactions of readers alone read that. */
int environment_count_free(MDB_txn *txn, size_t first, uint64_t *ret_pages);
