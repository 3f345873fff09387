/* SPDX-License-Identifier: MIT */
/* The two texts that are made from a problem type: the name of its library and the beginning of its kernels' names. */
#include "build/logic/problem.h"

#include <ctype.h>

/* Index letters of A and B in memory order, fastest first; `sum` is the letter of the summation index (ProblemType.initGEMM). */
static void print_indices(const struct logic_problem *problem, char sum, char a[4], char b[4])
{
	const char *batch = problem->batched ? "k" : "";

	snprintf(a, 4, "%c%c%s", problem->trans_a ? sum : 'i', problem->trans_a ? 'i' : sum, batch);
	snprintf(b, 4, "%c%c%s", problem->trans_b ? 'j' : sum, problem->trans_b ? sum : 'j', batch);
}

void logic_problem_operation(const struct logic_problem *problem, char ret_text[LOGIC_OPERATION_SIZE])
{
	const char *result = problem->batched ? "ijk" : "ij";
	char sum = problem->batched ? 'l' : 'k', a[4], b[4];

	print_indices(problem, sum, a, b);
	snprintf(ret_text, LOGIC_OPERATION_SIZE, "Contraction_%c_A%s%s_B%s%s_C%s_D%s", sum, a, problem->conjugate_a ? "C" : "", b,
		 problem->conjugate_b ? "C" : "", result, result);
}

static const char *letters(int type)
{
	return logic_type(type)->letters;
}

static const char *flag(const struct logic_value *value, const char *word)
{
	return logic_value_true(value) ? word : "";
}

/* The inputs of the MFMA are f32, but it works in another type: "X" for xf32. */
static const char *xdl_letters(const struct logic_problem *problem)
{
	return problem->f32_xdl != GEMM_F32 && problem->in == GEMM_F32 ? letters(problem->f32_xdl) : NULL;
}

static const char *sparse_words(const struct logic_problem *problem)
{
	return !problem->sparse ? "" : problem->sparse == 2 ? "_SPB" : "_SPA";
}

static const char *scale_ab_words(const struct logic_problem *problem)
{
	return !*problem->scale_ab.string ? "" : *problem->scale_ab.string == 'V' ? "_SABV" : "_SAB";
}

static const char *group_words(const struct logic_problem *problem, bool grouped)
{
	if (grouped && logic_value_true(&problem->grouped))
		return "_GG";
	return logic_value_true(&problem->strided_batched) ? "" : "_GB";
}

static const char *activation_words(const struct logic_problem *problem)
{
	static const char *const words[] = {
		[LOGIC_ACTIVATION_NONE] = "", [LOGIC_ACTIVATION_ALL] = "_A", [LOGIC_ACTIVATION_HIPBLASLT_ALL] = "_HA",
	};
	return words[problem->activation];
}

void logic_problem_print_base(const struct logic_problem *problem, const char *perf_metric, int cu_count, const char *arch,
			      struct buffer *text)
{
	const char *xdl = xdl_letters(problem);
	char operation[LOGIC_OPERATION_SIZE];
	int a, b;

	logic_problem_operands(problem, &a, &b);
	buffer_printf(text, "TensileLibrary_%s%s_%s%s%s", letters(a), letters(b), letters(problem->d), letters(problem->in),
		      activation_words(problem));
	buffer_append_string(text, flag(&problem->use_bias, "_Bias"));
	if (logic_value_true(&problem->use_e))
		buffer_append_string(text, logic_value_true(&problem->gradient) ? "_Grad" : "_Aux");
	buffer_append_string(text, group_words(problem, true));
	buffer_append_string(text, scale_ab_words(problem));
	buffer_append_string(text, flag(&problem->scale_cd, "_SCD"));
	buffer_append_string(text, flag(&problem->scale_alpha_vec, "_SAV"));
	buffer_append_string(text, sparse_words(problem));
	if (xdl)
		buffer_printf(text, "_M%s", xdl);
	buffer_append_string(text, flag(&problem->user_args, "_UA"));
	buffer_printf(text, "_Type_%s%s%s", letters(a), letters(problem->d), flag(&problem->hpa, "_HPA"));
	if (perf_metric)
		buffer_printf(text, "_%s", perf_metric);
	logic_problem_operation(problem, operation);
	buffer_printf(text, "_%s", operation);
	if (cu_count)
		buffer_printf(text, "_CU%d", cu_count);
	buffer_printf(text, "_%s", arch);
}

