/* SPDX-License-Identifier: MIT */
/* Packs the arguments of one or more problems in one of the three ways (build/gemm/arguments.h) and runs the kernel. */
#pragma once

#include "tools/verify/problem.h"

struct launch {
	const struct emu_kernel *kernel;
	struct emu_memory *memory;
	unsigned argument_type;		/* GEMM_ARGUMENTS_*; type 0 has one problem */
	const struct problem *problems;
	unsigned n_problems;
	uint32_t internal_args;		/* StaggerU, GSU */
	int wgm, wgmxcc, wgmxccg;
	unsigned surplus;		/* workgroups beyond those that have a tile */
};

int launch_run(const struct launch *launch, struct emu_stats *ret_stats, struct error *error);
