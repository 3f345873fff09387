/* SPDX-License-Identifier: MIT */
#include "build/gemm/params.h"

#include <stddef.h>

struct type_info {
	const char *name;
	unsigned bytes;
};

static const struct type_info types[] = {
	[GEMM_F32] = { "f32", 4 },
	[GEMM_F64] = { "f64", 8 },
	[GEMM_F16] = { "f16", 2 },
	[GEMM_I32] = { "i32", 4 },
	[GEMM_BF16] = { "bf16", 2 },
	[GEMM_I8] = { "i8", 1 },
	[GEMM_XF32] = { "xf32", 4 },
	[GEMM_F8] = { "f8", 1 },
	[GEMM_BF8] = { "bf8", 1 },
	[GEMM_F8BF8] = { "f8bf8", 1 },
	[GEMM_BF8F8] = { "bf8f8", 1 },
};

static const struct type_info *type_info(enum gemm_type type)
{
	static const struct type_info unknown = { "unknown type", 0 };
	size_t n = sizeof(types) / sizeof(types[0]);

	return (size_t)type < n && types[type].name ? &types[type] : &unknown;
}

unsigned gemm_type_bytes(enum gemm_type type)
{
	return type_info(type)->bytes;
}

const char *gemm_type_name(enum gemm_type type)
{
	return type_info(type)->name;
}
