/* SPDX-License-Identifier: MIT */
#include "build/object/elf_file.h"

#include <stdbool.h>

#define MACHINE_AMDGPU 224
#define NOTE_METADATA 32		/* NT_AMDGPU_METADATA */
#define ENTRY_OFFSET 16			/* in a descriptor: the 64-bit distance from it to the code */

struct file {
	const uint8_t *bytes;
	size_t size;
};

static const uint8_t *at(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static int damaged(struct error *error, const char *what)
{
	return error_set(error, -EBADMSG, "damaged ELF file: %s", what);
}

/* The name at an offset of a string table; NULL when it has no end there. */
static const char *string_at(const struct elf_section *strings, uint64_t offset)
{
	if (!strings->bytes || offset >= strings->header.sh_size || !memchr(strings->bytes + offset, 0, strings->header.sh_size - offset))
		return NULL;
	return (const char *)strings->bytes + offset;
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

static int read_section(const struct file *file, const struct elf *elf, size_t i, struct elf_section *ret_section, struct error *error)
{
	const uint8_t *header = at(file, elf->header.e_shoff + i * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
	struct elf_section section = { .name = "" };

	if (!header)
		return damaged(error, "section headers outside of the file");
	memcpy(&section.header, header, sizeof(section.header));
	if (section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL) {
		section.bytes = at(file, section.header.sh_offset, section.header.sh_size);
		if (!section.bytes)
			return damaged(error, "a section outside of the file");
	}
	*ret_section = section;
	return 0;
}

static int read_sections(const struct file *file, struct elf *elf, struct error *error)
{
	struct elf_section names;
	size_t n = elf->header.e_shnum;
	int r = 0;

	if (elf->header.e_shentsize != sizeof(Elf64_Shdr) || n < 2 || elf->header.e_shstrndx >= n || elf->header.e_shoff > file->size)
		return damaged(error, "it has no usable sections");
	elf->sections = calloc(n, sizeof(*elf->sections));
	if (!elf->sections)
		return -ENOMEM;
	r = read_section(file, elf, elf->header.e_shstrndx, &names, error);
	for (size_t i = 1; r == 0 && i < n; i++) {
		r = read_section(file, elf, i, &elf->sections[i - 1], error);
		if (r == 0 && !(elf->sections[i - 1].name = string_at(&names, elf->sections[i - 1].header.sh_name)))
			r = damaged(error, "a section without a name");
	}
	elf->n_sections = n - 1;
	return r;
}

const struct elf_section *elf_find(const struct elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->n_sections; i++)
		if (strcmp(elf->sections[i].name, name) == 0)
			return &elf->sections[i];
	return NULL;
}

/* ---- symbols ---------------------------------------------------------------------------------------------------------- */

static int read_symbols(struct elf *elf, struct error *error)
{
	const struct elf_section *table = elf_find(elf, ".symtab");
	size_t n = table ? table->header.sh_size / sizeof(Elf64_Sym) : 0;

	if (n < 2)
		return 0;
	if (table->header.sh_type != SHT_SYMTAB || table->header.sh_link == 0 || table->header.sh_link > elf->n_sections)
		return damaged(error, "a symbol table without names");
	const struct elf_section *strings = &elf->sections[table->header.sh_link - 1];
	elf->symbols = calloc(n, sizeof(*elf->symbols));
	if (!elf->symbols)
		return -ENOMEM;
	for (size_t i = 1; i < n; i++) {
		struct elf_symbol *symbol = &elf->symbols[i - 1];
		memcpy(&symbol->symbol, table->bytes + i * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
		symbol->name = string_at(strings, symbol->symbol.st_name);
		if (!symbol->name)
			return damaged(error, "a symbol whose name is nowhere");
	}
	elf->n_symbols = n - 1;
	return 0;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

/* Where an address of a linked object lies; with `size` bytes from there on in one section. */
static const struct elf_section *section_at(const struct elf *elf, uint64_t address, uint64_t size)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		uint64_t offset = address - section->header.sh_addr;
		if (section->header.sh_flags & SHF_ALLOC && section->bytes && address >= section->header.sh_addr &&
		    offset <= section->header.sh_size && size <= section->header.sh_size - offset)
			return section;
	}
	return NULL;
}

static int read_kernel(const struct elf *elf, const struct elf_symbol *symbol, struct elf_kernel *ret_kernel, struct error *error)
{
	const struct elf_section *section = section_at(elf, symbol->symbol.st_value, ELF_DESCRIPTOR_SIZE);
	uint64_t distance;

	if (!section)
		return damaged(error, "a kernel descriptor outside of the sections");
	const uint8_t *descriptor = section->bytes + (symbol->symbol.st_value - section->header.sh_addr);
	memcpy(&distance, descriptor + ENTRY_OFFSET, sizeof(distance));
	uint64_t entry = symbol->symbol.st_value + distance;
	const struct elf_section *text = section_at(elf, entry, 4);
	if (!text)
		return damaged(error, "a kernel descriptor whose entry is no code");
	*ret_kernel = (struct elf_kernel){
		.name = symbol->name,
		.name_length = strlen(symbol->name) - strlen(".kd"),
		.descriptor = descriptor,
		.code = text->bytes + (entry - text->header.sh_addr),
		.code_size = text->header.sh_size - (entry - text->header.sh_addr),
	};
	return 0;
}

static bool names_descriptor(const struct elf_symbol *symbol)
{
	size_t length = strlen(symbol->name);

	return ELF64_ST_TYPE(symbol->symbol.st_info) == STT_OBJECT && symbol->symbol.st_shndx != SHN_UNDEF && length > 3 &&
	       strcmp(symbol->name + length - 3, ".kd") == 0;
}

static int compare_code(const void *a, const void *b)
{
	const struct elf_kernel *x = a, *y = b;

	return x->code == y->code ? 0 : x->code < y->code ? -1 : 1;
}

static int read_kernels(struct elf *elf, struct error *error)
{
	size_t n = 0;

	for (size_t i = 0; i < elf->n_symbols; i++)
		n += names_descriptor(&elf->symbols[i]);
	if (n == 0 || elf->header.e_type != ET_DYN)
		return 0;
	elf->kernels = calloc(n, sizeof(*elf->kernels));
	if (!elf->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < elf->n_symbols; i++) {
		if (!names_descriptor(&elf->symbols[i]))
			continue;
		int r = read_kernel(elf, &elf->symbols[i], &elf->kernels[elf->n_kernels], error);
		if (r < 0)
			return r;
		elf->n_kernels++;
	}
	qsort(elf->kernels, n, sizeof(*elf->kernels), compare_code);
	for (size_t i = 0; i + 1 < n; i++)
		elf->kernels[i].code_size = MIN(elf->kernels[i].code_size, (size_t)(elf->kernels[i + 1].code - elf->kernels[i].code));
	return 0;
}

/* ---- the file --------------------------------------------------------------------------------------------------------- */

static int read_all(const struct file *file, struct elf *elf, struct error *error)
{
	const uint8_t *header = at(file, 0, sizeof(elf->header));

	if (!header || memcmp(header, ELFMAG, SELFMAG) != 0)
		return error_set(error, -ENOEXEC, "not an ELF file");
	memcpy(&elf->header, header, sizeof(elf->header));
	if (elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB || elf->header.e_machine != MACHINE_AMDGPU)
		return error_set(error, -ENOEXEC, "not an ELF file for AMDGPU");
	elf->segments = at(file, elf->header.e_phoff, (uint64_t)elf->header.e_phnum * sizeof(Elf64_Phdr));
	if (!elf->segments || (elf->header.e_phnum && elf->header.e_phentsize != sizeof(Elf64_Phdr)))
		return damaged(error, "program headers outside of the file");
	int r = read_sections(file, elf, error);
	if (r == 0)
		r = read_symbols(elf, error);
	if (r == 0)
		r = read_kernels(elf, error);
	return r;
}

int elf_read(const void *bytes, size_t size, struct elf *ret_elf, struct error *error)
{
	const struct file file = { .bytes = bytes, .size = size };
	struct elf elf = { 0 };

	int r = read_all(&file, &elf, error);
	if (r < 0)
		elf_release(&elf);
	else
		*ret_elf = elf;
	return r;
}

void elf_release(struct elf *elf)
{
	free(elf->sections);
	free(elf->symbols);
	free(elf->kernels);
	*elf = (struct elf){ 0 };
}

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

int elf_metadata(const struct elf *elf, size_t wanted, const uint8_t **ret_bytes, size_t *ret_size)
{
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct elf_section *section = &elf->sections[i];
		Elf64_Nhdr note;
		if (section->header.sh_type != SHT_NOTE)
			continue;
		for (uint64_t here = 0; section->header.sh_size - here >= sizeof(note);) {
			memcpy(&note, section->bytes + here, sizeof(note));
			here += sizeof(note);
			uint64_t name = round_up(note.n_namesz, 4), left = section->header.sh_size - here;
			if (name > left || note.n_descsz > left - name)
				break;
			if (note.n_type == NOTE_METADATA && note.n_namesz == 7 && memcmp(section->bytes + here, "AMDGPU", 7) == 0 && wanted-- == 0) {
				*ret_bytes = section->bytes + here + name;
				*ret_size = note.n_descsz;
				return 0;
			}
			here += name + MIN(round_up(note.n_descsz, 4), left - name);
		}
	}
	return -ENOENT;
}
