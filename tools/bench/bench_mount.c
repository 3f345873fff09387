/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the mount, as ratios to two yardsticks in the same run: bare.c, which is about the least that a file system on libfuse
 * does, and the file system below $TMPDIR (or /var/tmp), which is to be a disk's.
 *
 *     bench_mount TENSILEFS BARE LOGIC [MEASUREMENT...]
 *
 * What is compared is measured by turns, and the median or the best counts, so that a busy machine disturbs it little. MEASUREMENT: ready,
 * open, large, copy, list, load; all when there is none.
 */
#include "base/error.h"
#include "build/engine/engine.h"
#include "tools/bench/common.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

struct bench {
	const char *tensilefs, *bare, *logic;
	char folder[256];		/* scratch: logic, cache, built, mnt, bare, ... */
};

/* ---- mounting --------------------------------------------------------------------------------------------------------- */

static void wait_until_visible(pid_t pid, const char *folder, const char *mount)
{
	char path[512];
	struct stat above, here;

	snprintf(path, sizeof(path), "%s/%s", folder, mount);
	while (stat(folder, &above) < 0 || stat(path, &here) < 0 || above.st_dev == here.st_dev) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			give_up(mount, "it did not come up");
		usleep(1000);
	}
}

/* On "mnt" in scratch, with a cache and logic of one's own or NULL for those of all. */
static pid_t start_mount_with(const struct bench *bench, const char *logic, const char *cache_name)
{
	char mountpoint[512], cache[512];

	snprintf(mountpoint, sizeof(mountpoint), "%s/mnt", bench->folder);
	snprintf(cache, sizeof(cache), "%s/%s", bench->folder, cache_name);
	mkdir(mountpoint, 0755);
	pid_t pid = fork();
	if (pid == 0) {
		execl(bench->tensilefs, bench->tensilefs, "mount", "-f", "--cache", cache, logic, mountpoint, (char *)NULL);
		_exit(127);
	}
	wait_until_visible(pid, bench->folder, "mnt");
	return pid;
}

static pid_t start_mount(const struct bench *bench)
{
	return start_mount_with(bench, bench->logic, "cache");
}

/* Passes a folder in scratch through to "bare". */
static pid_t start_bare(const struct bench *bench, const char *behind)
{
	char folder[512], mountpoint[512];

	snprintf(folder, sizeof(folder), "%s/%s", bench->folder, behind);
	snprintf(mountpoint, sizeof(mountpoint), "%s/bare", bench->folder);
	mkdir(mountpoint, 0755);
	pid_t pid = fork();
	if (pid == 0) {
		execl(bench->bare, bench->bare, folder, mountpoint, (char *)NULL);
		_exit(127);
	}
	wait_until_visible(pid, bench->folder, "bare");
	return pid;
}

