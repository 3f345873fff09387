/* SPDX-License-Identifier: MIT */
/* Making room, inside a write transaction; speaks LMDB's language. */
#pragma once

#include "cachedb/record.h"

struct eviction {
	uint64_t records, bytes;	/* that went */
};

/*
 * Removes least recently used records, but none that is pinned, until the values sum up to at most max_bytes; entries that cannot
 * be read go first of all. Reads the whole index when there is something to remove, else only the sum. When pins do not allow it:
 * EVICT_ALL_OR_NOTHING removes nothing and answers EBUSY, EVICT_WHAT_CAN_GO the other records.
 */
enum eviction_mode { EVICT_ALL_OR_NOTHING, EVICT_WHAT_CAN_GO };
int evict_to(MDB_txn *txn, const struct store_tables *tables, uint64_t max_bytes, enum eviction_mode mode, struct eviction *ret_eviction);
