/* SPDX-License-Identifier: MIT */
/*
 * Whoever may write into a logic folder shall not make us read what only we may read. So a link of somebody else is followed only
 * while its whole way stays inside, which the kernel sees to (openat2(2), RESOLVE_BENEATH; since Linux 5.6), as a look at the way
 * before opening would be a look at what may be gone by then. A link that we or root made leads anywhere, as does a path that we
 * are given: who puts a library together from links to files elsewhere means them.
 */
#include "build/logic/open.h"

#include "base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/*
 * EAGAIN: there was a ".." on the way, and something was renamed meanwhile, wherever on the machine; the next attempt is as likely
 * to succeed.
 */
static int open_beneath(int folder, const char *name, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int fd = -1;

	for (unsigned tries = 0; fd < 0 && tries < 100 && (tries == 0 || errno == EAGAIN); tries++)
		fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* One step of a way. A link is read through its descriptor, so that it is the one whose owner was looked at. */
static int open_step(int folder, const char *name, int flags)
{
	_cleanup_close_ int place = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX];
	struct stat st;

	if (place < 0 || fstat(place, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		if (st.st_uid != geteuid() && st.st_uid != 0)
			return -EXDEV;
		ssize_t n = readlinkat(place, "", target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = 0;
		name = target;
	} else {
		flags |= O_NOFOLLOW;
	}
	int fd = openat(folder, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_by_steps(int folder, const char *name, int flags)
{
	_cleanup_close_ int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	char step[NAME_MAX + 1];

	if (at < 0)
		return -errno;
	for (;;) {
		size_t length = strcspn(name, "/");
		if (length > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(step, name, length);
		step[length] = 0;
		if (strcmp(step, "..") == 0)
			return -EXDEV;
		bool last = name[length + strspn(name + length, "/")] == 0;
		int fd = open_step(at, length ? step : ".", last ? flags : O_PATH | O_DIRECTORY);
		if (fd < 0 || last)
			return fd;
		close(at);
		at = fd;
		name += length + strspn(name + length, "/");
	}
}

int open_inside(const char *folder, const char *name, int flags)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	int r = open_beneath(fd, name, flags);
	/* A kernel without openat2(), and filters of system calls that do not know it: containers. */
	return r == -EXDEV || r == -ENOSYS || r == -EPERM ? open_by_steps(fd, name, flags) : r;
}

int logic_file_open(const struct logic_file *file, int *ret_fd, struct error *error)
{
	int fd;

	if (file->named) {
		fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		fd = fd < 0 ? -errno : fd;
	} else {
		_cleanup_free_ char *folder = strndup(file->path, (size_t)(file->relative - file->path));
		if (!folder)
			return -ENOMEM;
		fd = open_inside(folder, file->relative, O_RDONLY | O_NONBLOCK);
	}
	if (fd == -EXDEV)
		return error_set(error, fd, "'%s': " LEADS_OUT, file->path);
	if (fd < 0)
		return error_set(error, fd, "cannot open '%s': %s", file->path, strerror(-fd));
	*ret_fd = fd;
	return 0;
}
