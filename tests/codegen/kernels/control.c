/* SPDX-License-Identifier: MIT */
#include "common.h"

KERNEL void control_divergence(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int x = in[i];

	if (x > 10) {
		if (x & 1)
			x = in[x];
		else
			x = x * 3 + in[i + 64];
	} else if (x < -10) {
		x = out[i];
	}
	out[i] = x;
}

KERNEL void control_loop_per_lane(GLOBAL int *out, GLOBAL const int *in)
{
	u32 i = lane();
	int x = in[i], steps = 0;

	while (x != 1 && steps < 1000) {
		x = x & 1 ? 3 * x + 1 : x >> 1;
		steps += in[x & 63];
	}
	out[i] = steps;
}

KERNEL void control_list(GLOBAL int *out, GLOBAL const int *next)
{
	int at = (int)lane(), sum = 0;

	for (int k = 0; k < 100 && at >= 0; k++) {
		sum ^= at;
		at = next[at];
		if (at == 77)
			sum += next[sum & 255];
	}
	out[lane()] = sum;
}

KERNEL void control_uniform(GLOBAL float *out, GLOBAL const float *in, u32 n, u32 mask)
{
	float x = in[lane()];

	for (u32 k = 0; k < n; k++) {
		x *= (float)__builtin_amdgcn_readfirstlane((int)in[lane() ^ k]);
		if (k & mask)
			x += in[lane() + k * 64];
	}
	out[lane()] = x;
}

__attribute__((noinline)) static float callee(GLOBAL const float *in, float x)
{
	return in[lane()] * x + in[lane() + 1];
}

KERNEL void control_call(GLOBAL float *out, GLOBAL const float *in, u32 n)
{
	float x = out[lane()];

	for (u32 k = 0; k < n; k++)
		x = callee(in + k, x) + out[lane() + k];
	out[lane()] = x;
}
