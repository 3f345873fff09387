/* SPDX-License-Identifier: MIT */
/*
 * struct isa_inst -> text, in the words and the order of llvm-objdump (LLVM's AMDGPUOperandSyntax and AMDGPUModifierSyntax
 * documents describe both), so that llvm-mc makes the same dwords of it.
 */
#include "build/isa/isa_row.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct out {
	char *text;
	size_t size, length;	/* length may pass size; then the text was too long */
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...)
{
	size_t room = out->length < out->size ? out->size - out->length : 0;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(room ? out->text + out->length : NULL, room, format, ap);
	va_end(ap);
	if (n > 0)
		out->length += (size_t)n;
}

/* ---- operands --------------------------------------------------------------------------------------------------------- */

static void put_tuple(struct out *out, const char *prefix, unsigned first, unsigned width)
{
	if (width > 1)
		put(out, "%s[%u:%u]", prefix, first, first + width - 1);
	else
		put(out, "%s%u", prefix, first);
}

static void put_scalar_register(struct out *out, unsigned code, unsigned width)
{
	static const char *const pair[] = {
		[ISA_FLAT_SCRATCH] = "flat_scratch", [ISA_XNACK_MASK] = "xnack_mask", [ISA_VCC] = "vcc", [ISA_EXEC] = "exec"};

	if (code < ISA_FLAT_SCRATCH)
		put_tuple(out, "s", code, width);
	else if (code >= ISA_TTMP0 && code < ISA_M0)
		put_tuple(out, "ttmp", code - ISA_TTMP0, width);
	else if (code >= ISA_M0 && code < ISA_EXEC)
		put(out, code == ISA_M0 ? "m0" : "null");
	else
		put(out, "%s%s", pair[code & ~1u], width > 1 ? "" : code & 1 ? "_hi" : "_lo");
}

static bool is_64_bits(unsigned type)
{
	return type == ISA_TYPE_B64 || type == ISA_TYPE_I64 || type == ISA_TYPE_F64;
}

static void put_constant(struct out *out, unsigned code, unsigned type)
{
	static const char *const aperture[] = {"shared_base", "shared_limit", "private_base", "private_limit",
					       "pops_exiting_wave_id"};
	static const char *const floats[] = { "0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0" };
	static const char *const flags[] = { "vccz", "execz", "scc" };

	if (code < ISA_INT_NEG1)
		put(out, "%u", code - ISA_INT0);
	else if (code < ISA_SHARED_BASE)
		put(out, "-%u", code - ISA_INT_NEG1 + 1);
	else if (code < ISA_HALF)
		put(out, "src_%s", aperture[code - ISA_SHARED_BASE]);
	else if (code < ISA_HALF + 8)
		put(out, "%s", floats[code - ISA_HALF]);
	else if (code == ISA_HALF + 8)
		put(out, is_64_bits(type) ? "0.15915494309189532" : "0.15915494");
	else if (code >= ISA_VCCZ && code <= ISA_SCC)
		put(out, "src_%s", flags[code - ISA_VCCZ]);
	else
		put(out, "src_%u", code);
}

/* Whether an inline constant has these bits: llvm-mc would take it, so the text has to insist on the literal. */
static bool has_inline_form(uint32_t value, unsigned type)
{
	static const uint32_t f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
				       0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
	static const uint32_t f16[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118 };
	const uint32_t *floats = type == ISA_TYPE_F16 ? f16 : f32;
	int32_t as_int = type == ISA_TYPE_F16 ? (int16_t)value : (int32_t)value;

	switch (type) {
	case ISA_TYPE_I64:
	case ISA_TYPE_B64:	/* 32 bits, extended with zeros */
		return value <= 64;
	case ISA_TYPE_F64:	/* the encoder knows no such literal */
		return false;
	case ISA_TYPE_PKF16:
	case ISA_TYPE_I16:
	case ISA_TYPE_B16:
		return as_int >= -16 && as_int <= 64;
	default:
		break;
	}
	if (as_int >= -16 && as_int <= 64)
		return true;
	for (size_t i = 0; i < sizeof(f32) / sizeof(f32[0]); i++) {
		if (value == floats[i])
			return true;
	}
	return false;
}

