/* SPDX-License-Identifier: MIT */
/*
 * The table itself: turns the ISA_OP() lines of isa_table_gfx9.inc into rows.
 *
 * The words of a line are short because there are 1,147 lines. Operands are named by the field they live in, with (width in
 * dwords, type) where it varies; the second letter D is a destination, X one that is read too:
 *
 *     SD SX S0 S1 SK     scalar destination, sources 0 and 1; SK is a source that lives in the destination's field
 *     Q0 Q1              scalar sources that must be registers
 *     IMM LIT            the 16-bit constant of the instruction word, the dword after it
 *     LD LX LS SB SO     scalar memory: data loaded, exchanged, stored; base; offset
 *     VD VX AD VL        vector destination: VGPR, AccVGPR, SGPR (a lane mask or one lane's value)
 *     V0 V1 V2           vector sources: registers of both kinds and constants
 *     R0 R1 R2 X0 A0     sources that must be a VGPR (X0 is written too) or an AccVGPR
 *     L0 L1              sources that must be scalar
 *     VC C2              carry out and carry in (or select mask), a pair of SGPRs
 *     MD MX MA MB MC     matrix operands, VGPR or AccVGPR; C may be a constant
 *     DD DA D0 D1        LDS: destination, address, data
 *     BD BX BS BA BR BO  buffer: data loaded, exchanged, stored; address, resource, offset
 *     FD F0 FA           flat: destination, data, 64-bit address
 *     GA GS PA PS        global and scratch (private): vector address, scalar address
 */
#include "build/isa/isa_row.h"

#include <assert.h>
#include <string.h>

struct isa {
	const char *name;
};

#define SGPR ISA_ALLOW_SGPR
#define VGPR ISA_ALLOW_VGPR
#define AGPR ISA_ALLOW_AGPR
#define CONST ISA_ALLOW_CONST
#define LITERAL ISA_ALLOW_LITERAL
#define OFF ISA_ALLOW_OFF

