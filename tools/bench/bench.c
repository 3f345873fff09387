/* SPDX-License-Identifier: MIT */
/*
 * The numbers that the project wants to reach, measured on this machine and printed beside what is wanted, as ratios where a machine's
 * speed has a part in them; bench_mount.c has those of the mount.
 *
 *     bench TENSILEFS LOGIC
 *
 * CPU times are those of the threads and children at work, so that a busy machine disturbs them little.
 */
#include "base/error.h"
#include "build/engine/engine.h"
#include "build/gemm/gemm.h"
#include "build/logic/logic.h"
#include "tools/bench/common.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <yaml.h>

struct bench {
	const char *tensilefs, *logic;
	char folder[64];		/* scratch */
};

static double cpu_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* ---- parsing and generating ------------------------------------------------------------------------------------------- */

static int filter(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	struct gemm_config config;

	return gemm_config_init(params, &config, error);
}

static uint64_t generate_all(const char *arch, const struct logic_library *library)
{
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(library, &n_solutions);
	const size_t *kernels = logic_kernels(library, &n_kernels);
	uint64_t instructions = 0;

	for (size_t i = 0; i < n_kernels; i++) {
		struct gemm_config config;
		struct gemm_code code = { 0 };
		struct error error = { 0 };
		if (gemm_config_init(&solutions[kernels[i]].params, &config, &error) < 0 ||
		    gemm_generate(isa_find(arch), &config, &code, &error) < 0)
			give_up(solutions[kernels[i]].kernel_name, error.text);
		instructions += code.instructions;
		gemm_code_release(&code);
	}
	return instructions;
}

static void measure_generator(const struct bench *bench)
{
	struct logic_options options = { .filter = filter };
	struct logic_catalog *catalog;
	struct error error = { 0 };
	double parsing = 0, generating = 0;
	uint64_t bytes = 0, instructions = 0;

	if (logic_scan(bench->logic, &catalog, &error) < 0)
		give_up(bench->logic, error.text);
	for (size_t i = 0; i < catalog->n_bases && parsing + generating < 20; i++) {
		const struct logic_base *base = &catalog->bases[i];
		struct logic_library *library;
		double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		if (!isa_find(base->arch) || logic_load(catalog, base, &options, &library, &error) < 0)
			continue;
		double parsed = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		instructions += generate_all(base->arch, library);
		generating += clock_seconds(CLOCK_THREAD_CPUTIME_ID) - parsed;
		parsing += parsed - begin;
		for (size_t k = 0; k < base->n_files; k++)
			bytes += base->files[k]->size;
		logic_library_unref(library);
	}
	logic_catalog_unref(catalog);
	report("parsing logic, one core", (double)bytes / parsing / 1e6, "MB/s", "30 or more (libyaml's events alone: about 60)");
	report("generating and encoding, one core", (double)instructions / generating / 1e6, "M/s", "2 million instructions a second or more");
}

/* ---- metadata of everything ------------------------------------------------------------------------------------------- */

/* What libyaml takes for its events alone: the limit that a reader on top of it cannot pass. */
static double time_events(const struct logic_catalog *catalog)
{
	double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);

	for (size_t i = 0; i < catalog->n_bases; i++)
		for (size_t k = 0; k < catalog->bases[i].n_files; k++) {
			FILE *stream = fopen(catalog->bases[i].files[k]->path, "re");
			yaml_parser_t parser;
			yaml_event_t event;
			bool more = true;
			if (!stream || !yaml_parser_initialize(&parser))
				give_up(catalog->bases[i].files[k]->path, strerror(errno));
			yaml_parser_set_input_file(&parser, stream);
			while (more && yaml_parser_parse(&parser, &event)) {
				more = event.type != YAML_STREAM_END_EVENT;
				yaml_event_delete(&event);
			}
			yaml_parser_delete(&parser);
			fclose(stream);
		}
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* With the peer's names, all solutions kept: every file is read twice, once for the names. */
static uint64_t write_metadata(const struct logic_catalog *catalog, const char *arch)
{
	const struct logic_options options = { .names = LOGIC_NAMES_TENSILE };
	struct buffer dat = { 0 };
	uint64_t bytes = 0;

	for (size_t i = 0; i < catalog->n_bases; i++) {
		struct logic_library *library;
		struct error error = { 0 };
		if (strcmp(catalog->bases[i].arch, arch) != 0 || logic_load(catalog, &catalog->bases[i], &options, &library, &error) < 0)
			continue;
		if (logic_write_dat(library, &dat) == 0)
			bytes += dat.size;
		buffer_release(&dat);
		logic_library_unref(library);
	}
	if (logic_write_master(catalog, arch, &dat) == 0)
		bytes += dat.size;
	buffer_release(&dat);
	return bytes;
}

