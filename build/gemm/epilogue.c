/* SPDX-License-Identifier: MIT */
#include "build/gemm/epilogue.h"

#include "build/gemm/operands.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* ---- what is possible ------------------------------------------------------------------------------------------------- */

static bool is_output_type(enum gemm_type type)
{
	return type == GEMM_F32 || type == GEMM_F16 || type == GEMM_BF16;
}

int gemm_epilogue_check(const struct gemm_params *params, struct error *error)
{
	const struct gemm_problem_type *problem = &params->problem;

	if (problem->scale_cd)
		return error_set(error, -EOPNOTSUPP, "UseScaleCD");
	if (!is_output_type(problem->d))
		return error_set(error, -EOPNOTSUPP, "output type %s", gemm_type_name(problem->d));
	if (problem->use_beta && !is_output_type(problem->c))
		return error_set(error, -EOPNOTSUPP, "type of C %s", gemm_type_name(problem->c));
	if (problem->activation && problem->activation_compute != GEMM_F32)
		return error_set(error, -EOPNOTSUPP, "activation compute type %s", gemm_type_name(problem->activation_compute));
	if (problem->use_bias > 1)
		return error_set(error, -EOPNOTSUPP, "UseBias %u", problem->use_bias);
	if (!problem->use_bias)
		return 0;
	if (!problem->n_bias_types || problem->n_bias_types > ARRAY_SIZE(problem->bias_types))
		return error_set(error, -EINVAL, "bias without types");
	for (unsigned i = 0; i < problem->n_bias_types; i++)
		if (!is_output_type(problem->bias_types[i]))
			return error_set(error, -EOPNOTSUPP, "bias type %s", gemm_type_name(problem->bias_types[i]));
	return 0;
}

/* ---- the plan --------------------------------------------------------------------------------------------------------- */

/* Inserts into an ascending list without repetition. */
static void insert(uint16_t *list, unsigned *n, unsigned value)
{
	unsigned at = *n;

	while (at && list[at - 1] >= value)
		at--;
	if (at < *n && list[at] == value)
		return;
	memmove(&list[at + 1], &list[at], (*n - at) * sizeof(*list));
	list[at] = (uint16_t)value;
	++*n;
}

static unsigned index_of(const uint16_t *list, unsigned value)
{
	unsigned i = 0;

	while (list[i] != value)
		i++;
	return i;
}

typedef void (*place_callback)(struct epilogue_plan *plan, struct gemm_acc_place place, unsigned acc);

static void note_place(struct epilogue_plan *plan, struct gemm_acc_place place, unsigned acc)
{
	(void)acc;
	insert(plan->rows, &plan->n_rows, place.row);
	insert(plan->columns, &plan->n_columns, place.column);
}

static void note_acc(struct epilogue_plan *plan, struct gemm_acc_place place, unsigned acc)
{
	unsigned row = index_of(plan->rows, place.row), column = index_of(plan->columns, place.column);

	plan->acc[row * plan->n_columns + column] = (uint16_t)acc;
}

static void foreach_acc(const struct gemm_config *config, struct epilogue_plan *plan, place_callback callback)
{
	unsigned acc = 0;

	for (unsigned w1 = 0; w1 < config->tensor[1].wave_tile; w1++)
		for (unsigned w0 = 0; w0 < config->tensor[0].wave_tile; w0++)
			for (unsigned i = 0; i < config->acc_per_mfma; i++)
				callback(plan, gemm_acc_place(config, w0, w1, i), acc++);
}

/* Do all runs of `group` rows have the distances of the first, and do these fit the offset of an access? */
static bool is_uniform(const struct epilogue_plan *plan, unsigned group)
{
	if (plan->n_rows % group || plan->rows[group - 1] - plan->rows[0] > EPILOGUE_MAX_DELTA)
		return false;
	for (unsigned i = group; i < plan->n_rows; i++)
		if (plan->rows[i] - plan->rows[i - i % group] != plan->rows[i % group] - plan->rows[0])
			return false;
	return true;
}

/* The largest power of two, up to a group, of rows that always lie side by side and start at a multiple of it. */
static unsigned vector_rows(const struct epilogue_plan *plan, unsigned group)
{
	unsigned run = 1;

	while (run < group && plan->rows[run] == plan->rows[0] + run)
		run++;
	while (run & (run - 1) || !is_uniform(plan, run))
		run--;
	return run;
}

unsigned epilogue_vgprs(const struct gemm_problem_type *problem, const struct epilogue_plan *plan)
{
	unsigned elements = plan->group * plan->batch_columns, group = MAX(plan->group, 2u);

	return elements + (problem->use_beta ? elements : 0) + (problem->scale_alpha_vec ? group : 0) +
	       (problem->use_bias ? group : 0) + 2 * plan->batch_columns + 12;
}

