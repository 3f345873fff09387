/* SPDX-License-Identifier: MIT */
/* Puts what the wait and hazard analyses find into an ir. */
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "build/codegen/ir_internal.h"
#include "build/codegen/wait.h"

struct insertions {
	struct ir_insertion *items;
	size_t count, allocated;
	bool failed;
};

static void insert(struct insertions *list, uint32_t position, unsigned op, uint32_t value)
{
	if (list->count == list->allocated) {
		size_t allocated = MAX(list->allocated * 2, (size_t)256);
		struct ir_insertion *items = realloc(list->items, allocated * sizeof(*items));
		if (!items) {
			list->failed = true;
			return;
		}
		list->items = items;
		list->allocated = allocated;
	}
	list->items[list->count++] = (struct ir_insertion){
		.position = position,
		.inst = { .op = (uint16_t)op, .n_operands = 1, .operand = { IR_IMM }, .literal = value },
	};
}

static void insert_wait(void *userdata, const struct wait_finding *finding)
{
	unsigned vmcnt = MIN(finding->count[WAIT_VM], 63), lgkmcnt = MIN(finding->count[WAIT_LGKM], 15);

	insert(userdata, finding->inst, ISA_S_WAITCNT, isa_waitcnt_pack(vmcnt, 7, lgkmcnt));
}

static void insert_nops(void *userdata, const struct hazard_finding *finding)
{
	for (unsigned missing = finding->missing; missing > 0;) {
		unsigned states = MIN(missing, (unsigned)HAZARD_MAX_NOP + 1);
		insert(userdata, finding->inst, ISA_S_NOP, states - 1);
		missing -= states;
	}
}

static int make_flow(struct ir *ir, struct flow *flow)
{
	_cleanup_free_ uint32_t *targets = malloc(MAX(ir->count, (size_t)1) * sizeof(*targets));
	if (!targets)
		return -ENOMEM;
	for (size_t i = 0; i < ir->count; i++)
		targets[i] = ir_refers_to_label(ir, &ir->insts[i]) ? ir->labels[ir->insts[i].literal].position : FLOW_NOWHERE;
	return flow_init(flow, ir->isa, ir->insts, ir->count, targets);
}

static int rebuild_with(struct ir *ir, struct insertions *list, int error)
{
	int r = error < 0 || list->failed ? ir_fail(ir, -ENOMEM, "no memory") : ir_rebuild(ir, list->items, list->count, NULL);

	free(list->items);
	return r;
}

int ir_wait(struct ir *ir)
{
	struct flow flow = { 0 };
	struct insertions list = { 0 };

	int r = make_flow(ir, &flow);
	if (r == 0)
		r = wait_find(&flow, insert_wait, &list);
	flow_release(&flow);
	return rebuild_with(ir, &list, r);
}

int ir_hazard(struct ir *ir)
{
	struct flow flow = { 0 };
	struct insertions list = { 0 };

	int r = make_flow(ir, &flow);
	if (r == 0)
		r = hazard_find(&flow, insert_nops, &list);
	flow_release(&flow);
	return rebuild_with(ir, &list, r);
}
