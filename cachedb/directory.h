/* SPDX-License-Identifier: MIT */
/*
 * The directory of a cache: made, checked to be private, marked with the format version, and locked.
 *
 * Every user holds a shared flock on the file "format"; who gets it exclusively is alone and may replace the database or throw it
 * away.
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

/*
 * Opens and checks the directory and the modes of what lies in it; fills all but format_fd. Made with its parents when missing,
 * unless read_only. A symbolic link to it has to be the user's own or root's.
 */
int directory_open(const char *name, bool read_only, struct directory *ret_directory, struct error *error);

/* Checks or writes the format version and takes the shared lock. Before the database is opened for the first time. */
int directory_enter(struct directory *directory, bool read_only, struct error *error);

/* Safe on half-opened ones. */
void directory_release(struct directory *directory);

/* A note for the next one to open the cache that the database is beyond repair. */
void directory_mark_damaged(const struct directory *directory);
bool directory_is_damaged(const struct directory *directory);

/*
 * Makes the shared lock an exclusive one, for a moment: who opens the cache then waits. -EBUSY when another process uses the cache.
 * The caller's database must be closed, as the lock is not held at all in between.
 */
int directory_be_alone(const struct directory *directory);
void directory_share(const struct directory *directory);	/* the end of it */

/* Removes the database, if nobody else has it open: -EBUSY otherwise. The caller's own must be closed. */
int directory_start_anew(const struct directory *directory);
