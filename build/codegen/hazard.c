/* SPDX-License-Identifier: MIT */
#include "build/codegen/hazard.h"

#include "base/macro.h"
#include "build/codegen/access.h"

#include <errno.h>
#include <string.h>

/* ---- the rules ------------------------------------------------------------------------------------------------------- */

enum producer {			/* what an instruction does that others must keep away from */
	VALU_WRITES_VGPR,	/* not MFMA, not dot products */
	VALU_WRITES_SGPR,	/* VCC included */
	VALU_WRITES_VCC,
	VALU_WRITES_EXEC,
	ANY_WRITES_VGPR,
	TRANS,			/* transcendental */
	PARTIAL,		/* VALU that writes a part of a register: SDWA dst_sel, op_sel of the destination */
	DOT,
	WIDE_STORE,		/* of more than 64 bits, without an SGPR offset */
	SALU_WRITES_M0,
	SETREG,
	MFMA_XDL,
	MFMA_SGEMM,		/* f32 */
	MFMA_DGEMM_16,		/* f64 16x16x4 */
	MFMA_DGEMM_4,		/* f64 4x4x4 */
	MFMA_2_PASSES,
};

enum consumer {
	VALU,			/* MFMA included */
	VALU_NOT_MFMA,
	VALU_NOT_TRANS,
	DPP,
	READS_VCCZ,		/* VCCZ or EXECZ as a data source */
	DIV_FMAS,
	LANE,			/* v_readlane, v_writelane: the lane select */
	READLANE,		/* v_readlane, v_readfirstlane */
	ACROSS_LANES,		/* the three of them */
	FMA_F64,
	VMEM,			/* buffer, flat, global, scratch */
	MEMORY,			/* these and LDS */
	READS_M0,
	GETREG,
	SETREG_AGAIN,
	MFMA,
	MFMA_IS_XDL,
	MFMA_NOT_XDL,
	MFMA_IS_DGEMM_4,
};

enum relation {			/* which registers of the two must meet */
	ANYHOW,
	WRITE_READ,		/* what the producer writes is read, as a printed operand or implicitly */
	SCALAR_WRITE_READ,	/* ... and it is a scalar */
	WRITE_WRITE,
	WRITE_ANY,
	WRITE_LANE_SELECT,
	WRITE_AB,		/* ... as operand A or B of an MFMA */
	WRITE_C_PART,		/* ... as C, but not exactly the same registers */
	WRITE_C_SAME,		/* ... as C, exactly the same registers */
	C_WRITE,		/* what the producer reads as C is written */
	DATA_WRITE,		/* the data of the store is written */
	SAME_HWREG,
	DOT_READ,		/* WRITE_READ, but not as the accumulator of the same dot product */
	DOT_WRITE,		/* WRITE_WRITE, but not by the same dot product */
};

struct rule {
	uint8_t producer, consumer, relation;
	int8_t states;		/* wait states between the two ... */
	bool passes;		/* ... plus the passes of the MFMA that produces */
	const char *text;
	const char *source;
};

#define ISA_DOC "CDNA3 ISA 4.5"
#define LLVM(function) "LLVM GCNHazardRecognizer::" function

static const struct rule rules[] = {
#define RULE(producer, consumer, relation, states, passes, text, source) { producer, consumer, relation, states, passes, text, source },
#include "build/codegen/hazard_rules.inc"
#undef RULE
};

_Static_assert(ARRAY_SIZE(rules) <= 64, "a set of rules is one uint64_t");

/* ---- what an instruction is ------------------------------------------------------------------------------------------ */

struct facts {
	const struct isa_inst *inst;
	const struct isa_op_info *info;
	struct access access;
	uint64_t produces, consumes;	/* sets of rules */
};

