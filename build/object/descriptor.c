/* SPDX-License-Identifier: MIT */
/*
 * The 64-byte kernel descriptor of gfx90a, gfx942.
 * Source: LLVM "User Guide for AMDGPU Backend", tables "Kernel Descriptor", compute_pgm_rsrc1, compute_pgm_rsrc2, and
 * compute_pgm_rsrc3 for GFX90A.
 */
#include "build/object/object_internal.h"

#include <endian.h>

#define VGPR_GRANULE 8			/* of allocation and of the encoding: unified register file, wave64 */
#define SGPR_GRANULE 8			/* of the encoding; allocation is by 16 */
#define ACCUM_GRANULE 4
#define EXTRA_SGPRS 6			/* VCC, XNACK mask, flat scratch: reserved whenever flat scratch is architected (gfx940 on) */

enum {					/* byte offsets of fields */
	GROUP_SEGMENT_FIXED_SIZE = 0,
	PRIVATE_SEGMENT_FIXED_SIZE = 4,
	KERNARG_SIZE = 8,
	COMPUTE_PGM_RSRC3 = 44,
	COMPUTE_PGM_RSRC1 = 48,
	COMPUTE_PGM_RSRC2 = 52,
	KERNEL_CODE_PROPERTIES = 56,
};

enum {
	RSRC1_SGPRS_SHIFT = 6,
	RSRC1_DENORM_32_KEEP = 3 << 16,
	RSRC1_DENORM_16_64_KEEP = 3 << 18,
	RSRC1_DX10_CLAMP = 1 << 21,
	RSRC1_IEEE_MODE = 1 << 23,
	RSRC2_PRIVATE_SEGMENT = 1 << 0,
	RSRC2_USER_SGPRS_SHIFT = 1,
	RSRC2_WORKGROUP_ID_X = 1 << 7,
	PROPERTY_KERNARG_SEGMENT_PTR = 1 << 3,
};

#define USER_SGPRS 2			/* the kernarg segment pointer */

unsigned descriptor_accum_offset(const struct object_kernel *kernel)
{
	return MAX((unsigned)round_up(kernel->vgprs, ACCUM_GRANULE), ACCUM_GRANULE);
}

unsigned descriptor_total_vgprs(const struct object_kernel *kernel)
{
	return kernel->agprs ? descriptor_accum_offset(kernel) + kernel->agprs : kernel->vgprs;
}

unsigned descriptor_total_sgprs(const struct object_kernel *kernel)
{
	return kernel->sgprs + EXTRA_SGPRS;
}

/* Registers are counted in granules, less one. */
static unsigned granules(unsigned registers, unsigned granule)
{
	return (unsigned)ceil_div(MAX(registers, 1u), granule) - 1;
}

static void put32(uint8_t *descriptor, size_t offset, uint32_t value)
{
	uint32_t little = htole32(value);
	memcpy(descriptor + offset, &little, sizeof(little));
}

void descriptor_write(const struct object_kernel *kernel, uint8_t descriptor[DESCRIPTOR_SIZE])
{
	uint32_t rsrc1 = granules(descriptor_total_vgprs(kernel), VGPR_GRANULE) |
			 granules(descriptor_total_sgprs(kernel), SGPR_GRANULE) << RSRC1_SGPRS_SHIFT |
			 RSRC1_DENORM_32_KEEP | RSRC1_DENORM_16_64_KEEP | RSRC1_DX10_CLAMP | RSRC1_IEEE_MODE;
	/* The LDS size in rsrc2 stays 0: the packet processor takes it from the dispatch packet. */
	uint32_t rsrc2 = (kernel->private_bytes ? RSRC2_PRIVATE_SEGMENT : 0) | USER_SGPRS << RSRC2_USER_SGPRS_SHIFT |
			 RSRC2_WORKGROUP_ID_X;
	uint32_t rsrc3 = descriptor_accum_offset(kernel) / ACCUM_GRANULE - 1;

	memset(descriptor, 0, DESCRIPTOR_SIZE);
	put32(descriptor, GROUP_SEGMENT_FIXED_SIZE, kernel->lds_bytes);
	put32(descriptor, PRIVATE_SEGMENT_FIXED_SIZE, kernel->private_bytes);
	put32(descriptor, KERNARG_SIZE, kernel->kernarg_bytes);
	put32(descriptor, COMPUTE_PGM_RSRC3, rsrc3);
	put32(descriptor, COMPUTE_PGM_RSRC1, rsrc1);
	put32(descriptor, COMPUTE_PGM_RSRC2, rsrc2);
	put32(descriptor, KERNEL_CODE_PROPERTIES, PROPERTY_KERNARG_SEGMENT_PTR);
}
