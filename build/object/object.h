/* SPDX-License-Identifier: MIT */
/*
 * Machine code to an object file, and a linked object to an offload bundle.
 *
 * object_write() lays out one relocatable ELF for AMDGPU (EM_AMDGPU, ELFOSABI_AMDGPU_HSA, code object version 5): .text with every
 * kernel aligned to 256 bytes, .rodata with one 64-byte kernel descriptor each (symbol NAME.kd, R_AMDGPU_REL64 to the kernel),
 * .note with the AMDHSA metadata, .symtab. ld.lld -shared makes the code object from it.
 * Sources: LLVM "User Guide for AMDGPU Backend": sections ELF code object, Kernel descriptor, Code object V5 metadata.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct object_argument {	/* one entry of .args; offset and size in bytes */
	const char *name, *value_kind, *value_type;	/* "by_value", "global_buffer" ...; value_type may be NULL */
	const char *address_space;	/* "generic", "global" or NULL */
	unsigned offset, size;
};

struct object_kernel {
	const char *name;		/* symbol */
	const uint8_t *code;
	size_t code_size;		/* bytes */
	unsigned vgprs, agprs, sgprs;	/* counts, as in struct gemm_code */
	unsigned lds_bytes, kernarg_bytes, workgroup_size, private_bytes;
	const struct object_argument *arguments;
	size_t n_arguments;
};

/* `arch` is "gfx942". Kernels appear in the order given. No kernels is allowed: the object is valid and empty. */
int object_write(const char *arch, const struct object_kernel *kernels, size_t n_kernels, struct buffer *ret_elf, struct error *error);

enum bundle_kind { BUNDLE_NONE, BUNDLE_PLAIN, BUNDLE_COMPRESSED };

/*
 * Wraps a linked code object as clang-offload-bundler does: entries "host-x86_64-unknown-linux-gnu-" (empty) and
 * "hipv4-amdgcn-amd-amdhsa--<arch>", the code object aligned to 4096; BUNDLE_COMPRESSED puts the plain bundle into a CCOB frame with
 * zstd. BUNDLE_NONE copies.
 */
int bundle_write(enum bundle_kind kind, const char *arch, const uint8_t *elf, size_t elf_size, struct buffer *ret_bundle);

/* Finds the code object of `arch` in a bundle of any kind, or in a bare ELF; decompresses into ret_elf. -ENOEXEC for other bytes. */
int bundle_read(const uint8_t *bytes, size_t size, const char *arch, struct buffer *ret_elf, struct error *error);
