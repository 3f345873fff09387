/* SPDX-License-Identifier: MIT */
/*
 * Where paths meet, the analyses must think of all of them. Kernels of random instructions with random branches go through the passes;
 * then random walks through what came out, laid out as straight code, must lack nothing. (On straight code the analyses themselves are
 * held against LLVM by test_pairs.c.)
 */
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "build/codegen/ir_internal.h"
#include "build/codegen/wait.h"
#include "tests/codegen/byhand.h"

#include <setjmp.h>

#include <cmocka.h>

enum { KERNELS = 150, LENGTH = 120, LABELS = 12, WALKS = 12, STEPS = 600 };

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33) % limit;
}

/* Few registers, so that instructions meet. */
static void emit_random(struct ir *ir, uint64_t *seed)
{
	unsigned a = random_below(seed, 6), b = random_below(seed, 6), quad = 4 * random_below(seed, 3);
	struct isa_operand pair = isa_sgpr(20 + 2 * (a % 3), 2);

	switch (random_below(seed, 15)) {
	case 0:
		EMIT(ir, ISA_GLOBAL_LOAD_DWORD, v(a), v(60), isa_sgpr(40, 2));
		break;
	case 1:
		EMIT(ir, ISA_GLOBAL_STORE_DWORDX4, v(60), isa_vgpr(quad, 4), isa_sgpr(40, 2));
		break;
	case 2:
		EMIT(ir, ISA_DS_READ_B32, v(a), v(b));
		break;
	case 3:
		EMIT(ir, ISA_DS_WRITE_B32, v(a), v(b));
		break;
	case 4:
		EMIT(ir, ISA_S_LOAD_DWORDX2, pair, isa_sgpr(40, 2));
		break;
	case 5:
		EMIT(ir, ISA_FLAT_LOAD_DWORD, v(a), isa_vgpr(62, 2));
		break;
	case 6:
		EMIT(ir, ISA_V_MFMA_F32_16X16X16_F16, isa_vgpr(quad, 4), isa_vgpr(2 * a, 2), isa_vgpr(2 * b, 2), isa_vgpr(quad, 4));
		break;
	case 7:
		EMIT(ir, ISA_V_MFMA_F32_4X4X1_16B_F32, isa_vgpr(quad, 4), v(a), v(b), isa_vgpr(4 * (a % 3), 4));
		break;
	case 8:
		EMIT(ir, ISA_V_READFIRSTLANE_B32, s(20 + a), v(b));
		break;
	case 9:
		EMIT(ir, ISA_V_CNDMASK_B32, v(a), v(b), v(6), isa_sgpr(ISA_VCC, 2));
		break;
	case 10:
		EMIT(ir, ISA_V_CMP_EQ_U32, isa_sgpr(ISA_VCC, 2), v(a), v(b));
		break;
	case 11:
		EMIT(ir, ISA_V_RCP_F32, v(a), v(b));
		break;
	case 12:
		EMIT(ir, ISA_BUFFER_LOAD_DWORDX4, isa_vgpr(quad, 4), isa_off(), isa_sgpr(44, 4), s(20 + a));
		break;
	case 13:
		EMIT(ir, ISA_S_BARRIER);
		break;
	default:
		EMIT(ir, ISA_V_ADD_U32, v(a), s(20 + b), v(b));
		break;
	}
}

static struct ir *make_kernel(uint64_t *seed)
{
	struct ir *ir = new_ir();
	ir_label_id labels[LABELS];
	unsigned placed = 0;

	for (unsigned i = 0; i < LABELS; i++)
		labels[i] = ir_label_new(ir, "label");
	for (unsigned i = 0; i < LENGTH; i++) {
		while (placed < LABELS && i >= (placed + 1) * (LENGTH / (LABELS + 1)))
			ir_label(ir, labels[placed++]);
		if (random_below(seed, 8) == 0)
			ir_branch(ir, ISA_S_CBRANCH_SCC1, labels[random_below(seed, LABELS)]);
		else if (random_below(seed, 60) == 0)
			ir_branch(ir, ISA_S_BRANCH, labels[random_below(seed, LABELS)]);
		else
			emit_random(ir, seed);
	}
	end(ir);
	return ir;
}

/* The instructions of one walk; a branch becomes an instruction that does nothing and takes its wait state. Returns how many. */
static size_t walk(const struct ir *ir, uint64_t *seed, struct isa_inst *path)
{
	size_t at = 0, n = 0;

	while (n < STEPS) {
		const struct isa_inst *inst = &ir->insts[at];

		path[n] = *inst;
		if (inst->op == ISA_S_ENDPGM)
			break;
		at++;
		if (ir_refers_to_label(ir, inst)) {
			if (inst->op == ISA_S_BRANCH || random_below(seed, 2))
				at = ir->labels[inst->literal].position;
			path[n] = (struct isa_inst){ .op = ISA_S_NOP, .n_operands = 1, .operand = { IR_IMM } };
		}
		n++;
	}
	return n;
}

static void lacks_wait(void *userdata, const struct wait_finding *finding)
{
	print_error("instruction %u of the walk: %s\n", finding->inst, wait_reason_text(finding->reason[0]));
	++*(unsigned *)userdata;
}

static void lacks_states(void *userdata, const struct hazard_finding *finding)
{
	print_error("instruction %u of the walk: %u more wait states: %s\n", finding->inst, finding->missing, finding->rule);
	++*(unsigned *)userdata;
}

static void every_walk_waits_enough(void **state)
{
	static struct isa_inst path[STEPS + 1];
	static uint32_t targets[STEPS + 1];
	uint64_t seed = 20240229;
	unsigned lacking = 0;
	size_t walked = 0;

	memset(targets, 0xff, sizeof(targets));
	for (unsigned k = 0; k < KERNELS; k++) {
		_cleanup_buffer_ struct buffer code = { 0 };
		struct ir *ir = make_kernel(&seed);

		finish(ir, &code);
		for (unsigned w = 0; w < WALKS; w++) {
			struct flow flow;
			size_t n = walk(ir, &seed, path);

			assert_int_equal(flow_init(&flow, ir_isa(ir), path, n, targets), 0);
			assert_int_equal(wait_find(&flow, lacks_wait, &lacking), 0);
			assert_int_equal(hazard_find(&flow, lacks_states, &lacking), 0);
			flow_release(&flow);
			walked += n;
		}
		ir_unref(ir);
	}
	print_message("%zu instructions walked\n", walked);
	assert_true(walked > 100000);
	assert_int_equal(lacking, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_walk_waits_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
