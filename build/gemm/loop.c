/* SPDX-License-Identifier: MIT */
/*
 *     T = whole depthUs for the main loop, rest = K - T * depthU
 *     load tile 0; accumulators = 0
 *     if T > 0:
 *         write tile 0 to LDS; load tile 1 (prefetch of two)
 *         T - 1 times: multiply tile i, write tile i + 1 to LDS, load tile i + 2 (i + 1)
 *         multiply tile T - 1
 *     while rest > 0:
 *         load up to depthU elements of K carefully, write them to LDS, multiply
 * Both multiplications outside the main loop are the same code.
 */
#include "build/gemm/loop.h"

#include <assert.h>

/* ---- registers -------------------------------------------------------------------------------------------------------- */

static void take_tensor(struct loop *loop, unsigned t)
{
	struct gemm_kernel *kernel = loop->kernel;
	struct loop_tensor *tensor = &loop->tensor[t];
	const struct gemm_tensor_config *config = &loop->config->tensor[t];

	*tensor = (struct loop_tensor){
		.config = config,
		.s_addr64 = t == 0 ? kernel->s_addr_a64 : kernel->s_addr_b64,
		.s_stride1 = t == 0 ? kernel->s_stride_a1 : kernel->s_stride_b1,
		.s_stride2 = t == 0 ? kernel->s_stride_a2 : kernel->s_stride_b2,
		.s_tile = t == 0 ? kernel->s_tile_m : kernel->s_tile_n,
		.s_size = t == 0 ? kernel->s_size_m : kernel->s_size_n,
		.s_desc = regpool_take(&kernel->sgpr, 4, 4),
		.s_left64 = regpool_take(&kernel->sgpr, 2, 2),
		.s_step64 = regpool_take(&kernel->sgpr, 2, 2),
		.s_load_step = regpool_take(&kernel->sgpr, 1, 1),
		.v_load = regpool_take(&kernel->vgpr, config->loads * config->load_dwords, 2),
		.v_offset = regpool_take(&kernel->vgpr, config->offsets, 1),
		.v_write = regpool_take(&kernel->vgpr, 1, 1),
		.v_read = regpool_take(&kernel->vgpr, 1, 1),
	};
}

static void give_tensor(struct gemm_kernel *kernel, const struct loop_tensor *tensor)
{
	regpool_give(&kernel->sgpr, tensor->s_addr64, 2);
	regpool_give(&kernel->sgpr, tensor->s_stride1, 1);
	regpool_give(&kernel->sgpr, tensor->s_stride2, 1);
	regpool_give(&kernel->sgpr, tensor->s_desc, 4);
	regpool_give(&kernel->sgpr, tensor->s_left64, 2);
	regpool_give(&kernel->sgpr, tensor->s_step64, 2);
	regpool_give(&kernel->sgpr, tensor->s_load_step, 1);
	regpool_give(&kernel->vgpr, tensor->v_load, tensor->config->loads * tensor->config->load_dwords);
	regpool_give(&kernel->vgpr, tensor->v_offset, tensor->config->offsets);
	regpool_give(&kernel->vgpr, tensor->v_write, 1);
	regpool_give(&kernel->vgpr, tensor->v_read, 1);
}

static bool loop_converts(const struct loop *loop)
{
	return loop->config->tensor[0].convert || loop->config->tensor[1].convert;
}

static void take_registers(struct loop *loop)
{
	struct regpool *sgpr = &loop->kernel->sgpr, *vgpr = &loop->kernel->vgpr;

	loop->work_dwords = loop_work_dwords(loop->config);
	loop->v_work = regpool_take(vgpr, loop->work_dwords, 2);
	loop->v_convert = loop_converts(loop) ? regpool_take(vgpr, GEMM_CONVERT_DWORDS, 2) : 0;
	loop->v_tmp = regpool_take(vgpr, 2, 2);
	loop->s_tmp = regpool_take(sgpr, 4, 4);
	loop->s_select64 = regpool_take(sgpr, 2, 2);
	loop->s_iterations = regpool_take(sgpr, 1, 1);
	loop->s_rest = regpool_take(sgpr, 1, 1);
	loop->s_valid = regpool_take(sgpr, 1, 1);
	loop->s_toggle = regpool_take(sgpr, 1, 1);
	for (unsigned t = 0, v_next = loop->v_work; t < 2; t++) {
		take_tensor(loop, t);
		const struct gemm_tensor_config *config = loop->tensor[t].config;
		loop->tensor[t].v_operand = v_next;
		loop->tensor[t].v_raw = v_next + config->operand_dwords * loop_operand_sets(config);
		v_next += loop_tensor_dwords(config);
	}
}

