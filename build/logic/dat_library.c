/* SPDX-License-Identifier: MIT */
/* The .dat of a base: its solutions, and the tables that lead to them (logic-and-library: E.2, E.3). */
#include "build/logic/dat.h"
#include "build/logic/library.h"

static void pack_type_list(msgpack_packer *packer, const int *types, size_t n)
{
	dat_list(packer, n);
	for (size_t i = 0; i < n; i++)
		dat_string(packer, logic_type(types[i])->name);
}

static void pack_bias_source(msgpack_packer *packer, const struct logic_problem *problem)
{
	dat_list(packer, 1);
	dat_int(packer, problem->bias_src);
}

static void pack_operation(msgpack_packer *packer, const struct logic_problem *problem)
{
	char text[LOGIC_OPERATION_SIZE];

	logic_problem_operation(problem, text);
	dat_string(packer, text);
}

static void pack_key_type(msgpack_packer *packer, const char *key, int type)
{
	dat_key_string(packer, key, logic_type(type)->name);
}

static void pack_problem_type(msgpack_packer *packer, const struct logic_problem *problem)
{
	int a, b;

	logic_problem_operands(problem, &a, &b);
	dat_map(packer, 32);
	dat_string(packer, "operationIdentifier");
	pack_operation(packer, problem);
	dat_key_bool(packer, "transA", problem->trans_a);
	dat_key_bool(packer, "transB", problem->trans_b);
	pack_key_type(packer, "computeInputType", problem->in);
	pack_key_type(packer, "aType", a);
	pack_key_type(packer, "bType", b);
	pack_key_type(packer, "cType", problem->d);
	pack_key_type(packer, "dType", problem->d);
	pack_key_type(packer, "eType", problem->e);
	pack_key_type(packer, "computeType", problem->compute);
	dat_key_value(packer, "useBeta", &problem->use_beta);
	dat_key_value(packer, "useBias", &problem->use_bias);
	dat_string(packer, "biasSrcWhiteList");
	pack_bias_source(packer, problem);
	dat_key_value(packer, "useE", &problem->use_e);
	dat_key_value(packer, "useScaleAB", &problem->scale_ab);
	dat_key_value(packer, "useScaleCD", &problem->scale_cd);
	dat_key_value(packer, "useScaleAlphaVec", &problem->scale_alpha_vec);
	dat_string(packer, "biasDataTypeWhiteList");
	pack_type_list(packer, problem->bias_types, problem->n_bias_types);
	dat_key_value(packer, "highPrecisionAccumulate", &problem->hpa);
	dat_key_value(packer, "useInitialStridesAB", &problem->initial_strides_ab);
	dat_key_value(packer, "useInitialStridesCD", &problem->initial_strides_cd);
	dat_key_value(packer, "stridedBatched", &problem->strided_batched);
	dat_key_value(packer, "groupedGemm", &problem->grouped);
	dat_key_value(packer, "useGradient", &problem->gradient);
	dat_key_string(packer, "activationType", dat_activation_name(problem->activation));
	/* the most arguments that any activation takes which may be chosen at run time */
	dat_key_int(packer, "activationArgLength", problem->activation == LOGIC_ACTIVATION_NONE ? 0 : 2);
	pack_key_type(packer, "activationComputeDataType", problem->activation_compute);
	dat_key_value(packer, "activationNoGuard", &problem->activation_no_guard);
	dat_key_int(packer, "sparse", problem->sparse);
	pack_key_type(packer, "f32XdlMathOp", problem->f32_xdl);
	dat_key_value(packer, "supportDeviceUserArguments", &problem->user_args);
	dat_key_value(packer, "outputAmaxD", &problem->amax_d);
}

