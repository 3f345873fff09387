/* SPDX-License-Identifier: MIT */
/*
 * Dwords -> struct isa_inst.
 *
 * One function per format takes the fields apart; operands are then made from the row. What was found is encoded again and must
 * give the same dwords: so the decoder accepts exactly what the encoder can write, and every rule stands in one place only.
 */
#include "build/isa/isa_row.h"

#include <errno.h>
#include <string.h>

struct parts {
	const struct isa_row *row;
	uint16_t code[ISA_FIELD_COUNT];
	uint8_t mod[ISA_FIELD_COUNT];
	bool soffset_missing;
};

static unsigned bits(uint32_t word, unsigned first, unsigned n)
{
	return word >> first & ((1u << n) - 1);
}

static int32_t signed_bits(uint32_t word, unsigned n)
{
	return (int32_t)(word << (32 - n)) >> (32 - n);
}

static const struct isa_row *find_row(enum isa_format format, unsigned opcode)
{
	return isa_row(isa_op_by_opcode(format, opcode));
}

static unsigned flag(uint32_t word, unsigned bit, unsigned value)
{
	return word >> bit & 1 ? value : 0;
}

/* ---- scalar ----------------------------------------------------------------------------------------------------------- */

static void take_sop(uint32_t w, struct parts *p, struct isa_inst *inst)
{
	switch (w >> 23) {
	case 0x17d:
		p->row = find_row(ISA_FORMAT_SOP1, bits(w, 8, 8));
		p->code[ISA_FIELD_SDST] = bits(w, 16, 7);
		p->code[ISA_FIELD_SSRC0] = bits(w, 0, 8);
		break;
	case 0x17e:
		p->row = find_row(ISA_FORMAT_SOPC, bits(w, 16, 7));
		p->code[ISA_FIELD_SSRC0] = bits(w, 0, 8);
		p->code[ISA_FIELD_SSRC1] = bits(w, 8, 8);
		inst->literal = bits(w, 8, 8);
		break;
	case 0x17f:
		p->row = find_row(ISA_FORMAT_SOPP, bits(w, 16, 7));
		inst->literal = bits(w, 0, 16);
		break;
	default:
		p->code[ISA_FIELD_SDST] = bits(w, 16, 7);
		if (w >> 28 == 0xb) {
			p->row = find_row(ISA_FORMAT_SOPK, bits(w, 23, 5));
			inst->literal = bits(w, 0, 16);
		} else {
			p->row = find_row(ISA_FORMAT_SOP2, bits(w, 23, 7));
			p->code[ISA_FIELD_SSRC0] = bits(w, 0, 8);
			p->code[ISA_FIELD_SSRC1] = bits(w, 8, 8);
		}
		break;
	}
}

static void take_smem(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	bool soe = bits(w[0], 14, 1), imm = bits(w[0], 17, 1);

	p->row = find_row(ISA_FORMAT_SMEM, bits(w[0], 18, 8));
	p->code[ISA_FIELD_SBASE] = bits(w[0], 0, 6) * 2;
	p->code[ISA_FIELD_SDATA] = bits(w[0], 6, 7);
	inst->flags = flag(w[0], 16, ISA_GLC);
	if (imm)
		inst->offset = signed_bits(w[1], 21);
	if (soe)
		p->code[ISA_FIELD_SOFFSET] = bits(w[1], 25, 7);
	else if (!imm)
		p->code[ISA_FIELD_SOFFSET] = bits(w[1], 0, 7);
	p->soffset_missing = imm && !soe;
}

/* ---- vector ALU ------------------------------------------------------------------------------------------------------- */

static void set_mods(struct parts *p, unsigned neg, unsigned abs)
{
	for (unsigned i = 0; i < 3; i++)
		p->mod[ISA_FIELD_SRC0 + i] = (neg >> i & 1 ? ISA_NEG : 0) | (abs >> i & 1 ? ISA_ABS : 0);
}

