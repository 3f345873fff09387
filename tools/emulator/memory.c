/* SPDX-License-Identifier: MIT */
/* The device's memory: sorted regions with unmapped space between them. */
#include "tools/emulator/internal.h"

#include <inttypes.h>

#define FIRST_ADDRESS 0x700000000000u
#define GAP (UINT64_C(8) << 30)	/* more than any 32-bit offset reaches */

struct emu_memory {
	struct region **regions;	/* by address */
	size_t n_regions;
	uint64_t next;			/* address for the next region that leaves the choice to us */
};

int emu_memory_new(struct emu_memory **ret_memory)
{
	struct emu_memory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->next = FIRST_ADDRESS;
	*ret_memory = memory;
	return 0;
}

static struct region *region_free(struct region *region)
{
	if (region->owned)
		free(region->data);
	free(region->name);
	free(region);
	return NULL;
}

struct emu_memory *emu_memory_free(struct emu_memory *memory)
{
	if (!memory)
		return NULL;
	for (size_t i = 0; i < memory->n_regions; i++)
		region_free(memory->regions[i]);
	free(memory->regions);
	free(memory);
	return NULL;
}

/* The number of regions that begin at or before `address`. */
static size_t regions_up_to(const struct emu_memory *memory, uint64_t address)
{
	size_t low = 0, high = memory->n_regions;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (memory->regions[middle]->address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int emu_memory_add_at(struct emu_memory *memory, const char *name, uint64_t address, size_t size, unsigned access, void *data)
{
	if (!memory || !name || address + size < address)
		return -EINVAL;

	size_t place = regions_up_to(memory, address);
	const struct region *before = place > 0 ? memory->regions[place - 1] : NULL;
	const struct region *after = place < memory->n_regions ? memory->regions[place] : NULL;
	if (before && (before->address + before->size > address || before->address == address))
		return -EEXIST;
	if (after && address + size > after->address)
		return -EEXIST;

	struct region **regions = reallocarray(memory->regions, memory->n_regions + 1, sizeof(*regions));
	if (!regions)
		return -ENOMEM;
	memory->regions = regions;

	struct region *region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	*region = (struct region){ .name = strdup(name), .address = address, .size = size, .access = access, .data = data };
	if (!data) {
		region->data = calloc(1, MAX(size, 1));
		region->owned = true;
	}
	if (!region->name || !region->data) {
		region_free(region);
		return -ENOMEM;
	}
	memmove(regions + place + 1, regions + place, (memory->n_regions - place) * sizeof(*regions));
	regions[place] = region;
	memory->n_regions++;
	return 0;
}

int emu_memory_add(struct emu_memory *memory, const char *name, size_t size, unsigned access, void *data, uint64_t *ret_address)
{
	if (!memory)
		return -EINVAL;
	uint64_t address = memory->next;
	int r = emu_memory_add_at(memory, name, address, size, access, data);
	if (r < 0)
		return r;
	memory->next = round_up(address + size, 256) + GAP;
	*ret_address = address;
	return 0;
}

void memory_remove(struct emu_memory *memory, uint64_t address)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		if (memory->regions[i]->address != address)
			continue;
		region_free(memory->regions[i]);
		memory->n_regions--;
		memmove(memory->regions + i, memory->regions + i + 1, (memory->n_regions - i) * sizeof(memory->regions[0]));
		return;
	}
}

void *emu_memory_host(struct emu_memory *memory, uint64_t address, size_t size)
{
	size_t place = regions_up_to(memory, address);
	if (place == 0)
		return NULL;
	struct region *region = memory->regions[place - 1];
	uint64_t offset = address - region->address;
	if (offset > region->size || size > region->size - offset)
		return NULL;
	return region->data + offset;
}

/* Says which region an address misses, and by how much. */
static uint8_t *outside(struct wave *wave, uint64_t address, size_t size, bool write, unsigned lane)
{
	const struct emu_memory *memory = wave->group->memory;
	const char *what = write ? "write" : "read";
	size_t place = regions_up_to(memory, address);
	const struct region *before = place > 0 ? memory->regions[place - 1] : NULL;
	const struct region *after = place < memory->n_regions ? memory->regions[place] : NULL;
	uint64_t past = before ? address + size - (before->address + before->size) : UINT64_MAX;

	if (before && (!after || past < after->address - address))
		error_set(wave->error, -EFAULT,
			  "lane %u: %s of %zu bytes at 0x%" PRIx64 " ends %" PRIu64 " bytes after '%s' (%zu bytes at 0x%" PRIx64
			  ")",
			  lane, what, size, address, past, before->name, before->size, before->address);
	else if (after)
		error_set(wave->error, -EFAULT,
			  "lane %u: %s of %zu bytes at 0x%" PRIx64 " begins %" PRIu64 " bytes before '%s' (%zu bytes at 0x%" PRIx64
			  ")",
			  lane, what, size, address, after->address - address, after->name, after->size, after->address);
	else
		error_set(wave->error, -EFAULT, "lane %u: %s of %zu bytes at 0x%" PRIx64 ", and there is no memory at all", lane,
			  what, size, address);
	return NULL;
}

uint8_t *memory_access(struct wave *wave, uint64_t address, size_t size, bool write, unsigned lane)
{
	struct region *region = wave->last_region;
	if (!region || address - region->address >= region->size || size > region->size - (address - region->address)) {
		const struct emu_memory *memory = wave->group->memory;
		size_t place = regions_up_to(memory, address);
		region = place > 0 ? memory->regions[place - 1] : NULL;
		if (!region || address - region->address >= region->size || size > region->size - (address - region->address))
			return outside(wave, address, size, write, lane);
		wave->last_region = region;
	}
	if (!(region->access & (write ? EMU_WRITE : EMU_READ))) {
		error_set(wave->error, -EFAULT, "lane %u: %s of %zu bytes at 0x%" PRIx64 " in '%s', which does not allow it", lane,
			  write ? "write" : "read", size, address, region->name);
		return NULL;
	}
	return region->data + (address - region->address);
}
