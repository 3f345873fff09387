/* SPDX-License-Identifier: MIT */
/*
 * Vector ALU: sources with their modifiers -> lane function -> result with its modifiers -> lanes that EXEC allows.
 * Sources: CDNA3 ISA, sections "Vector ALU operations", "SDWA", "Data-parallel processing (DPP)".
 */
#include "tools/emulator/internal.h"

#include <string.h>

#define F16_HIGH 0xffff0000u

static bool is_wide(unsigned type)
{
	return type == LT_B64 || type == LT_F64 || type == LT_PKF32;
}

static unsigned source_type(const struct valu_row *row, unsigned source)
{
	return source < 3 && row->types[source] ? row->types[source] : row->type;
}

/* ---- sources ---------------------------------------------------------------------------------------------------------- */

static uint32_t inline_float(unsigned code, unsigned type)
{
	static const uint32_t f32[] = { 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000,
					0x3e22f983 };
	static const uint16_t f16[] = { 0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118 };
	bool half = type == LT_F16 || type == LT_PKF16 || type == LT_PK16 || type == LT_I16 || type == LT_B16;
	return half ? f16[code - ISA_HALF] : f32[code - ISA_HALF];
}

static void fill(uint32_t *lanes, uint32_t value)
{
	for (unsigned i = 0; i < WAVE; i++)
		lanes[i] = value;
}

/* SGPRs and constants, spread over the lanes. */
static const uint32_t *spread(const struct wave *wave, const struct op *op, unsigned operand, unsigned type, uint32_t *to)
{
	unsigned code = op->inst.operand[operand].code;
	if (is_wide(type)) {
		uint64_t value = scalar_operand64(wave, op, operand);
		if (type == LT_PKF32 && code >= 128)
			value = (value & UINT32_MAX) | value << 32;
		if (type == LT_F64 && code == ISA_LITERAL)
			value = (uint64_t)op->inst.literal << 32;
		if (type == LT_PKF32 && code >= ISA_HALF && code <= ISA_HALF + 8)
			value = inline_float(code, LT_F32) * UINT64_C(0x100000001);
		fill(to, (uint32_t)value);
		fill(to + WAVE, (uint32_t)(value >> 32));
		return to;
	}
	if (code >= ISA_HALF && code <= ISA_HALF + 8)
		fill(to, inline_float(code, type));
	else
		fill(to, scalar_operand32(wave, op, operand));
	return to;
}

/* The lane that DPP takes lane i from, or -1. */
static int dpp_lane(unsigned control, int i)
{
	int row = i & ~15, n = (int)(control & 15);
	if (control <= 0xff)
		return (i & ~3) | (int)(control >> 2 * (i & 3) & 3);
	switch (control & ~15u) {
	case 0x100:
		return (i & 15) + n < 16 ? i + n : -1;		/* row_shl */
	case 0x110:
		return (i & 15) >= n ? i - n : -1;		/* row_shr */
	case 0x120:
		return row + ((i - n) & 15);			/* row_ror */
	case 0x150:
		return row + n;					/* row_newbcast */
	}
	switch (control) {
	case 0x130:
		return i < 63 ? i + 1 : -1;			/* wave_shl */
	case 0x134:
		return (i + 1) & 63;				/* wave_rol */
	case 0x138:
		return i - 1;					/* wave_shr */
	case 0x13c:
		return (i - 1) & 63;				/* wave_ror */
	case 0x140:
		return row + 15 - (i & 15);			/* row_mirror */
	case 0x141:
		return (i & ~7) + 7 - (i & 7);			/* row_half_mirror */
	case 0x142:
		return row - 1;					/* row_bcast:15 */
	case 0x143:
		return i >= 32 ? 31 : -1;			/* row_bcast:31 */
	default:
		return -1;
	}
}

