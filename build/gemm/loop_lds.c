/* SPDX-License-Identifier: MIT */
#include "build/gemm/loop.h"

enum { WORD_1 = 5 };	/* SDWA select: the high half */

static bool is_power_of_two(unsigned x)
{
	return x && !(x & (x - 1));
}

/* ---- addresses -------------------------------------------------------------------------------------------------------- */

/* Bytes that a step along rows or along K makes in LDS. */
static unsigned row_step(const struct gemm_tensor_config *config)
{
	return gemm_lds_linear(config, 1, 0);
}

static unsigned k_step(const struct gemm_tensor_config *config)
{
	return gemm_lds_linear(config, 0, 1);
}

static void write_scale(struct ir *ir, unsigned v_dst, unsigned v_src, unsigned factor)
{
	if (is_power_of_two(factor))
		EMIT(ir, ISA_V_LSHLREV_B32, v1(v_dst), isa_int(loop_log2(factor)), v1(v_src));
	else
		EMIT_LITERAL(ir, factor, ISA_V_MUL_U32_U24, v1(v_dst), IR_LITERAL, v1(v_src));
}

/* v_linear += v_linear / lds_block * lds_pad. With linear below 2^16 the product with the reciprocal is exact. */
static void write_padding(struct loop *loop, const struct gemm_tensor_config *config, unsigned v_linear, unsigned v_tmp)
{
	struct ir *ir = loop->ir;

	if (!config->lds_pad)
		return;
	if (is_power_of_two(config->lds_block)) {
		EMIT(ir, ISA_V_LSHRREV_B32, v1(v_tmp), isa_int(loop_log2(config->lds_block)), v1(v_linear));
	} else {
		EMIT_LITERAL(ir, ceil_div(1ull << 32, config->lds_block), ISA_S_MOV_B32, s1(loop->s_tmp), IR_LITERAL);
		EMIT(ir, ISA_V_MUL_HI_U32, v1(v_tmp), v1(v_linear), s1(loop->s_tmp));
	}
	write_scale(ir, v_tmp, v_tmp, config->lds_pad);
	EMIT(ir, ISA_V_ADD_U32, v1(v_linear), v1(v_linear), v1(v_tmp));
}

static void write_write_address(struct loop *loop, const struct loop_tensor *tensor)
{
	const struct gemm_tensor_config *config = tensor->config;
	struct ir *ir = loop->ir;
	unsigned v_tid = loop->kernel->v_tid, v_tmp = loop->v_tmp;
	unsigned along = config->tlu ? row_step(config) : k_step(config), across = config->tlu ? k_step(config) : row_step(config);

	EMIT_LITERAL(ir, config->lanes_coalesced - 1, ISA_V_AND_B32, v1(tensor->v_write), IR_LITERAL, v1(v_tid));
	write_scale(ir, tensor->v_write, tensor->v_write, along * config->grvw);
	EMIT(ir, ISA_V_LSHRREV_B32, v1(v_tmp), isa_int(loop_log2(config->lanes_coalesced)), v1(v_tid));
	write_scale(ir, v_tmp, v_tmp, across);
	EMIT(ir, ISA_V_ADD_U32, v1(tensor->v_write), v1(tensor->v_write), v1(v_tmp));
	write_padding(loop, config, tensor->v_write, v_tmp);
}

/* Lane l of an MFMA operand holds row l % mi and lane group l / mi of K. */
static void write_read_address(struct loop *loop, const struct loop_tensor *tensor, unsigned wave_divisor)
{
	const struct gemm_tensor_config *config = tensor->config;
	struct ir *ir = loop->ir;
	unsigned v_tid = loop->kernel->v_tid, v_row = tensor->v_read, v_tmp = loop->v_tmp;
	int wave_shift = loop_log2(64 * wave_divisor), mi_shift = loop_log2(config->mi);

	EMIT(ir, ISA_V_LSHRREV_B32, v1(v_tmp), isa_int(wave_shift), v1(v_tid));
	EMIT(ir, ISA_V_AND_B32, v1(v_tmp), isa_int((int)config->waves - 1), v1(v_tmp));
	EMIT(ir, ISA_V_AND_B32, v1(v_row), isa_int((int)config->mi - 1), v1(v_tid));
	EMIT(ir, ISA_V_LSHL_ADD_U32, v1(v_row), v1(v_tmp), isa_int(mi_shift), v1(v_row));
	write_scale(ir, v_row, v_row, config->vector_width * row_step(config));
	EMIT(ir, ISA_V_BFE_U32, v1(v_tmp), v1(v_tid), isa_int(mi_shift), isa_int(6 - mi_shift));
	write_scale(ir, v_tmp, v_tmp, loop->config->k_fold * loop->config->k_per_lane * k_step(config));
	EMIT(ir, ISA_V_ADD_U32, v1(v_row), v1(v_row), v1(v_tmp));
	write_padding(loop, config, v_row, v_tmp);
}

