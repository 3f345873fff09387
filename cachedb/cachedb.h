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
 * Knows nothing of what the bytes mean. Several processes may share one directory, several threads one handle, and one process may open
 * a directory several times: the handles then share one LMDB environment, as LMDB demands. A transaction is never held across a wait
 * or handed to a caller: cachedb_get() copies out. A record whose digest is wrong is removed, counted in the statistics and reported as
 * missing (-ENOENT), so that it is built again.
 *
 * Writing may fail (disk full, read only): the caller goes on with the bytes it has, and the cache remains usable. Recovery: LMDB is
 * crash-safe; readers that were killed are cleared when their slots or pages are needed. What a process crash finds committed stays; a
 * power failure may take the last commits with it, but never leaves half of one. A database file that is damaged beyond single
 * records is begun anew when no other process has it open.
 *
 * Last use is kept in memory, to the nanosecond, and written together with the next put, eviction, or close: a read costs no write.
 *
 * After fork() a child must not use a handle of its parent; every function then answers -ECHILD, cachedb_close() only frees memory. A
 * put beyond RLIMIT_FSIZE raises SIGXFSZ, which a program with such a limit has to ignore in order to see -ENOSPC.
 *
 * LMDB trusts the pages of its tree, which carry no checksum (values and index entries do). A flipped bit there is answered with -EIO
 * where LMDB notices it, and may crash the process where it does not.
 *
 * In the directory: "format" (the version of the layout, and an flock held by all users), LMDB's data.mdb and lock.mdb, and for a moment
 * "damaged".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cachedb;

struct cachedb_key { uint8_t bytes[32]; };

struct cachedb_options {
	const char *directory;		/* made with mode 0700 when missing, parents too; refused when others can write to it */
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
	uint64_t entries, bytes, map_bytes;				/* of the database: records, bytes of values, size of the map */
	uint64_t hits, misses, puts, put_failures, evictions, corrupt;	/* of this handle since it was opened */
};

/*
 * -EPERM for a directory of somebody else or one that others can write, -EMEDIUMTYPE for a cache of another format version or a
 * foreign database (both are left alone), -EIO for a damaged database that another process has open, -ENOENT when read_only and there is
 * none, and what the system says; always with a message.
 */
int cachedb_open(const struct cachedb_options *options, struct cachedb **ret_db, struct error *error);
struct cachedb *cachedb_close(struct cachedb *db);	/* accepts NULL, returns NULL */

/* -ENOENT when there is none. */
int cachedb_stat(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info);

/* ret_data is malloc memory, the caller's. -ENOENT, -ENOMEM, -EIO. */
int cachedb_get(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data);

/* Stores atomically; an existing record of the same key stays as it is (content is a function of the key). The info's size and digest
 * are computed here, created and last_used are now. Evicts least recently used records first when max_bytes would be exceeded. -ENOSPC,
 * -EFBIG (larger than max_bytes), -EROFS, -EACCES, -EIO, -ENOMEM with a message in `error`. */
int cachedb_put(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, size_t size,
		const struct cachedb_info *attributes, struct error *error);

/* -ENOENT when there is none. */
int cachedb_delete(struct cachedb *db, const struct cachedb_key *key);

/* Every record in key order; stops when the callback returns non-zero and returns that. No transaction is held during a callback. */
int cachedb_foreach(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info),
		    void *userdata);

/* Removes least recently used records until at most max_bytes of values are kept. */
int cachedb_gc(struct cachedb *db, uint64_t max_bytes, uint64_t *ret_freed);

/* Reads every value and compares its digest; removes the bad ones (read_only: counts them). */
int cachedb_check(struct cachedb *db, uint64_t *ret_checked, uint64_t *ret_bad, struct error *error);

/* Removes every record. The file keeps its size; its pages are used again. */
int cachedb_clear(struct cachedb *db);
int cachedb_get_statistics(struct cachedb *db, struct cachedb_statistics *ret_statistics);
