/* SPDX-License-Identifier: MIT */
/*
 * What readers did and nobody has written yet: a small hash table from key to last use, and counts. Taken as a whole by the next
 * writer. A lock of its own, held for a few instructions, never together with another.
 */
#pragma once

#include "cachedb/cachedb.h"

#include <pthread.h>

#define TOUCHES_MAX 256		/* then somebody has to write them down */

struct touch {
	struct cachedb_key key;
	int64_t used_ns;		/* CLOCK_REALTIME; 0: free slot */
};

struct touches {
	pthread_mutex_t lock;
	struct touch *slots;		/* protected by lock; NULL or 2 * TOUCHES_MAX of them */
	size_t used;			/* protected by lock */
	uint64_t hits, misses;		/* protected by lock */
};

struct touch_list {			/* what was taken; the owner frees `slots`, of which those with used_ns 0 are empty */
	struct touch *slots;
	size_t n_slots;
	uint64_t hits, misses;
};

void touches_init(struct touches *touches);
void touches_destroy(struct touches *touches);

/* True when the table is full by now. A touch that finds no room is lost: the record only looks a little older than it is. */
bool touches_add(struct touches *touches, const struct cachedb_key *key, int64_t used_ns);

void touches_count(struct touches *touches, uint64_t hits, uint64_t misses);

struct touch_list touches_take(struct touches *touches);
