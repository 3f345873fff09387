/* SPDX-License-Identifier: MIT */
#include "build/gemm/loop.h"

enum { DESC_WORD3 = 0x00020000 };	/* raw buffer of dwords (CDNA3 ISA, "Buffer resource descriptor": DATA_FORMAT) */

/* ---- addresses -------------------------------------------------------------------------------------------------------- */

/* s_pair = s_a * s_b, 64 bits. */
static void write_multiply(struct ir *ir, unsigned s_pair, struct isa_operand a, struct isa_operand b)
{
	EMIT(ir, ISA_S_MUL_I32, s1(s_pair), a, b);
	EMIT(ir, ISA_S_MUL_HI_U32, s1(s_pair + 1), a, b);
}

static void write_add64(struct ir *ir, unsigned s_sum, unsigned s_a, unsigned s_b)
{
	EMIT(ir, ISA_S_ADD_U32, s1(s_sum), s1(s_a), s1(s_b));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_sum + 1), s1(s_a + 1), s1(s_b + 1));
}

/* s_pair elements to bytes. */
static void write_to_bytes(struct ir *ir, const struct loop_tensor *tensor, unsigned s_pair)
{
	if (tensor->config->element > 1)
		EMIT(ir, ISA_S_LSHL_B64, s2(s_pair), s2(s_pair), isa_int(loop_log2(tensor->config->element)));
}

/* s_first = first row of the workgroup's tile, s_rows = rows from there to the tensor's end. */
static void write_tile_rows(struct ir *ir, const struct loop_tensor *tensor, unsigned s_first, unsigned s_rows)
{
	EMIT_LITERAL(ir, tensor->config->macro_tile, ISA_S_MUL_I32, s1(s_first), s1(tensor->s_tile), IR_LITERAL);
	EMIT(ir, ISA_S_SUB_U32, s1(s_rows), s1(tensor->s_size), s1(s_first));
}

/* Base and end of the descriptor. */
static void write_descriptor(struct loop *loop, const struct loop_tensor *tensor)
{
	struct ir *ir = loop->ir;
	bool tlu = tensor->config->tlu;
	unsigned s_bytes = loop->s_tmp, s_first = loop->s_tmp + 2, s_rows = loop->s_tmp + 3, s_base = tensor->s_desc;
	struct isa_operand k = s1(loop->kernel->s_size_k), stride = s1(tensor->s_stride1);

	write_tile_rows(ir, tensor, s_first, s_rows);
	write_multiply(ir, s_bytes, s1(loop->kernel->s_batch), s1(tensor->s_stride2));
	write_to_bytes(ir, tensor, s_bytes);
	write_add64(ir, s_base, tensor->s_addr64, s_bytes);
	write_multiply(ir, s_bytes, s1(s_first), tlu ? isa_int(1) : stride);
	write_to_bytes(ir, tensor, s_bytes);
	write_add64(ir, s_base, s_base, s_bytes);
	EMIT_LITERAL(ir, DESC_WORD3, ISA_S_MOV_B32, s1(tensor->s_desc + 3), IR_LITERAL);

	/* the last element: (rows - 1) * stride + K - 1 or (K - 1) * stride + rows - 1 */
	EMIT(ir, ISA_S_SUB_U32, s1(s_first), tlu ? k : s1(s_rows), isa_int(1));
	write_multiply(ir, tensor->s_left64, s1(s_first), stride);
	EMIT(ir, ISA_S_ADD_U32, s1(tensor->s_left64), s1(tensor->s_left64), tlu ? s1(s_rows) : k);
	EMIT(ir, ISA_S_ADDC_U32, s1(tensor->s_left64 + 1), s1(tensor->s_left64 + 1), isa_int(0));
	write_to_bytes(ir, tensor, tensor->s_left64);
	loop_write_limit(loop, tensor);
}

