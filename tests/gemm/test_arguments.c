/* SPDX-License-Identifier: MIT */
/*
 * The layout of the arguments, and what a kernel makes of them: a kernel that only reads its arguments and writes down what it
 * found, one record for each tile.
 */
#include "tests/gemm/common.h"

#include "build/gemm/arguments.h"
#include "build/gemm/kernel.h"
#include "build/gemm/operands.h"
#include "tools/emulator/emulator.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- layout ----------------------------------------------------------------------------------------------------------- */

static unsigned layout_bytes(struct gemm_problem_type problem)
{
	struct gemm_argument_layout layout;

	gemm_argument_layout(&problem, &layout);
	assert_int_equal(layout.record_bytes, layout.bytes - 16);
	assert_true(layout.kernarg_bytes >= layout.bytes && layout.kernarg_bytes % 8 == 0);
	return layout.bytes;
}

/* Sizes of kernarg segments that hipBLASLt was seen to pass. */
static void test_sizes_are_those_of_the_host(void **state)
{
	struct gemm_problem_type bias = { .use_beta = true, .use_bias = 1, .activation = true, .scale_alpha_vec = true };
	struct gemm_problem_type scaled = bias, no_bias = bias;

	scaled.scale_ab = true;
	no_bias.use_bias = 0;
	assert_int_equal(layout_bytes(bias), 140);
	assert_int_equal(layout_bytes(scaled), 156);
	assert_int_equal(layout_bytes(no_bias), 124);
	assert_int_equal(layout_bytes((struct gemm_problem_type){ .use_beta = true }), 104);
}

static void test_offsets_are_those_of_the_host(void **state)
{
	const struct {
		enum gemm_argument argument;
		unsigned offset, user;
	} expected[] = {
		{ GEMM_ARG_NUM_WORKGROUPS, 12, GEMM_ARGUMENT_ABSENT },
		{ GEMM_ARG_SIZE_M, 16, 0 },
		{ GEMM_ARG_SIZE_K, 28, 12 },
		{ GEMM_ARG_D, 32, 16 },
		{ GEMM_ARG_B, 56, 40 },
		{ GEMM_ARG_STRIDE_D1, 64, 48 },
		{ GEMM_ARG_STRIDE_B2, 92, 76 },
		{ GEMM_ARG_ALPHA, 96, 80 },
		{ GEMM_ARG_BETA, 100, 96 },
		{ GEMM_ARG_SCALE_A, 104, 112 },
		{ GEMM_ARG_SCALE_B, 112, 120 },
		{ GEMM_ARG_SCALE_ALPHA_VEC, 120, 144 },
		{ GEMM_ARG_BIAS, 128, 152 },
		{ GEMM_ARG_BIAS_TYPE, 136, 160 },
		{ GEMM_ARG_BIAS_STRIDE, 140, GEMM_ARGUMENT_ABSENT },
		{ GEMM_ARG_ACTIVATION_ALPHA, 144, 184 },
		{ GEMM_ARG_ACTIVATION_TYPE, 152, 192 },
	};
	struct gemm_problem_type all = {
		.use_beta = true, .use_bias = 1, .activation = true, .scale_alpha_vec = true, .scale_ab = true,
	};
	struct gemm_argument_layout layout;

	gemm_argument_layout(&all, &layout);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(layout.offset[expected[i].argument], expected[i].offset);
		assert_int_equal(layout.user_offset[expected[i].argument], expected[i].user);
	}
}

/* ---- the kernel ------------------------------------------------------------------------------------------------------- */

enum { TILES = 32, BATCHES = 3, RECORDS = TILES * TILES * BATCHES };	/* at most, along M and along N */

struct record {
	uint32_t visits;
	uint32_t size[4], tile_m, tile_n, batch;
	uint32_t address[8];		/* D, C, A, B: low and high halves */
	uint32_t stride[8];
	uint32_t alpha, beta;
	uint32_t optional[11];		/* scaleA ... activationType */
};

