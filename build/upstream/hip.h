/* SPDX-License-Identifier: MIT */
/*
 * The user's HIP compiler, for helper kernels: found, identified, run.
 *
 * amdclang++ and hipcc of ROCm; or Debian's clang with the headers of libamdhip64-dev and the device library of rocm-device-libs, which
 * knows gfx942 only under the name of gfx940.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct hip;

/* `wanted`: a path or a name on PATH; NULL: looked for. */
int hip_new(const char *wanted, struct hip **ret_hip);
struct hip *hip_unref(struct hip *hip);
void hip_stop(struct hip *hip);

/* -ENOENT: there is none that can compile for the device, with what is missing. Its version and those of what it links in; lives as long as `hip`. */
int hip_identify(struct hip *hip, const char **ret_identity, struct error *error);

/* Compiles one source file to a linked code object. `include` is a folder for #include, or NULL. */
struct hip_source {
	const char *name;		/* "Kernels.cpp" */
	const void *text;
	size_t size;
};
int hip_compile(struct hip *hip, const char *arch, const struct hip_source *sources, size_t n_sources, const char *include, struct buffer *ret_code_object,
		struct error *error);
