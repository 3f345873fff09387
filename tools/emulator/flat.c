/* SPDX-License-Identifier: MIT */
/*
 * Flat, global and scratch instructions. Source: CDNA3 ISA, "Flat memory instructions"; LLVM "User Guide for AMDGPU Backend",
 * "Address spaces" (scratch of gfx942 is architected: a lane's own bytes from 0 on).
 *
 * A flat instruction counts in vmcnt and lgkmcnt, and its loads return in any order.
 */
#include "tools/emulator/internal.h"

#include <string.h>

struct flat_access {
	const struct memory_row *row;
	unsigned address;	/* VGPR, or ISA_NONE */
	unsigned saddr;		/* SGPR code, or ISA_NONE */
	int32_t offset;
};

/* The bytes of a lane's element, or NULL with wave->error set. LDS is reached through `lds`, as it is checked differently. */
static uint8_t *scratch_place(struct wave *wave, uint64_t address, unsigned size, unsigned lane)
{
	const struct group *group = wave->group;
	if (address > group->private_bytes || size > group->private_bytes - address) {
		error_set(wave->error, -EFAULT, "lane %u: %u bytes of scratch at %llu, but a lane has %u", lane, size,
			  (unsigned long long)address, group->private_bytes);
		return NULL;
	}
	return group->private_memory + ((size_t)wave->index * WAVE + lane) * group->private_bytes + address;
}

static uint64_t effective_address(const struct wave *wave, const struct flat_access *access, unsigned lane)
{
	uint64_t address = (uint64_t)(int64_t)access->offset;
	bool scratch = access->row->segment == SEGMENT_SCRATCH;
	if (access->saddr != ISA_NONE)
		address += scratch ? wave->s[access->saddr] : scalar64(wave, access->saddr);
	if (access->address != ISA_NONE) {
		address += wave->v[access->address][lane];
		if (!scratch && access->saddr == ISA_NONE)
			address += (uint64_t)wave->v[access->address + 1][lane] << 32;
	}
	return scratch ? (uint32_t)address : address;
}

/* Where the element is: host bytes, or an address in LDS (ret_lds is then set). */
static int find_place(struct wave *wave, const struct flat_access *access, uint64_t address, bool write, unsigned lane,
		      uint8_t **ret_place, bool *ret_lds)
{
	const struct memory_row *row = access->row;
	*ret_lds = row->segment == SEGMENT_FLAT && address >> 32 == SHARED_APERTURE;
	if (*ret_lds)
		return 0;
	if (row->segment == SEGMENT_SCRATCH || (row->segment == SEGMENT_FLAT && address >> 32 == PRIVATE_APERTURE))
		*ret_place = scratch_place(wave, (uint32_t)address, row->bytes, lane);
	else
		*ret_place = memory_access(wave, address, row->bytes, write, lane);
	return *ret_place ? 0 : -EFAULT;
}

static int fetch(struct wave *wave, const void *userdata, unsigned lane, uint8_t bytes[16])
{
	const struct flat_access *access = userdata;
	uint64_t address = effective_address(wave, access, lane);
	uint8_t *place;
	bool in_lds;
	int r = find_place(wave, access, address, false, lane, &place, &in_lds);
	if (r < 0)
		return r;
	if (in_lds)
		return lds_read(wave, (uint32_t)address, bytes, access->row->bytes, lane);
	memcpy(bytes, place, access->row->bytes);
	return 0;
}

static void count(struct wave *wave, const struct memory_row *row)
{
	if (row->segment == SEGMENT_FLAT) {
		check_count_flat(wave);
	} else {
		check_count_vm(wave);
	}
}

static void arrive_later(struct wave *wave, const struct memory_row *row, unsigned reg, uint64_t exec)
{
	if (row->segment == SEGMENT_FLAT)
		check_load_flat(wave, reg, memory_dwords(row), exec);
	else
		check_load_vm(wave, reg, memory_dwords(row), exec);
}

static int load(struct wave *wave, const struct flat_access *access, unsigned reg)
{
	uint64_t exec = wave_exec(wave);
	uint8_t bytes[16];
	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		int r = fetch(wave, access, lane, bytes);
		if (r < 0)
			return r;
		memory_load_lane(wave, access->row, reg, lane, bytes);
	}
	arrive_later(wave, access->row, reg, exec);
	return 0;
}

