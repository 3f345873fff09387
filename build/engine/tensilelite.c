/* SPDX-License-Identifier: MIT */
/*
 * The user's TensileLite as a generator: an object for each kernel. All workers of the pool generate; each of them waits for at most one program at
 * a time, so that there are never more busy programs than workers. An object is kept in the cache as soon as it is there and written to the
 * linker's input as soon as it is its turn: what is in memory does not grow with the number of kernels but by their objects.
 */
#include "build/engine/internal.h"

#include "build/engine/helper_parts.h"
#include "build/engine/trace.h"

enum { TAG_KERNEL = 0x4b45524e };	/* cachedb_info.tag */

enum helper_compiler { COMPILER_UNKNOWN, COMPILER_THERE, COMPILER_MISSING };

struct joined {				/* an identity of this generator */
	const char *upstream, *hip;	/* of their own, compared as pointers; or NULL */
	struct joined *older;
	char text[];
};

struct tensilelite {
	struct generator generator;	/* what callers see; its address is the generator's */
	struct upstream *upstream;
	char *hip_compiler;		/* that the user names, or NULL */
	void (*warn)(void *userdata, const char *message);
	void *warn_userdata;
	pthread_mutex_t search;		/* held while a HIP compiler is being looked for; taken before `lock` */
	pthread_mutex_t lock;		/* protects all below */
	enum helper_compiler compiler;	/* decided once: which solutions there are must not change on its own */
	const char *hip;		/* the last identity of the compiler */
	struct joined *identities;
};

static struct tensilelite *tensilelite_of(const struct generator *generator)
{
	return (struct tensilelite *)generator;		/* its first member */
}

/* ---- what it depends on ----------------------------------------------------------------------------------------------- */

static enum helper_compiler known_compiler(struct tensilelite *tensilelite)
{
	pthread_mutex_lock(&tensilelite->lock);
	enum helper_compiler compiler = tensilelite->compiler;
	pthread_mutex_unlock(&tensilelite->lock);
	return compiler;
}

static void set_compiler(struct tensilelite *tensilelite, enum helper_compiler compiler, const char *hip)
{
	pthread_mutex_lock(&tensilelite->lock);
	tensilelite->compiler = compiler;
	tensilelite->hip = hip;
	pthread_mutex_unlock(&tensilelite->lock);
}

/* Is there a HIP compiler? One that the user names counts as there: when it does not work, that is an error of the helper object. */
static enum helper_compiler find_compiler(struct tensilelite *tensilelite)
{
	char message[sizeof((struct error){ 0 }.text) + 128];
	struct error error = { 0 };
	const char *hip = NULL;

	pthread_mutex_lock(&tensilelite->search);
	enum helper_compiler compiler = known_compiler(tensilelite);
	if (compiler == COMPILER_UNKNOWN) {
		int r = upstream_identify_hip(tensilelite->upstream, &hip, &error);
		compiler = r < 0 && !tensilelite->hip_compiler ? COMPILER_MISSING : COMPILER_THERE;
		if (r != -ECANCELED)
			set_compiler(tensilelite, compiler, r < 0 ? NULL : hip);
		if (compiler == COMPILER_MISSING && r != -ECANCELED && tensilelite->warn) {
			snprintf(message, sizeof(message), "solutions that need helper kernels are left out: %s", error_text(&error, r));
			tensilelite->warn(tensilelite->warn_userdata, message);
		}
	}
	pthread_mutex_unlock(&tensilelite->search);
	return compiler;
}

static int join(struct tensilelite *tensilelite, const char *upstream, const char *hip, const char **ret_identity)
{
	struct joined *joined;

	pthread_mutex_lock(&tensilelite->lock);
	for (joined = tensilelite->identities; joined && (joined->upstream != upstream || joined->hip != hip); joined = joined->older)
		;
	if (!joined) {
		size_t size = strlen(upstream ? upstream : "") + strlen(hip ? hip : "") + sizeof("tensilelite\n\n");
		joined = malloc(sizeof(*joined) + size);
		if (joined) {
			*joined = (struct joined){ .upstream = upstream, .hip = hip, .older = tensilelite->identities };
			snprintf(joined->text, size, "tensilelite\n%s\n%s", upstream ? upstream : "", hip ? hip : "");
			tensilelite->identities = joined;
		}
	}
	pthread_mutex_unlock(&tensilelite->lock);
	if (!joined)
		return -ENOMEM;
	*ret_identity = joined->text;
	return 0;
}

