/* SPDX-License-Identifier: MIT */
/*
 * One GEMM with its data in the emulator's memory, and the judgement of its result. Internal to tools/verify.
 *
 *     problem_init(&problem, config, &shape, random, memory, 0, &error);      fills A, B, C ... with data
 *     ... launch ...
 *     problem_check(&problem, &worst, &error);                                       compares D with a reference in double
 *     problem_release(&problem);
 *
 * Every tensor is a region of its own with an extent exact to the byte, unmapped space around. (Batches that are far apart are a
 * region each.) What lies between the rows of a tensor (stride > size) is NaN in inputs, and in D a pattern that must still be
 * there at the end.
 *
 * With integer data everything but gelu is exact in f32, and D must be the reference rounded once. With real data, u = 2^-24:
 *     accumulation    u (K + 8) sum |a b|        a chain of K roundings and a few for the order inside an MFMA, which is not public
 *     scaling         4 u |x|                    alpha * scaleA * scaleB * scaleAlphaVec[m] * acc
 *     beta C, bias    u |x| each
 *     gelu            1.13 times the error so far (its slope) + 16 u |x|
 *     output          half a unit in the last place of D's type
 * where x is the value at that point. 2^-126 is added for denormals that may be flushed.
 */
#pragma once

#include "build/gemm/config.h"
#include "tools/emulator/emulator.h"
#include "tools/verify/values.h"

enum problem_tensor { PROBLEM_A, PROBLEM_B, PROBLEM_C, PROBLEM_D, PROBLEM_BIAS, PROBLEM_SCALE_ALPHA_VEC, PROBLEM_SCALE_A, PROBLEM_SCALE_B,
		      PROBLEM_TENSORS };

struct problem_shape {
	uint32_t m, n, k, batch;
	uint32_t pad[PROBLEM_TENSORS];		/* elements between a column's end and the next one's start; of A, B, C, D */
	bool broadcast[PROBLEM_TENSORS];	/* batch stride 0; of A, B, C, bias */
	bool far;				/* batches of A, B, C and D lie gigabytes apart */
	unsigned misaligned;			/* elements by which tensors start after an aligned address */
	bool integers;
	double alpha, beta;
	bool null[PROBLEM_TENSORS];		/* pointer 0: allowed for what is not read and for optional tensors */
	bool in_place;				/* C is D */
	enum gemm_type bias_type;
	uint32_t activation;			/* enum gemm_activation */
};

struct tensor {
	enum gemm_type type;
	uint32_t rows, columns, batch;		/* rows lie side by side in memory */
	uint32_t stride1, stride2;		/* elements, as passed to the kernel */
	uint64_t host_stride2;			/* between batches in `data`; differs from stride2 when they are far apart */
	size_t batch_size, size;		/* bytes of one batch, of `data` */
	uint8_t *data;
	uint64_t address;			/* on the device; 0 for a null pointer */
	uint64_t argument;			/* what the kernel is passed: the address, or that of an array of addresses, one a batch */
};

struct problem {
	const struct gemm_config *config;
	struct problem_shape shape;
	unsigned index;				/* of the GEMM in its group */
	struct tensor tensor[PROBLEM_TENSORS];
	uint8_t *c_before;			/* of an in-place problem: D's bytes before the launch */
};

int problem_init(struct problem *ret_problem, const struct gemm_config *config, const struct problem_shape *shape, struct random *random,
		 struct emu_memory *memory, unsigned index, struct error *error);
void problem_release(struct problem *problem);

/* -EBADMSG with the first wrong element in `error`. *worst becomes the largest error found as a part of its bound. */
int problem_check(const struct problem *problem, double *worst, struct error *error);

/* Writes the shape in one line, for messages. */
void problem_describe(const struct problem *problem, char *text, size_t size);
