/* SPDX-License-Identifier: MIT */
/* Any YAML to a tree, by libyaml's events; see tree.h. */
#include "build/logic/tree_build.h"

#include <string.h>
#include <unistd.h>
#include <yaml.h>

/*
 * Limits. The largest of the 1,506 logic files of hipBLASLt has 5 MB, lines of 200 bytes and five levels.
 */
#define LARGEST_FILE (256u << 20)

/* Parsing a file: where libyaml's bytes come from, and the tree so far. */
struct reading {
	struct yaml *yaml;
	struct tree_builder tree;
	struct error *error;
	yaml_parser_t parser;
	int fd;				/* -1 when the bytes are in memory */
	const uint8_t *bytes;
	size_t size, used;
	size_t line_bytes;		/* of the line that is being read */
	int failure;			/* -errno of the input, found while libyaml was asking for bytes */
	unsigned entries_wanted;
};

/* libyaml buffers a whole line or scalar before it speaks, so absurd ones are refused on the way in. */
static int check_lines(struct reading *reading, const uint8_t *bytes, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t length = end ? (size_t)(end - bytes) + 1 : size;
		reading->line_bytes += length;
		if (reading->line_bytes > TREE_LONGEST_LINE)
			return -EFBIG;
		if (end)
			reading->line_bytes = 0;
		bytes += length;
		size -= length;
	}
	return 0;
}

static int input(void *data, unsigned char *buffer, size_t size, size_t *ret_size)
{
	struct reading *reading = data;
	size_t got;

	if (reading->fd >= 0) {
		ssize_t n = read(reading->fd, buffer, size);
		if (n < 0) {
			reading->failure = -errno;
			return 0;
		}
		got = (size_t)n;
	} else {
		got = MIN(size, reading->size - reading->used);
		memcpy(buffer, reading->bytes + reading->used, got);
	}
	reading->used += got;
	if (reading->used > LARGEST_FILE || reading->yaml->arena.total > TREE_LARGEST)
		reading->failure = -EFBIG;
	else
		reading->failure = check_lines(reading, buffer, got);
	*ret_size = got;
	return reading->failure == 0;
}

