/* SPDX-License-Identifier: MIT */
/* Scalar ALU. Source: CDNA3 ISA, section "Scalar ALU operations" and the instruction pages. */
#include "tools/emulator/internal.h"

/* `a` and `b` are the sources as TYPE, d the old destination; the expression is the new one. */
#define SCALAR(name, TYPE, DTYPE, expression)                                                      \
	static void s_##name(struct scalar_args *x)                                                \
	{                                                                                          \
		__attribute__((unused)) TYPE a = (TYPE)x->a, b = (TYPE)x->b, d = (TYPE)x->d;       \
		x->d = (uint64_t)(DTYPE)(expression);                                              \
	}

/* The same; SCC becomes whether the result is not zero. */
#define SCALAR_SCC(name, TYPE, DTYPE, expression)                                                  \
	SCALAR(name##_, TYPE, DTYPE, expression)                                                   \
	static void s_##name(struct scalar_args *x)                                                \
	{                                                                                          \
		s_##name##_(x);                                                                    \
		x->scc = (DTYPE)x->d != 0;                                                         \
	}

#define COMPARE(name, TYPE, op)                                                                    \
	static void s_##name(struct scalar_args *x)                                                \
	{                                                                                          \
		x->scc = (TYPE)x->a op (TYPE)x->b;                                                 \
	}

static void s_add_u32(struct scalar_args *x)
{
	uint64_t sum = (uint64_t)(uint32_t)x->a + (uint32_t)x->b;
	x->d = (uint32_t)sum;
	x->scc = sum >> 32 != 0;
}

static void s_addc_u32(struct scalar_args *x)
{
	uint64_t sum = (uint64_t)(uint32_t)x->a + (uint32_t)x->b + x->scc;
	x->d = (uint32_t)sum;
	x->scc = sum >> 32 != 0;
}

static void s_sub_u32(struct scalar_args *x)
{
	x->scc = (uint32_t)x->a < (uint32_t)x->b;
	x->d = (uint32_t)x->a - (uint32_t)x->b;
}

static void s_subb_u32(struct scalar_args *x)
{
	uint64_t less = (uint64_t)(uint32_t)x->b + x->scc;
	x->scc = (uint32_t)x->a < less;
	x->d = (uint32_t)(x->a - less);
}

static void s_add_i32(struct scalar_args *x)
{
	int32_t sum;
	x->scc = __builtin_add_overflow((int32_t)x->a, (int32_t)x->b, &sum);
	x->d = (uint32_t)sum;
}

static void s_sub_i32(struct scalar_args *x)
{
	int32_t difference;
	x->scc = __builtin_sub_overflow((int32_t)x->a, (int32_t)x->b, &difference);
	x->d = (uint32_t)difference;
}

static void s_addk_i32(struct scalar_args *x)
{
	int32_t sum;
	x->scc = __builtin_add_overflow((int32_t)x->d, (int32_t)x->b, &sum);
	x->d = (uint32_t)sum;
}

#define PICK(name, TYPE, op)                                                                       \
	static void s_##name(struct scalar_args *x)                                                \
	{                                                                                          \
		x->scc = (TYPE)x->a op (TYPE)x->b;                                                 \
		x->d = (uint32_t)(x->scc ? x->a : x->b);                                           \
	}
PICK(min_i32, int32_t, <)
PICK(min_u32, uint32_t, <)
PICK(max_i32, int32_t, >)
PICK(max_u32, uint32_t, >)

#define LOGIC(name, expression)                                                                    \
	SCALAR_SCC(name##_b32, uint32_t, uint32_t, expression)                                     \
	SCALAR_SCC(name##_b64, uint64_t, uint64_t, expression)
LOGIC(and, a & b)
LOGIC(or, a | b)
LOGIC(xor, a ^ b)
LOGIC(andn2, a & ~b)
LOGIC(orn2, a | ~b)
LOGIC(nand, ~(a & b))
LOGIC(nor, ~(a | b))
LOGIC(xnor, ~(a ^ b))
SCALAR_SCC(andn1_b64, uint64_t, uint64_t, ~a & b)
SCALAR_SCC(orn1_b64, uint64_t, uint64_t, ~a | b)
LOGIC(not, ~a)

SCALAR_SCC(lshl_b32, uint32_t, uint32_t, a << (b & 31))
SCALAR_SCC(lshl_b64, uint64_t, uint64_t, a << (b & 63))
SCALAR_SCC(lshr_b32, uint32_t, uint32_t, a >> (b & 31))
SCALAR_SCC(lshr_b64, uint64_t, uint64_t, a >> (b & 63))
SCALAR_SCC(ashr_i32, int32_t, uint32_t, a >> (b & 31))
SCALAR_SCC(ashr_i64, int64_t, uint64_t, a >> (b & 63))

static uint64_t low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Bits [offset, offset + width) of v, which has `size` bits. */
static uint64_t extract(uint64_t v, uint64_t field, unsigned size, bool sign)
{
	unsigned offset = field & (size - 1), width = MIN((unsigned)(field >> 16 & 0x7f), size - offset);
	if (width == 0)
		return 0;
	uint64_t part = v >> offset & low_bits(width);
	if (sign && width < 64 && part >> (width - 1) & 1)
		part |= ~low_bits(width);
	return part;
}

SCALAR_SCC(bfe_u32, uint32_t, uint32_t, extract(a, b, 32, false))
SCALAR_SCC(bfe_i32, uint32_t, uint32_t, extract(a, b, 32, true))
SCALAR_SCC(bfe_u64, uint64_t, uint64_t, extract(a, b, 64, false))
SCALAR_SCC(bfe_i64, uint64_t, uint64_t, extract(a, b, 64, true))
SCALAR(bfm_b32, uint32_t, uint32_t, low_bits(a & 31) << (b & 31))
SCALAR(bfm_b64, uint64_t, uint64_t, low_bits(a & 63) << (b & 63))

SCALAR(mul_i32, uint32_t, uint32_t, a * b)
SCALAR(mul_hi_u32, uint32_t, uint32_t, (uint64_t)a * b >> 32)
SCALAR(mul_hi_i32, int32_t, uint32_t, (int64_t)a * b >> 32)
SCALAR(mulk_i32, uint32_t, uint32_t, d * b)
SCALAR_SCC(absdiff_i32, int32_t, uint32_t, a > b ? (uint32_t)a - (uint32_t)b : (uint32_t)b - (uint32_t)a)
SCALAR_SCC(abs_i32, int32_t, uint32_t, a < 0 ? -(uint32_t)a : (uint32_t)a)

#define SHIFT_ADD(n)                                                                               \
	static void s_lshl##n##_add_u32(struct scalar_args *x)                                     \
	{                                                                                          \
		uint64_t sum = ((uint64_t)(uint32_t)x->a << n) + (uint32_t)x->b;                   \
		x->d = (uint32_t)sum;                                                              \
		x->scc = sum >> 32 != 0;                                                           \
	}
SHIFT_ADD(1)
SHIFT_ADD(2)
SHIFT_ADD(3)
SHIFT_ADD(4)

SCALAR(pack_ll, uint32_t, uint32_t, (a & 0xffff) | b << 16)
SCALAR(pack_lh, uint32_t, uint32_t, (a & 0xffff) | (b & 0xffff0000))
SCALAR(pack_hh, uint32_t, uint32_t, a >> 16 | (b & 0xffff0000))
SCALAR(mov_b32, uint32_t, uint32_t, a)
SCALAR(mov_b64, uint64_t, uint64_t, a)
SCALAR(movk, int32_t, uint32_t, b)
SCALAR(cmov, uint64_t, uint64_t, x->scc ? a : d)
SCALAR(cmovk, uint64_t, uint64_t, x->scc ? b : d)
SCALAR(cselect, uint64_t, uint64_t, x->scc ? a : b)

static uint64_t reverse64(uint64_t v)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 64; i++)
		r |= (v >> i & 1) << (63 - i);
	return r;
}

/* Each group of four bits becomes all ones when any of them is one. */
static uint64_t whole_quads(uint64_t v)
{
	uint64_t any = (v | v >> 1 | v >> 2 | v >> 3) & 0x1111111111111111;
	return any * 15;
}

static uint64_t quad_mask(uint64_t v)
{
	uint64_t r = 0;
	for (unsigned quad = 0; quad < 16; quad++)
		r |= (uint64_t)((v >> quad * 4 & 15) != 0) << quad;
	return r;
}

static uint64_t replicate_bits(uint32_t v)
{
	uint64_t r = 0;
	for (unsigned i = 0; i < 32; i++)
		r |= (uint64_t)(v >> i & 1) * 3 << 2 * i;
	return r;
}

SCALAR(brev_b32, uint32_t, uint32_t, reverse64(a) >> 32)
SCALAR(brev_b64, uint64_t, uint64_t, reverse64(a))
SCALAR_SCC(wqm, uint64_t, uint64_t, whole_quads(a))
SCALAR_SCC(quadmask, uint64_t, uint64_t, quad_mask(a))
SCALAR_SCC(bcnt0_b32, uint32_t, uint32_t, 32 - __builtin_popcount(a))
SCALAR_SCC(bcnt0_b64, uint64_t, uint32_t, 64 - __builtin_popcountll(a))
SCALAR_SCC(bcnt1_b32, uint32_t, uint32_t, __builtin_popcount(a))
SCALAR_SCC(bcnt1_b64, uint64_t, uint32_t, __builtin_popcountll(a))
SCALAR(ff0_b32, uint32_t, uint32_t, ~a ? __builtin_ctz(~a) : -1)
SCALAR(ff0_b64, uint64_t, uint32_t, ~a ? __builtin_ctzll(~a) : -1)
SCALAR(ff1_b32, uint32_t, uint32_t, a ? __builtin_ctz(a) : -1)
SCALAR(ff1_b64, uint64_t, uint32_t, a ? __builtin_ctzll(a) : -1)
SCALAR(flbit_b32, uint32_t, uint32_t, a ? __builtin_clz(a) : -1)
SCALAR(flbit_b64, uint64_t, uint32_t, a ? __builtin_clzll(a) : -1)
SCALAR(flbit_i32, int32_t, uint32_t, a != 0 && a != -1 ? __builtin_clz((uint32_t)(a ^ a >> 31)) : -1)
SCALAR(flbit_i64, int64_t, uint32_t, a != 0 && a != -1 ? __builtin_clzll((uint64_t)(a ^ a >> 63)) : -1)
SCALAR(sext_i8, int8_t, int32_t, a)
SCALAR(sext_i16, int16_t, int32_t, a)
SCALAR(bitset0_b32, uint32_t, uint32_t, d & ~(1u << (a & 31)))
SCALAR(bitset1_b32, uint32_t, uint32_t, d | 1u << (a & 31))
SCALAR(bitset0_b64, uint64_t, uint64_t, d & ~(UINT64_C(1) << (a & 63)))
SCALAR(bitset1_b64, uint64_t, uint64_t, d | UINT64_C(1) << (a & 63))
SCALAR(bitreplicate, uint32_t, uint64_t, replicate_bits(a))

#define COMPARE_ALL(suffix, TYPE)                                                                  \
	COMPARE(cmp_eq_##suffix, TYPE, ==)                                                         \
	COMPARE(cmp_lg_##suffix, TYPE, !=)                                                         \
	COMPARE(cmp_gt_##suffix, TYPE, >)                                                          \
	COMPARE(cmp_ge_##suffix, TYPE, >=)                                                         \
	COMPARE(cmp_lt_##suffix, TYPE, <)                                                          \
	COMPARE(cmp_le_##suffix, TYPE, <=)
COMPARE_ALL(i32, int32_t)
COMPARE_ALL(u32, uint32_t)
COMPARE(cmp_eq_u64, uint64_t, ==)
COMPARE(cmp_lg_u64, uint64_t, !=)

static void s_bitcmp0(struct scalar_args *x)
{
	x->scc = !(x->a >> (x->b & 63) & 1);
}

static void s_bitcmp1(struct scalar_args *x)
{
	x->scc = x->a >> (x->b & 63) & 1;
}

static void s_bitcmp0_b32(struct scalar_args *x)
{
	x->b &= 31;
	s_bitcmp0(x);
}

static void s_bitcmp1_b32(struct scalar_args *x)
{
	x->b &= 31;
	s_bitcmp1(x);
}

struct salu_row {
	uint16_t op;
	scalar_fn fn;
};

static const struct salu_row rows[] = {
	{ ISA_S_ADD_U32, s_add_u32 }, { ISA_S_ADDC_U32, s_addc_u32 }, { ISA_S_SUB_U32, s_sub_u32 }, { ISA_S_SUBB_U32, s_subb_u32 },
	{ ISA_S_ADD_I32, s_add_i32 }, { ISA_S_SUB_I32, s_sub_i32 }, { ISA_S_ADDK_I32, s_addk_i32 }, { ISA_S_MIN_I32, s_min_i32 },
	{ ISA_S_MIN_U32, s_min_u32 }, { ISA_S_MAX_I32, s_max_i32 }, { ISA_S_MAX_U32, s_max_u32 },
	{ ISA_S_CSELECT_B32, s_cselect }, { ISA_S_CSELECT_B64, s_cselect }, { ISA_S_AND_B32, s_and_b32 }, { ISA_S_AND_B64, s_and_b64 },
	{ ISA_S_OR_B32, s_or_b32 }, { ISA_S_OR_B64, s_or_b64 }, { ISA_S_XOR_B32, s_xor_b32 }, { ISA_S_XOR_B64, s_xor_b64 },
	{ ISA_S_ANDN2_B32, s_andn2_b32 }, { ISA_S_ANDN2_B64, s_andn2_b64 }, { ISA_S_ORN2_B32, s_orn2_b32 }, { ISA_S_ORN2_B64, s_orn2_b64 },
	{ ISA_S_NAND_B32, s_nand_b32 }, { ISA_S_NAND_B64, s_nand_b64 }, { ISA_S_NOR_B32, s_nor_b32 }, { ISA_S_NOR_B64, s_nor_b64 },
	{ ISA_S_XNOR_B32, s_xnor_b32 }, { ISA_S_XNOR_B64, s_xnor_b64 }, { ISA_S_NOT_B32, s_not_b32 }, { ISA_S_NOT_B64, s_not_b64 },
	{ ISA_S_LSHL_B32, s_lshl_b32 }, { ISA_S_LSHL_B64, s_lshl_b64 }, { ISA_S_LSHR_B32, s_lshr_b32 }, { ISA_S_LSHR_B64, s_lshr_b64 },
	{ ISA_S_ASHR_I32, s_ashr_i32 }, { ISA_S_ASHR_I64, s_ashr_i64 }, { ISA_S_BFE_U32, s_bfe_u32 }, { ISA_S_BFE_I32, s_bfe_i32 },
	{ ISA_S_BFE_U64, s_bfe_u64 }, { ISA_S_BFE_I64, s_bfe_i64 }, { ISA_S_BFM_B32, s_bfm_b32 }, { ISA_S_BFM_B64, s_bfm_b64 },
	{ ISA_S_MUL_I32, s_mul_i32 }, { ISA_S_MUL_HI_U32, s_mul_hi_u32 }, { ISA_S_MUL_HI_I32, s_mul_hi_i32 },
	{ ISA_S_MULK_I32, s_mulk_i32 }, { ISA_S_ABSDIFF_I32, s_absdiff_i32 }, { ISA_S_ABS_I32, s_abs_i32 },
	{ ISA_S_LSHL1_ADD_U32, s_lshl1_add_u32 }, { ISA_S_LSHL2_ADD_U32, s_lshl2_add_u32 }, { ISA_S_LSHL3_ADD_U32, s_lshl3_add_u32 },
	{ ISA_S_LSHL4_ADD_U32, s_lshl4_add_u32 }, { ISA_S_PACK_LL_B32_B16, s_pack_ll }, { ISA_S_PACK_LH_B32_B16, s_pack_lh },
	{ ISA_S_PACK_HH_B32_B16, s_pack_hh }, { ISA_S_MOV_B32, s_mov_b32 }, { ISA_S_MOV_B64, s_mov_b64 }, { ISA_S_MOVK_I32, s_movk },
	{ ISA_S_CMOV_B32, s_cmov }, { ISA_S_CMOV_B64, s_cmov }, { ISA_S_CMOVK_I32, s_cmovk }, { ISA_S_WQM_B32, s_wqm },
	{ ISA_S_WQM_B64, s_wqm }, { ISA_S_QUADMASK_B32, s_quadmask }, { ISA_S_QUADMASK_B64, s_quadmask }, { ISA_S_BREV_B32, s_brev_b32 },
	{ ISA_S_BREV_B64, s_brev_b64 }, { ISA_S_BCNT0_I32_B32, s_bcnt0_b32 }, { ISA_S_BCNT0_I32_B64, s_bcnt0_b64 },
	{ ISA_S_BCNT1_I32_B32, s_bcnt1_b32 }, { ISA_S_BCNT1_I32_B64, s_bcnt1_b64 }, { ISA_S_FF0_I32_B32, s_ff0_b32 },
	{ ISA_S_FF0_I32_B64, s_ff0_b64 }, { ISA_S_FF1_I32_B32, s_ff1_b32 }, { ISA_S_FF1_I32_B64, s_ff1_b64 },
	{ ISA_S_FLBIT_I32_B32, s_flbit_b32 }, { ISA_S_FLBIT_I32_B64, s_flbit_b64 }, { ISA_S_FLBIT_I32, s_flbit_i32 },
	{ ISA_S_FLBIT_I32_I64, s_flbit_i64 }, { ISA_S_SEXT_I32_I8, s_sext_i8 }, { ISA_S_SEXT_I32_I16, s_sext_i16 },
	{ ISA_S_BITSET0_B32, s_bitset0_b32 }, { ISA_S_BITSET0_B64, s_bitset0_b64 }, { ISA_S_BITSET1_B32, s_bitset1_b32 },
	{ ISA_S_BITSET1_B64, s_bitset1_b64 }, { ISA_S_BITREPLICATE_B64_B32, s_bitreplicate },
	{ ISA_S_CMP_EQ_I32, s_cmp_eq_i32 }, { ISA_S_CMP_LG_I32, s_cmp_lg_i32 }, { ISA_S_CMP_GT_I32, s_cmp_gt_i32 },
	{ ISA_S_CMP_GE_I32, s_cmp_ge_i32 }, { ISA_S_CMP_LT_I32, s_cmp_lt_i32 }, { ISA_S_CMP_LE_I32, s_cmp_le_i32 },
	{ ISA_S_CMP_EQ_U32, s_cmp_eq_u32 }, { ISA_S_CMP_LG_U32, s_cmp_lg_u32 }, { ISA_S_CMP_GT_U32, s_cmp_gt_u32 },
	{ ISA_S_CMP_GE_U32, s_cmp_ge_u32 }, { ISA_S_CMP_LT_U32, s_cmp_lt_u32 }, { ISA_S_CMP_LE_U32, s_cmp_le_u32 },
	{ ISA_S_CMP_EQ_U64, s_cmp_eq_u64 }, { ISA_S_CMP_LG_U64, s_cmp_lg_u64 },
	{ ISA_S_CMPK_EQ_I32, s_cmp_eq_i32 }, { ISA_S_CMPK_LG_I32, s_cmp_lg_i32 }, { ISA_S_CMPK_GT_I32, s_cmp_gt_i32 },
	{ ISA_S_CMPK_GE_I32, s_cmp_ge_i32 }, { ISA_S_CMPK_LT_I32, s_cmp_lt_i32 }, { ISA_S_CMPK_LE_I32, s_cmp_le_i32 },
	{ ISA_S_CMPK_EQ_U32, s_cmp_eq_u32 }, { ISA_S_CMPK_LG_U32, s_cmp_lg_u32 }, { ISA_S_CMPK_GT_U32, s_cmp_gt_u32 },
	{ ISA_S_CMPK_GE_U32, s_cmp_ge_u32 }, { ISA_S_CMPK_LT_U32, s_cmp_lt_u32 }, { ISA_S_CMPK_LE_U32, s_cmp_le_u32 },
	{ ISA_S_BITCMP0_B32, s_bitcmp0_b32 }, { ISA_S_BITCMP1_B32, s_bitcmp1_b32 }, { ISA_S_BITCMP0_B64, s_bitcmp0 },
	{ ISA_S_BITCMP1_B64, s_bitcmp1 },
	/* these combine with EXEC: see salu_run() */
	{ ISA_S_AND_SAVEEXEC_B64, s_and_b64 }, { ISA_S_OR_SAVEEXEC_B64, s_or_b64 }, { ISA_S_XOR_SAVEEXEC_B64, s_xor_b64 },
	{ ISA_S_ANDN2_SAVEEXEC_B64, s_andn2_b64 }, { ISA_S_ORN2_SAVEEXEC_B64, s_orn2_b64 }, { ISA_S_NAND_SAVEEXEC_B64, s_nand_b64 },
	{ ISA_S_NOR_SAVEEXEC_B64, s_nor_b64 }, { ISA_S_XNOR_SAVEEXEC_B64, s_xnor_b64 }, { ISA_S_ANDN1_SAVEEXEC_B64, s_andn1_b64 },
	{ ISA_S_ORN1_SAVEEXEC_B64, s_orn1_b64 }, { ISA_S_ANDN1_WREXEC_B64, s_andn1_b64 }, { ISA_S_ANDN2_WREXEC_B64, s_andn2_b64 },
};

void salu_bind(scalar_fn ret_functions[ISA_OP_COUNT])
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ret_functions[rows[i].op] = rows[i].fn;
}

static uint64_t operand(const struct wave *wave, const struct op *op, unsigned i)
{
	const struct isa_operand *what = &op->inst.operand[i];
	if (what->code == ISA_IMM) {
		bool is_unsigned = op->inst.op >= ISA_S_CMPK_EQ_U32 && op->inst.op <= ISA_S_CMPK_LE_U32;
		return is_unsigned ? (uint16_t)op->inst.literal : (uint64_t)(int64_t)(int16_t)op->inst.literal;
	}
	return op->info->operand[i].width == 2 ? scalar_operand64(wave, op, i) : scalar_operand32(wave, op, i);
}

static int save_exec(struct wave *wave, const struct op *op, struct scalar_args *x)
{
	uint64_t exec = wave_exec(wave);
	bool saves = op->inst.op != ISA_S_ANDN1_WREXEC_B64 && op->inst.op != ISA_S_ANDN2_WREXEC_B64;
	x->b = exec;
	op->salu(x);
	scalar_write64(wave, op->inst.operand[0].code, saves ? exec : x->d);
	scalar_write64(wave, ISA_EXEC, x->d);
	wave->scc = x->scc;
	return 0;
}

int salu_run(struct wave *wave, const struct op *op)
{
	const struct isa_op_info *info = op->info;
	bool has_dst = info->n_operands > 0 && info->operand[0].role != ISA_ROLE_SRC;
	struct scalar_args x = { .scc = wave->scc };
	unsigned next = has_dst ? 1 : 0;

	wave->stats.salu++;
	if (has_dst)
		x.d = info->operand[0].width == 2 ? scalar64(wave, op->inst.operand[0].code) : wave->s[op->inst.operand[0].code];
	/* SOPK constants are the second operand, also where the first is source and destination in one. */
	bool constant = next < op->inst.n_operands && op->inst.operand[next].code == ISA_IMM;
	if (next < op->inst.n_operands && !constant)
		x.a = operand(wave, op, next++);
	if (next < op->inst.n_operands)
		x.b = operand(wave, op, next);
	if (info->implicit_writes & ISA_IMPLICIT_EXEC)
		return save_exec(wave, op, &x);
	op->salu(&x);
	if (has_dst && info->operand[0].width == 2)
		scalar_write64(wave, op->inst.operand[0].code, x.d);
	else if (has_dst)
		scalar_write32(wave, op->inst.operand[0].code, (uint32_t)x.d);
	if (info->implicit_writes & ISA_IMPLICIT_SCC)
		wave->scc = x.scc;
	return 0;
}
