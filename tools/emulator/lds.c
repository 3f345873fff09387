/* SPDX-License-Identifier: MIT */
/*
 * LDS: its bytes with their definedness, and the ds_ instructions.
 *
 * lds_writer holds for each dword which wave wrote it last and in which of its LDS operations, so that a read by another wave can
 * tell whether the writer has waited: (wave + 1) << 27 | sequence, 0 for nobody. A byte that a load to LDS is going to write is
 * undefined until that load has been waited for.
 */
#include "tools/emulator/internal.h"

#include <string.h>

#define SEQUENCE_BITS 27
#define SEQUENCE_MASK ((1u << SEQUENCE_BITS) - 1)
#define SEVERAL 255

static int bounds(struct wave *wave, uint32_t address, size_t size, unsigned lane)
{
	uint32_t bytes = wave->group->lds_bytes;
	if (address <= bytes && size <= bytes - address)
		return 0;
	return error_set(wave->error, -EFAULT, "lane %u: %zu bytes of LDS at %u, but the workgroup has %u", lane, size, address,
			 bytes);
}

static int undefined(struct wave *wave, uint32_t address, size_t size, unsigned lane)
{
	const struct group *group = wave->group;
	for (size_t i = 0; i < size; i++) {
		if (!group->lds_defined[address + i])
			return error_set(wave->error, -ENODATA,
					 "lane %u: LDS byte %zu has not been written, or its load has not been waited for", lane,
					 address + i);
	}
	return 0;
}

static int unwaited(struct wave *wave, uint32_t address, size_t size, unsigned lane)
{
	const struct group *group = wave->group;
	for (size_t dword = address / 4; dword <= (address + size - 1) / 4; dword++) {
		uint32_t writer = group->lds_writer[dword] >> SEQUENCE_BITS;
		if (!writer || writer - 1 == wave->index)
			continue;
		if ((group->waves[writer - 1].lgkm.done & SEQUENCE_MASK) < (group->lds_writer[dword] & SEQUENCE_MASK))
			return error_set(wave->error, -EPROTO,
					 "lane %u: LDS dword at %zu was written by wave %u, which has not waited for that", lane,
					 dword * 4, writer - 1);
	}
	return 0;
}

/* Whether all of these (at most 16) bytes have been touched by nobody or by this wave alone. */
static bool is_own(const struct wave *wave, const uint8_t *who, size_t size)
{
	static const uint8_t nobody[16];
	if (memcmp(who, nobody, size) == 0)
		return true;
	for (size_t i = 0; i < size; i++) {
		if (who[i] && who[i] != wave->index + 1)
			return false;
	}
	return true;
}

static int race(struct wave *wave, uint32_t address, size_t size, bool write, unsigned lane)
{
	const struct group *group = wave->group;
	const uint8_t *written = group->lds_written + address, *read = group->lds_read + address;
	if (!is_own(wave, written, size))
		return error_set(wave->error, -EPROTO,
				 "lane %u: LDS race: another wave has written to the %zu bytes at %u, and no barrier came between",
				 lane, size, address);
	if (write && !is_own(wave, read, size))
		return error_set(wave->error, -EPROTO,
				 "lane %u: LDS race: another wave has read from the %zu bytes at %u, and no barrier came between",
				 lane, size, address);
	return 0;
}

static void mark_read(struct wave *wave, uint32_t address, size_t size)
{
	uint8_t *read = wave->group->lds_read + address, self = (uint8_t)(wave->index + 1);
	for (size_t i = 0; i < size; i++)
		read[i] = read[i] == 0 || read[i] == self ? self : SEVERAL;
}

void lds_barrier(struct group *group)
{
	memset(group->lds_written, 0, group->lds_bytes);
	memset(group->lds_read, 0, group->lds_bytes);
}

/* For atomics: the LDS unit does them one after the other, whoever has waited for what. */
static int read_defined(struct wave *wave, uint32_t address, void *bytes, size_t size, unsigned lane)
{
	const struct group *group = wave->group;
	int r = bounds(wave, address, size, lane);
	if (r < 0)
		return r;
	if (memchr(group->lds_defined + address, 0, size) && !(group->launch->flags & EMU_ALLOW_UNDEFINED)) {
		r = undefined(wave, address, size, lane);
		if (r < 0)
			return r;
	}
	memcpy(bytes, group->lds + address, size);
	return 0;
}

int lds_read(struct wave *wave, uint32_t address, void *bytes, size_t size, unsigned lane)
{
	int r = read_defined(wave, address, bytes, size, lane);
	if (r == 0)
		r = race(wave, address, size, false, lane);
	if (r < 0)
		return r;
	mark_read(wave, address, size);
	return unwaited(wave, address, size, lane);
}

