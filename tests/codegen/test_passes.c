/* SPDX-License-Identifier: MIT */
/* The passes on code small enough to know the answer. */
#include "build/codegen/ir_internal.h"
#include "tests/codegen/byhand.h"

#include <setjmp.h>

#include <cmocka.h>

/* ---- wait counts ------------------------------------------------------------------------------------------------------ */

static void waits_are_the_weakest_that_do(void **state)
{
	struct ir *ir = new_ir();

	load(ir, 0);
	load(ir, 1);
	load(ir, 2);
	store(ir, 3);			/* counts, and is not waited for */
	v_mov(ir, 10, 1);
	v_mov(ir, 11, 0);		/* older: there already */
	v_mov(ir, 12, 2);
	load(ir, 2);			/* in order behind the first load */
	end(ir);
	expect_listing(ir, "global_load_dword v0, v[100:101], off\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "global_load_dword v2, v[100:101], off\n"
			   "s_nop 0\n"
			   "global_store_dword v[100:101], v3, off\n"
			   "s_waitcnt vmcnt(2)\n"
			   "v_mov_b32_e32 v10, v1\n"
			   "v_mov_b32_e32 v11, v0\n"
			   "s_waitcnt vmcnt(1)\n"
			   "v_mov_b32_e32 v12, v2\n"
			   "global_load_dword v2, v[100:101], off\n"
			   "s_endpgm\n");
}

static void scalar_loads_and_lds_share_a_counter(void **state)
{
	struct ir *ir = new_ir();

	EMIT(ir, ISA_DS_READ_B32, v(0), v(20));
	EMIT(ir, ISA_DS_READ_B32, v(1), v(20));
	v_mov(ir, 10, 0);
	EMIT(ir, ISA_S_LOAD_DWORD, s(4), isa_sgpr(0, 2));
	v_mov(ir, 11, 1);		/* no telling which of the two comes first */
	EMIT(ir, ISA_S_ADD_U32, s(5), s(4), s(4));
	end(ir);
	expect_listing(ir, "ds_read_b32 v0, v20\n"
			   "ds_read_b32 v1, v20\n"
			   "s_waitcnt lgkmcnt(1)\n"
			   "v_mov_b32_e32 v10, v0\n"
			   "s_load_dword s4, s[0:1], 0x0\n"
			   "s_waitcnt lgkmcnt(0)\n"
			   "v_mov_b32_e32 v11, v1\n"
			   "s_add_u32 s5, s4, s4\n"
			   "s_endpgm\n");
}

static void one_wait_serves_both_counters(void **state)
{
	struct ir *ir = new_ir();

	load(ir, 0);
	EMIT(ir, ISA_DS_READ_B32, v(1), v(20));
	EMIT(ir, ISA_V_ADD_U32, v(2), v(0), v(1));
	end(ir);
	expect_listing(ir, "global_load_dword v0, v[100:101], off\n"
			   "ds_read_b32 v1, v20\n"
			   "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
			   "v_add_u32_e32 v2, v0, v1\n"
			   "s_endpgm\n");
}

static void barriers_wait_for_lds_and_not_for_stores(void **state)
{
	struct ir *ir = new_ir();

	store(ir, 0);
	load(ir, 1);
	EMIT(ir, ISA_DS_WRITE_B32, v(20), v(2));
	EMIT(ir, ISA_S_BARRIER);
	end(ir);
	expect_listing(ir, "global_store_dword v[100:101], v0, off\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "ds_write_b32 v20, v2\n"
			   "s_waitcnt lgkmcnt(0)\n"
			   "s_barrier\n"
			   "s_endpgm\n");
}

static void barriers_wait_for_loads_to_lds(void **state)
{
	struct ir *ir = new_ir();

	EMIT(ir, ISA_BUFFER_LOAD_DWORD, v(0), isa_sgpr(8, 4), isa_int(0))->flags |= ISA_OFFEN | ISA_LDS;
	load(ir, 1);
	EMIT(ir, ISA_S_BARRIER);
	end(ir);
	expect_listing(ir, "buffer_load_dword v0, s[8:11], 0 offen lds\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "s_waitcnt vmcnt(1)\n"
			   "s_barrier\n"
			   "s_endpgm\n");
}

/* The first round comes from above with one load more behind it than the others. */
static void loops_wait_for_the_nearest_load_of_all_paths(void **state)
{
	struct ir *ir = new_ir();
	ir_label_id loop = ir_label_new(ir, "loop");

	load(ir, 0);
	load(ir, 1);
	load(ir, 2);
	ir_label(ir, loop);
	v_mov(ir, 10, 0);
	load(ir, 3);
	load(ir, 0);
	store(ir, 4);
	ir_branch(ir, ISA_S_CBRANCH_SCC1, loop);
	end(ir);
	expect_listing(ir, "global_load_dword v0, v[100:101], off\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "global_load_dword v2, v[100:101], off\n"
			   "s_waitcnt vmcnt(1)\n"
			   "v_mov_b32_e32 v10, v0\n"
			   "global_load_dword v3, v[100:101], off\n"
			   "global_load_dword v0, v[100:101], off\n"
			   "s_nop 0\n"
			   "global_store_dword v[100:101], v4, off\n"
			   "s_cbranch_scc1 loop_0\n"
			   "s_endpgm\n");
}

