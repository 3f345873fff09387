/* SPDX-License-Identifier: MIT */
/*
 * The vector ALU formats: VOP1, VOP2 and VOPC with their 64-bit, SDWA and DPP forms, VOP3, VOP3P and the matrix instructions.
 * Bit positions are those of the CDNA3 ISA document, chapter "Microcode Formats".
 */
#include "build/isa/isa_fields.h"

#include <errno.h>

static bool is_scalar_code(unsigned code)
{
	return code < ISA_INT0 || (code >= ISA_SHARED_BASE && code < ISA_HALF) || (code >= ISA_VCCZ && code <= ISA_SCC);
}

static bool is_float_type(unsigned type)
{
	return type == ISA_TYPE_F16 || type == ISA_TYPE_F32 || type == ISA_TYPE_F64 || type == ISA_TYPE_PKF16 ||
	       type == ISA_TYPE_PKF32;
}

/* gfx9 can read one scalar value per vector instruction: one SGPR (any number of times), VCC as a mask, or the literal. */
static bool constant_bus_fits(const struct isa_fields *f)
{
	static const uint8_t sources[] = { ISA_FIELD_SRC0, ISA_FIELD_SRC1, ISA_FIELD_SRC2, ISA_FIELD_CARRY_IN };
	unsigned n = f->literal, seen = ISA_NONE, seen_width = 0;

	if (f->all_vector)
		return true;
	if (f->row->info->implicit_reads & ISA_IMPLICIT_VCC) {
		seen = ISA_VCC;
		seen_width = 2;
		n++;
	}
	for (size_t i = 0; i < sizeof(sources); i++) {
		unsigned code = f->operand[sources[i]].code, width = f->operand[sources[i]].width;

		if (!isa_has(f, sources[i]) || !is_scalar_code(code) || (code == seen && width == seen_width))
			continue;
		if (code == ISA_M0 && f->inst->op == ISA_V_WRITELANE_B32 && sources[i] == ISA_FIELD_SRC1)
			continue;	/* the lane select comes by a way of its own */
		seen = code;
		seen_width = width;
		n++;
	}
	return n <= 1;
}

static const uint8_t vector_sources[] = { ISA_FIELD_SRC0, ISA_FIELD_SRC1, ISA_FIELD_SRC2 };

static uint32_t source_bits(unsigned code)
{
	return code >= ISA_AGPR0 ? code - ISA_VGPR0 : code;
}

