/* SPDX-License-Identifier: MIT */
#include "build/codegen/wait.h"

#include "base/macro.h"
#include "build/codegen/access.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* What an instruction adds to the counters. */
enum {
	EVENT_VMEM = 1,		/* vmcnt */
	EVENT_LDS = 2,		/* lgkmcnt, in order */
	EVENT_SMEM = 4,		/* lgkmcnt, in any order */
	EVENT_MESSAGE = 8,	/* lgkmcnt, in any order */
	EVENT_FLAT = 16,	/* vmcnt and lgkmcnt, in an order nobody knows */
	EVENT_TO_LDS = 32,	/* with EVENT_VMEM: the data goes to LDS */
};

static const uint8_t counter_max[WAIT_COUNTERS] = { 63, 15 };

/*
 * Operations are numbered as they are issued. Outstanding are those after `done`; a register's number is that of the last operation
 * that writes it. So "the operations issued after the one I wait for" is issued - number, which is the count to wait for.
 */
struct counter {
	uint32_t issued, done;
	uint32_t last_flat;	/* number of the last flat operation, 0 for none */
	uint32_t last_lds;	/* ... of the last LDS access (lgkmcnt), or load to LDS (vmcnt) */
	uint64_t touched;	/* sets of REG_SET registers, as bits, that may have an outstanding one among them */
	uint32_t reg[ACCESS_REGISTERS];
};

enum { REG_SET = 16 };
_Static_assert(ACCESS_REGISTERS / REG_SET < 64, "one bit a set");

struct wait_state {
	uint32_t kinds;		/* EVENT_* outstanding on lgkmcnt */
	struct counter counter[WAIT_COUNTERS];
};

struct wait_analysis {
	const struct flow *flow;
	uint8_t events[ISA_OP_COUNT];
	void (*found)(void *userdata, const struct wait_finding *finding);	/* NULL while solving */
	void *userdata;
};

static uint64_t sets_of(unsigned reg, unsigned count)
{
	return (UINT64_C(2) << (reg + count - 1) / REG_SET) - (UINT64_C(1) << reg / REG_SET);
}

/* The sets that an instruction could have to do with: a quick look that spares most instructions the thorough one. */
static uint64_t sets_of_inst(const struct isa_op_info *info, const struct isa_inst *inst)
{
	uint64_t sets = (info->implicit_reads | info->implicit_writes) ? sets_of(ISA_VCC, ISA_EXEC + 2 - ISA_VCC) : 0;

	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand *operand = &inst->operand[i];
		if (operand->width > 0 && operand->code < ACCESS_REGISTERS)
			sets |= sets_of(operand->code, operand->width);
	}
	return sets;
}

static bool is_outstanding(const struct counter *counter, uint32_t number)
{
	return number > counter->done;
}

/* ---- which instruction counts where ---------------------------------------------------------------------------------- */

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static uint8_t events_of_op(const struct isa_op_info *info, unsigned op)
{
	switch (info->unit) {
	case ISA_UNIT_VMEM:
		return op == ISA_BUFFER_INV ? 0 : EVENT_VMEM;
	case ISA_UNIT_FLAT:
		if (starts_with(info->name, "flat_"))
			return EVENT_FLAT;
		return EVENT_VMEM | (strstr(info->name, "_load_lds_") ? EVENT_TO_LDS : 0);
	case ISA_UNIT_LDS:
		return op == ISA_DS_NOP ? 0 : EVENT_LDS;
	case ISA_UNIT_SMEM:
		return EVENT_SMEM;
	default:
		return op == ISA_S_SENDMSG || op == ISA_S_SENDMSGHALT ? EVENT_MESSAGE : 0;
	}
}

