/* SPDX-License-Identifier: MIT */
/* Who proves the prover: number formats against the compiler's, and faults put into kernels on purpose. */
#include "tests/gemm/common.h"

#include "tools/verify/values.h"
#include "tools/verify/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static void test_f16_is_the_compilers(void **state)
{
	for (uint32_t bits = 0; bits < 0x10000; bits++) {
		uint16_t half = (uint16_t)bits;
		_Float16 value;
		memcpy(&value, &half, 2);
		double got = value_load(GEMM_F16, &half);
		assert_true(got == (double)value || (isnan(got) && isnan((double)value)));
	}
	struct random random = { 1 };
	for (int i = 0; i < 200000; i++) {
		double value = ldexp(random_real(&random), (int)random_below(&random, 48) - 28);
		_Float16 want = (_Float16)value;
		uint16_t want_bits, got;
		memcpy(&want_bits, &want, 2);
		value_store(GEMM_F16, &got, value);
		assert_int_equal(got, want_bits);
	}
}

static void test_f32_is_the_compilers(void **state)
{
	struct random random = { 2 };

	for (int i = 0; i < 200000; i++) {
		double value = ldexp(random_real(&random), (int)random_below(&random, 290) - 155);
		float want = (float)value;
		uint32_t want_bits, got;
		memcpy(&want_bits, &want, 4);
		value_store(GEMM_F32, &got, value);
		assert_int_equal(got, want_bits);
		assert_true(value_load(GEMM_F32, &got) == (double)want);
	}
}

/* Points of the formats' definitions: AMD's FNUZ floats, and bf16's nearest even. */
static void test_other_formats(void **state)
{
	static const struct { enum gemm_type type; uint32_t bits; double value; } points[] = {
		{ GEMM_F8, 0x00, 0 }, { GEMM_F8, 0x01, 0x1p-10 }, { GEMM_F8, 0x08, 0x1p-7 }, { GEMM_F8, 0x40, 1 }, { GEMM_F8, 0x7f, 240 },
		{ GEMM_F8, 0xc0, -1 }, { GEMM_BF8, 0x01, 0x1p-17 }, { GEMM_BF8, 0x40, 1 }, { GEMM_BF8, 0x7f, 57344 },
		{ GEMM_BF16, 0x3f80, 1 }, { GEMM_BF16, 0x0001, 0x1p-133 }, { GEMM_BF16, 0xff80, -INFINITY },
	};
	static const struct { double value; uint16_t bits; } rounded[] = {
		{ 1 + 0x1p-8, 0x3f80 }, { 1 + 0x3p-8, 0x3f82 }, { 1 + 0x1.1p-8, 0x3f81 }, { 3.4e38, 0x7f80 }, { -0.0, 0x8000 },
	};
	uint32_t bits;

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		assert_true(value_load(points[i].type, &points[i].bits) == points[i].value);
		bits = 0;
		value_store(points[i].type, &bits, points[i].value);
		assert_int_equal(bits, points[i].bits);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rounded); i++) {
		bits = 0;
		value_store(GEMM_BF16, &bits, rounded[i].value);
		assert_int_equal(bits, rounded[i].bits);
	}
	bits = 0x80;
	assert_true(isnan(value_load(GEMM_F8, &bits)) && isnan(value_load(GEMM_BF8, &bits)));
}

/* ---- faults ----------------------------------------------------------------------------------------------------------- */

static void generate(struct test_kernel *kernel, const struct gemm_params *params)
{
	struct error error = { 0 };

	snprintf(kernel->name, sizeof(kernel->name), "kernel");
	if (gemm_config_init(params, &kernel->config, &error) < 0 ||
	    gemm_generate(isa_find("gfx942"), &kernel->config, &kernel->code, &error) < 0)
		fail_msg("%s", error.text);
}

static struct gemm_params small_params(void)
{
	struct gemm_params params = default_params();

	params.problem.use_bias = 1;
	params.problem.n_bias_types = 2;
	params.problem.bias_types[1] = GEMM_F16;
	params.problem.activation = params.problem.scale_ab = params.problem.scale_alpha_vec = true;
	params.mi_wave_group[0] = 2;
	params.mi_wave_tile[1] = 2;
	params.depth_u = 16;
	complete_params(&params);
	return params;
}

