/* SPDX-License-Identifier: MIT */
/*
 * What the peer derives from a solution's parameters before it names and writes them (SolutionStructs.assignDerivedParameters).
 *
 * Only what reaches a name, the .dat or struct gemm_params is derived here; how data lies in LDS is the generator's business. A
 * logic file holds final values, so most of this changes nothing for it; it is done all the same because the file's copies of
 * derived values are stale in thousands of solutions.
 *
 * Each step reports the first contradiction it sees and the rest is still derived, so that --keep-all can write what the peer
 * writes.
 */
#include "build/logic/derive.h"

static const struct arch_traits archs[] = {
	{ "gfx908", .mfma = true },
	{ "gfx90a", .mfma = true, .preload = true },
	{ "gfx940", .mfma = true, .nt_bit = true, .preload = true },
	{ "gfx941", .mfma = true, .nt_bit = true, .preload = true },
	{ "gfx942", .mfma = true, .nt_bit = true, .preload = true },
	{ "gfx950", .mfma = true, .nt_bit = true, .preload = true },
	{ "gfx1100", .wmma = 1 },
	{ "gfx1101", .wmma = 1 },
	{ "gfx1102", .wmma = 1 },
	{ "gfx1103", .wmma = 1 },
	{ "gfx1150", .wmma = 1 },
	{ "gfx1151", .wmma = 1 },
	{ "gfx1200", .wmma = 2 },
	{ "gfx1201", .wmma = 2 },
};

/* Notes a contradiction; the first one is what the caller gets. */
#define REJECT(deriving, ...)                                                                      \
	do {                                                                                       \
		struct deriving *d_ = (deriving);                                                  \
		if (!d_->failure && !d_->no_reject)                                                \
			d_->failure = error_set(d_->error, -EINVAL, __VA_ARGS__);                  \
	} while (0)

static void set_flag(struct deriving *deriving, enum parameter parameter, bool value)
{
	deriving->solution->value[parameter] = LOGIC_BOOL(value);
}

