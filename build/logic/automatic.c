/* SPDX-License-Identifier: MIT */
/*
 * Parameters that ask to be chosen (-1). Tuned logic holds what was chosen, but hand-edited or older logic may not.
 *
 * The peer's choices (SolutionStructs.assignDerivedParameters: "Default LocalReadVectorWidth" and on) are about LDS: rows are
 * padded so that the lanes of one read hit different banks, and what fits decides between one buffer and two. They have to be
 * made in the same order, because later ones look at earlier ones.
 */
#include "build/logic/derive.h"

#define LDS_BYTES 65536

struct tensor {				/* one of A and B, as the choices see it */
	bool is_b, k_major;		/* LDS holds rows of K */
	int tile, depth;
	int element;			/* bytes in LDS */
	enum parameter width, vector, pad, block;
};

static struct tensor tensor_of(const struct deriving *deriving, bool is_b)
{
	const struct logic_problem *problem = deriving->problem;
	bool tlu = is_b ? problem->trans_b : !problem->trans_a;
	int transpose = get(deriving, P_TransposeLDS);
	int type = get(deriving, P_ConvertAfterDS) ? (is_b ? problem->b : problem->a) : problem->in;

	return (struct tensor){
		.is_b = is_b, .k_major = transpose == 2 || (transpose == 1 && !tlu), .tile = deriving->solution->macro_tile[is_b],
		.depth = get(deriving, P_DepthU), .element = bytes_of(type),
		.width = is_b ? P_GlobalReadVectorWidthB : P_GlobalReadVectorWidthA, .vector = is_b ? P_VectorWidthB : P_VectorWidthA,
		.pad = is_b ? P_LdsPadB : P_LdsPadA, .block = is_b ? P_LdsBlockSizePerPadB : P_LdsBlockSizePerPadA,
	};
}

/* MFMAs of 16 rows in one block read LDS in a pattern of their own. */
static bool reads_sixteen(const struct deriving *deriving)
{
	return deriving->solution->mi && deriving->solution->mi_block[3] == 1 && deriving->solution->mi_block[0] == 16;
}

static bool skips_lds(const struct deriving *deriving, const struct tensor *tensor)
{
	return get(deriving, P_DirectToLds) || get(deriving, tensor->is_b ? P_DirectToVgprB : P_DirectToVgprA);
}

/* Elements between rows, or between blocks of choose_block() bytes. */
static int choose_pad(const struct deriving *deriving, const struct tensor *tensor, int local)
{
	int in = bytes_of(deriving->problem->in), registers = local * in / 4, pad = get(deriving, tensor->pad);

	if (skips_lds(deriving, tensor))
		return 0;
	if (pad != -1)
		return pad;
	if (tensor->k_major) {
		int wanted = reads_sixteen(deriving) && (registers == 4 || registers == 1) ? local * 2 : local;
		return MAX(get(deriving, tensor->width), wanted);
	}
	if (!deriving->solution->mi)
		return 0;
	pad = 0;
	if (reads_sixteen(deriving))
		pad = (16 * get(deriving, tensor->vector) * in + tensor->tile * in * get(deriving, P_LocalReadVectorWidth)) % 128 / in;
	return get(deriving, tensor->width) * in == 32 && !pad ? 16 / in : pad;
}

static int choose_block(const struct deriving *deriving, const struct tensor *tensor, int local)
{
	int row = tensor->depth * tensor->element, block = get(deriving, tensor->block);

	if (skips_lds(deriving, tensor))
		return 0;
	if (block != -1)
		return block;
	if (!deriving->solution->mi)
		return 0;
	if (!tensor->k_major)
		return reads_sixteen(deriving) ? tensor->tile * tensor->element * local : 0;
	int rows = row * MAX(1, get(deriving, tensor->vector)) > 128 ? MAX(1, get(deriving, tensor->vector)) : 1;
	return (int)round_up((uint64_t)row * rows, 128);
}

/* Bytes of a tile in LDS. */
static int tile_bytes(const struct tensor *tensor, int pad, int block)
{
	int64_t bytes = (int64_t)tensor->depth * tensor->tile * tensor->element;

	if (block)
		return (int)((double)bytes / block * (block + pad * tensor->element));
	if (tensor->k_major)
		return (tensor->depth + pad) * tensor->tile * tensor->element;
	return tensor->depth * (tensor->tile + pad) * tensor->element;
}

