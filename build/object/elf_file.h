/* SPDX-License-Identifier: MIT */
/*
 * Reads ELF files for AMDGPU, relocatable or linked, from whatever compiler. The bytes may come from anywhere: each offset, size and index is
 * checked before it is used. What is found points into the bytes, which must outlive it.
 *
 *     _cleanup_(elf_release) struct elf elf = { 0 };
 *     r = elf_read(bytes, size, &elf, &error);
 *     text = elf_find(&elf, ".text");
 *
 * Source: LLVM "User Guide for AMDGPU Backend", "ELF code object" and "Kernel descriptor".
 */
#pragma once

#include "base/error.h"

#include <elf.h>

#define ELF_DESCRIPTOR_SIZE 64		/* bytes of a kernel descriptor */

struct elf_section {
	const char *name;
	Elf64_Shdr header;
	const uint8_t *bytes;		/* header.sh_size of them; NULL: it takes no room in the file */
};

struct elf_symbol {
	const char *name;
	Elf64_Sym symbol;
};

struct elf_kernel {			/* in the order of their code */
	const char *name;		/* not NUL-terminated: name_length bytes, as its descriptor is called NAME.kd */
	size_t name_length;
	const uint8_t *descriptor;	/* ELF_DESCRIPTOR_SIZE bytes */
	const uint8_t *code;		/* up to that of the next one, or the end of its section */
	size_t code_size;
};

struct elf {
	Elf64_Ehdr header;
	const uint8_t *segments;	/* header.e_phnum program headers */
	struct elf_section *sections;	/* without the null section */
	size_t n_sections;
	struct elf_symbol *symbols;	/* of .symtab, without the null symbol */
	size_t n_symbols;
	struct elf_kernel *kernels;	/* of a linked object: a relocatable one does not say yet where their code is */
	size_t n_kernels;
};

/* -ENOEXEC: no ELF file for AMDGPU of 64 bits; -EBADMSG: a damaged one; -ENOMEM. */
int elf_read(const void *bytes, size_t size, struct elf *ret_elf, struct error *error);
void elf_release(struct elf *elf);

const struct elf_section *elf_find(const struct elf *elf, const char *name);	/* NULL: none */

/* The i-th AMDHSA metadata, MessagePack: an object has one, and what was linked of several has those of all. -ENOENT: no more. */
int elf_metadata(const struct elf *elf, size_t i, const uint8_t **ret_bytes, size_t *ret_size);