/* Which activations a kernel can be asked for at run time (Activation.py: ActivationType.lookup), in the order of their numbers. */
static const struct activation {
	const char *name;
	bool gradient, hipblaslt;
	uint16_t types;			/* bit per data type that it can be computed in */
} activations[] = {
#define TYPE(n) (1u << (n))
	{ "None", false, true, TYPE(GEMM_F16) | TYPE(GEMM_F32) | TYPE(GEMM_F64) | TYPE(GEMM_BF16) | TYPE(GEMM_I8) | TYPE(GEMM_I32) },
	{ "Abs", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) | TYPE(GEMM_F64) | TYPE(GEMM_BF16) | TYPE(GEMM_I32) },
	{ "Clippedrelu", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) | TYPE(GEMM_F64) | TYPE(GEMM_I32) },
	{ "Gelu", false, true, TYPE(GEMM_F16) | TYPE(GEMM_F32) },
	{ "Leakyrelu", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) | TYPE(GEMM_F64) | TYPE(GEMM_I32) },
	{ "Relu", false, true, TYPE(GEMM_F16) | TYPE(GEMM_F32) | TYPE(GEMM_F64) | TYPE(GEMM_I32) },
	{ "Sigmoid", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) },
	{ "Tanh", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) },
	{ "Dgelu", true, true, TYPE(GEMM_F32) },
	{ "Geluscaling", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) },
	{ "Silu", false, false, TYPE(GEMM_F16) | TYPE(GEMM_F32) },
#undef TYPE
};

static void pack_activations(msgpack_packer *packer, const struct logic_problem *problem)
{
	const char *names[ARRAY_SIZE(activations)];
	bool gradient = logic_value_true(&problem->gradient);
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(activations); i++)
		if (activations[i].gradient == gradient && activations[i].types >> problem->activation_compute & 1 &&
		    (activations[i].hipblaslt || problem->activation == LOGIC_ACTIVATION_ALL))
			names[n++] = activations[i].name;
	dat_predicate(packer, "ActivationEnumWhiteList");
	dat_list(packer, n);
	for (size_t i = 0; i < n; i++)
		dat_string(packer, names[i]);
}

/*
 * The predicates of one solution. They are packed into a list of their own first, because MessagePack wants the number of them in
 * front.
 */
struct predicates {
	msgpack_packer packer;
	struct buffer bytes;
	size_t n;
};

/* Begins {"type": type, "index": index, "value": }. */
static msgpack_packer *add_indexed(struct predicates *list, const char *type, int index)
{
	list->n++;
	dat_map(&list->packer, 3);
	dat_key_string(&list->packer, "type", type);
	dat_key_int(&list->packer, "index", index);
	dat_string(&list->packer, "value");
	return &list->packer;
}

static msgpack_packer *add(struct predicates *list, const char *type)
{
	list->n++;
	dat_predicate(&list->packer, type);
	return &list->packer;
}

static void add_multiple(struct predicates *list, const struct solution *solution, enum parameter parameter, const char *type, int index)
{
	if (number_of(solution, parameter) != 1)
		dat_value(add_indexed(list, type, index), &solution->value[parameter]);
}

/* From assertions of the solution: problem sizes, arithmetic intensity, workspace. */
static void add_assertions(struct predicates *list, const struct solution *solution)
{
	int split = solution->global_accumulation == 2 || solution->global_accumulation == 3 ||
				    strcmp(solution->value[P_GlobalSplitUAlgorithm].string, "MultipleBuffer") == 0 ?
			    number_of(solution, P_GlobalSplitU) :
			    1;
	const int32_t workspace[] = { solution->workspace_per_element_c, solution->workspace_per_element_bias, split };

	add_multiple(list, solution, P_AssertSummationElementMultiple, "BoundSizeMultiple", -1);
	add_multiple(list, solution, P_AssertFree0ElementMultiple, "Free0SizeMultiple", 0);
	add_multiple(list, solution, P_AssertFree1ElementMultiple, "Free1SizeMultiple", 0);
	if (number_of(solution, P_AssertAIGreaterThanEqual) > 0)
		dat_value(add(list, "AIGreaterThanEqual"), &solution->value[P_AssertAIGreaterThanEqual]);
	if (number_of(solution, P_AssertAILessThanEqual) > 0)
		dat_value(add(list, "AILessThanEqual"), &solution->value[P_AssertAILessThanEqual]);
	dat_ints(add_indexed(list, "WorkspaceCheck", 0), workspace, ARRAY_SIZE(workspace));
}

