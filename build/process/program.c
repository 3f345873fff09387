/* SPDX-License-Identifier: MIT */
#include "build/process/program.h"

#include "base/file.h"

#include <limits.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* One that was found, newest first. All are kept, as callers hold them. */
struct known {
	struct program_found found;
	struct stat stat;		/* of its path */
	struct known *older;
};

struct program {
	const struct program_kind *kind;
	char *wanted;			/* or NULL */
	unsigned seconds;		/* a run may take so long */
	int stop;			/* an eventfd: readable after program_stop() */
	pthread_mutex_t identify;	/* held while one is looked for; taken before `lock` */
	pthread_mutex_t lock;		/* protects `known` */
	struct known *known;
};

int program_new(const struct program_kind *kind, const char *wanted, struct program **ret_program)
{
	struct program *program = calloc(1, sizeof(*program));

	if (!program)
		return -ENOMEM;
	program->kind = kind;
	program->seconds = kind->seconds;
	program->stop = eventfd(0, EFD_CLOEXEC);
	if (program->stop < 0 || (wanted && !(program->wanted = strdup(wanted)))) {
		int r = program->stop < 0 ? -errno : -ENOMEM;
		close_p(&program->stop);
		free(program);
		return r;
	}
	pthread_mutex_init(&program->identify, NULL);
	pthread_mutex_init(&program->lock, NULL);
	*ret_program = program;
	return 0;
}

static void known_free(struct known *known)
{
	free((char *)known->found.path);
	free((char *)known->found.identity);
	free(known);
}

struct program *program_unref(struct program *program)
{
	if (!program)
		return NULL;
	while (program->known) {
		struct known *known = program->known;
		program->known = known->older;
		known_free(known);
	}
	pthread_mutex_destroy(&program->identify);
	pthread_mutex_destroy(&program->lock);
	close_p(&program->stop);
	free(program->wanted);
	free(program);
	return NULL;
}

void program_stop(struct program *program)
{
	eventfd_write(program->stop, 1);
}

void program_set_limit(struct program *program, unsigned seconds)
{
	program->seconds = seconds;
}

/* ---- running ---------------------------------------------------------------------------------------------------------- */

int program_run(struct program *program, const struct program_call *call, struct buffer *ret_output, struct error *error)
{
	_cleanup_close_ int memory = -1, output = memfd_create("tensilefs-output", MFD_CLOEXEC);
	int input = call->input_fd ? *call->input_fd : -1;
	_cleanup_buffer_ struct buffer written = { 0 };

	if (call->input)
		input = memory = memfd_create("tensilefs-input", MFD_CLOEXEC);
	if (output < 0 || (call->input && memory < 0))
		return error_set(error, -errno, "cannot make a memory file: %s", strerror(errno));
	int r = call->input ? write_all(memory, call->input, call->input_size) : 0;
	if (r < 0)
		return error_set(error, r, "cannot hand %zu bytes to '%s': %s", call->input_size, call->argv[0], strerror(-r));
	int ended = process_run(&(struct process){ .argv = call->argv, .input = input, .output = output, .seconds = program->seconds,
						   .stop = program->stop, .said = call->said, .status = call->status },
				error);
	r = read_whole(output, &written);
	if (r < 0 && ended == 0)
		return error_set(error, r, "cannot read what '%s' wrote: %s", call->argv[0], strerror(-r));
	*ret_output = written;
	written = (struct buffer){ 0 };
	return ended;
}

int program_ask(struct program *program, const char *const *argv, char **ret_text, struct error *error)
{
	_cleanup_buffer_ struct buffer output = { 0 };

	int r = program_run(program, &(struct program_call){ .argv = argv }, &output, error);
	if (r < 0)
		return r;
	buffer_append(&output, "", 1);
	if (output.failed)
		return -ENOMEM;
	*ret_text = (char *)TAKE(output.data);
	return 0;
}

/* ---- finding ---------------------------------------------------------------------------------------------------------- */

