/* SPDX-License-Identifier: MIT */
/*
 * The assembly text that clang writes for the device side of a HIP source, and how one source becomes several that are compiled at once: less
 * memory for each, all processors for all, and an edit compiles its part again.
 *
 *     common        the headers alone, compiled
 *     prelude       what all sources have of the headers and what stands first in an object: kernel descriptors
 *     part ...      functions of one source, without what is common
 *     epilogue      the rest of what is common: code in sections of its own, variables; and the metadata of all kernels
 *
 * Each is a text for the assembler. The objects, linked in this order, give what one compilation of all sources in this order gives, byte for
 * byte: .text with its padding, .rodata, .note, .symtab (tests/upstream compares; seen with clang 19; of clang 22 the symbols that tell of
 * registers stand in another order, as its text has them in another order than its objects). That holds as long as no part has constants
 * of its own, which stand behind those of other parts in one compilation and before them here.
 *
 * Where LLVM writes what: AsmPrinter.cpp (the comments "-- Begin function" and "-- End function", variables, .ident), AMDGPUAsmPrinter.cpp
 * (descriptors, .AMDGPU.csdata, the padding behind the last function), AMDGPUTargetStreamer.cpp (metadata as YAML).
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct device_text;

/* Keeps no copy: `text` must outlive it. -EPROTO: it is not such a text. */
int device_text_parse(const struct buffer *text, struct device_text **ret_parsed, struct error *error);
struct device_text *device_text_free(struct device_text *text);		/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct device_text *, device_text_free)

/* These append, and return -ENOMEM when that failed. */
int device_text_prelude(const struct device_text *common, struct buffer *out);

/*
 * A part, and the metadata of its kernels. `last`: the one before the epilogue, which ends in other padding. -ENOTSUP: the sources cannot be
 * compiled apart, as a variable that only one compilation sees, or metadata that is not of kernels, would be there more than once, or what a
 * kernel needs for calls by address depends on all functions. A variable that no other object sees, and that each part only writes or only
 * reads, is not seen: clang removes it.
 */
int device_text_part(const struct device_text *part, const struct device_text *common, bool last, struct buffer *out, struct buffer *metadata,
		     struct error *error);

/* `metadata`: of all parts, in their order. -ENOTSUP: two parts have the same kernel. */
int device_text_epilogue(const struct device_text *common, const struct buffer *metadata, struct buffer *out, struct error *error);
