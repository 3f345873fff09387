/* SPDX-License-Identifier: MIT */
#include "build/engine/identity.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#define SETTLED_NS 20000000ll	/* kernels before 6.13 stamp files with the timer tick's time, 10 ms at worst */

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000ll + time->tv_nsec;
}

void digest_file_identity(struct digest *digest, const char *path, bool *settled)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (stat(path, &st) < 0) {
		digest_number(digest, (uint64_t)errno);		/* reading it will say why; it may come back */
		*settled = false;
		return;
	}
	digest_number(digest, st.st_dev);
	digest_number(digest, st.st_ino);
	digest_number(digest, (uint64_t)st.st_size);
	digest_number(digest, (uint64_t)nanoseconds(&st.st_mtim));
	digest_number(digest, (uint64_t)nanoseconds(&st.st_ctim));
	if (nanoseconds(&st.st_ctim) + SETTLED_NS >= nanoseconds(&now))
		*settled = false;
}