static int store(struct wave *wave, const struct flat_access *access, unsigned reg)
{
	const struct memory_row *row = access->row;
	uint64_t exec = wave_exec(wave);
	for (unsigned lane = 0; lane < WAVE; lane++) {
		uint64_t address;
		uint8_t *place, bytes[16];
		bool in_lds;
		if (!(exec >> lane & 1))
			continue;
		address = effective_address(wave, access, lane);
		int r = find_place(wave, access, address, true, lane, &place, &in_lds);
		if (r < 0)
			return r;
		memory_store_lane(wave, row, reg, lane, bytes);
		if (!in_lds) {
			memcpy(place, bytes, row->bytes);
			continue;
		}
		r = lds_write(wave, (uint32_t)address, bytes, row->bytes, lane);
		if (r < 0)
			return r;
	}
	count(wave, row);
	return 0;
}

static int modify(struct wave *wave, const struct op *op, const struct flat_access *access, unsigned data)
{
	const struct memory_row *row = access->row;
	bool returns = op->inst.flags & ISA_SC0;
	unsigned dst = op->inst.operand[0].code - (unsigned)ISA_VGPR0;
	uint64_t exec = wave_exec(wave);
	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		uint64_t address = effective_address(wave, access, lane), value = vector_value(wave, data, lane, row->bytes), old = 0;
		uint64_t compare = row->atomic == ATOMIC_CMPSWAP ? vector_value(wave, data + row->bytes / 4, lane, row->bytes) : 0;
		uint8_t *place;
		bool in_lds;
		int r = find_place(wave, access, address, true, lane, &place, &in_lds);
		if (r < 0)
			return r;
		if (address % row->bytes)
			return error_set(wave->error, -EFAULT, "lane %u: address 0x%llx of an atomic is not aligned to %u", lane,
					 (unsigned long long)address, row->bytes);
		if (in_lds) {
			r = lds_read(wave, (uint32_t)address, &old, row->bytes, lane);
			uint64_t new = atomic_result(row, old, value, compare);
			r = r < 0 ? r : lds_write(wave, (uint32_t)address, &new, row->bytes, lane);
			if (r < 0)
				return r;
		} else {
			old = atomic_run(wave, row, place, value, compare);
		}
		if (returns)
			memory_load_lane(wave, row, dst, lane, (const uint8_t *)&old);
	}
	if (returns)
		arrive_later(wave, row, dst, exec);
	else
		count(wave, row);
	return 0;
}

static unsigned vgpr_or_none(const struct isa_operand *operand)
{
	return operand->code == ISA_NONE ? (unsigned)ISA_NONE : operand->code - (unsigned)ISA_VGPR0;
}

/* Operands as printed: loads vdst, vaddr, saddr; stores vaddr, vdata, saddr; atomics (vdst), vaddr, vdata, saddr; flat has no
 * saddr. */
int flat_run(struct wave *wave, const struct op *op)
{
	const struct memory_row *row = op->memory;
	const struct isa_operand *operands = op->inst.operand;
	bool leading = (row->kind == MEMORY_LOAD && !row->to_lds) || (row->kind == MEMORY_ATOMIC && op->inst.flags & ISA_SC0);
	unsigned at = leading ? 1 : 0, last = op->inst.n_operands - 1u;
	struct flat_access access = {
		.row = row, .offset = op->inst.offset, .address = vgpr_or_none(&operands[at]), .saddr = ISA_NONE};

	wave->stats.flat++;
	if (row->segment != SEGMENT_FLAT)
		access.saddr = operands[last].code;
	switch ((enum memory_kind)row->kind) {
	case MEMORY_LOAD:
		return row->to_lds ? lds_dma_load(wave, op, fetch, &access) : load(wave, &access, operands[0].code - (unsigned)ISA_VGPR0);
	case MEMORY_STORE:
		return store(wave, &access, operands[1].code - (unsigned)ISA_VGPR0);
	case MEMORY_ATOMIC:
		return modify(wave, op, &access, operands[at + 1].code - (unsigned)ISA_VGPR0);
	}
	return -ENOTSUP;
}