void epilogue_plan(const struct gemm_config *config, unsigned vgprs, struct epilogue_plan *ret_plan)
{
	struct epilogue_plan *plan = ret_plan;

	assert(config->accs <= EPILOGUE_MAX_ACCS);
	*plan = (struct epilogue_plan){ 0 };
	foreach_acc(config, plan, note_place);
	assert(plan->n_rows * plan->n_columns == config->accs);
	foreach_acc(config, plan, note_acc);

	for (unsigned elements = EPILOGUE_MAX_BATCH; elements >= 4; elements /= 2) {
		plan->group = elements;
		while (!is_uniform(plan, plan->group))
			plan->group /= 2;
		plan->batch_columns = MIN(elements / plan->group, (unsigned)EPILOGUE_MAX_COLUMNS);
		while (plan->batch_columns > plan->n_columns)
			plan->batch_columns /= 2;
		if (epilogue_vgprs(&config->params.problem, plan) <= vgprs)
			break;
	}
	plan->vector = vector_rows(plan, plan->group);
	for (unsigned i = 0; i < plan->group; i++)
		plan->delta[i] = (uint16_t)(plan->rows[i] - plan->rows[0]);
}

/* ---- scalars ---------------------------------------------------------------------------------------------------------- */

/* s_pair += s_a * s_b, 64 bits. */
static void write_multiply_add(struct epilogue *e, unsigned s_pair, unsigned s_a, unsigned s_b)
{
	struct ir *ir = e->ir;
	unsigned s_low = e->s_constant, s_high = e->s_constant + 1;

	EMIT(ir, ISA_S_MUL_I32, s1(s_low), s1(s_a), s1(s_b));
	EMIT(ir, ISA_S_MUL_HI_U32, s1(s_high), s1(s_a), s1(s_b));
	EMIT(ir, ISA_S_ADD_U32, s1(s_pair), s1(s_pair), s1(s_low));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_pair + 1), s1(s_pair + 1), s1(s_high));
}

/* s_tile *= macro tile; s_left = how many of the macro tile lie below size. */
static void write_tile_extent(struct epilogue *e, unsigned s_tile, unsigned s_size, unsigned macro_tile, unsigned s_left)
{
	EMIT_LITERAL(e->ir, macro_tile, ISA_S_MUL_I32, s1(s_tile), s1(s_tile), IR_LITERAL);
	EMIT(e->ir, ISA_S_SUB_U32, s1(s_left), s1(s_size), s1(s_tile));
	EMIT_LITERAL(e->ir, macro_tile, ISA_S_MIN_U32, s1(s_left), s1(s_left), IR_LITERAL);
}

#define NO_STRIDE UINT_MAX

/* s_address += (batch * s_stride2 + column * s_stride1 + row) << shift, for the tile's first row and column */
static void write_tile_address(struct epilogue *e, unsigned s_address, unsigned s_stride2, unsigned s_stride1,
			       struct isa_operand shift)
{
	struct ir *ir = e->ir;
	unsigned s_sum = e->s_constant + 2;

	EMIT(ir, ISA_S_MOV_B32, s1(s_sum), s1(e->kernel->s_tile_m));
	EMIT(ir, ISA_S_MOV_B32, s1(s_sum + 1), isa_int(0));
	if (s_stride2 != NO_STRIDE)
		write_multiply_add(e, s_sum, e->kernel->s_batch, s_stride2);
	if (s_stride1 != NO_STRIDE)
		write_multiply_add(e, s_sum, e->kernel->s_tile_n, s_stride1);
	EMIT(ir, ISA_S_LSHL_B64, s2(s_sum), s2(s_sum), shift);
	EMIT(ir, ISA_S_ADD_U32, s1(s_address), s1(s_address), s1(s_sum));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_address + 1), s1(s_address + 1), s1(s_sum + 1));
}

static struct isa_operand type_shift(enum gemm_type type)
{
	return isa_int(gemm_type_bytes(type) == 4 ? 2 : 1);
}

/* v_tmp *= the f32 at a pointer that may be null. */
static void write_scalar_scale(struct epilogue *e, unsigned s_pointer, const char *name)
{
	struct ir *ir = e->ir;
	ir_label_id none = ir_label_new(ir, name);

	EMIT(ir, ISA_S_CMP_EQ_U64, s2(s_pointer), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, none);
	EMIT(ir, ISA_S_LOAD_DWORD, s1(e->s_constant), s2(s_pointer))->offset = 0;
	EMIT(ir, ISA_V_MUL_F32, v1(e->v_tmp), s1(e->s_constant), v1(e->v_tmp));
	ir_label(ir, none);
}

