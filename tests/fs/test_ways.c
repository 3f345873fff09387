/* SPDX-License-Identifier: MIT */
/*
 * Every way to read a file that we know of: programs (ways.inc, folders.inc) and system calls (calls.h). Each is used on a file that was never
 * built, in a mount, and on a copy in a plain file system; what comes out, and the exit status, have to be the same.
 */
#include "tests/fs/calls.h"
#include "tests/fs/common.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

struct way {
	const char *name;
	const char *needs;		/* programs */
	const char *command;		/* or */
	const struct call *call;
};

#define WAY(name, needs, command) { name, needs, command, NULL },
static const struct way programs[] = {
#include "tests/fs/ways.inc"
};
static const struct way folders[] = {
#include "tests/fs/folders.inc"
};
#undef WAY

static bool installed(const char *names)
{
	return shell("PATH=$PATH:/usr/lib/llvm-22/bin; for p in %s; do command -v $p >/dev/null || exit 1; done", names) == 0;
}

/* ---- files to read ---------------------------------------------------------------------------------------------------- */

/* The file `name` of the arch as a plain one, built here. */
static void write_plain(struct engine *engine, const char *folder, struct engine_file *file)
{
	char path[1024];
	struct artifact *artifact;
	struct error error = { 0 };

	if (engine_get(engine, file, &artifact, &error) < 0)
		fail_msg("%s", error.text);
	snprintf(path, sizeof(path), "%s/gfx942/%s", folder, engine_file_name(file));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	assert_int_equal(write(fd, artifact->data, artifact->size), (ssize_t)artifact->size);
	assert_int_equal(close(fd), 0);
	artifact_unref(artifact);
}

/* Malloc memory: it has to last. */
static char *make_plain(void **state)
{
	char *folder = strdup(in_scratch(state, "plain"));

	assert_int_equal(shell("mkdir -p '%s/gfx942'", folder), 0);
	return folder;
}

static struct engine *open_plain_engine(const char *logic)
{
	return open_engine(&(struct engine_options){ .logic = logic, .bundle = BUNDLE_NONE });
}

