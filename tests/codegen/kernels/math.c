/* SPDX-License-Identifier: MIT */
#include "common.h"

KERNEL void math_divide(GLOBAL float *f, GLOBAL double *d, GLOBAL int *n)
{
	u32 i = lane();

	f[i] = f[i] / f[i + 64];
	d[i] = d[i] / d[i + 64];
	n[i] = n[i] / n[i + 64] + n[i + 128] % 7;
}

KERNEL void math_transcendental(GLOBAL float *f)
{
	u32 i = lane();
	float x = f[i];

	x = __builtin_amdgcn_rcpf(x) * 3.0f;
	x = __builtin_amdgcn_exp2f(x) + __builtin_amdgcn_logf(x);
	x = __builtin_amdgcn_sqrtf(x + __builtin_amdgcn_sinf(x));
	f[i] = x * __builtin_amdgcn_rsqf(x);
}

KERNEL void math_dpp(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int x = in[i];

	x += __builtin_amdgcn_update_dpp(0, x, 0x111, 0xf, 0xf, 0);
	x += __builtin_amdgcn_update_dpp(0, x, 0x112, 0xf, 0xf, 0);
	x += __builtin_amdgcn_update_dpp(x, x, 0x142, 0xa, 0xf, 0);
	x ^= __builtin_amdgcn_mov_dpp(in[i + 64], 0xb1, 0xf, 0xf, 1);
	out[i] = x;
}

KERNEL void math_lanes(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int x = in[i] * 3;
	int first = __builtin_amdgcn_readfirstlane(x);
	int other = __builtin_amdgcn_readlane(x + 1, first & 63);

	if (other > 5)
		x += __builtin_amdgcn_readlane(x * 7, other & 63);
	out[i] = x + out[first];
}

KERNEL void math_halves(GLOBAL unsigned char *out, GLOBAL const unsigned short *in)
{
	u32 i = lane();
	_Float16 a = __builtin_bit_cast(_Float16, in[i]), b = __builtin_bit_cast(_Float16, in[i + 64]);

	out[i] = (unsigned char)((u32)in[i + 128] * in[i + 192] >> 8);
	*(GLOBAL _Float16 *)(out + 2 * i + 512) = a * b + a / b;
	*(GLOBAL unsigned short *)(out + 2 * i + 1024) = (unsigned short)(in[i + 256] << 3 | (in[i + 300] & 0xff));
}

KERNEL void math_dots(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int sum = in[i];

	sum = __builtin_amdgcn_sdot4(in[i + 64], in[i + 128], sum, 0);
	sum = __builtin_amdgcn_sdot4(in[i + 192], in[i + 256], sum, 0);
	sum = __builtin_amdgcn_sdot4(sum, in[i + 320], 5, 0);
	out[i] = sum * 3;
}
