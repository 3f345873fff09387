/* SPDX-License-Identifier: MIT */
/*
 * The user's assembler: amdclang, clang or llvm-mc, found, identified, run.
 *
 * All of them are the same LLVM code behind other options, and give the same object for the same text (tests/upstream compares them). What goes
 * into hashes is therefore the LLVM version they report, and no path.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

struct assembler;

/* `wanted`: a path or a name on PATH; NULL: amdclang (also in /opt/rocm/llvm/bin), clang-22 ... clang-17, clang, llvm-mc-22 ... llvm-mc. Nothing is looked for yet. */
int assembler_new(const char *wanted, struct assembler **ret_assembler);
struct assembler *assembler_unref(struct assembler *assembler);
void assembler_stop(struct assembler *assembler);	/* kills what runs; from now on -ECANCELED */

/* -ENOENT: there is none, which is an error and never a table of zeros. The text lives as long as the assembler. */
int assembler_identify(struct assembler *assembler, const char **ret_version, struct error *error);

struct assembler_options {
	const char *arch;		/* "gfx942", with xnack or sramecc suffix if wanted: "gfx90a:xnack+" */
	unsigned wavefront_size;	/* 32 or 64; 0: the target's own */
	unsigned code_object_version;	/* 4, 5 or 6; 0: the assembler's default */
};

/* Text to relocatable object, in memory. -EIO: refused; the message has the assembler's first complaint with its line, and that line. */
int assembler_assemble(struct assembler *assembler, const struct assembler_options *options, const void *text, size_t size,
		       struct buffer *ret_object, struct error *error);

/*
 * Which of many snippets it accepts, each judged as if it were alone, in as few runs as there are different sets of options. Failing to run at all is an
 * error; being refused is a verdict.
 */
struct assembler_snippet {
	const char *target;		/* as -mcpu takes it */
	const char *options;		/* further options, space-separated, in clang's spelling; "" */
	const char *text;
};
int assembler_try(struct assembler *assembler, const struct assembler_snippet *snippets, size_t n, bool *ret_verdicts, struct error *error);
