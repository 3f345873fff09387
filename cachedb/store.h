/* SPDX-License-Identifier: MIT */
/*
 * The LMDB environment under a cache: opening, sharing within the process, transactions, growth, compaction, and a fresh start
 * after damage.
 *
 * A body is a function that runs inside one transaction and speaks LMDB's language: 0, a positive errno, or an MDB_ code. Bodies
 * may be run again from the start (after the map has grown), so they change nothing but the transaction and their own results.
 * store_read() and store_write() answer 0 or a negative errno.
 */
#pragma once

#include "base/error.h"

#include <lmdb.h>
#include <stdbool.h>

struct store;

struct store_tables {
	MDB_dbi state;		/* counters by name (record.h) and pins (pins.h) */
	MDB_dbi index;		/* key -> struct record */
	MDB_dbi values;		/* key + u32 big endian chunk number -> bytes */
};

typedef int (*store_body)(MDB_txn *txn, const struct store_tables *tables, void *userdata);

/*
 * One store a directory and process, counted: the second open of a directory gets the first one's store. A store that was opened
 * read only is reopened for writing when somebody asks for that.
 */
int store_open(const char *directory, bool read_only, struct store **ret_store, struct error *error);
struct store *store_unref(struct store *store);

int store_read(struct store *store, store_body body, void *userdata);
int store_write(struct store *store, store_body body, void *userdata);

/* False in a child that was forked after the store had been opened. */
bool store_is_ours(const struct store *store);

/*
 * Like store_write(), but the file grows by at most `growth` bytes (UINT64_MAX: no limit). -ENOSPC when it would have to grow more.
 */
int store_write_within(struct store *store, store_body body, void *userdata, uint64_t growth);

/*
 * Writes what is in use to a new file, without the free pages, which takes its place. The only way to make an LMDB file smaller,
 * and only for whom is alone: -EBUSY when another process has the cache open, at whatever. Openers wait until it is done.
 */
int store_compact(struct store *store, uint64_t *ret_freed);

struct store_size {
	uint64_t map_bytes;	/* of the memory map */
	uint64_t file_bytes;	/* of data.mdb */
	uint64_t free_bytes;	/* of pages in it that hold nothing and will be used before the file grows */
};
int store_measure(struct store *store, struct store_size *ret_size);

/* A descriptor of the directory; the store's. */
int store_directory(const struct store *store);

/* The touches of all handles of this store; see touch.h. */
struct touches *store_touches(struct store *store);
