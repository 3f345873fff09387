/* SPDX-License-Identifier: MIT */
/* Commands that look at logic without building: ls, show, hash, asm, coverage. */
#include "cachedb/digest.h"
#include "tools/command.h"

#include <json-c/json.h>

static int complain_error(int r, const struct error *error)
{
	complain("%s", error_text(error, r));
	return r;
}

/* ---- ls --------------------------------------------------------------------------------------------------------------- */

static int print_name(void *userdata, struct engine_file *file)
{
	printf("%s/%s\n", engine_file_arch(file), engine_file_name(file));
	return 0;
}

int command_ls(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_(engine_unref_p) struct engine *engine = NULL;
	size_t faults, n;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_OUTPUT, 1, 1, "ls LOGIC [--arch A]", &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, &faults) < 0)
		return EXIT_FAILURE;
	foreach_file(engine, options.arch, NULL, print_name, NULL, &n);
	return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- hash ------------------------------------------------------------------------------------------------------------- */

static int print_hash(void *userdata, struct engine_file *file)
{
	struct engine *engine = userdata;
	struct cachedb_key hash;
	char text[KEY_TEXT_SIZE];
	struct error error = { 0 };

	int r = engine_hash(engine, file, &hash, &error);
	if (r < 0)
		return complain_error(r, &error);
	printf("%s  %s/%s\n", key_to_text(&hash, text), engine_file_arch(file), engine_file_name(file));
	return 0;
}

int command_hash(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_(engine_unref_p) struct engine *engine = NULL;
	size_t n;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_OUTPUT, 1, 2, "hash LOGIC [NAME] [--arch A]", &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, NULL) < 0)
		return EXIT_FAILURE;
	const char *name = optind + 1 < argc ? argv[optind + 1] : NULL;
	int r = foreach_file(engine, options.arch, name, print_hash, engine, &n);
	if (r == 0 && n == 0 && name)
		complain("there is no file '%s'", name);
	return r < 0 || n == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- show and asm ----------------------------------------------------------------------------------------------------- */

/* A question about one name, which may be that of a file, of a kernel in any file, or (show) of a solution. */
struct question {
	struct engine *engine;
	const char *name;		/* of a kernel or solution; NULL: all */
	const char *solution;		/* printed last */
	size_t found;
};

static int print_parameter(void *userdata, const char *solution, const char *key, const char *value, const char *role)
{
	struct question *question = userdata;

	if (question->solution != solution) {
		printf("%s%s\n", question->found++ ? "\n" : "", solution);
		question->solution = solution;
	}
	if (*key)
		printf("\t%-40s %-24s %s\n", key, value, role);
	else
		printf("\t%s: %s\n", role, value);
	return 0;
}

static int show_file(void *userdata, struct engine_file *file)
{
	struct question *question = userdata;
	struct error error = { 0 };

	if (engine_file_kind(file) != ENGINE_METADATA)	/* each base once */
		return 0;
	question->solution = NULL;
	int r = engine_foreach_parameter(question->engine, file, question->name, print_parameter, question, &error);
	if (r == -ENOENT)
		return 0;		/* it is in another file */
	return r < 0 ? complain_error(r, &error) : 0;
}

struct listing {
	struct question *question;
	struct engine_file *file;
};

static int print_assembly(void *userdata, const char *name)
{
	struct listing *listing = userdata;
	_cleanup_buffer_ struct buffer text = { 0 };
	struct error error = { 0 };

	if (listing->question->name && strcmp(listing->question->name, name) != 0)
		return 0;
	int r = engine_print_kernel(listing->question->engine, listing->file, name, &text, &error);
	if (r < 0)
		return complain_error(r, &error);
	printf("%s%s:\n", listing->question->found++ ? "\n" : "", name);
	fwrite(text.data, 1, text.size, stdout);
	return 0;
}

