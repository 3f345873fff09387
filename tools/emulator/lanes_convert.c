/* SPDX-License-Identifier: MIT */
/*
 * Conversions between number formats on lanes. fp8 and bf8 are the FNUZ formats of gfx942: bias 8 and 16, one zero, 0x80 is NaN, no
 * infinity; what is too large becomes NaN, or the largest number when MODE.FP16_OVFL is set.
 */
#include "build/isa/isa.h"
#include "tools/emulator/float8.h"
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

static inline uint32_t f32_to_u32(double d)
{
	return isnan(d) || d <= 0 ? 0 : d >= 4294967295.0 ? UINT32_MAX : (uint32_t)d;
}

static inline uint32_t f32_to_i32(double d)
{
	return isnan(d) ? 0 : d <= -2147483648.0 ? (uint32_t)INT32_MIN : d >= 2147483647.0 ? INT32_MAX : (uint32_t)(int32_t)d;
}

static inline uint16_t to_f16_toward_zero(float f)
{
	uint16_t half = to_f16(f);
	return isfinite(f) && fabsf(f16(half)) > fabsf(f) ? half - 1 : half;
}

static inline uint16_t norm_i16(float f)
{
	return isnan(f) ? 0 : (uint16_t)(int16_t)rintf(f32_max(f32_min(f, 1.0f), -1.0f) * 32767.0f);
}

static inline uint16_t norm_u16(float f)
{
	return isnan(f) ? 0 : (uint16_t)rintf(f32_max(f32_min(f, 1.0f), 0.0f) * 65535.0f);
}

/* A conversion from dword (as TYPE) to dword. */
#define CONVERT(name, expression)                                                                  \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)x;                                                                           \
		FOR_LANES (i) {                                                                    \
			MAYBE_UNUSED uint32_t a = a_[i], b = b_[i], c = c_[i];                     \
			d_[i] = (expression);                                                      \
		}                                                                                  \
	}

CONVERT(cvt_f32_i32, bits((float)(int32_t)a))
CONVERT(cvt_f32_u32, bits((float)a))
CONVERT(cvt_u32_f32, f32_to_u32(from_bits(a)))
CONVERT(cvt_i32_f32, f32_to_i32(from_bits(a)))
CONVERT(cvt_rpi_i32_f32, f32_to_i32(floor((double)from_bits(a) + 0.5)))
CONVERT(cvt_flr_i32_f32, f32_to_i32(floor((double)from_bits(a))))
CONVERT(cvt_f16_f32, to_f16(from_bits(a)))
CONVERT(cvt_f32_f16, bits(f16(a)))
CONVERT(cvt_off_f32_i4, bits((float)((int32_t)(a << 28) >> 28) / 16.0f))
CONVERT(cvt_f32_ubyte0, bits((float)(a & 0xff)))
CONVERT(cvt_f32_ubyte1, bits((float)(a >> 8 & 0xff)))
CONVERT(cvt_f32_ubyte2, bits((float)(a >> 16 & 0xff)))
CONVERT(cvt_f32_ubyte3, bits((float)(a >> 24)))
CONVERT(cvt_f16_u16, to_f16((float)(uint16_t)a))
CONVERT(cvt_f16_i16, to_f16((float)(int16_t)a))
CONVERT(cvt_u16_f16, f32_to_u32(f16(a)) > UINT16_MAX ? UINT16_MAX : f32_to_u32(f16(a)))
CONVERT(cvt_i16_f16, (uint16_t)clamp_signed((int32_t)f32_to_i32(f16(a)), INT16_MIN, INT16_MAX))
CONVERT(cvt_norm_i16_f16, norm_i16(f16(a)))
CONVERT(cvt_norm_u16_f16, norm_u16(f16(a)))
CONVERT(cvt_pknorm_i16_f32, norm_i16(from_bits(a)) | (uint32_t)norm_i16(from_bits(b)) << 16)
CONVERT(cvt_pknorm_u16_f32, norm_u16(from_bits(a)) | (uint32_t)norm_u16(from_bits(b)) << 16)
CONVERT(cvt_pknorm_i16_f16, norm_i16(f16(a)) | (uint32_t)norm_i16(f16(b)) << 16)
CONVERT(cvt_pknorm_u16_f16, norm_u16(f16(a)) | (uint32_t)norm_u16(f16(b)) << 16)
CONVERT(cvt_pkrtz_f16_f32, to_f16_toward_zero(from_bits(a)) | (uint32_t)to_f16_toward_zero(from_bits(b)) << 16)
CONVERT(cvt_pk_u8_f32, (c & ~(0xffu << (b & 3) * 8)) | f32_to_u32(f32_min(rintf(from_bits(a)), 255.0f)) << (b & 3) * 8)
CONVERT(cvt_f32_fp8, bits(float8_decode(&float8_fp8, (uint8_t)a)))
CONVERT(cvt_f32_bf8, bits(float8_decode(&float8_bf8, (uint8_t)a)))
CONVERT(cvt_pk_fp8_f32, float8_encode(&float8_fp8, from_bits(a), x->saturate) |
				(uint32_t)float8_encode(&float8_fp8, from_bits(b), x->saturate) << 8)