/* Source 0 as DPP permutes it; lanes that get nothing leave `writes`, unless bound_ctrl makes them zero. */
static const uint32_t *permute(const struct wave *wave, const struct op *op, const uint32_t *from, uint32_t *to, unsigned dwords,
			       uint64_t *writes)
{
	uint64_t exec = wave_exec(wave);
	for (int i = 0; i < WAVE; i++) {
		int lane = dpp_lane(op->inst.dpp_ctrl, i);
		bool valid = lane >= 0 && exec >> lane & 1;
		for (unsigned dword = 0; dword < dwords; dword++)
			to[dword * WAVE + (unsigned)i] = valid ? from[dword * WAVE + (unsigned)lane] : 0;
		bool masked = !(op->inst.row_mask >> i / 16 & 1) || !(op->inst.bank_mask >> i % 16 / 4 & 1);
		if (masked || (!valid && !(op->inst.flags & ISA_BOUND_CTRL)))
			*writes &= ~(UINT64_C(1) << i);
	}
	return to;
}

/* SDWA: 0..3 a byte, 4..5 a word, 6 all of the dword. */
static void select_part(uint32_t *to, const uint32_t *from, unsigned select, bool sign)
{
	unsigned shift = select < 4 ? select * 8 : (select - 4) * 16, size = select < 4 ? 8 : 16;
	for (unsigned i = 0; i < WAVE; i++) {
		uint32_t up = from[i] << (32 - size - shift);
		to[i] = sign ? (uint32_t)((int32_t)up >> (32 - size)) : up >> (32 - size);
	}
}

static void negate(uint32_t *to, const uint32_t *from, uint32_t keep, uint32_t flip)
{
	for (unsigned i = 0; i < WAVE; i++)
		to[i] = (from[i] & keep) ^ flip;
}

/* Packed 16-bit: op_sel chooses the half for the low result, op_sel_hi for the high one, neg_lo and neg_hi flip their signs. */
static void pack_halves(uint32_t *to, const uint32_t *from, const struct isa_inst *inst, unsigned source, bool is_float)
{
	bool low = inst->op_sel >> source & 1, high = inst->op_sel_hi >> source & 1;
	uint32_t flip = is_float ? (inst->neg_lo >> source & 1) << 15 | (uint32_t)(inst->neg_hi >> source & 1) << 31 : 0;
	for (unsigned i = 0; i < WAVE; i++) {
		uint32_t word = from[i];
		to[i] = ((low ? word >> 16 : word & 0xffff) | (high ? word & F16_HIGH : word << 16)) ^ flip;
	}
}

static const uint32_t *packed_source(const struct isa_inst *inst, const uint32_t *from, uint32_t *to, unsigned source, unsigned type)
{
	if (type == LT_PKF32) {
		unsigned low = inst->op_sel >> source & 1, high = inst->op_sel_hi >> source & 1;
		uint32_t flip_low = (uint32_t)(inst->neg_lo >> source & 1) << 31, flip_high = (uint32_t)(inst->neg_hi >> source & 1) << 31;
		if (!low && high && !flip_low && !flip_high)
			return from;
		for (unsigned i = 0; i < WAVE; i++) {
			uint32_t first = from[low * WAVE + i], second = from[high * WAVE + i];
			to[i] = first ^ flip_low;
			to[WAVE + i] = second ^ flip_high;
		}
		return to;
	}
	if (!(inst->op_sel >> source & 1) && inst->op_sel_hi >> source & 1 &&
	    (type == LT_PK16 || !((inst->neg_lo | inst->neg_hi) >> source & 1)))
		return from;
	pack_halves(to, from, inst, source, type == LT_PKF16);
	return to;
}

static float half_to_float(uint32_t word)
{
	uint16_t bits = (uint16_t)word;
	_Float16 half;
	memcpy(&half, &bits, sizeof(half));
	return (float)half;
}

/* v_fma_mix: op_sel_hi says that a source is f16, op_sel which half. */
static void mixed_source(const struct op *op, unsigned operand, const uint32_t *from, uint32_t *to, unsigned source)
{
	const struct isa_inst *inst = &op->inst;
	bool half = inst->op_sel_hi >> source & 1;
	unsigned shift = inst->op_sel >> source & 1 ? 16 : 0, mod = inst->operand[operand].mod;
	for (unsigned i = 0; i < WAVE; i++) {
		uint32_t word = from[i];
		if (half) {
			float f = half_to_float(word >> shift);
			memcpy(&word, &f, sizeof(word));
		}
		if (mod & ISA_ABS)
			word &= 0x7fffffff;
		to[i] = word ^ (mod & ISA_NEG ? 0x80000000 : 0);
	}
}

