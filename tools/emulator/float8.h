/* SPDX-License-Identifier: MIT */
/* The 8-bit FNUZ floats of gfx942: fp8 is e4m3 with bias 8, bf8 is e5m2 with bias 16; one zero, 0x80 is NaN, no infinity. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct float8_format {
	int mantissa_bits, bias;
	float least, largest;		/* positive numbers */
};

static const struct float8_format float8_fp8 = { .mantissa_bits = 3, .bias = 8, .least = 0x1p-10f, .largest = 240.0f };
static const struct float8_format float8_bf8 = { .mantissa_bits = 2, .bias = 16, .least = 0x1p-17f, .largest = 57344.0f };

#define FLOAT8_NAN 0x80

static inline float float8_decode(const struct float8_format *format, uint8_t byte)
{
	uint32_t exponent = (byte & 0x7fu) >> format->mantissa_bits, mantissa = byte & ((1u << format->mantissa_bits) - 1);
	float magnitude = (float)mantissa * format->least;
	if (byte == FLOAT8_NAN)
		return NAN;
	if (exponent > 0) {
		uint32_t word = (exponent + 127 - (uint32_t)format->bias) << 23 | mantissa << (23 - format->mantissa_bits);
		memcpy(&magnitude, &word, sizeof(word));
	}
	return byte & 0x80 ? -magnitude : magnitude;
}

/* `magnitude` is a multiple of the format's step at its size, not above the largest number. */
static inline uint8_t float8_pack(const struct float8_format *format, float magnitude, bool sign)
{
	if (magnitude == 0)
		return 0;
	int exponent = ilogbf(magnitude);
	if (exponent < 1 - format->bias)
		return (uint8_t)(sign << 7 | (int)ldexpf(magnitude, format->bias - 1 + format->mantissa_bits));
	int mantissa = (int)ldexpf(magnitude, format->mantissa_bits - exponent) - (1 << format->mantissa_bits);
	return (uint8_t)(sign << 7 | (exponent + format->bias) << format->mantissa_bits | mantissa);
}

/* Rounds |f| / step by adding `more` (0 to 1) and cutting, or to nearest even when more is negative. */
static inline uint8_t float8_round(const struct float8_format *format, float f, float more, bool saturate)
{
	float magnitude = fabsf(f);
	if (isnan(f) || isinf(f))
		return FLOAT8_NAN;
	if (magnitude == 0)
		return 0;
	int exponent = ilogbf(magnitude);
	if (exponent < 1 - format->bias)
		exponent = 1 - format->bias;
	float steps = ldexpf(magnitude, format->mantissa_bits - exponent);
	steps = more < 0 ? rintf(steps) : floorf(steps + more);
	magnitude = ldexpf(steps, exponent - format->mantissa_bits);
	if (magnitude > format->largest) {
		if (!saturate)
			return FLOAT8_NAN;
		magnitude = format->largest;
	}
	return float8_pack(format, magnitude, signbit(f));
}

static inline uint8_t float8_encode(const struct float8_format *format, float f, bool saturate)
{
	return float8_round(format, f, -1.0f, saturate);
}

/* Rounds up when the dropped part plus the upper bits of `random`, as a fraction, reach a whole step. */
static inline uint8_t float8_encode_stochastic(const struct float8_format *format, float f, uint32_t random, bool saturate)
{
	return float8_round(format, f, (float)(random >> 12) * 0x1p-20f, saturate);
}
