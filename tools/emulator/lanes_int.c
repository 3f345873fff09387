/* SPDX-License-Identifier: MIT */
/* Integer and bit operations on lanes. Source: CDNA3 ISA, section "Vector ALU" and the instruction pages. */
#include "build/isa/isa.h"
#include "tools/emulator/lanes_local.h"
#include "tools/emulator/lanes_build.h"

#define SATURATE_I16(v) ((v) < INT16_MIN ? INT16_MIN : (v) > INT16_MAX ? INT16_MAX : (v))
#define SATURATE_U16(v) ((v) < 0 ? 0 : (v) > UINT16_MAX ? UINT16_MAX : (v))

static inline uint32_t mul_hi_u32(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

static inline int32_t s24(uint32_t v)
{
	return (int32_t)(v << 8) >> 8;
}

static inline uint32_t u24(uint32_t v)
{
	return v & 0xffffff;
}

static inline uint32_t add_signed(uint32_t a, uint32_t b, bool clamp)
{
	int64_t sum = (int64_t)(int32_t)a + (int32_t)b;
	return (uint32_t)(clamp ? clamp_signed(sum, INT32_MIN, INT32_MAX) : sum);
}

static inline uint32_t sub_signed(uint32_t a, uint32_t b, bool clamp)
{
	int64_t difference = (int64_t)(int32_t)a - (int32_t)b;
	return (uint32_t)(clamp ? clamp_signed(difference, INT32_MIN, INT32_MAX) : difference);
}

static inline uint32_t sub_clamped(uint32_t a, uint32_t b, bool clamp)
{
	return clamp && a < b ? 0 : a - b;
}

static inline uint32_t bit_reverse(uint32_t v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}

static inline uint32_t first_high(uint32_t v)	/* leading zeros, -1 for 0 */
{
	return v ? (uint32_t)__builtin_clz(v) : UINT32_MAX;
}

static inline uint32_t bfe_u32(uint32_t v, uint32_t offset, uint32_t width)
{
	return width ? v >> offset & (UINT32_MAX >> (32 - width)) : 0;
}

static inline uint32_t bfe_i32(uint32_t v, uint32_t offset, uint32_t width)
{
	if (!width)
		return 0;
	unsigned used = offset + width > 32 ? 32 - offset : width;
	return (uint32_t)((int32_t)(v << (32 - offset - used)) >> (32 - used));
}

/* One byte of v_perm_b32: 0..7 a byte of {a, b}, 8..11 the sign of one of its halves, 12 zero, above 0xff. */
static inline uint32_t perm_byte(uint64_t ab, uint32_t select)
{
	if (select >= 13)
		return 0xff;
	if (select == 12)
		return 0;
	if (select >= 8)
		return ab >> ((select - 8) * 16 + 15) & 1 ? 0xff : 0;
	return (uint32_t)(ab >> select * 8) & 0xff;
}

static inline uint32_t perm(uint32_t a, uint32_t b, uint32_t selects)
{
	uint64_t ab = (uint64_t)a << 32 | b;
	return perm_byte(ab, selects & 0xff) | perm_byte(ab, selects >> 8 & 0xff) << 8 | perm_byte(ab, selects >> 16 & 0xff) << 16 |
	       perm_byte(ab, selects >> 24) << 24;
}

static inline uint32_t absolute_difference(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

static inline uint32_t sad_u8(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;
	for (unsigned byte = 0; byte < 32; byte += 8)
		sum += absolute_difference(a >> byte & 0xff, b >> byte & 0xff);
	return sum;
}

static inline uint32_t msad_u8(uint32_t a, uint32_t b)	/* bytes of b that are 0 are left out */
{
	uint32_t sum = 0;
	for (unsigned byte = 0; byte < 32; byte += 8)
		sum += b >> byte & 0xff ? absolute_difference(a >> byte & 0xff, b >> byte & 0xff) : 0;
	return sum;
}

static inline uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t result = 0;
	for (unsigned byte = 0; byte < 32; byte += 8)
		result |= (((a >> byte & 0xff) + (b >> byte & 0xff) + (c >> byte & 1)) >> 1) << byte;
	return result;
}

LANE_32(mov_b32, uint32_t, a)
LANE_64(mov_b64, uint64_t, a)
LANE_32(not_b32, uint32_t, ~a)
LANE_32(bfrev_b32, uint32_t, bit_reverse(a))
LANE_32(ffbh_u32, uint32_t, first_high(a))
LANE_32(ffbl_b32, uint32_t, a ? (uint32_t)__builtin_ctz(a) : UINT32_MAX)
LANE_32(ffbh_i32, uint32_t, first_high(a ^ (uint32_t)((int32_t)a >> 31)))
LANE_32(sat_pk_u8_i16, uint32_t,
	(uint32_t)clamp_signed((int16_t)a, 0, 255) | (uint32_t)clamp_signed((int16_t)(a >> 16), 0, 255) << 8)

LANE_32(and_b32, uint32_t, a & b)
LANE_32(or_b32, uint32_t, a | b)
LANE_32(xor_b32, uint32_t, a ^ b)
LANE_32(xnor_b32, uint32_t, ~(a ^ b))
LANE_32(lshlrev_b32, uint32_t, b << (a & 31))
LANE_32(lshrrev_b32, uint32_t, b >> (a & 31))
LANE_32(ashrrev_i32, int32_t, b >> (a & 31))
LANE_32(lshl_add_u32, uint32_t, (a << (b & 31)) + c)
LANE_32(add_lshl_u32, uint32_t, (a + b) << (c & 31))
LANE_32(add3_u32, uint32_t, a + b + c)
LANE_32(lshl_or_b32, uint32_t, a << (b & 31) | c)
LANE_32(and_or_b32, uint32_t, (a & b) | c)
LANE_32(or3_b32, uint32_t, a | b | c)
LANE_32(xad_u32, uint32_t, (a ^ b) + c)
LANE_32(bfe_u32, uint32_t, bfe_u32(a, b & 31, c & 31))
LANE_32(bfe_i32, uint32_t, bfe_i32(a, b & 31, c & 31))
LANE_32(bfi_b32, uint32_t, (a & b) | (~a & c))
LANE_32(bfm_b32, uint32_t, ((1u << (a & 31)) - 1) << (b & 31))
LANE_32(alignbit_b32, uint32_t, (uint32_t)(((uint64_t)a << 32 | b) >> (c & 31)))
LANE_32(alignbyte_b32, uint32_t, (uint32_t)(((uint64_t)a << 32 | b) >> (c & 3) * 8))
LANE_32(perm_b32, uint32_t, perm(a, b, c))
LANE_32(lerp_u8, uint32_t, lerp_u8(a, b, c))
LANE_32(bcnt_u32_b32, uint32_t, (uint32_t)__builtin_popcount(a) + b)
LANE_32(sad_u8, uint32_t, sad_u8(a, b) + c)
LANE_32(sad_hi_u8, uint32_t, (sad_u8(a, b) << 16) + c)
LANE_32(sad_u16, uint32_t, absolute_difference(a & 0xffff, b & 0xffff) + absolute_difference(a >> 16, b >> 16) + c)
LANE_32(sad_u32, uint32_t, absolute_difference(a, b) + c)
LANE_32(msad_u8, uint32_t, msad_u8(a, b) + c)

LANE_32(add_u32, uint32_t, x->clamp && a + b < a ? UINT32_MAX : a + b)
LANE_32(sub_u32, uint32_t, sub_clamped(a, b, x->clamp))
LANE_32(subrev_u32, uint32_t, sub_clamped(b, a, x->clamp))
LANE_32(add_i32, uint32_t, add_signed(a, b, x->clamp))
LANE_32(sub_i32, uint32_t, sub_signed(a, b, x->clamp))
LANE_32(min_i32, int32_t, a < b ? a : b)
LANE_32(max_i32, int32_t, a > b ? a : b)
LANE_32(min_u32, uint32_t, a < b ? a : b)
LANE_32(max_u32, uint32_t, a > b ? a : b)
#define MIN2(p, q) ((p) < (q) ? (p) : (q))
#define MAX2(p, q) ((p) > (q) ? (p) : (q))
#define MED3(p, q, r) MAX2(MIN2(p, q), MIN2(MAX2(p, q), r))
LANE_32(min3_i32, int32_t, MIN2(MIN2(a, b), c))
LANE_32(max3_i32, int32_t, MAX2(MAX2(a, b), c))
LANE_32(med3_i32, int32_t, MED3(a, b, c))
LANE_32(min3_u32, uint32_t, MIN2(MIN2(a, b), c))
LANE_32(max3_u32, uint32_t, MAX2(MAX2(a, b), c))
LANE_32(med3_u32, uint32_t, MED3(a, b, c))

LANE_32(mul_i32_i24, uint32_t, (uint32_t)s24(a) * (uint32_t)s24(b))
LANE_32(mul_hi_i32_i24, uint32_t, (uint32_t)((int64_t)s24(a) * s24(b) >> 32))
LANE_32(mul_u32_u24, uint32_t, u24(a) * u24(b))
LANE_32(mul_hi_u32_u24, uint32_t, mul_hi_u32(u24(a), u24(b)))
LANE_32(mad_i32_i24, uint32_t, (uint32_t)s24(a) * (uint32_t)s24(b) + c)
LANE_32(mad_u32_u24, uint32_t, u24(a) * u24(b) + c)
LANE_32(mul_lo_u32, uint32_t, a * b)
LANE_32(mul_hi_u32, uint32_t, mul_hi_u32(a, b))
LANE_32(mul_hi_i32, int32_t, (int64_t)a * b >> 32)
LANE_32(mad_u32_u16, uint32_t, (a & 0xffff) * (b & 0xffff) + c)
LANE_32(mad_i32_i16, uint32_t, (uint32_t)((int16_t)a * (int16_t)b) + c)

/* Carries: the mask goes in through mask_in and out through flag[]. */
LANE_FN(add_co_u32)
{
	(void)c_;
	FOR_LANES (i) {
		uint32_t sum = a_[i] + b_[i];
		x->flag[i] = sum < a_[i];
		d_[i] = x->clamp && sum < a_[i] ? UINT32_MAX : sum;
	}
}

static inline void subtract_co(uint32_t *restrict d, const uint32_t *a, const uint32_t *b, struct lane_context *x)
{
	FOR_LANES (i) {
		x->flag[i] = a[i] < b[i];
		d[i] = sub_clamped(a[i], b[i], x->clamp);
	}
}

LANE_FN(sub_co_u32)
{
	(void)c_;
	subtract_co(d_, a_, b_, x);
}

LANE_FN(subrev_co_u32)
{
	(void)c_;
	subtract_co(d_, b_, a_, x);
}

LANE_FN(addc_co_u32)
{
	(void)c_;
	FOR_LANES (i) {
		uint64_t sum = (uint64_t)a_[i] + b_[i] + (x->mask_in >> i & 1);
		x->flag[i] = (uint32_t)(sum >> 32);
		d_[i] = x->clamp && sum >> 32 ? UINT32_MAX : (uint32_t)sum;
	}
}

static inline void subtract_borrow(uint32_t *restrict d, const uint32_t *a, const uint32_t *b, struct lane_context *x)
{
	FOR_LANES (i) {
		uint64_t less = (uint64_t)b[i] + (x->mask_in >> i & 1);
		x->flag[i] = a[i] < less;
		d[i] = x->clamp && a[i] < less ? 0 : (uint32_t)(a[i] - less);
	}
}

LANE_FN(subb_co_u32)
{
	(void)c_;
	subtract_borrow(d_, a_, b_, x);
}

LANE_FN(subbrev_co_u32)
{
	(void)c_;
	subtract_borrow(d_, b_, a_, x);
}

LANE_FN(cndmask_b32)
{
	(void)c_;
	FOR_LANES (i)
		d_[i] = x->mask_in >> i & 1 ? b_[i] : a_[i];
}

static inline uint32_t mask_below(unsigned lane)	/* of a half wave */
{
	return lane >= 32 ? UINT32_MAX : (1u << lane) - 1;
}

LANE_FN(mbcnt_lo)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = (uint32_t)__builtin_popcount(a_[i] & mask_below(i)) + b_[i];
}

