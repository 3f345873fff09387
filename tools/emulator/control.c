/* SPDX-License-Identifier: MIT */
/* Program control: branches and jumps, waits, the barrier, mode registers, register indexing. Source: CDNA3 ISA, "Program flow control". */
#include "tools/emulator/internal.h"

#include <inttypes.h>

#define HWREG_MODE 1
#define HWREG_STATUS 2
#define HWREG_HW_ID 4
#define HWREG_LDS_ALLOC 6
#define HWREG_XCC_ID 20
#define MODE_FP16_OVFL (1u << 23)

void control_set_mode(struct wave *wave)
{
	wave->lanes.f32_flush = (wave->mode >> 4 & 3) != 3;
	wave->lanes.f16_flush = (wave->mode >> 6 & 3) != 3;
	wave->lanes.dx10_clamp = wave->mode >> 8 & 1;
	wave->lanes.saturate = wave->mode & MODE_FP16_OVFL;
}

static int jump(struct wave *wave, uint64_t address)
{
	const struct op *target = code_find(wave->group->code, address - CODE_ADDRESS);
	if (!target)
		return error_set(wave->error, -EFAULT, "jump to 0x%" PRIx64 ", where no instruction of this kernel begins", address);
	wave->pc = target;
	return 0;
}

static bool taken(const struct wave *wave, unsigned op)
{
	switch (op) {
	case ISA_S_BRANCH:
		return true;
	case ISA_S_CBRANCH_SCC0:
		return !wave->scc;
	case ISA_S_CBRANCH_SCC1:
		return wave->scc;
	case ISA_S_CBRANCH_VCCZ:
		return scalar64(wave, ISA_VCC) == 0;
	case ISA_S_CBRANCH_VCCNZ:
		return scalar64(wave, ISA_VCC) != 0;
	case ISA_S_CBRANCH_EXECZ:
		return wave_exec(wave) == 0;
	case ISA_S_CBRANCH_EXECNZ:
		return wave_exec(wave) != 0;
	default:
		return false;	/* debugger branches: there is no debugger */
	}
}

static int branch(struct wave *wave, const struct op *op)
{
	if (!taken(wave, op->inst.op))
		return 0;
	if (op->target < 0)
		return error_set(wave->error, -EFAULT, "branch to a place where no instruction of this kernel begins");
	wave->pc = wave->group->code->ops + op->target;
	return 0;
}

/* Hardware registers: id, first bit and size - 1 are packed as in the instruction. */
static uint32_t *hardware_register(struct wave *wave, unsigned id)
{
	return id == HWREG_MODE ? &wave->mode : NULL;
}

static int get_register(struct wave *wave, const struct op *op)
{
	unsigned id = op->inst.literal & 63, offset = op->inst.literal >> 6 & 31, size = (op->inst.literal >> 11 & 31) + 1;
	uint32_t value;
	switch (id) {
	case HWREG_MODE:
		value = wave->mode;
		break;
	case HWREG_LDS_ALLOC:
		value = (wave->group->lds_bytes + 511) / 512 << 12;
		break;
	case HWREG_STATUS:
	case HWREG_HW_ID:
	case HWREG_XCC_ID:
		value = 0;	/* one die, one compute unit */
		break;
	default:
		return error_set(wave->error, -ENOTSUP, "hardware register %u is not emulated", id);
	}
	scalar_write32(wave, op->inst.operand[0].code, value >> offset & (UINT32_MAX >> (32 - size)));
	return 0;
}

static int set_register(struct wave *wave, const struct op *op, uint32_t packed, uint32_t value)
{
	unsigned id = packed & 63, offset = packed >> 6 & 31, size = (packed >> 11 & 31) + 1;
	uint32_t *reg = hardware_register(wave, id), mask = (UINT32_MAX >> (32 - size)) << offset;
	(void)op;
	if (!reg)
		return error_set(wave->error, -ENOTSUP, "hardware register %u cannot be written", id);
	*reg = (*reg & ~mask) | (value << offset & mask);
	if (wave->mode & 15)
		return error_set(wave->error, -ENOTSUP, "only rounding to nearest is emulated, MODE is 0x%x", wave->mode);
	control_set_mode(wave);
	return 0;
}

static int index_registers(struct wave *wave, const struct op *op)
{
	uint32_t m0 = wave->s[ISA_M0];
	switch (op->inst.op) {
	case ISA_S_SET_GPR_IDX_ON:
		m0 = (m0 & 0xffff0f00) | (scalar_operand32(wave, op, 0) & 0xff) | (op->inst.literal & 15) << 12;
		wave->gpr_index = true;
		break;
	case ISA_S_SET_GPR_IDX_OFF:
		wave->gpr_index = false;
		return 0;
	case ISA_S_SET_GPR_IDX_MODE:
		m0 = (m0 & 0xffff0fff) | (op->inst.literal & 15) << 12;
		break;
	default:
		m0 = (m0 & 0xffffff00) | (scalar_operand32(wave, op, 0) & 0xff);
		break;
	}
	scalar_write32(wave, ISA_M0, m0);
	return 0;
}

