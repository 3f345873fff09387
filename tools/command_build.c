/* SPDX-License-Identifier: MIT */
/*
 * The same bytes without FUSE, and strict: every file that cannot be made is named, the others are written all the same, and the exit status
 * is 1. A file appears under its name only when it is complete.
 */
#include "base/file.h"
#include "build/engine/cpus.h"
#include "build/engine/trace.h"
#include "tools/command.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define USAGE "build LOGIC OUT [--arch A] [-j N] [--bundle plain|compressed|none] [--names stable|tensile] [--metadata-only] [--keep-all] [--fail-fast] " \
	      "[--library lazy|separate|merged] [--library-format msgpack|yaml] [--layout arch|flat] [--custom-kernels DIR] [--trace FILE]"

struct build {
	struct engine *engine;
	struct trace *trace;		/* or NULL */
	const char *out;
	bool flat;			/* all architectures in one folder */
	struct engine_file **files;
	size_t n_files;
	bool progress;			/* stderr is a terminal */
	bool fail_fast;			/* the first that fails ends it */

	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t done_one;
	size_t running, done, failed;
	struct told *told;		/* newest first */
};

/* A reason that was told at length. One cause makes many files fail, which are named, but it is explained once. */
struct told {
	struct told *next;
	struct engine_file *file;	/* the first that failed for it; NULL: it was told of the logic */
	char reason[];
};

struct job {
	struct build *build;
	struct engine_file *file;
};

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* Under another name first, then renamed: nobody finds half a file. */
static int write_file(const char *path, const char *temporary, const void *data, size_t size)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	int r = write_all(fd, data, size);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(temporary);
	return r;
}

