/* SPDX-License-Identifier: MIT */
#include "tests/fs/common.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static uint64_t size_of_built(const char *built, const char *path)
{
	char name[1024];
	struct stat st;

	snprintf(name, sizeof(name), "%s/gfx942/%s", built, base_name(path));
	assert_int_equal(stat(name, &st), 0);
	return (uint64_t)st.st_size;
}

static int compare_with_built(const char *built, const char *path, const char *bytes)
{
	return shell("cmp '%s' '%s/gfx942/%s'", bytes, built, base_name(path));
}

/* A linker that takes its time, and marks each link in the file "links". */
static const char *slow_linker(void **state, const char *delay)
{
	char body[512];

	snprintf(body, sizeof(body), "echo x >> '%s'\nsleep %s\nexec %s \"$@\"", in_scratch(state, "links"), delay, real_linker());
	return make_linker(state, "slow-lld", body);
}

/* ---- laziness --------------------------------------------------------------------------------------------------------- */

static void test_names_build_nothing(void **state)
{
	struct mount mount = mount_logic(state, sample_logic(), "--no-cache");

	assert_int_equal(shell("ls '%s' '%s/gfx942' >/dev/null", mount.path, mount.path), 0);
	assert_int_equal(shell("find '%s' -name '*.dat' >/dev/null", mount.path), 0);
	assert_int_equal(shell("echo '%s'/gfx942/*.co >/dev/null", mount.path), 0);
	assert_int_equal(shell("ls '%s' '%s/.tensilefs/raw/gfx942' >/dev/null", mount.path, mount.path), 0);
	assert_int_equal(listxattr(file_in(&mount, ".co", 0), NULL, 0), sizeof("user.tensilefs.state"));
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(shell("test -s '%s'", file_in(&mount, ".dat", 0)), 0);
	assert_int_equal(mount_number(&mount, "builds"), 1);
	assert_int_equal(shell("test -e '%s/gfx942/nothing.co'", mount.path), 1);
	assert_int_equal(shell("test -e '%s/gfx943'", mount.path), 1);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_copy_equals_a_build(void **state)
{
	const char *logic = copy_logic(state, "logic", 6);
	const char *built = build(state, logic, "--no-cache");
	struct mount mount = mount_logic(state, logic, "--no-cache");

	assert_int_equal(shell("cp -r '%s/gfx942' '%s'", mount.path, in_scratch(state, "copy")), 0);
	assert_int_equal(shell("diff -r '%s/gfx942' '%s'", built, in_scratch(state, "copy")), 0);
	assert_int_equal(shell("test \"$(ls -A '%s')\" = gfx942", mount.path), 0);	/* the control folder is not listed */
	assert_true(mount_number(&mount, "built_ahead") > 0);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_flat_mount_is_one_folder(void **state)
{
	const char *logic = copy_logic(state, "logic", 3), *options = "--no-cache --layout flat --library merged";
	const char *built = build(state, logic, options);
	struct mount mount = mount_logic(state, logic, "--no-cache -o layout=flat,library=merged");

	assert_int_equal(shell("test \"$(ls -A '%s' | LC_ALL=C sort | tr '\\n' ' ')\" = 'Kernels.so-000-gfx942.hsaco TensileLibrary.dat "
			       "TensileLibrary_gfx942.co TensileManifest.txt '", mount.path), 0);
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(shell("cp -r '%s' '%s' && diff -r '%s' '%s'", mount.path, in_scratch(state, "copy"), built, in_scratch(state, "copy")), 0);
	assert_int_equal(shell("ls '%s/.tensilefs/asm/gfx942/TensileLibrary_gfx942.co' | grep -q '[.]s$'", mount.path), 0);
	assert_int_equal(shell("test -e '%s/gfx942' || test -e '%s/TensileLibrary_lazy_gfx942.dat'", mount.path, mount.path), 1);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_random_reader_builds_nothing_ahead(void **state)
{
	struct mount mount = mount_logic(state, sample_logic(), "--no-cache");

	assert_int_equal(shell("cat '%s' '%s' '%s' >/dev/null", file_in(&mount, ".co", 9), file_in(&mount, ".co", 2), file_in(&mount, ".co", 6)), 0);
	assert_int_equal(mount_number(&mount, "built_ahead"), 0);
	assert_int_equal(mount_number(&mount, "builds"), 3);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_second_mount_builds_nothing(void **state)
{
	const char *logic = copy_logic(state, "logic", 3);
	char arguments[256];

	usleep(50000);
	snprintf(arguments, sizeof(arguments), "--cache '%s'", in_scratch(state, "cache"));
	struct mount mount = mount_logic(state, logic, arguments);
	assert_int_equal(shell("cp -r '%s/gfx942' '%s'", mount.path, in_scratch(state, "first")), 0);
	assert_int_equal(mount_end(&mount), 0);
	mount = mount_logic(state, logic, arguments);
	assert_int_equal(shell("ls -l '%s/gfx942' >/dev/null", mount.path), 0);
	assert_int_equal(shell("cp -r '%s/gfx942' '%s'", mount.path, in_scratch(state, "second")), 0);
	assert_int_equal(shell("diff -r '%s' '%s'", in_scratch(state, "first"), in_scratch(state, "second")), 0);
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(mount_number(&mount, "plans"), 0);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

static void sendfile_untouched(const char *path, const char *to)
{
	int in = open(path, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = sendfile(out, in, NULL, 1 << 20)) > 0)
		;
	assert_int_equal(n, 0);
	close(in);
	close(out);
}

/* As HIP maps code objects, but with a length known from elsewhere and no fstat in between. */
static void map_untouched(const char *path, uint64_t size, const char *to)
{
	int in = open(path, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(in >= 0 && out >= 0);
	void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, in, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	assert_int_equal(write(out, bytes, size), size);
	munmap(bytes, size);
	close(in);
	close(out);
}

static void test_the_first_touch_sees_the_exact_size(void **state)
{
	static const char *const commands[] = {
		"cat '%s' > '%s'", "tail -c +1 '%s' > '%s'", "tar cPf - '%s' | tar xPOf - > '%s'", "dd if='%s' of='%s' bs=1M status=none",
		"cp '%s' '%s'", "cp -a '%s' '%s'", "install -m 600 '%s' '%s'", "rsync '%s' '%s'",
		"python3 -c 'import mmap,sys; f=open(sys.argv[1],\"rb\"); sys.stdout.buffer.write(mmap.mmap(f.fileno(), 0, prot=1))' '%s' > '%s'",
		"bsdtar cf - '%s' 2>/dev/null | bsdtar xOf - > '%s'", "printf '' | cpio -o --quiet 2>/dev/null; head -c 100000000 '%s' > '%s'",
	};
	const char *built = build(state, sample_logic(), "--no-cache"), *to = in_scratch(state, "read");
	struct mount mount = mount_logic(state, sample_logic(), "--no-cache -o ahead=0");
	struct stat st;
	unsigned n = 0;

	const char *path = file_in(&mount, ".co", n++);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, size_of_built(built, path));
	path = file_in(&mount, ".co", n++);
	sendfile_untouched(path, to);
	assert_int_equal(compare_with_built(built, path, to), 0);
	path = file_in(&mount, ".co", n++);
	map_untouched(path, size_of_built(built, path), to);
	assert_int_equal(compare_with_built(built, path, to), 0);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		char command[2048];
		path = file_in(&mount, i % 2 ? ".co" : ".dat", i % 2 ? n++ : (unsigned)i);
		if ((strstr(commands[i], "rsync") && shell("command -v rsync >/dev/null")) ||
		    (strstr(commands[i], "bsdtar") && shell("command -v bsdtar >/dev/null")) ||
		    (strstr(commands[i], "python3") && shell("command -v python3 >/dev/null")))
			continue;
		unlink(to);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(command, sizeof(command), commands[i], path, to);
#pragma GCC diagnostic pop
		if (shell("%s", command) || compare_with_built(built, path, to))
			fail_msg("'%s' does not see the file as it is", command);
	}
	assert_int_equal(mount_end(&mount), 0);
}

static void test_many_first_readers_all_see_the_size(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *path = file_in(&mount, ".co", 0);
	pid_t pids[24];
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			int in = open(path, O_RDONLY), null = open("/dev/null", O_WRONLY);
			ssize_t sent = sendfile(null, in, NULL, 1 << 30);
			struct stat st;
			_exit(fstat(in, &st) == 0 && sent == st.st_size && sent > 1000 ? 0 : 1);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(mount_number(&mount, "builds"), 1);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

static void test_readers_share_a_build_and_others_do_not_wait(void **state)
{
	const char *logic = copy_logic(state, "logic", 2);
	char arguments[256];
	snprintf(arguments, sizeof(arguments), "--no-cache -j 2 --linker '%s'", slow_linker(state, "3"));
	struct mount mount = mount_logic(state, logic, arguments);
	const char *path = file_in(&mount, ".co", 0), *ready = file_in(&mount, ".dat", 0);

	assert_int_equal(shell("cat '%s' >/dev/null", ready), 0);
	assert_int_equal(shell("for i in 1 2 3 4 5 6 7 8; do cat '%s' >/dev/null & done", path), 0);
	usleep(200000);
	double before = seconds();
	assert_int_equal(shell("cat '%s' '%s' >/dev/null; ls '%s/gfx942' >/dev/null", ready, ready, mount.path), 0);
	assert_true(seconds() - before < 2);		/* eight readers are waiting for three seconds */
	assert_int_equal(shell("cat '%s' >/dev/null", path), 0);
	_cleanup_free_ char *links = read_text(in_scratch(state, "links"), NULL);
	assert_string_equal(links, "x\n");
	assert_int_equal(mount_end(&mount), 0);
}

static void ignore_signal(int number)
{
}

/* A child that opens `path`; with `handler` it catches SIGUSR1 without restarting. */
static pid_t open_in_child(const char *path, bool handler)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (handler)
		sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ignore_signal }, NULL);
	char byte;
	int fd = open(path, O_RDONLY);
	_exit(fd >= 0 && read(fd, &byte, 1) == 1 ? 0 : errno);
}

static void test_a_killed_waiter_ends_at_once_and_a_signalled_one_does_not_fail(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	char arguments[256];
	snprintf(arguments, sizeof(arguments), "--no-cache --linker '%s'", slow_linker(state, "4"));
	struct mount mount = mount_logic(state, logic, arguments);
	const char *path = file_in(&mount, ".co", 0);
	int status;

	pid_t killed = open_in_child(path, false), signalled = open_in_child(path, true), both = open_in_child(path, true);
	usleep(300000);
	double before = seconds();
	kill(signalled, SIGUSR1);
	kill(both, SIGUSR1);
	kill(killed, SIGKILL);
	assert_int_equal(waitpid(killed, &status, 0), killed);
	assert_true(WIFSIGNALED(status));
	usleep(200000);
	kill(both, SIGKILL);		/* the kernel told of the first signal only */
	assert_int_equal(waitpid(both, &status, 0), both);
	assert_true(WIFSIGNALED(status));
	assert_true(seconds() - before < 2.5);		/* the build takes four seconds */
	assert_int_equal(waitpid(signalled, &status, 0), signalled);
	assert_int_equal(status, 0);
	assert_int_equal(mount_number(&mount, "builds"), 1);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

static void test_a_broken_base_is_explained_and_leaves_the_others(void **state)
{
	const char *logic = copy_logic(state, "logic", 2);
	char value[1024];

	assert_int_equal(shell("printf '  - [ {\\n' >> \"$(find '%s' -name '*.yaml' | sort | head -n 1)\"", logic), 0);
	struct mount mount = mount_logic(state, logic, "--no-cache -o ahead=0");
	unsigned failed = 0;
	for (unsigned i = 0; i < 2; i++) {
		const char *path = file_in(&mount, ".co", i);
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			close(fd);
			continue;
		}
		assert_int_equal(errno, EIO);
		failed++;
		ssize_t n = getxattr(path, "user.tensilefs.error", value, sizeof(value) - 1);
		assert_true(n > 0);
		value[n] = 0;
		assert_non_null(strstr(value, ".yaml': line "));
		n = getxattr(path, "user.tensilefs.state", value, sizeof(value) - 1);
		assert_true(n == 6 && memcmp(value, "failed", 6) == 0);
		assert_int_equal(shell("grep -q 'yaml.: line ' '%s/.tensilefs/errors/%s'", mount.path, base_name(path)), 0);
	}
	assert_int_equal(failed, 1);
	assert_int_equal(shell("test $(ls '%s/.tensilefs/errors' | wc -l) = 1", mount.path), 0);
	assert_int_equal(shell("'%s' build --no-cache '%s' '%s' 2>'%s'", tensilefs(), logic, in_scratch(state, "out"), in_scratch(state, "said")), 1);
	assert_int_equal(shell("grep -q 'line ' '%s' && test $(ls '%s/gfx942' | wc -l) = 6", in_scratch(state, "said"), in_scratch(state, "out")), 0);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_attributes_tell_about_a_file(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *path = file_in(&mount, ".co", 0);
	char value[1024];

	assert_int_equal(getxattr(path, "user.tensilefs.state", value, sizeof(value)), 7);
	assert_memory_equal(value, "unbuilt", 7);
	assert_int_equal(getxattr(path, "user.tensilefs.hash", value, sizeof(value)), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(getxattr(path, "security.capability", value, sizeof(value)), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(shell("cat '%s' >/dev/null", path), 0);
	assert_int_equal(getxattr(path, "user.tensilefs.hash", value, sizeof(value)), 64);
	assert_int_equal(getxattr(path, "user.tensilefs.hash", value, 10), -1);
	assert_int_equal(errno, ERANGE);
	ssize_t n = listxattr(path, value, sizeof(value));
	static const char listed[] = "user.tensilefs.state\0user.tensilefs.hash\0user.tensilefs.kernels\0user.tensilefs.build_ms\0user.tensilefs.linker";
	assert_int_equal(n, sizeof(listed));
	assert_memory_equal(value, listed, sizeof(listed));
	assert_int_equal(mount_end(&mount), 0);
}

static void test_nothing_can_be_written(void **state)
{
	struct mount mount = mount_logic(state, sample_logic(), "--no-cache");

	assert_int_equal(open(file_in(&mount, ".co", 0), O_RDWR | O_CLOEXEC), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(unlink(file_in(&mount, ".co", 0)), -1);
	assert_int_equal(errno, EROFS);
	assert_int_equal(shell("touch '%s/x' 2>/dev/null", mount.path), 1);
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- the control folder ----------------------------------------------------------------------------------------------- */

static void test_the_raw_object_is_what_the_bundle_holds(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *path = file_in(&mount, ".co", 0), *to = in_scratch(state, "unbundled");
	char raw[1024];

	snprintf(raw, sizeof(raw), "%s/.tensilefs/raw/gfx942/%s", mount.path, base_name(path));
	assert_int_equal(shell("PATH=$PATH:/usr/lib/llvm-22/bin; r=$(command -v llvm-readelf-22 llvm-readelf | head -n 1); "
			       "[ -n \"$r\" ] || exit 0; $r -h -n '%s' | grep -q amdhsa", raw), 0);
	assert_int_equal(shell("PATH=$PATH:/usr/lib/llvm-22/bin; b=$(command -v clang-offload-bundler-22 clang-offload-bundler | head -n 1); "
			       "[ -n \"$b\" ] || exit 0; $b -type=o -list -input='%s' | grep -qx 'hipv4-amdgcn-amd-amdhsa--gfx942' && "
			       "$b -type=o -unbundle -targets=hipv4-amdgcn-amd-amdhsa--gfx942 -input='%s' -output='%s' && cmp '%s' '%s'",
			       path, path, to, raw, to), 0);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_assembly_logic_and_coverage_can_be_read(void **state)
{
	const char *logic = copy_logic(state, "logic", 2);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *name = base_name(file_in(&mount, ".co", 0));

	assert_int_equal(shell("cd '%s/.tensilefs/asm/gfx942/%s' && n=$(ls | wc -l) && [ $n -gt 0 ] && [ $(grep -l s_endpgm *.s | wc -l) = $n ]",
			       mount.path, name), 0);
	assert_int_equal(shell("test -e '%s/.tensilefs/asm/gfx942/%s/nothing.s'", mount.path, name), 1);
	assert_int_equal(shell("grep -q '\"solutions\"' '%s/.tensilefs/logic/gfx942/%s'", mount.path, name), 0);
	assert_int_equal(shell("grep -q '\"generated\"' '%s/.tensilefs/coverage'", mount.path), 0);
	assert_int_equal(shell("f='%s/.tensilefs/coverage'; test $(stat -c %%s $f) = $(cat $f | wc -c)", mount.path), 0);
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static void test_the_end_unmounts_and_serves_open_files(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *built = build(state, logic, "--no-cache");
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *path = file_in(&mount, ".co", 0), *to = in_scratch(state, "read");
	int status;

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	kill(mount.pid, SIGTERM);
	for (double end = seconds() + 10; access(path, F_OK) == 0; usleep(2000))
		assert_true(seconds() < end);
	assert_int_equal(waitpid(mount.pid, &status, WNOHANG), 0);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(sendfile(out, fd, NULL, 1 << 30) > 0);
	close(out);
	assert_int_equal(compare_with_built(built, path, to), 0);
	close(fd);
	assert_int_equal(waitpid(mount.pid, &status, 0), mount.pid);
	assert_int_equal(status, 0);
}

static void test_a_second_signal_ends_at_once(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	int status, fd = open(file_in(&mount, ".dat", 0), O_RDONLY | O_CLOEXEC);

	kill(mount.pid, SIGTERM);
	usleep(300000);
	assert_int_equal(waitpid(mount.pid, &status, WNOHANG), 0);
	kill(mount.pid, SIGTERM);
	assert_int_equal(waitpid(mount.pid, &status, 0), mount.pid);
	assert_int_equal(status, 0);
	close(fd);
}

static void test_pending_opens_are_answered_at_the_end(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	char arguments[256];
	snprintf(arguments, sizeof(arguments), "--no-cache --linker '%s'", slow_linker(state, "1"));
	struct mount mount = mount_logic(state, logic, arguments);
	int status;

	pid_t reader = open_in_child(file_in(&mount, ".co", 0), false);
	usleep(300000);
	kill(mount.pid, SIGTERM);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(mount.pid, &status, 0), mount.pid);
	assert_int_equal(status, 0);
}

static void test_a_dead_mount_is_cleaned_up(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	struct stat st;

	kill(mount.pid, SIGKILL);
	waitpid(mount.pid, NULL, 0);
	assert_int_equal(stat(mount.path, &st), -1);
	assert_int_equal(errno, ENOTCONN);
	mount = mount_logic(state, logic, "--no-cache");
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(shell("test -z \"$(ls -A '%s')\" && rmdir '%s'", mount.path, mount.path), 0);
}

static void test_bad_mountpoints_are_refused_with_a_reason(void **state)
{
	const char *said = in_scratch(state, "said"), *logic = copy_logic(state, "logic", 1);

	assert_int_equal(shell("mkdir '%s/full' && touch '%s/full/x'", (char *)*state, (char *)*state), 0);
	assert_int_equal(shell("'%s' mount --no-cache '%s' '%s/full' 2>'%s'", tensilefs(), logic, (char *)*state, said), 1);
	assert_int_equal(shell("grep -q 'full. is not empty' '%s'", said), 0);
	assert_int_equal(shell("'%s' mount --no-cache '%s' '%s/full/x' 2>'%s'", tensilefs(), logic, (char *)*state, said), 1);
	assert_int_equal(shell("grep -q 'not a folder' '%s'", said), 0);
	assert_int_equal(shell("'%s' mount --no-cache '%s' '%s/none' 2>'%s'", tensilefs(), logic, (char *)*state, said), 1);
	assert_int_equal(shell("grep -q 'No such file' '%s'", said), 0);
	assert_int_equal(shell("'%s' mount --no-cache -o nonempty '%s' '%s' 2>'%s'", tensilefs(), logic, logic, said), 1);
	assert_int_equal(shell("grep -q 'the logic .* lies inside the mountpoint' '%s'", said), 0);
	assert_int_equal(shell("'%s' mount --no-cache -o bundle=round '%s' '%s' 2>/dev/null", tensilefs(), logic, logic), 1);
}

static void test_a_mount_option_that_nobody_knows_is_named_once(void **state)
{
	const char *said = in_scratch(state, "said"), *mnt = in_scratch(state, "mnt");

	assert_int_equal(mkdir(mnt, 0755), 0);
	assert_int_equal(shell("'%s' mount --no-cache -o allow_other,frob=3 '%s' '%s' 2>'%s'", tensilefs(), sample_logic(), mnt, said), 1);
	assert_int_equal(shell("test $(wc -l <'%s') = 1 && grep -q '^tensilefs: mount options: unknown option(s): .-o frob=3' '%s'", said, said), 0);
	assert_int_equal(shell("'%s' mount --no-cache -o ahead=1025 '%s' '%s' 2>'%s'", tensilefs(), sample_logic(), mnt, said), 1);
	assert_int_equal(shell("test \"$(cat '%s')\" = \"tensilefs: -o ahead: '1025' is not a possible number\"", said), 0);
}

static void test_a_mount_may_have_as_many_files_as_the_limit_says(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	struct rlimit before, lower;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	lower = (struct rlimit){ .rlim_cur = 100, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
	struct mount mount = mount_logic(state, logic, "--no-cache");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(prlimit(mount.pid, RLIMIT_NOFILE, NULL, &lower), 0);
	assert_int_equal(lower.rlim_cur, before.rlim_max);
	assert_int_equal(mount_end(&mount), 0);
}

/* A test that fails leaves its mount behind; what it shows is not deleted, and its daemon ends. */
static void test_a_folder_with_a_mount_can_be_removed(void **state)
{
	void *inner = folder_make();
	const char *logic = copy_logic(state, "logic", 1);
	int status;

	struct mount mount = mount_logic(&inner, logic, "--no-cache");
	assert_int_equal(folder_remove(inner), 0);
	assert_int_equal(access(mount.path, F_OK), -1);
	assert_int_equal(waitpid(mount.pid, &status, 0), mount.pid);
	assert_int_equal(status, 0);
	assert_int_equal(shell("test -n \"$(find '%s' -name '*.yaml')\"", logic), 0);
}

static void test_mount_returns_when_it_is_mounted_and_takes_fstab_options(void **state)
{
	const char *helper = in_scratch(state, "mount.fuse.tensilefs"), *mnt = in_scratch(state, "mnt");

	assert_int_equal(symlink(tensilefs(), helper), 0);
	assert_int_equal(mkdir(mnt, 0755), 0);
	assert_int_equal(shell("'%s' '%s' '%s' -s -n -o rw,nodev,nosuid,noatime,nofail,_netdev,user,noauto,x-systemd.automount,no-cache,allow_other",
			       helper, sample_logic(), mnt), 0);
	assert_int_equal(shell("test -d '%s/gfx942' && grep -q ' %s fuse.tensilefs ro,' /proc/self/mounts", mnt, mnt), 0);
	assert_int_equal(umount2(mnt, 0), 0);
}

static void test_an_edit_is_seen_and_open_files_keep_what_they_had(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *file = in_scratch(state, "edit");
	struct stat before, after, still;

	assert_int_equal(shell("find '%s' -name '*.yaml' > '%s'", logic, file), 0);
	_cleanup_free_ char *path = read_text(file, NULL);
	path[strcspn(path, "\n")] = 0;
	struct mount mount = mount_logic(state, logic, "--no-cache");
	const char *object = file_in(&mount, ".co", 0);
	int fd = open(object, O_RDONLY);
	assert_int_equal(fstat(fd, &before), 0);
	replace_text(path, "LdsPadA: 16", "LdsPadA: 8");
	usleep(1200000);		/* the kernel keeps names for a second */
	assert_int_equal(stat(object, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(fstat(fd, &still), 0);
	assert_int_equal(before.st_ino, still.st_ino);
	assert_int_equal(before.st_size, still.st_size);
	assert_int_equal(shell("cat <&%d > '%s'", fd, in_scratch(state, "old")), 0);
	assert_int_equal(shell("test $(stat -c %%s '%s') = %lld", in_scratch(state, "old"), (long long)before.st_size), 0);
	assert_int_equal(shell("cmp -s '%s' '%s'", in_scratch(state, "old"), object), 1);
	close(fd);
	assert_int_equal(mount_end(&mount), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names_build_nothing),
		TEST(test_a_copy_equals_a_build),
		TEST(test_a_flat_mount_is_one_folder),
		TEST(test_a_random_reader_builds_nothing_ahead),
		TEST(test_a_second_mount_builds_nothing),
		TEST(test_the_first_touch_sees_the_exact_size),
		TEST(test_many_first_readers_all_see_the_size),
		TEST(test_readers_share_a_build_and_others_do_not_wait),
		TEST(test_a_killed_waiter_ends_at_once_and_a_signalled_one_does_not_fail),
		TEST(test_a_broken_base_is_explained_and_leaves_the_others),
		TEST(test_attributes_tell_about_a_file),
		TEST(test_nothing_can_be_written),
		TEST(test_the_raw_object_is_what_the_bundle_holds),
		TEST(test_assembly_logic_and_coverage_can_be_read),
		TEST(test_the_end_unmounts_and_serves_open_files),
		TEST(test_a_second_signal_ends_at_once),
		TEST(test_pending_opens_are_answered_at_the_end),
		TEST(test_a_dead_mount_is_cleaned_up),
		TEST(test_bad_mountpoints_are_refused_with_a_reason),
		TEST(test_a_mount_option_that_nobody_knows_is_named_once),
		TEST(test_a_mount_may_have_as_many_files_as_the_limit_says),
		TEST(test_a_folder_with_a_mount_can_be_removed),
		TEST(test_mount_returns_when_it_is_mounted_and_takes_fstab_options),
		TEST(test_an_edit_is_seen_and_open_files_keep_what_they_had),
	};
	need_fuse();
	return cmocka_run_group_tests_name("mount", tests, NULL, NULL);
}
