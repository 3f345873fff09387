/* SPDX-License-Identifier: MIT */
/*
 * The files of the engine. A file keeps its place for as long as the engine lives, also while its logic is gone, so that places and
 * pointers stay valid under those who list a folder while the logic is edited.
 */
#include "build/engine/catalog.h"

#include "build/engine/edition.h"

static void file_free(struct engine_file *file)
{
	if (!file)
		return;
	file_free(file->raw);
	free(file->stale);
	free(file->failure_text);
	free(file->base);
	free(file->name);
	free(file);
}

void catalog_release(struct engine *engine)
{
	for (size_t i = 0; i < engine->n_archs; i++) {
		struct engine_arch *arch = engine->archs[i];
		for (size_t k = 0; k < arch->n_files; k++)
			file_free(arch->files[k]);
		free(arch->files);
		free(arch->by_name);
		free(arch->name);
		free(arch);
	}
	free(engine->archs);
}

static struct engine_file *file_new(struct engine *engine, struct engine_arch *arch, enum engine_kind kind, const char *base, const char *name)
{
	struct engine_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	*file = (struct engine_file){ .engine = engine, .kind = kind, .name = strdup(name), .arch = arch->name };
	if (!file->name || (base && !(file->base = strdup(base)))) {
		file_free(file);
		return NULL;
	}
	if (!kind_is_linked(kind))
		return file;
	file->raw = file_new(engine, arch, ENGINE_RAW, NULL, name);
	if (!file->raw) {
		file_free(file);
		return NULL;
	}
	file->raw->parent = file;
	return file;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp((*(struct engine_file *const *)a)->name, (*(struct engine_file *const *)b)->name);
}

static int compare_name(const void *name, const void *file)
{
	return strcmp(name, (*(struct engine_file *const *)file)->name);
}

static struct engine_file *find(const struct engine_arch *arch, const char *name)
{
	struct engine_file **found = arch->n_named ? bsearch(name, arch->by_name, arch->n_named, sizeof(arch->by_name[0]), compare_name) : NULL;

	return found ? *found : NULL;
}

/* ---- taking over an edition ------------------------------------------------------------------------------------------- */