/* Offsets inside the tile. They fit 32 bits: the host does not choose a solution whose tile spans 4 GiB (predicate
 * BufferLoadOffsetLimitCheck). */
static void write_offsets(struct loop *loop, const struct loop_tensor *tensor)
{
	const struct gemm_tensor_config *config = tensor->config;
	struct ir *ir = loop->ir;
	unsigned s_row = loop->s_tmp, v_lane = loop->v_tmp;
	int shift = loop_log2(config->element);

	EMIT(ir, ISA_S_LSHL_B32, s1(s_row), s1(tensor->s_stride1), isa_int(shift));
	EMIT(ir, ISA_S_LSHL_B32, s1(tensor->s_load_step), s1(s_row), isa_int(loop_log2(config->rows_per_load)));
	EMIT(ir, ISA_V_LSHRREV_B32, v1(tensor->v_offset), isa_int(loop_log2(config->lanes_coalesced)), v1(loop->kernel->v_tid));
	EMIT(ir, ISA_V_MUL_LO_U32, v1(tensor->v_offset), v1(tensor->v_offset), s1(s_row));
	EMIT_LITERAL(ir, config->lanes_coalesced - 1, ISA_V_AND_B32, v1(v_lane), IR_LITERAL, v1(loop->kernel->v_tid));
	EMIT(ir, ISA_V_LSHL_ADD_U32, v1(tensor->v_offset), v1(v_lane), isa_int(loop_log2(config->grvw) + shift),
	     v1(tensor->v_offset));
	for (unsigned p = 1; p < config->offsets && config->offsets == config->loads_perpendicular; p++)
		EMIT(ir, ISA_V_ADD_U32, v1(tensor->v_offset + p), s1(tensor->s_load_step), v1(tensor->v_offset + p - 1));
}

void loop_write_addresses(struct loop *loop, struct loop_tensor *tensor)
{
	struct ir *ir = loop->ir;
	unsigned step = loop->config->depth_u * tensor->config->element;

	write_descriptor(loop, tensor);
	write_offsets(loop, tensor);
	EMIT_LITERAL(ir, step, ISA_S_MOV_B32, s1(loop->s_tmp), IR_LITERAL);
	write_multiply(ir, tensor->s_step64, s1(loop->s_tmp), tensor->config->tlu ? s1(tensor->s_stride1) : isa_int(1));
}

void loop_write_limit(struct loop *loop, const struct loop_tensor *tensor)
{
	EMIT(loop->ir, ISA_S_CMP_EQ_U32, s1(tensor->s_left64 + 1), isa_int(0));
	EMIT(loop->ir, ISA_S_CSELECT_B32, s1(tensor->s_desc + 2), s1(tensor->s_left64), isa_int(-1));
}

void loop_write_advance(struct loop *loop, const struct loop_tensor *tensor)
{
	unsigned s_left = tensor->s_left64, s_step = tensor->s_step64;

	write_add64(loop->ir, tensor->s_desc, tensor->s_desc, s_step);
	EMIT(loop->ir, ISA_S_SUB_U32, s1(s_left), s1(s_left), s1(s_step));
	EMIT(loop->ir, ISA_S_SUBB_U32, s1(s_left + 1), s1(s_left + 1), s1(s_step + 1));
}

/* ---- how far the main loop goes ------------------------------------------------------------------------------------------ */

/* s_partial |= a value that is not zero when this workgroup owns a vector that is partly outside the tensor; s_never the same when
 * in addition the leading stride is so small that such vectors leave the tensor before its last depthU. Clobbers s_tmp[2..3]. */
