/* SPDX-License-Identifier: MIT */
/* A source for a device in parts: clang's own text of small ones, put together and compared with what one compilation gives. */
#include "build/upstream/device_text.h"
#include "tests/common/files.h"
#include "tests/common/tool.h"

#include <errno.h>

/* Without HIP's headers: what it takes to be a kernel. A variable that the host asks for is seen by all objects, as HIP's own are. */
static const char common_source[] =
	"#define __global__ __attribute__((global))\n#define __device__ __attribute__((device))\n"
	"static __device__ int counter = 3;\ninline void *host() { return &counter; }\n"
	"static __global__ void set(int i) { counter = i; }\n"
	"template <int N> __attribute__((noinline)) __device__ int f(int x) { return x * N + x / (N + 2); }\n";
static const char first_source[] = "extern \"C\" __global__ void one(int *p, int i) { p[0] = i; counter++; }\n"
				   "extern \"C\" __global__ void two(int *p, int i) { p[0] = f<5>(i); }\n";
static const char second_source[] = "extern \"C\" __global__ void three(int *p, double *q) { p[0] = counter; q[0] = q[1] * p[1]; }\n";

#define COMPILE "'%s' -x hip --cuda-device-only -nogpuinc -nogpulib -O3 --offload-arch=gfx942 --no-gpu-bundle-output -cuid=0 "

static const char *compiler(void)
{
	const char *clang = tool("clang");

	if (!clang || !tool("ld.lld"))
		skip();
	return clang;
}

/* The text of some source behind the common one. */
static struct buffer compile(void **state, const char *name, const char *source)
{
	const char *file = in_scratch(state, "%s.hip", name), *output = in_scratch(state, "%s.s", name);
	struct buffer text = { 0 };

	write_text(file, common_source);
	assert_int_equal(shell("printf '%%s' '%s' >>'%s' && " COMPILE "-S '%s' -o '%s'", source, file, compiler(), file, output), 0);
	text.data = (uint8_t *)read_text(output, &text.size);
	return text;
}

static struct device_text *parse(const struct buffer *text)
{
	struct device_text *parsed;
	struct error error = { 0 };

	if (device_text_parse(text, &parsed, &error) < 0)
		fail_msg("%s", error.text);
	return parsed;
}

static void assemble(void **state, const char *name, struct buffer *text)
{
	const char *file = in_scratch(state, "%s.part.s", name);

	buffer_append(text, "", 1);
	write_text(file, (const char *)text->data);
	assert_int_equal(shell("'%s' -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx942 -c '%s' -o '%s'", compiler(), file, in_scratch(state, "%s.o", name)), 0);
	buffer_release(text);
}

static void add_part(void **state, const struct device_text *common, const char *name, const char *source, bool last, struct buffer *metadata)
{
	_cleanup_buffer_ struct buffer text = compile(state, name, source), out = { 0 };
	_cleanup_(device_text_free_p) struct device_text *part = parse(&text);
	struct error error = { 0 };

	if (device_text_part(part, common, last, &out, metadata, &error) < 0)
		fail_msg("%s", error.text);
	assemble(state, name, &out);
}

/* Links the common text and two parts to "parts.co". */
static void link_parts(void **state)
{
	_cleanup_buffer_ struct buffer text = compile(state, "common", ""), metadata = { 0 }, out = { 0 };
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);

	add_part(state, common, "first", first_source, false, &metadata);
	add_part(state, common, "second", second_source, true, &metadata);
	assert_int_equal(device_text_prelude(common, &out), 0);
	assemble(state, "prelude", &out);
	assert_int_equal(device_text_epilogue(common, &metadata, &out, NULL), 0);
	assemble(state, "epilogue", &out);
	assert_int_equal(shell("cd '%s' && '%s' -shared --no-undefined -o parts.co prelude.o first.o second.o epilogue.o", (char *)*state, tool("ld.lld")), 0);
}

/* Links one compilation of everything to "whole.co", by way of text as well. */
static void link_whole(void **state)
{
	char source[sizeof(first_source) + sizeof(second_source)];

	snprintf(source, sizeof(source), "%s%s", first_source, second_source);
	_cleanup_buffer_ struct buffer text = compile(state, "whole", source);
	assert_int_equal(shell("cd '%s' && '%s' -x assembler -target amdgcn-amd-amdhsa -mcpu=gfx942 -c whole.s -o whole.o && "
			       "'%s' -shared --no-undefined -o whole.co whole.o", (char *)*state, compiler(), tool("ld.lld")), 0);
}

