/* SPDX-License-Identifier: MIT */
/*
 * The insides of a cache handle, shared by its .c files:
 *     cachedb.c    opening, reading, writing
 *     room.c       limits: eviction, free space, compaction
 *     care.c       pins, walking, checking, statistics
 */
#pragma once

#include "cachedb/cachedb.h"
#include "cachedb/evict.h"
#include "cachedb/record.h"
#include "cachedb/store.h"
#include "cachedb/touch.h"

#include <stdatomic.h>

struct cachedb {
	struct store *store;
	char *directory;
	uint64_t max_bytes;
	struct cachedb_min_free min_free;
	bool read_only;
	struct {
		_Atomic uint64_t hits, misses, puts, put_failures, evictions, corrupt;
	} count;
};

/* ---- cachedb.c ---- */

int write_touches(MDB_txn *txn, const struct store_tables *tables, const struct touch_list *list);

struct lookup {
	const struct cachedb_key *key;
	bool with_value;
	struct record record;
	bool record_loaded;
	bool bad;			/* found and put into quarantine */
	uint8_t *data;			/* malloc memory, the caller's; also after an error */
};

/* What is there but broken is removed, unless the handle is read only, and is -ENOENT too. */
int lookup_or_quarantine(struct cachedb *db, struct lookup *job);

/* ---- room.c ---- */

/*
 * Runs a body that needs about `bytes` in the file. The file does not grow into the space that has to stay free: least recently
 * used records make room instead. -ENOSPC when that is not enough.
 */
int write_with_room(struct cachedb *db, store_body body, void *userdata, uint64_t bytes);
