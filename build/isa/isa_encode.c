/* SPDX-License-Identifier: MIT */
/*
 * struct isa_inst -> dwords.
 *
 * Three steps: the operands are checked against the row and sorted by encoding field; the form is chosen; one function per format puts
 * the fields together. Bit positions are those of the CDNA3 ISA document, chapter "Microcode Formats"; what gfx942 adds to them
 * (sc0, sc1 and nt, the AccVGPR bits) is from the same place.
 */
#include "build/isa/isa_row.h"

#include <errno.h>

struct fields {
	const struct isa_row *row;
	const struct isa_inst *inst;
	uint16_t code[ISA_FIELD_COUNT];
	uint8_t mod[ISA_FIELD_COUNT];
	uint8_t width[ISA_FIELD_COUNT];
	uint32_t present;	/* bit per enum isa_field */
	bool literal;		/* a dword follows */
};

static bool has(const struct fields *f, enum isa_field field)
{
	return f->present >> field & 1;
}

static bool has_trait(const struct fields *f, uint32_t trait)
{
	return (f->row->traits & trait) != 0;
}

static bool is_flat(const struct isa_row *row)
{
	return row->format >= ISA_FORMAT_FLAT && row->format <= ISA_FORMAT_SCRATCH;
}

static bool is_scalar_code(unsigned code)
{
	return code < ISA_INT0 || (code >= ISA_SHARED_BASE && code < ISA_HALF) || (code >= ISA_VCCZ && code <= ISA_SCC);
}

static bool is_float_type(unsigned type)
{
	return type == ISA_TYPE_F16 || type == ISA_TYPE_F32 || type == ISA_TYPE_F64 || type == ISA_TYPE_PKF16 || type == ISA_TYPE_PKF32;
}

/* ---- operands against the row ----------------------------------------------------------------------------------------- */

/* Scalar register tuples are aligned to their size, at most to four; the specials are single registers or exact pairs. */
static bool scalar_register_fits(unsigned code, unsigned width)
{
	if (code < ISA_TTMP0) {
		if (width <= 1)
			return true;
		if (code >= ISA_FLAT_SCRATCH)
			return width == 2 && code % 2 == 0;
		return code % (width == 2 ? 2 : 4) == 0 && code + width <= ISA_FLAT_SCRATCH;
	}
	if (code < ISA_M0)
		return width <= 1 || ((code - ISA_TTMP0) % (width == 2 ? 2 : 4) == 0 && code + width <= ISA_M0);
	return width <= 1 ? code != 125 : code == ISA_EXEC && width == 2;
}

static bool vector_register_fits(unsigned index, unsigned width)
{
	/* gfx90a and later: tuples start at an even register (CDNA3 ISA, "VGPRs": alignment). */
	return index + width <= 256 && (width <= 1 || index % 2 == 0);
}

static bool operand_fits(const struct isa_operand *operand, unsigned allowed, unsigned width)
{
	unsigned code = operand->code;

	if (code < ISA_INT0)
		return (allowed & ISA_ALLOW_SGPR) && operand->width == width && scalar_register_fits(code, width);
	if (code < ISA_LITERAL)
		return (allowed & ISA_ALLOW_CONST) && (code <= 208 || (code >= ISA_SHARED_BASE && code <= 248) || (code >= ISA_VCCZ && code <= ISA_SCC));
	if (code == ISA_LITERAL)
		return allowed & ISA_ALLOW_LITERAL;
	if (code < ISA_AGPR0)
		return (allowed & ISA_ALLOW_VGPR) && operand->width == width && vector_register_fits(code - ISA_VGPR0, width);
	if (code < ISA_AGPR0 + 256)
		return (allowed & ISA_ALLOW_AGPR) && operand->width == width && vector_register_fits(code - ISA_AGPR0, width);
	if (code == ISA_NONE)
		return allowed & ISA_ALLOW_OFF;
	return code == ISA_IMM && (allowed & ISA_ALLOW_IMM);
}

/* The width of address operands depends on how the address is put together. */
static unsigned expected_width(const struct isa_row *row, const struct isa_operand_info *info, const struct isa_inst *inst)
{
	if (info->field == ISA_FIELD_VADDR)
		return (inst->flags & ISA_OFFEN) && (inst->flags & ISA_IDXEN) ? 2 : 1;
	if (info->field == ISA_FIELD_ADDR && row->format == ISA_FORMAT_GLOBAL)
		return inst->operand[inst->n_operands - 1].code == ISA_NONE ? 2 : 1;
	return info->width;
}

