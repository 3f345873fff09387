/* SPDX-License-Identifier: MIT */
/*
 * The rules against LLVM's, case by case. llc is given each producer followed by each consumer of pairs.inc: the wait states it puts
 * between them must be those that hazard_find() asks for. And each triple of waits.inc: the wait counts must be those of wait_find().
 */
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "build/codegen/wait.h"
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

static const struct line firsts[] = {
#define FIRST(name, mir) { name, mir },
#define SECOND(name, mir)
#define USE(name, mir)
#include "tests/codegen/waits.inc"
#undef FIRST
#undef SECOND
#undef USE
};

static const struct line seconds[] = {
#define FIRST(name, mir)
#define SECOND(name, mir) { name, mir },
#define USE(name, mir)
#include "tests/codegen/waits.inc"
#undef FIRST
#undef SECOND
#undef USE
};

static const struct line uses[] = {
#define FIRST(name, mir)
#define SECOND(name, mir)
#define USE(name, mir) { name, mir },
#include "tests/codegen/waits.inc"
#undef FIRST
#undef SECOND
#undef USE
};

static void write_pairs(FILE *file)
{
	for (unsigned p = 0; p < ARRAY_SIZE(producers); p++) {
		for (unsigned c = 0; c < ARRAY_SIZE(consumers); c++)
			fprintf(file, "---\nname: pair_%u_%u\nbody: |\n  bb.0:\n    %s\n    %s\n    S_ENDPGM 0\n...\n", p, c, producers[p].mir,
				consumers[c].mir);
	}
}

static void write_triples(FILE *file)
{
	for (unsigned i = 0; i < ARRAY_SIZE(firsts) * ARRAY_SIZE(seconds) * ARRAY_SIZE(uses); i++) {
		unsigned u = i % ARRAY_SIZE(uses), second = i / ARRAY_SIZE(uses) % ARRAY_SIZE(seconds);
		unsigned f = i / ARRAY_SIZE(uses) / ARRAY_SIZE(seconds);

		fprintf(file, "---\nname: triple_%u_%u_%u\nbody: |\n  bb.0:\n    %s\n    %s\n    %s\n    S_ENDPGM 0\n...\n", f, second, u,
			firsts[f].mir, seconds[second].mir, uses[u].mir);
	}
}

static void compile(void (*write)(FILE *file), const char *start_before, struct object *object)
{
	const char *folder = make_folder();
	char source[128], compiled[128];

	snprintf(source, sizeof(source), "%s/cases.mir", folder);
	snprintf(compiled, sizeof(compiled), "%s/cases.o", folder);
	FILE *file = fopen(source, "w");
	assert_non_null(file);
	write(file);
	assert_int_equal(fclose(file), 0);
	run_tool((const char *const[]){ "llc", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942", start_before, "-filetype=obj", source, "-o",
					compiled, NULL });
	object_load(object, compiled);
	release_folder();
}

static void add_missing(void *userdata, const struct hazard_finding *finding)
{
	*(unsigned *)userdata += finding->missing;
}

struct counts {			/* what stands in front of an instruction */
	unsigned states;
	unsigned vmcnt, lgkmcnt;
};

/* Decodes `count` instructions, and what LLVM put in front of each. Functions wait for everything at their entry: not of interest. */
static void decode_case(const struct isa *isa, const struct kernel *kernel, struct isa_inst *insts, struct counts *counts, unsigned count)
{
	const uint32_t *dwords = (const void *)kernel->code;
	size_t n = kernel->size / 4;
	unsigned i = 0, expcnt;

	counts[0] = (struct counts){ .vmcnt = 63, .lgkmcnt = 15 };
	for (size_t at = 0; at < n && i < count;) {
		int length = isa_decode(isa, dwords + at, n - at, &insts[i]);
		if (length < 0)
			print_error("%s: %08x is not decoded\n", kernel->name, dwords[at]);
		assert_true(length > 0);
		at += (size_t)length;
		unsigned kind = isa_op_info(isa, insts[i].op)->kind;
		if (kind == ISA_KIND_NOP)
			counts[i].states += insts[i].literal + 1;
		else if (kind == ISA_KIND_WAIT && i > 0)
			isa_waitcnt_unpack((uint16_t)insts[i].literal, &counts[i].vmcnt, &expcnt, &counts[i].lgkmcnt);
		else if (kind != ISA_KIND_WAIT && ++i < count)
			counts[i] = (struct counts){ .vmcnt = 63, .lgkmcnt = 15 };
	}
	assert_int_equal(i, count);
}

