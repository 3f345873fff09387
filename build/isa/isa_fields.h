/* SPDX-License-Identifier: MIT */
/*
 * An instruction on its way to dwords: its operands, checked against the row and sorted by encoding field. Internal to build/isa.
 */
#pragma once

#include "build/isa/isa_row.h"

struct isa_fields {
	const struct isa_row *row;
	const struct isa_inst *inst;
	struct isa_operand operand[ISA_FIELD_COUNT];
	uint32_t present;	/* bit per enum isa_field */
	uint8_t any_mod;	/* of all operands together */
	bool all_vector;	/* no operand is scalar, constant or literal */
	bool literal;		/* a dword follows */
};

static inline bool isa_has(const struct isa_fields *f, enum isa_field field)
{
	return f->present >> field & 1;
}

static inline bool isa_has_trait(const struct isa_fields *f, uint32_t trait)
{
	return (f->row->traits & trait) != 0;
}

static inline bool isa_is_agpr(unsigned code)
{
	return code >= ISA_AGPR0 && code < ISA_AGPR0 + 256;
}

static inline bool isa_is_vector(unsigned code)
{
	return code >= ISA_VGPR0 && code < ISA_AGPR0 + 256;
}

/* The vector ALU formats. Returns the number of dwords without the literal, or -EINVAL with the words untouched. */
int isa_encode_vop(const struct isa_fields *f, uint32_t *w);	/* VOP1, VOP2, VOPC */
int isa_encode_vop3(const struct isa_fields *f, uint32_t *w);
int isa_encode_vop3p(const struct isa_fields *f, uint32_t *w);
int isa_encode_mai(const struct isa_fields *f, uint32_t *w);
