/* SPDX-License-Identifier: MIT */
/*
 * Reads a linked code object. The bytes may come from anywhere: each offset, size and index is checked before it is used, and the
 * file is only read through in_file(). Source: LLVM "User Guide for AMDGPU Backend", "ELF code object" and "Kernel descriptor".
 */
#include "tools/emulator/internal.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#define ELFOSABI_AMDGPU_HSA 64
#define EM_AMDGPU_ 224
#define EF_AMDGPU_MACH_MASK 0xffu
#define EF_AMDGPU_MACH_GFX942 0x4cu
#define DESCRIPTOR_SIZE 64
#define MAX_IMAGE (UINT64_C(1) << 30)
#define MAX_KERNELS 100000u
#define NT_AMDGPU_METADATA 32

struct file {
	const uint8_t *bytes;
	size_t size;
	struct error *error;
};

static const void *in_file(const struct file *file, uint64_t offset, uint64_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static int damaged(const struct file *file, const char *what)
{
	return error_set(file->error, -EINVAL, "damaged code object: %s", what);
}

/* Copies the i-th entry of a table, so that alignment does not matter. */
static int table_entry(const struct file *file, uint64_t offset, uint64_t entry_size, uint64_t i, size_t size, void *ret_entry)
{
	uint64_t at;
	if (entry_size < size || __builtin_mul_overflow(entry_size, i, &at) || __builtin_add_overflow(at, offset, &at))
		return -EINVAL;
	const void *entry = in_file(file, at, size);
	if (!entry)
		return -EINVAL;
	memcpy(ret_entry, entry, size);
	return 0;
}

static int check_header(const struct file *file, Elf64_Ehdr *ret_header)
{
	const void *header = in_file(file, 0, sizeof(*ret_header));
	if (!header || memcmp(header, ELFMAG, SELFMAG) != 0)
		return error_set(file->error, -ENOEXEC, "not an ELF file");
	memcpy(ret_header, header, sizeof(*ret_header));
	if (ret_header->e_ident[EI_CLASS] != ELFCLASS64 || ret_header->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret_header->e_machine != EM_AMDGPU_)
		return error_set(file->error, -ENOEXEC, "not an ELF file for AMDGPU");
	if (ret_header->e_type != ET_DYN)
		return error_set(file->error, -ENOEXEC, "not a linked code object (ELF type %u)", ret_header->e_type);
	if ((ret_header->e_flags & EF_AMDGPU_MACH_MASK) != EF_AMDGPU_MACH_GFX942)
		return error_set(file->error, -ENOTSUP, "code object for another processor (e_flags 0x%x), only gfx942 is emulated",
				 ret_header->e_flags);
	return 0;
}

/* ---- segments --------------------------------------------------------------------------------------------------------- */

static int measure_image(const struct file *file, const Elf64_Ehdr *header, struct emu_object *object)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		uint64_t segment_end;
		if (table_entry(file, header->e_phoff, header->e_phentsize, i, sizeof(segment), &segment) < 0)
			return damaged(file, "program headers outside the file");
		if (segment.p_type != PT_LOAD)
			continue;
		if (segment.p_filesz > segment.p_memsz || __builtin_add_overflow(segment.p_vaddr, segment.p_memsz, &segment_end) ||
		    segment_end > MAX_IMAGE || !in_file(file, segment.p_offset, segment.p_filesz))
			return damaged(file, "a segment that does not fit");
		end = MAX(end, segment_end);
		if (segment.p_flags & PF_X) {
			object->text_address = segment.p_vaddr;
			object->text_size = segment.p_filesz;
		}
	}
	object->image_size = end;
	return 0;
}

static int load_image(const struct file *file, const Elf64_Ehdr *header, struct emu_object *object)
{
	int r = measure_image(file, header, object);
	if (r < 0)
		return r;
	object->image = calloc(1, object->image_size + 1);
	if (!object->image)
		return -ENOMEM;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		r = table_entry(file, header->e_phoff, header->e_phentsize, i, sizeof(segment), &segment);
		if (r == 0 && segment.p_type == PT_LOAD && segment.p_filesz > 0)
			memcpy(object->image + segment.p_vaddr, file->bytes + segment.p_offset, segment.p_filesz);
	}
	return 0;
}

