/* SPDX-License-Identifier: MIT */
#include "build/logic/open.h"
#include "build/logic/parameters.h"

#include <fcntl.h>

enum parameter_kind { KIND_NUMBER, KIND_REAL, KIND_TEXT, KIND_NUMBERS };

struct parameter_info {
	const char *name;
	struct logic_value standard;	/* default */
	uint8_t kind, role, naming;
};

#define NUMBER(v) { .type = YAML_INT, .integer = (v) }
#define YES { .type = YAML_BOOL, .integer = 1 }
#define NO { .type = YAML_BOOL }
#define TEXT(v) { .type = YAML_STRING, .string = v }
/* the leading 0 lets a list be empty */
#define LIST(...) \
	{ .type = LOGIC_LIST, .n = sizeof((int32_t[]){ 0, ##__VA_ARGS__ }) / 4 - 1, .items = &(const int32_t[]){ 0, ##__VA_ARGS__ }[1] }
#define NONE { .type = YAML_NULL }

static const struct parameter_info parameters[N_PARAMETERS] = {
#define PARAMETER(key, kind_, default_, role_, naming_) \
	[P_##key] = { .name = #key, .standard = default_, .kind = KIND_##kind_, .role = ROLE_##role_, .naming = NAMING_##naming_ },
#define DERIVED(key)
#define LEGACY(key)
#define OTHER(key)
#include "build/logic/parameters.inc"
#undef PARAMETER
#undef DERIVED
#undef LEGACY
#undef OTHER
};

static const struct parameter_key keys[] = {
#define PARAMETER(key_, kind_, ...) { #key_, P_##key_, KIND_##kind_ },
#define DERIVED(key_) { #key_, KEY_DERIVED, 0 },
#define LEGACY(key_) { #key_, KEY_LEGACY, 0 },
#define OTHER(key_) { #key_, KEY_OTHER, 0 },
#include "build/logic/parameters.inc"
};

static int compare_key(const void *key, const void *entry)
{
	return strcmp(key, ((const struct parameter_key *)entry)->key);
}

const struct parameter_key *parameter_find(const char *key)
{
	return bsearch(key, keys, ARRAY_SIZE(keys), sizeof(keys[0]), compare_key);
}

const char *parameter_name(enum parameter parameter)
{
	return parameters[parameter].name;
}

enum parameter_role parameter_role(enum parameter parameter)
{
	return parameters[parameter].role;
}

enum parameter_naming parameter_naming(enum parameter parameter)
{
	return parameters[parameter].naming;
}

const struct logic_value *parameter_default(enum parameter parameter)
{
	return &parameters[parameter].standard;
}

static int wrong_value(const struct yaml *yaml, const struct yaml_node *node, const char *wanted, struct error *error)
{
	return error_set(error, -EINVAL, "'%s': line %u: %s is '%.100s', not %s", yaml->path, node->line,
			 node->key ? node->key->text : "an entry", yaml_describe(node), wanted);
}

static bool fits(const struct yaml_value *value)
{
	return (value->type == YAML_INT || value->type == YAML_BOOL) && value->integer >= INT32_MIN && value->integer <= INT32_MAX;
}

static int read_list(struct arena *arena, const struct yaml *yaml, const struct yaml_node *node, struct logic_value *place,
		     struct error *error)
{
	if (node->kind != YAML_LIST || node->n > 16)
		return wrong_value(yaml, node, "a list of numbers", error);
	int32_t *items = arena_new(arena, int32_t, node->n);
	if (!items)
		return -ENOMEM;
	unsigned n = 0;
	for (const struct yaml_node *child = node->first; child; child = child->next) {
		struct yaml_value value = yaml_scalar(child);
		if (!fits(&value))
			return wrong_value(yaml, node, "a list of numbers", error);
		items[n++] = (int32_t)value.integer;
	}
	*place = (struct logic_value){ .type = LOGIC_LIST, .n = (uint8_t)n, .items = items };
	return 0;
}

static int read_value(struct arena *arena, const struct yaml *yaml, const struct yaml_node *node, const struct parameter_key *key,
		      struct logic_value *place, struct error *error)
{
	struct yaml_value value = yaml_scalar(node);

	if (key->kind == KIND_NUMBERS)
		return read_list(arena, yaml, node, place, error);
	if (node->kind != YAML_SCALAR)
		return wrong_value(yaml, node, "a single value", error);
	if (key->kind == KIND_TEXT) {
		const char *copy = arena_strndup(arena, node->text, node->n);
		*place = (struct logic_value){ .type = YAML_STRING, .string = copy };
		return copy ? 0 : -ENOMEM;
	}
	if (key->kind == KIND_REAL && value.type == YAML_FLOAT) {
		*place = (struct logic_value){ .type = YAML_FLOAT, .real = value.real };
		return 0;
	}
	if (!fits(&value))
		return wrong_value(yaml, node, "a number", error);
	*place = (struct logic_value){ .type = value.type, .integer = value.integer };
	return 0;
}

/* What a kernel supports of the host's arguments; defaults are those of Common.py: defaultInternalSupportParams. */
static int read_support(const struct yaml *yaml, const struct yaml_node *map, struct solution *solution, struct error *error)
{
	const struct {
		const char *key;
		struct logic_value *place;
	} members[] = {
		{ "KernArgsVersion", &solution->kernarg_version },
		{ "SupportCustomStaggerU", &solution->custom_stagger_u },
		{ "SupportCustomWGM", &solution->custom_wgm },
		{ "SupportUserGSU", &solution->user_gsu },
		{ "UseUniversalArgs", &solution->universal_args },
	};

	for (const struct yaml_node *node = map->kind == YAML_MAP ? map->first : NULL; node; node = node->next)
		for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
			struct yaml_value value = yaml_scalar(node);
			if (strcmp(node->key->text, members[i].key) != 0)
				continue;
			if (node->kind != YAML_SCALAR || !fits(&value))
				return wrong_value(yaml, node, "a number", error);
			*members[i].place = (struct logic_value){ .type = value.type, .integer = value.integer };
		}
	return map->kind == YAML_MAP ? 0 : wrong_value(yaml, map, "a map", error);
}

static void set_defaults(struct solution *solution)
{
	for (int i = 0; i < N_PARAMETERS; i++)
		solution->value[i] = parameters[i].standard;
	solution->kernarg_version = LOGIC_INT(2);
	solution->user_gsu = solution->custom_wgm = solution->custom_stagger_u = solution->universal_args = LOGIC_BOOL(1);
}

static const void *find_key(const char *text)
{
	return parameter_find(text);
}

/* Overlays what a map says. What is wrong with one key must not hide the others: the first complaint is kept, the rest is read. */
static int read_keys(struct arena *arena, const struct yaml *yaml, const struct yaml_node *map, struct solution *solution,
		     struct error *error)
{
	int failure = 0;

	for (const struct yaml_node *node = map->first; node; node = node->next) {
		const struct parameter_key *key = yaml_meaning(node->key, YAML_SOLUTION_KEYS, find_key);
		struct error *first = failure ? NULL : error;
		int r = 0;
		if (!key)
			r = error_set(first, -EINVAL, "'%s': line %u: unknown parameter '%.100s', value '%.100s'", yaml->path, node->line,
				      node->key->text, yaml_describe(node));
		else if (key->parameter >= 0)
			r = read_value(arena, yaml, node, key, &solution->value[key->parameter], first);
		else if (key->parameter == KEY_OTHER && strcmp(key->key, "InternalSupportParams") == 0)
			r = read_support(yaml, node, solution, first);
		if (r == -ENOMEM)
			return r;
		failure = failure ? failure : r;
	}
	return failure;
}

int solution_read(struct arena *arena, const struct yaml *yaml, const struct yaml_node *map, struct solution *solution, struct error *error)
{
	set_defaults(solution);
	return read_keys(arena, yaml, map, solution, error);
}

static bool is_line(const char *line, const char *text)
{
	size_t length = strlen(text);

	return strncmp(line, text, length) == 0 && line[length + strspn(line + length, "\r")] == '\n';
}

/* The YAML document in an assembly file stands between lines of "---" and "...". What follows is long, and code. */
static int read_metadata(FILE *file, struct buffer *ret_text)
{
	_cleanup_free_ char *line = NULL;
	size_t allocated = 0;
	bool inside = false;
	ssize_t length;

	while ((length = getline(&line, &allocated, file)) >= 0 && !(inside && is_line(line, "..."))) {
		bool begin = is_line(line, "---");
		inside |= begin;
		if (inside && !begin)
			buffer_append(ret_text, line, (size_t)length);
		else	/* line numbers in messages stay those of the file */
			buffer_append_string(ret_text, "\n");
	}
	return ferror(file) ? -EIO : ret_text->failed ? -ENOMEM : 0;
}

int solution_read_custom(struct arena *arena, const char *folder, struct solution *solution, struct error *error)
{
	const char *name = solution->value[P_CustomKernelName].string;
	_cleanup_(buffer_release) struct buffer text = { 0 };
	_cleanup_yaml_ struct yaml yaml = { 0 };

	if (strchr(name, '/'))
		return error_set(error, -EINVAL, "'%.200s' is no name of a hand-written kernel", name);
	const char *path = arena_printf(arena, "%s/%s.s", folder, name);
	if (!path)
		return -ENOMEM;
	int fd = open_inside(folder, path + strlen(folder) + 1, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return error_set(error, fd, "cannot open '%s': %s", path, fd == -EXDEV ? LEADS_OUT : strerror(-fd));
	FILE *file = fdopen(fd, "r");
	int r = file ? read_metadata(file, &text) : -errno;
	if (file)
		fclose(file);
	else
		close(fd);
	if (r < 0)
		return error_set(error, r, "cannot read '%s': %s", path, strerror(-r));
	buffer_append(&text, "", 1);
	r = text.failed ? -ENOMEM : yaml_parse(&yaml, path, (const char *)text.data, text.size - 1, YAML_WHOLE, error);
	if (r < 0)
		return r;
	const struct yaml_node *config = yaml_get(yaml.root, "custom.config");
	if (!config || config->kind != YAML_MAP || !yaml_get(config, "InternalSupportParams"))
		return error_set(error, -EINVAL, "'%s': no custom.config with InternalSupportParams", path);
	return read_keys(arena, &yaml, config, solution, error);
}
