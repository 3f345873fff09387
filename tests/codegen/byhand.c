/* SPDX-License-Identifier: MIT */
#include "tests/codegen/byhand.h"

#include "build/codegen/check.h"

#include <setjmp.h>

#include <cmocka.h>

const struct isa *gfx942(void)
{
	const struct isa *isa = isa_find("gfx942");

	assert_non_null(isa);
	return isa;
}

struct ir *new_ir(void)
{
	struct ir *ir = NULL;

	assert_int_equal(ir_new(gfx942(), &ir), 0);
	return ir;
}

struct isa_operand v(unsigned first)
{
	return isa_vgpr(first, 1);
}

struct isa_operand s(unsigned first)
{
	return isa_sgpr(first, 1);
}

void v_mov(struct ir *ir, unsigned to, unsigned from)
{
	EMIT(ir, ISA_V_MOV_B32, v(to), v(from));
}

void s_mov(struct ir *ir, unsigned to, uint32_t value)
{
	EMIT_LITERAL(ir, value, ISA_S_MOV_B32, s(to), IR_LITERAL);
}

void load(struct ir *ir, unsigned to)
{
	EMIT(ir, ISA_GLOBAL_LOAD_DWORD, v(to), isa_vgpr(100, 2), isa_off());
}

void store(struct ir *ir, unsigned from)
{
	EMIT(ir, ISA_GLOBAL_STORE_DWORD, isa_vgpr(100, 2), v(from), isa_off());
}

void end(struct ir *ir)
{
	EMIT_LITERAL(ir, 0, ISA_S_ENDPGM, IR_IMM);
}

static void no_problem(void *userdata, const struct check_problem *problem)
{
	print_error("0x%zx: %s: %s is missing\n", problem->offset, problem->rule, problem->missing);
}

void finish(struct ir *ir, struct buffer *code)
{
	struct error error = { 0 };

	if (ir_finish(ir, code, &error, NULL) < 0)
		print_error("%s\n", error.text);
	assert_string_equal(error.text, "");
	assert_int_equal(ir_check(ir_isa(ir), code->data, code->size, no_problem, NULL), 0);
}

void expect_listing(struct ir *ir, const char *expected)
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