struct window_entry {		/* a producer not long ago */
	struct facts facts;
	uint32_t index;
	uint32_t age;		/* wait states since */
	uint32_t lifetime;	/* age at which no rule cares any more */
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

struct op_class {		/* what depends on the opcode alone; bits are 1 << enum */
	uint32_t produces, consumes;
};

/*
 * Memory instructions of one kind without anything between them. With XNACK the hardware may replay all of them from the first one on,
 * so none of them may have lost what it reads, nor may a store come behind a load it could meet.
 */
enum { CLAUSE_NONE, CLAUSE_VMEM, CLAUSE_SMEM };
enum { CLAUSE_DEPTH = 19 };

struct clause {
	unsigned kind, count;
	unsigned depth;		/* as far as LLVM looks back: 19 instructions where AccVGPRs are used, else 5 */
	struct access access[CLAUSE_DEPTH];	/* a ring; count - 1 is the last one */
};

struct hazard_analysis {
	const struct flow *flow;
	uint64_t rules_of_producer[32], rules_of_consumer[32];
	struct op_class classes[ISA_OP_COUNT];
	struct window_entry window[WINDOW];
	uint32_t n_window;
	uint32_t unknown;	/* as in hazard_state */
	struct clause clause;
	void (*found)(void *userdata, const struct hazard_finding *finding);	/* NULL while solving */
	void *userdata;
};

static bool is_dot(const struct isa_op_info *info)
{
	return strncmp(info->name, "v_dot", 5) == 0;
}

static void classify_mfma(const struct isa_op_info *info, unsigned op, struct op_class *class)
{
	bool dgemm_4 = op == ISA_V_MFMA_F64_4X4X4_4B_F64, dgemm_16 = op == ISA_V_MFMA_F64_16X16X4_F64;

	class->produces |= 1u << (dgemm_4 ? MFMA_DGEMM_4 : dgemm_16 ? MFMA_DGEMM_16 : info->xdl ? MFMA_XDL : MFMA_SGEMM);
	class->produces |= info->mfma_passes == 2 ? 1u << MFMA_2_PASSES : 0;
	class->consumes |= 1u << MFMA | 1u << (info->xdl ? MFMA_IS_XDL : MFMA_NOT_XDL);
	class->consumes |= dgemm_4 ? 1u << MFMA_IS_DGEMM_4 : 0;
	class->consumes |= 1u << VALU | 1u << VALU_NOT_TRANS;
}

static void classify_valu(const struct isa_op_info *info, unsigned op, struct op_class *class)
{
	class->consumes |= 1u << VALU | 1u << VALU_NOT_MFMA;
	if (info->kind == ISA_KIND_TRANS)
		class->produces |= 1u << TRANS;
	else
		class->consumes |= 1u << VALU_NOT_TRANS;
	class->produces |= is_dot(info) ? 1u << DOT : 0;

	switch (op) {
	case ISA_V_READLANE_B32:
		class->consumes |= 1u << LANE | 1u << READLANE | 1u << ACROSS_LANES;
		break;
	case ISA_V_WRITELANE_B32:
		class->consumes |= 1u << LANE | 1u << ACROSS_LANES;
		break;
	case ISA_V_READFIRSTLANE_B32:
		class->consumes |= 1u << READLANE | 1u << ACROSS_LANES;
		break;
	case ISA_V_DIV_FMAS_F32:
	case ISA_V_DIV_FMAS_F64:
		class->consumes |= 1u << DIV_FMAS;
		break;
	case ISA_V_FMA_F64:
	case ISA_V_FMAC_F64:
		class->consumes |= 1u << FMA_F64;
		break;
	}
}

static void classify_other(const struct isa_op_info *info, unsigned op, struct op_class *class)
{
	if (info->unit == ISA_UNIT_VMEM || info->unit == ISA_UNIT_FLAT)
		class->consumes |= 1u << VMEM | 1u << MEMORY;
	if (info->unit == ISA_UNIT_LDS)
		class->consumes |= 1u << MEMORY;
	if (info->implicit_reads & ISA_IMPLICIT_M0)
		class->consumes |= 1u << READS_M0;
	if (op == ISA_S_GETREG_B32)
		class->consumes |= 1u << GETREG;
	if (op == ISA_S_SETREG_B32 || op == ISA_S_SETREG_IMM32_B32) {
		class->produces |= 1u << SETREG;
		class->consumes |= 1u << SETREG_AGAIN;
	}
}

static struct op_class classify(const struct isa_op_info *info, unsigned op)
{
	struct op_class class = { 0 };

