/* SPDX-License-Identifier: MIT */
/* What must be refused: operands that do not fit the instruction, and words that are none. Needs no LLVM. */
#include "build/isa/isa.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define V(n) isa_vgpr(n, 1)
#define V2(n) isa_vgpr(n, 2)
#define V4(n) isa_vgpr(n, 4)
#define S(n) isa_sgpr(n, 1)
#define S2(n) isa_sgpr(n, 2)
#define LITERAL { .code = ISA_LITERAL }
#define IMM { .code = ISA_IMM }

/* A designated initializer behind the operands sets what else there is. */
#define INST(op_, form_, n, operands, ...) { .op = ISA_##op_, .form = ISA_FORM_##form_, .n_operands = n, .operand = operands, __VA_ARGS__ }
#define OPERANDS(...) { __VA_ARGS__ }

static int encode(const struct isa_inst *inst)
{
	uint32_t dwords[ISA_MAX_DWORDS] = { 0xdeadbeef, 0xdeadbeef, 0xdeadbeef };
	int r = isa_encode(isa_find("gfx942"), inst, dwords);

	if (r < 0)
		assert_true(dwords[0] == 0xdeadbeef && dwords[1] == 0xdeadbeef && dwords[2] == 0xdeadbeef);
	return r;
}

static void check_refused(const struct isa_inst *inst, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char line[256] = "";

		if (encode(&inst[i]) != -EINVAL) {
			isa_print(isa_find("gfx942"), &inst[i], line, sizeof(line));
			print_error("%zu: '%s' was taken\n", i, line);
			fail();
		}
	}
}

#define CHECK_REFUSED(list) check_refused(list, sizeof(list) / sizeof((list)[0]))

static void wrong_registers_are_refused(void **state)
{
	const struct isa_inst list[] = {
		INST(V_MOV_B32, AUTO, 1, OPERANDS(V(0))),				/* an operand is missing */
		INST(V_MOV_B32, AUTO, 3, OPERANDS(V(0), V(1), V(2))),
		INST(V_MOV_B32, AUTO, 2, OPERANDS(S(0), V(1))),				/* class */
		INST(V_MOV_B32, AUTO, 2, OPERANDS(V(0), isa_agpr(1, 1))),
		INST(V_MOV_B32, AUTO, 2, OPERANDS(V2(0), V(1))),			/* width */
		INST(V_MOV_B64, AUTO, 2, OPERANDS(V2(1), V2(2))),			/* odd tuples */
		INST(V_ADD_F64, AUTO, 3, OPERANDS(V2(0), V2(2), V2(5))),
		INST(V_MFMA_F32_16X16X16_F16, AUTO, 4, OPERANDS(V4(1), V2(8), V2(10), V4(4))),
		INST(BUFFER_LOAD_DWORDX4, AUTO, 4, OPERANDS(V4(3), V(0), isa_sgpr(8, 4), isa_int(0)), .flags = ISA_OFFEN),
		INST(DS_WRITE_B128, AUTO, 2, OPERANDS(V(0), V4(7))),
		INST(V_MOV_B64, AUTO, 2, OPERANDS(V2(255), V2(2))),			/* past the end */
		INST(S_MOV_B64, AUTO, 2, OPERANDS(S2(1), S2(2))),			/* odd scalar pair */
		INST(S_LOAD_DWORDX4, AUTO, 2, OPERANDS(isa_sgpr(2, 4), S2(8))),
		INST(S_LOAD_DWORDX8, AUTO, 2, OPERANDS(isa_sgpr(96, 8), S2(8))),
		INST(S_LOAD_DWORD, AUTO, 2, OPERANDS(S(ISA_M0), S2(8))),
		INST(S_MOV_B32, AUTO, 2, OPERANDS(isa_int(1), S(2))),			/* a constant as destination */
		INST(V_READFIRSTLANE_B32, AUTO, 2, OPERANDS(S(ISA_M0), V(1))),
		INST(V_MFMA_F32_16X16X16_F16, AUTO, 4, OPERANDS(V4(0), V2(8), V2(10), isa_agpr(4, 4))),	/* C and D in two files */
		INST(V_MFMA_F32_16X16X16_F16, AUTO, 4, OPERANDS(V4(0), S2(8), V2(10), V4(4))),
		INST(V_MFMA_F32_32X32X8_F16, AUTO, 4, OPERANDS(isa_vgpr(0, 16), V2(32), V2(34), isa_vgpr(4, 16))),	/* overlap */
		INST(DS_WRITE2_B32, AUTO, 3, OPERANDS(V(0), V(1), isa_agpr(2, 1))),	/* data in two files */
		INST(GLOBAL_LOAD_DWORD, AUTO, 3, OPERANDS(V(0), V(2), isa_off())),	/* a 64-bit address has two registers */
		INST(BUFFER_LOAD_DWORD, AUTO, 4, OPERANDS(V(0), V(1), isa_sgpr(8, 4), isa_int(0))),		/* an address, no offen */
		INST(BUFFER_LOAD_DWORD, AUTO, 4, OPERANDS(V(0), isa_off(), isa_sgpr(8, 4), isa_int(0)), .flags = ISA_OFFEN),
	};

	(void)state;
	CHECK_REFUSED(list);
}

