/* SPDX-License-Identifier: MIT */
/* The walk: carries recent producers through the code. What a producer is, and for whom, is in hazard_facts.c. */
#include "build/codegen/hazard.h"

#include "base/macro.h"
#include "build/codegen/hazard_facts.h"

#include <errno.h>
#include <string.h>

struct producer_entry {
	struct facts facts;
	uint32_t index;
	uint32_t age;		/* wait states since */
};

enum { WINDOW = 64, OLDEST = 19 };

struct hazard_state {		/* at the border of a block */
	uint32_t n;
	uint32_t unknown;	/* more producers than fit: for so many wait states more, anything may be too early */
	struct {
		uint32_t index;
		uint32_t age;
	} recent[WINDOW];
};

/*
 * Memory instructions of one kind without anything between them. With XNACK the hardware may replay all of them from the first one on,
 * so none of them may have lost what it reads, nor may a store come behind a load it could meet.
 */
enum { CLAUSE_NONE, CLAUSE_VMEM, CLAUSE_SMEM };
enum { CLAUSE_DEPTH = 19 };

struct clause {
	unsigned kind, count;
	bool meets;		/* one of them reads what one of them writes; the next breaks the clause */
	unsigned depth;		/* as far as LLVM looks back: 19 instructions where AccVGPRs are used, else 5 */
	struct access access[CLAUSE_DEPTH];	/* a ring; count - 1 is the last one */
};

struct hazard_analysis {
	const struct flow *flow;
	struct facts_tables tables;
	struct producer_entry entries[WINDOW + 1];	/* one more: for the instruction that is looked at */
	uint8_t window[WINDOW + 1];	/* the recent producers, as numbers of entries; behind n_window stand the free ones */
	uint32_t n_window;
	uint32_t unknown;	/* as in hazard_state */
	struct clause clause;
	void (*found)(void *userdata, const struct hazard_finding *finding);	/* NULL while solving */
	void *userdata;
};

static void check_against(const struct facts_tables *tables, const struct producer_entry *entry, const struct facts *consumer,
			  struct hazard_finding *finding)
{
	uint64_t set = entry->facts.produces & consumer->consumes;

	/* Most instructions that could collide have nothing to do with each other. */
	if ((set & tables->by_write) && !facts_write_any(&entry->facts.access, &consumer->access))
		set &= ~tables->by_write;
	for (; set; set &= set - 1) {
		const struct rule *rule = &facts_rules[__builtin_ctzll(set)];
		uint32_t states = facts_states(rule, &entry->facts);

		if (states <= entry->age + finding->missing || !facts_meet(rule, &entry->facts, consumer))
			continue;
		finding->missing = states - entry->age;
		finding->producer = entry->index;
		finding->rule = rule->text;
		finding->source = rule->source;
	}
}

static unsigned clause_kind_of(const struct isa_op_info *info)
{
	if (info->unit == ISA_UNIT_VMEM || info->unit == ISA_UNIT_FLAT)
		return CLAUSE_VMEM;
	return info->unit == ISA_UNIT_SMEM ? CLAUSE_SMEM : CLAUSE_NONE;
}

/* A load to LDS stores there. */
static bool stores(const struct facts *facts)
{
	return facts->info->kind == ISA_KIND_STORE || facts->info->kind == ISA_KIND_ATOMIC || facts_is_load_to_lds(facts->info, facts->inst);
}

/* Does this instruction, or one of the clause, read what the other writes? */
static bool meets_clause(const struct clause *clause, const struct access *last)
{
	bool meets = facts_write_read(last, last);

	for (unsigned i = 0; i < MIN(clause->count, clause->depth) && !meets; i++)
		meets = facts_write_read(&clause->access[i], last) || facts_write_read(last, &clause->access[i]);
	return meets;
}

static bool writes_anything(const struct clause *clause)
{
	for (unsigned i = 0; i < MIN(clause->count, clause->depth); i++) {
		if (clause->access[i].n_writes > 0)
			return true;
	}
	return false;
}

