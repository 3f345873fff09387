/* SPDX-License-Identifier: MIT */
/* Two code objects: the wrapping, then section by section, and what belongs to kernels kernel by kernel. */
#include "build/isa/isa.h"
#include "build/object/elf_file.h"
#include "build/object/object.h"
#include "tools/compare/compare.h"

#define MOST_KERNELS 10		/* that are told of, for each section */
#define RANDOM_LENGTH 16	/* characters of a label's random part; see compare.h */

struct pair {
	struct report *report;
	const char *section;
	const struct elf *a, *b;
	bool other_unit;		/* compiled from a source file of another path, see is_unit_id() */
	bool moved;			/* a section that does not begin where the other one does has been told of */
};

/* ---- kernels ---------------------------------------------------------------------------------------------------------- */

static const struct elf_kernel *find_kernel(const struct elf *elf, const struct elf_kernel *wanted)
{
	for (size_t i = 0; i < elf->n_kernels; i++) {
		const struct elf_kernel *kernel = &elf->kernels[i];
		if (kernel->name_length == wanted->name_length && memcmp(kernel->name, wanted->name, wanted->name_length) == 0)
			return kernel;
	}
	return NULL;
}

static void tell_missing(const struct pair *pair)
{
	for (size_t i = 0; i < pair->a->n_kernels; i++)
		if (!find_kernel(pair->b, &pair->a->kernels[i]))
			report_difference(pair->report, NULL, pair->a->kernels[i].name, pair->a->kernels[i].name_length, "only in the first");
	for (size_t i = 0; i < pair->b->n_kernels; i++)
		if (!find_kernel(pair->a, &pair->b->kernels[i]))
			report_difference(pair->report, NULL, pair->b->kernels[i].name, pair->b->kernels[i].name_length, "only in the second");
}

static void tell_order(const struct pair *pair)
{
	for (size_t i = 0; i < MIN(pair->a->n_kernels, pair->b->n_kernels); i++) {
		const struct elf_kernel *x = &pair->a->kernels[i], *y = &pair->b->kernels[i];
		if (x->name_length != y->name_length || memcmp(x->name, y->name, x->name_length) != 0) {
			report_difference(pair->report, ".text", x->name, x->name_length, "stands where the second has '%.*s'", (int)y->name_length,
					  y->name);
			return;
		}
	}
}

/* The instruction that holds the byte at `offset`, if what is before it can be read. */
static void print_instruction(const struct elf_kernel *kernel, const struct isa *isa, size_t offset, char text[256])
{
	size_t n = kernel->code_size / 4, at = 0;
	struct isa_inst inst;

	while (isa && at < n) {
		uint32_t words[8] = { 0 };
		memcpy(words, kernel->code + 4 * at, 4 * MIN(n - at, ARRAY_SIZE(words)));
		int used = isa_decode(isa, words, MIN(n - at, ARRAY_SIZE(words)), &inst);
		if (4 * (at + (size_t)MAX(used, 1)) <= offset) {
			at += (size_t)MAX(used, 1);
			continue;
		}
		if (used < 0 || isa_print(isa, &inst, text, 256) < 0)
			break;
		return;
	}
	snprintf(text, 256, "%02x...", offset < kernel->code_size ? kernel->code[offset] : 0);
}

static void compare_code(const struct pair *pair, const struct elf_kernel *x, const struct elf_kernel *y)
{
	const struct isa *isa = isa_find("gfx942");
	size_t size = MIN(x->code_size, y->code_size), i = 0;
	char left[256], right[256];

	while (i < size && x->code[i] == y->code[i])
		i++;
	if (i == size) {
		report_difference(pair->report, ".text", x->name, x->name_length, "%zu bytes of code, and %zu", x->code_size, y->code_size);
		return;
	}
	print_instruction(x, isa, i, left);
	print_instruction(y, isa, i, right);
	report_difference(pair->report, ".text", x->name, x->name_length, "byte %zu of %zu and %zu: '%s', and '%s'", i, x->code_size, y->code_size,
			  left, right);
}