#define OPERAND(role_, field_, width_, type_, allowed_) \
	{ .role = ISA_ROLE_##role_, .width = width_, .type = type_, .allowed = allowed_, .field = ISA_FIELD_##field_ }

#define SD(w, t) OPERAND(DST, SDST, w, ISA_TYPE_##t, SGPR)
#define SX(w, t) OPERAND(DST_SRC, SDST, w, ISA_TYPE_##t, SGPR)
#define SK(w, t) OPERAND(SRC, SDST, w, ISA_TYPE_##t, SGPR)
#define S0(w, t) OPERAND(SRC, SSRC0, w, ISA_TYPE_##t, SGPR | CONST | LITERAL)
#define S1(w, t) OPERAND(SRC, SSRC1, w, ISA_TYPE_##t, SGPR | CONST | LITERAL)
#define Q0(w, t) OPERAND(SRC, SSRC0, w, ISA_TYPE_##t, SGPR)
#define Q1(w, t) OPERAND(SRC, SSRC1, w, ISA_TYPE_##t, SGPR)
#define IMM(t) OPERAND(SRC, SIMM16, 0, ISA_TYPE_##t, ISA_ALLOW_IMM)
#define LIT(t) OPERAND(SRC, LITERAL, 1, ISA_TYPE_##t, LITERAL)

#define LD(w, t) OPERAND(DST, SDATA, w, ISA_TYPE_##t, SGPR)
#define LX(w, t) OPERAND(DST_SRC, SDATA, w, ISA_TYPE_##t, SGPR)
#define LS(w, t) OPERAND(SRC, SDATA, w, ISA_TYPE_##t, SGPR)
#define SB(w, t) OPERAND(SRC, SBASE, w, ISA_TYPE_##t, SGPR)
#define SO(w, t) OPERAND(SRC, SOFFSET, w, ISA_TYPE_##t, SGPR)

#define VD(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, VGPR)
#define VX(w, t) OPERAND(DST_SRC, VDST, w, ISA_TYPE_##t, VGPR)
#define AD(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, AGPR)
#define VL(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, SGPR)
#define V0(w, t) OPERAND(SRC, SRC0, w, ISA_TYPE_##t, SGPR | VGPR | CONST | LITERAL)
#define V1(w, t) OPERAND(SRC, SRC1, w, ISA_TYPE_##t, SGPR | VGPR | CONST)
#define V2(w, t) OPERAND(SRC, SRC2, w, ISA_TYPE_##t, SGPR | VGPR | CONST)
#define R0(w, t) OPERAND(SRC, SRC0, w, ISA_TYPE_##t, VGPR)
#define R1(w, t) OPERAND(SRC, SRC1, w, ISA_TYPE_##t, VGPR)
#define R2(w, t) OPERAND(SRC, SRC2, w, ISA_TYPE_##t, VGPR)
#define X0(w, t) OPERAND(DST_SRC, SRC0, w, ISA_TYPE_##t, VGPR)
#define A0(w, t) OPERAND(SRC, SRC0, w, ISA_TYPE_##t, AGPR)
#define L0(w, t) OPERAND(SRC, SRC0, w, ISA_TYPE_##t, SGPR | CONST)
#define L1(w, t) OPERAND(SRC, SRC1, w, ISA_TYPE_##t, SGPR | CONST)
#define VC(w, t) OPERAND(DST, CARRY_OUT, w, ISA_TYPE_##t, SGPR)
#define C2(w, t) OPERAND(SRC, CARRY_IN, w, ISA_TYPE_##t, SGPR)

#define MD(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, VGPR | AGPR)
#define MX(w, t) OPERAND(DST_SRC, VDST, w, ISA_TYPE_##t, VGPR | AGPR)
#define MA(w, t) OPERAND(SRC, SRC0, w, ISA_TYPE_##t, VGPR | AGPR)
#define MB(w, t) OPERAND(SRC, SRC1, w, ISA_TYPE_##t, VGPR | AGPR)
#define MC(w, t) OPERAND(SRC, SRC2, w, ISA_TYPE_##t, VGPR | AGPR | CONST)

#define DD(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, VGPR | AGPR)
#define DA(w, t) OPERAND(SRC, ADDR, w, ISA_TYPE_##t, VGPR)
#define D0(w, t) OPERAND(SRC, DATA0, w, ISA_TYPE_##t, VGPR | AGPR)
#define D1(w, t) OPERAND(SRC, DATA1, w, ISA_TYPE_##t, VGPR | AGPR)

#define BD(w, t) OPERAND(DST, VDATA, w, ISA_TYPE_##t, VGPR | AGPR)
#define BX(w, t) OPERAND(DST_SRC, VDATA, w, ISA_TYPE_##t, VGPR | AGPR)
#define BS(w, t) OPERAND(SRC, VDATA, w, ISA_TYPE_##t, VGPR | AGPR)
#define BA OPERAND(SRC, VADDR, 2, ISA_TYPE_I32, VGPR | OFF)
#define BR OPERAND(SRC, SRSRC, 4, ISA_TYPE_WIDE, SGPR)
#define BO OPERAND(SRC, SOFFSET, 1, ISA_TYPE_I32, SGPR | CONST)

#define FD(w, t) OPERAND(DST, VDST, w, ISA_TYPE_##t, VGPR | AGPR)
#define F0(w, t) OPERAND(SRC, DATA0, w, ISA_TYPE_##t, VGPR | AGPR)
#define FA OPERAND(SRC, ADDR, 2, ISA_TYPE_B64, VGPR)
#define GA OPERAND(SRC, ADDR, 2, ISA_TYPE_B64, VGPR)
#define GS OPERAND(SRC, SADDR, 2, ISA_TYPE_B64, SGPR | OFF)
#define PA OPERAND(SRC, ADDR, 1, ISA_TYPE_I32, VGPR | OFF)
#define PS OPERAND(SRC, SADDR, 1, ISA_TYPE_I32, SGPR | OFF)

enum {				/* what a row reads and writes beside its operands: ISA_IMPLICIT_* twice */
	RD_SCC = ISA_IMPLICIT_SCC,
	RD_VCC = ISA_IMPLICIT_VCC,
	RD_EXEC = ISA_IMPLICIT_EXEC,
	RD_M0 = ISA_IMPLICIT_M0,
	WR_SCC = ISA_IMPLICIT_SCC << 4,
	WR_EXEC = ISA_IMPLICIT_EXEC << 4,
	WR_M0 = ISA_IMPLICIT_M0 << 4,
};

enum {
	E64 = ISA_TRAIT_E64,
	SDWA = ISA_TRAIT_SDWA,
	DPP = ISA_TRAIT_DPP,
	CLAMP = ISA_TRAIT_CLAMP,
	OMOD = ISA_TRAIT_OMOD,
	OPSEL = ISA_TRAIT_OPSEL,
	BYTESEL = ISA_TRAIT_BYTESEL,
	FMODS = ISA_TRAIT_FMODS,
	PACKED = ISA_TRAIT_PACKED,
	MIX = ISA_TRAIT_MIX,
	NOSEL = ISA_TRAIT_NOSEL,
	BLGP = ISA_TRAIT_BLGP,
	NEG = ISA_TRAIT_NEG,
	D16 = ISA_TRAIT_D16,
	XDL = ISA_TRAIT_XDL,
	LDSDMA = ISA_TRAIT_LDSDMA,
	OFFSET2 = ISA_TRAIT_OFFSET2,
	SWIZZLE = ISA_TRAIT_SWIZZLE,
	GDS_ONLY = ISA_TRAIT_GDS_ONLY,
	RTN_VGPR = ISA_TRAIT_RTN_VGPR,
	SRCSEL = ISA_TRAIT_SRCSEL,
};
#define PASSES(n) (n) << 24

enum {				/* the unit that executes a format */
	UNIT_SOP2 = ISA_UNIT_SALU,
	UNIT_SOP1 = ISA_UNIT_SALU,
	UNIT_SOPC = ISA_UNIT_SALU,
	UNIT_SOPK = ISA_UNIT_SALU,
	UNIT_SOPP = ISA_UNIT_SALU,
	UNIT_SMEM = ISA_UNIT_SMEM,
	UNIT_VOP1 = ISA_UNIT_VALU,
	UNIT_VOP2 = ISA_UNIT_VALU,
	UNIT_VOPC = ISA_UNIT_VALU,
	UNIT_VOP3 = ISA_UNIT_VALU,
	UNIT_VOP3P = ISA_UNIT_VALU,
	UNIT_MAI = ISA_UNIT_MFMA,
	UNIT_DS = ISA_UNIT_LDS,
	UNIT_MUBUF = ISA_UNIT_VMEM,
	UNIT_MTBUF = ISA_UNIT_VMEM,
	UNIT_FLAT = ISA_UNIT_FLAT,
	UNIT_GLOBAL = ISA_UNIT_FLAT,
	UNIT_SCRATCH = ISA_UNIT_FLAT,
};

#define LIST(...) __VA_ARGS__
#define COUNT_OF(...) (sizeof((const struct isa_operand_info[]){ __VA_ARGS__ }) / sizeof(struct isa_operand_info))

const struct isa_op_info isa_op_infos[ISA_OP_COUNT] = {
#define ISA_OP(op_, name_, format_, opcode_, kind_, operands_, implicit_, traits_) \
	[ISA_##op_] = { \
		.name = name_, \
		.unit = UNIT_##format_, \
		.kind = ISA_KIND_##kind_, \
		.n_operands = COUNT_OF operands_, \
		.implicit_reads = (implicit_) & 15, \
		.implicit_writes = (implicit_) >> 4, \
		.mfma_passes = (traits_) >> 24, \
		.d16 = ((traits_) & D16) != 0, \
		.xdl = ((traits_) & XDL) != 0, \
		.packed = ((traits_) & PACKED) != 0, \
		.operand = { LIST operands_ }, \
	},
#include "build/isa/isa_table_gfx9.inc"
#undef ISA_OP
};

const struct isa_row isa_rows[ISA_OP_COUNT] = {
	[ISA_OP_INVALID] = { .info = &isa_op_infos[ISA_OP_INVALID] },
#define ISA_OP(op_, name_, format_, opcode_, kind_, operands_, implicit_, traits_) \
	[ISA_##op_] = { \
		.info = &isa_op_infos[ISA_##op_], \
		.format = ISA_FORMAT_##format_, \
		.opcode = opcode_, \
		.traits = (traits_) & 0xffffff, \
	},
#include "build/isa/isa_table_gfx9.inc"
#undef ISA_OP
};

static const uint16_t op_by_opcode[ISA_FORMAT_COUNT][ISA_MAX_OPCODES] = {
#define ISA_OP(op_, name_, format_, opcode_, ...) [ISA_FORMAT_##format_][opcode_] = ISA_##op_,
#include "build/isa/isa_table_gfx9.inc"
#undef ISA_OP
};

unsigned isa_op_by_opcode(enum isa_format format, unsigned opcode)
{
	assert(format < ISA_FORMAT_COUNT);

	return opcode < ISA_MAX_OPCODES ? op_by_opcode[format][opcode] : ISA_OP_INVALID;
}

const struct isa *isa_find(const char *name)
{
	static const struct isa gfx942 = { .name = "gfx942" };

	return name && strcmp(name, gfx942.name) == 0 ? &gfx942 : NULL;
}
