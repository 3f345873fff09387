/* SPDX-License-Identifier: MIT */
/* The two functions of the epilogue: what a group of rows and what a batch of elements needs. See epilogue.h. */
#include "build/gemm/epilogue.h"

#include "build/gemm/operands.h"

/* ---- rows in memory --------------------------------------------------------------------------------------------------- */

/*
 * The rows of a group in one or several columns, between memory and registers. Elements of two bytes lie two to a register when a
 * vector has more than one row: element i in half i % 2 of register v_data + i / 2. Otherwise each has its own register, and
 * stores take its half `high`.
 */
struct access {
	bool store, high;
	enum gemm_type type;
	unsigned v_data, v_address;	/* v_address: a pair a column */
	unsigned columns;
	bool masked;			/* by s_mask, beside the rows */
	uint16_t flags;			/* cache policy */
};

static bool is_packed(const struct epilogue *e, enum gemm_type type)
{
	return gemm_type_bytes(type) == 2 && e->plan.vector > 1;
}

static void write_access(struct epilogue *e, const struct access *access, unsigned op, unsigned v_data, unsigned width,
			 unsigned column, unsigned row)
{
	struct isa_operand data = isa_vgpr(v_data, width), address = v2(access->v_address + 2 * column);
	struct isa_inst *inst = access->store ? EMIT(e->ir, op, address, data, isa_off()) : EMIT(e->ir, op, data, address, isa_off());

	inst->offset = (int32_t)(e->plan.delta[row] * gemm_type_bytes(access->type));
	inst->flags |= access->flags;
}

/* EXEC = lanes that own this row of D (and column). */
static void write_row_mask(struct epilogue *e, unsigned row)
{
	EMIT(e->ir, ISA_S_MOV_B64, s2(ISA_EXEC), isa_int(-1));
	EMIT_LITERAL(e->ir, e->plan.delta[row], ISA_V_CMP_LT_I32, s2(ISA_VCC), IR_LITERAL, v1(e->v_rows_left));
}

static void write_exec(struct epilogue *e, const struct access *access, unsigned column)
{
	if (access->masked)
		EMIT(e->ir, ISA_S_AND_B64, s2(ISA_EXEC), s2(ISA_VCC), s2(e->s_mask + 2 * column));
	else
		EMIT(e->ir, ISA_S_MOV_B64, s2(ISA_EXEC), s2(ISA_VCC));
}

/* Whole vectors, at most 16 bytes an instruction. */
static void write_vectors(struct epilogue *e, const struct access *access)
{
	static const uint16_t loads[] = { ISA_GLOBAL_LOAD_DWORD, ISA_GLOBAL_LOAD_DWORDX2, ISA_GLOBAL_LOAD_DWORDX4 };
	static const uint16_t stores[] = { ISA_GLOBAL_STORE_DWORD, ISA_GLOBAL_STORE_DWORDX2, ISA_GLOBAL_STORE_DWORDX4 };
	unsigned bytes = gemm_type_bytes(access->type), rows = MIN(e->plan.vector, 16 / bytes), width = rows * bytes / 4;
	unsigned op = (access->store ? stores : loads)[__builtin_ctz(width)];

	for (unsigned row = 0; row < e->plan.group; row += e->plan.vector) {
		write_row_mask(e, row);
		for (unsigned c = 0; c < access->columns; c++) {
			write_exec(e, access, c);
			for (unsigned r = row; r < row + e->plan.vector; r += rows)
				write_access(e, access, op, access->v_data + (c * e->plan.group + r) * bytes / 4, width, c, r);
		}
	}
}