/* Type triples (input, result, computation) whose names spell out all three (Common.py: HPATypes). */
static bool spells_types(const struct logic_problem *problem)
{
	static const uint8_t triples[][3] = {
		{ 4, 0, 0 }, { 4, 4, 0 }, { 7, 7, 0 }, { 7, 0, 0 }, { 7, 4, 0 }, { 8, 6, 6 }, { 5, 6, 6 }, { 8, 6, 0 }, { 8, 8, 0 },
		{ 8, 4, 0 }, { 8, 7, 0 }, { 11, 0, 0 }, { 12, 0, 0 }, { 13, 0, 0 }, { 14, 0, 0 }, { 11, 4, 0 }, { 12, 4, 0 },
		{ 13, 4, 0 }, { 14, 4, 0 }, { 4, 11, 0 }, { 11, 7, 0 }, { 13, 7, 0 }, { 11, 11, 0 }, { 12, 12, 0 }, { 13, 12, 0 },
		{ 14, 12, 0 }, { 11, 12, 0 }, { 12, 11, 0 }, { 13, 11, 0 }, { 14, 11, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(triples); i++)
		if (triples[i][0] == problem->in && triples[i][1] == problem->d && triples[i][2] == problem->compute)
			return true;
	return false;
}

static void print_types(const struct logic_problem *problem, bool complete, struct buffer *text)
{
	const char *xdl = xdl_letters(problem);

	if (problem->in != problem->a || problem->in != problem->b)
		buffer_printf(text, "_%s%s", letters(problem->a), letters(problem->b));
	buffer_printf(text, "_%s", letters(problem->in));
	if (complete || spells_types(problem))
		buffer_printf(text, "%s%s_", letters(problem->d), letters(problem->compute));
	if (xdl)
		buffer_printf(text, "_M%s_", xdl);
}

static void print_bias(const struct logic_problem *problem, bool complete, struct buffer *text)
{
	if (logic_value_true(&problem->use_bias)) {
		buffer_append_string(text, "_Bias");
		if (complete || !problem->bias_types_default)
			for (unsigned i = 0; i < problem->n_bias_types; i++)
				buffer_append_string(text, letters(problem->bias_types[i]));
		if (logic_value_true(&problem->gradient))
			buffer_printf(text, "_BiasSrc%c", 'A' + problem->bias_src);
	}
	int64_t dim = MAX(problem->scale_alpha_vec.integer, problem->use_bias.integer);
	if (dim > 1)
		buffer_append_string(text, dim == 2 ? "_FDN" : "_FDMN");
}

void logic_problem_print_name(const struct logic_problem *problem, bool grouped, bool complete, struct buffer *text)
{
	char sum = problem->batched ? 'l' : 'k', a[4], b[4];

	print_indices(problem, sum, a, b);
	buffer_printf(text, "%s_A%s%s_B%s%s", problem->batched ? "Cijk" : "Cij", a, problem->conjugate_a ? "C" : "", b,
		      problem->conjugate_b ? "C" : "");
	print_types(problem, complete, text);
	buffer_append_string(text, flag(&problem->use_beta, "B"));
	if (complete || !problem->silent_hpa)
		buffer_append_string(text, flag(&problem->hpa, "H"));
	buffer_append_string(text, flag(&problem->initial_strides_ab, "I"));
	buffer_append_string(text, flag(&problem->initial_strides_cd, "Ic"));
	print_bias(problem, complete, text);
	if (logic_value_true(&problem->use_e))
		buffer_printf(text, "_%s%s", logic_value_true(&problem->gradient) ? "Grad" : "Aux", letters(problem->e));
	else if (complete)
		buffer_append_string(text, flag(&problem->gradient, "_Grad"));
	buffer_append_string(text, flag(&problem->amax_d, "_AmaxD"));
	buffer_append_string(text, sparse_words(problem));
	buffer_append_string(text, group_words(problem, grouped));
	if (problem->activation != LOGIC_ACTIVATION_NONE)
		buffer_printf(text, "%s%s", activation_words(problem), letters(problem->activation_compute));
	buffer_append_string(text, flag(&problem->activation_no_guard, "NG"));
	buffer_append_string(text, scale_ab_words(problem));
	buffer_append_string(text, flag(&problem->scale_cd, "_SCD"));
	buffer_append_string(text, flag(&problem->scale_alpha_vec, "_SAV"));
	buffer_append_string(text, flag(&problem->user_args, "_UserArgs"));
	if (complete && problem->stochastic_rounding)
		buffer_append_string(text, "_SR");
}
