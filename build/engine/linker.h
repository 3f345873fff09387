/* SPDX-License-Identifier: MIT */
/* ld.lld as a struct program: how it is found and identified, and what it is run for. */
#pragma once

#include "build/engine/objects.h"
#include "build/process/program.h"

#define LINKER_OLDEST 17	/* the first release that writes gfx940 code objects of version 5 */
#define LINKER_SECONDS 300	/* how long it may take; a link of hundreds of kernels takes a tenth of one */

/*
 * `wanted` is a path or a name on PATH; NULL: ld.lld-22 ... ld.lld-17, then ld.lld. Nothing is looked for yet. What is found is identified by
 * the text of `ld.lld --version`; -EINVAL when `wanted` is no lld or too old.
 */
int linker_new(const char *wanted, struct program **ret_linker);

/*
 * Links relocatable objects to a shared one. Works in memory: no file is made. What comes back is a whole code object for the
 * processor of the objects. After program_identify(). -EIO when the linker ended well but wrote something else, as a wrapper around it may.
 */
struct link {
	unsigned threads;
	const char *build_id;		/* as in lld's --build-id=KIND */
};
int linker_link(struct program *linker, const struct link *link, struct objects *objects, struct buffer *ret_linked, struct error *error);
