/* SPDX-License-Identifier: MIT */
#pragma once

#include "build/engine/generator.h"
#include "build/upstream/upstream.h"

/* The objects of all helper kernels of a file, to be linked. At least one helper. */
int helper_parts_make(struct engine_file *file, struct upstream *upstream, const struct helpers *helpers, struct objects **ret_objects,
		      struct error *error);
