/* SPDX-License-Identifier: MIT */
/*
 * TensileLiteLibrary_lazy_<arch>_Mapping.dat: the smallest index of a solution in each library -> the library's name, ascending.
 * Recent versions of hipBLASLt find the library of a solution by it (TensileCreateLibrary/Run.py of rocm-libraries:
 * codeObjectFilesIndex).
 */
#include "build/logic/dat.h"
#include "build/logic/library.h"

struct mapping {
	int index;
	const char *base;
};

static int compare_mappings(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* -1: it has no solutions. */
static int smallest_index(const struct logic_catalog *catalog, const struct logic_base *base, const struct logic_naming *naming)
{
	int smallest = -1;

	if (!naming)
		return logic_stable_first_index(catalog, base);
	for (size_t i = 0; i < base->n_files; i++) {
		int index = logic_naming_smallest_index(naming, base->files[i]);
		if (index >= 0 && (smallest < 0 || index < smallest))
			smallest = index;
	}
	return smallest;
}

int logic_write_mapping(const struct logic_catalog *catalog, const char *arch, const struct logic_naming *naming, struct buffer *ret_dat)
{
	_cleanup_free_ struct mapping *mappings = calloc(catalog->n_bases + 1, sizeof(*mappings));
	_cleanup_(buffer_release) struct buffer dat = { 0 };
	msgpack_packer packer;
	size_t n = 0;

	if (!mappings)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (base->fault || strcmp(base->arch, arch) != 0)
			continue;
		int index = smallest_index(catalog, base, naming);
		if (index == -ENOMEM)
			return index;
		if (index >= 0)
			mappings[n++] = (struct mapping){ index, base->name };
	}
	qsort(mappings, n, sizeof(*mappings), compare_mappings);
	dat_packer_init(&packer, &dat);
	dat_map(&packer, n);
	for (size_t i = 0; i < n; i++) {
		dat_int(&packer, mappings[i].index);
		dat_string(&packer, mappings[i].base);
	}
	if (dat.failed)
		return -ENOMEM;
	*ret_dat = dat;
	dat = (struct buffer){ 0 };
	return 0;
}