static void put(struct wave *wave, uint32_t address, const void *bytes, size_t size)
{
	struct group *group = wave->group;
	memcpy(group->lds + address, bytes, size);
	memset(group->lds_defined + address, 1, size);
	uint32_t writer = (wave->index + 1) << SEQUENCE_BITS | ((wave->lgkm.issued + 1) & SEQUENCE_MASK);
	for (size_t dword = address / 4; dword <= (address + size - 1) / 4; dword++)
		group->lds_writer[dword] = writer;
}

int lds_write(struct wave *wave, uint32_t address, const void *bytes, size_t size, unsigned lane)
{
	int r = bounds(wave, address, size, lane);
	if (r == 0)
		r = race(wave, address, size, true, lane);
	if (r < 0)
		return r;
	memset(wave->group->lds_written + address, (int)wave->index + 1, size);
	put(wave, address, bytes, size);
	return 0;
}

static int dma_issue(struct wave *wave, const struct lds_dma *dma)
{
	if (wave->n_dma == MAX_DMA)
		return error_set(wave->error, -EPROTO, "more than %u loads to LDS are under way", MAX_DMA);
	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(dma->lanes >> lane & 1))
			continue;
		uint32_t address = dma->address + lane * 4;
		int r = bounds(wave, address, 4, lane);
		if (r == 0)
			r = race(wave, address, 4, true, lane);
		if (r < 0)
			return r;
		memset(wave->group->lds_defined + address, 0, 4);
		memset(wave->group->lds_written + address, (int)wave->index + 1, 4);
	}
	wave->dma[wave->n_dma++] = *dma;
	return 0;
}

int lds_dma_load(struct wave *wave, const struct op *op, lane_fetch fetch, const void *userdata)
{
	struct lds_dma dma = { .sequence = wave->vm.issued + 1, .lanes = wave_exec(wave) };
	if (wave->s_state[ISA_M0] != SCALAR_DEFINED)
		return error_set(wave->error, -ENODATA, "m0 has never been written");
	dma.address = (wave->s[ISA_M0] & 0xffff) + (uint32_t)op->inst.offset;
	for (unsigned lane = 0; lane < WAVE; lane++) {
		uint8_t bytes[16] = { 0 };
		if (!(dma.lanes >> lane & 1))
			continue;
		int r = fetch(wave, userdata, lane, bytes);
		if (r < 0)
			return r;
		memcpy(&dma.data[lane], bytes, 4);
	}
	check_count_vm(wave);
	return dma_issue(wave, &dma);
}

void lds_dma_arrive(struct wave *wave, const struct lds_dma *dma)
{
	struct group *group = wave->group;
	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(dma->lanes >> lane & 1))
			continue;
		uint32_t address = dma->address + lane * 4;
		memcpy(group->lds + address, &dma->data[lane], 4);
		memset(group->lds_defined + address, 1, 4);
		group->lds_writer[address / 4] = 0;
	}
}

/* ---- reads, writes, atomics ------------------------------------------------------------------------------------------- */

static uint32_t element_address(const struct wave *wave, const struct op *op, unsigned reg, unsigned lane, unsigned element)
{
	const struct memory_row *row = op->memory;
	uint32_t base = wave->v[reg][lane], offset = (uint32_t)op->inst.offset;
	if (row->pair)
		offset = (element ? offset >> 8 & 0xff : offset & 0xff) * row->bytes * row->pair;
	return base + offset;
}

static int read_elements(struct wave *wave, const struct op *op)
{
	const struct memory_row *row = op->memory;
	unsigned dst = op->inst.operand[0].code - (unsigned)ISA_VGPR0, addr = op->inst.operand[1].code - (unsigned)ISA_VGPR0;
	unsigned n = row->pair ? 2 : 1, dwords = memory_dwords(row);
	uint64_t exec = wave_exec(wave);
	uint8_t bytes[2][16];

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		for (unsigned i = 0; i < n; i++) {
			int r = lds_read(wave, element_address(wave, op, addr, lane, i), bytes[i], row->bytes, lane);
			if (r < 0)
				return r;
		}
		for (unsigned i = 0; i < n; i++)	/* after both reads: the address may lie in the destination */
			memory_load_lane(wave, row, dst + i * dwords, lane, bytes[i]);
	}
	check_load_lgkm(wave, dst, n * dwords, exec);
	return 0;
}

static int write_elements(struct wave *wave, const struct op *op)
{
	const struct memory_row *row = op->memory;
	unsigned addr = op->inst.operand[0].code - (unsigned)ISA_VGPR0;
	uint64_t exec = wave_exec(wave);
	uint8_t bytes[16];

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		for (unsigned i = 0; i < (row->pair ? 2u : 1u); i++) {
			memory_store_lane(wave, row, op->inst.operand[1 + i].code - (unsigned)ISA_VGPR0, lane, bytes);
			int r = lds_write(wave, element_address(wave, op, addr, lane, i), bytes, row->bytes, lane);
			if (r < 0)
				return r;
		}
	}
	check_count_lgkm(wave);
	return 0;
}

