/* SPDX-License-Identifier: MIT */
/*
 * f32 and f64 arithmetic on lanes. Source: CDNA3 ISA, instruction pages; for v_div_scale, v_div_fmas and v_div_fixup also the
 * division sequence that LLVM expands to, which they have to complete to a correctly rounded quotient.
 */
#include "build/isa/isa.h"
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

#define TWO_PI 6.283185307179586476925

static inline int exponent32(float f)	/* biased */
{
	return (int)(bits(f) >> 23 & 0xff);
}

static inline int exponent64(double d)
{
	return (int)(bits64(d) >> 52 & 0x7ff);
}

static inline bool is_denormal32(float f)
{
	return exponent32(f) == 0 && f != 0;
}

static inline bool is_denormal64(double d)
{
	return exponent64(d) == 0 && d != 0;
}

LANE_F32(add_f32, a + b)
LANE_F32(sub_f32, a - b)
LANE_F32(subrev_f32, b - a)
LANE_F32(mul_f32, a * b)
LANE_F32(fma_f32, fmaf(a, b, c))
LANE_F32(fmamk_f32, fmaf(a, b, c))
LANE_F32(mul_legacy_f32, a == 0 || b == 0 ? 0.0f : a * b)
LANE_F32(min_f32, f32_min(a, b))
LANE_F32(max_f32, f32_max(a, b))
LANE_F32(min3_f32, f32_min(f32_min(a, b), c))
LANE_F32(max3_f32, f32_max(f32_max(a, b), c))
LANE_F32(med3_f32, f32_med3(a, b, c))
LANE_F32(trunc_f32, truncf(a))
LANE_F32(ceil_f32, ceilf(a))
LANE_F32(floor_f32, floorf(a))
LANE_F32(rndne_f32, rintf(a))
LANE_F32(fract_f32, isinf(a) ? NAN : f32_min(a - floorf(a), 0x1.fffffep-1f))
LANE_F32(rcp_f32, 1.0f / a)
LANE_F32(rsq_f32, (float)(1.0 / sqrt((double)a)))
LANE_F32(sqrt_f32, sqrtf(a))
LANE_F32(exp_f32, (float)exp2((double)a))
LANE_F32(log_f32, (float)log2((double)a))
LANE_F32(sin_f32, (float)sin(TWO_PI * remainder((double)a, 1.0)))
LANE_F32(cos_f32, (float)cos(TWO_PI * remainder((double)a, 1.0)))

static inline int exponent_of(double a)	/* of frexp; 0 for zero, infinity, NaN */
{
	int exponent = 0;
	if (isfinite(a))
		(void)frexp(a, &exponent);
	return exponent;
}

static inline double mantissa_of(double a)
{
	int exponent;
	return isfinite(a) ? frexp(a, &exponent) : a;
}

LANE_F32(frexp_mant_f32, (float)mantissa_of(a))

LANE_FN(frexp_exp_i32_f32)
{
	(void)b_, (void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = (uint32_t)exponent_of(from_bits(a_[i]));
}

LANE_FN(ldexp_f32)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = bits(ldexpf(from_bits(a_[i]), (int32_t)b_[i]));
}

/* ---- division --------------------------------------------------------------------------------------------------------- */

/* s0 is s1 (denominator) or s2 (numerator), the one to be scaled. */
static inline float div_scale32(float s0, float s1, float s2, uint32_t *ret_flag)
{
	*ret_flag = 0;
	if (s2 == 0 || s1 == 0)
		return NAN;
	if (exponent32(s2) - exponent32(s1) >= 96) {		/* the quotient is near the largest number */
		*ret_flag = 1;
		return bits(s0) == bits(s1) ? ldexpf(s0, 64) : s0;
	}
	if (is_denormal32(s1))
		return ldexpf(s0, 64);
	bool tiny_reciprocal = is_denormal32((float)(1.0 / (double)s1)), tiny_quotient = is_denormal32((float)((double)s2 / (double)s1));
	if (tiny_reciprocal && tiny_quotient) {
		*ret_flag = 1;
		return bits(s0) == bits(s1) ? ldexpf(s0, -64) : s0;
	}
	if (tiny_reciprocal)
		return ldexpf(s0, -64);
	if (tiny_quotient) {
		*ret_flag = 1;
		return bits(s0) == bits(s2) ? ldexpf(s0, 64) : s0;
	}
	return exponent32(s2) <= 23 ? ldexpf(s0, 64) : s0;
}

