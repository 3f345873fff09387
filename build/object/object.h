/* SPDX-License-Identifier: MIT */
/*
 * Machine code to an object file, and a linked object to an offload bundle.
 *
 * object_write() lays out one relocatable ELF for AMDGPU (EM_AMDGPU, ELFOSABI_AMDGPU_HSA, code object version 5): .text with every
 * kernel aligned to 256 bytes, .rodata with one 64-byte kernel descriptor each (symbol NAME.kd, R_AMDGPU_REL64 to the kernel),
 * .note with the AMDHSA metadata, .symtab. ld.lld -shared makes the code object from it.
 * Sources: LLVM "User Guide for AMDGPU Backend": sections ELF code object, Kernel descriptor, Code object V5 metadata.
 *
 * The bytes are a function of the arguments alone, but for BUNDLE_COMPRESSED: these also depend on the version of libzstd. A key
 * of stored compressed bundles therefore has to contain ZSTD_versionNumber().
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

struct object_argument {	/* one entry of .args; offset and size in bytes */
	const char *name, *value_kind, *value_type;	/* "by_value", "global_buffer" ...; value_type may be NULL */
	const char *address_space;	/* "generic", "global" or NULL */
	unsigned offset, size;
};

/*
 * What a kernel finds when it starts: s[0:1] the kernarg segment, s2 the workgroup id x, v0 the work-item id x; wave64. Its mode
 * register is LLVM's default for compute: round to nearest even, denormals kept (f16, f32, f64), IEEE mode, DX10 clamp.
 */
struct object_kernel {
	const char *name;		/* symbol */
	const uint8_t *code;
	size_t code_size;		/* bytes, a multiple of 4 */
	unsigned vgprs, agprs, sgprs;	/* counts, as in struct gemm_code: agprs apart, sgprs without VCC */
	unsigned lds_bytes, kernarg_bytes, workgroup_size, private_bytes;
	const struct object_argument *arguments;
	size_t n_arguments;
};

/*
 * `arch` is "gfx942". Kernels appear in the order given. No kernels is allowed: the object is valid and empty.
 * -EINVAL with a message for an arch without a table row, a kernel without code, or a number that the hardware does not have; -EEXIST
 * for two kernels of one name; -ENOMEM.
 */
int object_write(const char *arch, const struct object_kernel *kernels, size_t n_kernels, struct buffer *ret_elf, struct error *error);

enum bundle_kind { BUNDLE_NONE, BUNDLE_PLAIN, BUNDLE_COMPRESSED };

/*
 * Wraps a linked code object as hipBLASLt has clang-offload-bundler do (-type=o -bundle-align=4096): entries
 * "host-x86_64-unknown-linux-gnu-" (empty) and "hipv4-amdgcn-amd-amdhsa--<arch>", the code object at offset 4096. BUNDLE_COMPRESSED puts
 * the plain bundle into a CCOB frame of version 3 with zstd. BUNDLE_NONE copies. -ENOMEM; -EIO when libzstd or libcrypto fail.
 */
int bundle_write(enum bundle_kind kind, const char *arch, const uint8_t *elf, size_t elf_size, struct buffer *ret_bundle);

/*
 * Finds the code object of `arch` in a bundle of any kind (CCOB versions 1 to 3, zstd and zlib), or in a bare ELF, and copies it out.
 * An entry for `arch` with target features ("gfx942:xnack-") is taken when there is none without.
 * -ENOEXEC for bytes of another kind, -EBADMSG for a damaged bundle, -ENOENT when it has no entry for `arch`, -EFBIG when it says that
 * it unpacks to more than 2 GiB, -ENOMEM.
 */
int bundle_read(const uint8_t *bytes, size_t size, const char *arch, struct buffer *ret_elf, struct error *error);