static void add_problem_type(struct predicates *list, const struct logic_problem *problem)
{
	pack_operation(add(list, "OperationIdentifierEqual"), problem);
	if (!logic_value_true(&problem->use_beta)) {
		list->n++;
		dat_map(&list->packer, 1);
		dat_key_string(&list->packer, "type", "BetaZero");
	}
	pack_type_list(add(list, "BiasDataTypeWhiteList"), problem->bias_types, problem->n_bias_types);
	pack_bias_source(add(list, "BiasSrcWhiteList"), problem);
	dat_value(add(list, "AmaxDCheck"), &problem->amax_d);
	if (problem->activation != LOGIC_ACTIVATION_NONE) {
		list->n++;
		pack_activations(&list->packer, problem);
	}
	dat_type_predicates(&list->packer, problem);
	list->n += DAT_TYPE_PREDICATES;
}

/* Buffer instructions reach 4 GiB from the start of a tile; the host checks that a problem stays inside with these numbers. */
static void add_offset_limits(struct predicates *list, const struct logic_problem *problem, const struct solution *solution)
{
	bool tlu_a = !problem->trans_a, tlu_b = problem->trans_b;
	int width_a = number_of(solution, P_GlobalReadVectorWidthA), width_b = number_of(solution, P_GlobalReadVectorWidthB);
	int depth = number_of(solution, P_DepthU);

	if (number_of(solution, P_BufferLoad)) {
		bool shift_a = tlu_a && number_of(solution, P_AssertFree0ElementMultiple) < width_a;
		bool shift_b = tlu_b && number_of(solution, P_AssertFree1ElementMultiple) < width_b;
		msgpack_packer *packer = add(list, "BufferLoadOffsetLimitCheck");
		dat_map(packer, 4);
		dat_key_int(packer, "ShiftPtrElemB", shift_b ? width_b : 0);
		dat_key_int(packer, "ShiftPtrElemA", shift_a ? width_a : 0);
		dat_key_int(packer, "DUorMT1", tlu_b ? depth : solution->macro_tile[1]);
		dat_key_int(packer, "DUorMT0", tlu_a ? depth : solution->macro_tile[0]);
		dat_int(add(list, "BufferLoadOffsetLimitCheck_Beta"), solution->macro_tile[1]);
	}
	if (number_of(solution, P_BufferStore))
		dat_int(add(list, "BufferStoreOffsetLimitCheck"), solution->macro_tile[1]);
}