/* neg and abs of three sources as two three-bit masks; -EINVAL for a modifier the operand cannot have. */
static int source_modifiers(const struct isa_fields *f, unsigned allowed_float, unsigned allowed_int, unsigned *ret_mods)
{
	unsigned mods = 0;

	*ret_mods = 0;
	if (!f->any_mod)
		return 0;
	for (unsigned i = 0; i < f->row->info->n_operands; i++) {
		const struct isa_operand_info *info = &f->row->info->operand[i];
		bool is_float = is_float_type(info->type) || isa_has_trait(f, ISA_TRAIT_FMODS);
		unsigned mod = f->operand[info->field].mod, n;

		if (mod == 0)
			continue;
		if (info->field < ISA_FIELD_SRC0 || info->field > ISA_FIELD_SRC2 ||
		    (mod & ~(is_float ? allowed_float : allowed_int)) ||
		    ((mod & ISA_SEXT) && f->operand[info->field].width == 0)) /* a constant needs no extension */
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

static bool mask_operand_is_vcc(const struct isa_fields *f)
{
	return (!isa_has(f, ISA_FIELD_CARRY_OUT) || f->operand[ISA_FIELD_CARRY_OUT].code == ISA_VCC) &&
	       (!isa_has(f, ISA_FIELD_CARRY_IN) || f->operand[ISA_FIELD_CARRY_IN].code == ISA_VCC);
}

static bool fits_e32(const struct isa_fields *f)
{
	const struct isa_inst *inst = f->inst;

	if (f->any_mod || (inst->flags & ISA_CLAMP) || inst->omod || inst->op_sel)
		return false;
	if (isa_has(f, ISA_FIELD_SRC1) && f->operand[ISA_FIELD_SRC1].code < ISA_VGPR0)
		return false;
	if (f->row->format == ISA_FORMAT_VOPC && f->operand[ISA_FIELD_VDST].code != ISA_VCC)
		return false;
	return mask_operand_is_vcc(f);
}

/* The 32-bit word of VOP1, VOP2 and VOPC, which SDWA and DPP share: they put a marker in place of src0. */
static uint32_t word_e32(const struct isa_fields *f, unsigned src0)
{
	uint32_t opcode = f->row->opcode, vdst = f->operand[ISA_FIELD_VDST].code & 0xff, src1 = f->operand[ISA_FIELD_SRC1].code & 0xff;

	switch (f->row->format) {
	case ISA_FORMAT_VOP1:
		return 0x3fu << 25 | vdst << 17 | opcode << 9 | src0;
	case ISA_FORMAT_VOP2:
		return opcode << 25 | vdst << 17 | src1 << 9 | src0;
	default:
		return 0x3eu << 25 | opcode << 17 | src1 << 9 | src0;
	}
}

static int encode_e32(const struct isa_fields *f, uint32_t *w)
{
	if (!fits_e32(f))
		return -EINVAL;
	w[0] = word_e32(f, source_bits(f->operand[ISA_FIELD_SRC0].code) & 0x1ff);
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

static bool op_sel_fits(const struct isa_fields *f)
{
	unsigned usable = 0;

	if (isa_has_trait(f, ISA_TRAIT_OPSEL)) {
		usable = 8;
		for (size_t i = 0; i < sizeof(vector_sources); i++)
			usable |= isa_has(f, vector_sources[i]) ? 1u << i : 0;
	} else if (isa_has_trait(f, ISA_TRAIT_BYTESEL)) {
		usable = 15;	/* bits 0 and 1 have no meaning */
	}
	return !(f->inst->op_sel & ~usable);
}

static int encode_vop3(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool vop3b = isa_has(f, ISA_FIELD_CARRY_OUT);
	uint32_t src2 = isa_has(f, ISA_FIELD_CARRY_IN) ? f->operand[ISA_FIELD_CARRY_IN].code : f->operand[ISA_FIELD_SRC2].code;
	unsigned mods;
	int r;

	r = source_modifiers(f, vop3b ? ISA_NEG : ISA_NEG | ISA_ABS, 0, &mods);
	if (r < 0)
		return r;
	if (f->literal || !op_sel_fits(f))
		return -EINVAL;
	if (((inst->flags & ISA_CLAMP) && !isa_has_trait(f, ISA_TRAIT_CLAMP)) ||
	    (inst->omod && !isa_has_trait(f, ISA_TRAIT_OMOD)) || inst->omod > 3)
		return -EINVAL;
	w[0] = 0x34u << 26 | (uint32_t)opcode_vop3(f->row) << 16 | (inst->flags & ISA_CLAMP ? 1u << 15 : 0) |
	       (f->operand[ISA_FIELD_VDST].code & 0xff);
	w[0] |= vop3b ? (uint32_t)f->operand[ISA_FIELD_CARRY_OUT].code << 8 : (uint32_t)inst->op_sel << 11 | mods_abs(mods) << 8;
	w[1] = (uint32_t)mods_neg(mods) << 29 | (uint32_t)inst->omod << 27;
	w[1] |= src2 << 18 | (uint32_t)f->operand[ISA_FIELD_SRC1].code << 9 | f->operand[ISA_FIELD_SRC0].code;
	return 2;
}

int isa_encode_vop3p(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool mix = isa_has_trait(f, ISA_TRAIT_MIX), sel = mix || isa_has_trait(f, ISA_TRAIT_PACKED);
	unsigned sources = 0, negatable, op_sel_hi, neg_lo = inst->neg_lo, neg_hi = inst->neg_hi, mods;
	int r;

	if (inst->form > ISA_FORM_SHORT || (inst->flags & ~(unsigned)ISA_CLAMP) || !constant_bus_fits(f))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(vector_sources); i++)
		sources |= isa_has(f, vector_sources[i]) ? 1u << i : 0;
	negatable = mix || !isa_has(f, ISA_FIELD_SRC1) ? 0 : sources;	/* one source: v_accvgpr_read, v_accvgpr_write */
	r = source_modifiers(f, mix ? ISA_NEG | ISA_ABS : 0, 0, &mods);
	if (r < 0)
		return r;
	if (f->literal || (inst->op_sel & ~(sel ? sources : 0)) || ((neg_lo | neg_hi) & ~negatable) || (inst->op_sel_hi && !sel))
		return -EINVAL;
	if (inst->omod || inst->cbsz || inst->abid || inst->blgp ||
	    ((inst->flags & ISA_CLAMP) && !isa_has_trait(f, ISA_TRAIT_CLAMP)))
		return -EINVAL;
	if (mix) {
		neg_lo = mods_neg(mods);
		neg_hi = mods_abs(mods);
	}
	op_sel_hi = sel ? inst->op_sel_hi | (7 & ~sources) : 7;
	w[0] = 0x1a7u << 23 | (uint32_t)f->row->opcode << 16 | (inst->flags & ISA_CLAMP ? 1u << 15 : 0);
	w[0] |= (op_sel_hi >> 2 & 1) << 14 | (uint32_t)inst->op_sel << 11 | neg_hi << 8 | (f->operand[ISA_FIELD_VDST].code & 0xff);
	w[1] = (uint32_t)neg_lo << 29 | (op_sel_hi & 3) << 27;
	w[1] |= source_bits(f->operand[ISA_FIELD_SRC2].code) << 18 | source_bits(f->operand[ISA_FIELD_SRC1].code) << 9 |
		source_bits(f->operand[ISA_FIELD_SRC0].code);
	return 2;
}

/* A result of more than four registers may be exactly the accumulator or not touch it (llvm-mc holds to this rule as well). */
static bool accumulator_overlaps(const struct isa_fields *f)
{
	int dst = f->operand[ISA_FIELD_VDST].code, acc = f->operand[ISA_FIELD_SRC2].code, width = f->operand[ISA_FIELD_VDST].width;

	return width > 4 && acc >= ISA_VGPR0 && dst != acc && dst < acc + width && acc < dst + width;
}

int isa_encode_mai(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	unsigned vdst = f->operand[ISA_FIELD_VDST].code, src2 = f->operand[ISA_FIELD_SRC2].code;
	bool sparse = f->operand[ISA_FIELD_SRC2].width == 1 && f->row->info->operand[0].role == ISA_ROLE_DST_SRC;
	unsigned top = isa_has_trait(f, ISA_TRAIT_NEG) ? inst->neg_lo : inst->blgp;

	if (f->any_mod || inst->form > ISA_FORM_SHORT || inst->flags || inst->omod || inst->op_sel || inst->op_sel_hi ||
	    inst->neg_hi || inst->cbsz > 7 || inst->abid > 15)
		return -EINVAL;
	if (top > (sparse ? 0 : 7) || (inst->blgp && top != inst->blgp) || (inst->neg_lo && top != inst->neg_lo))
		return -EINVAL;
	if (!sparse && ((src2 >= ISA_VGPR0 && isa_is_agpr(src2) != isa_is_agpr(vdst)) || accumulator_overlaps(f)))
		return -EINVAL;
	/* C takes inline constants only */
	if (src2 < ISA_INT0 || (src2 > 208 && src2 < ISA_HALF) || (src2 > 248 && src2 < ISA_VGPR0))
		return -EINVAL;
	w[0] = 0x1a7u << 23 | (uint32_t)f->row->opcode << 16 | (isa_is_agpr(vdst) ? 1u << 15 : 0);
	w[0] |= (uint32_t)inst->abid << 11 | (uint32_t)inst->cbsz << 8 | (vdst & 0xff);
	w[1] = (uint32_t)top << 29 | (isa_is_agpr(f->operand[ISA_FIELD_SRC1].code) ? 1u << 28 : 0) |
	       (isa_is_agpr(f->operand[ISA_FIELD_SRC0].code) ? 1u << 27 : 0);
	w[1] |= source_bits(src2) << 18 | source_bits(f->operand[ISA_FIELD_SRC1].code) << 9 | source_bits(f->operand[ISA_FIELD_SRC0].code);
	return 2;
}

/* Operand n (0, 1) of an SDWA instruction as its eight modifier bits. */
static uint32_t sdwa_source(unsigned mods, unsigned n, unsigned sel, unsigned code)
{
	uint32_t scalar = code < ISA_VGPR0;

	mods >>= n;
	return scalar << 7 | (mods >> 3 & 1) << 5 | (mods & 1) << 4 | (mods >> 6 & 1) << 3 | sel;
}

static bool sdwa_destination_fits(const struct isa_inst *inst, bool source_only)
{
	if (source_only)
		return inst->dst_sel == 6 && inst->dst_unused == 0;
	return inst->dst_sel <= 6 && inst->dst_unused <= 2;
}

static int encode_sdwa(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool vopc = f->row->format == ISA_FORMAT_VOPC, two = isa_has(f, ISA_FIELD_SRC1);
	bool source_only = isa_has_trait(f, ISA_TRAIT_SRCSEL);
	bool omod = isa_has_trait(f, ISA_TRAIT_OMOD) && is_float_type(f->row->info->operand[0].type);
	unsigned mods;
	int r;

	r = source_modifiers(f, f->row->info->operand[0].type == ISA_TYPE_PKF16 ? 0 : ISA_NEG | ISA_ABS, source_only ? 0 : ISA_SEXT,
			     &mods);
	if (r < 0)
		return r;
	if (!isa_has_trait(f, ISA_TRAIT_SDWA) || f->literal || inst->op_sel || inst->src0_sel > 6 || (two && inst->src1_sel > 6))
		return -EINVAL;
	if (inst->omod > (omod ? 3 : 0) || !mask_operand_is_vcc(f))
		return -EINVAL;
	if (vopc ? (inst->flags & ISA_CLAMP) != 0 : !sdwa_destination_fits(inst, source_only))
		return -EINVAL;
	w[0] = word_e32(f, 0xf9);
	w[1] = sdwa_source(mods, 0, inst->src0_sel, f->operand[ISA_FIELD_SRC0].code) << 16 | (f->operand[ISA_FIELD_SRC0].code & 0xff);
	if (two)
		w[1] |= sdwa_source(mods, 1, inst->src1_sel, f->operand[ISA_FIELD_SRC1].code) << 24;
	if (vopc) {
		unsigned sdst = f->operand[ISA_FIELD_VDST].code;

		w[1] |= sdst == ISA_VCC ? 0 : 1u << 15 | sdst << 8;
	} else {
		w[1] |= (uint32_t)inst->omod << 14 | (inst->flags & ISA_CLAMP ? 1u << 13 : 0) | inst->dst_unused << 11 |
			inst->dst_sel << 8;
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

static int encode_dpp(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool wide = f->operand[ISA_FIELD_VDST].width > 1 || f->operand[ISA_FIELD_SRC0].width > 1;
	unsigned mods;
	int r;

	r = source_modifiers(f, ISA_NEG | ISA_ABS, 0, &mods);
	if (r < 0)
		return r;
	if (!isa_has_trait(f, ISA_TRAIT_DPP) || (inst->flags & ISA_CLAMP) || inst->omod || inst->op_sel || !mask_operand_is_vcc(f))
		return -EINVAL;
	if (f->operand[ISA_FIELD_SRC0].code < ISA_VGPR0 || (isa_has(f, ISA_FIELD_SRC1) && f->operand[ISA_FIELD_SRC1].code < ISA_VGPR0))
		return -EINVAL;
	if (!dpp_ctrl_fits(inst->dpp_ctrl, wide) || inst->row_mask > 15 || inst->bank_mask > 15)
		return -EINVAL;
	w[0] = word_e32(f, 0xfa);
	w[1] = (uint32_t)inst->row_mask << 28 | (uint32_t)inst->bank_mask << 24 | (inst->flags & ISA_BOUND_CTRL ? 1u << 19 : 0);
	w[1] |= (mods_neg(mods) & 1) << 20 | (mods_abs(mods) & 1) << 21 | (mods_neg(mods) >> 1 & 1) << 22 |
		(mods_abs(mods) >> 1 & 1) << 23;
	w[1] |= (uint32_t)inst->dpp_ctrl << 8 | (f->operand[ISA_FIELD_SRC0].code & 0xff);
	return 2;
}

int isa_encode_vop(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	unsigned form = inst->form;

	if ((inst->flags & ~(unsigned)(ISA_CLAMP | (form == ISA_FORM_DPP ? ISA_BOUND_CTRL : 0))) || !plain_vop(inst) ||
	    !constant_bus_fits(f))
		return -EINVAL;
	if (form == ISA_FORM_AUTO)
		form = fits_e32(f) ? ISA_FORM_SHORT : ISA_FORM_VOP3;
	switch (form) {
	case ISA_FORM_SHORT:
		return encode_e32(f, w);
	case ISA_FORM_VOP3:
		return isa_has_trait(f, ISA_TRAIT_E64) ? encode_vop3(f, w) : -EINVAL;
	case ISA_FORM_SDWA:
		return encode_sdwa(f, w);
	case ISA_FORM_DPP:
		return encode_dpp(f, w);
	default:
		return -EINVAL;
	}
}

int isa_encode_vop3(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;

	if ((inst->flags & ~(unsigned)ISA_CLAMP) || !plain_vop(inst) || !constant_bus_fits(f))
		return -EINVAL;
	return inst->form == ISA_FORM_AUTO || inst->form == ISA_FORM_VOP3 ? encode_vop3(f, w) : -EINVAL;
}