static void wrong_constants_are_refused(void **state)
{
	const struct isa_inst list[] = {
		INST(V_FMA_F32, AUTO, 4, OPERANDS(V(0), LITERAL, V(1), V(2)), .literal = 0x1234),	/* no literal in VOP3 */
		INST(V_ADD_F32, VOP3, 3, OPERANDS(V(0), LITERAL, V(1)), .literal = 0x1234),
		INST(V_ADD_F32, SDWA, 3, OPERANDS(V(0), LITERAL, V(1)), .literal = 0x1234),
		INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), V(1), LITERAL), .literal = 0x1234),
		INST(V_ADD_U16, AUTO, 3, OPERANDS(V(0), LITERAL, V(1)), .literal = 0x12345),		/* more than 16 bits */
		INST(V_FMA_F32, AUTO, 4, OPERANDS(V(0), S(1), S(2), V(2))),				/* two scalar values */
		INST(V_CNDMASK_B32, AUTO, 4, OPERANDS(V(0), S(1), V(2), S2(ISA_VCC))),
		INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), S(1), S(2))),
		INST(V_FMAMK_F32, AUTO, 4, OPERANDS(V(0), S(1), LITERAL, V(2)), .literal = 0x1234),
		INST(V_DIV_FMAS_F32, AUTO, 4, OPERANDS(V(0), S(1), V(2), V(3))),			/* reads VCC as well */
		INST(V_MFMA_F32_16X16X16_F16, AUTO, 4, OPERANDS(V4(0), V2(8), V2(10), { .code = ISA_SCC })),
		INST(S_LOAD_DWORD, AUTO, 3, OPERANDS(S(0), S2(8), LITERAL), .literal = 16),
		INST(BUFFER_LOAD_DWORD, AUTO, 4, OPERANDS(V(0), isa_off(), isa_sgpr(8, 4), LITERAL), .literal = 16),
		INST(S_MOVK_I32, AUTO, 2, OPERANDS(S(0), IMM), .literal = 0x10000),
	};

	(void)state;
	CHECK_REFUSED(list);
}

