/* SPDX-License-Identifier: MIT */
/*
 * Matrix instructions. Layouts: CDNA3 ISA, "Matrix arithmetic instructions", for m x m results in `blocks` blocks of depth k:
 *
 *     A: lane holds row lane % m; the lanes above are first the blocks, then groups of k; a lane holds k / groups values of k in a row
 *     B: the same with columns
 *     D, 32-bit: column lane % m. 32 x 32: row 8 * (r / 4) + 4 * (lane / 32) + r % 4 of register r, 16 registers a block.
 *        16 x 16: row 4 * (lane / 16) + r, 4 registers a block. 4 x 4: row r, block lane / 4.
 *     D, f64: 16 x 16: row 4 * r + lane / 16. 4 x 4: row lane / 16, block lane / 4 % 4.
 *
 * EXEC is ignored. cbsz and abid let several blocks share one block of A, blgp permutes the lanes of B (for f64 it negates).
 */
#include "tools/emulator/float8.h"
#include "tools/emulator/internal.h"

#include <string.h>

#define M(op_, m_, k_, blocks_, a_, b_) { .op = ISA_V_MFMA_##op_, .m = m_, .k = k_, .blocks = blocks_, .type_a = MFMA_##a_, .type_b = MFMA_##b_ }

static const struct mfma_row rows[] = {
	M(F32_16X16X8_XF32, 16, 8, 1, XF32, XF32), M(F32_32X32X4_XF32, 32, 4, 1, XF32, XF32),
	M(F32_32X32X1_2B_F32, 32, 1, 2, F32, F32), M(F32_16X16X1_4B_F32, 16, 1, 4, F32, F32), M(F32_4X4X1_16B_F32, 4, 1, 16, F32, F32),
	M(F32_32X32X2_F32, 32, 2, 1, F32, F32), M(F32_16X16X4_F32, 16, 4, 1, F32, F32),
	M(F32_32X32X4_2B_F16, 32, 4, 2, F16, F16), M(F32_16X16X4_4B_F16, 16, 4, 4, F16, F16), M(F32_4X4X4_16B_F16, 4, 4, 16, F16, F16),
	M(F32_32X32X8_F16, 32, 8, 1, F16, F16), M(F32_16X16X16_F16, 16, 16, 1, F16, F16),
	M(F32_32X32X4_2B_BF16, 32, 4, 2, BF16, BF16), M(F32_16X16X4_4B_BF16, 16, 4, 4, BF16, BF16),
	M(F32_4X4X4_16B_BF16, 4, 4, 16, BF16, BF16), M(F32_32X32X8_BF16, 32, 8, 1, BF16, BF16), M(F32_16X16X16_BF16, 16, 16, 1, BF16, BF16),
	M(I32_32X32X4_2B_I8, 32, 4, 2, I8, I8), M(I32_16X16X4_4B_I8, 16, 4, 4, I8, I8), M(I32_4X4X4_16B_I8, 4, 4, 16, I8, I8),
	M(I32_32X32X16_I8, 32, 16, 1, I8, I8), M(I32_16X16X32_I8, 16, 32, 1, I8, I8),
	M(F64_16X16X4_F64, 16, 4, 1, F64, F64), M(F64_4X4X4_4B_F64, 4, 4, 4, F64, F64),
	M(F32_16X16X32_BF8_BF8, 16, 32, 1, BF8, BF8), M(F32_16X16X32_BF8_FP8, 16, 32, 1, BF8, FP8),
	M(F32_16X16X32_FP8_BF8, 16, 32, 1, FP8, BF8), M(F32_16X16X32_FP8_FP8, 16, 32, 1, FP8, FP8),
	M(F32_32X32X16_BF8_BF8, 32, 16, 1, BF8, BF8), M(F32_32X32X16_BF8_FP8, 32, 16, 1, BF8, FP8),
	M(F32_32X32X16_FP8_BF8, 32, 16, 1, FP8, BF8), M(F32_32X32X16_FP8_FP8, 32, 16, 1, FP8, FP8),
};