static int assemble_file(void *userdata, struct engine_file *file)
{
	struct question *question = userdata;
	struct listing listing = { question, file };
	struct error error = { 0 };

	if (engine_file_kind(file) != ENGINE_CODE_OBJECT)
		return 0;
	int r = engine_foreach_kernel(question->engine, file, print_assembly, &listing, &error);
	return r < 0 && error.text[0] ? complain_error(r, &error) : r;
}

/* `name` is a file, or else something inside one. */
static int ask(struct engine *engine, const struct options *options, const char *name, int (*answer)(void *userdata, struct engine_file *file))
{
	struct question question = { .engine = engine };
	size_t n;

	int r = foreach_file(engine, options->arch, name, answer, &question, &n);
	if (r == 0 && n == 0) {
		question.name = name;
		r = foreach_file(engine, options->arch, NULL, answer, &question, &n);
	}
	if (r == 0 && question.found == 0 && question.name)
		complain("there is no file, kernel or solution '%s'", name);
	return r < 0 || (question.name && question.found == 0) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* For `show`, both files of a base stand for it. */
static char *metadata_name(const char *name)
{
	const char *suffix = strrchr(name, '.');
	char *other = NULL;

	if (suffix && strcmp(suffix, ".co") == 0 && asprintf(&other, "%.*s.dat", (int)(suffix - name), name) < 0)
		return NULL;
	return suffix && strcmp(suffix, ".co") == 0 ? other : strdup(name);
}

int command_show(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_(engine_unref_p) struct engine *engine = NULL;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_OUTPUT, 1, 2, "show LOGIC [NAME] [--arch A]", &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, NULL) < 0)
		return EXIT_FAILURE;
	_cleanup_free_ char *name = optind + 1 < argc ? metadata_name(argv[optind + 1]) : NULL;
	return ask(engine, &options, name, show_file);
}

int command_asm(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_(engine_unref_p) struct engine *engine = NULL;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_OUTPUT, 2, 2, "asm LOGIC NAME [--arch A]", &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, NULL) < 0)
		return EXIT_FAILURE;
	return ask(engine, &options, argv[optind + 1], assemble_file);
}

/* ---- coverage --------------------------------------------------------------------------------------------------------- */

static uint64_t number(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_uint64(value) : 0;
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static size_t print_coverage(struct json_object *coverage)
{
	size_t faults = 0;

	json_object_object_foreach(coverage, arch, object) {
		uint64_t all = number(object, "solutions"), custom = number(object, "custom");
		struct json_object *list = member(object, "left_out"), *broken = member(object, "faults");
		printf("%s: %llu of %llu solutions are generated (%.1f %%)", arch, (unsigned long long)number(object, "generated"),
		       (unsigned long long)all, percent(number(object, "generated"), all));
		if (custom)
			printf(", %llu are custom kernels", (unsigned long long)custom);
		printf("\n");
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			struct json_object *reason = json_object_array_get_idx(list, i);
			uint64_t n = number(reason, "solutions");
			printf("%8llu %5.1f %%  %s\n", (unsigned long long)n, percent(n, all), json_object_get_string(member(reason, "reason")));
		}
		for (size_t i = 0; i < json_object_array_length(broken); i++, faults++)
			complain("%s", json_object_get_string(json_object_array_get_idx(broken, i)));
	}
	return faults;
}

int command_coverage(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_(engine_unref_p) struct engine *engine = NULL;
	_cleanup_buffer_ struct buffer json = { 0 };
	struct error error = { 0 };
	size_t faults;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_JOBS | OPTION_OUTPUT | OPTION_JSON, 1, 1,
			  "coverage LOGIC [--arch A] [-j N] [--json]", &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, &faults) < 0)
		return EXIT_FAILURE;
	int r = engine_coverage(engine, options.arch, &json, &error);
	if (r < 0) {
		complain_error(r, &error);
		return EXIT_FAILURE;
	}
	buffer_append(&json, "", 1);
	if (json.failed)
		return EXIT_FAILURE;
	if (options.json) {
		fputs((const char *)json.data, stdout);
	} else {
		struct json_object *coverage = json_tokener_parse((const char *)json.data);
		faults += print_coverage(coverage);
		json_object_put(coverage);
	}
	return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