/* What a reader of ELF says of it, but for the order of symbols that are nobody's but the assembler's, and what depends on their number. */
static void print_object(void **state, const char *name)
{
	assert_int_equal(shell("cd '%s' && readelf -SW %s.co | sed -n '/\\] [.][rtdnb]/p' | grep -v '[.]AMDGPU' | sed 's/^ *\\[[^]]*\\]//' >%s.txt && "
			       "readelf -sW %s.co | grep -v ' ABS \\|contains' | awk '/symtab/ { all = 1 } { $1 = \"\"; if (all) print }' >>%s.txt && "
			       "readelf -x.text -x.rodata -x.note -x.data -r -d %s.co >>%s.txt",
			       (char *)*state, name, name, name, name, name, name), 0);
}

static void test_parts_are_what_one_compilation_gives(void **state)
{
	link_parts(state);
	link_whole(state);
	print_object(state, "parts");
	print_object(state, "whole");
	assert_int_equal(shell("cd '%s' && diff whole.txt parts.txt >&2", (char *)*state), 0);
}

/* The set() of the headers and the kernels of both parts have one variable. */
static void test_what_is_common_is_there_once(void **state)
{
	link_parts(state);
	assert_int_equal(shell("cd '%s' && test \"$(readelf -sW parts.co | awk '/symtab/ { all = 1 } all' | grep -c 'OBJECT .* _ZL7counter$')\" = 1", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && test \"$(readelf -sW parts.co | awk '/symtab/ { all = 1 } all' | grep -c 'FUNC .* _ZL3seti$')\" = 1", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && test \"$(readelf -SW parts.co | grep -c ' NOTE ')\" = 1", (char *)*state), 0);
	assert_int_equal(shell("cd '%s' && test \"$(grep -ac 'amdhsa.kernels' parts.co)\" = 1", (char *)*state), 0);
}

static void test_a_variable_of_one_compilation_is_refused(void **state)
{
	static const char sources[][128] = { "static __device__ int mine = 7; extern \"C\" __global__ void one(int *p) { p[0] = mine++; }\n",
					     "static __device__ int mine; extern \"C\" __global__ void one(int *p) { p[0] = mine++; }\n" };
	_cleanup_buffer_ struct buffer text = compile(state, "common", "");
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		_cleanup_buffer_ struct buffer mine = compile(state, "mine", sources[i]), out = { 0 }, metadata = { 0 };
		_cleanup_(device_text_free_p) struct device_text *part = parse(&mine);
		struct error error = { 0 };
		assert_int_equal(device_text_part(part, common, false, &out, &metadata, &error), -ENOTSUP);
		assert_non_null(strstr(error.text, "variable '_ZL4mine'"));
	}
}

/* Headers that define nothing: the compiler tells the target elsewhere. */
static void test_nothing_need_be_common(void **state)
{
	const char *file = in_scratch(state, "empty.hip"), *output = in_scratch(state, "empty.s");
	struct buffer text = { 0 };
	_cleanup_buffer_ struct buffer metadata = { 0 }, out = { 0 };

	write_text(file, "\n");
	assert_int_equal(shell(COMPILE "-mcode-object-version=4 -S '%s' -o '%s'", compiler(), file, output), 0);
	text.data = (uint8_t *)read_text(output, &text.size);
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);
	assert_int_equal(device_text_prelude(common, &out), 0);
	assemble(state, "prelude", &out);
	assert_int_equal(device_text_epilogue(common, &metadata, &out, NULL), 0);
	assemble(state, "epilogue", &out);
	assert_int_equal(shell("cd '%s' && for i in prelude epilogue; do readelf -h $i.o | grep -q 'ABI Version: *2$' || exit 1; done", (char *)*state), 0);
	buffer_release(&text);
}

/* A table of constants may be there for each part, in its section also when what stood before it there is another's. */
static void test_constants_stay_with_their_part(void **state)
{
	_cleanup_buffer_ struct buffer text = compile(state, "common", ""), metadata = { 0 };
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);

	add_part(state, common, "table", "static __device__ const int table[8] = { 1, 5, 2, 9, 4, 3, 8, 7 };\n"
					 "__device__ int given = 5; extern \"C\" __global__ void one(int *p, int i) { p[0] = table[i]; p[1] = given; }\n",
		 false, &metadata);
	assert_int_equal(shell("cd '%s' && readelf -SsW table.o >table.txt && section() { sed -n \"s/.*\\[ *\\([0-9]*\\)\\] $1 .*/\\1/p\" table.txt; } && "
			       "grep -q \"OBJECT  LOCAL .* $(section '[.]rodata[^ ]*c[^ ]*') _ZL5table\" table.txt && "
			       "grep -q \"OBJECT  GLOBAL .* $(section '[.]data') given\" table.txt", (char *)*state), 0);
}

