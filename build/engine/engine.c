/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include "build/engine/cpus.h"
#include "build/engine/digest.h"
#include "build/isa/isa.h"

#include <time.h>

#define MEMORY_WITH_CACHE (128ull << 20)	/* bytes of recent artifacts */
#define MEMORY_WITHOUT_CACHE (512ull << 20)	/* they cannot be had again without a build */

uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- the catalog ------------------------------------------------------------------------------------------------------ */

static void file_free(struct engine_file *file)
{
	if (!file)
		return;
	file_free(file->raw);
	free(file->failure_text);
	free(file->name);
	free(file);
}

static struct engine_file *file_new(struct engine *engine, enum engine_kind kind, const char *arch, const struct logic_base *base, char *name)
{
	struct engine_file *file = name ? calloc(1, sizeof(*file)) : NULL;

	if (!file) {
		free(name);
		return NULL;
	}
	*file = (struct engine_file){ .engine = engine, .kind = kind, .name = name, .arch = arch, .base = base };
	return file;
}

PRINTF_LIKE(1, 2) static char *format(const char *format, ...)
{
	char *text;
	va_list ap;

	va_start(ap, format);
	int length = vasprintf(&text, format, ap);
	va_end(ap);
	return length < 0 ? NULL : text;
}

/* Adds a file whose name is malloc memory (NULL: there was none). */
static int add_file(struct engine *engine, struct engine_arch *arch, enum engine_kind kind, const struct logic_base *base, char *name)
{
	struct engine_file *file = file_new(engine, kind, arch->name, base, name);

	if (!file)
		return -ENOMEM;
	arch->files[arch->n_files++] = file;
	if (!kind_is_linked(kind))
		return 0;
	file->raw = file_new(engine, ENGINE_RAW, arch->name, base, strdup(name));
	if (!file->raw)
		return -ENOMEM;
	file->raw->parent = file;
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp((*(struct engine_file *const *)a)->name, (*(struct engine_file *const *)b)->name);
}

static int add_arch(struct engine *engine, const char *name)
{
	const struct logic_catalog *catalog = engine->catalog;
	struct engine_arch *arch = &engine->archs[engine->n_archs++];
	int r = 0;

	arch->name = name;
	arch->files = calloc(catalog->n_bases * 2 + 2, sizeof(arch->files[0]));
	if (!arch->files)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases && r == 0; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (strcmp(base->arch, name) != 0)
			continue;
		if (!engine->metadata_only)
			r = add_file(engine, arch, ENGINE_CODE_OBJECT, base, format("%s.co", base->name));
		if (r == 0)
			r = add_file(engine, arch, ENGINE_METADATA, base, format("%s.dat", base->name));
	}
	if (r == 0)
		r = add_file(engine, arch, ENGINE_MASTER, NULL, format("TensileLibrary_lazy_%s.dat", name));
	if (r == 0 && !engine->metadata_only)
		r = add_file(engine, arch, ENGINE_HELPER, NULL, format("Kernels.so-000-%s.hsaco", name));
	if (r < 0)
		return r;
	qsort(arch->files, arch->n_files, sizeof(arch->files[0]), compare_files);
	for (size_t i = 0; i < arch->n_files; i++) {
		arch->files[i]->index = i;
		if (arch->files[i]->raw)
			arch->files[i]->raw->index = i;
	}
	return 0;
}

/* Metadata of all solutions needs no instruction tables. */
static bool is_served(const struct engine *engine, const char *arch)
{
	return isa_find(arch) || (engine->metadata_only && engine->keep_all);
}

/* The faults of the scan, and one for each arch that is not served. */
static int collect_faults(struct engine *engine)
{
	const struct logic_catalog *catalog = engine->catalog;
	size_t n = 0;

	engine->faults = calloc(catalog->n_faults + catalog->n_bases + catalog->n_archs + 1, sizeof(engine->faults[0]));
	if (!engine->faults)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_faults; i++)
		if (!(engine->faults[n++] = strdup(catalog->faults[i].message)))
			return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (catalog->bases[i].fault && !(engine->faults[n++] = strdup(catalog->bases[i].fault)))
			return -ENOMEM;
	for (size_t i = 0; i < catalog->n_archs; i++)
		if (!is_served(engine, catalog->archs[i]) &&
		    !(engine->faults[n++] = format("architecture '%s' cannot be generated yet: its logic is left out", catalog->archs[i])))
			return -ENOMEM;
	return 0;
}