static void take_sdwa(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	inst->form = ISA_FORM_SDWA;
	p->code[ISA_FIELD_SRC0] = bits(w[1], 0, 8) + (bits(w[1], 23, 1) ? 0 : ISA_VGPR0);
	p->code[ISA_FIELD_SRC1] -= bits(w[1], 31, 1) ? ISA_VGPR0 : 0;
	inst->src0_sel = bits(w[1], 16, 3);
	inst->src1_sel = bits(w[1], 24, 3);
	set_mods(p, bits(w[1], 20, 1) | bits(w[1], 28, 1) << 1, bits(w[1], 21, 1) | bits(w[1], 29, 1) << 1);
	p->mod[ISA_FIELD_SRC0] |= flag(w[1], 19, ISA_SEXT);
	p->mod[ISA_FIELD_SRC1] |= flag(w[1], 27, ISA_SEXT);
	if (p->row->format == ISA_FORMAT_VOPC) {
		if (bits(w[1], 15, 1))
			p->code[ISA_FIELD_VDST] = bits(w[1], 8, 7);
		return;
	}
	inst->dst_sel = bits(w[1], 8, 3);
	inst->dst_unused = bits(w[1], 11, 2);
	inst->flags = flag(w[1], 13, ISA_CLAMP);
	inst->omod = bits(w[1], 14, 2);
}

static void take_dpp(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	inst->form = ISA_FORM_DPP;
	p->code[ISA_FIELD_SRC0] = bits(w[1], 0, 8) + ISA_VGPR0;
	inst->dpp_ctrl = bits(w[1], 8, 9);
	inst->flags = flag(w[1], 19, ISA_BOUND_CTRL);
	inst->bank_mask = bits(w[1], 24, 4);
	inst->row_mask = bits(w[1], 28, 4);
	set_mods(p, bits(w[1], 20, 1) | bits(w[1], 22, 1) << 1, bits(w[1], 21, 1) | bits(w[1], 23, 1) << 1);
}

/* Whether vdst names an SGPR: compares and lane reads. */
static bool writes_scalar(const struct isa_row *row)
{
	return row->info->n_operands && (row->info->operand[0].allowed & ISA_ALLOW_SGPR);
}

static void take_vop(const uint32_t *w, size_t n, struct parts *p, struct isa_inst *inst)
{
	unsigned top = w[0] >> 25, src0 = bits(w[0], 0, 9);

	if (top == 0x3f)
		p->row = find_row(ISA_FORMAT_VOP1, bits(w[0], 9, 8));
	else if (top == 0x3e)
		p->row = find_row(ISA_FORMAT_VOPC, bits(w[0], 17, 8));
	else
		p->row = find_row(ISA_FORMAT_VOP2, top);
	p->code[ISA_FIELD_VDST] = top == 0x3e ? ISA_VCC : bits(w[0], 17, 8) + (writes_scalar(p->row) ? 0 : ISA_VGPR0);
	p->code[ISA_FIELD_SRC0] = src0;
	p->code[ISA_FIELD_SRC1] = bits(w[0], 9, 8) + ISA_VGPR0;
	p->code[ISA_FIELD_CARRY_OUT] = p->code[ISA_FIELD_CARRY_IN] = ISA_VCC;
	if (src0 == 0xf9 && n > 1)
		take_sdwa(w, p, inst);
	else if (src0 == 0xfa && n > 1)
		take_dpp(w, p, inst);
}

/* VOP3 holds the opcodes of VOPC, VOP2 and VOP1 in its lower half. */
static const struct isa_row *find_vop3_row(unsigned opcode)
{
	if (opcode < 0x100)
		return find_row(ISA_FORMAT_VOPC, opcode);
	if (opcode < 0x140)
		return find_row(ISA_FORMAT_VOP2, opcode - 0x100);
	if (opcode < 0x1c0)
		return find_row(ISA_FORMAT_VOP1, opcode - 0x140);
	return find_row(ISA_FORMAT_VOP3, opcode);
}