static const uint32_t no_targets[] = { FLOW_NOWHERE, FLOW_NOWHERE, FLOW_NOWHERE };

static unsigned states_we_need(const struct isa *isa, const struct isa_inst *insts)
{
	struct flow flow;
	unsigned states = 0;

	assert_int_equal(flow_init(&flow, isa, insts, 2, no_targets), 0);
	assert_int_equal(hazard_find(&flow, add_missing, &states), 0);
	flow_release(&flow);
	return states;
}

static void note_wait(void *userdata, const struct wait_finding *finding)
{
	struct counts *counts = userdata;

	if (finding->count[WAIT_VM] != WAIT_NONE)
		counts[finding->inst].vmcnt = finding->count[WAIT_VM];
	if (finding->count[WAIT_LGKM] != WAIT_NONE)
		counts[finding->inst].lgkmcnt = finding->count[WAIT_LGKM];
}

static void counts_we_need(const struct isa *isa, const struct isa_inst *insts, struct counts *counts)
{
	struct flow flow;

	for (unsigned i = 0; i < 3; i++)
		counts[i] = (struct counts){ .vmcnt = 63, .lgkmcnt = 15 };
	assert_int_equal(flow_init(&flow, isa, insts, 3, no_targets), 0);
	assert_int_equal(wait_find(&flow, note_wait, counts), 0);
	flow_release(&flow);
}

static void wait_states_are_those_of_llvm(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct object object;
	unsigned wrong = 0, with_hazard = 0;

	compile(write_pairs, "-start-before=post-RA-hazard-rec", &object);
	assert_int_equal(object.n_kernels, ARRAY_SIZE(producers) * ARRAY_SIZE(consumers));
	for (size_t k = 0; k < object.n_kernels; k++) {
		const struct kernel *kernel = &object.kernels[k];
		struct isa_inst insts[2];
		struct counts llvm[2];
		unsigned p, c;

		assert_int_equal(sscanf(kernel->name, "pair_%u_%u", &p, &c), 2);
		decode_case(isa, kernel, insts, llvm, 2);
		unsigned ours = states_we_need(isa, insts);
		with_hazard += llvm[1].states > 0;
		if (ours == llvm[1].states)
			continue;
		print_error("%s, then %s: we ask for %u wait states, LLVM for %u\n", producers[p].name, consumers[c].name, ours,
			    llvm[1].states);
		wrong++;
	}
	print_message("%zu pairs, %u with a hazard\n", object.n_kernels, with_hazard);
	assert_int_equal(wrong, 0);
	assert_true(with_hazard > 1500);
	object_release(&object);
}

static void wait_counts_are_those_of_llvm(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct object object;
	unsigned wrong = 0, with_wait = 0;

	compile(write_triples, "-start-before=si-insert-waitcnts", &object);
	assert_int_equal(object.n_kernels, ARRAY_SIZE(firsts) * ARRAY_SIZE(seconds) * ARRAY_SIZE(uses));
	for (size_t k = 0; k < object.n_kernels; k++) {
		const struct kernel *kernel = &object.kernels[k];
		struct isa_inst insts[3];
		struct counts llvm[3], ours[3];
		unsigned f, second, u;

		assert_int_equal(sscanf(kernel->name, "triple_%u_%u_%u", &f, &second, &u), 3);
		decode_case(isa, kernel, insts, llvm, 3);
		counts_we_need(isa, insts, ours);
		for (unsigned i = 1; i < 3; i++) {
			with_wait += llvm[i].vmcnt != 63 || llvm[i].lgkmcnt != 15;
			if (ours[i].vmcnt == llvm[i].vmcnt && ours[i].lgkmcnt == llvm[i].lgkmcnt)
				continue;
			print_error("%s, %s, %s: in front of number %u we ask for vmcnt(%u) lgkmcnt(%u), LLVM for vmcnt(%u) lgkmcnt(%u)\n",
				    firsts[f].name, seconds[second].name, uses[u].name, i + 1, ours[i].vmcnt, ours[i].lgkmcnt, llvm[i].vmcnt,
				    llvm[i].lgkmcnt);
			wrong++;
		}
	}
	print_message("%zu triples, %u waits\n", object.n_kernels, with_wait);
	assert_int_equal(wrong, 0);
	assert_true(with_wait > 300);
	object_release(&object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait_states_are_those_of_llvm),
		cmocka_unit_test(wait_counts_are_those_of_llvm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
