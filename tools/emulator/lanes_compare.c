/* SPDX-License-Identifier: MIT */
/* Vector comparisons: one condition a lane into flag[]. Source: CDNA3 ISA, "VOPC instructions" and their compare operations. */
#include "build/isa/isa.h"
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

/* The eight conditions of integers. */
#define INTEGER(type, TYPE, load_a, load_b)                                                        \
	LANE_FLAG(f_##type, TYPE, load_a, load_b, 0)                                               \
	LANE_FLAG(lt_##type, TYPE, load_a, load_b, a < b)                                          \
	LANE_FLAG(eq_##type, TYPE, load_a, load_b, a == b)                                         \
	LANE_FLAG(le_##type, TYPE, load_a, load_b, a <= b)                                         \
	LANE_FLAG(gt_##type, TYPE, load_a, load_b, a > b)                                          \
	LANE_FLAG(ne_##type, TYPE, load_a, load_b, a != b)                                         \
	LANE_FLAG(ge_##type, TYPE, load_a, load_b, a >= b)                                         \
	LANE_FLAG(t_##type, TYPE, load_a, load_b, 1)

/* The sixteen of floats; the N forms are true for NaN. */
#define FLOAT(type, TYPE, load_a, load_b)                                                          \
	LANE_FLAG(f_##type, TYPE, load_a, load_b, 0)                                               \
	LANE_FLAG(lt_##type, TYPE, load_a, load_b, a < b)                                          \
	LANE_FLAG(eq_##type, TYPE, load_a, load_b, a == b)                                         \
	LANE_FLAG(le_##type, TYPE, load_a, load_b, a <= b)                                         \
	LANE_FLAG(gt_##type, TYPE, load_a, load_b, a > b)                                          \
	LANE_FLAG(lg_##type, TYPE, load_a, load_b, a < b || a > b)                                 \
	LANE_FLAG(ge_##type, TYPE, load_a, load_b, a >= b)                                         \
	LANE_FLAG(o_##type, TYPE, load_a, load_b, !isnan(a) && !isnan(b))                          \
	LANE_FLAG(u_##type, TYPE, load_a, load_b, isnan(a) || isnan(b))                            \
	LANE_FLAG(nge_##type, TYPE, load_a, load_b, !(a >= b))                                     \
	LANE_FLAG(nlg_##type, TYPE, load_a, load_b, !(a < b || a > b))                             \
	LANE_FLAG(ngt_##type, TYPE, load_a, load_b, !(a > b))                                      \
	LANE_FLAG(nle_##type, TYPE, load_a, load_b, !(a <= b))                                     \
	LANE_FLAG(neq_##type, TYPE, load_a, load_b, !(a == b))                                     \
	LANE_FLAG(nlt_##type, TYPE, load_a, load_b, !(a < b))                                      \
	LANE_FLAG(tru_##type, TYPE, load_a, load_b, 1)

INTEGER(i16, int16_t, (int16_t)a_[i], (int16_t)b_[i])
INTEGER(u16, uint16_t, (uint16_t)a_[i], (uint16_t)b_[i])
INTEGER(i32, int32_t, (int32_t)a_[i], (int32_t)b_[i])
INTEGER(u32, uint32_t, a_[i], b_[i])
INTEGER(i64, int64_t, (int64_t)u64(a_, i), (int64_t)u64(b_, i))
INTEGER(u64, uint64_t, u64(a_, i), u64(b_, i))
FLOAT(f16, float, f16(a_[i]), f16(b_[i]))
FLOAT(f32, float, from_bits(a_[i]), from_bits(b_[i]))
FLOAT(f64, double, f64(a_, i), f64(b_, i))

/* Bits of the class mask: signalling NaN, quiet NaN, then -infinity, -normal, -denormal, -0, +0, +denormal, +normal, +infinity. */
static inline bool in_class(uint32_t mask, bool sign, bool nan, bool quiet, bool infinite, bool zero, bool denormal)
{
	if (nan)
		return mask >> quiet & 1;
	unsigned negative = infinite ? 2 : zero ? 5 : denormal ? 4 : 3;
	return mask >> (sign ? negative : 11 - negative) & 1;
}

LANE_FN(class_f32)
{
	(void)c_, (void)d_;
	FOR_LANES (i) {
		uint32_t magnitude = a_[i] & 0x7fffffff;
		x->flag[i] = in_class(b_[i], a_[i] >> 31, magnitude > 0x7f800000, a_[i] >> 22 & 1, magnitude == 0x7f800000, magnitude == 0,
				      magnitude < 0x00800000);
	}
}

LANE_FN(class_f64)
{
	(void)c_, (void)d_;
	FOR_LANES (i) {
		uint64_t u = u64(a_, i), magnitude = u << 1 >> 1;
		x->flag[i] = in_class(b_[i], u >> 63, magnitude > 0x7ff0000000000000, u >> 51 & 1, magnitude == 0x7ff0000000000000,
				      magnitude == 0, magnitude < 0x0010000000000000);
	}
}

LANE_FN(class_f16)
{
	(void)c_, (void)d_;
	FOR_LANES (i) {
		uint32_t magnitude = a_[i] & 0x7fff;
		x->flag[i] = in_class(b_[i], a_[i] >> 15 & 1, magnitude > 0x7c00, a_[i] >> 9 & 1, magnitude == 0x7c00, magnitude == 0,
				      magnitude < 0x0400);
	}
}

#define C(OP, function, t) { .op = ISA_V_CMP_##OP, .n_src = 2, .type = t, .fn = lane_##function, .flags = ROW_COMPARE },               \
		     { .op = ISA_V_CMPX_##OP, .n_src = 2, .type = t, .fn = lane_##function, .flags = ROW_COMPARE | ROW_EXEC }
#define INTEGER_ROWS(TYPE, type, t)                                                                \
	C(F_##TYPE, f_##type, t), C(LT_##TYPE, lt_##type, t), C(EQ_##TYPE, eq_##type, t), C(LE_##TYPE, le_##type, t), \
	C(GT_##TYPE, gt_##type, t), C(NE_##TYPE, ne_##type, t), C(GE_##TYPE, ge_##type, t), C(T_##TYPE, t_##type, t)
#define FLOAT_ROWS(TYPE, type, t)                                                                  \
	C(F_##TYPE, f_##type, t), C(LT_##TYPE, lt_##type, t), C(EQ_##TYPE, eq_##type, t), C(LE_##TYPE, le_##type, t), \
	C(GT_##TYPE, gt_##type, t), C(LG_##TYPE, lg_##type, t), C(GE_##TYPE, ge_##type, t), C(O_##TYPE, o_##type, t), \
	C(U_##TYPE, u_##type, t), C(NGE_##TYPE, nge_##type, t), C(NLG_##TYPE, nlg_##type, t), C(NGT_##TYPE, ngt_##type, t), \
	C(NLE_##TYPE, nle_##type, t), C(NEQ_##TYPE, neq_##type, t), C(NLT_##TYPE, nlt_##type, t), C(TRU_##TYPE, tru_##type, t)
#define CLASS(OP, function, t) { .op = ISA_V_CMP_##OP, .n_src = 2, .type = t, .types = { t, LT_I32 }, .fn = lane_##function, .flags = ROW_COMPARE | ROW_RAW }, \
			 { .op = ISA_V_CMPX_##OP, .n_src = 2, .type = t, .types = { t, LT_I32 }, .fn = lane_##function,          \
			   .flags = ROW_COMPARE | ROW_EXEC | ROW_RAW }

static const struct valu_row rows[] = {
	INTEGER_ROWS(I16, i16, LT_I16), INTEGER_ROWS(U16, u16, LT_I16), INTEGER_ROWS(I32, i32, LT_I32), INTEGER_ROWS(U32, u32, LT_I32),
	INTEGER_ROWS(I64, i64, LT_B64), INTEGER_ROWS(U64, u64, LT_B64), FLOAT_ROWS(F16, f16, LT_F16), FLOAT_ROWS(F32, f32, LT_F32),
	FLOAT_ROWS(F64, f64, LT_F64), CLASS(CLASS_F16, class_f16, LT_F16), CLASS(CLASS_F32, class_f32, LT_F32),
	CLASS(CLASS_F64, class_f64, LT_F64),
};

struct lane_table LANE_NAME(lane_rows_compare)(void)
{
	return (struct lane_table){ rows, sizeof(rows) / sizeof(rows[0]) };
}
