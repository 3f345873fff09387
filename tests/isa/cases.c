/* SPDX-License-Identifier: MIT */
#include "tests/isa/cases.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

bool inst_equal(const struct isa_inst *a, const struct isa_inst *b)
{
	if (a->op != b->op || a->form != b->form || a->n_operands != b->n_operands)
		return false;
	for (unsigned i = 0; i < a->n_operands; i++) {
		if (a->operand[i].code != b->operand[i].code || a->operand[i].width != b->operand[i].width ||
		    a->operand[i].mod != b->operand[i].mod)
			return false;
	}
	return a->literal == b->literal && a->offset == b->offset && a->flags == b->flags && a->omod == b->omod &&
	       a->op_sel == b->op_sel && a->op_sel_hi == b->op_sel_hi && a->neg_lo == b->neg_lo && a->neg_hi == b->neg_hi &&
	       a->cbsz == b->cbsz && a->abid == b->abid && a->blgp == b->blgp && a->format == b->format &&
	       a->dpp_ctrl == b->dpp_ctrl && a->row_mask == b->row_mask && a->bank_mask == b->bank_mask &&
	       a->dst_sel == b->dst_sel && a->dst_unused == b->dst_unused && a->src0_sel == b->src0_sel &&
	       a->src1_sel == b->src1_sel;
}

static bool is_canonical_mask(unsigned offset)
{
	unsigned and = offset & 31, or = offset >> 5 & 31, xor = offset >> 10 & 31;

	return offset >= 0x8000 || ((or & (and | xor)) == 0 && (xor & ~and) == 0);
}

static bool has_extended_literal(const struct isa_inst *inst)
{
	const struct isa_op_info *info = isa_op_info(isa_find("gfx942"), inst->op);

	for (unsigned i = 0; i < inst->n_operands && inst->literal > 0xffff; i++) {
		unsigned type = info->operand[i].type;

		if (inst->operand[i].code == ISA_LITERAL && (type == ISA_TYPE_I16 || type == ISA_TYPE_B16))
			return true;
	}
	return false;
}

bool text_is_exact(const struct isa_inst *inst)
{
	if (has_extended_literal(inst))
		return false;
	switch (inst->op) {
	case ISA_DS_SWIZZLE_B32:
		return is_canonical_mask((unsigned)inst->offset);
	case ISA_V_FMAMK_F32:
	case ISA_V_FMAAK_F32:
	case ISA_V_MADMK_F16:
	case ISA_V_MADAK_F16:
		return inst->literal < 128 || inst->literal > 255;
	default:
		return true;
	}
}

void cases_release(struct cases *cases)
{
	free(cases->inst);
	*cases = (struct cases){ 0 };
}

static void keep(struct cases *cases, const struct isa *isa, const struct isa_inst *inst)
{
	uint32_t dwords[ISA_MAX_DWORDS];

	if (isa_encode(isa, inst, dwords) < 0 || !text_is_exact(inst))
		return;
	if (cases->n == cases->room) {
		cases->room = cases->room ? cases->room * 2 : 4096;
		cases->inst = realloc(cases->inst, cases->room * sizeof(*cases->inst));
		assert(cases->inst);
	}
	cases->inst[cases->n++] = *inst;
}

/* ---- operands --------------------------------------------------------------------------------------------------------- */

static bool is_vgpr_pair_address(const struct isa_operand_info *info, const struct isa_inst *inst)
{
	return (inst->flags & ISA_OFFEN) && (inst->flags & ISA_IDXEN) && info->field == ISA_FIELD_VADDR;
}

/* The register `first` of that class as wide as the row wants it. */
static struct isa_operand reg(const struct isa_operand_info *info, const struct isa_inst *inst, unsigned code)
{
	unsigned width = info->field == ISA_FIELD_VADDR ? 1 + is_vgpr_pair_address(info, inst) : info->width;

	return (struct isa_operand){ .code = (uint16_t)code, .width = (uint8_t)width };
}

static struct isa_operand base_operand(const struct isa_operand_info *info, const struct isa_inst *inst, unsigned i)
{
	if (info->allowed & ISA_ALLOW_VGPR)
		return reg(info, inst, ISA_VGPR0 + 64 + 64 * (i % 3) % 128 + i * 2);
	if (info->allowed & ISA_ALLOW_AGPR)
		return reg(info, inst, ISA_AGPR0 + 4 * i);
	if (info->field == ISA_FIELD_CARRY_OUT || info->field == ISA_FIELD_CARRY_IN ||
	    (info->field == ISA_FIELD_VDST && info->width == 2))
		return reg(info, inst, ISA_VCC);
	if (info->allowed & ISA_ALLOW_SGPR)
		return reg(info, inst, 16 * i);
	if (info->allowed & ISA_ALLOW_LITERAL)
		return (struct isa_operand){ .code = ISA_LITERAL };
	return (struct isa_operand){ .code = ISA_IMM };
}

