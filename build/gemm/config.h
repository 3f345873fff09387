/* SPDX-License-Identifier: MIT */
/*
 * A checked GEMM configuration: parameters that are known to fit together, and everything that follows from them before the first
 * instruction is written. Plain data; the same parameters give the same configuration.
 *
 * Terms: tensor 0 is A, tensor 1 is B. The free dimension of A is M, that of B is N. A tensor is "TLU" when its free
 * dimension is contiguous in memory (A not transposed, B transposed), otherwise K is contiguous.
 *
 * Rows of a macro tile (both tensors, "row" = index along the free dimension). With v = vector_width, m = mi_m (or mi_n), g = waves
 * along this dimension, lane part r in 0..m-1 and MFMA index w in 0..wave_tile-1:
 *     row = (w / v) * (g * m * v) + wave * (m * v) + r * v + w % v
 * so one lane owns v neighbouring rows, which is what vector reads from LDS and vector stores want.
 */
#pragma once

#include "base/error.h"
#include "build/gemm/params.h"

/*
 * K inside a depthU. One MFMA takes k_per_lane neighbouring elements of K from each of lanes_k groups of lanes (CDNA3 ISA, "Matrix
 * arithmetic"). k_fold MFMA steps make a group: a lane owns k_fold * k_per_lane neighbours, so that one wide LDS read feeds several
 * steps. Step s of group g, lane group q, element j is the element
 *     k = g * group_k + q * (k_fold * k_per_lane) + s * k_per_lane + j,    group_k = lanes_k * k_fold * k_per_lane
 * of the depthU: a permutation of K, the same for A and B.
 *
 * LDS. The element (row, k) of a tensor lies at
 *     linear  = lds_k_major ? row * lds_row + k * lds_element : k * lds_row + row * lds_element
 *     address = lds_offset + linear + linear / lds_block * lds_pad          (bytes; no padding when lds_pad is 0)
 * Both LDS writes and reads split linear into a part of the lane, in a VGPR, and a part known now, in the instruction's offset.
 * The padding of the sum is that of the parts only when no carry runs over a block; where LdsBlockSizePerPad does not keep that,
 * the pad is put at the end of each row instead.
 */
struct gemm_tensor_config {	/* how one of A and B comes from memory to the MFMA */
	enum gemm_type type;		/* in memory */
	bool tlu;			/* free dimension contiguous in memory */
	bool lds_k_major;		/* LDS holds rows of K (unroll major); otherwise K rows of the free dimension */
	bool convert;			/* f8 -> f16 between memory and LDS */
	unsigned macro_tile;		/* rows */
	unsigned wave_tile, waves, vector_width;
	unsigned mi;			/* mi_m or mi_n */
	unsigned element;		/* bytes in memory */
	/* global read: loads_coalesced * loads_perpendicular loads a thread, each of grvw elements; lanes_coalesced threads stand side
	 * by side along the contiguous dimension; load (p, c) covers coalesced elements from
	 * (c * lanes_coalesced + thread % lanes_coalesced) * grvw on and perpendicular row
	 * p * rows_per_load + thread / lanes_coalesced. It is kept in load_dwords VGPRs. */
	unsigned grvw, lanes_coalesced, rows_per_load, loads_coalesced, loads_perpendicular, loads, load_dwords;
	unsigned offsets;		/* VGPRs of places in memory: one for each p, or the first and a running one */
	unsigned assert_multiple;	/* the free size is a multiple of this */
	/* LDS, in bytes */
	unsigned lds_element;		/* bytes of an element in LDS */
	unsigned lds_row;		/* bytes from one LDS row to the next, without block padding */
	unsigned lds_pad, lds_block;	/* lds_pad bytes are inserted after every lds_block bytes (pad 0: none) */
	unsigned lds_offset, lds_size;	/* inside one buffer */
	unsigned lds_align;		/* a power of two that divides every row, block and pad; at most 16 */
	unsigned read_width;		/* elements along the LDS-contiguous dimension that a lane wants together */
	/* MFMA operands of one group. 16-bit elements that are not k major come row by row of K into raw registers, from which
	 * v_perm makes operands; everything else is read to where the MFMA wants it. */
	bool permute;
	bool prefetch;			/* the next group is read while the MFMAs of this one run */
	unsigned operand_dwords;	/* all operands of a group, once */
	unsigned raw_dwords;		/* raw registers of a group (permute) */
};

