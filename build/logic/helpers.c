/* SPDX-License-Identifier: MIT */
/*
 * Which kernels of Kernels.so-000-<arch>.hsaco the solutions of a base need, by the peer's names for them.
 *
 * A solution asks for them in the order: activation enum, activation function, kernels that apply beta, kernels that sum the parts
 * of GlobalSplitU and convert, activation alone, bias reduction (SolutionStructs.getHelperKernelObjects). Names stand in
 * KernelWriter{BetaOnly,Conversion,ActivationFunction,ActivationEnumHeader,ActivationOnly,Reduction}.getKernelName.
 */
#include "build/logic/dat.h"
#include "build/logic/library.h"

#define SPLIT_KERNELS 16		/* Common.py: internalParameters GlobalSplitUPGR */

struct listing {
	const struct logic_problem *problem;
	const struct solution *solution;
	size_t index;			/* of the solution */
	struct buffer name;
	logic_helper_callback callback;
	void *userdata;
};

static const char *letters(int type)
{
	return logic_type(type)->letters;
}

/* Ends a name that stands in listing->name, and passes it on. */
static int tell(struct listing *listing)
{
	buffer_append(&listing->name, "", 1);
	int r = listing->name.failed ? -ENOMEM : listing->callback(listing->userdata, (const char *)listing->name.data, listing->index);
	listing->name.size = 0;
	return r;
}

static const char *indices(const struct logic_problem *problem)
{
	return problem->batched ? "ijk" : "ij";
}

static const char *batch_words(const struct logic_problem *problem)
{
	return logic_value_true(&problem->strided_batched) ? "" : "_GB";
}

static const char *activation_letters(const struct logic_problem *problem)
{
	return problem->activation == LOGIC_ACTIVATION_ALL ? "_A" : "_HA";
}

/* The enum of activations and the functions behind it. */
static int list_activation(struct listing *listing)
{
	const struct logic_problem *problem = listing->problem;
	const char *prefix = logic_value_true(&problem->gradient) ? "Gradient" : "", *compute = letters(problem->activation_compute);

	if (problem->activation == LOGIC_ACTIVATION_NONE)
		return 0;
	buffer_printf(&listing->name, "Tensile%sActivationEnum_%s", prefix, compute);
	int r = tell(listing);
	if (r)
		return r;
	buffer_printf(&listing->name, "Tensile%sActivation%s_%s_%s", prefix, logic_value_true(&problem->activation_no_guard) ? "NG" : "",
		      compute, dat_activation_name(problem->activation));
	return tell(listing);
}

/* `bias` is a type, or -1 where the kernel adds none. */
static int list_beta(struct listing *listing, int bias)
{
	const struct logic_problem *problem = listing->problem;

	buffer_printf(&listing->name, "C%s_%s%s", indices(problem), letters(problem->d), batch_words(problem));
	if (bias >= 0)
		buffer_printf(&listing->name, "_Bias%s", letters(bias));
	buffer_append_string(&listing->name, listing->solution->global_accumulation ? "_GA" : "");
	return tell(listing);
}

static int list_betas(struct listing *listing)
{
	const struct logic_problem *problem = listing->problem;
	const struct solution *solution = listing->solution;
	bool splits = number_of(solution, P_GlobalSplitU) > 1;
	bool streams = number_of(solution, P_StreamK) > 0 && number_of(solution, P_StreamKAtomic) == 1;
	int r = 0;

	if (!splits && !streams)
		return 0;
	if (!logic_value_true(&problem->use_bias))
		return list_beta(listing, -1);
	for (unsigned i = 0; r == 0 && i < problem->n_bias_types; i++)	/* where a conversion follows, that adds the bias */
		r = list_beta(listing, problem->compute == problem->d ? problem->bias_types[i] : -1);
	return r;
}

/* What the sums of GlobalSplitU are kept in. */
static const char *workspace_letters(const struct logic_problem *problem)
{
	return problem->in == GEMM_I8 || problem->in == GEMM_I32 ? letters(GEMM_I32) : letters(problem->in == GEMM_F64 ? GEMM_F64 : GEMM_F32);
}

static void print_conversion_bias(struct listing *listing, int bias)
{
	const struct logic_problem *problem = listing->problem;

	if (bias < 0)
		return;
	if (logic_value_true(&problem->gradient))
		buffer_printf(&listing->name, "_DBias%s_BiasSrc%c", letters(bias), 'A' + problem->bias_src);
	else
		buffer_printf(&listing->name, "_Bias%s", letters(bias));
}

static int list_conversion(struct listing *listing, int bias, int split, int width)
{
	const struct logic_problem *problem = listing->problem;
	bool gradient = logic_value_true(&problem->gradient);
	struct buffer *name = &listing->name;

	buffer_printf(name, "C%s_%s%s%s", indices(problem), workspace_letters(problem), letters(problem->d), batch_words(problem));
	print_conversion_bias(listing, bias);
	int64_t factors = MAX(bias < 0 || gradient ? 0 : problem->use_bias.integer, problem->scale_alpha_vec.integer);
	if (factors > 1)
		buffer_append_string(name, factors == 2 ? "_FDN" : "_FDMN");
	if (logic_value_true(&problem->use_e))
		buffer_printf(name, "_%s%s", gradient ? "Grad" : "Aux", letters(problem->e));
	if (problem->activation != LOGIC_ACTIVATION_NONE && number_of(listing->solution, P_ActivationFused))
		buffer_printf(name, "%s%s%s", activation_letters(problem), letters(problem->activation_compute),
			      logic_value_true(&problem->activation_no_guard) ? "ng" : "");
	if (*problem->scale_ab.string)
		buffer_append_string(name, *problem->scale_ab.string == 'V' ? "_ScaleABVec" : "_ScaleAB");
	buffer_append_string(name, logic_value_true(&problem->scale_cd) ? "_ScaleCD" : "");
	buffer_append_string(name, logic_value_true(&problem->scale_alpha_vec) ? "_ScaleAlphaVec" : "");
	buffer_printf(name, "_PostGSU%d_VW%d", split, width);
	return tell(listing);
}