static void flush_f32(uint32_t *to, const uint32_t *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		to[i] = from[i] & 0x7f800000 ? from[i] : from[i] & 0x80000000;
}

static void flush_f16(uint32_t *to, const uint32_t *from)
{
	for (unsigned i = 0; i < WAVE; i++)
		to[i] = (from[i] & (from[i] & 0x7c00 ? 0xffff : 0x8000)) | (from[i] & (from[i] & 0x7c000000 ? F16_HIGH : 0x80000000));
}

/* Denormals of a float value become zero where the mode (or a transcendental function) says so. */
static const uint32_t *flush(const struct wave *wave, const struct valu_row *row, const uint32_t *from, uint32_t *to, unsigned type)
{
	if (row->flags & ROW_RAW)
		return from;
	if ((type == LT_F32 || type == LT_PKF32 || type == LT_MIX) && (wave->lanes.f32_flush || row->flags & ROW_TRANS)) {
		flush_f32(to, from, is_wide(type) ? 2 * WAVE : WAVE);
		return to;
	}
	if ((type == LT_F16 || type == LT_PKF16) && wave->lanes.f16_flush) {
		flush_f16(to, from);
		return to;
	}
	return from;
}

static const uint32_t *modify(const struct op *op, unsigned operand, unsigned type, const uint32_t *from, uint32_t *to)
{
	unsigned mod = op->inst.operand[operand].mod;
	if (!(mod & (ISA_NEG | ISA_ABS)))
		return from;
	if (type == LT_F64) {
		if (to != from)
			memcpy(to, from, WAVE * sizeof(*to));
		negate(to + WAVE, from + WAVE, mod & ISA_ABS ? 0x7fffffff : UINT32_MAX, mod & ISA_NEG ? 0x80000000 : 0);
		return to;
	}
	uint32_t sign = type == LT_F16 ? 0x8000 : 0x80000000;
	negate(to, from, mod & ISA_ABS ? ~sign : UINT32_MAX, mod & ISA_NEG ? sign : 0);
	return to;
}

static const uint32_t *source(struct wave *wave, const struct op *op, unsigned operand, unsigned number, uint64_t *writes)
{
	const struct isa_inst *inst = &op->inst;
	unsigned type = source_type(op->valu, number);
	uint32_t *to = wave->scratch[number];
	unsigned code = inst->operand[operand].code;
	const uint32_t *from = code >= ISA_VGPR0 ? wave->v[code - ISA_VGPR0] : spread(wave, op, operand, type, to);

	if (inst->form == ISA_FORM_SDWA && number < 2) {
		unsigned select = number == 0 ? inst->src0_sel : inst->src1_sel;
		if (select != 6) {
			select_part(to, from, select, inst->operand[operand].mod & ISA_SEXT);
			from = to;
		}
	} else if (inst->form == ISA_FORM_DPP && number == 0) {
		from = permute(wave, op, from, to, is_wide(type) ? 2 : 1, writes);
	} else if (type == LT_MIX) {
		mixed_source(op, operand, from, to, number);
		return flush(wave, op->valu, to, to, type);
	} else if (type == LT_PK16 || type == LT_PKF16 || type == LT_PKF32) {
		if (!(op->valu->flags & ROW_ACC))	/* those VOP2 forms know no op_sel */
			from = packed_source(inst, from, to, number, type);
	} else if (inst->form == ISA_FORM_VOP3 && inst->op_sel >> number & 1 && !(op->valu->flags & ROW_SEL_SRC)) {
		select_part(to, from, 5, false);
		from = to;
	}
	from = modify(op, operand, type, from, to);
	return flush(wave, op->valu, from, to, type);
}

/* ---- result ----------------------------------------------------------------------------------------------------------- */