/* The file is part of the edition; makes it when there was none of the name before. */
static int want_file(struct engine *engine, struct engine_arch *arch, enum engine_kind kind, const char *base, const char *format)
{
	char name[512];

	if (snprintf(name, sizeof(name), format, base ? base : arch->name) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	struct engine_file *file = find(arch, name);
	if (!file) {
		struct engine_file **files = reallocarray(arch->files, arch->n_files + 1, sizeof(*files));
		if (!files)
			return -ENOMEM;
		arch->files = files;
		file = file_new(engine, arch, kind, base, name);
		if (!file)
			return -ENOMEM;
		file->index = arch->n_files;
		arch->files[arch->n_files++] = file;
	}
	file->wanted = true;
	return 0;
}

static int want_metadata(struct engine *engine, struct engine_arch *arch, const char *base)
{
	return want_file(engine, arch, ENGINE_METADATA, base, engine->library_yaml ? "%s.yaml" : "%s.dat");
}

static int want_base(struct engine *engine, struct engine_arch *arch, const char *base)
{
	int r = engine->metadata_only ? 0 : want_file(engine, arch, ENGINE_CODE_OBJECT, base, "%s.co");

	return r < 0 || engine->library == ENGINE_LIBRARY_MERGED ? r : want_metadata(engine, arch, base);
}

static struct engine_arch *find_arch(const struct engine *engine, const char *name)
{
	for (size_t i = 0; i < engine->n_archs; i++)
		if (strcmp(engine->archs[i]->name, name) == 0)
			return engine->archs[i];
	return NULL;
}

static int make_arch(struct engine *engine, const char *name, struct engine_arch **ret_arch)
{
	struct engine_arch **archs = reallocarray(engine->archs, engine->n_archs + 1, sizeof(*archs));

	if (!archs)
		return -ENOMEM;
	engine->archs = archs;
	struct engine_arch *arch = calloc(1, sizeof(*arch));
	if (!arch || !(arch->name = strdup(name))) {
		free(arch);
		return -ENOMEM;
	}
	archs[engine->n_archs++] = arch;
	*ret_arch = arch;
	return 0;
}

static int want_bases(struct engine *engine, const struct edition *edition, struct engine_arch *arch)
{
	_cleanup_free_ const char **names = NULL;
	size_t n = 0;

	int r = edition_base_names(edition, arch->name, &names, &n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = want_base(engine, arch, names[i]);
	if (r == 0 && edition->all)
		r = want_metadata(engine, arch, edition->all->name);
	return r;
}

/* What leads to the bases. */
static int want_masters(struct engine *engine, struct engine_arch *arch)
{
	int r = want_file(engine, arch, ENGINE_MASTER, NULL,
			  engine->library_yaml ? "TensileLibrary_lazy_%s.yaml" : "TensileLibrary_lazy_%s.dat");

	if (r < 0 || engine->metadata_only)
		return r;
	return want_file(engine, arch, ENGINE_MAPPING, NULL, "TensileLiteLibrary_lazy_%s_Mapping.dat");
}

static int want_arch(struct engine *engine, const struct edition *edition, const char *name)
{
	struct engine_arch *arch = find_arch(engine, name);
	int r = arch ? 0 : make_arch(engine, name, &arch);

	if (r == 0)
		r = want_bases(engine, edition, arch);
	if (r == 0 && engine->library == ENGINE_LIBRARY_LAZY)
		r = want_masters(engine, arch);
	if (r < 0 || engine->metadata_only)
		return r;
	r = want_file(engine, arch, ENGINE_HELPER, NULL, "Kernels.so-000-%s.hsaco");
	return r < 0 ? r : want_file(engine, arch, ENGINE_MANIFEST, NULL, "TensileManifest.txt");
}

/* Files in the order of names: at first their places are, later ones come at the end. */
static int sort_names(struct engine_arch *arch)
{
	if (arch->n_named == 0) {
		qsort(arch->files, arch->n_files, sizeof(arch->files[0]), compare_files);
		for (size_t i = 0; i < arch->n_files; i++)
			arch->files[i]->index = i;
	}
	for (size_t i = 0; i < arch->n_files; i++)
		if (arch->files[i]->raw)
			arch->files[i]->raw->index = arch->files[i]->index;
	struct engine_file **names = reallocarray(arch->by_name, arch->n_files, sizeof(*names));
	if (!names)
		return -ENOMEM;
	memcpy(names, arch->files, arch->n_files * sizeof(*names));
	qsort(names, arch->n_files, sizeof(*names), compare_files);
	arch->by_name = names;
	arch->n_named = arch->n_files;
	return 0;
}

static bool is_edited(const struct engine_file *file, const struct edition *before, const struct edition *edition)
{
	return file->base && before && !edition_same_base(before, edition, file->arch, file->base);
}

static int note_change(struct catalog_changes *changes, struct engine_file *file, enum engine_change change)
{
	struct catalog_change *all = reallocarray(changes->changes, changes->n + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	changes->changes = all;
	all[changes->n++] = (struct catalog_change){ file, change };
	return 0;
}

/* What is about other files changes with them: master, mapping, manifest. `n_before` is where their changes begin. */
static int note_lists(struct engine_arch *arch, size_t n_before, struct catalog_changes *changes)
{
	size_t n = changes->n;

	for (size_t i = 0; i < arch->n_files; i++) {
		struct engine_file *file = arch->files[i];
		bool noted = file->base || file->kind == ENGINE_HELPER || !file->present;
		for (size_t k = n_before; k < n && !noted; k++)
			noted = changes->changes[k].file == file;
		int r = noted ? 0 : note_change(changes, file, ENGINE_EDITED);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What is wanted is present from now on, and nothing else. */
static int settle(struct engine_arch *arch, const struct edition *before, const struct edition *edition, struct catalog_changes *changes)
{
	int r = 0;

	arch->present = false;
	for (size_t i = 0; i < arch->n_files; i++) {
		struct engine_file *file = arch->files[i];
		bool was = file->present;
		file->present = file->wanted;
		file->wanted = false;
		arch->present |= file->present;
		if (was != file->present)
			r = note_change(changes, file, was ? ENGINE_REMOVED : ENGINE_ADDED);
		else if (was && is_edited(file, before, edition))
			r = note_change(changes, file, ENGINE_EDITED);
		if (r < 0)
			return r;
	}
	return 0;
}

static int settle_all(struct engine *engine, const struct edition *before, const struct edition *edition, struct catalog_changes *changes)
{
	size_t n_before = changes->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < engine->n_archs; i++) {
		size_t n_arch = changes->n;
		r = settle(engine->archs[i], before, edition, changes);
		if (r == 0 && !engine->flat && changes->n > n_arch)
			r = note_lists(engine->archs[i], n_arch, changes);
	}
	for (size_t i = 0; r == 0 && engine->flat && changes->n > n_before && i < engine->n_archs; i++)
		r = note_lists(engine->archs[i], n_before, changes);
	return r;
}

int catalog_take(struct engine *engine, const struct edition *before, const struct edition *edition, struct catalog_changes *changes)
{
	const struct logic_catalog *catalog = edition->catalog;
	int r = 0;

	for (size_t i = 0; r == 0 && i < catalog->n_archs; i++)
		if (engine_serves(engine, catalog->archs[i]))
			r = want_arch(engine, edition, catalog->archs[i]);
	for (size_t i = 0; r == 0 && i < engine->n_archs; i++)		/* all of an arch can be held back */
		if (!edition_has_arch(edition, engine->archs[i]->name) && edition_held(edition, engine->archs[i]->name, NULL))
			r = want_arch(engine, edition, engine->archs[i]->name);
	for (size_t i = 0; r == 0 && i < engine->n_archs; i++)
		r = sort_names(engine->archs[i]);
	return r == 0 ? settle_all(engine, before, edition, changes) : r;
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

bool engine_wants(const struct engine *engine, const char *arch)
{
	return !engine->arch || strcmp(engine->arch, arch) == 0;
}

bool engine_serves(const struct engine *engine, const char *arch)
{
	if (!engine_wants(engine, arch))
		return false;
	return engine->generator->serves(engine->generator, arch) || (engine->metadata_only && engine->keep_all);	/* metadata of all solutions needs no instruction tables */
}

size_t engine_n_archs(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	size_t n = engine->n_archs;
	pthread_mutex_unlock(&engine->lock);
	return n;
}

const char *engine_arch(struct engine *engine, size_t arch)
{
	pthread_mutex_lock(&engine->lock);
	const char *name = engine->archs[arch]->name;
	pthread_mutex_unlock(&engine->lock);
	return name;
}

bool engine_arch_present(struct engine *engine, size_t arch)
{
	pthread_mutex_lock(&engine->lock);
	bool present = engine->archs[arch]->present;
	pthread_mutex_unlock(&engine->lock);
	return present;
}

size_t engine_n_files(struct engine *engine, size_t arch)
{
	pthread_mutex_lock(&engine->lock);
	size_t n = engine->archs[arch]->n_files;
	pthread_mutex_unlock(&engine->lock);
	return n;
}

struct engine_file *engine_file(struct engine *engine, size_t arch, size_t i)
{
	pthread_mutex_lock(&engine->lock);
	struct engine_file *file = engine->archs[arch]->files[i];
	pthread_mutex_unlock(&engine->lock);
	return file;
}

bool engine_file_present(struct engine_file *file)
{
	struct engine_file *listed = file->parent ? file->parent : file;

	pthread_mutex_lock(&file->engine->lock);
	bool present = listed->present;
	pthread_mutex_unlock(&file->engine->lock);
	return present;
}

static struct engine_file *find_present(const struct engine_arch *arch, const char *name)
{
	struct engine_file *file = find(arch, name);

	return file && file->present ? file : NULL;
}

struct engine_file *engine_lookup(struct engine *engine, const char *arch, const char *name)
{
	pthread_mutex_lock(&engine->lock);
	const struct engine_arch *found = find_arch(engine, arch);
	struct engine_file *file = found ? find_present(found, name) : NULL;
	pthread_mutex_unlock(&engine->lock);
	return file;
}

struct engine_file *engine_lookup_flat(struct engine *engine, const char *name)
{
	struct engine_file *file = NULL;

	pthread_mutex_lock(&engine->lock);
	for (size_t i = 0; !file && i < engine->n_archs; i++)
		file = find_present(engine->archs[i], name);
	pthread_mutex_unlock(&engine->lock);
	return file;
}

struct engine_file *engine_raw(struct engine_file *file)
{
	return file->raw;
}

const char *engine_file_name(const struct engine_file *file)
{
	return file->name;
}

const char *engine_file_arch(const struct engine_file *file)
{
	return file->arch;
}

enum engine_kind engine_file_kind(const struct engine_file *file)
{
	return file->kind;
}

size_t engine_file_index(const struct engine_file *file)
{
	return file->index;
}

uint64_t engine_file_logic_bytes(const struct engine_file *file)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(file->engine);
	const struct logic_base *base = file->base ? edition_base(edition, file->arch, file->base, NULL) : NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; base && i < base->n_files; i++)
		bytes += base->files[i]->size;
	return bytes;
}

static int64_t time_of_base(const struct logic_base *base)
{
	int64_t newest = 0;

	for (size_t i = 0; i < base->n_files; i++)
		newest = MAX(newest, base->files[i]->mtime_ns);
	return newest;
}

int64_t engine_file_time(const struct engine_file *file)
{
	const struct engine_file *made = file->parent ? file->parent : file;
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(file->engine);
	const struct logic_base *base = made->base ? edition_base(edition, made->arch, made->base, NULL) : NULL;
	int64_t newest = base ? time_of_base(base) : 0;

	for (size_t i = 0; !base && i < edition->catalog->n_bases; i++)
		if (file->engine->flat || strcmp(edition->catalog->bases[i].arch, file->arch) == 0)
			newest = MAX(newest, time_of_base(&edition->catalog->bases[i]));
	return newest;
}