static void compare_descriptors(const struct pair *pair, const struct elf_kernel *x, const struct elf_kernel *y)
{
	static const struct {
		unsigned offset, size;
		const char *name;
	} fields[] = {
		{ 0, 4, "GROUP_SEGMENT_FIXED_SIZE" }, { 4, 4, "PRIVATE_SEGMENT_FIXED_SIZE" }, { 8, 4, "KERNARG_SIZE" }, { 12, 4, "bytes 12 to 15" },
		{ 16, 8, "KERNEL_CODE_ENTRY_BYTE_OFFSET" }, { 24, 8, "bytes 24 to 31" }, { 32, 8, "bytes 32 to 39" }, { 40, 4, "bytes 40 to 43" },
		{ 44, 4, "COMPUTE_PGM_RSRC3" }, { 48, 4, "COMPUTE_PGM_RSRC1" }, { 52, 4, "COMPUTE_PGM_RSRC2" }, { 56, 2, "properties" },
		{ 58, 2, "KERNARG_PRELOAD" }, { 60, 4, "bytes 60 to 63" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t left = 0, right = 0;
		memcpy(&left, x->descriptor + fields[i].offset, fields[i].size);
		memcpy(&right, y->descriptor + fields[i].offset, fields[i].size);
		if (left != right)
			report_difference(pair->report, ".rodata", x->name, x->name_length, "%s is 0x%llx, and 0x%llx", fields[i].name,
					  (unsigned long long)left, (unsigned long long)right);
	}
}

/* Goes through the kernels of both, which is the same for code and descriptors. */
static void compare_kernels(const struct pair *pair, bool code)
{
	size_t n = 0;

	for (size_t i = 0; i < pair->a->n_kernels; i++) {
		const struct elf_kernel *x = &pair->a->kernels[i], *y = find_kernel(pair->b, x);
		if (!y)
			continue;
		bool same = code ? x->code_size == y->code_size && memcmp(x->code, y->code, x->code_size) == 0 :
				   memcmp(x->descriptor, y->descriptor, ELF_DESCRIPTOR_SIZE) == 0;
		if (same || n++ >= MOST_KERNELS)
			continue;
		if (code)
			compare_code(pair, x, y);
		else
			compare_descriptors(pair, x, y);
	}
	if (n > MOST_KERNELS)
		report_difference(pair->report, pair->section, NULL, 0, "%zu more kernels differ", n - MOST_KERNELS);
}

/* ---- symbols ---------------------------------------------------------------------------------------------------------- */

static bool is_random(const char *text)
{
	for (size_t i = 0; i < RANDOM_LENGTH; i++)
		if (!((text[i] >= 'A' && text[i] <= 'Z') || (text[i] >= '0' && text[i] <= '9')))
			return false;
	return text[RANDOM_LENGTH] == 0 || text[RANDOM_LENGTH] == '_';
}

/* Equal but for a random part in the same place; `ret_random`: there is one and it differs. */
static bool same_label(const char *a, const char *b, bool *ret_random)
{
	for (size_t i = 0; a[i] || b[i]; i++) {
		if (a[i] == b[i])
			continue;
		while (i > 0 && a[i - 1] != '_')	/* back to where the part begins */
			i--;
		if (strlen(a) != strlen(b) || strlen(a + i) < RANDOM_LENGTH || !is_random(a + i) || !is_random(b + i))
			return false;
		*ret_random = true;
		i += RANDOM_LENGTH - 1;
	}
	return true;
}

/* What clang calls a HIP source file, by a digest of its path. */
static bool is_unit_id(const struct elf_symbol *symbol)
{
	return strncmp(symbol->name, "__hip_cuid_", strlen("__hip_cuid_")) == 0;
}

static bool has_other_unit(const struct elf *a, const struct elf *b)
{
	for (size_t i = 0; i < MIN(a->n_symbols, b->n_symbols); i++)
		if (is_unit_id(&a->symbols[i]) && is_unit_id(&b->symbols[i]) && strcmp(a->symbols[i].name, b->symbols[i].name) != 0)
			return true;
	return false;
}

/* Tables of names, which are hashed. */
static bool has_unit_ids(const char *section)
{
	return strcmp(section, ".dynsym") == 0 || strcmp(section, ".dynstr") == 0 || strcmp(section, ".hash") == 0 || strcmp(section, ".gnu.hash") == 0;
}

static bool same_name(const struct elf_symbol *x, const struct elf_symbol *y, bool *ret_random)
{
	if (is_unit_id(x) && is_unit_id(y))
		return true;
	if (ELF64_ST_BIND(x->symbol.st_info) != STB_LOCAL)
		return strcmp(x->name, y->name) == 0;
	return same_label(x->name, y->name, ret_random);
}

static const char *section_name(const struct elf *elf, const Elf64_Sym *symbol)
{
	return symbol->st_shndx > 0 && symbol->st_shndx <= elf->n_sections ? elf->sections[symbol->st_shndx - 1].name : "no section";
}

static void compare_symbols(const struct pair *pair)
{
	const struct elf *a = pair->a, *b = pair->b;
	bool random = false;

	if (a->n_symbols != b->n_symbols)
		report_difference(pair->report, ".symtab", NULL, 0, "%zu symbols, and %zu", a->n_symbols, b->n_symbols);
	for (size_t i = 0; i < MIN(a->n_symbols, b->n_symbols); i++) {
		const struct elf_symbol *x = &a->symbols[i], *y = &b->symbols[i];
		if (!same_name(x, y, &random)) {
			report_difference(pair->report, ".symtab", NULL, 0, "symbol %zu is '%s', and '%s'", i + 1, x->name, y->name);
			return;
		}
		if (x->symbol.st_info != y->symbol.st_info || x->symbol.st_other != y->symbol.st_other || x->symbol.st_value != y->symbol.st_value ||
		    x->symbol.st_size != y->symbol.st_size || strcmp(section_name(a, &x->symbol), section_name(b, &y->symbol)) != 0) {
			report_difference(pair->report, ".symtab", NULL, 0, "symbol '%s' is %s+0x%llx, and %s+0x%llx, or of another kind", x->name,
					  section_name(a, &x->symbol), (unsigned long long)x->symbol.st_value, section_name(b, &y->symbol),
					  (unsigned long long)y->symbol.st_value);
			return;
		}
	}
	if (random)
		report_expected(pair->report, "the random part of labels");
}

/* ---- sections --------------------------------------------------------------------------------------------------------- */

static struct bytes bytes_of(const struct elf_section *section)
{
	return (struct bytes){ .data = section->bytes, .size = section->bytes ? section->header.sh_size : 0 };
}

/* The AMDHSA metadata: of a kernel each, or of several. */
static int compare_notes(struct pair *pair)
{
	size_t before = pair->report->n_differences;
	int r = 0;

	for (size_t i = 0; r == 0 && pair->report->n_differences < before + MOST_KERNELS; i++) {
		struct bytes x = { 0 }, y = { 0 };
		int a = elf_metadata(pair->a, i, &x.data, &x.size), b = elf_metadata(pair->b, i, &y.data, &y.size);
		if (a < 0 && b < 0)
			break;
		if (a < 0 || b < 0) {
			report_difference(pair->report, ".note", NULL, 0, "only the %s has %zu or more AMDHSA notes", a < 0 ? "second" : "first", i + 1);
			break;
		}
		r = compare_msgpack(pair->report, ".note", &x, &y);
	}
	return r;
}

/* The name of the symbol that a relocation names by its place in .dynsym; "" when there is none. */
static const char *relocated(const struct elf *elf, const Elf64_Rela *relocation)
{
	const struct elf_section *symbols = elf_find(elf, ".dynsym"), *names = elf_find(elf, ".dynstr");
	uint64_t at = ELF64_R_SYM(relocation->r_info) * sizeof(Elf64_Sym);
	Elf64_Sym symbol;

	if (!symbols || !symbols->bytes || !names || !names->bytes || at + sizeof(symbol) > symbols->header.sh_size)
		return "";
	memcpy(&symbol, symbols->bytes + at, sizeof(symbol));
	if (symbol.st_name >= names->header.sh_size || !memchr(names->bytes + symbol.st_name, 0, names->header.sh_size - symbol.st_name))
		return "";
	return (const char *)names->bytes + symbol.st_name;
}

/* .dynsym is sorted by a hash of the names, so that another name among them moves others. */
static bool same_relocations(const struct pair *pair, const struct bytes *a, const struct bytes *b)
{
	Elf64_Rela x, y;

	for (size_t i = 0; a->size == b->size && i + sizeof(x) <= a->size; i += sizeof(x)) {
		memcpy(&x, a->data + i, sizeof(x));
		memcpy(&y, b->data + i, sizeof(y));
		if (x.r_offset != y.r_offset || x.r_addend != y.r_addend || ELF64_R_TYPE(x.r_info) != ELF64_R_TYPE(y.r_info) ||
		    strcmp(relocated(pair->a, &x), relocated(pair->b, &y)) != 0)
			return false;
	}
	return a->size == b->size;
}

static int compare_section(struct pair *pair, const struct elf_section *x, const struct elf_section *y)
{
	struct bytes a = bytes_of(x), b = bytes_of(y);

	pair->section = x->name;
	if (x->header.sh_addr != y->header.sh_addr && !pair->moved) {
		report_difference(pair->report, x->name, NULL, 0, "begins at 0x%llx, and at 0x%llx, and so may all behind it",
				  (unsigned long long)x->header.sh_addr, (unsigned long long)y->header.sh_addr);
		pair->moved = true;
	}
	if (strcmp(x->name, ".symtab") == 0) {
		compare_symbols(pair);
		return 0;
	}
	if (same_bytes(&a, &b) || strcmp(x->name, ".strtab") == 0)	/* its names have been compared as those of symbols */
		return 0;
	size_t before = pair->report->n_differences;
	if (strcmp(x->name, ".note.gnu.build-id") == 0) {
		report_expected(pair->report, "the build id");
		return 0;
	}
	if (pair->other_unit && (has_unit_ids(x->name) || (x->header.sh_type == SHT_RELA && same_relocations(pair, &a, &b)))) {
		report_expected(pair->report, "the id that clang makes of the path of a HIP source file");
		return 0;
	}
	int r = strcmp(x->name, ".note") == 0 ? compare_notes(pair) : 0;
	if (strcmp(x->name, ".text") == 0) {
		tell_order(pair);
		compare_kernels(pair, true);
	} else if (strcmp(x->name, ".rodata") == 0) {
		compare_kernels(pair, false);
	}
	if (r == 0 && pair->report->n_differences == before)
		compare_bytes(pair->report, x->name, &a, &b);
	return r;
}

static int compare_sections(struct pair *pair)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < pair->a->n_sections; i++) {
		const struct elf_section *x = &pair->a->sections[i], *y = elf_find(pair->b, x->name);
		if (y)
			r = compare_section(pair, x, y);
		else if (strcmp(x->name, ".note.gnu.build-id") == 0)
			report_expected(pair->report, "a build id in one only");
		else
			report_difference(pair->report, x->name, NULL, 0, "only in the first");
	}
	for (size_t i = 0; r == 0 && i < pair->b->n_sections; i++) {
		const struct elf_section *y = &pair->b->sections[i];
		if (elf_find(pair->a, y->name))
			continue;
		if (strcmp(y->name, ".note.gnu.build-id") == 0)
			report_expected(pair->report, "a build id in one only");
		else
			report_difference(pair->report, y->name, NULL, 0, "only in the second");
	}
	return r;
}

