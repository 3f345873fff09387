/* SPDX-License-Identifier: MIT */
/*
 * The head of a kernel: arguments to SGPRs, then the workgroup's number to its GEMM and tile.
 *
 * On entry s[0:1] is the kernarg pointer, s2 the workgroup's number, v0 the work-item's. Which GEMM of a group a workgroup belongs to
 * is found in wgTable (argument type 1, binary search) or by counting tiles (type 2, see arguments.h).
 *
 * Inside a GEMM the workgroups t = 0 .. tiles_m * tiles_n - 1 of a batch go down columns of tiles, WGM columns side by side:
 *     block = t / (WGM * tiles_m), width = min(WGM, tiles_n - block * WGM), rest = t % (WGM * tiles_m)
 *     tile_m = rest / width, tile_n = block * WGM + rest % width
 * Before that, WGMXCC > 1 deals runs of neighbours to the same die, as the hardware starts workgroup w on die w % WGMXCC:
 *     per = workgroups / WGMXCC;  w' = (w % WGMXCC) * per + w / WGMXCC    for w < per * WGMXCC, else w
 * Both are one to one whatever the values, so results never depend on them; the group size WGMXCCG, GSU and StaggerU are
 * not looked at: with GSU > 1 the surplus workgroups find no tile and end.
 */
#include "build/gemm/arguments.h"

#include "build/gemm/kernel.h"
#include "build/gemm/operands.h"

enum { S_KERNARG = 0, S_WORKGROUP = 2 };	/* on entry */

/* What only this file uses; given back at its end. */
struct head {
	struct gemm_kernel *kernel;
	struct ir *ir;
	struct gemm_argument_layout layout;
	uint16_t reg[GEMM_ARGUMENT_COUNT];	/* first SGPR of each argument that the problem has */
	unsigned s_base64;			/* pointer to the arguments, types 1 and 2 */
	unsigned s_tiles_m, s_tiles_n, s_tiles;
	unsigned s_tmp;				/* four of them, aligned */
	unsigned v_tmp;
};

/* ---- arithmetic ------------------------------------------------------------------------------------------------------- */

/* s_q = ceil(s_n / divisor) for every u32; the divisor is a macro tile, so divisible by 16. Clobbers s_tmp[0]. */
static void write_ceil_divide(struct head *head, unsigned s_q, unsigned s_n, unsigned divisor)
{
	struct ir *ir = head->ir;
	unsigned shift = (unsigned)__builtin_ctz(divisor);
	unsigned odd = divisor >> shift;

	EMIT(ir, ISA_S_LSHR_B32, s1(s_q), s1(s_n), isa_int((int)shift));
	if (odd > 1) {
		/* n < 2^28 and odd < 2^(bits + 1): the error n * odd / 2^(32 + bits) of this reciprocal stays below 1 */
		unsigned bits = 31 - (unsigned)__builtin_clz(odd);
		uint64_t reciprocal = ((1ull << (32 + bits)) + odd - 1) / odd;

		EMIT_LITERAL(ir, reciprocal, ISA_S_MUL_HI_U32, s1(s_q), s1(s_q), IR_LITERAL);
		EMIT(ir, ISA_S_LSHR_B32, s1(s_q), s1(s_q), isa_int((int)bits));
	}
	EMIT_LITERAL(ir, divisor, ISA_S_MUL_I32, s1(head->s_tmp), s1(s_q), IR_LITERAL);
	EMIT(ir, ISA_S_CMP_LG_U32, s1(head->s_tmp), s1(s_n));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_q), s1(s_q), isa_int(0));
}

/*
 * s_q = s_n / s_d, s_r = s_n % s_d, exact for every u32 with s_d > 0; s_q and s_r differ from s_n and s_d. The reciprocal is refined
 * once, after which the quotient is at most two too small (the scheme of LLVM's AMDGPUCodeGenPrepare). Clobbers s_tmp.
 */
