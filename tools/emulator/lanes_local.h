/* SPDX-License-Identifier: MIT */
/*
 * The shapes of lane functions, for lanes*.c alone. In an expression a, b, c are the sources of one lane, x the context, and the
 * value is the result.
 */
#pragma once

#include "tools/emulator/lanes.h"

#include <math.h>
#include <string.h>

#define LANES 64
#define FOR_LANES(i) for (unsigned i = 0; i < LANES; i++)

#define LANE_FN(name) static void lane_##name(uint32_t *restrict d_, const uint32_t *a_, const uint32_t *b_, const uint32_t *c_, struct lane_context *x)
#define MAYBE_UNUSED __attribute__((unused))

/* Dword operands seen as TYPE, a result stored as a dword. */
#define LANE_32(name, TYPE, expression)                                                            \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED TYPE a = (TYPE)a_[i], b = (TYPE)b_[i], c = (TYPE)c_[i];       \
			d_[i] = (uint32_t)(expression);                                            \
		}                                                                                  \
	}

/* The low 16 bits of the operands; the result keeps 16 bits. */
#define LANE_16(name, TYPE, expression)                                                            \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED TYPE a = (TYPE)a_[i], b = (TYPE)b_[i], c = (TYPE)c_[i];       \
			d_[i] = (uint16_t)(expression);                                            \
		}                                                                                  \
	}

/* Both halves of a dword. */
#define LANE_PK16(name, TYPE, expression)                                                          \
	static inline uint16_t half_##name(TYPE a, TYPE b, TYPE c, const struct lane_context *x)   \
	{                                                                                          \
		(void)a, (void)b, (void)c, (void)x;                                                \
		return (uint16_t)(expression);                                                     \
	}                                                                                          \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			uint32_t low = half_##name((TYPE)a_[i], (TYPE)b_[i], (TYPE)c_[i], x);      \
			uint32_t high = half_##name((TYPE)(a_[i] >> 16), (TYPE)(b_[i] >> 16), (TYPE)(c_[i] >> 16), x); \
			d_[i] = low | high << 16;                                                  \
		}                                                                                  \
	}

#define LANE_F32(name, expression)                                                                 \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		const float *fa = (const float *)a_, *fb = (const float *)b_, *fc = (const float *)c_; \
		float *restrict fd = (float *)d_;                                                  \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED float a = fa[i], b = fb[i], c = fc[i];                        \
			fd[i] = (expression);                                                      \
		}                                                                                  \
	}

/* f16 operands widened to float, the result rounded to f16. */
#define LANE_F16(name, expression)                                                                 \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED float a = f16(a_[i]), b = f16(b_[i]), c = f16(c_[i]);         \
			d_[i] = to_f16(expression);                                                \
		}                                                                                  \
	}

#define LANE_PKF16(name, expression)                                                               \
	static inline uint16_t half_##name(float a, float b, float c)                              \
	{                                                                                          \
		(void)a, (void)b, (void)c;                                                         \
		return to_f16(expression);                                                         \
	}                                                                                          \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			uint32_t low = half_##name(f16(a_[i]), f16(b_[i]), f16(c_[i]));            \
			uint32_t high = half_##name(f16(a_[i] >> 16), f16(b_[i] >> 16), f16(c_[i] >> 16)); \
			d_[i] = low | high << 16;                                                  \
		}                                                                                  \
	}

#define LANE_64(name, TYPE, expression)                                                            \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED TYPE a = (TYPE)u64(a_, i), b = (TYPE)u64(b_, i), c = (TYPE)u64(c_, i); \
			put64(d_, i, (uint64_t)(expression));                                      \
		}                                                                                  \
	}

#define LANE_F64(name, expression)                                                                 \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED double a = f64(a_, i), b = f64(b_, i), c = f64(c_, i);        \
			put_f64(d_, i, (expression));                                              \
		}                                                                                  \
	}

