/* SPDX-License-Identifier: MIT */
/* Building kernels: registers, labels, far branches, listings, streams, and the passes on code small enough to know the answer. */
#include "build/codegen/check.h"
#include "build/codegen/regpool.h"
#include "build/codegen/schedule.h"
#include "tests/codegen/lift.h"

#include <setjmp.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static const struct isa *gfx942(void)
{
	const struct isa *isa = isa_find("gfx942");

	assert_non_null(isa);
	return isa;
}

static struct ir *new_ir(void)
{
	struct ir *ir = NULL;

	assert_int_equal(ir_new(gfx942(), &ir), 0);
	return ir;
}

static struct isa_operand v(unsigned first)
{
	return isa_vgpr(first, 1);
}

static struct isa_operand s(unsigned first)
{
	return isa_sgpr(first, 1);
}

static void v_mov(struct ir *ir, unsigned to, unsigned from)
{
	EMIT(ir, ISA_V_MOV_B32, v(to), v(from));
}

static void s_mov(struct ir *ir, unsigned to, uint32_t value)
{
	EMIT_LITERAL(ir, value, ISA_S_MOV_B32, s(to), IR_LITERAL);
}

static void load(struct ir *ir, unsigned to)
{
	EMIT(ir, ISA_GLOBAL_LOAD_DWORD, v(to), isa_vgpr(100, 2), isa_off());
}

static void store(struct ir *ir, unsigned from)
{
	EMIT(ir, ISA_GLOBAL_STORE_DWORD, isa_vgpr(100, 2), v(from), isa_off());
}

static void end(struct ir *ir)
{
	EMIT_LITERAL(ir, 0, ISA_S_ENDPGM, IR_IMM);
}

static void no_problem(void *userdata, const struct check_problem *problem)
{
	print_error("0x%zx: %s: %s is missing\n", problem->offset, problem->rule, problem->missing);
}

/* Runs the passes; the code must pass the checker. Frees nothing. */
static void finish(struct ir *ir, struct buffer *code)
{
	struct error error = { 0 };

	if (ir_finish(ir, code, &error, NULL) < 0)
		print_error("%s\n", error.text);
	assert_string_equal(error.text, "");
	assert_int_equal(ir_check(ir_isa(ir), code->data, code->size, no_problem, NULL), 0);
}

/* Finishes and frees the ir; its listing, without labels and comments, must be these lines. */
static void expect_listing(struct ir *ir, const char *expected)
{
	_cleanup_buffer_ struct buffer code = { 0 }, text = { 0 }, lines = { 0 };

	finish(ir, &code);
	ir_print(ir, &text);
	buffer_append(&text, "", 1);
	assert_false(text.failed);
	for (char *line = strtok((char *)text.data, "\n"); line; line = strtok(NULL, "\n")) {
		if (line[0] == '\t' && line[1] != ';')
			buffer_printf(&lines, "%s\n", line + 1);
	}
	buffer_append(&lines, "", 1);
	assert_string_equal((char *)lines.data, expected);
	ir_unref(ir);
}

/* ---- registers -------------------------------------------------------------------------------------------------------- */

static void registers_are_the_lowest_that_fit(void **state)
{
	struct regpool pool;

	regpool_init(&pool, 16);
	regpool_take_fixed(&pool, 0, 3);
	assert_int_equal(regpool_take(&pool, 1, 1), 3);
	assert_int_equal(regpool_take(&pool, 2, 2), 4);
	assert_int_equal(regpool_take(&pool, 4, 4), 8);
	assert_int_equal(regpool_take(&pool, 2, 1), 6);
	assert_int_equal(regpool_largest_free(&pool), 4);
	regpool_give(&pool, 8, 4);
	assert_int_equal(regpool_largest_free(&pool), 8);
	assert_int_equal(pool.high, 12);
	assert_false(pool.failed);
	assert_int_equal(regpool_take(&pool, 9, 1), 0);
	assert_true(pool.failed);
}

/* ---- labels, encoding, listings --------------------------------------------------------------------------------------- */

