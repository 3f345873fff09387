/* SPDX-License-Identifier: MIT */
/*
 * Memory that is released all at once. Everything a catalog or a library hands out lives in the arena of that object.
 *
 * Zero-initialise it; allocations are zeroed and 8-byte aligned, and NULL when there is no memory. Not thread-safe: one arena,
 * one owner.
 */
#pragma once

#include "base/macro.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;	/* newest first */
	size_t used, size;		/* of the newest chunk, bytes */
	size_t total;			/* bytes in all chunks, for limits */
};

void arena_release(struct arena *arena);
#define _cleanup_arena_ _cleanup_(arena_release)

void *arena_alloc(struct arena *arena, size_t size);
char *arena_strndup(struct arena *arena, const char *string, size_t length);
char *arena_strdup(struct arena *arena, const char *string);
PRINTF_LIKE(2, 3) char *arena_printf(struct arena *arena, const char *format, ...);

#define arena_new(arena, type, n) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(n)))