static void set_literal(struct isa_inst *inst, unsigned type)
{
	inst->literal = type == ISA_TYPE_F16 || type == ISA_TYPE_I16 || type == ISA_TYPE_B16 ? 0xabcd : 0x12345678;
}

/* Operand i at each corner of what its row allows. */
static void vary_operand(struct cases *cases, const struct isa *isa, const struct isa_inst *base,
			 const struct isa_operand_info *info, unsigned i)
{
	static const uint16_t constants[] = { 128, 129, 192, 193, 208, 235, 239, 240, 241, 242, 247, 248, 251, 252, 253 };
	static const uint16_t scalars[] = { 0, 4, 84, 96, 100, 101, 102, 103, 104, 106, 107, 108, 112, 120, 123, 124, 126, 127 };
	static const uint32_t literals[] = {0,          64,         65,         0x3f800000, 0x3c00,     0x80000000,
					    0x40000000, 0xfffffff0, 0xffffffef, 0xffff,     0x3e22f983, 0x3118};
	struct isa_inst inst = *base;

	for (size_t k = 0; k < LENGTH(scalars); k++) {
		inst.operand[i] = reg(info, base, scalars[k]);
		keep(cases, isa, &inst);
	}
	for (size_t k = 0; k < LENGTH(constants); k++) {
		inst.operand[i] = (struct isa_operand){ .code = constants[k] };
		keep(cases, isa, &inst);
	}
	for (unsigned file = ISA_VGPR0; file <= ISA_AGPR0; file += ISA_AGPR0 - ISA_VGPR0) {
		const unsigned firsts[] = { 0, 1, 2, 127, 128, (256 - reg(info, base, 0).width) & ~1u, 255 };

		for (size_t k = 0; k < LENGTH(firsts); k++) {
			inst.operand[i] = reg(info, base, file + firsts[k]);
			keep(cases, isa, &inst);
		}
	}
	inst.operand[i] = isa_off();
	keep(cases, isa, &inst);
	if (base->operand[i].code == ISA_LITERAL || !(info->allowed & ISA_ALLOW_LITERAL))
		return;
	inst.operand[i] = (struct isa_operand){ .code = ISA_LITERAL };
	for (size_t k = 0; k < LENGTH(literals); k++) {
		inst.literal = literals[k];
		keep(cases, isa, &inst);
	}
}

static void vary_mods(struct cases *cases, const struct isa *isa, const struct isa_inst *base, unsigned i)
{
	static const uint8_t mods[] = { ISA_NEG, ISA_ABS, ISA_NEG | ISA_ABS, ISA_SEXT };
	static const uint16_t codes[] = { 129, 193, 242, 5 };	/* 1, -1, 1.0, s5 */

	for (size_t k = 0; k < LENGTH(mods); k++) {
		struct isa_inst inst = *base;

		inst.operand[i].mod = mods[k];
		keep(cases, isa, &inst);
		for (size_t c = 0; c < LENGTH(codes); c++) {
			inst.operand[i].code = codes[c];
			inst.operand[i].width = codes[c] < ISA_INT0 ? base->operand[i].width : 0;
			keep(cases, isa, &inst);
		}
	}
}

/* All data registers of a memory or matrix instruction as AccVGPRs. */
static void vary_all_agprs(struct cases *cases, const struct isa *isa, const struct isa_inst *base,
			   const struct isa_operand_info *info)
{
	struct isa_inst inst = *base;

	for (unsigned i = 0; i < inst.n_operands; i++) {
		if ((info[i].allowed & (ISA_ALLOW_VGPR | ISA_ALLOW_AGPR)) == (ISA_ALLOW_VGPR | ISA_ALLOW_AGPR))
			inst.operand[i].code += ISA_AGPR0 - ISA_VGPR0;
	}
	keep(cases, isa, &inst);
}

/* ---- modifiers -------------------------------------------------------------------------------------------------------- */

/* Tries the instruction with one field at each of several values. */
#define VARY(cases, isa, base, field, ...) \
	do { \
		static const int32_t values[] = { __VA_ARGS__ }; \
		for (size_t v = 0; v < LENGTH(values); v++) { \
			struct isa_inst inst = *(base); \
			inst.field = values[v]; \
			keep(cases, isa, &inst); \
		} \
	} while (0)