static unsigned events_of(const struct wait_analysis *analysis, const struct isa_inst *inst)
{
	unsigned events = analysis->events[inst->op];

	if (events == EVENT_VMEM && (inst->flags & ISA_LDS))
		events |= EVENT_TO_LDS;
	return events;
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* Does a count other than zero say nothing about which operations are done? */
static bool is_out_of_order(const struct wait_state *state, unsigned which)
{
	const struct counter *counter = &state->counter[which];

	if (is_outstanding(counter, counter->last_flat))
		return true;
	return which == WAIT_LGKM && state->kinds != 0 && state->kinds != EVENT_LDS;
}

/* What s_waitcnt with this count brings about. */
static void apply_wait(struct wait_state *state, unsigned which, unsigned count)
{
	struct counter *counter = &state->counter[which];

	if (count >= counter->issued - counter->done)
		return;
	if (count == 0) {
		counter->done = counter->issued;
		counter->touched = 0;
		if (which == WAIT_LGKM)
			state->kinds = 0;
	} else if (!is_out_of_order(state, which)) {
		counter->done = MAX(counter->done, counter->issued - count);
	}
}

/* The weakest count that says operation `number` is done. */
static unsigned count_for(const struct wait_state *state, unsigned which, uint32_t number)
{
	const struct counter *counter = &state->counter[which];

	if (is_out_of_order(state, which))
		return 0;
	/* The largest value of the field means no wait, so it cannot be asked for. */
	return MIN(counter->issued - number, counter_max[which] - 1u);
}

static void need(const struct wait_state *state, struct wait_finding *finding, unsigned which, uint32_t number, unsigned reason,
		 unsigned reg)
{
	if (!is_outstanding(&state->counter[which], number))
		return;

	unsigned count = count_for(state, which, number);
	if (count >= finding->count[which])
		return;
	finding->count[which] = (uint8_t)count;
	finding->reason[which] = (uint8_t)reason;
	finding->reg[which] = (uint16_t)reg;
}

static void need_registers(const struct wait_state *state, struct wait_finding *finding, unsigned which,
			   const struct access_range *range, unsigned reason)
{
	if (!(state->counter[which].touched & sets_of(range->first, range->count)))
		return;
	for (unsigned reg = range->first; reg < range->first + range->count; reg++)
		need(state, finding, which, state->counter[which].reg[reg], reason, reg);
}

static bool has_outstanding(const struct counter *counter)
{
	return counter->issued != counter->done;
}

static void need_for_registers(const struct wait_state *state, struct wait_finding *finding, const struct access *access,
			       unsigned events)
{
	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		if (!has_outstanding(&state->counter[which]))
			continue;
		for (unsigned i = 0; i < access->n_reads; i++)
			need_registers(state, finding, which, &access->reads[i], WAIT_FOR_READ);
		/* Loads of vector memory arrive in order, so the second write of a register comes second. */
		if (which == WAIT_VM && (events & EVENT_VMEM))
			continue;
		for (unsigned i = 0; i < access->n_writes; i++)
			need_registers(state, finding, which, &access->writes[i], WAIT_FOR_WRITE);
	}
}

static void need_for_lds(const struct wait_state *state, struct wait_finding *finding, const struct isa_op_info *info,
			 unsigned events)
{
	if (info->kind == ISA_KIND_BARRIER)
		need(state, finding, WAIT_LGKM, state->counter[WAIT_LGKM].last_lds, WAIT_FOR_BARRIER, 0);
	if (info->kind == ISA_KIND_BARRIER ||
	    ((events & (EVENT_LDS | EVENT_FLAT)) && (info->kind == ISA_KIND_LOAD || info->kind == ISA_KIND_ATOMIC)))
		need(state, finding, WAIT_VM, state->counter[WAIT_VM].last_lds, WAIT_FOR_LDS_LOAD, 0);
}

/* ---- issuing --------------------------------------------------------------------------------------------------------- */

static void issue(struct wait_state *state, unsigned which, const struct access *access, unsigned events)
{
	struct counter *counter = &state->counter[which];

	counter->issued++;
	if (events & EVENT_FLAT)
		counter->last_flat = counter->issued;
	if ((events & EVENT_TO_LDS) || (which == WAIT_LGKM && (events & (EVENT_LDS | EVENT_FLAT))))
		counter->last_lds = counter->issued;
	for (unsigned i = 0; i < access->n_writes; i++) {
		const struct access_range *range = &access->writes[i];
		counter->touched |= sets_of(range->first, range->count);
		for (unsigned reg = range->first; reg < range->first + range->count; reg++)
			counter->reg[reg] = counter->issued;
	}
}

static void issue_all(struct wait_state *state, const struct access *access, unsigned events)
{
	if (events & (EVENT_VMEM | EVENT_FLAT))
		issue(state, WAIT_VM, access, events);
	if (events & (EVENT_LDS | EVENT_SMEM | EVENT_MESSAGE | EVENT_FLAT)) {
		issue(state, WAIT_LGKM, access, events);
		state->kinds |= events & (EVENT_LDS | EVENT_SMEM | EVENT_MESSAGE | EVENT_FLAT);
	}
}

static void apply_waitcnt(struct wait_state *state, const struct isa_inst *inst)
{
	unsigned vmcnt, expcnt, lgkmcnt;

	isa_waitcnt_unpack((uint16_t)inst->literal, &vmcnt, &expcnt, &lgkmcnt);
	if (vmcnt < counter_max[WAIT_VM])
		apply_wait(state, WAIT_VM, vmcnt);
	if (lgkmcnt < counter_max[WAIT_LGKM])
		apply_wait(state, WAIT_LGKM, lgkmcnt);
}

