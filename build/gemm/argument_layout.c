/* SPDX-License-Identifier: MIT */
#include "build/gemm/arguments.h"

#include "base/macro.h"

#include <assert.h>

enum condition {		/* which problem types have the argument */
	ALWAYS,
	IF_BETA,
	IF_SCALE_AB,
	IF_SCALE_ALPHA_VEC,
	IF_BIAS,
	IF_ACTIVATION,
};

struct argument_row {
	struct gemm_argument_info info;
	uint8_t condition;
	uint16_t user_offset;
};

#define NO_USER GEMM_ARGUMENT_ABSENT
#define WORD(name, type, condition, user) { { name, type, 4, false }, condition, user }
#define POINTER(name, condition, user) { { name, "void", 8, true }, condition, user }

/* In the order of the kernarg segment, without gaps. */
static const struct argument_row rows[GEMM_ARGUMENT_COUNT] = {
	[GEMM_ARG_GEMM_COUNT] = WORD("Gemm info", "u32", ALWAYS, NO_USER),
	[GEMM_ARG_INTERNAL_ARGS] = WORD("kernel info0", "u32", ALWAYS, NO_USER),
	[GEMM_ARG_INTERNAL_ARGS1] = WORD("kernel info1", "i32", ALWAYS, NO_USER),
	[GEMM_ARG_NUM_WORKGROUPS] = WORD("numWG", "u32", ALWAYS, NO_USER),
	[GEMM_ARG_SIZE_M] = WORD("SizesFree0", "u32", ALWAYS, 0),
	[GEMM_ARG_SIZE_N] = WORD("SizesFree1", "u32", ALWAYS, 4),
	[GEMM_ARG_SIZE_BATCH] = WORD("SizesFree2", "u32", ALWAYS, 8),
	[GEMM_ARG_SIZE_K] = WORD("SizesSum0", "u32", ALWAYS, 12),
	[GEMM_ARG_D] = POINTER("D", ALWAYS, 16),
	[GEMM_ARG_C] = POINTER("C", ALWAYS, 24),
	[GEMM_ARG_A] = POINTER("A", ALWAYS, 32),
	[GEMM_ARG_B] = POINTER("B", ALWAYS, 40),
	[GEMM_ARG_STRIDE_D1] = WORD("strideD0", "u32", ALWAYS, 48),
	[GEMM_ARG_STRIDE_D2] = WORD("strideD1", "u32", ALWAYS, 52),
	[GEMM_ARG_STRIDE_C1] = WORD("strideC0", "u32", ALWAYS, 56),
	[GEMM_ARG_STRIDE_C2] = WORD("strideC1", "u32", ALWAYS, 60),
	[GEMM_ARG_STRIDE_A1] = WORD("strideA0", "u32", ALWAYS, 64),
	[GEMM_ARG_STRIDE_A2] = WORD("strideA1", "u32", ALWAYS, 68),
	[GEMM_ARG_STRIDE_B1] = WORD("strideB0", "u32", ALWAYS, 72),
	[GEMM_ARG_STRIDE_B2] = WORD("strideB1", "u32", ALWAYS, 76),
	[GEMM_ARG_ALPHA] = WORD("alpha", "f32", ALWAYS, 80),
	[GEMM_ARG_BETA] = WORD("beta", "f32", IF_BETA, 96),
	[GEMM_ARG_SCALE_A] = POINTER("AddressScaleA", IF_SCALE_AB, 112),
	[GEMM_ARG_SCALE_B] = POINTER("AddressScaleB", IF_SCALE_AB, 120),
	[GEMM_ARG_SCALE_ALPHA_VEC] = POINTER("AddressScaleAlphaVec", IF_SCALE_ALPHA_VEC, 144),
	[GEMM_ARG_BIAS] = POINTER("bias", IF_BIAS, 152),
	[GEMM_ARG_BIAS_TYPE] = WORD("biasType", "u32", IF_BIAS, 160),
	[GEMM_ARG_BIAS_STRIDE] = WORD("StrideBias", "u32", IF_BIAS, NO_USER),
	[GEMM_ARG_ACTIVATION_ALPHA] = WORD("activationAlpha", "f32", IF_ACTIVATION, 184),
	[GEMM_ARG_ACTIVATION_BETA] = WORD("activationBeta", "f32", IF_ACTIVATION, 188),
	[GEMM_ARG_ACTIVATION_TYPE] = WORD("activationType", "u32", IF_ACTIVATION, 192),
};

static bool is_present(const struct gemm_problem_type *problem, uint8_t condition)
{
	switch ((enum condition)condition) {
	case ALWAYS:
		return true;
	case IF_BETA:
		return problem->use_beta;
	case IF_SCALE_AB:
		return problem->scale_ab;
	case IF_SCALE_ALPHA_VEC:
		return problem->scale_alpha_vec;
	case IF_BIAS:
		return problem->use_bias != 0;
	case IF_ACTIVATION:
		return problem->activation;
	}
	return false;
}

void gemm_argument_layout(const struct gemm_problem_type *problem, struct gemm_argument_layout *ret_layout)
{
	struct gemm_argument_layout layout = { 0 };

	for (size_t i = 0; i < GEMM_ARGUMENT_COUNT; i++) {
		bool present = is_present(problem, rows[i].condition);

		layout.offset[i] = present ? (uint16_t)layout.bytes : GEMM_ARGUMENT_ABSENT;
		layout.user_offset[i] = present ? rows[i].user_offset : GEMM_ARGUMENT_ABSENT;
		layout.bytes += present ? rows[i].info.size : 0;
	}
	layout.record_bytes = layout.bytes - GEMM_ARGUMENT_HEADER;
	layout.kernarg_bytes = (unsigned)round_up(MAX(layout.bytes, GEMM_GROUPED_BYTES), 8);
	*ret_layout = layout;
}

const struct gemm_argument_info *gemm_argument_info(enum gemm_argument argument)
{
	assert(argument < GEMM_ARGUMENT_COUNT);
	return &rows[argument].info;
}
