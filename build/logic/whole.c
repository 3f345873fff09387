/* SPDX-License-Identifier: MIT */
/*
 * Libraries that are not loaded piece by piece: all files of an architecture, or of several, as one base. Files of bases with a
 * fault are left out, as a part of them would silently be another library.
 */
#include "build/logic/catalog.h"

static int compare_files(const void *a, const void *b)
{
	return strcmp((*(const struct logic_file *const *)a)->relative, (*(const struct logic_file *const *)b)->relative);
}

/* Bases are sorted by arch, so those of one follow each other, from *ret_first on. */
static size_t count_bases(const struct logic_catalog *catalog, const char *arch, size_t *ret_first)
{
	size_t first = 0, n = 0;

	while (first < catalog->n_bases && strcmp(catalog->bases[first].arch, arch) != 0)
		first++;
	while (first + n < catalog->n_bases && strcmp(catalog->bases[first + n].arch, arch) == 0)
		n++;
	*ret_first = first;
	return n;
}

static int make_whole(struct arena *arena, const struct logic_catalog *catalog, const char *arch, struct logic_base *ret_whole)
{
	size_t first, n = count_bases(catalog, arch, &first), n_files = 0;
	const struct logic_base *bases = &catalog->bases[first];

	for (size_t i = 0; i < n; i++)
		n_files += bases[i].n_files;
	const struct logic_file **files = arena_new(arena, const struct logic_file *, n_files);
	struct logic_base whole = { .name = arena_printf(arena, "TensileLibrary_%s", arch), .arch = arch, .whole = true, .files = files };
	if (!files || !whole.name)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < bases[i].n_files && !bases[i].fault; k++)
			files[whole.n_files++] = bases[i].files[k];
	qsort(files, whole.n_files, sizeof(*files), compare_files);
	whole.fault = whole.n_files ? NULL : bases[0].fault;
	*ret_whole = whole;
	return 0;
}

int logic_make_wholes(struct arena *arena, struct logic_catalog *catalog)
{
	struct logic_base *wholes = arena_new(arena, struct logic_base, catalog->n_archs);
	int r = wholes ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < catalog->n_archs; i++)
		r = make_whole(arena, catalog, catalog->archs[i], &wholes[i]);
	catalog->wholes = wholes;
	return r;
}

const struct logic_base *logic_whole(const struct logic_catalog *catalog, const char *arch)
{
	for (size_t i = 0; i < catalog->n_archs; i++)
		if (strcmp(catalog->archs[i], arch) == 0)
			return &catalog->wholes[i];
	return NULL;
}

int logic_join_wholes(const struct logic_catalog *catalog, bool (*wanted)(const void *userdata, const char *arch), const void *userdata,
		      struct logic_base **ret_whole)
{
	struct {
		struct logic_base base;
		const struct logic_file *files[];
	} *all;
	size_t n_files = 0;

	for (size_t i = 0; i < catalog->n_archs; i++)
		n_files += catalog->wholes[i].n_files;
	all = calloc(1, sizeof(*all) + n_files * sizeof(all->files[0]));
	if (!all)
		return -ENOMEM;
	all->base = (struct logic_base){ .name = "TensileLibrary", .arch = "", .whole = true, .files = all->files };
	for (size_t i = 0; i < catalog->n_archs; i++)
		for (size_t k = 0; k < catalog->wholes[i].n_files && wanted(userdata, catalog->archs[i]); k++)
			all->files[all->base.n_files++] = catalog->wholes[i].files[k];
	qsort(all->files, all->base.n_files, sizeof(all->files[0]), compare_files);
	if (!all->base.n_files)
		all->base.fault = "no logic file can be used";
	*ret_whole = &all->base;
	return 0;
}
