/* SPDX-License-Identifier: MIT */
/*
 * A growable run of bytes. Zero-initialise it, append, and release it (or take `data`, which is malloc memory).
 *
 * An append that finds no memory sets `failed` and drops the bytes; later appends do nothing. A writer of a whole format
 * therefore checks once, at its end: `if (buffer.failed) return -ENOMEM;`.
 */
#pragma once

#include "base/macro.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct buffer {
	uint8_t *data;
	size_t size;		/* bytes used */
	size_t allocated;
	bool failed;		/* an append found no memory */
};

static inline void buffer_release(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

#define _cleanup_buffer_ _cleanup_(buffer_release)

/* Makes room for `more` bytes and returns where they go; size is already advanced. NULL when there is no memory. */
static inline void *buffer_extend(struct buffer *buffer, size_t more)
{
	if (buffer->failed)
		return NULL;
	if (more > buffer->allocated - buffer->size) {
		size_t allocated = MAX(buffer->allocated * 2, round_up(buffer->size + more, 256));
		uint8_t *data = realloc(buffer->data, allocated);
		if (!data) {
			buffer->failed = true;
			return NULL;
		}
		buffer->data = data;
		buffer->allocated = allocated;
	}
	void *place = buffer->data + buffer->size;
	buffer->size += more;
	return place;
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t size)
{
	void *place = buffer_extend(buffer, size);
	if (place && size)
		memcpy(place, bytes, size);
}

static inline void buffer_append_string(struct buffer *buffer, const char *string)
{
	buffer_append(buffer, string, strlen(string));
}

/* Appends zeros until size is a multiple of `alignment` bytes. */
static inline void buffer_align(struct buffer *buffer, size_t alignment)
{
	size_t more = round_up(buffer->size, alignment) - buffer->size;
	void *place = buffer_extend(buffer, more);
	if (place)
		memset(place, 0, more);
}

PRINTF_LIKE(2, 3) static inline void buffer_printf(struct buffer *buffer, const char *format, ...)
{
	char small[512];
	va_list ap;

	va_start(ap, format);
	int length = vsnprintf(small, sizeof(small), format, ap);
	va_end(ap);
	if (length < 0)
		return;
	if ((size_t)length < sizeof(small)) {
		buffer_append(buffer, small, (size_t)length);
		return;
	}
	char *place = buffer_extend(buffer, (size_t)length + 1);
	if (!place)
		return;
	va_start(ap, format);
	vsnprintf(place, (size_t)length + 1, format, ap);
	va_end(ap);
	buffer->size--;
}