static const struct joined *joined_of(const char *identity)
{
	return (const struct joined *)(identity - offsetof(struct joined, text));
}

/* Which solutions are made, and so all but the manifest, depends on whether there is a HIP compiler; the helper object on which. */
static const char *words_of(enum helper_compiler compiler)
{
	return compiler == COMPILER_MISSING ? "without helper kernels" : "with helper kernels";
}

static bool needs_upstream(enum engine_kind kind, enum helper_compiler compiler)
{
	return kind == ENGINE_CODE_OBJECT || (kind == ENGINE_HELPER && compiler == COMPILER_THERE);
}

static int identify(const struct generator *generator, enum engine_kind kind, const char **ret_identity, struct error *error)
{
	struct tensilelite *tensilelite = tensilelite_of(generator);
	enum helper_compiler compiler = find_compiler(tensilelite);
	const char *upstream = NULL, *hip = words_of(compiler);
	int r = 0;

	if (needs_upstream(kind, compiler))
		r = upstream_identify(tensilelite->upstream, &upstream, error);
	if (r == 0 && kind == ENGINE_HELPER && compiler == COMPILER_THERE) {
		r = upstream_identify_hip(tensilelite->upstream, &hip, error);
		if (r == 0)
			set_compiler(tensilelite, compiler, hip);
	}
	return r < 0 ? r : join(tensilelite, upstream, hip, ret_identity);
}

static int identity(const struct generator *generator, enum engine_kind kind, const char **ret_identity)
{
	struct tensilelite *tensilelite = tensilelite_of(generator);
	const char *upstream = NULL, *hip;

	pthread_mutex_lock(&tensilelite->lock);
	enum helper_compiler compiler = tensilelite->compiler;
	hip = tensilelite->hip;
	pthread_mutex_unlock(&tensilelite->lock);
	if (compiler == COMPILER_UNKNOWN)
		return -EAGAIN;
	if (kind != ENGINE_HELPER || compiler == COMPILER_MISSING)
		hip = words_of(compiler);
	if (needs_upstream(kind, compiler)) {
		upstream = upstream_identity(tensilelite->upstream);
		if (!upstream || !hip)
			return -EAGAIN;
	}
	return join(tensilelite, upstream, hip, ret_identity);
}

static int describe(const struct logic_library *logic, size_t solution, struct buffer *out, struct error *error)
{
	return logic_write_solution(logic, solution, out, error);
}

/* ---- which solutions -------------------------------------------------------------------------------------------------- */

/* TensileLite says for itself what it does not know, when it is asked. */
static bool serves(const struct generator *generator, const char *arch)
{
	return strncmp(arch, "gfx", 3) == 0;
}

