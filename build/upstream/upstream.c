/* SPDX-License-Identifier: MIT */
#include "build/upstream/upstream_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "worker_py.h"

#include <sys/mman.h>

#define KERNEL_SECONDS 300
#define IDLE_SECONDS 60
#define WORKER_MEMORY (UINT64_C(6) << 30)	/* bytes of address space; the largest kernel of hipBLASLt takes 0.4 GB */

/* ---- python ----------------------------------------------------------------------------------------------------------- */

/* Who it is, and in a second line what it lacks. */
static const char python_question[] =
	"import sys, importlib.util as u; print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3]); "
	"print('version 3.9' if sys.version_info < (3, 9) else 'the module yaml (package python3-yaml)' if not u.find_spec('yaml') else '')";

static int ask_python(struct program *program, const char *path, char **ret_identity, unsigned *ret_variant, struct error *error)
{
	_cleanup_free_ char *identity = NULL;

	int r = program_ask(program, (const char *const[]){ path, "-c", python_question, NULL }, &identity, error);
	if (r < 0)
		return r;
	char *lacks = identity;
	strsep(&lacks, "\n");
	if (lacks)
		lacks[strcspn(lacks, "\n")] = 0;
	if (lacks && *lacks)
		return error_set(error, -ENOENT, "'%s' (%.60s) will not do for TensileLite, which needs %s", path, identity, lacks);
	*ret_identity = TAKE(identity);
	return 0;
}

