/* SPDX-License-Identifier: MIT */
/* Derived solutions as the generator takes them, and whether the file agrees with what was derived. */
#include "build/logic/parameters.h"

int solution_check(const struct yaml_node *map, const struct solution *solution, struct error *error)
{
	const struct {
		const char *key;
		int derived;
	} copies[] = {
		{ "MacroTile0", solution->macro_tile[0] },
		{ "MacroTile1", solution->macro_tile[1] },
		{ "NumThreads", solution->num_threads },
	};

	for (size_t i = 0; i < ARRAY_SIZE(copies); i++) {
		const struct yaml_node *node = yaml_get(map, copies[i].key);
		struct yaml_value value = node ? yaml_scalar(node) : (struct yaml_value){ 0 };
		if (node && (value.type != YAML_INT || value.integer != copies[i].derived))
			return error_set(error, -EINVAL, "%s is '%.100s' but the other parameters give %d", copies[i].key,
					 yaml_describe(node), copies[i].derived);
	}
	return 0;
}

int solution_to_gemm(const struct logic_problem *problem, const struct solution *solution, struct gemm_params *ret_params,
		     struct error *error)
{
	const struct logic_value *v = solution->value;
	struct gemm_params params = {
		.depth_u = number_of(solution, P_DepthU),
		.num_threads = solution->num_threads,
		.local_split_u = solution->local_split_u,
		.global_split_u = number_of(solution, P_GlobalSplitU),
		.prefetch_global_read = number_of(solution, P_PrefetchGlobalRead),
		.one_lds_buffer = number_of(solution, P_1LDSBuffer),
		.transpose_lds = number_of(solution, P_TransposeLDS),
		.local_read_vector_width = number_of(solution, P_LocalReadVectorWidth),
		.source_swap = number_of(solution, P_SourceSwap),
		.assert_summation_multiple = number_of(solution, P_AssertSummationElementMultiple),
		.direct_to_lds = number_of(solution, P_DirectToLds),
		.stream_k = number_of(solution, P_StreamK),
		.custom_kernel = v[P_CustomKernelName].string,
	};
	_Static_assert(P_LdsPadB == P_LdsPadA + 1 && P_LdsBlockSizePerPadB == P_LdsBlockSizePerPadA + 1 &&
		       P_GlobalReadVectorWidthB == P_GlobalReadVectorWidthA + 1 && P_NumLoadsCoalescedB == P_NumLoadsCoalescedA + 1 &&
		       P_VectorWidthB == P_VectorWidthA + 1 &&
		       P_AssertFree1ElementMultiple == P_AssertFree0ElementMultiple + 1 && P_DirectToVgprB == P_DirectToVgprA + 1 &&
		       P_NonTemporalD == P_NonTemporalA + 3, "");
	/* pairs of parameters for the two tensors follow each other in the table: A, then B */
	for (int i = 0; i < 2; i++) {
		params.macro_tile[i] = solution->macro_tile[i];
		params.lds_pad[i] = number_of(solution, P_LdsPadA + i);
		params.lds_block_size_per_pad[i] = number_of(solution, P_LdsBlockSizePerPadA + i);
		params.global_read_vector_width[i] = number_of(solution, P_GlobalReadVectorWidthA + i);
		params.num_loads_coalesced[i] = number_of(solution, P_NumLoadsCoalescedA + i);
		params.vector_width[i] = number_of(solution, P_VectorWidthA + i);
		params.assert_free_multiple[i] = number_of(solution, P_AssertFree0ElementMultiple + i);
		params.direct_to_vgpr[i] = number_of(solution, P_DirectToVgprA + i);
		params.mi_wave_group[i] = solution->mi ? v[P_MIWaveGroup].items[i] : 0;
		params.mi_wave_tile[i] = solution->mi ? v[P_MIWaveTile].items[i] : 0;
	}
	for (int i = 0; i < 4; i++) {
		params.mi[i] = solution->mi_block[i];
		params.non_temporal[i] = number_of(solution, P_NonTemporalA + i);
	}
	int r = logic_problem_to_gemm(problem, &params.problem, error);
	/* the types may be beyond the generator, but the rest is still worth showing */
	*ret_params = params;
	if (r < 0)
		return r;
	if (!solution->mi)
		return error_set(error, -EOPNOTSUPP, "no matrix instruction");
	if (solution->mi_block[4] != 1 || solution->mi_block[5] != 1)
		return error_set(error, -EOPNOTSUPP, "MatrixInstruction of %d blocks", solution->mi_block[3]);
	if (number_of(solution, P_WavefrontSize) != 64)
		return error_set(error, -EOPNOTSUPP, "WavefrontSize %d", number_of(solution, P_WavefrontSize));
	if (strcmp(v[P_KernelLanguage].string, "Assembly") != 0)
		return error_set(error, -EOPNOTSUPP, "KernelLanguage %.32s", v[P_KernelLanguage].string);
	if (!number_of(solution, P_ActivationFused))
		return error_set(error, -EOPNOTSUPP, "ActivationFused false");
	if (number_of(solution, P_WorkGroupReduction))
		return error_set(error, -EOPNOTSUPP, "WorkGroupReduction");
	return 0;
}