static int build_catalog(struct engine *engine, struct error *error)
{
	const struct logic_catalog *catalog = engine->catalog;

	int r = collect_faults(engine);
	if (r < 0)
		return r;
	engine->archs = calloc(catalog->n_archs + 1, sizeof(engine->archs[0]));
	if (!engine->archs)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_archs; i++) {
		r = is_served(engine, catalog->archs[i]) ? add_arch(engine, catalog->archs[i]) : 0;
		if (r < 0)
			return r;
	}
	if (engine->n_archs == 0)
		return error_set(error, -ENODATA, "'%s' has no usable logic: %s", engine->logic,
				 engine->faults[0] ? engine->faults[0] : "it is empty");
	return 0;
}

/* ---- the engine ------------------------------------------------------------------------------------------------------- */

void engine_cache_failed(struct engine *engine, const char *message)
{
	pthread_mutex_lock(&engine->lock);
	bool first = !engine->warned;
	engine->warned = true;
	engine->statistics.cache_errors++;
	pthread_mutex_unlock(&engine->lock);
	if (first && engine->warn)
		engine->warn(engine->warn_userdata, message);
}

/* Without a cache on disk everything still works; a cache that cannot be written may still be read. */
static void open_cache(struct engine *engine, const struct engine_options *options)
{
	struct cachedb_options cache = { .directory = options->cache, .max_bytes = options->cache_max_bytes };
	struct error error = { 0 };
	char message[sizeof(error.text) + 64];

	if (!options->cache)
		return;
	int r = cachedb_open(&cache, &engine->cache, &error);
	if (r == -EROFS || r == -EACCES) {
		cache.read_only = true;
		if (cachedb_open(&cache, &engine->cache, NULL) < 0)
			engine->cache = NULL;
	}
	if (r < 0) {
		snprintf(message, sizeof(message), "%s; %s", error_text(&error, r),
			 engine->cache ? "it is only read" : "going on without a cache on disk");
		engine_cache_failed(engine, message);
	}
}

static int copy_string(const char *string, char **ret_copy)
{
	if (!string)
		return 0;
	*ret_copy = strdup(string);
	return *ret_copy ? 0 : -ENOMEM;
}

static int init(struct engine *engine, const struct engine_options *options, struct error *error)
{
	const char *linker = options->linker ? options->linker : getenv("TENSILEFS_LINKER");

	int r = copy_string(options->logic, &engine->logic);
	if (r == 0)
		r = copy_string(options->cache, &engine->cache_path);
	if (r == 0)
		r = options->custom_kernels ? copy_string(options->custom_kernels, &engine->custom_kernels) :
					      logic_find_custom_kernels(options->logic, &engine->custom_kernels);
	if (r == 0)
		r = logic_scan(options->logic, &engine->catalog, error);
	if (r == 0)
		r = build_catalog(engine, error);
	if (r < 0)
		return r;
	open_cache(engine, options);
	r = linker_new(linker && *linker ? linker : NULL, &engine->linker);
	if (r == 0)
		r = memory_new(engine->cache ? MEMORY_WITH_CACHE : MEMORY_WITHOUT_CACHE, &engine->memory);
	if (r == 0)
		r = libraries_new(engine->catalog, engine->names_tensile ? LOGIC_NAMES_TENSILE : LOGIC_NAMES_STABLE,
				  engine->custom_kernels, engine->cache, &engine->libraries);
	if (r == 0)
		r = pool_new(options->jobs ? options->jobs : cpus_available(), &engine->pool);
	return r;
}

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct error *error)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	*engine = (struct engine){
		.bundle = options->bundle,
		.names_tensile = options->names_tensile,
		.keep_all = options->keep_all,
		.metadata_only = options->metadata_only,
		.warn = options->warn,
		.warn_userdata = options->warn_userdata,
	};
	pthread_mutex_init(&engine->lock, NULL);
	int r = init(engine, options, error);
	if (r < 0) {
		engine_unref(engine);
		return r;
	}
	*ret_engine = engine;
	return 0;
}

