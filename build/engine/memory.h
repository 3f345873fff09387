/* SPDX-License-Identifier: MIT */
/*
 * Memory: the bytes of all artifacts, and what builds reserve, stay below a limit together.
 *
 *     r = memory_reserve(memory, &reservation, bytes);      // before work that takes so much
 *     r = artifact_new(memory, data, size, &hash, &artifact);        // counts until its last reference goes
 *     memory_add(memory, artifact);                         // is found by others from here on
 *     memory_give_back(&reservation);
 *
 * Recent artifacts are kept, so that the GETATTR, the OPEN and the next OPEN of a file get the same bytes without asking the disk.
 * They have a bound of their own, and make room when somebody reserves; least recently used go first. The last one added stays at
 * first.
 */
#pragma once

#include "build/engine/engine.h"

struct memory;

/* At most `kept` bytes of recent ones, `limit` of everything. */
int memory_new(uint64_t kept, uint64_t limit, struct memory **ret_memory);
struct memory *memory_unref(struct memory *memory);	/* artifacts may outlive it; accepts NULL, returns NULL */

struct reservation {
	struct memory *memory;
	uint64_t bytes;
};

/*
 * Waits while other work has reserved what would be enough, so it is not for those that hold a reservation. -ENOMEM when it could
 * never be had: it is more than the limit, or than what artifacts that are in use leave of it.
 */
int memory_reserve(struct memory *memory, struct reservation *ret_reservation, uint64_t bytes);
void memory_give_back(struct reservation *reservation);		/* also of none: { 0 } */

/* Takes over `data` (malloc memory), also when it fails. */
int artifact_new(struct memory *memory, uint8_t *data, size_t size, const struct cachedb_key *hash, struct artifact **ret_artifact);

struct artifact *memory_find(struct memory *memory, const struct cachedb_key *hash);	/* a new reference, or NULL */
void memory_add(struct memory *memory, struct artifact *artifact);			/* takes its own reference */
void memory_usage(struct memory *memory, uint64_t *ret_bytes, uint64_t *ret_entries);	/* of the recent ones */
uint64_t memory_used(struct memory *memory);		/* by all artifacts and reservations */
uint64_t memory_limit(const struct memory *memory);
