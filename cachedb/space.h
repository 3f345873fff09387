/* SPDX-License-Identifier: MIT */
/*
 * Room on the file system of a cache. What is free inside the database's file is LMDB's to know: see store_measure().
 */
#pragma once

#include "cachedb/cachedb.h"

struct space {
	uint64_t free;		/* bytes that this user can still write */
	uint64_t keep;		/* bytes of these that have to stay free */
};

/* All zero when the system does not say. */
struct space space_of(int directory_fd, const struct cachedb_min_free *min_free);

/* By how many bytes a file may grow; UINT64_MAX: there is no limit. */
uint64_t space_growth(int directory_fd, const struct cachedb_min_free *min_free);

/*
 * Whether the file system or RLIMIT_FSIZE leaves less than `bytes` to a file: LMDB reports a short write as EIO, whatever its
 * reason.
 */
bool space_lacks(int directory_fd, const char *file, uint64_t bytes);
