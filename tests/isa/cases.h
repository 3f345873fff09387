/* SPDX-License-Identifier: MIT */
/*
 * Instructions to try: every row of the table in every form it has, with each operand, modifier, offset and flag at its corners.
 * The corners come from the row (register classes, widths), so a new row is tested without a word written here.
 */
#pragma once

#include "build/isa/isa.h"

struct cases {
	struct isa_inst *inst;
	size_t n, room;
};

/* All cases that isa_encode() accepts, in table order. Asserts that every row gives at least one. */
struct cases cases_make(const struct isa *isa);

/* Those of one opcode in one form; none when the row does not have the form. */
void cases_add(struct cases *cases, const struct isa *isa, unsigned op, enum isa_form form);

void cases_release(struct cases *cases);

/*
 * Whether text and dwords can be compared. Three things cannot:
 *   - swizzle masks: two masks that do the same have the same text, and llvm-mc chooses one;
 *   - negative literals of 16-bit integers that are extended to 32 bits, as clang writes them: the text shows 16 bits;
 *   - v_fmamk, v_fmaak and their f16 kind with a dword from 128 to 255: llvm-objdump 22 prints it as if it were an operand code.
 */
bool text_is_exact(const struct isa_inst *inst);

/* Field by field: padding does not count. */
bool inst_equal(const struct isa_inst *a, const struct isa_inst *b);