/* The listing, assembled by llvm-mc, must be the code. */
static void assert_listing_assembles(const struct ir *ir, const struct buffer *code)
{
	_cleanup_buffer_ struct buffer text = { 0 };
	const char *folder = make_folder();
	char source[128], compiled[128];
	struct object object;

	snprintf(source, sizeof(source), "%s/listing.s", folder);
	snprintf(compiled, sizeof(compiled), "%s/listing.o", folder);
	buffer_append_string(&text, "\t.type kernel,@function\nkernel:\n");
	ir_print(ir, &text);
	buffer_append_string(&text, "\t.size kernel, .-kernel\n");
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
	assert_int_equal(fclose(file), 0);
	run_tool((const char *const[]){ "llvm-mc", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-filetype=obj", source, "-o", compiled, NULL });
	object_load(&object, compiled);
	assert_int_equal(object.n_kernels, 1);
	assert_int_equal(object.kernels[0].size, code->size);
	assert_memory_equal(object.kernels[0].code, code->data, code->size);
	object_release(&object);
	release_folder();
}

static void listings_assemble_to_the_same_bytes(void **state)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *ir = new_ir();
	ir_label_id loop = ir_label_new(ir, "loop"), out = ir_label_new(ir, "way out"), callee = ir_label_new(ir, "callee");

	ir_comment(ir, "counts %d times", 10);
	s_mov(ir, 4, 10);
	ir_label(ir, loop);
	EMIT(ir, ISA_V_PK_FMA_F32, isa_vgpr(0, 2), isa_vgpr(2, 2), isa_vgpr(4, 2), isa_vgpr(0, 2));
	EMIT(ir, ISA_V_PK_MUL_F16, v(6), v(7), v(8));
	EMIT_LITERAL(ir, 0x12345, ISA_V_ADD_U32, v(1), IR_LITERAL, v(2));
	EMIT_LITERAL(ir, 0x3f800000, ISA_V_MUL_F32, v(1), IR_LITERAL, v(2));
	EMIT_LITERAL(ir, -3, ISA_V_ADD_U32, v(1), IR_LITERAL, v(2));
	EMIT_LITERAL(ir, 0x40490fdb, ISA_V_FMAMK_F32, v(1), v(2), IR_LITERAL, v(3));
	EMIT(ir, ISA_BUFFER_LOAD_DWORDX4, isa_vgpr(8, 4), v(0), isa_sgpr(8, 4), s(12))->flags |= ISA_OFFEN;
	EMIT(ir, ISA_DS_WRITE_B128, v(20), isa_vgpr(8, 4))->offset = 256;
	EMIT(ir, ISA_S_BARRIER);
	ir_call(ir, callee, 30);
	EMIT(ir, ISA_S_SUB_U32, s(4), s(4), isa_int(1));
	EMIT(ir, ISA_S_CMP_EQ_U32, s(4), isa_int(0));
	ir_branch(ir, ISA_S_CBRANCH_SCC1, out);
	ir_branch(ir, ISA_S_BRANCH, loop);
	ir_label(ir, out);
	end(ir);
	ir_label(ir, callee);
	EMIT(ir, ISA_S_SETPC_B64, isa_sgpr(30, 2));

	finish(ir, &code);
	assert_listing_assembles(ir, &code);
	ir_unref(ir);
}

static void fill(struct ir *ir, unsigned dwords)
{
	for (unsigned i = 0; i < dwords; i++)
		EMIT(ir, ISA_S_ADD_U32, s(i % 2), s(0), s(1));
}

/* Far branches in both directions over each kind, and a far call; just inside reach they stay short. */
static void far_branches_get_their_long_form(void **state)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *ir = new_ir();
	ir_label_id back = ir_label_new(ir, "back"), ahead = ir_label_new(ir, "ahead"), callee = ir_label_new(ir, "callee");

	ir_set_long_branch_sgpr(ir, 40);
	ir_label(ir, back);
	ir_branch(ir, ISA_S_CBRANCH_SCC0, ahead);
	ir_branch(ir, ISA_S_CBRANCH_EXECZ, ahead);
	ir_branch(ir, ISA_S_BRANCH, ahead);
	ir_call(ir, callee, 30);
	fill(ir, 33000);
	ir_branch(ir, ISA_S_CBRANCH_VCCNZ, back);
	ir_branch(ir, ISA_S_BRANCH, back);
	ir_label(ir, ahead);
	end(ir);
	ir_label(ir, callee);
	EMIT(ir, ISA_S_SETPC_B64, isa_sgpr(30, 2));

	finish(ir, &code);
	/* Two far conditions of 6 dwords, far branch and call of 5, then the way back: 6 + 5; s_endpgm and s_setpc. */
	assert_int_equal(code.size, (2 * 6 + 2 * 5 + 33000 + 6 + 5 + 2) * 4);
	assert_listing_assembles(ir, &code);
	ir_unref(ir);
}

