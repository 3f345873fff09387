/* SPDX-License-Identifier: MIT */
/*
 * The relocatable ELF. Sections stand in the file in the order of enum section_index; every offset is known when its section has been
 * appended, so the headers are written last and the file header is patched in at offset 0.
 */
#include "build/object/object_internal.h"

#include <elf.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "ELF structures are written as they lie in memory");

#define OSABI_AMDGPU_HSA 64
#define ABI_VERSION_V5 3		/* ELFABIVERSION_AMDGPU_HSA_V5 */
#define MACHINE_AMDGPU 224
#define R_AMDGPU_REL64 5
#define FLAG_XNACK_ANY 0x100		/* EF_AMDGPU_FEATURE_XNACK_ANY_V4: what an assembler without -mattr sets, and upstream's objects have */
#define FLAG_SRAMECC_ANY 0x400
#define MACH_GFX942 0x4c

#define KERNEL_ALIGNMENT 256
#define S_NOP 0xbf800000u
#define PREFETCH_LINE 64		/* bytes */
#define PREFETCH_LINES 16		/* of padding behind the last kernel; see pad_text() */

static const struct object_arch object_archs[] = {
	{ "gfx942", FLAG_XNACK_ANY | FLAG_SRAMECC_ANY | MACH_GFX942, .max_vgprs = 256, .max_agprs = 256, .max_sgprs = 102,
	  .max_lds_bytes = 65536, .max_workgroup_size = 1024 },
};

enum section_index { NO_SECTION, TEXT, RODATA, RELA_RODATA, NOTE, SYMTAB, STRTAB, SHSTRTAB, N_SECTIONS };

struct writer {
	struct buffer out;
	Elf64_Shdr sections[N_SECTIONS];
	uint64_t *code_offsets;			/* of each kernel in .text */
	const struct object_kernel *kernels;
	size_t n_kernels;
};

static void writer_release(struct writer *writer)
{
	buffer_release(&writer->out);
	free(writer->code_offsets);
}

/* ---- checks ----------------------------------------------------------------------------------------------------------- */

static const struct object_arch *find_arch(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(object_archs); i++)
		if (!strcmp(object_archs[i].name, name))
			return &object_archs[i];
	return NULL;
}

static int check_limit(const struct object_kernel *kernel, const char *what, unsigned value, unsigned limit, struct error *error)
{
	if (value <= limit)
		return 0;
	return error_set(error, -EINVAL, "kernel '%s': %s is %u, at most %u is possible", kernel->name, what, value, limit);
}

