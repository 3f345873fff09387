/* SPDX-License-Identifier: MIT */
/*
 * Buffer loads, stores and atomics through a resource descriptor.
 *
 * Source: CDNA3 ISA, "Memory buffer instructions", "Range checking". The range check of a raw buffer counts soffset in; loads out of
 * range give 0, stores are dropped. Several dwords are checked one by one (EMU_RANGE_WHOLE: as one).
 */
#include "tools/emulator/internal.h"

#include <string.h>

struct resource {
	uint64_t base;
	uint32_t stride, records;
	bool swizzled;
};

struct access {
	const struct memory_row *row;
	unsigned data, address;		/* VGPRs */
	bool offset_enabled, index_enabled;
	struct resource resource;
	uint64_t offset;		/* soffset + the immediate */
};

static int read_resource(struct wave *wave, unsigned code, struct resource *ret_resource)
{
	const uint32_t *words = wave->s + code;
	if (words[3] >> 23 & 1)
		return error_set(wave->error, -ENOTSUP, "buffer resources that add the thread id are not emulated");
	*ret_resource = (struct resource){
		.base = words[0] | (uint64_t)(words[1] & 0xffff) << 32,
		.stride = words[1] >> 16 & 0x3fff,
		.swizzled = words[1] >> 31,
		.records = words[2],
	};
	if (ret_resource->swizzled)
		return error_set(wave->error, -ENOTSUP, "swizzled buffers are not emulated");
	return 0;
}

/* Where lane's access begins, and whether its bytes [from, from + size) are in range. */
static uint64_t lane_offset(const struct wave *wave, const struct access *access, unsigned lane, uint32_t *ret_index)
{
	unsigned reg = access->address;
	uint32_t index = access->index_enabled ? wave->v[reg++][lane] : 0;
	uint64_t offset = access->offset_enabled ? wave->v[reg][lane] : 0;
	*ret_index = index;
	return offset + access->offset;
}

static bool in_range(const struct access *access, uint32_t index, uint64_t offset, unsigned size)
{
	const struct resource *resource = &access->resource;
	if (access->index_enabled && resource->stride)
		return index < resource->records;
	return offset + size <= resource->records;
}

static uint64_t lane_address(const struct access *access, uint32_t index, uint64_t offset)
{
	return access->resource.base + (uint64_t)index * access->resource.stride + offset;
}

/* The bytes that a lane's element is checked by: a dword, or all of it. */
static unsigned step(const struct wave *wave, const struct memory_row *row)
{
	bool whole = wave->group->launch->flags & EMU_RANGE_WHOLE || row->kind == MEMORY_ATOMIC;
	return whole ? row->bytes : MIN(row->bytes, 4u);
}

/* Collects a lane's element; what is out of range is 0. */
static int fetch(struct wave *wave, const void *userdata, unsigned lane, uint8_t bytes[16])
{
	const struct access *access = userdata;
	uint32_t index;
	uint64_t offset = lane_offset(wave, access, lane, &index);
	unsigned size = step(wave, access->row);

	memset(bytes, 0, 16);
	if (size < access->row->bytes && in_range(access, index, offset, access->row->bytes))
		size = access->row->bytes;
	for (unsigned at = 0; at < access->row->bytes; at += size) {
		if (!in_range(access, index, offset + at, size))
			continue;
		const uint8_t *from = memory_access(wave, lane_address(access, index, offset + at), size, false, lane);
		if (!from)
			return -EFAULT;
		memcpy(bytes + at, from, size);
	}
	return 0;
}

static int load(struct wave *wave, const struct access *access)
{
	const struct memory_row *row = access->row;
	uint64_t exec = wave_exec(wave);
	uint8_t bytes[16];

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		int r = fetch(wave, access, lane, bytes);
		if (r < 0)
			return r;
		memory_load_lane(wave, row, access->data, lane, bytes);
	}
	check_load_vm(wave, access->data, memory_dwords(row), exec);
	return 0;
}

static int store(struct wave *wave, const struct access *access)
{
	const struct memory_row *row = access->row;
	uint64_t exec = wave_exec(wave);
	uint8_t bytes[16];
	uint32_t index;

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		uint64_t offset = lane_offset(wave, access, lane, &index);
		unsigned size = step(wave, row);
		memory_store_lane(wave, row, access->data, lane, bytes);
		for (unsigned at = 0; at < row->bytes; at += size) {
			if (!in_range(access, index, offset + at, size))
				continue;
			uint8_t *to = memory_access(wave, lane_address(access, index, offset + at), size, true, lane);
			if (!to)
				return -EFAULT;
			memcpy(to, bytes + at, size);
		}
	}
	check_count_vm(wave);
	return 0;
}

static int modify(struct wave *wave, const struct op *op, const struct access *access)
{
	const struct memory_row *row = access->row;
	bool returns = op->inst.flags & ISA_SC0;
	uint64_t exec = wave_exec(wave);
	uint32_t index;

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		uint64_t offset = lane_offset(wave, access, lane, &index), old = 0;
		uint64_t value = vector_value(wave, access->data, lane, row->bytes);
		uint64_t compare = row->atomic == ATOMIC_CMPSWAP ? vector_value(wave, access->data + row->bytes / 4, lane, row->bytes) : 0;
		if (in_range(access, index, offset, row->bytes)) {
			uint8_t *place = memory_access(wave, lane_address(access, index, offset), row->bytes, true, lane);
			if (!place)
				return -EFAULT;
			old = atomic_run(wave, row, place, value, compare);
		}
		if (returns)
			memory_load_lane(wave, row, access->data, lane, (const uint8_t *)&old);
	}
	if (returns)
		check_load_vm(wave, access->data, memory_dwords(row), exec);
	else
		check_count_vm(wave);
	return 0;
}

int buffer_run(struct wave *wave, const struct op *op)
{
	const struct isa_inst *inst = &op->inst;
	bool to_lds = inst->flags & ISA_LDS;
	unsigned next = to_lds ? 0 : 1;		/* without vdata the other operands move up */
	struct access access = {
		.row = op->memory,
		.offset_enabled = inst->flags & ISA_OFFEN,
		.index_enabled = inst->flags & ISA_IDXEN,
		.offset = (uint64_t)inst->offset + scalar_operand32(wave, op, next + 2),
	};

	wave->stats.vmem++;
	if (!to_lds)
		access.data = inst->operand[0].code - (unsigned)ISA_VGPR0;
	if (inst->operand[next].code != ISA_NONE)
		access.address = inst->operand[next].code - (unsigned)ISA_VGPR0;
	int r = read_resource(wave, inst->operand[next + 1].code, &access.resource);
	if (r < 0)
		return r;
	switch ((enum memory_kind)op->memory->kind) {
	case MEMORY_LOAD:
		return to_lds ? lds_dma_load(wave, op, fetch, &access) : load(wave, &access);
	case MEMORY_STORE:
		return store(wave, &access);
	case MEMORY_ATOMIC:
		return modify(wave, op, &access);
	}
	return -ENOTSUP;
}
