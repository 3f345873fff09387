/* SPDX-License-Identifier: MIT */
/*
 * A store of built bytes on LMDB: 32-byte key -> bytes, with size, digest, cost and last use in an index beside them.
 *
 *     struct cachedb *db;
 *     r = cachedb_open(&options, &db, &error);
 *     r = cachedb_stat(db, &key, &info);                    // size and digest without touching the value
 *     r = cachedb_get(db, &key, &info, &bytes);             // bytes, checked against the digest on load
 *     r = cachedb_put(db, &key, data, size, &attributes);   // all or nothing
 *
 * Knows nothing of what the bytes mean. Several processes may share one directory, several threads one handle. A transaction is never
 * held across a wait or handed to a caller: cachedb_get() copies out. A record whose digest is wrong is removed, counted in the
 * statistics and reported as missing (-ENOENT), so that it is built again.
 *
 * Writing may fail (disk full, read only): the caller goes on with the bytes it has. Recovery: LMDB is crash-safe; readers that were
 * killed are cleared on open and on MDB_READERS_FULL/MAP_FULL.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cachedb;

struct cachedb_key { uint8_t bytes[32]; };

struct cachedb_options {
	const char *directory;		/* made with mode 0700 when missing; refused when others can write to it */
	uint64_t max_bytes;		/* values kept at most; 0: no limit. Least recently used go first */
	bool read_only;
};

struct cachedb_info {
	uint64_t size;			/* bytes of the value */
	uint64_t digest[2];		/* XXH3, 128 bits, of the value */
	uint64_t cost_us;		/* what it took to make, microseconds */
	int64_t created, last_used;	/* seconds since 1970 */
	uint32_t tag;			/* the caller's: a kind of value */
	uint32_t items;			/* the caller's: kernels in it */
};

struct cachedb_statistics {
	uint64_t entries, bytes, map_bytes, hits, misses, puts, put_failures, evictions, corrupt;
};

int cachedb_open(const struct cachedb_options *options, struct cachedb **ret_db, struct error *error);
struct cachedb *cachedb_close(struct cachedb *db);	/* accepts NULL, returns NULL */

/* -ENOENT when there is none. */
int cachedb_stat(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info);

/* ret_data is malloc memory, the caller's. -ENOENT, -ENOMEM, -EIO. */
int cachedb_get(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data);

/* Stores atomically; an existing record of the same key stays as it is (content is a function of the key). The info's size and digest
 * are computed here. -ENOSPC, -EROFS, -EACCES, -EIO with a message in `error`. */
int cachedb_put(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, size_t size,
		const struct cachedb_info *attributes, struct error *error);

int cachedb_delete(struct cachedb *db, const struct cachedb_key *key);

/* Every record in key order; stops when the callback returns non-zero and returns that. No transaction is held during a callback. */
int cachedb_foreach(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info),
		    void *userdata);

/* Removes least recently used records until at most max_bytes of values are kept. */
int cachedb_gc(struct cachedb *db, uint64_t max_bytes, uint64_t *ret_freed);

/* Reads every value and compares its digest; removes the bad ones. */
int cachedb_check(struct cachedb *db, uint64_t *ret_checked, uint64_t *ret_bad, struct error *error);

int cachedb_clear(struct cachedb *db);
int cachedb_get_statistics(struct cachedb *db, struct cachedb_statistics *ret_statistics);
