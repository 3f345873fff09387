/* SPDX-License-Identifier: MIT */
#include "build/engine/identity.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/stat.h>

#define SETTLED_NS 20000000ll	/* kernels before 6.13 stamp files with the timer tick's time, 10 ms at worst */

void digest_file_identity(struct digest *digest, const char *path, bool *settled)
{
	int64_t now = wall_ns();
	struct stat st;

	if (stat(path, &st) < 0) {
		digest_number(digest, (uint64_t)errno);		/* reading it will say why; it may come back */
		*settled = false;
		return;
	}
	digest_stat(digest, &st);
	if (timespec_ns(&st.st_ctim) + SETTLED_NS >= now)
		*settled = false;
}
