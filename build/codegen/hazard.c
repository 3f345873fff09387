/* SPDX-License-Identifier: MIT */
/* The walk: carries recent producers through the code. What a producer is, and for whom, is in hazard_facts.c. */
#include "build/codegen/hazard.h"

#include "base/macro.h"
#include "build/codegen/hazard_facts.h"

#include <errno.h>
#include <string.h>

struct producer_entry {
	const struct facts *facts;
	const struct access_sets *sets;
	uint32_t index;
	uint32_t born;		/* wait states at which it was issued, on the clock of the analysis */
	bool has_party;
	struct party party;	/* once something has asked for it */
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

enum { CLAUSE_DEPTH = 19 };

struct clause_member {
	struct access_sets sets;
	struct access access;
};

struct clause {
	unsigned kind, count;
	bool meets;		/* one of them reads what one of them writes; the next breaks the clause */
	unsigned depth;		/* as far as LLVM looks back: 19 instructions where AccVGPRs are used, else 5 */
	struct clause_member members[CLAUSE_DEPTH];	/* a ring; count - 1 is the last one */
};

/*
 * The window is a ring of producers in the order they came. One that nobody cares about any more may stay behind another that somebody
 * does: it is too old for every rule, so it does no harm.
 */
enum { RING = 128 };

struct hazard_analysis {
	const struct flow *flow;
	struct facts_tables tables;
	struct facts *facts;		/* of each instruction */
	uint32_t oldest;		/* the longest lifetime of any, at most OLDEST */
	struct producer_entry ring[RING];
	uint32_t first, end;		/* the window: entries first .. end-1, modulo RING; the instruction that is looked at is `end` */
	uint32_t now;			/* the clock, in wait states; never set back */
	uint32_t unknown;		/* as in hazard_state */
	struct clause clause;
	void (*found)(void *userdata, const struct hazard_finding *finding);	/* NULL while solving */
	void *userdata;
};

static bool waits_before(const struct flow *flow, uint32_t index)
{
	return flow->waits && (flow->waits[index / 64] >> (index % 64) & 1);
}

static struct producer_entry *entry_at(struct hazard_analysis *analysis, uint32_t place)
{
	return &analysis->ring[place % RING];
}

static uint32_t age_of(const struct hazard_analysis *analysis, const struct producer_entry *entry)
{
	return analysis->now - entry->born;
}

static bool still_matters(const struct hazard_analysis *analysis, const struct producer_entry *entry)
{
	return age_of(analysis, entry) < entry->facts->lifetime;
}

static const struct party *party_of(const struct hazard_analysis *analysis, struct producer_entry *entry)
{
	if (!entry->has_party) {
		entry->party.inst = &analysis->flow->insts[entry->index];
		entry->party.info = isa_op_info(analysis->flow->isa, entry->party.inst->op);
		access_get(entry->party.info, entry->party.inst, &entry->party.access);
		entry->has_party = true;
	}
	return &entry->party;
}

/* Holds one producer against one consumer that have rules in common: `set`. */
static void check_rules(const struct hazard_analysis *analysis, uint64_t set, struct producer_entry *entry,
			struct producer_entry *consumer_entry, struct hazard_finding *finding)
{
	const struct party *producer = party_of(analysis, entry), *consumer = party_of(analysis, consumer_entry);
	uint32_t age = age_of(analysis, entry);