static void write_partial(struct loop *loop, const struct loop_tensor *tensor, unsigned s_partial, unsigned s_never)
{
	const struct gemm_tensor_config *config = tensor->config;
	struct ir *ir = loop->ir;
	struct isa_operand extra = s1(loop->s_tmp + 2), rows = s1(loop->s_tmp + 3);

	write_tile_rows(ir, tensor, loop->s_tmp + 2, loop->s_tmp + 3);
	EMIT(ir, ISA_S_AND_B32, extra, rows, isa_int((int)config->grvw - 1));
	EMIT_LITERAL(ir, config->macro_tile, ISA_S_CMP_LT_U32, rows, IR_LITERAL);
	EMIT(ir, ISA_S_CSELECT_B32, extra, extra, isa_int(0));
	EMIT(ir, ISA_S_OR_B32, s1(s_partial), s1(s_partial), extra);
	EMIT(ir, ISA_S_CMP_LT_U32, s1(tensor->s_stride1), isa_int((int)ceil_div(config->grvw - 1, loop->config->depth_u)));
	EMIT(ir, ISA_S_CSELECT_B32, extra, extra, isa_int(0));
	EMIT(ir, ISA_S_OR_B32, s1(s_never), s1(s_never), extra);
}

void loop_write_counts(struct loop *loop)
{
	struct ir *ir = loop->ir;
	struct isa_operand count = s1(loop->s_iterations), partial = s1(loop->s_tmp), never = s1(loop->s_tmp + 1);
	struct isa_operand shift = isa_int(loop_log2(loop->config->depth_u));
	bool started = false;

	EMIT(ir, ISA_S_LSHR_B32, count, s1(loop->kernel->s_size_k), shift);
	for (unsigned t = 0; t < 2; t++) {
		const struct gemm_tensor_config *config = loop->tensor[t].config;
		if (!config->tlu || config->assert_multiple % config->grvw == 0)
			continue;
		if (!started) {
			EMIT(ir, ISA_S_MOV_B32, partial, isa_int(0));
			EMIT(ir, ISA_S_MOV_B32, never, isa_int(0));
		}
		started = true;
		write_partial(loop, &loop->tensor[t], loop->s_tmp, loop->s_tmp + 1);
	}
	if (started) {
		EMIT(ir, ISA_S_MIN_U32, partial, partial, isa_int(1));
		EMIT(ir, ISA_S_SUB_I32, count, count, partial);
		EMIT(ir, ISA_S_MAX_I32, count, count, isa_int(0));
		EMIT(ir, ISA_S_CMP_LG_U32, never, isa_int(0));
		EMIT(ir, ISA_S_CSELECT_B32, count, isa_int(0), count);
	}
	EMIT(ir, ISA_S_LSHL_B32, s1(loop->s_rest), count, shift);
	EMIT(ir, ISA_S_SUB_U32, s1(loop->s_rest), s1(loop->kernel->s_size_k), s1(loop->s_rest));
}

/* ---- vector loads ----------------------------------------------------------------------------------------------------- */

static void write_buffer_load(struct loop *loop, const struct loop_tensor *tensor, unsigned bytes, unsigned v_dst,
			      unsigned v_address, unsigned offset)
{
	static const uint16_t ops[] = { ISA_BUFFER_LOAD_UBYTE, ISA_BUFFER_LOAD_USHORT, ISA_BUFFER_LOAD_DWORD,
					ISA_BUFFER_LOAD_DWORDX2, ISA_BUFFER_LOAD_DWORDX4 };
	static const struct { int bit; uint16_t flag; } policies[] = { { 1, ISA_SC0 }, { 2, ISA_SC1 }, { 4, ISA_NT } };
	int non_temporal = loop->config->params.non_temporal[tensor == &loop->tensor[0] ? 0 : 1];
	struct isa_inst *inst = EMIT(loop->ir, ops[loop_log2(bytes)], isa_vgpr(v_dst, (unsigned)ceil_div(bytes, 4)), v1(v_address),
				     isa_sgpr(tensor->s_desc, 4), isa_int(0));

	inst->offset = (int32_t)offset;
	inst->flags |= ISA_OFFEN;
	for (size_t i = 0; i < ARRAY_SIZE(policies) && non_temporal > 0; i++)
		inst->flags |= non_temporal & policies[i].bit ? policies[i].flag : 0;
}