static void written_waits_count(void **state)
{
	struct ir *ir = new_ir();

	load(ir, 0);
	load(ir, 1);
	EMIT_LITERAL(ir, isa_waitcnt_pack(0, 7, 15), ISA_S_WAITCNT, IR_IMM);
	v_mov(ir, 10, 0);
	v_mov(ir, 11, 1);
	end(ir);
	expect_listing(ir, "global_load_dword v0, v[100:101], off\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "s_waitcnt vmcnt(0)\n"
			   "v_mov_b32_e32 v10, v0\n"
			   "v_mov_b32_e32 v11, v1\n"
			   "s_endpgm\n");
}

static void calls_carry_what_is_outstanding(void **state)
{
	struct ir *ir = new_ir();
	ir_label_id callee = ir_label_new(ir, "callee");

	load(ir, 0);
	ir_call(ir, callee, 30);
	v_mov(ir, 10, 1);
	end(ir);
	ir_label(ir, callee);
	v_mov(ir, 11, 0);
	load(ir, 1);
	EMIT(ir, ISA_S_SETPC_B64, isa_sgpr(30, 2));
	expect_listing(ir, "global_load_dword v0, v[100:101], off\n"
			   "s_call_b64 s[30:31], callee_0\n"
			   "s_waitcnt vmcnt(0)\n"
			   "v_mov_b32_e32 v10, v1\n"
			   "s_endpgm\n"
			   "s_waitcnt vmcnt(0)\n"
			   "v_mov_b32_e32 v11, v0\n"
			   "global_load_dword v1, v[100:101], off\n"
			   "s_setpc_b64 s[30:31]\n");
}

/* More loads than the counter can hold: the largest value that can be asked for is 62. */
static void counters_saturate(void **state)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *ir = new_ir();
	unsigned vmcnt, expcnt, lgkmcnt;

	for (unsigned i = 0; i < 90; i++)
		load(ir, i);
	v_mov(ir, 110, 0);
	end(ir);
	finish(ir, &code);
	assert_int_equal(ir->insts[90].op, ISA_S_WAITCNT);
	isa_waitcnt_unpack((uint16_t)ir->insts[90].literal, &vmcnt, &expcnt, &lgkmcnt);
	assert_int_equal(vmcnt, 62);
	ir_unref(ir);
}

/* ---- wait states ------------------------------------------------------------------------------------------------------ */

static struct isa_inst *mfma_f64(struct ir *ir, unsigned d)
{
	return EMIT(ir, ISA_V_MFMA_F64_16X16X4_F64, isa_vgpr(d, 8), isa_vgpr(40, 2), isa_vgpr(42, 2), isa_vgpr(d, 8));
}

/* 18 states, more than one s_nop can hold; what is done in between counts. */
static void long_hazards_take_two_nops(void **state)
{
	struct ir *ir = new_ir();

	mfma_f64(ir, 0);
	store(ir, 7);
	end(ir);
	expect_listing(ir, "v_mfma_f64_16x16x4_f64 v[0:7], v[40:41], v[42:43], v[0:7]\n"
			   "s_nop 15\n"
			   "s_nop 1\n"
			   "global_store_dword v[100:101], v7, off\n"
			   "s_endpgm\n");
	ir = new_ir();
	mfma_f64(ir, 0);
	v_mov(ir, 20, 21);
	EMIT_LITERAL(ir, 3, ISA_S_NOP, IR_IMM);
	store(ir, 7);
	end(ir);
	expect_listing(ir, "v_mfma_f64_16x16x4_f64 v[0:7], v[40:41], v[42:43], v[0:7]\n"
			   "v_mov_b32_e32 v20, v21\n"
			   "s_nop 3\n"
			   "s_nop 12\n"
			   "global_store_dword v[100:101], v7, off\n"
			   "s_endpgm\n");
}

/* The hazard is between the end of a loop and its beginning, where the path from above needs nothing. */
static void hazards_are_found_along_back_edges(void **state)
{
	struct ir *ir = new_ir();
	ir_label_id loop = ir_label_new(ir, "loop");

	ir_label(ir, loop);
	EMIT(ir, ISA_V_READLANE_B32, s(5), v(9), s(4));
	EMIT(ir, ISA_V_READFIRSTLANE_B32, s(4), v(1));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, loop);
	end(ir);
	expect_listing(ir, "s_nop 2\n"
			   "v_readlane_b32 s5, v9, s4\n"
			   "v_readfirstlane_b32 s4, v1\n"
			   "s_cbranch_scc1 loop_0\n"
			   "s_endpgm\n");
}

