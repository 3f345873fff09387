/* SPDX-License-Identifier: MIT */
#include "tools/verify/launch.h"

#include "base/buffer.h"
#include "build/gemm/arguments.h"

enum { MAX_INSTRUCTIONS = 4000000 };	/* of a wave: ten times what the largest tile and K here need */

static uint32_t f32_bits(double value)
{
	uint32_t bits;

	value_store(GEMM_F32, &bits, value);
	return bits;
}

/* The value of an argument that describes the problem; pointers are addresses. */
static uint64_t argument_value(const struct problem *problem, enum gemm_argument argument)
{
	const struct problem_shape *shape = &problem->shape;
	const struct tensor *t = problem->tensor;

	switch (argument) {
	case GEMM_ARG_SIZE_M:
		return shape->m;
	case GEMM_ARG_SIZE_N:
		return shape->n;
	case GEMM_ARG_SIZE_BATCH:
		return shape->batch;
	case GEMM_ARG_SIZE_K:
		return shape->k;
	case GEMM_ARG_D:
		return t[PROBLEM_D].argument;
	case GEMM_ARG_C:
		return t[PROBLEM_C].argument;
	case GEMM_ARG_A:
		return t[PROBLEM_A].argument;
	case GEMM_ARG_B:
		return t[PROBLEM_B].argument;
	case GEMM_ARG_STRIDE_D1:
		return t[PROBLEM_D].stride1;
	case GEMM_ARG_STRIDE_D2:
		return t[PROBLEM_D].stride2;
	case GEMM_ARG_STRIDE_C1:
		return t[PROBLEM_C].stride1;
	case GEMM_ARG_STRIDE_C2:
		return t[PROBLEM_C].stride2;
	case GEMM_ARG_STRIDE_A1:
		return t[PROBLEM_A].stride1;
	case GEMM_ARG_STRIDE_A2:
		return t[PROBLEM_A].stride2;
	case GEMM_ARG_STRIDE_B1:
		return t[PROBLEM_B].stride1;
	case GEMM_ARG_STRIDE_B2:
		return t[PROBLEM_B].stride2;
	case GEMM_ARG_ALPHA:
		return f32_bits(shape->alpha);
	case GEMM_ARG_BETA:
		return f32_bits(shape->beta);
	case GEMM_ARG_SCALE_A:
		return t[PROBLEM_SCALE_A].argument;
	case GEMM_ARG_SCALE_B:
		return t[PROBLEM_SCALE_B].argument;
	case GEMM_ARG_SCALE_ALPHA_VEC:
		return t[PROBLEM_SCALE_ALPHA_VEC].argument;
	case GEMM_ARG_BIAS:
		return t[PROBLEM_BIAS].argument;
	case GEMM_ARG_BIAS_TYPE:
		return t[PROBLEM_BIAS].type;
	case GEMM_ARG_BIAS_STRIDE:
		return t[PROBLEM_BIAS].stride2;
	case GEMM_ARG_ACTIVATION_TYPE:
		return shape->activation;
	default:
		return 0;	/* the header; parameters of activations that this interface does not have */
	}
}

static void place(uint8_t *base, const uint16_t *offsets, enum gemm_argument argument, uint64_t value)
{
	if (offsets[argument] != GEMM_ARGUMENT_ABSENT)
		memcpy(base + offsets[argument], &value, gemm_argument_info(argument)->size);
}

static void place_problem(uint8_t *base, const uint16_t *offsets, const struct problem *problem)
{
	for (enum gemm_argument i = GEMM_ARG_SIZE_M; i < GEMM_ARGUMENT_COUNT; i++)
		place(base, offsets, i, argument_value(problem, i));
}

static uint32_t tiles(const struct problem *problem)
{
	const struct gemm_tensor_config *tensor = problem->config->tensor;

	return (uint32_t)(ceil_div(problem->shape.m, tensor[0].macro_tile) * ceil_div(problem->shape.n, tensor[1].macro_tile) *
			  problem->shape.batch);
}