static float scaled32(float f, unsigned omod)
{
	return omod == 1 ? f * 2 : omod == 2 ? f * 4 : omod == 3 ? f / 2 : f;
}

static float clamped32(float f, bool nan_to_zero)
{
	if (f != f)
		return nan_to_zero ? 0 : f;
	return f <= 0 ? 0.0f : f > 1 ? 1.0f : f;
}

static uint32_t finish32(uint32_t word, const struct isa_inst *inst, bool nan_to_zero)
{
	float f;
	memcpy(&f, &word, sizeof(f));
	f = scaled32(f, inst->omod);
	if (inst->flags & ISA_CLAMP)
		f = clamped32(f, nan_to_zero);
	memcpy(&word, &f, sizeof(word));
	return word;
}

static uint32_t finish16(uint32_t word, const struct isa_inst *inst, bool nan_to_zero)
{
	float f = scaled32(half_to_float(word), inst->omod);
	if (inst->flags & ISA_CLAMP)
		f = clamped32(f, nan_to_zero);
	_Float16 half = (_Float16)f;
	uint16_t bits;
	memcpy(&bits, &half, sizeof(bits));
	return bits;
}

static void finish64(uint32_t *lanes, const struct isa_inst *inst, bool nan_to_zero)
{
	for (unsigned i = 0; i < WAVE; i++) {
		uint64_t word = lanes[i] | (uint64_t)lanes[WAVE + i] << 32;
		double d;
		memcpy(&d, &word, sizeof(d));
		d = inst->omod == 1 ? d * 2 : inst->omod == 2 ? d * 4 : inst->omod == 3 ? d / 2 : d;
		if (inst->flags & ISA_CLAMP)
			d = d != d ? (nan_to_zero ? 0 : d) : d <= 0 ? 0 : d > 1 ? 1 : d;
		memcpy(&word, &d, sizeof(word));
		lanes[i] = (uint32_t)word;
		lanes[WAVE + i] = (uint32_t)(word >> 32);
	}
}

/* omod and clamp of float results. */
static void finish(const struct wave *wave, const struct op *op, uint32_t *lanes)
{
	const struct isa_inst *inst = &op->inst;
	bool nan_to_zero = wave->lanes.dx10_clamp;
	if (!inst->omod && !(inst->flags & ISA_CLAMP))
		return;
	switch (op->valu->dst_type) {
	case LT_F32:
		for (unsigned i = 0; i < WAVE; i++)
			lanes[i] = finish32(lanes[i], inst, nan_to_zero);
		return;
	case LT_PKF32:
		for (unsigned i = 0; i < 2 * WAVE; i++)
			lanes[i] = finish32(lanes[i], inst, nan_to_zero);
		return;
	case LT_F16:
		for (unsigned i = 0; i < WAVE; i++)
			lanes[i] = finish16(lanes[i], inst, nan_to_zero);
		return;
	case LT_PKF16:
		for (unsigned i = 0; i < WAVE; i++)
			lanes[i] = finish16(lanes[i], inst, nan_to_zero) | finish16(lanes[i] >> 16, inst, nan_to_zero) << 16;
		return;
	case LT_F64:
		finish64(lanes, inst, nan_to_zero);
		return;
	}
}

/* SDWA: the result becomes part of a dword; the rest is zero (0), the sign (1), or stays (2). */
static void place_part(uint32_t *lanes, const uint32_t *old, unsigned select, unsigned unused)
{
	unsigned shift = select < 4 ? select * 8 : (select - 4) * 16, size = select < 4 ? 8 : 16;
	uint32_t mask = (size == 8 ? 0xffu : 0xffffu) << shift;
	for (unsigned i = 0; i < WAVE; i++) {
		uint32_t part = lanes[i] << shift & mask;
		if (unused == 2)
			part |= old[i] & ~mask;
		else if (unused == 1 && lanes[i] >> (size - 1) & 1)
			part |= (uint32_t)(UINT64_C(0xffffffff) << (shift + size));
		lanes[i] = part;
	}
}

