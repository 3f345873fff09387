/* SPDX-License-Identifier: MIT */
/*
 * Solution parameters to machine code.
 *
 *     struct gemm_config config;
 *     r = gemm_config_init(&params, &config, &error);       // checked, or a reason
 *     r = gemm_generate(isa, &config, &kernel, &error);     // code and what a kernel descriptor needs
 *
 * Pure: the same configuration gives the same bytes. Any number of threads may generate at once. 2 million instructions a second
 * a core is the goal.
 */
#pragma once

#include "base/buffer.h"
#include "build/gemm/config.h"
#include "build/isa/isa.h"

struct gemm_code {
	struct buffer code;		/* machine code, dwords */
	unsigned vgprs, agprs, sgprs;	/* as the kernel descriptor wants them counted: architectural VGPRs, AccVGPRs, SGPRs without VCC */
	unsigned lds_bytes;		/* group_segment_fixed_size */
	unsigned kernarg_bytes;		/* multiple of 8 */
	unsigned workgroup_size;
	size_t instructions;
};

void gemm_code_release(struct gemm_code *code);

int gemm_generate(const struct isa *isa, const struct gemm_config *config, struct gemm_code *ret_code, struct error *error);

/* The same kernel as assembly text that llvm-mc accepts (instructions only, no directives). */
int gemm_print(const struct isa *isa, const struct gemm_config *config, struct buffer *ret_text, struct error *error);
