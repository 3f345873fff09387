/* SPDX-License-Identifier: MIT */
/*
 * Whoever may write into a logic folder shall not make us read what only we may read: a link in it is followed while its whole way stays
 * inside, which leaves out links with an absolute path. The kernel sees to it (openat2(2), RESOLVE_BENEATH; since Linux 5.6), as a look at
 * the way before opening would be a look at what may be gone by then.
 */
#include "build/logic/open.h"

#include "base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

static int open_beneath(int folder, const char *name, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int open_inside(const char *folder, const char *name, int flags)
{
	_cleanup_close_ int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : open_beneath(fd, name, (uint64_t)flags);
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