static void write_factors(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	struct ir *ir = e->ir;

	if (e->problem->scale_ab) {
		EMIT(ir, ISA_V_MOV_B32, v1(e->v_tmp), s1(kernel->s_alpha));
		write_scalar_scale(e, kernel->s_scale_a64, "no_scale_a");
		write_scalar_scale(e, kernel->s_scale_b64, "no_scale_b");
		EMIT(ir, ISA_V_READFIRSTLANE_B32, s1(e->s_alpha), v1(e->v_tmp));
	} else {
		EMIT(ir, ISA_S_MOV_B32, s1(e->s_alpha), s1(kernel->s_alpha));
	}
	EMIT(ir, ISA_S_MOV_B32, s1(e->s_alpha + 1), s1(e->s_alpha));
	if (!e->problem->use_beta)
		return;
	EMIT(ir, ISA_S_MOV_B32, s1(e->s_beta), s1(kernel->s_beta));
	EMIT(ir, ISA_S_MOV_B32, s1(e->s_beta + 1), s1(kernel->s_beta));
}

/* The same for a vector along M; a null pointer stays null. */
static void write_vector_address(struct epilogue *e, unsigned s_address, unsigned s_stride2, struct isa_operand shift)
{
	ir_label_id null = ir_label_new(e->ir, "null_vector");

	EMIT(e->ir, ISA_S_CMP_EQ_U64, s2(s_address), isa_int(0));
	ir_branch(e->ir, ISA_S_CBRANCH_SCC1, null);
	write_tile_address(e, s_address, s_stride2, NO_STRIDE, shift);
	ir_label(e->ir, null);
}

static void write_bias_address(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	struct isa_operand shift = type_shift(e->problem->bias_types[0]);

	if (e->problem->n_bias_types > 1) {	/* the launch chooses */
		shift = s1(e->s_group_row);
		EMIT(e->ir, ISA_S_CMP_EQ_U32, s1(kernel->s_bias_type), isa_int(GEMM_F32));
		EMIT(e->ir, ISA_S_CSELECT_B32, shift, isa_int(2), isa_int(1));
	}
	write_vector_address(e, kernel->s_bias64, kernel->s_bias_stride, shift);
}

/* Turns tile_m and tile_n into the tile's first row and column, and every pointer into one to the tile. */
static void write_addresses(struct epilogue *e)
{
	const struct gemm_kernel *kernel = e->kernel;
	const struct gemm_tensor_config *tensor = kernel->config->tensor;

	write_tile_extent(e, kernel->s_tile_m, kernel->s_size_m, tensor[0].macro_tile, e->s_rows);
	write_tile_extent(e, kernel->s_tile_n, kernel->s_size_n, tensor[1].macro_tile, e->s_columns);
	EMIT(e->ir, ISA_S_AND_B32, s1(e->s_odd), s1(e->s_rows), isa_int((int)e->plan.vector - 1));
	write_tile_address(e, kernel->s_addr_d64, kernel->s_stride_d2, kernel->s_stride_d1, type_shift(e->problem->d));
	if (e->problem->use_beta)
		write_tile_address(e, kernel->s_addr_c64, kernel->s_stride_c2, kernel->s_stride_c1, type_shift(e->problem->c));
	if (e->problem->use_bias)
		write_bias_address(e);
	if (e->problem->scale_alpha_vec)
		write_vector_address(e, kernel->s_scale_alpha_vec64, NO_STRIDE, isa_int(2));
}

/* ---- the whole -------------------------------------------------------------------------------------------------------- */

/* How many VGPRs cost nothing: those that the loop had, and more as long as a SIMD holds as many waves. */
static unsigned free_vgprs(const struct gemm_kernel *kernel)
{
	enum { FILE_VGPRS = 512, MAX_WAVES = 8, GRANULE = 8 };	/* of a lane, VGPRs and AccVGPRs together; handed out in eights */
	unsigned accs = (unsigned)round_up(kernel->config->accs, GRANULE), used = (unsigned)round_up(kernel->vgpr.high, GRANULE);
	unsigned waves = MIN(FILE_VGPRS / (used + accs), (unsigned)MAX_WAVES);

	return MIN(FILE_VGPRS / MAX(waves, 1u) / GRANULE * GRANULE - accs, kernel->vgpr.limit);
}

