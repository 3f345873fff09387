/* SPDX-License-Identifier: MIT */
#include "build/codegen/flow.h"

#include "base/macro.h"

#include <errno.h>
#include <string.h>

static bool ends_block(const struct isa_op_info *info)
{
	return info->kind == ISA_KIND_BRANCH || info->kind == ISA_KIND_JUMP || info->kind == ISA_KIND_END;
}

static bool is_call(const struct isa_inst *inst)
{
	return inst->op == ISA_S_CALL_B64 || inst->op == ISA_S_SWAPPC_B64;
}

/* block_of[i] is first a mark on each instruction that starts a block. Returns how many there are. */
static uint32_t mark_starts(const struct flow *flow, const uint32_t *targets, uint32_t *block_of)
{
	uint32_t n = 0;

	memset(block_of, 0, (flow->count + 1) * sizeof(*block_of));
	block_of[0] = 1;
	for (uint32_t i = 0; i < flow->count; i++) {
		if (!ends_block(isa_op_info(flow->isa, flow->insts[i].op)))
			continue;
		block_of[i + 1] = 1;
		if (targets[i] != FLOW_NOWHERE)
			block_of[targets[i]] = 1;
	}
	for (uint32_t i = 0; i < flow->count; i++)
		n += block_of[i];
	return n;
}

/* ... and then the number of its block. */
static void number_blocks(struct flow *flow, uint32_t *block_of)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < flow->count; i++) {
		if (block_of[i]) {
			flow->blocks[n].begin = i;
			if (n > 0)
				flow->blocks[n - 1].end = i;
			n++;
		}
		block_of[i] = n - 1;
	}
	if (n > 0)
		flow->blocks[n - 1].end = flow->count;
}

struct edges {
	struct flow *flow;
	const uint32_t *block_of;
	uint32_t count;
};

static void add_edge(struct edges *edges, struct flow_block *block, uint32_t to_inst)
{
	if (to_inst >= edges->flow->count)
		return;
	edges->flow->successors[edges->count++] = edges->block_of[to_inst];
	block->n_successors++;
}

static void add_block_edges(struct edges *edges, struct flow_block *block, uint32_t target, uint32_t returns)
{
	struct flow *flow = edges->flow;
	uint32_t last = block->end - 1;
	const struct isa_inst *inst = &flow->insts[last];
	const struct isa_op_info *info = isa_op_info(flow->isa, inst->op);

	block->first_successor = edges->count;
	if (info->kind == ISA_KIND_END)
		return;
	if (target != FLOW_NOWHERE)
		add_edge(edges, block, target);
	if (info->kind == ISA_KIND_JUMP) {
		if (target == FLOW_NOWHERE && !is_call(inst)) {
			flow->successors[edges->count++] = returns;
			block->n_successors++;
		}
	} else if (inst->op != ISA_S_BRANCH) {
		add_edge(edges, block, block->end);
	}
}

static void add_return_edges(struct edges *edges, struct flow_block *returns, const uint32_t *targets)
{
	returns->begin = returns->end = edges->flow->count;
	returns->first_successor = edges->count;
	for (struct flow_block *block = edges->flow->blocks; block < returns; block++) {
		uint32_t last = block->end - 1;
		if (is_call(&edges->flow->insts[last]) && targets[last] != FLOW_NOWHERE)
			add_edge(edges, returns, last + 1);
	}
}

int flow_init(struct flow *flow, const struct isa *isa, const struct isa_inst *insts, size_t count, const uint32_t *targets)
{
	struct flow made = { .isa = isa, .insts = insts, .count = (uint32_t)count };
	_cleanup_free_ uint32_t *block_of = malloc((count + 1) * sizeof(*block_of));
	if (!block_of)
		return -ENOMEM;

	uint32_t n = mark_starts(&made, targets, block_of);
	made.n_blocks = n + 1;
	made.blocks = calloc(made.n_blocks, sizeof(*made.blocks));
	made.successors = calloc((size_t)made.n_blocks * 3, sizeof(*made.successors));
	made.sets = malloc((count + 1) * sizeof(*made.sets));
	if (!made.blocks || !made.successors || !made.sets) {
		flow_release(&made);
		return -ENOMEM;
	}
	number_blocks(&made, block_of);
	for (size_t i = 0; i < count; i++)
		made.sets[i] = access_get_sets(isa_op_info(isa, insts[i].op), &insts[i]);

	struct edges edges = { .flow = &made, .block_of = block_of };
	for (uint32_t b = 0; b < n; b++)
		add_block_edges(&edges, &made.blocks[b], targets[made.blocks[b].end - 1], n);
	add_return_edges(&edges, &made.blocks[n], targets);
	*flow = made;
	return 0;
}

void flow_release(struct flow *flow)
{
	free(flow->blocks);
	free(flow->successors);
	free(flow->sets);
	*flow = (struct flow){ 0 };
}

static void *state_of(const struct flow_problem *problem, void *states, size_t block)
{
	return (char *)states + block * problem->state_size;
}

/* Hands the state at the end of a block to its successors. Returns the first block before `block` that has to be done again. */
static uint32_t propagate(const struct flow *flow, const struct flow_problem *problem, const struct flow_block *block,
			  const void *state, void *states, bool *dirty, uint32_t back)
{
	for (uint32_t s = 0; s < block->n_successors; s++) {
		uint32_t to = flow->successors[block->first_successor + s];

		if (!problem->join(state_of(problem, states, to), state))
			continue;
		dirty[to] = true;
		back = MIN(back, to);
	}
	return back;
}

int flow_solve(const struct flow *flow, const struct flow_problem *problem, void **ret_states)
{
	_cleanup_free_ void *states = calloc(flow->n_blocks, problem->state_size);
	_cleanup_free_ bool *dirty = malloc(flow->n_blocks);
	_cleanup_free_ void *state = malloc(problem->state_size);
	if (!states || !dirty || !state)
		return -ENOMEM;

	/* By address, which is nearly the order of execution; a back edge that changed something takes us back to it. */
	memset(dirty, true, flow->n_blocks);
	for (uint32_t b = 0; b < flow->n_blocks;) {
		const struct flow_block *block = &flow->blocks[b];
		uint32_t next = b + 1;

		if (dirty[b]) {
			dirty[b] = false;
			memcpy(state, state_of(problem, states, b), problem->state_size);
			problem->transfer(problem->context, block, state);
			next = propagate(flow, problem, block, state, states, dirty, next);
		}
		b = next;
	}
	*ret_states = TAKE(states);
	return 0;
}
