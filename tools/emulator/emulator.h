/* SPDX-License-Identifier: MIT */
/*
 * Runs gfx942 code objects on the CPU, wave by wave, stricter than the hardware.
 *
 *     struct emu_object *object;              the code object: ELF, descriptors, metadata, decoded instructions
 *     struct emu_memory *memory;              the device's memory: named regions with unmapped space between them
 *
 *     emu_object_load(bytes, size, &object, &error);
 *     kernel = emu_object_find(object, "name");
 *     emu_memory_new(&memory);
 *     emu_memory_add(memory, "A", size, EMU_READ, a, &address_of_a);       (put the address into the kernarg bytes)
 *     emu_launch(memory, &(struct emu_launch){ .kernel = kernel, .grid = { 4, 1, 1 }, .workgroup = { 256, 1, 1 },
 *                                              .kernarg = bytes, .kernarg_size = n }, &stats, &error);
 *     emu_memory_free(memory); emu_object_unref(object);
 *
 * What is an error although hardware would go on, or what hardware would do silently:
 *     - reading or overwriting a register that a load has not been waited for with s_waitcnt
 *     - reading or overwriting an MFMA result before its wait states have passed (LLVM GCNHazardRecognizer's numbers for gfx940)
 *     - reading a register lane, an SGPR or an LDS byte that nothing has written; a register beyond the kernel's allocation
 *     - LDS outside the allocation; LDS written by another wave that has not waited for its write; two waves that access a byte of LDS,
 *       one of them writing, without a barrier between (atomics apart)
 *     - memory outside every region, by one byte or more; writing a region that is EMU_READ only. A buffer access that its
 *       descriptor's range check drops touches no memory and is no error; one that passes the check must lie in a region
 *     - a barrier that some waves of a workgroup wait at while others have ended
 *     - more instructions in one wave than max_instructions; an instruction that the tables or the emulator do not know
 * The message names kernel, workgroup, wave, address and text of the instruction, and the reason.
 *
 * Not emulated, and said so when executed: sparse matrix instructions (v_smfmac), typed and formatted buffer access, swizzled buffers,
 * scalar stores and atomics, global wave sync, rounding other than to nearest; MODE.FP16_OVFL acts on 8-bit conversions alone.
 *
 * Facts: "AMD Instinct MI300 Instruction Set Architecture" (CDNA3); LLVM's "User Guide for AMDGPU Backend" for descriptors,
 * metadata and initial registers; LLVM's GCNHazardRecognizer for wait states. The summation order inside one MFMA is not public:
 * here products are exact and are added in f32 (f64, i32) in the order of k, so compare real data with bounds, integers exactly.
 * Transcendental functions are rounded from double precision; hardware differs by up to 1 ulp.
 *
 * Threads: an object is immutable once loaded and may be shared; a memory belongs to one launch at a time. emu_launch() runs
 * workgroups on up to `threads` threads of its own; a kernel without races gives the same bytes for any number.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- code objects ----------------------------------------------------------------------------------------------------- */

struct emu_object;

struct emu_argument {		/* one entry of the metadata's .args; offset and size in bytes */
	const char *name;	/* "" when the metadata has none */
	const char *value_kind;	/* "by_value", "global_buffer", "hidden_block_count_x" ... */
	uint32_t offset, size;
};

struct emu_kernel {
	const char *name;		/* as launched, without ".kd" */
	const struct emu_object *object;
	uint64_t entry;			/* address in the code object */
	/* the kernel descriptor */
	uint32_t lds_bytes, private_bytes, kernarg_bytes;
	uint32_t vgprs, accum_offset, sgprs;	/* allocated registers; vgprs counts the whole file, AccVGPRs from accum_offset on */
	uint32_t pgm_rsrc1, pgm_rsrc2, pgm_rsrc3;
	uint16_t properties;		/* kernel_code_properties */
	uint16_t preload_dwords, preload_offset;
	/* the metadata note; zero or empty where it does not say */
	uint32_t max_workgroup;		/* .max_flat_workgroup_size */
	uint32_t meta_lds_bytes, meta_kernarg_bytes, wavefront_size;
	size_t n_arguments;
	const struct emu_argument *arguments;
};