static bool is_unbuilt(const struct mount *mount, const char *file)
{
	char path[1024], value[16];

	snprintf(path, sizeof(path), "%s/gfx942/%s", mount->path, file);
	return getxattr(path, "user.tensilefs.state", value, sizeof(value)) == 7 && memcmp(value, "unbuilt", 7) == 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

static void run_child(const struct way *way, const char *root, const char *file, const char *folder, const char *out)
{
	int output = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_free_ char *path = NULL, *search = NULL;

	if (chdir(root) < 0 || mkdir(folder, 0700) < 0 || asprintf(&path, "gfx942%s%s", *file ? "/" : "", file) < 0)
		_exit(125);
	if (way->call)
		_exit(way->call->read(path, output) ? 1 : 0);
	asprintf(&search, "%s:/usr/lib/llvm-22/bin", getenv("PATH"));
	setenv("PATH", search, 1);
	setenv("F", path, 1);
	setenv("N", file, 1);
	setenv("O", folder, 1);
	dup2(null, 0);
	dup2(output, 1);
	dup2(null, 2);
	alarm(60);
	execl("/bin/sh", "sh", "-c", way->command, (char *)NULL);
	_exit(126);
}

/* Its exit status; what it printed is in `out`. */
static int run_way(void **state, const struct way *way, const char *root, const char *file, const char *out)
{
	const char *folder = in_scratch(state, "work");
	int status;

	pid_t pid = fork();
	if (pid == 0)
		run_child(way, root, file, folder, out);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (way->command && !*file)	/* of a folder: what was copied */
		assert_int_equal(shell("cd '%s' && chmod -R u+w . && find gfx942 -type f | LC_ALL=C sort | xargs sha256sum >> '%s'", folder, out), 0);
	assert_int_equal(shell("rm -rf '%s'", folder), 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Compares; tells and counts what is not the same. */
static unsigned differs(void **state, const struct way *way, const struct mount *mount, const char *plain, const char *file)
{
	const char *here = in_scratch(state, "here"), *there = in_scratch(state, "there");
	int expected = run_way(state, way, plain, file, there), status = run_way(state, way, mount->path, file, here);

	if (way->call && expected == 1 && way->call->may_lack)
		return 0;		/* the kernel here cannot do it */
	if (expected >= 125)
		fail_msg("'%s' does not work on a plain file system: %d", way->name, expected);
	if (status == expected && shell("cmp -s '%s' '%s'", here, there) == 0)
		return 0;
	print_error("'%s': exit status %d, on a plain file system %d%s\n", way->name, status, expected,
		    status == expected ? "; it prints something else" : "");
	return 1;
}

/* Object files for what looks into them, and now and then for others. */
static bool wants_object(const struct way *way, size_t i)
{
	return i % 4 == 0 || (way->needs && (strstr(way->needs, "llvm") || strstr(way->needs, "ld.lld") || strstr(way->needs, "readelf") ||
					    strstr(way->needs, "objdump") || strcmp(way->needs, "nm") == 0 || strcmp(way->needs, "size") == 0));
}

static size_t collect_ways(struct way *ways)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		if (installed(programs[i].needs))
			ways[n++] = programs[i];
		else
			print_message("'%s' is left out: not installed\n", programs[i].needs);
	}
	for (size_t i = 0; calls[i].name; i++)
		ways[n++] = (struct way){ .name = calls[i].name, .call = &calls[i] };
	return n;
}

static void test_every_way_to_read_a_file_gives_what_a_plain_file_system_does(void **state)
{
	struct way ways[ARRAY_SIZE(programs) + 64];
	size_t n = collect_ways(ways);
	unsigned failures = 0;

	assert_true(n >= 70);
	_cleanup_free_ char *plain = make_plain(state), *logic = strdup(many_bases(state, "logic", n));
	struct engine *engine = open_plain_engine(logic);
	struct mount mount = mount_logic(state, logic, "--no-cache --bundle none -o ahead=0");
	for (size_t i = 0, next = 0; i < n; i++, next++) {
		enum engine_kind kind = wants_object(&ways[i], i) ? ENGINE_CODE_OBJECT : ENGINE_METADATA;
		while (engine_file_kind(engine_file(engine, 0, next)) != kind)
			next++;
		struct engine_file *file = engine_file(engine, 0, next);
		write_plain(engine, plain, file);
		if (!is_unbuilt(&mount, engine_file_name(file)))
			fail_msg("'%s' was built before '%s'", engine_file_name(file), ways[i].name);
		failures += differs(state, &ways[i], &mount, plain, engine_file_name(file));
	}
	print_message("%zu ways to read a file\n", n);
	engine_unref(engine);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(failures, 0);
}

static void test_every_way_to_read_a_folder_gives_what_a_plain_file_system_does(void **state)
{
	_cleanup_free_ char *plain = make_plain(state), *logic = strdup(many_bases(state, "logic", 1));
	struct engine *engine = open_plain_engine(logic);
	unsigned failures = 0;

	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		write_plain(engine, plain, engine_file(engine, 0, i));
	engine_unref(engine);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (!installed(folders[i].needs)) {
			print_message("'%s' is left out: not installed\n", folders[i].needs);
			continue;
		}
		struct mount mount = mount_logic(state, logic, "--no-cache --bundle none");
		failures += differs(state, &folders[i], &mount, plain, "");
		assert_int_equal(mount_end(&mount), 0);
	}
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_way_to_read_a_file_gives_what_a_plain_file_system_does),
		TEST(test_every_way_to_read_a_folder_gives_what_a_plain_file_system_does),
	};
	need_fuse();
	return cmocka_run_group_tests_name("ways", tests, NULL, NULL);
}