static void end_mount(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

/* ---- ready ------------------------------------------------------------------------------------------------------------ */

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

static void measure_ready(const struct bench *bench)
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

/* ---- open ------------------------------------------------------------------------------------------------------------- */

enum { OPENS = 500, ROUNDS = 10 };

static double time_open(const char *path)
{
	double begin = wall();
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		give_up(path, strerror(errno));
	double seconds = wall() - begin;
	close(fd);
	return seconds;
}

static void time_opens(const char *path, double *times)
{
	for (size_t i = 0; i < OPENS; i++)
		times[i] = time_open(path);
}

/* The name of the largest file that was built. */
static void largest_file(const struct bench *bench, char *name, size_t size)
{
	char command[512];

	snprintf(command, sizeof(command), "ls -S '%s/built/gfx942' | head -n 1", bench->folder);
	FILE *stream = popen(command, "re");
	if (!stream || !fgets(name, (int)size, stream))
		give_up("build", "it wrote no files");
	pclose(stream);
	name[strcspn(name, "\n")] = 0;
}

static void measure_open(const struct bench *bench)
{
	static double ours[OPENS * ROUNDS], theirs[OPENS * ROUNDS];
	pid_t mount = start_mount(bench), bare = start_bare(bench, "built/gfx942");
	char name[256], mounted[1024], passed[1024];

	largest_file(bench, name, sizeof(name));
	snprintf(mounted, sizeof(mounted), "%s/mnt/gfx942/%s", bench->folder, name);
	snprintf(passed, sizeof(passed), "%s/bare/%s", bench->folder, name);
	time_opens(mounted, ours);		/* the first brings it into memory */
	for (size_t i = 0; i < ROUNDS; i++) {
		time_opens(passed, theirs + i * OPENS);
		time_opens(mounted, ours + i * OPENS);
	}
	end_mount(mount);
	end_mount(bare);
	printf("(%.1f and %.1f us)\n", quantile(ours, OPENS * ROUNDS, 0.5) * 1e6, quantile(theirs, OPENS * ROUNDS, 0.5) * 1e6);
	report("open of a cached file, times a bare file system's: median",
	       quantile(ours, OPENS * ROUNDS, 0.5) / quantile(theirs, OPENS * ROUNDS, 0.5), "", "1.3 or less");
	report("the same: the fastest tenth", quantile(ours, OPENS * ROUNDS, 0.1) / quantile(theirs, OPENS * ROUNDS, 0.1), "", "1.3 or less");
}

/* ---- a large file ----------------------------------------------------------------------------------------------------- */

enum { LARGE = 256 << 20 };

/* Puts a large file into a cache of its own under the hash of a file of the catalog, and the same bytes into "large". */
static void make_large(const struct bench *bench, const char *cache, char *ret_name, size_t name_size)
{
	struct engine_options options = { .logic = bench->logic, .cache = cache, .jobs = 1 };
	struct cachedb_options cache_options = { .directory = cache };
	struct cachedb_info info = { .items = 1 };
	struct cachedb_key hash;
	struct cachedb *db;
	struct engine *engine;
	struct error error = { 0 };
	char path[1024];

	if (engine_new(&options, &engine, &error) < 0)
		give_up(bench->logic, error.text);
	struct engine_file *file = engine_lookup(engine, "gfx942", "TensileLibrary_lazy_gfx942.dat");
	if (engine_hash(engine, file, &hash, &error) < 0 || cachedb_open(&cache_options, &db, &error) < 0)
		give_up("large file", error.text);
	_cleanup_free_ uint8_t *bytes = malloc(LARGE);
	for (size_t i = 0; bytes && i < LARGE; i += 8)
		memcpy(bytes + i, &(uint64_t){ i * 0x9e3779b97f4a7c15ull }, 8);
	if (!bytes || cachedb_put(db, &hash, bytes, LARGE, &info, &error) < 0)
		give_up("large file", error.text);
	snprintf(ret_name, name_size, "%s", engine_file_name(file));
	snprintf(path, sizeof(path), "%s/large", bench->folder);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/large/%s", bench->folder, ret_name);
	FILE *stream = fopen(path, "we");
	if (!stream || fwrite(bytes, 1, LARGE, stream) != LARGE || fclose(stream) != 0)
		give_up(path, strerror(errno));
	cachedb_close(db);
	engine_unref(engine);
}

struct read_times {
	double open, read;
};

/* Reads a file that the kernel has nothing of, with 1 MiB reads. */
static struct read_times read_cold(const char *path)
{
	static char bytes[1 << 20];
	struct read_times times;
	double begin = wall();
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		give_up(path, strerror(errno));
	times.open = wall() - begin;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	begin = wall();
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	times.read = wall() - begin;
	close(fd);
	return times;
}

static void measure_large(const struct bench *bench)
{
	char cache[512], name[256], mounted[1024], passed[1024];
	struct read_times ours = { 1e9, 1e9 }, theirs = { 1e9, 1e9 };

	snprintf(cache, sizeof(cache), "%s/large-cache", bench->folder);
	make_large(bench, cache, name, sizeof(name));
	snprintf(mounted, sizeof(mounted), "%s/mnt/gfx942/%s", bench->folder, name);
	snprintf(passed, sizeof(passed), "%s/bare/%s", bench->folder, name);
	pid_t bare = start_bare(bench, "large");
	for (unsigned i = 0; i < 5; i++) {
		struct read_times once = read_cold(passed);
		theirs = (struct read_times){ MIN(theirs.open, once.open), MIN(theirs.read, once.read) };
		pid_t mount = start_mount_with(bench, bench->logic, "large-cache");
		once = read_cold(mounted);
		end_mount(mount);
		ours = (struct read_times){ MIN(ours.open, once.open), MIN(ours.read, once.read) };
	}
	end_mount(bare);
	report("cold read of a cached 256 MiB file, speed as a part of bare's", theirs.read / ours.read, "", "0.9 or more");
	report("the same with the first open, which checks the digest", (theirs.open + theirs.read) / (ours.open + ours.read), "", "as above");
	printf("(first opens: %.3f and %.3f s)\n", ours.open, theirs.open);
	report("(speed of the bare file system)", LARGE / theirs.read / 1e9, "GB/s", "-");
	shell("rm -rf '%s/large' '%s/large-cache'", bench->folder, bench->folder);
}

/* ---- copies ----------------------------------------------------------------------------------------------------------- */

/* Copies to a new place, which is kept: just after files were deleted ext4 makes new ones slowly. */
static double copy_time(const struct bench *bench, const char *from)
{
	double begin = wall();
	if (shell("mkdir -p '%s/copies' && cp -r '%s/%s' $(mktemp -d '%s/copies/XXXXXX')/copy", bench->folder, bench->folder, from,
		  bench->folder) != 0)
		give_up("cp -r", from);
	return wall() - begin;
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

static void measure_copy(const struct bench *bench)
{
	char mounted[1024], built[1024], name[256];
	double ours = 1e9, bare_time = 1e9, disk = 1e9, again = 1e9;

	largest_file(bench, name, sizeof(name));
	snprintf(mounted, sizeof(mounted), "%s/mnt/gfx942/%s", bench->folder, name);
	snprintf(built, sizeof(built), "%s/built/gfx942/%s", bench->folder, name);
	for (unsigned i = 0; i < 5; i++) {
		pid_t pid = start_mount(bench);
		ours = MIN(ours, copy_time(bench, "mnt/gfx942"));
		again = MIN(again, copy_time(bench, "mnt/gfx942"));
		if (i == 4)
			report("reading a cached file again, speed as a part of ext4's", read_time(built, 40) / read_time(mounted, 40), "", "0.5 or more");
		end_mount(pid);
		pid = start_bare(bench, "built/gfx942");
		bare_time = MIN(bare_time, copy_time(bench, "bare"));
		end_mount(pid);
		disk = MIN(disk, copy_time(bench, "built/gfx942"));
	}
	shell("rm -rf '%s/copies'", bench->folder);
	report("cp -r of a cached arch, speed as a part of ext4's", disk / ours, "", "0.8 or more");
	report("the same as a part of a bare file system's", bare_time / ours, "", "-");
	report("cp -r of an arch that was read before, as a part of ext4's", disk / again, "", "-");
}

/* ---- listing ---------------------------------------------------------------------------------------------------------- */

enum { NAMES = 300000, UNITS = 4000 };

/* Heads of logic without solutions for NAMES / 2 bases: variants of a problem, each for devices of 1, 2, 3 ... compute units. */
static void make_many(const struct bench *bench, const char *logic)
{
	static const char head[] = "- {MinimumRequiredVersion: 4.33.0}\n- x\n- {Architecture: gfx942, CUCount: %u}\n- [Device 74a1]\n"
				   "- {OperationType: GEMM, DataType: %d, DestDataType: %d, ComputeDataType: 0, HighPrecisionAccumulate: true,\n"
				   "  TransposeA: %s, TransposeB: %s, UseBias: %u, UseScaleAlphaVec: %u, Batched: true, StridedBatched: true}\n- []\n"
				   "- [2, 3, 0, 1]\n- []\n- null\n- null\n- DeviceEfficiency\n- Equality\n";
	static const char *const yes[] = { "false", "true" };
	static const int types[] = { 0, 4, 7 };		/* f32, f16, bf16 */

	mkdir(logic, 0755);
	for (unsigned i = 0; i < NAMES / 2; i++) {
		unsigned variant = i / UNITS;
		int type = types[variant >> 4];
		char path[1024];
		snprintf(path, sizeof(path), "%s/%u.yaml", logic, i);
		FILE *stream = fopen(path, "we");
		if (!stream)
			give_up(path, strerror(errno));
		fprintf(stream, head, i % UNITS + 1, type, type, yes[variant & 1], yes[variant >> 1 & 1], variant >> 2 & 1, variant >> 3 & 1);
		fclose(stream);
	}
}

/* Seconds to read all names of a folder. */
static double list_time(const char *path, size_t *ret_names)
{
	double begin = wall();
	DIR *folder = opendir(path);
	size_t n = 0;

	if (!folder)
		give_up(path, strerror(errno));
	while (readdir(folder))
		n++;
	closedir(folder);
	*ret_names = n;
	return wall() - begin;
}

static double resident_mib(pid_t pid)
{
	char path[64];
	unsigned long long total, pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	FILE *stream = fopen(path, "re");
	if (!stream || fscanf(stream, "%llu %llu", &total, &pages) != 2)
		give_up(path, "it cannot be read");
	fclose(stream);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void measure_list(const struct bench *bench)
{
	char logic[512], mounted[512];
	double ours = 1e9, disk = 1e9;
	size_t names, files;

	snprintf(logic, sizeof(logic), "%s/many", bench->folder);
	snprintf(mounted, sizeof(mounted), "%s/mnt/gfx942", bench->folder);
	make_many(bench, logic);
	pid_t mount = start_mount_with(bench, logic, "many-cache");
	list_time(bench->folder, &names);
	double before = resident_mib(mount);
	for (unsigned i = 0; i < 3; i++) {
		ours = MIN(ours, list_time(mounted, &names));
		disk = MIN(disk, list_time(logic, &files));
	}
	double grown = resident_mib(mount) - before;
	end_mount(mount);
	printf("(%zu names, listed in %.3f s)\n", names, ours);
	report("listing 300,000 names, speed for each as a part of ext4's", disk / (double)files / (ours / (double)names), "", "-");
	report("what the daemon grew by meanwhile", grown, "MiB", "less than the names themselves");
	shell("rm -rf '%s' '%s/many-cache'", logic, bench->folder);
}

/* ---- under load ------------------------------------------------------------------------------------------------------- */

/* The 99th percentile of the times that opening a file takes. */
static double slow_open(const char *path)
{
	static double times[2000];

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		times[i] = time_open(path);
		usleep(200);
	}
	return quantile(times, ARRAY_SIZE(times), 0.99);
}

/* Opens of a file that is ready, while nothing else happens and while the rest of the arch is being built. */
static void measure_load(const struct bench *bench)
{
	char ready[512];

	pid_t mount = start_mount_with(bench, bench->logic, "load-cache");
	snprintf(ready, sizeof(ready), "%s/mnt/gfx942/Kernels.so-000-gfx942.hsaco", bench->folder);
	double idle = slow_open(ready);
	pid_t reader = fork();
	if (reader == 0)
		_exit(shell("cp -r '%s/mnt/gfx942' '%s/copy'", bench->folder, bench->folder));
	double busy = slow_open(ready);
	bool still = waitpid(reader, NULL, WNOHANG) == 0;
	if (still)
		waitpid(reader, NULL, 0);
	end_mount(mount);
	printf("(p99 of opening a ready file: %.0f us idle, %.0f us during builds)\n", idle * 1e6, busy * 1e6);
	report("p99 of opening a ready file during builds, to idle", busy / idle, "", "5 or less");
	if (!still)
		printf("(the builds ended before the opens did)\n");
	shell("rm -rf '%s/copy' '%s/load-cache'", bench->folder, bench->folder);
}

/* ---- all together ----------------------------------------------------------------------------------------------------- */

static const struct { const char *name; void (*measure)(const struct bench *bench); } measurements[] = {
	{ "ready", measure_ready },
	{ "open", measure_open },
	{ "large", measure_large },
	{ "copy", measure_copy },
	{ "list", measure_list },
	{ "load", measure_load },
};

static bool is_wanted(const char *name, char *const *wanted)
{
	bool found = !*wanted;

	for (; *wanted; wanted++)
		found |= strcmp(*wanted, name) == 0;
	return found;
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");
	struct bench bench = { 0 };

	if (argc < 4)
		give_up("usage", "bench_mount TENSILEFS BARE LOGIC [MEASUREMENT...]");
	if (access("/dev/fuse", R_OK | W_OK) < 0)
		give_up("/dev/fuse", strerror(errno));
	bench.tensilefs = argv[1];
	bench.bare = argv[2];
	bench.logic = argv[3];
	snprintf(bench.folder, sizeof(bench.folder), "%s/tensilefs-bench-XXXXXX", tmp ? tmp : "/var/tmp");
	if (!mkdtemp(bench.folder))
		give_up(bench.folder, strerror(errno));
	if (shell("'%s' build '%s' '%s/built' --cache '%s/cache'", bench.tensilefs, bench.logic, bench.folder, bench.folder) == -1)
		give_up("build", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(measurements); i++)
		if (is_wanted(measurements[i].name, argv + 4))
			measurements[i].measure(&bench);
	return shell("rm -rf '%s'", bench.folder) ? EXIT_FAILURE : EXIT_SUCCESS;
}