static void add_compound(struct predicates *list, const struct logic_problem *problem, const struct solution *solution)
{
	int a, b, batch = number_of(solution, P_NumElementsPerBatchStore), split = number_of(solution, P_GlobalSplitU);

	logic_problem_operands(problem, &a, &b);
	if (solution->value[P_SynchronizerSizeCheck].type != YAML_NULL) {
		const struct logic_value *tile = &solution->value[P_MIWaveTile];
		const int32_t sizes[] = {
			solution->macro_tile[0], solution->macro_tile[1], tile->n == 2 ? tile->items[0] * tile->items[1] : 1,
			batch ? solution->elements_per_thread / batch : 1, solution->num_threads,
		};
		dat_ints(add_indexed(list, "SynchronizerSizeCheck", 0), sizes, ARRAY_SIZE(sizes));
	}
	if (strcmp(logic_type(a)->name, "Int8x4") != 0) {
		dat_int(add(list, "LeadingFree0SizesGreaterOrEqual"),
			problem->trans_a ? 1 : number_of(solution, P_GlobalReadVectorWidthA));
		dat_int(add(list, "LeadingFree1SizesGreaterOrEqual"),
			problem->trans_b ? number_of(solution, P_GlobalReadVectorWidthB) : 1);
	}
	dat_value(add(list, "KernelLanguageCompatible"), &solution->value[P_KernelLanguage]);
	if (split > 1 && solution->global_accumulation != 2)
		dat_bool(add(list, "DeterministicMode"), false);
	if (number_of(solution, P_StreamK) > 0 && number_of(solution, P_StreamKAtomic) == 1)
		dat_bool(add(list, "DeterministicMode"), false);
	add_offset_limits(list, problem, solution);
	if (solution->global_accumulation && !number_of(solution, P_StreamK)) {
		const int32_t least_k[] = { 32, split };	/* Common.py: MinKForGSU */
		dat_ints(add(list, "GlobalSplitUCheckMinK"), least_k, ARRAY_SIZE(least_k));
	}
	msgpack_packer *packer = add(list, "WorkgroupMappingXCCCheck");
	dat_list(packer, 2);
	dat_value(packer, &solution->value[P_WorkGroupMappingXCC]);
	dat_value(packer, &solution->value[P_WorkGroupMappingXCCGroup]);
}

static void pack_problem_predicate(msgpack_packer *packer, struct buffer *dat, const struct loaded_solution *loaded)
{
	_cleanup_(buffer_release) struct buffer bytes = { 0 };
	struct predicates list = { .n = 0 };

	dat_packer_init(&list.packer, &bytes);
	add_assertions(&list, loaded->solution);
	add_problem_type(&list, loaded->problem);
	add_compound(&list, loaded->problem, loaded->solution);
	dat_predicate(packer, "And");
	dat_list(packer, list.n);
	buffer_append(dat, bytes.data, bytes.size);
	dat->failed |= bytes.failed;
}

static int accumulation_of(const struct solution *solution)
{
	const char *algorithm = solution->value[P_GlobalSplitUAlgorithm].string;

	if (solution->global_accumulation >= 3)
		return solution->global_accumulation;
	return strcmp(algorithm, "SingleBuffer") == 0 ? 1 : strcmp(algorithm, "MultipleBuffer") == 0 ? 2 : 0;
}

static void pack_size_mapping(msgpack_packer *packer, const struct solution *solution)
{
	const struct logic_value *v = solution->value;
	const int32_t macro_tile[] = { solution->macro_tile[0], solution->macro_tile[1], 1 };

	dat_map(packer, 30);
	dat_key_int(packer, "waveNum", solution->num_threads / number_of(solution, P_WavefrontSize));
	dat_key_value(packer, "workGroup", &v[P_WorkGroup]);
	dat_string(packer, "macroTile");
	dat_ints(packer, macro_tile, ARRAY_SIZE(macro_tile));
	dat_key_value(packer, "threadTile", &v[P_ThreadTile]);
	dat_key_value(packer, "matrixInstruction", &v[P_MatrixInstruction]);
	dat_key_value(packer, "grvwA", &v[P_GlobalReadVectorWidthA]);
	dat_key_value(packer, "grvwB", &v[P_GlobalReadVectorWidthB]);
	dat_key_value(packer, "gwvwC", &v[P_StoreVectorWidth]);
	dat_key_value(packer, "gwvwD", &v[P_StoreVectorWidth]);
	dat_key_value(packer, "depthU", &v[P_DepthU]);
	dat_key_value(packer, "staggerU", &v[P_StaggerU]);
	dat_key_value(packer, "staggerUMapping", &v[P_StaggerUMapping]);
	dat_key_int(packer, "globalSplitUPGR", 16);
	dat_key_value(packer, "globalSplitU", &v[P_GlobalSplitU]);
	dat_key_int(packer, "staggerStrideShift", solution->stagger_stride_shift);
	dat_key_value(packer, "workGroupMapping", &v[P_WorkGroupMapping]);
	dat_key_int(packer, "packBatchDims", 0);
	dat_key_value(packer, "magicDivAlg", &v[P_MagicDivAlg]);
	dat_key_value(packer, "streamK", &v[P_StreamK]);
	dat_key_value(packer, "streamKAtomic", &v[P_StreamKAtomic]);
	dat_key_bool(packer, "sourceKernel", strcmp(v[P_KernelLanguage].string, "Source") == 0);
	dat_key_int(packer, "globalAccumulation", accumulation_of(solution));
	dat_key_int(packer, "workspaceSizePerElemC", solution->workspace_per_element_c);
	dat_key_int(packer, "workspaceSizePerElemBias", solution->workspace_per_element_bias);
	dat_key_value(packer, "activationFused", &v[P_ActivationFused]);
	dat_key_value(packer, "CustomKernelName", &v[P_CustomKernelName]);
	dat_key_value(packer, "workGroupMappingXCC", &v[P_WorkGroupMappingXCC]);
	dat_key_value(packer, "workGroupMappingXCCGroup", &v[P_WorkGroupMappingXCCGroup]);
	dat_key_value(packer, "globalSplitUCoalesced", &v[P_GlobalSplitUCoalesced]);
	dat_key_value(packer, "globalSplitUWorkGroupMappingRoundRobin", &v[P_GlobalSplitUWorkGroupMappingRoundRobin]);
}

