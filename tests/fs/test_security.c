/* SPDX-License-Identifier: MIT */
/*
 * Who may use a mount, and what nobody can make it do. Run by root, the tests become a normal user where they need one; they open /dev/fuse
 * up for that time. Run by anybody else, that user is the one.
 */
#include "tests/fs/common.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define NORMAL_USER 65534		/* nobody */

#ifdef __SANITIZE_ADDRESS__		/* has memory of its own */
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* ---- a normal user ---------------------------------------------------------------------------------------------------- */

static int open_device(void **state)
{
	static struct stat st;

	assert_int_equal(stat("/dev/fuse", &st), 0);
	if (geteuid() == 0)
		assert_int_equal(chmod("/dev/fuse", 0666), 0);
	*state = &st;
	return 0;
}

static int close_device(void **state)
{
	const struct stat *st = *state;

	return geteuid() == 0 ? chmod("/dev/fuse", st->st_mode & 07777) : 0;
}

/* The folder "home" in scratch, the user's own, with the program and some logic in it. */
static const char *make_home(void **state)
{
	const char *home = in_scratch(state, "home");

	assert_int_equal(chmod(*state, 0755), 0);
	assert_int_equal(mkdir(home, 0755), 0);
	copy_logic(state, "home/logic", 2);
	assert_int_equal(shell("cp '%s' '%s/tensilefs' && mkdir '%s/mnt' && chmod -R a+rX '%s'", tensilefs(), home, home, home), 0);
	if (geteuid() == 0)
		assert_int_equal(shell("chown -R %d:%d '%s'", NORMAL_USER, NORMAL_USER, home), 0);
	return home;
}

