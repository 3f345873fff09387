/* SPDX-License-Identifier: MIT */
#include "tests/emulator/compile.h"

#include "base/file.h"
#include "tests/common/tool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include <cmocka.h>

bool compile_available(void)
{
	return tool("clang") && tool("llvm-mc") && tool("ld.lld");
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buffer bytes = { 0 };

	assert_true(fd >= 0);
	assert_int_equal(read_to_end(fd, &bytes), 0);
	*ret_size = bytes.size;
	return bytes.data;
}

PRINTF_LIKE(1, 2) static void run(const char *format, ...)
{
	char command[4096];
	va_list ap;
	va_start(ap, format);
	vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* Links DIR/k.o and returns the bytes; removes the folder. */
static uint8_t *link_folder(const char *folder, size_t *ret_size)
{
	char path[256];
	run("%s -shared %s/k.o -o %s/k.co", tool("ld.lld"), folder, folder);
	snprintf(path, sizeof(path), "%s/k.co", folder);
	uint8_t *bytes = read_file(path, ret_size);
	run("rm -r %s", folder);
	return bytes;
}

static struct emu_object *load(uint8_t *bytes, size_t size)
{
	struct emu_object *object = NULL;
	struct error error = { .text = "" };
	int r = emu_object_load(bytes, size, &object, &error);
	free(bytes);
	if (r < 0)
		fail_msg("cannot load the code object: %s", error_text(&error, r));
	return object;
}

uint8_t *compile_c_bytes(const char *source, const char *options, size_t *ret_size)
{
	char folder[] = "/tmp/tensilefs-emulator-XXXXXX";
	assert_non_null(mkdtemp(folder));
	run("%s -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -std=gnu17 -ffp-contract=off -Wall -Werror %s -c %s -o %s/k.o",
	    tool("clang"), options, source, folder);
	return link_folder(folder, ret_size);
}

struct emu_object *compile_c(const char *source, const char *options)
{
	size_t size;
	uint8_t *bytes = compile_c_bytes(source, options, &size);
	return load(bytes, size);
}

static void write_kernel(FILE *file, size_t i, const char *instructions)
{
	fprintf(file, "\t.text\n\t.globl k%zu\n\t.p2align 8\n\t.type k%zu,@function\nk%zu:\n%s\n\ts_endpgm\n\t.size k%zu, . - k%zu\n", i, i, i,
		instructions, i, i);
	fprintf(file,
		"\t.rodata\n\t.p2align 6\n\t.amdhsa_kernel k%zu\n"
		"\t.amdhsa_next_free_vgpr 64\n\t.amdhsa_accum_offset 32\n\t.amdhsa_next_free_sgpr 32\n"
		"\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.amdhsa_system_sgpr_workgroup_id_x 1\n"
		"\t.amdhsa_group_segment_fixed_size 1024\n\t.amdhsa_kernarg_size 64\n\t.end_amdhsa_kernel\n",
		i);
}

uint8_t *compile_kernel_bytes(const char *const *instructions, size_t n, size_t *ret_size)
{
	char folder[] = "/tmp/tensilefs-emulator-XXXXXX", path[256];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/k.s", folder);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	for (size_t i = 0; i < n; i++)
		write_kernel(file, i, instructions[i]);
	fclose(file);
	run("%s -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj %s -o %s/k.o", tool("llvm-mc"), path, folder);
	return link_folder(folder, ret_size);
}

struct emu_object *compile_kernels(const char *const *instructions, size_t n)
{
	size_t size;
	uint8_t *bytes = compile_kernel_bytes(instructions, n, &size);
	return load(bytes, size);
}