/* A template of the headers: its kernel would be in the metadata twice. */
static void test_a_kernel_of_two_parts_is_refused(void **state)
{
	static const char source[] = "template <int N> __global__ void k(int *p) { p[0] = N; } inline void *host_too() { return (void *)&k<3>; }\n";
	_cleanup_buffer_ struct buffer text = compile(state, "common", ""), metadata = { 0 }, out = { 0 };
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);
	struct error error = { 0 };

	add_part(state, common, "first", source, false, &metadata);
	assert_int_equal(device_text_epilogue(common, &metadata, &out, &error), 0);
	add_part(state, common, "second", source, true, &metadata);
	assert_int_equal(device_text_epilogue(common, &metadata, &out, &error), -ENOTSUP);
	assert_non_null(strstr(error.text, "'_Z1kILi3EEvPi' in several"));
}

/* What is called may be a function of another part, which takes more registers. */
static void test_calls_by_address_are_refused(void **state)
{
	static const char source[] = "__device__ int (*hook)(int); extern \"C\" __global__ void one(int *p) { p[0] = hook(p[1]); }\n";
	_cleanup_buffer_ struct buffer text = compile(state, "common", ""), metadata = { 0 }, calls = compile(state, "calls", source), out = { 0 };
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text), *part = parse(&calls);
	struct error error = { 0 };

	assert_int_equal(device_text_part(part, common, false, &out, &metadata, &error), -ENOTSUP);
	assert_non_null(strstr(error.text, "by their addresses"));
}

/* What marks functions for us may stand in strings, and what names kernels may be another thing to YAML. */
static void test_words_of_the_source_are_not_taken_for_those_of_the_compiler(void **state)
{
	static const char kernels[] = "extern \"C\" __global__ void one(char *p, int i) { p[0] = \"a long string ; -- Begin function one\"[i]; "
				      "p[1] = \"another long string ; -- End function\"[i]; }\n"
				      "extern \"C\" __global__ void y(char *p) { p[0] = 1; }\nextern \"C\" __global__ void null(char *p) { p[0] = 1; }\n";
	_cleanup_buffer_ struct buffer text = compile(state, "common", kernels), metadata = { 0 };
	_cleanup_(device_text_free_p) struct device_text *common = parse(&text);

	add_part(state, common, "words", kernels, true, &metadata);
	assert_int_equal(metadata.size, 0);		/* all of it is common */
	assert_int_equal(shell("cd '%s' && ! readelf -sW words.o | grep -w 'FUNC\\|y\\|null'", (char *)*state), 0);
}

/* A compiler that says less of what it writes. */
static void test_text_that_is_not_understood_is_refused(void **state)
{
	const char *file = in_scratch(state, "terse.hip"), *output = in_scratch(state, "terse.s");
	_cleanup_buffer_ struct buffer terse = { 0 }, text = compile(state, "whole", first_source);
	struct device_text *parsed;
	struct error error = { 0 };

	write_text(file, "extern \"C\" __attribute__((global)) void one(int *p) { p[0] = 1; }\n");
	assert_int_equal(shell(COMPILE "-fno-verbose-asm -S '%s' -o '%s'", compiler(), file, output), 0);
	terse.data = (uint8_t *)read_text(output, &terse.size);
	assert_int_equal(device_text_parse(&terse, &parsed, &error), -EPROTO);

	/* a function that does not end */
	char *end = memmem(text.data, text.size, "; -- End function", 17);
	for (char *next = end; next; next = memmem(end + 1, (size_t)((char *)text.data + text.size - end) - 1, "; -- End function", 17))
		end = next;
	assert_non_null(end);
	end[5] = '_';
	assert_int_equal(device_text_parse(&text, &parsed, &error), -EPROTO);
}

static void test_other_text_is_refused(void **state)
{
	static const char *const texts[] = { "", "int main;\n", "\t.amdgpu_metadata\n---\n", "\t.end_amdgpu_metadata\n\t.amdgpu_metadata\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_buffer_ struct buffer text = { 0 };
		struct device_text *parsed;
		struct error error = { 0 };
		buffer_append_string(&text, texts[i]);
		assert_int_equal(device_text_parse(&text, &parsed, &error), -EPROTO);
		assert_non_null(strstr(error.text, "no assembly text"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_parts_are_what_one_compilation_gives),
		TEST(test_what_is_common_is_there_once),
		TEST(test_a_variable_of_one_compilation_is_refused),
		TEST(test_nothing_need_be_common),
		TEST(test_constants_stay_with_their_part),
		TEST(test_a_kernel_of_two_parts_is_refused),
		TEST(test_calls_by_address_are_refused),
		TEST(test_words_of_the_source_are_not_taken_for_those_of_the_compiler),
		TEST(test_text_that_is_not_understood_is_refused),
		TEST(test_other_text_is_refused),
	};
	return cmocka_run_group_tests_name("device_text", tests, NULL, NULL);
}