static unsigned list_registers(const struct gemm_kernel *kernel, unsigned *list)
{
	const struct gemm_kernel *k = kernel;
	const unsigned words[] = { k->s_size_m, k->s_size_n, k->s_size_batch, k->s_size_k, k->s_tile_m, k->s_tile_n, k->s_batch,
				   k->s_addr_d64, k->s_addr_d64 + 1, k->s_addr_c64, k->s_addr_c64 + 1,
				   k->s_addr_a64, k->s_addr_a64 + 1, k->s_addr_b64, k->s_addr_b64 + 1,
				   k->s_stride_d1, k->s_stride_d2, k->s_stride_c1, k->s_stride_c2,
				   k->s_stride_a1, k->s_stride_a2, k->s_stride_b1, k->s_stride_b2, k->s_alpha, k->s_beta,
				   k->s_scale_a64, k->s_scale_a64 + 1, k->s_scale_b64, k->s_scale_b64 + 1,
				   k->s_scale_alpha_vec64, k->s_scale_alpha_vec64 + 1, k->s_bias64, k->s_bias64 + 1,
				   k->s_bias_type, k->s_bias_stride, k->s_activation_type };

	memcpy(list, words, sizeof(words));
	return ARRAY_SIZE(words);
}

/* Adds 1 to the first word of the tile's record and stores the SGPRs after it. The records are at the address given. */
static void write_record(struct gemm_kernel *kernel, uint64_t records)
{
	struct ir *ir = kernel->ir;
	unsigned s_base = regpool_take(&kernel->sgpr, 2, 2), s_at = regpool_take(&kernel->sgpr, 1, 1);
	unsigned list[64], n = list_registers(kernel, list);

	EMIT_LITERAL(ir, records, ISA_S_MOV_B32, s1(s_base), IR_LITERAL);
	EMIT_LITERAL(ir, records >> 32, ISA_S_MOV_B32, s1(s_base + 1), IR_LITERAL);
	EMIT_LITERAL(ir, TILES, ISA_S_MUL_I32, s1(s_at), s1(kernel->s_batch), IR_LITERAL);
	EMIT(ir, ISA_S_ADD_U32, s1(s_at), s1(s_at), s1(kernel->s_tile_n));
	EMIT_LITERAL(ir, TILES, ISA_S_MUL_I32, s1(s_at), s1(s_at), IR_LITERAL);
	EMIT(ir, ISA_S_ADD_U32, s1(s_at), s1(s_at), s1(kernel->s_tile_m));
	EMIT_LITERAL(ir, sizeof(struct record), ISA_S_MUL_I32, s1(s_at), s1(s_at), IR_LITERAL);
	EMIT(ir, ISA_S_ADD_U32, s1(s_base), s1(s_base), s1(s_at));
	EMIT(ir, ISA_S_ADDC_U32, s1(s_base + 1), s1(s_base + 1), isa_int(0));

	EMIT(ir, ISA_V_CMP_EQ_U32, s2(ISA_VCC), isa_int(0), v1(kernel->v_tid));
	EMIT(ir, ISA_S_MOV_B64, s2(ISA_EXEC), s2(ISA_VCC));
	EMIT(ir, ISA_V_MOV_B32, v1(1), isa_int(0));
	EMIT(ir, ISA_V_MOV_B32, v1(2), isa_int(1));
	EMIT(ir, ISA_GLOBAL_ATOMIC_ADD, v1(1), v1(2), s2(s_base));
	for (unsigned i = 0; i < n; i++) {
		EMIT(ir, ISA_V_MOV_B32, v1(3 + i), s1(list[i]));
		EMIT(ir, ISA_GLOBAL_STORE_DWORD, v1(1), v1(3 + i), s2(s_base))->offset = (int32_t)(4 + 4 * i);
	}
}

