/* SPDX-License-Identifier: MIT */
/* Differences made on purpose, each of which has to be found and named; and those that are none. */
#include "build/object/elf_file.h"
#include "tests/common/tool.h"
#include "tests/engine/common.h"
#include "tools/compare/compare.h"

#include <msgpack.h>

struct sample {				/* a code object of several kernels, bare */
	struct engine *engine;
	struct artifact *code, *dat;
};

static struct sample sample_open(void **state)
{
	struct engine_options options = { .logic = sample_logic(), .arch = "gfx942", .linker = real_linker(), .bundle = BUNDLE_NONE };
	struct sample sample = { .engine = open_engine(&options) };
	struct engine_file *code = first_of_kind(sample.engine, ENGINE_CODE_OBJECT), *dat = first_of_kind(sample.engine, ENGINE_METADATA);
	struct error error;

	assert_int_equal(engine_get(sample.engine, code, &sample.code, &error), 0);
	assert_int_equal(engine_get(sample.engine, dat, &sample.dat, &error), 0);
	assert_int_equal(shell("mkdir '%s' '%s'", in_scratch(state, "a"), in_scratch(state, "b")), 0);
	return sample;
}

static void sample_close(struct sample *sample)
{
	artifact_unref(sample->code);
	artifact_unref(sample->dat);
	engine_unref(sample->engine);
}