/* Bytes from load (p, 0) to load (p, c). */
static unsigned coalesced_offset(const struct gemm_tensor_config *config, unsigned c)
{
	return c * config->lanes_coalesced * config->grvw * config->element;
}

void loop_write_load(struct loop *loop, const struct loop_tensor *tensor, unsigned load)
{
	const struct gemm_tensor_config *config = tensor->config;
	unsigned p = load / config->loads_coalesced, c = load % config->loads_coalesced;
	bool running = config->offsets < config->loads_perpendicular;
	unsigned v_address = tensor->v_offset + (running ? MIN(p, 1) : p);

	if (running && p && c == 0)
		EMIT(loop->ir, ISA_V_ADD_U32, v1(v_address), s1(tensor->s_load_step), v1(p == 1 ? tensor->v_offset : v_address));
	write_buffer_load(loop, tensor, config->grvw * config->element, tensor->v_load + load * config->load_dwords, v_address,
			  coalesced_offset(config, c));
}

/* ---- careful loads ---------------------------------------------------------------------------------------------------- */

/* One run of loads whose elements fit the work registers together. Load i of the run is number first + i in an order in which the
 * lanes that have K left only ever become fewer: p first when K is contiguous, c first otherwise. */
struct careful {
	struct loop *loop;
	const struct loop_tensor *tensor;
	unsigned first, count;
	bool packed;			/* several elements share a VGPR of v_load */
};

static void careful_place(const struct careful *careful, unsigned i, unsigned *ret_p, unsigned *ret_c)
{
	const struct gemm_tensor_config *config = careful->tensor->config;
	unsigned number = careful->first + i;

	if (config->tlu) {
		*ret_p = number / config->loads_coalesced;
		*ret_c = number % config->loads_coalesced;
	} else {
		*ret_p = number % config->loads_perpendicular;
		*ret_c = number / config->loads_perpendicular;
	}
}

static unsigned careful_v_load(const struct careful *careful, unsigned i)
{
	unsigned p, c;

	careful_place(careful, i, &p, &c);
	return careful->tensor->v_load + (p * careful->tensor->config->loads_coalesced + c) * careful->tensor->config->load_dwords;
}

static unsigned careful_v_address(const struct careful *careful, unsigned i)
{
	return careful->loop->v_work + i;
}

static unsigned careful_v_element(const struct careful *careful, unsigned i, unsigned j)
{
	if (!careful->packed)
		return careful_v_load(careful, i) + j;
	return careful->loop->v_work + careful->count + i * careful->tensor->config->grvw + j;
}

/* Switches off lanes whose element of K is not below s_valid; `k` is the part of it that all lanes share. */
static void write_mask(const struct careful *careful, unsigned k)
{
	struct loop *loop = careful->loop;

	EMIT_LITERAL(loop->ir, k, ISA_S_SUB_I32, s1(loop->s_tmp), s1(loop->s_valid), IR_LITERAL);
	EMIT(loop->ir, ISA_V_CMPX_GT_I32, s2(ISA_VCC), s1(loop->s_tmp), v1(loop->v_tmp));
}

static void write_element(const struct careful *careful, unsigned i, unsigned j)
{
	const struct gemm_tensor_config *config = careful->tensor->config;
	unsigned p, c;

	careful_place(careful, i, &p, &c);
	write_buffer_load(careful->loop, careful->tensor, config->element, careful_v_element(careful, i, j),
			  careful_v_address(careful, i), coalesced_offset(config, c) + j * config->element);
}

