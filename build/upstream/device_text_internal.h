/* SPDX-License-Identifier: MIT */
/* What device_text.c, which reads, and device_text_write.c share: pieces of the text, and lines of them. Nothing is copied. */
#pragma once

#include "build/upstream/device_text.h"

struct span {
	const char *start;
	size_t size;
};

enum piece_kind {
	PIECE_PREAMBLE,			/* target and version */
	PIECE_FUNCTION,			/* its code, and its descriptor if it is a kernel */
	PIECE_PADDING,			/* behind the last function, and what else concerns all of them */
	PIECE_OBJECT,			/* a variable or constant */
	PIECE_END,			/* .ident and the like */
	PIECE_KERNEL,			/* metadata of one */
	PIECE_METADATA,			/* the rest of it */
};

struct piece {
	enum piece_kind kind;
	struct span name, text;
	bool global;			/* other objects see it */
	struct span section;		/* of an object: the directive of what stands before it, which it repeats only when its own is another */
};

struct device_text {
	struct piece *pieces;		/* in the order of the text */
	size_t n, allocated;
};

static inline bool starts(struct span line, const char *with)
{
	size_t length = strlen(with);

	return line.size >= length && memcmp(line.start, with, length) == 0;
}

static inline bool equal(struct span a, struct span b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.start, b.start, a.size) == 0);	/* one without a name may be at NULL */
}

static inline const char *find(struct span text, const char *what)
{
	return !text.size ? NULL : memmem(text.start, text.size, what, strlen(what));
}

/* Cuts the first line off, with its end. */
static inline bool next_line(struct span *rest, struct span *ret_line)
{
	const char *end = rest->size ? memchr(rest->start, '\n', rest->size) : NULL;
	size_t size = end ? (size_t)(end - rest->start) + 1 : rest->size;

	*ret_line = (struct span){ rest->start, size };
	rest->start += size;
	rest->size -= size;
	return size > 0;
}

/* What stands behind a prefix, up to the end of the word. */
static inline struct span word_at(const char *start, const char *end)
{
	const char *stop = start;

	while (stop < end && !strchr(" ,\t\n", *stop))
		stop++;
	return (struct span){ start, (size_t)(stop - start) };
}

static inline struct span word_behind(struct span line, const char *prefix)
{
	return word_at(line.start + strlen(prefix), line.start + line.size);
}

static inline bool is_section(struct span line)
{
	return starts(line, "\t.text") || starts(line, "\t.section\t") || starts(line, "\t.data\n") || starts(line, "\t.bss\n");
}

/* Does a directive of the text name a symbol? */
static inline bool declares(struct span text, const char *directive, struct span name)
{
	struct span line;

	while (next_line(&text, &line))
		if (starts(line, directive) && equal(word_behind(line, directive), name))
			return true;
	return false;
}

/* A comment alone in its line. */
static inline bool ends_function(struct span line)
{
	for (; starts(line, " "); line.size--)
		line.start++;
	return starts(line, "; -- End function");
}

/* The section that is in force behind a text; `before` it was another. */
static inline struct span last_section(struct span text, struct span before)
{
	struct span line;

	while (next_line(&text, &line))
		if (is_section(line))
			before = line;
	return before;
}

/* NULL: there is none of this kind and name. */
const struct piece *device_text_find(const struct device_text *text, enum piece_kind kind, struct span name);

/* Reads a list of kernels as metadata has it, and leaves what stands behind it in `rest`. */
int device_text_read_kernels(struct device_text *parsed, struct span *rest);