static void put_literal(struct out *out, uint32_t value, const struct isa_operand_info *info)
{
	if (info->field == ISA_FIELD_LITERAL && info->type == ISA_TYPE_B32 && (int32_t)value >= -16 && (int32_t)value <= 64)
		put(out, "%d", (int32_t)value);
	else if (info->field != ISA_FIELD_LITERAL && has_inline_form(value, info->type))
		put(out, "lit(0x%x)", value);
	else if (info->type == ISA_TYPE_I16 || info->type == ISA_TYPE_B16)
		put(out, "0x%x", value & 0xffff);
	else
		put(out, "0x%x", value);
}

/* ---- the constant of scalar instructions ------------------------------------------------------------------------------ */

static void put_waitcnt(struct out *out, unsigned simm16)
{
	unsigned vmcnt, expcnt, lgkmcnt;
	bool all, first = true;

	isa_waitcnt_unpack((uint16_t)simm16, &vmcnt, &expcnt, &lgkmcnt);
	all = vmcnt == 63 && expcnt == 7 && lgkmcnt == 15;
	if (all || vmcnt != 63) {
		put(out, "vmcnt(%u)", vmcnt);
		first = false;
	}
	if (all || expcnt != 7) {
		put(out, "%sexpcnt(%u)", first ? "" : " ", expcnt);
		first = false;
	}
	if (all || lgkmcnt != 15)
		put(out, "%slgkmcnt(%u)", first ? "" : " ", lgkmcnt);
}

/* hwreg(id, first bit, number of bits); the whole register is the default. */
static void put_hwreg(struct out *out, unsigned simm16)
{
	static const char *const names[] = {
		[1] = "MODE",
		[2] = "STATUS",
		[3] = "TRAPSTS",
		[4] = "HW_ID",
		[5] = "GPR_ALLOC",
		[6] = "LDS_ALLOC",
		[7] = "IB_STS",
		[15] = "SH_MEM_BASES",
		[16] = "TBA_LO",
		[17] = "TBA_HI",
		[18] = "TMA_LO",
		[19] = "TMA_HI",
		[20] = "XCC_ID",
		[21] = "SQ_PERF_SNAPSHOT_DATA",
		[22] = "SQ_PERF_SNAPSHOT_DATA1",
		[23] = "SQ_PERF_SNAPSHOT_PC_LO",
		[24] = "SQ_PERF_SNAPSHOT_PC_HI",
	};
	unsigned id = simm16 & 63, first = simm16 >> 6 & 31, n = (simm16 >> 11 & 31) + 1;

	if (id < sizeof(names) / sizeof(names[0]) && names[id])
		put(out, "hwreg(HW_REG_%s", names[id]);
	else
		put(out, "hwreg(%u", id);
	if (first != 0 || n != 32)
		put(out, ", %u, %u", first, n);
	put(out, ")");
}

static void put_message(struct out *out, unsigned simm16)
{
	static const char *const names[16] = {
		[1] = "INTERRUPT", [2] = "GS", [3] = "GS_DONE", [4] = "SAVEWAVE", [5] = "STALL_WAVE_GEN", [6] = "HALT_WAVES",
		[7] = "ORDERED_PS_DONE", [8] = "EARLY_PRIM_DEALLOC", [9] = "GS_ALLOC_REQ", [10] = "GET_DOORBELL", [15] = "SYSMSG",
	};
	static const char *const gs_ops[] = { "NOP", "CUT", "EMIT", "EMIT_CUT" };
	static const char *const system_ops[] = { [1] = "ECC_ERR_INTERRUPT", [2] = "REG_RD", [4] = "TTRACE_PC" };
	unsigned id = simm16 & 15, op = simm16 >> 4 & 7, stream = simm16 >> 8 & 3;
	bool gs = id == 2 || id == 3;

	if (gs && op > 0 && op < 4)
		put(out, "sendmsg(MSG_%s, GS_OP_%s, %u)", names[id], gs_ops[op], stream);
	else if (id == 3 && op == 0 && stream == 0)
		put(out, "sendmsg(MSG_GS_DONE, GS_OP_NOP)");
	else if (id == 15 && op < 5 && system_ops[op] && stream == 0)
		put(out, "sendmsg(MSG_SYSMSG, SYSMSG_OP_%s)", system_ops[op]);
	else if (names[id] && !gs && id != 15 && op == 0 && stream == 0)
		put(out, "sendmsg(MSG_%s)", names[id]);
	else
		put(out, "sendmsg(%u, %u, %u)", id, op, stream);
}