static void generate(struct test_kernel *kernel, uint64_t records)
{
	const struct isa *isa = isa_find("gfx942");
	struct gemm_argument_layout layout;
	struct error error = { 0 };
	struct ir_stats stats;
	struct ir *ir;

	assert_int_equal(ir_new(isa, &ir), 0);
	struct gemm_kernel writer = { .config = &kernel->config, .ir = ir, .end = ir_label_new(ir, "end") };
	regpool_init(&writer.sgpr, 102);
	regpool_init(&writer.vgpr, 64);
	gemm_write_arguments(&writer);
	write_record(&writer, records);
	ir_label(ir, writer.end);
	EMIT_LITERAL(ir, 0, ISA_S_ENDPGM, IR_IMM);
	assert_false(writer.sgpr.failed || writer.vgpr.failed);
	assert_int_equal(ir_finish(ir, &kernel->code.code, &error, &stats), 0);
	gemm_argument_layout(&kernel->config.params.problem, &layout);
	kernel->code.vgprs = stats.vgprs;
	kernel->code.sgprs = stats.sgprs;
	kernel->code.kernarg_bytes = layout.kernarg_bytes;
	kernel->code.workgroup_size = kernel->config.threads;
	snprintf(kernel->name, sizeof(kernel->name), "arguments");
	ir_unref(ir);
}

static struct gemm_params full_params(void)
{
	struct gemm_params params = default_params();

	params.problem.use_bias = 1;
	params.problem.n_bias_types = 1;
	params.problem.bias_types[0] = GEMM_F32;
	params.problem.activation = params.problem.scale_ab = params.problem.scale_alpha_vec = true;
	params.mi_wave_group[0] = 2;
	params.mi_wave_tile[1] = 3;	/* 32 x 48: one power of two, one not */
	return params;
}

/* ---- a launch --------------------------------------------------------------------------------------------------------- */

struct bench {
	struct test_kernel kernel;
	struct emu_object *object;
	struct emu_memory *memory;
	struct record *records;
	struct gemm_argument_layout layout;
};

static const uint64_t records_address = 0x123400000000;

static void bench_init(struct bench *bench, struct gemm_params params)
{
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct error error = { 0 };

	*bench = (struct bench){ 0 };
	complete_params(&params);
	assert_int_equal(gemm_config_init(&params, &bench->kernel.config, &error), 0);
	generate(&bench->kernel, records_address);
	link_kernels(&bench->kernel, 1, &elf);
	assert_int_equal(emu_object_load(elf.data, elf.size, &bench->object, &error), 0);
	assert_int_equal(emu_memory_new(&bench->memory), 0);
	bench->records = calloc(RECORDS, sizeof(struct record));
	assert_int_equal(emu_memory_add_at(bench->memory, "records", records_address, RECORDS * sizeof(struct record),
					   EMU_READ | EMU_WRITE, bench->records), 0);
	gemm_argument_layout(&params.problem, &bench->layout);
}

static void bench_release(struct bench *bench)
{
	emu_memory_free(bench->memory);
	emu_object_unref(bench->object);
	free(bench->records);
	gemm_code_release(&bench->kernel.code);
}

/* Every argument a value of its own: 0x1000 times its number, where no test chooses another. */
static uint64_t usual_value(enum gemm_argument argument)
{
	return argument == GEMM_ARG_ALPHA ? 0x3f800000 : (uint64_t)argument * (gemm_argument_info(argument)->pointer ? 0x1000100010000 : 0x1000);
}

static void put(uint8_t *base, const uint16_t *offsets, enum gemm_argument argument, uint64_t value)
{
	if (offsets[argument] != GEMM_ARGUMENT_ABSENT)
		memcpy(base + offsets[argument], &value, gemm_argument_info(argument)->size);
}

