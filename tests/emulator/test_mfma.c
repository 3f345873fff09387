/* SPDX-License-Identifier: MIT */
/*
 * Matrix instructions against a plain triple loop in double: kernels/mfma.c loads and stores registers lane by lane, and the layouts
 * here are written down from the CDNA3 ISA document ("Matrix arithmetic instructions", register usage), not taken from the emulator.
 * Inputs are small integers, so that every sum is exact in any order.
 */
#include "tests/emulator/compile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum type { F16, BF16, F32, F64, I8, FP8, BF8 };

struct shape {
	const char *name;	/* kernel */
	unsigned m, k, blocks;
	enum type a, b;
	unsigned cbsz, abid, blgp;
};

static const struct shape shapes[] = {
	{ "f32_16x16x16f16", 16, 16, 1, F16, F16 }, { "f32_32x32x8f16", 32, 8, 1, F16, F16 }, { "f32_32x32x4f16", 32, 4, 2, F16, F16 },
	{ "f32_16x16x4f16", 16, 4, 4, F16, F16 }, { "f32_4x4x4f16", 4, 4, 16, F16, F16 },
	{ "f32_16x16x16bf16_1k", 16, 16, 1, BF16, BF16 }, { "f32_32x32x8bf16_1k", 32, 8, 1, BF16, BF16 },
	{ "f32_16x16x4f32", 16, 4, 1, F32, F32 }, { "f32_32x32x2f32", 32, 2, 1, F32, F32 }, { "f32_4x4x1f32", 4, 1, 16, F32, F32 },
	{ "f32_32x32x1f32", 32, 1, 2, F32, F32 }, { "f32_16x16x1f32", 16, 1, 4, F32, F32 },
	{ "f32_16x16x8_xf32", 16, 8, 1, F32, F32 }, { "f32_32x32x4_xf32", 32, 4, 1, F32, F32 },
	{ "f64_16x16x4f64", 16, 4, 1, F64, F64 }, { "f64_4x4x4f64", 4, 4, 4, F64, F64 },
	{ "i32_16x16x32_i8", 16, 32, 1, I8, I8 }, { "i32_32x32x16_i8", 32, 16, 1, I8, I8 }, { "i32_32x32x4i8", 32, 4, 2, I8, I8 },
	{ "i32_4x4x4i8", 4, 4, 16, I8, I8 },
	{ "f32_16x16x32_fp8_fp8", 16, 32, 1, FP8, FP8 }, { "f32_16x16x32_bf8_fp8", 16, 32, 1, BF8, FP8 },
	{ "f32_16x16x32_fp8_bf8", 16, 32, 1, FP8, BF8 }, { "f32_32x32x16_bf8_bf8", 32, 16, 1, BF8, BF8 },
	{ "f32_32x32x16_fp8_fp8", 32, 16, 1, FP8, FP8 },
	{ "f32_32x32x1f32_1_1_0", 32, 1, 2, F32, F32, 1, 1, 0 }, { "f32_16x16x4f16_2_3_0", 16, 4, 4, F16, F16, 2, 3, 0 },
	{ "f32_16x16x4f16_1_0_4", 16, 4, 4, F16, F16, 1, 0, 4 }, { "f32_4x4x4f16_3_5_1", 4, 4, 16, F16, F16, 3, 5, 1 },
	{ "i32_4x4x4i8_4_9_3", 4, 4, 16, I8, I8, 4, 9, 3 }, { "f32_4x4x1f32_2_2_2", 4, 1, 16, F32, F32, 2, 2, 2 },
	{ "i32_32x32x4i8_0_0_7", 32, 4, 2, I8, I8, 0, 0, 7 },
};

static size_t size_of(enum type type)
{
	static const size_t sizes[] = { 2, 2, 4, 8, 1, 1, 1 };
	return sizes[type];
}