/* Finds the row operand of the first operand, 0 or 1, and whether the last is missing (see struct isa_inst in isa.h). */
static int count_missing(const struct isa_row *row, const struct isa_inst *inst, unsigned *ret_first, unsigned *ret_last)
{
	unsigned n = row->info.n_operands, first = 0, last = n;

	if ((row->format == ISA_FORMAT_MUBUF && (inst->flags & ISA_LDS)) ||
	    (is_flat(row) && row->info.kind == ISA_KIND_ATOMIC && !(inst->flags & ISA_SC0)))
		first = 1;
	else if (row->format == ISA_FORMAT_SMEM && n > 0 && row->info.operand[n - 1].field == ISA_FIELD_SOFFSET && inst->n_operands == n - 1)
		last = n - 1;
	if (inst->n_operands != last - first)
		return -EINVAL;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static int sort_operands(const struct isa_row *row, const struct isa_inst *inst, struct fields *f)
{
	unsigned first, last;
	int r;

	r = count_missing(row, inst, &first, &last);
	if (r < 0)
		return r;
	for (unsigned i = first; i < last; i++) {
		const struct isa_operand_info *info = &row->info.operand[i];
		const struct isa_operand *operand = &inst->operand[i - first];

		if (!operand_fits(operand, info->allowed, expected_width(row, info, inst)))
			return -EINVAL;
		f->code[info->field] = operand->code;
		f->mod[info->field] = operand->mod;
		f->width[info->field] = operand->width;
		f->present |= 1u << info->field;
		if (operand->code == ISA_LITERAL)
			f->literal = true;
	}
	return 0;
}

/* gfx9 can read one scalar value per vector instruction: one SGPR (any number of times), VCC as a mask, or the literal. */
static bool constant_bus_fits(const struct fields *f)
{
	static const uint8_t sources[] = { ISA_FIELD_SRC0, ISA_FIELD_SRC1, ISA_FIELD_SRC2, ISA_FIELD_CARRY_IN };
	unsigned n = f->literal, seen = ISA_NONE, seen_width = 0;

	if (f->row->info.implicit_reads & ISA_IMPLICIT_VCC) {
		seen = ISA_VCC;
		seen_width = 2;
		n++;
	}
	for (size_t i = 0; i < sizeof(sources); i++) {
		unsigned code = f->code[sources[i]], width = f->width[sources[i]];

		if (!has(f, sources[i]) || !is_scalar_code(code) || (code == seen && width == seen_width))
			continue;
		if (code == ISA_M0 && f->inst->op == ISA_V_WRITELANE_B32 && sources[i] == ISA_FIELD_SRC1)
			continue;	/* the lane select comes by a way of its own */
		seen = code;
		seen_width = width;
		n++;
	}
	return n <= 1;
}

/* ---- scalar formats --------------------------------------------------------------------------------------------------- */

static int encode_sop(const struct fields *f, uint32_t *w)
{
	unsigned opcode = f->row->opcode, sdst = f->code[ISA_FIELD_SDST], s0 = f->code[ISA_FIELD_SSRC0], s1 = f->code[ISA_FIELD_SSRC1];

	switch (f->row->format) {
	case ISA_FORMAT_SOP2:
		w[0] = 2u << 30 | opcode << 23 | sdst << 16 | s1 << 8 | s0;
		break;
	case ISA_FORMAT_SOP1:
		w[0] = 0x17du << 23 | sdst << 16 | opcode << 8 | s0;
		break;
	default:	/* SOPC */
		if (has(f, ISA_FIELD_SIMM16)) {		/* s_set_gpr_idx_on: four bits in place of ssrc1 */
			if (f->inst->literal > 15)
				return -EINVAL;
			s1 = f->inst->literal;
		}
		w[0] = 0x17eu << 23 | opcode << 16 | s1 << 8 | s0;
		break;
	}
	return 1;
}

static int encode_sopk(const struct fields *f, uint32_t *w)
{
	/* s_setreg_imm32_b32 needs literal for its dword */
	uint32_t simm16 = f->literal ? (uint32_t)f->inst->offset : f->inst->literal;

	if (has(f, ISA_FIELD_SIMM16) && (simm16 + 0x8000 > 0x17fff))
		return -EINVAL;
	if (f->row->format == ISA_FORMAT_SOPK)
		w[0] = 0xbu << 28 | (uint32_t)f->row->opcode << 23 | f->code[ISA_FIELD_SDST] << 16 | (simm16 & 0xffff);
	else
		w[0] = 0x17fu << 23 | (uint32_t)f->row->opcode << 16 | (has(f, ISA_FIELD_SIMM16) ? simm16 & 0xffff : 0);
	return 1;
}

static int encode_smem(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool soffset = has(f, ISA_FIELD_SOFFSET), addressed = has(f, ISA_FIELD_SBASE);
	unsigned sdata = f->code[ISA_FIELD_SDATA];
	bool buffer = f->width[ISA_FIELD_SBASE] == 4;

	if (inst->flags & ~(unsigned)(ISA_GLC | ISA_NT))
		return -EINVAL;
	/* The offset has 21 bits and a sign, but a buffer's is not negative. */
	if (inst->offset < (buffer || !addressed ? 0 : -0x100000) || inst->offset > (addressed ? 0xfffff : 0))
		return -EINVAL;
	if (has(f, ISA_FIELD_SDATA) && sdata >= ISA_M0)
		return -EINVAL;
	if (soffset && f->code[ISA_FIELD_SOFFSET] >= ISA_EXEC)
		return -EINVAL;
	w[0] = 0x30u << 26 | (uint32_t)f->row->opcode << 18 | f->code[ISA_FIELD_SBASE] >> 1 | sdata << 6;
	w[0] |= (inst->flags & ISA_GLC ? 1u << 16 : 0) | (inst->flags & ISA_NT ? 1u << 15 : 0);
	w[1] = (uint32_t)inst->offset & 0x1fffff;
	if (!addressed)
		return 2;
	if (soffset && inst->offset == 0) {		/* the older way, and what llvm-mc writes: the register number as offset */
		w[1] = f->code[ISA_FIELD_SOFFSET];
		return 2;
	}
	w[0] |= 1u << 17;
	if (soffset) {
		w[0] |= 1u << 14;
		w[1] |= (uint32_t)f->code[ISA_FIELD_SOFFSET] << 25;
	}
	return 2;
}

/* ---- vector ALU formats ----------------------------------------------------------------------------------------------- */

static const uint8_t vector_sources[] = { ISA_FIELD_SRC0, ISA_FIELD_SRC1, ISA_FIELD_SRC2 };

static uint32_t source_bits(unsigned code)
{
	return code >= ISA_AGPR0 ? code - ISA_VGPR0 : code;
}

/* neg and abs of three sources as two three-bit masks; -EINVAL for a modifier the operand cannot have. */
static int source_modifiers(const struct fields *f, unsigned allowed_float, unsigned allowed_int, unsigned *ret_mods)
{
	unsigned mods = 0;

	for (unsigned i = 0; i < f->row->info.n_operands; i++) {
		const struct isa_operand_info *info = &f->row->info.operand[i];
		bool is_float = is_float_type(info->type) || has_trait(f, ISA_TRAIT_FMODS);
		unsigned mod = f->mod[info->field], n;

		if (mod == 0)
			continue;
		if (info->field < ISA_FIELD_SRC0 || info->field > ISA_FIELD_SRC2 || (mod & ~(is_float ? allowed_float : allowed_int)))
			return -EINVAL;
		n = info->field - ISA_FIELD_SRC0;
		mods |= (mod & ISA_NEG ? 1u << n : 0) | (mod & ISA_ABS ? 8u << n : 0) | (mod & ISA_SEXT ? 64u << n : 0);
	}
	*ret_mods = mods;
	return 0;
}

static unsigned mods_neg(unsigned mods)
{
	return mods & 7;
}

static unsigned mods_abs(unsigned mods)
{
	return mods >> 3 & 7;
}

/* Fields that only VOP3P and MFMA have. */
static bool plain_vop(const struct isa_inst *inst)
{
	return !inst->op_sel_hi && !inst->neg_lo && !inst->neg_hi && !inst->cbsz && !inst->abid && !inst->blgp;
}

static bool mask_operand_is_vcc(const struct fields *f)
{
	return (!has(f, ISA_FIELD_CARRY_OUT) || f->code[ISA_FIELD_CARRY_OUT] == ISA_VCC) &&
	       (!has(f, ISA_FIELD_CARRY_IN) || f->code[ISA_FIELD_CARRY_IN] == ISA_VCC);
}

static bool fits_e32(const struct fields *f)
{
	const struct isa_inst *inst = f->inst;
	unsigned mods = f->mod[ISA_FIELD_SRC0] | f->mod[ISA_FIELD_SRC1] | f->mod[ISA_FIELD_VDST];

	if (mods || (inst->flags & ISA_CLAMP) || inst->omod || inst->op_sel)
		return false;
	if (has(f, ISA_FIELD_SRC1) && f->code[ISA_FIELD_SRC1] < ISA_VGPR0)
		return false;
	if (f->row->format == ISA_FORMAT_VOPC && f->code[ISA_FIELD_VDST] != ISA_VCC)
		return false;
	return mask_operand_is_vcc(f);
}

/* The 32-bit word of VOP1, VOP2 and VOPC, which SDWA and DPP share: they put a marker in place of src0. */
static uint32_t word_e32(const struct fields *f, unsigned src0)
{
	uint32_t opcode = f->row->opcode, vdst = f->code[ISA_FIELD_VDST] & 0xff, src1 = f->code[ISA_FIELD_SRC1] & 0xff;

	switch (f->row->format) {
	case ISA_FORMAT_VOP1:
		return 0x3fu << 25 | vdst << 17 | opcode << 9 | src0;
	case ISA_FORMAT_VOP2:
		return opcode << 25 | vdst << 17 | src1 << 9 | src0;
	default:
		return 0x3eu << 25 | opcode << 17 | src1 << 9 | src0;
	}
}

static int encode_e32(const struct fields *f, uint32_t *w)
{
	if (!fits_e32(f))
		return -EINVAL;
	w[0] = word_e32(f, source_bits(f->code[ISA_FIELD_SRC0]) & 0x1ff);
	return 1;
}

static unsigned opcode_vop3(const struct isa_row *row)
{
	switch (row->format) {
	case ISA_FORMAT_VOP1:
		return row->opcode + 0x140;
	case ISA_FORMAT_VOP2:
		return row->opcode + 0x100;
	default:
		return row->opcode;
	}
}

static bool op_sel_fits(const struct fields *f)
{
	unsigned usable = 0;

	if (has_trait(f, ISA_TRAIT_OPSEL)) {
		usable = 8;
		for (size_t i = 0; i < sizeof(vector_sources); i++)
			usable |= has(f, vector_sources[i]) ? 1u << i : 0;
	} else if (has_trait(f, ISA_TRAIT_BYTESEL)) {
		usable = 12;
	}
	return !(f->inst->op_sel & ~usable);
}

static int encode_vop3(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool vop3b = has(f, ISA_FIELD_CARRY_OUT);
	uint32_t src2 = has(f, ISA_FIELD_CARRY_IN) ? f->code[ISA_FIELD_CARRY_IN] : f->code[ISA_FIELD_SRC2];
	unsigned mods;
	int r;

	r = source_modifiers(f, vop3b ? ISA_NEG : ISA_NEG | ISA_ABS, 0, &mods);
	if (r < 0)
		return r;
	if (f->literal || !op_sel_fits(f))
		return -EINVAL;
	if (((inst->flags & ISA_CLAMP) && !has_trait(f, ISA_TRAIT_CLAMP)) || (inst->omod && !has_trait(f, ISA_TRAIT_OMOD)) || inst->omod > 3)
		return -EINVAL;
	w[0] = 0x34u << 26 | (uint32_t)opcode_vop3(f->row) << 16 | (inst->flags & ISA_CLAMP ? 1u << 15 : 0) | (f->code[ISA_FIELD_VDST] & 0xff);
	w[0] |= vop3b ? (uint32_t)f->code[ISA_FIELD_CARRY_OUT] << 8 : (uint32_t)inst->op_sel << 11 | mods_abs(mods) << 8;
	w[1] = (uint32_t)mods_neg(mods) << 29 | (uint32_t)inst->omod << 27;
	w[1] |= src2 << 18 | (uint32_t)f->code[ISA_FIELD_SRC1] << 9 | f->code[ISA_FIELD_SRC0];
	return 2;
}

static int encode_vop3p(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool mix = has_trait(f, ISA_TRAIT_MIX), sel = mix || has_trait(f, ISA_TRAIT_PACKED);
	unsigned sources = 0, op_sel_hi, neg_lo = inst->neg_lo, neg_hi = inst->neg_hi, mods;
	int r;

	for (size_t i = 0; i < sizeof(vector_sources); i++)
		sources |= has(f, vector_sources[i]) ? 1u << i : 0;
	r = source_modifiers(f, mix ? ISA_NEG | ISA_ABS : 0, 0, &mods);
	if (r < 0)
		return r;
	if (f->literal || (inst->op_sel & ~(sel ? sources : 0)) || ((neg_lo | neg_hi) & ~(sel && !mix ? sources : 0)))
		return -EINVAL;
	if (inst->omod || inst->cbsz || inst->abid || inst->blgp || ((inst->flags & ISA_CLAMP) && !has_trait(f, ISA_TRAIT_CLAMP)))
		return -EINVAL;
	if (mix) {
		neg_lo = mods_neg(mods);
		neg_hi = mods_abs(mods);
	}
	op_sel_hi = sel ? inst->op_sel_hi | (7 & ~sources) : 7;
	w[0] = 0x1a7u << 23 | (uint32_t)f->row->opcode << 16 | (inst->flags & ISA_CLAMP ? 1u << 15 : 0);
	w[0] |= (op_sel_hi >> 2 & 1) << 14 | (uint32_t)inst->op_sel << 11 | neg_hi << 8 | (f->code[ISA_FIELD_VDST] & 0xff);
	w[1] = (uint32_t)neg_lo << 29 | (op_sel_hi & 3) << 27;
	w[1] |= source_bits(f->code[ISA_FIELD_SRC2]) << 18 | source_bits(f->code[ISA_FIELD_SRC1]) << 9 | source_bits(f->code[ISA_FIELD_SRC0]);
	return 2;
}

static bool is_agpr(unsigned code)
{
	return code >= ISA_AGPR0 && code < ISA_AGPR0 + 256;
}

/* A result of more than four registers may be exactly the accumulator or not touch it (llvm-mc holds to this rule as well). */
static bool accumulator_overlaps(const struct fields *f)
{
	int dst = f->code[ISA_FIELD_VDST], acc = f->code[ISA_FIELD_SRC2], width = f->width[ISA_FIELD_VDST];

	return width > 4 && acc >= ISA_VGPR0 && dst != acc && dst < acc + width && acc < dst + width;
}

static int encode_mai(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	unsigned vdst = f->code[ISA_FIELD_VDST], src2 = f->code[ISA_FIELD_SRC2];
	bool sparse = f->width[ISA_FIELD_SRC2] == 1 && f->row->info.operand[0].role == ISA_ROLE_DST_SRC;
	unsigned top = has_trait(f, ISA_TRAIT_NEG) ? inst->neg_lo : inst->blgp;

	if (inst->flags || inst->omod || inst->op_sel || inst->op_sel_hi || inst->neg_hi || inst->cbsz > 7 || inst->abid > 15)
		return -EINVAL;
	if (top > (sparse ? 0 : 7) || (inst->blgp && top != inst->blgp) || (inst->neg_lo && top != inst->neg_lo))
		return -EINVAL;
	if (!sparse && ((src2 >= ISA_VGPR0 && is_agpr(src2) != is_agpr(vdst)) || accumulator_overlaps(f)))
		return -EINVAL;
	/* C takes inline constants only */
	if (src2 < ISA_INT0 || (src2 > 208 && src2 < ISA_HALF) || (src2 > 248 && src2 < ISA_VGPR0))
		return -EINVAL;
	for (unsigned i = 0; i < inst->n_operands; i++) {
		if (inst->operand[i].mod)
			return -EINVAL;
	}
	w[0] = 0x1a7u << 23 | (uint32_t)f->row->opcode << 16 | (is_agpr(vdst) ? 1u << 15 : 0);
	w[0] |= (uint32_t)inst->abid << 11 | (uint32_t)inst->cbsz << 8 | (vdst & 0xff);
	w[1] = (uint32_t)top << 29 | (is_agpr(f->code[ISA_FIELD_SRC1]) ? 1u << 28 : 0) | (is_agpr(f->code[ISA_FIELD_SRC0]) ? 1u << 27 : 0);
	w[1] |= source_bits(src2) << 18 | source_bits(f->code[ISA_FIELD_SRC1]) << 9 | source_bits(f->code[ISA_FIELD_SRC0]);
	return 2;
}

/* Operand n (0, 1) of an SDWA instruction as its eight modifier bits. */
static uint32_t sdwa_source(unsigned mods, unsigned n, unsigned sel, unsigned code)
{
	uint32_t scalar = code < ISA_VGPR0;

	mods >>= n;
	return scalar << 7 | (mods >> 3 & 1) << 5 | (mods & 1) << 4 | (mods >> 6 & 1) << 3 | sel;
}

static int encode_sdwa(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool vopc = f->row->format == ISA_FORMAT_VOPC, two = has(f, ISA_FIELD_SRC1);
	bool omod = has_trait(f, ISA_TRAIT_OMOD) && is_float_type(f->row->info.operand[0].type);
	unsigned mods;
	int r;

	r = source_modifiers(f, ISA_NEG | ISA_ABS, ISA_SEXT, &mods);
	if (r < 0)
		return r;
	if (!has_trait(f, ISA_TRAIT_SDWA) || f->literal || inst->op_sel || inst->src0_sel > 6 || inst->src1_sel > (two ? 6 : 0))
		return -EINVAL;
	if (inst->omod > (omod ? 3 : 0) || !mask_operand_is_vcc(f))
		return -EINVAL;
	w[0] = word_e32(f, 0xf9);
	w[1] = sdwa_source(mods, 0, inst->src0_sel, f->code[ISA_FIELD_SRC0]) << 16 | (f->code[ISA_FIELD_SRC0] & 0xff);
	if (two)
		w[1] |= sdwa_source(mods, 1, inst->src1_sel, f->code[ISA_FIELD_SRC1]) << 24;
	if (vopc) {
		unsigned sdst = f->code[ISA_FIELD_VDST];

		if ((inst->flags & ISA_CLAMP) || inst->dst_sel || inst->dst_unused)
			return -EINVAL;
		w[1] |= sdst == ISA_VCC ? 0 : 1u << 15 | sdst << 8;
	} else {
		if (inst->dst_sel > 6 || inst->dst_unused > 2)
			return -EINVAL;
		w[1] |= (uint32_t)inst->omod << 14 | (inst->flags & ISA_CLAMP ? 1u << 13 : 0) | inst->dst_unused << 11 | inst->dst_sel << 8;
	}
	return 2;
}

static bool dpp_ctrl_fits(unsigned ctrl, bool wide)
{
	bool newbcast = ctrl >= 0x150 && ctrl <= 0x15f;

	if (wide)		/* 64-bit data moves by row_newbcast only (gfx90a) */
		return newbcast;
	if (ctrl <= 0xff || newbcast)
		return true;
	if (ctrl > 0x100 && ctrl < 0x130)
		return (ctrl & 15) != 0;
	return ctrl == 0x130 || ctrl == 0x134 || ctrl == 0x138 || ctrl == 0x13c || (ctrl >= 0x140 && ctrl <= 0x143);
}

static int encode_dpp(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool wide = f->width[ISA_FIELD_VDST] > 1 || f->width[ISA_FIELD_SRC0] > 1;
	unsigned mods;
	int r;

	r = source_modifiers(f, ISA_NEG | ISA_ABS, 0, &mods);
	if (r < 0)
		return r;
	if (!has_trait(f, ISA_TRAIT_DPP) || (inst->flags & ISA_CLAMP) || inst->omod || inst->op_sel || !mask_operand_is_vcc(f))
		return -EINVAL;
	if (f->code[ISA_FIELD_SRC0] < ISA_VGPR0 || (has(f, ISA_FIELD_SRC1) && f->code[ISA_FIELD_SRC1] < ISA_VGPR0))
		return -EINVAL;
	if (!dpp_ctrl_fits(inst->dpp_ctrl, wide) || inst->row_mask > 15 || inst->bank_mask > 15)
		return -EINVAL;
	w[0] = word_e32(f, 0xfa);
	w[1] = (uint32_t)inst->row_mask << 28 | (uint32_t)inst->bank_mask << 24 | (inst->flags & ISA_BOUND_CTRL ? 1u << 19 : 0);
	w[1] |= (mods_neg(mods) & 1) << 20 | (mods_abs(mods) & 1) << 21 | (mods_neg(mods) >> 1 & 1) << 22 | (mods_abs(mods) >> 1 & 1) << 23;
	w[1] |= (uint32_t)inst->dpp_ctrl << 8 | (f->code[ISA_FIELD_SRC0] & 0xff);
	return 2;
}

static int encode_vop(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	unsigned form = inst->form;

	if ((inst->flags & ~(unsigned)(ISA_CLAMP | (form == ISA_FORM_DPP ? ISA_BOUND_CTRL : 0))) || !plain_vop(inst) || !constant_bus_fits(f))
		return -EINVAL;
	if (form == ISA_FORM_AUTO)
		form = fits_e32(f) ? ISA_FORM_SHORT : ISA_FORM_VOP3;
	switch (form) {
	case ISA_FORM_SHORT:
		return encode_e32(f, w);
	case ISA_FORM_VOP3:
		return has_trait(f, ISA_TRAIT_E64) ? encode_vop3(f, w) : -EINVAL;
	case ISA_FORM_SDWA:
		return encode_sdwa(f, w);
	case ISA_FORM_DPP:
		return encode_dpp(f, w);
	default:
		return -EINVAL;
	}
}

/* ---- memory formats --------------------------------------------------------------------------------------------------- */

/* All data registers of an instruction are VGPRs or all are AccVGPRs; one bit tells which. */
static int data_is_agpr(const struct fields *f)
{
	static const uint8_t data[] = { ISA_FIELD_VDST, ISA_FIELD_DATA0, ISA_FIELD_DATA1, ISA_FIELD_VDATA };
	int agpr = -1;

	for (size_t i = 0; i < sizeof(data); i++) {
		bool is = is_agpr(f->code[data[i]]);

		if (!has(f, data[i]))
			continue;
		if (agpr >= 0 && agpr != is)
			return -EINVAL;
		agpr = is;
	}
	return agpr > 0;
}

static uint32_t low_byte(const struct fields *f, enum isa_field field)
{
	return f->code[field] & 0xff;
}

static int encode_ds(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	int agpr = data_is_agpr(f);

	if (agpr < 0 || inst->offset < 0 || inst->offset > 0xffff)
		return -EINVAL;
	if (inst->flags != (has_trait(f, ISA_TRAIT_GDS_ONLY) ? ISA_GDS : 0))
		return -EINVAL;
	w[0] = 0x36u << 26 | (uint32_t)agpr << 25 | (uint32_t)f->row->opcode << 17 | (inst->flags & ISA_GDS ? 1u << 16 : 0) | (uint32_t)inst->offset;
	w[1] = low_byte(f, ISA_FIELD_VDST) << 24 | low_byte(f, ISA_FIELD_DATA1) << 16 | low_byte(f, ISA_FIELD_DATA0) << 8 | low_byte(f, ISA_FIELD_ADDR);
	return 2;
}

static int encode_buffer(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool typed = f->row->format == ISA_FORMAT_MTBUF, addressed = (inst->flags & (ISA_OFFEN | ISA_IDXEN)) != 0;
	unsigned known = ISA_SC0 | ISA_SC1 | ISA_NT | (f->row->info.n_operands ? ISA_OFFEN | ISA_IDXEN | ISA_LDS : 0);
	int agpr = data_is_agpr(f);

	if (agpr < 0 || inst->offset < 0 || inst->offset > (f->row->info.n_operands ? 0xfff : 0) || (inst->flags & ~known))
		return -EINVAL;
	if ((inst->flags & ISA_LDS) && !has_trait(f, ISA_TRAIT_LDSDMA))
		return -EINVAL;
	if (has(f, ISA_FIELD_VADDR) && addressed != (f->code[ISA_FIELD_VADDR] != ISA_NONE))
		return -EINVAL;
	if (inst->format > 0x7f || (inst->format && !typed))
		return -EINVAL;
	w[0] = (uint32_t)inst->offset | (inst->flags & ISA_OFFEN ? 1u << 12 : 0) | (inst->flags & ISA_IDXEN ? 1u << 13 : 0) |
	       (inst->flags & ISA_SC0 ? 1u << 14 : 0);
	w[1] = (uint32_t)f->code[ISA_FIELD_SOFFSET] << 24 | (uint32_t)agpr << 23 | (uint32_t)f->code[ISA_FIELD_SRSRC] >> 2 << 16 |
	       low_byte(f, ISA_FIELD_VDATA) << 8 | (addressed ? low_byte(f, ISA_FIELD_VADDR) : 0);
	if (typed) {
		w[0] |= 0x3au << 26 | (uint32_t)inst->format << 19 | (uint32_t)f->row->opcode << 15;
		w[1] |= (inst->flags & ISA_SC1 ? 1u << 21 : 0) | (inst->flags & ISA_NT ? 1u << 22 : 0);
	} else {
		w[0] |= 0x38u << 26 | (uint32_t)f->row->opcode << 18 | (inst->flags & ISA_SC1 ? 1u << 15 : 0) |
			(inst->flags & ISA_LDS ? 1u << 16 : 0) | (inst->flags & ISA_NT ? 1u << 17 : 0);
	}
	return 2;
}

static int encode_flat(const struct fields *f, uint32_t *w)
{
	static const uint8_t segment[] = { [ISA_FORMAT_FLAT] = 0, [ISA_FORMAT_SCRATCH] = 1, [ISA_FORMAT_GLOBAL] = 2 };
	const struct isa_inst *inst = f->inst;
	unsigned format = f->row->format, addr = f->code[ISA_FIELD_ADDR], saddr = 0;
	bool vector_scratch = format == ISA_FORMAT_SCRATCH && addr != ISA_NONE;
	int agpr = data_is_agpr(f);

	if (agpr < 0 || (inst->flags & ~(unsigned)(ISA_SC0 | ISA_SC1 | ISA_NT)))
		return -EINVAL;
	/* 13 bits and a sign; flat addresses have 12 bits and none */
	if (inst->offset < (format == ISA_FORMAT_FLAT ? 0 : -0x1000) || inst->offset > 0xfff)
		return -EINVAL;
	if (has(f, ISA_FIELD_SADDR)) {
		saddr = f->code[ISA_FIELD_SADDR] == ISA_NONE ? 0x7f : f->code[ISA_FIELD_SADDR];
		if (f->code[ISA_FIELD_SADDR] >= ISA_EXEC && f->code[ISA_FIELD_SADDR] != ISA_NONE)
			return -EINVAL;
	}
	w[0] = 0x37u << 26 | (inst->flags & ISA_SC1 ? 1u << 25 : 0) | (uint32_t)f->row->opcode << 18 | (inst->flags & ISA_NT ? 1u << 17 : 0);
	w[0] |= (inst->flags & ISA_SC0 ? 1u << 16 : 0) | (uint32_t)segment[format] << 14 | ((uint32_t)inst->offset & 0x1fff);
	w[0] |= vector_scratch ? 1u << 13 : 0;
	w[1] = low_byte(f, ISA_FIELD_VDST) << 24 | (uint32_t)agpr << 23 | saddr << 16 | low_byte(f, ISA_FIELD_DATA0) << 8 | (addr == ISA_NONE ? 0 : addr & 0xff);
	return 2;
}

/* ---- the entry -------------------------------------------------------------------------------------------------------- */

static int encode_words(const struct fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;

	if (f->row->format < ISA_FORMAT_VOP1 || f->row->format > ISA_FORMAT_VOP3) {
		if (inst->form > ISA_FORM_SHORT)
			return -EINVAL;
	}
	switch (f->row->format) {
	case ISA_FORMAT_SOP2:
	case ISA_FORMAT_SOP1:
	case ISA_FORMAT_SOPC:
		return inst->flags ? -EINVAL : encode_sop(f, w);
	case ISA_FORMAT_SOPK:
	case ISA_FORMAT_SOPP:
		return inst->flags ? -EINVAL : encode_sopk(f, w);
	case ISA_FORMAT_SMEM:
		return encode_smem(f, w);
	case ISA_FORMAT_VOP1:
	case ISA_FORMAT_VOP2:
	case ISA_FORMAT_VOPC:
		return encode_vop(f, w);
	case ISA_FORMAT_VOP3:
		if ((inst->flags & ~(unsigned)ISA_CLAMP) || !plain_vop(inst) || !constant_bus_fits(f))
			return -EINVAL;
		return inst->form == ISA_FORM_AUTO || inst->form == ISA_FORM_VOP3 ? encode_vop3(f, w) : -EINVAL;
	case ISA_FORMAT_VOP3P:
		return constant_bus_fits(f) && !(inst->flags & ~(unsigned)ISA_CLAMP) ? encode_vop3p(f, w) : -EINVAL;
	case ISA_FORMAT_MAI:
		return encode_mai(f, w);
	case ISA_FORMAT_DS:
		return encode_ds(f, w);
	case ISA_FORMAT_MUBUF:
	case ISA_FORMAT_MTBUF:
		return encode_buffer(f, w);
	case ISA_FORMAT_FLAT:
	case ISA_FORMAT_GLOBAL:
	case ISA_FORMAT_SCRATCH:
		return encode_flat(f, w);
	default:
		return -EINVAL;
	}
}

int isa_encode(const struct isa *isa, const struct isa_inst *inst, uint32_t ret_dwords[ISA_MAX_DWORDS])
{
	struct fields f = { .row = isa_row(inst->op), .inst = inst };
	uint32_t w[ISA_MAX_DWORDS];
	int n;

	if (!isa || f.row->format == ISA_FORMAT_NONE || inst->n_operands > f.row->info.n_operands)
		return -EINVAL;
	n = sort_operands(f.row, inst, &f);
	if (n < 0)
		return n;
	n = encode_words(&f, w);
	if (n < 0)
		return n;
	if (f.literal)
		w[n++] = inst->literal;
	for (int i = 0; i < n; i++)
		ret_dwords[i] = w[i];
	return n;
}