static void put_gemm(uint8_t *base, const uint16_t *offsets, uint32_t m, uint32_t n, uint32_t batch, uint32_t k)
{
	for (enum gemm_argument i = GEMM_ARG_D; i < GEMM_ARGUMENT_COUNT; i++)
		put(base, offsets, i, usual_value(i));
	put(base, offsets, GEMM_ARG_SIZE_M, m);
	put(base, offsets, GEMM_ARG_SIZE_N, n);
	put(base, offsets, GEMM_ARG_SIZE_BATCH, batch);
	put(base, offsets, GEMM_ARG_SIZE_K, k);
}

static void put_header(uint8_t *kernarg, const struct gemm_argument_layout *layout, uint32_t count, int wgm, unsigned dies,
		       uint32_t workgroups)
{
	put(kernarg, layout->offset, GEMM_ARG_GEMM_COUNT, count);
	put(kernarg, layout->offset, GEMM_ARG_INTERNAL_ARGS, 0xabcd0001);
	put(kernarg, layout->offset, GEMM_ARG_INTERNAL_ARGS1, (uint16_t)wgm | dies << 16 | 0xffc00000);
	put(kernarg, layout->offset, GEMM_ARG_NUM_WORKGROUPS, workgroups);
}

static void run(struct bench *bench, const uint8_t *kernarg, size_t size, uint32_t workgroups)
{
	struct error error = { 0 };

	memset(bench->records, 0, RECORDS * sizeof(struct record));
	int r = emu_launch(bench->memory,
			   &(struct emu_launch){
				   .kernel = emu_object_kernel(bench->object, 0),
				   .grid = { workgroups, 1, 1 },
				   .workgroup = { bench->kernel.config.threads, 1, 1 },
				   .kernarg = kernarg,
				   .kernarg_size = size,
			   },
			   NULL, &error);
	if (r < 0)
		fail_msg("%s", error.text);
}

/* Exactly the tiles below these counts were visited, each once. */
static void check_visits(const struct bench *bench, uint32_t tiles_m, uint32_t tiles_n, uint32_t batches)
{
	for (uint32_t b = 0; b < BATCHES; b++)
		for (uint32_t n = 0; n < TILES; n++)
			for (uint32_t m = 0; m < TILES; m++)
				assert_int_equal(bench->records[(b * TILES + n) * TILES + m].visits,
						 m < tiles_m && n < tiles_n && b < batches);
}

static void check_values(const struct record *record, uint32_t m, uint32_t n, uint32_t batch, uint32_t k, bool user)
{
	assert_int_equal(record->size[0], m);
	assert_int_equal(record->size[1], n);
	assert_int_equal(record->size[2], batch);
	assert_int_equal(record->size[3], k);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(record->address[2 * i] | (uint64_t)record->address[2 * i + 1] << 32, usual_value(GEMM_ARG_D + i));
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(record->stride[i], usual_value(GEMM_ARG_STRIDE_D1 + i));
	assert_int_equal(record->alpha, 0x3f800000);
	assert_int_equal(record->beta, usual_value(GEMM_ARG_BETA));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(record->optional[2 * i] | (uint64_t)record->optional[2 * i + 1] << 32,
				 usual_value(GEMM_ARG_SCALE_A + i));
	assert_int_equal(record->optional[8], usual_value(GEMM_ARG_BIAS_TYPE));
	assert_int_equal(record->optional[9], user ? 0 : usual_value(GEMM_ARG_BIAS_STRIDE));
	assert_int_equal(record->optional[10], usual_value(GEMM_ARG_ACTIVATION_TYPE));
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

/* Whatever WGM and WGMXCC are, every tile is computed once, and workgroups without a tile end. */
static void test_mapping_is_one_to_one(void **state)
{
	static const struct { int wgm; unsigned dies; } maps[] = {
		{ 1, 1 }, { 2, 1 }, { 8, 1 }, { 5, 8 }, { 1, 8 }, { 3, 2 }, { 0, 0 }, { -4, 1 }, { 32767, 32 }, { -32768, 3 }, { 7, 4 },
	};
	static const uint32_t sizes[][3] = { { 1, 1, 1 }, { 32, 48, 1 }, { 33, 49, 2 }, { 320, 97, 3 }, { 31, 48 * 7, 1 }, { 320, 336, 2 } };
	struct bench bench;

	bench_init(&bench, full_params());
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(sizes); j++) {
			uint32_t m = (sizes[j][0] + 31) / 32, n = (sizes[j][1] + 47) / 48, batch = sizes[j][2];
			uint8_t kernarg[256] = { 0 };

			put_header(kernarg, &bench.layout, 1, maps[i].wgm, maps[i].dies, m * n * batch);
			put_gemm(kernarg, bench.layout.offset, sizes[j][0], sizes[j][1], batch, 5);
			run(&bench, kernarg, bench.layout.bytes, m * n * batch + 3);
			check_visits(&bench, m, n, batch);
			check_values(&bench.records[0], sizes[j][0], sizes[j][1], batch, 5, false);
		}
	}
	bench_release(&bench);
}

