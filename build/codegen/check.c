/* SPDX-License-Identifier: MIT */
#include "build/codegen/check.h"

#include "base/macro.h"
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "build/codegen/wait.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct check {
	const struct isa *isa;
	struct isa_inst *insts;
	uint32_t *starts;	/* dword at which each instruction starts; one more for the end */
	uint32_t *inst_at;	/* instruction that starts at a dword, or FLOW_NOWHERE */
	uint32_t *targets;
	size_t count, n_dwords;
	void (*report)(void *userdata, const struct check_problem *problem);
	void *userdata;
	int n_problems;
};

static void check_release(struct check *check)
{
	free(check->insts);
	free(check->starts);
	free(check->inst_at);
	free(check->targets);
}

static int check_alloc(struct check *check, size_t n_dwords)
{
	check->n_dwords = n_dwords;
	check->insts = calloc(n_dwords + 1, sizeof(*check->insts));
	check->starts = calloc(n_dwords + 1, sizeof(*check->starts));
	check->inst_at = malloc((n_dwords + 1) * sizeof(*check->inst_at));
	check->targets = malloc((n_dwords + 1) * sizeof(*check->targets));
	return check->insts && check->starts && check->inst_at && check->targets ? 0 : -ENOMEM;
}

static bool ends_here(const struct check *check)
{
	if (check->count == 0)
		return false;
	const struct isa_inst *last = &check->insts[check->count - 1];
	return isa_op_info(check->isa, last->op)->kind == ISA_KIND_END || last->op == ISA_S_SETPC_B64 || last->op == ISA_S_BRANCH;
}

static int decode(struct check *check, const uint32_t *dwords)
{
	memset(check->inst_at, 0xff, (check->n_dwords + 1) * sizeof(*check->inst_at));
	for (size_t at = 0; at < check->n_dwords;) {
		int n = isa_decode(check->isa, dwords + at, check->n_dwords - at, &check->insts[check->count]);
		if (n < 0 && ends_here(check)) {
			check->n_dwords = at;	/* padding */
			break;
		}
		if (n < 0)
			return n;
		check->inst_at[at] = (uint32_t)check->count;
		check->starts[check->count++] = (uint32_t)at;
		at += (size_t)n;
	}
	check->starts[check->count] = (uint32_t)check->n_dwords;
	return 0;
}

static int find_target(const struct check *check, int64_t dword, uint32_t *ret_inst)
{
	if (dword < 0 || dword >= (int64_t)check->n_dwords || check->inst_at[dword] == FLOW_NOWHERE)
		return -EINVAL;
	*ret_inst = check->inst_at[dword];
	return 0;
}

/*
 * Where a jump through a register pair leads, when the pair was made in the instructions before it: s_getpc_b64 p; s_add_u32 p0, p0, x;
 * s_addc_u32 p1, p1, y; s_setpc_b64 p (or s_swappc_b64). Offsets that a linker has yet to fill in lead out of the code: unknown.
 */
static uint32_t computed_target(const struct check *check, size_t jump)
{
	const struct isa_inst *inst = &check->insts[jump];
	unsigned pair = inst->operand[inst->op == ISA_S_SWAPPC_B64 ? 1 : 0].code;

	if (jump < 3 || (inst->op != ISA_S_SETPC_B64 && inst->op != ISA_S_SWAPPC_B64))
		return FLOW_NOWHERE;
	const struct isa_inst *getpc = inst - 3, *add = inst - 2, *addc = inst - 1;
	if (getpc->op != ISA_S_GETPC_B64 || getpc->operand[0].code != pair || add->op != ISA_S_ADD_U32 || add->operand[0].code != pair ||
	    add->operand[2].code != ISA_LITERAL || addc->op != ISA_S_ADDC_U32 || addc->operand[0].code != pair + 1)
		return FLOW_NOWHERE;

	int64_t from = (int64_t)check->starts[jump - 2] * 4;
	uint32_t target;
	int64_t bytes = from + (int32_t)add->literal;
	return bytes % 4 == 0 && find_target(check, bytes / 4, &target) == 0 ? target : FLOW_NOWHERE;
}

