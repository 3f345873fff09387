/* SPDX-License-Identifier: MIT */
/*
 * The hazard table against LLVM's, pair by pair: llc is given each producer followed by each consumer of pairs.inc, and the wait states
 * it puts between them must be the ones that hazard_find() asks for.
 */
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "tests/codegen/lift.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

struct line {
	const char *name, *mir;
};

static const struct line producers[] = {
#define PRODUCER(name, mir) { name, mir },
#define CONSUMER(name, mir)
#include "tests/codegen/pairs.inc"
#undef PRODUCER
#undef CONSUMER
};

static const struct line consumers[] = {
#define PRODUCER(name, mir)
#define CONSUMER(name, mir) { name, mir },
#include "tests/codegen/pairs.inc"
#undef PRODUCER
#undef CONSUMER
};

static struct object object;

static int compile_pairs(void **state)
{
	const char *folder = make_folder();
	char source[128], compiled[128];

	snprintf(source, sizeof(source), "%s/pairs.mir", folder);
	snprintf(compiled, sizeof(compiled), "%s/pairs.o", folder);
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	for (unsigned p = 0; p < ARRAY_SIZE(producers); p++) {
		for (unsigned c = 0; c < ARRAY_SIZE(consumers); c++)
			fprintf(file, "---\nname: pair_%u_%u\nbody: |\n  bb.0:\n    %s\n    %s\n    S_ENDPGM 0\n...\n", p, c, producers[p].mir,
				consumers[c].mir);
	}
	assert_int_equal(fclose(file), 0);
	run_tool((const char *const[]){ "llc", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-start-before=post-RA-hazard-rec",
					"-filetype=obj", source, "-o", compiled, NULL });
	object_load(&object, compiled);
	release_folder();
	return 0;
}

static int release_pairs(void **state)
{
	object_release(&object);
	return 0;
}

static void add_missing(void *userdata, const struct hazard_finding *finding)
{
	*(unsigned *)userdata += finding->missing;
}

/* Decodes producer, nops, consumer, s_endpgm. Returns how many wait states stand between. */
static unsigned decode_pair(const struct isa *isa, const struct kernel *kernel, struct isa_inst insts[3])
{
	const uint32_t *dwords = (const void *)kernel->code;
	size_t n = kernel->size / 4;
	unsigned count = 0, states = 0;

	for (size_t at = 0; at < n && count < 3;) {
		int length = isa_decode(isa, dwords + at, n - at, &insts[count]);
		if (length < 0)
			print_error("%s: %08x is not decoded\n", kernel->name, dwords[at]);
		assert_true(length > 0);
		at += (size_t)length;
		if (isa_op_info(isa, insts[count].op)->kind == ISA_KIND_NOP)
			states += insts[count].literal + 1;
		else
			count++;
	}
	assert_int_equal(count, 3);
	return states;
}

static unsigned states_we_need(const struct isa *isa, const struct isa_inst *insts)
{
	static const uint32_t targets[] = { FLOW_NOWHERE, FLOW_NOWHERE, FLOW_NOWHERE };
	struct flow flow;
	unsigned states = 0;

	assert_int_equal(flow_init(&flow, isa, insts, 3, targets), 0);
	assert_int_equal(hazard_find(&flow, add_missing, &states), 0);
	flow_release(&flow);
	return states;
}

static void wait_states_are_those_of_llvm(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	unsigned wrong = 0, with_hazard = 0;

	assert_int_equal(object.n_kernels, ARRAY_SIZE(producers) * ARRAY_SIZE(consumers));
	for (size_t k = 0; k < object.n_kernels; k++) {
		const struct kernel *kernel = &object.kernels[k];
		struct isa_inst insts[3];
		unsigned p, c;

		assert_int_equal(sscanf(kernel->name, "pair_%u_%u", &p, &c), 2);
		unsigned llvm = decode_pair(isa, kernel, insts);
		unsigned ours = states_we_need(isa, insts);
		with_hazard += llvm > 0;
		if (ours == llvm)
			continue;
		print_error("%s, then %s: we ask for %u wait states, LLVM for %u\n", producers[p].name, consumers[c].name, ours, llvm);
		wrong++;
	}
	print_message("%zu pairs, %u with a hazard\n", object.n_kernels, with_hazard);
	assert_int_equal(wrong, 0);
	assert_true(with_hazard > 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_states_are_those_of_llvm),
	};

	return cmocka_run_group_tests(tests, compile_pairs, release_pairs);
}