static int compare_elf(struct report *report, const struct elf *a, const struct elf *b)
{
	struct pair pair = { .report = report, .a = a, .b = b, .other_unit = has_other_unit(a, b) };

	if (a->header.e_flags != b->header.e_flags)
		report_difference(report, NULL, NULL, 0, "e_flags (processor and features) are 0x%x, and 0x%x", a->header.e_flags, b->header.e_flags);
	if (a->header.e_ident[EI_ABIVERSION] != b->header.e_ident[EI_ABIVERSION])
		report_difference(report, NULL, NULL, 0, "the code object version is %u, and %u", a->header.e_ident[EI_ABIVERSION] + 2u,
				  b->header.e_ident[EI_ABIVERSION] + 2u);
	if (a->header.e_type != b->header.e_type)
		report_difference(report, NULL, NULL, 0, "the ELF type is %u, and %u", a->header.e_type, b->header.e_type);
	tell_missing(&pair);
	int r = compare_sections(&pair);
	if (r == 0)
		compare_bytes(report, "program headers", &(struct bytes){ a->segments, a->header.e_phnum * sizeof(Elf64_Phdr) },
			      &(struct bytes){ b->segments, b->header.e_phnum * sizeof(Elf64_Phdr) });
	return r;
}

/* ---- the wrapping ----------------------------------------------------------------------------------------------------- */