static int list_conversions(struct listing *listing)
{
	const struct logic_problem *problem = listing->problem;
	const char *algorithm = listing->solution->value[P_GlobalSplitUAlgorithm].string;
	int split = strcmp(algorithm, "SingleBuffer") == 0 ? 1 : SPLIT_KERNELS, widest = problem->in == GEMM_F64 ? 2 : 4, r = 0;
	bool bias = logic_value_true(&problem->use_bias);

	if (strcmp(algorithm, "MultipleBufferSingleKernel") == 0)
		return 0;
	for (int width = 1; r == 0 && width <= widest; width *= 2) {
		if (!bias || logic_value_true(&problem->gradient))	/* a gradient may be asked for without that of the bias */
			r = list_conversion(listing, -1, split, width);
		for (unsigned i = 0; r == 0 && bias && i < problem->n_bias_types; i++)
			r = list_conversion(listing, problem->bias_types[i], split, width);
	}
	return r;
}

static int list_activation_alone(struct listing *listing)
{
	const struct logic_problem *problem = listing->problem;

	if (problem->activation == LOGIC_ACTIVATION_NONE || number_of(listing->solution, P_ActivationFused))
		return 0;
	buffer_printf(&listing->name, "D%s_%s_A%s%s", indices(problem), letters(problem->d), letters(problem->activation_compute),
		      logic_value_true(&problem->activation_no_guard) ? "ng" : "");
	return tell(listing);
}

static int list_reductions(struct listing *listing)
{
	const struct logic_problem *problem = listing->problem;
	int r = 0;

	if (!logic_value_true(&problem->gradient) || !logic_value_true(&problem->use_bias))
		return 0;
	for (unsigned i = 0; r == 0 && i < problem->n_bias_types; i++) {
		buffer_printf(&listing->name, "D%s_%s%s_Reduction", indices(problem), letters(problem->bias_types[i]),
			      letters(problem->compute));
		r = tell(listing);
	}
	return r;
}

/* ---- which of them a solution launches -------------------------------------------------------------------------------- */

static int keep_first(void *userdata, const char *name, size_t solution)
{
	buffer_append_string(userdata, name);
	return 1;
}

int logic_launched_helper(const struct logic_problem *problem, const struct solution *solution, struct buffer *name)
{
	struct listing listing = { .problem = problem, .solution = solution, .callback = keep_first, .userdata = name };
	const char *algorithm = solution->value[P_GlobalSplitUAlgorithm].string;
	bool splits = number_of(solution, P_GlobalSplitU) > 1 && strcmp(algorithm, "MultipleBufferSingleKernel") != 0;
	bool streams = number_of(solution, P_StreamK) > 0 && number_of(solution, P_StreamKAtomic) == 1;
	int r = 0;

	if (streams || (splits && strcmp(algorithm, "SingleBuffer") == 0))
		r = list_betas(&listing);
	else if (splits)
		r = list_conversions(&listing);
	if (r == 0)
		r = list_reductions(&listing);
	if (r == 0)
		r = list_activation_alone(&listing);
	buffer_release(&listing.name);
	return r < 0 ? r : name->failed ? -ENOMEM : r;
}

/* ---- all that its problem type may launch ----------------------------------------------------------------------------- */

/* Solutions of one problem type with equal numbers need the same kernels. */
static unsigned variant(const struct solution *solution)
{
	const char *algorithm = solution->value[P_GlobalSplitUAlgorithm].string;
	bool splits = number_of(solution, P_GlobalSplitU) > 1, fused = number_of(solution, P_ActivationFused);
	bool streams = number_of(solution, P_StreamK) > 0 && number_of(solution, P_StreamKAtomic) == 1;
	unsigned kind = strcmp(algorithm, "SingleBuffer") == 0 ? 0 : strcmp(algorithm, "MultipleBufferSingleKernel") == 0 ? 1 : 2;

	return (kind << 3) + ((splits || streams) << 2) + ((solution->global_accumulation != 0) << 1) + fused;
}

int logic_foreach_helper(const struct logic_library *library, logic_helper_callback callback, void *userdata)
{
	static int (*const kinds[])(struct listing *listing) = {
		list_activation, list_betas, list_conversions, list_activation_alone, list_reductions,
	};
	struct listing listing = { .callback = callback, .userdata = userdata };
	uint32_t told = 0;		/* variants, of listing.problem */
	int r = 0;

	for (size_t i = 0; r == 0 && i < library->n_solutions; i++) {
		const struct loaded_solution *loaded = &library->loaded[i];
		if (library->solutions[i].left_out || !loaded->solution)
			continue;
		if (listing.problem != loaded->problem)
			told = 0;
		if (told >> variant(loaded->solution) & 1)
			continue;
		told |= 1u << variant(loaded->solution);
		listing.problem = loaded->problem;
		listing.solution = loaded->solution;
		listing.index = i;
		for (size_t kind = 0; r == 0 && kind < ARRAY_SIZE(kinds); kind++)
			r = kinds[kind](&listing);
	}
	buffer_release(&listing.name);
	return r;
}