static bool has_field(const struct isa_row *row, enum isa_field field)
{
	for (unsigned i = 0; i < row->info->n_operands; i++) {
		if (row->info->operand[i].field == field)
			return true;
	}
	return false;
}

static void take_vop3(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	bool vop3b;

	p->row = find_vop3_row(bits(w[0], 16, 10));
	vop3b = has_field(p->row, ISA_FIELD_CARRY_OUT);
	inst->form = ISA_FORM_VOP3;
	inst->flags = flag(w[0], 15, ISA_CLAMP);
	inst->omod = bits(w[1], 27, 2);
	inst->op_sel = vop3b ? 0 : bits(w[0], 11, 4);
	set_mods(p, bits(w[1], 29, 3), vop3b ? 0 : bits(w[0], 8, 3));
	p->code[ISA_FIELD_VDST] = bits(w[0], 0, 8);
	p->code[ISA_FIELD_CARRY_OUT] = bits(w[0], 8, 7);
	p->code[ISA_FIELD_SRC0] = bits(w[1], 0, 9);
	p->code[ISA_FIELD_SRC1] = bits(w[1], 9, 9);
	p->code[ISA_FIELD_SRC2] = p->code[ISA_FIELD_CARRY_IN] = bits(w[1], 18, 9);
	if (!writes_scalar(p->row))
		p->code[ISA_FIELD_VDST] += ISA_VGPR0;
}

static void take_mai(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	bool agpr = bits(w[0], 15, 1);

	inst->cbsz = bits(w[0], 8, 3);
	inst->abid = bits(w[0], 11, 4);
	if (p->row->traits & ISA_TRAIT_NEG)
		inst->neg_lo = bits(w[1], 29, 3);
	else
		inst->blgp = bits(w[1], 29, 3);
	p->code[ISA_FIELD_VDST] += agpr ? 256 : 0;
	p->code[ISA_FIELD_SRC0] += bits(w[1], 27, 1) && p->code[ISA_FIELD_SRC0] >= ISA_VGPR0 ? 256 : 0;
	p->code[ISA_FIELD_SRC1] += bits(w[1], 28, 1) && p->code[ISA_FIELD_SRC1] >= ISA_VGPR0 ? 256 : 0;
	if (p->row->info->operand[0].role == ISA_ROLE_DST && p->code[ISA_FIELD_SRC2] >= ISA_VGPR0)
		p->code[ISA_FIELD_SRC2] += agpr ? 256 : 0;
}