static int modify_elements(struct wave *wave, const struct op *op)
{
	const struct memory_row *row = op->memory;
	bool returns = op->info->operand[0].role == ISA_ROLE_DST;
	unsigned next = returns ? 1 : 0, addr = op->inst.operand[next].code - (unsigned)ISA_VGPR0;
	unsigned data = op->inst.operand[next + 1].code - (unsigned)ISA_VGPR0;
	bool two = op->inst.n_operands > next + 2;	/* first the value compared with (or the mask), then the new one */
	unsigned second = two ? op->inst.operand[next + 2].code - (unsigned)ISA_VGPR0 : data;
	uint64_t exec = wave_exec(wave);

	for (unsigned lane = 0; lane < WAVE; lane++) {
		if (!(exec >> lane & 1))
			continue;
		uint32_t address = element_address(wave, op, addr, lane, 0);
		uint64_t old = 0, new;
		if (address % row->bytes)
			return error_set(wave->error, -EFAULT, "lane %u: LDS address %u of an atomic is not aligned to %u", lane,
					 address, row->bytes);
		int r = read_defined(wave, address, &old, row->bytes, lane);
		if (r < 0)
			return r;
		new = atomic_result(row, old, vector_value(wave, second, lane, row->bytes),
				    vector_value(wave, data, lane, row->bytes));
		put(wave, address, &new, row->bytes);
		if (returns)
			memory_load_lane(wave, row, op->inst.operand[0].code - (unsigned)ISA_VGPR0, lane, (const uint8_t *)&old);
	}
	if (returns)
		check_load_lgkm(wave, op->inst.operand[0].code - (unsigned)ISA_VGPR0, memory_dwords(row), exec);
	else
		check_count_lgkm(wave);
	return 0;
}

/* ---- lanes to lanes --------------------------------------------------------------------------------------------------- */

/* The lane that ds_swizzle_b32 takes lane i from. */
static unsigned swizzle_lane(unsigned pattern, unsigned i)
{
	if (pattern >> 8 == 0x80)					/* quad permutation */
		return (i & ~3u) | (pattern >> 2 * (i & 3) & 3);
	if (pattern >> 14 == 3) {					/* rotation in groups of 32 */
		unsigned distance = pattern >> 5 & 31, keep = pattern & 31;
		unsigned lane = pattern >> 10 & 1 ? i - distance : i + distance;
		return (i & 32) | (i & keep) | (lane & 31 & ~keep);
	}
	return (i & 32) | (((i & (pattern & 31)) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31));
}

static int across_lanes(struct wave *wave, const struct op *op)
{
	unsigned dst = op->inst.operand[0].code - (unsigned)ISA_VGPR0, first = op->inst.operand[1].code - (unsigned)ISA_VGPR0;
	unsigned data = op->inst.op == ISA_DS_SWIZZLE_B32 ? first : op->inst.operand[2].code - (unsigned)ISA_VGPR0;
	unsigned offset = (unsigned)op->inst.offset;
	uint64_t exec = wave_exec(wave);
	uint32_t result[WAVE] = { 0 };

	for (unsigned i = 0; i < WAVE; i++) {
		unsigned lane;
		if (!(exec >> i & 1))
			continue;
		if (op->inst.op == ISA_DS_SWIZZLE_B32)
			lane = swizzle_lane(offset, i);
		else
			lane = (wave->v[first][i] + offset) / 4 & 63;
		if (op->inst.op == ISA_DS_PERMUTE_B32)
			result[lane] = wave->v[data][i];
		else if (exec >> lane & 1)			/* inactive lanes give zero */
			result[i] = wave->v[data][lane];
	}
	for (unsigned i = 0; i < WAVE; i++) {
		if (exec >> i & 1)
			wave->v[dst][i] = result[i];
	}
	check_load_lgkm(wave, dst, 1, exec);
	return 0;
}

int ds_run(struct wave *wave, const struct op *op)
{
	wave->stats.lds++;
	if (op->inst.op == ISA_DS_SWIZZLE_B32 || op->inst.op == ISA_DS_BPERMUTE_B32 || op->inst.op == ISA_DS_PERMUTE_B32)
		return across_lanes(wave, op);
	if (op->inst.op == ISA_DS_NOP)
		return 0;
	switch ((enum memory_kind)op->memory->kind) {
	case MEMORY_LOAD:
		return read_elements(wave, op);
	case MEMORY_STORE:
		return write_elements(wave, op);
	case MEMORY_ATOMIC:
		return modify_elements(wave, op);
	}
	return -ENOTSUP;
}
