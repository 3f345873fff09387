/* SPDX-License-Identifier: MIT */
#include "tests/codegen/lift.h"

#include "tests/common/tool.h"

#include <elf.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[64];

const char *make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/tensilefs-codegen-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return folder;
}

void release_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

void run_tool(const char *const *arguments)
{
	const char *path = tool(arguments[0]);
	int status;

	if (!path) {
		print_message("%s is not installed\n", arguments[0]);
		skip();
	}
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		execv(path, (char *const *)arguments);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int by_address(const void *a, const void *b)
{
	const struct kernel *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static void add_functions(struct object *object, const Elf64_Ehdr *header, const Elf64_Shdr *sections, const Elf64_Shdr *table)
{
	const Elf64_Sym *symbols = (const void *)(object->data + table->sh_offset);
	const char *names = (const char *)object->data + sections[table->sh_link].sh_offset;

	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *symbol = &symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx >= header->e_shnum || symbol->st_size == 0)
			continue;
		object->kernels = realloc(object->kernels, (object->n_kernels + 1) * sizeof(*object->kernels));
		assert_non_null(object->kernels);
		struct kernel *kernel = &object->kernels[object->n_kernels++];
		snprintf(kernel->name, sizeof(kernel->name), "%s", names + symbol->st_name);
		kernel->code = object->data + sections[symbol->st_shndx].sh_offset + symbol->st_value;
		kernel->size = symbol->st_size;
	}
}

void object_load(struct object *object, const char *path)
{
	struct stat st;
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	*object = (struct object){ .data = malloc((size_t)st.st_size), .size = (size_t)st.st_size };
	assert_non_null(object->data);
	assert_int_equal(fread(object->data, 1, object->size, file), object->size);
	fclose(file);

	const Elf64_Ehdr *header = (const void *)object->data;
	assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
	const Elf64_Shdr *sections = (const void *)(object->data + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == SHT_SYMTAB)
			add_functions(object, header, sections, &sections[i]);
	}
	qsort(object->kernels, object->n_kernels, sizeof(*object->kernels), by_address);
}

void object_release(struct object *object)
{
	free(object->kernels);
	free(object->data);
	*object = (struct object){ 0 };
}

static bool is_branch(const struct isa *isa, const struct isa_inst *inst)
{
	return isa_op_info(isa, inst->op)->kind == ISA_KIND_BRANCH || inst->op == ISA_S_CALL_B64;
}

struct ir *lift(const struct isa *isa, const uint8_t *code, size_t size)
{
	const uint32_t *dwords = (const void *)code;
	size_t n = size / 4;
	ir_label_id *labels = malloc((n + 1) * sizeof(*labels));
	struct ir *ir = NULL;

	assert_non_null(labels);
	assert_int_equal(ir_new(isa, &ir), 0);
	for (size_t i = 0; i <= n; i++)
		labels[i] = ir_label_new(ir, "at");
	for (size_t at = 0; at < n;) {
		struct isa_inst inst;
		int length = isa_decode(isa, dwords + at, n - at, &inst);

		if (length < 0)
			print_error("no instruction at dword %zu: %08x\n", at, dwords[at]);
		assert_true(length > 0);
		ir_label(ir, labels[at]);
		if (is_branch(isa, &inst))
			inst.literal = labels[at + 1 + (size_t)(int16_t)inst.literal];
		*ir_emit(ir, inst.op, inst.operand, inst.n_operands) = inst;
		at += (size_t)length;
	}
	ir_label(ir, labels[n]);
	free(labels);
	return ir;
}

void lower(struct ir *ir, struct buffer *code)
{
	struct ir_stats stats;

	code->size = 0;
	assert_int_equal(ir_encode(ir, code, &stats), 0);
}
