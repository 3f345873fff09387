/* SPDX-License-Identifier: MIT */
/*
 * Recent artifacts, kept in memory so that the GETATTR, the OPEN and the next OPEN of a file get the same bytes without asking the
 * disk. Bounded by bytes; least recently used go first. The last one added always stays.
 */
#pragma once

#include "build/engine/engine.h"

struct memory;

int memory_new(uint64_t max_bytes, struct memory **ret_memory);
struct memory *memory_unref(struct memory *memory);	/* accepts NULL, returns NULL */

/* Takes over `data` (malloc memory), also when it fails. */
int artifact_new(uint8_t *data, size_t size, const struct cachedb_key *hash, struct artifact **ret_artifact);

struct artifact *memory_find(struct memory *memory, const struct cachedb_key *hash);	/* a new reference, or NULL */
void memory_add(struct memory *memory, struct artifact *artifact);			/* takes its own reference */
void memory_usage(struct memory *memory, uint64_t *ret_bytes, uint64_t *ret_entries);