static int aligned(const struct deriving *deriving, int bytes)
{
	return (int)round_up((uint64_t)bytes, 256 / bytes_of(deriving->problem->in));
}

/* The widest local read that divides into MFMA inputs, leaves two iterations and fits. */
static void choose_local_read(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	int input = MAX(1, get(deriving, P_MIInputPerThread)), width, total = 0;

	if (get(deriving, P_LocalReadVectorWidth) != -1)
		return;
	if (!solution->mi) {
		set(deriving, P_LocalReadVectorWidth, 1);
		return;
	}
	width = get(deriving, P_TransposeLDS) && !get(deriving, P_DirectToLds) ? 16 / bytes_of(deriving->problem->in) : input;
	if (width / input > 1 && get(deriving, P_DepthU) / solution->mi_block[2] <= width / input)
		width /= 2;
	set(deriving, P_LocalReadVectorWidth, width);
	for (int i = 0; i < 2; i++) {
		struct tensor tensor = tensor_of(deriving, i);
		int pad = choose_pad(deriving, &tensor, width), block = choose_block(deriving, &tensor, width);
		total += aligned(deriving, tile_bytes(&tensor, pad, block));
	}
	if (width / input > 1 && total > LDS_BYTES)
		set(deriving, P_LocalReadVectorWidth, width / 2);
}

static void choose_vector_width(struct deriving *deriving, bool is_b)
{
	enum parameter key = is_b ? P_VectorWidthB : P_VectorWidthA;
	int width = 16 / bytes_of(deriving->problem->in);

	if (get(deriving, key) != -1)
		return;
	if (!deriving->solution->mi || deriving->problem->sparse)
		width = 1;
	while (width > 1 && deriving->solution->value[P_MIWaveTile].items[is_b] % width)
		width /= 2;
	set(deriving, key, MAX(width, 1));
}

/*
 * A thread's share of a tile in the widest vectors that divide it and that LDS can take. -2 asks for 1 and is meant for tiles of
 * one column.
 */
static void choose_global_read(struct deriving *deriving, bool is_b)
{
	struct tensor tensor = tensor_of(deriving, is_b);
	int widest = 16 / bytes_of(is_b ? deriving->problem->b : deriving->problem->a), width = 1;
	int share = tensor.tile * tensor.depth / deriving->solution->num_threads;

	if (tensor.k_major)
		widest = MIN(widest, get(deriving, P_LocalReadVectorWidth));
	for (int w = 1; get(deriving, tensor.width) == -1 && w <= widest; w *= 2)
		if (share % w == 0)
			width = w;
	set(deriving, tensor.width, width);
}

static void choose_global_reads(struct deriving *deriving)
{
	bool chosen[2] = { get(deriving, P_GlobalReadVectorWidthA) < 0, get(deriving, P_GlobalReadVectorWidthB) < 0 };

	for (int i = 0; i < 2; i++)
		if (chosen[i])
			choose_global_read(deriving, i);
	for (int i = 0; get(deriving, P_UnrollLoopSwapGlobalReadOrder) == 1 && i < 2; i++)
		if (chosen[i])	/* loads of A and B that swap places have one width */
			set(deriving, P_GlobalReadVectorWidthA + i,
			    MIN(get(deriving, P_GlobalReadVectorWidthA), get(deriving, P_GlobalReadVectorWidthB)));
}

static void choose_store_width(struct deriving *deriving)
{
	const struct solution *solution = deriving->solution;
	int vector = get(deriving, P_VectorWidthA), width = vector;

	if (get(deriving, P_StoreVectorWidth) != -1)
		return;
	if (!get(deriving, P_SourceSwap) && solution->mi && solution->local_split_u == 1) {
		int neighbours = vector * solution->mi_output_width;
		width = neighbours * bytes_of(deriving->problem->d) <= 16 ? neighbours : solution->mi_output_width;
	}
	set(deriving, P_StoreVectorWidth, width);
}

void derive_automatic_widths(struct deriving *deriving)
{
	for (int i = 0; i < 2; i++)
		choose_vector_width(deriving, i);
	choose_local_read(deriving);
	choose_global_reads(deriving);
	choose_store_width(deriving);
}

