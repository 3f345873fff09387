/* SPDX-License-Identifier: MIT */
#include "common.h"

__attribute__((loader_uninitialized)) static LDS u32 staged[256];

KERNEL void memory_buffer(void *out, void *in, int size)
{
	__amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(in, 0, size, 0x27000);
	__amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, size, 0x27000);
	int i = (int)lane() * 16;

	for (int k = 0; k < 4; k++) {
		u32x4 value = __builtin_amdgcn_raw_buffer_load_b128(from, i, k * 4096, 0);
		u32 extra = __builtin_amdgcn_raw_buffer_load_b32(from, i + k, 0, 0);
		__builtin_amdgcn_raw_buffer_store_b128(value * 3 + extra, to, i, k * 4096, 0);
	}
}

KERNEL void memory_buffer_from_vgpr(void *out, GLOBAL const u32 *sizes)
{
	u32 size = (u32)__builtin_amdgcn_readfirstlane((int)sizes[lane()]);
	__amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, (int)size, 0x27000);

	__builtin_amdgcn_raw_buffer_store_b32(size, to, (int)lane() * 4, 0, 0);
}

KERNEL void memory_flat(float *out, const float *in, u32 n)
{
	float sum = 0;

	for (u32 k = 0; k < n; k++)
		sum += in[lane() + k * 64] * out[k];
	out[lane()] = sum;
}

KERNEL void memory_scalar(GLOBAL float *out, GLOBAL const float *in, GLOBAL const u32 *index, u32 n)
{
	float sum = 0;

	for (u32 k = 0; k < n; k++)
		sum += in[index[k]] * in[index[k] + 1];
	out[lane()] = sum;
}

KERNEL void memory_atomic(GLOBAL u32 *counter, GLOBAL u32 *out)
{
	u32 ticket = __scoped_atomic_fetch_add((GLOBAL u32 *)counter + lane() % 4, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);

	out[ticket] = lane();
}

KERNEL void memory_release_acquire(GLOBAL u32 *flag, GLOBAL u32 *out)
{
	out[lane()] = lane();
	u32 last = __scoped_atomic_fetch_add((GLOBAL u32 *)flag, 1, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);

	if (last == 7)
		out[lane() + 64] = out[lane() ^ 1];
}

KERNEL void memory_to_lds(GLOBAL u32 *out, GLOBAL u32 *in)
{
	__builtin_amdgcn_global_load_lds(in + lane(), staged, 4, 0, 0);
	__builtin_amdgcn_s_waitcnt(0x0f70);	/* vmcnt(0): LLVM leaves this one to the program */
	out[lane()] = staged[lane()];
}

/* The data of a wide store is overwritten at once */
KERNEL void memory_wide_store(GLOBAL u32x4 *out, GLOBAL const u32x4 *in, u32 n)
{
	u32x4 value = in[lane()];

	for (u32 k = 0; k < n; k++) {
		out[lane() + k * 64] = value;
		value = value * 5 + 1;
	}
}

KERNEL void memory_mixed(GLOBAL float *out, GLOBAL const float *in, u32 n)
{
	float a[12];

#pragma unroll
	for (u32 k = 0; k < 12; k++)
		a[k] = in[lane() + k * n];
	float x = 0;
#pragma unroll
	for (u32 k = 0; k < 12; k++) {
		x = x * a[k] + 1.0f;
		out[lane() + k * 64] = x;
	}
	((LDS float *)staged)[lane()] = x;
	barrier();
	out[lane() + 2048] = ((LDS float *)staged)[lane() ^ 1] + in[lane() + 4096];
}