static void take_vop3p(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	unsigned sources = 0;

	p->row = find_row(ISA_FORMAT_VOP3P, bits(w[0], 16, 7));
	p->code[ISA_FIELD_VDST] = bits(w[0], 0, 8) + ISA_VGPR0;
	p->code[ISA_FIELD_SRC0] = bits(w[1], 0, 9);
	p->code[ISA_FIELD_SRC1] = bits(w[1], 9, 9);
	p->code[ISA_FIELD_SRC2] = bits(w[1], 18, 9);
	if (p->row->format == ISA_FORMAT_NONE) {
		p->row = find_row(ISA_FORMAT_MAI, bits(w[0], 16, 7));
		if (p->row->format != ISA_FORMAT_NONE)
			take_mai(w, p, inst);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		sources |= has_field(p->row, ISA_FIELD_SRC0 + i) ? 1u << i : 0;
	inst->flags = flag(w[0], 15, ISA_CLAMP);
	inst->op_sel = bits(w[0], 11, 3);
	if (!(p->row->traits & ISA_TRAIT_NOSEL))
		inst->op_sel_hi = (bits(w[0], 14, 1) << 2 | bits(w[1], 27, 2)) & sources;
	if (p->row->traits & ISA_TRAIT_MIX) {
		set_mods(p, bits(w[1], 29, 3), bits(w[0], 8, 3));
	} else {
		inst->neg_lo = bits(w[1], 29, 3);
		inst->neg_hi = bits(w[0], 8, 3);
	}
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void take_ds(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	unsigned data = bits(w[0], 25, 1) ? ISA_AGPR0 : ISA_VGPR0;

	p->row = find_row(ISA_FORMAT_DS, bits(w[0], 17, 8));
	p->code[ISA_FIELD_ADDR] = bits(w[1], 0, 8) + ISA_VGPR0;
	p->code[ISA_FIELD_DATA0] = bits(w[1], 8, 8) + data;
	p->code[ISA_FIELD_DATA1] = bits(w[1], 16, 8) + data;
	p->code[ISA_FIELD_VDST] = bits(w[1], 24, 8) + data;
	inst->offset = (int32_t)bits(w[0], 0, 16);
	inst->flags = flag(w[0], 16, ISA_GDS);
}

static void take_buffer(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	bool typed = w[0] >> 26 == 0x3a;

	if (typed) {
		p->row = find_row(ISA_FORMAT_MTBUF, bits(w[0], 15, 4));
		inst->format = (uint8_t)bits(w[0], 19, 7);
		inst->flags = flag(w[1], 21, ISA_SC1) | flag(w[1], 22, ISA_NT);
	} else {
		p->row = find_row(ISA_FORMAT_MUBUF, bits(w[0], 18, 7));
		inst->flags = flag(w[0], 15, ISA_SC1) | flag(w[0], 17, ISA_NT) | flag(w[0], 16, ISA_LDS);
	}
	inst->flags |= flag(w[0], 12, ISA_OFFEN) | flag(w[0], 13, ISA_IDXEN) | flag(w[0], 14, ISA_SC0);
	inst->offset = (int32_t)bits(w[0], 0, 12);
	p->code[ISA_FIELD_VADDR] = inst->flags & (ISA_OFFEN | ISA_IDXEN) ? bits(w[1], 0, 8) + ISA_VGPR0 : ISA_NONE;
	p->code[ISA_FIELD_VDATA] = bits(w[1], 8, 8) + (bits(w[1], 23, 1) ? ISA_AGPR0 : ISA_VGPR0);
	p->code[ISA_FIELD_SRSRC] = bits(w[1], 16, 5) * 4;
	p->code[ISA_FIELD_SOFFSET] = bits(w[1], 24, 8);
}

static void take_flat(const uint32_t *w, struct parts *p, struct isa_inst *inst)
{
	static const uint8_t format[4] = { ISA_FORMAT_FLAT, ISA_FORMAT_SCRATCH, ISA_FORMAT_GLOBAL, ISA_FORMAT_NONE };
	unsigned data = bits(w[1], 23, 1) ? ISA_AGPR0 : ISA_VGPR0, saddr = bits(w[1], 16, 7), segment = bits(w[0], 14, 2);

	p->row = find_row(format[segment], bits(w[0], 18, 7));
	p->code[ISA_FIELD_ADDR] = bits(w[1], 0, 8) + ISA_VGPR0;
	if (format[segment] == ISA_FORMAT_SCRATCH && !bits(w[0], 13, 1))
		p->code[ISA_FIELD_ADDR] = ISA_NONE;
	p->code[ISA_FIELD_DATA0] = bits(w[1], 8, 8) + data;
	p->code[ISA_FIELD_VDST] = bits(w[1], 24, 8) + data;
	p->code[ISA_FIELD_SADDR] = saddr == 0x7f ? ISA_NONE : saddr;
	inst->offset = format[segment] == ISA_FORMAT_FLAT ? (int32_t)bits(w[0], 0, 13) : signed_bits(w[0], 13);
	inst->flags = flag(w[0], 16, ISA_SC0) | flag(w[0], 17, ISA_NT) | flag(w[0], 25, ISA_SC1);
}

/* ---- operands from the row -------------------------------------------------------------------------------------------- */

static bool is_register(unsigned code)
{
	return code < ISA_INT0 || (code >= ISA_VGPR0 && code < ISA_AGPR0 + 256);
}

static struct isa_operand make_operand(const struct parts *p, const struct isa_operand_info *info, const struct isa_inst *inst)
{
	struct isa_operand operand = { .code = p->code[info->field], .mod = p->mod[info->field] };

	if (info->field == ISA_FIELD_SIMM16)
		operand.code = ISA_IMM;
	if (info->field == ISA_FIELD_LITERAL)
		operand.code = ISA_LITERAL;
	if (is_register(operand.code)) {
		operand.width = (uint8_t)isa_row_operand_width(p->row, info, inst->flags, p->code[ISA_FIELD_SADDR] != ISA_NONE);
		if (operand.code >= ISA_VGPR0 && operand.code < ISA_AGPR0 &&
		    (info->allowed & (ISA_ALLOW_VGPR | ISA_ALLOW_AGPR)) == ISA_ALLOW_AGPR)
			operand.code += ISA_AGPR0 - ISA_VGPR0;
	}
	return operand;
}

/* Returns whether a literal follows. */
static bool make_operands(const struct parts *p, struct isa_inst *inst)
{
	unsigned first = isa_row_first_operand(p->row, inst->flags), last = p->row->info->n_operands;
	bool literal = false;

	if (p->soffset_missing && last && p->row->info->operand[last - 1].field == ISA_FIELD_SOFFSET)
		last--;
	for (unsigned i = first; i < last; i++) {
		struct isa_operand *operand = &inst->operand[inst->n_operands++];

		*operand = make_operand(p, &p->row->info->operand[i], inst);
		literal |= operand->code == ISA_LITERAL;
	}
	return literal;
}

static size_t take_words(const uint32_t *w, size_t n, struct parts *p, struct isa_inst *inst)
{
	unsigned top = w[0] >> 26;

	if (w[0] >> 31 == 0) {
		take_vop(w, n, p, inst);
		return inst->form > ISA_FORM_SHORT ? 2 : 1;
	}
	if (w[0] >> 30 == 2) {
		take_sop(w[0], p, inst);
		return 1;
	}
	if (n < 2)
		return 0;
	if (top == 0x30)
		take_smem(w, p, inst);
	else if (w[0] >> 23 == 0x1a7)
		take_vop3p(w, p, inst);
	else if (top == 0x34)
		take_vop3(w, p, inst);
	else if (top == 0x36)
		take_ds(w, p, inst);
	else if (top == 0x37)
		take_flat(w, p, inst);
	else if (top == 0x38 || top == 0x3a)
		take_buffer(w, p, inst);
	else
		return 0;
	return 2;
}

int isa_decode(const struct isa *isa, const uint32_t *dwords, size_t n, struct isa_inst *ret_inst)
{
	struct parts p = { .row = isa_row(ISA_OP_INVALID) };
	struct isa_inst inst = { .form = ISA_FORM_SHORT };
	uint32_t again[ISA_MAX_DWORDS];
	size_t used;

	if (!isa || n == 0)
		return -EILSEQ;
	used = take_words(dwords, n, &p, &inst);
	if (used == 0 || p.row->format == ISA_FORMAT_NONE)
		return -EILSEQ;
	inst.op = (uint16_t)(p.row - isa_rows);
	if (!has_field(p.row, ISA_FIELD_SIMM16))
		inst.literal = 0;
	if (make_operands(&p, &inst)) {
		if (used >= n)
			return -EILSEQ;
		if (p.row->format == ISA_FORMAT_SOPK)		/* s_setreg_imm32_b32: see struct isa_inst */
			inst.offset = (int32_t)inst.literal;
		inst.literal = dwords[used++];
	}
	if (isa_encode(isa, &inst, again) != (int)used || memcmp(again, dwords, used * sizeof(*dwords)) != 0)
		return -EILSEQ;
	*ret_inst = inst;
	return (int)used;
}