static int save(const struct build *build, const char *arch, const char *name, const void *data, size_t size, struct error *error)
{
	_cleanup_free_ char *path = NULL, *temporary = NULL;
	const char *slash = build->flat ? "" : "/", *folder = build->flat ? "" : arch;

	if (asprintf(&path, "%s%s%s/%s", build->out, slash, folder, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (asprintf(&temporary, "%s%s%s/.%s.%d", build->out, slash, folder, name, (int)getpid()) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	int r = write_file(path, temporary, data, size);
	return r < 0 ? error_set(error, r, "cannot write it into '%s%s%s': %s", build->out, slash, folder, strerror(-r)) : 0;
}

static int make_folder(const char *path)
{
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		return 0;
	int r = -errno;
	complain("cannot make the folder '%s': %s", path, strerror(-r));
	return r;
}

static int make_folders(const struct build *build)
{
	int r = make_folder(build->out);

	for (size_t i = 0; r == 0 && !build->flat && i < build->n_files; i++) {
		_cleanup_free_ char *path = NULL;
		const char *arch = engine_file_arch(build->files[i]);
		if (i && strcmp(arch, engine_file_arch(build->files[i - 1])) == 0)
			continue;
		if (asprintf(&path, "%s/%s", build->out, arch) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		r = make_folder(path);
	}
	return r;
}

/* ---- building --------------------------------------------------------------------------------------------------------- */

static void show_progress(const struct build *build, const struct engine_file *file)
{
	if (build->progress)
		fprintf(stderr, "\r\033[K[%zu/%zu] %s", build->done, build->n_files, engine_file_name(file));
}

static void remember(struct build *build, struct engine_file *file, const char *reason)
{
	struct told *told = malloc(sizeof(*told) + strlen(reason) + 1);

	if (!told)
		return;			/* then it is explained again */
	*told = (struct told){ .next = build->told, .file = file };
	strcpy(told->reason, reason);
	build->told = told;
}

static void forget_all(struct build *build)
{
	while (build->told) {
		struct told *told = build->told;
		build->told = told->next;
		free(told);
	}
}

static void complain_failure(struct build *build, struct engine_file *file, const char *reason)
{
	const struct told *told = build->told;

	while (told && strcmp(told->reason, reason) != 0)
		told = told->next;
	if (build->progress)
		fputs("\r\033[K", stderr);
	if (!told) {
		complain("%s/%s: %s", engine_file_arch(file), engine_file_name(file), reason);
		remember(build, file, reason);
	} else if (told->file) {
		complain("%s/%s: for the same reason as %s/%s", engine_file_arch(file), engine_file_name(file), engine_file_arch(told->file),
			 engine_file_name(told->file));
	} else {
		complain("%s/%s: for a reason told above", engine_file_arch(file), engine_file_name(file));
	}
}

static void job_done(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
	struct job *job = userdata;
	struct build *build = job->build;
	struct error failure = { 0 };

	trace_wait_end(build->trace, (uintptr_t)job, "build", TRACE_PLAIN);
	if (status == 0) {
		trace_begin(build->trace, "write", TRACE_WITH({ "bytes", .number = artifact->size }));
		status = save(build, engine_file_arch(job->file), engine_file_name(job->file), artifact->data, artifact->size, &failure);
		trace_end(build->trace, "write", TRACE_PLAIN);
		error = &failure;
	}
	pthread_mutex_lock(&build->lock);
	build->running--;
	build->done++;
	if (status < 0 && status != -ECANCELED) {	/* else it ends because of another one */
		build->failed++;
		complain_failure(build, job->file, error_text(error, status));
	}
	show_progress(build, job->file);
	pthread_cond_signal(&build->done_one);
	pthread_mutex_unlock(&build->lock);
	free(job);
}

/* With the lock held. */
static bool is_over(const struct build *build)
{
	return build->fail_fast && build->failed;
}

/* At most `most` files are on their way: each holds its logic and its kernels in memory. */
static int build_all(struct build *build, size_t most)
{
	for (size_t i = 0; i < build->n_files; i++) {
		struct job *job = malloc(sizeof(*job));
		if (!job)
			return -ENOMEM;
		*job = (struct job){ .build = build, .file = build->files[i] };
		pthread_mutex_lock(&build->lock);
		while (build->running >= most && !is_over(build))
			pthread_cond_wait(&build->done_one, &build->lock);
		bool over = is_over(build);
		build->running += !over;
		pthread_mutex_unlock(&build->lock);
		if (over) {
			free(job);
			return 0;
		}
		trace_wait_begin(build->trace, (uintptr_t)job, "build", TRACE_WITH({ "file", .text = engine_file_name(job->file) }));
		engine_request(build->engine, job->file, ENGINE_WAITED, job_done, job);
	}
	return 0;
}

static void wait_for_all(struct build *build)
{
	pthread_mutex_lock(&build->lock);
	while (build->running > 0 && !is_over(build))
		pthread_cond_wait(&build->done_one, &build->lock);
	pthread_mutex_unlock(&build->lock);
	if (build->progress && build->done)
		fputs("\r\033[K", stderr);
}

static int complain_mistake(void *userdata, const char *message)
{
	size_t *mistakes = userdata;

	complain("%s", message);
	++*mistakes;
	return 0;
}

/* Solutions that are left out for a mistake in the logic, each with its reason: one of a base's files speaks for the base. */
static size_t complain_mistakes(const struct build *build, enum engine_kind speaker)
{
	size_t mistakes = 0;

	for (size_t i = 0; i < build->n_files; i++) {
		struct engine_file *file = build->files[i];
		struct error error = { 0 };
		struct engine_stat stat;
		if (engine_file_kind(file) != speaker)
			continue;
		engine_stat(build->engine, file, &stat);
		if (stat.mistakes == 0)
			continue;
		int r = engine_foreach_mistake(build->engine, file, complain_mistake, &mistakes, &error);
		if (r < 0)
			complain("%s/%s: %s", engine_file_arch(file), engine_file_name(file), error_text(&error, r));
	}
	return mistakes;
}

/* Helper objects first, as a compiler may take longer for one than for all the rest; then the largest logic, so that the last file to end is a small
 * one; files of one base beside each other, so that it is parsed once. */
static int compare_work(const void *a, const void *b)
{
	const struct engine_file *x = *(struct engine_file *const *)a, *y = *(struct engine_file *const *)b;
	uint64_t x_bytes = engine_file_logic_bytes(x), y_bytes = engine_file_logic_bytes(y);
	int r = (engine_file_kind(y) == ENGINE_HELPER) - (engine_file_kind(x) == ENGINE_HELPER);

	if (r == 0)
		r = strcmp(engine_file_arch(x), engine_file_arch(y));
	if (r == 0 && x_bytes != y_bytes)
		r = x_bytes < y_bytes ? 1 : -1;
	return r ? r : strcmp(engine_file_name(x), engine_file_name(y));
}

static int choose_files(struct build *build)
{
	size_t n = 0;

	for (size_t arch = 0; arch < engine_n_archs(build->engine); arch++)
		n += engine_n_files(build->engine, arch);
	build->files = calloc(n + 1, sizeof(*build->files));
	if (!build->files)
		return -ENOMEM;
	for (size_t arch = 0; arch < engine_n_archs(build->engine); arch++)
		for (size_t i = 0; i < engine_n_files(build->engine, arch); i++) {
			struct engine_file *file = engine_file(build->engine, arch, i);
			if (!build->flat || engine_lookup_flat(build->engine, engine_file_name(file)) == file)
				build->files[build->n_files++] = file;
		}
	qsort(build->files, build->n_files, sizeof(build->files[0]), compare_work);
	return 0;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

/* Beside metadata that is made alone: what the rest would consist of. `arch` NULL: for the one folder of all. */
static int write_lists(const struct build *build, const char *arch, struct error *error)
{
	_cleanup_buffer_ struct buffer kernels = { 0 }, helpers = { 0 };

	int r = engine_list_kernels(build->engine, arch, &kernels, &helpers, error);
	if (r == 0 && kernels.size)
		r = save(build, arch, "kernels.txt", kernels.data, kernels.size, error);
	if (r == 0 && helpers.size)
		r = save(build, arch, "helpers.txt", helpers.data, helpers.size, error);
	return r;
}

static int write_all_lists(const struct build *build)
{
	struct error error = { 0 };
	int r = build->flat ? write_lists(build, NULL, &error) : 0;

	for (size_t i = 0; r == 0 && !build->flat && i < engine_n_archs(build->engine); i++)
		r = write_lists(build, engine_arch(build->engine, i), &error);
	if (r < 0)
		complain("cannot list the kernels: %s", error_text(&error, r));
	return r;
}

int command_build(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	struct build build = { .lock = PTHREAD_MUTEX_INITIALIZER, .done_one = PTHREAD_COND_INITIALIZER, .progress = isatty(2) };
	size_t faults = 0, mistakes = 0;

	int r = options_parse(argc, argv, OPTION_ARCH | OPTION_JOBS | OPTION_MEMORY | OPTION_CACHE | OPTION_OUTPUT | OPTION_METADATA | OPTION_TRACE, 2, 2, USAGE, &options);
	if (r < 0)
		return EXIT_USAGE;
	if (options.engine.jobs == 0)
		options.engine.jobs = cpus_available();
	build.out = argv[optind + 1];
	build.flat = options.engine.flat;
	build.fail_fast = options.fail_fast;
	r = begin_trace(&options);
	if (r == 0)
		r = open_engine(&options, argv[optind], &build.engine, &faults);
	if (r < 0)
		return EXIT_FAILURE;
	build.trace = options.engine.trace;
	for (size_t i = 0; i < faults; i++)
		remember(&build, NULL, engine_fault(build.engine, i));
	r = choose_files(&build);
	if (r == 0)
		r = make_folders(&build);
	if (r == 0)
		r = build_all(&build, options.engine.jobs + !build.fail_fast);	/* one that waits to be begun, so that no worker does */
	wait_for_all(&build);
	if (r == 0 && !(build.fail_fast && build.failed))
		mistakes = complain_mistakes(&build, options.engine.metadata_only ? ENGINE_METADATA : ENGINE_CODE_OBJECT);
	if (r == 0 && !build.failed && options.engine.metadata_only)
		r = write_all_lists(&build);
	engine_unref(build.engine);
	forget_all(&build);
	free(build.files);
	if (build.failed)
		complain("%zu of %zu files could not be built", build.failed, build.n_files);
	if (r == 0 && faults)
		complain("%zu part%s of the logic %s left out", faults, faults == 1 ? "" : "s", faults == 1 ? "was" : "were");
	if (mistakes)
		complain("%zu solution%s left out", mistakes, mistakes == 1 ? " was" : "s were");
	return r < 0 || build.failed || faults || mistakes ? EXIT_FAILURE : EXIT_SUCCESS;
}