static const struct program_kind python_kind = {
	.what = "python", .names = (const char *const[]){ "python3", NULL }, .seconds = 60, .ask = ask_python,
	.missing = "TensileLite needs python3 on PATH",
};

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static int make_program(void)
{
	int fd = memfd_create("worker.py", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	int r = write_all(fd, worker_py, sizeof(worker_py));
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static int digest_program(char ret_text[static KEY_TEXT_SIZE])
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct cachedb_key key;

	digest_init(&digest, "worker");
	digest_bytes(&digest, worker_py, sizeof(worker_py));
	int r = digest_finish(&digest, &key);
	if (r == 0)
		key_to_text(&key, ret_text);
	return r;
}

/*
 * Sets of strings have one order in every process; python finds the user's modules, and writes what it compiles where he wants it
 * or not.
 */
static int init_environment(struct upstream *upstream)
{
	static const char *const taken[] = { "HOME", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE" };
	size_t n = 0;

	upstream->environment[n++] = strdup("PYTHONHASHSEED=0");
	if (!upstream->environment[0])
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		const char *value = getenv(taken[i]);
		if (value && asprintf(&upstream->environment[n++], "%s=%s", taken[i], value) < 0) {
			upstream->environment[n - 1] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

static int init(struct upstream *upstream, const struct upstream_options *options, struct error *error)
{
	upstream->program = make_program();
	if (upstream->program < 0)
		return error_set(error, upstream->program, "cannot make a memory file: %s", strerror(-upstream->program));
	int r = digest_program(upstream->program_digest);
	if (r == 0)
		r = tensilelite_new(options->tensilelite, &upstream->tensilelite, error);
	if (r == 0)
		r = program_new(&python_kind, options->python, &upstream->python);
	if (r == 0)
		r = assembler_new(options->assembler, &upstream->assembler);
	if (r == 0)
		r = hip_new(options->hip_compiler, &upstream->hip);
	return r < 0 ? r : init_environment(upstream);
}

int upstream_new(const struct upstream_options *options, struct upstream **ret_upstream, struct error *error)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	if (!upstream)
		return -ENOMEM;
	upstream->options = *options;
	upstream->looked_ms = -LOOK_MS;
	pthread_mutex_init(&upstream->look, NULL);
	pthread_mutex_init(&upstream->lock, NULL);
	int r = init(upstream, options, error);
	if (r < 0) {
		upstream_unref(upstream);
		return r;
	}
	*ret_upstream = upstream;
	return 0;
}

static void edition_free(struct edition *edition)
{
	while (edition->verdicts) {
		struct verdicts *verdicts = edition->verdicts;
		edition->verdicts = verdicts->next;
		free(verdicts->targets);
		free(verdicts->json);
		free(verdicts);
	}
	workers_unref(edition->workers);
	pthread_mutex_destroy(&edition->probe);
	free(edition->identity);
	free(edition);
}

void upstream_stop(struct upstream *upstream)
{
	program_stop(upstream->assembler);
	program_stop(upstream->hip);
	program_stop(upstream->python);
	pthread_mutex_lock(&upstream->lock);
	upstream->stopped = true;
	for (struct edition *edition = upstream->edition; edition; edition = edition->older)
		workers_stop(edition->workers);
	pthread_mutex_unlock(&upstream->lock);
}

struct upstream *upstream_unref(struct upstream *upstream)
{
	if (!upstream)
		return NULL;
	while (upstream->edition) {
		struct edition *edition = upstream->edition;
		upstream->edition = edition->older;
		edition_free(edition);
	}
	program_unref(upstream->hip);
	program_unref(upstream->assembler);
	program_unref(upstream->python);
	tensilelite_unref(upstream->tensilelite);
	close_p(&upstream->program);
	pthread_mutex_destroy(&upstream->lock);
	pthread_mutex_destroy(&upstream->look);
	for (size_t i = 0; i < ARRAY_SIZE(upstream->environment); i++)
		free(upstream->environment[i]);
	free(upstream);
	return NULL;
}

/* ---- editions --------------------------------------------------------------------------------------------------------- */

static int new_workers(struct upstream *upstream, const char *python, struct workers **ret_workers)
{
	const struct upstream_options *options = &upstream->options;
	const char *const argv[] = { python, "/proc/self/fd/4", tensilelite_folder(upstream->tensilelite), NULL };

	return workers_new(&(struct workers_options){ .argv = argv, .environment = (const char *const *)upstream->environment, .program = upstream->program,
						      .most = MAX(options->workers, 1u), .idle_seconds = IDLE_SECONDS, .memory = WORKER_MEMORY,
						      .seconds = options->kernel_seconds ? options->kernel_seconds : KERNEL_SECONDS },
			   ret_workers);
}

struct look {			/* what was seen */
	char tensilelite[KEY_TEXT_SIZE];
	const struct program_found *python, *assembler;
};

static int look(struct upstream *upstream, struct look *look, struct error *error)
{
	int r = tensilelite_identify(upstream->tensilelite, look->tensilelite, error);
	if (r == 0)
		r = program_identify(upstream->python, &look->python, error);
	if (r == 0)
		r = program_identify(upstream->assembler, &look->assembler, error);
	return r;
}

static int print_identity(const struct upstream *upstream, const struct look *look, char **ret_identity)
{
	return asprintf(ret_identity, "TensileLite %s, worker %.12s, %s, %s, code object version %u", look->tensilelite, upstream->program_digest,
			look->python->identity, look->assembler->identity, upstream->options.code_object_version) < 0 ? -ENOMEM : 0;
}

/* Takes over `identity`. */
static int edition_new(struct upstream *upstream, const struct look *look, char *identity, struct edition **ret_edition)
{
	struct edition *edition = calloc(1, sizeof(*edition));

	if (!edition) {
		free(identity);
		return -ENOMEM;
	}
	pthread_mutex_init(&edition->probe, NULL);
	edition->identity = identity;
	edition->interned = identity;
	int r = new_workers(upstream, look->python->path, &edition->workers);
	if (r < 0) {
		edition_free(edition);
		return r;
	}
	for (const struct edition *other = upstream->edition; other; other = other->older)
		if (strcmp(other->identity, identity) == 0)
			edition->interned = other->interned;
	*ret_edition = edition;
	return 0;
}

/* With upstream->look held. */
static int renew(struct upstream *upstream, struct error *error)
{
	struct edition *edition = NULL;
	struct look seen = { 0 };
	char *identity;

	int r = look(upstream, &seen, error);
	if (r == 0)
		r = print_identity(upstream, &seen, &identity);
	if (r < 0)
		return r;
	if (upstream->edition && strcmp(upstream->edition->identity, identity) == 0) {
		free(identity);
		return 0;
	}
	r = edition_new(upstream, &seen, identity, &edition);
	if (r < 0)
		return r;
	pthread_mutex_lock(&upstream->lock);
	edition->older = upstream->edition;
	upstream->edition = edition;
	if (upstream->stopped)
		workers_stop(edition->workers);
	pthread_mutex_unlock(&upstream->lock);
	return 0;
}

int upstream_current(struct upstream *upstream, int64_t age_ms, struct edition **ret_edition, struct error *error)
{
	int r = 0;

	pthread_mutex_lock(&upstream->look);
	if (!upstream->edition || now_ms() - upstream->looked_ms >= age_ms) {
		r = renew(upstream, error);
		if (r == 0)
			upstream->looked_ms = now_ms();
	}
	if (r == 0)
		*ret_edition = upstream->edition;
	pthread_mutex_unlock(&upstream->look);
	return r;
}

int upstream_identify(struct upstream *upstream, const char **ret_identity, struct error *error)
{
	struct edition *edition;

	int r = upstream_current(upstream, LOOK_MS, &edition, error);
	if (r == 0)
		*ret_identity = edition->interned;
	return r;
}

const char *upstream_identity(struct upstream *upstream)
{
	pthread_mutex_lock(&upstream->lock);
	const char *identity = upstream->edition ? upstream->edition->interned : NULL;
	pthread_mutex_unlock(&upstream->lock);
	return identity;
}

int upstream_identify_hip(struct upstream *upstream, const char **ret_identity, struct error *error)
{
	const struct program_found *found;

	int r = program_identify(upstream->hip, &found, error);
	if (r == 0)
		*ret_identity = found->identity;
	return r;
}

int upstream_check(struct upstream *upstream, const struct edition *edition, struct error *error)
{
	struct edition *now;

	int r = upstream_current(upstream, 0, &now, error);
	if (r < 0)
		return r;
	return now == edition ? 0 : error_set(error, -ESTALE, "'%s', python or the assembler has changed meanwhile",
					      tensilelite_folder(upstream->tensilelite));
}