static inline double div_scale64(double s0, double s1, double s2, uint32_t *ret_flag)
{
	*ret_flag = 0;
	if (s2 == 0 || s1 == 0)
		return NAN;
	if (exponent64(s2) - exponent64(s1) >= 768) {
		*ret_flag = 1;
		return bits64(s0) == bits64(s1) ? ldexp(s0, 128) : s0;
	}
	if (is_denormal64(s1))
		return ldexp(s0, 128);
	bool tiny_reciprocal = is_denormal64(1.0 / s1), tiny_quotient = is_denormal64(s2 / s1);
	if (tiny_reciprocal && tiny_quotient) {
		*ret_flag = 1;
		return bits64(s0) == bits64(s1) ? ldexp(s0, -128) : s0;
	}
	if (tiny_reciprocal)
		return ldexp(s0, -128);
	if (tiny_quotient) {
		*ret_flag = 1;
		return bits64(s0) == bits64(s2) ? ldexp(s0, 128) : s0;
	}
	return exponent64(s2) <= 53 ? ldexp(s0, 128) : s0;
}

LANE_FN(div_scale_f32)
{
	FOR_LANES (i)
		d_[i] = bits(div_scale32(from_bits(a_[i]), from_bits(b_[i]), from_bits(c_[i]), &x->flag[i]));
}

LANE_FN(div_scale_f64)
{
	FOR_LANES (i)
		put_f64(d_, i, div_scale64(f64(a_, i), f64(b_, i), f64(c_, i), &x->flag[i]));
}

/* Undoes the scaling where VCC says there was one: up for a large quotient, down for a tiny one. Rounded once. */
LANE_FN(div_fmas_f32)
{
	FOR_LANES (i) {
		float a = from_bits(a_[i]), b = from_bits(b_[i]), c = from_bits(c_[i]);
		if (!(x->mask_in >> i & 1)) {
			d_[i] = bits(fmaf(a, b, c));
			continue;
		}
		double product = (double)a * b, sum = product + c, rest = sum - product;
		double lost = (product - (sum - rest)) + (c - rest);
		if (lost != 0 && isfinite(sum)) {	/* keep in the last bit that there is more, for the only rounding to f32 */
			uint64_t u = bits64(sum);
			sum = from_bits64(((lost < 0) != (sum < 0) ? u - 1 : u) | 1);
		}
		d_[i] = bits((float)ldexp(sum, exponent32(c) > 127 ? 64 : -64));
	}
}

LANE_FN(div_fmas_f64)
{
	FOR_LANES (i) {
		double a = f64(a_, i), b = f64(b_, i), c = f64(c_, i), sum = fma(a, b, c);
		put_f64(d_, i, x->mask_in >> i & 1 ? ldexp(sum, exponent64(c) > 1023 ? 128 : -128) : sum);
	}
}

/* The quotient's special cases: NaN, 0/0, x/0, infinities. */
static inline double div_fixup(double s0, double s1, double s2)
{
	double sign = signbit(s1) != signbit(s2) ? -1.0 : 1.0;
	if (isnan(s2))
		return s2;
	if (isnan(s1))
		return s1;
	if ((s1 == 0 && s2 == 0) || (isinf(s1) && isinf(s2)))
		return -(double)NAN;
	if (s1 == 0 || isinf(s2))
		return sign * (double)INFINITY;
	if (isinf(s1) || s2 == 0)
		return sign * 0.0;
	return sign * (isnan(s0) ? (double)INFINITY : fabs(s0));	/* the sequence overflows to NaN */
}

LANE_FN(div_fixup_f32)
{
	(void)x;
	FOR_LANES (i) {
		float s0 = from_bits(a_[i]), s1 = from_bits(b_[i]), s2 = from_bits(c_[i]);
		bool plain = isfinite(s1) && isfinite(s2) && s1 != 0 && s2 != 0;
		float sign = signbit(s1) != signbit(s2) ? -1.0f : 1.0f;
		if (plain && exponent32(s2) - exponent32(s1) < -150)
			d_[i] = bits(sign * 0.0f);
		else
			d_[i] = bits((float)div_fixup(s0, s1, s2));
	}
}

LANE_FN(div_fixup_f64)
{
	(void)x;
	FOR_LANES (i) {
		double s1 = f64(b_, i), s2 = f64(c_, i);
		bool plain = isfinite(s1) && isfinite(s2) && s1 != 0 && s2 != 0;
		double sign = signbit(s1) != signbit(s2) ? -1.0 : 1.0;
		put_f64(d_, i, plain && exponent64(s2) - exponent64(s1) < -1075 ? sign * 0.0 : div_fixup(f64(a_, i), s1, s2));
	}
}

LANE_FN(div_fixup_f16)
{
	(void)x;
	FOR_LANES (i)
		d_[i] = to_f16((float)div_fixup(f16(a_[i]), f16(b_[i]), f16(c_[i])));
}

/* ---- f64 -------------------------------------------------------------------------------------------------------------- */

