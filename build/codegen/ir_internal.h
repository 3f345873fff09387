/* SPDX-License-Identifier: MIT */
/*
 * What an ir consists of: for the passes, and for nobody else.
 *
 * Instructions stand in one array. Labels and comments name a place in it: the index of the instruction that follows. The literal
 * of a branch is the number of its label until the encoder puts the distance there.
 */
#pragma once

#include "build/codegen/ir.h"

#define IR_NOWHERE UINT32_MAX

struct ir_label {
	uint32_t name;		/* offset in ir.text */
	uint32_t position;	/* IR_NOWHERE until placed */
};

struct ir_comment {
	uint32_t position;
	uint32_t line;		/* offset in ir.text */
};

struct ir {
	const struct isa *isa;
	struct isa_inst *insts;
	size_t count, allocated;
	struct ir_label *labels;
	size_t n_labels, allocated_labels;
	struct ir_comment *comments;	/* by position */
	size_t n_comments, allocated_comments;
	struct buffer text;	/* NUL terminated names and comments */
	unsigned long_branch_sgpr;
	bool has_long_branch_sgpr;
	bool finished;
	int error;		/* the first one, returned by ir_finish() */
	struct error error_words;
	struct isa_inst spare;	/* where emitting goes after an error */
};

/* Something to put in front of an instruction. */
struct ir_insertion {
	uint32_t position;
	struct isa_inst inst;
};

/*
 * Rebuilds the instructions in one go: `insertions` (by position, several may share one) are put in, instructions whose bit in
 * `removed` is set are left out (NULL: none). A label in front of an instruction stands in front of what is inserted there.
 */
int ir_rebuild(struct ir *ir, const struct ir_insertion *insertions, size_t n_insertions, const uint64_t *removed);

/* Keeps the first error and its words. Returns the one that is kept. */
PRINTF_LIKE(3, 4) int ir_fail(struct ir *ir, int error, const char *format, ...);

/* Is the literal of this instruction the number of a label? */
static inline bool ir_refers_to_label(const struct ir *ir, const struct isa_inst *inst)
{
	return isa_op_info(ir->isa, inst->op)->kind == ISA_KIND_BRANCH || inst->op == ISA_S_CALL_B64;
}

/*
 * Puts an s_waitcnt in front of each instruction that needs one (wait.h), and s_nop in front of those that come too early even so
 * (hazard.h).
 */
int ir_wait(struct ir *ir);

/* Puts far branches in their long form and writes the machine code; branch literals are distances in dwords afterwards. */
int ir_encode(struct ir *ir, struct buffer *code, struct ir_stats *stats);
