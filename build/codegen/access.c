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

unsigned access_row_offset(const struct isa_op_info *info, const struct isa_inst *inst)
{
	if ((info->unit == ISA_UNIT_VMEM || info->unit == ISA_UNIT_FLAT) && inst->n_operands < info->n_operands)
		return info->n_operands - inst->n_operands;
	return 0;
}

void access_get(const struct isa_op_info *info, const struct isa_inst *inst, struct access *ret_access)
{
	unsigned offset = access_row_offset(info, inst);

	ret_access->n_reads = 0;
	ret_access->n_writes = 0;
	for (unsigned i = 0; i < inst->n_operands; i++) {
		const struct isa_operand *operand = &inst->operand[i];
		unsigned role = info->operand[i + offset].role;

		if (!is_register(operand))
			continue;
		/* The data of an atomic is overwritten only when it returns something. */
		if (role == ISA_ROLE_DST_SRC && info->kind == ISA_KIND_ATOMIC && !(inst->flags & ISA_SC0))
			role = ISA_ROLE_SRC;
		if (role != ISA_ROLE_DST)
			add(ret_access->reads, &ret_access->n_reads, operand->code, operand->width, i + offset);
		if (role != ISA_ROLE_SRC)
			add(ret_access->writes, &ret_access->n_writes, operand->code, operand->width, i + offset);
	}
	add_implicit(ret_access->reads, &ret_access->n_reads, info->implicit_reads);
	add_implicit(ret_access->writes, &ret_access->n_writes, info->implicit_writes);
}
