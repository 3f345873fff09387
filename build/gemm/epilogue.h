/* SPDX-License-Identifier: MIT */
/*
 * How accumulators become D. Internal to build/gemm.
 *
 *     scale[m] = (alpha * scaleA * scaleB) * scaleAlphaVec[m]         one rounding a product, from left to right
 *     D[m, n]  = convert(act(fma(beta, C[m, n], scale[m] * acc) + bias[m]))
 *
 * all in f32; beta == 0 reads no C, and a null pointer of a scale or of bias stands for 1 and 0. relu is max(x, 0), which
 * makes 0 of a NaN; gelu is x / (1 + exp(-2 k0 x (1 + k1 x^2))), the tanh approximation written with one exponential.
 *
 * A lane owns rows x columns of the macro tile (gemm_acc_place). Its rows are cut into groups of `group` rows with the same
 * distances between them, its columns into batches of `columns`; one group times one batch of elements lies in v_acc at a time:
 *
 *     for each group:    s_group_row = its first row;             call the group function: addresses, scale[], bias[]
 *       for each batch:  s_column[] = its columns; move accumulators to v_acc;     call the batch function: C, arithmetic, D
 *
 * so that the code grows by one move an accumulator, whatever the features. Memory is reached with 64-bit addresses a lane and column,
 * rows in the immediate offset, lanes outside of D masked by EXEC: right for any stride and exact to the byte. `vector`
 * neighbouring rows go in one access; a tile whose rows end between two of them goes element by element.
 */
#pragma once

#include "build/gemm/kernel.h"

enum {
	EPILOGUE_MAX_ACCS = 512,
	EPILOGUE_MAX_BATCH = 32,	/* elements a lane in v_acc */
	EPILOGUE_MAX_COLUMNS = 8,
	EPILOGUE_MAX_DELTA = 4095 / 4,	/* rows; times 4 bytes it fits the 12 bits of a positive offset */
	EPILOGUE_NO_COLUMN = 0x4000,	/* in s_column: pads the last batch; right of every macro tile */
};

struct epilogue_plan {
	unsigned n_rows, n_columns;		/* of a lane */
	uint16_t rows[EPILOGUE_MAX_ACCS], columns[EPILOGUE_MAX_ACCS];	/* static parts, ascending */
	uint16_t acc[EPILOGUE_MAX_ACCS];	/* accumulator of (row index, column index): acc[row * n_columns + column] */
	unsigned group, batch_columns, vector;	/* powers of two */
	uint16_t delta[EPILOGUE_MAX_BATCH];	/* rows of a group relative to its first */
};

struct epilogue {
	struct gemm_kernel *kernel;
	struct ir *ir;
	const struct gemm_problem_type *problem;
	struct epilogue_plan plan;
	ir_label_id group_function, batch_function;
	/* SGPRs */
	unsigned s_link;		/* pair: return address */
	unsigned s_alpha, s_beta;	/* pairs, both halves the same; alpha times scaleA and scaleB */
	unsigned s_rows, s_columns;	/* how many rows and columns of the macro tile lie inside D */
	unsigned s_odd;			/* not 0: the rows end inside of a vector */
	unsigned s_group_row;
	unsigned s_column;		/* batch_columns of them */
	unsigned s_mask;		/* pairs: lanes whose column lies inside D */
	unsigned s_constant;		/* four, for conversions and activations */
	/* VGPRs */
	unsigned v_lane_row, v_lane_column;
	unsigned v_rows_left;		/* rows of D from the lane's first row of the group on, signed */
	unsigned v_base_d, v_base_c;	/* pairs: address of the group's first row in the tile's first column */
	unsigned v_scale, v_bias;	/* a group each, when the problem has them */
	unsigned v_acc, v_c;		/* element (column c, row r) of the batch at c * group + r */
	unsigned v_address;		/* a pair a column */
	unsigned v_tmp;			/* four, aligned */
};

/* Cuts the lane's elements into groups and batches for at most `vgprs` registers if that is possible. */
void epilogue_plan(const struct gemm_config *config, unsigned vgprs, struct epilogue_plan *ret_plan);

/* VGPRs that the plan needs beside v_tid. */
unsigned epilogue_vgprs(const struct gemm_problem_type *problem, const struct epilogue_plan *plan);

void epilogue_write_group_function(struct epilogue *epilogue);
void epilogue_write_batch_function(struct epilogue *epilogue);