static int verify(const struct buffer *elf, const struct gemm_config *config, enum verify_depth depth, struct error *error)
{
	struct verify_kernel kernel = { "kernel", config };
	struct verify_summary summary;

	return verify_code_object(elf->data, elf->size, "gfx942", &kernel, 1, &(struct verify_options){ .depth = depth }, NULL, NULL,
				  &summary, error);
}

/* A sound kernel of another problem is wrong for this one. */
static void test_wrong_configurations_are_found(void **state)
{
	struct gemm_params params = small_params();
	struct test_kernel kernel = { 0 };
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct error error = { 0 };

	generate(&kernel, &params);
	link_kernels(&kernel, 1, &elf);
	assert_int_equal(verify(&elf, &kernel.config, VERIFY_NORMAL, &error), 0);
	for (int i = 0; i < 5; i++) {
		struct gemm_config wrong = kernel.config;

		switch (i) {
		case 0:
			wrong.params.problem.trans_a ^= 1;
			break;
		case 1:
			wrong.params.problem.trans_b ^= 1;
			break;
		case 2:
			wrong.params.problem.c = wrong.params.problem.d = GEMM_BF16;
			break;
		case 3:
			wrong.params.problem.bias_types[1] = GEMM_BF16;
			break;
		default:
			wrong.params.problem.scale_ab = false;	/* other offsets of all that follows */
		}
		assert_int_equal(verify(&elf, &wrong, VERIFY_NORMAL, &error), -EBADMSG);
		assert_non_null(strstr(error.text, "kernel"));
	}
	struct verify_kernel unknown = { "nobody", &kernel.config };
	struct verify_summary summary;
	assert_int_equal(verify_code_object(elf.data, elf.size, "gfx942", &unknown, 1, &(struct verify_options){ 0 }, NULL, NULL, &summary,
					    &error), -EBADMSG);
	gemm_code_release(&kernel.code);
}

/* Kernels of others take GSU 0 and mappings of StaggerU above 4 for what cannot be; this one traps on them and does nothing else. */
static void test_hints_are_those_of_the_host_where_kernels_rely_on_it(void **state)
{
	static const uint32_t code[] = {
		0xc0020100, 4,		/*	s_load_dword s4, s[0:1], 4	internal arguments */
		0xbf8cc07f,		/*	s_waitcnt lgkmcnt(0) */
		0x8605ff04, 0x3fff,	/*	s_and_b32 s5, s4, 0x3fff	GSU */
		0xbf068105,		/*	s_cmp_eq_u32 s5, 1 */
		0xbf840004,		/*	s_cbranch_scc0 1f */
		0x8f059d04,		/*	s_lshr_b32 s5, s4, 29 */
		0xbf0b8405,		/*	s_cmp_le_u32 s5, 4 */
		0xbf840001,		/*	s_cbranch_scc0 1f */
		0xbf810000,		/*	s_endpgm */
		0xbf920002,		/* 1:	s_trap 2 */
		0xbf810000,		/*	s_endpgm */
	};
	struct gemm_params params = small_params();
	struct test_kernel kernel = { 0 };
	_cleanup_buffer_ struct buffer elf = { 0 };
	unsigned traps[2] = { 0 };

	generate(&kernel, &params);
	assert_true(kernel.code.code.size >= sizeof(code));
	memcpy(kernel.code.code.data, code, sizeof(code));
	link_kernels(&kernel, 1, &elf);
	struct verify_kernel verified = { "kernel", &kernel.config };
	for (unsigned i = 0; i < 40; i++) {
		struct verify_options options = { .seed = i / 2, .as_host = i % 2 };
		struct verify_summary summary;
		struct error error = { 0 };

		assert_int_equal(verify_code_object(elf.data, elf.size, "gfx942", &verified, 1, &options, NULL, NULL, &summary, &error), -EBADMSG);
		traps[i % 2] += strstr(error.text, "traps") != NULL;
	}
	assert_int_not_equal(traps[false], 0);
	assert_int_equal(traps[true], 0);
	gemm_code_release(&kernel.code);
}

