/* SPDX-License-Identifier: MIT */
/* Objects compared with what llvm-mc makes of directives, and linked by ld.lld. */
#include "tests/object/common.h"

#include <time.h>

/* v_mov_b32 v0, 1; s_nop 3; s_endpgm: the same text goes through llvm-mc, where one is compared with the other */
static const uint32_t small_code[] = { 0x7e000281, 0xbf800003, 0xbf810000 };
#define SMALL_CODE_TEXT "v_mov_b32_e32 v0, 1\ns_nop 3\ns_endpgm\n"

static struct buffer write_object(const struct object_kernel *kernels, size_t n_kernels)
{
	struct buffer elf = { 0 };
	struct error error = { 0 };
	int r = object_write("gfx942", kernels, n_kernels, &elf, &error);

	if (r < 0)
		fail_msg("object_write: %d: %s", r, error.text);
	return elf;
}

static struct object_kernel small_kernel(const char *name)
{
	return (struct object_kernel){
		.name = name, .code = (const uint8_t *)small_code, .code_size = sizeof(small_code),
		.vgprs = 1, .sgprs = 16, .kernarg_bytes = 16, .workgroup_size = 64,
	};
}

/* ---- against llvm-mc -------------------------------------------------------------------------------------------------- */

static void describe_kernel(struct buffer *text, const struct object_kernel *kernel)
{
	unsigned accum = MAX((kernel->vgprs + 3) / 4 * 4, 4u);
	unsigned vgprs = kernel->agprs ? accum + kernel->agprs : kernel->vgprs;

	buffer_printf(text, ".text\n.globl %s\n.protected %s\n.p2align 8\n.type %s,@function\n%s:\n" SMALL_CODE_TEXT ".size %s, .-%s\n",
		      kernel->name, kernel->name, kernel->name, kernel->name, kernel->name, kernel->name);
	buffer_printf(text, ".rodata\n.p2align 6\n.amdhsa_kernel %s\n.amdhsa_next_free_vgpr %u\n.amdhsa_accum_offset %u\n"
		      ".amdhsa_next_free_sgpr %u\n.amdhsa_group_segment_fixed_size %u\n.amdhsa_private_segment_fixed_size %u\n"
		      ".amdhsa_enable_private_segment %u\n.amdhsa_kernarg_size %u\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
		      ".amdhsa_float_denorm_mode_32 3\n.amdhsa_float_denorm_mode_16_64 3\n.end_amdhsa_kernel\n",
		      kernel->name, MAX(vgprs, 1u), accum, kernel->sgprs, kernel->lds_bytes, kernel->private_bytes,
		      kernel->private_bytes > 0, kernel->kernarg_bytes);
}

static void describe_metadata(struct buffer *text, const struct object_kernel *kernel)
{
	unsigned accum = MAX((kernel->vgprs + 3) / 4 * 4, 4u);

	buffer_printf(text, "  - .agpr_count: %u\n    .args:%s\n", kernel->agprs, kernel->n_arguments ? "" : " []");
	for (size_t i = 0; i < kernel->n_arguments; i++) {
		const struct object_argument *argument = &kernel->arguments[i];
		buffer_printf(text, "      - .name: '%s'\n        .offset: %u\n        .size: %u\n        .value_kind: %s\n",
			      argument->name, argument->offset, argument->size, argument->value_kind);
		if (argument->value_type)
			buffer_printf(text, "        .value_type: %s\n", argument->value_type);
		if (argument->address_space)
			buffer_printf(text, "        .address_space: %s\n", argument->address_space);
	}
	buffer_printf(text, "    .group_segment_fixed_size: %u\n    .kernarg_segment_align: 8\n    .kernarg_segment_size: %u\n"
		      "    .max_flat_workgroup_size: %u\n    .name: '%s'\n    .private_segment_fixed_size: %u\n    .sgpr_count: %u\n"
		      "    .sgpr_spill_count: 0\n    .symbol: '%s.kd'\n    .vgpr_count: %u\n    .vgpr_spill_count: 0\n"
		      "    .wavefront_size: 64\n",
		      kernel->lds_bytes, kernel->kernarg_bytes, kernel->workgroup_size, kernel->name, kernel->private_bytes,
		      kernel->sgprs + 6, kernel->name, kernel->agprs ? accum + kernel->agprs : kernel->vgprs);
}