static void offsets_out_of_range_are_refused(void **state)
{
	const struct isa_inst list[] = {
		INST(S_LOAD_DWORD, AUTO, 2, OPERANDS(S(0), S2(8)), .offset = 0x100000),
		INST(S_LOAD_DWORD, AUTO, 2, OPERANDS(S(0), S2(8)), .offset = -0x100001),
		INST(S_BUFFER_LOAD_DWORD, AUTO, 2, OPERANDS(S(0), isa_sgpr(8, 4)), .offset = -4),
		INST(BUFFER_LOAD_DWORD, AUTO, 4, OPERANDS(V(0), isa_off(), isa_sgpr(8, 4), isa_int(0)), .offset = 4096),
		INST(GLOBAL_LOAD_DWORD, AUTO, 3, OPERANDS(V(0), V2(2), isa_off()), .offset = 4096),
		INST(GLOBAL_LOAD_DWORD, AUTO, 3, OPERANDS(V(0), V2(2), isa_off()), .offset = -4097),
		INST(FLAT_LOAD_DWORD, AUTO, 2, OPERANDS(V(0), V2(2)), .offset = -1),
		INST(DS_READ_B32, AUTO, 2, OPERANDS(V(0), V(1)), .offset = 0x10000),
		INST(DS_READ_B32, AUTO, 2, OPERANDS(V(0), V(1)), .offset = -1),
		INST(S_MOV_B32, AUTO, 2, OPERANDS(S(0), S(1)), .offset = 4),
	};

	(void)state;
	CHECK_REFUSED(list);
}

static void modifiers_without_a_place_are_refused(void **state)
{
	const struct isa_inst list[] = {
		INST(V_ADD_U32, AUTO, 3, OPERANDS(V(0), { .code = ISA_VGPR0, .width = 1, .mod = ISA_NEG }, V(1))),	/* integers */
		INST(V_ADD_F32, SHORT, 3, OPERANDS(V(0), { .code = ISA_VGPR0, .width = 1, .mod = ISA_NEG }, V(1))),	/* no room in _e32 */
		INST(V_ADD_F32, SHORT, 3, OPERANDS(V(0), V(1), S(2))),
		INST(V_ADD_F32, SHORT, 3, OPERANDS(V(0), V(1), V(2)), .omod = 1),
		INST(V_CMP_EQ_U32, SHORT, 3, OPERANDS(S2(0), V(1), V(2))),			/* writes VCC only */
		INST(V_AND_B32, AUTO, 3, OPERANDS(V(0), V(1), V(2)), .flags = ISA_CLAMP),
		INST(V_FMAC_F32, SDWA, 3, OPERANDS(V(0), V(1), V(2)), .src0_sel = 6, .src1_sel = 6, .dst_sel = 6),	/* has none */
		INST(V_FMA_F32, DPP, 4, OPERANDS(V(0), V(1), V(2), V(3))),
		INST(V_MOV_B32, DPP, 2, OPERANDS(V(0), S(1)), .row_mask = 15, .bank_mask = 15),
		INST(V_MOV_B32, DPP, 2, OPERANDS(V(0), V(1)), .row_mask = 15, .bank_mask = 15, .dpp_ctrl = 0x100),
		INST(V_MOV_B64, DPP, 2, OPERANDS(V2(0), V2(2)), .row_mask = 15, .bank_mask = 15, .dpp_ctrl = 0x101),
		INST(V_FMA_F32, AUTO, 4, OPERANDS(V(0), V(1), V(2), V(3)), .op_sel = 1),
		INST(V_PK_ADD_F16, AUTO, 3, OPERANDS(V(0), V(1), V(2)), .op_sel_hi = 3, .op_sel = 4),
		INST(V_MFMA_F32_16X16X16_F16, AUTO, 4, OPERANDS(V4(0), V2(8), V2(10), V4(4)), .blgp = 8),
		INST(BUFFER_STORE_DWORD, AUTO, 4, OPERANDS(V(0), isa_off(), isa_sgpr(8, 4), isa_int(0)), .flags = ISA_LDS),
		INST(DS_READ_B32, AUTO, 2, OPERANDS(V(0), V(1)), .flags = ISA_GDS),
		INST(S_ADD_U32, AUTO, 3, OPERANDS(S(0), S(1), S(2)), .flags = ISA_CLAMP),
		INST(S_ADD_U32, VOP3, 3, OPERANDS(S(0), S(1), S(2))),
		INST(S_WAITCNT, AUTO, 1, OPERANDS(IMM), .literal = 0xffff),			/* reserved bits */
	};

	(void)state;
	CHECK_REFUSED(list);
}

