/* SPDX-License-Identifier: MIT */
/*
 * What an architecture consists of, as text: the kernels of its code objects and its helper kernels. Every base has to be parsed for this;
 * all workers do. Order is the peer's: bases by their first logic file, and what a base has by its solutions.
 */
#include "build/engine/internal.h"

struct base_list {
	const struct logic_base *base;
	struct buffer kernels;		/* a line each; or not asked for */
	struct helpers helpers;
	bool solutions;			/* they are wanted, too */
	size_t last;			/* solution that was added */
	const struct library *library;	/* while it is being listed */
	struct error *error;
};

struct lists {
	struct engine *engine;
	const struct edition *edition;
	enum library_content content;
	bool kernels;			/* these are wanted, else solutions that ask for the helpers */
	struct base_list *bases;
	size_t n_bases;
};

void helpers_release(struct helpers *helpers)
{
	for (size_t i = 0; i < helpers->n_helpers; i++)
		free(helpers->helpers[i].name);
	for (size_t i = 0; i < helpers->n_solutions; i++) {
		free(helpers->solutions[i].kernel_name);
		buffer_release(&helpers->solutions[i].text);
	}
	free(helpers->helpers);
	free(helpers->solutions);
	*helpers = (struct helpers){ 0 };
}

/* ---- one base --------------------------------------------------------------------------------------------------------- */

static int write_kernels(struct base_list *list)
{
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(list->library->logic, &n_solutions);
	const size_t *kernels = logic_kernels(list->library->logic, &n_kernels);

	for (size_t i = 0; i < n_kernels; i++)
		buffer_printf(&list->kernels, "%s %s\n", list->base->name, solutions[kernels[i]].kernel_name);
	return list->kernels.failed ? -ENOMEM : 0;
}

/* Takes over the name; 1 when it is there already. */
static int add_name(struct helpers *helpers, char *name, size_t solution)
{
	for (size_t i = 0; i < helpers->n_helpers; i++) {
		if (strcmp(helpers->helpers[i].name, name) == 0) {
			free(name);
			return 1;
		}
	}
	struct helper *more = reallocarray(helpers->helpers, helpers->n_helpers + 1, sizeof(*more));
	if (!more) {
		free(name);
		return -ENOMEM;
	}
	helpers->helpers = more;
	more[helpers->n_helpers++] = (struct helper){ name, solution };
	return 0;
}

static int add_solution(struct base_list *list, size_t index)
{
	struct helpers *helpers = &list->helpers;
	struct helper_solution *solutions = reallocarray(helpers->solutions, helpers->n_solutions + 1, sizeof(*solutions));
	size_t n;

	if (!solutions)
		return -ENOMEM;
	helpers->solutions = solutions;
	struct helper_solution *solution = &solutions[helpers->n_solutions++];
	*solution = (struct helper_solution){ .kernel_name = strdup(logic_solutions(list->library->logic, &n)[index].kernel_name) };
	list->last = index;
	return solution->kernel_name ? logic_write_solution(list->library->logic, index, &solution->text, list->error) : -ENOMEM;
}

static int add_helper(void *userdata, const char *name, size_t solution)
{
	struct base_list *list = userdata;
	struct helpers *helpers = &list->helpers;
	bool is_there = helpers->n_solutions > 0 && list->last == solution;
	char *copy = strdup(name);

	int r = copy ? add_name(helpers, copy, helpers->n_solutions - is_there) : -ENOMEM;
	if (r == 0 && list->solutions && !is_there)
		r = add_solution(list, solution);
	return MIN(r, 0);
}

static int list_base(void *userdata, size_t i, struct error *error)
{
	struct lists *lists = userdata;
	struct base_list *list = &lists->bases[i];
	_cleanup_(library_unref_p) struct library *library = NULL;

	int r = libraries_get(lists->edition->libraries, list->base, lists->content, &library, error);
	list->library = library;
	list->solutions = !lists->kernels;
	list->error = error;
	if (r == 0 && lists->kernels)
		r = write_kernels(list);
	if (r == 0)
		r = logic_foreach_helper(library->logic, add_helper, list);
	list->library = NULL;
	list->error = NULL;
	return r;
}

