/* SPDX-License-Identifier: MIT */
#include "build/engine/linker.h"
#include "build/isa/isa.h"
#include "build/upstream/assembler.h"
#include "build/upstream/upstream.h"
#include "tools/command.h"

#include <json-c/json.h>

/* ---- what our own generator has --------------------------------------------------------------------------------------- */

static const char *const targets[] = { "gfx942" };

static const char *const units[] = {
	[ISA_UNIT_SALU] = "scalar ALU", [ISA_UNIT_SMEM] = "scalar memory", [ISA_UNIT_VALU] = "vector ALU", [ISA_UNIT_MFMA] = "matrix",
	[ISA_UNIT_VMEM] = "buffer memory", [ISA_UNIT_FLAT] = "flat memory", [ISA_UNIT_LDS] = "LDS",
};

static struct json_object *describe_target(const struct isa *isa)
{
	struct json_object *target = json_object_new_object(), *instructions = json_object_new_object(), *passes = json_object_new_object();
	int counts[ARRAY_SIZE(units)] = { 0 };

	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++) {
		const struct isa_op_info *info = isa_op_info(isa, op);
		counts[info->unit]++;
		if (info->unit == ISA_UNIT_MFMA)
			json_object_object_add(passes, info->name, json_object_new_int((int)info->mfma_passes));
	}
	for (size_t unit = 0; unit < ARRAY_SIZE(units); unit++)
		json_object_object_add(instructions, units[unit], json_object_new_int(counts[unit]));
	json_object_object_add(target, "instructions", instructions);
	json_object_object_add(target, "matrix passes", passes);
	return target;
}

static int add_linker(const struct options *options, struct json_object *caps)
{
	const char *variable = getenv("TENSILEFS_LINKER"), *wanted = options->engine.linker ? options->engine.linker : variable;
	const struct program_found *found;
	struct program *program = NULL;
	struct error error = { 0 };

	int r = linker_new(wanted && *wanted ? wanted : NULL, &program);
	if (r == 0)
		r = program_identify(program, &found, &error);
	if (r == 0) {
		struct json_object *linker = json_object_new_object();
		json_object_object_add(linker, "path", json_object_new_string(found->path));
		json_object_object_add(linker, "version", json_object_new_string(found->identity));
		json_object_object_add(caps, "linker", linker);
	} else {
		complain("%s", error_text(&error, r));
	}
	program_unref(program);
	return r;
}

/* Our own generator needs none: that there is none is no failure unless one is named. */
static int add_assembler(const struct options *options, struct json_object *caps)
{
	struct program *assembler = NULL;
	struct error error = { 0 };
	const struct program_found *found;

	int r = assembler_new(options->engine.assembler, &assembler);
	if (r == 0)
		r = program_identify(assembler, &found, &error);
	if (r == 0)
		json_object_object_add(caps, "assembler", json_object_new_string(found->identity));
	else if (options->engine.assembler)
		complain("%s", error_text(&error, r));
	program_unref(assembler);
	return options->engine.assembler ? r : 0;
}

static int native_caps(const struct options *options, struct json_object **ret_caps)
{
	struct json_object *caps = json_object_new_object(), *archs = json_object_new_object();

	json_object_object_add(caps, "targets", archs);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (!options->arch || strcmp(options->arch, targets[i]) == 0)
			json_object_object_add(archs, targets[i], describe_target(isa_find(targets[i])));
	int r = 0;
	if (json_object_object_length(archs) == 0) {
		complain("there is no target '%s'", options->arch);
		r = -ENOENT;
	}
	if (r == 0)
		r = add_linker(options, caps);
	if (r == 0)
		r = add_assembler(options, caps);
	if (r < 0)
		json_object_put(caps);
	else
		*ret_caps = caps;
	return r;
}

static void print_value(const char *name, struct json_object *value, int depth)
{
	printf("%.*s", depth, "\t\t\t\t");
	if (!json_object_is_type(value, json_type_object)) {
		printf("%-36s %s\n", name, json_object_get_string(value));
		return;
	}
	printf("%s\n", name);
	json_object_object_foreach(value, key, part)
		print_value(key, part, depth + 1);
}

static void print_native(struct json_object *caps)
{
	json_object_object_foreach(caps, key, value)
		print_value(key, value, 0);
}

/* ---- what TensileLite learns of the assembler ------------------------------------------------------------------------- */

DEFINE_CLEANUP(struct cachedb *, cachedb_close)

static int upstream_table(const struct options *options, struct json_object **ret_caps)
{
	_cleanup_(cachedb_close_p) struct cachedb *cache = NULL;	/* closed after upstream */
	_cleanup_(upstream_unref_p) struct upstream *upstream = NULL;
	_cleanup_buffer_ struct buffer json = { 0 };
	struct error error = { 0 };

	const struct engine_options *engine = &options->engine;
	const struct cachedb_options where = { .directory = engine->cache, .max_bytes = engine->cache_max_bytes, .min_free = engine->cache_min_free };
	if (where.directory && cachedb_open(&where, &cache, &error) < 0)
		complain("the cache is not used: %s", error.text);
	int r = upstream_new(&(struct upstream_options){ .tensilelite = engine->tensilelite, .python = engine->python, .assembler = engine->assembler,
							 .hip_compiler = engine->hip_compiler, .workers = 1, .cache = cache },
			     &upstream, &error);
	if (r == 0)
		r = upstream_caps(upstream, options->arch, &json, &error);
	buffer_append(&json, "", 1);
	if (r == 0 && !json.failed)
		*ret_caps = json_tokener_parse((char *)json.data);
	if (r == 0 && !*ret_caps)
		r = -ENOMEM;
	if (r < 0)
		complain("%s", error_text(&error, r));
	return r;
}

static void print_columns(struct json_object *caps, const char *group, const char *name)
{
	json_object_object_foreach(caps, target, groups) {
		if (name)
			printf(" %7d", json_object_get_int(json_object_object_get(json_object_object_get(groups, group), name)));
		else
			printf(" %7s", target);
	}
	putchar('\n');
}

/* One line for each capability, one column for each target. */
static void print_table(struct json_object *caps)
{
	struct json_object_iterator first = json_object_iter_begin(caps), end = json_object_iter_end(caps);

	if (json_object_iter_equal(&first, &end))
		return;
	json_object_object_foreach(json_object_iter_peek_value(&first), group, names) {
		printf("%-24s", group);
		print_columns(caps, group, NULL);
		json_object_object_foreach(names, name, value) {
			(void)value;
			printf("  %-22s", name);
			print_columns(caps, group, name);
		}
	}
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

int command_caps(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	struct json_object *caps = NULL;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_CACHE | OPTION_JSON | OPTION_OUTPUT, 0, 0,
			  "caps [--generator tensilelite:DIR] [--arch A] [--json]\n"
			  "What each target can do: the instructions of the own generator, the linker and the assembler; or, with a\n"
			  "TensileLite, what that finds the assembler to be able to do.",
			  &options) < 0)
		return EXIT_USAGE;
	int r = options.engine.tensilelite ? upstream_table(&options, &caps) : native_caps(&options, &caps);
	if (r < 0)
		return EXIT_FAILURE;
	if (options.json)
		puts(json_object_to_json_string_ext(caps, JSON_C_TO_STRING_PRETTY));
	else if (options.engine.tensilelite)
		print_table(caps);
	else
		print_native(caps);
	json_object_put(caps);
	return end_output(EXIT_SUCCESS);
}