static void merge_half(uint32_t *lanes, const uint32_t *old, bool high)
{
	for (unsigned i = 0; i < WAVE; i++)
		lanes[i] = high ? (old[i] & 0xffff) | lanes[i] << 16 : (old[i] & F16_HIGH) | (lanes[i] & 0xffff);
}

static void place(const struct op *op, uint32_t *lanes, const uint32_t *old)
{
	const struct isa_inst *inst = &op->inst;
	if (inst->form == ISA_FORM_SDWA) {
		if (inst->dst_sel != 6)
			place_part(lanes, old, inst->dst_sel, inst->dst_unused);
		return;
	}
	if (op->valu->flags & ROW_KEEP_HIGH) {
		bool high = op->valu->type == LT_MIX ? inst->op == ISA_V_FMA_MIXHI_F16 : inst->op_sel >> 3 & 1;
		merge_half(lanes, old, high);
	} else if (op->valu->flags & ROW_ZERO_HIGH && inst->form == ISA_FORM_VOP3 && inst->op_sel >> 3 & 1) {
		merge_half(lanes, old, true);
	}
}

/* EXEC as full lane masks, kept from one operation to the next. */
static const uint32_t *lane_masks(struct wave *wave, uint64_t lanes)
{
	if (lanes != wave->exec_lanes_of) {
		for (unsigned i = 0; i < WAVE; i++)
			wave->exec_lanes[i] = -(uint32_t)(lanes >> i & 1);
		wave->exec_lanes_of = lanes;
	}
	return wave->exec_lanes;
}

static void write_lanes(struct wave *wave, unsigned reg, unsigned dwords, const uint32_t *lanes, uint64_t writes)
{
	for (unsigned dword = 0; dword < dwords; dword++, lanes += WAVE) {
		uint32_t *to = wave->v[reg + dword];
		if (writes == ALL_LANES) {
			memcpy(to, lanes, WAVE * sizeof(*to));
		} else {
			const uint32_t *masks = lane_masks(wave, writes);
			for (unsigned i = 0; i < WAVE; i++)
				to[i] = (lanes[i] & masks[i]) | (to[i] & ~masks[i]);
		}
		wave->v_defined[reg + dword] |= writes;
	}
}

static uint64_t pack_flags(const uint32_t *flags)
{
	uint64_t mask = 0;
	for (unsigned i = 0; i < WAVE; i += 8) {
		uint64_t byte = 0;
		for (unsigned bit = 0; bit < 8; bit++)
			byte |= flags[i + bit] << bit;
		mask |= byte << i;
	}
	return mask;
}

/* ---- the operation ---------------------------------------------------------------------------------------------------- */

int valu_run(struct wave *wave, const struct op *op)
{
	const struct valu_row *row = op->valu;
	const struct isa_inst *inst = &op->inst;
	struct lane_context *x = &wave->lanes;
	uint64_t exec = wave_exec(wave), writes = exec;
	const uint32_t *sources[3] = { NULL };
	uint32_t *result = wave->scratch[3];
	unsigned first = row->flags & ROW_MASK_OUT ? 2 : 1;

	wave->stats.valu++;
	if (!exec && !(row->flags & (ROW_COMPARE | ROW_MASK_OUT)))
		return 0;

	for (unsigned i = 0; i < row->n_src; i++)
		sources[i] = source(wave, op, first + i, i, &writes);
	for (unsigned i = row->n_src; i < 3; i++)
		sources[i] = sources[0];
	if (row->flags & ROW_ACC)
		sources[row->n_src] = wave->v[inst->operand[0].code - ISA_VGPR0];
	if (row->flags & ROW_ACC && row->dst_type == LT_F32)
		sources[row->n_src] = flush(wave, row, sources[row->n_src], wave->scratch[row->n_src], LT_F32);
	if (row->flags & ROW_MASK_IN)
		x->mask_in = scalar64(wave, inst->operand[first + row->n_src].code);
	if (row->flags & ROW_VCC_IN)
		x->mask_in = scalar64(wave, ISA_VCC);
	x->clamp = inst->flags & ISA_CLAMP;
	x->op_sel = inst->op_sel;

	row->fn(result, sources[0], sources[1], sources[2], x);

	if (row->flags & (ROW_COMPARE | ROW_MASK_OUT)) {
		uint64_t mask = pack_flags(x->flag) & exec;
		scalar_write64(wave, inst->operand[first - 1].code, mask);
		if (row->flags & ROW_EXEC)
			scalar_write64(wave, ISA_EXEC, mask);
		if (row->flags & ROW_COMPARE)
			return 0;
	}

	unsigned reg = inst->operand[0].code - (unsigned)ISA_VGPR0, dwords = is_wide(row->dst_type) ? 2 : 1;
	finish(wave, op, result);
	if (row->dst_type == LT_F32 || row->dst_type == LT_F16 || row->dst_type == LT_PKF16 || row->dst_type == LT_PKF32)
		flush(wave, row, result, result, row->dst_type);
	place(op, result, wave->v[reg]);
	write_lanes(wave, reg, dwords, result, writes);
	return 0;
}