/* CDNA3 ISA, section 4.5: five wait states. LLVM never reads VCCZ as data. */
static void vccz_as_data_comes_late(void **state)
{
	struct ir *ir = new_ir();

	EMIT(ir, ISA_V_CMP_EQ_U32, isa_sgpr(ISA_VCC, 2), v(1), v(2));
	EMIT(ir, ISA_V_MOV_B32, v(0), (struct isa_operand){ .code = ISA_VCCZ });
	end(ir);
	expect_listing(ir, "v_cmp_eq_u32_e32 vcc, v1, v2\n"
			   "s_nop 4\n"
			   "v_mov_b32_e32 v0, src_vccz\n"
			   "s_endpgm\n");
}

/* Many short paths into one place: more producers than are followed one by one, which must still be safe. */
static void many_paths_are_safe(void **state)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *ir = new_ir();
	ir_label_id meet = ir_label_new(ir, "meet");

	for (unsigned i = 0; i < 80; i++) {
		ir_label_id next = ir_label_new(ir, "next");
		ir_branch(ir, ISA_S_CBRANCH_SCC0, next);
		EMIT(ir, ISA_V_MFMA_F32_32X32X2_F32, isa_vgpr(0, 16), v(40), v(41), isa_vgpr(0, 16));
		ir_branch(ir, ISA_S_BRANCH, meet);
		ir_label(ir, next);
	}
	ir_label(ir, meet);
	store(ir, 0);
	end(ir);
	finish(ir, &code);

	unsigned states = 0;
	for (size_t i = ir->labels[meet].position; ir->insts[i].op == ISA_S_NOP; i++)
		states += ir->insts[i].literal + 1;
	assert_true(states >= 17);	/* 18 less the branch */
	ir_unref(ir);
}

/* ---- assignments ------------------------------------------------------------------------------------------------------ */

static void repeated_assignments_go(void **state)
{
	struct ir *ir = new_ir();
	ir_label_id label = ir_label_new(ir, "label");

	s_mov(ir, 4, 0x1234);
	s_mov(ir, 5, 0x1234);
	s_mov(ir, 4, 0x1234);		/* goes */
	EMIT(ir, ISA_S_MOV_B32, s(6), s(4));
	EMIT(ir, ISA_S_MOV_B32, s(6), s(4));	/* goes */
	EMIT(ir, ISA_S_ADD_U32, s(4), s(4), s(5));
	EMIT(ir, ISA_S_MOV_B32, s(6), s(4));	/* s4 is another */
	s_mov(ir, 4, 0x1234);
	v_mov(ir, 0, 1);
	v_mov(ir, 0, 1);		/* goes */
	EMIT(ir, ISA_S_MOV_B64, isa_sgpr(ISA_EXEC, 2), isa_int(-1));
	v_mov(ir, 0, 1);		/* more lanes than before */
	ir_label(ir, label);
	s_mov(ir, 5, 0x1234);		/* who knows where from */
	EMIT(ir, ISA_S_MOV_B64, isa_sgpr(8, 2), isa_int(1));
	EMIT(ir, ISA_S_MOV_B32, s(9), isa_int(1));	/* its upper half was 0 */
	ir_branch(ir, ISA_S_CBRANCH_SCC1, label);
	end(ir);
	expect_listing(ir, "s_mov_b32 s4, 0x1234\n"
			   "s_mov_b32 s5, 0x1234\n"
			   "s_mov_b32 s6, s4\n"
			   "s_add_u32 s4, s4, s5\n"
			   "s_mov_b32 s6, s4\n"
			   "s_mov_b32 s4, 0x1234\n"
			   "v_mov_b32_e32 v0, v1\n"
			   "s_mov_b64 exec, -1\n"
			   "v_mov_b32_e32 v0, v1\n"
			   "s_mov_b32 s5, 0x1234\n"
			   "s_mov_b64 s[8:9], 1\n"
			   "s_mov_b32 s9, 1\n"
			   "s_cbranch_scc1 label_0\n"
			   "s_endpgm\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_the_weakest_that_do),
		cmocka_unit_test(scalar_loads_and_lds_share_a_counter),
		cmocka_unit_test(one_wait_serves_both_counters),
		cmocka_unit_test(barriers_wait_for_lds_and_not_for_stores),
		cmocka_unit_test(barriers_wait_for_loads_to_lds),
		cmocka_unit_test(loops_wait_for_the_nearest_load_of_all_paths),
		cmocka_unit_test(written_waits_count),
		cmocka_unit_test(calls_carry_what_is_outstanding),
		cmocka_unit_test(counters_saturate),
		cmocka_unit_test(long_hazards_take_two_nops),
		cmocka_unit_test(hazards_are_found_along_back_edges),
		cmocka_unit_test(vccz_as_data_comes_late),
		cmocka_unit_test(many_paths_are_safe),
		cmocka_unit_test(repeated_assignments_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
