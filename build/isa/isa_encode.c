/* SPDX-License-Identifier: MIT */
/*
 * struct isa_inst -> dwords.
 *
 * Three steps: the operands are checked against the row and sorted by encoding field; the form is chosen; one function per format
 * puts the fields together (those of the vector ALU are in isa_encode_vop.c). Bit positions are those of the CDNA3 ISA document,
 * chapter "Microcode Formats"; what gfx942 adds to them (sc0, sc1 and nt, the AccVGPR bits) is from the same place.
 */
#include "build/isa/isa_fields.h"

#include <errno.h>
#include <string.h>

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

static bool vector_operand_fits(const struct isa_operand *operand, unsigned allowed, unsigned width)
{
	bool agpr = operand->code >= ISA_AGPR0;

	return (allowed & (agpr ? ISA_ALLOW_AGPR : ISA_ALLOW_VGPR)) && operand->width == width &&
	       vector_register_fits(operand->code - (agpr ? ISA_AGPR0 : ISA_VGPR0), width);
}

static bool other_operand_fits(const struct isa_operand *operand, unsigned allowed, unsigned width)
{
	unsigned code = operand->code;

	if (code < ISA_INT0)
		return (allowed & ISA_ALLOW_SGPR) && operand->width == width && scalar_register_fits(code, width);
	if (code < ISA_LITERAL)
		return (allowed & ISA_ALLOW_CONST) &&
		       (code <= 208 || (code >= ISA_SHARED_BASE && code <= 248) || (code >= ISA_VCCZ && code <= ISA_SCC));
	if (code == ISA_LITERAL)
		return allowed & ISA_ALLOW_LITERAL;
	if (code == ISA_NONE)
		return allowed & ISA_ALLOW_OFF;
	return code == ISA_IMM && (allowed & ISA_ALLOW_IMM);
}

/*
 * Whether a literal says no more than an inline constant. The text of f64 and packed f16 operands (the literal of f64 is its high
 * half) cannot tell the two apart, so only the constant is taken.
 */
static bool is_inline_in_disguise(uint32_t value, unsigned type)
{
	static const uint32_t f64[] = { 0x3fe00000, 0x3ff00000, 0x40000000, 0x40100000 };
	static const uint32_t f16[] = { 0x3800, 0x3c00, 0x4000, 0x4400, 0x3118 };

	for (size_t i = 0; type == ISA_TYPE_F64 && i < sizeof(f64) / sizeof(f64[0]); i++) {
		if ((value & 0x7fffffff) == f64[i])
			return true;
	}
	for (size_t i = 0; type == ISA_TYPE_PKF16 && i < sizeof(f16) / sizeof(f16[0]); i++) {
		if ((value & ~0x8000u) == f16[i])
			return true;
	}
	return type == ISA_TYPE_F64 && value <= 64;
}

/* 16-bit operands: the literal is not wider, and integers have no inline floats (llvm-mc knows neither). */
static bool constant_fits_type(const struct isa_operand *operand, unsigned type, const struct isa_inst *inst)
{
	bool integer = type == ISA_TYPE_I16 || type == ISA_TYPE_B16;

	if (operand->code == ISA_LITERAL && is_inline_in_disguise(inst->literal, type))
		return false;
	if (!integer && type != ISA_TYPE_F16)
		return true;
	if (operand->code == ISA_LITERAL)	/* clang sign-extends negative integers to the literal's 32 bits */
		return inst->literal <= 0xffff || (integer && inst->literal >= 0xffff8000);
	return !integer || operand->code < ISA_HALF || operand->code > ISA_HALF + 8;
}