void mfma_bind(const struct mfma_row *ret_rows[ISA_OP_COUNT])
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ret_rows[rows[i].op] = &rows[i];
}

static unsigned element_bits(unsigned type)
{
	switch (type) {
	case MFMA_F64:
		return 64;
	case MFMA_F32:
	case MFMA_XF32:
		return 32;
	case MFMA_F16:
	case MFMA_BF16:
		return 16;
	default:
		return 8;
	}
}

/* xf32 keeps 10 bits of the mantissa, rounded to nearest even. */
static uint32_t to_xf32(uint32_t word)
{
	if ((word & 0x7f800000) == 0x7f800000)
		return word;
	return (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu;
}

/* One value per lane of the e-th element that lanes hold, as floats. */
static void widen(const uint32_t (*regs)[WAVE], unsigned type, unsigned e, float *f)
{
	unsigned bits = element_bits(type), shift = e * bits % 32;
	const uint32_t *words = regs[e * bits / 32];
	const struct float8_format *format = type == MFMA_FP8 ? &float8_fp8 : &float8_bf8;
	uint32_t word;

	if (type == MFMA_F16) {
		lane_functions()->f16_to_f32(f, words, shift != 0);
		return;
	}
	for (unsigned lane = 0; lane < WAVE; lane++) {
		switch (type) {
		case MFMA_BF16:
			word = words[lane] >> shift << 16;
			break;
		case MFMA_XF32:
			word = to_xf32(words[lane]);
			break;
		case MFMA_F32:
			word = words[lane];
			break;
		default:
			f[lane] = float8_decode(format, (uint8_t)(words[lane] >> shift));
			continue;
		}
		memcpy(&f[lane], &word, sizeof(word));
	}
}

/* The lane that lane `lane` of B is taken from. */
static unsigned group_lane(unsigned blgp, unsigned lane)
{
	switch (blgp) {
	case 1:
		return lane & 31;		/* the first 32 for both halves */
	case 2:
		return lane | 32;
	case 3:
		return (lane + 16) & 63;	/* rotated by 16 */
	case 4:
	case 5:
	case 6:
	case 7:
		return (blgp - 4) * 16 + (lane & 15);
	default:
		return lane;
	}
}

/* The block of A that block `block` is multiplied with. */
static unsigned shared_block(const struct isa_inst *inst, unsigned block)
{
	unsigned mask = (1u << inst->cbsz) - 1;
	return (block & ~mask) | (inst->abid & mask);
}

struct shape {
	unsigned m, k, blocks, groups, per_lane;	/* groups of lanes that hold k values each */
};

static struct shape shape_of(const struct mfma_row *row)
{
	unsigned groups = WAVE / row->m / row->blocks;
	return (struct shape){ .m = row->m, .k = row->k, .blocks = row->blocks, .groups = groups, .per_lane = row->k / groups };
}

/* The row that register `reg` of the lanes with lane / m == group holds, in 32-bit results. */
static unsigned result_row(const struct shape *shape, unsigned reg, unsigned group)
{
	switch (shape->m) {
	case 32:
		return 8 * (reg / 4) + 4 * group + reg % 4;
	case 16:
		return 4 * group + reg;
	default:
		return reg;
	}
}

static const uint32_t *source_c(const struct wave *wave, const struct op *op, unsigned reg, uint32_t *spread)
{
	unsigned code = op->inst.operand[3].code;
	if (code >= ISA_VGPR0)
		return wave->v[code - ISA_VGPR0 + reg];
	bool wide = op->info->operand[3].type == ISA_TYPE_F64;
	uint32_t value = wide ? (uint32_t)(scalar_operand64(wave, op, 3) >> (reg & 1) * 32) : scalar_operand32(wave, op, 3);
	for (unsigned lane = 0; lane < WAVE; lane++)
		spread[lane] = value;
	return spread;
}

/* Registers of one block of a 32-bit result, to (`in`) and from the working matrix. m lanes side by side are a row. */
static void move_result(struct wave *wave, const struct op *op, const struct shape *shape, unsigned block, struct mfma_block *work, bool in)
{
	unsigned n = shape->m == 32 ? 16 : 4, dst = op->inst.operand[0].code - (unsigned)ISA_VGPR0;
	unsigned first = shape->m == 4 ? 0 : block * n, groups = WAVE / shape->m;
	unsigned from = shape->m == 4 ? block : 0, to = shape->m == 4 ? block + 1 : groups;
	size_t size = shape->m * sizeof(uint32_t);
	uint32_t spread[WAVE];

	for (unsigned reg = 0; reg < n; reg++) {
		const uint32_t *c = in ? source_c(wave, op, first + reg, spread) : NULL;
		for (unsigned group = from; group < to; group++) {
			int32_t *row = work->c.i + result_row(shape, reg, group) * shape->m;
			if (in)
				memcpy(row, c + group * shape->m, size);
			else
				memcpy(wave->v[dst + first + reg] + group * shape->m, row, size);
		}
	}
}

static const uint32_t (*source_registers(const struct wave *wave, const struct op *op, unsigned operand))[WAVE]
{
	return &wave->v[op->inst.operand[operand].code - (unsigned)ISA_VGPR0];
}

/* The k x m values of one block, rows of k: m lanes side by side are one k. `from` holds size bytes for each [element][lane]. */
static void gather(const struct shape *shape, unsigned block, const void *from, size_t size, void *to)
{
	for (unsigned group = 0; group < shape->groups; group++) {
		unsigned lane = shape->m * (block + shape->blocks * group);
		for (unsigned e = 0; e < shape->per_lane; e++) {
			const uint8_t *row = (const uint8_t *)from + (e * WAVE + lane) * size;
			memcpy((uint8_t *)to + (group * shape->per_lane + e) * shape->m * size, row, shape->m * size);
		}
	}
}

/* blgp: lanes of B take the values of others. `values` are n times 64 lanes of 4 bytes. */
static void permute_groups(const struct isa_inst *inst, uint32_t (*values)[WAVE], unsigned n)
{
	uint32_t old[WAVE];
	for (unsigned e = 0; inst->blgp && e < n; e++) {
		memcpy(old, values[e], sizeof(old));
		for (unsigned lane = 0; lane < WAVE; lane++)
			values[e][lane] = old[group_lane(inst->blgp, lane)];
	}
}

static void run_float(struct wave *wave, const struct op *op, const struct shape *shape, struct mfma_block *work)
{
	float a[8][WAVE], b[8][WAVE];
	for (unsigned e = 0; e < shape->per_lane; e++) {
		widen(source_registers(wave, op, 1), op->mfma->type_a, e, a[e]);
		widen(source_registers(wave, op, 2), op->mfma->type_b, e, b[e]);
	}
	permute_groups(&op->inst, (uint32_t (*)[WAVE])b, shape->per_lane);
	for (unsigned block = 0; block < shape->blocks; block++) {
		gather(shape, shared_block(&op->inst, block), a, sizeof(a[0][0]), work->a.f);
		gather(shape, block, b, sizeof(b[0][0]), work->b.f);
		move_result(wave, op, shape, block, work, true);
		lane_functions()->multiply_f32(work);
		move_result(wave, op, shape, block, work, false);
	}
}

static void widen_bytes(const uint32_t (*regs)[WAVE], unsigned n, uint32_t (*values)[WAVE])
{
	for (unsigned e = 0; e < n; e++) {
		for (unsigned lane = 0; lane < WAVE; lane++)
			values[e][lane] = (uint32_t)(int8_t)(regs[e / 4][lane] >> e % 4 * 8);
	}
}

static void run_integer(struct wave *wave, const struct op *op, const struct shape *shape, struct mfma_block *work)
{
	uint32_t a[8][WAVE], b[8][WAVE];
	widen_bytes(source_registers(wave, op, 1), shape->per_lane, a);
	widen_bytes(source_registers(wave, op, 2), shape->per_lane, b);
	permute_groups(&op->inst, b, shape->per_lane);
	for (unsigned block = 0; block < shape->blocks; block++) {
		gather(shape, shared_block(&op->inst, block), a, sizeof(a[0][0]), work->a.i);
		gather(shape, block, b, sizeof(b[0][0]), work->b.i);
		move_result(wave, op, shape, block, work, true);
		lane_functions()->multiply_i32(work);
		move_result(wave, op, shape, block, work, false);
	}
}

/* Pairs of registers to doubles. */
static void widen_doubles(const uint32_t *low, const uint32_t *high, bool negate, double *values)
{
	for (unsigned lane = 0; lane < WAVE; lane++) {
		uint64_t word = (low[lane] | (uint64_t)high[lane] << 32) ^ (uint64_t)negate << 63;
		memcpy(&values[lane], &word, sizeof(word));
	}
}

/* f64 results: register pair `reg` of a lane is row 4 * reg + lane / 16; a block of 4 x 4 has the lanes with lane / 4 % 4 == block. */
static void move_doubles(const struct shape *shape, unsigned block, double (*values)[WAVE], unsigned n, struct mfma_block *work, bool in)
{
	for (unsigned reg = 0; reg < n; reg++) {
		for (unsigned group = 0; group < 4; group++) {
			double *row = work->c.d + (4 * reg + group) * shape->m;
			double *lanes = values[reg] + 16 * group + (shape->m == 4 ? block * 4 : 0);
			memcpy(in ? row : lanes, in ? lanes : row, shape->m * sizeof(double));
		}
	}
}

static void run_double(struct wave *wave, const struct op *op, const struct shape *shape, struct mfma_block *work)
{
	const struct isa_inst *inst = &op->inst;
	const uint32_t(*a_regs)[WAVE] = source_registers(wave, op, 1), (*b_regs)[WAVE] = source_registers(wave, op, 2);
	unsigned n = shape->m == 16 ? 4 : 1, dst = inst->operand[0].code - (unsigned)ISA_VGPR0;
	unsigned negate = inst->blgp | inst->neg_lo;	/* for f64 these bits negate A, B and C */
	double a[WAVE], b[WAVE], c[4][WAVE];
	uint32_t low[WAVE], high[WAVE];

	widen_doubles(a_regs[0], a_regs[1], negate & 1, a);
	widen_doubles(b_regs[0], b_regs[1], negate & 2, b);
	for (unsigned reg = 0; reg < n; reg++)
		widen_doubles(source_c(wave, op, reg * 2, low), source_c(wave, op, reg * 2 + 1, high), negate & 4, c[reg]);
	for (unsigned block = 0; block < shape->blocks; block++) {
		gather(shape, shared_block(inst, block), a, sizeof(a[0]), work->a.d);
		gather(shape, block, b, sizeof(b[0]), work->b.d);
		move_doubles(shape, block, c, n, work, true);
		lane_functions()->multiply_f64(work);
		move_doubles(shape, block, c, n, work, false);
	}
	for (unsigned reg = 0; reg < n; reg++) {
		for (unsigned lane = 0; lane < WAVE; lane++) {
			uint64_t word;
			memcpy(&word, &c[reg][lane], sizeof(word));
			wave->v[dst + reg * 2][lane] = (uint32_t)word;
			wave->v[dst + reg * 2 + 1][lane] = (uint32_t)(word >> 32);
		}
	}
}

int mfma_run(struct wave *wave, const struct op *op)
{
	struct shape shape = shape_of(op->mfma);
	struct mfma_block work;
	const struct isa_operand *dst = &op->inst.operand[0];

	work.m = shape.m;
	work.k = shape.k;
	wave->stats.mfma++;
	if (op->mfma->type_a == MFMA_F64)
		run_double(wave, op, &shape, &work);
	else if (op->mfma->type_a == MFMA_I8)
		run_integer(wave, op, &shape, &work);
	else
		run_float(wave, op, &shape, &work);
	check_mfma_issued(wave, op, dst->code - (unsigned)ISA_VGPR0, dst->width);
	return 0;
}
