/* SPDX-License-Identifier: MIT */
#include "common.h"

KERNEL void mfma_f16(GLOBAL float *out, GLOBAL const half4 *in, u32 n)
{
	u32 i = lane();
	float16 c = 0;
	float4 d = 0;

	for (u32 k = 0; k < n; k++) {
		half4 a = in[i + k * 128], b = in[i + 64 + k * 128];
		c = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, c, 0, 0, 0);
		d = __builtin_amdgcn_mfma_f32_16x16x16f16(b, a, d, 0, 0, 0);
	}
	for (u32 k = 0; k < 16; k++)
		out[i * 16 + k] = c[k] + d[k & 3];
}

/* A result that becomes an operand at once */
KERNEL void mfma_chain(GLOBAL float *out, GLOBAL const float *in)
{
	u32 i = lane();
	float a = in[i];
	float4 c = { a, a, a, a };

	c = __builtin_amdgcn_mfma_f32_4x4x1f32(a, a, c, 0, 0, 0);
	c = __builtin_amdgcn_mfma_f32_16x16x4f32(c.x, c.y, c, 0, 0, 0);
	c = __builtin_amdgcn_mfma_f32_4x4x1f32(c.z, c.x, c, 0, 0, 0);
	half4 h = { (_Float16)c.x, (_Float16)c.y, (_Float16)c.z, (_Float16)c.w };
	c = __builtin_amdgcn_mfma_f32_4x4x4f16(h, h, c, 0, 0, 0);
	c = __builtin_amdgcn_mfma_f32_4x4x4f16(h, h, c, 0, 0, 0);
	*(GLOBAL float4 *)(out + i * 4) = c;
}

KERNEL void mfma_bf16(GLOBAL float16 *out, GLOBAL const short4 *in)
{
	u32 i = lane();
	float16 c = 0;
	float4 d = 0;

	c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(in[i], in[i + 64], c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(in[i], in[i + 64], d, 0, 0, 0);
	c.s0123 += d;
	out[i] = c;
}

KERNEL void mfma_f32(GLOBAL float16 *out, GLOBAL const float2 *in)
{
	u32 i = lane();
	float16 c = 0;
	float4 d = 0;

	c = __builtin_amdgcn_mfma_f32_32x32x2f32(in[i].x, in[i].y, c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f32_16x16x8_xf32(in[i], in[i + 64], d, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f32_16x16x4f32(in[i].x, d.y, d, 0, 0, 0);
	c.s4567 *= d;
	out[i] = c;
}

KERNEL void mfma_blocks(GLOBAL float32 *out, GLOBAL const float *in)
{
	u32 i = lane();
	float32 c = 0;

	c = __builtin_amdgcn_mfma_f32_32x32x1f32(in[i], in[i + 64], c, 1, 0, 0);
	out[i] = c;
}

KERNEL void mfma_f64(GLOBAL double *out, GLOBAL const double *in)
{
	u32 i = lane();
	double4 c = 0;
	double d = in[i];

	c = __builtin_amdgcn_mfma_f64_16x16x4f64(in[i], in[i + 64], c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f64_4x4x4f64(in[i], c.x, d, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f64_4x4x4f64(in[i], in[i + 64], d, 0, 0, 0);
	d = __builtin_fma(d, c.y, c.z);
	out[i] = d + c.w;
	out[i + 64] = __builtin_fma(in[i], in[i + 64], d);
}

KERNEL void mfma_i8(GLOBAL int *out, GLOBAL const long *in)
{
	u32 i = lane();
	int16 c = 0;
	int4 d = 0;

	c = __builtin_amdgcn_mfma_i32_32x32x16_i8(in[i], in[i + 64], c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_i32_16x16x32_i8(in[i], in[i + 64], d, 0, 0, 0);
	for (u32 k = 0; k < 16; k++)
		out[i * 16 + k] = c[k] ^ d[k & 3];
}

KERNEL void mfma_f8(GLOBAL u32 *out, GLOBAL const long *in)
{
	u32 i = lane();
	float16 c = 0;
	float4 d = 0;

	c = __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(in[i], in[i + 64], c, 0, 0, 0);
	d = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(in[i], in[i + 64], d, 0, 0, 0);
	for (u32 k = 0; k < 4; k++) {
		u32 packed = 0;
		packed = __builtin_amdgcn_cvt_pk_fp8_f32(c[k * 4], c[k * 4 + 1] + d[k], packed, 0);
		packed = __builtin_amdgcn_cvt_pk_fp8_f32(c[k * 4 + 2], c[k * 4 + 3], packed, 1);
		out[i * 4 + k] = packed;
	}
}

/* More accumulators than VGPRs: AccVGPRs, and moves between the two */
KERNEL __attribute__((amdgpu_flat_work_group_size(64, 256), amdgpu_waves_per_eu(1, 1))) void
mfma_many(GLOBAL float16 *out, GLOBAL const half4 *in, u32 n)
{
	u32 i = lane();
	float16 c[18] = { 0 };

	for (u32 k = 0; k < n; k++) {
#pragma unroll
		for (u32 t = 0; t < 18; t++)
			c[t] = __builtin_amdgcn_mfma_f32_32x32x8f16(in[i + t * 64 + k], in[i + t * 64 + k + 2048], c[t], 0, 0, 0);
	}
#pragma unroll
	for (u32 t = 0; t < 18; t++)
		out[i + t * 64] = c[t];
}
