/* SPDX-License-Identifier: MIT */
/*
 * What the rows say beside the encoding. The expectations are written down from the CDNA3 ISA document and LLVM's tables
 * (SISchedule.td for the passes of MFMA), not from the code.
 */
#include "build/isa/isa.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct isa_op_info *info(unsigned op)
{
	return isa_op_info(isa_find("gfx942"), op);
}

static void check_operand(unsigned op, unsigned i, unsigned role, unsigned width)
{
	assert_true(i < info(op)->n_operands);
	if (info(op)->operand[i].role != role || info(op)->operand[i].width != width)
		print_error("operand %u of %s\n", i, info(op)->name);
	assert_int_equal(info(op)->operand[i].role, role);
	assert_int_equal(info(op)->operand[i].width, width);
}

static void roles_and_widths(void **state)
{
	static const struct {
		uint16_t op;
		uint8_t operand, role, width;
	} expected[] = {
		{ ISA_V_MFMA_F32_16X16X16_F16, 0, ISA_ROLE_DST, 4 },
		{ ISA_V_MFMA_F32_16X16X16_F16, 1, ISA_ROLE_SRC, 2 },
		{ ISA_V_MFMA_F32_16X16X16_F16, 3, ISA_ROLE_SRC, 4 },
		{ ISA_V_MFMA_F32_32X32X8_BF16, 3, ISA_ROLE_SRC, 16 },
		{ ISA_V_MFMA_F32_32X32X1_2B_F32, 0, ISA_ROLE_DST, 32 },
		{ ISA_V_MFMA_F64_16X16X4_F64, 3, ISA_ROLE_SRC, 8 },
		{ ISA_V_SMFMAC_F32_16X16X32_F16, 0, ISA_ROLE_DST_SRC, 4 },
		{ ISA_V_SMFMAC_F32_16X16X32_F16, 2, ISA_ROLE_SRC, 4 },
		{ ISA_V_SMFMAC_F32_16X16X32_F16, 3, ISA_ROLE_SRC, 1 },
		{ ISA_V_FMAC_F32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_FMAC_F64, 0, ISA_ROLE_DST_SRC, 2 },
		{ ISA_V_MAC_F16, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_PK_FMAC_F16, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_DOT4C_I32_I8, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_SWAP_B32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_SWAP_B32, 1, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_WRITELANE_B32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_CVT_PK_FP8_F32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_FMA_MIXLO_F16, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_V_ADD_CO_U32, 1, ISA_ROLE_DST, 2 },
		{ ISA_V_ADDC_CO_U32, 4, ISA_ROLE_SRC, 2 },
		{ ISA_V_CNDMASK_B32, 3, ISA_ROLE_SRC, 2 },
		{ ISA_V_DIV_SCALE_F64, 1, ISA_ROLE_DST, 2 },
		{ ISA_V_MAD_U64_U32, 4, ISA_ROLE_SRC, 2 },
		{ ISA_V_CMP_LT_U64, 0, ISA_ROLE_DST, 2 },
		{ ISA_V_LSHLREV_B64, 1, ISA_ROLE_SRC, 1 },
		{ ISA_V_LSHLREV_B64, 2, ISA_ROLE_SRC, 2 },
		{ ISA_S_LOAD_DWORDX8, 0, ISA_ROLE_DST, 8 },
		{ ISA_S_BUFFER_LOAD_DWORDX16, 1, ISA_ROLE_SRC, 4 },
		{ ISA_S_CMOV_B32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_S_ADDK_I32, 0, ISA_ROLE_DST_SRC, 1 },
		{ ISA_S_CMPK_EQ_U32, 0, ISA_ROLE_SRC, 1 },
		{ ISA_S_BITSET1_B64, 0, ISA_ROLE_DST_SRC, 2 },
		{ ISA_S_BFM_B64, 1, ISA_ROLE_SRC, 1 },
		{ ISA_BUFFER_LOAD_DWORDX4, 0, ISA_ROLE_DST, 4 },
		{ ISA_BUFFER_LOAD_SHORT_D16_HI, 0, ISA_ROLE_DST, 1 },
		{ ISA_BUFFER_STORE_DWORDX3, 0, ISA_ROLE_SRC, 3 },
		{ ISA_BUFFER_ATOMIC_CMPSWAP_X2, 0, ISA_ROLE_DST_SRC, 4 },
		{ ISA_GLOBAL_ATOMIC_CMPSWAP_X2, 0, ISA_ROLE_DST, 2 },
		{ ISA_GLOBAL_ATOMIC_CMPSWAP_X2, 2, ISA_ROLE_SRC, 4 },
		{ ISA_FLAT_STORE_DWORDX2, 1, ISA_ROLE_SRC, 2 },
		{ ISA_DS_READ2ST64_B64, 0, ISA_ROLE_DST, 4 },
		{ ISA_DS_WRITE2_B64, 2, ISA_ROLE_SRC, 2 },
		{ ISA_DS_WRITE_B128, 1, ISA_ROLE_SRC, 4 },
		{ ISA_DS_CMPST_RTN_B64, 0, ISA_ROLE_DST, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		check_operand(expected[i].op, expected[i].operand, expected[i].role, expected[i].width);
}

static void implicit_registers(void **state)
{
	(void)state;
	assert_int_equal(info(ISA_S_ADDC_U32)->implicit_reads, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_ADDC_U32)->implicit_writes, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_CSELECT_B64)->implicit_reads, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_CSELECT_B64)->implicit_writes, 0);
	assert_int_equal(info(ISA_S_MUL_I32)->implicit_writes, 0);
	assert_int_equal(info(ISA_S_CMP_EQ_U64)->implicit_writes, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_CMPK_LG_I32)->implicit_writes, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_CBRANCH_SCC1)->implicit_reads, ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_CBRANCH_VCCZ)->implicit_reads, ISA_IMPLICIT_VCC);
	assert_int_equal(info(ISA_S_CBRANCH_EXECNZ)->implicit_reads, ISA_IMPLICIT_EXEC);
	assert_int_equal(info(ISA_S_AND_SAVEEXEC_B64)->implicit_reads, ISA_IMPLICIT_EXEC);
	assert_int_equal(info(ISA_S_AND_SAVEEXEC_B64)->implicit_writes, ISA_IMPLICIT_EXEC | ISA_IMPLICIT_SCC);
	assert_int_equal(info(ISA_S_MOVRELS_B32)->implicit_reads, ISA_IMPLICIT_M0);
	assert_int_equal(info(ISA_V_CMPX_LT_F32)->implicit_writes, ISA_IMPLICIT_EXEC);
	assert_int_equal(info(ISA_V_CMP_LT_F32)->implicit_writes, 0);
	assert_int_equal(info(ISA_V_DIV_FMAS_F32)->implicit_reads, ISA_IMPLICIT_VCC);
	assert_int_equal(info(ISA_V_ADDC_CO_U32)->implicit_reads, 0);	/* vcc is printed */
	assert_int_equal(info(ISA_GLOBAL_LOAD_LDS_DWORD)->implicit_reads, ISA_IMPLICIT_M0);
	assert_int_equal(info(ISA_DS_READ_B32)->implicit_reads, 0);	/* gfx9 needs no M0 for LDS */
}

