/* SPDX-License-Identifier: MIT */
/* The YAML reader: what it makes of scalars, and that everything a logic file must not be gets a located error in bounded time. */
#include "build/logic/open.h"
#include "build/logic/tree_build.h"
#include "tests/logic/common.h"

static int parse(struct yaml *yaml, const char *text, unsigned n_entries, struct error *error)
{
	*yaml = (struct yaml){ 0 };
	*error = (struct error){ 0 };
	return yaml_parse(yaml, "f.yaml", text, strlen(text), n_entries, error);
}

static void scalars_are_what_the_peer_reads(void **state)
{
	static const char text[] = "[true, No, 12, -3, '7', 0.4, 1e3, null, ~, '', \"null\", nan, Inf, 0x10, a b, 99999999999999999999]";
	static const enum yaml_type types[] = {
		YAML_BOOL, YAML_BOOL, YAML_INT, YAML_INT, YAML_INT, YAML_FLOAT, YAML_FLOAT, YAML_NULL, YAML_NULL, YAML_STRING, YAML_STRING,
		YAML_STRING, YAML_STRING, YAML_STRING, YAML_STRING, YAML_FLOAT,
	};
	struct yaml yaml;
	struct error error;

	assert_int_equal(parse(&yaml, text, YAML_WHOLE, &error), 0);
	assert_int_equal(yaml.root->n, ARRAY_SIZE(types));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		assert_int_equal(yaml_scalar(yaml_at(yaml.root, i)).type, types[i]);
	assert_int_equal(yaml_scalar(yaml_at(yaml.root, 0)).integer, 1);
	assert_int_equal(yaml_scalar(yaml_at(yaml.root, 3)).integer, -3);
	assert_true(yaml_scalar(yaml_at(yaml.root, 5)).real == 0.4);
	assert_null(yaml_at(yaml.root, ARRAY_SIZE(types)));
	yaml_release(&yaml);
}

static void nodes_know_their_lines_and_keys(void **state)
{
	struct yaml yaml;
	struct error error;

	assert_int_equal(parse(&yaml, "- 1\n- a: 2\n  b:\n  - x\n  - {c: 3}\n", YAML_WHOLE, &error), 0);
	const struct yaml_node *map = yaml_at(yaml.root, 1), *b = yaml_get(map, "b");
	assert_int_equal(map->n, 2);
	assert_int_equal(yaml_get(map, "a")->line, 2);
	assert_int_equal(yaml_at(b, 1)->line, 5);
	assert_string_equal(yaml_get(yaml_at(b, 1), "c")->key->text, "c");
	assert_null(yaml_get(map, "c"));
	yaml_release(&yaml);
}

static void reading_the_head_does_not_look_at_the_rest(void **state)
{
	struct yaml yaml;
	struct error error;

	assert_int_equal(parse(&yaml, "- 1\n- {a: 2}\n- [3]\n- x: y\n\t- broken: [\n", 3, &error), 0);
	assert_int_equal(yaml.root->n, 3);
	yaml_release(&yaml);
	assert_int_equal(parse(&yaml, "- 1\n- {a: 2}\n- [3]\n- x: y\n\t- broken: [\n", YAML_WHOLE, &error), -EINVAL);
	yaml_release(&yaml);
	assert_int_equal(parse(&yaml, "- 1\n- 2\n", 5, &error), 0);	/* fewer than wanted is for the caller to judge */
	assert_int_equal(yaml.root->n, 2);
	yaml_release(&yaml);
}