/* Runs shell in the user's home as the user; "err" in scratch gets what it says. */
PRINTF_LIKE(2, 3) static int as_user(void **state, const char *format, ...)
{
	char command[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	write_text(in_scratch(state, "command"), command);
	assert_int_equal(chmod(in_scratch(state, "command"), 0644), 0);
	if (geteuid() != 0)
		return shell("cd '%s/home' && sh ../command 2>'%s/err'", (char *)*state, (char *)*state);
	return shell("cd '%s/home' && HOME=$PWD setpriv --reuid=%d --regid=%d --clear-groups sh ../command 2>'%s/err'", (char *)*state, NORMAL_USER,
		     NORMAL_USER, (char *)*state);
}

static void must_be_mounted(void **state, bool mounted)
{
	assert_int_equal(shell("grep -q ' %s/home/mnt ' /proc/self/mounts", (char *)*state), !mounted);
}

static void test_a_normal_user_mounts_reads_and_unmounts(void **state)
{
	const char *home = make_home(state);

	assert_int_equal(as_user(state, "./tensilefs mount --cache cache logic mnt"), 0);
	assert_int_equal(as_user(state, "cp -r mnt/gfx942 copy && ./tensilefs status mnt >status && test $(stat -c %%u mnt/gfx942) = $(id -u)"), 0);
	assert_int_equal(as_user(state, "test $(stat -c %%a cache) = 700 && test $(find cache -perm /077 | wc -l) = 0"), 0);
	if (geteuid() == 0)		/* even root, as the kernel has it; see fuse(8) on allow_other */
		assert_int_equal(shell("stat '%s/mnt/gfx942' 2>&1 | grep -q 'Permission denied'", home), 0);
	assert_int_equal(as_user(state, "fusermount3 -u mnt"), 0);
	must_be_mounted(state, false);
	assert_int_equal(shell("'%s' build --no-cache --linker '%s' '%s/logic' '%s/built'", tensilefs(), real_linker(), home, (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && for f in built/gfx942/*; do cmp $f home/copy/${f##*/} || exit 1; done", (char *)*state), 0);
}

static void test_a_dead_mount_of_a_normal_user_is_cleaned_by_the_next(void **state)
{
	make_home(state);
	assert_int_equal(as_user(state, "./tensilefs mount --no-cache -f logic mnt & pid=$!; while ! test -d mnt/gfx942; do sleep 0.02; done; "
					"kill -9 $pid; wait $pid; ! stat mnt/gfx942 && ./tensilefs mount --no-cache logic mnt && cat mnt/gfx942/*.dat >all"), 0);
	must_be_mounted(state, true);
	assert_int_equal(as_user(state, "fusermount3 -u mnt"), 0);
	must_be_mounted(state, false);
}

static void test_a_user_namespace_is_enough(void **state)
{
	make_home(state);
	if (as_user(state, "unshare -Ur -m true") != 0)
		skip();
	assert_int_equal(as_user(state, "unshare -Ur -m sh -ec './tensilefs mount --cache cache logic mnt; cat mnt/gfx942/*.co mnt/gfx942/*.dat >all; "
					"umount mnt; ! test -d mnt/gfx942'"), 0);
	assert_int_equal(as_user(state, "test -s all"), 0);
	must_be_mounted(state, false);
}

/* fuse.conf is the test's own, in a mount namespace of its own. */
static void test_others_are_let_in_where_the_system_allows_it(void **state)
{
	static const struct { const char *conf, *options; int mounts, root_sees; } cases[] = {
		{ "", "ro", 0, 1 },
		{ "", "allow_other", 1, 1 },
		{ "user_allow_other", "allow_other", 0, 0 },
		{ "user_allow_other", "allow_other,default_permissions", 0, 0 },
	};
	const char *home = make_home(state);

	if (geteuid() != 0 || shell("unshare -m true") != 0)	/* where the root is no mount of its own (chroot), mounts cannot be kept apart */
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s\n", cases[i].conf);
		write_text(in_scratch(state, "fuse.conf"), text);
		assert_int_equal(shell("cd '%s' && unshare -m sh -c 'mount --bind ../fuse.conf /etc/fuse.conf || exit 77; "
				       "setpriv --reuid=%d --regid=%d --clear-groups ./tensilefs mount --no-cache -o %s logic mnt 2>../err; "
				       "echo mounts $? >../out; stat mnt/gfx942 >/dev/null 2>&1; echo sees $? >>../out; umount -l mnt 2>/dev/null; true'",
				       home, NORMAL_USER, NORMAL_USER, cases[i].options), 0);
		snprintf(text, sizeof(text), "mounts %d\nsees %d\n", cases[i].mounts, cases[i].root_sees);
		_cleanup_free_ char *out = read_text(in_scratch(state, "out"), NULL);
		assert_string_equal(out, text);
		if (cases[i].mounts != 0)
			must_say(state, "err", "allow_other");
	}
}

static void test_what_root_mounts_is_roots_unless_others_are_let_in(void **state)
{
	static const char *const options[] = { "ro", "allow_other", "allow_other,default_permissions" };

	if (geteuid() != 0)
		skip();
	make_home(state);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		assert_int_equal(shell("cd '%s/home' && ./tensilefs mount --no-cache -o %s logic mnt", (char *)*state, options[i]), 0);
		assert_int_equal(as_user(state, "cat mnt/gfx942/TensileManifest.txt >/dev/null"), i == 0);
		assert_int_equal(as_user(state, "echo x >mnt/gfx942/TensileManifest.txt || echo x >mnt/gfx942/new || mkdir mnt/new || rm -f mnt/gfx942/*.dat"), 1);
		assert_int_equal(shell("fusermount3 -u '%s/home/mnt'", (char *)*state), 0);
	}
}

/* ---- what the logic cannot do ----------------------------------------------------------------------------------------- */

/* A link that somebody else made, who may write to the logic. */
static void link_of_another(void **state, const char *target, const char *name)
{
	const char *link = in_scratch(state, "%s", name);

	assert_int_equal(symlink(target, link), 0);
	assert_int_equal(lchown(link, NORMAL_USER, NORMAL_USER), 0);
}

/* A name of a hand-written kernel is the name of a file in one folder. */
static void test_a_kernel_name_leads_nowhere_else(void **state)
{
	static const char *const names[] = { "../secret", "/etc/passwd", "a/../../secret", "..", "link" };
	const char *logic = copy_logic(state, "logic", 1), *kernels = in_scratch(state, "kernels");

	write_text(in_scratch(state, "secret.s"), "---\ncustom.config:\n  SECRET: 1\n...\n");
	assert_int_equal(mkdir(kernels, 0755), 0);
	if (geteuid() == 0)
		link_of_another(state, "../secret.s", "kernels/link.s");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(shell("rm -rf '%s.now' && cp -r '%s' '%s.now' && sed -i \"s|CustomKernelName: ''|CustomKernelName: '%s'|\" "
				       "$(find '%s.now' -name '*.yaml')", logic, logic, logic, names[i], logic), 0);
		assert_int_equal(run(state, "build --no-cache --metadata-only --custom-kernels '%s' '%s.now' '%s'", kernels, logic,
				     in_scratch(state, "built-%zu", i)), 1);
		_cleanup_free_ char *text = read_text(in_scratch(state, "err"), NULL);
		assert_null(strstr(text, "SECRET"));
		assert_true(strstr(text, "is no name of a hand-written kernel") || strstr(text, "cannot open"));
	}
}