/*
 * Reads a linked code object (ELF shared object for AMDGPU gfx942). Copies what it needs from `bytes`. Never trusts an offset,
 * size or index in it. -ENOEXEC for what is no such object, -EINVAL for a damaged one, -ENOTSUP for another processor.
 * An offload bundle is unwrapped by bundle_read() of build/object/object.h first.
 */
int emu_object_load(const void *bytes, size_t size, struct emu_object **ret_object, struct error *error);
struct emu_object *emu_object_unref(struct emu_object *object);
DEFINE_CLEANUP(struct emu_object *, emu_object_unref)

size_t emu_object_n_kernels(const struct emu_object *object);
const struct emu_kernel *emu_object_kernel(const struct emu_object *object, size_t index);	/* in the order of the symbol table */
const struct emu_kernel *emu_object_find(const struct emu_object *object, const char *name);	/* NULL when there is none */

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

struct emu_memory;

enum { EMU_READ = 1, EMU_WRITE = 2 };

int emu_memory_new(struct emu_memory **ret_memory);
struct emu_memory *emu_memory_free(struct emu_memory *memory);
DEFINE_CLEANUP(struct emu_memory *, emu_memory_free)

/*
 * Registers `size` bytes under `name` (copied, for messages). `data` is used in place and stays the caller's; with NULL the memory
 * owns zeroed bytes. The device address is chosen: aligned to 256 and 8 GiB away from every other region, so that no 32-bit offset
 * slips from one tensor into another. A size of 0 is allowed: the address is then valid for no access.
 */
int emu_memory_add(struct emu_memory *memory, const char *name, size_t size, unsigned access, void *data, uint64_t *ret_address);

/* The same at an address of the caller's choice: for odd alignments. -EEXIST when it overlaps another region. */
int emu_memory_add_at(struct emu_memory *memory, const char *name, uint64_t address, size_t size, unsigned access, void *data);

/* The host bytes behind a device address, if `size` bytes from there lie in one region; else NULL. */
void *emu_memory_host(struct emu_memory *memory, uint64_t address, size_t size);

/* ---- launches --------------------------------------------------------------------------------------------------------- */

enum {
	EMU_ALLOW_UNDEFINED = 1,	/* undefined registers and LDS bytes read as they are: for code that uses undef on purpose */
	EMU_RANGE_WHOLE = 2,		/* raw buffer loads of several dwords: one dword out of range puts the whole access out of range.
					 * Without it each dword is checked by itself, as the CDNA3 ISA says for raw buffers */
	EMU_IGNORE_MFMA_WAIT = 4,	/* do not check wait states after MFMA */
};

struct emu_launch {
	const struct emu_kernel *kernel;
	uint32_t grid[3];		/* in workgroups; a zero is an empty launch */
	uint32_t workgroup[3];		/* work-items per workgroup */
	const void *kernarg;
	size_t kernarg_size;		/* bytes; kernels read no further (padded with zeros to 16) */
	uint32_t dynamic_lds;		/* bytes after the static LDS */
	uint64_t max_instructions;	/* of one wave; 0 means 100 million */
	unsigned threads;		/* 0 means 1 */
	unsigned flags;			/* EMU_* */
};

struct emu_stats {			/* instructions of all waves, by the unit that executed them */
	uint64_t salu, smem, valu, mfma, vmem, flat, lds, waits, barriers;
	uint64_t instructions;		/* all of them */
	uint64_t workgroups, waves;
};

/*
 * Runs the kernel to its end. Hidden arguments of the metadata (hidden_block_count_x ... hidden_group_size_x ...) that lie inside
 * kernarg_bytes but after kernarg_size are filled in. Errors: -EFAULT memory or LDS, -EPROTO missing wait, hazard or barrier,
 * -ENODATA undefined value, -ETIMEDOUT too many instructions, -EILSEQ or -ENOTSUP instruction, -EINVAL the launch itself, -ENOMEM.
 * ret_stats may be NULL; it is written on success only.
 */
int emu_launch(struct emu_memory *memory, const struct emu_launch *launch, struct emu_stats *ret_stats, struct error *error);