/* Row by row; loads give every element its own register. */
static void write_elements(struct epilogue *e, const struct access *access)
{
	bool words = gemm_type_bytes(access->type) == 4, packed = access->store && is_packed(e, access->type);
	unsigned load = words ? ISA_GLOBAL_LOAD_DWORD : ISA_GLOBAL_LOAD_USHORT;
	unsigned low = words ? ISA_GLOBAL_STORE_DWORD : ISA_GLOBAL_STORE_SHORT, high = ISA_GLOBAL_STORE_SHORT_D16_HI;

	for (unsigned row = 0; row < e->plan.group; row++) {
		bool upper = packed ? row % 2 : access->high;

		write_row_mask(e, row);
		for (unsigned c = 0; c < access->columns; c++) {
			unsigned element = c * e->plan.group + row;

			write_exec(e, access, c);
			write_access(e, access, !access->store ? load : upper ? high : low,
				     access->v_data + (packed ? element / 2 : element), 1, c, row);
		}
	}
}

/* Brings separately loaded elements of two bytes into the packed form. Lanes outside of D may hold anything. */
static void write_pack_loaded(struct epilogue *e, const struct access *access)
{
	for (unsigned i = 0; i < access->columns * e->plan.group / 2; i++)
		EMIT(e->ir, ISA_V_LSHL_OR_B32, v1(access->v_data + i), v1(access->v_data + 2 * i + 1), isa_int(16),
		     v1(access->v_data + 2 * i));
}

static void write_rows(struct epilogue *e, const struct access *access)
{
	struct ir *ir = e->ir;
	ir_label_id odd = ir_label_new(ir, "odd_rows"), done = ir_label_new(ir, "rows_done");

	if (e->plan.vector == 1) {
		write_elements(e, access);
		EMIT(ir, ISA_S_MOV_B64, s2(ISA_EXEC), isa_int(-1));
		return;
	}
	EMIT(ir, ISA_S_CMP_LG_U32, s1(e->s_odd), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, odd);
	write_vectors(e, access);
	EMIT(ir, ISA_S_MOV_B64, s2(ISA_EXEC), isa_int(-1));
	ir_branch(ir, ISA_S_BRANCH, done);
	ir_label(ir, odd);
	write_elements(e, access);
	EMIT(ir, ISA_S_MOV_B64, s2(ISA_EXEC), isa_int(-1));
	if (!access->store && is_packed(e, access->type))
		write_pack_loaded(e, access);
	ir_label(ir, done);
}

/* ---- conversion to f32 ------------------------------------------------------------------------------------------------ */

/* One element of two bytes, in the low or high half of v_src, to f32. */
static void write_widen(struct epilogue *e, enum gemm_type type, unsigned v_dst, unsigned v_src, bool high)
{
	struct ir *ir = e->ir;

	if (type == GEMM_BF16 && high) {
		EMIT_LITERAL(ir, 0xffff0000, ISA_V_AND_B32, v1(v_dst), IR_LITERAL, v1(v_src));
	} else if (type == GEMM_BF16) {
		EMIT(ir, ISA_V_LSHLREV_B32, v1(v_dst), isa_int(16), v1(v_src));
	} else if (high) {
		EMIT(ir, ISA_V_LSHRREV_B32, v1(v_dst), isa_int(16), v1(v_src));
		EMIT(ir, ISA_V_CVT_F32_F16, v1(v_dst), v1(v_dst));
	} else {
		EMIT(ir, ISA_V_CVT_F32_F16, v1(v_dst), v1(v_src));
	}
}

/* A loaded group to f32 in place, from the last element on: the packed form is the shorter one. */
static void write_widen_group(struct epilogue *e, enum gemm_type type, unsigned v_data)
{
	if (gemm_type_bytes(type) == 4)
		return;
	for (unsigned i = e->plan.group; i-- > 0;)
		write_widen(e, type, v_data + i, v_data + (is_packed(e, type) ? i / 2 : i), is_packed(e, type) && i % 2);
}

/* ---- a group of rows -------------------------------------------------------------------------------------------------- */

/* v_address = s_base + row * bytes of the lane's first row of the group, which is in v_tmp. */
static void write_row_address(struct epilogue *e, unsigned v_address, unsigned s_base, enum gemm_type type)
{
	EMIT(e->ir, ISA_V_MAD_U64_U32, v2(v_address), s2(ISA_VCC), v1(e->v_tmp), isa_int((int)gemm_type_bytes(type)), s2(s_base));
}

