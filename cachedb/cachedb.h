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
 * Knows nothing of what the bytes mean. Several processes may share one directory, several threads one handle, and one process may
 * open a directory several times: the handles then share one LMDB environment, as LMDB demands. A transaction is never held across
 * a wait or handed to a caller: cachedb_get() copies out. A record whose digest is wrong is removed, counted in the statistics and
 * reported as missing (-ENOENT), so that it is built again.
 *
 * Writing may fail (disk full, read only): the caller goes on with the bytes it has, and the cache remains usable. Recovery: LMDB
 * is crash-safe; readers that were killed are cleared when their slots or pages are needed. What a process crash finds committed
 * stays; a power failure may take the last commits with it, but never leaves half of one. A database file that is damaged beyond
 * single records is begun anew when no other process has it open.
 *
 * Limits. `max_bytes` bounds the values, `min_free` what the file leaves of its file system. An LMDB file never becomes smaller by
 * itself: the pages of what was removed stay in it and are used again. So when the file system runs short the file stops growing,
 * and new values take the pages of the least recently used ones; cachedb_compact() gives free pages back. Both limits belong to a
 * handle, not to the directory: each of its users evicts for its own. What is pinned counts for the limits but is never evicted; a
 * put that finds nothing else to evict fails. A reader needs no pin: it has its own copy of the bytes.
 *
 * Last use is kept in memory, to the nanosecond, and written together with the next put, eviction, or close, or when 256 different
 * records have been read since. Other reads cost no write.
 *
 * After fork() a child must not use a handle of its parent; every function then answers -ECHILD, cachedb_close() only frees memory.
 * A put beyond RLIMIT_FSIZE raises SIGXFSZ, which a program with such a limit has to ignore in order to see -ENOSPC.
 *
 * LMDB trusts the pages of its tree, which carry no checksum (values and index entries do). A flipped bit there is answered with
 * -EIO where LMDB notices it, and may crash the process where it does not.
 *
 * In the directory: "format" (the version of the layout, and an flock held by all users), LMDB's data.mdb and lock.mdb, and for a
 * moment "damaged" or "compact.mdb".
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cachedb;

struct cachedb_key { uint8_t bytes[32]; };

/* Percent of the file system that have to stay free, but no more than so many bytes. Percent 0: no limit. */
struct cachedb_min_free {
	unsigned percent;
	uint64_t bytes;
};

/* A good habit; not set by itself. */
#define CACHEDB_MIN_FREE ((struct cachedb_min_free){ .percent = 5, .bytes = UINT64_C(4) << 30 })

struct cachedb_options {
	const char *directory;		/* made with mode 0700 when missing, parents too; refused when others can write to it */
	uint64_t max_bytes;		/* values kept at most; 0: no limit. Least recently used go first */
	struct cachedb_min_free min_free;
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
	/* of the database */
	uint64_t entries, bytes;				/* records, and the sum of their values */
	uint64_t file_bytes, free_bytes, map_bytes;		/* of data.mdb, of its pages that are free to use, of its map */
	uint64_t pins, pinned_entries, pinned_bytes;		/* pins, and what is there of their keys, each once */
	uint64_t all_hits, all_misses, all_evictions;		/* since it was begun; those of the last moment may be missing */
	uint64_t system_free, system_keep;			/* of its file system: free, and kept free by min_free */
	/* of this handle since it was opened */
	uint64_t hits, misses, puts, put_failures, evictions, corrupt;
};

/*
 * -EPERM for a directory or file of somebody else or one that others can write, a link of somebody else to it, -EMEDIUMTYPE for a
 * cache of another format version or a foreign database (both are left alone), -EIO for a damaged database that another process has
 * open, -ENOENT when read_only and there is none, and what the system says; always with a message.
 */
int cachedb_open(const struct cachedb_options *options, struct cachedb **ret_db, struct error *error);
struct cachedb *cachedb_close(struct cachedb *db);	/* accepts NULL, returns NULL */

