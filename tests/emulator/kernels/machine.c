/* SPDX-License-Identifier: MIT */
/* What elementwise functions do not reach: LDS, barriers, divergence, atomics, buffers, lanes, scratch, calls. See test_machine.c. */
#include "kernel.h"

typedef h h2 __attribute__((ext_vector_type(2)));
typedef f f2 __attribute__((ext_vector_type(2)));
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef i16 i16x2 __attribute__((ext_vector_type(2)));

/* The workgroup's elements in reverse order, through LDS; 256 work-items. */
static LDS u32 tile[1024] UNSET;

KERNEL lds_reverse(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = local_id(), base = __builtin_amdgcn_workgroup_id_x() * 256;
	tile[t] = in[base + t];
	barrier();
	out[base + t] = tile[255 - t];
}

/* Sum of each workgroup's 256 elements by a tree. */
KERNEL lds_sum(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = local_id(), group = __builtin_amdgcn_workgroup_id_x();
	tile[t] = in[group * 256 + t];
	barrier();
	for (u32 half = 128; half > 0; half /= 2) {
		if (t < half)
			tile[t] += tile[t + half];
		barrier();
	}
	if (t == 0)
		out[group] = tile[0];
}

/* All access widths of LDS. */
static LDS u8 bytes[4096] UNSET __attribute__((aligned(16)));

KERNEL lds_widths(GLOBAL u32 *out, const GLOBAL u32x4 *in)
{
	u32 t = local_id();
	((LDS u32x4 *)bytes)[t] = in[t];
	barrier();
	u32 s = (t + 1) % 256;
	u32 sum = bytes[s * 16 + 3] + (u32)(i32) * (LDS i8 *)&bytes[s * 16 + 5] + ((LDS u16 *)bytes)[s * 8 + 3] +
		  (u32)(i32)((LDS i16 *)bytes)[s * 8 + 4];
	u32x2 two = ((LDS u32x2 *)bytes)[s * 2];
	u32x4 four = ((LDS u32x4 *)bytes)[(t + 2) % 256];
	sum ^= two.x * 3 + two.y + four.x * 5 + four.y + four.z * 7 + four.w;
	barrier();
	((LDS u16 *)bytes)[t] = (u16)sum;
	bytes[2048 + t] = (u8)(sum >> 16);
	barrier();
	out[t] = ((LDS u16 *)bytes)[t ^ 1] | (u32)bytes[2048 + (t ^ 3)] << 16;
}

/* Steps of the Collatz sequence: lanes leave the loop one by one. */
KERNEL collatz(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 i = global_id(256), value = in[i] % 1000 + 1, steps = 0;
	while (value != 1) {
		if (value & 1)
			value = 3 * value + 1;
		else
			value /= 2;
		steps++;
	}
	out[i] = steps;
}

/* A switch with several ways out, and a nested loop with continue. */
KERNEL branches(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 i = global_id(256), value = in[i], result = 0;
	switch (value % 5) {
	case 0:
		result = value * 3;
		break;
	case 1:
		for (u32 k = 0; k < value % 17; k++) {
			if (k % 3 == 0)
				continue;
			result += k * value;
		}
		break;
	case 2:
		if (value & 64)
			return;
		result = 7;
		break;
	default:
		result = value % 7 == 0 ? value : ~value;
	}
	out[i] = result;
}