/* The object that LLVM's assembler makes of the same kernels. */
static struct buffer assemble(const struct object_kernel *kernels, size_t n_kernels)
{
	_cleanup_buffer_ struct buffer text = { 0 };

	buffer_printf(&text, ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.amdhsa_code_object_version 5\n");
	for (size_t i = 0; i < n_kernels; i++)
		describe_kernel(&text, &kernels[i]);
	buffer_printf(&text, ".amdgpu_metadata\namdhsa.version: [1, 2]\namdhsa.target: amdgcn-amd-amdhsa--gfx942\namdhsa.kernels:%s\n",
		      n_kernels ? "" : " []");
	for (size_t i = 0; i < n_kernels; i++)
		describe_metadata(&text, &kernels[i]);
	buffer_printf(&text, ".end_amdgpu_metadata\n");
	write_file("peer.s", text.data, text.size);
	free(run("%s -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj peer.s -o peer.o", tool("llvm-mc")));
	return read_file("peer.o");
}

static void expect_same_section(const struct buffer *ours, const struct buffer *peer, const char *name)
{
	struct bytes a = section_bytes(ours, name), b = section_bytes(peer, name);

	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	assert_int_equal(find_section(ours, name)->sh_flags, find_section(peer, name)->sh_flags);
	assert_int_equal(find_section(ours, name)->sh_type, find_section(peer, name)->sh_type);
	assert_int_equal(find_section(ours, name)->sh_addralign, find_section(peer, name)->sh_addralign);
}

static void expect_same_symbol(const struct buffer *ours, const struct buffer *peer, const char *name)
{
	const Elf64_Sym *a = find_symbol(ours, ".symtab", ".strtab", name), *b = find_symbol(peer, ".symtab", ".strtab", name);

	assert_int_equal(a->st_value, b->st_value);
	assert_int_equal(a->st_size, b->st_size);
	assert_int_equal(a->st_info, b->st_info);
	assert_int_equal(a->st_other, b->st_other);
}

static void expect_same_relocations(const struct buffer *ours, const struct buffer *peer)
{
	struct bytes a = section_bytes(ours, ".rela.rodata"), b = section_bytes(peer, ".rela.rodata");

	assert_int_equal(a.size, b.size);
	for (size_t i = 0; i < a.size / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela *x = (const Elf64_Rela *)a.data + i, *y = (const Elf64_Rela *)b.data + i;
		assert_int_equal(x->r_offset, y->r_offset);
		assert_int_equal(x->r_addend, y->r_addend);
		assert_int_equal(ELF64_R_TYPE(x->r_info), ELF64_R_TYPE(y->r_info));
	}
}

static void expect_same_object(const struct object_kernel *kernels, size_t n_kernels)
{
	_cleanup_buffer_ struct buffer ours = write_object(kernels, n_kernels), peer = assemble(kernels, n_kernels);
	const Elf64_Ehdr *a = (const Elf64_Ehdr *)ours.data, *b = (const Elf64_Ehdr *)peer.data;

	assert_memory_equal(a->e_ident, b->e_ident, EI_NIDENT);
	assert_int_equal(a->e_type, b->e_type);
	assert_int_equal(a->e_machine, b->e_machine);
	assert_int_equal(a->e_flags, b->e_flags);
	expect_same_section(&ours, &peer, ".note");
	if (!n_kernels)
		return;
	expect_same_section(&ours, &peer, ".rodata");
	expect_same_relocations(&ours, &peer);
	for (size_t i = 0; i < n_kernels; i++) {
		char descriptor[128];
		snprintf(descriptor, sizeof(descriptor), "%s.kd", kernels[i].name);
		expect_same_symbol(&ours, &peer, kernels[i].name);
		expect_same_symbol(&ours, &peer, descriptor);
	}
}

static void test_descriptors_of_all_register_counts_equal_llvm_mc(void **state)
{
	static const unsigned agprs[] = { 0, 1, 3, 4, 7, 8, 9, 128, 255, 256 };
	_cleanup_free_ struct object_kernel *kernels = calloc(1024, sizeof(*kernels));
	static char names[1024][32];
	size_t n = 0;

	for (unsigned vgprs = 1; vgprs <= 256; vgprs += vgprs < 20 ? 1 : 17)
		for (size_t i = 0; i < ARRAY_SIZE(agprs); i++, n++) {
			kernels[n] = small_kernel(names[n]);
			kernels[n].vgprs = vgprs;
			kernels[n].agprs = agprs[i];
			kernels[n].sgprs = (unsigned)n % 103;
			kernels[n].lds_bytes = (unsigned)n * 997 % 65537;
			kernels[n].kernarg_bytes = (unsigned)n % 50 * 8;
			kernels[n].workgroup_size = 1 + (unsigned)n % 1024;
			kernels[n].private_bytes = n % 7 == 0 ? (unsigned)n * 16 : 0;
			snprintf(names[n], sizeof(names[n]), "k%zu", n);
		}
	assert_true(n > 300);
	expect_same_object(kernels, n);
}

static void test_256_vgprs_and_256_agprs_equal_llvm_mc(void **state)
{
	struct object_kernel kernel = small_kernel("largest");

	kernel.vgprs = kernel.agprs = 256;
	kernel.sgprs = 102;
	kernel.lds_bytes = 65536;
	kernel.workgroup_size = 1024;
	expect_same_object(&kernel, 1);
}

static void test_metadata_equals_llvm_mc(void **state)
{
	static const struct object_argument arguments[] = {
		{ "AddressD", "global_buffer", NULL, "global", 0, 8 },
		{ "alpha", "by_value", "f32", NULL, 8, 4 },
		{ "a_name_of_more_than_31_characters_takes_another_form", "by_value", "u32", NULL, 12, 4 },
		{ "at_127", "by_value", "u32", NULL, 127, 1 }, { "at_128", "by_value", "u32", NULL, 128, 255 },
		{ "at_256", "by_value", "u32", NULL, 256, 256 }, { "at_65535", "by_value", "u32", NULL, 65535, 65536 },
		{ "g", "global_buffer", "struct", "generic", 70000, 8 },
		{ "i", "by_value", "i8", NULL, 1, 1 }, { "j", "by_value", "u16", NULL, 2, 2 }, { "k", "by_value", "f16", NULL, 4, 2 },
		{ "l", "by_value", "u64", NULL, 8, 8 }, { "m", "by_value", "f64", NULL, 16, 8 }, { "n", "by_value", "i64", NULL, 24, 8 },
		{ "o", "by_value", "i32", NULL, 32, 4 }, { "p", "by_value", "i16", NULL, 36, 2 }, { "q", "by_value", "u8", NULL, 38, 1 },
	};
	struct object_kernel kernels[20];
	static char names[20][128];

	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		int length = snprintf(names[i], sizeof(names[i]), "Cijk_Alik_Bljk_HHS_BH_MT%zux16x32_", i);
		memset(names[i] + length, 'x', 3 * i);
		kernels[i] = small_kernel(names[i]);
		kernels[i].arguments = arguments;
		kernels[i].n_arguments = i % (ARRAY_SIZE(arguments) + 1);
		kernels[i].lds_bytes = (unsigned)i * 3400;
	}
	expect_same_object(kernels, ARRAY_SIZE(kernels));
}

