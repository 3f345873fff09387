/* SPDX-License-Identifier: MIT */
#include "build/gemm/gemm.h"

#include "build/gemm/arguments.h"
#include "build/gemm/kernel.h"

enum { SGPR_LIMIT = 102 };	/* s102 and up are special registers */

void gemm_code_release(struct gemm_code *code)
{
	buffer_release(&code->code);
	*code = (struct gemm_code){ 0 };
}

/* Writes all instructions. */
static int write_kernel(const struct isa *isa, const struct gemm_config *config, struct ir **ret_ir, struct error *error)
{
	_cleanup_(ir_unref_p) struct ir *ir = NULL;
	int r = ir_new(isa, &ir);

	if (r < 0)
		return r;
	struct gemm_kernel kernel = { .config = config, .ir = ir, .end = ir_label_new(ir, "end") };
	regpool_init(&kernel.sgpr, SGPR_LIMIT);
	regpool_init(&kernel.vgpr, config->max_vgprs);

	gemm_write_arguments(&kernel);
	ir_set_long_branch_sgpr(ir, regpool_take(&kernel.sgpr, 2, 2));
	gemm_write_loop(&kernel);
	gemm_write_epilogue(&kernel);
	ir_label(ir, kernel.end);
	EMIT_LITERAL(ir, 0, ISA_S_ENDPGM, IR_IMM);
	if (kernel.sgpr.failed)
		return error_set(error, -EOPNOTSUPP, "more than %d SGPRs", SGPR_LIMIT);
	if (kernel.vgpr.failed)
		return error_set(error, -EOPNOTSUPP, "more than %u VGPRs", config->max_vgprs);
	*ret_ir = TAKE(ir);
	return 0;
}

int gemm_generate(const struct isa *isa, const struct gemm_config *config, struct gemm_code *ret_code, struct error *error)
{
	_cleanup_(ir_unref_p) struct ir *ir = NULL;
	_cleanup_buffer_ struct buffer code = { 0 };
	struct gemm_argument_layout layout;
	struct ir_stats stats;
	int r = write_kernel(isa, config, &ir, error);

	if (r < 0)
		return r;
	r = ir_finish(ir, &code, error, &stats);
	if (r < 0)
		return r;
	gemm_argument_layout(&config->params.problem, &layout);
	*ret_code = (struct gemm_code){
		.code = code,
		.vgprs = stats.vgprs,
		.agprs = stats.agprs,
		.sgprs = stats.sgprs,
		.lds_bytes = config->lds_bytes,
		.kernarg_bytes = layout.kernarg_bytes,
		.workgroup_size = config->threads,
		.instructions = stats.instructions,
	};
	code = (struct buffer){ 0 };
	return 0;
}

int gemm_print(const struct isa *isa, const struct gemm_config *config, struct buffer *ret_text, struct error *error)
{
	_cleanup_(ir_unref_p) struct ir *ir = NULL;
	_cleanup_buffer_ struct buffer code = { 0 };
	int r = write_kernel(isa, config, &ir, error);

	if (r < 0)
		return r;
	r = ir_finish(ir, &code, error, NULL);
	if (r < 0)
		return r;
	ir_print(ir, ret_text);
	return ret_text->failed ? -ENOMEM : 0;
}
