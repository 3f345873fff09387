/* SPDX-License-Identifier: MIT */
/*
 * The loop over K, run in the emulator on integers: every sum is exact. Tensors are regions of their own, exact to the byte, with
 * NaN wherever no element is; the emulator refuses any access beside them. Every launch runs with both ways in which hardware
 * may check the range of a wide load.
 */
#include "tests/gemm/common.h"

#include "build/gemm/arguments.h"
#include "tools/emulator/emulator.h"
#include "tools/verify/values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

struct loop_case {
	const char *name;
	enum gemm_type a, b, in;
	bool trans_a, trans_b;
	int mi, group[2], tile[2], depth_u, grvw[2], transpose_lds, pad[2], block[2], lrvw, vector[2], one_buffer, prefetch, swap;
};

static const struct loop_case cases[] = {
#define CASE(name, a, b, in, ...) { name, GEMM_##a, GEMM_##b, GEMM_##in, __VA_ARGS__ },
#include "tests/gemm/loop_cases.inc"
#undef CASE
};

enum { N_CASES = ARRAY_SIZE(cases) };

static void case_params(const struct loop_case *c, struct gemm_params *params)
{
	int k = c->mi == 16 ? 16 : 8;

	*params = default_params();
	params->problem.a = c->a;
	params->problem.b = c->b;
	params->problem.mfma_in = c->in;
	params->problem.c = params->problem.d = GEMM_F32;
	params->problem.trans_a = c->trans_a;
	params->problem.trans_b = c->trans_b;
	params->mi[0] = params->mi[1] = c->mi;
	params->mi[2] = c->in == GEMM_F32 ? k / 4 : k;
	params->depth_u = c->depth_u;
	params->transpose_lds = c->transpose_lds;
	params->local_read_vector_width = c->lrvw;
	params->one_lds_buffer = c->one_buffer;
	params->prefetch_global_read = c->prefetch;
	params->source_swap = c->swap;
	for (int t = 0; t < 2; t++) {
		params->mi_wave_group[t] = c->group[t];
		params->mi_wave_tile[t] = c->tile[t];
		params->global_read_vector_width[t] = c->grvw[t];
		params->lds_pad[t] = c->pad[t];
		params->lds_block_size_per_pad[t] = c->block[t];
		params->vector_width[t] = c->vector[t];
	}
	complete_params(params);
}

struct kernels {
	struct test_kernel list[N_CASES];
	struct emu_object *object;
};

static int make_kernels(void **state)
{
	static struct kernels kernels;
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct error error = { 0 };

	for (size_t i = 0; i < N_CASES; i++) {
		struct test_kernel *kernel = &kernels.list[i];
		struct gemm_params params;

		case_params(&cases[i], &params);
		snprintf(kernel->name, sizeof(kernel->name), "%s", cases[i].name);
		if (gemm_config_init(&params, &kernel->config, &error) < 0 ||
		    gemm_generate(isa_find("gfx942"), &kernel->config, &kernel->code, &error) < 0) {
			print_error("%s: %s\n", cases[i].name, error.text);
			return -1;
		}
	}
	link_kernels(kernels.list, N_CASES, &elf);
	if (emu_object_load(elf.data, elf.size, &kernels.object, &error) < 0) {
		print_error("%s\n", error.text);
		return -1;
	}
	*state = &kernels;
	return 0;
}