static void bad_files_get_a_located_error(void **state)
{
	static const struct {
		const char *text, *place, *words;
	} cases[] = {
		{ "- a\n- [1, 2\n- b\n", "line 4, column 1", "that begins in line 2" },
		{ "- a: 1\n b: 2\n", "line 2, column 2", "" },
		{ "- {a: 1, b: 2,\n   a: 3}\n", "line 2", "key 'a' appears twice" },
		{ "- &x [1]\n- *x\n", "line 2, column 3", "alias '*x'" },
		{ "- &x\n  - *x\n", "line 2, column 5", "alias '*x'" },
		{ "- {[1, 2]: 3}\n", "line 1, column 4", "a key has to be a scalar" },
		{ "- 1\n---\n- 2\n", "line 2", "a second document" },
		{ "- \"a\\0b\"\n", "line 1, column 3", "a NUL character" },
		{ "- ok\n- \xff\xfe\n", "line 2, byte 7", "UTF-8" },
		{ "- \x01\n", "line 1, byte 2", "control characters" },
		{ "", "line 1", "empty" },
		{ "# only a comment\n", "line 1", "empty" },
		{ "- 'open\n", "line", "" },
		{ "- {a: [1, 2]", "line 2", "that begins in line 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml yaml;
		struct error error;
		int r = parse(&yaml, cases[i].text, YAML_WHOLE, &error);
		yaml_release(&yaml);
		if (r != -EINVAL || !strstr(error.text, "'f.yaml'") || !strstr(error.text, cases[i].place) ||
		    !strstr(error.text, cases[i].words))
			fail_msg("case %zu: %d '%s'", i, r, error.text);
	}
}

static char *repeat(const char *word, size_t n)
{
	size_t length = strlen(word);
	char *text = malloc(length * n + 1);

	for (size_t i = 0; i < n; i++)
		memcpy(text + i * length, word, length);
	text[length * n] = 0;
	return text;
}

static void absurd_files_are_refused_early(void **state)
{
	static const struct {
		const char *word;
		size_t n;
		int code;
	} cases[] = {
		{ "[", 100000, -EINVAL },		/* depth */
		{ "- ", 100000, -EINVAL },
		{ "{a: ", 100000, -EINVAL },
		{ "x", 100u << 20, -EFBIG },		/* one line of 100 MB */
		{ "\"aaaaaaaaaaaaaaaa ", 8u << 20, -EFBIG },
		{ "[1,", 64u << 20, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yaml yaml;
		struct error error;
		char *text = repeat(cases[i].word, cases[i].n);
		int r = parse(&yaml, text, YAML_WHOLE, &error);
		size_t memory = yaml.arena.total;
		yaml_release(&yaml);
		free(text);
		assert_int_equal(r, cases[i].code);
		assert_non_null(strstr(error.text, "line 1"));
		assert_true(memory < 64 << 20);
	}
}

static void more_keys_than_any_logic_has_are_refused(void **state)
{
	struct buffer text = { 0 };
	struct error error;
	struct yaml yaml;

	for (unsigned i = 0; i < 300000; i++)
		buffer_printf(&text, "k%u: 1\n", i);
	buffer_append(&text, "", 1);
	assert_int_equal(parse(&yaml, (const char *)text.data, YAML_WHOLE, &error), -EINVAL);
	assert_non_null(strstr(error.text, "'f.yaml': line 16385, column 1: more than 16384 different keys"));
	yaml_release(&yaml);
	buffer_release(&text);
}

static void print_tree(const struct yaml_node *node, struct buffer *text)
{
	buffer_printf(text, "%s%s@%u", node->key ? node->key->text : "", node->key ? "=" : "", node->line);
	if (node->kind == YAML_SCALAR) {
		buffer_printf(text, "%s%s%s", node->plain ? "" : "'", node->text, node->plain ? "" : "'");
		return;
	}
	buffer_append_string(text, node->kind == YAML_LIST ? "[" : "{");
	for (const struct yaml_node *child = node->first; child; child = child->next) {
		print_tree(child, text);
		buffer_append_string(text, child->next ? "," : "");
	}
	buffer_append_string(text, node->kind == YAML_LIST ? "]" : "}");
}

static char *tree_of(int r, const struct yaml *yaml)
{
	struct buffer text = { 0 };

	if (r < 0)
		return NULL;
	print_tree(yaml->root, &text);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static void the_fast_reader_gives_the_tree_of_the_events_or_gives_up(void **state)
{
	static const struct {
		const char *text;
		bool simple;		/* the fast reader has to take it */
	} cases[] = {
		{ "- a: 1\n  b: [1, 2]\n- {c: 3}\n", true },
		{ "# comment\n\n- - - [1, [2, 3]]\n    - [4, 0.0]\n  - - [5]\n    - [6, -1]\n- null\n", true },
		{ "- a:\n  - 1\n  - b: 2\n    c:\n    - 3\n  d: 4\n- 5\n", true },
		{ "a:\n    b:\n        c: 'x: # y'\n    d: ''\n", true },
		{ "- a: {b: 1, c: true,\n    d: [x, y,\n      z]}\n  e: Device 0049\n", true },
		{ "-   a: 1\n    b: 2\n-   - 1\n    - 2\n", true },
		{ "- a: 1   \n  # comment\n  b: -1.5e3", true },
		{ "- 1\n-- 2\n", false },
		{ "- a: x\n    y\n", false },		/* a scalar of two lines */
		{ "- a: x y: z\n", false },
		{ "- a: x #y\n", false },
		{ "- a: x#y\n", false },
		{ "- a:\n  b: 1\n", false },		/* nothing */
		{ "- a: 1\n b: 2\n", false },
		{ "- a: 1\n   b: 2\n", false },
		{ "- a: 1\n  a: 2\n", false },
		{ "- 'it''s'\n", false },
		{ "- 'two\n  lines'\n", false },
		{ "- \"x y\"\n- ['', \"\"]\n", true },
		{ "- \"x\\n\"\n", false },
		{ "- 'x\\n'\n", false },
		{ "- \"x\"\"y\"\n", false },
		{ "- [1,]\n", false },
		{ "- [1\n  , 2]\n", false },
		{ "- [1,\n2]\n", false },
		{ "- {a:1}\n", false },
		{ "- {a: 1, a: 2}\n", false },
		{ "- [a: 1]\n", false },
		{ "- &x 1\n- *x\n", false },
		{ "--- 1\n", false },
		{ "- 1\n...\n", false },
		{ "- 1\n---\n- 2\n", false },
		{ "- -\n", false },
		{ "-\n  1\n", false },
		{ "- - 1\n- 2\n  - 3\n", false },
		{ "a: 1\n- 2\n", false },
		{ "- a:\n  - 1\n b: 2\n", false },
		{ "- \tx\n", false },
		{ "- x\r\n", false },
		{ "- \xc3\xa9\n", false },
		{ "- ? a\n", false },
		{ "- |\n  x\n", false },
		{ "", false },
		{ "# nothing\n", false },
		{ "x\n", false },
		{ "- a: 1\nb: 2\n", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_yaml_ struct yaml plain = { 0 }, events = { 0 };
		struct error error = { 0 };
		const char *text = cases[i].text;
		int r = yaml_parse_plain(&plain, text, strlen(text));
		char *tree = tree_of(r, &plain);
		if (!!tree != cases[i].simple)
			fail_msg("'%s' is %staken: %s", text, tree ? "" : "not ", tree ? tree : "");
		char *expected = tree_of(yaml_parse_events(&events, -1, text, strlen(text), YAML_WHOLE, &error), &events);
		if (tree)
			assert_string_equal(tree, expected);
		free(expected);
		free(tree);
	}
}

static void a_nul_is_not_simple(void **state)
{
	static const char *const texts[] = { "- 1\n# a\0b\n", "- 1\0\n\n\n\n", "- 'a\0b'\n", "a:\0\n 1\n\n" };
	static const size_t sizes[] = { 10, 8, 8, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_yaml_ struct yaml yaml = { 0 };
		assert_int_equal(yaml_parse_plain(&yaml, texts[i], sizes[i]), -EOPNOTSUPP);
	}
}

static void unreadable_files_are_named(void **state)
{
	int fd;
	struct yaml yaml = { 0 };
	struct error error = { 0 };

	assert_int_equal(logic_file_open(&(struct logic_file){ .path = "/nonexistent/f.yaml", .named = true }, &fd, &error), -ENOENT);
	assert_non_null(strstr(error.text, "cannot open '/nonexistent/f.yaml'"));
	assert_int_equal(logic_file_open(&(struct logic_file){ .path = "/dev/null", .named = true }, &fd, &error), 0);
	assert_int_equal(yaml_read(&yaml, "/dev/null", fd, YAML_WHOLE, &error), -EINVAL);
	close(fd);
	yaml_release(&yaml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_are_what_the_peer_reads),
		cmocka_unit_test(nodes_know_their_lines_and_keys),
		cmocka_unit_test(reading_the_head_does_not_look_at_the_rest),
		cmocka_unit_test(bad_files_get_a_located_error),
		cmocka_unit_test(absurd_files_are_refused_early),
		cmocka_unit_test(more_keys_than_any_logic_has_are_refused),
		cmocka_unit_test(the_fast_reader_gives_the_tree_of_the_events_or_gives_up),
		cmocka_unit_test(a_nul_is_not_simple),
		cmocka_unit_test(unreadable_files_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
