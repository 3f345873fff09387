/* SPDX-License-Identifier: MIT */
/*
 * The instruction set of a GPU as tables.
 *
 * One row of the table (isa_table_*.inc) describes one instruction: its mnemonic, encoding format, opcode, operands with
 * role, register class and width, what it reads and writes beside them, and its class. Everything else is made from the rows:
 *
 *     isa_encode()   struct isa_inst -> dwords             (the generator)
 *     isa_decode()   dwords -> struct isa_inst             (the emulator, the checker)
 *     isa_print()    struct isa_inst -> assembly text      (what llvm-mc accepts, as llvm-objdump prints it)
 *     isa_op_info()  the row itself                        (wait counts, hazards, the emulator)
 *
 * Sources: "AMD Instinct MI300 Instruction Set Architecture" (CDNA3) for encodings; LLVM 22 (llvm-mc, llvm-objdump
 * -mcpu=gfx942) for syntax, and as the judge in tests/isa.
 *
 * Nothing here allocates; every function is pure and may be called from any thread.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isa;			/* one target: gfx942 */

/* The target of that name ("gfx942"), or NULL. Static memory. */
const struct isa *isa_find(const char *name);

/* ---- operands --------------------------------------------------------------------------------------------------------- */

/*
 * The code of an operand is the hardware's 9-bit source code (CDNA3 ISA, section "Scalar and vector source operands"),
 * extended by a tenth bit for AccVGPRs:
 *     0..101 SGPR, 102/103 FLAT_SCRATCH, 104/105 XNACK_MASK, 106/107 VCC, 108..123 TTMP, 124 M0, 126/127 EXEC,
 *     128..192 integers 0..64, 193..208 integers -1..-16, 235..239 apertures, 240..248 floats, 251 VCCZ, 252 EXECZ, 253 SCC,
 *     255 literal (value in isa_inst.literal), 256..511 VGPR, 512..767 AccVGPR.
 * Codes from 1024 on exist only in struct isa_inst.
 */
enum {
	ISA_SGPR0 = 0,
	ISA_FLAT_SCRATCH = 102,
	ISA_XNACK_MASK = 104,
	ISA_VCC = 106,
	ISA_TTMP0 = 108,
	ISA_M0 = 124,
	ISA_EXEC = 126,
	ISA_INT0 = 128,
	ISA_INT_NEG1 = 193,
	ISA_SHARED_BASE = 235,
	ISA_HALF = 240,		/* 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 1/(2 pi) in order */
	ISA_ONE = 242,
	ISA_VCCZ = 251,
	ISA_EXECZ = 252,
	ISA_SCC = 253,
	ISA_LITERAL = 255,
	ISA_VGPR0 = 256,
	ISA_AGPR0 = 512,
	ISA_NONE = 1024,	/* an address that is "off" */
	ISA_IMM = 1025,		/* simm16, hwreg, wait count, branch distance ...: the value is in isa_inst.literal */
};

enum {
	ISA_NEG = 1,		/* source modifiers of isa_operand.mod */
	ISA_ABS = 2,
	ISA_SEXT = 4,		/* SDWA */
};

struct isa_operand {
	uint16_t code;
	uint8_t width;		/* dwords of a register operand, 0 for constants */
	uint8_t mod;		/* ISA_NEG | ISA_ABS | ISA_SEXT */
};

static inline struct isa_operand isa_vgpr(unsigned first, unsigned width)
{
	return (struct isa_operand){ .code = (uint16_t)(ISA_VGPR0 + first), .width = (uint8_t)width };
}

static inline struct isa_operand isa_agpr(unsigned first, unsigned width)
{
	return (struct isa_operand){ .code = (uint16_t)(ISA_AGPR0 + first), .width = (uint8_t)width };
}

/* Also for special registers: isa_sgpr(ISA_VCC, 2), isa_sgpr(ISA_EXEC, 2), isa_sgpr(ISA_M0, 1). */
static inline struct isa_operand isa_sgpr(unsigned first, unsigned width)
{
	return (struct isa_operand){ .code = (uint16_t)first, .width = (uint8_t)width };
}

static inline struct isa_operand isa_off(void)
{
	return (struct isa_operand){ .code = ISA_NONE };
}

/* The inline constant of an integer from -16 to 64; asserts the range. Others are an operand of code ISA_LITERAL. */
struct isa_operand isa_int(int value);

/* An inline float constant: one of 0, +-0.5, +-1, +-2, +-4, 1/(2 pi); asserts that it is one. */
struct isa_operand isa_float(double value);