/* ---- kernel descriptors ----------------------------------------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *bytes, size_t offset)
{
	uint32_t word;
	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static int read_descriptor(const struct file *file, const struct emu_object *object, uint64_t address, struct emu_kernel *kernel)
{
	if (address > object->image_size || object->image_size - address < DESCRIPTOR_SIZE)
		return damaged(file, "a kernel descriptor outside the segments");
	const uint8_t *descriptor = object->image + address;
	uint64_t distance = word_at(descriptor, 16) | (uint64_t)word_at(descriptor, 20) << 32;

	kernel->entry = address + distance;
	kernel->lds_bytes = word_at(descriptor, 0);
	kernel->private_bytes = word_at(descriptor, 4);
	kernel->kernarg_bytes = word_at(descriptor, 8);
	kernel->pgm_rsrc3 = word_at(descriptor, 44);
	kernel->pgm_rsrc1 = word_at(descriptor, 48);
	kernel->pgm_rsrc2 = word_at(descriptor, 52);
	kernel->properties = (uint16_t)word_at(descriptor, 56);
	kernel->preload_dwords = word_at(descriptor, 56) >> 16 & 0x7f;
	kernel->preload_offset = word_at(descriptor, 56) >> 23 & 0x1ff;
	kernel->vgprs = ((kernel->pgm_rsrc1 & 63) + 1) * 8;
	kernel->accum_offset = ((kernel->pgm_rsrc3 & 63) + 1) * 4;
	kernel->sgprs = ((kernel->pgm_rsrc1 >> 6 & 15) / 2 + 1) * 16;
	if (kernel->entry < object->text_address || kernel->entry - object->text_address >= object->text_size || kernel->entry % 4)
		return damaged(file, "a kernel descriptor whose entry is no code");
	if (kernel->lds_bytes > MAX_LDS || kernel->private_bytes > 1u << 20 || kernel->kernarg_bytes > 1u << 20)
		return damaged(file, "a kernel descriptor with impossible sizes");
	return 0;
}

/* ---- symbols ---------------------------------------------------------------------------------------------------------- */

static const char *symbol_name(const struct file *file, const Elf64_Shdr *strings, uint32_t offset)
{
	if (offset >= strings->sh_size)
		return NULL;
	const char *name = in_file(file, strings->sh_offset, strings->sh_size);
	return name && memchr(name + offset, 0, strings->sh_size - offset) ? name + offset : NULL;
}

static int add_kernel(const struct file *file, struct emu_object *object, const char *name, const Elf64_Sym *symbol)
{
	struct kernel_entry *kernels = reallocarray(object->kernels, object->n_kernels + 1, sizeof(*kernels));
	if (!kernels)
		return -ENOMEM;
	object->kernels = kernels;
	struct kernel_entry *entry = &kernels[object->n_kernels];
	*entry = (struct kernel_entry){ 0 };
	int r = read_descriptor(file, object, symbol->st_value, &entry->kernel);
	if (r < 0)
		return r;
	entry->name = strndup(name, strlen(name) - strlen(".kd"));
	if (!entry->name)
		return -ENOMEM;
	object->n_kernels++;
	return 0;
}

static int add_function(struct emu_object *object, const Elf64_Sym *symbol)
{
	uint64_t offset = symbol->st_value - object->text_address;
	if (symbol->st_value < object->text_address || offset >= object->text_size || symbol->st_value % 4)
		return 0;
	for (size_t i = 0; i < object->n_functions; i++) {
		if (object->functions[i].address == symbol->st_value)
			return 0;
	}
	struct function *functions = reallocarray(object->functions, object->n_functions + 1, sizeof(*functions));
	if (!functions)
		return -ENOMEM;
	object->functions = functions;
	functions[object->n_functions++] = (struct function){ symbol->st_value, MIN(symbol->st_size, object->text_size - offset) };
	return 0;
}

static int read_symbol(const struct file *file, struct emu_object *object, const Elf64_Shdr *strings, const Elf64_Sym *symbol)
{
	const char *name = symbol_name(file, strings, symbol->st_name);
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (!name || symbol->st_shndx == SHN_UNDEF)
		return 0;
	size_t length = strlen(name);
	if (type == STT_OBJECT && length > 3 && strcmp(name + length - 3, ".kd") == 0) {
		if (object->n_kernels < MAX_KERNELS)
			return add_kernel(file, object, name, symbol);
		return damaged(file, "too many kernels");
	}
	return type == STT_FUNC && object->n_functions < MAX_KERNELS ? add_function(object, symbol) : 0;
}

/* The full symbol table if the file has one (it names local functions too), else the dynamic one. */
static int find_symbols(const struct file *file, const Elf64_Ehdr *header, Elf64_Shdr *ret_symbols, Elf64_Shdr *ret_strings)
{
	bool found = false;
	for (unsigned i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section;
		if (table_entry(file, header->e_shoff, header->e_shentsize, i, sizeof(section), &section) < 0)
			return damaged(file, "section headers outside the file");
		if (section.sh_type != SHT_SYMTAB && (section.sh_type != SHT_DYNSYM || found))
			continue;
		*ret_symbols = section;
		found = true;
	}
	if (!found)
		return damaged(file, "no symbol table");
	if (ret_symbols->sh_link >= header->e_shnum ||
	    table_entry(file, header->e_shoff, header->e_shentsize, ret_symbols->sh_link, sizeof(*ret_strings), ret_strings) < 0)
		return damaged(file, "a symbol table without names");
	if (!in_file(file, ret_symbols->sh_offset, ret_symbols->sh_size) ||
	    !in_file(file, ret_strings->sh_offset, ret_strings->sh_size))
		return damaged(file, "a symbol table outside the file");
	return 0;
}

