/* SPDX-License-Identifier: MIT */
#include "tests/common/scratch.h"

#include "base/macro.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

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

int folder_remove(char *folder)
{
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