static void put_gpr_index(struct out *out, unsigned mask)
{
	static const char *const names[] = { "SRC0", "SRC1", "SRC2", "DST" };
	const char *comma = "";

	if (mask > 15) {
		put(out, "0x%x", mask);
		return;
	}
	put(out, "gpr_idx(");
	for (unsigned i = 0; i < 4; i++) {
		if (mask >> i & 1) {
			put(out, "%s%s", comma, names[i]);
			comma = ",";
		}
	}
	put(out, ")");
}

static void put_immediate(struct out *out, uint32_t value, unsigned type)
{
	value &= 0xffff;
	switch (type) {
	case ISA_TYPE_BRANCH:
	case ISA_TYPE_ENDPGM:
		put(out, "%u", value);
		break;
	case ISA_TYPE_COUNT:
		put(out, value <= 64 ? "%u" : "0x%x", value);
		break;
	case ISA_TYPE_WAITCNT:
		put_waitcnt(out, value);
		break;
	case ISA_TYPE_HWREG:
		put_hwreg(out, value);
		break;
	case ISA_TYPE_SENDMSG:
		put_message(out, value);
		break;
	case ISA_TYPE_GPR_IDX:
		put_gpr_index(out, value);
		break;
	default:
		put(out, "0x%x", value);
		break;
	}
}

/* s_setreg_imm32_b32 has its hwreg in the offset: `literal` is the other number. */
static uint32_t immediate_value(const struct isa_row *row, const struct isa_inst *inst)
{
	bool two = row->format == ISA_FORMAT_SOPK && row->info->operand[1].field == ISA_FIELD_LITERAL;

	return two ? (uint32_t)inst->offset : inst->literal;
}

static void put_plain_operand(struct out *out, const struct isa_row *row, const struct isa_inst *inst,
			      const struct isa_operand_info *info, const struct isa_operand *operand)
{
	unsigned code = operand->code;

	if (code < ISA_INT0)
		put_scalar_register(out, code, operand->width);
	else if (code < ISA_LITERAL)
		put_constant(out, code, info->type);
	else if (code == ISA_LITERAL)
		put_literal(out, inst->literal, info);
	else if (code < ISA_AGPR0)
		put_tuple(out, "v", code - ISA_VGPR0, operand->width);
	else if (code < ISA_AGPR0 + 256)
		put_tuple(out, "a", code - ISA_AGPR0, operand->width);
	else if (code == ISA_NONE)
		put(out, "off");
	else
		put_immediate(out, immediate_value(row, inst), info->type);
}

static void put_operand(struct out *out, const struct isa_row *row, const struct isa_inst *inst,
			const struct isa_operand_info *info, const struct isa_operand *operand)
{
	bool constant = operand->code >= ISA_INT0 && operand->code < ISA_LITERAL &&
			(operand->code < ISA_SHARED_BASE || (operand->code >= ISA_HALF && operand->code < ISA_VCCZ));
	bool mnemonic = (operand->mod & ISA_NEG) && constant && !(operand->mod & ISA_ABS);	/* "-1" would be another constant */

	if (operand->mod & ISA_SEXT)
		put(out, "sext(");
	if (operand->mod & ISA_NEG)
		put(out, mnemonic ? "neg(" : "-");
	if (operand->mod & ISA_ABS)
		put(out, "|");
	put_plain_operand(out, row, inst, info, operand);
	if (operand->mod & ISA_ABS)
		put(out, "|");
	if (mnemonic)
		put(out, ")");
	if (operand->mod & ISA_SEXT)
		put(out, ")");
}

