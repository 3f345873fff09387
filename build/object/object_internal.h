/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#pragma once

#include "build/object/object.h"

struct object_arch {
	const char *name;
	uint32_t elf_flags;		/* e_flags: machine, and XNACK and SRAMECC "any" */
	unsigned max_vgprs, max_agprs, max_sgprs, max_lds_bytes, max_workgroup_size;
};

#define DESCRIPTOR_SIZE 64		/* bytes */
#define DESCRIPTOR_ENTRY_OFFSET 16	/* of the 64-bit distance from descriptor to code, filled by a relocation */

/* VGPRs of both kinds share one file; the AccVGPRs begin at the accumulation offset, a multiple of 4. Never 0. */
unsigned descriptor_accum_offset(const struct object_kernel *kernel);

/* All VGPRs of the file that a wave occupies, without rounding to the granule of allocation. */
unsigned descriptor_total_vgprs(const struct object_kernel *kernel);

/* SGPRs with those that the hardware adds behind the numbered ones. */
unsigned descriptor_total_sgprs(const struct object_kernel *kernel);

void descriptor_write(const struct object_kernel *kernel, uint8_t descriptor[DESCRIPTOR_SIZE]);

/* Appends one ELF note with the AMDHSA metadata of the kernels. */
void metadata_append_note(struct buffer *out, const struct object_arch *arch, const struct object_kernel *kernels, size_t n_kernels);
