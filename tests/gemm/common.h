/* SPDX-License-Identifier: MIT */
/* What the tests of this room share: parameters from few words, and kernels linked to a code object. */
#pragma once

#include "base/buffer.h"
#include "build/gemm/gemm.h"

struct test_kernel {
	char name[160];
	struct gemm_config config;
	struct gemm_code code;
};

/* The usual values of everything that a test does not set itself: f16 TN, 16x16x16, one wave of one MFMA, DepthU 32. */
struct gemm_params default_params(void);

/* Sets what follows from wave groups and tiles: MacroTile, NumThreads; and global reads that divide the tiles. */
void complete_params(struct gemm_params *params);

/* Links kernels to a code object with ld.lld. Skips the test program (status 77) when there is no ld.lld. */
void link_kernels(const struct test_kernel *kernels, size_t n, struct buffer *ret_elf);