/* ---- modifiers -------------------------------------------------------------------------------------------------------- */

static void put_flag(struct out *out, const struct isa_inst *inst, unsigned flag, const char *name)
{
	if (inst->flags & flag)
		put(out, " %s", name);
}

static void put_bits(struct out *out, const char *name, unsigned value, unsigned n)
{
	put(out, " %s:[", name);
	for (unsigned i = 0; i < n; i++)
		put(out, "%s%u", i ? "," : "", value >> i & 1);
	put(out, "]");
}

static unsigned count_sources(const struct isa_row *row)
{
	unsigned n = 0;

	for (unsigned i = 0; i < row->info->n_operands; i++)
		n += row->info->operand[i].field >= ISA_FIELD_SRC0 && row->info->operand[i].field <= ISA_FIELD_SRC2;
	return n;
}

static void put_clamp_omod(struct out *out, const struct isa_inst *inst)
{
	static const char *const omod[] = { "", " mul:2", " mul:4", " div:2" };

	put_flag(out, inst, ISA_CLAMP, "clamp");
	put(out, "%s", omod[inst->omod & 3]);
}

static void put_vop3_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	unsigned n = row->traits & ISA_TRAIT_BYTESEL ? 3 : count_sources(row);

	if (inst->op_sel)	/* the last one is the destination's, bit 3 */
		put_bits(out, "op_sel", (inst->op_sel & ((1u << n) - 1)) | (inst->op_sel >> 3 & 1) << n, n + 1);
	put_clamp_omod(out, inst);
}

static void put_sdwa_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	static const char *const sel[8] = { "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?" };
	static const char *const unused[4] = { "UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?" };

	put_clamp_omod(out, inst);
	if (row->format != ISA_FORMAT_VOPC && !(row->traits & ISA_TRAIT_SRCSEL))
		put(out, " dst_sel:%s dst_unused:%s", sel[inst->dst_sel & 7], unused[inst->dst_unused & 3]);
	put(out, " src0_sel:%s", sel[inst->src0_sel & 7]);
	if (count_sources(row) > 1)
		put(out, " src1_sel:%s", sel[inst->src1_sel & 7]);
}

static void put_dpp_modifiers(struct out *out, const struct isa_inst *inst)
{
	static const char *const shift[] = { "row_shl", "row_shr", "row_ror" };
	unsigned ctrl = inst->dpp_ctrl;

	if (ctrl <= 0xff)
		put(out, " quad_perm:[%u,%u,%u,%u]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
	else if (ctrl < 0x130 || (ctrl >= 0x150 && ctrl < 0x160))
		put(out, " %s:%u", ctrl < 0x130 ? shift[(ctrl >> 4) - 0x10] : "row_newbcast", ctrl & 15);
	else if (ctrl < 0x140)
		put(out, " wave_%s:1", ctrl == 0x130 ? "shl" : ctrl == 0x134 ? "rol" : ctrl == 0x138 ? "shr" : "ror");
	else if (ctrl < 0x142)
		put(out, ctrl == 0x140 ? " row_mirror" : " row_half_mirror");
	else
		put(out, " row_bcast:%u", ctrl == 0x142 ? 15 : 31);
	put(out, " row_mask:0x%x bank_mask:0x%x", inst->row_mask, inst->bank_mask);
	put_flag(out, inst, ISA_BOUND_CTRL, "bound_ctrl:1");
}

static void put_vop3p_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	unsigned n = count_sources(row), ones = row->traits & ISA_TRAIT_PACKED ? (1u << n) - 1 : 0;

	if (!(row->traits & ISA_TRAIT_NOSEL)) {
		if (inst->op_sel)
			put_bits(out, "op_sel", inst->op_sel, n);
		if ((inst->op_sel_hi & ((1u << n) - 1)) != ones)
			put_bits(out, "op_sel_hi", inst->op_sel_hi, n);
	}
	if (inst->neg_lo)
		put_bits(out, "neg_lo", inst->neg_lo, n);
	if (inst->neg_hi)
		put_bits(out, "neg_hi", inst->neg_hi, n);
	put_clamp_omod(out, inst);
}

