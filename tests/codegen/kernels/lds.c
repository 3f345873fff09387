/* SPDX-License-Identifier: MIT */
#include "common.h"

__attribute__((loader_uninitialized)) static LDS float tile[2][1024];

KERNEL void lds_transpose(GLOBAL float *out, GLOBAL const float *in)
{
	u32 i = lane();

	for (u32 k = 0; k < 4; k++)
		tile[0][k * 256 + i] = in[k * 256 + i];
	barrier();
	for (u32 k = 0; k < 4; k++)
		out[k * 256 + i] = tile[0][i * 4 + k];
}

KERNEL void lds_double_buffer(GLOBAL float *out, GLOBAL const float4 *in, u32 n)
{
	u32 i = lane();
	float4 sum = 0, next = in[i];

	for (u32 k = 0; k < n; k++) {
		LDS float4 *write = (LDS float4 *)tile[k & 1];
		write[i] = next;
		next = in[(k + 1) * 256 + i];
		barrier();
		sum += write[(i + 1) & 255] * write[(i + 64) & 255].wzyx;
	}
	out[i] = sum.x + sum.y + sum.z + sum.w;
}

KERNEL void lds_reduce(GLOBAL float *out, GLOBAL const float *in)
{
	u32 i = lane();

	tile[1][i] = in[i];
	barrier();
	for (u32 step = 128; step > 0; step /= 2) {
		if (i < step)
			tile[1][i] += tile[1][i + step];
		barrier();
	}
	if (i == 0)
		*out = tile[1][0];
}

KERNEL void lds_permute(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int value = in[i];

	value += __builtin_amdgcn_ds_bpermute((int)(i ^ 5) * 4, value);
	value ^= __builtin_amdgcn_ds_swizzle(value, 0x401f);
	out[i] = value;
}
