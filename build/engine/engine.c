/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include "build/engine/catalog.h"
#include "build/engine/cpus.h"
#include "cachedb/digest.h"
#include "build/engine/edition.h"
#include "build/engine/trace.h"
#include "build/engine/watch.h"

#define MEMORY_WITH_CACHE (128ull << 20)	/* bytes of recent artifacts */
#define MEMORY_WITHOUT_CACHE (512ull << 20)	/* they cannot be had again without a build */
#define LOGIC_KEPT (16ull << 20)		/* of parsed YAML */
#define MEMORY_LIMIT (4ull << 30)		/* of everything, or half of the machine's, unless the user says */

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
	struct cachedb_options cache = {
		.directory = options->cache,
		.max_bytes = options->cache_max_bytes,
		.min_free = options->cache_min_free,
		.read_only = options->cache_read_only,
	};
	struct error error = { 0 };
	char message[sizeof(error.text) + 64];

	if (!options->cache)
		return;
	int r = cachedb_open(&cache, &engine->cache, &error);
	if ((r == -EROFS || r == -EACCES) && !cache.read_only) {
		cache.read_only = true;
		if (cachedb_open(&cache, &engine->cache, NULL) < 0)
			engine->cache = NULL;
	}
	if (r < 0) {
		snprintf(message, sizeof(message), "%s; %s", error_text(&error, r),
			 engine->cache ? "it is only read" : "going on without a cache on disk");
		engine_cache_failed(engine, message);
	}
	engine->cache_read_only = cache.read_only;
}

void engine_keep(struct engine *engine, const struct cachedb_key *key, const void *data, size_t size, const struct cachedb_info *info)
{
	struct error error = { 0 };

	if (!engine->cache || engine->cache_read_only)
		return;
	int r = cachedb_put(engine->cache, key, data, size, info, &error);
	if (r < 0)
		engine_cache_failed(engine, error_text(&error, r));
}

int engine_fetch(struct engine *engine, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data)
{
	struct error error;

	int r = engine->cache ? cachedb_get(engine->cache, key, ret_info, ret_data) : -ENOENT;
	if (r == 0 || r == -ENOENT)
		return r;
	error_set(&error, r, "cannot read cache '%s': %s", engine->cache_path, strerror(-r));
	engine_cache_failed(engine, error.text);
	return -ENOENT;
}

static int copy_string(const char *string, char **ret_copy)
{
	if (!string)
		return 0;
	*ret_copy = strdup(string);
	return *ret_copy ? 0 : -ENOMEM;
}

static int open_logic(struct engine *engine, struct error *error)
{
	struct catalog_changes changes = { 0 };

	int r = edition_new(engine, NULL, &engine->edition, error);
	if (r < 0)
		return r;
	r = catalog_take(engine, NULL, engine->edition, &changes);
	free(changes.changes);
	if (r == 0 && engine->n_archs == 0 && engine->arch && !edition_has_arch(engine->edition, engine->arch))
		return error_set(error, -ENOENT, "the logic has no architecture '%s'", engine->arch);
	if (r == 0 && engine->n_archs == 0)
		return error_set(error, -ENODATA, "'%s' has no usable logic: %s", engine->logic,
				 engine->edition->faults[0] ? engine->edition->faults[0] : "it is empty");
	return r;
}

static int make_memory(struct engine *engine, const struct engine_options *options)
{
	uint64_t kept = engine->cache ? MEMORY_WITH_CACHE : MEMORY_WITHOUT_CACHE, limit = options->memory_bytes;
	long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);

	if (limit == 0)
		limit = pages > 0 ? MIN(MEMORY_LIMIT, (uint64_t)pages * (uint64_t)page_size / 2) : MEMORY_LIMIT;
	engine->logic_kept = MIN(LOGIC_KEPT, limit / 32);
	return memory_new(MIN(kept, limit / 4), limit, &engine->memory);
}

static unsigned count_jobs(const struct engine_options *options)
{
	return options->jobs ? options->jobs : cpus_available();
}