/* ---- instructions ----------------------------------------------------------------------------------------------------- */

/* One opcode per mnemonic without its encoding suffix: ISA_V_ADD_U32, ISA_BUFFER_LOAD_DWORDX4, ISA_S_WAITCNT ... */
enum isa_op {
	ISA_OP_INVALID,
#define ISA_OP(op, ...) ISA_##op,
#include "build/isa/isa_table_gfx9.inc"
#undef ISA_OP
	ISA_OP_COUNT
};

enum isa_form {
	ISA_FORM_AUTO,		/* _e32 or _e64, the shortest that can hold the operands; isa_encode() chooses */
	ISA_FORM_SHORT,		/* _e32, and the only form of scalar, memory, VOP3P and MFMA instructions */
	ISA_FORM_VOP3,		/* _e64, and the only form of instructions that have no _e32 */
	ISA_FORM_SDWA,
	ISA_FORM_DPP,
};

#define ISA_MAX_OPERANDS 6
#define ISA_MAX_DWORDS 3

enum {				/* isa_inst.flags, named as printed */
	ISA_CLAMP = 1u << 0,
	ISA_GLC = 1u << 1,	/* sc0 of vector memory on gfx940; glc of scalar memory */
	ISA_NT = 1u << 2,
	ISA_SC1 = 1u << 3,
	ISA_OFFEN = 1u << 4,
	ISA_IDXEN = 1u << 5,
	ISA_LDS = 1u << 6,
	ISA_GDS = 1u << 7,
	ISA_BOUND_CTRL = 1u << 8,
};
#define ISA_SC0 ISA_GLC

/*
 * Operands stand in the order LLVM prints them, destinations first, implicit-looking ones included where LLVM prints them:
 * v_add_co_u32_e32 v0, vcc, v1, v2 has four. Stores have no destination. Scalar memory: sdata, sbase, (soffset).
 * buffer: vdata, vaddr (isa_off() without offen/idxen), srsrc, soffset. global: vdst/vdata and vaddr in printed order, saddr
 * or isa_off(). ds: vdst, addr, data0, data1 as printed; offset0 in the low byte of `offset`, offset1 in the next (ds_read2).
 *
 * Operands may be fewer than the row has in these cases only:
 *   - scalar memory without a soffset register: the last operand is missing, `offset` is the 21-bit signed immediate;
 *   - buffer loads with ISA_LDS: vdata is missing, the data goes to LDS at M0;
 *   - flat, global and scratch atomics without ISA_SC0: vdst is missing. Buffer and scalar atomics keep their data operand, which
 *     is written only with ISA_SC0 (its role in the row is ISA_ROLE_DST_SRC).
 * s_setreg_imm32_b32 has two numbers: the hwreg is in `offset`, the dword in `literal`.
 *
 * Zero in all other fields is the plain instruction, except that
 *   - op_sel_hi of packed instructions (isa_op_info.packed) is encoded as it stands: all ones for the plain operation;
 *   - in the DPP form the masks, in the SDWA form the selects are encoded as they stand: 0xf and 6 for the plain operation.
 * v_fma_mix* has ISA_NEG and ISA_ABS in the operand's mod, like VOP3; packed instructions have neg_lo and neg_hi instead.
 * Ignored are: `literal` when no operand refers to it, the fields of SDWA and DPP in other forms, selects of sources that are not
 * there, bits of op_sel_hi above the last source.
 */
struct isa_inst {
	uint16_t op;		/* enum isa_op */
	uint8_t form;		/* enum isa_form */
	uint8_t n_operands;
	struct isa_operand operand[ISA_MAX_OPERANDS];
	uint32_t literal;	/* the 32-bit literal, or the value of an ISA_IMM operand */
	int32_t offset;		/* memory offset in bytes */
	uint16_t flags;
	uint8_t omod;		/* 0, 1 (*2), 2 (*4), 3 (/2) */
	uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;	/* VOP3P and VOP3 op_sel, bit i = source i (VOP3 op_sel bit 3 = dst) */
	uint8_t cbsz, abid, blgp;	/* MFMA */
	uint8_t format;		/* MTBUF: dfmt in the low four bits, nfmt above */
	uint16_t dpp_ctrl;
	uint8_t row_mask, bank_mask;	/* DPP, 0xf by default */
	uint8_t dst_sel, dst_unused, src0_sel, src1_sel;	/* SDWA; the encoded values, 6 = DWORD */
};