/* ---- architectures ----------------------------------------------------------------------------------------------------- */

static int compare_bases(const void *a, const void *b)
{
	const struct base_list *x = a, *y = b;
	int r = strcmp(x->base->arch, y->base->arch);

	return r ? r : strcmp(x->base->files[0]->relative, y->base->files[0]->relative);
}

/* Does this base have a code object of the arch, or of any (NULL)? */
static bool is_of(const struct engine *engine, const struct logic_base *base, const char *arch)
{
	if (base->fault || !*base->arch)
		return false;
	return arch ? strcmp(base->arch, arch) == 0 : engine_serves(engine, base->arch);
}

static int list_all(struct lists *lists, const char *arch, struct error *error)
{
	const struct logic_base *base;

	lists->bases = calloc(lists->edition->catalog->n_bases + 1, sizeof(*lists->bases));
	if (!lists->bases)
		return -ENOMEM;
	for (size_t i = 0; (base = edition_base_at(lists->edition, i)); i++)
		if (is_of(lists->engine, base, arch))
			lists->bases[lists->n_bases++].base = base;
	qsort(lists->bases, lists->n_bases, sizeof(*lists->bases), compare_bases);
	return pool_parallel(lists->engine->pool, lists->n_bases, list_base, lists, error);
}

static void lists_release(struct lists *lists)
{
	for (size_t i = 0; i < lists->n_bases; i++) {
		buffer_release(&lists->bases[i].kernels);
		helpers_release(&lists->bases[i].helpers);
	}
	free(lists->bases);
}

/* Adds a base's helpers that are not there yet, with the solutions of the base if there are any. */
static int join_base(struct helpers *helpers, struct helpers *joined)
{
	size_t before = joined->n_helpers;

	for (size_t i = 0; i < helpers->n_helpers; i++) {
		struct helper *helper = &helpers->helpers[i];
		int r = add_name(joined, TAKE(helper->name), joined->n_solutions + helper->solution);
		if (r < 0)
			return r;
	}
	if (joined->n_helpers == before || helpers->n_solutions == 0)
		return 0;
	struct helper_solution *solutions = reallocarray(joined->solutions, joined->n_solutions + helpers->n_solutions, sizeof(*solutions));
	if (!solutions)
		return -ENOMEM;
	joined->solutions = solutions;
	memcpy(&solutions[joined->n_solutions], helpers->solutions, helpers->n_solutions * sizeof(*solutions));
	joined->n_solutions += helpers->n_solutions;
	helpers->n_solutions = 0;
	return 0;
}

static int join_helpers(struct lists *lists, struct helpers *joined)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < lists->n_bases; i++)
		r = join_base(&lists->bases[i].helpers, joined);
	return r;
}

int helpers_collect(struct engine *engine, const struct edition *edition, const char *arch, struct helpers *ret_helpers, struct error *error)
{
	_cleanup_(lists_release) struct lists lists = { .engine = engine, .edition = edition };
	struct helpers joined = { 0 };

	int r = list_all(&lists, arch, error);
	if (r == 0)
		r = join_helpers(&lists, &joined);
	if (r < 0)
		helpers_release(&joined);
	else
		*ret_helpers = joined;
	return r;
}

int engine_list_kernels(struct engine *engine, const char *arch, struct buffer *ret_kernels, struct buffer *ret_helpers, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(lists_release) struct lists lists = { .engine = engine, .edition = edition, .kernels = true };
	_cleanup_(helpers_release) struct helpers helpers = { 0 };

	lists.content = engine->keep_all ? LIBRARY_ALL : LIBRARY_GENERATED;
	int r = list_all(&lists, arch, error);
	if (r == 0)
		r = join_helpers(&lists, &helpers);
	if (r < 0)
		return r;
	for (size_t i = 0; i < lists.n_bases; i++)
		buffer_append(ret_kernels, lists.bases[i].kernels.data, lists.bases[i].kernels.size);
	for (size_t i = 0; i < helpers.n_helpers; i++)
		buffer_printf(ret_helpers, "%s\n", helpers.helpers[i].name);
	return ret_kernels->failed || ret_helpers->failed ? -ENOMEM : 0;
}
