/* SPDX-License-Identifier: MIT */
/*
 * The epilogue alone: a kernel whose "loop" only fills the accumulators from a matrix in memory, so that every value an accumulator
 * can have gets its turn. All of the arithmetic but gelu is defined to the bit (epilogue.h) and compared so.
 */
#include "tests/gemm/common.h"

#include "build/gemm/arguments.h"
#include "build/gemm/epilogue.h"
#include "build/gemm/operands.h"
#include "tools/emulator/emulator.h"
#include "tools/verify/values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- the kernel ------------------------------------------------------------------------------------------------------- */

/* Accumulator of element (m, n) of batch b = A[m + n * strideA1 + b * strideA2], f32, with rows and columns up to whole tiles. A loop
 * that has had so many registers leaves the epilogue as many. */
static void write_fake_loop(struct gemm_kernel *kernel, unsigned registers)
{
	const struct gemm_config *config = kernel->config;
	struct ir *ir = kernel->ir;
	unsigned s_tmp = regpool_take(&kernel->sgpr, 2, 2), s_base = kernel->s_addr_a64;
	unsigned v_row = regpool_take(&kernel->vgpr, 1, 1), v_column = regpool_take(&kernel->vgpr, 1, 1);
	unsigned v_at = regpool_take(&kernel->vgpr, 2, 1);
	unsigned acc = 0;

	gemm_write_lane_origin(kernel, v_row, v_column);
	EMIT_LITERAL(ir, config->tensor[0].macro_tile, ISA_S_MUL_I32, s1(s_tmp), s1(kernel->s_tile_m), IR_LITERAL);
	EMIT(ir, ISA_V_ADD_U32, v1(v_row), s1(s_tmp), v1(v_row));
	EMIT_LITERAL(ir, config->tensor[1].macro_tile, ISA_S_MUL_I32, s1(s_tmp), s1(kernel->s_tile_n), IR_LITERAL);
	EMIT(ir, ISA_V_ADD_U32, v1(v_column), s1(s_tmp), v1(v_column));
	EMIT(ir, ISA_S_MUL_I32, s1(s_tmp), s1(kernel->s_batch), s1(kernel->s_stride_a2));
	EMIT(ir, ISA_S_LSHL_B32, s1(s_tmp), s1(s_tmp), isa_int(2));
	EMIT(ir, ISA_S_ADD_U32, s1(s_base), s1(s_base), s1(s_tmp));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_base + 1), s1(s_base + 1), isa_int(0));
	for (unsigned w1 = 0; w1 < config->tensor[1].wave_tile; w1++)
		for (unsigned w0 = 0; w0 < config->tensor[0].wave_tile; w0++)
			for (unsigned i = 0; i < config->acc_per_mfma; i++, acc++) {
				struct gemm_acc_place place = gemm_acc_place(config, w0, w1, i);
				struct isa_operand at = v1(v_at), value = v1(v_at + 1);

				EMIT_LITERAL(ir, place.column, ISA_V_ADD_U32, at, IR_LITERAL, v1(v_column));
				EMIT(ir, ISA_V_MUL_LO_U32, at, at, s1(kernel->s_stride_a1));
				EMIT(ir, ISA_V_ADD_U32, at, at, v1(v_row));
				EMIT(ir, ISA_V_LSHLREV_B32, at, isa_int(2), at);
				EMIT(ir, ISA_GLOBAL_LOAD_DWORD, value, at, s2(s_base))->offset = (int32_t)place.row * 4;
				EMIT(ir, ISA_V_ACCVGPR_WRITE_B32, isa_agpr(acc, 1), value);
			}
	regpool_give(&kernel->vgpr, v_row, 1);
	regpool_give(&kernel->vgpr, v_column, 1);
	regpool_give(&kernel->vgpr, v_at, 2);
	regpool_give(&kernel->vgpr, regpool_take(&kernel->vgpr, registers, 1), registers);
}

