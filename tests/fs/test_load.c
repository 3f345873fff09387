/* SPDX-License-Identifier: MIT */
/* Many at once, and the end while they are at it. What must not depend on time is held back by a linker that waits for a sign. */
#include "tests/engine/trace_file.h"
#include "tests/fs/common.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#define MANY 64

/* A linker that waits for the file "go" in scratch, and marks each link in the file "links". */
static const char *waiting_linker(void **state)
{
	char body[1024];

	snprintf(body, sizeof(body), "echo x >> '%s'\nwhile [ ! -e '%s' ]; do sleep 0.05; done\nexec %s \"$@\"", in_scratch(state, "links"),
		 in_scratch(state, "go"), real_linker());
	return make_linker(state, "waiting-lld", body);
}

static struct mount mount_with(void **state, const char *logic, const char *linker, const char *more)
{
	char arguments[512];

	snprintf(arguments, sizeof(arguments), "--linker '%s' %s", linker, more);
	return mount_logic(state, logic, arguments);
}

static void give_the_sign(void **state)
{
	write_text(in_scratch(state, "go"), "");
}

/* A child that copies a file to "copies/<n>" in scratch. */
static pid_t copy_in_child(void **state, const char *path, unsigned n)
{
	static char bytes[1 << 20];

	pid_t pid = fork();
	if (pid)
		return pid;
	int in = open(path, O_RDONLY | O_CLOEXEC), out = open(in_scratch(state, "copies/%u", n), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t size = in < 0 || out < 0 ? -1 : read(in, bytes, sizeof(bytes));
	_exit(size > 0 && write(out, bytes, (size_t)size) == size ? 0 : 1);
}

static void all_end_well(const pid_t *children, size_t n)
{
	int status;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
}

static void until(const struct mount *mount, const char *key, uint64_t least)
{
	for (double end = seconds() + 20; mount_number(mount, key) < least; usleep(5000))
		if (seconds() > end)
			fail_msg("'%s' does not become %llu", key, (unsigned long long)least);
}

static void test_many_readers_of_one_file_share_one_build(void **state)
{
	const char *logic = many_bases(state, "logic", 1);
	struct mount mount = mount_with(state, logic, waiting_linker(state), "--no-cache");
	_cleanup_free_ char *path = strdup(file_in(&mount, ".co", 0));
	pid_t children[MANY];

	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	for (unsigned i = 0; i < MANY; i++)
		children[i] = copy_in_child(state, path, i);
	until(&mount, "waiting", MANY + 1);		/* one is the reader of the status */
	give_the_sign(state);
	all_end_well(children, MANY);
	assert_int_equal(mount_number(&mount, "builds"), 1);
	assert_int_equal(shell("test \"$(cat '%s')\" = x", in_scratch(state, "links")), 0);
	assert_int_equal(shell("for i in '%s'/*; do cmp $i '%s' || exit 1; done", in_scratch(state, "copies"), path), 0);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_many_readers_of_many_files_get_their_own(void **state)
{
	const char *logic = many_bases(state, "logic", MANY), *built = in_scratch(state, "built");
	struct mount mount = mount_with(state, logic, real_linker(), "--no-cache -o ahead=0");
	pid_t children[MANY];

	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	for (unsigned i = 0; i < MANY; i++)
		children[i] = copy_in_child(state, file_in(&mount, ".co", i), i);
	all_end_well(children, MANY);
	assert_int_equal(mount_number(&mount, "builds"), MANY);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(shell("'%s' build --no-cache --linker '%s' '%s' '%s'", tensilefs(), real_linker(), logic, built), 0);
	assert_int_equal(shell("i=0; for f in '%s'/gfx942/*_Type_*.co; do cmp $f '%s/'$i || exit 1; i=$((i + 1)); done", built,
			       in_scratch(state, "copies")), 0);
}

/* Nor does what needs no linker, while each worker waits for one. */
static void test_ready_files_do_not_wait_for_builds(void **state)
{
	const char *logic = many_bases(state, "logic", MANY);
	struct mount mount = mount_with(state, logic, waiting_linker(state), "--no-cache -o ahead=0");
	_cleanup_free_ char *ready = strdup(file_in(&mount, ".dat", 0));
	pid_t children[MANY];
	struct stat st;

	assert_int_equal(stat(ready, &st), 0);
	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	for (unsigned i = 0; i < MANY; i++)
		children[i] = copy_in_child(state, file_in(&mount, ".co", i), i);
	until(&mount, "waiting", MANY + 1);		/* one is the reader of the status */
	assert_int_equal(shell("timeout 20 cat '%s' >/dev/null && timeout 20 ls '%s/gfx942' >/dev/null", ready, mount.path), 0);
	for (unsigned i = 0; i < 300; i++) {
		int fd = open(ready, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		close(fd);
	}
	const char *unbuilt = file_in(&mount, ".dat", 5), *name = strrchr(file_in(&mount, ".co", 5), '/') + 1;
	assert_int_equal(shell("timeout 20 cat '%s' '%s/.tensilefs/coverage' '%s/.tensilefs/logic/gfx942/%s' >/dev/null", unbuilt, mount.path,
			       mount.path, name), 0);
	assert_int_equal(shell("timeout 20 cat '%s/.tensilefs/asm/gfx942/%s/'*.s >/dev/null", mount.path, name), 0);
	assert_int_equal(mount_number(&mount, "waiting"), MANY + 1);	/* none of the builds has ended */
	give_the_sign(state);
	all_end_well(children, MANY);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_mounts_and_builds_share_a_cache(void **state)
{
	const char *logic = many_bases(state, "logic", 12);
	char arguments[256];
	snprintf(arguments, sizeof(arguments), "--cache '%s'", in_scratch(state, "cache"));
	struct mount mount = mount_with(state, logic, real_linker(), arguments);

	assert_int_equal(shell("cd '%s' && mkdir mnt2 && '%s' mount --cache cache --linker '%s' logic mnt2", (char *)*state, tensilefs(),
			       real_linker()), 0);
	assert_int_equal(shell("cd '%s' && cp -r mnt/gfx942 a & cd '%s' && cp -r mnt2/gfx942 b & cd '%s' && '%s' build --cache cache --linker '%s' "
			       "logic c; wait", (char *)*state, (char *)*state, (char *)*state, tensilefs(), real_linker()), 0);
	assert_int_equal(shell("cd '%s' && diff -r a c/gfx942 && diff -r b c/gfx942 && fusermount3 -u mnt2", (char *)*state), 0);
	assert_true(mount_number(&mount, "builds") <= 26);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(shell("'%s' cache check --cache '%s' | grep -q ' 0 are damaged'", tensilefs(), in_scratch(state, "cache")), 0);
}

/* ---- the trace -------------------------------------------------------------------------------------------------------- */

/* Of the first event of that phase and name; fails the test where there is none. */
static const char *first_arg(const struct json_object *events, char phase, const char *name, const char *key)
{
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		const struct json_object *event = json_object_array_get_idx(events, i);
		if (event_is(event, phase, name))
			return event_arg(event, key);
	}
	fail_msg("no event '%c' of '%s'", phase, name);
	return NULL;
}

static void test_a_trace_tells_who_waited_for_what(void **state)
{
	const char *logic = many_bases(state, "logic", 1), *trace = in_scratch(state, "trace");
	char arguments[256], pid[16];
	int status;

	snprintf(arguments, sizeof(arguments), "--no-cache -o trace='%s'", trace);
	struct mount mount = mount_with(state, logic, waiting_linker(state), arguments);
	const char *path = file_in(&mount, ".co", 0);
	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	pid_t killed = copy_in_child(state, path, 0), reader = copy_in_child(state, path, 1);
	until(&mount, "waiting", 3);
	assert_int_equal(shell("for i in $(seq 2000); do [ -e '%s' ] && exit 0; sleep 0.01; done; exit 1", in_scratch(state, "links")), 0);
	kill(killed, SIGKILL);
	assert_int_equal(waitpid(killed, &status, 0), killed);
	struct json_object *events = trace_load(trace, false);		/* as it is while the build is going on */
	assert_int_equal(trace_count_events(events, 'E', "link"), 0);
	assert_string_equal(first_arg(events, 'B', "link", "kernels"), "1");
	json_object_put(events);
	give_the_sign(state);
	all_end_well(&reader, 1);
	assert_int_equal(mount_end(&mount), 0);

	events = trace_load(trace, true);
	unsigned opens = 0, interrupted = 0;
	for (size_t i = 0; i < json_object_array_length(events); i++) {
		const struct json_object *event = json_object_array_get_idx(events, i);
		snprintf(pid, sizeof(pid), "%d", (int)reader);
		opens += event_is(event, 'b', "open") && strcmp(event_arg(event, "pid"), pid) == 0 &&
			 strcmp(event_arg(event, "file"), strrchr(path, '/') + 1) == 0;
		interrupted += event_is(event, 'e', "open") && strcmp(event_arg(event, "outcome"), "interrupted") == 0;
	}
	assert_int_equal(opens, 1);
	assert_int_equal(interrupted, 1);
	json_object_put(events);
}

static void test_a_killed_mount_leaves_its_trace(void **state)
{
	const char *logic = many_bases(state, "logic", 1), *trace = in_scratch(state, "trace");
	char arguments[256];

	snprintf(arguments, sizeof(arguments), "--no-cache -o trace='%s'", trace);
	struct mount mount = mount_with(state, logic, real_linker(), arguments);
	assert_int_equal(shell("cat '%s' >/dev/null", file_in(&mount, ".co", 0)), 0);
	kill(mount.pid, SIGKILL);
	assert_int_equal(waitpid(mount.pid, NULL, 0), mount.pid);
	assert_int_equal(shell("umount -l '%s' 2>/dev/null || fusermount3 -uz '%s'", mount.path, mount.path), 0);
	struct json_object *events = trace_load(trace, false);
	assert_string_equal(first_arg(events, 'E', "generate", "kernels"), "1");
	json_object_put(events);
}

/* Names come from the catalog a bufferful at a time: no nodes are made for them, but for those of the first one, which a kernel asks more about. */
static void test_a_long_listing_streams(void **state)
{
	enum { BASES = 400 };
	struct mount mount = mount_with(state, many_bases(state, "logic", BASES), real_linker(), "--no-cache");
	DIR *folder = opendir(in_scratch(state, "mnt/gfx942"));
	size_t n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	assert_int_equal(n, 2 * BASES + 6);		/* master, mapping, manifest, helper, "." and ".." */
	assert_true(mount_number(&mount, "nodes") < BASES);
	assert_int_equal(mount_number(&mount, "builds"), 0);
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- the end under load ----------------------------------------------------------------------------------------------- */

static void read_until_it_ends(const struct mount *mount, unsigned seed)
{
	char path[1024];

	for (unsigned i = seed;; i += 7) {
		snprintf(path, sizeof(path), "cat '%s'/gfx942/*_CU%u_*.dat >/dev/null 2>&1", mount->path, i % 12 + 1);
		if (system(path) != 0)
			_exit(0);
	}
}

static void test_the_end_under_load_hangs_nobody(void **state)
{
	for (unsigned way = 0; way < 2; way++) {
		const char *logic = many_bases(state, way ? "two" : "one", 12);
		struct mount mount = mount_with(state, logic, real_linker(), "--no-cache");
		pid_t readers[8];
		int status;
		for (unsigned i = 0; i < ARRAY_SIZE(readers); i++) {
			readers[i] = fork();
			if (readers[i] == 0)
				read_until_it_ends(&mount, i);
		}
		usleep(300000);
		if (way == 0)
			kill(mount.pid, SIGTERM);
		else
			assert_int_equal(shell("umount -l '%s' 2>/dev/null || fusermount3 -uz '%s'", mount.path, mount.path), 0);
		all_end_well(readers, ARRAY_SIZE(readers));
		assert_int_equal(waitpid(mount.pid, &status, 0), mount.pid);
		assert_int_equal(status, 0);
	}
}

static void test_a_linker_that_hangs_does_not_keep_the_mount(void **state)
{
	const char *logic = many_bases(state, "logic", 1);
	struct mount mount = mount_with(state, logic, waiting_linker(state), "--no-cache");
	int status;

	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	pid_t reader = copy_in_child(state, file_in(&mount, ".co", 0), 0);
	until(&mount, "waiting", 2);
	kill(reader, SIGKILL);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(mount_end(&mount), 0);
}

static void test_a_linker_has_only_so_much_time(void **state)
{
	const char *logic = many_bases(state, "logic", 1);
	struct mount mount = mount_with(state, logic, waiting_linker(state), "--no-cache -o linker_timeout=1");
	const char *path = file_in(&mount, ".co", 0);

	assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(shell("grep -q waiting-lld '%s/.tensilefs/errors/%s'", mount.path, strrchr(path, '/') + 1), 0);
	give_the_sign(state);
	assert_int_equal(shell("cat '%s' >/dev/null", path), 0);		/* the next to ask tries again */
	assert_int_equal(mount_end(&mount), 0);
}

/* ---- the end for want of use, and the beginning ----------------------------------------------------------------------- */

static void test_an_idle_mount_ends_and_a_used_one_does_not(void **state)
{
	const char *logic = many_bases(state, "logic", 1);
	struct mount mount = mount_with(state, logic, real_linker(), "--no-cache -o idle_timeout=1");
	int status, fd = open(file_in(&mount, ".dat", 0), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	usleep(2500000);
	assert_int_equal(waitpid(mount.pid, &status, WNOHANG), 0);	/* a file is open */
	close(fd);
	for (double end = seconds() + 10; waitpid(mount.pid, &status, WNOHANG) != mount.pid; usleep(10000))
		assert_true(seconds() < end);
	assert_int_equal(status, 0);
	assert_int_equal(shell("grep -q ' %s ' /proc/self/mounts", mount.path), 1);
}

static void test_services_and_scripts_are_told_when_the_mount_is_ready(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *logic = many_bases(state, "logic", 1), *mnt = in_scratch(state, "mnt");
	char text[512];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_scratch(state, "socket"));
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkdir(mnt, 0755), 0);
	assert_int_equal(shell("NOTIFY_SOCKET='%s' '%s' mount --no-cache -o notify_fd=5 '%s' '%s' 5>'%s'", address.sun_path, tensilefs(), logic, mnt,
			       in_scratch(state, "told")), 0);
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "READY=1\n"));
	assert_int_equal(shell("test $(wc -c < '%s') = 1 && fusermount3 -u '%s'", in_scratch(state, "told"), mnt), 0);
	n = recv(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	assert_string_equal(text, "STOPPING=1");
	assert_int_equal(shell("'%s' mount --no-cache -o notify_fd=77 '%s' '%s' 2>'%s'", tensilefs(), logic, mnt, in_scratch(state, "said")), 1);
	assert_int_equal(shell("grep -q 'descriptor 77 is not open' '%s'", in_scratch(state, "said")), 0);
	close(fd);
}

static void test_the_status_is_shown_once_or_live(void **state)
{
	const char *logic = many_bases(state, "logic", 2), *linker = waiting_linker(state), *said = in_scratch(state, "said");
	struct mount mount = mount_with(state, logic, linker, "--no-cache -o ahead=0");
	_cleanup_free_ char *stuck = strdup(file_in(&mount, ".co", 0)), *failed = strdup(file_in(&mount, ".co", 1));

	assert_int_equal(shell("cat '%s' >/dev/null && '%s' status --json '%s' | grep -q '\"builds\":1,'", file_in(&mount, ".dat", 0), tensilefs(),
			       mount.path), 0);
	assert_int_equal(mkdir(in_scratch(state, "copies"), 0755), 0);
	pid_t reader = copy_in_child(state, stuck, 0);
	assert_int_equal(shell("for i in $(seq 2000); do [ -e '%s' ] && exit 0; sleep 0.01; done; exit 1", in_scratch(state, "links")), 0);
	assert_int_equal(shell("'%s' status --once '%s' > '%s' && grep -q '^built    1 files' '%s'", tensilefs(), mount.path, said, said), 0);
	assert_int_equal(shell("grep -qE '^ +[0-9.]+s  link       gfx942/%s$' '%s'", strrchr(stuck, '/') + 1, said), 0);
	assert_int_equal(shell("command -v script >/dev/null || exit 0; timeout 2 script -qec \"'%s' status '%s'\" /dev/null | "
			       "grep -c 'built    1 files' | grep -qE '[2-9]'", tensilefs(), mount.path), 0);
	give_the_sign(state);
	all_end_well(&reader, 1);
	make_linker(state, "waiting-lld", "echo broken >&2; exit 3");
	assert_int_equal(shell("cat '%s' >/dev/null 2>&1", failed), 1);
	assert_int_equal(shell("'%s' status '%s' > '%s' && grep -q '1 failures' '%s'", tensilefs(), mount.path, said, said), 0);
	assert_int_equal(shell("grep -q '^  gfx942/%s: .* ended with status 3: broken' '%s'", strrchr(failed, '/') + 1, said), 0);
	assert_int_equal(mount_end(&mount), 0);
	assert_int_equal(shell("'%s' status '%s' 2>'%s'", tensilefs(), mount.path, said), 1);
	assert_int_equal(shell("grep -q 'is no mount of tensilefs' '%s'", said), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_many_readers_of_one_file_share_one_build),
		TEST(test_many_readers_of_many_files_get_their_own),
		TEST(test_ready_files_do_not_wait_for_builds),
		TEST(test_mounts_and_builds_share_a_cache),
		TEST(test_a_long_listing_streams),
		TEST(test_a_trace_tells_who_waited_for_what),
		TEST(test_a_killed_mount_leaves_its_trace),
		TEST(test_the_end_under_load_hangs_nobody),
		TEST(test_a_linker_that_hangs_does_not_keep_the_mount),
		TEST(test_a_linker_has_only_so_much_time),
		TEST(test_an_idle_mount_ends_and_a_used_one_does_not),
		TEST(test_the_status_is_shown_once_or_live),
		TEST(test_services_and_scripts_are_told_when_the_mount_is_ready),
	};
	need_fuse();
	return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