static void vary_vector_modifiers(struct cases *cases, const struct isa *isa, const struct isa_inst *base)
{
	VARY(cases, isa, base, flags, ISA_CLAMP, ISA_BOUND_CTRL);
	VARY(cases, isa, base, omod, 1, 2, 3);
	VARY(cases, isa, base, op_sel, 1, 2, 4, 8, 3, 12, 15);
	VARY(cases, isa, base, op_sel_hi, 0, 1, 2, 3);
	if (base->n_operands > 3)
		VARY(cases, isa, base, op_sel_hi, 4, 5, 6, 7);
	VARY(cases, isa, base, neg_lo, 1, 2, 4, 7);
	VARY(cases, isa, base, neg_hi, 1, 2, 4, 7);
	VARY(cases, isa, base, cbsz, 1, 2, 4, 7);
	VARY(cases, isa, base, abid, 1, 8, 15);
	VARY(cases, isa, base, blgp, 1, 2, 4, 7);
}

static void vary_dpp(struct cases *cases, const struct isa *isa, const struct isa_inst *base)
{
	VARY(cases, isa, base, dpp_ctrl, 0, 0x1b, 0xe4, 0xff, 0x101, 0x10f, 0x111, 0x11f, 0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c,
	     0x140, 0x141, 0x142, 0x143, 0x150, 0x15f);
	VARY(cases, isa, base, row_mask, 0, 5);
	VARY(cases, isa, base, bank_mask, 0, 10);
}

static void vary_sdwa(struct cases *cases, const struct isa *isa, const struct isa_inst *base)
{
	VARY(cases, isa, base, src0_sel, 0, 1, 2, 3, 4, 5, 6);
	if (base->src1_sel)
		VARY(cases, isa, base, src1_sel, 0, 1, 2, 3, 4, 5, 6);
	if (base->dst_sel) {
		VARY(cases, isa, base, dst_sel, 0, 1, 2, 3, 4, 5, 6);
		VARY(cases, isa, base, dst_unused, 0, 1, 2);
	}
}

static void vary_memory_modifiers(struct cases *cases, const struct isa *isa, const struct isa_inst *base)
{
	VARY(cases, isa, base, offset, 1, 4, 16, 255, 256, 4095, 4096, 0x041f, 0x0c1f, 0x7c1f, 0x2817, 0x8000, 0x80e4,
	     0xc3e0, 0xe01f, 0xffff, 0xfffff, -1, -4096, -4097, -0x100000);
	VARY(cases, isa, base, flags, 0, ISA_GLC, ISA_NT, ISA_SC1, ISA_SC0 | ISA_NT | ISA_SC1, ISA_LDS, ISA_GDS, ISA_OFFEN,
	     ISA_IDXEN, ISA_OFFEN | ISA_SC0 | ISA_NT | ISA_SC1, ISA_OFFEN | ISA_LDS, ISA_IDXEN | ISA_LDS);
	VARY(cases, isa, base, format, 0, 1, 4, 14, 0x10, 0x11, 0x74, 0x7f);
}

static void vary_immediate(struct cases *cases, const struct isa *isa, const struct isa_inst *base)
{
	VARY(cases, isa, base, literal, 1, 2, 5, 10, 12, 15, 0x12, 0x1f, 64, 65, 127, 0x370, 0xc07f, 0xcf7f, 0x0f73, 0x7fff, 0x8000,
	     0xc07e, 0xf801, 0x1881, 0xf814, 0xffff);
}

/* ---- one row in one form ---------------------------------------------------------------------------------------------- */

static void vary_everything(struct cases *cases, const struct isa *isa, const struct isa_inst *base,
			    const struct isa_operand_info *info)
{
	bool immediate = false;

	keep(cases, isa, base);
	for (unsigned i = 0; i < base->n_operands; i++) {
		vary_operand(cases, isa, base, &info[i], i);
		vary_mods(cases, isa, base, i);
		immediate |= base->operand[i].code == ISA_IMM;
	}
	vary_all_agprs(cases, isa, base, info);
	if (immediate)
		vary_immediate(cases, isa, base);
	vary_vector_modifiers(cases, isa, base);
	if (base->form == ISA_FORM_DPP)
		vary_dpp(cases, isa, base);
	if (base->form == ISA_FORM_SDWA)
		vary_sdwa(cases, isa, base);
	if (isa_op_info(isa, base->op)->unit == ISA_UNIT_SALU)
		VARY(cases, isa, base, offset, 1, 0x1881, 0xffff);	/* the hwreg of s_setreg_imm32_b32 */
	else
		vary_memory_modifiers(cases, isa, base);
}

static void fill_operands(struct isa_inst *inst, const struct isa_op_info *info, unsigned first, unsigned last)
{
	inst->n_operands = 0;
	for (unsigned i = first; i < last; i++) {
		inst->operand[inst->n_operands++] = base_operand(&info->operand[i], inst, i);
		if (inst->operand[i - first].code == ISA_LITERAL)
			set_literal(inst, info->operand[i].type);
	}
}

