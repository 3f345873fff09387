/* SPDX-License-Identifier: MIT */
/*
 * Input and output are memfds: nothing is written to a disk, and nothing is left behind when a process dies. The archive is opened as
 * /proc/self/fd/3; "-o -" makes lld write to its stdout from memory (LLVM lib/Support/FileOutputBuffer.cpp: "-" never makes a
 * temporary file beside the output).
 */
#include "build/engine/linker.h"

#include "base/file.h"
#include "build/process/program.h"

#include <elf.h>
#include <limits.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct linker {
	char *wanted;			/* or NULL */
	unsigned seconds;		/* it may take so long */
	int stop;			/* an eventfd: readable after linker_stop() */
	pthread_mutex_t identify;	/* held while a linker is being looked for; taken before `lock` */
	pthread_mutex_t lock;		/* protects all below */
	char *path;			/* NULL: not found yet */
	struct stat stat;		/* of path */
	struct version { struct version *older; char text[]; } *versions;	/* newest first; all kept: callers hold them */
};

int linker_new(const char *wanted, struct linker **ret_linker)
{
	struct linker *linker = calloc(1, sizeof(*linker));

	if (!linker)
		return -ENOMEM;
	linker->seconds = LINKER_SECONDS;
	linker->stop = eventfd(0, EFD_CLOEXEC);
	if (linker->stop < 0 || (wanted && !(linker->wanted = strdup(wanted)))) {
		int r = linker->stop < 0 ? -errno : -ENOMEM;
		close_p(&linker->stop);
		free(linker);
		return r;
	}
	pthread_mutex_init(&linker->identify, NULL);
	pthread_mutex_init(&linker->lock, NULL);
	*ret_linker = linker;
	return 0;
}

struct linker *linker_unref(struct linker *linker)
{
	if (!linker)
		return NULL;
	while (linker->versions) {
		struct version *version = linker->versions;
		linker->versions = version->older;
		free(version);
	}
	pthread_mutex_destroy(&linker->identify);
	pthread_mutex_destroy(&linker->lock);
	close_p(&linker->stop);
	free(linker->path);
	free(linker->wanted);
	free(linker);
	return NULL;
}

void linker_set_limit(struct linker *linker, unsigned seconds)
{
	linker->seconds = seconds;
}

void linker_stop(struct linker *linker)
{
	eventfd_write(linker->stop, 1);
}

static int run(const struct linker *linker, const char *const *argv, int input, int output, struct error *error)
{
	return process_run(&(struct process){ .argv = argv, .input = input, .output = output, .seconds = linker->seconds, .stop = linker->stop },
			   error);
}

/* ---- finding ---------------------------------------------------------------------------------------------------------- */

/* Runs `path --version` and checks that it is an lld that is new enough. */
static int ask_version(const struct linker *linker, const char *path, struct version **ret_version, struct error *error)
{
	const char *const argv[] = { path, "--version", NULL };
	_cleanup_close_ int output = memfd_create("tensilefs-version", MFD_CLOEXEC);
	_cleanup_buffer_ struct buffer text = { 0 };

	if (output < 0)
		return error_set(error, -errno, "cannot make a memory file: %s", strerror(errno));
	int r = run(linker, argv, -1, output, error);
	if (r < 0)
		return r;
	r = read_whole(output, &text);
	buffer_append(&text, "", 1);
	if (r < 0 || text.failed)
		return error_set(error, r < 0 ? r : -ENOMEM, "cannot read what '%s --version' says", path);
	char *line = (char *)text.data;
	line[strcspn(line, "\n")] = 0;
	const char *number = strstr(line, "LLD ");
	if (!number)
		return error_set(error, -EINVAL, "'%s' is not lld: it calls itself '%.100s'", path, line);
	if (atoi(number + 4) < LINKER_OLDEST)
		return error_set(error, -EINVAL, "'%s' is too old: '%.100s', version %d or newer is needed", path, line, LINKER_OLDEST);
	struct version *version = malloc(sizeof(*version) + strlen(line) + 1);
	if (!version)
		return -ENOMEM;
	strcpy(version->text, line);
	*ret_version = version;
	return 0;
}

static int find_wanted(const struct linker *linker, char **ret_path, struct version **ret_version, struct error *error)
{
	_cleanup_free_ char *path = program_search(linker->wanted);

	if (!path)
		return error_set(error, -ENOENT, "the linker '%s' cannot be found or run", linker->wanted);
	int r = ask_version(linker, path, ret_version, error);
	if (r < 0)
		return r;
	*ret_path = TAKE(path);
	return 0;
}