static void generate(struct test_kernel *kernel, struct gemm_params params, unsigned registers, const char *name)
{
	struct gemm_argument_layout layout;
	struct error error = { 0 };
	struct ir_stats stats;
	struct ir *ir;

	complete_params(&params);
	if (gemm_config_init(&params, &kernel->config, &error) < 0)
		fail_msg("%s", error.text);
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	assert_int_equal(ir_new(isa_find("gfx942"), &ir), 0);
	struct gemm_kernel writer = { .config = &kernel->config, .ir = ir, .end = ir_label_new(ir, "end") };
	regpool_init(&writer.sgpr, 102);
	regpool_init(&writer.vgpr, kernel->config.max_vgprs);
	gemm_write_arguments(&writer);
	write_fake_loop(&writer, registers);
	gemm_write_epilogue(&writer);
	ir_label(ir, writer.end);
	EMIT_LITERAL(ir, 0, ISA_S_ENDPGM, IR_IMM);
	assert_false(writer.sgpr.failed || writer.vgpr.failed);
	if (ir_finish(ir, &kernel->code.code, &error, &stats) < 0)
		fail_msg("%s", error.text);
	gemm_argument_layout(&params.problem, &layout);
	kernel->code.vgprs = stats.vgprs;
	kernel->code.agprs = stats.agprs;
	kernel->code.sgprs = stats.sgprs;
	kernel->code.kernarg_bytes = layout.kernarg_bytes;
	kernel->code.workgroup_size = kernel->config.threads;
	kernel->code.instructions = stats.instructions;
	ir_unref(ir);
}

/* ---- a problem -------------------------------------------------------------------------------------------------------- */

enum { ACC, C, D, BIAS, SCALE_VEC, SCALE_A, SCALE_B, TENSORS };

struct problem {
	const struct gemm_config *config;
	uint32_t m, n, batch;
	float alpha, beta;
	uint32_t activation, bias_type;
	bool null[TENSORS], in_place;
	enum gemm_type type[TENSORS];
	uint32_t stride1[TENSORS], stride2[TENSORS];
	size_t size[TENSORS];
	uint8_t *data[TENSORS], *c_before;
	uint64_t address[TENSORS];
};

static double at(const struct problem *p, unsigned tensor, const uint8_t *data, uint32_t row, uint32_t column, uint32_t batch)
{
	enum gemm_type type = p->type[tensor];
	uint64_t index = row + (uint64_t)column * p->stride1[tensor] + (uint64_t)batch * p->stride2[tensor];

	return value_load(type, data + index * gemm_type_bytes(type));
}

/* Numbers of every kind: small integers, reals, halfway cases of both 16-bit formats, denormals, overflow, infinities, NaN. */
static double draw(struct random *random)
{
	static const double special[] = { 0, -0.0, INFINITY, -INFINITY, NAN, 65504, 65519.99, 65520, 1e30, 0x1p-24, 0x1.8p-25, 0x1p-25,
					  0x1p-149, 0x1p-130, 3.3e38, 1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8, 1 + 0x3p-8, 256.5, -257.5 };

	switch (random_below(random, 4)) {
	case 0:
		return special[random_below(random, ARRAY_SIZE(special))];
	case 1:
		return (double)random_below(random, 2001) - 1000;
	default:
		return random_real(random) * ldexp(1, (int)random_below(random, 12) - 6);
	}
}

static void size_tensor(struct problem *p, unsigned tensor, enum gemm_type type, uint32_t rows, uint32_t columns, struct random *random)
{
	uint32_t pad = random_below(random, 3) ? random_below(random, 9) : 0;

	p->type[tensor] = type;
	p->stride1[tensor] = rows + pad;
	p->stride2[tensor] = random_below(random, 4) || tensor == D ? p->stride1[tensor] * columns + pad : 0;
	p->size[tensor] = ((uint64_t)(p->batch - 1) * p->stride2[tensor] + (uint64_t)(columns - 1) * p->stride1[tensor] + rows) *
			  gemm_type_bytes(type);
}

