/* SPDX-License-Identifier: MIT */
/*
 * TensileManifest.txt: the files of a folder as TensileCreateLibrary lists them, metadata first, then helpers, then code objects. There
 * they are paths of the machine that built them, and in any order; here they are names, sorted, so that the bytes depend on the logic alone.
 */
#include "build/engine/edition.h"
#include "build/engine/internal.h"

struct manifest {
	const struct engine *engine;
	const struct edition *edition;
	struct buffer *text;
};

static void list_metadata(const struct manifest *manifest, const char *arch, const char *const *names, size_t n)
{
	enum engine_library library = manifest->engine->library;
	const char *suffix = manifest->engine->library_yaml ? "yaml" : "dat";

	if (library == ENGINE_LIBRARY_MERGED)
		return;			/* that of all architectures */
	if (library == ENGINE_LIBRARY_LAZY)
		buffer_printf(manifest->text, "TensileLibrary_lazy_%s.%s\n", arch, suffix);
	for (size_t i = 0; i < n; i++)
		buffer_printf(manifest->text, "%s.%s\n", names[i], suffix);
}

static void list_helpers(const struct manifest *manifest, const char *arch, const char *const *names, size_t n)
{
	buffer_printf(manifest->text, "Kernels.so-000-%s.hsaco\n", arch);
}

static void list_code_objects(const struct manifest *manifest, const char *arch, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buffer_printf(manifest->text, "%s.co\n", names[i]);
}

typedef void (*list_files)(const struct manifest *manifest, const char *arch, const char *const *names, size_t n);

static int list_arch(const struct manifest *manifest, const char *arch, list_files list)
{
	_cleanup_free_ const char **names = NULL;
	size_t n;

	int r = edition_base_names(manifest->edition, arch, &names, &n);
	if (r == 0)
		list(manifest, arch, names, n);
	return r;
}

/* `only` NULL: of all architectures. */
static int list_archs(const struct manifest *manifest, const char *only, list_files list)
{
	const struct logic_catalog *catalog = manifest->edition->catalog;
	int r = 0;

	for (size_t i = 0; !only && r == 0 && i < catalog->n_archs; i++)
		if (engine_serves(manifest->engine, catalog->archs[i]))
			r = list_arch(manifest, catalog->archs[i], list);
	return only ? list_arch(manifest, only, list) : r;
}

int manifest_write(const struct engine *engine, const struct edition *edition, const char *arch, struct buffer *ret_text)
{
	const struct manifest manifest = { .engine = engine, .edition = edition, .text = ret_text };
	const char *only = engine->flat ? NULL : arch;

	if (engine->library == ENGINE_LIBRARY_MERGED)
		buffer_printf(ret_text, "TensileLibrary.%s\n", engine->library_yaml ? "yaml" : "dat");
	int r = list_archs(&manifest, only, list_metadata);
	if (r == 0)
		r = list_archs(&manifest, only, list_helpers);
	if (r == 0)
		r = list_archs(&manifest, only, list_code_objects);
	return r == 0 && ret_text->failed ? -ENOMEM : r;
}