/* The newest; when none will do, the message speaks of the newest too: why it does not run is more than that an older one is too old. */
static int find_any(const struct linker *linker, char **ret_path, struct version **ret_version, struct error *error)
{
	static const char *const names[] = { "ld.lld-22", "ld.lld-21", "ld.lld-20", "ld.lld-19", "ld.lld-18", "ld.lld-17", "ld.lld" };
	struct error first = { 0 }, later = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = program_search(names[i]);
		if (path && ask_version(linker, path, ret_version, first.text[0] ? &later : &first) == 0) {
			*ret_path = TAKE(path);
			return 0;
		}
	}
	if (first.text[0])
		return error_set(error, -ENOENT, "no usable ld.lld: %.800s", first.text);
	return error_set(error, -ENOENT, "no ld.lld (version %d or newer) on PATH: install lld or name one with --linker", LINKER_OLDEST);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static const char *current_version(struct linker *linker)
{
	struct stat st;
	const char *version = NULL;

	pthread_mutex_lock(&linker->lock);
	if (linker->path && stat(linker->path, &st) == 0 && same_file(&st, &linker->stat))
		version = linker->versions->text;
	pthread_mutex_unlock(&linker->lock);
	return version;
}

static int identify(struct linker *linker, const char **ret_version, struct error *error)
{
	_cleanup_free_ char *path = NULL;
	struct version *version = NULL;
	struct stat st;

	int r = linker->wanted ? find_wanted(linker, &path, &version, error) : find_any(linker, &path, &version, error);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0) {
		free(version);
		return error_set(error, -errno, "cannot read '%s': %s", path, strerror(errno));
	}
	pthread_mutex_lock(&linker->lock);
	free(linker->path);
	linker->path = TAKE(path);
	linker->stat = st;
	version->older = linker->versions;
	linker->versions = version;
	*ret_version = version->text;
	pthread_mutex_unlock(&linker->lock);
	return 0;
}

int linker_identify(struct linker *linker, const char **ret_version, struct error *error)
{
	int r = 0;

	const char *version = current_version(linker);
	if (!version) {
		pthread_mutex_lock(&linker->identify);
		version = current_version(linker);	/* another thread may have found it meanwhile */
		if (!version)
			r = identify(linker, &version, error);
		pthread_mutex_unlock(&linker->identify);
	}
	if (r == 0)
		*ret_version = version;
	return r;
}

bool linker_is_current(struct linker *linker)
{
	return current_version(linker) != NULL;
}

const char *linker_version(struct linker *linker)
{
	pthread_mutex_lock(&linker->lock);
	const char *version = linker->versions ? linker->versions->text : NULL;
	pthread_mutex_unlock(&linker->lock);
	return version;
}

char *linker_path(struct linker *linker)
{
	pthread_mutex_lock(&linker->lock);
	char *path = linker->path ? strdup(linker->path) : NULL;
	pthread_mutex_unlock(&linker->lock);
	return path;
}

/* ---- linking ---------------------------------------------------------------------------------------------------------- */

static bool lies_within(uint64_t offset, uint64_t size, size_t whole)
{
	return offset <= whole && size <= whole - offset;
}

static bool segments_lie_within(const Elf64_Ehdr *header, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		memcpy(&segment, bytes + header->e_phoff + i * sizeof(segment), sizeof(segment));
		if (!lies_within(segment.p_offset, segment.p_filesz, size))
			return false;
	}
	return header->e_phnum > 0;
}

/* lld writes headers first and section headers last, so that an output that was cut off shows in what lies outside of it. */
static bool is_whole_code_object(const uint8_t *bytes, size_t size, const Elf64_Ehdr *origin)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return memcmp(header.e_ident, origin->e_ident, sizeof(header.e_ident)) == 0 && header.e_type == ET_DYN &&
	       header.e_machine == origin->e_machine && header.e_flags == origin->e_flags && header.e_phentsize == sizeof(Elf64_Phdr) &&
	       header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0 &&
	       lies_within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), size) &&
	       lies_within(header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr), size) && segments_lie_within(&header, bytes, size);
}

int linker_link(struct linker *linker, const struct link *link, struct objects *objects, struct buffer *ret_linked, struct error *error)
{
	_cleanup_close_ int output = memfd_create("tensilefs-linked", MFD_CLOEXEC);
	_cleanup_free_ char *path = linker_path(linker), *build_id = NULL;
	_cleanup_buffer_ struct buffer linked = { 0 };
	Elf64_Ehdr origin;
	char threads[32];
	int input;

	if (output < 0)
		return error_set(error, -errno, "cannot make a memory file: %s", strerror(errno));
	if (!path)
		return -ENOMEM;		/* linker_identify() came before */
	if (asprintf(&build_id, "--build-id=%s", link->build_id) < 0) {
		build_id = NULL;
		return -ENOMEM;
	}
	snprintf(threads, sizeof(threads), "--threads=%u", link->threads);
	const char *const argv[] = { path, "-shared", "--no-undefined", build_id, threads, "-o", "-", "--whole-archive", "/proc/self/fd/3", NULL };
	int r = objects_archive(objects, &input, &origin);
	if (r == 0)
		r = run(linker, argv, input, output, error);
	if (r < 0)
		return r;
	r = read_whole(output, &linked);
	if (r < 0)
		return error_set(error, r, "cannot read what the linker wrote: %s", strerror(-r));
	if (!is_whole_code_object(linked.data, linked.size, &origin))
		return error_set(error, -EIO, "'%s' wrote %zu bytes that are no code object", path, linked.size);
	*ret_linked = linked;
	linked = (struct buffer){ 0 };
	return 0;
}