static void fill(struct problem *p, struct emu_memory *memory, struct random *random)
{
	static const char *const names[TENSORS] = { "accumulators", "C", "D", "bias", "scaleAlphaVec", "scaleA", "scaleB" };

	for (unsigned i = 0; i < TENSORS; i++) {
		unsigned bytes = gemm_type_bytes(p->type[i]);

		if (p->null[i])
			continue;
		p->data[i] = malloc(p->size[i]);
		for (size_t j = 0; j < p->size[i]; j += bytes)
			value_store(p->type[i], p->data[i] + j,
				    i == C && p->beta == 0 ? NAN : i >= SCALE_VEC ? 1 + random_real(random) : draw(random));
		/* every second tensor at an address that is only a multiple of its element */
		assert_int_equal(emu_memory_add(memory, names[i], 0, EMU_READ, NULL, &p->address[i]), 0);
		p->address[i] += i % 2 ? 16 : bytes;
		assert_int_equal(emu_memory_add_at(memory, names[i], p->address[i], p->size[i], i == D ? EMU_READ | EMU_WRITE : EMU_READ,
						   p->data[i]), 0);
	}
	p->c_before = malloc(p->size[D]);
	memcpy(p->c_before, p->data[D], p->size[D]);
	if (p->in_place)
		p->address[C] = p->address[D];
}

static void problem_init(struct problem *p, const struct gemm_config *config, struct emu_memory *memory, struct random *random)
{
	static const uint32_t activations[] = { 0, 3, 5, 77 };	/* the last is none of the set: treated as none */
	static const float factors[] = { 1, -0.375f, 3, 0x1.234568p0f };
	const struct gemm_problem_type *type = &config->params.problem;
	uint32_t tile_m = config->tensor[0].macro_tile, tile_n = config->tensor[1].macro_tile;
	unsigned bias = random_below(random, type->n_bias_types + 2u);

	*p = (struct problem){ .config = config };
	p->m = random_below(random, 3) ? 1 + random_below(random, 2 * tile_m) : tile_m * (1 + random_below(random, 2));
	p->n = random_below(random, 3) ? 1 + random_below(random, tile_n + 3) : tile_n;
	p->batch = 1 + random_below(random, 2);
	p->alpha = factors[random_below(random, 4)];
	p->beta = random_below(random, 3) ? factors[random_below(random, 4)] : 0;
	p->activation = type->activation ? activations[random_below(random, 4)] : 0;
	p->in_place = type->use_beta && type->c == type->d && !random_below(random, 3);
	p->null[C] = p->in_place || p->beta == 0 ? random_below(random, 2) || p->in_place : false;
	p->null[BIAS] = !type->use_bias || bias > type->n_bias_types;
	for (unsigned i = SCALE_VEC; i <= SCALE_B; i++)
		p->null[i] = !(i == SCALE_VEC ? type->scale_alpha_vec : type->scale_ab) || !random_below(random, 3);
	if (!type->use_beta)
		p->null[C] = true;
	size_tensor(p, ACC, GEMM_F32, (uint32_t)round_up(p->m, tile_m), (uint32_t)round_up(p->n, tile_n), random);
	size_tensor(p, D, type->d, p->m, p->n, random);
	size_tensor(p, C, type->c, p->m, p->n, random);
	if (p->in_place) {
		p->stride1[C] = p->stride1[D];
		p->stride2[C] = p->stride2[D];
	}
	/* a type that is none of the problem's: no bias at all, but only where there is a choice */
	bool unlisted = bias == type->n_bias_types && type->n_bias_types > 1;
	size_tensor(p, BIAS, type->n_bias_types ? type->bias_types[unlisted ? 0 : bias % type->n_bias_types] : GEMM_F32, p->m, 1, random);
	p->bias_type = unlisted ? GEMM_I32 : p->type[BIAS];
	for (unsigned i = SCALE_VEC; i <= SCALE_B; i++)
		size_tensor(p, i, GEMM_F32, i == SCALE_VEC ? p->m : 1, 1, random);
	for (unsigned i = SCALE_VEC; i <= SCALE_B; i++)
		p->stride2[i] = 0;
	fill(p, memory, random);
}

static void problem_release(struct problem *p)
{
	for (unsigned i = 0; i < TENSORS; i++)
		free(p->data[i]);
	free(p->c_before);
}

/* ---- the launch ------------------------------------------------------------------------------------------------------- */

