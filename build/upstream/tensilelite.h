/* SPDX-License-Identifier: MIT */
/*
 * The files of the user's TensileLite: what kernels depend on, and whether it is still the same.
 *
 * Its digest is SHA-256 over names and contents of everything below FOLDER/Tensile that has a part in kernels: *.py, hand-written
 * kernels (*.s) and headers of helper kernels (*.h). Times, places and the caches of python have none.
 */
#pragma once

#include "cachedb/digest.h"

struct tensilelite;

/* -ENOENT, -ENOTDIR: there is no FOLDER/Tensile/__init__.py. */
int tensilelite_new(const char *folder, struct tensilelite **ret_tensilelite, struct error *error);
struct tensilelite *tensilelite_unref(struct tensilelite *tensilelite);	/* accepts NULL, returns NULL */

const char *tensilelite_folder(const struct tensilelite *tensilelite);	/* as an absolute path */

/*
 * The digest in hexadecimal digits. Looks at the files' sizes and times, and reads them again (26 MB in hipBLASLt) when one has changed.
 * Not thread-safe: the caller has a lock.
 */
int tensilelite_identify(struct tensilelite *tensilelite, char ret_digest[static KEY_TEXT_SIZE], struct error *error);