static void test_empty_object_equals_llvm_mc(void **state)
{
	expect_same_object(NULL, 0);
}

/* ---- linked ----------------------------------------------------------------------------------------------------------- */

static struct buffer link_object(const struct buffer *object)
{
	write_file("ours.o", object->data, object->size);
	free(run("%s -shared --build-id=none ours.o -o ours.co", tool("ld.lld")));
	return read_file("ours.co");
}

static void expect_linked_kernel(const struct buffer *linked, const struct object_kernel *kernel)
{
	char descriptor_name[64];
	int64_t distance;

	snprintf(descriptor_name, sizeof(descriptor_name), "%s.kd", kernel->name);
	const Elf64_Sym *code = find_symbol(linked, ".dynsym", ".dynstr", kernel->name);
	const Elf64_Sym *descriptor = find_symbol(linked, ".dynsym", ".dynstr", descriptor_name);
	assert_int_equal(code->st_value % 256, 0);
	assert_int_equal(code->st_size, kernel->code_size);
	assert_int_equal(descriptor->st_value % 64, 0);
	assert_int_equal(descriptor->st_size, 64);
	memcpy(&distance, at_address(linked, descriptor->st_value + 16, 8), 8);
	assert_int_equal(descriptor->st_value + (uint64_t)distance, code->st_value);
	assert_memory_equal(at_address(linked, code->st_value, kernel->code_size), kernel->code, kernel->code_size);
}