static size_t pack(const struct problem *p, uint8_t *kernarg)
{
	struct gemm_argument_layout layout;
	uint32_t alpha, beta;

	memcpy(&alpha, &p->alpha, 4);
	memcpy(&beta, &p->beta, 4);
	const struct {
		enum gemm_argument argument;
		uint64_t value;
	} values[] = {
		{ GEMM_ARG_GEMM_COUNT, 1 }, { GEMM_ARG_INTERNAL_ARGS, 1 }, { GEMM_ARG_INTERNAL_ARGS1, 1 | 1 << 16 },
		{ GEMM_ARG_SIZE_M, p->m }, { GEMM_ARG_SIZE_N, p->n }, { GEMM_ARG_SIZE_BATCH, p->batch }, { GEMM_ARG_SIZE_K, 1 },
		{ GEMM_ARG_D, p->address[D] }, { GEMM_ARG_C, p->address[C] }, { GEMM_ARG_A, p->address[ACC] },
		{ GEMM_ARG_STRIDE_D1, p->stride1[D] }, { GEMM_ARG_STRIDE_D2, p->stride2[D] },
		{ GEMM_ARG_STRIDE_C1, p->stride1[C] }, { GEMM_ARG_STRIDE_C2, p->stride2[C] },
		{ GEMM_ARG_STRIDE_A1, p->stride1[ACC] }, { GEMM_ARG_STRIDE_A2, p->stride2[ACC] },
		{ GEMM_ARG_ALPHA, alpha }, { GEMM_ARG_BETA, beta },
		{ GEMM_ARG_SCALE_A, p->address[SCALE_A] }, { GEMM_ARG_SCALE_B, p->address[SCALE_B] },
		{ GEMM_ARG_SCALE_ALPHA_VEC, p->address[SCALE_VEC] }, { GEMM_ARG_BIAS, p->address[BIAS] },
		{ GEMM_ARG_BIAS_TYPE, p->bias_type }, { GEMM_ARG_BIAS_STRIDE, p->stride2[BIAS] },
		{ GEMM_ARG_ACTIVATION_TYPE, p->activation },
	};

	gemm_argument_layout(&p->config->params.problem, &layout);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (layout.offset[values[i].argument] != GEMM_ARGUMENT_ABSENT)
			memcpy(kernarg + layout.offset[values[i].argument], &values[i].value, gemm_argument_info(values[i].argument)->size);
	return layout.bytes;
}

static float scalar(const struct problem *p, unsigned tensor)
{
	return p->null[tensor] ? 1 : (float)value_load(GEMM_F32, p->data[tensor]);
}

/* The value before the rounding to D's type, in the order of operations that epilogue.h promises. */
static float expected(const struct problem *p, uint32_t m, uint32_t n, uint32_t batch)
{
	float scale = p->alpha * scalar(p, SCALE_A) * scalar(p, SCALE_B), x;

	if (!p->null[SCALE_VEC])
		scale *= (float)at(p, SCALE_VEC, p->data[SCALE_VEC], m, 0, 0);
	x = scale * (float)at(p, ACC, p->data[ACC], m, n, batch);
	if (p->beta != 0 && p->config->params.problem.use_beta)
		x = fmaf(p->beta, (float)at(p, C, p->in_place ? p->c_before : p->data[C], m, n, batch), x);
	if (!p->null[BIAS] && p->bias_type == p->type[BIAS])
		x += (float)at(p, BIAS, p->data[BIAS], m, 0, batch);
	return p->activation == GEMM_ACTIVATION_RELU ? x > 0 ? x : 0 : x;
}

static bool is_right(enum gemm_type type, uint32_t activation, float x, double got)
{
	uint8_t place[4];
	double reference = x, slack = 0;

	if (activation == GEMM_ACTIVATION_GELU) {
		reference = x <= -1e9f ? 0 : x >= 1e9f ? x : 0.5 * x * (1 + tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x)));
		slack = 16 * 0x1p-24 * fabs(x <= -1e9f ? 0 : x) + 0x1p-126 + value_half_ulp(type, reference);
		if (x == -INFINITY)
			return isnan(got);	/* -inf times 0, as in hipBLASLt */
	}
	value_store(type, place, reference);
	double rounded = value_load(type, place);
	if (isnan(rounded) || isnan(got))
		return isnan(rounded) && isnan(got);
	return rounded == got || fabs(got - reference) <= slack;
}