static const char *wrapping(const struct bytes *bytes)
{
	return bytes->size < 4 ? "" : memcmp(bytes->data, ELFMAG, SELFMAG) == 0 ? "bare" : memcmp(bytes->data, "CCOB", 4) == 0 ? "compressed" : "plain";
}

/* "gfx942" of "TensileLibrary_..._gfx942.co" and "Kernels.so-000-gfx942.hsaco"; "" when there is none. */
static void arch_of(const char *file, char arch[32])
{
	const char *at = NULL;

	for (const char *next = file; (next = strstr(next, "gfx")); next++)
		at = next;
	snprintf(arch, 32, "%.*s", at ? (int)MIN(strspn(at, "gfx0123456789abcdef"), (size_t)31) : 0, at ? at : "");
}

static int unwrap(const struct report *report, const char *which, const struct bytes *bytes, struct buffer *elf, struct elf *ret_elf, struct error *error)
{
	struct error failure = { 0 };
	char arch[32];

	arch_of(report->file, arch);
	int r = bundle_read(bytes->data, bytes->size, arch, elf, &failure);
	if (r == 0)
		r = elf_read(elf->data, elf->size, ret_elf, &failure);
	return r < 0 ? error_set(error, r, "the %s: %s", which, error_text(&failure, r)) : 0;
}

int compare_code_objects(struct report *report, const struct bytes *a, const struct bytes *b, struct error *error)
{
	_cleanup_buffer_ struct buffer a_elf = { 0 }, b_elf = { 0 };
	_cleanup_(elf_release) struct elf x = { 0 }, y = { 0 };

	if (same_bytes(a, b))
		return 0;
	int r = unwrap(report, "first", a, &a_elf, &x, error);
	if (r == 0)
		r = unwrap(report, "second", b, &b_elf, &y, error);
	if (r < 0)
		return r;
	size_t before = report->n_differences;
	r = compare_elf(report, &x, &y);
	if (r == 0 && report->n_differences == before && !report_is_expected(report))	/* of headers, and between sections */
		compare_bytes(report, "the rest", &(struct bytes){ a_elf.data, a_elf.size }, &(struct bytes){ b_elf.data, b_elf.size });
	if (strcmp(wrapping(a), wrapping(b)) != 0)
		report_expected(report, "code objects that are wrapped in another way");
	return r;
}
