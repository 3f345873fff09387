/* SPDX-License-Identifier: MIT */
/*
 * The parts of gemm_write_loop(). Internal to loop*.c and to config.c, which counts the registers.
 *
 *     loop.c           the order of things: prologue, main loop, the last tile, the rest of K
 *     loop_global.c    addresses and descriptors, vector loads, the careful loads of the rest
 *     loop_lds.c       conversion and LDS writes, LDS reads, operands
 *     loop_schedule.c  one depthU of MFMAs with everything else spread between them
 *
 * Which elements are read. The buffer descriptor of a tensor starts at the workgroup's tile and ends with the tensor's last element,
 * so nothing outside the tensor is ever touched. Rows beyond the free size read zeros or other elements of the tensor: they only
 * reach results that are not stored. Elements beyond K would reach every result, so the main loop runs over whole depthUs only and
 * the rest of K is loaded element by element with the surplus lanes switched off.
 * A vector along the free dimension that is partly outside the tensor may lose all of its elements (hardware checks a range per
 * load or per dword, which we do not want to depend on). It can only be in the last rows of K: while the leading stride is not
 * tiny, in the last one, and a workgroup that owns such a vector leaves its last depthU to the careful loads too.
 */
#pragma once

#include "build/gemm/kernel.h"
#include "build/gemm/operands.h"

enum {
	GEMM_CONVERT_F32 = 4,				/* VGPRs of f32 on their way from f8 to f16 */
	GEMM_CONVERT_DWORDS = GEMM_CONVERT_F32 + 8,	/* and of the f16 that a load of 16 elements becomes */
};

struct loop_tensor {
	const struct gemm_tensor_config *config;
	unsigned s_addr64, s_stride1, s_stride2, s_tile, s_size;	/* of struct gemm_kernel */
	unsigned s_desc;		/* buffer descriptor, 4: base at the tile's next depthU */
	unsigned s_left64;		/* bytes from there to the tensor's end */
	unsigned s_step64;		/* bytes from a depthU to the next */
	unsigned s_load_step;		/* bytes from load (p, c) to (p + 1, c) */
	unsigned v_offset;		/* the thread's place in load (p, 0), bytes: for each p, or for p = 0 and the load being issued */
	unsigned v_write, v_read;	/* the thread's place in LDS, for writes and reads */
	unsigned v_load;		/* what global reads return: load_dwords for each load, (p, c) in order */
	unsigned v_operand, v_raw;
};

struct loop {
	struct gemm_kernel *kernel;
	const struct gemm_config *config;
	struct ir *ir;
	struct loop_tensor tensor[2];
	unsigned s_iterations;		/* main loop: macro tiles still to multiply but the last */
	unsigned s_rest;		/* K that is left to the careful loop */
	unsigned s_valid;		/* of the tile in LDS: elements of K that count, at most depthU */
	unsigned s_tmp;			/* 4, aligned */
	unsigned s_toggle;		/* bytes to the other LDS buffer: lds_buffer_stride or its negative (two buffers) */
	unsigned s_select64;		/* v_perm_b32 selectors: the low halves, the high halves (permute) */
	unsigned v_work, work_dwords;	/* operands and raw registers of both tensors; outside of multiplication free for others */
	unsigned v_convert;
	unsigned v_tmp;			/* 2 */
	uint64_t prepared[2];		/* schedule: bit b * k_fold + s: operands of this block and step are made from raw ones */
};

static inline int loop_log2(unsigned power)
{
	return __builtin_ctz(power);
}

/* ---- registers -------------------------------------------------------------------------------------------------------- */

/* How many sets of operand registers a tensor has: the next group is read to the one that is not in use. */
static inline unsigned loop_operand_sets(const struct gemm_tensor_config *tensor)
{
	return tensor->prefetch && !tensor->permute ? 2 : 1;
}

static inline unsigned loop_tensor_dwords(const struct gemm_tensor_config *tensor)
{
	return (unsigned)round_up(tensor->operand_dwords * loop_operand_sets(tensor) + tensor->raw_dwords, 2);
}

/* VGPRs of loop.v_work: the operands, and at least what the careful loads need for one vector. */
static inline unsigned loop_work_dwords(const struct gemm_config *config)
{
	unsigned operands = loop_tensor_dwords(&config->tensor[0]) + loop_tensor_dwords(&config->tensor[1]);
	unsigned vector = MAX(config->tensor[0].grvw, config->tensor[1].grvw) + 1;

	return (unsigned)round_up(MAX(operands, vector), 2);
}

/* ---- global reads ----------------------------------------------------------------------------------------------------- */

void loop_write_addresses(struct loop *loop, struct loop_tensor *tensor);

/* s_iterations and s_rest from K: how many depthUs the main loop may take. */
void loop_write_counts(struct loop *loop);

/* num_records from s_left64. */
void loop_write_limit(struct loop *loop, const struct loop_tensor *tensor);

/* Moves the descriptor by a depthU, without num_records. */
void loop_write_advance(struct loop *loop, const struct loop_tensor *tensor);

void loop_write_load(struct loop *loop, const struct loop_tensor *tensor, unsigned load);

/* Loads the s_valid first elements of K one by one, zeros behind them, to v_load. */
void loop_write_careful_loads(struct loop *loop, const struct loop_tensor *tensor);

/* ---- LDS -------------------------------------------------------------------------------------------------------------- */

void loop_write_lds_addresses(struct loop *loop, struct loop_tensor *tensor, unsigned wave_divisor);

/* What load number `load` returned, converted, to LDS. */
void loop_write_lds_write(struct loop *loop, const struct loop_tensor *tensor, unsigned load);

/* Operands come in blocks of vector_width rows; a read fetches what one block needs for one MFMA step, or for all of the group
 * when the LDS is k major (then step is 0). */
unsigned loop_blocks(const struct loop_tensor *tensor);
unsigned loop_read_steps(const struct loop *loop, const struct loop_tensor *tensor);
void loop_write_lds_read(struct loop *loop, const struct loop_tensor *tensor, unsigned group, unsigned block, unsigned step);

/* v_perm_b32 of a block, from raw registers to operands. */
void loop_write_permute(struct loop *loop, const struct loop_tensor *tensor, unsigned block, unsigned step);

/* The operand of MFMA tile w in a step of a group. */
struct isa_operand loop_operand(const struct loop *loop, const struct loop_tensor *tensor, unsigned group, unsigned w,
				unsigned step);

/* ---- schedule --------------------------------------------------------------------------------------------------------- */

/* The main loop's body: multiplies the tile in LDS, writes the next one to LDS, loads the one after. */
void loop_write_body(struct loop *loop);

/* Multiplies the tile in LDS, no more groups than s_valid needs. */
void loop_write_multiply(struct loop *loop);

/* Reads of a tile's first group by the tensors that read ahead. */
void loop_write_first_reads(struct loop *loop);

/* v_read and v_write to the other LDS buffer. */
void loop_write_toggle(struct loop *loop);