LANE_F64(add_f64, a + b)
LANE_F64(mul_f64, a * b)
LANE_F64(fma_f64, fma(a, b, c))
LANE_F64(min_f64, f64_min(a, b))
LANE_F64(max_f64, f64_max(a, b))
LANE_F64(trunc_f64, trunc(a))
LANE_F64(ceil_f64, ceil(a))
LANE_F64(floor_f64, floor(a))
LANE_F64(rndne_f64, rint(a))
LANE_F64(fract_f64, isinf(a) ? (double)NAN : f64_min(a - floor(a), 0x1.fffffffffffffp-1))
LANE_F64(rcp_f64, 1.0 / a)
LANE_F64(rsq_f64, 1.0 / sqrt(a))
LANE_F64(sqrt_f64, sqrt(a))
LANE_F64(frexp_mant_f64, mantissa_of(a))

LANE_FN(frexp_exp_i32_f64)
{
	(void)b_, (void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = (uint32_t)exponent_of(f64(a_, i));
}

LANE_FN(ldexp_f64)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		put_f64(d_, i, ldexp(f64(a_, i), (int32_t)b_[i]));
}

/* 53 bits of 2/pi for the argument reduction of sin and cos: bits from segment b (of 53 bits) on, scaled down for large a. */
static const uint64_t two_over_pi[] = {		/* the first 1216 binary digits after the point, 64 each */
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
	0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
	0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
	0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

static inline double trig_preop(double a, uint32_t b)
{
	unsigned exponent = (unsigned)exponent64(a), shift = (b & 31) * 53;
	if (exponent > 1077)
		shift += exponent - 1077;
	if (shift > 1201 - 53)
		return 0;
	unsigned word = shift / 64, bit = shift % 64;
	uint64_t high = two_over_pi[word] << bit | (bit ? two_over_pi[word + 1] >> (64 - bit) : 0);
	return ldexp((double)(high >> 11), -53 - (int)shift + (exponent >= 1968 ? 128 : 0));
}

LANE_FN(trig_preop_f64)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		put_f64(d_, i, trig_preop(f64(a_, i), b_[i]));
}

/* ---- packed f32 and mixed --------------------------------------------------------------------------------------------- */

#define LANE_PKF32(name, expression)                                                               \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		const float *fa = (const float *)a_, *fb = (const float *)b_, *fc = (const float *)c_; \
		float *restrict fd = (float *)d_;                                                  \
		(void)x, (void)fc;                                                                 \
		for (unsigned i = 0; i < 2 * LANES; i++) {                                         \
			MAYBE_UNUSED float a = fa[i], b = fb[i], c = fc[i];                        \
			fd[i] = (expression);                                                      \
		}                                                                                  \
	}
LANE_PKF32(pk_add_f32, a + b)
LANE_PKF32(pk_mul_f32, a * b)
LANE_PKF32(pk_fma_f32, fmaf(a, b, c))

/* ---- cube map coordinates: the face of a direction vector ------------------------------------------------------------- */

static inline int cube_face(float x, float y, float z)
{
	if (fabsf(z) >= fabsf(x) && fabsf(z) >= fabsf(y))
		return z < 0 ? 5 : 4;
	if (fabsf(y) >= fabsf(x))
		return y < 0 ? 3 : 2;
	return x < 0 ? 1 : 0;
}

static inline float cube_sc(float x, float y, float z)
{
	const float by_face[] = { -z, z, x, x, x, -x };
	(void)y;
	return by_face[cube_face(x, y, z)];
}

static inline float cube_tc(float x, float y, float z)
{
	const float by_face[] = { -y, -y, z, -z, -y, -y };
	return by_face[cube_face(x, y, z)];
}

static inline float cube_ma(float x, float y, float z)
{
	const float by_face[] = { x, x, y, y, z, z };
	return 2.0f * by_face[cube_face(x, y, z)];
}

LANE_F32(cubeid_f32, (float)cube_face(a, b, c))
LANE_F32(cubesc_f32, cube_sc(a, b, c))
LANE_F32(cubetc_f32, cube_tc(a, b, c))
LANE_F32(cubema_f32, cube_ma(a, b, c))

#define R(OP, function, n, t, ...) { .op = ISA_##OP, .n_src = n, .type = t, .dst_type = t, .fn = lane_##function, __VA_ARGS__ }
#define F(op, fn, n) R(op, fn, n, LT_F32)
#define T(op, fn) R(op, fn, 1, LT_F32, .flags = ROW_TRANS)
#define D(op, fn, n) R(op, fn, n, LT_F64)