static void measure_metadata(const struct bench *bench)
{
	struct logic_catalog *catalog;
	struct error error = { 0 };
	uint64_t logic = 0, metadata = 0;
	double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);

	if (logic_scan(bench->logic, &catalog, &error) < 0)
		give_up(bench->logic, error.text);
	for (size_t i = 0; i < catalog->n_archs; i++)
		metadata += write_metadata(catalog, catalog->archs[i]);
	double seconds = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin, events = time_events(catalog);
	for (size_t i = 0; i < catalog->n_bases; i++)
		for (size_t k = 0; k < catalog->bases[i].n_files; k++)
			logic += catalog->bases[i].files[k]->size;
	logic_catalog_unref(catalog);
	report("metadata of all logic with the peer's names, CPU", seconds, "s", "6 or less for 179 MB of logic");
	report("the same for each 179 MB", seconds * 179e6 / (double)logic, "s", "6 or less");
	report("the same over libyaml's events alone", seconds / events, "times", "2 or less");
	report("metadata written", (double)metadata / 1e6, "MB", "89 for 179 MB of logic");
}

/* ---- one code object -------------------------------------------------------------------------------------------------- */

static int count_kernel(void *userdata, const char *name)
{
	++*(size_t *)userdata;
	return 0;
}

/* The code object with the number of kernels nearest to 200. */
static struct engine_file *choose_object(struct engine *engine, size_t *ret_kernels)
{
	struct engine_file *best = NULL;
	size_t best_kernels = 0;

	for (size_t i = 0; i < engine_n_files(engine, 0); i++) {
		struct engine_file *file = engine_file(engine, 0, i);
		size_t kernels = 0;
		if (engine_file_kind(file) != ENGINE_CODE_OBJECT || engine_foreach_kernel(engine, file, count_kernel, &kernels, NULL) < 0)
			continue;
		if (!best || labs((long)kernels - 200) < labs((long)best_kernels - 200)) {
			best = file;
			best_kernels = kernels;
		}
	}
	*ret_kernels = best_kernels;
	return best;
}

static struct engine *open_engine(const struct bench *bench)
{
	struct engine_options options = { .logic = bench->logic, .bundle = BUNDLE_PLAIN, .jobs = 1 };
	struct engine *engine;
	struct error error = { 0 };

	if (engine_new(&options, &engine, &error) < 0)
		give_up(bench->logic, error.text);
	return engine;
}

static struct artifact *get(struct engine *engine, const char *name)
{
	struct artifact *artifact;
	struct error error = { 0 };

	if (engine_get(engine, engine_lookup(engine, "gfx942", name), &artifact, &error) < 0)
		give_up(name, error.text);
	return artifact;
}

/* From the request to the bytes: parsing, generating, linking. */
static void measure_object(const struct bench *bench)
{
	struct engine *engine = open_engine(bench);
	size_t kernels;

	struct engine_file *file = choose_object(engine, &kernels);
	if (!file)
		give_up(bench->logic, "it has no code object");
	_cleanup_free_ char *name = strdup(engine_file_name(file));
	engine_unref(engine);
	engine = open_engine(bench);		/* which has parsed nothing */
	artifact_unref(get(engine, "Kernels.so-000-gfx942.hsaco"));	/* finds the linker */
	double self = cpu_of(RUSAGE_SELF), children = cpu_of(RUSAGE_CHILDREN);
	artifact_unref(get(engine, name));
	self = cpu_of(RUSAGE_SELF) - self;
	children = cpu_of(RUSAGE_CHILDREN) - children;
	engine_unref(engine);
	printf("(the code object has %zu kernels)\n", kernels);
	report("a code object, CPU, for 200 kernels", (self + children) * 200 / (double)MAX(kernels, (size_t)1), "s", "less than 1");
	report("the linker's part of that", children / (self + children), "", "less than 0.1");
}

/* ---- everything ------------------------------------------------------------------------------------------------------- */

static void measure_build(const struct bench *bench)
{
	char out[96], cache[96];
	struct rusage usage;
	int status;

	snprintf(out, sizeof(out), "%s/built", bench->folder);
	snprintf(cache, sizeof(cache), "%s/cache", bench->folder);
	pid_t pid = fork();
	if (pid == 0) {
		execl(bench->tensilefs, bench->tensilefs, "build", bench->logic, out, "--cache", cache, (char *)NULL);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
		give_up("build", "it could not be run");
	report("full build, peak memory", (double)usage.ru_maxrss / 1024 / 1024, "GiB", "less than 1");
}

int main(int argc, char **argv)
{
	struct bench bench = { .folder = "/var/tmp/tensilefs-bench-XXXXXX" };

	if (argc != 3)
		give_up("usage", "bench TENSILEFS LOGIC");
	bench.tensilefs = argv[1];
	bench.logic = argv[2];
	if (!mkdtemp(bench.folder))
		give_up(bench.folder, strerror(errno));
	measure_generator(&bench);
	measure_metadata(&bench);
	measure_object(&bench);
	measure_build(&bench);
	return shell("rm -rf '%s'", bench.folder) ? EXIT_FAILURE : EXIT_SUCCESS;
}
