/* SPDX-License-Identifier: MIT */
#include "cachedb/space.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

struct space space_of(int directory_fd, const struct cachedb_min_free *min_free)
{
	struct statvfs system;

	if (fstatvfs(directory_fd, &system) < 0)
		return (struct space){ 0 };
	uint64_t part = (uint64_t)system.f_blocks * min_free->percent / 100 * system.f_frsize;
	return (struct space){ .free = (uint64_t)system.f_bavail * system.f_frsize, .keep = MIN(part, min_free->bytes) };
}

uint64_t space_growth(int directory_fd, const struct cachedb_min_free *min_free)
{
	struct space space = space_of(directory_fd, min_free);

	if (!space.keep)
		return UINT64_MAX;
	return space.free > space.keep ? space.free - space.keep : 0;
}

bool space_lacks(int directory_fd, const char *file, uint64_t bytes)
{
	struct rlimit limit;
	struct stat st;
	struct statvfs system;

	if (!fstatvfs(directory_fd, &system) && (uint64_t)system.f_bavail * system.f_frsize < bytes)
		return true;
	return !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && !fstatat(directory_fd, file, &st, 0) &&
	       (uint64_t)st.st_size + bytes > limit.rlim_cur;
}
