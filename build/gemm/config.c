/* SPDX-License-Identifier: MIT */
#include "build/gemm/config.h"

#include "build/gemm/kernel.h"
#include "build/gemm/loop.h"

#include <assert.h>

enum {
	WAVE_LANES = 64,
	LDS_BYTES = 65536,		/* of a workgroup on gfx942 */
	FILE_VGPRS = 512,		/* registers of a SIMD lane, both files together */
	ARCH_VGPRS = 256,		/* of them addressable as VGPRs, and as many as AccVGPRs */
	SIMDS = 4,
	WIDEST_ACCESS = 16,		/* bytes of buffer_load_dwordx4, ds_read_b128 */
	MAX_LOADS = 128,
	MAX_DEPTH_U = 1024,
	SPARE_VGPRS = 2,		/* v_tid, and one lost to alignment */
};

static bool is_power_of_two(unsigned x)
{
	return x && !(x & (x - 1));
}

/* ---- what is out of scope --------------------------------------------------------------------------------------------- */

static int check_features(const struct gemm_params *params, struct error *error)
{
	const struct gemm_problem_type *problem = &params->problem;
	const struct {
		bool wanted;
		const char *name;
	} missing[] = {
		{ params->custom_kernel && params->custom_kernel[0], "custom kernel" },
		{ params->stream_k, "StreamK" },
		{ params->direct_to_lds, "DirectToLds" },
		{ params->direct_to_vgpr[0] || params->direct_to_vgpr[1], "DirectToVgpr" },
		{ problem->sparse, "Sparse" },
		{ problem->gradient, "Gradient" },
		{ problem->use_e, "UseE" },
		{ problem->amax_d, "OutputAmaxD" },
		{ problem->stochastic_rounding, "StochasticRounding" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (missing[i].wanted)
			return error_set(error, -EOPNOTSUPP, "%s", missing[i].name);
	if (params->global_split_u != 1)
		return error_set(error, -EOPNOTSUPP, "GlobalSplitU %d", params->global_split_u);
	if (params->local_split_u != 1)
		return error_set(error, -EOPNOTSUPP, "LocalSplitU %d", params->local_split_u);
	if (problem->compute != GEMM_F32)
		return error_set(error, -EOPNOTSUPP, "compute type %s", gemm_type_name(problem->compute));
	return 0;
}

static int check_types(const struct gemm_problem_type *problem, struct error *error)
{
	const enum gemm_type in = problem->mfma_in, types[2] = { problem->a, problem->b };

	if (in != GEMM_F16 && in != GEMM_BF16 && in != GEMM_F32)
		return error_set(error, -EOPNOTSUPP, "data type %s", gemm_type_name(in));
	for (unsigned t = 0; t < 2; t++)
		if (types[t] != in && !(types[t] == GEMM_F8 && in == GEMM_F16))
			return error_set(error, -EOPNOTSUPP, "%s input converted to %s", gemm_type_name(types[t]),
					 gemm_type_name(in));
	return 0;
}

/* ---- MFMA ------------------------------------------------------------------------------------------------------------- */

static int init_mfma(struct gemm_config *config, struct error *error)
{
	const int *mi = config->params.mi;
	bool wide = config->params.problem.mfma_in == GEMM_F32;
	bool small = mi[0] == 16 && mi[1] == 16 && mi[2] == (wide ? 4 : 16);
	bool large = mi[0] == 32 && mi[1] == 32 && mi[2] == (wide ? 2 : 8);

	if (mi[3] != 1 || (!small && !large))
		return error_set(error, -EOPNOTSUPP, "MatrixInstruction %dx%dx%dx%d of %s", mi[0], mi[1], mi[2], mi[3],
				 gemm_type_name(config->params.problem.mfma_in));
	config->mi_m = (unsigned)mi[0];
	config->mi_n = (unsigned)mi[1];
	config->mi_k = (unsigned)mi[2];
	config->lanes_k = WAVE_LANES / config->mi_m;
	config->k_per_lane = config->mi_k / config->lanes_k;
	config->acc_per_mfma = config->mi_m * config->mi_n / WAVE_LANES;
	return 0;
}

static int init_workgroup(struct gemm_config *config, struct error *error)
{
	const struct gemm_params *params = &config->params;

	if (params->depth_u <= 0 || (unsigned)params->depth_u % config->mi_k)
		return error_set(error, -EINVAL, "DepthU %d is no multiple of MatrixInstruction K %u", params->depth_u,
				 config->mi_k);
	if (!is_power_of_two((unsigned)params->depth_u) || params->depth_u > MAX_DEPTH_U)
		return error_set(error, -EOPNOTSUPP, "DepthU %d", params->depth_u);
	config->depth_u = (unsigned)params->depth_u;
	config->k_steps = config->depth_u / config->mi_k;

	for (unsigned t = 0; t < 2; t++) {
		struct gemm_tensor_config *tensor = &config->tensor[t];
		int waves = params->mi_wave_group[t], tile = params->mi_wave_tile[t], vector = params->vector_width[t];
		if (waves <= 0 || tile <= 0 || waves > 16 || tile > 64)
			return error_set(error, -EINVAL, "MIWaveGroup %d with MIWaveTile %d", waves, tile);
		if (vector <= 0 || tile % vector)
			return error_set(error, -EINVAL, "VectorWidth %d does not divide MIWaveTile %d", vector, tile);
		if (!is_power_of_two((unsigned)vector))
			return error_set(error, -EOPNOTSUPP, "VectorWidth %d", vector);
		tensor->waves = (unsigned)waves;
		tensor->wave_tile = (unsigned)tile;
		tensor->vector_width = (unsigned)vector;
		tensor->mi = t == 0 ? config->mi_m : config->mi_n;
		tensor->macro_tile = tensor->waves * tensor->wave_tile * tensor->mi;
		if (params->macro_tile[t] < 0 || tensor->macro_tile != (unsigned)params->macro_tile[t])
			return error_set(error, -EINVAL, "MacroTile%u %d is not %u waves of %u MFMA of %u", t,
					 params->macro_tile[t], tensor->waves, tensor->wave_tile, tensor->mi);
	}
	config->waves = config->tensor[0].waves * config->tensor[1].waves;
	config->threads = config->waves * WAVE_LANES;
	if (params->num_threads < 0 || config->threads != (unsigned)params->num_threads)
		return error_set(error, -EINVAL, "NumThreads %d for %u waves", params->num_threads, config->waves);
	if (config->waves > 16 || !is_power_of_two(config->waves))
		return error_set(error, -EOPNOTSUPP, "NumThreads %u", config->threads);

	config->accs = config->tensor[0].wave_tile * config->tensor[1].wave_tile * config->acc_per_mfma;
	unsigned registers = FILE_VGPRS / (unsigned)ceil_div(config->waves, SIMDS);
	if (config->accs > ARCH_VGPRS || config->accs >= registers)
		return error_set(error, -EOPNOTSUPP, "%u accumulators a lane", config->accs);
	/* the file is split at a multiple of 4, and handed out in eights */
	config->max_vgprs = MIN(ARCH_VGPRS, (registers - (unsigned)round_up(config->accs, 8)) / 8 * 8);
	return 0;
}

/* ---- global reads ----------------------------------------------------------------------------------------------------- */

static int init_global_read(struct gemm_config *config, unsigned t, struct error *error)
{
	const struct gemm_params *params = &config->params;
	struct gemm_tensor_config *tensor = &config->tensor[t];
	bool transposed = t == 0 ? params->problem.trans_a : params->problem.trans_b;
	int grvw = params->global_read_vector_width[t], coalesced_loads = params->num_loads_coalesced[t];
	char letter = t == 0 ? 'A' : 'B';

	tensor->type = t == 0 ? params->problem.a : params->problem.b;
	tensor->element = gemm_type_bytes(tensor->type);
	tensor->lds_element = gemm_type_bytes(params->problem.mfma_in);
	tensor->convert = tensor->type != params->problem.mfma_in;
	tensor->tlu = t == 0 ? !transposed : transposed;
	tensor->assert_multiple = (unsigned)MAX(params->assert_free_multiple[t], 1);

	unsigned coalesced = tensor->tlu ? tensor->macro_tile : config->depth_u;
	unsigned perpendicular = tensor->tlu ? config->depth_u : tensor->macro_tile;
	if (grvw <= 0 || coalesced_loads <= 0)
		return error_set(error, -EINVAL, "GlobalReadVectorWidth%c %d with NumLoadsCoalesced%c %d", letter, grvw, letter,
				 coalesced_loads);
	tensor->grvw = (unsigned)grvw;
	if (!is_power_of_two(tensor->grvw) || tensor->grvw > WIDEST_ACCESS / tensor->element)
		return error_set(error, -EOPNOTSUPP, "GlobalReadVectorWidth %d of %s", grvw, gemm_type_name(tensor->type));
	tensor->loads_coalesced = (unsigned)coalesced_loads;
	tensor->lanes_coalesced = coalesced / tensor->loads_coalesced / tensor->grvw;
	if (!tensor->lanes_coalesced || tensor->lanes_coalesced * tensor->loads_coalesced * tensor->grvw != coalesced ||
	    config->threads % tensor->lanes_coalesced)
		return error_set(error, -EINVAL, "%u elements of %c do not divide by %d loads of %d", coalesced, letter,
				 coalesced_loads, grvw);
	tensor->rows_per_load = config->threads / tensor->lanes_coalesced;
	if (perpendicular % tensor->rows_per_load)
		return error_set(error, -EINVAL, "%u rows of %c do not divide by %u rows of a load", perpendicular, letter,
				 tensor->rows_per_load);
	tensor->loads_perpendicular = perpendicular / tensor->rows_per_load;
	tensor->loads = tensor->loads_perpendicular * tensor->loads_coalesced;
	tensor->load_dwords = (unsigned)ceil_div(tensor->grvw * tensor->element, 4);
	if (tensor->loads > MAX_LOADS)
		return error_set(error, -EOPNOTSUPP, "%u global reads a thread", tensor->loads);
	return 0;
}

/* ---- LDS -------------------------------------------------------------------------------------------------------------- */

/* A set of places on a grid: linear bytes of every access of one kind, as the part of the lane or the part known now. */
struct span {
	unsigned lane, fixed;	/* the largest remainder by lds_block of either part */
};

static void span_add(unsigned *largest, const struct gemm_tensor_config *tensor, unsigned row, unsigned k)
{
	*largest = MAX(*largest, gemm_lds_linear(tensor, row, k) % tensor->lds_block);
}

/* LDS writes: thread (c, p) of a load, and the loads. */
static struct span span_writes(const struct gemm_tensor_config *tensor)
{
	struct span span = { 0 };

	for (unsigned c = 0; c < tensor->lanes_coalesced; c++)
		for (unsigned p = 0; p < tensor->rows_per_load; p++)
			span_add(&span.lane, tensor, tensor->tlu ? c * tensor->grvw : p, tensor->tlu ? p : c * tensor->grvw);
	for (unsigned c = 0; c < tensor->loads_coalesced; c++)
		for (unsigned p = 0; p < tensor->loads_perpendicular; p++)
			for (unsigned j = 0; j < tensor->grvw; j++) {
				unsigned along = c * tensor->lanes_coalesced * tensor->grvw + j, across = p * tensor->rows_per_load;
				span_add(&span.fixed, tensor, tensor->tlu ? along : across, tensor->tlu ? across : along);
			}
	return span;
}

/* LDS reads: lane (r, q) of a wave, and MFMA tiles and elements of K. */
static struct span span_reads(const struct gemm_config *config, const struct gemm_tensor_config *tensor)
{
	unsigned k_lane = config->k_fold * config->k_per_lane;
	struct span span = { 0 };

	for (unsigned r = 0; r < tensor->waves * tensor->mi; r++)
		for (unsigned q = 0; q < config->lanes_k; q++)
			span_add(&span.lane, tensor, r * tensor->vector_width, q * k_lane);
	for (unsigned w = 0; w < tensor->wave_tile; w++)
		for (unsigned g = 0; g < config->groups; g++)
			for (unsigned j = 0; j < k_lane; j++)
				span_add(&span.fixed, tensor, gemm_tile_row(tensor, w), g * config->group_k + j);
	return span;
}

static bool lds_parts_add_up(const struct gemm_config *config, const struct gemm_tensor_config *tensor)
{
	struct span writes = span_writes(tensor), reads = span_reads(config, tensor);

	return tensor->lds_block % WIDEST_ACCESS == 0 && writes.lane + writes.fixed < tensor->lds_block &&
	       reads.lane + reads.fixed < tensor->lds_block;
}

/* The layout of one tensor; its lds_offset comes later. */
static void init_lds_tensor(struct gemm_config *config, unsigned t)
{
	const struct gemm_params *params = &config->params;
	struct gemm_tensor_config *tensor = &config->tensor[t];

	tensor->lds_k_major = params->transpose_lds >= 2 || (params->transpose_lds == 1 && !tensor->tlu);
	tensor->lds_row = tensor->lds_element * (tensor->lds_k_major ? config->depth_u : tensor->macro_tile);
	unsigned linear = tensor->lds_row * (tensor->lds_k_major ? tensor->macro_tile : config->depth_u);
	if (linear > LDS_BYTES) {	/* refused later, padding or not */
		tensor->lds_size = linear;
		return;
	}
	tensor->lds_pad = (unsigned)MIN(round_up((uint64_t)MAX(params->lds_pad[t], 0) * tensor->lds_element, 4), LDS_BYTES);
	tensor->lds_block = (unsigned)MAX(params->lds_block_size_per_pad[t], 0);
	if (tensor->lds_pad && (!tensor->lds_block || !lds_parts_add_up(config, tensor)))
		tensor->lds_block = tensor->lds_row;

	unsigned common = tensor->lds_row | WIDEST_ACCESS | (tensor->lds_pad ? tensor->lds_pad | tensor->lds_block : 0);
	tensor->lds_align = common & -common;
	tensor->lds_size = (unsigned)round_up(gemm_lds_padded(tensor, linear - 1) + 1, WIDEST_ACCESS);
}

static int init_lds(struct gemm_config *config, struct error *error)
{
	struct gemm_tensor_config *tensor = config->tensor;

	for (unsigned t = 0; t < 2; t++)
		init_lds_tensor(config, t);
	tensor[0].lds_offset = 0;
	tensor[1].lds_offset = tensor[0].lds_size;
	config->lds_buffer_stride = tensor[0].lds_size + tensor[1].lds_size;
	config->lds_buffers = config->params.one_lds_buffer || config->lds_buffer_stride * 2 > LDS_BYTES ? 1 : 2;
	config->lds_bytes = config->lds_buffer_stride * config->lds_buffers;
	if (config->lds_bytes > LDS_BYTES)
		return error_set(error, -EOPNOTSUPP, "LDS of %u bytes", config->lds_bytes);
	return 0;
}

/* ---- MFMA operands ---------------------------------------------------------------------------------------------------- */

/* The widest fold that LocalReadVectorWidth and 16 bytes allow, cut where it would leave an odd number of groups: operands of
 * neighbouring groups take turns in two sets of registers, and the last group of a macro tile has the first of the next beside it. */
static unsigned widest_fold(const struct gemm_config *config)
{
	const struct gemm_tensor_config *tensor = config->tensor;
	unsigned bytes = config->k_per_lane * tensor[0].lds_element;
	unsigned wanted = (unsigned)MAX(config->params.local_read_vector_width, 1) / config->k_per_lane;
	unsigned fold = 1;

	if (config->params.transpose_lds == 0 || (config->params.transpose_lds == 1 && tensor[0].tlu && tensor[1].tlu))
		return 1;
	while (fold * 2 <= wanted && fold * 2 * bytes <= WIDEST_ACCESS && config->k_steps % (fold * 2) == 0)
		fold *= 2;
	while (fold > 1 && config->k_steps / fold % 2)
		fold /= 2;
	return fold;
}

static void set_fold(struct gemm_config *config, unsigned fold)
{
	config->k_fold = fold;
	config->groups = config->k_steps / fold;
	config->group_k = config->mi_k * fold;
}

/* Registers of one tensor's operands, with or without the second set. */
static void init_operands(struct gemm_config *config, struct gemm_tensor_config *tensor, bool prefetch)
{
	unsigned k_lane = config->k_fold * config->k_per_lane, v = tensor->vector_width;

	tensor->permute = tensor->lds_element < 4 && !tensor->lds_k_major;
	tensor->prefetch = tensor->permute || (prefetch && config->groups % 2 == 0);
	tensor->read_width = tensor->lds_k_major ? k_lane : v;
	tensor->operand_dwords = tensor->wave_tile * k_lane * tensor->lds_element / 4;
	tensor->raw_dwords = 0;
	if (tensor->permute)
		tensor->raw_dwords = tensor->wave_tile / v * k_lane * (unsigned)ceil_div(v * tensor->lds_element, 4);
}

static unsigned loop_vgprs(const struct gemm_config *config)
{
	unsigned vgprs = loop_work_dwords(config) + 2;	/* and two to compute addresses with */

	for (unsigned t = 0; t < 2; t++) {
		const struct gemm_tensor_config *tensor = &config->tensor[t];
		vgprs += (unsigned)round_up(tensor->loads * tensor->load_dwords, 2);
		vgprs += tensor->offsets + 2;			/* and the places in LDS for writes and reads */
	}
	if (config->tensor[0].convert || config->tensor[1].convert)
		vgprs += GEMM_CONVERT_DWORDS;
	return vgprs;
}

/* Waves of one SIMD whose registers fit its file. */
static unsigned occupancy(const struct gemm_config *config, unsigned vgprs)
{
	return FILE_VGPRS / (unsigned)round_up(round_up(vgprs, 4) + config->accs, 8);
}

/* An offset of its own for each load saves an addition in the main loop: for registers that would not let another wave in. */
static void spend_on_offsets(struct gemm_config *config)
{
	for (unsigned t = 0; t < 2; t++) {
		struct gemm_tensor_config *tensor = &config->tensor[t];
		unsigned vgprs = config->loop_vgprs + tensor->loads_perpendicular - tensor->offsets;
		if (vgprs + SPARE_VGPRS > config->max_vgprs ||
		    occupancy(config, vgprs + SPARE_VGPRS) < occupancy(config, config->loop_vgprs + SPARE_VGPRS))
			continue;
		tensor->offsets = tensor->loads_perpendicular;
		config->loop_vgprs = vgprs;
	}
}

/* The best of operand width and read-ahead that the registers hold. */
static int init_registers(struct gemm_config *config, struct error *error)
{
	unsigned fold = widest_fold(config);

	for (;;) {
		for (int prefetch = 1; prefetch >= 0; prefetch--) {
			set_fold(config, fold);
			int r = init_lds(config, error);
			if (r < 0)
				return r;
			for (unsigned t = 0; t < 2; t++) {
				init_operands(config, &config->tensor[t], prefetch);
				config->tensor[t].offsets = MIN(config->tensor[t].loads_perpendicular, 2);
			}
			config->loop_vgprs = loop_vgprs(config);
			spend_on_offsets(config);
			if (config->loop_vgprs + SPARE_VGPRS <= config->max_vgprs)
				return 0;
			if (fold > 1 && prefetch)
				break;
		}
		if (fold == 1)
			return error_set(error, -EOPNOTSUPP, "%u VGPRs", config->loop_vgprs);
		fold /= 2;
	}
}

int gemm_config_init(const struct gemm_params *params, struct gemm_config *ret_config, struct error *error)
{
	struct gemm_config config = { .params = *params };
	int r;

	if ((r = check_features(params, error)) < 0 || (r = check_types(&params->problem, error)) < 0 ||
	    (r = gemm_epilogue_check(params, error)) < 0 || (r = init_mfma(&config, error)) < 0 ||
	    (r = init_workgroup(&config, error)) < 0)
		return r;
	for (unsigned t = 0; t < 2; t++)
		if ((r = init_global_read(&config, t, error)) < 0)
			return r;
	if ((r = init_registers(&config, error)) < 0)
		return r;
	config.prefetch = params->prefetch_global_read >= 2 ? 2 : 1;
	config.source_swap = params->source_swap;
	*ret_config = config;
	return 0;
}

struct gemm_acc_place gemm_acc_place(const struct gemm_config *config, unsigned w0, unsigned w1, unsigned i)
{
	const struct gemm_tensor_config *a = &config->tensor[0], *b = &config->tensor[1];
	struct gemm_acc_place place = { .row = gemm_tile_row(a, w0), .column = gemm_tile_row(b, w1) };

	assert(w0 < a->wave_tile && w1 < b->wave_tile && i < config->acc_per_mfma);
	/* four neighbouring result rows in a run; in the 32x32 form runs are 8 rows apart, the second half wave has those between */
	unsigned mfma_row = i / 4 * 8 + i % 4;
	if (config->source_swap)
		place.column += mfma_row * b->vector_width;
	else
		place.row += mfma_row * a->vector_width;
	return place;
}