static void pack_arguments(msgpack_packer *packer, const struct solution *solution)
{
	dat_map(packer, 5);
	dat_key_value(packer, "version", &solution->kernarg_version);
	dat_key_value(packer, "gsu", &solution->user_gsu);
	dat_key_value(packer, "wgm", &solution->custom_wgm);
	dat_key_value(packer, "staggerU", &solution->custom_stagger_u);
	dat_key_value(packer, "useUniversalArgs", &solution->universal_args);
}

void dat_pack_launch(const struct loaded_solution *loaded, struct buffer *ret_dat)
{
	msgpack_packer packer;

	dat_packer_init(&packer, ret_dat);
	dat_map(&packer, 2);
	dat_string(&packer, "sizeMapping");
	pack_size_mapping(&packer, loaded->solution);
	dat_string(&packer, "internalArgsSupport");
	pack_arguments(&packer, loaded->solution);
}

static void pack_solution(msgpack_packer *packer, struct buffer *dat, const struct logic_library *library, size_t index)
{
	const struct logic_solution *public = &library->solutions[index];
	const struct loaded_solution *loaded = &library->loaded[index];

	dat_map(packer, 12);
	dat_key_string(packer, "name", public->name);
	dat_key_string(packer, "kernelName", public->kernel_name);
	dat_string(packer, "problemType");
	pack_problem_type(packer, loaded->problem);
	dat_string(packer, "hardwarePredicate");
	dat_hardware_predicate(packer, public->file->arch, public->file->cu_count);
	dat_string(packer, "problemPredicate");
	pack_problem_predicate(packer, dat, loaded);
	dat_string(packer, "sizeMapping");
	pack_size_mapping(packer, loaded->solution);
	dat_string(packer, "internalArgsSupport");
	pack_arguments(packer, loaded->solution);
	dat_key_bool(packer, "debugKernel", false);
	dat_key_int(packer, "libraryLogicIndex", public->yaml_index);
	dat_key_int(packer, "index", public->index);
	dat_string(packer, "ideals");
	dat_map(packer, 0);
	dat_string(packer, "linearModel");
	dat_map(packer, 0);
}

static void pack_properties(msgpack_packer *packer, const struct library_table *table)
{
	static const char *const names[] = { "BatchSize", "BoundSize", "FreeSizeA", "FreeSizeB" };

	dat_list(packer, table->n_properties);
	for (unsigned i = 0; i < table->n_properties; i++) {
		dat_map(packer, 2);
		dat_key_string(packer, "type", names[table->properties[i]]);
		dat_key_int(packer, "index", 0);
	}
}

