/* SPDX-License-Identifier: MIT */
#include "tools/verify/values.h"

#include <math.h>
#include <string.h>

struct format {
	int mantissa;		/* bits stored */
	int exponent;		/* bits */
	int bias;
	bool fnuz;
};

static struct format format_of(enum gemm_type type)
{
	switch (type) {
	case GEMM_F16:
		return (struct format){ 10, 5, 15, false };
	case GEMM_BF16:
		return (struct format){ 7, 8, 127, false };
	case GEMM_F8:
		return (struct format){ 3, 4, 8, true };
	case GEMM_BF8:
		return (struct format){ 2, 5, 16, true };
	default:
		return (struct format){ 23, 8, 127, false };
	}
}

double value_load(enum gemm_type type, const void *place)
{
	struct format format = format_of(type);
	uint32_t bits = 0;

	memcpy(&bits, place, gemm_type_bytes(type));
	uint32_t mantissa = bits & ((1u << format.mantissa) - 1);
	uint32_t exponent = bits >> format.mantissa & ((1u << format.exponent) - 1), top = (1u << format.exponent) - 1;
	bool negative = bits >> (format.mantissa + format.exponent) & 1;
	double value;

	if (format.fnuz && negative && !exponent && !mantissa)
		return NAN;
	if (!format.fnuz && exponent == top)
		value = mantissa ? NAN : INFINITY;
	else if (exponent)
		value = ldexp((double)(mantissa | 1u << format.mantissa), (int)exponent - format.bias - format.mantissa);
	else
		value = ldexp((double)mantissa, 1 - format.bias - format.mantissa);
	return negative ? -value : value;
}

/* The exponent of the last mantissa bit of numbers near `value`. */
static int last_bit(struct format format, double value)
{
	int exponent;

	if (value == 0 || !isfinite(value))
		return 1 - format.bias - format.mantissa;
	frexp(value, &exponent);
	exponent -= 1;
	return (exponent < 1 - format.bias ? 1 - format.bias : exponent) - format.mantissa;
}

double value_half_ulp(enum gemm_type type, double value)
{
	return ldexp(0.5, last_bit(format_of(type), value));
}

static uint32_t special_bits(struct format format, double value)
{
	uint32_t top = (1u << format.exponent) - 1, sign = signbit(value) ? 1u << (format.mantissa + format.exponent) : 0;

	if (format.fnuz)
		return isnan(value) ? 1u << (format.mantissa + format.exponent) : sign | top << format.mantissa | ((1u << format.mantissa) - 1);
	return sign | top << format.mantissa | (isnan(value) ? 1u << (format.mantissa - 1) : 0);
}

void value_store(enum gemm_type type, void *place, double value)
{
	struct format format = format_of(type);
	uint32_t top = (1u << format.exponent) - 1, bits;

	if (!isfinite(value)) {
		bits = special_bits(format, value);
	} else {
		int last = last_bit(format, value);
		double steps = nearbyint(ldexp(fabs(value), -last));	/* exact scaling, then nearest even */
		bool normal = steps >= ldexp(1, format.mantissa);
		int exponent = last + format.mantissa + format.bias;	/* steps may have become a power of two more: */
		int limit = (int)top + format.fnuz;			/* the exponent field then counts up by itself */

		bits = (uint32_t)steps + (normal && exponent < limit ? (uint32_t)(exponent - 1) << format.mantissa : 0);
		if (exponent >= limit || bits >= (uint32_t)limit << format.mantissa)
			bits = special_bits(format, INFINITY);
		if (signbit(value) && !(format.fnuz && !bits))
			bits |= 1u << (format.mantissa + format.exponent);
	}
	memcpy(place, &bits, gemm_type_bytes(type));
}

uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

unsigned random_below(struct random *random, unsigned limit)
{
	return (unsigned)(random_next(random) % limit);
}

double random_real(struct random *random)
{
	return ldexp((double)(int64_t)random_next(random), -63);
}