CONVERT(cvt_pk_bf8_f32, float8_encode(&float8_bf8, from_bits(a), x->saturate) |
				(uint32_t)float8_encode(&float8_bf8, from_bits(b), x->saturate) << 8)

/* Stochastic rounding: b is the random number; op_sel chooses the byte of the destination (c), the others stay. */
static inline uint32_t put_byte(uint32_t word, uint8_t byte, unsigned op_sel)
{
	unsigned shift = (op_sel >> 2 & 3) * 8;
	return (word & ~(0xffu << shift)) | (uint32_t)byte << shift;
}

CONVERT(cvt_sr_fp8_f32, put_byte(c, float8_encode_stochastic(&float8_fp8, from_bits(a), b, x->saturate), x->op_sel))
CONVERT(cvt_sr_bf8_f32, put_byte(c, float8_encode_stochastic(&float8_bf8, from_bits(a), b, x->saturate), x->op_sel))

#define CONVERT_PAIR(name, format)                                                                 \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)b_, (void)c_, (void)x;                                                       \
		FOR_LANES (i) {                                                                    \
			d_[i] = bits(float8_decode(&format, (uint8_t)a_[i]));                      \
			d_[LANES + i] = bits(float8_decode(&format, (uint8_t)(a_[i] >> 8)));       \
		}                                                                                  \
	}
CONVERT_PAIR(cvt_pk_f32_fp8, float8_fp8)
CONVERT_PAIR(cvt_pk_f32_bf8, float8_bf8)

/* Between one dword and two. */
#define CONVERT_FROM_64(name, expression)                                                          \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)b_, (void)c_, (void)x;                                                       \
		FOR_LANES (i) {                                                                    \
			double a = f64(a_, i);                                                     \
			d_[i] = (expression);                                                      \
		}                                                                                  \
	}
CONVERT_FROM_64(cvt_i32_f64, f32_to_i32(a))
CONVERT_FROM_64(cvt_u32_f64, f32_to_u32(a))
CONVERT_FROM_64(cvt_f32_f64, bits((float)a))

#define CONVERT_TO_64(name, expression)                                                            \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)b_, (void)c_, (void)x;                                                       \
		FOR_LANES (i) {                                                                    \
			uint32_t a = a_[i];                                                        \
			put_f64(d_, i, (expression));                                              \
		}                                                                                  \
	}
CONVERT_TO_64(cvt_f64_i32, (double)(int32_t)a)
CONVERT_TO_64(cvt_f64_u32, (double)a)
CONVERT_TO_64(cvt_f64_f32, (double)from_bits(a))

#define R(OP, n, from, to, ...) { .op = ISA_##OP, .n_src = n, .type = from, .dst_type = to, __VA_ARGS__ }
#define TO(op, fn_, from, to) R(op, 1, from, to, .fn = lane_##fn_)
#define TO16(op, fn_, from, to) R(op, 1, from, to, .fn = lane_##fn_, .flags = ROW_ZERO_HIGH)
#define PAIR(op, fn_, from, to) R(op, 2, from, to, .fn = lane_##fn_)