/* Only folders with an absolute name: what the others are depends on where a daemon happens to stand, a folder of logic for one. */
static char *search_folders(const char *folders, const char *name)
{
	char path[PATH_MAX];

	for (const char *at = folders; *at;) {
		size_t length = strcspn(at, ":");
		if (*at == '/' && (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)length, at, name) < sizeof(path) && access(path, X_OK) == 0)
			return strdup(path);
		at += length + (at[length] == ':');
	}
	return NULL;
}

/* The first that is set and not empty. */
static const char *variable(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static char *search_candidate(const char *name)
{
	return strchr(name, '/') ? search_folders(variable("ROCM_PATH", "/opt/rocm"), name) :
				   search_folders(variable("PATH", "/usr/local/bin:/usr/bin:/bin"), name);
}

char *program_search(const char *name)
{
	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? strdup(name) : NULL;
	return search_candidate(name);
}

static int ask(struct program *program, const char *path, struct known **ret_known, struct error *error)
{
	struct known *known = calloc(1, sizeof(*known));

	if (!known || !(known->found.path = strdup(path))) {
		free(known);
		return -ENOMEM;
	}
	int r = stat(path, &known->stat) < 0 ? error_set(error, -errno, "cannot look at '%s': %s", path, strerror(errno)) : 0;
	if (r == 0)
		r = program->kind->ask(program, path, (char **)&known->found.identity, &known->found.variant, error);
	if (r < 0) {
		known_free(known);
		return r;
	}
	*ret_known = known;
	return 0;
}

static int find_wanted(struct program *program, struct known **ret_known, struct error *error)
{
	_cleanup_free_ char *path = program_search(program->wanted);

	if (!path)
		return error_set(error, -ENOENT, "the %s '%s' cannot be found or run", program->kind->what, program->wanted);
	return ask(program, path, ret_known, error);
}

/* When none will do, the message speaks of the first: why that does not run is more than that a later one is too old. */
static int find_any(struct program *program, struct known **ret_known, struct error *error)
{
	struct error first = { 0 }, later = { 0 };

	for (const char *const *name = program->kind->names; *name; name++) {
		_cleanup_free_ char *path = search_candidate(*name);
		if (!path)
			continue;
		int r = ask(program, path, ret_known, first.text[0] ? &later : &first);
		if (r == 0 || r == -ENOMEM || r == -ECANCELED)
			return r;
	}
	if (first.text[0])
		return error_set(error, -ENOENT, "no usable %s: %.900s", program->kind->what, first.text);
	return error_set(error, -ENOENT, "%s", program->kind->missing);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

const struct program_found *program_current(struct program *program)
{
	const struct program_found *found = NULL;
	struct stat st;

	pthread_mutex_lock(&program->lock);
	if (program->known && stat(program->known->found.path, &st) == 0 && same_file(&st, &program->known->stat))
		found = &program->known->found;
	pthread_mutex_unlock(&program->lock);
	return found;
}

const struct program_found *program_latest(struct program *program)
{
	pthread_mutex_lock(&program->lock);
	const struct program_found *found = program->known ? &program->known->found : NULL;
	pthread_mutex_unlock(&program->lock);
	return found;
}

static int find(struct program *program, const struct program_found **ret_found, struct error *error)
{
	struct known *known = NULL;

	int r = program->wanted ? find_wanted(program, &known, error) : find_any(program, &known, error);
	if (r < 0)
		return r;
	pthread_mutex_lock(&program->lock);
	known->older = program->known;
	program->known = known;
	pthread_mutex_unlock(&program->lock);
	*ret_found = &known->found;
	return 0;
}

int program_identify(struct program *program, const struct program_found **ret_found, struct error *error)
{
	int r = 0;

	const struct program_found *found = program_current(program);
	if (!found) {
		pthread_mutex_lock(&program->identify);
		found = program_current(program);	/* another thread may have found it meanwhile */
		if (!found)
			r = find(program, &found, error);
		pthread_mutex_unlock(&program->identify);
	}
	if (r == 0)
		*ret_found = found;
	return r;
}
