/* SPDX-License-Identifier: MIT */
#include "build/logic/tree_build.h"

#include "base/clock.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST_IN_MEMORY (64u << 20)	/* bytes; a larger file is no logic, and is looked at piece by piece until that shows */

void yaml_release(struct yaml *yaml)
{
	arena_release(&yaml->arena);
	*yaml = (struct yaml){ 0 };
}

static uint32_t hash_text(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static int intern(struct yaml *yaml, const char *text, size_t length, struct yaml_key **ret_key)
{
	uint32_t hash = hash_text(text, length);
	struct yaml_key **bucket = &yaml->buckets[hash % YAML_KEY_BUCKETS];

	for (struct yaml_key *key = *bucket; key; key = key->next)
		if (key->hash == hash && key->n == length && memcmp(key->text, text, length) == 0) {
			*ret_key = key;
			return 0;
		}
	if (yaml->n_keys == TREE_MOST_KEYS)
		return -E2BIG;
	struct yaml_key *key = arena_new(&yaml->arena, struct yaml_key, 1);
	const char *copy = arena_strndup(&yaml->arena, text, length);
	if (!key || !copy)
		return -ENOMEM;
	*key = (struct yaml_key){ .text = copy, .n = (uint32_t)length, .hash = hash, .next = *bucket };
	*bucket = key;
	yaml->n_keys++;
	*ret_key = key;
	return 0;
}

int tree_set_key(struct tree_builder *builder, const char *text, size_t length)
{
	struct yaml_key *last = builder->last_key, *key = last ? last->follower : NULL;
	int r = 0;

	if (!key || key->n != length || memcmp(key->text, text, length) != 0)
		r = intern(builder->yaml, text, length, &key);
	if (r < 0)
		return r;
	if (last)
		last->follower = key;
	builder->last_key = key;
	builder->key[builder->depth - 1] = key;
	return 0;
}

struct yaml_node *tree_add(struct tree_builder *builder, enum yaml_kind kind, uint32_t line)
{
	struct yaml_node *node = arena_new(&builder->yaml->arena, struct yaml_node, 1);

	if (!node)
		return NULL;
	node->kind = kind;
	node->line = line;
	if (builder->depth) {
		unsigned top = builder->depth - 1;
		node->key = builder->key[top];
		builder->key[top] = NULL;
		*builder->tail[top] = node;
		builder->tail[top] = &node->next;
		builder->open[top]->n++;
	} else {
		builder->yaml->root = node;
	}
	return node;
}

void tree_open(struct tree_builder *builder, struct yaml_node *node)
{
	builder->open[builder->depth] = node;
	builder->tail[builder->depth] = &node->first;
	builder->key[builder->depth] = NULL;
	builder->depth++;
}

const struct yaml_node *tree_close(struct tree_builder *builder)
{
	const struct yaml_node *node = builder->open[--builder->depth];
	uint32_t serial = ++builder->yaml->n_maps;

	for (const struct yaml_node *child = node->kind == YAML_MAP ? node->first : NULL; child; child = child->next) {
		struct yaml_key *key = (struct yaml_key *)child->key;
		if (key->seen == serial)
			return child;
		key->seen = serial;
	}
	return NULL;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* A whole text is tried in its simple form first. */
static int parse_whole(struct yaml *yaml, const char *text, size_t size, struct error *error)
{
	const char *path = yaml->path;

	int r = size <= LARGEST_IN_MEMORY ? yaml_parse_plain(yaml, text, size) : -EOPNOTSUPP;
	if (r != -EOPNOTSUPP)
		return r;
	yaml_release(yaml);
	yaml->path = path;
	return yaml_parse_events(yaml, -1, text, size, YAML_WHOLE, error);
}

int yaml_parse(struct yaml *yaml, const char *path, const char *text, size_t size, unsigned n_entries, struct error *error)
{
	yaml->path = path;
	return n_entries == YAML_WHOLE ? parse_whole(yaml, text, size, error) : yaml_parse_events(yaml, -1, text, size, n_entries, error);
}

static int read_all(int fd, size_t size, char *text, size_t *ret_size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = read(fd, text + got, size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	text[got] = 0;
	*ret_size = got;
	return 0;
}

struct yaml_stamp yaml_stamp_of(const struct stat *st)
{
	return (struct yaml_stamp){
		.device = st->st_dev, .inode = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime_ns = timespec_ns(&st->st_mtim), .ctime_ns = timespec_ns(&st->st_ctim),
	};
}

bool yaml_stamp_equal(const struct yaml_stamp *a, const struct yaml_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

int yaml_read(struct yaml *yaml, const char *path, int fd, unsigned n_entries, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t size = 0;

	yaml->path = path;
	if (fstat(fd, &st) < 0)
		return error_set(error, -errno, "cannot read '%s': %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(error, -EINVAL, "'%s' is not a file", path);
	if (n_entries != YAML_WHOLE || st.st_size > (off_t)LARGEST_IN_MEMORY)
		return yaml_parse_events(yaml, fd, NULL, 0, n_entries, error);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	int r = read_all(fd, (size_t)st.st_size, text, &size);
	if (r < 0)
		return error_set(error, r, "cannot read '%s': %s", path, strerror(-r));
	r = parse_whole(yaml, text, size, error);
	yaml->stamp = yaml_stamp_of(&st);
	return r;
}

/* ---- looking ---------------------------------------------------------------------------------------------------------- */

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
	if (!map || map->kind != YAML_MAP)
		return NULL;
	for (const struct yaml_node *child = map->first; child; child = child->next)
		if (*child->key->text == *key && strcmp(child->key->text, key) == 0)
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

bool yaml_equal(const struct yaml_node *a, const struct yaml_node *b)
{
	if (a->kind != b->kind || a->n != b->n || a->key != b->key || a->plain != b->plain)
		return false;
	if (a->kind == YAML_SCALAR)
		return memcmp(a->text, b->text, a->n) == 0;
	for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
		if (!yaml_equal(a, b))
			return false;
	return a == b;
}

static bool is_word(const struct yaml_node *node, const char *word)
{
	return tolower((unsigned char)*node->text) == *word && strcasecmp(node->text, word) == 0;
}

/* Digits with one sign at most, so few that they cannot overflow. */
static bool read_integer(const char *text, int64_t *ret_integer)
{
	bool negative = *text == '-';
	uint64_t integer = 0;
	unsigned n = 0;

	text += *text == '-' || *text == '+';
	for (; text[n] >= '0' && text[n] <= '9' && n < 19; n++)
		integer = integer * 10 + (uint64_t)(text[n] - '0');
	if (!n || n == 19 || text[n])
		return false;
	*ret_integer = negative ? -(int64_t)integer : (int64_t)integer;
	return true;
}

struct yaml_value yaml_scalar(const struct yaml_node *node)
{
	struct yaml_value value = { .type = YAML_STRING, .string = node->kind == YAML_SCALAR ? node->text : "" };
	char *end;

	if (node->kind != YAML_SCALAR)
		return value;
	if (read_integer(node->text, &value.integer))
		return (struct yaml_value){ .type = YAML_INT, .integer = value.integer };
	value.string = node->text;
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