static int free_kernels(void **state)
{
	struct kernels *kernels = *state;

	for (size_t i = 0; i < N_CASES; i++)
		gemm_code_release(&kernels->list[i].code);
	kernels->object = emu_object_unref(kernels->object);
	return 0;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

struct shape {
	unsigned m, n, k, batch;
	unsigned leading;		/* LEADING_* */
	bool broadcast;			/* batch stride 0 */
	unsigned misaligned;		/* elements by which A and B begin behind an aligned address */
};

enum { LEADING_TIGHT, LEADING_PADDED, LEADING_ZERO, LEADING_ONE, LEADING_HUGE };

#define TILE_SPAN (3ull << 30)	/* bytes that a macro tile may span with a huge stride: the host allows no 4 GiB */

struct operand {
	enum gemm_type type;
	bool tlu;
	unsigned rows, k, batch;
	unsigned tile;			/* macro tile or depthU: how many leading dimensions a tile spans */
	uint32_t stride1, stride2;
	size_t size;			/* bytes */
	uint8_t *data;
	uint64_t address;
};

static size_t element_offset(const struct operand *operand, unsigned batch, unsigned row, unsigned k)
{
	size_t at = (size_t)batch * operand->stride2;

	at += operand->tlu ? (size_t)k * operand->stride1 + row : (size_t)row * operand->stride1 + k;
	return at * gemm_type_bytes(operand->type);
}

static uint32_t leading_stride(const struct operand *operand, unsigned leading)
{
	unsigned coalesced = operand->tlu ? operand->rows : operand->k;

	switch (leading) {
	case LEADING_PADDED:
		return coalesced + 3;
	case LEADING_ZERO:
		return 0;
	case LEADING_ONE:
		return 1;
	case LEADING_HUGE:
		return (uint32_t)(TILE_SPAN / gemm_type_bytes(operand->type) / operand->tile);
	default:
		return coalesced;
	}
}

static void fill_nan(const struct operand *operand)
{
	unsigned bytes = gemm_type_bytes(operand->type);
	static const uint32_t f32 = 0x7fc00000;
	static const uint16_t f16 = 0x7e00, bf16 = 0x7fc0;
	static const uint8_t f8 = 0x80;
	const void *nan = operand->type == GEMM_F32 ? (const void *)&f32 : operand->type == GEMM_F16 ? (const void *)&f16 :
			  operand->type == GEMM_BF16 ? (const void *)&bf16 : (const void *)&f8;

	for (size_t at = 0; at < operand->size; at += bytes)
		memcpy(operand->data + at, nan, bytes);
}

static void make_operand(struct operand *operand, const struct shape *shape, struct random *random, struct emu_memory *memory,
			 const char *name, uint64_t base)
{
	unsigned coalesced = operand->tlu ? operand->rows : operand->k, bytes = gemm_type_bytes(operand->type);

	operand->stride1 = leading_stride(operand, shape->leading);
	operand->stride2 = shape->broadcast ? 0 : operand->stride1 * (operand->tlu ? operand->k : operand->rows) + coalesced;
	if (operand->rows && operand->k)
		operand->size = element_offset(operand, operand->batch - 1, operand->rows - 1, operand->k - 1) + bytes;
	operand->data = mmap(NULL, operand->size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(operand->data, MAP_FAILED);
	if (shape->leading != LEADING_HUGE)	/* whose gaps are left to pages that do not exist */
		fill_nan(operand);
	for (unsigned b = 0; b < operand->batch; b++)
		for (unsigned row = 0; row < operand->rows; row++)
			for (unsigned k = 0; k < operand->k; k++)
				value_store(operand->type, operand->data + element_offset(operand, b, row, k),
					    (int)random_below(random, 5) - 2);
	operand->address = base + (uint64_t)shape->misaligned * bytes;
	assert_int_equal(emu_memory_add_at(memory, name, operand->address, operand->size, EMU_READ, operand->data), 0);
}

static float expected(const struct operand *a, const struct operand *b, unsigned batch, unsigned row, unsigned column)
{
	double sum = 0;

	for (unsigned k = 0; k < a->k; k++)
		sum += value_load(a->type, a->data + element_offset(a, batch, row, k)) *
		       value_load(b->type, b->data + element_offset(b, batch, column, k));
	return (float)sum;
}

/* ---- launches --------------------------------------------------------------------------------------------------------- */

static void place(uint8_t *kernarg, const struct gemm_argument_layout *layout, enum gemm_argument argument, uint64_t value)
{
	memcpy(kernarg + layout->offset[argument], &value, gemm_argument_info(argument)->size);
}

static void run(const struct test_kernel *test, const struct emu_object *object, const struct shape *shape, unsigned flags)
{
	const struct gemm_config *config = &test->config;
	struct operand a = { .type = config->tensor[0].type, .tlu = config->tensor[0].tlu, .rows = shape->m, .k = shape->k,
			     .batch = shape->batch, .tile = config->tensor[0].tlu ? config->depth_u : config->tensor[0].macro_tile };
	struct operand b = { .type = config->tensor[1].type, .tlu = config->tensor[1].tlu, .rows = shape->n, .k = shape->k,
			     .batch = shape->batch, .tile = config->tensor[1].tlu ? config->depth_u : config->tensor[1].macro_tile };
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct random random = { 7 };
	struct gemm_argument_layout layout;
	uint8_t kernarg[256] = { 0 };
	uint64_t address_d;
	struct error error = { 0 };
	size_t elements = (size_t)shape->m * shape->n;
	_cleanup_free_ float *d = malloc(elements * shape->batch * sizeof(*d));

	assert_non_null(d);
	memset(d, 0xff, elements * shape->batch * sizeof(*d));
	assert_int_equal(emu_memory_new(&memory), 0);
	make_operand(&a, shape, &random, memory, "A", 0x100000000000);
	make_operand(&b, shape, &random, memory, "B", 0x200000000000);
	assert_int_equal(emu_memory_add(memory, "D", elements * shape->batch * sizeof(*d), EMU_READ | EMU_WRITE, d, &address_d), 0);

	uint32_t workgroups = (uint32_t)(ceil_div(shape->m, config->tensor[0].macro_tile) *
					 ceil_div(shape->n, config->tensor[1].macro_tile) * shape->batch);
	const struct {
		enum gemm_argument argument;
		uint64_t value;
	} values[] = {
		{ GEMM_ARG_GEMM_COUNT, 1 }, { GEMM_ARG_INTERNAL_ARGS1, 1 }, { GEMM_ARG_NUM_WORKGROUPS, workgroups },
		{ GEMM_ARG_SIZE_M, shape->m }, { GEMM_ARG_SIZE_N, shape->n }, { GEMM_ARG_SIZE_BATCH, shape->batch },
		{ GEMM_ARG_SIZE_K, shape->k }, { GEMM_ARG_D, address_d }, { GEMM_ARG_A, a.address }, { GEMM_ARG_B, b.address },
		{ GEMM_ARG_STRIDE_D1, shape->m }, { GEMM_ARG_STRIDE_D2, elements },
		{ GEMM_ARG_STRIDE_A1, a.stride1 }, { GEMM_ARG_STRIDE_A2, a.stride2 },
		{ GEMM_ARG_STRIDE_B1, b.stride1 }, { GEMM_ARG_STRIDE_B2, b.stride2 },
		{ GEMM_ARG_ALPHA, 0x3f800000 },
	};
	gemm_argument_layout(&config->params.problem, &layout);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		place(kernarg, &layout, values[i].argument, values[i].value);

	int r = emu_launch(memory,
			   &(struct emu_launch){
				   .kernel = emu_object_find(object, test->name),
				   .grid = { workgroups, 1, 1 },
				   .workgroup = { config->threads, 1, 1 },
				   .kernarg = kernarg,
				   .kernarg_size = layout.bytes,
				   .flags = flags,
			   },
			   NULL, &error);
	if (r < 0)
		fail_msg("%s: %u x %u x %u, leading %u: %s", test->name, shape->m, shape->n, shape->k, shape->leading, error.text);
	for (unsigned n = 0; n < shape->batch; n++)
		for (unsigned column = 0; column < shape->n; column++)
			for (unsigned row = 0; row < shape->m; row++) {
				float found = d[n * elements + (size_t)column * shape->m + row];
				float want = expected(&a, &b, n, row, column);
				if (found != want)
					fail_msg("%s: %u x %u x %u, leading %u: D[%u, %u, %u] is %g, not %g", test->name, shape->m,
						 shape->n, shape->k, shape->leading, row, column, n, found, want);
			}
	munmap(a.data, a.size + 1);
	munmap(b.data, b.size + 1);
}

static void run_all(void **state, const struct shape *(*shape_of)(const struct gemm_config *config, unsigned i))
{
	const struct kernels *kernels = *state;

	for (size_t i = 0; i < N_CASES; i++) {
		const struct shape *shape;
		for (unsigned n = 0; (shape = shape_of(&kernels->list[i].config, n)) != NULL; n++) {
			run(&kernels->list[i], kernels->object, shape, 0);
			run(&kernels->list[i], kernels->object, shape, EMU_RANGE_WHOLE);
		}
	}
}

/* ---- shapes ----------------------------------------------------------------------------------------------------------- */

/* From nothing to the first steady iteration of the main loop and a rest. */
static const struct shape *k_shape(const struct gemm_config *config, unsigned i)
{
	static _Thread_local struct shape shape;
	unsigned du = config->depth_u, k[] = { 0, 1, du - 1, du, du + 1, 2 * du, 3 * du, 4 * du + 5 };

	if (i >= ARRAY_SIZE(k))
		return NULL;
	shape = (struct shape){ .m = config->tensor[0].macro_tile - 3, .n = 7, .k = k[i], .batch = 1, .leading = i % 2 };
	return &shape;
}

static void test_every_length_of_k(void **state)
{
	run_all(state, k_shape);
}

/* Whole vectors, partial vectors and single elements at the end of either free dimension; odd addresses. */
static const struct shape *edge_shape(const struct gemm_config *config, unsigned i)
{
	static _Thread_local struct shape shape;
	unsigned m = config->tensor[0].macro_tile, n = config->tensor[1].macro_tile, k = config->depth_u * 2 + 1;
	const struct shape shapes[] = {
		{ .m = 1, .n = 1, .k = k, .batch = 1, .misaligned = 1 },
		{ .m = m, .n = n, .k = k, .batch = 1 },
		{ .m = m + 1, .n = n - 1, .k = k, .batch = 1, .misaligned = 3 },
		{ .m = m - 1, .n = n + 1, .k = k - 1, .batch = 1, .leading = LEADING_PADDED, .misaligned = 1 },
		{ .m = 2 * m + 8, .n = 4, .k = k - 1, .batch = 1 },
	};

	if (i >= ARRAY_SIZE(shapes))
		return NULL;
	shape = shapes[i];
	return &shape;
}

static void test_every_end_of_the_free_dimensions(void **state)
{
	run_all(state, edge_shape);
}

static const struct shape *stride_shape(const struct gemm_config *config, unsigned i)
{
	static _Thread_local struct shape shape;
	unsigned m = config->tensor[0].macro_tile + 3, du = config->depth_u;
	const struct shape shapes[] = {
		{ .m = m, .n = 3, .k = 2 * du + 3, .batch = 1, .leading = LEADING_ZERO },
		{ .m = m, .n = 9, .k = 2 * du + 3, .batch = 1, .leading = LEADING_ONE },
		{ .m = 5, .n = 2, .k = du + 3, .batch = 3, .leading = LEADING_PADDED },
		{ .m = 5, .n = 2, .k = du + 3, .batch = 2, .broadcast = true },
	};

	if (i >= ARRAY_SIZE(shapes))
		return NULL;
	shape = shapes[i];
	return &shape;
}

static void test_strides_of_zero_and_one_and_batches(void **state)
{
	run_all(state, stride_shape);
}

/* Tiles of 3 GiB: the second one already lies behind the reach of 32 bits. */
static const struct shape *huge_shape(const struct gemm_config *config, unsigned i)
{
	static _Thread_local struct shape shape;
	bool wanted = config->params.mi_wave_tile[0] * config->params.mi_wave_tile[1] <= 4;

	shape = (struct shape){ .m = config->tensor[0].macro_tile + 3, .n = config->tensor[1].macro_tile + 1,
				.k = config->depth_u * 2 + 3, .batch = 1, .leading = LEADING_HUGE };
	return i == 0 && wanted ? &shape : NULL;
}

static void test_tensors_beyond_4_gib(void **state)
{
	run_all(state, huge_shape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length_of_k),
		cmocka_unit_test(test_every_end_of_the_free_dimensions),
		cmocka_unit_test(test_strides_of_zero_and_one_and_batches),
		cmocka_unit_test(test_tensors_beyond_4_gib),
	};

	return cmocka_run_group_tests(tests, make_kernels, free_kernels);
}
