/* SPDX-License-Identifier: MIT */
/*
 * TensileManifest.txt: the files of an arch as TensileCreateLibrary lists them, metadata first, then helpers, then code objects. There
 * they are paths of the machine that built them, and in any order; here they are names, sorted, so that the bytes depend on the logic alone.
 */
#include "build/engine/edition.h"
#include "build/engine/internal.h"

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of the bases of an arch, those that are held back included; sorted. */
static int collect(const struct edition *edition, const char *arch, const char ***ret_names, size_t *ret_n)
{
	const struct logic_catalog *catalog = edition->catalog;
	const char **names = calloc(catalog->n_bases + edition->n_held + 1, sizeof(*names));
	size_t n = 0, unique = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].arch, arch) == 0)
			names[n++] = catalog->bases[i].name;
	for (size_t i = 0; i < edition->n_held; i++)
		if (strcmp(edition->held[i].arch, arch) == 0)
			names[n++] = edition->held[i].name;
	qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 0; i < n; i++)
		if (!unique || strcmp(names[unique - 1], names[i]) != 0)
			names[unique++] = names[i];
	*ret_names = names;
	*ret_n = unique;
	return 0;
}

int manifest_write(const struct engine *engine, const struct edition *edition, const char *arch, struct buffer *ret_text)
{
	const char *suffix = engine->library_yaml ? "yaml" : "dat", **names;
	size_t n;

	int r = collect(edition, arch, &names, &n);
	if (r < 0)
		return r;
	buffer_printf(ret_text, "TensileLibrary_lazy_%s.%s\n", arch, suffix);
	for (size_t i = 0; i < n; i++)
		buffer_printf(ret_text, "%s.%s\n", names[i], suffix);
	buffer_printf(ret_text, "Kernels.so-000-%s.hsaco\n", arch);
	for (size_t i = 0; i < n; i++)
		buffer_printf(ret_text, "%s.co\n", names[i]);
	free(names);
	return ret_text->failed ? -ENOMEM : 0;
}