static void test_empty_problems_end(void **state)
{
	static const uint32_t sizes[][3] = { { 0, 5, 1 }, { 5, 0, 1 }, { 5, 5, 0 } };
	struct bench bench;

	bench_init(&bench, full_params());
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint8_t kernarg[256] = { 0 };

		put_header(kernarg, &bench.layout, 1, 1, 1, 0);
		put_gemm(kernarg, bench.layout.offset, sizes[i][0], sizes[i][1], sizes[i][2], 5);
		run(&bench, kernarg, bench.layout.bytes, 2);
		check_visits(&bench, 0, 0, 0);
	}
	bench_release(&bench);
}

/* Without alpha no element of A or B is read: the kernel sees K of 0. The host passes -0 as well as 0. */
static void test_alpha_of_zero_clears_k(void **state)
{
	static const struct { uint32_t alpha, k; } cases[] = { { 0, 0 }, { 0x80000000, 0 }, { 1, 5 }, { 0x7fc00000, 5 } };
	struct bench bench;

	bench_init(&bench, full_params());
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t kernarg[256] = { 0 };

		put_header(kernarg, &bench.layout, 1, 1, 1, 1);
		put_gemm(kernarg, bench.layout.offset, 4, 4, 1, 5);
		put(kernarg, bench.layout.offset, GEMM_ARG_ALPHA, cases[i].alpha);
		run(&bench, kernarg, bench.layout.bytes, 1);
		assert_int_equal(bench.records[0].size[3], cases[i].k);
	}
	bench_release(&bench);
}

/* Groups: workgroups find their GEMM behind GEMMs of no tile, in first, middle and last place. The GEMM's own M tells which it was. */
static void run_group(struct bench *bench, unsigned type, unsigned count, unsigned wanted)
{
	bool user = type == GEMM_ARGUMENTS_USER;
	uint32_t record = user ? GEMM_USER_BYTES : bench->layout.record_bytes, table = user ? 0 : 4 * count, workgroups = 0;
	size_t size = table + count * record;
	uint8_t kernarg[GEMM_GROUPED_BYTES] = { 0 }, *device;
	uint64_t pointer;

	assert_int_equal(emu_memory_add(bench->memory, "arguments", size, EMU_READ, NULL, &pointer), 0);
	device = emu_memory_host(bench->memory, pointer, size);
	memset(device, 0xdd, size);
	for (unsigned i = 0; i < count; i++) {
		uint8_t fields[256];

		/* GEMM `wanted` has 2 x 3 tiles, two batches; the others have M of 0, or one tile that falls outside of the records */
		bool empty = i % 3 == 1 && i != wanted;
		memset(fields, 0x77, sizeof(fields));
		put_gemm(fields, user ? bench->layout.user_offset : bench->layout.offset, i == wanted ? 64 : empty ? 0 : 7,
			 i == wanted ? 100 : 9, i == wanted ? 2 : 1, 40 + i);
		memcpy(device + table + i * record, fields + (user ? 0 : GEMM_ARGUMENT_HEADER), record);
		if (!user)
			memcpy(device + 4 * i, &workgroups, 4);
		workgroups += i == wanted ? 2 * 3 * 2 : !empty;
	}
	put_header(kernarg, &bench->layout, count | type << 30, 2, 1, workgroups);
	memcpy(kernarg + GEMM_GROUPED_POINTER, &pointer, 8);
	run(bench, kernarg, sizeof(kernarg), workgroups + 1);
	for (uint32_t b = 0; b < 2; b++)
		for (uint32_t n = 0; n < 3; n++)
			for (uint32_t m = 0; m < 2; m++) {
				bool shared = !b && !n && !m;	/* the tile that every GEMM of one tile has, in any order */
				const struct record *found = &bench->records[(b * TILES + n) * TILES + m];

				if (shared)
					continue;
				assert_int_equal(found->visits, 1);
				check_values(found, 64, 100, 2, 40 + wanted, user);
			}
}

