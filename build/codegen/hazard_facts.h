/* SPDX-License-Identifier: MIT */
/* What the rules of hazard_rules.inc look at: the words of the table, and what they mean for one instruction. Belongs to hazard.c. */
#pragma once

#include "build/codegen/access.h"
#include "build/codegen/flow.h"

#include <string.h>

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

/* The rules, and the set of them that each instruction can trigger. A set has bit i for rule i. */
enum { FACTS_MAX_RULES = 64, FACTS_CLASSES = 32 };

extern const struct rule facts_rules[];

struct facts_of_op {		/* what depends on the opcode alone */
	bool occurs;
	uint64_t produces, consumes;
	uint32_t lifetime;
	uint32_t by_writes;	/* enum producer as bits: what the registers that it writes may make of it */
};

struct facts_tables {
	const struct isa *isa;
	uint64_t by_producer[FACTS_CLASSES], by_consumer[FACTS_CLASSES];
	uint32_t lifetimes[FACTS_CLASSES];	/* of producers, without the rules that ask for passes */
	uint64_t by_write;	/* rules that cannot apply unless the consumer touches what the producer writes */
	bool by_form;		/* some instructions are consumers for the form that they have */
	struct facts_of_op ops[ISA_OP_COUNT];	/* of those that occur */
};

/*
 * Memory instructions of one kind without anything between them. With XNACK the hardware may replay all of them from the first one on,
 * so none of them may have lost what it reads, nor may a store come behind a load it could meet.
 */
enum { CLAUSE_NONE, CLAUSE_VMEM, CLAUSE_SMEM };

struct facts {			/* what the walk asks of each instruction */
	uint64_t produces, consumes;
	uint8_t lifetime;	/* wait states after which no rule cares about it any more, at most 19 */
	uint8_t states;		/* wait states that it is itself */
	uint8_t clause;		/* CLAUSE_* */
};

struct party {			/* an instruction as one of the two that a rule is about */
	const struct isa_inst *inst;
	const struct isa_op_info *info;
	struct access access;
};

/* `tables` is all zeros. Rules whose consumer does not occur in the code are left out: most kernels have no DPP, say. */
void facts_init(struct facts_tables *tables, const struct flow *flow);
void facts_get(const struct facts_tables *tables, const struct isa_inst *inst, const struct access_sets *sets,
	       struct facts *ret_facts);

/* Wait states that a rule wants between this producer and any consumer. */
static inline uint32_t facts_states(const struct rule *rule, const struct isa_op_info *producer)
{
	return (uint32_t)(rule->states + (rule->passes ? producer->mfma_passes : 0));
}

/* Does `b` touch any register that `a` writes? */
bool facts_write_any(const struct access *a, const struct access *b);

/* Do the registers of the two meet as the rule says? */
bool facts_meet(const struct rule *rule, const struct party *producer, const struct party *consumer);

/* Do any of the registers that `a` writes belong to those that `b` reads? */
bool facts_write_read(const struct access *a, const struct access *b);

static inline bool facts_is_load_to_lds(const struct isa_op_info *info, const struct isa_inst *inst)
{
	return (info->unit == ISA_UNIT_VMEM && (inst->flags & ISA_LDS)) ||
	       (info->unit == ISA_UNIT_FLAT && strstr(info->name, "_load_lds_"));
}