KERNEL atomics(GLOBAL u32 *out, const GLOBAL u32 *in, GLOBAL u64 *out64, GLOBAL f *outf)
{
	u32 i = global_id(256), value = in[i];
	__atomic_fetch_add(&out[0], value, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&out[1], value, __ATOMIC_RELAXED);
	__atomic_fetch_and(&out[2], value | 0xff, __ATOMIC_RELAXED);
	__atomic_fetch_or(&out[3], value & 0xff00, __ATOMIC_RELAXED);
	__atomic_fetch_xor(&out[4], value, __ATOMIC_RELAXED);
	__atomic_fetch_min(&out[5], value, __ATOMIC_RELAXED);
	__atomic_fetch_max(&out[6], value, __ATOMIC_RELAXED);
	__atomic_fetch_min((GLOBAL i32 *)&out[7], (i32)value, __ATOMIC_RELAXED);
	__atomic_fetch_max((GLOBAL i32 *)&out[8], (i32)value, __ATOMIC_RELAXED);
	__atomic_fetch_add(&out64[0], (u64)value << 20, __ATOMIC_RELAXED);
	__atomic_fetch_max(&out64[1], (u64)value * value, __ATOMIC_RELAXED);
	__atomic_fetch_add(&outf[0], (f)(value & 15), __ATOMIC_RELAXED);
	u32 seen = __atomic_load_n(&out[9], __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&out[9], &seen, seen + (value & 3), 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	u32 ticket = __atomic_fetch_add(&out[10], 1, __ATOMIC_RELAXED);
	__atomic_exchange_n(&out[16 + ticket], 1, __ATOMIC_RELAXED);
}

KERNEL lds_atomics(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = local_id(), value = in[t];
	if (t < 16)
		tile[t] = t == 2 ? ~0u : 0;
	barrier();
	__atomic_fetch_add(&tile[0], value, __ATOMIC_RELAXED);
	__atomic_fetch_max(&tile[1], value, __ATOMIC_RELAXED);
	__atomic_fetch_and(&tile[2], value | 0xf, __ATOMIC_RELAXED);
	u32 ticket = __atomic_fetch_add(&tile[3], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&tile[4], ticket, __ATOMIC_RELAXED);
	barrier();
	if (t < 5)
		out[t] = tile[t];
}

/* Raw buffers: `bytes` is the range; what lies outside reads as 0 and is not written. */
KERNEL buffers(GLOBAL u32 *out, GLOBAL u32 *in, u32 bytes, u32 soffset)
{
	u32 i = local_id();
	__amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc((GLOBAL void *)in, 0, bytes, 0x20000);
	__amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc((GLOBAL void *)out, 0, bytes, 0x20000);
	u32 word = __builtin_amdgcn_raw_buffer_load_b32(from, i * 16, soffset, 0);
	u32x2 two = __builtin_amdgcn_raw_buffer_load_b64(from, i * 16, soffset + 4, 0);
	u32x4 four = __builtin_amdgcn_raw_buffer_load_b128(from, i * 16, soffset, 0);
	u32 half = __builtin_amdgcn_raw_buffer_load_b16(from, i * 16 + 2, soffset, 0);
	u32 byte = __builtin_amdgcn_raw_buffer_load_b8(from, i * 16 + 5, soffset, 0);
	u32x4 result = { word + half, two.x ^ byte, two.y + four.z, four.w };
	__builtin_amdgcn_raw_buffer_store_b128(result, to, i * 16, soffset, 0);
	__builtin_amdgcn_raw_buffer_store_b8((u8)byte, to, i * 16 + 1, soffset, 0);
	__builtin_amdgcn_raw_buffer_store_b16((u16)half, to, i * 16 + 6, soffset, 0);
}

/* Values of other lanes, in one wave. */
KERNEL lanes(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = local_id(), v = in[t];
	out[t] = (u32)__builtin_amdgcn_ds_bpermute((i32)((t * 7 & 63) * 4), (i32)v);
	out[64 + t] = (u32)__builtin_amdgcn_ds_permute((i32)((t ^ 21) * 4), (i32)v);
	out[128 + t] = (u32)__builtin_amdgcn_readlane((i32)v, 5) + (u32)__builtin_amdgcn_readfirstlane((i32)v);
	out[192 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x1b, 0xf, 0xf, 0);		/* quad_perm 3, 2, 1, 0 */
	out[256 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x111, 0xf, 0xf, 0);		/* row_shr:1 */
	out[320 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x102, 0xf, 0xf, 1);		/* row_shl:2, zero filled */
	out[384 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x123, 0xa, 0xf, 0);		/* row_ror:3 in rows 1 and 3 */
	out[448 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x140, 0xf, 0x5, 0);		/* row_mirror in banks 0 and 2 */
	out[512 + t] = (u32)__builtin_amdgcn_update_dpp((i32)t, (i32)v, 0x142, 0xf, 0xf, 0);		/* row_bcast:15 */
	out[576 + t] = (u32)__builtin_amdgcn_ds_swizzle((i32)v, 0x401f);				/* xor 16 */
	out[640 + t] = (u32)__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
	u64 ballot = __builtin_amdgcn_ballot_w64(v & 1);
	out[704 + t] = (u32)(ballot >> t & 1) | (u32)__builtin_popcountll(ballot) << 1;
}

/* An array that has to live in scratch memory, and one that is indexed in registers. */
KERNEL scratch(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = global_id(256), v = in[t];
	volatile u32 array[40];
	for (u32 i = 0; i < 40; i++)
		array[i] = v * i;
	u32 small[8];
	for (u32 i = 0; i < 8; i++)
		small[i] = v >> i;
	out[t] = array[v % 40] + array[(v >> 8) % 40] + small[v >> 16 & 7] + small[__builtin_amdgcn_readfirstlane((i32)v) & 7];
}

/* A call that is not inlined. */
static __attribute__((noinline)) u32 triangle(u32 n)
{
	u32 sum = 0;
	for (u32 i = 1; i <= n; i++)
		sum += i ^ (sum << 1);
	return sum;
}

KERNEL calls(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = global_id(256);
	out[t] = triangle(in[t] % 50) + triangle(in[t] % 7);
}

/* Flat accesses that may reach LDS or memory. */
KERNEL flat(u32 *out, const u32 *in)
{
	u32 t = local_id();
	tile[t] = in[t] * 3;
	barrier();
	u32 *place = in[t] & 1 ? (u32 *)&tile[t] : out + t;
	if (!(in[t] & 1))
		*place = 5;
	u32 value = *place + 1;
	*place = value;
	out[256 + t] = value;
}

/* A table in constant memory of the code object. */
static const u32 table[64] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5, 0, 2, 8, 8,
			       4, 1, 9, 7, 1, 6, 9, 3, 9, 9, 3, 7, 5, 1, 0, 5, 8, 2, 0, 9, 7, 4, 9, 4, 4, 5, 9, 2 };