static void write_divide(struct head *head, unsigned s_q, unsigned s_r, unsigned s_n, unsigned s_d)
{
	struct ir *ir = head->ir;
	struct isa_operand reciprocal = s1(head->s_tmp), next = s1(head->s_tmp + 1), v = v1(head->v_tmp);

	EMIT(ir, ISA_V_CVT_F32_U32, v, s1(s_d));
	EMIT(ir, ISA_V_RCP_IFLAG_F32, v, v);
	EMIT_LITERAL(ir, 0x4f7ffffe, ISA_V_MUL_F32, v, IR_LITERAL, v);	/* 2^32 less 512: rounds down to a u32 */
	EMIT(ir, ISA_V_CVT_U32_F32, v, v);
	EMIT(ir, ISA_V_READFIRSTLANE_B32, reciprocal, v);

	EMIT(ir, ISA_S_MUL_I32, next, reciprocal, s1(s_d));
	EMIT(ir, ISA_S_SUB_U32, next, isa_int(0), next);
	EMIT(ir, ISA_S_MUL_HI_U32, next, reciprocal, next);
	EMIT(ir, ISA_S_ADD_U32, reciprocal, reciprocal, next);

	EMIT(ir, ISA_S_MUL_HI_U32, s1(s_q), s1(s_n), reciprocal);
	EMIT(ir, ISA_S_MUL_I32, s1(s_r), s1(s_q), s1(s_d));
	EMIT(ir, ISA_S_SUB_U32, s1(s_r), s1(s_n), s1(s_r));
	for (int i = 0; i < 2; i++) {
		EMIT(ir, ISA_S_ADD_U32, reciprocal, s1(s_q), isa_int(1));
		EMIT(ir, ISA_S_SUB_U32, next, s1(s_r), s1(s_d));
		EMIT(ir, ISA_S_CMP_GE_U32, s1(s_r), s1(s_d));
		EMIT(ir, ISA_S_CSELECT_B32, s1(s_q), reciprocal, s1(s_q));
		EMIT(ir, ISA_S_CSELECT_B32, s1(s_r), next, s1(s_r));
	}
}

/* s_tiles_m, s_tiles_n and their product from the sizes. */
static void write_tile_counts(struct head *head)
{
	const struct gemm_kernel *kernel = head->kernel;

	write_ceil_divide(head, head->s_tiles_m, kernel->s_size_m, kernel->config->tensor[0].macro_tile);
	write_ceil_divide(head, head->s_tiles_n, kernel->s_size_n, kernel->config->tensor[1].macro_tile);
	EMIT(head->ir, ISA_S_MUL_I32, s1(head->s_tiles), s1(head->s_tiles_m), s1(head->s_tiles_n));
}

/* ---- arguments -------------------------------------------------------------------------------------------------------- */

/* One s_load of 1, 2, 4, 8 or 16 dwords. */
static void write_load(struct ir *ir, unsigned dwords, unsigned s_dst, unsigned s_base, unsigned offset)
{
	static const uint16_t ops[] = { ISA_S_LOAD_DWORD, ISA_S_LOAD_DWORDX2, ISA_S_LOAD_DWORDX4, ISA_S_LOAD_DWORDX8,
					ISA_S_LOAD_DWORDX16 };
	unsigned op = ops[__builtin_ctz(dwords)];

	EMIT(ir, op, isa_sgpr(s_dst, dwords), s2(s_base))->offset = (int32_t)offset;
}

/* The widest load that the alignment of its first register and the number of dwords left allow. */
static unsigned load_width(unsigned s_first, unsigned dwords)
{
	unsigned widest = s_first % 4 == 0 ? 16 : s_first % 2 == 0 ? 2 : 1;

	while (widest > dwords)
		widest /= 2;
	return widest;
}

/* Loads arguments from..to (inclusive) that the layout has. Runs that lie side by side in memory and registers share a load. */
static void write_load_arguments(struct head *head, const uint16_t *offsets, unsigned s_base, unsigned skip, enum gemm_argument from,
				 enum gemm_argument to)
{
	enum gemm_argument i = from;