LANE_FN(mbcnt_hi)
{
	(void)c_, (void)x;
	FOR_LANES (i)
		d_[i] = (i < 32 ? 0 : (uint32_t)__builtin_popcount(a_[i] & mask_below(i - 32))) + b_[i];
}

#define LANE_SHIFT64(name, TYPE, op)                                                               \
	LANE_FN(name)                                                                              \
	{                                                                                          \
		(void)c_, (void)x;                                                                 \
		FOR_LANES (i)                                                                      \
			put64(d_, i, (uint64_t)((TYPE)u64(b_, i) op(a_[i] & 63)));                 \
	}
LANE_SHIFT64(lshlrev_b64, uint64_t, <<)
LANE_SHIFT64(lshrrev_b64, uint64_t, >>)
LANE_SHIFT64(ashrrev_i64, int64_t, >>)

LANE_FN(shift_add_u64)
{
	(void)x;
	FOR_LANES (i)
		put64(d_, i, (u64(a_, i) << (b_[i] & 7)) + u64(c_, i));
}

LANE_FN(mad_u64_u32)
{
	FOR_LANES (i) {
		uint64_t product = (uint64_t)a_[i] * b_[i], sum = product + u64(c_, i);
		x->flag[i] = sum < product;
		put64(d_, i, sum);
	}
}

