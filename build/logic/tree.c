/* SPDX-License-Identifier: MIT */
#include "build/logic/tree.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <yaml.h>

/*
 * Limits. The largest of the 1,506 logic files of hipBLASLt has 5 MB, lines of 200 bytes and five levels.
 */
#define LARGEST_FILE (256u << 20)
#define LARGEST_TREE ((size_t)1 << 30)	/* bytes of nodes and texts */
#define LONGEST_LINE (1u << 20)
#define DEEPEST 32

/* Parsing a file: where libyaml's bytes come from, and the open lists and maps. */
struct reading {
	struct yaml *yaml;
	struct error *error;
	yaml_parser_t parser;
	int fd;				/* -1 when the bytes are in memory */
	const uint8_t *bytes;
	size_t size, used;
	size_t line_bytes;		/* of the line that is being read */
	int failure;			/* -errno of the input, found while libyaml was asking for bytes */
	unsigned depth;
	struct yaml_node *open[DEEPEST];
	struct yaml_node **tail[DEEPEST];	/* where the next child of open[i] goes */
	const struct yaml_key *key[DEEPEST];	/* of open[i], a map, whose value comes next */
	unsigned n_entries, entries_wanted;
};

void yaml_release(struct yaml *yaml)
{
	arena_release(&yaml->arena);
	*yaml = (struct yaml){ 0 };
}

/* libyaml buffers a whole line or scalar before it speaks, so absurd ones are refused on the way in. */
static int check_lines(struct reading *reading, const uint8_t *bytes, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t length = end ? (size_t)(end - bytes) + 1 : size;
		reading->line_bytes += length;
		if (reading->line_bytes > LONGEST_LINE)
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
	if (reading->used > LARGEST_FILE || reading->yaml->arena.total > LARGEST_TREE)
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
				 reading->yaml->path, parser->mark.line + 1, LONGEST_LINE, LARGEST_FILE >> 20);
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