static void check(const struct problem *p, const char *name)
{
	enum gemm_type type = p->config->params.problem.d;
	unsigned bytes = gemm_type_bytes(type);
	uint8_t *owned = calloc(p->size[D], 1);

	for (uint32_t batch = 0; batch < p->batch; batch++)
		for (uint32_t n = 0; n < p->n; n++)
			for (uint32_t m = 0; m < p->m; m++) {
				float x = expected(p, m, n, batch);
				double got = at(p, D, p->data[D], m, n, batch);

				if (!is_right(type, p->activation, x, got))
					fail_msg("%s: D[%u, %u, %u] of %u x %u is %.9g, before rounding %.9g is expected (activation %u, beta %g)",
						 name, m, n, batch, p->m, p->n, got, x, p->activation, p->beta);
				memset(owned + (m + (size_t)n * p->stride1[D] + (size_t)batch * p->stride2[D]) * bytes, 1, bytes);
			}
	for (size_t i = 0; i < p->size[D]; i++)
		if (!owned[i])
			assert_int_equal(p->data[D][i], p->c_before[i]);
	free(owned);
}

static void run(const struct emu_object *object, const struct test_kernel *kernel, unsigned launches, uint64_t seed)
{
	struct random random = { seed };

	for (unsigned i = 0; i < launches; i++) {
		struct emu_memory *memory;
		struct problem problem;
		struct error error = { 0 };
		uint8_t kernarg[256] = { 0 };

		assert_int_equal(emu_memory_new(&memory), 0);
		problem_init(&problem, &kernel->config, memory, &random);
		struct emu_launch launch = {
			.kernel = emu_object_find(object, kernel->name),
			.workgroup = { kernel->config.threads, 1, 1 },
			.kernarg = kernarg,
			.kernarg_size = pack(&problem, kernarg),
			.grid = { (uint32_t)(ceil_div(problem.m, kernel->config.tensor[0].macro_tile) *
					     ceil_div(problem.n, kernel->config.tensor[1].macro_tile) * problem.batch), 1, 1 },
		};
		if (emu_launch(memory, &launch, NULL, &error) < 0)
			fail_msg("%s: %s", kernel->name, error.text);
		check(&problem, kernel->name);
		problem_release(&problem);
		emu_memory_free(memory);
	}
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

struct geometry {
	int mi, swap, group[2], tile[2], vector[2];
};

/* Runs of 1 to 32 rows, groups of 1 to 32, batches of 1 to 8 columns, padded last batches; both layouts of results. How large groups
 * and batches are depends on the registers too. */
static const struct geometry geometries[] = {
	{ 16, 0, { 1, 1 }, { 1, 1 }, { 1, 1 } },
	{ 16, 1, { 1, 1 }, { 1, 1 }, { 1, 1 } },
	{ 16, 0, { 2, 2 }, { 2, 3 }, { 1, 1 } },
	{ 16, 1, { 2, 2 }, { 3, 2 }, { 1, 2 } },
	{ 16, 1, { 1, 2 }, { 8, 1 }, { 2, 1 } },
	{ 16, 0, { 1, 1 }, { 8, 5 }, { 8, 1 } },
	{ 16, 1, { 4, 1 }, { 4, 7 }, { 4, 1 } },
	{ 16, 1, { 1, 4 }, { 16, 2 }, { 8, 2 } },
	{ 32, 0, { 1, 1 }, { 1, 2 }, { 1, 1 } },
	{ 32, 0, { 2, 1 }, { 2, 1 }, { 2, 1 } },
	{ 32, 1, { 1, 2 }, { 2, 1 }, { 1, 1 } },
	{ 32, 1, { 2, 1 }, { 4, 2 }, { 4, 2 } },
};

static struct gemm_params geometry_params(const struct geometry *geometry)
{
	struct gemm_params params = default_params();

	params.mi[0] = params.mi[1] = geometry->mi;
	params.mi[2] = geometry->mi == 16 ? 16 : 8;
	params.source_swap = geometry->swap;
	memcpy(params.mi_wave_group, geometry->group, sizeof(geometry->group));
	memcpy(params.mi_wave_tile, geometry->tile, sizeof(geometry->tile));
	memcpy(params.vector_width, geometry->vector, sizeof(geometry->vector));
	return params;
}

static void run_kernels(struct test_kernel *kernels, size_t n, unsigned launches)
{
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct emu_object *object;
	struct error error = { 0 };

	link_kernels(kernels, n, &elf);
	if (emu_object_load(elf.data, elf.size, &object, &error) < 0)
		fail_msg("%s", error.text);
	for (size_t i = 0; i < n; i++) {
		run(object, &kernels[i], launches, i + 1);
		gemm_code_release(&kernels[i].code);
	}
	emu_object_unref(object);
}

static void test_every_geometry_and_output_type(void **state)
{
	static const enum gemm_type types[] = { GEMM_F16, GEMM_BF16, GEMM_F32 };
	struct test_kernel kernels[ARRAY_SIZE(geometries) * 3] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(geometries); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(types); j++) {
			struct gemm_params params = geometry_params(&geometries[i]);
			char name[64];

			params.problem.c = params.problem.d = types[j];
			params.problem.use_bias = 1;
			params.problem.n_bias_types = 3;
			memcpy(params.problem.bias_types, (enum gemm_type[]){ GEMM_F32, GEMM_F16, GEMM_BF16 }, 3 * sizeof(enum gemm_type));
			params.problem.activation = params.problem.scale_ab = params.problem.scale_alpha_vec = true;
			params.non_temporal[3] = (int)n % 8;
			snprintf(name, sizeof(name), "geometry_%zu_%s", i, gemm_type_name(types[j]));
			generate(&kernels[n], params, 30 + n * 29 % 150, name);
			n++;
		}
	}
	run_kernels(kernels, n, 6);
}