static void put_mai_modifiers(struct out *out, const struct isa_inst *inst)
{
	if (inst->cbsz)
		put(out, " cbsz:%u", inst->cbsz);
	if (inst->abid)
		put(out, " abid:%u", inst->abid);
	if (inst->blgp)
		put(out, " blgp:%u", inst->blgp);
	if (inst->neg_lo)
		put_bits(out, "neg", inst->neg_lo, 3);
}

static void put_cache_bits(struct out *out, const struct isa_inst *inst)
{
	put_flag(out, inst, ISA_SC0, "sc0");
	put_flag(out, inst, ISA_NT, "nt");
	put_flag(out, inst, ISA_SC1, "sc1");
}

/*
 * The bit-mask form has an AND, an OR and a XOR mask over the five bits of a lane: every bit is kept (p), inverted (i), 0 or 1.
 * Some masks have names: one bit inverted, the lowest ones inverted, the lowest ones constant.
 */
static void put_swizzle_mask(struct out *out, unsigned offset)
{
	unsigned and = offset & 31, or = offset >> 5 & 31, xor = offset >> 10, group = 32 - and;

	if (and == 31 && or == 0 && xor && !(xor & (xor - 1))) {
		put(out, " offset:swizzle(SWAP,%u)", xor);
	} else if (and == 31 && or == 0 && xor && !(xor & (xor + 1))) {
		put(out, " offset:swizzle(REVERSE,%u)", xor + 1);
	} else if (group > 1 && !(group & (group - 1)) && or < group && xor == 0) {
		put(out, " offset:swizzle(BROADCAST,%u,%u)", group, or);
	} else {
		put(out, " offset:swizzle(BITMASK_PERM,\"");
		for (unsigned bit = 16; bit; bit >>= 1) {
			const char *letters = or & bit ? "10" : and & bit ? "pi" : "01";

			put(out, "%c", letters[(xor & bit) != 0]);
		}
		put(out, "\")");
	}
}

static void put_swizzle(struct out *out, unsigned offset)
{
	if (offset < 0x8000)
		put_swizzle_mask(out, offset);
	else if (offset >> 8 == 0x80)
		put(out, " offset:swizzle(QUAD_PERM,%u,%u,%u,%u)", offset & 3, offset >> 2 & 3, offset >> 4 & 3, offset >> 6 & 3);
	else if (offset >= 0xe000)
		put(out, " offset:swizzle(FFT,%u)", offset & 31);
	else if (offset >= 0xc000)
		put(out, " offset:swizzle(ROTATE,%u,%u)", offset >> 10 & 1, offset >> 5 & 31);
	else
		put(out, " offset:%u", offset);
}

static void put_ds_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	unsigned offset = (unsigned)inst->offset & 0xffff;

	if (row->traits & ISA_TRAIT_OFFSET2) {
		if (offset & 0xff)
			put(out, " offset0:%u", offset & 0xff);
		if (offset >> 8)
			put(out, " offset1:%u", offset >> 8);
	} else if (offset && (row->traits & ISA_TRAIT_SWIZZLE)) {
		put_swizzle(out, offset);
	} else if (offset) {
		put(out, " offset:%u", offset);
	}
	put_flag(out, inst, ISA_GDS, "gds");
}

static void put_buffer_format(struct out *out, unsigned format)
{
	static const char *const data[16] = {"INVALID",     "8",        "16",          "8_8",        "32",      "16_16",
					     "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
					     "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
	static const char *const number[8] = { "UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT" };
	unsigned dfmt = format & 15, nfmt = format >> 4;

	if (format == 1)	/* BUF_DATA_FORMAT_8, BUF_NUM_FORMAT_UNORM is the default */
		return;
	put(out, " format:[");
	if (dfmt != 1)
		put(out, "BUF_DATA_FORMAT_%s", data[dfmt]);
	if (nfmt != 0)
		put(out, "%sBUF_NUM_FORMAT_%s", dfmt != 1 ? "," : "", number[nfmt & 7]);
	put(out, "]");
}

static void put_buffer_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	if (row->format == ISA_FORMAT_MTBUF)
		put_buffer_format(out, inst->format);
	put_flag(out, inst, ISA_IDXEN, "idxen");
	put_flag(out, inst, ISA_OFFEN, "offen");
	if (inst->offset)
		put(out, " offset:%d", inst->offset);
	put_cache_bits(out, inst);
	put_flag(out, inst, ISA_LDS, "lds");
}