	if (info->unit == ISA_UNIT_MFMA)
		classify_mfma(info, op, &class);
	else if (info->unit == ISA_UNIT_VALU)
		classify_valu(info, op, &class);
	else
		classify_other(info, op, &class);
	return class;
}

static const struct isa_operand *operand_in_field(const struct facts *facts, unsigned field)
{
	unsigned offset = access_row_offset(facts->info, facts->inst);

	for (unsigned i = 0; i < facts->inst->n_operands; i++) {
		if (facts->info->operand[i + offset].field == field)
			return &facts->inst->operand[i];
	}
	return NULL;
}

static bool is_wide_store(const struct facts *facts)
{
	const struct isa_op_info *info = facts->info;

	if (info->kind != ISA_KIND_STORE && info->kind != ISA_KIND_ATOMIC)
		return false;
	if (info->unit == ISA_UNIT_FLAT) {
		const struct isa_operand *data = operand_in_field(facts, ISA_FIELD_DATA0);
		return data && data->width > 2;
	}
	if (info->unit != ISA_UNIT_VMEM)
		return false;
	const struct isa_operand *data = operand_in_field(facts, ISA_FIELD_VDATA);
	const struct isa_operand *soffset = operand_in_field(facts, ISA_FIELD_SOFFSET);
	return data && data->width > 2 && (!soffset || soffset->width == 0);
}

static bool is_load_to_lds(const struct isa_op_info *info, const struct isa_inst *inst)
{
	return (info->unit == ISA_UNIT_VMEM && (inst->flags & ISA_LDS)) ||
	       (info->unit == ISA_UNIT_FLAT && strstr(info->name, "_load_lds_"));
}

static bool is_partial(const struct isa_inst *inst)
{
	if (inst->form == ISA_FORM_SDWA)
		return inst->dst_sel != 6;
	/* Bit 3 is the destination's half. v_cvt_sr_* choose a byte, with bit 2 as well. */
	return (inst->op_sel & 8) || ((inst->op_sel & 4) && (inst->op == ISA_V_CVT_SR_FP8_F32 || inst->op == ISA_V_CVT_SR_BF8_F32));
}

static bool reads_flag_as_data(const struct isa_inst *inst)
{
	for (unsigned i = 0; i < inst->n_operands; i++) {
		if (inst->operand[i].code == ISA_VCCZ || inst->operand[i].code == ISA_EXECZ)
			return true;
	}
	return false;
}

static unsigned produces_by_writes(const struct facts *facts)
{
	bool valu = facts->info->unit == ISA_UNIT_VALU, salu = facts->info->unit == ISA_UNIT_SALU;
	unsigned produces = 0;

	for (unsigned i = 0; i < facts->access.n_writes; i++) {
		const struct access_range *range = &facts->access.writes[i];

		if (access_is_vector(range->first)) {
			produces |= 1u << ANY_WRITES_VGPR;
			produces |= valu && !is_dot(facts->info) ? 1u << VALU_WRITES_VGPR : 0;
		} else if (range->first == ISA_EXEC || range->first == ISA_EXEC + 1) {
			produces |= valu ? 1u << VALU_WRITES_EXEC : 0;
		} else if (range->first == ISA_M0 && salu) {
			produces |= 1u << SALU_WRITES_M0;
		} else if (valu) {
			produces |= 1u << VALU_WRITES_SGPR;
			produces |= range->first == ISA_VCC || range->first == ISA_VCC + 1 ? 1u << VALU_WRITES_VCC : 0;
		}
	}
	return produces;
}

static uint64_t rules_of(const uint64_t *by_class, unsigned classes)
{
	uint64_t set = 0;

	for (; classes; classes &= classes - 1)
		set |= by_class[__builtin_ctz(classes)];
	return set;
}

static void get_facts(const struct hazard_analysis *analysis, uint32_t index, struct facts *facts)
{
	const struct isa_inst *inst = &analysis->flow->insts[index];
	struct op_class class = analysis->classes[inst->op];

	facts->inst = inst;
	facts->info = isa_op_info(analysis->flow->isa, inst->op);
	access_get(facts->info, inst, &facts->access);
	class.produces |= produces_by_writes(facts);
	if (is_wide_store(facts))
		class.produces |= 1u << WIDE_STORE;
	if (facts->info->unit == ISA_UNIT_VALU) {
		class.produces |= is_partial(inst) ? 1u << PARTIAL : 0;
		class.consumes |= inst->form == ISA_FORM_DPP ? 1u << DPP : 0;
		class.consumes |= reads_flag_as_data(inst) ? 1u << READS_VCCZ : 0;
	}
	if (is_load_to_lds(facts->info, inst) || (inst->flags & ISA_GDS))
		class.consumes |= 1u << READS_M0;
	facts->produces = rules_of(analysis->rules_of_producer, class.produces);
	facts->consumes = rules_of(analysis->rules_of_consumer, class.consumes);
}

/* ---- do the registers meet? ------------------------------------------------------------------------------------------ */

static bool any_overlap(const struct access_range *a, unsigned n_a, const struct access_range *b, unsigned n_b)
{
	for (unsigned i = 0; i < n_a; i++) {
		for (unsigned k = 0; k < n_b; k++) {
			if (access_overlaps(&a[i], &b[k]))
				return true;
		}
	}
	return false;
}

static bool write_read(const struct facts *producer, const struct facts *consumer)
{
	return any_overlap(producer->access.writes, producer->access.n_writes, consumer->access.reads, consumer->access.n_reads);
}

static bool scalar_write_read(const struct facts *producer, const struct facts *consumer)
{
	for (unsigned i = 0; i < producer->access.n_writes; i++) {
		const struct access_range *range = &producer->access.writes[i];

		if (!access_is_vector(range->first) && any_overlap(range, 1, consumer->access.reads, consumer->access.n_reads))
			return true;
	}
	return false;
}

static bool write_write(const struct facts *producer, const struct facts *consumer)
{
	return any_overlap(producer->access.writes, producer->access.n_writes, consumer->access.writes, consumer->access.n_writes);
}

static struct access_range range_of(const struct isa_operand *operand)
{
	if (!operand || operand->width == 0 || operand->code >= ACCESS_REGISTERS)
		return (struct access_range){ 0 };
	return (struct access_range){ .first = operand->code, .count = operand->width };
}

/* C of an MFMA is the last source; v_smfmac adds to its destination and has an index there. */
static struct access_range range_of_c(const struct facts *facts)
{
	if (facts->info->operand[0].role == ISA_ROLE_DST_SRC)
		return range_of(&facts->inst->operand[0]);
	return range_of(&facts->inst->operand[3]);
}

static bool writes_range(const struct facts *facts, struct access_range range)
{
	return range.count && any_overlap(facts->access.writes, facts->access.n_writes, &range, 1);
}

static bool writes_a_or_b(const struct facts *producer, const struct facts *mfma)
{
	bool index = mfma->info->operand[0].role == ISA_ROLE_DST_SRC && writes_range(producer, range_of(&mfma->inst->operand[3]));

	return index || writes_range(producer, range_of(&mfma->inst->operand[1])) ||
	       writes_range(producer, range_of(&mfma->inst->operand[2]));
}

static bool is_same_range(struct access_range a, struct access_range b)
{
	return a.first == b.first && a.count == b.count;
}

static struct access_range range_of_store_data(const struct facts *facts)
{
	return range_of(operand_in_field(facts, facts->info->unit == ISA_UNIT_FLAT ? ISA_FIELD_DATA0 : ISA_FIELD_VDATA));
}

/* The id; first bit and size stand above it in the simm16 (isa.h has the place of s_setreg_imm32_b32's). */
static unsigned hwreg_of(const struct isa_inst *inst)
{
	return (inst->op == ISA_S_SETREG_IMM32_B32 ? (unsigned)inst->offset : inst->literal) & 63;
}

/* A dot product forwards its accumulator to the next of the same kind. */
static bool dot_read(const struct facts *dot, const struct facts *consumer)
{
	if (dot->inst->op != consumer->inst->op)
		return write_read(dot, consumer);
	return writes_range(dot, range_of(&consumer->inst->operand[1])) || writes_range(dot, range_of(&consumer->inst->operand[2]));
}

static bool meets(unsigned relation, const struct facts *producer, const struct facts *consumer)
{
	switch (relation) {
	case WRITE_READ:
		return write_read(producer, consumer);
	case SCALAR_WRITE_READ:
		return scalar_write_read(producer, consumer);
	case WRITE_WRITE:
		return write_write(producer, consumer);
	case WRITE_ANY:
		return write_read(producer, consumer) || write_write(producer, consumer);
	case WRITE_LANE_SELECT:
		return writes_range(producer, range_of(&consumer->inst->operand[2]));
	case WRITE_AB:
		return writes_a_or_b(producer, consumer);
	case WRITE_C_PART:
		return writes_range(producer, range_of_c(consumer)) &&
		       !is_same_range(range_of(&producer->inst->operand[0]), range_of_c(consumer));
	case WRITE_C_SAME:
		return is_same_range(range_of(&producer->inst->operand[0]), range_of_c(consumer));
	case C_WRITE:
		return writes_range(consumer, range_of_c(producer));
	case DATA_WRITE:
		return writes_range(consumer, range_of_store_data(producer));
	case SAME_HWREG:
		return hwreg_of(producer->inst) == hwreg_of(consumer->inst);
	case DOT_READ:
		return dot_read(producer, consumer);
	case DOT_WRITE:
		return producer->inst->op != consumer->inst->op && write_write(producer, consumer);
	default:
		return true;
	}
}

/* ---- the walk -------------------------------------------------------------------------------------------------------- */

static uint32_t states_of(const struct rule *rule, const struct facts *producer)
{
	return (uint32_t)(rule->states + (rule->passes ? producer->info->mfma_passes : 0));
}

static uint32_t lifetime_of(const struct facts *producer)
{
	uint32_t lifetime = 0;

	for (uint64_t set = producer->produces; set; set &= set - 1)
		lifetime = MAX(lifetime, states_of(&rules[__builtin_ctzll(set)], producer));
	return lifetime;
}

static void check_against(const struct window_entry *entry, const struct facts *consumer, struct hazard_finding *finding)
{
	for (uint64_t set = entry->facts.produces & consumer->consumes; set; set &= set - 1) {
		const struct rule *rule = &rules[__builtin_ctzll(set)];
		uint32_t states = states_of(rule, &entry->facts);

		if (states <= entry->age + finding->missing || !meets(rule->relation, &entry->facts, consumer))
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
	return facts->info->kind == ISA_KIND_STORE || facts->info->kind == ISA_KIND_ATOMIC || is_load_to_lds(facts->info, facts->inst);
}

/* May this instruction not stand in the clause? */
static bool breaks_clause(const struct clause *clause, const struct facts *facts)
{
	const struct access *last = &facts->access;
	unsigned n = MIN(clause->count, clause->depth);
	bool any_write = false, meets_itself = write_read(facts, facts);

	for (unsigned i = 0; i < n; i++) {
		const struct access *one = &clause->access[i];

		any_write |= one->n_writes > 0;
		meets_itself |= any_overlap(one->writes, one->n_writes, last->reads, last->n_reads);
		meets_itself |= any_overlap(last->writes, last->n_writes, one->reads, one->n_reads);
		for (unsigned k = 0; k < n; k++)
			meets_itself |= any_overlap(one->writes, one->n_writes, clause->access[k].reads, clause->access[k].n_reads);
	}
	return any_write && (meets_itself || stores(facts));
}

static void check_clause(struct hazard_analysis *analysis, const struct facts *facts, uint32_t index, struct hazard_finding *finding)
{
	struct clause *clause = &analysis->clause;
	unsigned kind = clause_kind_of(facts->info);

	if (kind == CLAUSE_NONE || kind != clause->kind || finding->missing)
		clause->count = 0;
	if (kind != CLAUSE_NONE && clause->count > 0 && breaks_clause(clause, facts)) {
		finding->missing = 1;
		finding->producer = index - 1;
		finding->rule = "memory instructions in a row cannot be replayed (XNACK)";
		finding->source = LLVM("checkSoftClauseHazards");
		clause->count = 0;
	}
	clause->kind = kind;
	clause->access[clause->count++ % clause->depth] = facts->access;
}

/* Time passes; what nobody cares about any more is forgotten. */
static void advance(struct hazard_analysis *analysis, uint32_t states)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < analysis->n_window; i++) {
		analysis->window[i].age += states;
		if (analysis->window[i].age >= analysis->window[i].lifetime)
			continue;
		if (kept != i)
			analysis->window[kept] = analysis->window[i];
		kept++;
	}
	analysis->n_window = kept;
	analysis->unknown -= MIN(analysis->unknown, states);
}

