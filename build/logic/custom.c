/* SPDX-License-Identifier: MIT */
/* Where the sources of hand-written kernels are. What is read of them: solution_read_custom(). */
#include "build/logic/logic.h"

#include <sys/stat.h>

int logic_find_custom_kernels(const char *folder, char **ret_folder)
{
	static const char inside[] = "tensilelite/Tensile/CustomKernels";
	_cleanup_free_ char *ancestor = realpath(folder, NULL);
	struct stat st;

	for (char *slash; ancestor && (slash = strrchr(ancestor, '/')); ) {
		char *candidate;
		*slash = 0;
		if (asprintf(&candidate, "%s/%s", ancestor, inside) < 0)
			return -ENOMEM;
		if (stat(candidate, &st) == 0 && S_ISDIR(st.st_mode)) {
			*ret_folder = candidate;
			return 0;
		}
		free(candidate);
	}
	*ret_folder = NULL;
	return 0;
}