static void put_smem_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	const char *sign = inst->offset < 0 ? "-" : "";
	unsigned magnitude = inst->offset < 0 ? -(unsigned)inst->offset : (unsigned)inst->offset;

	if (row->info->n_operands && inst->n_operands < row->info->n_operands)
		put(out, ", %s0x%x", sign, magnitude);
	else if (inst->offset)
		put(out, " offset:%s0x%x", sign, magnitude);
	put_flag(out, inst, ISA_GLC, "glc");
}

static void put_modifiers(struct out *out, const struct isa_row *row, const struct isa_inst *inst)
{
	switch (row->format) {
	case ISA_FORMAT_SMEM:
		put_smem_modifiers(out, row, inst);
		break;
	case ISA_FORMAT_VOP1:
	case ISA_FORMAT_VOP2:
	case ISA_FORMAT_VOPC:
	case ISA_FORMAT_VOP3:
		if (inst->form == ISA_FORM_SDWA)
			put_sdwa_modifiers(out, row, inst);
		else if (inst->form == ISA_FORM_DPP)
			put_dpp_modifiers(out, inst);
		else
			put_vop3_modifiers(out, row, inst);
		break;
	case ISA_FORMAT_VOP3P:
		put_vop3p_modifiers(out, row, inst);
		break;
	case ISA_FORMAT_MAI:
		put_mai_modifiers(out, inst);
		break;
	case ISA_FORMAT_DS:
		put_ds_modifiers(out, row, inst);
		break;
	case ISA_FORMAT_MUBUF:
	case ISA_FORMAT_MTBUF:
		put_buffer_modifiers(out, row, inst);
		break;
	case ISA_FORMAT_FLAT:
	case ISA_FORMAT_GLOBAL:
	case ISA_FORMAT_SCRATCH:
		if (inst->offset)
			put(out, " offset:%d", inst->offset);
		put_cache_bits(out, inst);
		break;
	default:
		break;
	}
}

/* ---- the entry -------------------------------------------------------------------------------------------------------- */

static const char *suffix(const struct isa *isa, const struct isa_row *row, const struct isa_inst *inst)
{
	uint32_t dwords[ISA_MAX_DWORDS];

	if (inst->form == ISA_FORM_SDWA)
		return "_sdwa";
	if (inst->form == ISA_FORM_DPP)
		return "_dpp";
	if (!(row->traits & ISA_TRAIT_E64))
		return "";
	if (inst->form == ISA_FORM_AUTO)
		return isa_encode(isa, inst, dwords) > 0 && dwords[0] >> 31 ? "_e64" : "_e32";
	return inst->form == ISA_FORM_VOP3 ? "_e64" : "_e32";
}

int isa_print(const struct isa *isa, const struct isa_inst *inst, char *text, size_t size)
{
	const struct isa_row *row = isa_row(inst->op);
	struct out out = { .text = text, .size = size };
	unsigned first = isa_row_first_operand(row, inst->flags);

	if (!isa || row->format == ISA_FORMAT_NONE || first + inst->n_operands > row->info->n_operands)
		return -EINVAL;
	put(&out, "%s%s", row->info->name, suffix(isa, row, inst));
	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand_info *info = &row->info->operand[first + i];

		if (info->type == ISA_TYPE_ENDPGM && (inst->literal & 0xffff) == 0)
			continue;
		put(&out, i ? ", " : " ");
		put_operand(&out, row, inst, info, &inst->operand[i]);
	}
	put_modifiers(&out, row, inst);
	return out.length < size ? (int)out.length : -ENOSPC;
}
