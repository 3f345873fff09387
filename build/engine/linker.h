/* SPDX-License-Identifier: MIT */
/*
 * ld.lld: found, identified, run.
 *
 * The identity that goes into hashes is the text of `ld.lld --version`, not a path. It is asked once, and again when the file behind the
 * path has changed (an upgrade under a live mount).
 */
#pragma once

#include "build/engine/objects.h"

struct linker;

#define LINKER_OLDEST 17	/* the first release that writes gfx940 code objects of version 5 */
#define LINKER_SECONDS 300	/* how long it may take; a link of hundreds of kernels takes a tenth of one */

/* `wanted` is a path or a name on PATH; NULL: ld.lld-22 ... ld.lld-17, then ld.lld. Nothing is looked for yet. */
int linker_new(const char *wanted, struct linker **ret_linker);
struct linker *linker_unref(struct linker *linker);	/* accepts NULL, returns NULL */

/* Another limit than LINKER_SECONDS, before the first use. 0: none. */
void linker_set_limit(struct linker *linker, unsigned seconds);

/* Kills what runs; from now on nothing is run and -ECANCELED is the answer. */
void linker_stop(struct linker *linker);

/*
 * Finds the linker, or sees that it is the same as before, and gives its version, which lives as long as the linker. -ENOENT when there is
 * none, -EINVAL when `wanted` is no lld or too old; tried again at the next call.
 */
int linker_identify(struct linker *linker, const char **ret_version, struct error *error);

/* Would linker_identify() answer without running a program? */
bool linker_is_current(struct linker *linker);

/* The version of the last linker_identify() that succeeded, or NULL. Never blocks on a program. */
const char *linker_version(struct linker *linker);

/* Its path, which lives as long as the linker, or NULL. */
const char *linker_path(struct linker *linker);

/*
 * Links relocatable objects to a shared one. Works in memory: no file is made. What comes back is a whole code object for the
 * processor of the objects; -EIO when the linker ended well but wrote something else, as a wrapper around it may.
 */
struct link {
	unsigned threads;
	const char *build_id;		/* as in lld's --build-id=KIND */
};
int linker_link(struct linker *linker, const struct link *link, struct objects *objects, struct buffer *ret_linked, struct error *error);
