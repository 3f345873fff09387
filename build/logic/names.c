/* SPDX-License-Identifier: MIT */
/*
 * Names of solutions and kernels.
 *
 * The peer's (SolutionStructs.getNameMin): problem type, macro tile, matrix instruction without K, "SN", then for every parameter
 * that varies in the build the capitals of its key and its value, keys in order. Stable ones are made the same way, but from a
 * fixed list of parameters, with K, and with the parameters that only odd solutions set spelled out, so that equal names mean
 * equal kernels whatever else is in the build.
 */
#include "build/logic/parameters.h"

#include <ctype.h>
#include <math.h>

static void print_capitals(const char *name, struct buffer *text)
{
	for (; *name; name++)
		if (isupper((unsigned char)*name))
			buffer_append(text, name, 1);
}

static void print_integer(int64_t value, struct buffer *text)
{
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char digits[24], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + rest % 10);
	while ((rest /= 10));
	if (value < 0)
		*--first = 'n';
	buffer_append(text, first, (size_t)(digits + sizeof(digits) - first));
}

/* 0.4 is "0p40", 1.0 is "1". */
static void print_real(double value, struct buffer *text)
{
	double whole = trunc(value), hundredths = nearbyint(value * 100) - whole * 100;

	buffer_printf(text, "%.0f", whole);
	if (hundredths > 0)
		buffer_printf(text, "p%02.0f", hundredths);
}

static void print_value(const struct logic_value *value, struct buffer *text)
{
	switch (value->type) {
	case YAML_STRING:
		return print_capitals(value->string, text);
	case YAML_FLOAT:
		return print_real(value->real, text);
	case LOGIC_LIST:
		for (unsigned i = 0; i < value->n; i++) {
			buffer_append_string(text, i ? "_" : "");
			print_integer(value->items[i], text);
		}
		return;
	default:
		return print_integer(value->integer, text);
	}
}

/* Whether a parameter stands in the peer's names. */
static bool named_by_peer(const struct solution *solution, const struct naming *naming, bool kernel, enum parameter parameter)
{
	enum parameter_naming kind = parameter_naming(parameter);

	if (parameter == P_MIWaveTile)
		return solution->mi;
	if (parameter == P_ThreadTile)
		return !solution->mi;
	if (kind == NAMING_ARG)	/* a kernel without GlobalSplitU is another kernel */
		return !kernel || (parameter == P_GlobalSplitU && number_of(solution, parameter) <= 0);
	return kind != NAMING_NEVER && kind != NAMING_STABLE && naming->varies[parameter];
}

/* Whether it stands in stable names, and whether spelled out. */
static bool named_stable(const struct solution *solution, bool kernel, enum parameter parameter, bool *ret_spelled)
{
	enum parameter_naming kind = parameter_naming(parameter);

	*ret_spelled = kind == NAMING_CHANGED || kind == NAMING_STABLE;
	if (parameter == P_MIWaveTile)
		return solution->mi;
	if (parameter == P_ThreadTile)
		return !solution->mi;
	if (kind == NAMING_ARG)
		return !kernel || (parameter == P_GlobalSplitU && number_of(solution, parameter) <= 0);
	if (*ret_spelled)
		return !logic_value_equal(&solution->value[parameter], parameter_default(parameter));
	return kind == NAMING_ALWAYS;
}

static void print_parameter(const struct solution *solution, const struct naming *naming, bool kernel, enum parameter parameter,
			    struct buffer *text)
{
	bool spelled = false;
	bool named = naming ? named_by_peer(solution, naming, kernel, parameter) : named_stable(solution, kernel, parameter, &spelled);

	if (!named)
		return;
	buffer_append_string(text, "_");
	if (spelled) {
		buffer_append_string(text, parameter_name(parameter));
		if (solution->value[parameter].type == YAML_STRING) {
			buffer_append_string(text, solution->value[parameter].string);
			return;
		}
	} else {
		print_capitals(parameter_name(parameter), text);
	}
	print_value(&solution->value[parameter], text);
}

/* Keys of every kernel's state that are no parameters: ISA before InnerUnroll, Kernel before KernelLanguage. */
static void print_other(const char *arch, const struct naming *naming, enum parameter next, struct buffer *text)
{
	if (next == P_InnerUnroll && naming && naming->arch_varies)
		buffer_printf(text, "_ISA%s", arch + strlen("gfx"));
	if (next == P_KernelLanguage)
		buffer_append_string(text, "_K1");
}

static void print_name(const char *arch, const struct logic_problem *problem, const struct solution *solution, const struct naming *naming,
		       bool kernel, struct buffer *text)
{
	const int *mi = solution->mi_block;

	if (is_custom(solution)) {
		buffer_append_string(text, solution->value[P_CustomKernelName].string);
		return;
	}
	logic_problem_print_name(problem, !kernel, !naming, text);
	buffer_printf(text, "_MT%dx%dx%d", solution->macro_tile[0], solution->macro_tile[1], number_of(solution, P_DepthU));
	if (solution->mi && naming)
		buffer_printf(text, "_MI%dx%dx%d", mi[0], mi[1], mi[3]);
	else if (solution->mi)
		buffer_printf(text, "_MI%dx%dx%dx%d", mi[0], mi[1], mi[2], mi[3]);
	if (!naming && solution->mi && (mi[4] != 1 || mi[5] != 1))
		buffer_printf(text, "_%dx%d", mi[4], mi[5]);
	buffer_append_string(text, "_SN");
	for (int i = 0; i < N_PARAMETERS; i++) {
		print_other(arch, naming, (enum parameter)i, text);
		print_parameter(solution, naming, kernel, (enum parameter)i, text);
	}
}

void solution_print_name(const char *arch, const struct logic_problem *problem, const struct solution *solution,
			 const struct naming *naming, struct buffer *text)
{
	print_name(arch, problem, solution, naming, false, text);
}

void solution_print_kernel_name(const char *arch, const struct logic_problem *problem, const struct solution *solution,
				const struct naming *naming, struct buffer *text)
{
	print_name(arch, problem, solution, naming, true, text);
}
