/* SPDX-License-Identifier: MIT */
#pragma once

#include "cachedb/digest.h"

/*
 * What tells an unchanged file of logic from a changed one without reading it: digest_stat(). A change time cannot be set back, so content
 * that changed under the same times is not taken for the same.
 *
 * Appends it to a digest. `settled` becomes false when the file changed so recently that another change could bear the same time, or
 * cannot be looked at: such an identity must not be remembered beyond this process.
 */
void digest_file_identity(struct digest *digest, const char *path, bool *settled);
