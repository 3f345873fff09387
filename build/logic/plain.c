/* SPDX-License-Identifier: MIT */
/*
 * The simple form of YAML that logic files have been written in by PyYAML's dump, several times as fast as by libyaml's events.
 *
 * Lines of printable ASCII; lists and maps in block style, one key to a line; values without quotes, in quotes with neither
 * quotes nor backslashes inside, or in flow style with line breaks after commas alone. Where a text says anything else, right or
 * wrong, this reader gives up and the events decide: what it accepts has to have the same tree there, and messages come from one
 * place.
 */
#include "build/logic/tree_build.h"

#include <string.h>

enum { WORD = 1, TEXT = 2 };		/* may be in a key; may be in a plain scalar */

struct plain {
	struct tree_builder tree;
	int indent[TREE_DEEPEST];	/* column of each open list or map in block style */
	const char *text, *at, *end;	/* *end is NUL */
	const char *line_begin;
	uint32_t line;
	bool awaiting;			/* the innermost map has a key whose value begins in another line */
	int failure;
};

static const uint8_t classes[256] = {
	['0' ... '9'] = WORD | TEXT, ['A' ... 'Z'] = WORD | TEXT, ['a' ... 'z'] = WORD | TEXT, ['_'] = WORD | TEXT,
	['.'] = TEXT, ['+'] = TEXT, ['-'] = TEXT, ['/'] = TEXT, [' '] = TEXT,
};

static bool has_class(char c, uint8_t class)
{
	return classes[(uint8_t)c] & class;
}

static bool give_up(struct plain *plain)
{
	plain->failure = plain->failure ? plain->failure : -EOPNOTSUPP;
	return false;
}

static bool out_of_memory(struct plain *plain)
{
	plain->failure = -ENOMEM;
	return false;
}

static void skip_spaces(struct plain *plain)
{
	while (*plain->at == ' ')
		plain->at++;
}

/* ---- scalars ---------------------------------------------------------------------------------------------------------- */

static bool add_scalar(struct plain *plain, const char *text, size_t length, bool unquoted)
{
	if (plain->tree.yaml->arena.total > TREE_LARGEST || plain->at - plain->line_begin > TREE_LONGEST_LINE)
		return give_up(plain);
	struct yaml_node *node = tree_add(&plain->tree, YAML_SCALAR, plain->line);
	const char *copy = arena_strndup(&plain->tree.yaml->arena, text, length);

	if (!node || !copy)
		return out_of_memory(plain);
	node->plain = unquoted;
	node->n = (uint32_t)length;
	node->text = copy;
	return true;
}

static bool read_quoted(struct plain *plain)
{
	char quote = *plain->at;
	const char *begin = ++plain->at;

	while (*plain->at != quote) {
		if (*plain->at < ' ' || *plain->at > '~' || *plain->at == '\\')
			return give_up(plain);
		plain->at++;
	}
	size_t length = (size_t)(plain->at++ - begin);
	return *plain->at == quote ? give_up(plain) : add_scalar(plain, begin, length, false);
}

/* Ends before anything that is not simple, which the caller finds there. */
static bool read_unquoted(struct plain *plain)
{
	const char *begin = plain->at;

	if (!has_class(*begin, TEXT) || (*begin == '-' && !has_class(begin[1], WORD) && begin[1] != '.'))
		return give_up(plain);
	while (has_class(*plain->at, TEXT))
		plain->at++;
	const char *end = plain->at;
	while (end[-1] == ' ')
		end--;
	return add_scalar(plain, begin, (size_t)(end - begin), true);
}

/* ---- keys ------------------------------------------------------------------------------------------------------------- */

/* The length of the key that begins here and is followed by a colon and a space or line break; 0: there is none. */
static size_t key_length(const struct plain *plain)
{
	const char *at = plain->at;

	while (has_class(*at, WORD))
		at++;
	size_t length = (size_t)(at - plain->at);
	return length && length < 128 && *at == ':' && (at[1] == ' ' || at[1] == '\n' || at[1] == 0) ? length : 0;
}

static bool take_key(struct plain *plain, size_t length)
{
	int r = tree_set_key(&plain->tree, plain->at, length);
	if (r < 0)
		return r == -ENOMEM ? out_of_memory(plain) : give_up(plain);
	plain->at += length + 1;
	skip_spaces(plain);
	return true;
}

/* ---- lists and maps --------------------------------------------------------------------------------------------------- */

static bool begin(struct plain *plain, enum yaml_kind kind, int indent)
{
	if (plain->tree.depth == TREE_DEEPEST)
		return give_up(plain);
	struct yaml_node *node = tree_add(&plain->tree, kind, plain->line);
	if (!node)
		return out_of_memory(plain);
	plain->indent[plain->tree.depth] = indent;
	tree_open(&plain->tree, node);
	return true;
}

static bool finish(struct plain *plain)
{
	return !tree_close(&plain->tree) || give_up(plain);
}

static struct yaml_node *innermost(const struct plain *plain)
{
	return plain->tree.open[plain->tree.depth - 1];
}

/* ---- flow style ------------------------------------------------------------------------------------------------------- */

static bool read_value(struct plain *plain);

