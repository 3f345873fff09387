/* SPDX-License-Identifier: MIT */
/*
 * The LMDB environment under a cache: opening, sharing within the process, transactions, growth, and a fresh start after damage.
 *
 * A body is a function that runs inside one transaction and speaks LMDB's language: 0, a positive errno, or an MDB_ code. Bodies may be
 * run again from the start (after the map has grown), so they change nothing but the transaction and their own results.
 * store_read() and store_write() answer 0 or a negative errno.
 */
#pragma once

#include "base/error.h"

#include <lmdb.h>
#include <stdbool.h>

struct store;

struct store_tables {
	MDB_dbi state;		/* "bytes" -> u64, the sum of all values' sizes */
	MDB_dbi index;		/* key -> struct record */
	MDB_dbi values;		/* key + u32 big endian chunk number -> bytes */
};

typedef int (*store_body)(MDB_txn *txn, const struct store_tables *tables, void *userdata);

/*
 * One store a directory and process, counted: the second open of a directory gets the first one's store. A store that was opened read only
 * is reopened for writing when somebody asks for that.
 */
int store_open(const char *directory, bool read_only, struct store **ret_store, struct error *error);
struct store *store_unref(struct store *store);

int store_read(struct store *store, store_body body, void *userdata);
int store_write(struct store *store, store_body body, void *userdata);

/* False in a child that was forked after the store had been opened. */
bool store_is_ours(const struct store *store);

/* Bytes of the memory map. */
uint64_t store_map_size(struct store *store);

/* Whether the file system or RLIMIT_FSIZE leaves less than `bytes`: LMDB reports a short write as EIO, whatever its reason. */
bool store_lacks_space(const struct store *store, uint64_t bytes);

/* The touches of all handles of this store; see touch.h. */
struct touches *store_touches(struct store *store);