	while (i <= to) {
		if (offsets[i] == GEMM_ARGUMENT_ABSENT) {
			if (head->reg[i] != GEMM_ARGUMENT_ABSENT)
				EMIT(head->ir, ISA_S_MOV_B32, s1(head->reg[i]), isa_int(0));
			i++;
			continue;
		}
		unsigned s_first = head->reg[i], offset = offsets[i], dwords = 0;
		for (; i <= to && offsets[i] == offset + dwords * 4 && head->reg[i] == s_first + dwords; i++)
			dwords += gemm_argument_info(i)->size / 4;
		while (dwords) {
			unsigned width = load_width(s_first, dwords);
			write_load(head->ir, width, s_first, s_base, offset - skip);
			s_first += width;
			offset += width * 4;
			dwords -= width;
		}
	}
}

/* SGPRs for every argument the problem has, in order, so that wide loads serve several. */
static void take_arguments(struct head *head)
{
	struct gemm_kernel *kernel = head->kernel;
	unsigned dwords = head->layout.bytes / 4 + 1;	/* one for the alignment of pointers */
	unsigned first = regpool_take(&kernel->sgpr, dwords, 4), next = first;

	for (enum gemm_argument i = 0; i < GEMM_ARGUMENT_COUNT; i++) {
		unsigned size = gemm_argument_info(i)->size / 4;

		head->reg[i] = GEMM_ARGUMENT_ABSENT;
		if (head->layout.offset[i] == GEMM_ARGUMENT_ABSENT)
			continue;
		next = (unsigned)round_up(next, size);
		head->reg[i] = (uint16_t)next;
		next += size;
	}
	if (next < first + dwords)
		regpool_give(&kernel->sgpr, next, first + dwords - next);
}

static void name_arguments(struct head *head)
{
	struct gemm_kernel *kernel = head->kernel;
	const struct {
		unsigned *field;
		enum gemm_argument argument;
	} names[] = {
		{ &kernel->s_size_m, GEMM_ARG_SIZE_M },
		{ &kernel->s_size_n, GEMM_ARG_SIZE_N },
		{ &kernel->s_size_batch, GEMM_ARG_SIZE_BATCH },
		{ &kernel->s_size_k, GEMM_ARG_SIZE_K },
		{ &kernel->s_addr_d64, GEMM_ARG_D },
		{ &kernel->s_addr_c64, GEMM_ARG_C },
		{ &kernel->s_addr_a64, GEMM_ARG_A },
		{ &kernel->s_addr_b64, GEMM_ARG_B },
		{ &kernel->s_stride_d1, GEMM_ARG_STRIDE_D1 },
		{ &kernel->s_stride_d2, GEMM_ARG_STRIDE_D2 },
		{ &kernel->s_stride_c1, GEMM_ARG_STRIDE_C1 },
		{ &kernel->s_stride_c2, GEMM_ARG_STRIDE_C2 },
		{ &kernel->s_stride_a1, GEMM_ARG_STRIDE_A1 },
		{ &kernel->s_stride_a2, GEMM_ARG_STRIDE_A2 },
		{ &kernel->s_stride_b1, GEMM_ARG_STRIDE_B1 },
		{ &kernel->s_stride_b2, GEMM_ARG_STRIDE_B2 },
		{ &kernel->s_alpha, GEMM_ARG_ALPHA },
		{ &kernel->s_beta, GEMM_ARG_BETA },
		{ &kernel->s_scale_a64, GEMM_ARG_SCALE_A },
		{ &kernel->s_scale_b64, GEMM_ARG_SCALE_B },
		{ &kernel->s_scale_alpha_vec64, GEMM_ARG_SCALE_ALPHA_VEC },
		{ &kernel->s_bias64, GEMM_ARG_BIAS },
		{ &kernel->s_bias_type, GEMM_ARG_BIAS_TYPE },
		{ &kernel->s_bias_stride, GEMM_ARG_BIAS_STRIDE },
		{ &kernel->s_activation_alpha, GEMM_ARG_ACTIVATION_ALPHA },
		{ &kernel->s_activation_beta, GEMM_ARG_ACTIVATION_BETA },
		{ &kernel->s_activation_type, GEMM_ARG_ACTIVATION_TYPE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		*names[i].field = head->reg[names[i].argument];
}

/* ---- which GEMM ------------------------------------------------------------------------------------------------------- */

/* s_pair += s_a * constant, 64 bits. Clobbers s_tmp[0..1]. */
static void write_advance(struct head *head, unsigned s_pair, unsigned s_a, unsigned constant)
{
	struct ir *ir = head->ir;
	unsigned low = head->s_tmp, high = head->s_tmp + 1;

	EMIT_LITERAL(ir, constant, ISA_S_MUL_I32, s1(low), s1(s_a), IR_LITERAL);
	EMIT_LITERAL(ir, constant, ISA_S_MUL_HI_U32, s1(high), s1(s_a), IR_LITERAL);
	EMIT(ir, ISA_S_ADD_U32, s1(s_pair), s1(s_pair), s1(low));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_pair + 1), s1(s_pair + 1), s1(high));
}