static void write_load_vector(struct epilogue *e, enum gemm_type type, unsigned v_data, unsigned s_base)
{
	write_row_address(e, e->v_address, s_base, type);
	write_rows(e, &(struct access){ .type = type, .v_data = v_data, .v_address = e->v_address, .columns = 1 });
	write_widen_group(e, type, v_data);
}

static void write_load_scale(struct epilogue *e)
{
	struct ir *ir = e->ir;
	unsigned s_pointer = e->kernel->s_scale_alpha_vec64;
	ir_label_id null = ir_label_new(ir, "no_scale_alpha_vec"), done = ir_label_new(ir, "scale_done");

	EMIT(ir, ISA_S_CMP_EQ_U64, s2(s_pointer), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, null);
	write_load_vector(e, GEMM_F32, e->v_scale, s_pointer);
	for (unsigned i = 0; i < e->plan.group; i++)
		EMIT(ir, ISA_V_MUL_F32, v1(e->v_scale + i), s1(e->s_alpha), v1(e->v_scale + i));
	ir_branch(ir, ISA_S_BRANCH, done);
	ir_label(ir, null);
	for (unsigned i = 0; i < e->plan.group; i++)
		EMIT(ir, ISA_V_MOV_B32, v1(e->v_scale + i), s1(e->s_alpha));
	ir_label(ir, done);
}

/* A null pointer, or a type that is none of the problem's, is no bias: v_bias stays 0 in all groups. */
static void write_load_bias(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	struct ir *ir = e->ir;
	ir_label_id done = ir_label_new(ir, "bias_done");

	EMIT(ir, ISA_S_CMP_EQ_U64, s2(kernel->s_bias64), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, done);
	for (unsigned i = 0; i < e->problem->n_bias_types; i++) {
		enum gemm_type type = e->problem->bias_types[i];
		ir_label_id next = ir_label_new(ir, "next_bias_type");

		if (e->problem->n_bias_types > 1) {
			EMIT(ir, ISA_S_CMP_LG_U32, s1(kernel->s_bias_type), isa_int((int)type));
			ir_branch(ir, ISA_S_CBRANCH_SCC1, next);
		}
		write_load_vector(e, type, e->v_bias, kernel->s_bias64);
		if (i + 1 < e->problem->n_bias_types)
			ir_branch(ir, ISA_S_BRANCH, done);
		ir_label(ir, next);
	}
	ir_label(ir, done);
}

void epilogue_write_group_function(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	struct ir *ir = e->ir;

	ir_label(ir, e->group_function);
	EMIT(ir, ISA_V_ADD_U32, v1(e->v_tmp), s1(e->s_group_row), v1(e->v_lane_row));
	EMIT(ir, ISA_V_SUB_U32, v1(e->v_rows_left), s1(e->s_rows), v1(e->v_tmp));
	write_row_address(e, e->v_base_d, kernel->s_addr_d64, e->problem->d);
	if (e->problem->use_beta)
		write_row_address(e, e->v_base_c, kernel->s_addr_c64, e->problem->c);
	if (e->problem->scale_alpha_vec)
		write_load_scale(e);
	if (e->problem->use_bias)
		write_load_bias(e);
	EMIT(ir, ISA_S_SETPC_B64, s2(e->s_link));
}

/* ---- arithmetic on a batch -------------------------------------------------------------------------------------------- */

static unsigned elements(const struct epilogue *e)
{
	return e->plan.group * e->plan.batch_columns;
}

/* The pair of a vector along the rows that belongs to elements i and i + 1: its own two, or twice the only row. */
static struct isa_operand row_pair(const struct epilogue *e, unsigned v_rows, unsigned i)
{
	return v2(v_rows + (e->plan.group > 1 ? i % e->plan.group : 0));
}