static size_t size_with_branch_over(unsigned dwords, bool backwards)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *ir = new_ir();
	ir_label_id label = ir_label_new(ir, "label");

	ir_set_long_branch_sgpr(ir, 40);
	if (backwards)
		ir_label(ir, label);
	else
		ir_branch(ir, ISA_S_BRANCH, label);
	fill(ir, dwords);
	if (backwards)
		ir_branch(ir, ISA_S_BRANCH, label);
	else
		ir_label(ir, label);
	end(ir);
	finish(ir, &code);
	ir_unref(ir);
	return code.size / 4;
}

static void branches_reach_as_far_as_simm16(void **state)
{
	assert_int_equal(size_with_branch_over(32767, false), 32767 + 2);
	assert_int_equal(size_with_branch_over(32768, false), 32768 + 6);
	assert_int_equal(size_with_branch_over(32766, true), 32766 + 2);
	assert_int_equal(size_with_branch_over(32768, true), 32768 + 6);
}

static void expect_failure(struct ir *ir, int expected, const char *words)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct error error = { 0 };
	struct ir_stats stats = { .dwords = 77 };

	assert_int_equal(ir_finish(ir, &code, &error, &stats), expected);
	assert_non_null(strstr(error.text, words));
	assert_int_equal(stats.dwords, 77);
	ir_unref(ir);
}

static void errors_come_with_words(void **state)
{
	struct ir *ir = new_ir();
	ir_branch(ir, ISA_S_BRANCH, ir_label_new(ir, "nowhere"));
	end(ir);
	expect_failure(ir, -EINVAL, "label 'nowhere'");

	ir = new_ir();
	EMIT(ir, ISA_V_ADD_U32, s(1), v(2), v(3));
	end(ir);
	expect_failure(ir, -EINVAL, "v_add_u32");

	ir = new_ir();
	ir_label_id far = ir_label_new(ir, "far");
	ir_branch(ir, ISA_S_BRANCH, far);
	fill(ir, 40000);
	ir_label(ir, far);
	end(ir);
	expect_failure(ir, -ERANGE, "128 KiB");
}

static void statistics_are_those_of_the_code(void **state)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir_stats stats;
	struct ir *ir = new_ir();

	load(ir, 7);
	EMIT(ir, ISA_V_ACCVGPR_WRITE_B32, isa_agpr(9, 1), v(7));
	EMIT(ir, ISA_V_CMP_EQ_U32, isa_sgpr(ISA_VCC, 2), v(1), v(2));
	EMIT(ir, ISA_V_READFIRSTLANE_B32, s(17), v(1));
	end(ir);
	assert_int_equal(ir_finish(ir, &code, NULL, &stats), 0);
	assert_int_equal(stats.vgprs, 102);
	assert_int_equal(stats.agprs, 10);
	assert_int_equal(stats.sgprs, 18);
	assert_true(stats.uses_vcc);
	assert_int_equal(stats.waits, 1);
	assert_int_equal(stats.instructions, 6);
	assert_int_equal(stats.dwords * 4, code.size);
	ir_unref(ir);
}

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

/* ---- streams ---------------------------------------------------------------------------------------------------------- */

