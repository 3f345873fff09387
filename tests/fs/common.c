/* SPDX-License-Identifier: MIT */
#include "tests/fs/common.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

const char *tensilefs(void)
{
	const char *program = getenv("TENSILEFS");

	if (!program)
		fail_msg("TENSILEFS names no program");
	return program;
}

int run(void **state, const char *format, ...)
{
	char arguments[2048];
	va_list ap;

	va_start(ap, format);
	vsnprintf(arguments, sizeof(arguments), format, ap);
	va_end(ap);
	return shell("'%s' %s >'%s' 2>'%s'", tensilefs(), arguments, in_scratch(state, "out"), in_scratch(state, "err"));
}

void must_say(void **state, const char *stream, const char *words)
{
	_cleanup_free_ char *text = read_text(in_scratch(state, "%s", stream), NULL);

	if (!strstr(text, words))
		fail_msg("'%s' is not in '%s'", words, text);
}

void must_complain_once(void **state, const char *words)
{
	_cleanup_free_ char *text = read_text(in_scratch(state, "err"), NULL);

	must_say(state, "err", words);
	assert_int_equal(strncmp(text, "tensilefs: ", 11), 0);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

void need_fuse(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		exit(77);
	close(fd);
}

double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool is_visible(const struct mount *mount)
{
	char control[sizeof(mount->path) + 16];
	struct statfs answer;		/* asks the daemon, where stat() may find what the kernel knew of a mount before */

	snprintf(control, sizeof(control), "%s/.tensilefs", mount->path);
	return statfs(control, &answer) == 0;
}

struct mount mount_logic(void **state, const char *logic, const char *arguments)
{
	struct mount mount;
	char command[2048];

	snprintf(mount.path, sizeof(mount.path), "%s", in_scratch(state, "mnt"));
	mkdir(mount.path, 0755);
	snprintf(command, sizeof(command), "exec '%s' mount -f --linker '%s' %s '%s' '%s'", tensilefs(), real_linker(), arguments, logic,
		 mount.path);
	mount.pid = fork();
	assert_true(mount.pid >= 0);
	if (mount.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);	/* a test that dies leaves no mount behind */
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	for (double end = seconds() + 20; !is_visible(&mount); usleep(2000)) {
		if (waitpid(mount.pid, NULL, WNOHANG) == mount.pid || seconds() > end)
			fail_msg("the mount did not come up: %s", command);
	}
	return mount;
}

int mount_end(struct mount *mount)
{
	int status;

	assert_int_equal(kill(mount->pid, SIGTERM), 0);
	for (double end = seconds() + 20; waitpid(mount->pid, &status, WNOHANG) != mount->pid; usleep(2000))
		if (seconds() > end)
			fail_msg("the daemon did not end");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *many_bases(void **state, const char *name, size_t n)
{
	const char *folder = in_scratch(state, "%s", name);

	assert_int_equal(shell("mkdir '%s' && for i in $(seq %zu); do sed \"s/^- gfx942$/- {Architecture: gfx942, CUCount: $i}/; "
			       "s/GlobalReadPerMfma: 1/GlobalReadPerMfma: $i/\" "
			       "'%s/gfx942/GridBased/sample_Cijk_Ailk_Bjlk_SB_Bias_HAS_SAV_UserArgs.yaml' > '%s/'$i.yaml; done",
			       folder, n, sample_logic(), folder), 0);
	return folder;
}

const char *file_in(const struct mount *mount, const char *suffix, unsigned n)
{
	static char names[8][1024];
	static unsigned next;
	char *name = names[next++ % ARRAY_SIZE(names)];
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/gfx942/*_Type_*%s", mount->path, suffix);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(n < found.gl_pathc);
	snprintf(name, sizeof(names[0]), "%s", found.gl_pathv[n]);
	globfree(&found);
	return name;
}

uint64_t mount_number(const struct mount *mount, const char *key)
{
	char path[sizeof(mount->path) + 32], member[64];

	snprintf(path, sizeof(path), "%s/.tensilefs/status", mount->path);
	snprintf(member, sizeof(member), "\"%s\":", key);
	_cleanup_free_ char *text = read_text(path, NULL);
	const char *found = strstr(text, member);
	if (!found)
		fail_msg("no '%s' in the status: %s", key, text);
	return strtoull(found + strlen(member), NULL, 10);
}

const char *build(void **state, const char *logic, const char *options)
{
	static unsigned n;
	const char *out = in_scratch(state, "built-%u", n++);

	if (run(state, "build --linker '%s' %s '%s' '%s'", real_linker(), options, logic, out))
		fail_msg("%s", read_text(in_scratch(state, "err"), NULL));
	return out;
}

const char *with_cache(void **state, const char *more)
{
	static char options[8][512];
	static unsigned next;
	char *text = options[next++ % ARRAY_SIZE(options)];

	snprintf(text, sizeof(options[0]), "--cache '%s' %s", in_scratch(state, "cache"), more);
	return text;
}

void must_be_equal(const char *a, const char *b)
{
	assert_int_equal(shell("diff -r '%s' '%s'", a, b), 0);
}
