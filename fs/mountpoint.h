/* SPDX-License-Identifier: MIT */
/*
 * The folder that is mounted on, before and after.
 *
 *     r = mountpoint_find("mnt", &path, &error);            // a folder; what a dead daemon left on it is gone
 *     r = mountpoint_check_empty(path, &error);             // nothing would be hidden
 *     ... mount, serve ...
 *     r = mountpoint_unmount(path, true);
 *
 * Knows no more of FUSE than that a daemon may die: its mount then stays, and answers ENOTCONN (Linux fs/fuse/dev.c).
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* The folder's absolute name, malloc memory, after a dead mount on it is removed. -ENOENT, -ENOTDIR and what the system says. */
int mountpoint_find(const char *mountpoint, char **ret_path, struct error *error);

/* -EBUSY when something is mounted there, -ENOTEMPTY. A folder that cannot be read counts as empty: mounting will say what is wrong. */
int mountpoint_check_empty(const char *mountpoint, struct error *error);

/* Would a mount on the absolute path `mountpoint` hide `path`? */
bool mountpoint_hides(const char *mountpoint, const char *path);

/* Would it be found below `path`? */
bool mountpoint_is_below(const char *mountpoint, const char *path);

/* Lazily: the name is gone at once, open files live on; else only a mount that nobody uses. Normal users need the setuid helper for it. */
int mountpoint_unmount(const char *mountpoint, bool lazily);

/* 0 also when there is none. */
int mountpoint_remove_dead(const char *mountpoint);

/* Is there a mount of FUSE on this absolute path? Asks the kernel's list and not the path, where an automounter would mount again. */
bool mountpoint_is_fuse(const char *mountpoint);