static void test_linked_descriptors_lead_to_their_code(void **state)
{
	static const size_t sizes[] = { 4, 252, 256, 260, 1000, 4096, 70000 };
	struct object_kernel kernels[ARRAY_SIZE(sizes)];
	static char names[ARRAY_SIZE(sizes)][32];
	uint32_t *codes[ARRAY_SIZE(sizes)];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		snprintf(names[i], sizeof(names[i]), "kernel_%zu", sizes[i]);
		kernels[i] = small_kernel(names[i]);
		kernels[i].code_size = sizes[i];
		codes[i] = calloc(sizes[i] / 4, 4);
		for (size_t word = 0; word < sizes[i] / 4; word++)
			codes[i][word] = 0x7e000280 + (uint32_t)(word % 64);
		kernels[i].code = (const uint8_t *)codes[i];
	}
	_cleanup_buffer_ struct buffer object = write_object(kernels, ARRAY_SIZE(kernels)), linked = link_object(&object);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		expect_linked_kernel(&linked, &kernels[i]);
		free(codes[i]);
	}
}

static void test_prefetch_behind_the_last_kernel_finds_s_nop(void **state)
{
	struct object_kernel kernels[] = { small_kernel("a"), small_kernel("b") };
	_cleanup_buffer_ struct buffer object = write_object(kernels, ARRAY_SIZE(kernels));
	struct bytes text = section_bytes(&object, ".text");
	const uint32_t *words = (const uint32_t *)text.data;

	assert_true(text.size >= 256 + sizeof(small_code) + 1024);
	for (size_t i = 0; i < text.size / 4; i++)
		if (i % 64 >= ARRAY_SIZE(small_code) || i >= 128)
			assert_int_equal(words[i], 0xbf800000);
}

static void test_readelf_and_objdump_understand_the_code_object(void **state)
{
	struct object_kernel kernels[] = { small_kernel("first"), small_kernel("second") };
	_cleanup_buffer_ struct buffer object = write_object(kernels, ARRAY_SIZE(kernels)), linked = link_object(&object);
	_cleanup_free_ char *header = run("%s -h --notes -S -l ours.co 2>&1", tool("llvm-readelf"));
	_cleanup_free_ char *code = run("%s -d ours.co 2>&1", tool("llvm-objdump"));
	static const char *const in_header[] = {
		"0x54c, gfx942, xnack, sramecc", "AMDGPU - HSA", "NT_AMDGPU_METADATA", ".name:           first", ".symbol:         second.kd",
		"amdhsa.target:   amdgcn-amd-amdhsa--gfx942",
	};
	static const char *const in_code[] = { "<first>:", "<second>:", "v_mov_b32_e32 v0, 1", "s_nop 3", "s_endpgm" };

	for (size_t i = 0; i < ARRAY_SIZE(in_header); i++)
		if (!strstr(header, in_header[i]))
			fail_msg("llvm-readelf does not show '%s'", in_header[i]);
	for (size_t i = 0; i < ARRAY_SIZE(in_code); i++)
		if (!strstr(code, in_code[i]))
			fail_msg("llvm-objdump does not show '%s'", in_code[i]);
	assert_null(strstr(header, "warning"));
	assert_null(strstr(header, "Invalid"));
	assert_null(strstr(code, "warning"));
}