static void give_registers(struct loop *loop)
{
	struct regpool *sgpr = &loop->kernel->sgpr, *vgpr = &loop->kernel->vgpr;

	regpool_give(vgpr, loop->v_work, loop->work_dwords);
	if (loop_converts(loop))
		regpool_give(vgpr, loop->v_convert, GEMM_CONVERT_DWORDS);
	regpool_give(vgpr, loop->v_tmp, 2);
	regpool_give(sgpr, loop->s_tmp, 4);
	regpool_give(sgpr, loop->s_select64, 2);
	regpool_give(sgpr, loop->s_iterations, 1);
	regpool_give(sgpr, loop->s_rest, 1);
	regpool_give(sgpr, loop->s_valid, 1);
	regpool_give(sgpr, loop->s_toggle, 1);
	for (unsigned t = 0; t < 2; t++)
		give_tensor(loop->kernel, &loop->tensor[t]);
}

/* ---- parts ------------------------------------------------------------------------------------------------------------ */

static void write_setup(struct loop *loop)
{
	struct ir *ir = loop->ir;

	ir_comment(ir, "A and B: descriptors, offsets, LDS addresses");
	for (unsigned t = 0; t < 2; t++)
		loop_write_addresses(loop, &loop->tensor[t]);
	loop_write_lds_addresses(loop, &loop->tensor[0], 1);
	loop_write_lds_addresses(loop, &loop->tensor[1], loop->config->tensor[0].waves);
	loop_write_counts(loop);
	if (loop->config->tensor[0].permute || loop->config->tensor[1].permute) {
		EMIT_LITERAL(ir, 0x05040100, ISA_S_MOV_B32, s1(loop->s_select64), IR_LITERAL);
		EMIT_LITERAL(ir, 0x07060302, ISA_S_MOV_B32, s1(loop->s_select64 + 1), IR_LITERAL);
	}
}

static void write_loads(struct loop *loop)
{
	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < loop->tensor[t].config->loads; i++)
			loop_write_load(loop, &loop->tensor[t], i);
}

static void write_lds_writes(struct loop *loop)
{
	for (unsigned t = 0; t < 2; t++)
		for (unsigned i = 0; i < loop->tensor[t].config->loads; i++)
			loop_write_lds_write(loop, &loop->tensor[t], i);
}

static void write_next_tile(struct loop *loop)
{
	for (unsigned t = 0; t < 2; t++) {
		loop_write_advance(loop, &loop->tensor[t]);
		loop_write_limit(loop, &loop->tensor[t]);
	}
}

static void write_other_buffer(struct loop *loop, const struct loop_tensor *tensor)
{
	EMIT(loop->ir, ISA_V_SUBREV_U32, v1(tensor->v_write), s1(loop->s_toggle), v1(tensor->v_write));
}

/* Two buffers: v_read + v_write is the same always, and s_toggle what has to be added to v_read. */
void loop_write_toggle(struct loop *loop)
{
	for (unsigned t = 0; t < 2; t++) {
		const struct loop_tensor *tensor = &loop->tensor[t];
		EMIT(loop->ir, ISA_V_ADD_U32, v1(tensor->v_read), s1(loop->s_toggle), v1(tensor->v_read));
		write_other_buffer(loop, tensor);
	}
	EMIT(loop->ir, ISA_S_SUB_I32, s1(loop->s_toggle), isa_int(0), s1(loop->s_toggle));
}

/* Tile 0 is on its way; leads to the main loop or, when it is the only one, to `last`. */
static void write_prologue(struct loop *loop, ir_label_id last)
{
	struct ir *ir = loop->ir;

	write_lds_writes(loop);
	EMIT(ir, ISA_S_SUB_U32, s1(loop->s_iterations), s1(loop->s_iterations), isa_int(1));
	if (loop->config->lds_buffers == 2) {
		EMIT_LITERAL(ir, loop->config->lds_buffer_stride, ISA_S_MOV_B32, s1(loop->s_toggle), IR_LITERAL);
		for (unsigned t = 0; t < 2; t++)
			EMIT(ir, ISA_V_ADD_U32, v1(loop->tensor[t].v_write), s1(loop->s_toggle), v1(loop->tensor[t].v_write));
	}
	if (loop->config->prefetch == 2)
		write_next_tile(loop);
	EMIT(ir, ISA_S_BARRIER);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(loop->s_iterations), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, last);
	if (loop->config->prefetch == 2)
		write_loads(loop);
	loop_write_first_reads(loop);
}

static void write_main_loop(struct loop *loop)
{
	struct ir *ir = loop->ir;
	ir_label_id again = ir_label_new(ir, "loop");

	ir_label(ir, again);
	EMIT(ir, ISA_S_SUB_U32, s1(loop->s_iterations), s1(loop->s_iterations), isa_int(1));
	loop_write_body(loop);
	EMIT(ir, ISA_S_CMP_LG_U32, s1(loop->s_iterations), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, again);
}