static void write_elements(const struct careful *careful)
{
	const struct gemm_tensor_config *config = careful->tensor->config;
	unsigned i = 0, p, c, key;

	while (i < careful->count) {
		unsigned start = i;
		careful_place(careful, i, &p, &c);
		key = config->tlu ? p : c;
		while (i < careful->count && (careful_place(careful, i, &p, &c), (config->tlu ? p : c) == key))
			i++;
		for (unsigned j = 0; j < config->grvw; j++) {
			if (!config->tlu)
				write_mask(careful, key * config->lanes_coalesced * config->grvw + j);
			else if (j == 0)
				write_mask(careful, key * config->rows_per_load);
			for (unsigned n = start; n < i; n++)
				write_element(careful, n, j);
		}
	}
}

static void write_pack(const struct careful *careful, unsigned i)
{
	const struct gemm_tensor_config *config = careful->tensor->config;
	struct ir *ir = careful->loop->ir;
	unsigned per_dword = 4 / config->element;

	for (unsigned j = 0; j < config->grvw; j += per_dword) {
		unsigned v_dst = careful_v_load(careful, i) + j / per_dword, elements = MIN(per_dword, config->grvw - j);
		struct isa_operand shift = isa_int((int)config->element * 8);
		struct isa_operand low = v1(careful_v_element(careful, i, j)), next = v1(careful_v_element(careful, i, j + 1));
		if (elements == 2) {
			EMIT(ir, ISA_V_LSHL_OR_B32, v1(v_dst), next, shift, low);
			continue;
		}
		struct isa_operand third = v1(careful_v_element(careful, i, j + 2));
		struct isa_operand last = v1(careful_v_element(careful, i, j + 3));
		EMIT(ir, ISA_V_LSHL_OR_B32, low, next, shift, low);
		EMIT(ir, ISA_V_LSHL_OR_B32, third, last, shift, third);
		EMIT(ir, ISA_V_LSHL_OR_B32, v1(v_dst), third, isa_int(16), low);
	}
}

static void write_careful_run(const struct careful *careful)
{
	struct loop *loop = careful->loop;
	const struct loop_tensor *tensor = careful->tensor;
	struct ir *ir = loop->ir;
	unsigned p, c;

	for (unsigned i = 0; i < careful->count; i++) {
		careful_place(careful, i, &p, &c);
		EMIT_LITERAL(ir, p, ISA_S_MUL_I32, s1(loop->s_tmp), s1(tensor->s_load_step), IR_LITERAL);
		EMIT(ir, ISA_V_ADD_U32, v1(careful_v_address(careful, i)), s1(loop->s_tmp), v1(tensor->v_offset));
		for (unsigned j = 0; j < tensor->config->grvw; j++)
			EMIT(ir, ISA_V_MOV_B32, v1(careful_v_element(careful, i, j)), isa_int(0));
	}
	write_elements(careful);
	EMIT(ir, ISA_S_MOV_B64, s2(ISA_EXEC), isa_int(-1));
	for (unsigned i = 0; careful->packed && i < careful->count; i++)
		write_pack(careful, i);
}

void loop_write_careful_loads(struct loop *loop, const struct loop_tensor *tensor)
{
	const struct gemm_tensor_config *config = tensor->config;
	struct careful careful = { .loop = loop, .tensor = tensor, .packed = config->element < 4 && config->grvw > 1 };
	unsigned run = loop->work_dwords / (careful.packed ? config->grvw + 1 : 1);
	struct isa_operand v_k = v1(loop->v_tmp), tid = v1(loop->kernel->v_tid);
	int shift = loop_log2(config->lanes_coalesced);

	/* the lane's part of K */
	if (config->tlu) {
		EMIT(loop->ir, ISA_V_LSHRREV_B32, v_k, isa_int(shift), tid);
	} else {
		EMIT_LITERAL(loop->ir, config->lanes_coalesced - 1, ISA_V_AND_B32, v_k, IR_LITERAL, tid);
		EMIT(loop->ir, ISA_V_LSHLREV_B32, v_k, isa_int(loop_log2(config->grvw)), v_k);
	}
	for (careful.first = 0; careful.first < config->loads; careful.first += run) {
		careful.count = MIN(run, config->loads - careful.first);
		write_careful_run(&careful);
	}
}