/* Argument type 1: the last entry of wgTable that is not above the workgroup's number. Not one of two equal neighbours: a GEMM
 * without workgroups has the same entry as the next one. */
static void write_find_in_table(struct head *head, unsigned s_count)
{
	struct ir *ir = head->ir;
	ir_label_id search = ir_label_new(ir, "search_table"), found = ir_label_new(ir, "found_in_table");
	unsigned s_index = head->s_tiles_m, s_left = head->s_tiles_n, s_half = head->s_tiles;
	unsigned s_middle = head->s_tmp, s_offset = head->s_tmp + 1, s_entry = head->s_tmp + 2;

	EMIT(ir, ISA_S_MOV_B32, s1(s_index), isa_int(0));
	EMIT(ir, ISA_S_MOV_B32, s1(s_left), s1(s_count));
	ir_label(ir, search);
	EMIT(ir, ISA_S_CMP_LE_U32, s1(s_left), isa_int(1));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, found);
	EMIT(ir, ISA_S_LSHR_B32, s1(s_half), s1(s_left), isa_int(1));
	EMIT(ir, ISA_S_ADD_U32, s1(s_middle), s1(s_index), s1(s_half));
	EMIT(ir, ISA_S_LSHL_B32, s1(s_offset), s1(s_middle), isa_int(2));
	EMIT(ir, ISA_S_LOAD_DWORD, s1(s_entry), s2(head->s_base64), s1(s_offset));
	EMIT(ir, ISA_S_SUB_U32, s1(s_left), s1(s_left), s1(s_half));
	EMIT(ir, ISA_S_CMP_LE_U32, s1(s_entry), s1(S_WORKGROUP));
	EMIT(ir, ISA_S_CSELECT_B32, s1(s_index), s1(s_middle), s1(s_index));
	ir_branch(ir, ISA_S_BRANCH, search);
	ir_label(ir, found);
	EMIT(ir, ISA_S_LSHL_B32, s1(s_offset), s1(s_index), isa_int(2));
	EMIT(ir, ISA_S_LOAD_DWORD, s1(s_entry), s2(head->s_base64), s1(s_offset));
	EMIT(ir, ISA_S_SUB_U32, s1(S_WORKGROUP), s1(S_WORKGROUP), s1(s_entry));
	write_advance(head, head->s_base64, s_count, 4);
	write_advance(head, head->s_base64, s_index, head->layout.record_bytes);
}

