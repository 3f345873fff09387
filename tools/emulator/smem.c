/* SPDX-License-Identifier: MIT */
/* Scalar loads. Source: CDNA3 ISA, "Scalar memory operations". They return in any order: only lgkmcnt(0) covers them. */
#include "tools/emulator/internal.h"

#include <string.h>

static bool is_buffer(const struct op *op)
{
	return op->info->operand[1].width == 4;
}

static int load(struct wave *wave, const struct op *op)
{
	const struct isa_inst *inst = &op->inst;
	unsigned dst = inst->operand[0].code, n = op->info->operand[0].width, base = inst->operand[1].code;
	uint64_t offset = (uint64_t)(int64_t)inst->offset, address, records = UINT64_MAX;

	if (inst->n_operands > 2)
		offset += scalar_operand32(wave, op, 2);
	if (is_buffer(op)) {
		uint32_t stride = wave->s[base + 1] >> 16 & 0x3fff;
		address = wave->s[base] | (uint64_t)(wave->s[base + 1] & 0xffff) << 32;
		records = (uint64_t)wave->s[base + 2] * MAX(stride, 1u);
	} else {
		address = scalar64(wave, base);
	}
	offset &= ~UINT64_C(3);
	for (unsigned i = 0; i < n; i++) {
		uint64_t at = offset + i * 4u;
		wave->s[dst + i] = 0;
		if (is_buffer(op) && at + 4 > records)
			continue;
		const uint8_t *from = memory_access(wave, (address & ~UINT64_C(3)) + at, 4, false, 0);
		if (!from)
			return -EFAULT;
		memcpy(&wave->s[dst + i], from, 4);
	}
	check_load_scalar(wave, dst, n);
	return 0;
}

static int read_time(struct wave *wave, const struct op *op)
{
	unsigned dst = op->inst.operand[0].code;
	wave->s[dst] = (uint32_t)wave->clock;
	wave->s[dst + 1] = (uint32_t)(wave->clock >> 32);
	check_load_scalar(wave, dst, 2);
	return 0;
}

int smem_run(struct wave *wave, const struct op *op)
{
	wave->stats.smem++;
	if (op->info->kind == ISA_KIND_CACHE)
		return 0;
	if (op->inst.op == ISA_S_MEMTIME || op->inst.op == ISA_S_MEMREALTIME)
		return read_time(wave, op);
	if (op->info->kind == ISA_KIND_LOAD && op->inst.operand[0].code + op->info->operand[0].width <= 128)
		return load(wave, op);
	return error_set(wave->error, -ENOTSUP, "scalar stores and atomics are not emulated");
}