struct engine *engine_unref(struct engine *engine)
{
	if (!engine)
		return NULL;
	pool_unref(engine->pool);
	libraries_unref(engine->libraries);
	memory_unref(engine->memory);
	linker_unref(engine->linker);
	cachedb_close(engine->cache);
	for (size_t i = 0; i < engine->n_archs; i++) {
		for (size_t k = 0; k < engine->archs[i].n_files; k++)
			file_free(engine->archs[i].files[k]);
		free(engine->archs[i].files);
	}
	free(engine->archs);
	for (size_t i = 0; engine->faults && engine->faults[i]; i++)
		free(engine->faults[i]);
	free(engine->faults);
	logic_catalog_unref(engine->catalog);
	free(engine->custom_kernels);
	free(engine->cache_path);
	free(engine->logic);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
	return NULL;
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

size_t engine_n_archs(const struct engine *engine)
{
	return engine->n_archs;
}

const char *engine_arch(const struct engine *engine, size_t arch)
{
	return engine->archs[arch].name;
}

size_t engine_n_files(const struct engine *engine, size_t arch)
{
	return engine->archs[arch].n_files;
}

struct engine_file *engine_file(struct engine *engine, size_t arch, size_t i)
{
	return engine->archs[arch].files[i];
}

static int compare_name(const void *name, const void *file)
{
	return strcmp(name, (*(struct engine_file *const *)file)->name);
}

struct engine_file *engine_lookup(struct engine *engine, const char *arch, const char *name)
{
	for (size_t i = 0; i < engine->n_archs; i++) {
		if (strcmp(engine->archs[i].name, arch) != 0)
			continue;
		struct engine_file **found = bsearch(name, engine->archs[i].files, engine->archs[i].n_files,
						     sizeof(engine->archs[i].files[0]), compare_name);
		return found ? *found : NULL;
	}
	return NULL;
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
	uint64_t bytes = 0;

	for (size_t i = 0; file->base && i < file->base->n_files; i++)
		bytes += file->base->files[i]->size;
	return bytes;
}

int64_t engine_file_time(const struct engine_file *file)
{
	const struct logic_catalog *catalog = file->engine->catalog;
	int64_t newest = 0;

	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (file->base ? base != file->base : strcmp(base->arch, file->arch) != 0)
			continue;
		for (size_t k = 0; k < base->n_files; k++)
			newest = MAX(newest, base->files[k]->mtime_ns);
	}
	return newest;
}

const char *engine_fault(const struct engine *engine, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!engine->faults[k])
			return NULL;
	return engine->faults[i];
}

static void find_linker(void *userdata, bool cancelled)
{
	struct engine *engine = userdata;
	const char *version;

	if (!cancelled)
		linker_identify(engine->linker, &version, NULL);	/* a failure is told by the first file that needs it */
}

void engine_prepare(struct engine *engine)
{
	engine_call(engine, find_linker, engine);
}

const char *engine_linker_version(struct engine *engine)
{
	return linker_version(engine->linker);
}

int engine_foreach_path(struct engine *engine, int (*callback)(void *userdata, const char *what, const char *path), void *userdata)
{
	_cleanup_free_ char *linker = linker_path(engine->linker);

	int r = callback(userdata, "the logic", engine->logic);
	if (r == 0 && engine->custom_kernels)
		r = callback(userdata, "the hand-written kernels", engine->custom_kernels);
	if (r == 0 && engine->cache_path)
		r = callback(userdata, "the cache", engine->cache_path);
	if (r == 0 && linker)
		r = callback(userdata, "the linker", linker);
	return r;
}

/* ---- plans ------------------------------------------------------------------------------------------------------------ */

bool kind_is_linked(enum engine_kind kind)
{
	return kind == ENGINE_CODE_OBJECT || kind == ENGINE_HELPER;
}

struct plan_options engine_plan_options(const struct engine *engine, const char *linker)
{
	return (struct plan_options){
		.bundle = engine->bundle,
		.names_tensile = engine->names_tensile,
		.keep_all = engine->keep_all,
		.linker = linker,
	};
}

int engine_file_identity(struct engine_file *file, struct cachedb_key *ret_identity, bool *ret_settled)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	const struct logic_catalog *catalog = file->engine->catalog;

	if (file->base)
		return libraries_identity(file->engine->libraries, file->base, ret_identity, ret_settled);
	digest_init(&digest, "tensilefs catalog identity");	/* of what the scan saw; the helper depends on nothing */
	for (size_t i = 0; file->kind == ENGINE_MASTER && i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (strcmp(base->arch, file->arch) != 0 || base->fault)
			continue;
		digest_string(&digest, base->name);
		for (size_t k = 0; k < base->n_files; k++) {
			digest_string(&digest, base->files[k]->relative);
			digest_number(&digest, base->files[k]->size);
			digest_number(&digest, (uint64_t)base->files[k]->mtime_ns);
		}
	}
	int r = digest_finish(&digest, ret_identity);
	if (r == 0)
		*ret_settled = true;
	return r;
}