	if ((set & analysis->tables.by_write) && !facts_write_any(&producer->access, &consumer->access))
		set &= ~analysis->tables.by_write;
	for (; set; set &= set - 1) {
		const struct rule *rule = &facts_rules[__builtin_ctzll(set)];
		uint32_t states = facts_states(rule, producer->info);

		if (states <= age + finding->missing || !facts_meet(rule, producer, consumer))
			continue;
		finding->missing = states - age;
		finding->producer = entry->index;
		finding->rule = rule->text;
		finding->source = rule->source;
	}
}

/* Most instructions that could collide have nothing to do with each other: their registers lie elsewhere. */
static void check_window(struct hazard_analysis *analysis, struct producer_entry *consumer, struct hazard_finding *finding)
{
	const struct facts *facts = consumer->facts;
	uint64_t touched = consumer->sets->reads | consumer->sets->writes;

	for (uint32_t i = analysis->first; i != analysis->end; i++) {
		struct producer_entry *entry = entry_at(analysis, i);
		uint64_t set = entry->facts->produces & facts->consumes;

		if (!(entry->sets->writes & touched))
			set &= ~analysis->tables.by_write;
		if (set && still_matters(analysis, entry))
			check_rules(analysis, set, entry, consumer, finding);
	}
}

/* A load to LDS stores there. */
static bool stores(const struct party *party)
{
	return party->info->kind == ISA_KIND_STORE || party->info->kind == ISA_KIND_ATOMIC || facts_is_load_to_lds(party->info, party->inst);
}

static bool write_read(const struct clause_member *a, const struct clause_member *b)
{
	return (a->sets.writes & b->sets.reads) && facts_write_read(&a->access, &b->access);
}

/* Does this instruction, or one of the clause, read what the other writes? */
static bool meets_clause(const struct clause *clause, const struct clause_member *last)
{
	bool meets = write_read(last, last);

	for (unsigned i = 0; i < MIN(clause->count, clause->depth) && !meets; i++)
		meets = write_read(&clause->members[i], last) || write_read(last, &clause->members[i]);
	return meets;
}

static bool writes_anything(const struct clause *clause)
{
	for (unsigned i = 0; i < MIN(clause->count, clause->depth); i++) {
		if (clause->members[i].access.n_writes > 0)
			return true;
	}
	return false;
}

static void join_clause(struct hazard_analysis *analysis, struct producer_entry *entry, struct hazard_finding *finding)
{
	struct clause *clause = &analysis->clause;
	const struct party *party = party_of(analysis, entry);
	struct clause_member member = { .sets = *entry->sets, .access = party->access };

	clause->meets |= meets_clause(clause, &member);
	if (writes_anything(clause) && (clause->meets || stores(party))) {
		finding->missing = 1;
		finding->producer = entry->index - 1;
		finding->rule = "memory instructions in a row cannot be replayed (XNACK)";
		finding->source = "LLVM GCNHazardRecognizer::checkSoftClauseHazards";
		finding->xnack_only = true;
		clause->count = 0;
		clause->meets = write_read(&member, &member);
	}
	clause->members[clause->count++ % clause->depth] = member;
}

static void check_clause(struct hazard_analysis *analysis, struct producer_entry *entry, struct hazard_finding *finding)
{
	struct clause *clause = &analysis->clause;
	unsigned kind = entry->facts->clause;

	if (kind == CLAUSE_NONE || kind != clause->kind || finding->missing) {
		clause->count = 0;
		clause->kind = kind;
		clause->meets = false;
	}
	if (kind != CLAUSE_NONE)
		join_clause(analysis, entry, finding);
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

/* The entry behind the window, for the instruction that is looked at next. */
static struct producer_entry *next_entry(struct hazard_analysis *analysis, uint32_t index)
{
	struct producer_entry *entry = entry_at(analysis, analysis->end);

	entry->facts = &analysis->facts[index];
	entry->sets = &analysis->flow->sets[index];
	entry->index = index;
	entry->has_party = false;
	return entry;
}

/*
 * Keeps what next_entry() gave. There is always room: what comes from other blocks was made to fit with OLDEST to spare, and more than
 * that a block cannot have that still matter.
 */
static void remember(struct hazard_analysis *analysis, struct producer_entry *entry, uint32_t age)
{
	entry->born = analysis->now - age;
	if (still_matters(analysis, entry) && analysis->end - analysis->first < WINDOW)
		analysis->end++;
}

/* Time passes; what nobody cares about any more is forgotten. */
static inline void advance(struct hazard_analysis *analysis, uint32_t states)
{
	analysis->now += states;
	while (analysis->first != analysis->end && !still_matters(analysis, entry_at(analysis, analysis->first)))
		analysis->first++;
	analysis->unknown -= MIN(analysis->unknown, states);
}

/* The s_waitcnt that is not there yet: a wait state like any other instruction. */
static void step_wait(struct hazard_analysis *analysis)
{
	analysis->clause.count = 0;
	analysis->clause.kind = CLAUSE_NONE;
	analysis->clause.meets = false;
	advance(analysis, 1);
}

static void step(struct hazard_analysis *analysis, uint32_t index)
{
	struct producer_entry *entry = next_entry(analysis, index);
	struct hazard_finding finding = { .inst = index };

	if (waits_before(analysis->flow, index))
		step_wait(analysis);
	if (entry->facts->consumes) {
		check_window(analysis, entry, &finding);
		check_unknown(analysis, index, &finding);
	}
	/* Clauses only while reporting: a wait state that would not come about must not make what leaves the block look older. */
	if (analysis->found)
		check_clause(analysis, entry, &finding);
	if (finding.missing && analysis->found)
		analysis->found(analysis->userdata, &finding);
	/* The entry stays where it is while the window's beginning moves on. */
	advance(analysis, finding.missing + entry->facts->states);
	remember(analysis, entry, 0);
}

/* A label does not end a clause: the instructions in front of it belong to the same one when they run into the block. */
static void resume_clause(struct hazard_analysis *analysis, uint32_t begin)
{
	const struct flow *flow = analysis->flow;
	uint32_t first = begin;

	analysis->clause.count = 0;
	analysis->clause.kind = CLAUSE_NONE;
	while (first > 0 && begin - first < analysis->clause.depth && !(first < begin && waits_before(flow, first)) &&
	       analysis->facts[first - 1].clause != CLAUSE_NONE)
		first--;
	for (; first < begin; first++) {
		struct hazard_finding already_known = { 0 };

		check_clause(analysis, next_entry(analysis, first), &already_known);
	}
}

static void enter_block(struct hazard_analysis *analysis, uint32_t begin, const struct hazard_state *state)
{
	analysis->first = analysis->end;
	if (analysis->found)
		resume_clause(analysis, begin);
	analysis->unknown = state->unknown;
	for (uint32_t i = 0; i < state->n; i++)
		remember(analysis, next_entry(analysis, state->recent[i].index), state->recent[i].age);
}

static void leave_block(struct hazard_analysis *analysis, struct hazard_state *state)
{
	state->n = 0;
	state->unknown = analysis->unknown;
	for (uint32_t i = analysis->first; i != analysis->end; i++) {
		const struct producer_entry *entry = entry_at(analysis, i);

		if (!still_matters(analysis, entry))
			continue;
		state->recent[state->n].index = entry->index;
		state->recent[state->n++].age = age_of(analysis, entry);
	}
}

/*
 * What leaves a block happened in its last `oldest` instructions, and how many wait states are put between those depends on as many
 * more. While solving, a long block need not be read from its beginning; what is missed only makes things look younger. Returns
 * whether what comes from other blocks matters, and where to begin.
 */
static bool find_tail(const struct hazard_analysis *analysis, const struct flow_block *block, uint32_t *ret_begin)
{
	uint32_t begin = block->end, n = 0;

	while (begin > block->begin && n < 2 * analysis->oldest)
		n += 1 + waits_before(analysis->flow, --begin);
	*ret_begin = begin;
	return begin == block->begin && n <= 2 * analysis->oldest;
}

static void transfer(void *context, const struct flow_block *block, void *state)
{
	struct hazard_analysis *analysis = context;
	uint32_t begin = block->begin;

	if (block->begin == block->end)
		return;		/* where returns meet: nothing happens there */
	enter_block(analysis, begin, state);
	if (!analysis->found && !find_tail(analysis, block, &begin)) {
		analysis->first = analysis->end;
		analysis->unknown = 0;
	}
	for (uint32_t i = begin; i < block->end; i++)
		step(analysis, i);
	if (!analysis->found)
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

static int solve_and_report(struct hazard_analysis *analysis, void (*found)(void *userdata, const struct hazard_finding *finding))
{
	const struct flow *flow = analysis->flow;
	struct flow_problem problem = {
		.state_size = sizeof(struct hazard_state), .join = join, .transfer = transfer, .context = analysis
	};
	_cleanup_free_ void *states = NULL;

	int r = flow_solve(flow, &problem, &states);
	if (r < 0)
		return r;
	analysis->found = found;
	for (uint32_t b = 0; b < flow->n_blocks; b++)
		transfer(analysis, &flow->blocks[b], (struct hazard_state *)states + b);
	return 0;
}

int hazard_find(const struct flow *flow, void (*found)(void *userdata, const struct hazard_finding *finding), void *userdata)
{
	_cleanup_free_ struct hazard_analysis *analysis = calloc(1, sizeof(*analysis));
	_cleanup_free_ struct facts *facts = malloc(MAX(flow->count, 1u) * sizeof(*facts));
	if (!analysis || !facts)
		return -ENOMEM;

	facts_init(&analysis->tables, flow);
	for (uint32_t i = 0; i < flow->count; i++) {
		facts_get(&analysis->tables, &flow->insts[i], &flow->sets[i], &facts[i]);
		analysis->oldest = MAX(analysis->oldest, (uint32_t)facts[i].lifetime);
	}
	analysis->flow = flow;
	analysis->facts = facts;
	analysis->clause.depth = uses_agprs(flow) ? CLAUSE_DEPTH : 5;
	analysis->userdata = userdata;
	return solve_and_report(analysis, found);
}