static void test_empty_object_links(void **state)
{
	_cleanup_buffer_ struct buffer object = write_object(NULL, 0), linked = link_object(&object);
	_cleanup_free_ char *notes = run("%s --notes ours.co 2>&1", tool("llvm-readelf"));

	assert_int_equal(((const Elf64_Ehdr *)linked.data)->e_flags, 0x54c);
	assert_non_null(strstr(notes, "amdhsa.kernels:  []"));
}

/* ---- size, refusals --------------------------------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_ten_thousand_kernels_are_written_in_no_time_and_link(void **state)
{
	const size_t n = 10000;
	_cleanup_free_ struct object_kernel *kernels = calloc(n, sizeof(*kernels));
	_cleanup_free_ char *names = calloc(n, 64);

	for (size_t i = 0; i < n; i++) {
		snprintf(names + i * 64, 64, "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_%zu", i);
		kernels[i] = small_kernel(names + i * 64);
	}
	double start = cpu_seconds();
	_cleanup_buffer_ struct buffer object = write_object(kernels, n);
	double used = cpu_seconds() - start;
	print_message("%zu kernels: %.1f ms\n", n, used * 1000);
	assert_true(used < 1);		/* quadratic work would take minutes */
	_cleanup_buffer_ struct buffer linked = link_object(&object);
	expect_linked_kernel(&linked, &kernels[0]);
	expect_linked_kernel(&linked, &kernels[n / 2]);
	expect_linked_kernel(&linked, &kernels[n - 1]);
}

static void expect_refusal(const char *arch, const struct object_kernel *kernels, size_t n, int code, const char *words)
{
	struct buffer elf = { 0 };
	struct error error = { 0 };

	assert_int_equal(object_write(arch, kernels, n, &elf, &error), code);
	assert_null(elf.data);
	if (!strstr(error.text, words))
		fail_msg("'%s' does not say '%s'", error.text, words);
}

static void test_impossible_kernels_are_refused_with_name_and_number(void **state)
{
	struct object_kernel good = small_kernel("good"), bad;

#define REFUSE(field, value, words) \
	bad = small_kernel("bad"); \
	bad.field = value; \
	expect_refusal("gfx942", (struct object_kernel[]){ good, bad }, 2, -EINVAL, words)
	REFUSE(vgprs, 257, "kernel 'bad': the number of VGPRs is 257, at most 256");
	REFUSE(agprs, 257, "kernel 'bad': the number of AccVGPRs is 257, at most 256");
	REFUSE(sgprs, 103, "kernel 'bad': the number of SGPRs is 103, at most 102");
	REFUSE(lds_bytes, 65537, "kernel 'bad': the LDS size is 65537, at most 65536");
	REFUSE(workgroup_size, 1025, "kernel 'bad': the workgroup size is 1025, at most 1024");
	REFUSE(workgroup_size, 0, "kernel 'bad': the workgroup size is 0");
	REFUSE(code_size, 0, "kernel 'bad': 0 bytes of code");
	REFUSE(code_size, 6, "kernel 'bad': 6 bytes of code");
	REFUSE(name, "", "no name");
#undef REFUSE
	expect_refusal("gfx942", (struct object_kernel[]){ good, small_kernel("x"), good }, 3, -EEXIST, "the name 'good'");
	expect_refusal("gfx000", &good, 1, -EINVAL, "'gfx000'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_descriptors_of_all_register_counts_equal_llvm_mc),
		TEST(test_256_vgprs_and_256_agprs_equal_llvm_mc),
		TEST(test_metadata_equals_llvm_mc),
		TEST(test_empty_object_equals_llvm_mc),
		TEST(test_linked_descriptors_lead_to_their_code),
		TEST(test_prefetch_behind_the_last_kernel_finds_s_nop),
		TEST(test_readelf_and_objdump_understand_the_code_object),
		TEST(test_empty_object_links),
		TEST(test_ten_thousand_kernels_are_written_in_no_time_and_link),
		TEST(test_impossible_kernels_are_refused_with_name_and_number),
	};

	if (!tool("llvm-mc") || !tool("ld.lld") || !tool("llvm-readelf") || !tool("llvm-objdump"))
		return SKIPPED;
	return cmocka_run_group_tests_name("object", tests, NULL, NULL);
}