/* Argument type 2: the first GEMM whose tiles, added to those before it, pass the workgroup's number. */
static void write_find_by_tiles(struct head *head, unsigned s_count)
{
	struct ir *ir = head->ir;
	const struct gemm_kernel *kernel = head->kernel;
	ir_label_id search = ir_label_new(ir, "search_structs"), found = ir_label_new(ir, "found_struct");

	ir_label(ir, search);
	EMIT(ir, ISA_S_SUB_U32, s1(s_count), s1(s_count), isa_int(1));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, kernel->end);	/* borrow: none left */
	write_load_arguments(head, head->layout.user_offset, head->s_base64, 0, GEMM_ARG_SIZE_M, GEMM_ARG_SIZE_K);
	write_tile_counts(head);
	EMIT(ir, ISA_S_MUL_I32, s1(head->s_tiles), s1(head->s_tiles), s1(kernel->s_size_batch));
	EMIT(ir, ISA_S_CMP_LT_U32, s1(S_WORKGROUP), s1(head->s_tiles));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, found);
	EMIT(ir, ISA_S_SUB_U32, s1(S_WORKGROUP), s1(S_WORKGROUP), s1(head->s_tiles));
	EMIT_LITERAL(ir, GEMM_USER_BYTES, ISA_S_ADD_U32, s1(head->s_base64), s1(head->s_base64), IR_LITERAL);
	EMIT(ir, ISA_S_ADDC_U32, s1(head->s_base64 + 1), s1(head->s_base64 + 1), isa_int(0));
	ir_branch(ir, ISA_S_BRANCH, search);
	ir_label(ir, found);
}

/* Neighbouring workgroups to one die, see the top. Clobbers s_tiles_m, s_tiles_n and s_tmp. */
static void write_deal_to_dies(struct head *head)
{
	struct ir *ir = head->ir;
	ir_label_id keep = ir_label_new(ir, "dies_dealt");
	struct isa_operand dies = s1(head->s_tmp), per = s1(head->s_tmp + 1), low = s1(head->s_tmp + 2), shift = s1(head->s_tmp + 3);
	struct isa_operand workgroup = s1(S_WORKGROUP);

	EMIT_LITERAL(ir, 16 | 6 << 16, ISA_S_BFE_U32, dies, s1(head->reg[GEMM_ARG_INTERNAL_ARGS1]), IR_LITERAL);
	EMIT(ir, ISA_S_CMP_LE_U32, dies, isa_int(1));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, keep);
	EMIT(ir, ISA_S_SUB_U32, low, dies, isa_int(1));
	EMIT(ir, ISA_S_AND_B32, per, dies, low);
	ir_branch(ir, ISA_S_CBRANCH_SCC1, keep);	/* not a power of two: no machine has that */
	EMIT(ir, ISA_S_FF1_I32_B32, shift, dies);
	EMIT(ir, ISA_S_LSHR_B32, per, s1(head->reg[GEMM_ARG_NUM_WORKGROUPS]), shift);
	EMIT(ir, ISA_S_LSHL_B32, dies, per, shift);
	EMIT(ir, ISA_S_CMP_GE_U32, workgroup, dies);
	ir_branch(ir, ISA_S_CBRANCH_SCC1, keep);
	EMIT(ir, ISA_S_AND_B32, low, workgroup, low);
	EMIT(ir, ISA_S_MUL_I32, low, low, per);
	EMIT(ir, ISA_S_LSHR_B32, workgroup, workgroup, shift);
	EMIT(ir, ISA_S_ADD_U32, workgroup, workgroup, low);
	ir_label(ir, keep);
}

