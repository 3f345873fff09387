/* SPDX-License-Identifier: MIT */
/*
 * What a file's bytes depend on outside of this program and the logic: the linker, and the programs of a generator that has some.
 *
 * Equal ones are one pointer, which lives as long as the engine.
 */
#pragma once

#include "build/engine/engine.h"

struct tools {
	const char *linker;		/* its version; NULL: files of this kind are not linked */
	const char *generator;		/* see struct generator; or NULL */
};

/* Finds them, or sees that they are the same as before. May run programs. */
int tools_identify(struct engine *engine, enum engine_kind kind, const struct tools **ret_tools, struct error *error);

/* What tools_identify() would have found last. -EAGAIN when it has not been asked. Runs nothing. */
int tools_known(struct engine *engine, enum engine_kind kind, const struct tools **ret_tools);

void tools_release(struct engine *engine);