/* A condition, one a lane, into x->flag. */
#define LANE_FLAG(name, TYPE, load_a, load_b, expression)                                          \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)c_, (void)d_;                                                                \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED TYPE a = (load_a), b = (load_b);                              \
			x->flag[i] = (expression);                                                 \
		}                                                                                  \
	}

static inline uint32_t bits(float f)
{
	uint32_t u;
	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float from_bits(uint32_t u)
{
	float f;
	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint64_t bits64(double d)
{
	uint64_t u;
	memcpy(&u, &d, sizeof(u));
	return u;
}

static inline double from_bits64(uint64_t u)
{
	double d;
	memcpy(&d, &u, sizeof(d));
	return d;
}

static inline float f16(uint32_t word)
{
	uint16_t half = (uint16_t)word;
	_Float16 h;
	memcpy(&h, &half, sizeof(h));
	return (float)h;
}

static inline uint16_t to_f16(float f)
{
	_Float16 h = (_Float16)f;
	uint16_t half;
	memcpy(&half, &h, sizeof(half));
	return half;
}

static inline uint64_t u64(const uint32_t *r, unsigned i)
{
	return r[i] | (uint64_t)r[LANES + i] << 32;
}

static inline void put64(uint32_t *r, unsigned i, uint64_t value)
{
	r[i] = (uint32_t)value;
	r[LANES + i] = (uint32_t)(value >> 32);
}

static inline double f64(const uint32_t *r, unsigned i)
{
	return from_bits64(u64(r, i));
}

static inline void put_f64(uint32_t *r, unsigned i, double value)
{
	put64(r, i, bits64(value));
}

/* The bit pattern of a float that keeps in its last bit whether `d` was inexact (round to odd), so that rounding it once more,
 * to fewer bits, gives what rounding `d` at once would have given. */
static inline float round_to_odd(double d)
{
	float f = (float)d;
	if ((double)f == d || isnan(d) || isinf(f))
		return f;
	uint32_t u = bits(f);
	if (fabs((double)f) > fabs(d))
		u--;		/* towards zero */
	return from_bits(u | 1);
}

/* a * b + c for f16 values, rounded once. The product is exact in double; a sum that is not shows in the last bit. */
static inline uint16_t f16_fma(float a, float b, float c)
{
	double product = (double)a * b, sum = product + c;
	double rest = sum - product, lost = (product - (sum - rest)) + (c - rest);
	if (lost != 0 && isfinite(sum)) {
		uint64_t u = bits64(sum);
		if ((lost < 0) != (sum < 0))
			u--;
		sum = from_bits64(u | 1);
	}
	return to_f16(round_to_odd(sum));
}

/* minNum and maxNum of IEEE 754-2008: a number wins over a NaN; -0 is less than +0. */
static inline float f32_max(float a, float b)
{
	if (isnan(a))
		return isnan(b) ? a + b : b;
	if (isnan(b))
		return a;
	return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline float f32_min(float a, float b)
{
	if (isnan(a))
		return isnan(b) ? a + b : b;
	if (isnan(b))
		return a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

static inline double f64_max(double a, double b)
{
	if (isnan(a))
		return isnan(b) ? a + b : b;
	if (isnan(b))
		return a;
	return a > b || (a == b && !signbit(a)) ? a : b;
}

static inline double f64_min(double a, double b)
{
	if (isnan(a))
		return isnan(b) ? a + b : b;
	if (isnan(b))
		return a;
	return a < b || (a == b && signbit(a)) ? a : b;
}

/* The middle one; with a NaN among them the least of all (CDNA3 ISA, V_MED3_F32). */
static inline float f32_med3(float a, float b, float c)
{
	if (isnan(a) || isnan(b) || isnan(c))
		return f32_min(f32_min(a, b), c);
	return f32_max(f32_min(a, b), f32_min(f32_max(a, b), c));
}

static inline int64_t clamp_signed(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}
