/* SPDX-License-Identifier: MIT */
/*
 * How a failure finds its words.
 *
 * Functions return 0 or a negative errno. A function that knows something the caller cannot know (the file, the line,
 * the key, the value, a tool's last words) also takes a `struct error *` as its last argument but the ret_ ones and
 * writes one message there; `error` may be NULL when the caller does not care. Only programs print.
 *
 *     if (value > 512)
 *             return error_set(error, -EINVAL, "'%s': line %u: DepthU is %d, at most 512 is possible", path, line, value);
 *
 * Messages start in lower case, have no full stop, name their subject in quotes, and fit one line.
 */
#pragma once

#include "base/macro.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct error {
	char text[1024];	/* "" until something is set */
};

/* Writes the message and returns `code` (a negative errno), so that it can stand in a return statement. */
PRINTF_LIKE(3, 4) static inline int error_set(struct error *error, int code, const char *format, ...)
{
	if (error) {
		va_list ap;
		va_start(ap, format);
		vsnprintf(error->text, sizeof(error->text), format, ap);
		va_end(ap);
	}
	return code;
}

/* The message, or strerror's words where a lower layer gave a bare errno. */
static inline const char *error_text(const struct error *error, int code)
{
	return error && error->text[0] ? error->text : strerror(-code);
}
