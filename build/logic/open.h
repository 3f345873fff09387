/* SPDX-License-Identifier: MIT */
/* How the files of a folder are opened without leaving it. Internal to build/logic. */
#pragma once

#include "build/logic/logic.h"

#define LEADS_OUT "a link of another user leads out of the folder"

/*
 * A descriptor, or a negative errno: -EXDEV when a link on the way from the folder to `name` leads out of it (or has an absolute
 * path) and neither we nor root made it.
 */
int open_inside(const char *folder, const char *name, int flags);

/* For reading, without waiting for the other end of a pipe. */
int logic_file_open(const struct logic_file *file, int *ret_fd, struct error *error);