static void check_clause(struct hazard_analysis *analysis, const struct facts *facts, uint32_t index, struct hazard_finding *finding)
{
	struct clause *clause = &analysis->clause;
	unsigned kind = clause_kind_of(facts->info);

	if (kind == CLAUSE_NONE || kind != clause->kind || finding->missing) {
		clause->count = 0;
		clause->kind = kind;
		clause->meets = false;
		if (kind == CLAUSE_NONE)
			return;
	}
	clause->meets |= meets_clause(clause, &facts->access);
	if (writes_anything(clause) && (clause->meets || stores(facts))) {
		finding->missing = 1;
		finding->producer = index - 1;
		finding->rule = "memory instructions in a row cannot be replayed (XNACK)";
		finding->source = "LLVM GCNHazardRecognizer::checkSoftClauseHazards";
		finding->xnack_only = true;
		clause->count = 0;
		clause->meets = facts_write_read(&facts->access, &facts->access);
	}
	clause->access[clause->count++ % clause->depth] = facts->access;
}

static uint32_t wait_states_of(const struct facts *facts)
{
	return facts->info->kind == ISA_KIND_NOP ? (facts->inst->literal & HAZARD_MAX_NOP) + 1 : 1;
}

static void check_unknown(const struct hazard_analysis *analysis, uint32_t index, struct hazard_finding *finding)
{
	if (analysis->unknown <= finding->missing)
		return;
	finding->missing = analysis->unknown;
	finding->producer = index;
	finding->rule = "too many paths meet here to follow them one by one";
	finding->source = "hazard.c";
}

/* The entry that is free for the next producer. */
static struct producer_entry *next_entry(struct hazard_analysis *analysis)
{
	return &analysis->entries[analysis->window[analysis->n_window]];
}

/*
 * Keeps what next_entry() gave. There is always room: what comes from other blocks was made to fit with OLDEST to spare, and more than
 * that a block cannot have that still matter.
 */
static void remember(struct hazard_analysis *analysis, uint32_t index, uint32_t age)
{
	struct producer_entry *entry = next_entry(analysis);

	if (entry->facts.lifetime <= age || analysis->n_window == WINDOW)
		return;
	entry->index = index;
	entry->age = age;
	analysis->n_window++;
}

/* Time passes; what nobody cares about any more is forgotten. */
static void advance(struct hazard_analysis *analysis, uint32_t states)
{
	uint8_t *window = analysis->window;
	uint8_t current = window[analysis->n_window];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < analysis->n_window; i++) {
		struct producer_entry *entry = &analysis->entries[window[i]];
		uint8_t number = window[i];

		entry->age += states;
		if (entry->age >= entry->facts.lifetime)
			continue;
		window[i] = window[kept];
		window[kept++] = number;
	}
	/* The entry in use stays the next one. */
	window[analysis->n_window] = window[kept];
	window[kept] = current;
	analysis->n_window = kept;
	analysis->unknown -= MIN(analysis->unknown, states);
}

static void step(struct hazard_analysis *analysis, uint32_t index)
{
	struct hazard_finding finding = { .inst = index };
	struct facts *facts = &next_entry(analysis)->facts;

	facts_get(&analysis->tables, &analysis->flow->insts[index], facts);
	if (facts->consumes) {
		for (uint32_t i = 0; i < analysis->n_window; i++)
			check_against(&analysis->tables, &analysis->entries[analysis->window[i]], facts, &finding);
		check_unknown(analysis, index, &finding);
	}
	/* Clauses only while reporting: a wait state that would not come about must not make what leaves the block look older. */
	if (analysis->found)
		check_clause(analysis, facts, index, &finding);
	if (finding.missing && analysis->found)
		analysis->found(analysis->userdata, &finding);
	advance(analysis, finding.missing + wait_states_of(facts));
	remember(analysis, index, 0);
}

/* A label does not end a clause: the instructions in front of it belong to the same one when they run into the block. */
static void resume_clause(struct hazard_analysis *analysis, uint32_t begin)
{
	const struct flow *flow = analysis->flow;
	struct facts *facts = &next_entry(analysis)->facts;
	uint32_t first = begin;

	analysis->clause.count = 0;
	analysis->clause.kind = CLAUSE_NONE;
	while (first > 0 && begin - first < analysis->clause.depth &&
	       clause_kind_of(isa_op_info(flow->isa, flow->insts[first - 1].op)) != CLAUSE_NONE)
		first--;
	for (; first < begin; first++) {
		struct hazard_finding already_known = { 0 };

		facts_get(&analysis->tables, &flow->insts[first], facts);
		check_clause(analysis, facts, first, &already_known);
	}
}

