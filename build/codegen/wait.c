/* SPDX-License-Identifier: MIT */
#include "build/codegen/wait.h"

#include "base/array.h"
#include "base/macro.h"
#include "build/codegen/access.h"

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
 * A counter while a block is read. Operations are numbered as they are issued, on and on through the whole analysis, so that nothing
 * has to be cleared between blocks. Outstanding are those after `done`; a register's number is that of the last operation that
 * writes it. So "the operations issued after the one I wait for" is issued - number, which is the count to wait for.
 */
struct counter {
	uint32_t issued, done;
	uint32_t last_flat;	/* number of the last flat operation, 0 for none */
	uint32_t last_lds;	/* ... of the last LDS access (lgkmcnt), or load to LDS (vmcnt) */
	uint64_t touched;	/* sets of registers (access.h) that may have an outstanding one among them */
	uint32_t reg[ACCESS_REGISTERS];
};

/*
 * The same at the border of a block, where paths meet: how recent operations are, which can be compared. NEWEST is the last one that
 * was issued, one less the one before it, and so on; 0 is what is not outstanding. No count can tell an operation that has
 * more than 62 behind it from an older one, so a byte is enough.
 */
enum { NEWEST = UINT8_MAX };

struct border_counter {
	uint32_t outstanding;
	uint8_t last_flat, last_lds;
	uint64_t touched;
	uint8_t reg[ACCESS_REGISTERS];
};

struct border {
	uint32_t kinds;		/* EVENT_* outstanding on lgkmcnt */
	struct border_counter counter[WAIT_COUNTERS];
};

struct wait_state {
	uint32_t kinds;
	struct counter counter[WAIT_COUNTERS];
};

/*
 * What makes an instruction worth a look, in one word: the sets of registers it could have to do with, and above them what is worth one
 * always. Most instructions touch nothing that is outstanding, and cost no more than this word.
 */
enum { LOOK_EVENTS = ACCESS_SETS };			/* where EVENT_* start */
#define LOOK_CONTROL (UINT64_C(1) << 63)		/* s_waitcnt, s_barrier */
#define LOOK_ALWAYS (UINT64_MAX << LOOK_EVENTS)

/*
 * Findings are taken down each time a block is read. What counts are those of the last time, when all paths had brought to it what
 * they have.
 */
struct findings_of_block {
	size_t first, count;	/* in wait_analysis.findings */
};

struct wait_analysis {
	const struct flow *flow;
	uint64_t *looks;	/* one for each instruction */
	struct wait_state state;
	struct wait_finding *findings;
	size_t n_findings, allocated;
	bool failed;		/* no memory for one more */
	struct findings_of_block *of_block;
};

static bool is_outstanding(const struct counter *counter, uint32_t number)
{
	return number > counter->done;
}

/* ---- which instruction counts where ---------------------------------------------------------------------------------- */

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static unsigned events_of(const struct isa_op_info *info, const struct isa_inst *inst)
{
	switch (info->unit) {
	case ISA_UNIT_VMEM:
		if (inst->op == ISA_BUFFER_INV)
			return 0;
		return EVENT_VMEM | (inst->flags & ISA_LDS ? EVENT_TO_LDS : 0);
	case ISA_UNIT_FLAT:
		if (starts_with(info->name, "flat_"))
			return EVENT_FLAT;
		return EVENT_VMEM | (strstr(info->name, "_load_lds_") ? EVENT_TO_LDS : 0);
	case ISA_UNIT_LDS:
		return inst->op == ISA_DS_NOP ? 0 : EVENT_LDS;
	case ISA_UNIT_SMEM:
		return EVENT_SMEM;
	default:
		return inst->op == ISA_S_SENDMSG || inst->op == ISA_S_SENDMSGHALT ? EVENT_MESSAGE : 0;
	}
}