/* Each feature there or not: a kernel must not look at arguments that its problem type lacks. */
static void test_every_set_of_features(void **state)
{
	struct test_kernel kernels[32] = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(kernels); i++) {
		struct gemm_params params = geometry_params(&geometries[i % ARRAY_SIZE(geometries)]);
		char name[64];

		params.problem.d = i % 3 ? GEMM_F16 : GEMM_F32;
		params.problem.use_beta = i & 1;
		params.problem.use_bias = i >> 1 & 1;
		params.problem.n_bias_types = params.problem.use_bias ? 1 : 0;
		params.problem.bias_types[0] = i & 4 ? GEMM_F16 : GEMM_F32;
		params.problem.activation = i >> 2 & 1;
		params.problem.scale_ab = i >> 3 & 1;
		params.problem.scale_alpha_vec = i >> 4 & 1;
		snprintf(name, sizeof(name), "features_%u", i);
		generate(&kernels[i], params, 100, name);
	}
	run_kernels(kernels, ARRAY_SIZE(kernels), 4);
}

/* A tensor whose columns lie gigabytes apart: only some of its pages exist. */
static void test_strides_beyond_4_gib(void **state)
{
	struct test_kernel kernel = { 0 };
	struct gemm_params params = geometry_params(&geometries[2]);
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct emu_object *object;
	struct emu_memory *memory;
	struct error error = { 0 };
	struct random random = { 5 };
	struct problem p;
	uint8_t kernarg[256] = { 0 };

	params.problem.c = params.problem.d = GEMM_F32;
	generate(&kernel, params, 64, "far");
	link_kernels(&kernel, 1, &elf);
	assert_int_equal(emu_object_load(elf.data, elf.size, &object, &error), 0);
	assert_int_equal(emu_memory_new(&memory), 0);
	do {
		problem_init(&p, &kernel.config, memory, &random);
	} while ((p.batch != 1 || p.m < 3 || p.n < 3 || p.null[C]) && (problem_release(&p), true));

	/* one region a column, at the far address; strideD1 and strideC1 near the largest */
	const uint64_t base[2] = { 0x100000000000, 0x200000000000 };
	const uint32_t stride = 0xfffffff1;
	float *columns[2] = { calloc((size_t)p.m * p.n, 4), calloc((size_t)p.m * p.n, 4) };
	for (uint32_t i = 0; i < p.m * p.n; i++)
		columns[1][i] = (float)random_below(&random, 100);
	for (unsigned t = 0; t < 2; t++)
		for (uint32_t n = 0; n < p.n; n++)
			assert_int_equal(emu_memory_add_at(memory, t ? "far C" : "far D", base[t] + (uint64_t)n * stride * 4, p.m * 4,
							   t ? EMU_READ : EMU_WRITE, columns[t] + (size_t)n * p.m), 0);
	p.address[D] = base[0];
	p.address[C] = base[1];
	p.stride1[D] = p.stride1[C] = stride;
	p.in_place = false;
	p.beta = 1;
	p.activation = 0;
	size_t size = pack(&p, kernarg);
	uint32_t workgroups = (uint32_t)(ceil_div(p.m, kernel.config.tensor[0].macro_tile) *
					 ceil_div(p.n, kernel.config.tensor[1].macro_tile));
	if (emu_launch(memory,
		       &(struct emu_launch){ .kernel = emu_object_kernel(object, 0), .grid = { workgroups, 1, 1 },
					     .workgroup = { kernel.config.threads, 1, 1 }, .kernarg = kernarg, .kernarg_size = size },
		       NULL, &error) < 0)
		fail_msg("%s", error.text);
	for (uint32_t n = 0; n < p.n; n++)
		for (uint32_t m = 0; m < p.m; m++) {
			float x = p.alpha * (float)at(&p, ACC, p.data[ACC], m, n, 0), want = x + columns[1][(size_t)n * p.m + m];
			float got = columns[0][(size_t)n * p.m + m];
			if (got != want && !(isnan(got) && isnan(want)))
				fail_msg("D[%u, %u] is %g instead of %g", m, n, got, want);
		}
	free(columns[0]);
	free(columns[1]);
	problem_release(&p);
	emu_memory_free(memory);
	emu_object_unref(object);
	gemm_code_release(&kernel.code);
}