/* Which operands of the row the instruction has: from first to before last. */
static int find_range(const struct isa_row *row, const struct isa_inst *inst, unsigned *ret_first, unsigned *ret_last)
{
	unsigned first = 0, last = row->info->n_operands;

	if (row->format >= ISA_FORMAT_DS)
		first = isa_row_first_operand(row, inst->flags);
	if (row->format == ISA_FORMAT_SMEM && last > 0 && row->info->operand[last - 1].field == ISA_FIELD_SOFFSET &&
	    inst->n_operands == last - 1)
		last--;
	if (inst->n_operands != last - first)
		return -EINVAL;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

/* Vector registers, which most operands are, need but a look at class, width and alignment. */
static bool operand_fits(const struct isa_operand *operand, const struct isa_operand_info *info, const struct isa_inst *inst,
			 unsigned width)
{
	if (isa_is_vector(operand->code))
		return vector_operand_fits(operand, info->allowed, width);
	return other_operand_fits(operand, info->allowed, width) && constant_fits_type(operand, info->type, inst) &&
	       (info->field != ISA_FIELD_VDST || operand->code != ISA_M0);	/* lane reads cannot write M0 */
}

static int sort_operands(const struct isa_row *row, const struct isa_inst *inst, struct isa_fields *f)
{
	bool has_saddr = row->format == ISA_FORMAT_GLOBAL && inst->n_operands > 0 &&
			 inst->operand[inst->n_operands - 1].code != ISA_NONE;
	bool all_vector = true, literal = false;
	unsigned first, last, any_mod = 0;
	uint32_t present = 0;
	int r;

	r = find_range(row, inst, &first, &last);
	if (r < 0)
		return r;
	for (unsigned i = first; i < last; i++) {
		const struct isa_operand_info *info = &row->info->operand[i];
		const struct isa_operand *operand = &inst->operand[i - first];

		if (!operand_fits(operand, info, inst, isa_row_operand_width(row, info, inst->flags, has_saddr)))
			return -EINVAL;
		f->operand[info->field] = *operand;
		present |= 1u << info->field;
		any_mod |= operand->mod;
		all_vector &= isa_is_vector(operand->code);
		literal |= operand->code == ISA_LITERAL;
	}
	f->literal = literal;
	f->present = present;
	f->any_mod = (uint8_t)any_mod;
	f->all_vector = all_vector;
	return 0;
}

/* ---- scalar formats --------------------------------------------------------------------------------------------------- */

static int encode_sop(const struct isa_fields *f, uint32_t *w)
{
	unsigned opcode = f->row->opcode, sdst = f->operand[ISA_FIELD_SDST].code;
	unsigned s0 = f->operand[ISA_FIELD_SSRC0].code, s1 = f->operand[ISA_FIELD_SSRC1].code;

	switch (f->row->format) {
	case ISA_FORMAT_SOP2:
		w[0] = 2u << 30 | opcode << 23 | sdst << 16 | s1 << 8 | s0;
		break;
	case ISA_FORMAT_SOP1:
		w[0] = 0x17du << 23 | sdst << 16 | opcode << 8 | s0;
		break;
	default:	/* SOPC */
		if (isa_has(f, ISA_FIELD_SIMM16)) {		/* s_set_gpr_idx_on: four bits in place of ssrc1 */
			if (f->inst->literal > 15)
				return -EINVAL;
			s1 = f->inst->literal;
		}
		w[0] = 0x17eu << 23 | opcode << 16 | s1 << 8 | s0;
		break;
	}
	return 1;
}

static bool has_reserved_bits(uint32_t simm16, unsigned type)
{
	switch (type) {
	case ISA_TYPE_WAITCNT:
		return simm16 & 0x3080;
	case ISA_TYPE_SENDMSG:		/* message, operation, stream */
		return simm16 & ~0x37fu;
	case ISA_TYPE_GPR_IDX:
		return simm16 > 15;
	default:
		return false;
	}
}

static int encode_sopk(const struct isa_fields *f, uint32_t *w)
{
	/* s_setreg_imm32_b32 needs literal for its dword */
	uint32_t simm16 = f->literal ? (uint32_t)f->inst->offset : f->inst->literal;

	if (isa_has(f, ISA_FIELD_SIMM16) && (simm16 + 0x8000 > 0x17fff))	/* -0x8000..0xffff */
		return -EINVAL;
	if (has_reserved_bits(simm16, f->row->info->operand[0].type))
		return -EINVAL;
	if (f->row->format == ISA_FORMAT_SOPK)
		w[0] = 0xbu << 28 | (uint32_t)f->row->opcode << 23 | f->operand[ISA_FIELD_SDST].code << 16 | (simm16 & 0xffff);
	else
		w[0] = 0x17fu << 23 | (uint32_t)f->row->opcode << 16 | (isa_has(f, ISA_FIELD_SIMM16) ? simm16 & 0xffff : 0);
	return 1;
}

static int encode_smem(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool soffset = isa_has(f, ISA_FIELD_SOFFSET), addressed = isa_has(f, ISA_FIELD_SBASE);
	unsigned sdata = f->operand[ISA_FIELD_SDATA].code;
	bool buffer = f->operand[ISA_FIELD_SBASE].width == 4;

	if (inst->flags & ~(unsigned)(isa_has(f, ISA_FIELD_SDATA) && addressed ? ISA_GLC : 0))
		return -EINVAL;
	/* The offset has 21 bits and a sign, but a buffer's is not negative. */
	if (inst->offset < (buffer || !addressed ? 0 : -0x100000) || inst->offset > (addressed ? 0xfffff : 0))
		return -EINVAL;
	if (isa_has(f, ISA_FIELD_SDATA) && sdata >= ISA_M0)
		return -EINVAL;
	w[0] = 0x30u << 26 | (uint32_t)f->row->opcode << 18 | f->operand[ISA_FIELD_SBASE].code >> 1 | sdata << 6;
	w[0] |= inst->flags & ISA_GLC ? 1u << 16 : 0;
	w[1] = (uint32_t)inst->offset & 0x1fffff;
	if (!addressed)
		return 2;
	if (soffset && inst->offset == 0) {		/* the older way, and what llvm-mc writes: the register number as offset */
		w[1] = f->operand[ISA_FIELD_SOFFSET].code;
		return 2;
	}
	w[0] |= 1u << 17;
	if (soffset) {
		w[0] |= 1u << 14;
		w[1] |= (uint32_t)f->operand[ISA_FIELD_SOFFSET].code << 25;
	}
	return 2;
}

/* ---- memory formats --------------------------------------------------------------------------------------------------- */

/* All data registers of an instruction are VGPRs or all are AccVGPRs; one bit tells which. */
static int data_is_agpr(const struct isa_fields *f)
{
	static const uint8_t data[] = { ISA_FIELD_VDST, ISA_FIELD_DATA0, ISA_FIELD_DATA1, ISA_FIELD_VDATA };
	int agpr = -1;

	for (size_t i = 0; i < sizeof(data); i++) {
		bool is = isa_is_agpr(f->operand[data[i]].code);

		if (!isa_has(f, data[i]))
			continue;
		if (agpr >= 0 && agpr != is)
			return -EINVAL;
		agpr = is;
	}
	return agpr > 0;
}

static uint32_t low_byte(const struct isa_fields *f, enum isa_field field)
{
	return f->operand[field].code & 0xff;
}

/* Patterns of ds_swizzle: a bit mask, a quad permutation, a rotation or an FFT step; the other bits of the last two are zero. */
static bool swizzle_fits(unsigned offset)
{
	if (offset >= 0xe000)
		return offset < 0xe020;
	return offset < 0xc000 || !(offset & 0x381f);
}

static int encode_ds(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool gds = isa_has_trait(f, ISA_TRAIT_GDS_ONLY);
	int agpr = data_is_agpr(f);

	if (agpr < 0 || inst->offset < 0 || inst->offset > (f->row->info->n_operands || gds ? 0xffff : 0))
		return -EINVAL;
	if (inst->flags != (gds ? ISA_GDS : 0) || (gds && f->operand[ISA_FIELD_ADDR].code % 2))	/* the register of a GWS is even */
		return -EINVAL;
	if (isa_has_trait(f, ISA_TRAIT_SWIZZLE) && !swizzle_fits((unsigned)inst->offset))
		return -EINVAL;
	w[0] = 0x36u << 26 | (uint32_t)agpr << 25 | (uint32_t)f->row->opcode << 17 | (uint32_t)gds << 16 | (uint32_t)inst->offset;
	w[1] = low_byte(f, ISA_FIELD_VDST) << 24 | low_byte(f, ISA_FIELD_DATA1) << 16 | low_byte(f, ISA_FIELD_DATA0) << 8 |
	       low_byte(f, ISA_FIELD_ADDR);
	return 2;
}

static int encode_buffer(const struct isa_fields *f, uint32_t *w)
{
	const struct isa_inst *inst = f->inst;
	bool typed = f->row->format == ISA_FORMAT_MTBUF, addressed = (inst->flags & (ISA_OFFEN | ISA_IDXEN)) != 0;
	unsigned known = ISA_SC0 | ISA_SC1 | (f->row->info->n_operands ? ISA_NT | ISA_OFFEN | ISA_IDXEN | ISA_LDS : 0);
	int agpr = data_is_agpr(f);

	if (agpr < 0 || inst->offset < 0 || inst->offset > (f->row->info->n_operands ? 0xfff : 0) || (inst->flags & ~known))
		return -EINVAL;
	if ((inst->flags & ISA_LDS) && !isa_has_trait(f, ISA_TRAIT_LDSDMA))
		return -EINVAL;
	if (isa_has(f, ISA_FIELD_VADDR) && addressed != (f->operand[ISA_FIELD_VADDR].code != ISA_NONE))
		return -EINVAL;
	if (inst->format > 0x7f)
		return -EINVAL;
	w[0] = (uint32_t)inst->offset | (inst->flags & ISA_OFFEN ? 1u << 12 : 0) | (inst->flags & ISA_IDXEN ? 1u << 13 : 0) |
	       (inst->flags & ISA_SC0 ? 1u << 14 : 0);
	w[1] = (uint32_t)f->operand[ISA_FIELD_SOFFSET].code << 24 | (uint32_t)agpr << 23 |
	       (uint32_t)f->operand[ISA_FIELD_SRSRC].code >> 2 << 16 | low_byte(f, ISA_FIELD_VDATA) << 8 |
	       (addressed ? low_byte(f, ISA_FIELD_VADDR) : 0);
	if (typed) {
		w[0] |= 0x3au << 26 | (uint32_t)inst->format << 19 | (uint32_t)f->row->opcode << 15;
		w[1] |= (inst->flags & ISA_SC1 ? 1u << 21 : 0) | (inst->flags & ISA_NT ? 1u << 22 : 0);
	} else {
		w[0] |= 0x38u << 26 | (uint32_t)f->row->opcode << 18 | (inst->flags & ISA_SC1 ? 1u << 15 : 0) |
			(inst->flags & ISA_LDS ? 1u << 16 : 0) | (inst->flags & ISA_NT ? 1u << 17 : 0);
	}
	return 2;
}

static int encode_flat(const struct isa_fields *f, uint32_t *w)
{
	static const uint8_t segment[] = { [ISA_FORMAT_FLAT] = 0, [ISA_FORMAT_SCRATCH] = 1, [ISA_FORMAT_GLOBAL] = 2 };
	const struct isa_inst *inst = f->inst;
	unsigned format = f->row->format, addr = f->operand[ISA_FIELD_ADDR].code, saddr = 0;
	bool vector_scratch = format == ISA_FORMAT_SCRATCH && addr != ISA_NONE;
	int agpr = data_is_agpr(f);

	if (agpr < 0 || (inst->flags & ~(unsigned)(ISA_SC0 | ISA_SC1 | ISA_NT)))
		return -EINVAL;
	if (agpr && (inst->flags & ISA_SC0) && isa_has_trait(f, ISA_TRAIT_RTN_VGPR))
		return -EINVAL;
	/* 13 bits and a sign; flat addresses have 12 bits and none */
	if (inst->offset < (format == ISA_FORMAT_FLAT ? 0 : -0x1000) || inst->offset > 0xfff)
		return -EINVAL;
	if (isa_has(f, ISA_FIELD_SADDR)) {
		saddr = f->operand[ISA_FIELD_SADDR].code == ISA_NONE ? 0x7f : f->operand[ISA_FIELD_SADDR].code;
		if (f->operand[ISA_FIELD_SADDR].code >= ISA_EXEC && f->operand[ISA_FIELD_SADDR].code != ISA_NONE)
			return -EINVAL;
	}
	w[0] = 0x37u << 26 | (inst->flags & ISA_SC1 ? 1u << 25 : 0) | (uint32_t)f->row->opcode << 18 |
	       (inst->flags & ISA_NT ? 1u << 17 : 0);
	w[0] |= (inst->flags & ISA_SC0 ? 1u << 16 : 0) | (uint32_t)segment[format] << 14 | ((uint32_t)inst->offset & 0x1fff);
	w[0] |= vector_scratch ? 1u << 13 : 0;
	w[1] = low_byte(f, ISA_FIELD_VDST) << 24 | (uint32_t)agpr << 23 | saddr << 16 | low_byte(f, ISA_FIELD_DATA0) << 8 |
	       (addr == ISA_NONE ? 0 : addr & 0xff);
	return 2;
}

/* ---- the entry -------------------------------------------------------------------------------------------------------- */

/* Whatever is set must be encoded: an instruction is refused that says more than its format can hold. */
static bool says_too_much(const struct isa_fields *f)
{
	const struct isa_inst *inst = f->inst;
	unsigned format = f->row->format;
	bool vector = format >= ISA_FORMAT_VOP1 && format <= ISA_FORMAT_MAI;
	bool memory = format == ISA_FORMAT_SMEM || format >= ISA_FORMAT_DS;

	if (vector)
		return inst->offset || inst->format;
	if (inst->form > ISA_FORM_SHORT || (inst->format && format != ISA_FORMAT_MTBUF))
		return true;
	if (f->any_mod || inst->omod || inst->op_sel || inst->op_sel_hi || inst->neg_lo || inst->neg_hi || inst->cbsz ||
	    inst->abid || inst->blgp)
		return true;
	if (memory)
		return false;
	return inst->flags || (inst->offset && !(format == ISA_FORMAT_SOPK && f->literal));
}

static int encode_words(const struct isa_fields *f, uint32_t *w)
{
	switch (f->row->format) {
	case ISA_FORMAT_SOP2:
	case ISA_FORMAT_SOP1:
	case ISA_FORMAT_SOPC:
		return encode_sop(f, w);
	case ISA_FORMAT_SOPK:
	case ISA_FORMAT_SOPP:
		return encode_sopk(f, w);
	case ISA_FORMAT_SMEM:
		return encode_smem(f, w);
	case ISA_FORMAT_VOP1:
	case ISA_FORMAT_VOP2:
	case ISA_FORMAT_VOPC:
		return isa_encode_vop(f, w);
	case ISA_FORMAT_VOP3:
		return isa_encode_vop3(f, w);
	case ISA_FORMAT_VOP3P:
		return isa_encode_vop3p(f, w);
	case ISA_FORMAT_MAI:
		return isa_encode_mai(f, w);
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

/*
 * In parts that plain stores can clear: all of it at once gcc clears by a string instruction, which took a quarter of the time that
 * encoding takes.
 */
static void clear_operands(struct isa_fields *f)
{
	memset(&f->operand[0], 0, 8 * sizeof(f->operand[0]));
	memset(&f->operand[8], 0, 8 * sizeof(f->operand[0]));
	memset(&f->operand[16], 0, (ISA_FIELD_COUNT - 16) * sizeof(f->operand[0]));
}

int isa_encode(const struct isa *isa, const struct isa_inst *inst, uint32_t ret_dwords[ISA_MAX_DWORDS])
{
	struct isa_fields f;
	int n;

	f.row = isa_row(inst->op);
	f.inst = inst;
	if (!isa || f.row->format == ISA_FORMAT_NONE || inst->n_operands > f.row->info->n_operands)
		return -EINVAL;
	clear_operands(&f);
	n = sort_operands(f.row, inst, &f);
	if (n < 0)
		return n;
	n = says_too_much(&f) ? -EINVAL : encode_words(&f, ret_dwords);
	if (n < 0)
		return n;
	if (f.literal)
		ret_dwords[n++] = inst->literal;
	return n;
}
