/* SPDX-License-Identifier: MIT */
/*
 * What a GEMM kernel is made from: the values of a problem type and of a solution that decide its code, under the names that
 * hipBLASLt's logic has for them in CamelCase (DepthU is depth_u).
 *
 * The numbers are those of the logic file after derivation; nobody has checked that they fit together. gemm_config_init() does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gemm_type {		/* hipBLASLt's data type numbers (TensileLite: enum DataType of DataTypes.hpp) */
	GEMM_F32 = 0,
	GEMM_F64 = 1,
	GEMM_F16 = 4,
	GEMM_I32 = 6,
	GEMM_BF16 = 7,
	GEMM_I8 = 8,
	GEMM_XF32 = 10,
	GEMM_F8 = 11,
	GEMM_BF8 = 12,
	GEMM_F8BF8 = 13,
	GEMM_BF8F8 = 14,
};

unsigned gemm_type_bytes(enum gemm_type type);
const char *gemm_type_name(enum gemm_type type);	/* "f16", "bf16", "f8" ... */

enum gemm_activation {		/* the run-time value of activationType */
	GEMM_ACTIVATION_NONE = 0,
	GEMM_ACTIVATION_GELU = 3,
	GEMM_ACTIVATION_RELU = 5,
};

struct gemm_problem_type {
	enum gemm_type a, b, c, d, compute, mfma_in;	/* mfma_in: DataType, what A and B are converted to on the way to LDS */
	bool trans_a, trans_b;		/* Alik, Bjlk */
	bool use_beta;
	uint8_t use_bias;		/* 0, 1 (along M); 2 and 3 are other dimensions */
	uint8_t n_bias_types;
	enum gemm_type bias_types[4];	/* which bias types a launch may ask for */
	bool activation;		/* hipblaslt_all: activationType decides at run time */
	enum gemm_type activation_compute;
	bool scale_ab, scale_cd, scale_alpha_vec;
	bool use_e, gradient, amax_d, stochastic_rounding, sparse;
	bool grouped;			/* does not change the kernel */
	bool user_args;			/* argument type 2 may be used */
	bool strided_batched;
};

struct gemm_params {
	struct gemm_problem_type problem;
	int mi[4];			/* MatrixInstruction M, N, K, B */
	int mi_wave_group[2], mi_wave_tile[2];
	int macro_tile[2];
	int depth_u;
	int num_threads;
	int local_split_u, global_split_u;
	int prefetch_global_read;
	int one_lds_buffer;
	int transpose_lds;
	int lds_pad[2], lds_block_size_per_pad[2];	/* A, B; elements and bytes */
	int global_read_vector_width[2];
	int num_loads_coalesced[2];
	int local_read_vector_width;
	int vector_width[2];
	int source_swap;
	int assert_free_multiple[2];	/* M, N are multiples of these */
	int assert_summation_multiple;	/* K is a multiple of this */
	int non_temporal[4];		/* A, B, C, D: cache policy bits */
	int direct_to_lds, direct_to_vgpr[2], stream_k;
	const char *custom_kernel;	/* "" or the name of a shipped .s */
};