static void test_groups_are_searched(void **state)
{
	struct bench bench;

	bench_init(&bench, full_params());
	for (unsigned type = GEMM_ARGUMENTS_GROUPED; type <= GEMM_ARGUMENTS_USER; type++)
		for (unsigned count = 1; count <= 9; count++)
			for (unsigned wanted = 0; wanted < count; wanted++)
				run_group(&bench, type, count, wanted);
	bench_release(&bench);
}

/* A general batched launch passes arrays of pointers; arrays of tensors that are not read may be null. */
static void test_batch_pointers(void **state)
{
	uint64_t arrays[4][3], addresses[4];
	struct gemm_params params = full_params();
	struct bench bench;

	params.problem.strided_batched = false;
	bench_init(&bench, params);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned b = 0; b < 3; b++)
			arrays[i][b] = 0x1000000 * (i + 1) + b;
		assert_int_equal(emu_memory_add(bench.memory, "pointers", sizeof(arrays[i]), EMU_READ, arrays[i], &addresses[i]), 0);
	}
	for (int read = 0; read < 2; read++) {
		uint8_t kernarg[256] = { 0 };

		put_header(kernarg, &bench.layout, 1, 1, 1, 3);
		put_gemm(kernarg, bench.layout.offset, 9, 9, 3, read ? 5 : 0);
		for (unsigned i = 0; i < 4; i++)
			put(kernarg, bench.layout.offset, GEMM_ARG_D + i, i == 0 || read ? addresses[i] : 0);
		put(kernarg, bench.layout.offset, GEMM_ARG_BETA, read ? 0x3f800000 : 0x80000000);
		put(kernarg, bench.layout.offset, GEMM_ARG_BIAS, 0);
		run(&bench, kernarg, bench.layout.bytes, 3);
		for (uint32_t b = 0; b < 3; b++) {
			const struct record *found = &bench.records[b * TILES * TILES];
			assert_int_equal(found->visits, 1);
			for (unsigned i = 0; i < 4; i++)
				assert_int_equal(found->address[2 * i], i == 0 || read ? arrays[i][b] : 0);
			assert_int_equal(found->stride[1], 0);	/* D's batch stride */
			assert_int_equal(found->stride[0], usual_value(GEMM_ARG_STRIDE_D1));
		}
	}
	bench_release(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_those_of_the_host),
		cmocka_unit_test(test_offsets_are_those_of_the_host),
		cmocka_unit_test(test_mapping_is_one_to_one),
		cmocka_unit_test(test_empty_problems_end),
		cmocka_unit_test(test_alpha_of_zero_clears_k),
		cmocka_unit_test(test_groups_are_searched),
		cmocka_unit_test(test_batch_pointers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
