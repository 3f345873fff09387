/* SPDX-License-Identifier: MIT */
/*
 * A kernel under construction: a straight list of instructions with labels in it, on physical registers.
 *
 *     struct ir *ir;  ir_new(isa, &ir);
 *     ir_label_id loop = ir_label_new(ir, "loop");
 *     ir_label(ir, loop);                                          // here
 *     EMIT(ir, ISA_V_ADD_U32, isa_vgpr(0, 1), isa_vgpr(1, 1), isa_vgpr(2, 1));
 *     EMIT(ir, ISA_BUFFER_LOAD_DWORDX4, v, vaddr, srsrc, soffset)->flags |= ISA_OFFEN;
 *     EMIT_LITERAL(ir, 0x1234, ISA_S_MOV_B32, isa_sgpr(4, 1), IR_LITERAL);
 *     ir_branch(ir, ISA_S_CBRANCH_SCC1, loop);
 *     ir_finish(ir, &code, &error, &stats);                        // passes, then encoding
 *
 * Generators write no s_waitcnt and no s_nop for correctness (one that they do write is kept, and counts): ir_finish() runs the
 * passes in this order
 *     1. ir_dedup       removes assignments that give a register the value it already has
 *     2. ir_wait        wait counts (wait.h) and wait states (hazard.h), over the control flow graph
 *     3. encoding       label distances; a branch out of the range of simm16 becomes a long jump
 * Scheduling is the generator's: instructions stay in the order in which they are emitted.
 *
 * Errors: emitting never fails on the spot; the first error (no memory, an instruction that does not encode) is kept and
 * returned by ir_finish(), with the text of the instruction.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "build/isa/isa.h"

typedef uint32_t ir_label_id;

struct ir;

int ir_new(const struct isa *isa, struct ir **ret_ir);
struct ir *ir_unref(struct ir *ir);
DEFINE_CLEANUP(struct ir *, ir_unref)

const struct isa *ir_isa(const struct ir *ir);

/* A label is made, placed once, and used by any number of branches before or after. The name is copied; it appears in listings. */
ir_label_id ir_label_new(struct ir *ir, const char *name);
void ir_label(struct ir *ir, ir_label_id label);

/*
 * Appends an instruction with these operands; the result may be changed until the next call (modifiers, offset, flags). Never NULL.
 * What a modifier left out means in assembly is set already: op_sel_hi of packed instructions, the lane masks of DPP, the whole
 * dword for SDWA.
 */
struct isa_inst *ir_emit(struct ir *ir, unsigned op, const struct isa_operand *operands, unsigned n_operands);
#define EMIT(ir, op, ...)                                                                          \
	ir_emit(ir, op, (const struct isa_operand[]){ __VA_ARGS__ },                               \
		sizeof((const struct isa_operand[]){ __VA_ARGS__ }) / sizeof(struct isa_operand))

/* The same with a 32-bit literal; the operand that holds it is IR_LITERAL. Also for the value of an ISA_IMM operand (IR_IMM). */
#define IR_LITERAL ((struct isa_operand){ .code = ISA_LITERAL })
#define IR_IMM ((struct isa_operand){ .code = ISA_IMM })
#define EMIT_LITERAL(ir, value, op, ...) (EMIT(ir, op, __VA_ARGS__)->literal = (uint32_t)(value))

/*
 * op is one of the branches (ISA_S_BRANCH, ISA_S_CBRANCH_*). One that ends up more than 128 KiB from its label becomes a jump
 * through the SGPR pair of ir_set_long_branch_sgpr(): s_getpc_b64, s_add_u32, s_addc_u32, s_setpc_b64, with the condition
 * inverted around it. Such a jump destroys SCC on its way, so no code may carry SCC over a branch; without a pair, ir_finish()
 * returns -ERANGE.
 */
void ir_branch(struct ir *ir, unsigned op, ir_label_id label);

/* The aligned SGPR pair that far branches and calls may destroy. Choose one when the kernel may pass 128 KiB. */
void ir_set_long_branch_sgpr(struct ir *ir, unsigned pair);

/*
 * Calls the code at a label (s_call_b64, or s_swappc_b64 through the long branch pair): the return address is left in the aligned
 * SGPR pair `link`, and the callee returns with s_setpc_b64 of it. The passes see through calls: what is outstanding at a call is
 * so in the callee, and what is outstanding at any return is so after every call of the kernel.
 */
void ir_call(struct ir *ir, ir_label_id callee, unsigned link_sgpr);

/* A line of comment for listings, attached to the next instruction. Costs nothing in the code. */
PRINTF_LIKE(2, 3) void ir_comment(struct ir *ir, const char *format, ...);

struct ir_stats {		/* what the passes found; for kernel descriptors and for `tensilefs show` */
	unsigned vgprs, agprs, sgprs;	/* highest register used + 1; sgprs without VCC and the like */
	bool uses_vcc;
	size_t instructions, waits, nops, dwords;
};

/*
 * Runs the passes and appends the machine code to `code`, which holds whole dwords. The ir is then finished: only ir_print() may
 * follow.
 */
int ir_finish(struct ir *ir, struct buffer *code, struct error *error, struct ir_stats *ret_stats);

/* A listing in assembly that llvm-mc turns into the same bytes: labels, instructions, comments. */
void ir_print(const struct ir *ir, struct buffer *text);
