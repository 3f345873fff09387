/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of one operation on all 64 lanes: pure functions on arrays, apart from waves and registers, so that this part can be
 * compiled twice (baseline and AVX2 + FMA + F16C, see meson.build) and be vectorised by the compiler.
 *
 * Arrays hold the low dwords of the 64 lanes, then (64-bit types) the high dwords, just as registers lie in struct wave. Sources have
 * their modifiers (neg, abs, op_sel, SDWA, DPP) applied; clamp of floats, omod and EXEC are applied to the result afterwards. All
 * lanes are computed, inactive ones on whatever they hold.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lane_context {
	uint64_t mask_in;	/* carry, condition: one bit a lane */
	uint64_t mask_out;	/* carry out, result of a comparison */
	uint32_t flag[64];	/* mask_out in the making: 0 or 1 a lane */
	bool clamp;		/* for integers; floats are clamped outside */
	bool f32_flush, f16_flush;	/* denormal mode of the wave */
	bool dx10_clamp;
	bool saturate;		/* MODE.FP16_OVFL: fp8 conversions saturate */
	uint8_t op_sel;		/* of VOP3, where it is more than a choice of halves */
};

typedef void (*lane_fn)(uint32_t *restrict d, const uint32_t *a, const uint32_t *b, const uint32_t *c, struct lane_context *x);

/* How operands are to be read: decides modifiers, denormals and what an inline constant means. */
enum lane_type { LT_B32, LT_B16, LT_I16, LT_I32, LT_B64, LT_F16, LT_F32, LT_F64, LT_PK16, LT_PKF16, LT_PKF32, LT_MIX };

enum {				/* struct valu_row.flags */
	ROW_MASK_IN = 1,	/* the last source is a lane mask */
	ROW_MASK_OUT = 2,	/* a lane mask is the second destination (carry), taken from flag[] */
	ROW_COMPARE = 4,	/* the only destination is a lane mask, taken from flag[] */
	ROW_EXEC = 8,		/* v_cmpx: the mask goes to EXEC too */
	ROW_ACC = 16,		/* the destination is the third source */
	ROW_VCC_IN = 32,	/* reads VCC without naming it */
	ROW_KEEP_HIGH = 64,	/* writes 16 bits and keeps the other half (gfx9 VOP3 with op_sel) */
	ROW_ZERO_HIGH = 128,	/* writes 16 bits and zeroes the upper half */
	ROW_TRANS = 256,	/* flushes f32 denormals whatever the mode */
	ROW_RAW = 512,		/* a float operation that moves bits: no flushing */
	ROW_SEL_SRC = 1024,	/* op_sel is for the function, not a choice of source halves */
};

struct valu_row {
	uint16_t op;		/* enum isa_op */
	uint8_t n_src;
	uint8_t type, dst_type;	/* enum lane_type, of sources and destination */
	uint8_t types[3];	/* of single sources where they differ, else as `type` */
	uint16_t flags;
	lane_fn fn;
};

struct lane_table {
	const struct valu_row *rows;
	unsigned n_rows;
};

/* struct mfma_row: one v_mfma instruction. See mfma.c for the layouts. */
enum mfma_type { MFMA_F16, MFMA_BF16, MFMA_F32, MFMA_XF32, MFMA_F64, MFMA_I8, MFMA_FP8, MFMA_BF8 };

struct mfma_row {
	uint16_t op;
	uint8_t m, k, blocks;	/* D is m x m in each block */
	uint8_t type_a, type_b;	/* enum mfma_type */
};

/* c[i][j] += sum over k of a[k][i] * b[k][j], in the order of k; rows of c and of k are m values each. The type picks the member. */
struct mfma_block {
	unsigned m, k;
	union {
		float f[32 * 32];
		double d[16 * 16];
		int32_t i[32 * 32];
	} a, b, c;
};

struct scalar_args;

/* One of these per instruction set of the host; the right one is picked at run time. */
struct lane_functions {
	struct lane_table (*tables[8])(void);
	unsigned n_tables;
	void (*multiply_f32)(struct mfma_block *block);
	void (*multiply_f64)(struct mfma_block *block);
	void (*multiply_i32)(struct mfma_block *block);
	void (*f16_to_f32)(float *restrict f, const uint32_t *words, bool high);	/* 64 lanes */
};

const struct lane_functions *lane_functions_baseline(void);
const struct lane_functions *lane_functions_avx2(void);
const struct lane_functions *lane_functions(void);	/* the best that this host runs */
