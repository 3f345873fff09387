/* SPDX-License-Identifier: MIT */
#include "tests/object/common.h"

#include "base/file.h"

#include <fcntl.h>

int working_scratch_make(void **state)
{
	return scratch_make(state) < 0 ? -1 : chdir(*state);
}

int working_scratch_remove(void **state)
{
	return chdir("/") < 0 ? -1 : scratch_remove(state);
}

char *run(const char *format, ...)
{
	_cleanup_free_ char *command = NULL;
	struct buffer out = { 0 };
	va_list ap;
	char part[4096];
	size_t n;

	va_start(ap, format);
	assert_true(vasprintf(&command, format, ap) > 0);
	va_end(ap);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((n = fread(part, 1, sizeof(part), pipe)))
		buffer_append(&out, part, n);
	int status = pclose(pipe);
	if (status)
		fail_msg("'%s' ended with status %d", command, status);
	buffer_append(&out, "", 1);
	assert_false(out.failed);
	return (char *)out.data;
}

void write_file(const char *name, const void *bytes, size_t size)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

struct buffer read_file(const char *name)
{
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct buffer out = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(read_to_end(fd, &out), 0);
	return out;
}

static const Elf64_Shdr *section_header(const struct buffer *elf, unsigned index)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf->data;

	assert_true(elf->size >= sizeof(*header) && !memcmp(elf->data, ELFMAG, SELFMAG));
	assert_true(header->e_shoff + (uint64_t)header->e_shnum * sizeof(Elf64_Shdr) <= elf->size);
	assert_true(index < header->e_shnum);
	return (const Elf64_Shdr *)(elf->data + header->e_shoff) + index;
}

const Elf64_Shdr *find_section(const struct buffer *elf, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf->data;
	const Elf64_Shdr *names = section_header(elf, header->e_shstrndx);

	for (unsigned i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *section = section_header(elf, i);
		if (!strcmp((const char *)elf->data + names->sh_offset + section->sh_name, name))
			return section;
	}
	fail_msg("no section '%s'", name);
	return NULL;
}

struct bytes section_bytes(const struct buffer *elf, const char *name)
{
	const Elf64_Shdr *section = find_section(elf, name);

	assert_true(section->sh_offset + section->sh_size <= elf->size);
	return (struct bytes){ elf->data + section->sh_offset, section->sh_size };
}

const Elf64_Sym *find_symbol(const struct buffer *elf, const char *table, const char *strings, const char *name)
{
	struct bytes symbols = section_bytes(elf, table), texts = section_bytes(elf, strings);

	for (size_t i = 0; i < symbols.size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)symbols.data + i;
		assert_true(symbol->st_name < texts.size);
		if (!strcmp((const char *)texts.data + symbol->st_name, name))
			return symbol;
	}
	fail_msg("no symbol '%s'", name);
	return NULL;
}

const uint8_t *at_address(const struct buffer *elf, uint64_t address, size_t size)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf->data;

	for (unsigned i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = (const Elf64_Phdr *)(elf->data + header->e_phoff) + i;
		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address + size <= segment->p_vaddr + segment->p_filesz)
			return elf->data + segment->p_offset + (address - segment->p_vaddr);
	}
	fail_msg("no segment holds address %llx", (unsigned long long)address);
	return NULL;
}
