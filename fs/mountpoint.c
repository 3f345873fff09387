/* SPDX-License-Identifier: MIT */
#include "fs/mountpoint.h"

#include <dirent.h>
#include <limits.h>
#include <mntent.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int mountpoint_unmount(const char *mountpoint, bool lazily)
{
	const char *const argv[] = { "fusermount3", "-u", lazily ? "-qz" : "-q", "--", mountpoint, NULL };
	int status;
	pid_t pid;

	if (umount2(mountpoint, (lazily ? MNT_DETACH : 0) | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	int r = -posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status == 0 ? 0 : -EPERM;
}

/* statfs() always asks the daemon, where stat() would take attributes that the kernel still has. */
int mountpoint_remove_dead(const char *mountpoint)
{
	struct statfs buffer;

	return statfs(mountpoint, &buffer) < 0 && errno == ENOTCONN ? mountpoint_unmount(mountpoint, true) : 0;
}

bool mountpoint_is_fuse(const char *mountpoint)
{
	char strings[3 * PATH_MAX];
	struct mntent entry;
	bool found = false;

	FILE *list = setmntent("/proc/self/mounts", "re");
	if (!list)
		return false;
	while (!found && getmntent_r(list, &entry, strings, sizeof(strings)))
		found = strcmp(entry.mnt_dir, mountpoint) == 0 && strncmp(entry.mnt_type, "fuse", 4) == 0;
	endmntent(list);
	return found;
}

int mountpoint_find(const char *mountpoint, char **ret_path, struct error *error)
{
	struct stat st;

	int r = mountpoint_remove_dead(mountpoint);
	if (r < 0)
		return error_set(error, r, "'%s' is a dead mount that cannot be removed: %s", mountpoint, strerror(-r));
	if (stat(mountpoint, &st) < 0)
		return error_set(error, -errno, "cannot mount on '%s': %s", mountpoint, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return error_set(error, -ENOTDIR, "cannot mount on '%s': it is not a folder", mountpoint);
	char *path = realpath(mountpoint, NULL);
	if (!path)
		return error_set(error, -errno, "cannot mount on '%s': %s", mountpoint, strerror(errno));
	*ret_path = path;
	return 0;
}

static bool is_empty(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!folder)
		return true;
	while (empty && (entry = readdir(folder)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(folder);
	return empty;
}

static bool is_another_device(const char *path)
{
	char parent[PATH_MAX];
	struct stat here, above;

	if ((size_t)snprintf(parent, sizeof(parent), "%s/..", path) >= sizeof(parent))
		return false;
	return stat(path, &here) == 0 && stat(parent, &above) == 0 && here.st_dev != above.st_dev;
}

int mountpoint_check_empty(const char *mountpoint, struct error *error)
{
	if (is_empty(mountpoint))
		return 0;
	if (is_another_device(mountpoint))
		return error_set(error, -EBUSY, "something is mounted on '%s' already", mountpoint);
	return error_set(error, -ENOTEMPTY, "'%s' is not empty: what it holds would be hidden (-o nonempty mounts anyway)", mountpoint);
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	length -= length && folder[length - 1] == '/';		/* of "/" */
	return strncmp(path, folder, length) == 0 && (!path[length] || path[length] == '/');
}

bool mountpoint_hides(const char *mountpoint, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	return real && is_below(real, mountpoint);
}

bool mountpoint_is_below(const char *mountpoint, const char *path)
{
	_cleanup_free_ char *real = realpath(path, NULL);

	return real && is_below(mountpoint, real);
}