PRINTF_LIKE(3, 4)
static int fail_at(struct reading *reading, const yaml_mark_t *mark, const char *format, ...)
{
	char words[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	return error_set(reading->error, -EINVAL, "'%s': line %zu, column %zu: %s", reading->yaml->path, mark->line + 1, mark->column + 1,
			 words);
}

/* The line of a byte, from 1. Only on the way out, so reading again does not matter. */
static size_t line_of_byte(const struct reading *reading, size_t offset)
{
	size_t line = 1, at = 0;
	uint8_t chunk[16384];

	while (at < offset) {
		size_t wanted = MIN(sizeof(chunk), offset - at);
		const uint8_t *bytes = reading->fd >= 0 ? chunk : reading->bytes + at;
		ssize_t n = reading->fd >= 0 ? pread(reading->fd, chunk, wanted, (off_t)at) : (ssize_t)MIN(wanted, reading->size - at);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			line += bytes[i] == '\n';
		at += (size_t)n;
	}
	return line;
}

static int parser_failure(struct reading *reading)
{
	const yaml_parser_t *parser = &reading->parser;

	if (reading->failure == -EFBIG)
		return error_set(reading->error, -EFBIG, "'%s': line %zu: a line of more than %u bytes or a file of more than %u MiB",
				 reading->yaml->path, parser->mark.line + 1, TREE_LONGEST_LINE, LARGEST_FILE >> 20);
	if (reading->failure)
		return error_set(reading->error, reading->failure, "cannot read '%s': %s", reading->yaml->path, strerror(-reading->failure));
	if (parser->error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	if (parser->error == YAML_READER_ERROR)	/* libyaml's reader knows the byte, not the line */
		return error_set(reading->error, -EINVAL, "'%s': line %zu, byte %zu of the file: %s (0x%02x)", reading->yaml->path,
				 line_of_byte(reading, parser->problem_offset), parser->problem_offset, parser->problem,
				 (unsigned)parser->problem_value);
	if (parser->context)	/* "while parsing a flow sequence" */
		return fail_at(reading, &parser->problem_mark, "%s %s that begins in line %zu", parser->problem, parser->context,
			       parser->context_mark.line + 1);
	return fail_at(reading, &parser->problem_mark, "%s", parser->problem ? parser->problem : "not YAML");
}

static bool wants_key(const struct reading *reading)
{
	const struct tree_builder *tree = &reading->tree;

	return tree->depth && tree->open[tree->depth - 1]->kind == YAML_MAP && !tree->key[tree->depth - 1];
}

static uint32_t line_of(const yaml_event_t *event)
{
	return (uint32_t)event->start_mark.line + 1;
}

static int on_scalar(struct reading *reading, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;

	if (strlen(text) != length)
		return fail_at(reading, &event->start_mark, "a NUL character");
	if (wants_key(reading)) {
		int r = tree_set_key(&reading->tree, text, length);
		return r == -E2BIG ? fail_at(reading, &event->start_mark, "more than %d different keys", TREE_MOST_KEYS) : r;
	}
	struct yaml_node *node = tree_add(&reading->tree, YAML_SCALAR, line_of(event));
	if (!node)
		return -ENOMEM;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->n = (uint32_t)length;
	node->text = arena_strndup(&reading->yaml->arena, text, length);
	return node->text ? 0 : -ENOMEM;
}

static int on_start(struct reading *reading, const yaml_event_t *event, enum yaml_kind kind)
{
	if (wants_key(reading))
		return fail_at(reading, &event->start_mark, "a key has to be a scalar");
	if (reading->tree.depth == TREE_DEEPEST)
		return fail_at(reading, &event->start_mark, "nested more than %d deep", TREE_DEEPEST);
	if (!reading->tree.depth && reading->entries_wanted && kind != YAML_LIST)
		return fail_at(reading, &event->start_mark, "not a logic file: its top is a map, not a list");
	struct yaml_node *node = tree_add(&reading->tree, kind, line_of(event));
	if (!node)
		return -ENOMEM;
	tree_open(&reading->tree, node);
	return 0;
}

static int on_end(struct reading *reading)
{
	const struct yaml_node *repeated = tree_close(&reading->tree);

	return repeated ? error_set(reading->error, -EINVAL, "'%s': line %u: key '%s' appears twice in one map", reading->yaml->path,
				    repeated->line, repeated->key->text) :
			  0;
}

static int on_event(struct reading *reading, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return on_scalar(reading, event);
	case YAML_SEQUENCE_START_EVENT:
		return on_start(reading, event, YAML_LIST);
	case YAML_MAPPING_START_EVENT:
		return on_start(reading, event, YAML_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		return on_end(reading);
	case YAML_ALIAS_EVENT:
		return fail_at(reading, &event->start_mark, "alias '*%s': logic files have none", (const char *)event->data.alias.anchor);
	case YAML_DOCUMENT_START_EVENT:
		if (reading->yaml->root)
			return fail_at(reading, &event->start_mark, "a second document");
		return 0;
	default:
		return 0;
	}
}

/* The head is read when a list at the top has as many finished entries as are wanted. */
static bool head_complete(const struct reading *reading)
{
	return reading->entries_wanted && reading->tree.depth == 1 && reading->tree.open[0]->n == reading->entries_wanted;
}

static int read_events(struct reading *reading)
{
	for (;;) {
		yaml_event_t event;
		if (!yaml_parser_parse(&reading->parser, &event))
			return parser_failure(reading);
		bool end = event.type == YAML_STREAM_END_EVENT;
		int r = on_event(reading, &event);
		yaml_event_delete(&event);
		if (r < 0)
			return r;
		if (end || head_complete(reading))
			break;
	}
	if (!reading->yaml->root)
		return error_set(reading->error, -EINVAL, "'%s': line 1, column 1: the file is empty", reading->yaml->path);
	return 0;
}

int yaml_parse_events(struct yaml *yaml, int fd, const void *bytes, size_t size, unsigned n_entries, struct error *error)
{
	struct reading reading = {
		.yaml = yaml, .tree = { .yaml = yaml }, .error = error, .fd = fd, .bytes = bytes, .size = size, .entries_wanted = n_entries,
	};

	if (!yaml_parser_initialize(&reading.parser))
		return -ENOMEM;
	yaml_parser_set_input(&reading.parser, input, &reading);
	int r = read_events(&reading);
	yaml_parser_delete(&reading.parser);
	return r;
}
