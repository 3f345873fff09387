/* SPDX-License-Identifier: MIT */
/* Kernels in C for clang -target amdgcn-amd-amdhsa: what the checker must accept. What they compute is of no interest. */
#define KERNEL __attribute__((amdgpu_kernel))
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))
#define VECTOR(type, n) __attribute__((ext_vector_type(n))) type

typedef unsigned int u32;
typedef VECTOR(float, 2) float2;
typedef VECTOR(float, 4) float4;
typedef VECTOR(float, 16) float16;
typedef VECTOR(float, 32) float32;
typedef VECTOR(_Float16, 4) half4;
typedef VECTOR(short, 4) short4;
typedef VECTOR(double, 4) double4;
typedef VECTOR(int, 4) int4;
typedef VECTOR(int, 16) int16;
typedef VECTOR(u32, 4) u32x4;

static inline u32 lane(void)
{
	return __builtin_amdgcn_workitem_id_x();
}

static inline void barrier(void)
{
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
