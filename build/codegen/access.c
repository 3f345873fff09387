/* SPDX-License-Identifier: MIT */
#include "build/codegen/access.h"

static bool is_register(const struct isa_operand *operand)
{
	return operand->width > 0 && operand->code < ACCESS_REGISTERS &&
	       (operand->code < ISA_INT0 || operand->code == ISA_SCC || operand->code >= ISA_VGPR0);
}

static void add(struct access_range *ranges, unsigned *count, unsigned first, unsigned width, unsigned operand)
{
	ranges[(*count)++] = (struct access_range){ .first = (uint16_t)first, .count = (uint8_t)width, .operand = (uint8_t)operand };
}

static void add_implicit(struct access_range *ranges, unsigned *count, unsigned mask)
{
	if (mask & ISA_IMPLICIT_SCC)
		add(ranges, count, ISA_SCC, 1, ACCESS_IMPLICIT);
	if (mask & ISA_IMPLICIT_VCC)
		add(ranges, count, ISA_VCC, 2, ACCESS_IMPLICIT);
	if (mask & ISA_IMPLICIT_EXEC)
		add(ranges, count, ISA_EXEC, 2, ACCESS_IMPLICIT);
	if (mask & ISA_IMPLICIT_M0)
		add(ranges, count, ISA_M0, 1, ACCESS_IMPLICIT);
}

/* The data of an atomic is overwritten only when it returns something. */
static bool is_written(unsigned role, const struct isa_op_info *info, const struct isa_inst *inst)
{
	if (role == ISA_ROLE_SRC)
		return false;
	return role == ISA_ROLE_DST || info->kind != ISA_KIND_ATOMIC || (inst->flags & ISA_SC0);
}

void access_get(const struct isa_op_info *info, const struct isa_inst *inst, struct access *ret_access)
{
	unsigned offset = access_row_offset(info, inst), n_reads = 0, n_writes = 0;

	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand *operand = &inst->operand[i];

		if (!is_register(operand))
			continue;
		unsigned role = info->operand[i + offset].role;
		if (role != ISA_ROLE_DST)
			add(ret_access->reads, &n_reads, operand->code, operand->width, i + offset);
		if (is_written(role, info, inst))
			add(ret_access->writes, &n_writes, operand->code, operand->width, i + offset);
	}
	if (info->implicit_reads)
		add_implicit(ret_access->reads, &n_reads, info->implicit_reads);
	if (info->implicit_writes)
		add_implicit(ret_access->writes, &n_writes, info->implicit_writes);
	ret_access->n_reads = n_reads;
	ret_access->n_writes = n_writes;
}

unsigned access_get_writes(const struct isa_op_info *info, const struct isa_inst *inst, struct access_range ret_writes[ACCESS_MAX])
{
	unsigned offset = access_row_offset(info, inst), n = 0;

	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand *operand = &inst->operand[i];

		if (is_written(info->operand[i + offset].role, info, inst) && is_register(operand))
			add(ret_writes, &n, operand->code, operand->width, i + offset);
	}
	if (info->implicit_writes)
		add_implicit(ret_writes, &n, info->implicit_writes);
	return n;
}

static uint64_t implicit_sets(unsigned mask)
{
	uint64_t sets = 0;

	if (mask == 0)
		return 0;
	if (mask & ISA_IMPLICIT_SCC)
		sets |= access_sets_of(ISA_SCC, 1);
	if (mask & ISA_IMPLICIT_VCC)
		sets |= access_sets_of(ISA_VCC, 2);
	if (mask & ISA_IMPLICIT_EXEC)
		sets |= access_sets_of(ISA_EXEC, 2);
	if (mask & ISA_IMPLICIT_M0)
		sets |= access_sets_of(ISA_M0, 1);
	return sets;
}

struct access_sets access_get_sets(const struct isa_op_info *info, const struct isa_inst *inst)
{
	const struct isa_operand_info *row = &info->operand[access_row_offset(info, inst)];
	struct access_sets sets = { implicit_sets(info->implicit_reads), implicit_sets(info->implicit_writes) };

	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand *operand = &inst->operand[i];

		if (operand->width == 0 || operand->code >= ACCESS_REGISTERS)
			continue;
		uint64_t touched = access_sets_of(operand->code, operand->width);
		sets.reads |= row[i].role != ISA_ROLE_DST ? touched : 0;
		sets.writes |= row[i].role != ISA_ROLE_SRC ? touched : 0;
	}
	return sets;
}