struct gemm_config {
	struct gemm_params params;
	struct gemm_tensor_config tensor[2];
	unsigned waves, threads;
	unsigned depth_u, mi_m, mi_n, mi_k;
	unsigned k_steps;		/* depth_u / mi_k */
	unsigned lanes_k;		/* 64 / mi_m: groups of lanes along K in one MFMA operand */
	unsigned k_per_lane;		/* elements of K a lane gives to one MFMA */
	unsigned k_fold;		/* MFMA steps that share an LDS read */
	unsigned groups, group_k;	/* k_steps / k_fold, and how many elements of K a group has */
	unsigned acc_per_mfma;		/* AccVGPRs of one MFMA result: mi_m * mi_n / 64 */
	unsigned accs;			/* all of them: wave_tile[0] * wave_tile[1] * acc_per_mfma */
	unsigned max_vgprs;		/* VGPRs a wave can have beside its AccVGPRs so that the whole workgroup fits a CU */
	unsigned loop_vgprs;		/* how many gemm_write_loop() takes from the pool at most */
	unsigned prefetch;		/* macro tiles on their way beside the one being multiplied: PrefetchGlobalRead, at least 1 */
	unsigned lds_buffers, lds_buffer_stride, lds_bytes;
	bool source_swap;		/* MFMA(B, A) instead of MFMA(A, B) */
};

/*
 * Checks params and fills ret_config. A configuration that is self-contradictory gives -EINVAL; one that is sound but needs a
 * feature this generator lacks gives -EOPNOTSUPP. Both come with a reason of a few words in `error` ("LocalSplitU 4",
 * "data type f64", "LDS of 70144 bytes"), the same words for the same cause so that reasons can be counted.
 */
int gemm_config_init(const struct gemm_params *params, struct gemm_config *ret_config, struct error *error);

/* The address of a byte of a tensor's LDS area, relative to lds_offset, from its place without padding. */
static inline unsigned gemm_lds_padded(const struct gemm_tensor_config *tensor, unsigned linear)
{
	return tensor->lds_pad ? linear + linear / tensor->lds_block * tensor->lds_pad : linear;
}

static inline unsigned gemm_lds_linear(const struct gemm_tensor_config *tensor, unsigned row, unsigned k)
{
	return tensor->lds_k_major ? row * tensor->lds_row + k * tensor->lds_element :
				     k * tensor->lds_row + row * tensor->lds_element;
}

/* The part of an MFMA row's place in the macro tile that wave tile index w decides (see the top). */
static inline unsigned gemm_tile_row(const struct gemm_tensor_config *tensor, unsigned w)
{
	unsigned v = tensor->vector_width;

	return w / v * (tensor->waves * tensor->mi * v) + w % v;
}

/*
 * Where accumulator register i of MFMA (w0, w1) lives, and which element of the macro tile it is.
 *
 * acc register number = (w1 * wave_tile[0] + w0) * acc_per_mfma + i.
 * The element's row (M) in the macro tile is  lane_row + static row, its column (N)  lane_column + static column, where the
 * lane parts are the same for all accumulators (see gemm_write_lane_origin() in kernel.h) and the static parts come from here.
 * Layouts of the MFMA results: CDNA3 ISA, "Matrix arithmetic: register layouts"; confirmed by LLVM-compiled kernels in tests.
 */
struct gemm_acc_place { unsigned row, column; };
struct gemm_acc_place gemm_acc_place(const struct gemm_config *config, unsigned w0, unsigned w1, unsigned i);