/* wgTable and the records behind it, as the host puts them into device memory. */
static void pack_grouped(const struct launch *launch, const struct gemm_argument_layout *layout, struct buffer *memory)
{
	uint32_t first = 0;

	for (unsigned i = 0; i < launch->n_problems; i++) {
		buffer_append(memory, &first, sizeof(first));
		first += tiles(&launch->problems[i]);
	}
	for (unsigned i = 0; i < launch->n_problems; i++) {
		uint8_t record[256] = { 0 };

		place_problem(record, layout->offset, &launch->problems[i]);
		buffer_append(memory, record + GEMM_ARGUMENT_HEADER, layout->record_bytes);
	}
}

/* What no argument of the problem is in these structs is left as the host may leave it: anything. */
static void pack_user(const struct launch *launch, const struct gemm_argument_layout *layout, struct buffer *memory)
{
	for (unsigned i = 0; i < launch->n_problems; i++) {
		uint8_t *record = buffer_extend(memory, GEMM_USER_BYTES);

		if (!record)
			return;
		memset(record, 0xee, GEMM_USER_BYTES);
		place_problem(record, layout->user_offset, &launch->problems[i]);
	}
}

static int pack(const struct launch *launch, const struct gemm_argument_layout *layout, uint32_t workgroups, struct buffer *device,
		uint8_t *kernarg, size_t *ret_size)
{
	const uint16_t *offsets = layout->offset;
	uint64_t pointer = 0;

	place(kernarg, offsets, GEMM_ARG_GEMM_COUNT, launch->n_problems | launch->argument_type << 30);
	place(kernarg, offsets, GEMM_ARG_INTERNAL_ARGS, launch->internal_args);
	place(kernarg, offsets, GEMM_ARG_INTERNAL_ARGS1,
	      ((uint32_t)launch->wgmxccg & 0x3ff) << 22 | ((uint32_t)launch->wgmxcc & 0x3f) << 16 | (uint16_t)launch->wgm);
	place(kernarg, offsets, GEMM_ARG_NUM_WORKGROUPS, workgroups);
	if (launch->argument_type == GEMM_ARGUMENTS_INLINE) {
		place_problem(kernarg, offsets, &launch->problems[0]);
		*ret_size = layout->bytes;
		return 0;
	}
	if (launch->argument_type == GEMM_ARGUMENTS_GROUPED)
		pack_grouped(launch, layout, device);
	else
		pack_user(launch, layout, device);
	if (device->failed)
		return -ENOMEM;
	int r = emu_memory_add(launch->memory, "arguments", device->size, EMU_READ, device->data, &pointer);
	if (r < 0)
		return r;
	memcpy(kernarg + GEMM_GROUPED_POINTER, &pointer, sizeof(pointer));
	*ret_size = GEMM_GROUPED_BYTES;
	return 0;
}

int launch_run(const struct launch *launch, struct emu_stats *ret_stats, struct error *error)
{
	const struct gemm_config *config = launch->problems[0].config;
	_cleanup_buffer_ struct buffer device = { 0 };
	struct gemm_argument_layout layout;
	uint8_t kernarg[256] = { 0 };
	uint32_t workgroups = launch->surplus;
	size_t size;

	for (unsigned i = 0; i < launch->n_problems; i++)
		workgroups += tiles(&launch->problems[i]);
	gemm_argument_layout(&config->params.problem, &layout);
	int r = pack(launch, &layout, workgroups, &device, kernarg, &size);
	if (r < 0)
		return error_set(error, r, "cannot pack the arguments");
	return emu_launch(launch->memory,
			  &(struct emu_launch){
				  .kernel = launch->kernel,
				  .grid = { workgroups, 1, 1 },
				  .workgroup = { config->threads, 1, 1 },
				  .kernarg = kernarg,
				  .kernarg_size = size,
				  .max_instructions = MAX_INSTRUCTIONS,
			  },
			  ret_stats, error);
}