/* op_sel_hi of a packed instruction whose sources in `scalars` give their low half to both results. */
static uint8_t broadcast(unsigned n_sources, unsigned scalars)
{
	return (uint8_t)(((1u << n_sources) - 1) & ~scalars);
}

static void write_scale(struct epilogue *e)
{
	bool vector = e->problem->scale_alpha_vec;
	unsigned scalars = !vector || e->plan.group == 1 ? 1u << 1 : 0;

	for (unsigned i = 0; i < elements(e); i += 2) {
		struct isa_operand pair = v2(e->v_acc + i), scale = vector ? row_pair(e, e->v_scale, i) : s2(e->s_alpha);
		EMIT(e->ir, ISA_V_PK_MUL_F32, pair, pair, scale)->op_sel_hi = broadcast(2, scalars);
	}
}

/* v_acc += beta * C */
static void write_add_c(struct epilogue *e)
{
	struct ir *ir = e->ir;
	enum gemm_type type = e->problem->c;
	bool packed = is_packed(e, type);

	for (unsigned i = 0; i < elements(e) && type == GEMM_F16; i++) {
		struct isa_operand acc = v1(e->v_acc + i);
		struct isa_inst *inst = EMIT(ir, ISA_V_FMA_MIX_F32, acc, v1(e->v_c + (packed ? i / 2 : i)), s1(e->s_beta), acc);
		inst->op_sel_hi = 1;	/* source 0 is f16 */
		inst->op_sel = packed && i % 2;
	}
	for (unsigned i = 0; i < elements(e) && type != GEMM_F16; i += 2) {
		struct isa_operand acc = v2(e->v_acc + i), c = v2(type == GEMM_F32 ? e->v_c + i : e->v_tmp);
		if (type == GEMM_BF16) {
			write_widen(e, type, e->v_tmp, e->v_c + (packed ? i / 2 : i), false);
			write_widen(e, type, e->v_tmp + 1, e->v_c + (packed ? i / 2 : i + 1), packed);
		}
		EMIT(ir, ISA_V_PK_FMA_F32, acc, c, s2(e->s_beta), acc)->op_sel_hi = broadcast(3, 1u << 1);
	}
}

static void write_add_bias(struct epilogue *e)
{
	for (unsigned i = 0; i < elements(e); i += 2) {
		struct isa_operand pair = v2(e->v_acc + i);
		EMIT(e->ir, ISA_V_PK_ADD_F32, pair, pair, row_pair(e, e->v_bias, i))->op_sel_hi =
			broadcast(2, e->plan.group == 1 ? 1u << 1 : 0);
	}
}

/* The bits of the nearest f32. */
static uint32_t f32_bits(double value)
{
	union {
		float value;
		uint32_t bits;
	} f32 = { .value = (float)value };

	return f32.bits;
}

/* gelu(x) = x / (1 + 2^z) with z = x (c1 + c3 x^2), c1 = -2 log2(e) k0 and c3 = c1 k1. */
static void write_gelu(struct epilogue *e)
{
	struct ir *ir = e->ir;
	struct isa_operand t = v2(e->v_tmp), c1 = v2(e->v_tmp + 2), c3 = s2(e->s_constant);
	const double k0 = 0x1.988454p-1, k1 = 0x1.6e4e26p-5;	/* 0x3f4c422a and 0x3d372713 in hipBLASLt's Activation.py */
	const double log2_e = 1.4426950408889634;
	uint32_t c1_bits = f32_bits(-2 * log2_e * k0), c3_bits = f32_bits(-2 * log2_e * k0 * k1);

	for (unsigned half = 0; half < 2; half++) {
		EMIT_LITERAL(ir, c3_bits, ISA_S_MOV_B32, s1(e->s_constant + half), IR_LITERAL);
		EMIT_LITERAL(ir, c1_bits, ISA_V_MOV_B32, v1(e->v_tmp + 2 + half), IR_LITERAL);
	}
	for (unsigned i = 0; i < elements(e); i += 2) {
		struct isa_operand x = v2(e->v_acc + i);

		EMIT(ir, ISA_V_PK_MUL_F32, t, x, x);
		EMIT(ir, ISA_V_PK_FMA_F32, t, t, c3, c1);
		EMIT(ir, ISA_V_PK_MUL_F32, t, t, x);
		for (unsigned half = 0; half < 2; half++) {
			struct isa_operand v = v1(e->v_tmp + half);
			EMIT(ir, ISA_V_EXP_F32, v, v);
			EMIT(ir, ISA_V_ADD_F32, v, isa_float(1.0), v);
			EMIT(ir, ISA_V_RCP_F32, v, v);
		}
		EMIT(ir, ISA_V_PK_MUL_F32, x, x, t);
	}
}

