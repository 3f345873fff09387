/* SPDX-License-Identifier: MIT */
#include "build/codegen/hazard_facts.h"

#include "base/macro.h"
#include "build/codegen/hazard.h"

#include <string.h>

#define ISA_DOC "CDNA3 ISA 4.5"
#define LLVM(function) "LLVM GCNHazardRecognizer::" function

const struct rule facts_rules[] = {
#define RULE(producer, consumer, relation, states, passes, text, source) { producer, consumer, relation, states, passes, text, source },
#include "build/codegen/hazard_rules.inc"
#undef RULE
};

_Static_assert(ARRAY_SIZE(facts_rules) <= FACTS_MAX_RULES, "a set of rules is one uint64_t");

/* ---- by opcode ------------------------------------------------------------------------------------------------------- */

struct classes {		/* bits are 1 << enum */
	uint32_t produces, consumes;
};

static bool is_dot(const struct isa_op_info *info)
{
	return strncmp(info->name, "v_dot", 5) == 0;
}

static void classify_mfma(const struct isa_op_info *info, unsigned op, struct classes *class)
{
	bool dgemm_4 = op == ISA_V_MFMA_F64_4X4X4_4B_F64, dgemm_16 = op == ISA_V_MFMA_F64_16X16X4_F64;

	class->produces |= 1u << (dgemm_4 ? MFMA_DGEMM_4 : dgemm_16 ? MFMA_DGEMM_16 : info->xdl ? MFMA_XDL : MFMA_SGEMM);
	class->produces |= info->mfma_passes == 2 ? 1u << MFMA_2_PASSES : 0;
	class->consumes |= 1u << MFMA | 1u << (info->xdl ? MFMA_IS_XDL : MFMA_NOT_XDL);
	class->consumes |= dgemm_4 ? 1u << MFMA_IS_DGEMM_4 : 0;
	class->consumes |= 1u << VALU | 1u << VALU_NOT_TRANS;
}

static void classify_valu(const struct isa_op_info *info, unsigned op, struct classes *class)
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

static void classify_other(const struct isa_op_info *info, unsigned op, struct classes *class)
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

static struct classes classify(const struct isa_op_info *info, unsigned op)
{
	struct classes class = { 0 };

	if (info->unit == ISA_UNIT_MFMA)
		classify_mfma(info, op, &class);
	else if (info->unit == ISA_UNIT_VALU)
		classify_valu(info, op, &class);
	else
		classify_other(info, op, &class);
	return class;
}

/* ---- by instruction -------------------------------------------------------------------------------------------------- */

static const struct isa_operand *operand_in_field(const struct isa_op_info *info, const struct isa_inst *inst, unsigned field)
{
	unsigned offset = access_row_offset(info, inst);

	for (unsigned i = 0; i < inst->n_operands; i++) {
		if (info->operand[i + offset].field == field)
			return &inst->operand[i];
	}
	return NULL;
}