/* Encodes an integer from -4 to 4. */
static void encode(enum type type, int value, void *place)
{
	float f = (float)value;
	double d = value;
	_Float16 half = (_Float16)f;
	uint32_t word;
	unsigned magnitude = (unsigned)abs(value), exponent = 0;
	memcpy(&word, &f, sizeof(word));
	while (magnitude >> exponent > 1)
		exponent++;
	unsigned bits = type == FP8 ? 3 : 2, bias = type == FP8 ? 8 : 16;
	uint8_t byte = value == 0 ? 0 : (uint8_t)((value < 0) << 7 | (exponent + bias) << bits | ((magnitude << bits >> exponent) & ((1u << bits) - 1)));
	uint16_t high = (uint16_t)(word >> 16);
	int8_t integer = (int8_t)value;
	const void *encoded[] = { &half, &high, &f, &d, &integer, &byte, &byte };
	memcpy(place, encoded[type], size_of(type));
}

static int small_value(unsigned seed)		/* -4 .. 4: exact in all types */
{
	return (int)(seed * 2654435761u >> 24) % 9 - 4;
}

/* A[block][i][k], B[block][k][j], C and D[block][i][j] of one instruction. */
struct matrices {
	int a[16][32][32], b[16][32][32];
	double c[16][32][32], d[16][32][32];
};

static void fill(const struct shape *shape, struct matrices *matrices)
{
	for (unsigned block = 0; block < shape->blocks; block++) {
		for (unsigned i = 0; i < shape->m; i++) {
			for (unsigned k = 0; k < shape->k; k++) {
				matrices->a[block][i][k] = small_value(block * 1000 + i * 37 + k + 1);
				matrices->b[block][k][i] = small_value(block * 777 + i * 91 + k * 3 + 5);
			}
			for (unsigned j = 0; j < shape->m; j++)
				matrices->c[block][i][j] = (int)(i * 3 + j * 5 + block) % 23 - 11;
		}
	}
}

/* Where value k of row i (column i of B) lies: lane, and element in the lane's registers. */
static void source_place(const struct shape *shape, unsigned block, unsigned i, unsigned k, unsigned *ret_lane, unsigned *ret_element)
{
	unsigned lanes_for_k = 64 / (shape->m * shape->blocks), in_lane = shape->k / lanes_for_k;
	*ret_lane = k / in_lane * shape->m * shape->blocks + block * shape->m + i;
	*ret_element = k % in_lane;
}

/* The lane whose B a lane multiplies with, by blgp (CDNA3 ISA, "Matrix arithmetic instructions", broadcast of B). */
static unsigned taken_lane(unsigned blgp, unsigned lane)
{
	switch (blgp) {
	case 0:
		return lane;
	case 1:
		return lane % 32;
	case 2:
		return lane % 32 + 32;
	case 3:
		return (lane + 16) % 64;
	default:
		return (blgp - 4) * 16 + lane % 16;
	}
}

/* D in double. cbsz makes groups of 2^cbsz blocks that all take A from the group's block number abid. */
static void multiply(const struct shape *shape, struct matrices *x)
{
	static int by_lane[64][16];
	unsigned lane, place;
	for (unsigned block = 0; block < shape->blocks; block++) {
		for (unsigned j = 0; j < shape->m; j++) {
			for (unsigned k = 0; k < shape->k; k++) {
				source_place(shape, block, j, k, &lane, &place);
				by_lane[lane][place] = x->b[block][k][j];
			}
		}
	}
	for (unsigned block = 0; block < shape->blocks; block++) {
		unsigned group = 1u << shape->cbsz, block_a = block / group * group + shape->abid;
		for (unsigned i = 0; i < shape->m; i++) {
			for (unsigned j = 0; j < shape->m; j++) {
				double sum = x->c[block][i][j];
				for (unsigned k = 0; k < shape->k; k++) {
					source_place(shape, block, j, k, &lane, &place);
					sum += x->a[block_a][i][k] * by_lane[taken_lane(shape->blgp, lane)][place];
				}
				x->d[block][i][j] = sum;
			}
		}
	}
}