static void streams_are_spread_over_their_slots(void **state)
{
	struct ir *ir = new_ir(), *main_stream = new_ir(), *pairs = new_ir(), *singles = new_ir();
	struct schedule schedule = { 0 };

	for (unsigned i = 0; i < 4; i++)
		EMIT(main_stream, ISA_S_ADD_U32, s(i), s(50), s(51));
	for (unsigned i = 0; i < 4; i++)
		EMIT(pairs, ISA_S_SUB_U32, s(10 + i), s(50), s(51));
	ir_comment(singles, "first of the singles");
	for (unsigned i = 0; i < 3; i++)
		EMIT(singles, ISA_S_XOR_B32, s(20 + i), s(50), s(51));
	schedule_add(&schedule, pairs, 1, 2, 2);
	schedule_add(&schedule, singles, 2, 9, 1);
	schedule_emit(&schedule, main_stream, ir);
	assert_int_equal(ir_count(main_stream) + ir_count(pairs) + ir_count(singles), 0);
	ir_unref(main_stream);
	ir_unref(pairs);
	ir_unref(singles);
	expect_listing(ir, "s_add_u32 s0, s50, s51\n"
			   "s_sub_u32 s10, s50, s51\n"
			   "s_sub_u32 s11, s50, s51\n"
			   "s_add_u32 s1, s50, s51\n"
			   "s_sub_u32 s12, s50, s51\n"
			   "s_sub_u32 s13, s50, s51\n"
			   "s_xor_b32 s20, s50, s51\n"
			   "s_add_u32 s2, s50, s51\n"
			   "s_xor_b32 s21, s50, s51\n"
			   "s_add_u32 s3, s50, s51\n"
			   "s_xor_b32 s22, s50, s51\n");
}

/* ---- speed ------------------------------------------------------------------------------------------------------------ */

/* A loop body like a GEMM's: loads, LDS reads, MFMAs that consume both. */
static void emit_body(struct ir *ir, unsigned round)
{
	for (unsigned i = 0; i < 4; i++)
		EMIT(ir, ISA_BUFFER_LOAD_DWORDX4, isa_vgpr(64 + 4 * i, 4), v(0), isa_sgpr(8, 4), s(12))->flags |= ISA_OFFEN;
	for (unsigned i = 0; i < 8; i++)
		EMIT(ir, ISA_DS_READ_B128, isa_vgpr(32 + 4 * i, 4), v(1))->offset = (int32_t)(16 * i);
	for (unsigned i = 0; i < 16; i++)
		EMIT(ir, ISA_V_MFMA_F32_32X32X8_F16, isa_agpr(16 * (i % 4), 16), isa_vgpr(32 + 2 * (i % 8), 2),
		     isa_vgpr(48 + 2 * (i % 8), 2), isa_agpr(16 * (i % 4), 16));
	for (unsigned i = 0; i < 4; i++)
		EMIT(ir, ISA_DS_WRITE_B128, v(2), isa_vgpr(64 + 4 * i, 4))->offset = (int32_t)(16 * i);
	EMIT(ir, ISA_S_BARRIER);
	EMIT(ir, ISA_V_ADD_U32, v(0), s(20 + round % 4), v(0));
}

static void passes_are_fast(void **state)
{
	size_t instructions = 0;
	clock_t begin = clock();

	for (unsigned kernel = 0; kernel < 100; kernel++) {
		_cleanup_buffer_ struct buffer code = { 0 };
		struct ir_stats stats;
		struct ir *ir = new_ir();

		for (unsigned loop = 0; loop < 8; loop++) {
			ir_label_id label = ir_label_new(ir, "loop");
			ir_label(ir, label);
			for (unsigned round = 0; round < 10; round++)
				emit_body(ir, round);
			EMIT(ir, ISA_S_CMP_EQ_U32, s(4), isa_int(0));
			ir_branch(ir, ISA_S_CBRANCH_SCC1, label);
		}
		end(ir);
		assert_int_equal(ir_finish(ir, &code, NULL, &stats), 0);
		instructions += stats.instructions;
		ir_unref(ir);
	}
	double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	print_message("%.2f million instructions a second\n", (double)instructions / seconds / 1e6);
	assert_true(seconds < 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_the_lowest_that_fit),
		cmocka_unit_test(listings_assemble_to_the_same_bytes),
		cmocka_unit_test(far_branches_get_their_long_form),
		cmocka_unit_test(branches_reach_as_far_as_simm16),
		cmocka_unit_test(errors_come_with_words),
		cmocka_unit_test(statistics_are_those_of_the_code),
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
		cmocka_unit_test(many_paths_are_safe),
		cmocka_unit_test(repeated_assignments_go),
		cmocka_unit_test(streams_are_spread_over_their_slots),
		cmocka_unit_test(passes_are_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