static void take_registers(struct epilogue *e)
{
	struct regpool *sgpr = &e->kernel->sgpr, *vgpr = &e->kernel->vgpr;
	unsigned columns = e->plan.batch_columns, group = MAX(e->plan.group, 2u), elements = e->plan.group * columns;

	e->s_link = regpool_take(sgpr, 2, 2);
	e->s_alpha = regpool_take(sgpr, 2, 2);
	e->s_beta = regpool_take(sgpr, 2, 2);
	e->s_constant = regpool_take(sgpr, 4, 4);
	e->s_mask = regpool_take(sgpr, 2 * columns, 2);
	e->s_column = regpool_take(sgpr, columns, 1);
	e->s_rows = regpool_take(sgpr, 1, 1);
	e->s_columns = regpool_take(sgpr, 1, 1);
	e->s_odd = regpool_take(sgpr, 1, 1);
	e->s_group_row = regpool_take(sgpr, 1, 1);

	e->v_tmp = regpool_take(vgpr, 4, 4);
	e->v_acc = regpool_take(vgpr, elements, 4);
	e->v_c = e->problem->use_beta ? regpool_take(vgpr, elements, 4) : 0;
	e->v_scale = e->problem->scale_alpha_vec ? regpool_take(vgpr, group, 2) : 0;
	e->v_bias = e->problem->use_bias ? regpool_take(vgpr, group, 2) : 0;
	e->v_address = regpool_take(vgpr, 2 * columns, 2);
	e->v_base_d = regpool_take(vgpr, 2, 2);
	e->v_base_c = e->problem->use_beta ? regpool_take(vgpr, 2, 2) : 0;
	e->v_lane_row = regpool_take(vgpr, 1, 1);
	e->v_lane_column = regpool_take(vgpr, 1, 1);
	e->v_rows_left = regpool_take(vgpr, 1, 1);
}

/* Registers that masked loads fill: lanes outside of D keep what is here. */
static void write_defaults(struct epilogue *e)
{
	unsigned group = MAX(e->plan.group, 2u), elements = e->plan.group * e->plan.batch_columns;

	for (unsigned i = 0; e->problem->use_beta && i < elements; i++)
		EMIT(e->ir, ISA_V_MOV_B32, v1(e->v_c + i), isa_int(0));
	for (unsigned i = 0; e->problem->scale_alpha_vec && i < group; i++)
		EMIT(e->ir, ISA_V_MOV_B32, v1(e->v_scale + i), isa_int(0));
	for (unsigned i = 0; e->problem->use_bias && i < group; i++)
		EMIT(e->ir, ISA_V_MOV_B32, v1(e->v_bias + i), isa_int(0));
}

/* One batch: columns first .. first + batch_columns - 1 of the group that begins at row index `row`. */
static void write_batch(struct epilogue *e, unsigned row, unsigned first)
{
	const struct epilogue_plan *plan = &e->plan;

	for (unsigned c = 0; c < plan->batch_columns; c++) {
		unsigned column = first + c;

		if (column >= plan->n_columns) {	/* v_acc keeps old values that nobody stores */
			EMIT_LITERAL(e->ir, EPILOGUE_NO_COLUMN, ISA_S_MOV_B32, s1(e->s_column + c), IR_LITERAL);
			continue;
		}
		EMIT_LITERAL(e->ir, plan->columns[column], ISA_S_MOV_B32, s1(e->s_column + c), IR_LITERAL);
		for (unsigned r = 0; r < plan->group; r++)
			EMIT(e->ir, ISA_V_ACCVGPR_READ_B32, v1(e->v_acc + c * plan->group + r),
			     isa_agpr(plan->acc[(row + r) * plan->n_columns + column], 1));
	}
	ir_call(e->ir, e->batch_function, e->s_link);
}

void gemm_write_epilogue(struct gemm_kernel *kernel)
{
	struct epilogue e = {
		.kernel = kernel,
		.ir = kernel->ir,
		.problem = &kernel->config->params.problem,
		.group_function = ir_label_new(kernel->ir, "epilogue_group"),
		.batch_function = ir_label_new(kernel->ir, "epilogue_batch"),
	};
	const struct epilogue_plan *plan = &e.plan;

	epilogue_plan(kernel->config, free_vgprs(kernel) - 1, &e.plan);	/* v_tid is there already */
	take_registers(&e);
	ir_comment(e.ir, "epilogue: groups of %u rows, batches of %u columns, vectors of %u rows", plan->group, plan->batch_columns,
		   plan->vector);
	gemm_write_lane_origin(kernel, e.v_lane_row, e.v_lane_column);
	write_factors(&e);
	write_addresses(&e);
	write_defaults(&e);
	for (unsigned row = 0; row < plan->n_rows; row += plan->group) {
		EMIT_LITERAL(e.ir, plan->rows[row], ISA_S_MOV_B32, s1(e.s_group_row), IR_LITERAL);
		ir_call(e.ir, e.group_function, e.s_link);
		for (unsigned column = 0; column < plan->n_columns; column += plan->batch_columns)
			write_batch(&e, row, column);
	}
	ir_branch(e.ir, ISA_S_BRANCH, kernel->end);
	epilogue_write_group_function(&e);
	epilogue_write_batch_function(&e);
}