/*
 * Writes 1 to ISA_MAX_DWORDS dwords and returns how many, or -EINVAL when the instruction cannot say what is asked of it: the class,
 * width or alignment of a register (VGPR tuples start even), more than one scalar value read by a vector instruction, a literal in
 * VOP3, an offset out of range, a modifier that has no place ... What llvm-mc refuses is refused here.
 *
 * A literal of an f64 or packed f16 operand that an inline constant can say is refused as well: text cannot tell them apart.
 */
int isa_encode(const struct isa *isa, const struct isa_inst *inst, uint32_t ret_dwords[ISA_MAX_DWORDS]);

/* Reads one instruction from `dwords`, of which `n` are there. Returns the number consumed, or -EILSEQ for what isa_encode() never
 * writes (ret_inst is then untouched). The form is the one found: isa_encode() gives the same dwords back. */
int isa_decode(const struct isa *isa, const uint32_t *dwords, size_t n, struct isa_inst *ret_inst);

/*
 * Text in LLVM's syntax, with the _e32/_e64/_sdwa/_dpp suffix as llvm-objdump prints it, NUL terminated. Returns its length, -ENOSPC,
 * or -EINVAL (no such opcode, too many operands); what isa_encode() refuses otherwise is printed as well as it can be. Branch targets
 * are printed as the 16 bits of the instruction (65535 is one dword back), as llvm-objdump does without symbols.
 */
int isa_print(const struct isa *isa, const struct isa_inst *inst, char *text, size_t size);

/* ---- the row ---------------------------------------------------------------------------------------------------------- */

enum isa_unit {			/* who executes it; decides counters, hazards and what the emulator does */
	ISA_UNIT_SALU,		/* includes s_nop, s_waitcnt, s_barrier, branches: see isa_op_info.kind */
	ISA_UNIT_SMEM,
	ISA_UNIT_VALU,
	ISA_UNIT_MFMA,		/* and v_accvgpr_* do NOT belong here: they are VALU */
	ISA_UNIT_VMEM,		/* buffer */
	ISA_UNIT_FLAT,		/* flat, global, scratch: see kind */
	ISA_UNIT_LDS,		/* ds_* */
};

enum isa_kind {			/* refines the unit where a pass must know */
	ISA_KIND_PLAIN,
	ISA_KIND_TRANS,		/* VALU transcendental: v_rcp, v_exp, v_log, v_sqrt, v_rsq, v_sin, v_cos */
	ISA_KIND_LOAD,
	ISA_KIND_STORE,
	ISA_KIND_ATOMIC,	/* returns a value when ISA_SC0 is set; of LDS the ones that have a destination (ds_*_rtn) do */
	ISA_KIND_CACHE,		/* buffer_wbl2, buffer_inv, s_dcache_* */
	ISA_KIND_BRANCH,	/* s_branch, s_cbranch_* */
	ISA_KIND_JUMP,		/* s_setpc, s_swappc, s_call */
	ISA_KIND_END,		/* s_endpgm */
	ISA_KIND_BARRIER,
	ISA_KIND_WAIT,		/* s_waitcnt */
	ISA_KIND_NOP,		/* s_nop */
	ISA_KIND_MODE,		/* s_setreg, s_setprio, s_sleep, s_sethalt ... */
};

enum isa_role { ISA_ROLE_DST, ISA_ROLE_SRC, ISA_ROLE_DST_SRC };

enum {				/* implicit reads and writes of a row, not among the printed operands */
	ISA_IMPLICIT_SCC = 1,
	ISA_IMPLICIT_VCC = 2,
	ISA_IMPLICIT_EXEC = 4,
	ISA_IMPLICIT_M0 = 8,
};

struct isa_operand_info {
	uint8_t role;		/* enum isa_role */
	uint8_t width;		/* dwords */
	uint8_t type;		/* enum isa_type: what the bits mean, for constants and for the emulator */
	uint8_t allowed;	/* ISA_ALLOW_* */
	uint8_t field;		/* enum isa_field: where the encoding keeps it */
};

