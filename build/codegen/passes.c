/* SPDX-License-Identifier: MIT */
/* Puts what the wait and hazard analyses find into an ir. */
#include "base/array.h"
#include "build/codegen/flow.h"
#include "build/codegen/hazard.h"
#include "build/codegen/ir_internal.h"
#include "build/codegen/wait.h"

struct insertions {
	struct ir_insertion *items;
	size_t count, allocated;
	bool failed;
};

struct insert {
	struct insertions waits, all;	/* by position; of the waits, those before next_wait are in `all` already */
	size_t next_wait;
	uint64_t *wait_bits;		/* flow.waits */
};

static void insert_release(struct insert *insert)
{
	free(insert->waits.items);
	free(insert->all.items);
	free(insert->wait_bits);
}

static void add(struct insertions *list, uint32_t position, unsigned op, uint32_t value)
{
	if (ARRAY_GROW(list->items, list->allocated, list->count) < 0) {
		list->failed = true;
		return;
	}
	list->items[list->count++] = (struct ir_insertion){
		.position = position,
		.inst = { .op = (uint16_t)op, .n_operands = 1, .operand = { IR_IMM }, .literal = value },
	};
}

static void insert_wait(void *userdata, const struct wait_finding *finding)
{
	struct insert *insert = userdata;
	unsigned vmcnt = MIN(finding->count[WAIT_VM], 63), lgkmcnt = MIN(finding->count[WAIT_LGKM], 15);

	add(&insert->waits, finding->inst, ISA_S_WAITCNT, isa_waitcnt_pack(vmcnt, 7, lgkmcnt));
	insert->wait_bits[finding->inst / 64] |= UINT64_C(1) << (finding->inst % 64);
}

/* Brings the waits up to and including those in front of an instruction over to the list of everything. */
static void bring_waits(struct insert *insert, uint32_t position)
{
	const struct insertions *waits = &insert->waits;

	for (; insert->next_wait < waits->count && waits->items[insert->next_wait].position <= position; insert->next_wait++) {
		const struct ir_insertion *wait = &waits->items[insert->next_wait];
		add(&insert->all, wait->position, wait->inst.op, wait->inst.literal);
	}
}

static void insert_nops(void *userdata, const struct hazard_finding *finding)
{
	struct insert *insert = userdata;

	bring_waits(insert, finding->inst);
	for (unsigned missing = finding->missing; missing > 0;) {
		unsigned states = MIN(missing, (unsigned)HAZARD_MAX_NOP + 1);
		add(&insert->all, finding->inst, ISA_S_NOP, states - 1);
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

/* Wait states are counted with the waits in place, but those need not be there for it: the code is rebuilt once, for both. */
static int find_insertions(struct ir *ir, struct insert *insert)
{
	_cleanup_(flow_release) struct flow flow = { 0 };

	int r = make_flow(ir, &flow);
	if (r == 0)
		r = wait_find(&flow, insert_wait, insert);
	flow.waits = insert->wait_bits;
	if (r == 0)
		r = hazard_find(&flow, insert_nops, insert);
	bring_waits(insert, UINT32_MAX);
	return insert->waits.failed || insert->all.failed ? -ENOMEM : r;
}

int ir_wait(struct ir *ir)
{
	_cleanup_(insert_release) struct insert insert = { 0 };

	insert.wait_bits = calloc(ir->count / 64 + 1, sizeof(*insert.wait_bits));
	if (!insert.wait_bits || find_insertions(ir, &insert) < 0)
		return ir_fail(ir, -ENOMEM, "no memory");
	return ir_rebuild(ir, insert.all.items, insert.all.count, NULL);
}
