/* SPDX-License-Identifier: MIT */
/* One matrix instruction each: every lane loads its registers of A, B and C and stores those of D. */
#include "kernel.h"

typedef h h4 __attribute__((ext_vector_type(4)));
typedef i16 i16x4 __attribute__((ext_vector_type(4)));
typedef f f2 __attribute__((ext_vector_type(2)));
typedef f f4 __attribute__((ext_vector_type(4)));
typedef f f16_ __attribute__((ext_vector_type(16)));
typedef f f32_ __attribute__((ext_vector_type(32)));
typedef d d4 __attribute__((ext_vector_type(4)));
typedef i32 i4 __attribute__((ext_vector_type(4)));
typedef i32 i16_ __attribute__((ext_vector_type(16)));
typedef i32 i32_ __attribute__((ext_vector_type(32)));

#define MFMA(name, D, A)                                                                           \
	KERNEL name(GLOBAL D *out, const GLOBAL A *a, const GLOBAL A *b, const GLOBAL D *c)        \
	{                                                                                          \
		u32 t = local_id();                                                                \
		out[t] = __builtin_amdgcn_mfma_##name(a[t], b[t], c[t], 0, 0, 0);                  \
	}

/* The same with cbsz, abid and blgp. */
#define MFMA_SHARED(name, D, A, cbsz, abid, blgp)                                                  \
	KERNEL name##_##cbsz##_##abid##_##blgp(GLOBAL D *out, const GLOBAL A *a, const GLOBAL A *b, const GLOBAL D *c) \
	{                                                                                          \
		u32 t = local_id();                                                                \
		out[t] = __builtin_amdgcn_mfma_##name(a[t], b[t], c[t], cbsz, abid, blgp);         \
	}

MFMA(f32_16x16x16f16, f4, h4)
MFMA(f32_32x32x8f16, f16_, h4)
MFMA(f32_32x32x4f16, f32_, h4)
MFMA(f32_16x16x4f16, f16_, h4)
MFMA(f32_4x4x4f16, f4, h4)
MFMA(f32_16x16x16bf16_1k, f4, i16x4)
MFMA(f32_32x32x8bf16_1k, f16_, i16x4)
MFMA(f32_16x16x4f32, f4, f)
MFMA(f32_32x32x2f32, f16_, f)
MFMA(f32_4x4x1f32, f4, f)
MFMA(f32_32x32x1f32, f32_, f)
MFMA(f32_16x16x1f32, f16_, f)
MFMA(f32_16x16x8_xf32, f4, f2)
MFMA(f32_32x32x4_xf32, f16_, f2)
MFMA(f64_16x16x4f64, d4, d)
MFMA(f64_4x4x4f64, d, d)
MFMA(i32_16x16x32_i8, i4, i64)
MFMA(i32_32x32x16_i8, i16_, i64)
MFMA(i32_32x32x4i8, i32_, i32)
MFMA(i32_4x4x4i8, i4, i32)
MFMA(f32_16x16x32_fp8_fp8, f4, i64)
MFMA(f32_16x16x32_bf8_fp8, f4, i64)
MFMA(f32_16x16x32_fp8_bf8, f4, i64)
MFMA(f32_32x32x16_bf8_bf8, f16_, i64)
MFMA(f32_32x32x16_fp8_fp8, f16_, i64)
MFMA_SHARED(f32_32x32x1f32, f32_, f, 1, 1, 0)
MFMA_SHARED(f32_16x16x4f16, f16_, h4, 2, 3, 0)
MFMA_SHARED(f32_16x16x4f16, f16_, h4, 1, 0, 4)
MFMA_SHARED(f32_4x4x4f16, f4, h4, 3, 5, 1)
MFMA_SHARED(i32_4x4x4i8, i4, i32, 4, 9, 3)
MFMA_SHARED(f32_4x4x1f32, f4, f, 2, 2, 2)
MFMA_SHARED(i32_32x32x4i8, i32_, i32, 0, 0, 7)
