/* SPDX-License-Identifier: MIT */
#include "tests/common/scratch.h"

#include "base/macro.h"

#include <ftw.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

char *folder_make(void)
{
	const char *tmp = getenv("TMPDIR");
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/tensilefs-test-XXXXXX", tmp ? tmp : "/tmp") < 0) {
		path = NULL;
		return NULL;
	}
	return mkdtemp(path) ? TAKE(path) : NULL;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void unmount(const char *path)
{
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return;
	pid_t pid = fork();		/* as a normal user */
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-uqz", "--", path, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* What a test that failed has left behind, the last mount first as it may lie upon another. */
static void unmount_inside(const char *folder)
{
	size_t length = strlen(folder), n = 0;
	char *paths[16];
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;

	while (mounts && n < ARRAY_SIZE(paths) && (entry = getmntent(mounts)))
		if (strncmp(entry->mnt_dir, folder, length) == 0 && entry->mnt_dir[length] == '/' && (paths[n] = strdup(entry->mnt_dir)))
			n++;
	if (mounts)
		endmntent(mounts);
	while (n > 0) {
		unmount(paths[--n]);
		free(paths[n]);
	}
}

int folder_remove(char *folder)
{
	unmount_inside(folder);
	int r = nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);

	free(folder);
	return r;
}

int scratch_make(void **state)
{
	*state = folder_make();
	return *state ? 0 : -1;
}

int scratch_remove(void **state)
{
	return folder_remove(*state);
}