static void the_shortest_form_is_chosen(void **state)
{
	const struct isa_inst plain = INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), S(1), V(2)));
	const struct isa_inst swapped = INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), V(2), S(1)));
	const struct isa_inst clamped = INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), S(1), V(2)), .flags = ISA_CLAMP);
	const struct isa_inst literal = INST(V_ADD_F32, AUTO, 3, OPERANDS(V(0), LITERAL, V(2)), .literal = 0x12345678);
	const struct isa_inst vcc = INST(V_CMP_EQ_U32, AUTO, 3, OPERANDS(S2(ISA_VCC), V(1), V(2)));
	const struct isa_inst other = INST(V_CMP_EQ_U32, AUTO, 3, OPERANDS(S2(4), V(1), V(2)));
	char line[64];

	(void)state;
	assert_int_equal(encode(&plain), 1);
	assert_int_equal(encode(&swapped), 2);
	assert_int_equal(encode(&clamped), 2);
	assert_int_equal(encode(&literal), 2);
	assert_int_equal(encode(&vcc), 1);
	assert_int_equal(encode(&other), 2);
	assert_true(isa_print(isa_find("gfx942"), &plain, line, sizeof(line)) > 0);
	assert_string_equal(line, "v_add_f32_e32 v0, s1, v2");
	assert_true(isa_print(isa_find("gfx942"), &swapped, line, sizeof(line)) > 0);
	assert_string_equal(line, "v_add_f32_e64 v0, v2, s1");
}

static void words_that_are_no_instruction(void **state)
{
	static const uint32_t words[][2] = {
		{ 0xffffffff, 0 },
		{ 0xbe802f00, 0 },		/* SOP1 without such an opcode */
		{ 0x7e0002f9, 0x00000700 },	/* SDWA with a selector of 7 */
		{ 0x7e0002fa, 0xff010001 },	/* DPP without such a control */
		{ 0xd1cb0000, 0x0000feff },	/* a literal in VOP3 */
		{ 0xd0000000, 0 },
		{ 0xf0000000, 0 },		/* MIMG: not on this target */
	};
	const struct isa *isa = isa_find("gfx942");
	struct isa_inst inst = { .op = 4711 };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_int_equal(isa_decode(isa, words[i], 2, &inst), -EILSEQ);
	/* the end comes too early */
	assert_int_equal(isa_decode(isa, words[0], 0, &inst), -EILSEQ);
	assert_int_equal(isa_decode(isa, (const uint32_t[]){ 0xbe8000ff }, 1, &inst), -EILSEQ);
	assert_int_equal(isa_decode(isa, (const uint32_t[]){ 0xd1cb0000 }, 1, &inst), -EILSEQ);
	assert_int_equal(inst.op, 4711);
}

static void a_small_buffer_is_said_to_be_small(void **state)
{
	const struct isa_inst inst = INST(S_ENDPGM, AUTO, 1, OPERANDS(IMM));
	char line[9];

	(void)state;
	assert_int_equal(isa_print(isa_find("gfx942"), &inst, line, 8), -ENOSPC);
	assert_int_equal(isa_print(isa_find("gfx942"), &inst, line, 9), 8);
	assert_string_equal(line, "s_endpgm");
}

static void targets_are_found_by_name(void **state)
{
	(void)state;
	assert_non_null(isa_find("gfx942"));
	assert_null(isa_find("gfx1100"));
	assert_null(isa_find(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_registers_are_refused),
		cmocka_unit_test(wrong_constants_are_refused),
		cmocka_unit_test(offsets_out_of_range_are_refused),
		cmocka_unit_test(modifiers_without_a_place_are_refused),
		cmocka_unit_test(the_shortest_form_is_chosen),
		cmocka_unit_test(words_that_are_no_instruction),
		cmocka_unit_test(a_small_buffer_is_said_to_be_small),
		cmocka_unit_test(targets_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