/* The main loop is over, its last tile is in LDS: descriptors to the rest of K, LDS writes to where LDS is read. */
static void write_leave(struct loop *loop)
{
	for (unsigned t = 0; t < 2; t++) {
		if (loop->config->prefetch == 1)
			loop_write_advance(loop, &loop->tensor[t]);
		loop_write_limit(loop, &loop->tensor[t]);
		if (loop->config->lds_buffers == 2)
			write_other_buffer(loop, &loop->tensor[t]);
	}
	EMIT_LITERAL(loop->ir, loop->config->depth_u, ISA_S_MOV_B32, s1(loop->s_valid), IR_LITERAL);
}

static void write_careful_tile(struct loop *loop)
{
	struct ir *ir = loop->ir;

	ir_comment(ir, "rest of K");
	EMIT_LITERAL(ir, loop->config->depth_u, ISA_S_MIN_U32, s1(loop->s_valid), s1(loop->s_rest), IR_LITERAL);
	EMIT(ir, ISA_S_SUB_U32, s1(loop->s_rest), s1(loop->s_rest), s1(loop->s_valid));
	for (unsigned t = 0; t < 2; t++)
		loop_write_careful_loads(loop, &loop->tensor[t]);
	EMIT(ir, ISA_S_BARRIER);	/* all waves have read the tile before */
	write_lds_writes(loop);
	write_next_tile(loop);
	EMIT(ir, ISA_S_BARRIER);
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

void gemm_write_loop(struct gemm_kernel *kernel)
{
	struct loop loop = { .kernel = kernel, .config = kernel->config, .ir = kernel->ir };
	struct ir *ir = kernel->ir;
	ir_label_id loaded = ir_label_new(ir, "first_loaded"), last = ir_label_new(ir, "last_tile");
	ir_label_id multiply = ir_label_new(ir, "multiply"), careful = ir_label_new(ir, "careful");
	ir_label_id done = ir_label_new(ir, "summed");

	take_registers(&loop);
	write_setup(&loop);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(loop.s_iterations), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, loaded);
	write_loads(&loop);
	ir_label(ir, loaded);
	for (unsigned i = 0; i < kernel->config->accs; i++)
		EMIT(ir, ISA_V_ACCVGPR_WRITE_B32, isa_agpr(i, 1), isa_int(0));
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(kernel->s_size_k), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, done);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(loop.s_iterations), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, careful);
	write_prologue(&loop, last);
	write_main_loop(&loop);
	ir_label(ir, last);
	write_leave(&loop);
	ir_label(ir, multiply);
	loop_write_multiply(&loop);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(loop.s_rest), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, done);
	ir_label(ir, careful);
	write_careful_tile(&loop);
	ir_branch(ir, ISA_S_BRANCH, multiply);
	ir_label(ir, done);
	give_registers(&loop);
}

/* ---- where accumulators are ------------------------------------------------------------------------------------------------ */

/* v_place = wave * (mi * v) + place in the MFMA * v. Rows of an MFMA result come in runs of four: the lane's first run is number
 * lane / mi; columns are lane % mi. */
static void write_origin(struct gemm_kernel *kernel, unsigned t, unsigned v_place, unsigned v_tmp)
{
	const struct gemm_tensor_config *tensor = &kernel->config->tensor[t];
	struct ir *ir = kernel->ir;
	bool is_rows = (t == 0) != kernel->config->source_swap;
	int mi_shift = __builtin_ctz(tensor->mi), vector_shift = __builtin_ctz(tensor->vector_width);
	int wave_shift = 6 + (t == 0 ? 0 : __builtin_ctz(kernel->config->tensor[0].waves));

	EMIT(ir, ISA_V_LSHRREV_B32, v1(v_tmp), isa_int(wave_shift), v1(kernel->v_tid));
	EMIT(ir, ISA_V_AND_B32, v1(v_tmp), isa_int((int)tensor->waves - 1), v1(v_tmp));
	if (is_rows) {
		EMIT(ir, ISA_V_BFE_U32, v1(v_place), v1(kernel->v_tid), isa_int(mi_shift), isa_int(6 - mi_shift));
		EMIT(ir, ISA_V_LSHLREV_B32, v1(v_place), isa_int(2), v1(v_place));
	} else {
		EMIT(ir, ISA_V_AND_B32, v1(v_place), isa_int((int)tensor->mi - 1), v1(kernel->v_tid));
	}
	EMIT(ir, ISA_V_LSHL_ADD_U32, v1(v_place), v1(v_tmp), isa_int(mi_shift), v1(v_place));
	EMIT(ir, ISA_V_LSHLREV_B32, v1(v_place), isa_int(vector_shift), v1(v_place));
}

void gemm_write_lane_origin(struct gemm_kernel *kernel, unsigned v_row, unsigned v_column)
{
	unsigned v_tmp = regpool_take(&kernel->vgpr, 1, 1);

	write_origin(kernel, 0, v_row, v_tmp);
	write_origin(kernel, 1, v_column, v_tmp);
	regpool_give(&kernel->vgpr, v_tmp, 1);
}