/* All arguments of this workgroup's GEMM; S_WORKGROUP becomes its number inside it. */
static void write_find_arguments(struct head *head)
{
	struct ir *ir = head->ir;
	const struct gemm_argument_layout *layout = &head->layout;
	ir_label_id in_place = ir_label_new(ir, "arguments_in_place"), loaded = ir_label_new(ir, "arguments_loaded");
	ir_label_id structs = ir_label_new(ir, "user_arguments");
	unsigned s_count = head->reg[GEMM_ARG_GEMM_COUNT], s_type = head->reg[GEMM_ARG_INTERNAL_ARGS];
	enum gemm_argument first = GEMM_ARG_SIZE_M, last = GEMM_ARGUMENT_COUNT - 1;

	write_load_arguments(head, layout->offset, S_KERNARG, 0, GEMM_ARG_GEMM_COUNT, GEMM_ARG_NUM_WORKGROUPS);
	write_deal_to_dies(head);
	EMIT(ir, ISA_S_LSHR_B32, s1(s_type), s1(s_count), isa_int(30));
	ir_branch(ir, ISA_S_CBRANCH_SCC0, in_place);
	EMIT_LITERAL(ir, 0x3fffffff, ISA_S_AND_B32, s1(s_count), s1(s_count), IR_LITERAL);
	write_load(ir, 2, head->s_base64, S_KERNARG, GEMM_GROUPED_POINTER);
	if (head->kernel->config->params.problem.user_args) {
		EMIT(ir, ISA_S_CMP_EQ_U32, s1(s_type), isa_int(GEMM_ARGUMENTS_USER));
		ir_branch(ir, ISA_S_CBRANCH_SCC1, structs);
	}
	write_find_in_table(head, s_count);
	write_load_arguments(head, layout->offset, head->s_base64, GEMM_ARGUMENT_HEADER, first, last);
	ir_branch(ir, ISA_S_BRANCH, loaded);

	if (head->kernel->config->params.problem.user_args) {
		ir_label(ir, structs);
		write_find_by_tiles(head, s_count);
		write_load_arguments(head, layout->user_offset, head->s_base64, 0, GEMM_ARG_D, last);
		ir_branch(ir, ISA_S_BRANCH, loaded);
	}

	ir_label(ir, in_place);
	write_load_arguments(head, layout->offset, S_KERNARG, 0, first, last);
	ir_label(ir, loaded);
}

/* ---- which tile ------------------------------------------------------------------------------------------------------- */

static void write_find_tile(struct head *head)
{
	struct gemm_kernel *kernel = head->kernel;
	struct ir *ir = head->ir;
	unsigned s_rest = head->reg[GEMM_ARG_GEMM_COUNT], s_wgm = head->reg[GEMM_ARG_INTERNAL_ARGS1];
	unsigned s_block = head->s_base64, s_width = head->s_base64 + 1;

	write_tile_counts(head);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(head->s_tiles), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, kernel->end);
	write_divide(head, kernel->s_batch, s_rest, S_WORKGROUP, head->s_tiles);
	EMIT(ir, ISA_S_CMP_GE_U32, s1(kernel->s_batch), s1(kernel->s_size_batch));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, kernel->end);

	EMIT(ir, ISA_S_SEXT_I32_I16, s1(s_wgm), s1(s_wgm));
	EMIT(ir, ISA_S_MAX_I32, s1(s_wgm), s1(s_wgm), isa_int(1));
	EMIT(ir, ISA_S_MIN_U32, s1(s_wgm), s1(s_wgm), s1(head->s_tiles_n));
	EMIT(ir, ISA_S_MUL_I32, s1(head->s_tiles), s1(s_wgm), s1(head->s_tiles_m));
	write_divide(head, s_block, S_WORKGROUP, s_rest, head->s_tiles);
	EMIT(ir, ISA_S_MUL_I32, s1(s_block), s1(s_block), s1(s_wgm));
	EMIT(ir, ISA_S_SUB_U32, s1(s_width), s1(head->s_tiles_n), s1(s_block));
	EMIT(ir, ISA_S_MIN_U32, s1(s_width), s1(s_width), s1(s_wgm));
	write_divide(head, kernel->s_tile_m, kernel->s_tile_n, S_WORKGROUP, s_width);
	EMIT(ir, ISA_S_ADD_U32, s1(kernel->s_tile_n), s1(kernel->s_tile_n), s1(s_block));
}

/* ---- the batch's tensors ---------------------------------------------------------------------------------------------- */

/* A general batched problem passes arrays of pointers: takes this batch's and clears the stride. */
static void write_take_batch_pointer(struct head *head, unsigned s_pointer, unsigned s_stride)
{
	EMIT(head->ir, ISA_S_LOAD_DWORDX2, s2(s_pointer), s2(s_pointer), s1(head->s_tmp));
	EMIT(head->ir, ISA_S_MOV_B32, s1(s_stride), isa_int(0));
}

