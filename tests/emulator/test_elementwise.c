/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic that clang compiles for gfx942 gives on the emulator, bit for bit, what gcc's code for the same C gives on the host:
 * integers of all widths, f16, f32, f64, conversions, division, at -O1, -O2 and -O3. Source: kernels/elementwise.inc.
 */
#include "tests/emulator/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/emulator/kernels/kernel.h"

#define N 450		/* no multiple of the workgroup size 128 nor of 64 */

enum kind { KIND_INTEGER, KIND_FLOAT };
#define KIND(T) _Generic((T){ 0 }, h: KIND_FLOAT, f: KIND_FLOAT, d: KIND_FLOAT, default: KIND_INTEGER)

struct function {
	const char *name;
	size_t result_size, operand_size;
	enum kind result_kind, operand_kind;
	void (*run)(void *out, const void *a, const void *b, const void *c);
};

/* The host's side. volatile keeps the compiler from computing two functions as one. */
#define F(name, R, T, expression)                                                                  \
	static void host_##name(void *out, const void *pa, const void *pb, const void *pc)         \
	{                                                                                          \
		for (size_t i = 0; i < N; i++) {                                                   \
			T a = ((const T *)pa)[i], b = ((const T *)pb)[i], c = ((const T *)pc)[i];  \
			(void)a, (void)b, (void)c;                                                 \
			((R *)out)[i] = (expression);                                              \
		}                                                                                  \
	}
#define __builtin_fmaf16(a, b, c) fma_half(a, b, c)

/* One rounding: the product of two f16 is exact in double, and so is its sum with a third up to 2^-53, which a last bit remembers. */
static h fma_half(h a, h b, h c)
{
	long double sum = (long double)(double)a * (double)b + (long double)(double)c;	/* 64 bits of mantissa */
	double product = (double)a * (double)b;
	double rounded = (double)sum;
	if (rounded - product != (double)c || product + (double)c != rounded) {
		u64 bits;
		if ((long double)rounded != sum) {
			memcpy(&bits, &rounded, sizeof(bits));
			if ((rounded > sum) == (rounded > 0))
				bits--;
			bits |= 1;
			memcpy(&rounded, &bits, sizeof(bits));
		}
	}
	return (h)rounded;
}

#include "tests/emulator/kernels/elementwise.inc"
#undef F

#define F(name, R, T, expression) { #name, sizeof(R), sizeof(T), KIND(R), KIND(T), host_##name },
static const struct function functions[] = {
#include "tests/emulator/kernels/elementwise.inc"
};
#undef F

static u64 next_random(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1d;
}

/* Integers: all bits random, or small, or near the ends of the range. */
static u64 random_integer(u64 *state)
{
	u64 value = next_random(state);
	switch (next_random(state) % 6) {
	case 0:
		return value % 16;
	case 1:
		return -(value % 16);
	case 2:
		return value >> value % 64;
	case 3:
		return 0x8000800080008080 - value % 3;
	default:
		return value;
	}
}

/* Floats: random mantissa with exponents near those of 1, any bits, or a special value. */
static u64 random_float(u64 *state, size_t size)
{
	static const u64 special16[] = { 0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3bff };
	static const u64 special32[] = { 0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x807fffff,
					 0x00800000, 0x7f7fffff, 0x3f7fffff, 0x4f000000, 0xcf000000, 0x4f7fffff };
	static const u64 special64[] = { 0, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
					 0xfff0000000000000, 0x7ff8000000000000, 1, 0x800fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff };
	u64 value = next_random(state), pick = next_random(state);
	unsigned near = (unsigned)(pick >> 32) % 40;
	bool any = pick % 8 == 1;
	if (pick % 8 == 0)
		return size == 2 ? special16[near % ARRAY_SIZE(special16)] : size == 4 ? special32[near % ARRAY_SIZE(special32)]
										       : special64[near % ARRAY_SIZE(special64)];
	if (any)
		return value;
	if (size == 2)
		return (value & 0x83ff) | (u64)(5 + near / 2) << 10;
	if (size == 4)
		return (value & 0x807fffff) | (u64)(107 + near) << 23;
	return (value & 0x800fffffffffffff) | (u64)(1003 + near) << 52;
}

