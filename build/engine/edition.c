/* SPDX-License-Identifier: MIT */
#include "build/engine/edition.h"

#include "build/engine/internal.h"

/* ---- what is held back ------------------------------------------------------------------------------------------------ */

static const char *fault_of(const struct logic_catalog *catalog, const char *path)
{
	for (size_t i = 0; i < catalog->n_faults; i++)
		if (strcmp(catalog->faults[i].path, path) == 0)
			return catalog->faults[i].message;
	return NULL;
}

static int hold(struct edition *edition, const char *arch, const char *name, const char *path)
{
	const char *reason = fault_of(edition->catalog, path);

	if (!reason || edition_held(edition, arch, name))
		return 0;
	struct held_base *held = reallocarray(edition->held, edition->n_held + 1, sizeof(*held));
	if (!held)
		return -ENOMEM;
	edition->held = held;
	held = &held[edition->n_held++];
	*held = (struct held_base){ .arch = strdup(arch), .name = strdup(name), .path = strdup(path), .reason = strdup(reason) };
	return held->arch && held->name && held->path && held->reason ? 0 : -ENOMEM;
}

/* Files that were readable before, or were held back then, and have a fault now. */
static int hold_back(struct edition *edition, const struct edition *before)
{
	const struct logic_base *base;
	int r = 0;

	for (size_t i = 0; r == 0 && i < before->n_held; i++)
		r = hold(edition, before->held[i].arch, before->held[i].name, before->held[i].path);
	for (size_t i = 0; (base = edition_base_at(before, i)); i++)
		for (size_t k = 0; r == 0 && k < base->n_files; k++)
			r = hold(edition, base->arch, base->name, base->files[k]->path);
	return r;
}

static bool is_held(const struct held_base *held, const char *arch, const char *name)
{
	if (!name)
		return strcmp(held->arch, arch) == 0;
	return strcmp(held->name, name) == 0 && (!*held->arch || strcmp(held->arch, arch) == 0);
}

const struct held_base *edition_held(const struct edition *edition, const char *arch, const char *name)
{
	for (size_t i = 0; i < edition->n_held; i++)
		if (is_held(&edition->held[i], arch, name))
			return &edition->held[i];
	return NULL;
}

bool edition_has_arch(const struct edition *edition, const char *arch)
{
	for (size_t i = 0; i < edition->catalog->n_archs; i++)
		if (strcmp(edition->catalog->archs[i], arch) == 0)
			return true;
	return false;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

/* The faults of the scan, of bases, and one for each arch that is not served though it is wanted. */
static int collect_faults(const struct engine *engine, struct edition *edition)
{
	const struct logic_catalog *catalog = edition->catalog;
	size_t n = 0;

	edition->faults = calloc(catalog->n_faults + catalog->n_bases + catalog->n_archs + 1, sizeof(edition->faults[0]));
	if (!edition->faults)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_faults; i++)
		if (!(edition->faults[n++] = strdup(catalog->faults[i].message)))
			return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (catalog->bases[i].fault && engine_wants(engine, catalog->bases[i].arch) && !(edition->faults[n++] = strdup(catalog->bases[i].fault)))
			return -ENOMEM;
	for (size_t i = 0; i < catalog->n_archs; i++)
		if (engine_wants(engine, catalog->archs[i]) && !engine_serves(engine, catalog->archs[i]) &&
		    asprintf(&edition->faults[n++], "architecture '%s' cannot be generated yet: its logic is left out", catalog->archs[i]) < 0)
			return -ENOMEM;
	return 0;
}

static bool is_served(const void *engine, const char *arch)
{
	return engine_serves(engine, arch);
}

int edition_new(struct engine *engine, const struct edition *before, struct edition **ret_edition, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = calloc(1, sizeof(*edition));

	if (!edition)
		return -ENOMEM;
	edition->references = 1;
	edition->library = engine->library;
	int r = logic_scan(engine->logic, &edition->catalog, error);
	if (r == 0 && engine->library == ENGINE_LIBRARY_MERGED)
		r = logic_join_wholes(edition->catalog, is_served, engine, &edition->all);
	if (r == 0)
		r = collect_faults(engine, edition);
	if (r == 0 && before)
		r = hold_back(edition, before);
	if (r == 0)
		r = libraries_new(edition->catalog, edition->all, engine->names_tensile ? LOGIC_NAMES_TENSILE : LOGIC_NAMES_STABLE,
				  engine->custom_kernels, engine->generator, engine->cache, engine->logic_kept, &edition->libraries);
	if (r == 0)
		*ret_edition = TAKE(edition);
	return r;
}

