/* SPDX-License-Identifier: MIT */
/*
 * The code object reader: what it reads is what llvm wrote, and no damaged object makes it read outside the bytes (run this with
 * -Db_sanitize=address,undefined). The mutations have a fixed seed, so that a failure is repeatable; elf_fuzz() is also the entry for a
 * fuzzer.
 */
#include "tests/emulator/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Loads the object and, when that works, runs its kernels for a few instructions. Nothing of this may crash. */
static int elf_fuzz(const uint8_t *bytes, size_t size)
{
	_cleanup_(emu_object_unref_p) struct emu_object *object = NULL;
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct error error = { .text = "" };
	int r = emu_object_load(bytes, size, &object, &error);
	if (r < 0)
		return r;
	assert_int_equal(emu_memory_new(&memory), 0);
	for (size_t i = 0; i < MIN(emu_object_n_kernels(object), (size_t)8); i++) {
		const struct emu_kernel *kernel = emu_object_kernel(object, i);
		uint64_t arguments[8] = { 0 };
		struct emu_launch launch = { .kernel = kernel, .grid = { 1, 1, 1 }, .workgroup = { 64, 1, 1 }, .kernarg = arguments,
					     .kernarg_size = sizeof(arguments), .max_instructions = 200 };
		assert_ptr_equal(emu_object_find(object, kernel->name)->object, object);
		for (size_t k = 0; k < kernel->n_arguments; k++)
			assert_non_null(kernel->arguments[k].value_kind);
		(void)emu_launch(memory, &launch, NULL, &error);
	}
	return 0;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* A few changes: bits, bytes, words with telling values, copies, in the headers or anywhere. */
static void mutate(uint8_t *bytes, size_t size, uint32_t *state)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, 0x7fffffffffffffff, 0x8000000000000000, 0xffffffff, 0x7fffffff, 0x10000, 0xfffffffffffffff8 };
	unsigned changes = 1 + next_random(state) % 4;
	while (changes-- > 0) {
		size_t reach = next_random(state) % 2 ? size : MIN(size, (size_t)640), at = next_random(state) % reach;
		uint64_t value = values[next_random(state) % ARRAY_SIZE(values)];
		size_t wanted = (size_t)1 << next_random(state) % 4, length = MIN(wanted, size - at);
		switch (next_random(state) % 4) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << next_random(state) % 8);
			break;
		case 1:
			bytes[at] = (uint8_t)next_random(state);
			break;
		case 2:
			memcpy(bytes + at, &value, length);
			break;
		default:
			memmove(bytes + at, bytes + next_random(state) % (size - length + 1), length);
			break;
		}
	}
}

static const char *const instructions[] = {
	"v_mov_b32 v1, 0\n s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n s_cbranch_scc1 1f\n v_add_u32 v1, v0, v1\n1:",
	"ds_write_b32 v0, v0\n s_barrier",
};

static void try_mutations(const uint8_t *original, size_t size, unsigned n)
{
	uint32_t random = 20260101;
	unsigned loaded = 0, refused = 0;
	for (unsigned i = 0; i < n; i++) {
		size_t length = i % 8 == 7 ? next_random(&random) % size : size;
		_cleanup_free_ uint8_t *bytes = malloc(length + 1);	/* of its own, so that reads behind it are found */
		assert_non_null(bytes);
		memcpy(bytes, original, length);
		if (length > 0 && i > 0)
			mutate(bytes, length, &random);
		if (elf_fuzz(bytes, length) == 0)
			loaded++;
		else
			refused++;
	}
	assert_true(loaded > n / 20);	/* the mutations must not all die at the first check */
	assert_true(refused > n / 20);
}

static void test_mutations(void **state)
{
	size_t size;
	_cleanup_free_ uint8_t *small = compile_kernel_bytes(instructions, ARRAY_SIZE(instructions), &size);
	(void)state;
	try_mutations(small, size, 1500);
	_cleanup_free_ uint8_t *compiled = compile_c_bytes(TENSILEFS_SOURCE "/tests/emulator/kernels/calls.c", "-O2", &size);
	try_mutations(compiled, size, 1500);	/* with metadata and a function that is no kernel */
}

static void test_contents(void **state)
{
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_kernels(instructions, ARRAY_SIZE(instructions));
	(void)state;
	assert_int_equal(emu_object_n_kernels(object), 2);
	const struct emu_kernel *kernel = emu_object_find(object, "k1");
	assert_non_null(kernel);
	assert_int_equal(kernel->lds_bytes, 1024);
	assert_int_equal(kernel->kernarg_bytes, 64);
	assert_int_equal(kernel->vgprs, 64);
	assert_int_equal(kernel->accum_offset, 32);
	assert_int_equal(kernel->private_bytes, 0);
	assert_int_equal(kernel->properties & 8, 8);	/* kernarg_segment_ptr */
}

static void test_metadata(void **state)
{
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_c(TENSILEFS_SOURCE "/tests/emulator/kernels/machine.c", "-O2");
	const struct emu_kernel *kernel = emu_object_find(object, "buffers");
	(void)state;
	assert_non_null(kernel);
	assert_int_equal(kernel->meta_kernarg_bytes, kernel->kernarg_bytes);
	assert_int_equal(kernel->wavefront_size, 64);
	assert_int_equal(kernel->max_workgroup, 1024);
	assert_true(kernel->n_arguments >= 4);
	assert_string_equal(kernel->arguments[0].value_kind, "global_buffer");
	assert_int_equal(kernel->arguments[2].offset, 16);
	assert_int_equal(kernel->arguments[2].size, 4);
	assert_string_equal(kernel->arguments[2].value_kind, "by_value");
	kernel = emu_object_find(object, "lds_reverse");
	assert_int_equal(kernel->meta_lds_bytes, kernel->lds_bytes);
	assert_int_equal(kernel->lds_bytes, 4096);
}

static void test_refused(void **state)
{
	struct emu_object *object = NULL;
	struct error error;
	size_t size;
	_cleanup_free_ uint8_t *bytes = compile_kernel_bytes(instructions, ARRAY_SIZE(instructions), &size);
	(void)state;
	assert_int_equal(emu_object_load("not an object", 13, &object, &error), -ENOEXEC);
	assert_int_equal(emu_object_load(bytes, 100, &object, &error), -EINVAL);
	bytes[48] = 0x3f;	/* e_flags: gfx90a */
	assert_int_equal(emu_object_load(bytes, size, &object, &error), -ENOTSUP);
	bytes[48] = 0x4c;
	bytes[16] = 1;		/* e_type: relocatable */
	assert_int_equal(emu_object_load(bytes, size, &object, &error), -ENOEXEC);
	assert_null(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents), cmocka_unit_test(test_metadata), cmocka_unit_test(test_refused), cmocka_unit_test(test_mutations),
	};
	if (!compile_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