/* ---- operations between lanes ----------------------------------------------------------------------------------------- */

static int lane_undefined(struct wave *wave, unsigned reg, unsigned lane)
{
	if (wave->v_defined[reg] >> lane & 1 || wave->group->launch->flags & EMU_ALLOW_UNDEFINED)
		return 0;
	return error_set(wave->error, -ENODATA, "lane %u of %s%u has never been written", lane, reg < 256 ? "v" : "a", reg & 255);
}

static int read_lane(struct wave *wave, const struct op *op)
{
	unsigned reg = op->inst.operand[1].code - (unsigned)ISA_VGPR0;
	uint64_t exec = wave_exec(wave);
	unsigned lane = exec ? (unsigned)__builtin_ctzll(exec) : 0;
	if (op->inst.op == ISA_V_READLANE_B32)
		lane = scalar_operand32(wave, op, 2) & 63;
	int r = lane_undefined(wave, reg, lane);
	if (r < 0)
		return r;
	scalar_write32(wave, op->inst.operand[0].code, wave->v[reg][lane]);
	wave->stats.valu++;
	return 0;
}

static int write_lane(struct wave *wave, const struct op *op)
{
	unsigned reg = op->inst.operand[0].code - (unsigned)ISA_VGPR0, lane = scalar_operand32(wave, op, 2) & 63;
	wave->v[reg][lane] = scalar_operand32(wave, op, 1);
	wave->v_defined[reg] |= UINT64_C(1) << lane;
	wave->stats.valu++;
	return 0;
}

static int swap_lanes(struct wave *wave, const struct op *op)
{
	unsigned first = op->inst.operand[0].code - (unsigned)ISA_VGPR0, second = op->inst.operand[1].code - (unsigned)ISA_VGPR0;
	uint32_t old[WAVE];
	memcpy(old, wave->v[first], sizeof(old));
	write_lanes(wave, first, 1, wave->v[second], wave_exec(wave));
	write_lanes(wave, second, 1, old, wave_exec(wave));
	wave->stats.valu++;
	return 0;
}

static int no_effect(struct wave *wave, const struct op *op)
{
	(void)op;
	wave->stats.valu++;
	return 0;
}

unit_fn valu_special(unsigned op)
{
	switch (op) {
	case ISA_V_READLANE_B32:
	case ISA_V_READFIRSTLANE_B32:
		return read_lane;
	case ISA_V_WRITELANE_B32:
		return write_lane;
	case ISA_V_SWAP_B32:
		return swap_lanes;
	case ISA_V_NOP:
	case ISA_V_CLREXCP:
		return no_effect;
	default:
		return NULL;
	}
}

void valu_bind(const struct valu_row *ret_rows[ISA_OP_COUNT])
{
	const struct lane_functions *functions = lane_functions();
	for (unsigned i = 0; i < functions->n_tables; i++) {
		struct lane_table table = functions->tables[i]();
		for (unsigned row = 0; row < table.n_rows; row++)
			ret_rows[table.rows[row].op] = &table.rows[row];
	}
}

const struct lane_functions *lane_functions(void)
{
#ifdef EMU_HAVE_AVX2
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
		return lane_functions_avx2();
#endif
	return lane_functions_baseline();
}