void loop_write_lds_addresses(struct loop *loop, struct loop_tensor *tensor, unsigned wave_divisor)
{
	write_write_address(loop, tensor);
	write_read_address(loop, tensor, wave_divisor);
}

/* ---- writes ----------------------------------------------------------------------------------------------------------- */

static void write_store(struct loop *loop, const struct loop_tensor *tensor, unsigned op, unsigned v_data, unsigned dwords,
			unsigned linear)
{
	EMIT(loop->ir, op, v1(tensor->v_write), isa_vgpr(v_data, dwords))->offset =
		(int32_t)(tensor->config->lds_offset + gemm_lds_padded(tensor->config, linear));
}

/* f8 to f16: both steps are exact. Returns the first VGPR of the result. */
static unsigned write_convert(struct loop *loop, const struct loop_tensor *tensor, unsigned v_src)
{
	struct ir *ir = loop->ir;
	unsigned v_result = loop->v_convert + GEMM_CONVERT_F32;

	if (tensor->config->grvw == 1) {
		EMIT(ir, ISA_V_CVT_F32_FP8, v1(loop->v_convert), v1(v_src));
		EMIT(ir, ISA_V_CVT_F16_F32, v1(v_result), v1(loop->v_convert));
		return v_result;
	}
	for (unsigned i = 0; i < tensor->config->grvw / 2; i++) {
		unsigned v_f32 = loop->v_convert + i % 2 * 2;
		struct isa_inst *inst = EMIT(ir, ISA_V_CVT_PK_F32_FP8, v2(v_f32), v1(v_src + i / 2));
		if (i % 2) {
			inst->form = ISA_FORM_SDWA;
			inst->src0_sel = WORD_1;
			inst->src1_sel = 0;	/* there is no second source */
		}
		EMIT(ir, ISA_V_CVT_PKRTZ_F16_F32, v1(v_result + i), v1(v_f32), v1(v_f32 + 1));
	}
	return v_result;
}

/* The vector lies in LDS as it is. */
static void write_vector(struct loop *loop, const struct loop_tensor *tensor, unsigned v_data, unsigned linear)
{
	static const uint16_t ops[] = { [1] = ISA_DS_WRITE_B16, ISA_DS_WRITE_B32, ISA_DS_WRITE_B64, ISA_DS_WRITE_B128 };
	const struct gemm_tensor_config *config = tensor->config;
	unsigned bytes = config->grvw * config->lds_element, piece = MIN(bytes, config->lds_align);

	for (unsigned at = 0; at < bytes; at += piece)
		write_store(loop, tensor, ops[loop_log2(piece)], v_data + at / 4, (unsigned)ceil_div(piece, 4), linear + at);
}

/* The vector runs across the rows of LDS. */
static void write_scattered(struct loop *loop, const struct loop_tensor *tensor, unsigned v_data, unsigned linear)
{
	const struct gemm_tensor_config *config = tensor->config;

	for (unsigned j = 0; j < config->grvw; j++) {
		unsigned byte = j * config->lds_element;
		unsigned op = config->lds_element == 4 ? ISA_DS_WRITE_B32 : byte % 4 ? ISA_DS_WRITE_B16_D16_HI : ISA_DS_WRITE_B16;
		write_store(loop, tensor, op, v_data + byte / 4, 1, linear + j * config->lds_row);
	}
}

void loop_write_lds_write(struct loop *loop, const struct loop_tensor *tensor, unsigned load)
{
	const struct gemm_tensor_config *config = tensor->config;
	unsigned v_data = tensor->v_load + load * config->load_dwords;
	unsigned across = load / config->loads_coalesced * config->rows_per_load;
	unsigned along = load % config->loads_coalesced * config->lanes_coalesced * config->grvw;
	unsigned linear = config->tlu ? gemm_lds_linear(config, along, across) : gemm_lds_linear(config, across, along);

	if (config->convert)
		v_data = write_convert(loop, tensor, v_data);
	if (config->tlu != config->lds_k_major)
		write_vector(loop, tensor, v_data, linear);
	else
		write_scattered(loop, tensor, v_data, linear);
}

