/* SPDX-License-Identifier: MIT */
/*
 * The user's HIP compiler as a struct program, for helper kernels.
 *
 * amdclang++ and hipcc of ROCm; or Debian's clang with the headers of libamdhip64-dev and the device library of rocm-device-libs, which
 * knows gfx942 only under the name of gfx940.
 */
#pragma once

#include "build/process/program.h"

/*
 * `wanted`: a path or a name on PATH. NULL: ROCm's amdclang++ or hipcc (on PATH, else below $ROCM_PATH or /opt/rocm), else clang++ of a
 * distribution, 19 first: its HIP headers and device library are older than its newest clang. Nothing is looked for yet.
 *
 * What is found is identified by the version of the compiler, and a digest of the headers and of the parts of the device library that go into an
 * object; nothing is compiled for it. -ENOENT: none of those that were looked for will do, or
 * something is missing; the message says what. Asked again when the compiler changes, not when only headers or libraries do.
 */
int hip_new(const char *wanted, struct program **ret_hip);

/*
 * Compiles sources[0], with upstream's options, to assembly text for the device (device_text.h). The other sources lie beside it for #include. The
 * same sources give the same text: no path gets into it. Works in a folder in $TMPDIR or /tmp that is gone afterwards. -EIO: the message
 * has the first error, as "Kernels.cpp:12:3: error: ...".
 */
struct hip_source {
	const char *name;		/* "Kernels.cpp" */
	const void *text;
	size_t size;
};
int hip_compile(struct program *hip, const char *arch, const struct hip_source *sources, size_t n_sources, struct buffer *ret_text, struct error *error);
