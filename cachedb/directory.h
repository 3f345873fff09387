/* SPDX-License-Identifier: MIT */
/*
 * The directory of a cache: made, checked to be private, marked with the format version, and locked.
 *
 * Every user holds a shared flock on the file "format"; who gets it exclusively is alone and may throw a damaged database away.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct directory {
	char *name;		/* as given, for messages */
	int fd;
	int format_fd;		/* holds the flock */
	dev_t dev;
	ino_t ino;
};

#define DIRECTORY_INIT { .fd = -1, .format_fd = -1 }

/* Opens and checks the directory itself; fills all but format_fd. Made with its parents when missing, unless read_only. */
int directory_open(const char *name, bool read_only, struct directory *ret_directory, struct error *error);

/* Checks or writes the format version and takes the shared lock. Before the database is opened for the first time. */
int directory_enter(struct directory *directory, bool read_only, struct error *error);

/* Safe on half-opened ones. */
void directory_release(struct directory *directory);

/* A note for the next one to open the cache that the database is beyond repair. */
void directory_mark_damaged(const struct directory *directory);
bool directory_is_damaged(const struct directory *directory);

/* Removes the database, if nobody else has it open: -EBUSY otherwise. The caller's own must be closed. */
int directory_start_anew(const struct directory *directory);