static void write_activation(struct epilogue *e)
{
	struct ir *ir = e->ir;
	unsigned s_type = e->kernel->s_activation_type;
	ir_label_id relu = ir_label_new(ir, "relu"), done = ir_label_new(ir, "activation_done");

	EMIT(ir, ISA_S_CMP_EQ_U32, s1(s_type), isa_int(GEMM_ACTIVATION_RELU));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, relu);
	EMIT(ir, ISA_S_CMP_LG_U32, s1(s_type), isa_int(GEMM_ACTIVATION_GELU));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, done);
	write_gelu(e);
	ir_branch(ir, ISA_S_BRANCH, done);
	ir_label(ir, relu);
	for (unsigned i = 0; i < elements(e); i++)
		EMIT(ir, ISA_V_MAX_F32, v1(e->v_acc + i), isa_int(0), v1(e->v_acc + i));
	ir_label(ir, done);
}

/* Rounds to nearest even. Packed, or each in its own register: f16 in the low half, bf16 in the high one. */
static void write_round_f16(struct epilogue *e)
{
	for (unsigned i = 0; i < elements(e); i++) {
		EMIT(e->ir, ISA_V_CVT_F16_F32, v1(e->v_acc + i), v1(e->v_acc + i));
		if (is_packed(e, GEMM_F16) && i % 2)
			EMIT(e->ir, ISA_V_PACK_B32_F16, v1(e->v_acc + i / 2), v1(e->v_acc + i - 1), v1(e->v_acc + i));
	}
}

/* bf16 is the high half of f32 after adding 0x7fff and the lowest bit that stays; a NaN only gets its quiet bit set. */
static void write_round_bf16(struct epilogue *e)
{
	struct ir *ir = e->ir;
	struct isa_operand half = s1(e->s_constant), high_halves = s1(e->s_constant + 1);
	struct isa_operand rounded = v1(e->v_tmp), quiet = v1(e->v_tmp + 1);

	EMIT_LITERAL(ir, 0x7fff, ISA_S_MOV_B32, half, IR_LITERAL);
	EMIT_LITERAL(ir, 0x07060302, ISA_S_MOV_B32, high_halves, IR_LITERAL);	/* v_perm_b32: bytes 2 and 3 of both */
	for (unsigned i = 0; i < elements(e); i++) {
		struct isa_operand x = v1(e->v_acc + i);

		EMIT(ir, ISA_V_BFE_U32, rounded, x, isa_int(16), isa_int(1));
		EMIT(ir, ISA_V_ADD3_U32, rounded, x, rounded, half);
		EMIT_LITERAL(ir, 0x00400000, ISA_V_OR_B32, quiet, IR_LITERAL, x);
		EMIT(ir, ISA_V_CMP_U_F32, s2(ISA_VCC), x, x);
		EMIT(ir, ISA_V_CNDMASK_B32, x, rounded, quiet, s2(ISA_VCC));
		if (is_packed(e, GEMM_BF16) && i % 2)
			EMIT(ir, ISA_V_PERM_B32, v1(e->v_acc + i / 2), x, v1(e->v_acc + i - 1), high_halves);
	}
}

/* ---- a batch of elements ---------------------------------------------------------------------------------------------- */