LANE_FN(mad_i64_i32)
{
	FOR_LANES (i) {
		int64_t product = (int64_t)(int32_t)a_[i] * (int32_t)b_[i], sum;
		x->flag[i] = __builtin_add_overflow(product, (int64_t)u64(c_, i), &sum);
		put64(d_, i, (uint64_t)sum);
	}
}

LANE_16(add_u16, uint16_t, x->clamp && a + b > UINT16_MAX ? UINT16_MAX : a + b)
LANE_16(sub_u16, uint16_t, x->clamp && a < b ? 0 : a - b)
LANE_16(subrev_u16, uint16_t, x->clamp && b < a ? 0 : b - a)
LANE_16(add_i16, int16_t, x->clamp ? SATURATE_I16(a + b) : a + b)
LANE_16(sub_i16, int16_t, x->clamp ? SATURATE_I16(a - b) : a - b)
LANE_16(mul_lo_u16, uint32_t, (a & 0xffff) * (b & 0xffff))
LANE_16(lshlrev_b16, uint16_t, b << (a & 15))
LANE_16(lshrrev_b16, uint16_t, b >> (a & 15))
LANE_16(ashrrev_i16, int16_t, b >> (a & 15))
LANE_16(max_u16, uint16_t, a > b ? a : b)
LANE_16(max_i16, int16_t, a > b ? a : b)
LANE_16(min_u16, uint16_t, a < b ? a : b)
LANE_16(min_i16, int16_t, a < b ? a : b)
LANE_16(mad_u16, uint32_t, (a & 0xffff) * (b & 0xffff) + (c & 0xffff))
LANE_16(mad_i16, int16_t, x->clamp ? SATURATE_I16(a * b + c) : a * b + c)
LANE_16(min3_i16, int16_t, MIN2(MIN2(a, b), c))
LANE_16(max3_i16, int16_t, MAX2(MAX2(a, b), c))
LANE_16(med3_i16, int16_t, MED3(a, b, c))
LANE_16(min3_u16, uint16_t, MIN2(MIN2(a, b), c))
LANE_16(max3_u16, uint16_t, MAX2(MAX2(a, b), c))
LANE_16(med3_u16, uint16_t, MED3(a, b, c))