enum isa_type {
	ISA_TYPE_B16, ISA_TYPE_B32, ISA_TYPE_B64, ISA_TYPE_F16, ISA_TYPE_F32, ISA_TYPE_F64, ISA_TYPE_I16, ISA_TYPE_I32, ISA_TYPE_I64,
	ISA_TYPE_PK16, ISA_TYPE_PKF16, ISA_TYPE_PKF32,
	ISA_TYPE_WIDE,		/* 96 bits and more, or the elements of a matrix: the opcode knows */
	/* ISA_IMM operands: how the number in isa_inst.literal is meant and printed */
	ISA_TYPE_SIMM16, ISA_TYPE_UIMM16, ISA_TYPE_BRANCH, ISA_TYPE_WAITCNT, ISA_TYPE_HWREG, ISA_TYPE_SENDMSG, ISA_TYPE_GPR_IDX,
	ISA_TYPE_COUNT,		/* s_nop, s_sleep ...: decimal */
	ISA_TYPE_ENDPGM,	/* decimal, not printed when 0 */
};

/* Fields of the encodings, named as in the ISA document. */
enum isa_field {
	ISA_FIELD_NONE,
	ISA_FIELD_SDST, ISA_FIELD_SSRC0, ISA_FIELD_SSRC1, ISA_FIELD_SIMM16,
	ISA_FIELD_SDATA, ISA_FIELD_SBASE, ISA_FIELD_SOFFSET,
	ISA_FIELD_VDST, ISA_FIELD_SRC0, ISA_FIELD_SRC1, ISA_FIELD_SRC2,
	ISA_FIELD_CARRY_OUT,	/* sdst of VOP3B; VCC in the other forms */
	ISA_FIELD_CARRY_IN,	/* src2 of VOP3; VCC in the other forms */
	ISA_FIELD_LITERAL,	/* the dword after the instruction (v_fmamk, v_fmaak, s_setreg_imm32) */
	ISA_FIELD_ADDR, ISA_FIELD_DATA0, ISA_FIELD_DATA1,	/* DS and FLAT */
	ISA_FIELD_SADDR,
	ISA_FIELD_VDATA, ISA_FIELD_VADDR, ISA_FIELD_SRSRC,	/* buffer; its soffset is ISA_FIELD_SOFFSET */
	ISA_FIELD_COUNT
};

enum { ISA_ALLOW_SGPR = 1, ISA_ALLOW_VGPR = 2, ISA_ALLOW_AGPR = 4, ISA_ALLOW_CONST = 8, ISA_ALLOW_LITERAL = 16, ISA_ALLOW_IMM = 32,
       ISA_ALLOW_OFF = 64 };

struct isa_op_info {
	const char *name;	/* "v_add_u32", without encoding suffix */
	uint8_t unit;		/* enum isa_unit */
	uint8_t kind;		/* enum isa_kind */
	uint8_t n_operands;
	uint8_t implicit_reads, implicit_writes;	/* ISA_IMPLICIT_* */
	uint8_t mfma_passes;	/* MFMA: 2, 4, 8, 16 passes of 4 cycles (CDNA3 ISA, "MFMA"; LLVM SISchedule.td), else 0 */
	bool d16;		/* a load of 16 (or 8) bits into one half: with SRAM ECC it writes the whole register */
	bool packed;		/* VOP3P that honours op_sel_hi and whose default is all ones (2 or 3 bits) */
	bool xdl;		/* MFMA: counts as XDL in the hazard rules (all but f32 and f64 "SGEMM/DGEMM") */
	struct isa_operand_info operand[ISA_MAX_OPERANDS];
};

/* The rows by enum isa_op; row 0 is empty. For isa_op_info() below, which is in the inner loops of the passes. */
extern const struct isa_op_info isa_op_infos[ISA_OP_COUNT];

/*
 * The row of an opcode; asserts that op is valid. Operand rows describe the form with the most operands. What a single instruction
 * can add is not in the row: buffer loads with ISA_LDS read M0; DPP with masks or without bound_ctrl, SDWA with UNUSED_PRESERVE and
 * op_sel with the destination's bit keep a part of what the destination held.
 */
static inline const struct isa_op_info *isa_op_info(const struct isa *isa, unsigned op)
{
	assert(isa);
	assert(op > ISA_OP_INVALID && op < ISA_OP_COUNT);

	return &isa_op_infos[op];
}

/* s_waitcnt of gfx9: vmcnt 0..63, expcnt 0..7, lgkmcnt 0..15, packed as simm16 and back. The largest value means "do not wait". */
uint16_t isa_waitcnt_pack(unsigned vmcnt, unsigned expcnt, unsigned lgkmcnt);
void isa_waitcnt_unpack(uint16_t simm16, unsigned *ret_vmcnt, unsigned *ret_expcnt, unsigned *ret_lgkmcnt);
