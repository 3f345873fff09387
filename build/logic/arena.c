/* SPDX-License-Identifier: MIT */
#include "build/logic/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CHUNK 4096
#define LARGEST_CHUNK (1 << 20)

struct arena_chunk {
	struct arena_chunk *older;
	_Alignas(8) uint8_t data[];
};

void arena_release(struct arena *arena)
{
	for (struct arena_chunk *chunk = arena->chunks, *older; chunk; chunk = older) {
		older = chunk->older;
		free(chunk);
	}
	*arena = (struct arena){ 0 };
}

void *arena_alloc(struct arena *arena, size_t size)
{
	size = round_up(size, 8);
	if (size > arena->size - arena->used) {
		/* chunks grow with the arena, so that small owners stay small and big ones make few calls */
		size_t wanted = MIN(MAX(arena->total, FIRST_CHUNK), LARGEST_CHUNK);
		size_t bytes = MAX(wanted, size);
		struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + bytes);
		if (!chunk)
			return NULL;
		chunk->older = arena->chunks;
		arena->chunks = chunk;
		arena->size = bytes;
		arena->used = 0;
		arena->total += bytes;
	}
	void *place = arena->chunks->data + arena->used;
	arena->used += size;
	return place;
}

char *arena_strndup(struct arena *arena, const char *string, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);
	if (copy)
		memcpy(copy, string, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *string)
{
	return arena_strndup(arena, string, strlen(string));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int length = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(ap, format);
	vsnprintf(text, (size_t)length + 1, format, ap);
	va_end(ap);
	return text;
}
