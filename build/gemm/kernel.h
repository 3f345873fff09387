/* SPDX-License-Identifier: MIT */
/*
 * A GEMM kernel while it is being written. Internal to build/gemm; the public entry is gemm_generate() in gemm.h.
 *
 * The kernel is three parts that meet in the registers of struct gemm_kernel:
 *     arguments.c   argument types 0, 1, 2 -> sizes, pointers, strides, the workgroup's tile         (gemm_write_arguments)
 *     loop*.c       A and B -> accumulators                                                           (gemm_write_loop)
 *     epilogue*.c   accumulators -> alpha, scales, beta * C, bias, activation -> D                    (gemm_write_epilogue)
 */
#pragma once

#include "build/codegen/ir.h"
#include "build/codegen/regpool.h"
#include "build/gemm/config.h"

struct gemm_kernel {
	const struct gemm_config *config;
	struct ir *ir;
	struct regpool sgpr, vgpr;	/* AccVGPRs need no pool: 0 .. config->accs - 1 are the accumulators */

	/*
	 * SGPRs, numbers of the first register; all taken from the pool by gemm_write_arguments(). "64" marks aligned pairs.
	 * Filled when gemm_write_loop() begins, and unchanged by it except where it says so.
	 */
	unsigned s_size_m, s_size_n, s_size_batch, s_size_k;	/* u32; size_k is 0 when alpha is 0: A and B are then not read */
	unsigned s_tile_m, s_tile_n, s_batch;			/* u32: first row = tile_m * MT0, first column = tile_n * MT1 */
	unsigned s_addr_a64, s_addr_b64;			/* pointers of A and B as passed, given back by the loop */
	unsigned s_stride_a1, s_stride_a2, s_stride_b1, s_stride_b2;	/* u32 elements: leading dimension, batch; given back by the loop */
	unsigned s_addr_d64, s_addr_c64;
	unsigned s_stride_d1, s_stride_d2, s_stride_c1, s_stride_c2;
	unsigned s_alpha, s_beta;				/* f32 */
	unsigned s_scale_a64, s_scale_b64;			/* pointers, where the problem has them */
	unsigned s_scale_alpha_vec64, s_bias64, s_bias_type, s_bias_stride;
	unsigned s_activation_alpha, s_activation_beta, s_activation_type;

	/* VGPRs */
	unsigned v_tid;			/* work-item id 0 .. threads-1, kept from the start to the epilogue */

	ir_label_id end;		/* s_endpgm; a workgroup without work branches here */
};

/* Reserves the SGPRs above, reads the arguments and finds this workgroup's tile. Branches to `end` for a workgroup without one. */
void gemm_write_arguments(struct gemm_kernel *kernel);

/* Computes the tile over all of K. On exit every accumulator holds its sum (zero for K = 0), LDS is free for reuse after a barrier,
 * and all VGPRs but v_tid are back in the pool. */
void gemm_write_loop(struct gemm_kernel *kernel);

/* Writes the tile to D. */
void gemm_write_epilogue(struct gemm_kernel *kernel);

/* For gemm_config_init(), which knows what no part can do: -EOPNOTSUPP with a reason ("UseScaleCD", "output type f8") for what the
 * epilogue cannot, -EINVAL for nonsense. */
int gemm_epilogue_check(const struct gemm_params *params, struct error *error);

/*
 * The lane part of an accumulator's place, for the epilogue: v_row and v_column get, for every lane, the row and column inside the macro
 * tile of an accumulator whose static place is (0, 0). Clobbers one VGPR from the pool.
 */
void gemm_write_lane_origin(struct gemm_kernel *kernel, unsigned v_row, unsigned v_column);