static void enter_block(struct hazard_analysis *analysis, uint32_t begin, const struct hazard_state *state)
{
	analysis->n_window = 0;
	if (analysis->found)
		resume_clause(analysis, begin);
	analysis->unknown = state->unknown;
	for (uint32_t i = 0; i < state->n; i++) {
		uint32_t index = state->recent[i].index;

		facts_get(&analysis->tables, &analysis->flow->insts[index], &next_entry(analysis)->facts);
		remember(analysis, index, state->recent[i].age);
	}
}

static void leave_block(const struct hazard_analysis *analysis, struct hazard_state *state)
{
	state->n = analysis->n_window;
	state->unknown = analysis->unknown;
	for (uint32_t i = 0; i < analysis->n_window; i++) {
		state->recent[i].index = analysis->entries[analysis->window[i]].index;
		state->recent[i].age = analysis->entries[analysis->window[i]].age;
	}
}

static void transfer(void *context, const struct flow_block *block, void *state)
{
	struct hazard_analysis *analysis = context;
	uint32_t begin = block->begin;

	if (block->begin == block->end)
		return;		/* where returns meet: nothing happens there */
	enter_block(analysis, begin, state);
	/*
	 * What leaves a block happened in its last OLDEST instructions, and how many wait states are put between those depends on OLDEST
	 * more. While solving, a long block need not be read from its beginning; what is missed only makes things look younger.
	 */
	if (!analysis->found && block->end - begin > 2 * OLDEST) {
		begin = block->end - 2 * OLDEST;
		analysis->n_window = 0;
		analysis->unknown = 0;
	}
	for (uint32_t i = begin; i < block->end; i++)
		step(analysis, i);
	leave_block(analysis, state);
}

/* Adds one producer, or makes a known one nearer. */
static bool join_one(struct hazard_state *into, uint32_t index, uint32_t age)
{
	for (uint32_t i = 0; i < into->n; i++) {
		if (into->recent[i].index != index)
			continue;
		if (into->recent[i].age <= age)
			return false;
		into->recent[i].age = age;
		return true;
	}
	if (into->n + OLDEST >= WINDOW) {
		bool changed = into->unknown < OLDEST;
		into->unknown = OLDEST;
		return changed;
	}
	into->recent[into->n].index = index;
	into->recent[into->n].age = age;
	into->n++;
	return true;
}

static bool join(void *into_state, const void *from_state)
{
	struct hazard_state *into = into_state;
	const struct hazard_state *from = from_state;
	bool changed = from->unknown > into->unknown;

	into->unknown = MAX(into->unknown, from->unknown);
	for (uint32_t i = 0; i < from->n; i++)
		changed |= join_one(into, from->recent[i].index, from->recent[i].age);
	return changed;
}

static bool uses_agprs(const struct flow *flow)
{
	for (uint32_t i = 0; i < flow->count; i++) {
		for (unsigned k = 0; k < flow->insts[i].n_operands; k++) {
			if (flow->insts[i].operand[k].code >= ISA_AGPR0 && flow->insts[i].operand[k].code < ACCESS_REGISTERS)
				return true;
		}
	}
	return false;
}

int hazard_find(const struct flow *flow, void (*found)(void *userdata, const struct hazard_finding *finding), void *userdata)
{
	_cleanup_free_ struct hazard_analysis *analysis = calloc(1, sizeof(*analysis));
	if (!analysis)
		return -ENOMEM;

	analysis->flow = flow;
	analysis->clause.depth = uses_agprs(flow) ? CLAUSE_DEPTH : 5;
	facts_init(&analysis->tables, flow);
	for (unsigned i = 0; i < ARRAY_SIZE(analysis->window); i++)
		analysis->window[i] = (uint8_t)i;

	_cleanup_free_ void *states = NULL;
	struct flow_problem problem = {
		.state_size = sizeof(struct hazard_state), .join = join, .transfer = transfer, .context = analysis
	};
	int r = flow_solve(flow, &problem, &states);
	if (r < 0)
		return r;

	analysis->found = found;
	analysis->userdata = userdata;
	for (uint32_t b = 0; b < flow->n_blocks; b++)
		transfer(analysis, &flow->blocks[b], (struct hazard_state *)states + b);
	return 0;
}