static void save(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* All that differs in the folders a and b as JSON; static memory. */
static const char *differences(void **state, struct report *ret_report)
{
	static char text[65536];
	struct report report = { .json = true };
	struct error error = { 0 };

	assert_int_equal(compare_folders(&report, in_scratch(state, "a"), in_scratch(state, "b"), &error), 0);
	snprintf(text, sizeof(text), "%s", report.list ? json_object_to_json_string_ext(report.list, JSON_C_TO_STRING_NOSLASHESCAPE) : "");
	json_object_put(report.list);
	report.list = NULL;
	*ret_report = report;
	return text;
}

static void assert_only(void **state, const char *section, const char *kernel, size_t length, const char *words)
{
	char wanted[1024];
	struct report report;
	const char *found = differences(state, &report);

	assert_int_equal(report.n_differences, 1);
	snprintf(wanted, sizeof(wanted), "\"section\":\"%s\"", section);
	assert_non_null(strstr(found, wanted));
	if (kernel) {
		snprintf(wanted, sizeof(wanted), "%.*s", (int)length, kernel);
		assert_non_null(strstr(found, wanted));
	}
	assert_non_null(strstr(found, words));
}

static void assert_expected(void **state, const char *words)
{
	struct report report;

	differences(state, &report);
	assert_int_equal(report.n_differences, 0);
	assert_int_equal(report.n_expected, 1);
	assert_string_equal(report.expected[0].what, words);
	assert_int_equal(report.expected[0].n_files, 1);
}

/* Saves the code object as it is in a, and with a byte changed at `at`, which points into it, in b. */
static void save_changed(void **state, const struct sample *sample, const uint8_t *at)
{
	size_t offset = (size_t)(at - sample->code->data);

	save(in_scratch(state, "a/X_gfx942.co"), sample->code->data, sample->code->size);
	sample->code->data[offset] ^= 1;
	save(in_scratch(state, "b/X_gfx942.co"), sample->code->data, sample->code->size);
	sample->code->data[offset] ^= 1;
}

/* ---- code objects ----------------------------------------------------------------------------------------------------- */

static void test_an_instruction_and_a_descriptor_are_told_with_their_kernel(void **state)
{
	struct sample sample = sample_open(state);
	struct elf elf;

	assert_int_equal(elf_read(sample.code->data, sample.code->size, &elf, NULL), 0);
	assert_true(elf.n_kernels > 1);
	const struct elf_kernel *kernel = &elf.kernels[1];
	save_changed(state, &sample, kernel->code + 8);
	assert_only(state, ".text", kernel->name, kernel->name_length, "byte 8 of");
	save_changed(state, &sample, kernel->descriptor + 8);
	assert_only(state, ".rodata", kernel->name, kernel->name_length, "KERNARG_SIZE is 0x");
	elf_release(&elf);
	sample_close(&sample);
}

static void test_a_value_of_the_metadata_is_told_with_its_path(void **state)
{
	static const char key[] = ".wavefront_size";
	struct sample sample = sample_open(state);
	const uint8_t *at = memmem(sample.code->data, sample.code->size, key, strlen(key));

	assert_non_null(at);
	save_changed(state, &sample, at + strlen(key));		/* a number below 128 is its own byte */
	assert_only(state, ".note", NULL, 0, "['.wavefront_size'] is 64, and 65");
	sample_close(&sample);
}

static void test_wrapping_is_no_difference_but_what_is_wrapped_is(void **state)
{
	struct sample sample = sample_open(state);
	_cleanup_buffer_ struct buffer bundle = { 0 };
	struct elf elf;

	save(in_scratch(state, "a/X_gfx942.co"), sample.code->data, sample.code->size);
	assert_int_equal(bundle_write(BUNDLE_COMPRESSED, "gfx942", sample.code->data, sample.code->size, &bundle), 0);
	save(in_scratch(state, "b/X_gfx942.co"), bundle.data, bundle.size);
	assert_expected(state, "code objects that are wrapped in another way");

	assert_int_equal(elf_read(sample.code->data, sample.code->size, &elf, NULL), 0);
	sample.code->data[elf.kernels[0].code - sample.code->data] ^= 1;
	buffer_release(&bundle);
	assert_int_equal(bundle_write(BUNDLE_PLAIN, "gfx942", sample.code->data, sample.code->size, &bundle), 0);
	save(in_scratch(state, "b/X_gfx942.co"), bundle.data, bundle.size);
	assert_only(state, ".text", elf.kernels[0].name, elf.kernels[0].name_length, "byte 0 of");
	elf_release(&elf);
	sample_close(&sample);
}

static void test_a_damaged_code_object_is_told(void **state)
{
	struct sample sample = sample_open(state);
	struct report report;

	save(in_scratch(state, "a/X_gfx942.co"), sample.code->data, sample.code->size);
	save(in_scratch(state, "b/X_gfx942.co"), sample.code->data, sample.code->size / 2);
	assert_non_null(strstr(differences(state, &report), "the second: damaged ELF file"));
	save(in_scratch(state, "b/X_gfx942.co"), "nothing", 7);
	assert_non_null(strstr(differences(state, &report), "the second: "));
	sample_close(&sample);
}

/* Bytes from anywhere: whatever they are changed to, there is an answer. */
static void test_no_change_of_bytes_breaks_the_reader(void **state)
{
	struct sample sample = sample_open(state);
	struct bytes original = { .data = sample.code->data, .size = sample.code->size };
	_cleanup_free_ uint8_t *changed = malloc(original.size);
	uint32_t random = 1;

	assert_non_null(changed);
	for (unsigned round = 0; round < 500; round++) {
		struct report report = { .json = true, .file = "X_gfx942.co" };
		struct error error = { 0 };
		memcpy(changed, original.data, original.size);
		for (unsigned i = 0; i < 1 + round % 4; i++) {
			random = random * 1664525 + 1013904223;
			size_t from = round % 2 ? original.size - MIN(original.size, (size_t)4096) : 0;	/* where headers and tables are */
			changed[from + (random >> 8) % MIN(original.size, (size_t)4096)] = (uint8_t)random;
		}
		int r = compare_code_objects(&report, &original, &(struct bytes){ changed, original.size }, &error);
		assert_true(r == 0 || error.text[0]);
		assert_true(r < 0 || report.n_differences > 0 || report.n_expected > 0 || memcmp(changed, original.data, original.size) == 0);
		json_object_put(report.list);
	}
	sample_close(&sample);
}

/* Links a kernel with a local label; "$MC" and "$LLD" are the tools. */
static void link_kernel(void **state, const char *folder, const char *kernel, const char *label, const char *build_id)
{
	const char *source = in_scratch(state, "kernel.s"), *object = in_scratch(state, "kernel.o"), *mc = tool("llvm-mc");
	_cleanup_buffer_ struct buffer text = { 0 };

	if (!mc)
		skip();
	bool global = strncmp(label, "__hip", 5) == 0;
	buffer_printf(&text,
		      "%s%s%s.amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl %s\n.p2align 8\n.type %s,@function\n%s:\n\ts_nop 0\n%s:\n\ts_endpgm\n"
		      ".amdhsa_kernel %s\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 8\n.amdhsa_accum_offset 8\n.end_amdhsa_kernel\n",
		      global ? ".globl " : "", global ? label : "", global ? "\n" : "", kernel, kernel, kernel, label, kernel);
	buffer_append(&text, "", 1);
	write_text(source, (char *)text.data);
	assert_int_equal(shell("'%s' -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj -o '%s' '%s'", mc, object, source), 0);
	assert_int_equal(shell("'%s' -shared --build-id=%s -o '%s' '%s'", real_linker(), build_id, in_scratch(state, "%s/X_gfx942.co", folder), object), 0);
}

static void test_random_labels_and_build_ids_are_as_expected(void **state)
{
	assert_int_equal(shell("mkdir '%s' '%s'", in_scratch(state, "a"), in_scratch(state, "b")), 0);
	link_kernel(state, "a", "k", "label_0123456789ABCDEF_0", "none");
	link_kernel(state, "b", "k", "label_ZYXWVUTSRQPONMLK_0", "none");
	assert_expected(state, "the random part of labels");
	link_kernel(state, "b", "k", "label_ZYXWVUTSRQPONMLK_1", "none");
	assert_only(state, ".symtab", NULL, 0, "label_ZYXWVUTSRQPONMLK_1");
	link_kernel(state, "b", "k", "label_zyxwvutsrqponmlk_0", "none");
	assert_only(state, ".symtab", NULL, 0, "label_zyxwvutsrqponmlk_0");
	link_kernel(state, "a", "k", "label_0123456789ABCDEF_0", "0x1234");
	link_kernel(state, "b", "k", "label_0123456789ABCDEF_0", "0x5678");
	assert_expected(state, "the build id");
	link_kernel(state, "a", "k", "__hip_cuid_0123456789abcdef", "none");
	link_kernel(state, "b", "k", "__hip_cuid_fedcba9876543210", "none");
	assert_expected(state, "the id that clang makes of the path of a HIP source file");
}

/* Links a kernel that reads a variable, among other symbols and one of a source file. */
static void link_variable(void **state, const char *folder, const char *variable, unsigned unit)
{
	const char *source = in_scratch(state, "variable.s"), *object = in_scratch(state, "variable.o"), *mc = tool("llvm-mc");
	_cleanup_buffer_ struct buffer text = { 0 };

	if (!mc)
		skip();
	buffer_printf(&text, ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\ts_getpc_b64 s[0:1]\n"
			     "\ts_add_u32 s0, s0, %s@gotpcrel32@lo+4\n\ts_endpgm\n.data\n", variable);
	for (char name = 'm'; name <= 'z'; name++)
		buffer_printf(&text, ".globl %c\n%c: .byte 1\n", name, name);
	buffer_printf(&text, ".globl __hip_cuid_%016x\n__hip_cuid_%016x: .byte 0\n", unit, unit);
	buffer_append(&text, "", 1);
	write_text(source, (char *)text.data);
	assert_int_equal(shell("'%s' -triple=amdgcn-amd-amdhsa -mcpu=gfx942 -filetype=obj -o '%s' '%s' && '%s' -shared -o '%s' '%s'", mc, object, source,
			       real_linker(), in_scratch(state, "%s/X_gfx942.co", folder), object), 0);
}

/* Relocations count symbols in an order of hashes. */
static void test_relocations_are_compared_by_the_names_of_their_symbols(void **state)
{
	unsigned moved = 0;

	assert_int_equal(shell("mkdir '%s' '%s'", in_scratch(state, "a"), in_scratch(state, "b")), 0);
	link_variable(state, "a", "n", 0);
	for (unsigned unit = 1; unit < 10; unit++) {
		link_variable(state, "b", "n", unit);
		assert_expected(state, "the id that clang makes of the path of a HIP source file");
		moved += shell("cd '%s' && for i in a b; do readelf -rW $i/X_gfx942.co | grep -a 'R_AMDGPU' >$i.txt; done && cmp -s a.txt b.txt", (char *)*state) != 0;
	}
	assert_true(moved > 0);
	struct report report;
	link_variable(state, "b", "o", 1);
	assert_non_null(strstr(differences(state, &report), "\"section\":\".rela.dyn\""));
}

static void test_a_kernel_that_one_lacks_is_told(void **state)
{
	struct report report;

	assert_int_equal(shell("mkdir '%s' '%s'", in_scratch(state, "a"), in_scratch(state, "b")), 0);
	link_kernel(state, "a", "first", "label_x", "none");
	link_kernel(state, "b", "other", "label_x", "none");
	const char *found = differences(state, &report);
	assert_non_null(strstr(found, "\"kernel\":\"first\",\"difference\":\"only in the first\""));
	assert_non_null(strstr(found, "\"kernel\":\"other\",\"difference\":\"only in the second\""));
}

/* ---- other files ------------------------------------------------------------------------------------------------------ */

static void test_a_value_of_a_dat_is_told_with_its_path(void **state)
{
	struct sample sample = sample_open(state);
	msgpack_unpacked unpacked;
	struct report report;

	save(in_scratch(state, "a/X.dat"), sample.dat->data, sample.dat->size);
	msgpack_unpacked_init(&unpacked);
	assert_int_equal(msgpack_unpack_next(&unpacked, (char *)sample.dat->data, sample.dat->size, NULL), MSGPACK_UNPACK_SUCCESS);
	static const char key[] = "workGroupMapping";
	uint8_t *at = memmem(sample.dat->data, sample.dat->size, key, strlen(key));
	assert_non_null(at);
	at[strlen(key)] ^= 1;
	save(in_scratch(state, "b/X.dat"), sample.dat->data, sample.dat->size);
	assert_non_null(strstr(differences(state, &report), "['solutions'][0]['sizeMapping']['workGroupMapping'] is "));
	assert_int_equal(report.n_differences, 1);
	msgpack_unpacked_destroy(&unpacked);
	sample_close(&sample);
}

static void test_files_of_one_side_are_told(void **state)
{
	struct report report;

	assert_int_equal(shell("mkdir -p '%s' '%s'", in_scratch(state, "a/sub"), in_scratch(state, "b")), 0);
	write_text(in_scratch(state, "a/sub/one"), "x");
	write_text(in_scratch(state, "b/two"), "x");
	const char *found = differences(state, &report);
	assert_int_equal(report.n_differences, 2);
	assert_int_equal(report.n_files, 2);
	assert_non_null(strstr(found, "\"file\":\"sub/one\",\"difference\":\"only in the first\""));
	assert_non_null(strstr(found, "\"file\":\"two\",\"difference\":\"only in the second\""));
}

static void test_lines_bytes_and_lists_are_told(void **state)
{
	struct report report;

	assert_int_equal(shell("mkdir '%s' '%s'", in_scratch(state, "a"), in_scratch(state, "b")), 0);
	write_text(in_scratch(state, "a/X.yaml"), "same\nleft\n");
	write_text(in_scratch(state, "b/X.yaml"), "same\nright\n");
	assert_non_null(strstr(differences(state, &report), "line 2 is 'left', and 'right'"));
	assert_int_equal(shell("rm '%s' '%s'", in_scratch(state, "a/X.yaml"), in_scratch(state, "b/X.yaml")), 0);
	write_text(in_scratch(state, "a/other"), "abc");
	write_text(in_scratch(state, "b/other"), "abd");
	assert_non_null(strstr(differences(state, &report), "byte 2 is 0x63, and 0x64"));
	assert_int_equal(shell("rm '%s' '%s'", in_scratch(state, "a/other"), in_scratch(state, "b/other")), 0);
	write_text(in_scratch(state, "a/TensileManifest.txt"), "/home/a/x.co\n/home/a/y.dat\n");
	write_text(in_scratch(state, "b/TensileManifest.txt"), "y.dat\nx.co\n");
	assert_expected(state, "folders and order of the paths in the list of files");
	write_text(in_scratch(state, "b/TensileManifest.txt"), "y.dat\nz.co\n");
	const char *found = differences(state, &report);
	assert_non_null(strstr(found, "only the first lists 'x.co'"));
	assert_non_null(strstr(found, "only the second lists 'z.co'"));
}

static void test_equal_folders_are_equal(void **state)
{
	struct sample sample = sample_open(state);
	struct report report;

	save(in_scratch(state, "a/X_gfx942.co"), sample.code->data, sample.code->size);
	save(in_scratch(state, "b/X_gfx942.co"), sample.code->data, sample.code->size);
	differences(state, &report);
	assert_int_equal(report.n_differences + report.n_expected, 0);
	assert_int_equal(report.n_files, 1);
	sample_close(&sample);
}

static void test_a_folder_that_cannot_be_read_is_trouble(void **state)
{
	struct report report = { .json = true };
	struct error error = { 0 };

	assert_int_equal(compare_folders(&report, *state, in_scratch(state, "nothing"), &error), -ENOENT);
	assert_non_null(strstr(error.text, "nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_instruction_and_a_descriptor_are_told_with_their_kernel),
		TEST(test_a_value_of_the_metadata_is_told_with_its_path),
		TEST(test_wrapping_is_no_difference_but_what_is_wrapped_is),
		TEST(test_a_damaged_code_object_is_told),
		TEST(test_no_change_of_bytes_breaks_the_reader),
		TEST(test_random_labels_and_build_ids_are_as_expected),
		TEST(test_relocations_are_compared_by_the_names_of_their_symbols),
		TEST(test_a_kernel_that_one_lacks_is_told),
		TEST(test_a_value_of_a_dat_is_told_with_its_path),
		TEST(test_files_of_one_side_are_told),
		TEST(test_lines_bytes_and_lists_are_told),
		TEST(test_equal_folders_are_equal),
		TEST(test_a_folder_that_cannot_be_read_is_trouble),
	};
	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