static uint64_t look_of(const struct isa_op_info *info, const struct isa_inst *inst, const struct access_sets *sets)
{
	bool control = info->kind == ISA_KIND_WAIT || info->kind == ISA_KIND_BARRIER;

	return sets->reads | sets->writes | (uint64_t)events_of(info, inst) << LOOK_EVENTS | (control ? LOOK_CONTROL : 0);
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
	if (!(state->counter[which].touched & access_sets_of(range->first, range->count)))
		return;
	for (unsigned reg = range->first; reg < range->first + range->count; reg++)
		need(state, finding, which, state->counter[which].reg[reg], reason, reg);
}

static bool is_any_outstanding(const struct counter *counter, const struct isa_operand *operand)
{
	for (unsigned reg = operand->code; reg < (unsigned)operand->code + operand->width; reg++) {
		if (is_outstanding(counter, counter->reg[reg]))
			return true;
	}
	return false;
}

/* A second look at an instruction whose sets meet outstanding ones: mostly it is a neighbour that is outstanding. */
static bool meets_outstanding(const struct counter *counter, const struct isa_op_info *info, const struct isa_inst *inst,
			      uint64_t look)
{
	if (!(counter->touched & look))
		return false;
	if (info->implicit_reads | info->implicit_writes)
		return true;
	for (unsigned i = 0; i < inst->n_operands; i++) {
		if (inst->operand[i].code < ACCESS_REGISTERS && is_any_outstanding(counter, &inst->operand[i]))
			return true;
	}
	return false;
}