struct edition *edition_ref(struct edition *edition)
{
	__atomic_fetch_add(&edition->references, 1, __ATOMIC_RELAXED);
	return edition;
}

struct edition *edition_unref(struct edition *edition)
{
	if (!edition || __atomic_sub_fetch(&edition->references, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	libraries_unref(edition->libraries);
	for (size_t i = 0; i < edition->n_held; i++) {
		free(edition->held[i].arch);
		free(edition->held[i].name);
		free(edition->held[i].path);
		free(edition->held[i].reason);
	}
	free(edition->held);
	for (size_t i = 0; edition->faults && edition->faults[i]; i++)
		free(edition->faults[i]);
	free(edition->faults);
	free(edition->all);
	logic_catalog_unref(edition->catalog);
	free(edition);
	return NULL;
}

/* ---- bases ------------------------------------------------------------------------------------------------------------ */

static int compare_base(const void *key, const void *element)
{
	const struct logic_base *wanted = key, *base = element;
	int r = strcmp(wanted->arch, base->arch);

	return r ? r : strcmp(wanted->name, base->name);
}

const struct logic_base *edition_base_at(const struct edition *edition, size_t i)
{
	const struct logic_catalog *catalog = edition->catalog;

	if (edition->library == ENGINE_LIBRARY_LAZY)
		return i < catalog->n_bases ? &catalog->bases[i] : NULL;
	return i < catalog->n_archs ? &catalog->wholes[i] : i == catalog->n_archs ? edition->all : NULL;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int edition_base_names(const struct edition *edition, const char *arch, const char ***ret_names, size_t *ret_n)
{
	const char **names = calloc(edition->catalog->n_bases + edition->n_held + 1, sizeof(*names));
	const struct logic_base *base;
	size_t n = 0, unique = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; (base = edition_base_at(edition, i)); i++)
		if (strcmp(base->arch, arch) == 0)
			names[n++] = base->name;
	for (size_t i = 0; i < edition->n_held; i++)
		if (is_held(&edition->held[i], arch, NULL))
			names[n++] = edition->held[i].name;
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++)
		if (!unique || strcmp(names[unique - 1], names[i]) != 0)
			names[unique++] = names[i];
	*ret_names = names;
	*ret_n = unique;
	return 0;
}

static const struct logic_base *find(const struct edition *edition, const char *arch, const char *name)
{
	const struct logic_catalog *catalog = edition->catalog;
	struct logic_base wanted = { .arch = arch, .name = name };

	if (edition->all && strcmp(edition->all->name, name) == 0)
		return edition->all;
	if (edition->library != ENGINE_LIBRARY_LAZY)
		return logic_whole(catalog, arch);
	return bsearch(&wanted, catalog->bases, catalog->n_bases, sizeof(catalog->bases[0]), compare_base);
}

const struct logic_base *edition_base(const struct edition *edition, const char *arch, const char *name, struct error *error)
{
	const struct held_base *held = edition_held(edition, arch, name);
	const struct logic_base *base = held ? NULL : find(edition, arch, name);

	if (held)
		error_set(error, -EINVAL, "%s", held->reason);
	else if (!base)
		error_set(error, -ENOENT, "the logic of '%s' has been removed", name);
	return base;
}

bool edition_same_base(const struct edition *a, const struct edition *b, const char *arch, const char *name)
{
	const struct logic_base *x = find(a, arch, name), *y = find(b, arch, name);

	if (!x || !y || x->n_files != y->n_files)
		return x == y;
	for (size_t i = 0; i < x->n_files; i++)
		if (strcmp(x->files[i]->relative, y->files[i]->relative) != 0 || x->files[i]->size != y->files[i]->size ||
		    x->files[i]->mtime_ns != y->files[i]->mtime_ns)
			return false;
	return true;
}