static int check_kernel(const struct object_arch *arch, const struct object_kernel *kernel, struct error *error)
{
	int r;

	if (!kernel->name || !kernel->name[0])
		return error_set(error, -EINVAL, "a kernel has no name");
	if (!kernel->code_size || kernel->code_size % 4)
		return error_set(error, -EINVAL, "kernel '%s': %zu bytes of code, not a positive multiple of 4", kernel->name,
				 kernel->code_size);
	if (!kernel->workgroup_size)
		return error_set(error, -EINVAL, "kernel '%s': the workgroup size is 0", kernel->name);
	r = check_limit(kernel, "the number of VGPRs", kernel->vgprs, arch->max_vgprs, error);
	if (!r)
		r = check_limit(kernel, "the number of AccVGPRs", kernel->agprs, arch->max_agprs, error);
	if (!r)
		r = check_limit(kernel, "the number of SGPRs", kernel->sgprs, arch->max_sgprs, error);
	if (!r)
		r = check_limit(kernel, "the LDS size", kernel->lds_bytes, arch->max_lds_bytes, error);
	if (!r)
		r = check_limit(kernel, "the workgroup size", kernel->workgroup_size, arch->max_workgroup_size, error);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The linker would say it too, but later and without words of ours. */
static int check_names(const struct object_kernel *kernels, size_t n_kernels, struct error *error)
{
	if (n_kernels < 2)
		return 0;
	_cleanup_free_ const char **names = malloc(n_kernels * sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n_kernels; i++)
		names[i] = kernels[i].name;
	qsort(names, n_kernels, sizeof(*names), compare_names);
	for (size_t i = 1; i < n_kernels; i++)
		if (!strcmp(names[i - 1], names[i]))
			return error_set(error, -EEXIST, "two kernels have the name '%s'", names[i]);
	return 0;
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

static void section_begin(struct writer *writer, enum section_index index, uint32_t type, uint64_t flags, uint64_t alignment)
{
	buffer_align(&writer->out, alignment);
	writer->sections[index] = (Elf64_Shdr){
		.sh_type = type, .sh_flags = flags, .sh_addralign = alignment, .sh_offset = writer->out.size
	};
}

static void section_end(struct writer *writer, enum section_index index)
{
	writer->sections[index].sh_size = writer->out.size - writer->sections[index].sh_offset;
}

/*
 * Fills with s_nop. Behind the last kernel LLVM leaves 16 cache lines of them on gfx90a and gfx942 (AMDGPUTargetStreamer, EmitCodeEnd):
 * the instruction prefetcher reads ahead and must not run into an unmapped page.
 */
static void pad_text(struct buffer *out, size_t alignment, size_t more)
{
	const uint32_t nop = S_NOP;
	size_t end = round_up(out->size, alignment) + more;

	while (!out->failed && out->size < end)
		buffer_append(out, &nop, sizeof(nop));
}

static void write_text(struct writer *writer)
{
	section_begin(writer, TEXT, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, KERNEL_ALIGNMENT);
	for (size_t i = 0; i < writer->n_kernels; i++) {
		pad_text(&writer->out, KERNEL_ALIGNMENT, 0);
		writer->code_offsets[i] = writer->out.size - writer->sections[TEXT].sh_offset;
		buffer_append(&writer->out, writer->kernels[i].code, writer->kernels[i].code_size);
	}
	if (writer->n_kernels)
		pad_text(&writer->out, PREFETCH_LINE, PREFETCH_LINES * PREFETCH_LINE);
	section_end(writer, TEXT);
}

static void write_rodata(struct writer *writer)
{
	section_begin(writer, RODATA, SHT_PROGBITS, SHF_ALLOC, DESCRIPTOR_SIZE);
	for (size_t i = 0; i < writer->n_kernels; i++) {
		uint8_t descriptor[DESCRIPTOR_SIZE];
		descriptor_write(&writer->kernels[i], descriptor);
		buffer_append(&writer->out, descriptor, sizeof(descriptor));
	}
	section_end(writer, RODATA);
}

/* Symbol 0 is the null symbol; every kernel has two, its code and its descriptor. */
static uint64_t code_symbol(size_t kernel)
{
	return 1 + 2 * kernel;
}

/* kernel_code_entry_byte_offset counts from the descriptor's begin, the relocation from the field: hence the addend. */
static void write_relocations(struct writer *writer)
{
	section_begin(writer, RELA_RODATA, SHT_RELA, SHF_INFO_LINK, 8);
	for (size_t i = 0; i < writer->n_kernels; i++) {
		Elf64_Rela rela = {
			.r_offset = i * DESCRIPTOR_SIZE + DESCRIPTOR_ENTRY_OFFSET,
			.r_info = ELF64_R_INFO(code_symbol(i), R_AMDGPU_REL64),
			.r_addend = DESCRIPTOR_ENTRY_OFFSET,
		};
		buffer_append(&writer->out, &rela, sizeof(rela));
	}
	section_end(writer, RELA_RODATA);
	writer->sections[RELA_RODATA].sh_link = SYMTAB;
	writer->sections[RELA_RODATA].sh_info = RODATA;
	writer->sections[RELA_RODATA].sh_entsize = sizeof(Elf64_Rela);
}

static void write_note(struct writer *writer, const struct object_arch *arch)
{
	section_begin(writer, NOTE, SHT_NOTE, SHF_ALLOC, 4);
	metadata_append_note(&writer->out, arch, writer->kernels, writer->n_kernels);
	section_end(writer, NOTE);
}

static void write_symbols(struct writer *writer)
{
	uint32_t name = 1;

	section_begin(writer, SYMTAB, SHT_SYMTAB, 0, 8);
	buffer_append(&writer->out, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
	for (size_t i = 0; i < writer->n_kernels; i++) {
		uint32_t length = (uint32_t)strlen(writer->kernels[i].name);
		Elf64_Sym symbols[2] = {
			{ .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = STV_PROTECTED,
			  .st_shndx = TEXT, .st_value = writer->code_offsets[i], .st_size = writer->kernels[i].code_size },
			{ .st_name = name + length + 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), .st_other = STV_PROTECTED,
			  .st_shndx = RODATA, .st_value = i * DESCRIPTOR_SIZE, .st_size = DESCRIPTOR_SIZE },
		};
		buffer_append(&writer->out, symbols, sizeof(symbols));
		name += 2 * (length + 1) + (uint32_t)strlen(".kd");
	}
	section_end(writer, SYMTAB);
	writer->sections[SYMTAB].sh_link = STRTAB;
	writer->sections[SYMTAB].sh_info = 1;		/* one local symbol, the null one */
	writer->sections[SYMTAB].sh_entsize = sizeof(Elf64_Sym);
}

static void write_strings(struct writer *writer)
{
	section_begin(writer, STRTAB, SHT_STRTAB, 0, 1);
	buffer_append(&writer->out, "", 1);
	for (size_t i = 0; i < writer->n_kernels; i++) {
		const char *name = writer->kernels[i].name;
		buffer_append(&writer->out, name, strlen(name) + 1);
		buffer_append_string(&writer->out, name);
		buffer_append(&writer->out, ".kd", sizeof(".kd"));
	}
	section_end(writer, STRTAB);
}

static void write_section_names(struct writer *writer)
{
	static const char *const names[N_SECTIONS] = {
		"", ".text", ".rodata", ".rela.rodata", ".note", ".symtab", ".strtab", ".shstrtab",
	};

	section_begin(writer, SHSTRTAB, SHT_STRTAB, 0, 1);
	for (size_t i = 0; i < N_SECTIONS; i++) {
		writer->sections[i].sh_name = (Elf64_Word)(writer->out.size - writer->sections[SHSTRTAB].sh_offset);
		buffer_append(&writer->out, names[i], strlen(names[i]) + 1);
	}
	section_end(writer, SHSTRTAB);
}

static void write_headers(struct writer *writer, const struct object_arch *arch)
{
	buffer_align(&writer->out, 8);
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, OSABI_AMDGPU_HSA, ABI_VERSION_V5 },
		.e_type = ET_REL,
		.e_machine = MACHINE_AMDGPU,
		.e_version = EV_CURRENT,
		.e_shoff = writer->out.size,
		.e_flags = arch->elf_flags,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
		.e_shstrndx = SHSTRTAB,
	};
	buffer_append(&writer->out, writer->sections, sizeof(writer->sections));
	if (!writer->out.failed)
		memcpy(writer->out.data, &header, sizeof(header));
}

