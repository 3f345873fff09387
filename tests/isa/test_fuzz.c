/* SPDX-License-Identifier: MIT */
/*
 * Random dwords: what the decoder takes for an instruction is one, with the text that llvm-objdump prints; and no instruction that
 * llvm-objdump knows is missing from the table.
 */
#include "tests/isa/cases.h"
#include "tests/isa/llvm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_RANDOM 300000
#define MAX_REPORTS 20
#define MAX_TEXT 256

/* xorshift32: the same words in every run, so that a failure can be looked at. */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/*
 * Words of equal probability would nearly all be VOP2: a third of them gets the prefix of a format. Then some of the bits are cleared that
 * are rarely legal together.
 */
static void make_words(uint32_t *state, uint32_t w[ISA_MAX_DWORDS])
{
	static const struct {
		uint32_t prefix, random;	/* the upper bits, and those that stay random */
	} formats[] = {
		{ 0xd0000000, 0x03ffffff },	/* VOP3 */
		{ 0xd1c00000, 0x003fffff },	/* that has no other form */
		{ 0xd2800000, 0x007fffff },
		{ 0xd3800000, 0x001fffff },	/* VOP3P */
		{ 0xd3a00000, 0x001fffff },
		{ 0xd3c00000, 0x003fffff },	/* MFMA */
		{ 0xd8000000, 0x03ffffff },	/* DS */
		{ 0xdc000000, 0x03ffffff },	/* FLAT */
		{ 0xdc008000, 0x03ff3fff },	/* GLOBAL */
		{ 0xdc004000, 0x03ff3fff },	/* SCRATCH */
		{ 0xe0000000, 0x03ffffff },	/* MUBUF */
		{ 0xe8000000, 0x03ffffff },	/* MTBUF */
		{ 0xc0000000, 0x03ffffff },	/* SMEM */
		{ 0xbe800000, 0x007fffff },	/* SOP1 */
		{ 0xbf000000, 0x007fffff },	/* SOPC */
		{ 0xbf800000, 0x007fffff },	/* SOPP */
		{ 0xb0000000, 0x0fffffff },	/* SOPK */
		{ 0x7e000000, 0x01ffffff },	/* VOP1 */
		{ 0x7c000000, 0x01ffffff },	/* VOPC */
	};
	uint32_t how = next_random(state);
	size_t k = how % 64;

	for (unsigned i = 0; i < ISA_MAX_DWORDS; i++)
		w[i] = next_random(state);
	if (k < sizeof(formats) / sizeof(formats[0]))
		w[0] = formats[k].prefix | (w[0] & formats[k].random);
	if (how >> 8 & 1)	/* modifiers of VOP3, flags of memory */
		w[0] &= ~0x0002df00u;
	if (how >> 9 & 1)
		w[1] &= ~0xf8000000u;
	if (how >> 10 & 1)	/* the third source, the second data register */
		w[1] &= ~0x00ff0000u;
	if (how >> 11 & 1)
		w[1] |= 0x00020100;
	if (how >> 12 & 1)
		w[1] &= 0x001fffff;
	if (how >> 13 & 1)	/* no data, no address */
		w[1] &= ~(how >> 14 & 1 ? 0xffu : 0xff00u);
	if (k == 63)		/* SDWA and DPP */
		w[0] = (w[0] & 0x7ffffe00) | 0xf9 | (how >> 15 & 1);
}

struct found {
	uint32_t w[ISA_MAX_DWORDS];
	int n;
	char text[MAX_TEXT];
};

static size_t find_instructions(const struct isa *isa, struct found *found)
{
	uint32_t state = 0x20231206;
	size_t n = 0;

	for (size_t i = 0; i < N_RANDOM; i++) {
		struct found *f = &found[n];
		struct isa_inst inst;

		make_words(&state, f->w);
		f->n = isa_decode(isa, f->w, ISA_MAX_DWORDS, &inst);
		if (f->n < 0 || !text_is_exact(&inst))
			continue;
		assert_true(isa_print(isa, &inst, f->text, sizeof(f->text)) > 0);
		n++;
	}
	return n;
}

static void what_is_decoded_is_what_llvm_sees(void **unused)
{
	const struct isa *isa = isa_find("gfx942");
	struct found *found = calloc(N_RANDOM, sizeof(*found));
	struct llvm_listing listing;
	unsigned reports = 0;
	size_t n, length = 0;
	char *source;

	(void)unused;
	assert_non_null(found);
	n = find_instructions(isa, found);
	print_message("%zu of %d random words are instructions\n", n, N_RANDOM);
	assert_true(n > N_RANDOM / 10);
	source = malloc(n * (MAX_TEXT + 1) + 1);
	assert_non_null(source);
	for (size_t i = 0; i < n; i++)
		length += (size_t)sprintf(source + length, "%s\n", found[i].text);
	assert_int_equal(llvm_assemble(source, &listing), 0);
	free(source);
	assert_int_equal(listing.n, n);
	for (size_t i = 0; i < n && reports < MAX_REPORTS; i++) {
		const struct llvm_line *line = &listing.line[i];

		if (strcmp(line->text, found[i].text) != 0 || (int)line->n_dwords != found[i].n ||
		    memcmp(line->dwords, found[i].w, line->n_dwords * sizeof(uint32_t)) != 0)
			print_error("%u: %08x %08x is '%s' to us; llvm-mc makes %08x %08x of it, '%s'\n", ++reports, found[i].w[0],
				    found[i].w[1], found[i].text, line->dwords[0], line->dwords[1], line->text);
	}
	llvm_listing_release(&listing);
	free(found);
	assert_int_equal(reports, 0);
}