/* What stands in operand `field` of an instruction whose operands start with that of row operand `first`. */
static struct isa_operand *find(struct isa_inst *inst, const struct isa_op_info *info, unsigned first, enum isa_field field)
{
	for (unsigned i = 0; i < inst->n_operands; i++) {
		if (info->operand[first + i].field == field)
			return &inst->operand[i];
	}
	return NULL;
}

/* Addresses of memory instructions come as vector, scalar, both or none: all of them, with the flags that go with each. */
static void add_memory(struct cases *cases, const struct isa *isa, const struct isa_op_info *info, const struct isa_inst *start,
		       unsigned first)
{
	static const struct isa_operand pair = {.code = ISA_VGPR0 + 250, .width = 2}, one = {.code = ISA_VGPR0 + 251, .width = 1};
	struct isa_inst inst = *start;
	struct isa_operand *address, *saddr, *vaddr;

	fill_operands(&inst, info, first, info->n_operands);
	vary_everything(cases, isa, &inst, &info->operand[first]);
	address = find(&inst, info, first, ISA_FIELD_ADDR);
	saddr = find(&inst, info, first, ISA_FIELD_SADDR);
	vaddr = find(&inst, info, first, ISA_FIELD_VADDR);
	if (address && saddr) {
		const struct isa_operand scalar = *saddr, addresses[] = { pair, one, isa_off() };

		for (size_t a = 0; a < LENGTH(addresses); a++) {
			for (unsigned s = 0; s < 2; s++) {
				*address = addresses[a];
				*saddr = s ? scalar : isa_off();
				vary_everything(cases, isa, &inst, &info->operand[first]);
			}
		}
	}
	if (vaddr) {
		*vaddr = isa_off();
		vary_everything(cases, isa, &inst, &info->operand[first]);
		*vaddr = pair;
		inst.flags |= ISA_OFFEN | ISA_IDXEN;
		keep(cases, isa, &inst);
	}
}

static void add_short(struct cases *cases, const struct isa *isa, const struct isa_op_info *info, struct isa_inst *inst)
{
	static const uint16_t starts[] = { 0, ISA_OFFEN, ISA_LDS, ISA_OFFEN | ISA_LDS, ISA_SC0, ISA_GDS };

	if (info->unit == ISA_UNIT_VMEM || info->unit == ISA_UNIT_FLAT || info->unit == ISA_UNIT_LDS) {
		for (size_t k = 0; k < LENGTH(starts); k++) {
			bool flat_atomic = info->unit == ISA_UNIT_FLAT && info->kind == ISA_KIND_ATOMIC;

			inst->flags = starts[k];
			add_memory(cases, isa, info, inst,
				   (flat_atomic && !(starts[k] & ISA_SC0)) || (!flat_atomic && (starts[k] & ISA_LDS)));
		}
		return;
	}
	fill_operands(inst, info, 0, info->n_operands);
	vary_everything(cases, isa, inst, info->operand);
	if (info->unit == ISA_UNIT_SMEM && info->n_operands > 0) {		/* without the offset register */
		inst->n_operands--;
		vary_everything(cases, isa, inst, info->operand);
	}
}

void cases_add(struct cases *cases, const struct isa *isa, unsigned op, enum isa_form form)
{
	const struct isa_op_info *info = isa_op_info(isa, op);
	struct isa_inst inst = { .op = (uint16_t)op, .form = (uint8_t)form };

	if (info->packed)
		inst.op_sel_hi = (1u << (info->n_operands - 1)) - 1;
	if (form == ISA_FORM_SHORT) {
		add_short(cases, isa, info, &inst);
		return;
	}
	if (form == ISA_FORM_DPP) {
		inst.row_mask = inst.bank_mask = 15;
		inst.dpp_ctrl = 0x157;
	}
	if (form == ISA_FORM_SDWA) {
		inst.src0_sel = 6;
		inst.src1_sel = info->n_operands > 2 ? 6 : 0;
		inst.dst_sel = info->operand[0].allowed & ISA_ALLOW_SGPR ? 0 : 6;
	}
	fill_operands(&inst, info, 0, info->n_operands);
	vary_everything(cases, isa, &inst, info->operand);
}

struct cases cases_make(const struct isa *isa)
{
	struct cases cases = { 0 };

	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++) {
		size_t before = cases.n;

		for (enum isa_form form = ISA_FORM_SHORT; form <= ISA_FORM_DPP; form++)
			cases_add(&cases, isa, op, form);
		if (cases.n == before)
			fprintf(stderr, "no case for %s\n", isa_op_info(isa, op)->name);
		assert(cases.n > before);
	}
	return cases;
}