static void step(struct wait_analysis *analysis, struct wait_state *state, uint32_t index)
{
	const struct isa_inst *inst = &analysis->flow->insts[index];
	const struct isa_op_info *info = isa_op_info(analysis->flow->isa, inst->op);
	unsigned events = events_of(analysis, inst);

	if (info->kind == ISA_KIND_WAIT) {
		apply_waitcnt(state, inst);
		return;
	}
	uint64_t touched = state->counter[WAIT_VM].touched | state->counter[WAIT_LGKM].touched;
	if (!events && info->kind != ISA_KIND_BARRIER && !(touched & sets_of_inst(info, inst)))
		return;

	struct access access;
	struct wait_finding finding = { .inst = index, .count = { WAIT_NONE, WAIT_NONE } };
	access_get(info, inst, &access);
	need_for_registers(state, &finding, &access, events);
	need_for_lds(state, &finding, info, events);
	for (unsigned which = 0; which < WAIT_COUNTERS; which++)
		apply_wait(state, which, finding.count[which]);
	if (analysis->found && (finding.count[WAIT_VM] != WAIT_NONE || finding.count[WAIT_LGKM] != WAIT_NONE))
		analysis->found(analysis->userdata, &finding);
	if (events)
		issue_all(state, &access, events);
}

static void transfer(void *context, const struct flow_block *block, void *state)
{
	for (uint32_t i = block->begin; i < block->end; i++)
		step(context, state, i);
}

/* ---- where paths meet ------------------------------------------------------------------------------------------------ */

static uint32_t renumber(uint32_t number, uint32_t done, uint32_t shift)
{
	return number > done ? number - done + shift : 0;
}

struct shift {			/* how the numbers of two counters become those of one */
	uint32_t into, from_done, from;
};

static bool join_number(const struct shift *shift, uint32_t *into, uint32_t from)
{
	uint32_t ours = renumber(*into, 0, shift->into);
	uint32_t theirs = renumber(from, shift->from_done, shift->from);

	*into = MAX(ours, theirs);
	return theirs > ours;
}

/*
 * Brings a counter to as many operations as either has outstanding, keeping how recent each is. `into` is the state at the entry of a
 * block: nothing in it is done (or was ever: numbers of operations that are done would come alive). One more operation that nothing
 * waits for is no change: loops of stores would never end.
 */
static bool join_counter(struct counter *into, const struct counter *from)
{
	uint32_t outstanding = MAX(into->issued, from->issued - from->done);
	struct shift shift = {
		.into = outstanding - into->issued,
		.from_done = from->done,
		.from = outstanding - (from->issued - from->done),
	};
	bool changed = join_number(&shift, &into->last_flat, from->last_flat);
	changed |= join_number(&shift, &into->last_lds, from->last_lds);
	uint64_t sets = from->touched | (shift.into ? into->touched : 0);

	assert(into->done == 0);

	for (; sets; sets &= sets - 1) {
		unsigned first = (unsigned)__builtin_ctzll(sets) * REG_SET;
		for (unsigned reg = first; reg < first + REG_SET; reg++)
			changed |= join_number(&shift, &into->reg[reg], from->reg[reg]);
	}
	into->touched |= from->touched;
	into->issued = outstanding;
	return changed;
}

static bool join(void *into_state, const void *from_state)
{
	struct wait_state *into = into_state;
	const struct wait_state *from = from_state;
	bool changed = (from->kinds & ~into->kinds) != 0;

	into->kinds |= from->kinds;
	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		if (has_outstanding(&from->counter[which]))
			changed |= join_counter(&into->counter[which], &from->counter[which]);
	}
	return changed;
}

int wait_find(const struct flow *flow, void (*found)(void *userdata, const struct wait_finding *finding), void *userdata)
{
	_cleanup_free_ struct wait_analysis *analysis = calloc(1, sizeof(*analysis));
	if (!analysis)
		return -ENOMEM;

	analysis->flow = flow;
	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++)
		analysis->events[op] = events_of_op(isa_op_info(flow->isa, op), op);

	_cleanup_free_ void *states = NULL;
	struct flow_problem problem = { .state_size = sizeof(struct wait_state), .join = join, .transfer = transfer, .context = analysis };
	int r = flow_solve(flow, &problem, &states);
	if (r < 0)
		return r;

	analysis->found = found;
	analysis->userdata = userdata;
	for (uint32_t b = 0; b < flow->n_blocks; b++)
		transfer(analysis, &flow->blocks[b], (struct wait_state *)states + b);
	return 0;
}

const char *wait_reason_text(unsigned reason)
{
	static const char *const texts[] = {
		[WAIT_FOR_READ] = "reads a register that is being loaded",
		[WAIT_FOR_WRITE] = "writes a register that is being loaded",
		[WAIT_FOR_BARRIER] = "passes a barrier with LDS accesses outstanding",
		[WAIT_FOR_LDS_LOAD] = "passes a barrier or reads LDS with loads to LDS outstanding",
	};

	return texts[reason];
}