/* What stands between a comma and the next element. */
static bool skip_break(struct plain *plain)
{
	skip_spaces(plain);
	if (*plain->at != '\n')
		return true;
	plain->line_begin = ++plain->at;
	plain->line++;
	if (plain->at >= plain->end || *plain->at != ' ')
		return give_up(plain);
	skip_spaces(plain);
	return true;
}

static bool read_element(struct plain *plain, enum yaml_kind kind)
{
	size_t length = kind == YAML_MAP ? key_length(plain) : 0;

	if (kind == YAML_MAP && (!length || plain->at[length + 1] != ' ' || !take_key(plain, length)))
		return give_up(plain);
	return read_value(plain);
}

static bool read_flow(struct plain *plain)
{
	enum yaml_kind kind = *plain->at == '[' ? YAML_LIST : YAML_MAP;
	char close = kind == YAML_LIST ? ']' : '}';

	if (!begin(plain, kind, 0))
		return false;
	plain->at++;
	skip_spaces(plain);
	while (*plain->at != close) {
		if (!read_element(plain, kind))
			return false;
		skip_spaces(plain);
		if (*plain->at == close)
			break;
		if (*plain->at != ',')
			return give_up(plain);
		plain->at++;
		if (!skip_break(plain))
			return false;
		if (*plain->at == close)
			return give_up(plain);
	}
	plain->at++;
	return finish(plain);
}

static bool read_value(struct plain *plain)
{
	switch (*plain->at) {
	case '[':
	case '{':
		return read_flow(plain);
	case '\'':
	case '"':
		return read_quoted(plain);
	default:
		return read_unquoted(plain);
	}
}

/* ---- block style ------------------------------------------------------------------------------------------------------ */

static bool begin_block(struct plain *plain, enum yaml_kind kind, int column)
{
	if (!begin(plain, kind, column))
		return false;
	if (column <= UINT16_MAX) {
		innermost(plain)->column = (uint16_t)column;
		innermost(plain)->offset = (uint32_t)(plain->at - plain->text);
	}
	return true;
}

/* Closes what a line at this column ends. */
static bool unwind(struct plain *plain, int column, bool dash)
{
	struct tree_builder *tree = &plain->tree;

	if (plain->awaiting) {		/* a list may begin in the column of its key */
		int indent = plain->indent[tree->depth - 1];
		return column > indent || (column == indent && dash) || give_up(plain);
	}
	while (tree->depth && plain->indent[tree->depth - 1] > column)
		if (!finish(plain))
			return false;
	if (tree->depth > 1 && plain->indent[tree->depth - 1] == column && innermost(plain)->kind == YAML_LIST && !dash &&
	    plain->indent[tree->depth - 2] == column && !finish(plain))
		return false;
	if (!tree->depth)
		return !tree->yaml->root || give_up(plain);
	return plain->indent[tree->depth - 1] == column || give_up(plain);
}

static bool read_line(struct plain *plain)
{
	const char *line_begin = plain->line_begin;
	int column = (int)(plain->at - line_begin);
	bool dash = plain->at[0] == '-' && plain->at[1] == ' ';
	size_t length;

	if (!unwind(plain, column, dash))
		return false;
	bool fresh = plain->awaiting || !plain->tree.depth;	/* what comes next is a new node */
	plain->awaiting = false;
	for (; plain->at[0] == '-' && plain->at[1] == ' '; fresh = true) {
		if (fresh ? !begin_block(plain, YAML_LIST, column) : innermost(plain)->kind != YAML_LIST)
			return give_up(plain);
		plain->at++;
		skip_spaces(plain);
		column = (int)(plain->at - line_begin);
	}
	length = key_length(plain);
	if (!length)			/* the entry of a list, in its line */
		return (dash && read_value(plain)) || give_up(plain);
	if (fresh ? !begin_block(plain, YAML_MAP, column) : innermost(plain)->kind != YAML_MAP)
		return give_up(plain);
	if (!take_key(plain, length))
		return false;
	plain->awaiting = *plain->at == '\n' || plain->at == plain->end;
	return plain->awaiting || read_value(plain);
}

static bool skip_comment(struct plain *plain)
{
	while (*plain->at >= ' ' && *plain->at <= '~')
		plain->at++;
	return *plain->at == '\n' || plain->at == plain->end || give_up(plain);
}

static bool read_lines(struct plain *plain)
{
	while (plain->at < plain->end) {
		plain->line_begin = plain->at;
		plain->line++;
		skip_spaces(plain);
		if (plain->at - plain->line_begin > 1024 || strncmp(plain->at, "---", 3) == 0 || strncmp(plain->at, "...", 3) == 0)
			return give_up(plain);
		if (*plain->at == '#') {
			if (!skip_comment(plain))
				return false;
		} else if (*plain->at != '\n' && plain->at < plain->end && !read_line(plain)) {
			return false;
		}
		skip_spaces(plain);
		if ((*plain->at != '\n' && plain->at < plain->end) || plain->at - plain->line_begin > TREE_LONGEST_LINE)
			return give_up(plain);
		plain->at++;
	}
	if (plain->awaiting)
		return give_up(plain);
	while (plain->tree.depth)
		if (!finish(plain))
			return false;
	return plain->tree.yaml->root || give_up(plain);
}

int yaml_parse_plain(struct yaml *yaml, const char *text, size_t size)
{
	struct plain plain = { .tree = { .yaml = yaml }, .text = text, .at = text, .end = text + size };

	return read_lines(&plain) ? 0 : plain.failure;
}