KERNEL constants(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = global_id(256);
	out[t] = table[in[t] & 63] * 100 + table[t & 63];
}

/* Three-dimensional grids. */
KERNEL geometry(GLOBAL u32 *out)
{
	u32 x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
	u32 gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(), gz = __builtin_amdgcn_workgroup_id_z();
	u32 sx = __builtin_amdgcn_workgroup_size_x(), sy = __builtin_amdgcn_workgroup_size_y();
	u32 index = (((gz * 2 + gy) * 3 + gx) * 4 + z) * sy * sx + y * sx + x;
	out[index] = x | y << 4 | z << 8 | gx << 12 | gy << 16 | gz << 20;
}

/* Packed f16 and f32, dot products, 8-bit floats: builtins that stand for one instruction each. */
KERNEL packed(GLOBAL u32 *out, const GLOBAL u32 *in)
{
	u32 t = local_id();
	h2 a = __builtin_bit_cast(h2, in[t]), b = __builtin_bit_cast(h2, in[64 + t]), c = __builtin_bit_cast(h2, in[128 + t]);
	out[t] = __builtin_bit_cast(u32, a * b + c);
	out[64 + t] = __builtin_bit_cast(u32, __builtin_amdgcn_fdot2(a, b, (f)c.x, 0));
	out[128 + t] = (u32)__builtin_amdgcn_sdot4((i32)in[t], (i32)in[64 + t], (i32)in[128 + t], 0);
	out[192 + t] = __builtin_amdgcn_udot4(in[t], in[64 + t], in[128 + t], 0);
	out[256 + t] = (u32)__builtin_amdgcn_sdot2(__builtin_bit_cast(i16x2, in[t]), __builtin_bit_cast(i16x2, in[64 + t]), (i32)in[128 + t], 0);
	f2 x = { (f)a.x, (f)a.y }, y = { (f)b.x, (f)b.y };
	f2 z = x * y - y;
	out[320 + t] = to_u32(z.x);
	out[384 + t] = to_u32(z.y);
	out[448 + t] = (u32)__builtin_amdgcn_cvt_pk_fp8_f32((f)a.x, (f)b.x, 0, 0);
	out[512 + t] = (u32)__builtin_amdgcn_cvt_pk_bf8_f32((f)a.y, (f)b.y, 0x1234, 1);
	out[576 + t] = to_u32(__builtin_amdgcn_cvt_f32_fp8((i32)in[t], 0)) ^ to_u32(__builtin_amdgcn_cvt_f32_fp8((i32)in[t], 3));
	out[640 + t] = to_u32(__builtin_amdgcn_cvt_f32_bf8((i32)in[t], 1)) ^ to_u32(__builtin_amdgcn_cvt_f32_bf8((i32)in[t], 2));
	out[704 + t] = __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pkrtz((f)a.x * 1.0009f, (f)b.y * 3.1f));
	out[768 + t] = __builtin_amdgcn_perm(in[t], in[64 + t], in[128 + t] & 0x0f0f0f0f);
	out[832 + t] = __builtin_amdgcn_alignbit(in[t], in[64 + t], in[128 + t]);
}

/* Functions that hardware computes to about 1 ulp. */
KERNEL transcendental(GLOBAL f *out, const GLOBAL f *in)
{
	u32 t = local_id();
	f v = in[t];
	out[t] = __builtin_amdgcn_exp2f(v);
	out[64 + t] = __builtin_amdgcn_logf(v);
	out[128 + t] = __builtin_amdgcn_rcpf(v);
	out[192 + t] = __builtin_amdgcn_rsqf(v);
	out[256 + t] = __builtin_amdgcn_sinf(v);
	out[320 + t] = __builtin_amdgcn_cosf(v);
	out[384 + t] = __builtin_amdgcn_fmed3f(v, 1.0f, 4.0f);
	out[448 + t] = __builtin_amdgcn_fractf(v);
	out[512 + t] = __builtin_amdgcn_ldexpf(v, (i32)t - 32);
	out[576 + t] = __builtin_amdgcn_frexp_mantf(v) + (f)__builtin_amdgcn_frexp_expf(v);
	out[640 + t] = (f)__builtin_amdgcn_sqrt((d)v);
}
