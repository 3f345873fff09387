/* SPDX-License-Identifier: MIT */
/*
 * The numbers that the project wants to reach, measured on this machine and printed beside what is wanted, as ratios where a machine's
 * speed has a part in them. Measures only; nothing fails for being slow.
 *
 *     bench TENSILEFS LOGIC
 *
 * CPU times are those of the threads and children at work, so that a busy machine disturbs them little; the two comparisons with ext4
 * are in wall clock, best of several.
 */
#include "base/error.h"
#include "build/engine/engine.h"
#include "build/gemm/gemm.h"
#include "build/logic/logic.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <yaml.h>

struct bench {
	const char *tensilefs, *logic;
	char folder[64];		/* scratch */
};

static double clock_seconds(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double wall(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

static double cpu_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static _Noreturn void give_up(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static void report(const char *what, double value, const char *unit, const char *wanted)
{
	printf("%-58s %10.3f %-6s wanted: %s\n", what, value, unit, wanted);
	fflush(stdout);
}

PRINTF_LIKE(1, 2) static int shell(const char *format, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	return system(command);
}

/* ---- mounting --------------------------------------------------------------------------------------------------------- */

/* Tells the kernel to drop its copy of every logic file. */
static void make_cold(const char *logic)
{
	char *const roots[] = { (char *)logic, NULL };
	FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (walk && (entry = fts_read(walk))) {
		int fd = entry->fts_info == FTS_F ? open(entry->fts_accpath, O_RDONLY | O_CLOEXEC) : -1;
		if (fd >= 0) {
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			close(fd);
		}
	}
	if (walk)
		fts_close(walk);
}

/* CPU seconds of all threads of a process so far (proc(5), schedstat: nanoseconds on a CPU). */
static double cpu_of_process(pid_t pid)
{
	char path[64];
	double sum = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		char name[512];
		unsigned long long ns = 0;
		snprintf(name, sizeof(name), "%s/%s/schedstat", path, entry->d_name);
		FILE *stream = entry->d_name[0] == '.' ? NULL : fopen(name, "re");
		if (stream && fscanf(stream, "%llu", &ns) == 1)
			sum += (double)ns * 1e-9;
		if (stream)
			fclose(stream);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

static pid_t start_mount(const struct bench *bench)
{
	char mountpoint[96], cache[96], visible[128];
	struct statfs answer;

	snprintf(mountpoint, sizeof(mountpoint), "%s/mnt", bench->folder);
	snprintf(cache, sizeof(cache), "%s/cache", bench->folder);
	snprintf(visible, sizeof(visible), "%s/gfx942", mountpoint);
	mkdir(mountpoint, 0755);
	pid_t pid = fork();
	if (pid == 0) {
		execl(bench->tensilefs, bench->tensilefs, "mount", "-f", "--cache", cache, bench->logic, mountpoint, (char *)NULL);
		_exit(127);
	}
	while (statfs(visible, &answer) < 0) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			give_up("mount", "it did not come up");
		usleep(1000);
	}
	return pid;
}

static void end_mount(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void measure_mount(const struct bench *bench)
{
	end_mount(start_mount(bench));
	pid_t pid = start_mount(bench);
	report("mount ready, CPU", cpu_of_process(pid), "s", "0.1 or less on the corpus");
	end_mount(pid);
	make_cold(bench->logic);
	double begin = wall();
	pid = start_mount(bench);
	report("mount ready on cold logic files, wall clock", wall() - begin, "s", "1 or less on the corpus");
	end_mount(pid);
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

/* ---- files ------------------------------------------------------------------------------------------------------------ */

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

/* Seconds to read a file with 1 MiB reads, the best of `times`. */
static double read_time(const char *path, unsigned times)
{
	static char bytes[1 << 20];
	double best = 1e9;

	for (unsigned i = 0; i < times; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			give_up(path, strerror(errno));
		double begin = wall();
		while (read(fd, bytes, sizeof(bytes)) > 0)
			;
		best = MIN(best, wall() - begin);
		close(fd);
	}
	return best;
}

static double copy_time(const struct bench *bench, const char *from)
{
	double begin = wall();
	if (shell("cp -r '%s/%s' '%s/copy'", bench->folder, from, bench->folder) != 0)
		give_up("cp -r", from);
	double end = wall();
	shell("rm -rf '%s/copy'", bench->folder);
	return end - begin;
}

static void measure_files(const struct bench *bench)
{
	char mounted[512], built[512], name[256] = "";
	double from_mount = 1e9, from_ext4 = 1e9;

	snprintf(mounted, sizeof(mounted), "ls -S '%s/built/gfx942' | head -n 1", bench->folder);
	FILE *stream = popen(mounted, "re");
	if (!stream || !fgets(name, sizeof(name), stream))
		give_up("build", "it wrote no files");
	pclose(stream);
	name[strcspn(name, "\n")] = 0;
	snprintf(mounted, sizeof(mounted), "%s/mnt/gfx942/%s", bench->folder, name);
	snprintf(built, sizeof(built), "%s/built/gfx942/%s", bench->folder, name);
	for (unsigned i = 0; i < 3; i++) {
		pid_t pid = start_mount(bench);
		from_mount = MIN(from_mount, copy_time(bench, "mnt/gfx942"));
		if (i == 2)
			report("reading a cached file again, speed as a part of ext4's", read_time(built, 40) / read_time(mounted, 40), "", "0.5 or more");
		end_mount(pid);
		from_ext4 = MIN(from_ext4, copy_time(bench, "built/gfx942"));
	}
	report("cp -r of a cached arch, speed as a part of ext4's", from_ext4 / from_mount, "", "0.8 or more");
}

/* ---- under load ------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The 99th percentile of the times that opening and closing a file takes. */
static double slow_open(const char *path)
{
	static double times[2000];

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		double begin = wall();
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			give_up(path, strerror(errno));
		times[i] = wall() - begin;
		close(fd);
		usleep(200);
	}
	qsort(times, ARRAY_SIZE(times), sizeof(times[0]), compare_doubles);
	return times[ARRAY_SIZE(times) * 99 / 100];
}

/* Opens of a file that is ready, while nothing else happens and while the rest of the arch is being built. */
static void measure_load(const struct bench *bench)
{
	char ready[256];

	shell("rm -rf '%s/cache'", bench->folder);
	pid_t mount = start_mount(bench);
	snprintf(ready, sizeof(ready), "%s/mnt/gfx942/Kernels.so-000-gfx942.hsaco", bench->folder);
	double idle = slow_open(ready);
	pid_t reader = fork();
	if (reader == 0)
		_exit(shell("cp -r '%s/mnt/gfx942' '%s/copy'", bench->folder, bench->folder));
	double busy = slow_open(ready);
	bool still = waitpid(reader, NULL, WNOHANG) == 0;
	if (still)
		waitpid(reader, NULL, 0);
	shell("rm -rf '%s/copy'", bench->folder);
	end_mount(mount);
	report("p99 of opening a ready file during builds, to idle", busy / idle, "", "5 or less");
	if (!still)
		printf("(the builds ended before the opens did)\n");
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
	if (access("/dev/fuse", R_OK | W_OK) == 0) {
		measure_mount(&bench);
		measure_files(&bench);
		measure_load(&bench);
	}
	return shell("rm -rf '%s'", bench.folder) ? EXIT_FAILURE : EXIT_SUCCESS;
}