/* Also one that comes while the mount is up. */
static void test_links_of_others_show_nothing_from_outside(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);

	if (geteuid() != 0)
		skip();
	write_text(in_scratch(state, "secret"), "- TOP SECRET\n");
	link_of_another(state, "../secret", "logic/first.yaml");
	struct mount mount = mount_logic(state, logic, "--no-cache");
	link_of_another(state, "../secret", "logic/later.yaml");
	link_of_another(state, "/", "logic/everything");
	assert_int_equal(shell("for i in $(seq 100); do grep -q everything '%s/.tensilefs/status' && exit 0; sleep 0.05; done; exit 1", mount.path), 0);
	assert_int_equal(shell("grep -r 'TOP SECRET' '%s' '%s/.tensilefs/status' '%s/.tensilefs/coverage'", mount.path, mount.path, mount.path), 1);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

/* "x-<n>": nine times the one before it, and so on; the value would be some gigabytes. */
static void write_laughs(const char *path)
{
	FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	fprintf(stream, "- &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
	for (unsigned i = 1; i < 9; i++)
		fprintf(stream, "- &x%u [*x%u, *x%u, *x%u, *x%u, *x%u, *x%u, *x%u, *x%u, *x%u]\n", i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
			i - 1, i - 1);
	assert_int_equal(fclose(stream), 0);
}

static uint64_t peak_kib(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	_cleanup_free_ char *text = read_text(path, NULL);
	const char *line = strstr(text, "\nVmHWM:");
	assert_non_null(line);
	return strtoull(line + strlen("\nVmHWM:"), NULL, 10);
}

/* What takes too much fails with its reason, and everything else goes on. */
static void test_logic_does_not_make_it_take_more_memory_than_it_may(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *large = in_scratch(state, "logic/large.yaml");
	struct stat st;

	write_laughs(in_scratch(state, "logic/laughs.yaml"));
	/* a file of its own, with a comment of 30 MB: a parser would not mind it, and who counts on it may */
	assert_int_equal(shell("cp '%s/gfx942/GridBased/sample_Cijk_Ailk_Bjlk_SB_Bias_HAS_SAV_UserArgs.yaml' '%s' && "
			       "head -c 30000000 /dev/zero | tr '\\0' 'x' | fold -w 1000 | sed 's/^/# /' >>'%s'", sample_logic(), large, large), 0);
	struct mount mount = mount_logic(state, logic, "--no-cache --memory 200M");
	_cleanup_free_ char *refused = strdup(file_in(&mount, "SS_Contraction*.co", 0));
	assert_int_equal(stat(refused, &st), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(shell("grep -q 'MiB of memory; the limit (--memory) is 200 MiB' '%s/.tensilefs/errors/%s'", mount.path,
			       strrchr(refused, '/') + 1), 0);
	assert_int_equal(shell("cat '%s'/gfx942/*HPA*.co '%s'/gfx942/TensileManifest.txt >/dev/null", mount.path, mount.path), 0);
	assert_true(SANITIZED || peak_kib(mount.pid) < 200 << 10);
	assert_int_equal(mount_number(&mount, "memory_limit"), 200 << 20);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(run(state, "build --no-cache --memory 1Q '%s' '%s'", logic, in_scratch(state, "built")), 2);
	must_complain_once(state, "--memory: '1Q' is not a possible number");
}

/* Builds that do not fit together take turns: all of them are made. */
static void test_builds_wait_for_memory(void **state)
{
	const char *logic = many_bases(state, "logic", 8), *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --no-cache -j 8 --linker '%s' '%s' '%s'", real_linker(), logic, out), 0);
	assert_int_equal(run(state, "build --no-cache -j 8 --memory 2M --linker '%s' '%s' '%s.little'", real_linker(), logic, out), 0);
	assert_int_equal(shell("diff -r '%s' '%s.little'", out, out), 0);
}

/* ---- what children get ------------------------------------------------------------------------------------------------ */

/* A linker that writes down what it was given; that of its script is the shell's own. */
static void test_children_get_their_descriptors_and_few_variables(void **state)
{
	char body[1024];
	const char *logic = copy_logic(state, "logic", 1);

	snprintf(body, sizeof(body), "cd '%s'\nenv | cut -d= -f1 | sort >names\nsh -c 'ls -l /proc/$PPID/fd >fds'\n"
		 "exec %s \"$@\"", (char *)*state, real_linker());
	const char *linker = make_linker(state, "curious-lld", body);
	write_text(in_scratch(state, "secret"), "x");
	assert_int_equal(shell("cd '%s' && mkdir mnt && PASSWORD=x LD_DEBUG_OUTPUT=/dev/null GCONV_PATH=. '%s' mount --cache cache --linker '%s' "
			       "'%s' mnt 5<secret 9>>secret", (char *)*state, tensilefs(), linker, logic), 0);
	assert_int_equal(shell("cd '%s' && cat mnt/gfx942/*_Type_*.co >/dev/null && fusermount3 -u mnt", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && ! grep -vxE 'PATH|LD_LIBRARY_PATH|TMPDIR|LC_ALL|PWD|OLDPWD|SHLVL|_' names", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && grep -q ' 0 -> /dev/null' fds && grep -q ' 1 -> /memfd:' fds && grep -q ' 2 -> pipe:' fds && "
			       "grep -q ' 3 -> /memfd:' fds", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && ! grep -vE '^total| [0-3] -> |curious-lld$' fds", (char *)*state), 0);
}

/* Neither a folder named relative to where we happen to be, nor an empty entry, is looked into for programs. */
static void test_programs_are_looked_for_in_absolute_folders(void **state)
{
	char body[512];
	const char *logic = copy_logic(state, "logic", 1);

	snprintf(body, sizeof(body), "touch '%s/was-run'; exit 1", (char *)*state);
	assert_int_equal(mkdir(in_scratch(state, "bin"), 0755), 0);
	make_linker(state, "bin/ld.lld-22", body);
	make_linker(state, "ld.lld-22", body);
	assert_int_equal(shell("cd '%s' && PATH=:.:bin:$PATH: '%s' build --no-cache '%s' built", (char *)*state, tensilefs(), logic), 0);
	assert_int_equal(shell("test -e '%s/was-run'", (char *)*state), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_normal_user_mounts_reads_and_unmounts),
		TEST(test_a_dead_mount_of_a_normal_user_is_cleaned_by_the_next),
		TEST(test_a_user_namespace_is_enough),
		TEST(test_others_are_let_in_where_the_system_allows_it),
		TEST(test_what_root_mounts_is_roots_unless_others_are_let_in),
		TEST(test_a_kernel_name_leads_nowhere_else),
		TEST(test_links_of_others_show_nothing_from_outside),
		TEST(test_logic_does_not_make_it_take_more_memory_than_it_may),
		TEST(test_builds_wait_for_memory),
		TEST(test_children_get_their_descriptors_and_few_variables),
		TEST(test_programs_are_looked_for_in_absolute_folders),
	};
	need_fuse();
	return cmocka_run_group_tests_name("security", tests, open_device, close_device);
}