static int choose(const struct generator *generator, const struct logic_base *base, struct logic_options *options, struct error *error)
{
	options->without_helpers = find_compiler(tensilelite_of(generator)) == COMPILER_MISSING;
	return 0;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

static void count_kernel(struct engine *engine, bool made, uint64_t us)
{
	pthread_mutex_lock(&engine->lock);
	engine->statistics.kernels += made;
	engine->statistics.kernel_hits += !made;
	engine->statistics.generate_us += made ? us : 0;
	pthread_mutex_unlock(&engine->lock);
}

/* -ENOENT: it is not in the cache. */
static int fetch_kernel(struct engine *engine, const struct cachedb_key *key, struct buffer *ret_object)
{
	struct cachedb_info info;
	uint8_t *data;

	int r = engine_fetch(engine, key, &info, &data);
	if (r == 0)
		*ret_object = (struct buffer){ .data = data, .size = (size_t)info.size, .allocated = (size_t)info.size };
	return r;
}

/* The object of one kernel, from the cache or made. `identity` is upstream's own. */
static int get_kernel(struct engine *engine, const struct logic_library *logic, const char *arch, size_t solution, const char *identity,
		      struct buffer *ret_object, struct error *error)
{
	struct tensilelite *tensilelite = tensilelite_of(engine->generator);
	_cleanup_buffer_ struct buffer text = { 0 };
	struct cachedb_key key;
	size_t n;
	const char *name = logic_solutions(logic, &n)[solution].kernel_name;

	int r = logic_write_solution(logic, solution, &text, error);
	if (r == 0)
		r = plan_hash_kernel(identity, arch, name, &text, &key);
	if (r < 0)
		return r;
	if (fetch_kernel(engine, &key, ret_object) == 0) {
		count_kernel(engine, false, 0);
		return 0;
	}
	uint64_t begin = now_us();
	r = upstream_kernel(tensilelite->upstream,
			    &(struct upstream_solution){ .arch = arch, .kernel_name = name, .text = text.data, .size = text.size }, ret_object, error);
	if (r < 0)
		return r;
	struct cachedb_info info = { .tag = TAG_KERNEL, .items = 1, .cost_us = now_us() - begin };
	count_kernel(engine, true, info.cost_us);
	if (upstream_identity(tensilelite->upstream) == identity)	/* else who knows which it was made by */
		engine_keep(engine, &key, ret_object->data, ret_object->size, &info);
	return 0;
}

struct generation {			/* all kernels of a file */
	struct engine_file *file;
	const struct logic_library *logic;
	const struct logic_solution *solutions;
	const size_t *kernels;
	size_t n_kernels;
	const char *identity;
	struct objects *objects;
};

static int make_kernel(void *userdata, size_t i, struct error *error)
{
	struct generation *generation = userdata;
	const struct logic_solution *solution = &generation->solutions[generation->kernels[i]];
	struct engine *engine = generation->file->engine;
	struct buffer object = { 0 };
	struct error reason = { 0 };

	trace_begin(engine->trace, "kernel", TRACE_WITH({ "kernel", .text = solution->kernel_name }));
	int r = get_kernel(engine, generation->logic, generation->file->arch, generation->kernels[i], generation->identity, &object, &reason);
	trace_end(engine->trace, "kernel", TRACE_WITH({ "bytes", .number = object.size }));
	if (r == 0)
		r = objects_add(generation->objects, i, &object, &reason);
	return r < 0 ? error_set(error, r, "'%s': line %u: kernel '%.100s': %s", solution->file->path, solution->line, solution->kernel_name,
				 error_text(&reason, r)) : 0;
}

/* What was generated is by the TensileLite that the plan was made with: nobody has edited it meanwhile. */
static int check_identity(struct tensilelite *tensilelite, const char *identity, struct error *error)
{
	const char *now;

	int r = upstream_identify(tensilelite->upstream, &now, error);
	if (r == 0 && now != identity)
		r = error_set(error, -ESTALE, "TensileLite changed while it was generating kernels");
	return r;
}

static int make_all(struct engine_file *file, const struct logic_library *logic, const char *identity, struct objects *objects, struct error *error)
{
	struct generation generation = { .file = file, .logic = logic, .identity = identity, .objects = objects };
	size_t n_solutions;

	generation.solutions = logic_solutions(logic, &n_solutions);
	generation.kernels = logic_kernels(logic, &generation.n_kernels);
	int r = pool_parallel(file->engine->pool, generation.n_kernels, make_kernel, &generation, error);
	return r < 0 ? r : check_identity(tensilelite_of(file->engine->generator), identity, error);
}

static int make(struct engine_file *file, const struct logic_library *logic, const char *identity, struct generated *ret_generated,
		struct error *error)
{
	_cleanup_(objects_unref_p) struct objects *objects = NULL;
	size_t n;

	logic_kernels(logic, &n);
	if (n == 0)			/* a code object without kernels is the same whoever makes it */
		return native_generator.make(file, logic, NULL, ret_generated, error);
	int r = objects_new(n, &objects);
	if (r == 0)
		r = make_all(file, logic, joined_of(identity)->upstream, objects, error);
	if (r == 0)
		*ret_generated = (struct generated){ .objects = TAKE(objects), .kernels = n };
	return r;
}

/* ---- helper kernels --------------------------------------------------------------------------------------------------- */

static int make_helpers(struct engine_file *file, const struct helpers *helpers, const char *identity, struct generated *ret_generated,
			struct error *error)
{
	struct tensilelite *tensilelite = tensilelite_of(file->engine->generator);
	_cleanup_(objects_unref_p) struct objects *objects = NULL;
	const char *upstream = joined_of(identity)->upstream;

	if (!upstream || helpers->n_helpers == 0)
		return native_generator.make_helpers(file, helpers, NULL, ret_generated, error);
	int r = helper_parts_make(file, tensilelite->upstream, helpers, &objects, error);
	if (r == 0)
		r = check_identity(tensilelite, upstream, error);
	if (r == 0)
		*ret_generated = (struct generated){ .objects = TAKE(objects) };
	return r;
}

/* ---- text ------------------------------------------------------------------------------------------------------------- */

/* As TensileLite writes it. */
static int print(struct engine_file *file, const struct logic_library *logic, size_t solution, struct buffer *ret_text, struct error *error)
{
	_cleanup_buffer_ struct buffer text = { 0 };
	size_t n;

	int r = logic_write_solution(logic, solution, &text, error);
	if (r < 0)
		return r;
	const struct upstream_solution upstream = {
		.arch = file->arch,
		.kernel_name = logic_solutions(logic, &n)[solution].kernel_name,
		.text = text.data,
		.size = text.size,
	};
	return upstream_print(tensilelite_of(file->engine->generator)->upstream, &upstream, ret_text, error);
}

/* ---- the generator ---------------------------------------------------------------------------------------------------- */

static void stop(const struct generator *generator)
{
	upstream_stop(tensilelite_of(generator)->upstream);
}

static void release(const struct generator *generator)
{
	struct tensilelite *tensilelite = tensilelite_of(generator);

	while (tensilelite->identities) {
		struct joined *joined = tensilelite->identities;
		tensilelite->identities = joined->older;
		free(joined);
	}
	upstream_unref(tensilelite->upstream);
	pthread_mutex_destroy(&tensilelite->search);
	pthread_mutex_destroy(&tensilelite->lock);
	free(tensilelite->hip_compiler);
	free(tensilelite);
}

int tensilelite_generator_new(const struct engine_options *options, unsigned jobs, struct cachedb *cache, const struct generator **ret_generator,
			      struct error *error)
{
	struct tensilelite *tensilelite = calloc(1, sizeof(*tensilelite));
	struct upstream_options upstream = {
		.tensilelite = options->tensilelite,
		.python = options->python,
		.assembler = options->assembler,
		.hip_compiler = options->hip_compiler,
		.workers = jobs,
		.kernel_seconds = options->kernel_seconds,
		.code_object_version = options->code_object_version,
		.cache = cache,
	};

	if (!tensilelite)
		return -ENOMEM;
	*tensilelite = (struct tensilelite){
		.generator = {
			.build_id = "sha1", .stop = stop, .free = release, .serves = serves, .identify = identify, .identity = identity,
			.describe = describe, .choose = choose, .make = make, .make_helpers = make_helpers, .print = print,
		},
		.warn = options->warn,
		.warn_userdata = options->warn_userdata,
		.hip_compiler = options->hip_compiler ? strdup(options->hip_compiler) : NULL,
	};
	int r = options->hip_compiler && !tensilelite->hip_compiler ? -ENOMEM : upstream_new(&upstream, &tensilelite->upstream, error);
	if (r < 0) {
		free(tensilelite->hip_compiler);
		free(tensilelite);
		return r;
	}
	pthread_mutex_init(&tensilelite->search, NULL);
	pthread_mutex_init(&tensilelite->lock, NULL);
	*ret_generator = &tensilelite->generator;
	return 0;
}