/* 256 accumulators and every feature: the epilogue stays a small part of the instruction cache (64 KiB for two CUs). */
static void test_code_size(void **state)
{
	struct geometry geometry = { 16, 1, { 2, 2 }, { 8, 8 }, { 4, 1 } };
	struct gemm_params params = geometry_params(&geometry);
	struct test_kernel kernel = { 0 };

	params.problem.use_bias = 1;
	params.problem.n_bias_types = 2;
	params.problem.bias_types[1] = GEMM_F16;
	params.problem.activation = params.problem.scale_ab = params.problem.scale_alpha_vec = true;
	generate(&kernel, params, 200, "size");
	/* the fake loop has six instructions an accumulator */
	assert_in_range(kernel.code.instructions - 6 * 256, 256, 2500);
	gemm_code_release(&kernel.code);
}

static void test_missing_features_are_named(void **state)
{
	struct error error = { 0 };
	struct gemm_params params = default_params();

	assert_int_equal(gemm_epilogue_check(&params, &error), 0);
	params.problem.scale_cd = true;
	assert_int_equal(gemm_epilogue_check(&params, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "UseScaleCD");
	params = default_params();
	params.problem.d = GEMM_F8;
	assert_int_equal(gemm_epilogue_check(&params, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "output type f8");
	params = default_params();
	params.problem.use_bias = 2;
	assert_int_equal(gemm_epilogue_check(&params, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "UseBias 2");
	params.problem.use_bias = 1;
	assert_int_equal(gemm_epilogue_check(&params, &error), -EINVAL);
	params = default_params();
	params.problem.activation = true;
	params.problem.activation_compute = GEMM_F16;
	assert_int_equal(gemm_epilogue_check(&params, &error), -EOPNOTSUPP);
	assert_string_equal(error.text, "activation compute type f16");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_geometry_and_output_type),
		cmocka_unit_test(test_every_set_of_features),
		cmocka_unit_test(test_strides_beyond_4_gib),
		cmocka_unit_test(test_code_size),
		cmocka_unit_test(test_missing_features_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
