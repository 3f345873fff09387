/* SPDX-License-Identifier: MIT */
/*
 * The rules of wait.h and hazard.h against LLVM: what clang compiles for gfx942 must pass the checker unchanged, with any of its waits
 * weakened it must not, and our own passes must find enough waits for the same code without LLVM's.
 */
#include "build/codegen/check.h"
#include "tests/codegen/lift.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const sources[] = { "control", "lds", "math", "memory", "mfma" };

static struct object objects[ARRAY_SIZE(sources)];

static void compile_kernel(const char *source, const char *optimisation, const char *target, struct object *object)
{
	const char *folder = make_folder(), *root = getenv("TENSILEFS_SOURCE");
	char path[512], compiled[512];

	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/tests/codegen/kernels/%s.c", root, source);
	snprintf(compiled, sizeof(compiled), "%s/%s.o", folder, source);
	run_tool((const char *const[]){ "clang", "-target", "amdgcn-amd-amdhsa", target, "-nogpulib", optimisation, "-c", path, "-o", compiled,
					NULL });
	object_load(object, compiled);
	release_folder();
}

static int compile_kernels(void **state)
{
	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++)
		compile_kernel(sources[i], "-O2", "-mcpu=gfx942", &objects[i]);
	return 0;
}

static int release_kernels(void **state)
{
	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++)
		object_release(&objects[i]);
	return 0;
}

static void print_problem(void *userdata, const struct check_problem *problem)
{
	print_error("%s+0x%zx: %s is missing: %s [%s] (producer at 0x%zx)\n", (const char *)userdata, problem->offset, problem->missing,
		    problem->rule, problem->source, problem->producer);
}

static void ignore_problem(void *userdata, const struct check_problem *problem)
{
}

static unsigned assert_passes(const struct object *object)
{
	for (size_t k = 0; k < object->n_kernels; k++) {
		const struct kernel *kernel = &object->kernels[k];
		int r = ir_check(isa_find("gfx942"), kernel->code, kernel->size, print_problem, (void *)kernel->name);

		if (r != 0)
			print_error("%s: %d\n", kernel->name, r);
		assert_int_equal(r, 0);
	}
	return (unsigned)object->n_kernels;
}

static void llvm_code_passes_unchanged(void **state)
{
	static const char *const optimisations[] = { "-O0", "-O1", "-O3" };
	unsigned n = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++) {
		n += assert_passes(&objects[i]);
		for (unsigned o = 0; o < ARRAY_SIZE(optimisations); o++) {
			struct object object;

			compile_kernel(sources[i], optimisations[o], "-mcpu=gfx942", &object);
			n += assert_passes(&object);
			object_release(&object);
		}
	}
	print_message("%u functions\n", n);
	assert_true(n > 100);
}

static void count_xnack(void *userdata, const struct check_problem *problem)
{
	unsigned *counts = userdata;

	counts[problem->xnack_only]++;
}

/* The same kernels for a machine that does not retry: only what XNACK asks for is missing. */
static void code_without_xnack_lacks_nothing_else(void **state)
{
	unsigned counts[2] = { 0 };
	struct object object;

	compile_kernel("memory", "-O2", "-mcpu=gfx942:xnack-", &object);
	for (size_t k = 0; k < object.n_kernels; k++)
		assert_true(ir_check(isa_find("gfx942"), object.kernels[k].code, object.kernels[k].size, count_xnack, counts) >= 0);
	object_release(&object);
	assert_int_equal(counts[false], 0);
	assert_true(counts[true] > 0);
}

/* ---- every wait is needed --------------------------------------------------------------------------------------------- */

/*
 * Waits of LLVM's that no rule asks for, by kernel and place. They are spelt out so that a new one is looked at.
 */
static const struct {
	const char *kernel;
	const char *what;
	const char *reason;
} unneeded[] = {
	{ "callee", "at 0: without s_waitcnt", "LLVM SIInsertWaitcnts: a function waits for everything at its entry" },
	{ "callee", "at 0: vmcnt 1", "the same" },
	{ "callee", "at 0: expcnt 1", "the same" },
	{ "callee", "at 0: lgkmcnt 1", "the same" },
};

static bool is_unneeded(const char *kernel, const char *what)
{
	for (unsigned i = 0; i < ARRAY_SIZE(unneeded); i++) {
		if (strcmp(unneeded[i].kernel, kernel) == 0 && strcmp(unneeded[i].what, what) == 0)
			return true;
	}
	return false;
}

struct tally {
	unsigned tried, excused, missed;
};

/*
 * LLVM takes any packed or mixed VOP3P instruction whose first source has op_sel_hi for one that writes half of its destination
 * (GCNHazardRecognizer, getDstSelForwardingOperand: SISrcMods::DST_OP_SEL is OP_SEL_1 in VOP3P). It does not, and the state is not
 * needed.
 */