/* -ENOENT when there is none. */
int cachedb_stat(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info);

/* ret_data is malloc memory, the caller's. -ENOENT, -ENOMEM, -EIO. */
int cachedb_get(struct cachedb *db, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data);

/* Says that a value is in use which the caller still has from an earlier cachedb_get(). Never blocks. */
void cachedb_touch(struct cachedb *db, const struct cachedb_key *key);

/*
 * Stores atomically; an existing record of the same key stays as it is (content is a function of the key). The info's size and
 * digest are computed here, created and last_used are now. Evicts least recently used records first when a limit would be exceeded.
 * -ENOSPC (disk full, or too full to evict enough), -EFBIG (larger than max_bytes), -EROFS, -EACCES, -EIO, -ENOMEM with a message
 * in `error`.
 */
int cachedb_put(struct cachedb *db, const struct cachedb_key *key, const uint8_t *data, size_t size,
		const struct cachedb_info *attributes, struct error *error);

/* -ENOENT when there is none. */
int cachedb_delete(struct cachedb *db, const struct cachedb_key *key);

/*
 * Every record in key order; stops when the callback returns non-zero and returns that. No transaction is held during a callback.
 */
int cachedb_foreach(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info),
		    void *userdata);

/* ---- pins ------------------------------------------------------------------------------------------------------------- */

/*
 * A key that eviction passes over, whether or not there is a record of it now. It stays pinned until each of its labels is
 * unpinned.
 */
struct cachedb_pin {
	struct cachedb_key key;
	const char *label;		/* who wants it, in the caller's words; "" is one too */
};

/* All or none. */
int cachedb_pin(struct cachedb *db, const struct cachedb_pin *pins, size_t n, struct error *error);
int cachedb_unpin(struct cachedb *db, const struct cachedb_pin *pins, size_t n, struct error *error);	/* no error for what is not pinned */

/* Every pin; `info` is NULL when there is no record. As cachedb_foreach(); the label lives as long as the callback runs. */
int cachedb_foreach_pin(struct cachedb *db, int (*callback)(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info),
			void *userdata);

/* ---- care ------------------------------------------------------------------------------------------------------------- */

/* Removes least recently used records until at most max_bytes of values are kept, or only pinned ones. */
int cachedb_gc(struct cachedb *db, uint64_t max_bytes, uint64_t *ret_freed);

/*
 * Gives the free pages of the file back to the file system, after evicting as much as min_free lacks. For that the file is written
 * anew and replaced, which is possible only while no other process has the cache open: -EBUSY.
 * -EUCLEAN: LMDB does not copy it, for pages that nothing refers to; it stays as it is. Who opens it meanwhile waits. Needs
 * as much space as there is in use (-ENOSPC).
 */
int cachedb_compact(struct cachedb *db, uint64_t *ret_freed, struct error *error);

struct cachedb_check {
	uint64_t records, bytes;	/* that were read, with the bad ones */
	uint64_t bad;			/* records that are not what was stored */
	uint64_t orphans;		/* parts of values that belong to no record */
	bool sum_is_wrong;		/* the stored sum of all sizes */
};

/*
 * Reads every value and compares its digest, and looks for what belongs to nothing; tells of each finding in one line. Removes bad
 * records and orphans and corrects the sum, or with read_only only counts.
 */
int cachedb_check(struct cachedb *db, void (*tell)(void *userdata, const char *finding), void *userdata, struct cachedb_check *ret_check,
		  struct error *error);

/*
 * Replaces the database by an empty one, without reading the old one; pins are lost too. For one that makes LMDB crash. -EIO when
 * another process has it open; the next one to open it alone does it then.
 */
int cachedb_begin_anew(const char *directory, struct error *error);

/* Removes every record; pins stay. The file keeps its size; its pages are used again. */
int cachedb_clear(struct cachedb *db);

int cachedb_get_statistics(struct cachedb *db, struct cachedb_statistics *ret_statistics);