static int find_custom_kernels(const struct engine_options *options, char **ret_folder)
{
	if (options->custom_kernels)
		return copy_string(options->custom_kernels, ret_folder);
	if (!options->tensilelite)
		return logic_find_custom_kernels(options->logic, ret_folder);
	return asprintf(ret_folder, "%s/Tensile/CustomKernels", options->tensilelite) < 0 ? -ENOMEM : 0;	/* those that it would take */
}

static int init(struct engine *engine, const struct engine_options *options, struct error *error)
{
	const char *linker = options->linker ? options->linker : getenv("TENSILEFS_LINKER");

	int r = copy_string(options->logic, &engine->logic);
	if (r == 0)
		r = copy_string(options->arch, &engine->arch);
	if (r == 0)
		r = copy_string(options->cache, &engine->cache_path);
	if (r == 0)
		r = find_custom_kernels(options, &engine->custom_kernels);
	if (r < 0)
		return r;
	open_cache(engine, options);
	r = copy_string(options->build_id, &engine->build_id);
	if (r == 0)
		r = copy_string(options->tensilelite, &engine->tensilelite);
	if (r == 0 && options->tensilelite)
		r = tensilelite_generator_new(options, count_jobs(options), engine->cache, &engine->generator, error);
	if (r < 0)
		return r;
	r = make_memory(engine, options);
	if (r == 0)
		r = open_logic(engine, error);
	if (r < 0)
		return r;
	r = linker_new(linker && *linker ? linker : NULL, &engine->linker);
	if (r == 0 && options->linker_seconds)
		program_set_limit(engine->linker, options->linker_seconds);
	if (r < 0)
		return r;
	r = pool_new(count_jobs(options), options->quick_jobs, options->gives_way, &engine->pool);
	return r < 0 ? error_set(error, r, "cannot start worker threads: %s", strerror(-r)) : 0;
}

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct error *error)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	*engine = (struct engine){
		.generator = &native_generator,
		.bundle = options->bundle,
		.names_tensile = options->names_tensile,
		.keep_all = options->keep_all,
		.metadata_only = options->metadata_only,
		.library_yaml = options->library_yaml,
		.library = options->library,
		.flat = options->flat,
		.warn = options->warn,
		.warn_userdata = options->warn_userdata,
		.trace = options->trace,
		.cache_max_bytes = options->cache_max_bytes,
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
	if (engine->linker)
		program_stop(engine->linker);
	engine->generator->stop(engine->generator);
	watch_unref(engine->watch);
	pool_unref(engine->pool);
	edition_unref(engine->edition);
	memory_unref(engine->memory);
	tools_release(engine);
	engine->generator->free(engine->generator);
	program_unref(engine->linker);
	cachedb_close(engine->cache);
	catalog_release(engine);
	free(engine->build_id);
	free(engine->tensilelite);
	free(engine->custom_kernels);
	free(engine->cache_path);
	free(engine->arch);
	free(engine->logic);
	pthread_mutex_destroy(&engine->lock);
	free(engine);
	return NULL;
}

/* ---- questions -------------------------------------------------------------------------------------------------------- */

struct edition *engine_edition(struct engine *engine)
{
	pthread_mutex_lock(&engine->lock);
	struct edition *edition = edition_ref(engine->edition);
	pthread_mutex_unlock(&engine->lock);
	return edition;
}

const char *engine_fault(struct engine *engine, size_t i)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);

	for (size_t k = 0; k < i; k++)
		if (!edition->faults[k])
			return NULL;
	return edition->faults[i];
}

int engine_watch(struct engine *engine, engine_changed changed, void *userdata, struct error *error)
{
	return watch_new(engine, changed, userdata, &engine->watch, error);
}

static void find_tools(void *userdata, bool cancelled)
{
	struct engine *engine = userdata;
	const struct tools *tools;

	if (!cancelled)
		tools_identify(engine, ENGINE_CODE_OBJECT, &tools, NULL);	/* the first file that needs it tells a failure */
}

void engine_prepare(struct engine *engine)
{
	engine_call_in(engine, POOL_WAITED, find_tools, engine);	/* it runs programs */
}

bool engine_compiles_helpers(struct engine *engine)
{
	return !engine->generator->shares_helpers;
}

const char *engine_linker_version(struct engine *engine)
{
	const struct program_found *linker = program_latest(engine->linker);

	return linker ? linker->identity : NULL;
}

