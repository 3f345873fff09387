/* SPDX-License-Identifier: MIT */
/*
 * The control flow graph over an array of instructions, and the solver that the wait and hazard analyses share.
 *
 * A block ends at a branch, a jump, a call, the end of the program, or in front of a place that is jumped to. Calls are edges to the
 * callee; a jump through a register that nothing explains is a return, and returns lead to the instruction after every call (one
 * extra, empty block stands between, so that m returns and n calls make m + n edges). A call to an unknown place leads
 * nowhere, so that the instruction after it starts with nothing outstanding: callees wait before they do anything, and again before
 * they return (LLVM, SIInsertWaitcnts).
 */
#pragma once

#include "build/codegen/access.h"

enum { FLOW_NOWHERE = UINT32_MAX };	/* not a jump, or a jump to an unknown place */

struct flow_block {
	uint32_t begin, end;			/* instructions */
	uint32_t first_successor, n_successors;	/* in flow.successors */
};

struct flow {
	const struct isa *isa;
	const struct isa_inst *insts;
	uint32_t count;
	struct flow_block *blocks;	/* by address; the last one is where returns meet, and is empty */
	uint32_t n_blocks;
	uint32_t *successors;
	struct access_sets *sets;	/* what each instruction reads and writes, roughly (access.h) */
	const uint64_t *waits;	/* bits: an s_waitcnt is going to be put in front of this instruction. NULL for none; borrowed */
};

/*
 * `targets[i]` is the instruction that branch, jump or call i leads to (`count`: the end of the code), or FLOW_NOWHERE. The arrays are
 * borrowed; insts must outlive the flow. Returns 0 or -ENOMEM.
 */
int flow_init(struct flow *flow, const struct isa *isa, const struct isa_inst *insts, size_t count, const uint32_t *targets);
void flow_release(struct flow *flow);

/*
 * A forward problem. A state of all zeros is "nothing known to be outstanding", the state at entry. join() adds what `from` knows to
 * `into` and says whether that changed anything; it must only ever add, or there is no fixed point.
 */
struct flow_problem {
	size_t state_size;
	bool (*join)(void *into, const void *from);
	void (*transfer)(void *context, const struct flow_block *block, void *state);
	void *context;
};

/* Fills ret_states with n_blocks states, each what holds at the entry of its block. Free with free(). Returns 0 or -ENOMEM. */
int flow_solve(const struct flow *flow, const struct flow_problem *problem, void **ret_states);