LANE_PK16(pk_mad_i16, int16_t, x->clamp ? SATURATE_I16(a * b + c) : a * b + c)
LANE_PK16(pk_mad_u16, uint16_t, (uint32_t)a * b + c)
LANE_PK16(pk_mul_lo_u16, uint16_t, (uint32_t)a * b)
LANE_PK16(pk_add_i16, int16_t, x->clamp ? SATURATE_I16(a + b) : a + b)
LANE_PK16(pk_sub_i16, int16_t, x->clamp ? SATURATE_I16(a - b) : a - b)
LANE_PK16(pk_add_u16, uint16_t, x->clamp ? SATURATE_U16(a + b) : a + b)
LANE_PK16(pk_sub_u16, uint16_t, x->clamp ? SATURATE_U16(a - b) : a - b)
LANE_PK16(pk_lshlrev_b16, uint16_t, b << (a & 15))
LANE_PK16(pk_lshrrev_b16, uint16_t, b >> (a & 15))
LANE_PK16(pk_ashrrev_i16, int16_t, b >> (a & 15))
LANE_PK16(pk_max_i16, int16_t, a > b ? a : b)
LANE_PK16(pk_min_i16, int16_t, a < b ? a : b)
LANE_PK16(pk_max_u16, uint16_t, a > b ? a : b)
LANE_PK16(pk_min_u16, uint16_t, a < b ? a : b)

