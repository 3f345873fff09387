/* SPDX-License-Identifier: MIT */
/* What the test kernels share between GPU and host. */
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;
typedef _Float16 h;
typedef float f;
typedef double d;

#define within(a, low, high) ((a) >= (low) && (a) <= (high))

static inline u32 to_u32(f a)
{
	u32 u;
	__builtin_memcpy(&u, &a, sizeof(u));
	return u;
}

#ifdef __AMDGCN__
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define UNSET __attribute__((loader_uninitialized))	/* LDS has no initial value */
#define KERNEL __attribute__((amdgpu_kernel, visibility("default"))) void

static inline u32 local_id(void)
{
	return __builtin_amdgcn_workitem_id_x();
}

static inline u32 global_id(u32 workgroup_size)
{
	return __builtin_amdgcn_workgroup_id_x() * workgroup_size + local_id();
}

/* A barrier that orders LDS accesses. */
static inline void barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif
