/* SPDX-License-Identifier: MIT */
/*
 * The machine around the arithmetic: LDS and barriers, divergence, atomics, buffers, lanes, scratch, calls, flat addresses, tables in
 * the code object, packed and transcendental instructions. Kernels that clang compiles for gfx942 (kernels/machine.c) against plain C.
 */
#include "tests/emulator/compile.h"
#include "tools/emulator/float8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 1024

struct setup {
	struct emu_object *object;
	struct emu_memory *memory;
	uint32_t in[WORDS], out[WORDS];
	uint64_t in_address, out_address;
};

static const char *const options[] = { "-O1", "-O2", "-O3", "-O2 -mllvm -amdgpu-kernarg-preload-count=8" };

static uint32_t random_word(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state ^ *state >> 15;
}

/* Fresh memory: `in` random, `out` 0xcccccccc, one word of each range out of bounds for everybody. */
static void prepare(struct setup *setup, size_t in_bytes, size_t out_bytes)
{
	uint32_t state = 12345;
	emu_memory_free(setup->memory);
	setup->memory = NULL;
	for (unsigned i = 0; i < WORDS; i++)
		setup->in[i] = random_word(&state);
	memset(setup->out, 0xcc, sizeof(setup->out));
	assert_int_equal(emu_memory_new(&setup->memory), 0);
	assert_int_equal(emu_memory_add(setup->memory, "in", in_bytes, EMU_READ, setup->in, &setup->in_address), 0);
	assert_int_equal(emu_memory_add(setup->memory, "out", out_bytes, EMU_READ | EMU_WRITE, setup->out, &setup->out_address), 0);
}

static void launch3(struct setup *setup, const char *name, const uint32_t grid[3], const uint32_t workgroup[3], const void *kernarg, size_t size)
{
	struct emu_launch launch = { .kernel = emu_object_find(setup->object, name), .kernarg = kernarg, .kernarg_size = size, .threads = 2 };
	struct error error = { .text = "" };
	assert_non_null(launch.kernel);
	memcpy(launch.grid, grid, sizeof(launch.grid));
	memcpy(launch.workgroup, workgroup, sizeof(launch.workgroup));
	int r = emu_launch(setup->memory, &launch, NULL, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
}

static void launch(struct setup *setup, const char *name, uint32_t grid, uint32_t workgroup)
{
	uint64_t arguments[2] = { setup->out_address, setup->in_address };
	launch3(setup, name, (uint32_t[]){ grid, 1, 1 }, (uint32_t[]){ workgroup, 1, 1 }, arguments, sizeof(arguments));
}

static void expect(const char *what, unsigned i, uint32_t got, uint32_t want)
{
	if (got != want)
		fail_msg("%s[%u] is 0x%x, not 0x%x", what, i, got, want);
}

/* ---- LDS -------------------------------------------------------------------------------------------------------------- */

static void test_lds(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 2048, 2048);
	launch(setup, "lds_reverse", 2, 256);
	for (unsigned i = 0; i < 512; i++)
		expect("reverse", i, setup->out[i], setup->in[i / 256 * 256 + 255 - i % 256]);

	prepare(setup, 2048, 8);
	launch(setup, "lds_sum", 2, 256);
	for (unsigned group = 0; group < 2; group++) {
		uint32_t sum = 0;
		for (unsigned i = 0; i < 256; i++)
			sum += setup->in[group * 256 + i];
		expect("sum", group, setup->out[group], sum);
	}
}

static uint32_t width_sum(const uint8_t *bytes, unsigned t)
{
	unsigned s = (t + 1) % 256;
	uint16_t half;
	int16_t signed_half;
	uint32_t w[4], v[4];
	memcpy(&half, bytes + s * 16 + 6, 2);
	memcpy(&signed_half, bytes + s * 16 + 8, 2);
	memcpy(w, bytes + s * 16, 16);
	memcpy(v, bytes + (t + 2) % 256 * 16, 16);
	uint32_t sum = bytes[s * 16 + 3] + (uint32_t)(int8_t)bytes[s * 16 + 5] + half + (uint32_t)(int32_t)signed_half;
	return sum ^ (w[0] * 3 + w[1] + v[0] * 5 + v[1] + v[2] * 7 + v[3]);
}

static void test_lds_widths(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 4096, 1024);
	launch(setup, "lds_widths", 1, 256);
	for (unsigned t = 0; t < 256; t++) {
		uint32_t low = width_sum((const uint8_t *)setup->in, t ^ 1) & 0xffff, high = width_sum((const uint8_t *)setup->in, t ^ 3);
		expect("widths", t, setup->out[t], low | (high >> 16 & 0xff) << 16);
	}
}

static void test_lds_atomics(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 1024, 20);
	launch(setup, "lds_atomics", 1, 256);
	uint32_t sum = 0, largest = 0, mask = ~0u;
	for (unsigned i = 0; i < 256; i++) {
		sum += setup->in[i];
		largest = MAX(largest, setup->in[i]);
		mask &= setup->in[i] | 0xf;
	}
	expect("add", 0, setup->out[0], sum);
	expect("max", 1, setup->out[1], largest);
	expect("and", 2, setup->out[2], mask);
	expect("count", 3, setup->out[3], 256);
	expect("tickets", 4, setup->out[4], 255 * 256 / 2);
}

/* ---- control flow ----------------------------------------------------------------------------------------------------- */

static uint32_t collatz(uint32_t value)
{
	uint32_t steps = 0;
	for (; value != 1; steps++)
		value = value & 1 ? 3 * value + 1 : value / 2;
	return steps;
}

static uint32_t branches(uint32_t value)
{
	uint32_t result = 0;
	switch (value % 5) {
	case 0:
		return value * 3;
	case 1:
		for (uint32_t k = 0; k < value % 17; k++)
			result += k % 3 ? k * value : 0;
		return result;
	case 2:
		return value & 64 ? 0xcccccccc : 7;
	default:
		return value % 7 == 0 ? value : ~value;
	}
}

static void test_divergence(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 2048, 2048);
	launch(setup, "collatz", 2, 256);
	for (unsigned i = 0; i < 512; i++)
		expect("collatz", i, setup->out[i], collatz(setup->in[i] % 1000 + 1));
	prepare(setup, 2048, 2048);
	launch(setup, "branches", 2, 256);
	for (unsigned i = 0; i < 512; i++)
		expect("branches", i, setup->out[i], branches(setup->in[i]));
}

static uint32_t triangle(uint32_t n)
{
	uint32_t sum = 0;
	for (uint32_t i = 1; i <= n; i++)
		sum += i ^ (sum << 1);
	return sum;
}

static void test_calls(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 2048, 2048);
	launch(setup, "calls", 2, 256);
	for (unsigned i = 0; i < 512; i++)
		expect("calls", i, setup->out[i], triangle(setup->in[i] % 50) + triangle(setup->in[i] % 7));
}

static void test_geometry(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 64, 4096);
	launch3(setup, "geometry", (uint32_t[]){ 3, 2, 2 }, (uint32_t[]){ 5, 2, 4 }, &setup->out_address, 8);
	unsigned index = 0;
	for (unsigned group = 0; group < 12; group++) {
		for (unsigned item = 0; item < 40; item++, index++) {
			uint32_t where = group % 3 << 12 | group / 3 % 2 << 16 | group / 6 << 20;
			expect("geometry", index, setup->out[index], item % 5 | item / 5 % 2 << 4 | item / 10 << 8 | where);
		}
	}
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void test_atomics(void **state)
{
	struct setup *setup = *state;
	static uint64_t out64[2];
	static float outf[1];
	struct { uint64_t out, in, out64, outf; } arguments;
	uint32_t want[10] = { 0, 0, ~0u, 0, 0, ~0u, 0, INT32_MAX, (uint32_t)INT32_MIN, 0 };
	uint64_t sum64 = 0, max64 = 0;
	float sumf = 0;

	prepare(setup, 2048, 4096);
	memcpy(setup->out, want, sizeof(want));
	memset(setup->out + 10, 0, 4096 - sizeof(want));
	memset(out64, 0, sizeof(out64));
	outf[0] = 0;
	arguments.out = setup->out_address;
	arguments.in = setup->in_address;
	assert_int_equal(emu_memory_add(setup->memory, "out64", sizeof(out64), EMU_READ | EMU_WRITE, out64, &arguments.out64), 0);
	assert_int_equal(emu_memory_add(setup->memory, "outf", sizeof(outf), EMU_READ | EMU_WRITE, outf, &arguments.outf), 0);
	launch3(setup, "atomics", (uint32_t[]){ 2, 1, 1 }, (uint32_t[]){ 256, 1, 1 }, &arguments, sizeof(arguments));
	for (unsigned i = 0; i < 512; i++) {
		uint32_t value = setup->in[i];
		want[0] += value;
		want[1] -= value;
		want[2] &= value | 0xff;
		want[3] |= value & 0xff00;
		want[4] ^= value;
		want[5] = MIN(want[5], value);
		want[6] = MAX(want[6], value);
		want[7] = (uint32_t)MIN((int32_t)want[7], (int32_t)value);
		want[8] = (uint32_t)MAX((int32_t)want[8], (int32_t)value);
		want[9] += value & 3;
		sum64 += (uint64_t)value << 20;
		max64 = MAX(max64, (uint64_t)value * value);
		sumf += (float)(value & 15);
	}
	for (unsigned i = 0; i < 10; i++)
		expect("atomics", i, setup->out[i], want[i]);
	expect("tickets", 10, setup->out[10], 512);
	for (unsigned i = 0; i < 512; i++)
		expect("ticket", i, setup->out[16 + i], 1);
	assert_int_equal(out64[0], sum64);
	assert_int_equal(out64[1], max64);
	assert_true(outf[0] == sumf);
}

/* `size` bytes of in at `offset` if all of them are in range, else 0. */
static uint32_t ranged(const struct setup *setup, uint32_t offset, uint32_t size, uint32_t range)
{
	uint32_t value = 0;
	if (offset + size <= range)
		memcpy(&value, (const uint8_t *)setup->in + offset, size);
	return value;
}

static void put_ranged(uint8_t *out, uint32_t offset, uint32_t value, uint32_t size, uint32_t range)
{
	if (offset + size <= range)
		memcpy(out + offset, &value, size);
}

static void expect_buffers(struct setup *setup, uint32_t range, uint32_t soffset)
{
	uint8_t want[1024];
	memset(want, 0xcc, sizeof(want));
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t at = i * 16 + soffset, four[4];
		for (unsigned k = 0; k < 4; k++)
			four[k] = ranged(setup, at + k * 4, 4, range);
		uint32_t half = ranged(setup, at + 2, 2, range), byte = ranged(setup, at + 5, 1, range);
		uint32_t result[4] = { four[0] + half, four[1] ^ byte, four[2] + four[2], four[3] };
		for (unsigned k = 0; k < 4; k++)
			put_ranged(want, at + k * 4, result[k], 4, range);
		put_ranged(want, at + 1, byte, 1, range);
		put_ranged(want, at + 6, half, 2, range);
	}
	if (memcmp(want, setup->out, range) != 0)
		fail_msg("buffers with range %u and soffset %u differ", range, soffset);
}

static void test_buffers(void **state)
{
	struct setup *setup = *state;
	static const uint32_t cases[][2] = { { 1024, 0 }, { 1024, 48 }, { 1000, 0 }, { 1001, 16 }, { 999, 16 }, { 998, 4 }, { 7, 0 }, { 0, 0 } };
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct { uint64_t out, in; uint32_t bytes, soffset; } arguments = { .bytes = cases[i][0], .soffset = cases[i][1] };
		prepare(setup, cases[i][0], cases[i][0]);
		arguments.out = setup->out_address;
		arguments.in = setup->in_address;
		launch3(setup, "buffers", (uint32_t[]){ 1, 1, 1 }, (uint32_t[]){ 64, 1, 1 }, &arguments, sizeof(arguments));
		expect_buffers(setup, cases[i][0], cases[i][1]);
	}
}

static void test_scratch(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 2048, 2048);
	launch(setup, "scratch", 2, 256);
	for (unsigned i = 0; i < 512; i++) {
		uint32_t v = setup->in[i], first = setup->in[i / 64 * 64];
		uint32_t want = v * (v % 40) + v * ((v >> 8) % 40) + (v >> (v >> 16 & 7)) + (v >> (first & 7));
		expect("scratch", i, setup->out[i], want);
	}
}

static void test_flat(void **state)
{
	struct setup *setup = *state;
	prepare(setup, 1024, 2048);
	launch(setup, "flat", 1, 256);
	for (unsigned i = 0; i < 256; i++) {
		uint32_t want = setup->in[i] & 1 ? setup->in[i] * 3 + 1 : 6;
		expect("flat", i, setup->out[256 + i], want);
		expect("flat memory", i, setup->out[i], setup->in[i] & 1 ? 0xcccccccc : 6);
	}
}

static void test_constants(void **state)
{
	struct setup *setup = *state;
	static const uint8_t table[] = "3141592653589793238462643383279502884197169399375105820974944592";
	prepare(setup, 2048, 2048);
	launch(setup, "constants", 2, 256);
	for (unsigned i = 0; i < 512; i++)
		expect("constants", i, setup->out[i], (table[setup->in[i] & 63] - '0') * 100u + (table[i & 63] - '0'));
}

/* ---- lanes ------------------------------------------------------------------------------------------------------------ */

static void test_lanes(void **state)
{
	struct setup *setup = *state;
	const uint32_t *in = setup->in, *out = setup->out;
	unsigned odd = 0;
	prepare(setup, 256, 3072);
	launch(setup, "lanes", 1, 64);
	for (unsigned t = 0; t < 64; t++)
		odd += in[t] & 1;
	for (unsigned t = 0; t < 64; t++) {
		unsigned row = t & ~15u, n = t & 15;
		expect("ds_bpermute", t, out[t], in[t * 7 & 63]);
		expect("ds_permute", t, out[64 + t], in[t ^ 21]);
		expect("readlane", t, out[128 + t], in[5] + in[0]);
		expect("quad_perm", t, out[192 + t], in[t ^ 3]);
		expect("row_shr", t, out[256 + t], n ? in[t - 1] : t);
		expect("row_shl", t, out[320 + t], n < 14 ? in[t + 2] : 0);
		expect("row_ror", t, out[384 + t], t / 16 % 2 ? in[row + ((n - 3) & 15)] : t);
		expect("row_mirror", t, out[448 + t], n / 4 % 2 == 0 ? in[row + 15 - n] : t);
		expect("row_bcast15", t, out[512 + t], row ? in[row - 1] : t);
		expect("ds_swizzle", t, out[576 + t], in[t ^ 16]);
		expect("mbcnt", t, out[640 + t], t);
		expect("ballot", t, out[704 + t], (in[t] & 1) | odd << 1);
	}
}

/* ---- packed and transcendental ---------------------------------------------------------------------------------------- */

static float half_to_float(uint32_t word)
{
	uint16_t bits = (uint16_t)word;
	_Float16 half;
	memcpy(&half, &bits, sizeof(half));
	return (float)half;
}

static uint32_t to_half(double value)
{
	_Float16 half = (_Float16)value;
	uint16_t bits;
	memcpy(&bits, &half, sizeof(bits));
	return bits;
}

static uint32_t float_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The value of an FNUZ byte, from its definition. */
static double float8_value(unsigned byte, int mantissa_bits, int bias)
{
	int exponent = (int)(byte & 0x7f) >> mantissa_bits, mantissa = (int)(byte & ((1u << mantissa_bits) - 1));
	double fraction = (double)mantissa / (1 << mantissa_bits);
	if (byte == 0x80)
		return (double)NAN;
	double magnitude = exponent ? (1 + fraction) * exp2(exponent - bias) : fraction * exp2(1 - bias);
	return byte & 0x80 ? -magnitude : magnitude;
}

/* The nearest FNUZ byte by trying all of them; of two equally near the even one. */
static unsigned nearest_float8(double value, int mantissa_bits, int bias)
{
	unsigned best = 0;
	double best_distance = (double)INFINITY, largest = float8_value(0x7f, mantissa_bits, bias);
	if (!isfinite(value) || fabs(value) >= largest + (largest - float8_value(0x7e, mantissa_bits, bias)) / 2)
		return 0x80;
	for (unsigned byte = 0; byte < 256; byte++) {
		double distance = fabs(float8_value(byte, mantissa_bits, bias) - value);
		if (byte == 0x80 || distance > best_distance || (distance == best_distance && byte & 1))
			continue;
		best = byte;
		best_distance = distance;
	}
	return best;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t select)
{
	uint8_t bytes[8];
	uint32_t result = 0;
	memcpy(bytes, &b, 4);
	memcpy(bytes + 4, &a, 4);
	for (unsigned i = 0; i < 4; i++) {
		unsigned s = select >> i * 8 & 15;
		uint32_t byte = s < 8 ? bytes[s] : s < 12 ? (bytes[(s - 8) * 2 + 1] & 0x80 ? 0xff : 0) : s == 12 ? 0 : 0xff;
		result |= byte << i * 8;
	}
	return result;
}

static bool same_halves(uint32_t got, uint32_t want)
{
	for (unsigned shift = 0; shift < 32; shift += 16) {
		uint32_t g = got >> shift & 0xffff, w = want >> shift & 0xffff;
		if (g != w && !((g & 0x7fff) > 0x7c00 && (w & 0x7fff) > 0x7c00))
			return false;
	}
	return true;
}

static void test_packed(void **state)
{
	struct setup *setup = *state;
	const uint32_t *in = setup->in, *out = setup->out;
	prepare(setup, 768, 4096);
	for (unsigned i = 0; i < 192; i++)	/* f16 values whose magnitude is moderate, so that sums are exact in double */
		setup->in[i] = (in[i] & 0x83ff83ff) | (8 + i % 14) << 10 | (10 + i % 9) << 26;
	launch(setup, "packed", 1, 64);
	for (unsigned t = 0; t < 64; t++) {
		uint32_t a = in[t], b = in[64 + t], c = in[128 + t];
		double al = (double)half_to_float(a), ah = (double)half_to_float(a >> 16), bl = (double)half_to_float(b);
		double bh = (double)half_to_float(b >> 16), cl = (double)half_to_float(c), ch = (double)half_to_float(c >> 16);
		uint32_t product_low = to_half(al * bl), product_high = to_half(ah * bh);
		uint32_t separate = to_half((double)half_to_float(product_low) + cl) | to_half((double)half_to_float(product_high) + ch) << 16;
		assert_true(same_halves(out[t], separate));
		double dot = fma(ah, bh, (double)(float)fma(al, bl, cl));
		assert_true(fabs((double)*(const float *)&out[64 + t] - dot) <= 1e-6 * (fabs(al * bl) + fabs(ah * bh) + fabs(cl)));
		int64_t sdot4 = (int32_t)c, sdot2 = (int32_t)c + (int64_t)(int16_t)a * (int16_t)b + (int64_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
		uint64_t udot4 = c;
		for (unsigned byte = 0; byte < 32; byte += 8) {
			sdot4 += (int8_t)(a >> byte) * (int8_t)(b >> byte);
			udot4 += (a >> byte & 0xff) * (b >> byte & 0xff);
		}
		expect("sdot4", t, out[128 + t], (uint32_t)sdot4);
		expect("udot4", t, out[192 + t], (uint32_t)udot4);
		expect("sdot2", t, out[256 + t], (uint32_t)sdot2);
		expect("pk f32 low", t, out[320 + t], float_bits((float)al * (float)bl - (float)bl));
		expect("pk f32 high", t, out[384 + t], float_bits((float)ah * (float)bh - (float)bh));
		expect("cvt_pk_fp8", t, out[448 + t] & 0xffff, nearest_float8(al, 3, 8) | nearest_float8(bl, 3, 8) << 8);
		expect("cvt_pk_bf8", t, out[512 + t], 0x1234 | nearest_float8(ah, 2, 16) << 16 | nearest_float8(bh, 2, 16) << 24);
		uint32_t fp8 = float_bits((float)float8_value(a & 0xff, 3, 8)) ^ float_bits((float)float8_value(a >> 24, 3, 8));
		uint32_t bf8 = float_bits((float)float8_value(a >> 8 & 0xff, 2, 16)) ^ float_bits((float)float8_value(a >> 16 & 0xff, 2, 16));
		bool nan8 = (a & 0xff) == 0x80 || a >> 24 == 0x80 || (a >> 8 & 0xff) == 0x80 || (a >> 16 & 0xff) == 0x80;
		assert_true(nan8 || (out[576 + t] == fp8 && out[640 + t] == bf8));
		double low = (double)((float)al * 1.0009f), high = (double)((float)bh * 3.1f);
		double got_low = (double)half_to_float(out[704 + t]), got_high = (double)half_to_float(out[704 + t] >> 16);
		assert_true(fabs(got_low) <= fabs(low) && fabs(low) - fabs(got_low) < fabs(low) * 0x1p-10);
		assert_true(fabs(got_high) <= fabs(high) && fabs(high) - fabs(got_high) < fabs(high) * 0x1p-10);
		expect("perm", t, out[768 + t], permuted(a, b, c & 0x0f0f0f0f));
		expect("alignbit", t, out[832 + t], (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)));
	}
}

/* One ulp of f32 at `value`. */
static double ulp(double value)
{
	int exponent;
	(void)frexp(value, &exponent);
	return ldexp(1, MAX(exponent, -125) - 24);
}

static void expect_near(const char *what, float x, float got, double want)
{
	if (fabs((double)got - want) > 1.001 * ulp(want))
		fail_msg("%s(%a) is %a, not %a", what, (double)x, (double)got, want);
}

static void test_transcendental(void **state)
{
	struct setup *setup = *state;
	const float *out = (const float *)setup->out;
	float *in = (float *)setup->in;
	prepare(setup, 256, 3072);
	for (unsigned t = 0; t < 64; t++)
		in[t] = 0.01f + (float)t * 0.37f;
	launch(setup, "transcendental", 1, 64);
	for (unsigned t = 0; t < 64; t++) {
		double x = (double)in[t];
		int exponent;
		double mantissa = frexp(x, &exponent);
		expect_near("exp2", in[t], out[t], exp2(x));
		expect_near("log2", in[t], out[64 + t], log2(x));
		expect_near("rcp", in[t], out[128 + t], 1 / x);
		expect_near("rsq", in[t], out[192 + t], 1 / sqrt(x));
		assert_true(fabs((double)out[256 + t] - sin(2 * M_PI * x)) < 1e-6);
		assert_true(fabs((double)out[320 + t] - cos(2 * M_PI * x)) < 1e-6);
		assert_true(out[384 + t] == fminf(fmaxf(in[t], 1.0f), 4.0f));
		assert_true(out[448 + t] == in[t] - floorf(in[t]));
		assert_true(out[512 + t] == ldexpf(in[t], (int)t - 32));
		assert_true(out[576 + t] == (float)mantissa + (float)exponent);
		expect_near("sqrt", in[t], out[640 + t], sqrt(x));
	}
}

/* ---- all of it at each optimisation level ----------------------------------------------------------------------------- */

static int open_object(void **state)
{
	static unsigned level;
	struct setup *setup = calloc(1, sizeof(*setup));
	if (!setup)
		return -1;
	setup->object = compile_c(TENSILEFS_SOURCE "/tests/emulator/kernels/machine.c", options[level++]);
	*state = setup;
	return 0;
}

static int close_object(void **state)
{
	struct setup *setup = *state;
	emu_memory_free(setup->memory);
	emu_object_unref(setup->object);
	free(setup);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lds), cmocka_unit_test(test_lds_widths), cmocka_unit_test(test_lds_atomics),
		cmocka_unit_test(test_divergence), cmocka_unit_test(test_calls), cmocka_unit_test(test_geometry), cmocka_unit_test(test_atomics),
		cmocka_unit_test(test_buffers), cmocka_unit_test(test_scratch), cmocka_unit_test(test_flat), cmocka_unit_test(test_constants),
		cmocka_unit_test(test_lanes), cmocka_unit_test(test_packed), cmocka_unit_test(test_transcendental),
	};
	int failed = 0;
	if (!compile_available())
		return 77;
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		failed += cmocka_run_group_tests(tests, open_object, close_object);
	return failed;
}
