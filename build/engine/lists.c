/* SPDX-License-Identifier: MIT */
/*
 * What an architecture consists of, as text: the kernels of its code objects and its helper kernels. Every base has to be parsed for this;
 * all workers do. Order is the peer's: bases by their first logic file, and what a base has by its solutions.
 */
#include "build/engine/internal.h"

struct base_list {
	const struct logic_base *base;
	struct buffer kernels, helpers;	/* a line each */
};

struct lists {
	struct engine *engine;
	struct edition *edition;
	struct base_list *bases;
	size_t n_bases;
	pthread_mutex_t lock;		/* protects error */
	struct error *error;
	bool failed;
};

static int write_kernels(struct base_list *list, const struct logic_library *logic)
{
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(logic, &n_solutions);
	const size_t *kernels = logic_kernels(logic, &n_kernels);

	for (size_t i = 0; i < n_kernels; i++)
		buffer_printf(&list->kernels, "%s %s\n", list->base->name, solutions[kernels[i]].kernel_name);
	return list->kernels.failed ? -ENOMEM : 0;
}

/* Whether a text of whole lines has this one, of `length` bytes with its end. */
static bool has_line(const struct buffer *text, const char *line, size_t length)
{
	size_t at = 0;

	while (at < text->size) {
		const uint8_t *begin = text->data + at, *end = memchr(begin, '\n', text->size - at);
		size_t n = (size_t)(end - begin) + 1;
		if (n == length && memcmp(begin, line, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static int add_helper(void *userdata, const char *name)
{
	struct base_list *list = userdata;
	char line[512];

	int length = snprintf(line, sizeof(line), "%s\n", name);
	if (length < 0 || (size_t)length >= sizeof(line))
		return -ENAMETOOLONG;
	if (!has_line(&list->helpers, line, (size_t)length))
		buffer_append(&list->helpers, line, (size_t)length);
	return list->helpers.failed ? -ENOMEM : 0;
}

static int list_base(void *userdata, size_t i)
{
	struct lists *lists = userdata;
	_cleanup_(library_unref_p) struct library *library = NULL;
	enum library_content content = lists->engine->keep_all ? LIBRARY_ALL : LIBRARY_GENERATED;
	struct error error = { 0 };

	int r = libraries_get(lists->edition->libraries, lists->bases[i].base, content, &library, &error);
	if (r == 0)
		r = write_kernels(&lists->bases[i], library->logic);
	if (r == 0)
		r = logic_foreach_helper(library->logic, add_helper, &lists->bases[i]);
	if (r == 0)
		return 0;
	pthread_mutex_lock(&lists->lock);
	if (!lists->failed)
		error_set(lists->error, r, "%s", error_text(&error, r));
	lists->failed = true;
	pthread_mutex_unlock(&lists->lock);
	return r;
}

static int compare_bases(const void *a, const void *b)
{
	const struct base_list *x = a, *y = b;

	return strcmp(x->base->files[0]->relative, y->base->files[0]->relative);
}

static void join(const struct lists *lists, struct buffer *kernels, struct buffer *helpers)
{
	for (size_t i = 0; i < lists->n_bases; i++) {
		const struct base_list *list = &lists->bases[i];
		const uint8_t *line = list->helpers.data, *end = line + list->helpers.size;
		if (list->kernels.size)
			buffer_append(kernels, list->kernels.data, list->kernels.size);
		while (line < end) {
			size_t length = (size_t)((const uint8_t *)memchr(line, '\n', (size_t)(end - line)) - line) + 1;
			if (!has_line(helpers, (const char *)line, length))
				buffer_append(helpers, line, length);
			line += length;
		}
	}
}

int engine_list_kernels(struct engine *engine, const char *arch, struct buffer *ret_kernels, struct buffer *ret_helpers, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	struct lists lists = { .engine = engine, .edition = edition, .error = error };
	const struct logic_catalog *catalog = edition->catalog;

	lists.bases = calloc(catalog->n_bases + 1, sizeof(*lists.bases));
	if (!lists.bases)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].arch, arch) == 0 && !catalog->bases[i].fault)
			lists.bases[lists.n_bases++].base = &catalog->bases[i];
	qsort(lists.bases, lists.n_bases, sizeof(*lists.bases), compare_bases);
	pthread_mutex_init(&lists.lock, NULL);
	int r = pool_parallel(engine->pool, lists.n_bases, list_base, &lists);
	if (r == 0) {
		join(&lists, ret_kernels, ret_helpers);
		r = ret_kernels->failed || ret_helpers->failed ? -ENOMEM : 0;
	}
	for (size_t i = 0; i < lists.n_bases; i++) {
		buffer_release(&lists.bases[i].kernels);
		buffer_release(&lists.bases[i].helpers);
	}
	pthread_mutex_destroy(&lists.lock);
	free(lists.bases);
	return r;
}
