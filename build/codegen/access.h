/* SPDX-License-Identifier: MIT */
/*
 * Which registers an instruction reads and writes, printed operands and implicit ones alike. A register is named by its operand code
 * (isa.h): 0..127 scalar, ISA_SCC, 256..767 vector; so one array of ACCESS_REGISTERS entries holds a value for each.
 */
#pragma once

#include "build/isa/isa.h"

enum { ACCESS_REGISTERS = 768, ACCESS_MAX = ISA_MAX_OPERANDS + 4, ACCESS_IMPLICIT = 255 };

struct access_range {
	uint16_t first;
	uint8_t count;
	uint8_t operand;	/* number in the row (isa_op_info.operand), or ACCESS_IMPLICIT */
};

struct access {
	unsigned n_reads, n_writes;
	struct access_range reads[ACCESS_MAX], writes[ACCESS_MAX];
};

void access_get(const struct isa_op_info *info, const struct isa_inst *inst, struct access *ret_access);

/* The writes alone, for who has no use for the rest. Returns how many. */
unsigned access_get_writes(const struct isa_op_info *info, const struct isa_inst *inst, struct access_range ret_writes[ACCESS_MAX]);

/*
 * The same, roughly: sets of ACCESS_SET neighbouring registers as bits. Most pairs of instructions have nothing to do with each other,
 * and two ands say so. A set may have a bit too many, never one too few.
 */
enum { ACCESS_SET = 16, ACCESS_SETS = ACCESS_REGISTERS / ACCESS_SET };

struct access_sets {
	uint64_t reads, writes;
};

struct access_sets access_get_sets(const struct isa_op_info *info, const struct isa_inst *inst);

static inline uint64_t access_sets_of(unsigned first, unsigned count)
{
	return (UINT64_C(2) << (first + count - 1) / ACCESS_SET) - (UINT64_C(1) << first / ACCESS_SET);
}

/*
 * Rows describe the form with the most operands. A vector memory instruction without its first one (an atomic that returns nothing, a
 * load to LDS) starts later in the row; returns by how much.
 */
static inline unsigned access_row_offset(const struct isa_op_info *info, const struct isa_inst *inst)
{
	if (info->unit != ISA_UNIT_VMEM && info->unit != ISA_UNIT_FLAT)
		return 0;
	return inst->n_operands < info->n_operands ? (unsigned)info->n_operands - inst->n_operands : 0;
}

static inline bool access_is_vector(unsigned reg)
{
	return reg >= ISA_VGPR0;
}

static inline bool access_overlaps(const struct access_range *a, const struct access_range *b)
{
	return a->first < b->first + b->count && b->first < a->first + a->count;
}