/* The register (of 32 or 64 bits) and lane of a result. */
static void result_place(const struct shape *shape, unsigned block, unsigned i, unsigned j, unsigned *ret_lane, unsigned *ret_register)
{
	if (shape->a == F64 && shape->m == 16) {
		*ret_lane = i % 4 * 16 + j;
		*ret_register = i / 4;
	} else if (shape->a == F64) {
		*ret_lane = i * 16 + block * 4 + j;
		*ret_register = 0;
	} else if (shape->m == 32) {
		*ret_lane = i / 4 % 2 * 32 + j;
		*ret_register = block * 16 + i / 8 * 4 + i % 4;
	} else if (shape->m == 16) {
		*ret_lane = i / 4 * 16 + j;
		*ret_register = block * 4 + i % 4;
	} else {
		*ret_lane = block * 4 + j;
		*ret_register = i;
	}
}

static unsigned results_per_lane(const struct shape *shape)
{
	return shape->m * shape->m * shape->blocks / 64;
}

static void put_result(const struct shape *shape, uint8_t *registers, unsigned lane, unsigned reg, double value)
{
	float f = (float)value;
	int32_t i = (int32_t)value;
	size_t size = shape->a == F64 ? 8 : 4;
	const void *encoded = shape->a == F64 ? (const void *)&value : shape->a == I8 ? (const void *)&i : (const void *)&f;
	memcpy(registers + (lane * results_per_lane(shape) + reg) * size, encoded, size);
}

static void test_shape(const struct emu_object *object, const struct shape *shape)
{
	static struct matrices matrices;
	static uint8_t a[64 * 16], b[64 * 16], c[64 * 128], d[64 * 128], want[64 * 128];
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct { uint64_t d, a, b, c; } arguments;
	struct emu_stats stats;
	struct error error = { .text = "" };
	unsigned lane, place;
	unsigned in_lane = shape->k * shape->m * shape->blocks / 64;
	size_t bytes_a = in_lane * size_of(shape->a), bytes_c = results_per_lane(shape) * (shape->a == F64 ? 8u : 4u);

	fill(shape, &matrices);
	multiply(shape, &matrices);
	for (unsigned block = 0; block < shape->blocks; block++) {
		for (unsigned i = 0; i < shape->m; i++) {
			for (unsigned k = 0; k < shape->k; k++) {
				source_place(shape, block, i, k, &lane, &place);
				encode(shape->a, matrices.a[block][i][k], a + lane * bytes_a + place * size_of(shape->a));
				encode(shape->b, matrices.b[block][k][i], b + lane * bytes_a + place * size_of(shape->b));
			}
			for (unsigned j = 0; j < shape->m; j++) {
				result_place(shape, block, i, j, &lane, &place);
				put_result(shape, c, lane, place, matrices.c[block][i][j]);
				put_result(shape, want, lane, place, matrices.d[block][i][j]);
			}
		}
	}
	assert_int_equal(emu_memory_new(&memory), 0);
	assert_int_equal(emu_memory_add(memory, "a", bytes_a * 64, EMU_READ, a, &arguments.a), 0);
	assert_int_equal(emu_memory_add(memory, "b", bytes_a * 64, EMU_READ, b, &arguments.b), 0);
	assert_int_equal(emu_memory_add(memory, "c", bytes_c * 64, EMU_READ, c, &arguments.c), 0);
	assert_int_equal(emu_memory_add(memory, "d", bytes_c * 64, EMU_WRITE, d, &arguments.d), 0);
	struct emu_launch launch = { .kernel = emu_object_find(object, shape->name), .grid = { 1, 1, 1 }, .workgroup = { 64, 1, 1 },
				     .kernarg = &arguments, .kernarg_size = sizeof(arguments) };
	assert_non_null(launch.kernel);
	int r = emu_launch(memory, &launch, &stats, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
	assert_int_equal(stats.mfma, 1);
	if (memcmp(d, want, bytes_c * 64) != 0)
		fail_msg("%s differs from the triple loop", shape->name);
}

static void test_all(void **state)
{
	static const char *const options[] = { "-O1", "-O2", "-O3" };
	(void)state;
	for (size_t level = 0; level < ARRAY_SIZE(options); level++) {
		_cleanup_(emu_object_unref_p) struct emu_object *object = compile_c(TENSILEFS_SOURCE "/tests/emulator/kernels/mfma.c", options[level]);
		for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
			test_shape(object, &shapes[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all) };
	if (!compile_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