static int read_symbols(const struct file *file, const Elf64_Ehdr *header, struct emu_object *object)
{
	Elf64_Shdr symbols = { 0 }, strings = { 0 };
	int r = find_symbols(file, header, &symbols, &strings);
	for (uint64_t i = 0; r == 0 && i < symbols.sh_size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym symbol;
		r = table_entry(file, symbols.sh_offset, sizeof(symbol), i, sizeof(symbol), &symbol);
		if (r == 0)
			r = read_symbol(file, object, &strings, &symbol);
	}
	return r;
}

/* Functions that are kernels leave the list; the size of their symbols tells where the kernels end. */
static void sort_functions(struct emu_object *object)
{
	size_t kept = 0;
	for (size_t i = 0; i < object->n_functions; i++) {
		bool is_kernel = false;
		for (size_t k = 0; k < object->n_kernels; k++) {
			if (object->kernels[k].kernel.entry != object->functions[i].address)
				continue;
			object->kernels[k].size = object->functions[i].size;
			is_kernel = true;
		}
		if (!is_kernel && object->functions[i].size > 0)
			object->functions[kept++] = object->functions[i];
	}
	object->n_functions = kept;
}

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

static int read_notes(const struct file *file, const Elf64_Phdr *segment, struct emu_object *object)
{
	uint64_t at = 0;
	while (segment->p_filesz - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		memcpy(&note, file->bytes + segment->p_offset + at, sizeof(note));
		at += sizeof(note);
		uint64_t name_size = round_up(note.n_namesz, 4), size = round_up(note.n_descsz, 4), left = segment->p_filesz - at;
		if (name_size > left || note.n_descsz > left - name_size)
			return damaged(file, "a note that is longer than its segment");
		const uint8_t *name = file->bytes + segment->p_offset + at;
		if (note.n_type == NT_AMDGPU_METADATA && note.n_namesz == 7 && memcmp(name, "AMDGPU", 7) == 0) {
			int r = metadata_read(name + name_size, note.n_descsz, object, file->error);
			if (r < 0)
				return r;
		}
		at += name_size + MIN(size, left - name_size);
	}
	return 0;
}

static int read_metadata(const struct file *file, const Elf64_Ehdr *header, struct emu_object *object)
{
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		int r = table_entry(file, header->e_phoff, header->e_phentsize, i, sizeof(segment), &segment);
		if (r < 0)
			return r;
		if (segment.p_type != PT_NOTE)
			continue;
		if (!in_file(file, segment.p_offset, segment.p_filesz))
			return damaged(file, "a note segment outside the file");
		r = read_notes(file, &segment, object);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the object ------------------------------------------------------------------------------------------------------- */

static void finish_kernels(struct emu_object *object)
{
	for (size_t i = 0; i < object->n_kernels; i++) {
		struct kernel_entry *entry = &object->kernels[i];
		entry->kernel.name = entry->name;
		entry->kernel.object = object;
		entry->kernel.arguments = entry->arguments;
	}
}

int emu_object_load(const void *bytes, size_t size, struct emu_object **ret_object, struct error *error)
{
	struct file file = { .bytes = bytes, .size = size, .error = error };
	Elf64_Ehdr header;
	if (!bytes || !ret_object)
		return -EINVAL;
	int r = check_header(&file, &header);
	if (r < 0)
		return r;

	struct emu_object *object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	pthread_mutex_init(&object->lock, NULL);
	object->isa = isa_find("gfx942");
	valu_bind(object->bindings.valu);
	mfma_bind(object->bindings.mfma);
	memory_bind(object->bindings.memory);
	salu_bind(object->bindings.salu);

	r = load_image(&file, &header, object);
	if (r == 0)
		r = read_symbols(&file, &header, object);
	if (r == 0) {
		sort_functions(object);
		finish_kernels(object);
		r = read_metadata(&file, &header, object);
	}
	if (r < 0) {
		emu_object_unref(object);
		return r;
	}
	finish_kernels(object);
	*ret_object = object;
	return 0;
}

struct emu_object *emu_object_unref(struct emu_object *object)
{
	if (!object)
		return NULL;
	for (size_t i = 0; i < object->n_kernels; i++) {
		struct kernel_entry *entry = &object->kernels[i];
		for (size_t k = 0; k < entry->kernel.n_arguments; k++) {
			free((char *)entry->arguments[k].name);
			free((char *)entry->arguments[k].value_kind);
		}
		free(entry->arguments);
		free(entry->name);
		code_free(entry->code);
	}
	free(object->kernels);
	free(object->functions);
	free(object->image);
	pthread_mutex_destroy(&object->lock);
	free(object);
	return NULL;
}

size_t emu_object_n_kernels(const struct emu_object *object)
{
	return object->n_kernels;
}

const struct emu_kernel *emu_object_kernel(const struct emu_object *object, size_t index)
{
	return index < object->n_kernels ? &object->kernels[index].kernel : NULL;
}

const struct emu_kernel *emu_object_find(const struct emu_object *object, const char *name)
{
	for (size_t i = 0; i < object->n_kernels; i++) {
		if (strcmp(object->kernels[i].name, name) == 0)
			return &object->kernels[i].kernel;
	}
	return NULL;
}