static uint32_t hash_text(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static const struct yaml_key *intern(struct yaml *yaml, const char *text, size_t length)
{
	uint32_t hash = hash_text(text, length);
	struct yaml_key **bucket = &yaml->buckets[hash % YAML_KEY_BUCKETS];

	for (struct yaml_key *key = *bucket; key; key = key->next)
		if (key->hash == hash && strcmp(key->text, text) == 0)
			return key;
	struct yaml_key *key = arena_new(&yaml->arena, struct yaml_key, 1);
	const char *copy = arena_strndup(&yaml->arena, text, length);
	if (!key || !copy)
		return NULL;
	*key = (struct yaml_key){ .text = copy, .hash = hash, .next = *bucket };
	*bucket = key;
	return key;
}

/* Adds a node to the innermost open list or map, or makes it the root. */
static int add_node(struct reading *reading, const yaml_event_t *event, enum yaml_kind kind, struct yaml_node **ret_node)
{
	struct yaml *yaml = reading->yaml;
	struct yaml_node *node = arena_new(&yaml->arena, struct yaml_node, 1);
	if (!node)
		return -ENOMEM;
	node->kind = kind;
	node->line = (uint32_t)event->start_mark.line + 1;
	if (reading->depth) {
		unsigned top = reading->depth - 1;
		node->key = reading->key[top];
		reading->key[top] = NULL;
		*reading->tail[top] = node;
		reading->tail[top] = &node->next;
		reading->open[top]->n++;
	} else {
		yaml->root = node;
	}
	*ret_node = node;
	return 0;
}

static bool wants_key(const struct reading *reading)
{
	return reading->depth && reading->open[reading->depth - 1]->kind == YAML_MAP && !reading->key[reading->depth - 1];
}

static int on_scalar(struct reading *reading, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t length = event->data.scalar.length;

	if (strlen(text) != length)
		return fail_at(reading, &event->start_mark, "a NUL character");
	if (wants_key(reading)) {
		const struct yaml_key *key = intern(reading->yaml, text, length);
		reading->key[reading->depth - 1] = key;
		return key ? 0 : -ENOMEM;
	}
	struct yaml_node *node;
	int r = add_node(reading, event, YAML_SCALAR, &node);
	if (r < 0)
		return r;
	node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	node->n = (uint32_t)length;
	node->text = arena_strndup(&reading->yaml->arena, text, length);
	return node->text ? 0 : -ENOMEM;
}

static int on_start(struct reading *reading, const yaml_event_t *event, enum yaml_kind kind)
{
	if (wants_key(reading))
		return fail_at(reading, &event->start_mark, "a key has to be a scalar");
	if (reading->depth == DEEPEST)
		return fail_at(reading, &event->start_mark, "nested more than %d deep", DEEPEST);
	if (!reading->depth && reading->entries_wanted && kind != YAML_LIST)
		return fail_at(reading, &event->start_mark, "not a logic file: its top is a map, not a list");
	struct yaml_node *node;
	int r = add_node(reading, event, kind, &node);
	if (r < 0)
		return r;
	reading->open[reading->depth] = node;
	reading->tail[reading->depth] = &node->first;
	reading->key[reading->depth] = NULL;
	reading->depth++;
	return 0;
}

static int check_duplicates(struct reading *reading, const struct yaml_node *map)
{
	uint32_t serial = ++reading->yaml->n_maps;

	for (struct yaml_node *child = map->first; child; child = child->next) {
		struct yaml_key *key = (struct yaml_key *)child->key;
		if (key->seen == serial)
			return error_set(reading->error, -EINVAL, "'%s': line %u: key '%s' appears twice in one map", reading->yaml->path,
					 child->line, key->text);
		key->seen = serial;
	}
	return 0;
}

static int on_end(struct reading *reading)
{
	const struct yaml_node *node = reading->open[--reading->depth];

	return node->kind == YAML_MAP ? check_duplicates(reading, node) : 0;
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
	return reading->entries_wanted && reading->depth == 1 && reading->open[0]->n == reading->entries_wanted;
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

static int read_tree(struct reading *reading)
{
	if (!yaml_parser_initialize(&reading->parser))
		return -ENOMEM;
	yaml_parser_set_input(&reading->parser, input, reading);
	int r = read_events(reading);
	yaml_parser_delete(&reading->parser);
	return r;
}

int yaml_parse(struct yaml *yaml, const char *path, const void *bytes, size_t size, unsigned n_entries, struct error *error)
{
	struct reading reading = {
		.yaml = yaml, .error = error, .fd = -1, .bytes = bytes, .size = size, .entries_wanted = n_entries,
	};

	yaml->path = path;
	return read_tree(&reading);
}

int yaml_read(struct yaml *yaml, const char *path, unsigned n_entries, struct error *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(error, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(error, -EINVAL, "'%s' is not a file", path);
	struct reading reading = { .yaml = yaml, .error = error, .fd = fd, .entries_wanted = n_entries };
	yaml->path = path;
	return read_tree(&reading);
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *child = map->first; child; child = child->next)
		if (strcmp(child->key->text, key) == 0)
			return child;
	return NULL;
}

const struct yaml_node *yaml_at(const struct yaml_node *list, size_t index)
{
	if (!list || list->kind != YAML_LIST)
		return NULL;
	const struct yaml_node *child = list->first;
	while (child && index--)
		child = child->next;
	return child;
}

static bool is_word(const struct yaml_node *node, const char *word)
{
	return strcasecmp(node->text, word) == 0;
}

static bool is_integer(const char *text)
{
	text += strspn(text, "+-");
	return *text && strspn(text, "0123456789") == strlen(text);
}

struct yaml_value yaml_scalar(const struct yaml_node *node)
{
	struct yaml_value value = { .type = YAML_STRING, .string = node->kind == YAML_SCALAR ? node->text : "" };
	char *end;

	if (node->kind != YAML_SCALAR)
		return value;
	if (is_integer(node->text)) {
		errno = 0;
		int64_t integer = strtoll(node->text, &end, 10);
		if (!errno && !*end)
			return (struct yaml_value){ .type = YAML_INT, .integer = integer };
	}
	if (is_word(node, "true") || is_word(node, "yes"))
		return (struct yaml_value){ .type = YAML_BOOL, .integer = 1 };
	if (is_word(node, "false") || is_word(node, "no"))
		return (struct yaml_value){ .type = YAML_BOOL, .integer = 0 };
	if (node->plain && (!*node->text || is_word(node, "null") || is_word(node, "~")))
		return (struct yaml_value){ .type = YAML_NULL };
	if (isdigit((unsigned char)*node->text) || strchr("+-.", *node->text)) {
		double real = strtod(node->text, &end);
		if (end != node->text && !*end && isfinite(real) && !strpbrk(node->text, "xXpP"))
			return (struct yaml_value){ .type = YAML_FLOAT, .real = real };
	}
	return value;
}

int yaml_int(const struct yaml *yaml, const struct yaml_node *node, int64_t *ret_value, struct error *error)
{
	struct yaml_value value = yaml_scalar(node);

	if (node->kind != YAML_SCALAR || (value.type != YAML_INT && value.type != YAML_BOOL))
		return error_set(error, -EINVAL, "'%s': line %u: %s is '%s', not a whole number", yaml->path, node->line,
				 node->key ? node->key->text : "an entry", yaml_describe(node));
	*ret_value = value.integer;
	return 0;
}

const char *yaml_describe(const struct yaml_node *node)
{
	static const char *const kinds[] = { [YAML_LIST] = "a list", [YAML_MAP] = "a map" };

	return node->kind == YAML_SCALAR ? node->text : kinds[node->kind];
}