static void fill(uint8_t *bytes, const struct function *function, u64 seed)
{
	u64 state = seed * 0x9e3779b97f4a7c15 + 1;
	for (size_t i = 0; i < N; i++) {
		u64 value = function->operand_kind == KIND_FLOAT ? random_float(&state, function->operand_size) : random_integer(&state);
		memcpy(bytes + i * function->operand_size, &value, function->operand_size);
	}
}

static bool is_nan(u64 word, size_t size)
{
	return size == 2 ? (word & 0x7fff) > 0x7c00 : size == 4 ? (word & 0x7fffffff) > 0x7f800000 : (word << 1) > 0xffe0000000000000;
}

static bool compare(const struct function *function, const uint8_t *out, const uint8_t *expected, const uint8_t *const operands[3])
{
	size_t size = function->result_size;
	for (size_t i = 0; i < N; i++) {
		u64 got = 0, want = 0, values[3] = { 0 };
		memcpy(&got, out + i * size, size);
		memcpy(&want, expected + i * size, size);
		if (got == want || (function->result_kind == KIND_FLOAT && is_nan(got, size) && is_nan(want, size)))
			continue;
		for (unsigned operand = 0; operand < 3; operand++)
			memcpy(&values[operand], operands[operand] + i * function->operand_size, function->operand_size);
		print_error("%s(0x%llx, 0x%llx, 0x%llx) is 0x%llx, not 0x%llx\n", function->name, values[0], values[1], values[2], want, got);
		return false;
	}
	return true;
}

static bool run_function(const struct emu_object *object, const struct function *function)
{
	static uint8_t operands[3][N * 8], out[N * 8], expected[N * 8];
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct { u64 out, a, b, c; u32 n; } arguments = { .n = N };
	u64 *addresses[] = { &arguments.a, &arguments.b, &arguments.c };
	char name[64];
	struct error error = { .text = "" };

	assert_int_equal(emu_memory_new(&memory), 0);
	memset(out, 0xcc, sizeof(out));
	assert_int_equal(emu_memory_add(memory, "out", N * function->result_size, EMU_WRITE, out, (uint64_t *)&arguments.out), 0);
	for (unsigned i = 0; i < 3; i++) {
		fill(operands[i], function, i + 1);
		assert_int_equal(emu_memory_add(memory, "operand", N * function->operand_size, EMU_READ, operands[i], (uint64_t *)addresses[i]), 0);
	}
	snprintf(name, sizeof(name), "k_%s", function->name);
	const struct emu_kernel *kernel = emu_object_find(object, name);
	assert_non_null(kernel);
	struct emu_launch launch = {
		.kernel = kernel, .grid = { (N + 127) / 128, 1, 1 }, .workgroup = { 128, 1, 1 }, .kernarg = &arguments, .kernarg_size = 36,
	};
	int r = emu_launch(memory, &launch, NULL, &error);
	if (r < 0) {
		print_error("%s\n", error_text(&error, r));
		return false;
	}
	function->run(expected, operands[0], operands[1], operands[2]);
	return compare(function, out, expected, (const uint8_t *const[]){ operands[0], operands[1], operands[2] });
}

static void run_all(const char *options)
{
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_c(TENSILEFS_SOURCE "/tests/emulator/kernels/elementwise.c", options);
	unsigned failed = 0;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		failed += !run_function(object, &functions[i]);
	assert_int_equal(failed, 0);
}

static void test_o1(void **state)
{
	(void)state;
	run_all("-O1");
}

static void test_o2(void **state)
{
	(void)state;
	run_all("-O2");
}

static void test_o3(void **state)
{
	(void)state;
	run_all("-O3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_o1),
		cmocka_unit_test(test_o2),
		cmocka_unit_test(test_o3),
	};
	if (!compile_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