static bool kept(const struct logic_library *library, const struct library_row *row)
{
	return !library->solutions[row->solution].left_out;
}

static void pack_rows(msgpack_packer *packer, const struct logic_library *library, const struct library_table *table, enum library_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < table->n_rows; i++)
		n += kept(library, &table->rows[i]);
	dat_list(packer, n);
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct library_row *row = &table->rows[i];
		if (!kept(library, row))
			continue;
		dat_map(packer, kind == KIND_EQUALITY ? 3 : kind == KIND_GRID ? 2 : 1);
		if (kind != KIND_FREE_SIZE) {
			dat_string(packer, "key");
			dat_list(packer, table->n_properties);
			for (unsigned k = 0; k < table->n_properties; k++)
				dat_int(packer, row->key[k]);
		}
		dat_key_int(packer, "index", library->solutions[row->solution].index);
		if (kind == KIND_EQUALITY)
			dat_key_value(packer, "speed", &row->speed);
	}
}

static void pack_table(msgpack_packer *packer, const struct logic_library *library, const struct library_table *table, enum library_kind kind)
{
	static const char *const predicates[] = {
		[KIND_EQUALITY] = "EqualityMatching", [KIND_FREE_SIZE] = "FreeSizeMatching", [KIND_GRID] = "TruePred",
	};

	dat_map(packer, 2);
	dat_string(packer, "predicate");
	dat_map(packer, 1);
	dat_key_string(packer, "type", predicates[kind]);
	dat_string(packer, "library");
	dat_map(packer, kind == KIND_FREE_SIZE ? 2 : 4);
	dat_key_string(packer, "type", kind == KIND_FREE_SIZE ? "FreeSize" : "Matching");
	if (kind != KIND_FREE_SIZE) {
		dat_string(packer, "properties");
		pack_properties(packer, table);
	}
	dat_string(packer, "table");
	pack_rows(packer, library, table, kind);
	if (kind != KIND_FREE_SIZE)
		dat_key_string(packer, "distance", kind == KIND_EQUALITY ? "Equality" : "GridBased");
}

static void pack_tables(msgpack_packer *packer, const struct logic_library *library, const struct library_tables *tables)
{
	size_t n = 0;

	for (int i = 0; i < N_LIBRARY_KINDS; i++)
		n += tables->of[i].present;
	dat_map(packer, 2);
	dat_key_string(packer, "type", "Problem");
	dat_string(packer, "rows");
	dat_list(packer, n);
	for (int i = 0; i < N_LIBRARY_KINDS; i++)
		if (tables->of[i].present)
			pack_table(packer, library, &tables->of[i], (enum library_kind)i);
}

static void pack_branch(msgpack_packer *packer, const struct dat_branch *branch, const void *userdata)
{
	const struct logic_library *library = userdata;

	pack_tables(packer, library, &library->tables[branch->number]);
}

int logic_write_dat(const struct logic_library *library, struct buffer *ret_dat)
{
	_cleanup_(buffer_release) struct buffer dat = { 0 };
	msgpack_packer packer;
	size_t n_kept = 0;

	for (size_t i = 0; i < library->n_solutions; i++)
		n_kept += !library->solutions[i].left_out;
	dat_packer_init(&packer, &dat);
	dat_map(&packer, 2);
	dat_string(&packer, "solutions");
	dat_list(&packer, n_kept);
	for (size_t i = 0; i < library->n_solutions; i++)
		if (!library->solutions[i].left_out)
			pack_solution(&packer, &dat, library, i);
	dat_string(&packer, "library");
	if (library->base->whole)
		dat_tree_pack(&packer, &library->tree, pack_branch, library);
	else
		pack_tables(&packer, library, &library->tables[0]);
	if (dat.failed)
		return -ENOMEM;
	*ret_dat = dat;
	dat = (struct buffer){ 0 };
	return 0;
}