static int power_of_two_from(int value)
{
	int power = 1;

	while (power < value)
		power *= 2;
	return power;
}

/* Bytes of A and B in LDS, in two buffers when there is prefetching. */
static int buffers_bytes(const struct deriving *deriving, const int bytes[2])
{
	int a = aligned(deriving, bytes[0]);

	if (!get(deriving, P_PrefetchGlobalRead))
		return a + bytes[1];
	return power_of_two_from(a + aligned(deriving, bytes[1])) + a + bytes[1];
}

static void choose_batch(struct deriving *deriving, int lds_bytes)
{
	const struct solution *solution = deriving->solution;
	int64_t result = (int64_t)bytes_of(deriving->problem->compute) * solution->macro_tile[0] * solution->macro_tile[1];

	if (get(deriving, P_NumElementsPerBatchStore) != -1)
		return;
	if (lds_bytes > 32768 || result > 32768 * 4) {
		set(deriving, P_NumElementsPerBatchStore, 0);
		set(deriving, P_StorePriorityOpt, 0);
		set(deriving, P_StoreSyncOpt, 0);
		set(deriving, P_GroupLoadStore, 0);
	} else {
		set(deriving, P_NumElementsPerBatchStore, bytes_of(deriving->problem->in) == 8 ? 1 : 16);
	}
}

static void choose_remap(struct deriving *deriving)
{
	const struct solution *solution = deriving->solution;
	int rows = solution->macro_tile[0], d = bytes_of(deriving->problem->d);
	int width = MAX(8 / d, rows / get(deriving, P_WavefrontSize));

	if (get(deriving, P_StoreRemapVectorWidth) != -1)
		return;
	if (solution->mi) {
		int64_t elements = (int64_t)(rows + MAX(width, solution->mi_output_width)) * solution->mi_block[1] *
				   solution->value[P_MIWaveGroup].items[1];
		int64_t bytes = elements * MAX(d, bytes_of(deriving->problem->compute));
		if (power_of_two_from(rows) != rows || bytes > LDS_BYTES || get(deriving, P_SourceSwap) ||
		    (get(deriving, P_GlobalSplitU) > 1 && solution->global_accumulation != 2) ||
		    (solution->mi_block[5] > 1 && solution->mi_block[1] == 4))
			width = 0;
	}
	set(deriving, P_StoreRemapVectorWidth, width);
}

void derive_automatic_lds(struct deriving *deriving)
{
	struct solution *solution = deriving->solution;
	int bytes[2], in = bytes_of(deriving->problem->in), local = get(deriving, P_LocalReadVectorWidth);
	int64_t reduction = (int64_t)solution->local_split_u * solution->macro_tile[0] * solution->macro_tile[1] *
			    bytes_of(deriving->problem->compute);

	for (int i = 0; i < 2; i++) {
		struct tensor tensor = tensor_of(deriving, i);
		bool chosen = get(deriving, tensor.block) == -1;
		int block = choose_block(deriving, &tensor, local), pad = choose_pad(deriving, &tensor, local);
		if (!i && get(deriving, P_LdsBlockSizePerPadMetadata) == -1)
			set(deriving, P_LdsBlockSizePerPadMetadata, block);
		if (chosen && get(deriving, tensor.width) * in == 32 && pad == 16 / in)
			block = 128;
		set(deriving, tensor.block, block);
		set(deriving, tensor.pad, pad);
		bytes[i] = tile_bytes(&tensor, pad, block);
	}
	int occupancy = LDS_BYTES / MAX(1, get(deriving, P_MaxOccupancy)), total = buffers_bytes(deriving, bytes);
	if (get(deriving, P_1LDSBuffer) == -1) {
		int64_t result = (int64_t)bytes_of(deriving->problem->compute) * solution->macro_tile[0] * solution->macro_tile[1];
		bool two = total <= MAX(occupancy, 32768) || (result > 32768 * 4 && total <= LDS_BYTES);
		set(deriving, P_1LDSBuffer, get(deriving, P_DirectToLds) || two ? 0 : 1);
	}
	if (get(deriving, P_1LDSBuffer))
		total = aligned(deriving, bytes[0]) + aligned(deriving, bytes[1]);
	choose_batch(deriving, (int)MAX(MAX(total, occupancy), solution->local_split_u > 1 ? reduction : 0));
	choose_remap(deriving);
}
