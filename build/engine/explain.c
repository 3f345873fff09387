/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include <json-c/json.h>

int engine_hash(struct engine *engine, struct engine_file *file, struct cachedb_key *ret_hash, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(production_release) struct production production = { 0 };
	struct standpoint standpoint;
	struct error failure = { 0 };
	struct cachedb_key hash;
	const struct tools *tools;
	int r;

	if (file->kind == ENGINE_RAW) {
		r = engine_hash(engine, file->parent, &hash, error);
		return r < 0 ? r : plan_hash_raw(&hash, ret_hash);
	}
	r = tools_identify(engine, file->kind, &tools, error);
	if (r == 0)
		r = standpoint_now(file, edition, &standpoint);
	if (r < 0 || known_hash(file, &standpoint, ret_hash) == 0)
		return r;
	r = production_plan(file, edition, standpoint.tools, &production, &hash, &failure);
	if (r < 0 && r != -ENOMEM && known_keep_hash(file, &standpoint, error_text(&failure, r), ret_hash) == 0)
		return 0;
	if (r < 0)
		return error_set(error, r, "%s", error_text(&failure, r));
	known_set_hash(file, edition, &standpoint, &hash, production.mistakes);
	*ret_hash = hash;
	return 0;
}

static int load(struct engine_file *file, const struct edition *edition, enum library_content content, struct library **ret_library,
		struct error *error)
{
	if (!file->base)
		return error_set(error, -ENODATA, "'%s' is not made from solutions", file->name);
	const struct logic_base *base = edition_base(edition, file->arch, file->base, error);
	return base ? libraries_get(edition->libraries, base, content, ret_library, error) : -ENOENT;
}

int engine_foreach_kernel(struct engine *engine, struct engine_file *file, int (*callback)(void *userdata, const char *name),
			  void *userdata, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(library_unref_p) struct library *library = NULL;
	size_t n_solutions, n_kernels;

	if (file->kind == ENGINE_HELPER)
		return 0;
	int r = load(file, edition, LIBRARY_GENERATED, &library, error);
	if (r < 0)
		return r;
	const struct logic_solution *solutions = logic_solutions(library->logic, &n_solutions);
	const size_t *kernels = logic_kernels(library->logic, &n_kernels);
	for (size_t i = 0; i < n_kernels && r == 0; i++)
		r = callback(userdata, solutions[kernels[i]].kernel_name);
	return r;
}

int engine_foreach_mistake(struct engine *engine, struct engine_file *file, int (*callback)(void *userdata, const char *message),
			   void *userdata, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(library_unref_p) struct library *library = NULL;

	int r = load(file, edition, engine->keep_all ? LIBRARY_ALL : LIBRARY_GENERATED, &library, error);
	return r < 0 ? r : logic_foreach_mistake(library->logic, callback, userdata);
}

int engine_print_kernel(struct engine *engine, struct engine_file *file, const char *kernel, struct buffer *ret_text, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(library_unref_p) struct library *library = NULL;
	size_t n_solutions, n_kernels;

	int r = load(file, edition, LIBRARY_GENERATED, &library, error);
	if (r < 0)
		return r;
	const struct logic_solution *solutions = logic_solutions(library->logic, &n_solutions);
	const size_t *kernels = logic_kernels(library->logic, &n_kernels);
	for (size_t i = 0; i < n_kernels; i++)
		if (strcmp(solutions[kernels[i]].kernel_name, kernel) == 0)
			return engine->generator->print(file, library->logic, kernels[i], ret_text, error);
	return error_set(error, -ENOENT, "'%s' has no kernel '%s'", file->name, kernel);
}

/* ---- what a file is made of ------------------------------------------------------------------------------------------- */

static void add_string(struct json_object *object, const char *key, const char *value)
{
	json_object_object_add(object, key, json_object_new_string(value));
}

static struct json_object *describe_files(const struct logic_base *base)
{
	struct json_object *files = json_object_new_array();

	for (size_t i = 0; i < base->n_files; i++)
		json_object_array_add(files, json_object_new_string(base->files[i]->relative));
	return files;
}

static struct json_object *describe_solution(const struct logic_solution *solution)
{
	struct json_object *object = json_object_new_object();

	json_object_object_add(object, "index", json_object_new_int(solution->index));
	add_string(object, "file", solution->file->relative);
	json_object_object_add(object, "line", json_object_new_int64(solution->line));
	add_string(object, "name", solution->name);
	if (solution->left_out)
		add_string(object, "left_out", solution->left_out);
	else
		add_string(object, "kernel", solution->kernel_name);
	return object;
}

static struct json_object *describe_bases(const struct engine_file *file, const struct logic_catalog *catalog)
{
	struct json_object *bases = json_object_new_array();

	for (size_t i = 0; i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].arch, file->arch) == 0 && !catalog->bases[i].fault)
			json_object_array_add(bases, json_object_new_string(catalog->bases[i].name));
	return bases;
}

int engine_explain(struct engine *engine, struct engine_file *file, struct buffer *ret_json, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(library_unref_p) struct library *library = NULL;

	int r = file->base ? load(file, edition, LIBRARY_GENERATED, &library, error) : 0;
	if (r < 0)
		return r;
	struct json_object *object = json_object_new_object();
	add_string(object, "name", file->name);
	add_string(object, "arch", file->arch);
	if (library) {
		struct json_object *list = json_object_new_array();
		size_t n;
		const struct logic_solution *solutions = logic_solutions(library->logic, &n);
		for (size_t i = 0; i < n; i++)
			json_object_array_add(list, describe_solution(&solutions[i]));
		json_object_object_add(object, "files", describe_files(edition_base(edition, file->arch, file->base, NULL)));
		json_object_object_add(object, "solutions", list);
	} else if (file->kind == ENGINE_MASTER) {
		json_object_object_add(object, "libraries", describe_bases(file, edition->catalog));
	}
	buffer_append_string(ret_json, json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	buffer_append_string(ret_json, "\n");
	json_object_put(object);
	return ret_json->failed ? -ENOMEM : 0;
}

/* ---- parameters ------------------------------------------------------------------------------------------------------- */

struct parameters {
	engine_parameter_callback callback;
	void *userdata;
	const char *solution;
};

static int pass_parameter(void *userdata, const char *key, const char *value, const char *role)
{
	struct parameters *parameters = userdata;

	return parameters->callback(parameters->userdata, parameters->solution, key, value, role);
}

int engine_foreach_parameter(struct engine *engine, struct engine_file *file, const char *name, engine_parameter_callback callback,
			     void *userdata, struct error *error)
{
	struct parameters parameters = { .callback = callback, .userdata = userdata };
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(library_unref_p) struct library *library = NULL;
	bool found = false;
	size_t n;

	int r = load(file, edition, LIBRARY_GENERATED, &library, error);
	if (r < 0)
		return r;
	const struct logic_solution *solutions = logic_solutions(library->logic, &n);
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct logic_solution *solution = &solutions[i];
		if (name && strcmp(solution->name, name) != 0 && strcmp(solution->kernel_name, name) != 0)
			continue;
		found = true;
		parameters.solution = solution->name;
		r = logic_solution_foreach_parameter(library->logic, i, pass_parameter, &parameters);
		if (r == 0 && solution->left_out)
			r = pass_parameter(&parameters, "", solution->left_out, "left out");
	}
	if (r == 0 && name && !found)
		return error_set(error, -ENOENT, "'%s' has no solution '%s'", file->name, name);
	return r;
}