static void matrix_passes(void **state)
{
	static const struct {
		uint16_t op;
		uint8_t passes;
		bool xdl;
	} expected[] = {
		{ ISA_V_MFMA_F32_32X32X1_2B_F32, 16, false },
		{ ISA_V_MFMA_F32_16X16X1_4B_F32, 8, false },
		{ ISA_V_MFMA_F32_4X4X1_16B_F32, 2, false },
		{ ISA_V_MFMA_F32_32X32X2_F32, 16, false },
		{ ISA_V_MFMA_F32_16X16X4_F32, 8, false },
		{ ISA_V_MFMA_F32_32X32X4_XF32, 8, true },
		{ ISA_V_MFMA_F32_16X16X8_XF32, 4, true },
		{ ISA_V_MFMA_F32_32X32X8_F16, 8, true },
		{ ISA_V_MFMA_F32_16X16X16_F16, 4, true },
		{ ISA_V_MFMA_F32_32X32X4_2B_F16, 16, true },
		{ ISA_V_MFMA_F32_16X16X4_4B_BF16, 8, true },
		{ ISA_V_MFMA_F32_4X4X4_16B_BF16, 2, true },
		{ ISA_V_MFMA_I32_32X32X16_I8, 8, true },
		{ ISA_V_MFMA_I32_16X16X32_I8, 4, true },
		{ ISA_V_MFMA_F32_32X32X16_FP8_FP8, 8, true },
		{ ISA_V_MFMA_F32_16X16X32_BF8_FP8, 4, true },
		{ ISA_V_MFMA_F64_16X16X4_F64, 8, false },
		{ ISA_V_MFMA_F64_4X4X4_4B_F64, 4, false },
		{ ISA_V_SMFMAC_F32_32X32X16_F16, 8, true },
		{ ISA_V_SMFMAC_I32_16X16X64_I8, 4, true },
		{ ISA_V_ACCVGPR_READ_B32, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (info(expected[i].op)->mfma_passes != expected[i].passes || info(expected[i].op)->xdl != expected[i].xdl)
			print_error("%s has %u passes\n", info(expected[i].op)->name, info(expected[i].op)->mfma_passes);
		assert_int_equal(info(expected[i].op)->mfma_passes, expected[i].passes);
		assert_int_equal(info(expected[i].op)->xdl, expected[i].xdl);
	}
}

static void units_and_kinds(void **state)
{
	static const struct {
		uint16_t op;
		uint8_t unit, kind;
	} expected[] = {
		{ ISA_S_WAITCNT, ISA_UNIT_SALU, ISA_KIND_WAIT },
		{ ISA_S_NOP, ISA_UNIT_SALU, ISA_KIND_NOP },
		{ ISA_S_BARRIER, ISA_UNIT_SALU, ISA_KIND_BARRIER },
		{ ISA_S_ENDPGM, ISA_UNIT_SALU, ISA_KIND_END },
		{ ISA_S_CBRANCH_SCC0, ISA_UNIT_SALU, ISA_KIND_BRANCH },
		{ ISA_S_SETPC_B64, ISA_UNIT_SALU, ISA_KIND_JUMP },
		{ ISA_S_CALL_B64, ISA_UNIT_SALU, ISA_KIND_JUMP },
		{ ISA_S_SETREG_B32, ISA_UNIT_SALU, ISA_KIND_MODE },
		{ ISA_S_LOAD_DWORD, ISA_UNIT_SMEM, ISA_KIND_LOAD },
		{ ISA_S_DCACHE_WB, ISA_UNIT_SMEM, ISA_KIND_CACHE },
		{ ISA_V_EXP_F32, ISA_UNIT_VALU, ISA_KIND_TRANS },
		{ ISA_V_RSQ_F64, ISA_UNIT_VALU, ISA_KIND_TRANS },
		{ ISA_V_ACCVGPR_WRITE_B32, ISA_UNIT_VALU, ISA_KIND_PLAIN },
		{ ISA_V_MFMA_F32_16X16X16_BF16, ISA_UNIT_MFMA, ISA_KIND_PLAIN },
		{ ISA_BUFFER_STORE_DWORD, ISA_UNIT_VMEM, ISA_KIND_STORE },
		{ ISA_BUFFER_WBL2, ISA_UNIT_VMEM, ISA_KIND_CACHE },
		{ ISA_GLOBAL_ATOMIC_ADD_F32, ISA_UNIT_FLAT, ISA_KIND_ATOMIC },
		{ ISA_DS_READ_B128, ISA_UNIT_LDS, ISA_KIND_LOAD },
		{ ISA_DS_WRITE_B64, ISA_UNIT_LDS, ISA_KIND_STORE },
		{ ISA_DS_ADD_RTN_U32, ISA_UNIT_LDS, ISA_KIND_ATOMIC },
		{ ISA_DS_BPERMUTE_B32, ISA_UNIT_LDS, ISA_KIND_PLAIN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_int_equal(info(expected[i].op)->unit, expected[i].unit);
		assert_int_equal(info(expected[i].op)->kind, expected[i].kind);
	}
	assert_true(info(ISA_BUFFER_LOAD_SHORT_D16)->d16);
	assert_true(info(ISA_DS_READ_U16_D16_HI)->d16);
	assert_false(info(ISA_BUFFER_LOAD_USHORT)->d16);
	assert_false(info(ISA_BUFFER_STORE_SHORT_D16_HI)->d16);
	assert_true(info(ISA_V_PK_FMA_F32)->packed);
	assert_false(info(ISA_V_FMA_MIX_F32)->packed);
	assert_false(info(ISA_V_DOT2_F32_F16)->packed);	/* gfx940 knows no op_sel for it */
}

static void wait_counts(void **state)
{
	unsigned vmcnt, expcnt, lgkmcnt;

	(void)state;
	assert_int_equal(isa_waitcnt_pack(63, 7, 15), 0xcf7f);
	assert_int_equal(isa_waitcnt_pack(63, 7, 0), 0xc07f);
	assert_int_equal(isa_waitcnt_pack(3, 7, 15), 0x0f73);
	assert_int_equal(isa_waitcnt_pack(18, 7, 15), 0x4f72);
	isa_waitcnt_unpack(0xcf7f, &vmcnt, &expcnt, &lgkmcnt);
	assert_true(vmcnt == 63 && expcnt == 7 && lgkmcnt == 15);
	isa_waitcnt_unpack(0x4172, &vmcnt, &expcnt, &lgkmcnt);
	assert_true(vmcnt == 18 && expcnt == 7 && lgkmcnt == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_and_widths), cmocka_unit_test(implicit_registers), cmocka_unit_test(matrix_passes),
		cmocka_unit_test(units_and_kinds),  cmocka_unit_test(wait_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
