/* SPDX-License-Identifier: MIT */
/*
 * What isa_encode() and isa_print() make of an instruction is what llvm-mc and llvm-objdump make of it; isa_decode() is the way
 * back.
 */
#include "tests/isa/cases.h"
#include "tests/isa/llvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_REPORTS 20

struct text {
	char *bytes;
	size_t length, room;
};

static void text_add(struct text *text, const char *line)
{
	size_t n = strlen(line);

	if (text->length + n + 2 > text->room) {
		text->room = text->room * 2 + n + 4096;
		text->bytes = realloc(text->bytes, text->room);
		assert_non_null(text->bytes);
	}
	memcpy(text->bytes + text->length, line, n);
	text->length += n;
	text->bytes[text->length++] = '\n';
	text->bytes[text->length] = '\0';
}

/* Assembles the printed form of all instructions and compares text and dwords one by one. */
static void check_against_llvm(const struct isa *isa, const struct isa_inst *inst, size_t n)
{
	struct llvm_listing listing;
	struct text source = { 0 };
	unsigned reports = 0;
	char line[512];

	for (size_t i = 0; i < n; i++) {
		assert_true(isa_print(isa, &inst[i], line, sizeof(line)) > 0);
		text_add(&source, line);
	}
	assert_int_equal(llvm_assemble(source.bytes, &listing), 0);
	free(source.bytes);
	assert_int_equal(listing.n, n);
	for (size_t i = 0; i < n && reports < MAX_REPORTS; i++) {
		uint32_t dwords[ISA_MAX_DWORDS];
		int used = isa_encode(isa, &inst[i], dwords);

		isa_print(isa, &inst[i], line, sizeof(line));
		if (strcmp(line, listing.line[i].text) != 0)
			print_error("%u: we print '%s', llvm-objdump '%s'\n", ++reports, line, listing.line[i].text);
		else if (used != (int)listing.line[i].n_dwords ||
			 memcmp(dwords, listing.line[i].dwords, (size_t)used * sizeof(*dwords)) != 0)
			print_error("%u: '%s': we encode %08x %08x, llvm-mc %08x %08x\n", ++reports, line, dwords[0],
				    used > 1 ? dwords[1] : 0, listing.line[i].dwords[0], listing.line[i].dwords[1]);
	}
	llvm_listing_release(&listing);
	assert_int_equal(reports, 0);
}

static void every_row_and_form_agrees_with_llvm(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct cases cases = cases_make(isa);

	(void)state;
	print_message("%zu instructions\n", cases.n);
	check_against_llvm(isa, cases.inst, cases.n);
	cases_release(&cases);
}

static void decoding_gives_the_instruction_back(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct cases cases = cases_make(isa);
	unsigned reports = 0;

	(void)state;
	for (size_t i = 0; i < cases.n && reports < MAX_REPORTS; i++) {
		uint32_t dwords[ISA_MAX_DWORDS];
		struct isa_inst back = { 0 };
		char line[512] = "";
		int used = isa_encode(isa, &cases.inst[i], dwords);

		if (isa_decode(isa, dwords, (size_t)used, &back) == used && inst_equal(&back, &cases.inst[i]))
			continue;
		isa_print(isa, &cases.inst[i], line, sizeof(line));
		print_error("%u: '%s' is decoded as something else\n", ++reports, line);
	}
	cases_release(&cases);
	assert_int_equal(reports, 0);
}

/* Instructions whose text does not give the dwords back: what llvm-objdump prints for the dwords is still what we print. */
static void inexact_text_is_that_of_llvm(void **state)
{
	static const uint32_t words[][2] = {
		{ 0x4c0002ff, 0xfffffff0 },	/* v_add_u16_e32 v0, 0xfff0, v1 */
		{ 0x540002ff, 0xffff8001 },	/* v_lshlrev_b16_e32 v0, 0x8001, v1 */
		{ 0xd87a00ff, 0x04000005 },	/* ds_swizzle_b32 with an AND and an OR mask of the same bits */
	};
	const struct isa *isa = isa_find("gfx942");
	struct llvm_listing listing;

	(void)state;
	assert_int_equal(llvm_disassemble(words[0], sizeof(words) / sizeof(uint32_t), &listing), 0);
	assert_int_equal(listing.n, sizeof(words) / sizeof(words[0]));
	for (size_t i = 0; i < listing.n; i++) {
		struct isa_inst inst;
		char line[512];

		assert_int_equal(isa_decode(isa, words[i], 2, &inst), 2);
		assert_true(isa_print(isa, &inst, line, sizeof(line)) > 0);
		assert_string_equal(line, listing.line[i].text);
	}
	llvm_listing_release(&listing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding_gives_the_instruction_back),
		cmocka_unit_test(every_row_and_form_agrees_with_llvm),
		cmocka_unit_test(inexact_text_is_that_of_llvm),
	};

	return llvm_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