static bool is_wide_store(const struct isa_op_info *info, const struct isa_inst *inst)
{
	if (info->kind != ISA_KIND_STORE && info->kind != ISA_KIND_ATOMIC)
		return false;
	if (info->unit == ISA_UNIT_FLAT) {
		const struct isa_operand *data = operand_in_field(info, inst, ISA_FIELD_DATA0);
		return data && data->width > 2;
	}
	if (info->unit != ISA_UNIT_VMEM)
		return false;
	const struct isa_operand *data = operand_in_field(info, inst, ISA_FIELD_VDATA);
	const struct isa_operand *soffset = operand_in_field(info, inst, ISA_FIELD_SOFFSET);
	return data && data->width > 2 && (!soffset || soffset->width == 0);
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

static unsigned consumes_by_form(const struct isa_op_info *info, const struct isa_inst *inst)
{
	if (info->unit == ISA_UNIT_VALU)
		return (inst->form == ISA_FORM_DPP ? 1u << DPP : 0) | (reads_flag_as_data(inst) ? 1u << READS_VCCZ : 0);
	return facts_is_load_to_lds(info, inst) || (inst->flags & ISA_GDS) ? 1u << READS_M0 : 0;
}

/* What writing something can make of an instruction of this opcode. */
static unsigned could_produce_by_writes(const struct isa_op_info *info)
{
	unsigned produces = 1u << ANY_WRITES_VGPR;

	if (info->unit == ISA_UNIT_SALU)
		produces |= 1u << SALU_WRITES_M0;
	if (info->unit == ISA_UNIT_VALU) {
		produces |= 1u << VALU_WRITES_SGPR | 1u << VALU_WRITES_VCC | 1u << VALU_WRITES_EXEC;
		produces |= is_dot(info) ? 0 : 1u << VALU_WRITES_VGPR;
	}
	return produces;
}

static unsigned produces_by_scalar(unsigned reg)
{
	switch (reg) {
	case ISA_EXEC:
	case ISA_EXEC + 1:
		return 1u << VALU_WRITES_EXEC;
	case ISA_M0:
		return 1u << SALU_WRITES_M0 | 1u << VALU_WRITES_SGPR;
	case ISA_VCC:
	case ISA_VCC + 1:
		return 1u << VALU_WRITES_SGPR | 1u << VALU_WRITES_VCC;
	default:
		return 1u << VALU_WRITES_SGPR;
	}
}

static unsigned produces_by_writes(const struct isa_op_info *info, const struct isa_inst *inst, uint64_t written)
{
	const uint64_t scalars = access_sets_of(0, ISA_VGPR0);
	unsigned produces = written & ~scalars ? 1u << ANY_WRITES_VGPR | 1u << VALU_WRITES_VGPR : 0;
	struct access access;

	if (!(written & scalars))
		return produces;
	access_get(info, inst, &access);
	for (unsigned i = 0; i < access.n_writes; i++)
		produces |= access_is_vector(access.writes[i].first) ? 0 : produces_by_scalar(access.writes[i].first);
	return produces;
}

static uint64_t rules_of(const uint64_t *by_class, unsigned classes)
{
	uint64_t set = 0;

	for (; classes; classes &= classes - 1)
		set |= by_class[__builtin_ctz(classes)];
	return set;
}

static uint8_t clause_of(const struct isa_op_info *info)
{
	if (info->unit == ISA_UNIT_VMEM || info->unit == ISA_UNIT_FLAT)
		return CLAUSE_VMEM;
	return info->unit == ISA_UNIT_SMEM ? CLAUSE_SMEM : CLAUSE_NONE;
}

void facts_get(const struct facts_tables *tables, const struct isa_inst *inst, const struct access_sets *sets,
	       struct facts *ret_facts)
{
	const struct facts_of_op *op = &tables->ops[inst->op];
	const struct isa_op_info *info = isa_op_info(tables->isa, inst->op);
	uint64_t rules = op->produces;
	uint32_t lifetime = op->lifetime;
	unsigned produces = op->by_writes ? op->by_writes & produces_by_writes(info, inst, sets->writes) : 0;

	if (is_wide_store(info, inst))
		produces |= 1u << WIDE_STORE;
	if (info->unit == ISA_UNIT_VALU && is_partial(inst))
		produces |= 1u << PARTIAL;
	for (; produces; produces &= produces - 1) {
		unsigned class = (unsigned)__builtin_ctz(produces);
		rules |= tables->by_producer[class];
		lifetime = MAX(lifetime, tables->lifetimes[class]);
	}
	ret_facts->produces = rules;
	ret_facts->consumes = op->consumes | (tables->by_form ? rules_of(tables->by_consumer, consumes_by_form(info, inst)) : 0);
	ret_facts->lifetime = (uint8_t)lifetime;
	ret_facts->states = (uint8_t)(info->kind == ISA_KIND_NOP ? (inst->literal & HAZARD_MAX_NOP) + 1 : 1);
	ret_facts->clause = clause_of(info);
}

/* ---- the rules that matter ------------------------------------------------------------------------------------------- */

static bool is_by_write(unsigned relation)
{
	return relation != ANYHOW && relation != C_WRITE && relation != DATA_WRITE && relation != SAME_HWREG;
}

/* Marks the opcodes that occur. Returns the consumers among them. */
static unsigned look_around(struct facts_tables *tables, const struct flow *flow)
{
	unsigned by_form = 0, by_op = 0;

	for (uint32_t i = 0; i < flow->count; i++) {
		const struct isa_inst *inst = &flow->insts[i];
		const struct isa_op_info *info = isa_op_info(flow->isa, inst->op);

		by_form |= consumes_by_form(info, inst);
		if (!tables->ops[inst->op].occurs)
			by_op |= classify(info, inst->op).consumes;
		tables->ops[inst->op].occurs = true;
	}
	tables->by_form = by_form != 0;
	return by_form | by_op;
}

static void init_rules(struct facts_tables *tables, unsigned consumers)
{
	for (unsigned i = 0; i < ARRAY_SIZE(facts_rules); i++) {
		const struct rule *rule = &facts_rules[i];

		if (!(consumers >> rule->consumer & 1))
			continue;
		tables->by_producer[rule->producer] |= UINT64_C(1) << i;
		tables->by_consumer[rule->consumer] |= UINT64_C(1) << i;
		tables->by_write |= is_by_write(rule->relation) ? UINT64_C(1) << i : 0;
		if (!rule->passes)
			tables->lifetimes[rule->producer] = MAX(tables->lifetimes[rule->producer], (uint32_t)rule->states);
	}
}

static void init_op(struct facts_tables *tables, unsigned op)
{
	const struct isa_op_info *info = isa_op_info(tables->isa, op);
	struct facts_of_op *of_op = &tables->ops[op];
	struct classes classes = classify(info, op);

	of_op->produces = rules_of(tables->by_producer, classes.produces);
	of_op->consumes = rules_of(tables->by_consumer, classes.consumes);
	for (uint64_t set = of_op->produces; set; set &= set - 1)
		of_op->lifetime = MAX(of_op->lifetime, facts_states(&facts_rules[__builtin_ctzll(set)], info));
	for (unsigned classes_left = could_produce_by_writes(info); classes_left; classes_left &= classes_left - 1) {
		unsigned class = (unsigned)__builtin_ctz(classes_left);
		of_op->by_writes |= tables->by_producer[class] ? 1u << class : 0;
	}
}

void facts_init(struct facts_tables *tables, const struct flow *flow)
{
	tables->isa = flow->isa;
	init_rules(tables, look_around(tables, flow));
	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++) {
		if (tables->ops[op].occurs)
			init_op(tables, op);
	}
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

bool facts_write_read(const struct access *a, const struct access *b)
{
	return any_overlap(a->writes, a->n_writes, b->reads, b->n_reads);
}

bool facts_write_any(const struct access *a, const struct access *b)
{
	return any_overlap(a->writes, a->n_writes, b->reads, b->n_reads) || any_overlap(a->writes, a->n_writes, b->writes, b->n_writes);
}

static bool write_read(const struct party *producer, const struct party *consumer)
{
	return facts_write_read(&producer->access, &consumer->access);
}

static bool scalar_write_read(const struct party *producer, const struct party *consumer)
{
	for (unsigned i = 0; i < producer->access.n_writes; i++) {
		const struct access_range *range = &producer->access.writes[i];

		if (!access_is_vector(range->first) && any_overlap(range, 1, consumer->access.reads, consumer->access.n_reads))
			return true;
	}
	return false;
}

static bool write_write(const struct party *producer, const struct party *consumer)
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
static struct access_range range_of_c(const struct party *party)
{
	if (party->info->operand[0].role == ISA_ROLE_DST_SRC)
		return range_of(&party->inst->operand[0]);
	return range_of(&party->inst->operand[3]);
}

static bool writes_range(const struct party *party, struct access_range range)
{
	return range.count && any_overlap(party->access.writes, party->access.n_writes, &range, 1);
}

static bool writes_a_or_b(const struct party *producer, const struct party *mfma)
{
	bool index = mfma->info->operand[0].role == ISA_ROLE_DST_SRC && writes_range(producer, range_of(&mfma->inst->operand[3]));

	return index || writes_range(producer, range_of(&mfma->inst->operand[1])) ||
	       writes_range(producer, range_of(&mfma->inst->operand[2]));
}

static bool is_same_range(struct access_range a, struct access_range b)
{
	return a.first == b.first && a.count == b.count;
}

static struct access_range range_of_store_data(const struct party *party)
{
	return range_of(operand_in_field(party->info, party->inst, party->info->unit == ISA_UNIT_FLAT ? ISA_FIELD_DATA0 : ISA_FIELD_VDATA));
}

/* The id; first bit and size stand above it in the simm16 (isa.h has the place of s_setreg_imm32_b32's). */
static unsigned hwreg_of(const struct isa_inst *inst)
{
	return (inst->op == ISA_S_SETREG_IMM32_B32 ? (unsigned)inst->offset : inst->literal) & 63;
}

/* A dot product forwards its accumulator to the next of the same kind. */
static bool dot_read(const struct party *dot, const struct party *consumer)
{
	if (dot->inst->op != consumer->inst->op)
		return write_read(dot, consumer);
	return writes_range(dot, range_of(&consumer->inst->operand[1])) || writes_range(dot, range_of(&consumer->inst->operand[2]));
}

bool facts_meet(const struct rule *rule, const struct party *producer, const struct party *consumer)
{
	switch (rule->relation) {
	case WRITE_READ:
		return write_read(producer, consumer);
	case SCALAR_WRITE_READ:
		return scalar_write_read(producer, consumer);
	case WRITE_WRITE:
		return write_write(producer, consumer);
	case WRITE_ANY:
		return facts_write_any(&producer->access, &consumer->access);
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