/* pk_mov_b32: op_sel chooses the dword of each source. */
LANE_FN(pk_mov_b32)
{
	(void)c_;
	unsigned from_a = x->op_sel & 1 ? LANES : 0, from_b = x->op_sel & 2 ? LANES : 0;
	FOR_LANES (i) {
		d_[i] = a_[from_a + i];
		d_[LANES + i] = b_[from_b + i];
	}
}

/* Dot products of short integers; clamp saturates the final sum. */
static inline int64_t dot_signed(uint32_t a, uint32_t b, unsigned size)
{
	int64_t sum = 0;
	for (unsigned bit = 0; bit < 32; bit += size)
		sum += (int64_t)((int32_t)(a << (32 - size - bit)) >> (32 - size)) * ((int32_t)(b << (32 - size - bit)) >> (32 - size));
	return sum;
}

static inline uint64_t dot_unsigned(uint32_t a, uint32_t b, unsigned size)
{
	uint64_t sum = 0;
	for (unsigned bit = 0; bit < 32; bit += size)
		sum += (uint64_t)(a >> bit & ((1u << size) - 1)) * (b >> bit & ((1u << size) - 1));
	return sum;
}

static inline uint32_t finish_signed(int64_t sum, bool clamp)
{
	return (uint32_t)(clamp ? clamp_signed(sum, INT32_MIN, INT32_MAX) : sum);
}

static inline uint32_t finish_unsigned(uint64_t sum, bool clamp)
{
	return (uint32_t)(clamp && sum > UINT32_MAX ? UINT32_MAX : sum);
}

LANE_32(dot2_i32_i16, uint32_t, finish_signed(dot_signed(a, b, 16) + (int32_t)c, x->clamp))
LANE_32(dot4_i32_i8, uint32_t, finish_signed(dot_signed(a, b, 8) + (int32_t)c, x->clamp))
LANE_32(dot8_i32_i4, uint32_t, finish_signed(dot_signed(a, b, 4) + (int32_t)c, x->clamp))
LANE_32(dot2_u32_u16, uint32_t, finish_unsigned(dot_unsigned(a, b, 16) + c, x->clamp))
LANE_32(dot4_u32_u8, uint32_t, finish_unsigned(dot_unsigned(a, b, 8) + c, x->clamp))
LANE_32(dot8_u32_u4, uint32_t, finish_unsigned(dot_unsigned(a, b, 4) + c, x->clamp))

LANE_32(cvt_pk_u16_u32, uint32_t, MIN2(a, 0xffffu) | MIN2(b, 0xffffu) << 16)
LANE_32(cvt_pk_i16_i32, int32_t,
	((uint32_t)clamp_signed(a, INT16_MIN, INT16_MAX) & 0xffff) | (uint32_t)clamp_signed(b, INT16_MIN, INT16_MAX) << 16)
LANE_32(pack_b32_f16, uint32_t, (a & 0xffff) | b << 16)

#define R(OP, function, n, t, ...) { .op = ISA_##OP, .n_src = n, .type = t, .dst_type = t, .fn = lane_##function, __VA_ARGS__ }
#define R32(op, fn, n) R(op, fn, n, LT_I32)
#define R16(op, fn, n) R(op, fn, n, LT_I16, .flags = ROW_ZERO_HIGH)
#define PK(op, fn, n) R(op, fn, n, LT_PK16)