/* ---- is the table complete? ------------------------------------------------------------------------------------------- */

#define MAX_SWEEP 16384

/* Known to llvm-objdump, of no use to a compute kernel: probes of address translation, exports, wave-order counters of graphics. */
static bool is_left_out(const char *mnemonic)
{
	return strncmp(mnemonic, "s_atc_probe", 11) == 0 || strncmp(mnemonic, "ds_ordered_count", 16) == 0 ||
	       strncmp(mnemonic, "exp", 3) == 0;
}

static bool table_knows(const struct isa *isa, const char *mnemonic, size_t length)
{
	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++) {
		const char *name = isa_op_info(isa, op)->name;

		if (strlen(name) == length && memcmp(name, mnemonic, length) == 0)
			return true;
	}
	return false;
}

struct sweep {
	uint32_t dwords[MAX_SWEEP];
	size_t n;
};

static void sweep_add(struct sweep *sweep, uint32_t w0, uint32_t w1)
{
	assert_true(sweep->n + 4 <= MAX_SWEEP);
	sweep->dwords[sweep->n++] = w0;
	sweep->dwords[sweep->n++] = w1;
	/* two words that end whatever was begun: s_nop 0 */
	sweep->dwords[sweep->n++] = 0xbf800000;
	sweep->dwords[sweep->n++] = 0xbf800000;
}

/* Every opcode of one format with operands that suit most instructions: `w1` variants differ in which fields are zero. */
static void check_format(const struct isa *isa, uint32_t prefix, unsigned shift, unsigned n_opcodes, const uint32_t *w1,
			 size_t n_w1)
{
	struct sweep sweep = { .n = 0 };
	struct llvm_listing listing;
	unsigned missing = 0;

	for (unsigned opcode = 0; opcode < n_opcodes; opcode++) {
		for (size_t i = 0; i < n_w1; i++)
			sweep_add(&sweep, prefix | opcode << shift, w1[i]);
	}
	assert_int_equal(llvm_disassemble(sweep.dwords, sweep.n, &listing), 0);
	for (size_t i = 0; i < listing.n; i++) {
		const char *text = listing.line[i].text, *suffix = strstr(text, "_e32");
		size_t length = strcspn(text, " ");

		if (!suffix || suffix > text + length)
			suffix = strstr(text, "_e64");
		if (suffix && suffix < text + length)
			length = (size_t)(suffix - text);
		if (text[0] == '.' || strstr(text, "Invalid") || is_left_out(text) || table_knows(isa, text, length))
			continue;
		print_error("no row for '%s'\n", text);
		missing++;
	}
	llvm_listing_release(&listing);
	assert_int_equal(missing, 0);
}

#define CHECK(isa, prefix, shift, n, ...) \
	do { \
		static const uint32_t w1[] = { __VA_ARGS__ }; \
		check_format(isa, prefix, shift, n, w1, sizeof(w1) / sizeof(w1[0])); \
	} while (0)

static void no_opcode_of_llvm_is_missing(void **unused)
{
	const struct isa *isa = isa_find("gfx942");

	(void)unused;
	CHECK(isa, 0x80041008, 23, 96, 0);			/* SOP2 s4, s8, s16 */
	CHECK(isa, 0xb0040005, 23, 29, 0);			/* SOPK s4, 5 */
	CHECK(isa, 0xbe840008, 8, 256, 0);			/* SOP1 s4, s8 */
	CHECK(isa, 0xbf001008, 16, 128, 0);			/* SOPC s8, s16 */
	CHECK(isa, 0xbf800000, 16, 128, 0);			/* SOPP 0 */
	CHECK(isa, 0xc0020104, 18, 256, 0x10, 0);		/* SMEM s4, s[8:9], 0x10 */
	CHECK(isa, 0x00082108, 25, 62, 0x11223344);		/* VOP2 v4, v8, v16 */
	CHECK(isa, 0x7e080108, 9, 256, 0);			/* VOP1 v4, v8 */
	CHECK(isa, 0x7c002108, 17, 256, 0);			/* VOPC v8, v16 */
	CHECK(isa, 0xd0000004, 16, 1024, 0x04822108, 0x00022108, 0x00000108);	/* VOP3 v4, v8, v16, v32 */
	CHECK(isa, 0xd8000000, 17, 256, 0x04201008, 0x00201008, 0x04001008, 0x00001008, 0x04000008, 0x00000008, 0x04000000,
	      0x00001000, 0);
	CHECK(isa, 0xd8010000, 17, 256, 0x00000008, 0);		/* DS of the global wave sync */
	CHECK(isa, 0xe0001000, 18, 128, 0x10030408, 0);		/* MUBUF v4, v8, s[12:15], s16 offen */
	CHECK(isa, 0xe0000000, 18, 128, 0x10030400, 0);		/* MUBUF without an address, or without anything */
	CHECK(isa, 0xe8001000, 15, 16, 0x10030408);		/* MTBUF */
	CHECK(isa, 0xdc000000, 18, 128, 0x04000008, 0x00000408, 0x00000008);	/* FLAT */
	CHECK(isa, 0xdc008000, 18, 128, 0x047f0008, 0x007f0408, 0x007f0008);	/* GLOBAL */
	CHECK(isa, 0xdc006000, 18, 128, 0x047f0008, 0x007f0408, 0x007f0008);	/* SCRATCH */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_decoded_is_what_llvm_sees),
		cmocka_unit_test(no_opcode_of_llvm_is_missing),
	};

	return llvm_available() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
