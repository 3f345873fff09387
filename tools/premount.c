/* SPDX-License-Identifier: MIT */
/*
 * tensilefs-premount LOGIC MOUNTPOINT: mounts for a service that may not.
 *
 * A service that is locked into file systems of its own cannot mount where others see it: what its processes mount does not leave its mount
 * namespace (systemd.exec(5), MountFlags=). So this small program runs before the service, outside of its walls, opens /dev/fuse and mounts
 * it, and gives the descriptor to systemd, which passes it to the service as descriptor 3 (sd_notify(3), FDSTORE=1). The service then
 * serves /dev/fd/3 and needs no privilege at all. Unmounting is the unit's work as well.
 */
#include "base/file.h"
#include "fs/mountpoint.h"
#include "tools/notify.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

static int make_folder(const char *path, struct error *error)
{
	if (mkdir(path, 0755) == 0 || errno == EEXIST || errno == ENOTCONN)
		return 0;
	return error_set(error, -errno, "cannot make the folder '%s': %s", path, strerror(errno));
}

static int prepare(const char *logic, const char *mountpoint, char **ret_path, struct error *error)
{
	_cleanup_free_ char *path = NULL;

	int r = make_folder(mountpoint, error);
	if (r == 0)
		r = mountpoint_find(mountpoint, &path, error);
	if (r == 0)
		r = mountpoint_check_empty(path, error);
	if (r == 0 && mountpoint_hides(path, logic))
		r = error_set(error, -ELOOP, "the logic '%s' lies inside the mountpoint '%s'", logic, path);
	if (r == 0)
		*ret_path = TAKE(path);
	return r;
}

/* For all users: one that only root sees is no use to a service. Linux Documentation/filesystems/fuse.rst has the options. */
static int mount_for_all(const char *logic, const char *path, struct error *error)
{
	char options[64];
	_cleanup_close_ int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return error_set(error, -errno, "cannot open '/dev/fuse': %s", strerror(errno));
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount(logic, path, "fuse.tensilefs", MS_RDONLY | MS_NOSUID | MS_NODEV, options) < 0)
		return error_set(error, -errno, "cannot mount on '%s': %s", path, strerror(errno));
	int r = notify_keep_mount(fd);
	if (r < 0) {
		mountpoint_unmount(path, true);
		return error_set(error, r, "cannot give the mount to the service manager: %s",
				 r == -ENOTCONN ? "$NOTIFY_SOCKET does not name one" : strerror(-r));
	}
	return 0;
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *path = NULL;
	struct error error = { 0 };

	if (argc != 3) {
		fputs("tensilefs-premount: usage: tensilefs-premount LOGIC MOUNTPOINT, as a systemd unit's ExecStartPre=\n", stderr);
		return 2;
	}
	int r = prepare(argv[1], argv[2], &path, &error);
	if (r == 0)
		r = mount_for_all(argv[1], path, &error);
	if (r < 0)
		fprintf(stderr, "tensilefs-premount: %s\n", error_text(&error, r));
	return r < 0;
}