static const struct valu_row rows[] = {
	TO(V_CVT_F32_I32, cvt_f32_i32, LT_I32, LT_F32), TO(V_CVT_F32_U32, cvt_f32_u32, LT_I32, LT_F32),
	TO(V_CVT_U32_F32, cvt_u32_f32, LT_F32, LT_I32), TO(V_CVT_I32_F32, cvt_i32_f32, LT_F32, LT_I32),
	TO(V_CVT_RPI_I32_F32, cvt_rpi_i32_f32, LT_F32, LT_I32), TO(V_CVT_FLR_I32_F32, cvt_flr_i32_f32, LT_F32, LT_I32),
	TO16(V_CVT_F16_F32, cvt_f16_f32, LT_F32, LT_F16), TO(V_CVT_F32_F16, cvt_f32_f16, LT_F16, LT_F32),
	TO(V_CVT_OFF_F32_I4, cvt_off_f32_i4, LT_I32, LT_F32),
	TO(V_CVT_F32_UBYTE0, cvt_f32_ubyte0, LT_I32, LT_F32), TO(V_CVT_F32_UBYTE1, cvt_f32_ubyte1, LT_I32, LT_F32),
	TO(V_CVT_F32_UBYTE2, cvt_f32_ubyte2, LT_I32, LT_F32), TO(V_CVT_F32_UBYTE3, cvt_f32_ubyte3, LT_I32, LT_F32),
	TO16(V_CVT_F16_U16, cvt_f16_u16, LT_I16, LT_F16), TO16(V_CVT_F16_I16, cvt_f16_i16, LT_I16, LT_F16),
	TO16(V_CVT_U16_F16, cvt_u16_f16, LT_F16, LT_I16), TO16(V_CVT_I16_F16, cvt_i16_f16, LT_F16, LT_I16),
	TO16(V_CVT_NORM_I16_F16, cvt_norm_i16_f16, LT_F16, LT_I16), TO16(V_CVT_NORM_U16_F16, cvt_norm_u16_f16, LT_F16, LT_I16),
	TO(V_CVT_I32_F64, cvt_i32_f64, LT_F64, LT_I32), TO(V_CVT_U32_F64, cvt_u32_f64, LT_F64, LT_I32),
	TO(V_CVT_F32_F64, cvt_f32_f64, LT_F64, LT_F32), TO(V_CVT_F64_F32, cvt_f64_f32, LT_F32, LT_F64),
	TO(V_CVT_F64_I32, cvt_f64_i32, LT_I32, LT_F64), TO(V_CVT_F64_U32, cvt_f64_u32, LT_I32, LT_F64),
	TO(V_CVT_F32_FP8, cvt_f32_fp8, LT_I32, LT_F32), TO(V_CVT_F32_BF8, cvt_f32_bf8, LT_I32, LT_F32),
	TO(V_CVT_PK_F32_FP8, cvt_pk_f32_fp8, LT_I32, LT_PKF32), TO(V_CVT_PK_F32_BF8, cvt_pk_f32_bf8, LT_I32, LT_PKF32),
	PAIR(V_CVT_PKNORM_I16_F32, cvt_pknorm_i16_f32, LT_F32, LT_PK16), PAIR(V_CVT_PKNORM_U16_F32, cvt_pknorm_u16_f32, LT_F32, LT_PK16),
	PAIR(V_CVT_PKNORM_I16_F16, cvt_pknorm_i16_f16, LT_F16, LT_PK16), PAIR(V_CVT_PKNORM_U16_F16, cvt_pknorm_u16_f16, LT_F16, LT_PK16),
	PAIR(V_CVT_PKRTZ_F16_F32, cvt_pkrtz_f16_f32, LT_F32, LT_PKF16),
	R(V_CVT_PK_U8_F32, 3, LT_F32, LT_I32, .types = { LT_F32, LT_I32, LT_I32 }, .fn = lane_cvt_pk_u8_f32),
	R(V_CVT_PK_FP8_F32, 2, LT_F32, LT_I16, .fn = lane_cvt_pk_fp8_f32, .flags = ROW_KEEP_HIGH),
	R(V_CVT_PK_BF8_F32, 2, LT_F32, LT_I16, .fn = lane_cvt_pk_bf8_f32, .flags = ROW_KEEP_HIGH),
	R(V_CVT_SR_FP8_F32, 2, LT_F32, LT_I32, .types = { LT_F32, LT_I32 }, .fn = lane_cvt_sr_fp8_f32, .flags = ROW_ACC | ROW_SEL_SRC),
	R(V_CVT_SR_BF8_F32, 2, LT_F32, LT_I32, .types = { LT_F32, LT_I32 }, .fn = lane_cvt_sr_bf8_f32, .flags = ROW_ACC | ROW_SEL_SRC),
};

struct lane_table LANE_NAME(lane_rows_convert)(void)
{
	return (struct lane_table){ rows, sizeof(rows) / sizeof(rows[0]) };
}