static bool is_after_vop3p(const struct ir *ir, size_t inst)
{
	const struct isa_inst *before = &ir->insts[inst - 1];	/* no function begins with a wait state */
	const char *name = isa_op_info(ir->isa, before->op)->name;

	return ir->insts[inst].op == ISA_S_NOP && ir->insts[inst].literal == 0 && (before->op_sel_hi & 1) &&
	       (strncmp(name, "v_pk_", 5) == 0 || strncmp(name, "v_fma_mix", 9) == 0);
}

/*
 * The memory model (AMDGPUUsage, "Memory model gfx942") makes a release wait for all that is outstanding behind buffer_wbl2, and an
 * acquire wait for the atomic in front of buffer_inv, whether or not a register asks for it (LLVM SIMemoryLegalizer).
 */
static bool is_memory_order(const struct ir *ir, size_t inst)
{
	return inst > 0 && ir->insts[inst].op == ISA_S_WAITCNT &&
	       (ir->insts[inst - 1].op == ISA_BUFFER_WBL2 || ir->insts[inst + 1].op == ISA_BUFFER_INV);
}

/* Checks the code with one instruction changed (replacement), or taken out (NULL). */
static void mutate(const struct kernel *kernel, struct ir *ir, size_t inst, const struct isa_inst *replacement, const char *what,
		   struct tally *tally)
{
	_cleanup_buffer_ struct buffer code = { 0 };
	struct ir *mutant = lift(ir_isa(ir), kernel->code, kernel->size);

	if (replacement) {
		mutant->insts[inst] = *replacement;
	} else {
		_cleanup_free_ uint64_t *removed = calloc(mutant->count / 64 + 1, sizeof(*removed));
		assert_non_null(removed);
		removed[inst / 64] |= UINT64_C(1) << (inst % 64);
		assert_int_equal(ir_rebuild(mutant, NULL, 0, removed), 0);
	}
	lower(mutant, &code);
	int r = ir_check(ir_isa(ir), code.data, code.size, ignore_problem, NULL);
	ir_unref(mutant);

	assert_true(r >= 0);
	tally->tried++;
	if (r > 0)
		return;
	char place[128];
	snprintf(place, sizeof(place), "at %zu: %s", inst, what);
	if (is_unneeded(kernel->name, place) || is_after_vop3p(ir, inst) || is_memory_order(ir, inst)) {
		tally->excused++;
		return;
	}
	print_error("%s, %s: not reported\n", kernel->name, place);
	tally->missed++;
}

static void weaken_wait(const struct kernel *kernel, struct ir *ir, size_t inst, struct tally *tally)
{
	static const char *const names[] = { "vmcnt", "expcnt", "lgkmcnt" };
	static const unsigned none[] = { 63, 7, 15 };
	unsigned counts[3];

	isa_waitcnt_unpack((uint16_t)ir->insts[inst].literal, &counts[0], &counts[1], &counts[2]);
	for (unsigned i = 0; i < 3; i++) {
		struct isa_inst weaker = ir->insts[inst];
		unsigned changed[3] = { counts[0], counts[1], counts[2] };
		char what[64];

		if (counts[i] == none[i])
			continue;
		changed[i]++;
		weaker.literal = isa_waitcnt_pack(changed[0], changed[1], changed[2]);
		snprintf(what, sizeof(what), "%s %u", names[i], changed[i]);
		mutate(kernel, ir, inst, &weaker, what, tally);
	}
	mutate(kernel, ir, inst, NULL, "without s_waitcnt", tally);
}

static void shorten_nop(const struct kernel *kernel, struct ir *ir, size_t inst, struct tally *tally)
{
	struct isa_inst shorter = ir->insts[inst];

	if (shorter.literal > 0) {
		shorter.literal--;
		mutate(kernel, ir, inst, &shorter, "s_nop shorter by one", tally);
	}
	mutate(kernel, ir, inst, NULL, "without s_nop", tally);
}

static void any_weaker_wait_of_llvm_is_reported(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct tally waits = { 0 }, nops = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++) {
		for (size_t k = 0; k < objects[i].n_kernels; k++) {
			const struct kernel *kernel = &objects[i].kernels[k];
			struct ir *ir = lift(isa, kernel->code, kernel->size);

			for (size_t at = 0; at < ir->count; at++) {
				unsigned kind = isa_op_info(isa, ir->insts[at].op)->kind;

				if (kind == ISA_KIND_WAIT)
					weaken_wait(kernel, ir, at, &waits);
				else if (kind == ISA_KIND_NOP)
					shorten_nop(kernel, ir, at, &nops);
			}
			ir_unref(ir);
		}
	}
	print_message("%u weaker waits, %u of them excused; %u shorter nops, %u of them excused\n", waits.tried, waits.excused, nops.tried,
		      nops.excused);
	assert_int_equal(waits.missed, 0);
	assert_int_equal(nops.missed, 0);
	assert_true(waits.tried > 150);
	assert_true(nops.tried > 60);
}

