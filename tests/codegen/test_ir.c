/* SPDX-License-Identifier: MIT */
/* Building kernels: registers, labels, far branches, listings, streams, and how long it takes. */
#include "build/codegen/regpool.h"
#include "tests/codegen/byhand.h"
#include "tests/codegen/lift.h"

#include <setjmp.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

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
	regpool_give(&pool, 8, 4);
	assert_int_equal(pool.high, 12);
	assert_int_equal(regpool_take(&pool, 8, 1), 8);
	regpool_give(&pool, 8, 8);
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
		cmocka_unit_test(passes_are_fast),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
