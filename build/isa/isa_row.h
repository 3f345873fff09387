/* SPDX-License-Identifier: MIT */
/*
 * The rows of the instruction table as the encoder, the decoder and the printer see them. Internal to build/isa.
 *
 * A row is made from one ISA_OP() line of isa_table_gfx9.inc; isa_table.c explains the words that stand in such a line.
 */
#pragma once

#include "build/isa/isa.h"

enum isa_format {
	ISA_FORMAT_NONE,
	ISA_FORMAT_SOP2, ISA_FORMAT_SOP1, ISA_FORMAT_SOPC, ISA_FORMAT_SOPK, ISA_FORMAT_SOPP, ISA_FORMAT_SMEM,
	ISA_FORMAT_VOP1, ISA_FORMAT_VOP2, ISA_FORMAT_VOPC, ISA_FORMAT_VOP3, ISA_FORMAT_VOP3P, ISA_FORMAT_MAI,
	ISA_FORMAT_DS, ISA_FORMAT_MUBUF, ISA_FORMAT_MTBUF, ISA_FORMAT_FLAT, ISA_FORMAT_GLOBAL, ISA_FORMAT_SCRATCH,
	ISA_FORMAT_COUNT
};

#define ISA_MAX_OPCODES 1024	/* of one format: VOP3 has a 10-bit opcode */

enum {				/* isa_row.traits */
	ISA_TRAIT_E64 = 1 << 0,		/* VOP1, VOP2, VOPC: has the 64-bit form too */
	ISA_TRAIT_SDWA = 1 << 1,
	ISA_TRAIT_DPP = 1 << 2,
	ISA_TRAIT_CLAMP = 1 << 3,	/* in VOP3; SDWA can always clamp */
	ISA_TRAIT_OMOD = 1 << 4,
	ISA_TRAIT_OPSEL = 1 << 5,	/* VOP3: op_sel chooses halves of sources and destination */
	ISA_TRAIT_BYTESEL = 1 << 6,	/* VOP3: op_sel[3:2] is the byte that is written (v_cvt_sr_*) */
	ISA_TRAIT_FMODS = 1 << 7,	/* neg and abs although the type is not a float (v_cndmask_b32) */
	ISA_TRAIT_PACKED = 1 << 8,	/* VOP3P: op_sel, op_sel_hi, neg_lo, neg_hi */
	ISA_TRAIT_MIX = 1 << 9,		/* VOP3P: op_sel and op_sel_hi choose the format of a source, neg and abs as in VOP3 */
	ISA_TRAIT_NOSEL = 1 << 10,	/* VOP3P: op_sel_hi is always encoded as ones */
	ISA_TRAIT_BLGP = 1 << 11,	/* MFMA: blgp in the bits of neg */
	ISA_TRAIT_NEG = 1 << 12,	/* MFMA f64: these bits are neg */
	ISA_TRAIT_D16 = 1 << 13,
	ISA_TRAIT_XDL = 1 << 14,
	ISA_TRAIT_LDSDMA = 1 << 15,	/* buffer loads that may, global loads that do go to LDS */
	ISA_TRAIT_OFFSET2 = 1 << 16,	/* DS: two 8-bit offsets */
	ISA_TRAIT_SWIZZLE = 1 << 17,	/* DS: the offset is a swizzle pattern */
	ISA_TRAIT_GDS_ONLY = 1 << 18,
	ISA_TRAIT_SRCSEL = 1 << 20,	/* SDWA selects in the source only */
	ISA_TRAIT_RTN_VGPR = 1 << 19,	/* atomics whose returning form takes no AccVGPR (so says llvm-mc) */
};

struct isa_row {
	const struct isa_op_info *info;
	uint8_t format;		/* enum isa_format */
	uint16_t opcode;	/* of the shortest form */
	uint32_t traits;	/* ISA_TRAIT_* */
};

/* Rows by enum isa_op; row 0 is empty. */
extern const struct isa_row isa_rows[ISA_OP_COUNT];

/* The enum isa_op of an opcode of a format, 0 when there is none. */
unsigned isa_op_by_opcode(enum isa_format format, unsigned opcode);

static inline const struct isa_row *isa_row(unsigned op)
{
	return op < ISA_OP_COUNT ? &isa_rows[op] : &isa_rows[0];
}

/* The row operand that the first operand of an instruction is: some have none of the row's first (see struct isa_inst). */
static inline unsigned isa_row_first_operand(const struct isa_row *row, unsigned flags)
{
	bool flat = row->info->unit == ISA_UNIT_FLAT;

	if (row->format == ISA_FORMAT_MUBUF)
		return flags & ISA_LDS ? 1 : 0;
	return flat && row->info->kind == ISA_KIND_ATOMIC && !(flags & ISA_SC0) ? 1 : 0;
}

/* The width of an operand; that of an address depends on how the address is put together. */
static inline unsigned isa_row_operand_width(const struct isa_row *row, const struct isa_operand_info *info, unsigned flags,
					     bool has_saddr)
{
	if (info->field < ISA_FIELD_ADDR)
		return info->width;
	if (info->field == ISA_FIELD_VADDR)
		return (flags & ISA_OFFEN) && (flags & ISA_IDXEN) ? 2 : 1;
	if (info->field == ISA_FIELD_ADDR && row->format == ISA_FORMAT_GLOBAL)
		return has_saddr ? 1 : 2;
	return info->width;
}