/* ---- our own passes on the same code ---------------------------------------------------------------------------------- */

static void take_waits_out(struct ir *ir, size_t *ret_waits, size_t *ret_states)
{
	_cleanup_free_ uint64_t *removed = calloc(ir->count / 64 + 1, sizeof(*removed));

	assert_non_null(removed);
	for (size_t i = 0; i < ir->count; i++) {
		unsigned kind = isa_op_info(ir->isa, ir->insts[i].op)->kind;

		if (kind != ISA_KIND_WAIT && kind != ISA_KIND_NOP)
			continue;
		*ret_waits += kind == ISA_KIND_WAIT;
		*ret_states += kind == ISA_KIND_NOP ? ir->insts[i].literal + 1 : 0;
		removed[i / 64] |= UINT64_C(1) << (i % 64);
	}
	assert_int_equal(ir_rebuild(ir, NULL, 0, removed), 0);
}

static void our_passes_do_as_llvm_does(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	size_t llvm_waits = 0, llvm_states = 0, our_waits = 0, our_states = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(sources); i++) {
		for (size_t k = 0; k < objects[i].n_kernels; k++) {
			const struct kernel *kernel = &objects[i].kernels[k];
			_cleanup_buffer_ struct buffer code = { 0 };
			struct ir *ir = lift(isa, kernel->code, kernel->size);
			struct error error = { 0 };

			take_waits_out(ir, &llvm_waits, &llvm_states);
			assert_int_equal(ir_finish(ir, &code, &error, NULL), 0);
			assert_int_equal(ir_check(isa, code.data, code.size, print_problem, (void *)kernel->name), 0);
			take_waits_out(ir, &our_waits, &our_states);
			ir_unref(ir);
		}
	}
	print_message("s_waitcnt: %zu, LLVM %zu; wait states: %zu, LLVM %zu\n", our_waits, llvm_waits, our_states, llvm_states);
	assert_true(our_waits <= llvm_waits * 11 / 10);
	assert_true(our_states <= llvm_states * 11 / 10);
}

/* ---- what is no kernel ------------------------------------------------------------------------------------------------- */

static int check_dwords(const uint32_t *dwords, size_t n)
{
	return ir_check(isa_find("gfx942"), (const uint8_t *)dwords, n * 4, ignore_problem, NULL);
}

static void keep_problem(void *userdata, const struct check_problem *problem)
{
	*(struct check_problem *)userdata = *problem;
}

static void problems_say_what_is_missing_where(void **state)
{
	static const uint32_t code[] = {
		0xdc508000, 0x057f0002,	/* global_load_dword v5, v[2:3], off */
		0x7e020305,				/* v_mov_b32_e32 v1, v5 */
		0xbf810000,
	};
	struct check_problem problem = { 0 };

	assert_int_equal(ir_check(isa_find("gfx942"), (const uint8_t *)code, sizeof(code), keep_problem, &problem), 1);
	assert_int_equal(problem.offset, 8);
	assert_string_equal(problem.missing, "s_waitcnt vmcnt(0) for v5");
	assert_string_equal(problem.rule, "reads a register that is being loaded");
}

static void bad_code_is_refused(void **state)
{
	static const uint32_t end = 0xbf810000, nop = 0xbf800000, branch = 0xbf820000, none = 0xffffffff;

	assert_int_equal(check_dwords((const uint32_t[]){ nop, end }, 2), 0);
	assert_int_equal(check_dwords((const uint32_t[]){ nop, end, none }, 3), 0);	/* padding */
	assert_int_equal(check_dwords((const uint32_t[]){ nop, none, end }, 3), -EILSEQ);
	assert_int_equal(check_dwords((const uint32_t[]){ branch | 5, end }, 2), -EINVAL);
	assert_int_equal(check_dwords((const uint32_t[]){ branch | 0xfffe, end }, 2), -EINVAL);
	assert_int_equal(check_dwords((const uint32_t[]){ branch | 1, end, none }, 3), -EINVAL);
	/* s_mov_b32 s0, 0xbf810000: its literal looks like an instruction and is none */
	assert_int_equal(check_dwords((const uint32_t[]){ branch | 1, 0xbe8000ff, end, end }, 4), -EINVAL);
	assert_int_equal(check_dwords(&end, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(llvm_code_passes_unchanged),
		cmocka_unit_test(code_without_xnack_lacks_nothing_else),
		cmocka_unit_test(any_weaker_wait_of_llvm_is_reported),
		cmocka_unit_test(our_passes_do_as_llvm_does),
		cmocka_unit_test(problems_say_what_is_missing_where),
		cmocka_unit_test(bad_code_is_refused),
	};

	return cmocka_run_group_tests(tests, compile_kernels, release_kernels);
}
