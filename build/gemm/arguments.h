/* SPDX-License-Identifier: MIT */
/*
 * The kernel arguments of a problem type: one table for the kernel that reads them, the metadata that describes them and the
 * programs that pack them.
 *
 *     struct gemm_argument_layout layout;
 *     gemm_argument_layout(&config.params.problem, &layout);
 *     for (i = 0; i < GEMM_ARGUMENT_COUNT; i++)
 *             if (layout.offset[i] != GEMM_ARGUMENT_ABSENT)
 *                     place a value of gemm_argument_info(i)->size bytes at layout.offset[i];
 *
 * The three argument types (bits 30-31 of gemm_count):
 *     0  the kernarg segment is the header of GEMM_ARGUMENT_HEADER bytes, then the arguments at `offset`.
 *     1  the header, then pointers argsPtr (16), Synchronizer (24), Workspace (32). At argsPtr: u32 wgTable[gemm_count], the first
 *        workgroup of each GEMM, then one record of `record_bytes` for each: the arguments at `offset` - GEMM_ARGUMENT_HEADER.
 *     2  as 1, but the pointer at 16 leads to an array of GEMM_USER_BYTES structs, arguments at `user_offset`, and there is
 *        no table: the workgroups of a GEMM follow from its sizes. (An application may write the sizes on the device after the
 *        launch was set up, so only the kernel can know them.)
 *
 * Facts: hipBLASLt as of October 2024. The host packs types 0 and 1 in ContractionSolution.cpp (kernelArgs, singleCallArgs,
 * calculateSingleCallWorkGroupItems) and declares struct DeviceUserArguments in ContractionSolution.hpp. Its own kernels
 * find a GEMM by adding up ceil(M / MT0) * ceil(N / MT1) * batch over the GEMMs in order, which gives the same as the table.
 * Optional pointers (scaleA, scaleB, scaleAlphaVec, bias) may be null and then stand for 1, 1, ones and zeros. Argument type 2
 * has no bias stride: it is 0 (the host leaves the reserved word at 164 as it was).
 */
#pragma once

#include "build/gemm/params.h"

enum gemm_argument {
	GEMM_ARG_GEMM_COUNT,		/* the header */
	GEMM_ARG_INTERNAL_ARGS,
	GEMM_ARG_INTERNAL_ARGS1,
	GEMM_ARG_NUM_WORKGROUPS,
	GEMM_ARG_SIZE_M,
	GEMM_ARG_SIZE_N,
	GEMM_ARG_SIZE_BATCH,
	GEMM_ARG_SIZE_K,
	GEMM_ARG_D,
	GEMM_ARG_C,
	GEMM_ARG_A,
	GEMM_ARG_B,
	GEMM_ARG_STRIDE_D1,
	GEMM_ARG_STRIDE_D2,
	GEMM_ARG_STRIDE_C1,
	GEMM_ARG_STRIDE_C2,
	GEMM_ARG_STRIDE_A1,
	GEMM_ARG_STRIDE_A2,
	GEMM_ARG_STRIDE_B1,
	GEMM_ARG_STRIDE_B2,
	GEMM_ARG_ALPHA,
	GEMM_ARG_BETA,
	GEMM_ARG_SCALE_A,
	GEMM_ARG_SCALE_B,
	GEMM_ARG_SCALE_ALPHA_VEC,
	GEMM_ARG_BIAS,
	GEMM_ARG_BIAS_TYPE,
	GEMM_ARG_BIAS_STRIDE,
	GEMM_ARG_ACTIVATION_ALPHA,
	GEMM_ARG_ACTIVATION_BETA,
	GEMM_ARG_ACTIVATION_TYPE,
	GEMM_ARGUMENT_COUNT
};

enum {
	GEMM_ARGUMENT_HEADER = 16,	/* bytes */
	GEMM_GROUPED_POINTER = 16,	/* offset of argsPtr, argument types 1 and 2 */
	GEMM_GROUPED_BYTES = 40,	/* kernarg bytes of argument types 1 and 2 */
	GEMM_USER_BYTES = 196,		/* one DeviceUserArguments struct */
	GEMM_ARGUMENT_ABSENT = 0xffff,
};

enum { GEMM_ARGUMENTS_INLINE, GEMM_ARGUMENTS_GROUPED, GEMM_ARGUMENTS_USER };	/* bits 30-31 of gemm_count */

struct gemm_argument_info {
	const char *name;		/* as in hipBLASLt: "SizesFree0", "strideD0" ... */
	const char *type;		/* "u32", "i32", "f32", or the pointer's element as metadata names it */
	uint8_t size;			/* bytes: 4, or 8 for pointers */
	bool pointer;
};

struct gemm_argument_layout {
	uint16_t offset[GEMM_ARGUMENT_COUNT];		/* bytes in the kernarg segment of argument type 0 */
	uint16_t user_offset[GEMM_ARGUMENT_COUNT];	/* bytes in one struct of argument type 2 */
	unsigned bytes;			/* end of the last argument of type 0 */
	unsigned record_bytes;		/* one record of argument type 1 */
	unsigned kernarg_bytes;		/* segment size that serves all types: a multiple of 8 */
};

void gemm_argument_layout(const struct gemm_problem_type *problem, struct gemm_argument_layout *ret_layout);

const struct gemm_argument_info *gemm_argument_info(enum gemm_argument argument);
