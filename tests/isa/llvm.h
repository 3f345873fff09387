/* SPDX-License-Identifier: MIT */
/*
 * LLVM as the judge: text goes through llvm-mc into an object and comes back from llvm-objdump as dwords and text.
 *
 * meson puts the paths of the tools into LLVM_MC and LLVM_OBJDUMP; llvm_available() says whether both are there, so that
 * a test can exit with 77 (skipped) when they are not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct llvm_line {
	char *text;		/* as llvm-objdump prints it, one blank between words */
	uint32_t dwords[3];
	unsigned n_dwords;
};

struct llvm_listing {
	struct llvm_line *line;
	size_t n;
};

bool llvm_available(void);

/* Assembles `source`, one instruction a line, and lists the result. llvm-mc's complaints go to stderr. 0 or a negative errno;
 * -EBADMSG when llvm-mc refuses a line. Free the listing with llvm_listing_release(). */
int llvm_assemble(const char *source, struct llvm_listing *ret_listing);

/* Disassembles `n` dwords, of which every instruction starts where the one before ends. Dwords that are no instruction are listed
 * as ".long ...". */
int llvm_disassemble(const uint32_t *dwords, size_t n, struct llvm_listing *ret_listing);

void llvm_listing_release(struct llvm_listing *listing);