static int move_relative(struct wave *wave, const struct op *op)
{
	unsigned dst = op->inst.operand[0].code, src = op->inst.operand[1].code, index = wave->s[ISA_M0];
	unsigned n = op->inst.op == ISA_S_MOVRELS_B64 || op->inst.op == ISA_S_MOVRELD_B64 ? 2 : 1;
	bool from = op->inst.op == ISA_S_MOVRELS_B32 || op->inst.op == ISA_S_MOVRELS_B64;
	if (index > 101 || (from ? src : dst) + index + n > 102)
		return error_set(wave->error, -EFAULT, "M0 is %u, beyond the SGPRs", index);
	if (from)
		src += index;
	else
		dst += index;
	for (unsigned i = 0; i < n; i++) {
		if (from && wave->s_state[src + i] != SCALAR_DEFINED)
			return error_set(wave->error, -ENODATA, "s%u has never been written or is still being loaded", src + i);
		scalar_write32(wave, dst + i, from || src + i < 128 ? wave->s[src + i] : scalar_operand32(wave, op, 1));
	}
	return 0;
}

static int wait(struct wave *wave, const struct op *op)
{
	unsigned vmcnt, expcnt, lgkmcnt;
	isa_waitcnt_unpack((uint16_t)op->inst.literal, &vmcnt, &expcnt, &lgkmcnt);
	check_wait(wave, vmcnt, lgkmcnt);
	wave->stats.waits++;
	return 0;
}

static int mode(struct wave *wave, const struct op *op)
{
	switch (op->inst.op) {
	case ISA_S_SETREG_B32:
		return set_register(wave, op, op->inst.literal, scalar_operand32(wave, op, 1));
	case ISA_S_SETREG_IMM32_B32:
		return set_register(wave, op, (uint32_t)op->inst.offset, op->inst.literal);
	case ISA_S_SET_GPR_IDX_ON:
	case ISA_S_SET_GPR_IDX_OFF:
	case ISA_S_SET_GPR_IDX_MODE:
	case ISA_S_SET_GPR_IDX_IDX:
		return index_registers(wave, op);
	case ISA_S_SLEEP:
	case ISA_S_SETPRIO:
	case ISA_S_WAKEUP:
	case ISA_S_INCPERFLEVEL:
	case ISA_S_DECPERFLEVEL:
	case ISA_S_TTRACEDATA:
		return 0;
	default:
		return error_set(wave->error, -ENOTSUP, "this instruction is not emulated");
	}
}

static int jump_operation(struct wave *wave, const struct op *op)
{
	uint64_t next = CODE_ADDRESS + op->address + op->size, target;
	switch (op->inst.op) {
	case ISA_S_SETPC_B64:
		return jump(wave, scalar_operand64(wave, op, 0));
	case ISA_S_SWAPPC_B64:
		target = scalar_operand64(wave, op, 1);
		scalar_write64(wave, op->inst.operand[0].code, next);
		return jump(wave, target);
	case ISA_S_CALL_B64:
		scalar_write64(wave, op->inst.operand[0].code, next);
		return jump(wave, next + (uint64_t)((int64_t)(int16_t)op->inst.literal * 4));
	case ISA_S_TRAP:
		return error_set(wave->error, -EFAULT, "the kernel traps on purpose");
	default:
		return error_set(wave->error, -ENOTSUP, "this instruction is not emulated");
	}
}

int control_run(struct wave *wave, const struct op *op)
{
	wave->stats.salu++;
	switch (op->info->kind) {
	case ISA_KIND_BRANCH:
		return branch(wave, op);
	case ISA_KIND_JUMP:
		return jump_operation(wave, op);
	case ISA_KIND_END:
		wave->ended = true;
		return 0;
	case ISA_KIND_BARRIER:
		wave->at_barrier = true;
		wave->stats.barriers++;
		return 0;
	case ISA_KIND_WAIT:
		return wait(wave, op);
	case ISA_KIND_NOP:
		wave->clock += op->inst.literal & 15;
		return 0;
	case ISA_KIND_MODE:
		return mode(wave, op);
	case ISA_KIND_CACHE:
		return 0;
	default:
		break;
	}
	switch (op->inst.op) {
	case ISA_S_GETPC_B64:
		scalar_write64(wave, op->inst.operand[0].code, CODE_ADDRESS + op->address + op->size);
		return 0;
	case ISA_S_GETREG_B32:
		return get_register(wave, op);
	default:
		return move_relative(wave, op);
	}
}