static const struct valu_row rows[] = {
	R(V_MOV_B32, mov_b32, 1, LT_B32), R(V_MOV_B64, mov_b64, 1, LT_B64),
	R32(V_ACCVGPR_READ_B32, mov_b32, 1), R32(V_ACCVGPR_WRITE_B32, mov_b32, 1), R32(V_ACCVGPR_MOV_B32, mov_b32, 1),
	R32(V_NOT_B32, not_b32, 1), R32(V_BFREV_B32, bfrev_b32, 1), R32(V_FFBH_U32, ffbh_u32, 1), R32(V_FFBL_B32, ffbl_b32, 1),
	R32(V_FFBH_I32, ffbh_i32, 1), R32(V_SAT_PK_U8_I16, sat_pk_u8_i16, 1),
	R32(V_AND_B32, and_b32, 2), R32(V_OR_B32, or_b32, 2), R32(V_XOR_B32, xor_b32, 2), R32(V_XNOR_B32, xnor_b32, 2),
	R32(V_LSHLREV_B32, lshlrev_b32, 2), R32(V_LSHRREV_B32, lshrrev_b32, 2), R32(V_ASHRREV_I32, ashrrev_i32, 2),
	R32(V_LSHL_ADD_U32, lshl_add_u32, 3), R32(V_ADD_LSHL_U32, add_lshl_u32, 3), R32(V_ADD3_U32, add3_u32, 3),
	R32(V_LSHL_OR_B32, lshl_or_b32, 3), R32(V_AND_OR_B32, and_or_b32, 3), R32(V_OR3_B32, or3_b32, 3), R32(V_XAD_U32, xad_u32, 3),
	R32(V_BFE_U32, bfe_u32, 3), R32(V_BFE_I32, bfe_i32, 3), R32(V_BFI_B32, bfi_b32, 3), R32(V_BFM_B32, bfm_b32, 2),
	R32(V_ALIGNBIT_B32, alignbit_b32, 3), R32(V_ALIGNBYTE_B32, alignbyte_b32, 3), R32(V_PERM_B32, perm_b32, 3),
	R32(V_LERP_U8, lerp_u8, 3), R32(V_BCNT_U32_B32, bcnt_u32_b32, 2), R32(V_SAD_U8, sad_u8, 3), R32(V_SAD_HI_U8, sad_hi_u8, 3),
	R32(V_SAD_U16, sad_u16, 3), R32(V_SAD_U32, sad_u32, 3), R32(V_MSAD_U8, msad_u8, 3),
	R32(V_ADD_U32, add_u32, 2), R32(V_SUB_U32, sub_u32, 2), R32(V_SUBREV_U32, subrev_u32, 2), R32(V_ADD_I32, add_i32, 2),
	R32(V_SUB_I32, sub_i32, 2), R32(V_MIN_I32, min_i32, 2), R32(V_MAX_I32, max_i32, 2), R32(V_MIN_U32, min_u32, 2),
	R32(V_MAX_U32, max_u32, 2), R32(V_MIN3_I32, min3_i32, 3), R32(V_MAX3_I32, max3_i32, 3), R32(V_MED3_I32, med3_i32, 3),
	R32(V_MIN3_U32, min3_u32, 3), R32(V_MAX3_U32, max3_u32, 3), R32(V_MED3_U32, med3_u32, 3),
	R32(V_MUL_I32_I24, mul_i32_i24, 2), R32(V_MUL_HI_I32_I24, mul_hi_i32_i24, 2), R32(V_MUL_U32_U24, mul_u32_u24, 2),
	R32(V_MUL_HI_U32_U24, mul_hi_u32_u24, 2), R32(V_MAD_I32_I24, mad_i32_i24, 3), R32(V_MAD_U32_U24, mad_u32_u24, 3),
	R32(V_MUL_LO_U32, mul_lo_u32, 2), R32(V_MUL_HI_U32, mul_hi_u32, 2), R32(V_MUL_HI_I32, mul_hi_i32, 2),
	R(V_MAD_U32_U16, mad_u32_u16, 3, LT_I32, .types = { LT_I16, LT_I16, LT_I32 }),
	R(V_MAD_I32_I16, mad_i32_i16, 3, LT_I32, .types = { LT_I16, LT_I16, LT_I32 }),
	R(V_ADD_CO_U32, add_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT), R(V_SUB_CO_U32, sub_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT),
	R(V_SUBREV_CO_U32, subrev_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT),
	R(V_ADDC_CO_U32, addc_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT | ROW_MASK_IN),
	R(V_SUBB_CO_U32, subb_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT | ROW_MASK_IN),
	R(V_SUBBREV_CO_U32, subbrev_co_u32, 2, LT_I32, .flags = ROW_MASK_OUT | ROW_MASK_IN),
	R(V_CNDMASK_B32, cndmask_b32, 2, LT_F32, .flags = ROW_MASK_IN | ROW_RAW),
	R32(V_MBCNT_LO_U32_B32, mbcnt_lo, 2), R32(V_MBCNT_HI_U32_B32, mbcnt_hi, 2),
	R(V_LSHLREV_B64, lshlrev_b64, 2, LT_B64, .types = { LT_I32, LT_B64 }), R(V_LSHRREV_B64, lshrrev_b64, 2, LT_B64, .types = { LT_I32, LT_B64 }),
	R(V_ASHRREV_I64, ashrrev_i64, 2, LT_B64, .types = { LT_I32, LT_B64 }),
	R(V_LSHL_ADD_U64, shift_add_u64, 3, LT_B64, .types = { LT_B64, LT_I32, LT_B64 }),
	R(V_MAD_U64_U32, mad_u64_u32, 3, LT_B64, .types = { LT_I32, LT_I32, LT_B64 }, .flags = ROW_MASK_OUT),
	R(V_MAD_I64_I32, mad_i64_i32, 3, LT_B64, .types = { LT_I32, LT_I32, LT_B64 }, .flags = ROW_MASK_OUT),
	R16(V_ADD_U16, add_u16, 2), R16(V_SUB_U16, sub_u16, 2), R16(V_SUBREV_U16, subrev_u16, 2), R16(V_ADD_I16, add_i16, 2),
	R16(V_SUB_I16, sub_i16, 2), R16(V_MUL_LO_U16, mul_lo_u16, 2), R16(V_LSHLREV_B16, lshlrev_b16, 2),
	R16(V_LSHRREV_B16, lshrrev_b16, 2), R16(V_ASHRREV_I16, ashrrev_i16, 2), R16(V_MAX_U16, max_u16, 2), R16(V_MAX_I16, max_i16, 2),
	R16(V_MIN_U16, min_u16, 2), R16(V_MIN_I16, min_i16, 2),
	R(V_MAD_U16, mad_u16, 3, LT_I16, .flags = ROW_KEEP_HIGH), R(V_MAD_I16, mad_i16, 3, LT_I16, .flags = ROW_KEEP_HIGH),
	R16(V_MAD_LEGACY_U16, mad_u16, 3), R16(V_MAD_LEGACY_I16, mad_i16, 3),
	R16(V_MIN3_I16, min3_i16, 3), R16(V_MAX3_I16, max3_i16, 3), R16(V_MED3_I16, med3_i16, 3), R16(V_MIN3_U16, min3_u16, 3),
	R16(V_MAX3_U16, max3_u16, 3), R16(V_MED3_U16, med3_u16, 3),
	PK(V_PK_MAD_I16, pk_mad_i16, 3), PK(V_PK_MAD_U16, pk_mad_u16, 3), PK(V_PK_MUL_LO_U16, pk_mul_lo_u16, 2),
	PK(V_PK_ADD_I16, pk_add_i16, 2), PK(V_PK_SUB_I16, pk_sub_i16, 2), PK(V_PK_ADD_U16, pk_add_u16, 2), PK(V_PK_SUB_U16, pk_sub_u16, 2),
	PK(V_PK_LSHLREV_B16, pk_lshlrev_b16, 2), PK(V_PK_LSHRREV_B16, pk_lshrrev_b16, 2), PK(V_PK_ASHRREV_I16, pk_ashrrev_i16, 2),
	PK(V_PK_MAX_I16, pk_max_i16, 2), PK(V_PK_MIN_I16, pk_min_i16, 2), PK(V_PK_MAX_U16, pk_max_u16, 2), PK(V_PK_MIN_U16, pk_min_u16, 2),
	R(V_PK_MOV_B32, pk_mov_b32, 2, LT_B64, .flags = ROW_SEL_SRC),
	R32(V_DOT2_I32_I16, dot2_i32_i16, 3), R32(V_DOT4_I32_I8, dot4_i32_i8, 3), R32(V_DOT8_I32_I4, dot8_i32_i4, 3),
	R32(V_DOT2_U32_U16, dot2_u32_u16, 3), R32(V_DOT4_U32_U8, dot4_u32_u8, 3), R32(V_DOT8_U32_U4, dot8_u32_u4, 3),
	R(V_DOT2C_I32_I16, dot2_i32_i16, 2, LT_I32, .flags = ROW_ACC), R(V_DOT4C_I32_I8, dot4_i32_i8, 2, LT_I32, .flags = ROW_ACC),
	R(V_DOT8C_I32_I4, dot8_i32_i4, 2, LT_I32, .flags = ROW_ACC),
	R32(V_CVT_PK_U16_U32, cvt_pk_u16_u32, 2), R32(V_CVT_PK_I16_I32, cvt_pk_i16_i32, 2),
	R(V_PACK_B32_F16, pack_b32_f16, 2, LT_F16, .dst_type = LT_B32, .flags = ROW_RAW),
};

struct lane_table LANE_NAME(lane_rows_int)(void)
{
	return (struct lane_table){ rows, sizeof(rows) / sizeof(rows[0]) };
}
