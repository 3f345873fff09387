/* SPDX-License-Identifier: MIT */
/* Making room, inside a write transaction; speaks LMDB's language. */
#pragma once

#include "cachedb/record.h"

/*
 * Removes least recently used records until the values sum up to at most max_bytes; entries that cannot be read go first of all. Reads
 * the whole index when there is something to remove, else only the sum.
 */
int evict_to(MDB_txn *txn, const struct store_tables *tables, uint64_t max_bytes, uint64_t *ret_evictions, uint64_t *ret_freed);
