/* SPDX-License-Identifier: MIT */
#pragma once

#include "build/engine/internal.h"

struct catalog_change {
	struct engine_file *file;
	enum engine_change change;
};

struct catalog_changes {
	struct catalog_change *changes;	/* to be freed */
	size_t n;
};

/*
 * Makes the files those of an edition; with engine->lock held, or before anybody else knows the engine. `before` is the edition whose
 * files they are so far, or NULL. The changes are appended; after -ENOMEM they may be incomplete.
 */
int catalog_take(struct engine *engine, const struct edition *before, const struct edition *edition, struct catalog_changes *changes);

void catalog_release(struct engine *engine);