/* Numbers outside of these make no kernel, and arithmetic on them could overflow. */
static bool check_ranges(struct deriving *deriving)
{
	static const struct {
		int16_t parameter;
		int lowest, highest;
	} ranges[] = {
		{ P_AssertFree0ElementMultiple, 1, 65536 },	{ P_AssertFree1ElementMultiple, 1, 65536 },
		{ P_AssertSummationElementMultiple, 1, 65536 },	{ P_DepthU, 1, 8192 },
		{ P_GlobalReadVectorWidthA, -2, 32 },		{ P_GlobalReadVectorWidthB, -2, 32 },
		{ P_GlobalSplitU, 0, 16383 },			{ P_InnerUnroll, 1, 64 },
		{ P_LocalReadVectorWidth, -1, 64 },		{ P_NumLoadsCoalescedA, -1, 1024 },
		{ P_NumLoadsCoalescedB, -1, 1024 },		{ P_PrefetchGlobalRead, 0, 16 },
		{ P_PrefetchLocalRead, 0, 256 },		{ P_StaggerU, 0, 255 },
		{ P_StaggerUStride, -1, 1 << 20 },		{ P_StoreVectorWidth, -1, 64 },
		{ P_VectorWidthA, -1, 64 },			{ P_VectorWidthB, -1, 64 },
		{ P_WavefrontSize, 32, 64 },			{ P_WorkGroupMapping, -32768, 32767 },
		{ P_WorkGroupMappingXCC, -1024, 1024 },		{ P_NumElementsPerBatchStore, -1, 65536 },
		{ P_StoreRemapVectorWidth, -1, 64 },		{ P_LdsPadA, -1, 4096 },
		{ P_LdsPadB, -1, 4096 },			{ P_LdsBlockSizePerPadA, -1, 65536 },
		{ P_LdsBlockSizePerPadB, -1, 65536 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		int value = get(deriving, ranges[i].parameter);
		if (value >= ranges[i].lowest && value <= ranges[i].highest)
			continue;
		deriving->failure = error_set(deriving->error, -EINVAL, "%s is %d, not between %d and %d",
					      parameter_name(ranges[i].parameter), value, ranges[i].lowest, ranges[i].highest);
		return false;
	}
	return true;
}

/* A list of exactly n numbers from 1 to `highest`. */
static bool check_list(struct deriving *deriving, enum parameter parameter, unsigned n, int highest)
{
	const struct logic_value *value = &deriving->solution->value[parameter];
	bool good = value->type == LOGIC_LIST && value->n == n;

	for (unsigned i = 0; good && i < n; i++)
		good = value->items[i] >= 1 && value->items[i] <= highest;
	if (!good)
		deriving->failure = error_set(deriving->error, -EINVAL, "%s is not %u numbers from 1 to %d", parameter_name(parameter), n,
					      highest);
	return good;
}

/* Tiles of a work group from the matrix instruction and the waves (assignProblemIndependentDerivedParameters). */
static bool derive_mi_tiles(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	const struct logic_value *v = solution->value;

	if (!check_list(deriving, P_MIBlock, 6, 128) || !check_list(deriving, P_MIWaveGroup, 2, 64) ||
	    !check_list(deriving, P_MIWaveTile, 2, 256))
		return false;
	const int32_t *block = v[P_MIBlock].items, *group = v[P_MIWaveGroup].items, *tile = v[P_MIWaveTile].items;
	const int m = block[0], n = block[1], wavefront = get(deriving, P_WavefrontSize);
	if (memcmp(block, v[P_MatrixInstruction].items, 4 * sizeof(*block)) != 0)
		REJECT(deriving, "MIBlock and MatrixInstruction differ");
	if (n > wavefront || (m != 4 && m * n < wavefront)) {
		deriving->failure = error_set(deriving->error, -EINVAL, "MatrixInstruction %dx%d for waves of %d", m, n, wavefront);
		return false;
	}
	memcpy(solution->mi_block, block, sizeof(solution->mi_block));
	bool f64 = deriving->problem->in == GEMM_F64;
	solution->mi_output_width = deriving->arch->wmma ? (deriving->arch->wmma == 2 ? 8 : 1) : f64 ? 1 : 4;
	if (m == 4) {
		solution->thread_tile[0] = tile[0] * solution->mi_output_width;
		solution->thread_tile[1] = tile[1];
		solution->sub_group[0] = group[0] * m * block[4] / solution->mi_output_width;
		solution->sub_group[1] = group[1] * n * block[5];
	} else {
		solution->thread_tile[0] = block[4] * tile[0] * (m * n / wavefront);
		solution->thread_tile[1] = block[5] * tile[1];
		solution->sub_group[0] = group[0] * (wavefront / n);
		solution->sub_group[1] = group[1] * n;
	}
	return true;
}

/*
 * The form with nine numbers that tuning and hand-written kernels use (MatrixInstructionToMIParameters): M, N, K, B, BM, waves'
 * tiles and waves. It replaces MIBlock, MIWaveGroup, MIWaveTile and WorkGroup.
 */
static bool expand_mi(struct deriving *deriving, struct arena *arena)
{
	struct logic_value *v = deriving->solution->value;
	int wavefront = get(deriving, P_WavefrontSize);

	if (!check_list(deriving, P_MatrixInstruction, 9, 256) || !check_list(deriving, P_WorkGroup, 3, 1024))
		return false;
	const int32_t *mi = v[P_MatrixInstruction].items;
	int waves = mi[7] * mi[8], rows = mi[4] * mi[0] * mi[7], bm = MIN(rows / mi[0], mi[3]), group = MIN(rows / mi[0] / bm, waves);
	const struct {
		enum parameter parameter;
		uint8_t n;
		int32_t items[6];
	} lists[] = {
		{ P_MatrixInstruction, 4, { mi[0], mi[1], mi[2], mi[3] } },
		{ P_MIBlock, 6, { mi[0], mi[1], mi[2], mi[3], bm, mi[3] / bm } },
		{ P_MIWaveGroup, 2, { group, waves / group } },
		{ P_MIWaveTile, 2, { mi[5], mi[6] } },
		{ P_WorkGroup, 3, { rows, waves * wavefront / rows, v[P_WorkGroup].items[2] } },
		{ P_ThreadTile, 2, { 1, 1 } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		int32_t *items = arena_new(arena, int32_t, lists[i].n);
		if (!items) {
			deriving->failure = -ENOMEM;
			return false;
		}
		memcpy(items, lists[i].items, lists[i].n * sizeof(*items));
		v[lists[i].parameter] = (struct logic_value){ .type = LOGIC_LIST, .n = lists[i].n, .items = items };
	}
	set(deriving, P_MIInputPerThread, mi[0] * mi[2] * mi[3] / wavefront);
	return true;
}

static bool derive_tiles(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	const struct logic_value *v = solution->value;

	if (!check_list(deriving, P_WorkGroup, 3, 1024))
		return false;
	solution->mi = v[P_MatrixInstruction].n == 4;
	if (solution->mi) {
		if (!derive_mi_tiles(deriving))
			return false;
	} else {
		if (!check_list(deriving, P_ThreadTile, 2, 1024))
			return false;
		for (int i = 0; i < 2; i++) {
			solution->thread_tile[i] = v[P_ThreadTile].items[i];
			solution->sub_group[i] = v[P_WorkGroup].items[i];
		}
		solution->mi_output_width = 1;
	}
	solution->local_split_u = v[P_WorkGroup].items[2];
	int64_t threads = (int64_t)solution->sub_group[0] * solution->sub_group[1] * solution->local_split_u;
	if (threads < 1 || threads > 1024) {
		deriving->failure = error_set(deriving->error, -EINVAL, "a work group of %lld threads", (long long)threads);
		return false;
	}
	solution->num_threads = (int)threads;
	for (int i = 0; i < 2; i++)
		solution->macro_tile[i] = solution->sub_group[i] * solution->thread_tile[i];
	solution->elements_per_thread = solution->macro_tile[0] * solution->macro_tile[1] / solution->num_threads;
	if (solution->num_threads % get(deriving, P_WavefrontSize))
		REJECT(deriving, "a work group of %d threads and waves of %d", solution->num_threads, get(deriving, P_WavefrontSize));
	if (solution->elements_per_thread < 1)
		REJECT(deriving, "a macro tile of %dx%d for %d threads", solution->macro_tile[0], solution->macro_tile[1],
		       solution->num_threads);
	return true;
}

static bool is_text(const struct deriving *deriving, enum parameter parameter, const char *text)
{
	return strcmp(deriving->solution->value[parameter].string, text) == 0;
}

/* How partial sums of GlobalSplitU meet, and the workspace that takes. */
static void derive_global_split(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	const struct logic_problem *problem = deriving->problem;
	int stream_k = get(deriving, P_StreamK);

	if (stream_k > 0 && !get(deriving, P_StreamKAtomic))
		solution->global_accumulation = 4;
	else if (is_text(deriving, P_GlobalSplitUAlgorithm, "SingleBuffer"))
		solution->global_accumulation = problem->compute != problem->d ? 1 : 0;
	else if (is_text(deriving, P_GlobalSplitUAlgorithm, "MultipleBuffer"))
		solution->global_accumulation = 2;
	else if (is_text(deriving, P_GlobalSplitUAlgorithm, "MultipleBufferSingleKernel"))
		solution->global_accumulation = 3;
	else
		REJECT(deriving, "unknown GlobalSplitUAlgorithm '%.64s'", solution->value[P_GlobalSplitUAlgorithm].string);
	if (solution->global_accumulation == 3)
		set(deriving, P_SynchronizerSizeCheck, 1);
	if (stream_k) {
		set(deriving, P_GlobalSplitU, 0);
		solution->value[P_GlobalSplitUAlgorithm] = *parameter_default(P_GlobalSplitUAlgorithm);
	} else {
		set(deriving, P_StreamKAtomic, 0);
		set(deriving, P_StreamKXCCMapping, 0);
		set(deriving, P_DebugStreamK, 0);
	}
	solution->workspace_per_element_c = bytes_of(problem->compute);
	if (logic_value_true(&problem->use_bias) && logic_value_true(&problem->gradient))
		solution->workspace_per_element_bias = solution->workspace_per_element_c;
}

static void derive_cache_policy(struct deriving *deriving)
{
	static const int16_t each[] = {
		P_NonTemporal, P_NonTemporalA, P_NonTemporalB, P_NonTemporalC, P_NonTemporalD, P_NonTemporalE, P_NonTemporalWS,
		P_NonTemporalMetadata,
	};
	static const int16_t common[] = { P_NonTemporalA, P_NonTemporalB, P_NonTemporalC, P_NonTemporalD, P_NonTemporalMetadata };

	for (size_t i = 0; !deriving->arch->nt_bit && i < ARRAY_SIZE(each); i++)
		if (get(deriving, each[i]) >= 4)
			set(deriving, each[i], get(deriving, each[i]) - 4);
	for (size_t i = 0; get(deriving, P_NonTemporal) != -1 && i < ARRAY_SIZE(common); i++)
		set(deriving, common[i], get(deriving, P_NonTemporal));
}

/* Stagger: work groups begin at different places along K. The shift is the logarithm of the loop iterations one step takes. */
static void derive_stagger(struct deriving *deriving)
{
	int unit = get(deriving, P_DepthU) * bytes_of(deriving->problem->in);

	if (!get(deriving, P_StaggerU)) {
		set(deriving, P_StaggerUMapping, 0);
		set(deriving, P_StaggerUStride, 0);
	}
	if (get(deriving, P_StaggerUStride) == -1)
		set(deriving, P_StaggerUStride, unit);
	int stride = get(deriving, P_StaggerUStride), shift = 0;
	if (stride > 0 && 2 * stride <= unit)
		REJECT(deriving, "StaggerUStride %d is less than the %d bytes of DepthU", stride, unit);
	while (unit << shift < stride)
		shift++;
	deriving->solution->stagger_stride_shift = shift;
}

/* Parameters that switch others on or off, whatever those say. */
static void derive_switches(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	const struct logic_problem *problem = deriving->problem;
	bool f64 = problem->in == GEMM_F64 || problem->in == 3;
	int pgr = get(deriving, P_PrefetchGlobalRead), buffer_load = get(deriving, P_BufferLoad);

	if (get(deriving, P_ScheduleIterAlg) == 2 && solution->mi) {
		set(deriving, P_InnerUnroll, MAX(1, get(deriving, P_DepthU) / solution->mi_block[2]));
		set(deriving, P_PrefetchLocalRead, 1);
		set(deriving, P_ExpandPointerSwap, 1);
		set(deriving, P_1LDSBuffer, 1);
	}
	if (!buffer_load)
		set_flag(deriving, P_DirectToLds, false);
	if (get(deriving, P_SuppressNoLoadLoop) == 1 && !(buffer_load && pgr == 1 && get(deriving, P_GlobalSplitU) == 1))
		set(deriving, P_SuppressNoLoadLoop, 0);
	if (get(deriving, P_ExpandPointerSwap) == 1 &&
	    !(buffer_load && (pgr == 1 || (pgr > 1 && f64) || (problem->sparse && pgr > 0))))
		set(deriving, P_ExpandPointerSwap, 0);
	if (get(deriving, P_UseInstOffsetForGRO) == -1)
		set(deriving, P_UseInstOffsetForGRO, get(deriving, P_DirectToLds) ? 1 : 0);
	if (!problem->sparse)
		set_flag(deriving, P_DirectToVgprSparseMetadata, false);
	else
		set(deriving, P_AssertSummationElementMultiple, 8);
	if (deriving->arch->wmma && solution->mi)
		set_flag(deriving, P_MIArchVgpr, true);
}

/* Iterations of the main loop, and local prefetching that would reach over all of them. */
static void derive_loop(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;

	int unroll = get(deriving, P_DepthU) / solution->local_split_u;
	if (unroll * solution->local_split_u != get(deriving, P_DepthU))
		REJECT(deriving, "DepthU %d is no multiple of LocalSplitU %d", get(deriving, P_DepthU), solution->local_split_u);
	int iterations = unroll / get(deriving, P_InnerUnroll) / (solution->mi ? solution->mi_block[2] : 1);
	if (iterations < 1)
		REJECT(deriving, "DepthU %d is less than one step of LocalSplitU %d, InnerUnroll %d and K %d", get(deriving, P_DepthU),
		       solution->local_split_u, get(deriving, P_InnerUnroll), solution->mi_block[2]);
	bool prefetches_all = get(deriving, P_ClusterLocalRead) && get(deriving, P_PrefetchLocalRead) >= iterations &&
			      get(deriving, P_ScheduleIterAlg) != 2;
	if (iterations >= 1 && (prefetches_all || !solution->mi)) {
		set(deriving, P_ClusterLocalRead, 0);
		set(deriving, P_PrefetchLocalRead, 0);
	}
}

static bool is_vector(int width)
{
	return width >= 1 && width <= 32 && (width & (width - 1)) == 0;
}

/* The widest global read that edge handling by shifted pointers can undo; 0 when edges of this tensor need none. */
static int edge_limit(const struct deriving *deriving, bool is_b)
{
	const struct solution *solution = deriving->solution;
	const struct logic_problem *problem = deriving->problem;
	bool tlu = is_b ? problem->trans_b : !problem->trans_a;
	int width = get(deriving, is_b ? P_GlobalReadVectorWidthB : P_GlobalReadVectorWidthA);
	int multiple = get(deriving, is_b ? P_AssertFree1ElementMultiple : P_AssertFree0ElementMultiple);
	const int *block = solution->mi_block;

	if (!solution->mi || !tlu || multiple % width == 0)
		return 0;
	int m = block[0] == 4 ? block[0] * block[4] : block[0];
	int n = block[1] == 4 ? block[1] * block[5] : block[1];
	int limit = 16 / MIN(16, bytes_of(problem->in)), wavefront = get(deriving, P_WavefrontSize);
	if (get(deriving, P_SourceSwap))
		limit = is_b ? solution->mi_output_width * (wavefront / m) : m * get(deriving, P_VectorWidthA);
	else if (!is_b)
		limit = solution->mi_output_width * (wavefront / n);
	return bytes_of(problem->in) == 1 ? MAX(limit, 4) : limit;
}

/* Loads of one thread for a tile of one tensor: the vector width, and how many of them stand side by side. */
static void derive_global_read(struct deriving *deriving, bool is_b)
{
	struct solution *solution = deriving->solution;
	const struct logic_problem *problem = deriving->problem;
	enum parameter width_key = is_b ? P_GlobalReadVectorWidthB : P_GlobalReadVectorWidthA;
	enum parameter coalesced_key = is_b ? P_NumLoadsCoalescedB : P_NumLoadsCoalescedA;
	int separate = get(deriving, is_b ? P_WaveSeparateGlobalReadB : P_WaveSeparateGlobalReadA);
	bool tlu = is_b ? problem->trans_b : !problem->trans_a;
	int depth = get(deriving, P_DepthU), tile = solution->macro_tile[is_b];
	int waves = MAX(1, solution->num_threads / get(deriving, P_WavefrontSize));
	const char tensor = is_b ? 'B' : 'A';

	if (!solution->mi)
		set(deriving, width_key, 1);
	if (!is_vector(get(deriving, width_key))) {
		REJECT(deriving, "%s is %d", parameter_name(width_key), get(deriving, width_key));
		return;
	}
	int limit = edge_limit(deriving, is_b);
	if (limit && get(deriving, width_key) > limit)
		set(deriving, width_key, limit);
	int width = get(deriving, width_key), vectors = tile * depth / MAX(1, width);
	if (!is_vector(width) || vectors % solution->num_threads) {
		REJECT(deriving, "GlobalReadVectorWidth%c %d leaves %d vectors to %d threads", tensor, width, vectors, solution->num_threads);
		return;
	}
	if (separate && (tlu ? depth : tile) % waves)
		REJECT(deriving, "WaveSeparateGlobalRead%c and %d rows for %d waves", tensor, tlu ? depth : tile, waves);
	int loads = vectors / solution->num_threads;
	int coalesced = (tlu ? tile : depth) / width, perpendicular = tlu ? depth : tile;
	if (separate)
		perpendicular = (int)ceil_div((uint64_t)perpendicular, (uint64_t)waves);
	int wanted = get(deriving, coalesced_key);
	int first = wanted == -1 ? loads : 1, step = wanted == -1 ? -1 : 1, found = 0;
	for (int i = wanted > 1 ? wanted : first; i >= 1 && i <= loads && !found; i += step) {
		if (loads % i == 0 && coalesced % i == 0 && perpendicular % (loads / i) == 0)
			found = i;
		if (wanted > 1)
			break;
	}
	if (!found)
		REJECT(deriving, "NumLoadsCoalesced%c %d does not divide %d loads", tensor, wanted, loads);
	else
		set(deriving, coalesced_key, found);
}

static void derive_store(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	const struct logic_problem *problem = deriving->problem;
	int widest = 16 / (int)MAX(bytes_of(problem->d), bytes_of(problem->compute));	/* bytes of one store instruction */
	int remap = get(deriving, P_StoreRemapVectorWidth);

	while (remap > MAX(widest, 1))
		remap /= 2;
	if (remap != get(deriving, P_StoreRemapVectorWidth))
		set(deriving, P_StoreRemapVectorWidth, remap);
	if (remap > 0 && get(deriving, P_SourceSwap))
		REJECT(deriving, "SourceSwap with StoreRemapVectorWidth");
	for (int i = 0; solution->mi && i < 2; i++) {
		int width = get(deriving, i ? P_VectorWidthB : P_VectorWidthA);
		if (width == 0 || (width > 0 && solution->value[P_MIWaveTile].items[i] % width))
			REJECT(deriving, "MIWaveTile %d is no multiple of VectorWidth%c %d", solution->value[P_MIWaveTile].items[i], 'A' + i,
			       width);
	}
	/* a call to an activation function needs a fused activation that is chosen at run time */
	bool chosen = get(deriving, P_ActivationFused) && problem->activation != LOGIC_ACTIVATION_NONE;
	if (get(deriving, P_ActivationFuncCall) && !chosen)
		set_flag(deriving, P_ActivationFuncCall, false);
	if (*problem->scale_ab.string && get(deriving, P_OptNoLoadLoop))
		set(deriving, P_OptNoLoadLoop, 0);
}

int solution_derive(struct arena *arena, const char *arch, const struct logic_problem *problem, struct solution *solution,
		    struct error *error)
{
	static const struct arch_traits plain = { 0 };
	struct deriving deriving = {
		.arch = &plain, .problem = problem, .solution = solution, .error = error,
		.no_reject = logic_value_true(&solution->value[P_NoReject]),
	};

	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		if (strcmp(archs[i].arch, arch) == 0)
			deriving.arch = &archs[i];
	if (!check_ranges(&deriving))
		return deriving.failure;
	if (solution->value[P_MatrixInstruction].n == 9 && !expand_mi(&deriving, arena))
		return deriving.failure;
	if (!derive_tiles(&deriving))
		return deriving.failure;
	derive_global_split(&deriving);
	derive_cache_policy(&deriving);
	set(&deriving, P_WorkGroupMappingXCC, abs(get(&deriving, P_WorkGroupMappingXCC)));
	derive_stagger(&deriving);
	if (get(&deriving, P_TransposeLDS) == -1)	/* rows of K in LDS, unless neither tensor has them in memory */
		set(&deriving, P_TransposeLDS, problem->trans_b && !problem->trans_a ? 0 : 1);
	if (!solution->mi)
		set(&deriving, P_TransposeLDS, 0);
	derive_switches(&deriving);
	derive_automatic_widths(&deriving);
	derive_global_read(&deriving, false);
	derive_global_read(&deriving, true);
	derive_automatic_lds(&deriving);
	derive_store(&deriving);
	derive_loop(&deriving);
	if (get(&deriving, P_PreloadKernArgs) && !deriving.arch->preload)
		set(&deriving, P_PreloadKernArgs, 0);
	return deriving.failure;
}
