/* SPDX-License-Identifier: MIT */
/*
 * The user's assembler as a struct program: amdclang, clang or llvm-mc.
 *
 * All of them are the same LLVM code behind other options, and give the same object for the same text (tests/upstream compares them). What goes
 * into hashes is therefore the LLVM version they report, and no path.
 */
#pragma once

#include "build/process/program.h"

/*
 * `wanted`: a path or a name on PATH. NULL: ROCm's amdclang (on PATH, else below $ROCM_PATH or /opt/rocm); else the newest of llvm-mc-N and
 * clang-N, 22 to 17, of which llvm-mc starts faster; else llvm-mc, clang. Nothing is looked for yet.
 *
 * What is found is called "LLVM 22.1.8"; AMD's own and unreleased versions as the line that they print. It has assembled something for
 * gfx942 by then. -ENOENT: there is none, which is an error and never a table of zeros; -EINVAL, -EIO: `wanted` is something else, too
 * old, or does not work.
 */
int assembler_new(const char *wanted, struct program **ret_assembler);

struct assembler_options {
	const char *arch;		/* "gfx942", with xnack or sramecc suffix if wanted: "gfx90a:xnack+" */
	unsigned wavefront_size;	/* 32 or 64; 0: the target's own */
	unsigned code_object_version;	/* 4, 5 or 6; 0: the assembler's default */
};

/* Text to relocatable object, in memory. -EIO: refused; the message has the assembler's first complaint with its line, and that line. */
int assembler_assemble(struct program *assembler, const struct assembler_options *options, const void *text, size_t size,
		       struct buffer *ret_object, struct error *error);

/*
 * Which of many snippets it accepts, each judged as if it were alone: accepted is what is assembled without a word, not even a warning. All
 * plain instructions of a target and a set of options take one run, or two when some are refused; what is more than instructions
 * (directives, labels, comments ...) takes one each; at most two runs at once. Failing to run is an error, of which the message has the
 * snippet that made it crash; being refused is a verdict. On failure ret_verdicts is as it was.
 */
struct assembler_snippet {
	const char *target;		/* as -mcpu takes it */
	const char *options;		/* further options, space-separated, in clang's spelling; "" */
	const char *text;
};
int assembler_try(struct program *assembler, const struct assembler_snippet *snippets, size_t n, bool *ret_verdicts, struct error *error);