/* Is this instruction executed with an effect at all? Waits and nops have their own tests, and hints have none. */
static bool is_worth_breaking(const struct isa_op_info *info)
{
	return info->kind == ISA_KIND_PLAIN || info->kind == ISA_KIND_TRANS || info->kind == ISA_KIND_LOAD || info->kind == ISA_KIND_STORE;
}

/* Changes one instruction so that it does something else: another destination, another source, another offset. */
static bool mutate(struct isa_inst *inst, struct random *random)
{
	unsigned operand = random_below(random, inst->n_operands);

	if (inst->offset && random_below(random, 2)) {
		inst->offset ^= 4;
		return true;
	}
	if (inst->operand[operand].code == ISA_LITERAL) {
		inst->literal ^= 1u << random_below(random, 32);
		return true;
	}
	if (inst->operand[operand].code >= ISA_VGPR0 && inst->operand[operand].code < ISA_NONE) {
		inst->operand[operand].code ^= inst->operand[operand].width > 1 ? 2 : 1;
		return true;
	}
	if (inst->operand[operand].code < ISA_FLAT_SCRATCH && inst->operand[operand].width == 1) {
		inst->operand[operand].code ^= 1;
		return true;
	}
	if (inst->operand[operand].code > ISA_INT0 && inst->operand[operand].code < ISA_INT0 + 60) {
		inst->operand[operand].code++;
		return true;
	}
	return false;
}

/* Nearly every change of one instruction is noticed. Not all: some change what nothing depends on (lanes or halves that are not used,
 * WGM's order, a register that gets the same value). TENSILEFS_SHOW_SURVIVORS=1 in the environment lists those. */
static void test_broken_instructions_are_found(void **state)
{
	const struct isa *isa = isa_find("gfx942");
	struct gemm_params params = small_params();
	struct test_kernel kernel = { 0 };
	_cleanup_buffer_ struct buffer elf = { 0 };
	struct random random = { 3 };
	unsigned broken = 0, found = 0;

	generate(&kernel, &params);
	link_kernels(&kernel, 1, &elf);
	uint8_t *code = memmem(elf.data, elf.size, kernel.code.code.data, kernel.code.code.size);
	assert_non_null(code);
	const uint32_t *words = (const uint32_t *)kernel.code.code.data;
	size_t n_words = kernel.code.code.size / 4;
	for (size_t at = 0; at < n_words;) {
		struct isa_inst inst;
		uint32_t changed[ISA_MAX_DWORDS];
		int n = isa_decode(isa, words + at, n_words - at, &inst);

		assert_true(n > 0);
		if (is_worth_breaking(isa_op_info(isa, inst.op)) && !random_below(&random, 3) && mutate(&inst, &random) &&
		    isa_encode(isa, &inst, changed) == n) {
			struct error error = { 0 };

			memcpy(code + at * 4, changed, (size_t)n * 4);
			broken++;
			if (verify(&elf, &kernel.config, VERIFY_NORMAL, &error) < 0) {
				found++;
			} else if (getenv("TENSILEFS_SHOW_SURVIVORS")) {
				char text[128];
				isa_print(isa, &inst, text, sizeof(text));
				print_message("not noticed at %zu: %s\n", at, text);
			}
			memcpy(code + at * 4, words + at, (size_t)n * 4);
		}
		at += (size_t)n;
	}
	print_message("%u of %u broken instructions noticed\n", found, broken);
	assert_true(broken >= 100);
	assert_true(found * 100 >= broken * 85);
	gemm_code_release(&kernel.code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_f16_is_the_compilers),
		cmocka_unit_test(test_f32_is_the_compilers),
		cmocka_unit_test(test_other_formats),
		cmocka_unit_test(test_wrong_configurations_are_found),
		cmocka_unit_test(test_hints_are_those_of_the_host_where_kernels_rely_on_it),
		cmocka_unit_test(test_broken_instructions_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