static void need_for_registers(const struct wait_state *state, struct wait_finding *finding, const struct isa_op_info *info,
			       const struct isa_inst *inst, uint64_t look, unsigned events)
{
	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		struct access access;

		if (!meets_outstanding(&state->counter[which], info, inst, look))
			continue;
		access_get(info, inst, &access);
		for (unsigned i = 0; i < access.n_reads; i++)
			need_registers(state, finding, which, &access.reads[i], WAIT_FOR_READ);
		/* Loads of vector memory arrive in order, so the second write of a register comes second. */
		if (which == WAIT_VM && (events & EVENT_VMEM))
			continue;
		for (unsigned i = 0; i < access.n_writes; i++)
			need_registers(state, finding, which, &access.writes[i], WAIT_FOR_WRITE);
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

static void issue(struct counter *counter, unsigned events, const struct access_range *writes, unsigned n_writes, bool is_lds)
{
	counter->issued++;
	if (events & EVENT_FLAT)
		counter->last_flat = counter->issued;
	if (is_lds)
		counter->last_lds = counter->issued;
	for (unsigned i = 0; i < n_writes; i++) {
		counter->touched |= access_sets_of(writes[i].first, writes[i].count);
		for (unsigned reg = writes[i].first; reg < writes[i].first + writes[i].count; reg++)
			counter->reg[reg] = counter->issued;
	}
}

static void issue_all(struct wait_state *state, const struct isa_op_info *info, const struct isa_inst *inst, unsigned events)
{
	const unsigned lgkm = EVENT_LDS | EVENT_SMEM | EVENT_MESSAGE | EVENT_FLAT;
	struct access_range writes[ACCESS_MAX];
	unsigned n = access_get_writes(info, inst, writes);

	if (events & (EVENT_VMEM | EVENT_FLAT))
		issue(&state->counter[WAIT_VM], events, writes, n, events & EVENT_TO_LDS);
	if (events & lgkm) {
		issue(&state->counter[WAIT_LGKM], events, writes, n, events & (EVENT_LDS | EVENT_FLAT));
		state->kinds |= events & lgkm;
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

static uint64_t touched_by_outstanding(const struct wait_state *state)
{
	return state->counter[WAIT_VM].touched | state->counter[WAIT_LGKM].touched;
}

static void take_down(struct wait_analysis *analysis, const struct wait_finding *finding)
{
	if (ARRAY_GROW(analysis->findings, analysis->allocated, analysis->n_findings) < 0) {
		analysis->failed = true;
		return;
	}
	analysis->findings[analysis->n_findings++] = *finding;
}

static void apply_finding(struct wait_analysis *analysis, const struct wait_finding *finding)
{
	bool needed = false;

	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		if (finding->count[which] == WAIT_NONE)
			continue;
		apply_wait(&analysis->state, which, finding->count[which]);
		needed = true;
	}
	if (needed)
		take_down(analysis, finding);
}

static void step(struct wait_analysis *analysis, uint32_t index)
{
	struct wait_state *state = &analysis->state;
	const struct isa_inst *inst = &analysis->flow->insts[index];
	const struct isa_op_info *info = isa_op_info(analysis->flow->isa, inst->op);
	uint64_t look = analysis->looks[index];
	unsigned events = (look & ~LOOK_CONTROL) >> LOOK_EVENTS;

	if (info->kind == ISA_KIND_WAIT) {
		apply_waitcnt(state, inst);
		return;
	}

	struct wait_finding finding = { .inst = index, .count = { WAIT_NONE, WAIT_NONE } };
	need_for_registers(state, &finding, info, inst, look, events);
	need_for_lds(state, &finding, info, events);
	apply_finding(analysis, &finding);
	if (events)
		issue_all(state, info, inst, events);
}

/* ---- borders of blocks ----------------------------------------------------------------------------------------------- */

static uint32_t number_of(uint32_t issued, uint8_t recency)
{
	return recency ? issued - NEWEST + recency : 0;
}

static uint8_t recency_of(uint32_t issued, uint32_t done, uint32_t number)
{
	uint32_t recency = NEWEST - MIN(issued - number, NEWEST - 1u);

	return (uint8_t)(number > done ? recency : 0);
}

static unsigned take_set(uint64_t *sets)
{
	unsigned first = (unsigned)__builtin_ctzll(*sets) * ACCESS_SET;

	*sets &= *sets - 1;
	return first;
}

/* These and join_set() do a set of registers in one go: `restrict` and the fixed length let the compiler use vector instructions. */
static void enter_set(uint32_t *restrict numbers, const uint8_t *restrict recencies, uint32_t issued)
{
	for (unsigned i = 0; i < ACCESS_SET; i++)
		numbers[i] = number_of(issued, recencies[i]);
}

static void enter(struct counter *counter, const struct border_counter *border)
{
	counter->done = counter->issued;
	counter->issued += border->outstanding;
	counter->last_flat = number_of(counter->issued, border->last_flat);
	counter->last_lds = number_of(counter->issued, border->last_lds);
	counter->touched = border->touched;
	for (uint64_t sets = border->touched; sets;) {
		unsigned first = take_set(&sets);
		enter_set(&counter->reg[first], &border->reg[first], counter->issued);
	}
}

/* Says whether any of them is outstanding. */
static bool leave_set(uint8_t *restrict recencies, const uint32_t *restrict numbers, uint32_t issued, uint32_t done)
{
	uint8_t any = 0;

	for (unsigned i = 0; i < ACCESS_SET; i++) {
		recencies[i] = recency_of(issued, done, numbers[i]);
		any |= recencies[i];
	}
	return any;
}

static void leave(const struct counter *counter, struct border_counter *border)
{
	for (uint64_t sets = border->touched & ~counter->touched; sets;)
		memset(&border->reg[take_set(&sets)], 0, ACCESS_SET);
	border->touched = 0;
	for (uint64_t sets = counter->touched; sets;) {
		unsigned first = take_set(&sets);
		if (leave_set(&border->reg[first], &counter->reg[first], counter->issued, counter->done))
			border->touched |= access_sets_of(first, 1);
	}
	border->outstanding = counter->issued - counter->done;
	border->last_flat = recency_of(counter->issued, counter->done, counter->last_flat);
	border->last_lds = recency_of(counter->issued, counter->done, counter->last_lds);
}

static void transfer(void *context, const struct flow_block *block, void *border_state)
{
	struct wait_analysis *analysis = context;
	struct wait_state *state = &analysis->state;
	struct border *border = border_state;
	size_t first_finding = analysis->n_findings;

	state->kinds = border->kinds;
	for (unsigned which = 0; which < WAIT_COUNTERS; which++)
		enter(&state->counter[which], &border->counter[which]);
	for (uint32_t i = block->begin; i < block->end; i++) {
		if (analysis->looks[i] & (touched_by_outstanding(state) | LOOK_ALWAYS))
			step(analysis, i);
	}
	border->kinds = state->kinds;
	for (unsigned which = 0; which < WAIT_COUNTERS; which++)
		leave(&state->counter[which], &border->counter[which]);
	analysis->of_block[block - analysis->flow->blocks] = (struct findings_of_block){
		.first = first_finding, .count = analysis->n_findings - first_finding
	};
}

static bool join_recency(uint8_t *into, uint8_t from)
{
	bool more = from > *into;

	*into = MAX(*into, from);
	return more;
}

static bool join_set(uint8_t *restrict into, const uint8_t *restrict from)
{
	uint8_t more = 0;

	for (unsigned i = 0; i < ACCESS_SET; i++) {
		uint8_t most = MAX(into[i], from[i]);
		more |= most ^ into[i];
		into[i] = most;
	}
	return more;
}

/*
 * Brings a counter to as many operations as either has outstanding, keeping how recent each is. One more operation that nothing
 * waits for is no change: loops of stores would never end.
 */
static bool join_counter(struct border_counter *into, const struct border_counter *from)
{
	bool changed = join_recency(&into->last_flat, from->last_flat);

	changed |= join_recency(&into->last_lds, from->last_lds);
	for (uint64_t sets = from->touched; sets;) {
		unsigned first = take_set(&sets);
		changed |= join_set(&into->reg[first], &from->reg[first]);
	}
	into->touched |= from->touched;
	into->outstanding = MAX(into->outstanding, from->outstanding);
	return changed;
}

static bool join(void *into_state, const void *from_state)
{
	struct border *into = into_state;
	const struct border *from = from_state;
	bool changed = (from->kinds & ~into->kinds) != 0;

	into->kinds |= from->kinds;
	for (unsigned which = 0; which < WAIT_COUNTERS; which++) {
		if (from->counter[which].outstanding)
			changed |= join_counter(&into->counter[which], &from->counter[which]);
	}
	return changed;
}

/* ---- the analysis ---------------------------------------------------------------------------------------------------- */

static void wait_analysis_release(struct wait_analysis *analysis)
{
	free(analysis->looks);
	free(analysis->findings);
	free(analysis->of_block);
}

static int solve(struct wait_analysis *analysis)
{
	const struct flow *flow = analysis->flow;
	struct flow_problem problem = { .state_size = sizeof(struct border), .join = join, .transfer = transfer, .context = analysis };
	_cleanup_free_ void *borders = NULL;

	int r = flow_solve(flow, &problem, &borders);
	return r == 0 && analysis->failed ? -ENOMEM : r;
}

int wait_find(const struct flow *flow, void (*found)(void *userdata, const struct wait_finding *finding), void *userdata)
{
	_cleanup_(wait_analysis_release) struct wait_analysis analysis = { .flow = flow };

	analysis.looks = malloc(MAX(flow->count, 1u) * sizeof(*analysis.looks));
	analysis.of_block = calloc(flow->n_blocks, sizeof(*analysis.of_block));
	if (!analysis.looks || !analysis.of_block)
		return -ENOMEM;
	for (uint32_t i = 0; i < flow->count; i++)
		analysis.looks[i] = look_of(isa_op_info(flow->isa, flow->insts[i].op), &flow->insts[i], &flow->sets[i]);

	int r = solve(&analysis);
	if (r < 0)
		return r;
	for (uint32_t b = 0; b < flow->n_blocks; b++) {
		const struct findings_of_block *of_block = &analysis.of_block[b];
		for (size_t i = of_block->first; i < of_block->first + of_block->count; i++)
			found(userdata, &analysis.findings[i]);
	}
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