static uint32_t wait_states_of(const struct facts *facts)
{
	return facts->info->kind == ISA_KIND_NOP ? (facts->inst->literal & HAZARD_MAX_NOP) + 1 : 1;
}

/* There is always room: what stands in the window at a block's entry was made to fit, and the rest are at most OLDEST. */
static void remember(struct hazard_analysis *analysis, const struct facts *facts, uint32_t index, uint32_t age)
{
	uint32_t lifetime = lifetime_of(facts);

	if (lifetime <= age || analysis->n_window == WINDOW)
		return;
	analysis->window[analysis->n_window++] =
		(struct window_entry){ .facts = *facts, .index = index, .age = age, .lifetime = lifetime };
}

static void report(struct hazard_analysis *analysis, const struct hazard_finding *finding)
{
	if (analysis->found)
		analysis->found(analysis->userdata, finding);
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

static void step(struct hazard_analysis *analysis, uint32_t index)
{
	struct hazard_finding finding = { .inst = index };
	struct facts facts;

	get_facts(analysis, index, &facts);
	if (facts.consumes) {
		for (uint32_t i = 0; i < analysis->n_window; i++)
			check_against(&analysis->window[i], &facts, &finding);
		check_unknown(analysis, index, &finding);
	}
	check_clause(analysis, &facts, index, &finding);
	if (finding.missing)
		report(analysis, &finding);
	advance(analysis, finding.missing + wait_states_of(&facts));
	if (facts.produces)
		remember(analysis, &facts, index, 0);
}

static void enter_block(struct hazard_analysis *analysis, const struct hazard_state *state)
{
	analysis->n_window = 0;
	analysis->clause.count = 0;
	analysis->unknown = state->unknown;
	for (uint32_t i = 0; i < state->n; i++) {
		struct facts facts;

		get_facts(analysis, state->recent[i].index, &facts);
		remember(analysis, &facts, state->recent[i].index, state->recent[i].age);
	}
}

static void leave_block(const struct hazard_analysis *analysis, struct hazard_state *state)
{
	state->n = analysis->n_window;
	state->unknown = analysis->unknown;
	for (uint32_t i = 0; i < analysis->n_window; i++) {
		state->recent[i].index = analysis->window[i].index;
		state->recent[i].age = analysis->window[i].age;
	}
}

static void transfer(void *context, const struct flow_block *block, void *state)
{
	struct hazard_analysis *analysis = context;

	if (block->begin == block->end)
		return;		/* where returns meet: nothing happens there */
	enter_block(analysis, state);
	for (uint32_t i = block->begin; i < block->end; i++)
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
	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
		analysis->rules_of_producer[rules[i].producer] |= UINT64_C(1) << i;
		analysis->rules_of_consumer[rules[i].consumer] |= UINT64_C(1) << i;
	}
	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++)
		analysis->classes[op] = classify(isa_op_info(flow->isa, op), op);

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
