/* SPDX-License-Identifier: MIT */
/*
 * Proves kernels: runs them in the emulator on edge sizes, with every feature their problem type has, and compares D with a
 * reference in double precision (problem.h states the error bounds). Memory is guarded to the byte.
 *
 *     struct verify_kernel kernels[n] = { { "name", &config }, ... };
 *     r = verify_code_object(bytes, size, "gfx942", kernels, n, &(struct verify_options){ .depth = VERIFY_NORMAL }, report, userdata,
 *                            &summary, &error);
 *
 * A kernel's launches are drawn from these values, each kernel from its own pseudo-random order (seed and kernel name):
 *     M, N            1, tile - 1, tile, tile + 1, more than two tiles, any; rounded up to what the kernel asserts of them
 *     K               0, 1, DepthU - 1, DepthU, DepthU + 1, 2 DepthU, several DepthU and a rest
 *     argument type   0, 1 and 2, groups with a GEMM of no size; WGM and WGMXCC of all kinds; workgroups too many
 *     tensors         padded and unpadded strides, misaligned, two batches without a stride, side by side, or gigabytes apart; C in place
 *     alpha           1, 0 with null A and B, others; beta 0 with NaN in C, with a null C, others
 *     epilogue        every bias type, none; every activation; scales null or not
 *     data            integers, compared exactly; real numbers, compared with bounds
 */
#pragma once

#include "build/gemm/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verify_depth {
	VERIFY_QUICK,		/* 4 launches a kernel */
	VERIFY_NORMAL,		/* 16: every value of every list at least once */
	VERIFY_ALL,		/* every M with every N and every K */
};

struct verify_kernel {
	const char *name;
	const struct gemm_config *config;
};

struct verify_options {
	enum verify_depth depth;
	uint64_t seed;
	unsigned threads;	/* kernels at once; 0 means 1 */
	bool as_host;		/* WGM, WGMXCC, StaggerU and GSU only as hipBLASLt's host passes them: kernels that are not ours rely on it */
};

struct verify_result {		/* of one kernel */
	int status;		/* 0, or a negative errno with the reason in `error` */
	unsigned launches;
	uint64_t instructions;	/* executed by all waves */
	double worst;		/* largest error as a part of its bound */
	struct error error;
};

struct verify_summary {
	size_t kernels, failed;
	uint64_t launches, instructions;
	double worst;
};

/* Called for every kernel in turn, in the order given, from the thread that called verify_code_object(). */
typedef void (*verify_report)(void *userdata, const struct verify_kernel *kernel, const struct verify_result *result);

/*
 * `bytes` is a linked code object or an offload bundle with one for `arch`. 0 when every kernel passed, -EBADMSG when any failed (the
 * report has the reasons, `error` the first of them); other errors concern the code object.
 */
int verify_code_object(const uint8_t *bytes, size_t size, const char *arch, const struct verify_kernel *kernels, size_t n_kernels,
		       const struct verify_options *options, verify_report report, void *userdata, struct verify_summary *ret_summary,
		       struct error *error);