/* ---- reads ------------------------------------------------------------------------------------------------------------ */

unsigned loop_blocks(const struct loop_tensor *tensor)
{
	const struct gemm_tensor_config *config = tensor->config;

	return config->lds_k_major ? config->wave_tile : config->wave_tile / config->vector_width;
}

unsigned loop_read_steps(const struct loop *loop, const struct loop_tensor *tensor)
{
	return tensor->config->lds_k_major ? 1 : loop->config->k_fold;
}

struct isa_operand loop_operand(const struct loop *loop, const struct loop_tensor *tensor, unsigned group, unsigned w,
				unsigned step)
{
	const struct gemm_tensor_config *config = tensor->config;
	unsigned fold = loop->config->k_fold, dwords = loop->config->k_per_lane * config->lds_element / 4, v = config->vector_width;
	unsigned base = tensor->v_operand + group % loop_operand_sets(config) * config->operand_dwords;

	if (config->lds_k_major || config->permute)
		return isa_vgpr(base + (w * fold + step) * dwords, dwords);
	return isa_vgpr(base + (w / v * fold + step) * v + w % v, 1);
}

/* The raw registers of row j of K in a block and step. */
static unsigned raw_register(const struct loop *loop, const struct loop_tensor *tensor, unsigned block, unsigned step, unsigned j)
{
	unsigned dwords = (unsigned)ceil_div(tensor->config->vector_width * tensor->config->lds_element, 4);

	return tensor->v_raw + ((block * loop->config->k_fold + step) * loop->config->k_per_lane + j) * dwords;
}

static void write_fetch(struct loop *loop, const struct loop_tensor *tensor, unsigned v_dst, unsigned row, unsigned k)
{
	static const uint16_t ops[] = { [1] = ISA_DS_READ_U16, ISA_DS_READ_B32, ISA_DS_READ_B64, ISA_DS_READ_B128 };
	const struct gemm_tensor_config *config = tensor->config;
	unsigned bytes = config->read_width * config->lds_element, piece = MIN(bytes, config->lds_align);
	unsigned linear = gemm_lds_linear(config, row, k), dwords = (unsigned)ceil_div(piece, 4);

	for (unsigned at = 0; at < bytes; at += piece)
		EMIT(loop->ir, ops[loop_log2(piece)], isa_vgpr(v_dst + at / 4, dwords), v1(tensor->v_read))->offset =
			(int32_t)(config->lds_offset + gemm_lds_padded(config, linear + at));
}

void loop_write_lds_read(struct loop *loop, const struct loop_tensor *tensor, unsigned group, unsigned block, unsigned step)
{
	const struct gemm_tensor_config *config = tensor->config;
	unsigned w = config->lds_k_major ? block : block * config->vector_width, row = gemm_tile_row(config, w);
	unsigned k = group * loop->config->group_k + step * loop->config->k_per_lane;

	if (!config->permute) {
		write_fetch(loop, tensor, loop_operand(loop, tensor, group, w, step).code - ISA_VGPR0, row, k);
		return;
	}
	for (unsigned j = 0; j < loop->config->k_per_lane; j++)
		write_fetch(loop, tensor, raw_register(loop, tensor, block, step, j), row, k + j);
}

void loop_write_permute(struct loop *loop, const struct loop_tensor *tensor, unsigned block, unsigned step)
{
	unsigned v = tensor->config->vector_width;

	for (unsigned i = 0; i < v; i++) {
		unsigned v_dst = loop_operand(loop, tensor, 0, block * v + i, step).code - ISA_VGPR0;
		for (unsigned j = 0; j < loop->config->k_per_lane; j += 2) {
			struct isa_operand even = v1(raw_register(loop, tensor, block, step, j) + i / 2);
			struct isa_operand odd = v1(raw_register(loop, tensor, block, step, j + 1) + i / 2);
			if (v == 1)
				EMIT(loop->ir, ISA_V_LSHL_OR_B32, v1(v_dst + j / 2), odd, isa_int(16), even);
			else
				EMIT(loop->ir, ISA_V_PERM_B32, v1(v_dst + j / 2), odd, even, s1(loop->s_select64 + i % 2));
		}
	}
}