/* An array may be null when its tensor is not read. */
static void write_batch_pointers(struct head *head)
{
	const struct gemm_kernel *kernel = head->kernel;
	const struct gemm_problem_type *problem = &kernel->config->params.problem;
	struct ir *ir = head->ir;
	ir_label_id no_ab = ir_label_new(ir, "no_ab"), no_c = ir_label_new(ir, "no_c"), no_bias = ir_label_new(ir, "no_batch_bias");

	EMIT(ir, ISA_S_LSHL_B32, s1(head->s_tmp), s1(kernel->s_batch), isa_int(3));
	write_take_batch_pointer(head, kernel->s_addr_d64, kernel->s_stride_d2);
	EMIT(ir, ISA_S_CMP_EQ_U32, s1(kernel->s_size_k), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, no_ab);
	write_take_batch_pointer(head, kernel->s_addr_a64, kernel->s_stride_a2);
	write_take_batch_pointer(head, kernel->s_addr_b64, kernel->s_stride_b2);
	ir_label(ir, no_ab);
	if (problem->use_beta) {
		EMIT(ir, ISA_S_LSHL_B32, s1(head->s_tmp + 1), s1(kernel->s_beta), isa_int(1));
		ir_branch(ir, ISA_S_CBRANCH_SCC0, no_c);
		write_take_batch_pointer(head, kernel->s_addr_c64, kernel->s_stride_c2);
		ir_label(ir, no_c);
	}
	if (problem->use_bias) {
		EMIT(ir, ISA_S_CMP_EQ_U64, s2(kernel->s_bias64), isa_int(0));
		ir_branch(ir, ISA_S_CBRANCH_SCC1, no_bias);
		write_take_batch_pointer(head, kernel->s_bias64, kernel->s_bias_stride);
		ir_label(ir, no_bias);
	}
}

void gemm_write_arguments(struct gemm_kernel *kernel)
{
	struct head head = { .kernel = kernel, .ir = kernel->ir };
	struct ir *ir = kernel->ir;

	ir_comment(ir, "arguments");
	regpool_take_fixed(&kernel->sgpr, 0, 3);
	kernel->v_tid = 0;
	regpool_take_fixed(&kernel->vgpr, 0, 1);
	gemm_argument_layout(&kernel->config->params.problem, &head.layout);
	take_arguments(&head);
	name_arguments(&head);
	kernel->s_tile_m = regpool_take(&kernel->sgpr, 1, 1);
	kernel->s_tile_n = regpool_take(&kernel->sgpr, 1, 1);
	kernel->s_batch = regpool_take(&kernel->sgpr, 1, 1);
	head.s_tmp = regpool_take(&kernel->sgpr, 4, 4);
	head.s_base64 = regpool_take(&kernel->sgpr, 2, 2);
	head.s_tiles_m = regpool_take(&kernel->sgpr, 3, 1);
	head.s_tiles_n = head.s_tiles_m + 1;
	head.s_tiles = head.s_tiles_m + 2;
	head.v_tmp = regpool_take(&kernel->vgpr, 1, 1);

	write_find_arguments(&head);
	write_find_tile(&head);
	/* alpha of 0 (or -0): A and B are not read */
	EMIT(ir, ISA_S_LSHL_B32, s1(head.s_tmp), s1(kernel->s_alpha), isa_int(1));
	EMIT(ir, ISA_S_CSELECT_B32, s1(kernel->s_size_k), s1(kernel->s_size_k), isa_int(0));
	if (!kernel->config->params.problem.strided_batched)
		write_batch_pointers(&head);

	regpool_give(&kernel->vgpr, head.v_tmp, 1);
	regpool_give(&kernel->sgpr, head.s_tiles_m, 3);
	regpool_give(&kernel->sgpr, head.s_base64, 2);
	regpool_give(&kernel->sgpr, head.s_tmp, 4);
	regpool_give(&kernel->sgpr, head.reg[GEMM_ARG_GEMM_COUNT], GEMM_ARGUMENT_HEADER / 4);
	regpool_give(&kernel->sgpr, 0, 3);
}