static const struct valu_row rows[] = {
	F(V_ADD_F32, add_f32, 2), F(V_SUB_F32, sub_f32, 2), F(V_SUBREV_F32, subrev_f32, 2), F(V_MUL_F32, mul_f32, 2),
	F(V_FMA_F32, fma_f32, 3), F(V_FMAMK_F32, fmamk_f32, 3), F(V_FMAAK_F32, fma_f32, 3),
	R(V_FMAC_F32, fma_f32, 2, LT_F32, .flags = ROW_ACC), F(V_MUL_LEGACY_F32, mul_legacy_f32, 2),
	F(V_MIN_F32, min_f32, 2), F(V_MAX_F32, max_f32, 2), F(V_MIN3_F32, min3_f32, 3), F(V_MAX3_F32, max3_f32, 3),
	F(V_MED3_F32, med3_f32, 3), F(V_TRUNC_F32, trunc_f32, 1), F(V_CEIL_F32, ceil_f32, 1), F(V_FLOOR_F32, floor_f32, 1),
	F(V_RNDNE_F32, rndne_f32, 1), F(V_FRACT_F32, fract_f32, 1), T(V_RCP_F32, rcp_f32), T(V_RCP_IFLAG_F32, rcp_f32),
	T(V_RSQ_F32, rsq_f32), T(V_SQRT_F32, sqrt_f32), T(V_EXP_F32, exp_f32), T(V_LOG_F32, log_f32),
	T(V_EXP_LEGACY_F32, exp_f32), T(V_LOG_LEGACY_F32, log_f32), T(V_SIN_F32, sin_f32), T(V_COS_F32, cos_f32),
	F(V_FREXP_MANT_F32, frexp_mant_f32, 1), R(V_FREXP_EXP_I32_F32, frexp_exp_i32_f32, 1, LT_F32, .dst_type = LT_I32),
	R(V_LDEXP_F32, ldexp_f32, 2, LT_F32, .types = { LT_F32, LT_I32 }),
	R(V_DIV_SCALE_F32, div_scale_f32, 3, LT_F32, .flags = ROW_MASK_OUT | ROW_RAW),
	R(V_DIV_FMAS_F32, div_fmas_f32, 3, LT_F32, .flags = ROW_VCC_IN), F(V_DIV_FIXUP_F32, div_fixup_f32, 3),
	R(V_DIV_SCALE_F64, div_scale_f64, 3, LT_F64, .flags = ROW_MASK_OUT),
	R(V_DIV_FMAS_F64, div_fmas_f64, 3, LT_F64, .flags = ROW_VCC_IN), D(V_DIV_FIXUP_F64, div_fixup_f64, 3),
	R(V_DIV_FIXUP_F16, div_fixup_f16, 3, LT_F16, .flags = ROW_KEEP_HIGH),
	R(V_DIV_FIXUP_LEGACY_F16, div_fixup_f16, 3, LT_F16, .flags = ROW_ZERO_HIGH),
	D(V_ADD_F64, add_f64, 2), D(V_MUL_F64, mul_f64, 2), D(V_FMA_F64, fma_f64, 3), R(V_FMAC_F64, fma_f64, 2, LT_F64, .flags = ROW_ACC),
	D(V_MIN_F64, min_f64, 2), D(V_MAX_F64, max_f64, 2), D(V_TRUNC_F64, trunc_f64, 1), D(V_CEIL_F64, ceil_f64, 1),
	D(V_FLOOR_F64, floor_f64, 1), D(V_RNDNE_F64, rndne_f64, 1), D(V_FRACT_F64, fract_f64, 1), D(V_RCP_F64, rcp_f64, 1),
	D(V_RSQ_F64, rsq_f64, 1), D(V_SQRT_F64, sqrt_f64, 1), D(V_FREXP_MANT_F64, frexp_mant_f64, 1),
	R(V_FREXP_EXP_I32_F64, frexp_exp_i32_f64, 1, LT_F64, .dst_type = LT_I32),
	R(V_LDEXP_F64, ldexp_f64, 2, LT_F64, .types = { LT_F64, LT_I32 }),
	R(V_TRIG_PREOP_F64, trig_preop_f64, 2, LT_F64, .types = { LT_F64, LT_I32 }),
	R(V_PK_ADD_F32, pk_add_f32, 2, LT_PKF32), R(V_PK_MUL_F32, pk_mul_f32, 2, LT_PKF32), R(V_PK_FMA_F32, pk_fma_f32, 3, LT_PKF32),
	R(V_FMA_MIX_F32, fma_f32, 3, LT_MIX, .dst_type = LT_F32),
	F(V_CUBEID_F32, cubeid_f32, 3), F(V_CUBESC_F32, cubesc_f32, 3), F(V_CUBETC_F32, cubetc_f32, 3), F(V_CUBEMA_F32, cubema_f32, 3),
};

struct lane_table LANE_NAME(lane_rows_float)(void)
{
	return (struct lane_table){ rows, sizeof(rows) / sizeof(rows[0]) };
}