static void write_column(struct epilogue *e, unsigned column)
{
	EMIT(e->ir, ISA_V_ADD_U32, v1(e->v_tmp), s1(e->s_column + column), v1(e->v_lane_column));
}

static void write_column_masks(struct epilogue *e)
{
	for (unsigned c = 0; c < e->plan.batch_columns; c++) {
		write_column(e, c);
		EMIT(e->ir, ISA_V_CMP_GT_U32, s2(e->s_mask + 2 * c), s1(e->s_columns), v1(e->v_tmp));
	}
}

/* v_address = v_base + column * bytes * stride, a pair a column. */
static void write_column_addresses(struct epilogue *e, unsigned v_base, unsigned s_stride, enum gemm_type type)
{
	int shift = gemm_type_bytes(type) == 4 ? 2 : 1;

	for (unsigned c = 0; c < e->plan.batch_columns; c++) {
		write_column(e, c);
		EMIT(e->ir, ISA_V_LSHLREV_B32, v1(e->v_tmp), isa_int(shift), v1(e->v_tmp));
		EMIT(e->ir, ISA_V_MAD_U64_U32, v2(e->v_address + 2 * c), s2(ISA_VCC), v1(e->v_tmp), s1(s_stride), v2(v_base));
	}
}

/* NonTemporalC, NonTemporalD: bit 0 sc0, bit 1 sc1, bit 2 nt (KernelWriterAssembly.py, for gfx940 and later). */
static uint16_t cache_flags(int non_temporal)
{
	return (uint16_t)((non_temporal & 1 ? ISA_SC0 : 0) | (non_temporal & 2 ? ISA_SC1 : 0) | (non_temporal & 4 ? ISA_NT : 0));
}

/* SCC0 when beta is 0 or -0. */
static void write_test_beta(struct epilogue *e)
{
	EMIT(e->ir, ISA_S_LSHL_B32, s1(e->s_constant), s1(e->s_beta), isa_int(1));
}

static void write_load_c(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	ir_label_id no_c = ir_label_new(e->ir, "c_not_read");

	write_test_beta(e);
	ir_branch(e->ir, ISA_S_CBRANCH_SCC0, no_c);
	write_column_addresses(e, e->v_base_c, kernel->s_stride_c1, e->problem->c);
	write_rows(e, &(struct access){
		.type = e->problem->c,
		.v_data = e->v_c,
		.v_address = e->v_address,
		.columns = e->plan.batch_columns,
		.masked = true,
		.flags = cache_flags(kernel->config->params.non_temporal[2]),
	});
	ir_label(e->ir, no_c);
}

static void write_store_d(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	enum gemm_type type = e->problem->d;

	write_column_addresses(e, e->v_base_d, kernel->s_stride_d1, type);
	if (type == GEMM_F16)
		write_round_f16(e);
	else if (type == GEMM_BF16)
		write_round_bf16(e);
	write_rows(e, &(struct access){
		.store = true,
		.high = type == GEMM_BF16,
		.type = type,
		.v_data = e->v_acc,
		.v_address = e->v_address,
		.columns = e->plan.batch_columns,
		.masked = true,
		.flags = cache_flags(kernel->config->params.non_temporal[3]),
	});
}

void epilogue_write_batch_function(struct epilogue *e)
{
	struct ir *ir = e->ir;

	ir_label(ir, e->batch_function);
	write_column_masks(e);
	if (e->problem->use_beta)
		write_load_c(e);
	write_scale(e);
	if (e->problem->use_beta) {
		ir_label_id no_c = ir_label_new(ir, "no_beta");

		write_test_beta(e);
		ir_branch(ir, ISA_S_CBRANCH_SCC0, no_c);
		write_add_c(e);
		ir_label(ir, no_c);
	}
	if (e->problem->use_bias)
		write_add_bias(e);
	if (e->problem->activation)
		write_activation(e);
	write_store_d(e);
	EMIT(ir, ISA_S_SETPC_B64, s2(e->s_link));
}