static int find_targets(struct check *check)
{
	for (size_t i = 0; i < check->count; i++) {
		const struct isa_inst *inst = &check->insts[i];
		const struct isa_op_info *info = isa_op_info(check->isa, inst->op);

		check->targets[i] = FLOW_NOWHERE;
		if (info->kind == ISA_KIND_BRANCH || inst->op == ISA_S_CALL_B64) {
			int r = find_target(check, (int64_t)check->starts[i] + 1 + (int16_t)inst->literal, &check->targets[i]);
			if (r < 0)
				return r;
		} else if (info->kind == ISA_KIND_JUMP) {
			check->targets[i] = computed_target(check, i);
		}
	}
	return 0;
}

static void report(struct check *check, const struct check_problem *problem)
{
	check->n_problems++;
	check->report(check->userdata, problem);
}

static void print_register(char *text, size_t size, unsigned reg)
{
	if (reg >= ISA_AGPR0)
		snprintf(text, size, "a%u", reg - ISA_AGPR0);
	else if (reg >= ISA_VGPR0)
		snprintf(text, size, "v%u", reg - ISA_VGPR0);
	else if (reg == ISA_VCC || reg == ISA_VCC + 1)
		snprintf(text, size, "vcc");
	else
		snprintf(text, size, "s%u", reg);
}

static void report_wait(void *userdata, const struct wait_finding *finding)
{
	static const char *const names[] = { [WAIT_VM] = "vmcnt", [WAIT_LGKM] = "lgkmcnt" };
	struct check *check = userdata;

	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		if (finding->count[which] == WAIT_NONE)
			continue;
		struct check_problem problem = {
			.offset = check->starts[finding->inst] * 4ul,
			.producer = check->starts[finding->inst] * 4ul,
			.rule = wait_reason_text(finding->reason[which]),
			.source = "LLVM SIInsertWaitcnts, CDNA3 ISA 4.4",
		};
		char reg[16] = "LDS";
		if (finding->reason[which] == WAIT_FOR_READ || finding->reason[which] == WAIT_FOR_WRITE)
			print_register(reg, sizeof(reg), finding->reg[which]);
		snprintf(problem.missing, sizeof(problem.missing), "s_waitcnt %s(%u) for %s", names[which], finding->count[which], reg);
		report(check, &problem);
	}
}

static void report_hazard(void *userdata, const struct hazard_finding *finding)
{
	struct check *check = userdata;
	struct check_problem problem = {
		.offset = check->starts[finding->inst] * 4ul,
		.producer = check->starts[finding->producer] * 4ul,
		.rule = finding->rule,
		.source = finding->source,
		.xnack_only = finding->xnack_only,
	};

	snprintf(problem.missing, sizeof(problem.missing), "s_nop %u", finding->missing - 1);
	report(check, &problem);
}

static int check_flow(struct check *check)
{
	struct flow flow;

	int r = flow_init(&flow, check->isa, check->insts, check->count, check->targets);
	if (r < 0)
		return r;
	r = wait_find(&flow, report_wait, check);
	if (r == 0)
		r = hazard_find(&flow, report_hazard, check);
	flow_release(&flow);
	return r;
}

int ir_check(const struct isa *isa, const uint8_t *code, size_t size,
	     void (*report_problem)(void *userdata, const struct check_problem *problem), void *userdata)
{
	_cleanup_(check_release) struct check check = { .isa = isa, .report = report_problem, .userdata = userdata };
	_cleanup_free_ uint32_t *dwords = malloc(MAX(size, (size_t)4));
	if (!dwords)
		return -ENOMEM;

	memcpy(dwords, code, size / 4 * 4);
	int r = check_alloc(&check, size / 4);
	if (r == 0)
		r = decode(&check, dwords);
	if (r == 0)
		r = find_targets(&check);
	if (r == 0)
		r = check_flow(&check);
	return r < 0 ? r : check.n_problems;
}