int object_write(const char *arch, const struct object_kernel *kernels, size_t n_kernels, struct buffer *ret_elf, struct error *error)
{
	_cleanup_(writer_release) struct writer writer = { .kernels = kernels, .n_kernels = n_kernels };
	const struct object_arch *row = find_arch(arch);
	int r;

	if (!row)
		return error_set(error, -EINVAL, "no object file can be written for architecture '%s'", arch);
	for (size_t i = 0; i < n_kernels; i++) {
		r = check_kernel(row, &kernels[i], error);
		if (r < 0)
			return r;
	}
	r = check_names(kernels, n_kernels, error);
	if (r < 0)
		return r;
	writer.code_offsets = calloc(MAX(n_kernels, 1u), sizeof(*writer.code_offsets));
	if (!writer.code_offsets)
		return -ENOMEM;

	buffer_extend(&writer.out, sizeof(Elf64_Ehdr));
	write_text(&writer);
	write_rodata(&writer);
	write_relocations(&writer);
	write_note(&writer, row);
	write_symbols(&writer);
	write_strings(&writer);
	write_section_names(&writer);
	write_headers(&writer, row);
	if (writer.out.failed)
		return -ENOMEM;
	*ret_elf = writer.out;
	writer.out = (struct buffer){ 0 };
	return 0;
}
