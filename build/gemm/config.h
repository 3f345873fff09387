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

struct gemm_tensor_config {	/* how one of A and B comes from memory to the MFMA */
	enum gemm_type type;		/* in memory */
	bool tlu;			/* free dimension contiguous in memory */
	bool lds_k_major;		/* LDS holds rows of K (unroll major); otherwise K rows of the free dimension */
	bool convert;			/* f8 -> f16 between memory and LDS */
	unsigned macro_tile;		/* rows */
	unsigned wave_tile, waves, vector_width;
	unsigned mi;			/* mi_m or mi_n */
	/* global read: `loads` loads a thread, each of grvw elements; lanes_coalesced threads stand side by side along the contiguous
	 * dimension; load (p, c) covers coalesced element c * lanes_coalesced * grvw and perpendicular row p * rows_per_load */
	unsigned grvw, lanes_coalesced, rows_per_load, loads_coalesced, loads_perpendicular;
	/* LDS, in bytes */
	unsigned lds_element;		/* bytes of an element in LDS */
	unsigned lds_row;		/* bytes from one LDS row to the next, without block padding */
	unsigned lds_pad, lds_block;	/* lds_pad bytes are inserted after every lds_block bytes (0: none) */
	unsigned lds_offset, lds_size;	/* inside one buffer */
	unsigned read_width;		/* elements along the LDS-contiguous dimension in one LDS read */
};

struct gemm_config {
	struct gemm_params params;
	struct gemm_tensor_config tensor[2];
	unsigned waves, threads;
	unsigned depth_u, mi_m, mi_n, mi_k;
	unsigned k_steps;		/* depth_u / mi_k */
	unsigned lanes_k;		/* 64 / mi_m: groups of lanes along K in one MFMA operand */
	unsigned k_per_lane;		/* elements of K a lane gives to one MFMA */
	unsigned acc_per_mfma;		/* AccVGPRs of one MFMA result: mi_m * mi_n / 64 */
	unsigned accs;			/* all of them: wave_tile[0] * wave_tile[1] * acc_per_mfma */
	unsigned lds_buffers, lds_buffer_stride, lds_bytes;
	bool source_swap;		/* MFMA(B, A) instead of MFMA(A, B) */
};

/*
 * Checks params and fills ret_config. A configuration that is self-contradictory gives -EINVAL; one that is sound but needs a
 * feature this generator lacks gives -EOPNOTSUPP. Both come with a reason of a few words in `error` ("LocalSplitU 4", "data type f64",
 * "LDS of 70144 bytes"), the same words for the same cause so that reasons can be counted.
 */
int gemm_config_init(const struct gemm_params *params, struct gemm_config *ret_config, struct error *error);

/*
 * Where accumulator register i of MFMA (w0, w1) lives, and which element of the macro tile it is.
 *
 * acc register number = (w1 * wave_tile[0] + w0) * acc_per_mfma + i.
 * The element's row (M) in the macro tile is  lane_row + static row, its column (N)  lane_column + static column, where the
 * lane parts are the same for all accumulators (see gemm_lane_origin in kernel.h) and the static parts come from here.
 * Layouts of the MFMA results: CDNA3 ISA, "Matrix arithmetic: register layouts"; confirmed by LLVM-compiled kernels in tests.
 */
struct gemm_acc_place { unsigned row, column; };
struct gemm_acc_place gemm_acc_place(const struct gemm_config *config, unsigned w0, unsigned w1, unsigned i);