int engine_foreach_path(struct engine *engine, engine_path_callback callback, void *userdata)
{
	const struct program_found *linker = program_latest(engine->linker);

	int r = callback(userdata, "the logic", engine->logic, true);
	if (r == 0 && engine->custom_kernels)
		r = callback(userdata, "the hand-written kernels", engine->custom_kernels, false);
	if (r == 0 && engine->tensilelite)
		r = callback(userdata, "TensileLite", engine->tensilelite, true);
	if (r == 0 && engine->cache_path)
		r = callback(userdata, "the cache", engine->cache_path, false);
	if (r == 0 && engine->trace)
		r = callback(userdata, "the trace", trace_path(engine->trace), false);
	if (r == 0 && linker)
		r = callback(userdata, "the linker", linker->path, false);
	return r;
}

/* ---- plans ------------------------------------------------------------------------------------------------------------ */

bool kind_is_linked(enum engine_kind kind)
{
	return kind == ENGINE_CODE_OBJECT || kind == ENGINE_HELPER;
}

struct plan_options engine_plan_options(const struct engine *engine, const struct tools *tools)
{
	return (struct plan_options){
		.bundle = engine->bundle,
		.names_tensile = engine->names_tensile,
		.keep_all = engine->keep_all,
		.flat = engine->flat,
		.library = engine->library,
		.generator = engine->generator,
		.build_id = engine_build_id(engine),
		.tools = tools,
	};
}

const char *engine_build_id(const struct engine *engine)
{
	return engine->build_id ? engine->build_id : engine->generator->build_id;
}

/* Of what is made from no base: is the file about this one? */
static bool is_about(const struct engine_file *file, const struct logic_base *base)
{
	bool everything = file->kind == ENGINE_MANIFEST && file->engine->flat;

	return file->kind != ENGINE_HELPER && !base->fault && (everything || strcmp(base->arch, file->arch) == 0);
}

static int identity_of_catalog(const struct engine_file *file, const struct edition *edition, struct cachedb_key *ret_identity)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	const struct logic_catalog *catalog = edition->catalog;

	digest_init(&digest, "tensilefs catalog identity");	/* of what the scan saw; the helper depends on nothing */
	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (!is_about(file, base))
			continue;
		digest_string(&digest, base->name);
		for (size_t k = 0; k < base->n_files; k++) {
			digest_string(&digest, base->files[k]->relative);
			digest_number(&digest, base->files[k]->size);
			digest_number(&digest, (uint64_t)base->files[k]->mtime_ns);
		}
	}
	return digest_finish(&digest, ret_identity);
}

/* What depends on a base that is held back stays as it was. */
static bool keep_identity(struct engine_file *file, const struct edition *edition, struct cachedb_key *ret_identity)
{
	if (file->kind == ENGINE_HELPER || !edition_held(edition, file->arch, file->base))
		return false;
	pthread_mutex_lock(&file->engine->lock);
	bool planned = file->planned;
	*ret_identity = file->identity;
	pthread_mutex_unlock(&file->engine->lock);
	return planned;
}

int engine_file_identity(struct engine_file *file, const struct edition *edition, struct cachedb_key *ret_identity, bool *ret_settled)
{
	struct cachedb_key kept;

	if (keep_identity(file, edition, &kept)) {
		*ret_identity = kept;
		*ret_settled = false;
		return 0;
	}
	if (file->base) {
		const struct logic_base *base = edition_base(edition, file->arch, file->base, NULL);
		return base ? libraries_identity(edition->libraries, base, ret_identity, ret_settled) : -ENOENT;
	}
	if (file->kind == ENGINE_HELPER && !file->engine->generator->shares_helpers) {
		const struct logic_base *whole = logic_whole(edition->catalog, file->arch);
		return whole ? libraries_identity(edition->libraries, whole, ret_identity, ret_settled) : -ENOENT;
	}
	int r = identity_of_catalog(file, edition, ret_identity);
	if (r == 0)		/* indices of the peer's names are a matter of content, which a scan does not see */
		*ret_settled = file->kind != ENGINE_MAPPING || !file->engine->names_tensile;
	return r;
}
