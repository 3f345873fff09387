/* SPDX-License-Identifier: MIT */
/*
 * What hardware would let pass, or answer with garbage, is an error here that names the place and the reason. Each case is a tiny kernel
 * written by hand for llvm-mc; the cases without a message are the legal neighbours of the illegal ones.
 *
 * Memory: s[0:1] is the kernarg pointer; its first two quadwords are the addresses of 'in' (256 bytes, read only) and 'out' (256 bytes).
 */
#include "tests/emulator/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* v2 is loaded, then so many LDS instructions come. */
#define LDS_READ_BEFORE(n) "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n ds_read_b32 v2, v1\n .rept " #n "\n ds_write_b32 v1, v0\n .endr\n "
#define ARGUMENTS "s_load_dwordx4 s[4:7], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n v_lshlrev_b32 v1, 2, v0\n"

/* A raw buffer of 256 bytes over 'in' in s[8:11]. */
#define BUFFER ARGUMENTS "s_mov_b64 s[8:9], s[4:5]\n s_movk_i32 s10, 256\n s_mov_b32 s11, 0x20000\n"
#define OUT_BUFFER ARGUMENTS "s_mov_b64 s[8:9], s[6:7]\n s_movk_i32 s10, 256\n s_mov_b32 s11, 0x20000\n"

/* Sources of a matrix instruction in v[4:7], v[8:9], and zero in a[0:3]. */
#define MATRIX "v_mov_b32 v4, 0\n v_mov_b32 v5, 0\n v_mov_b32 v6, 0\n v_mov_b32 v7, 0\n v_mov_b32 v8, 0\n v_mov_b32 v9, 0\n" \
	       "v_accvgpr_write_b32 a0, 0\n v_accvgpr_write_b32 a1, 0\n v_accvgpr_write_b32 a2, 0\n v_accvgpr_write_b32 a3, 0\n s_nop 4\n"

struct test_case {
	const char *what;
	const char *instructions;
	uint32_t workgroup;
	int code;		/* negative errno, 0 for a legal kernel */
	const char *message;	/* part of it */
};

static const struct test_case cases[] = {
	/* waits for loads */
	{ "scalar load read at once", "s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_mov_b32 s6, s4", 64, -EPROTO, "s4 before s_waitcnt lgkmcnt(0)" },
	{ "scalar load overwritten", "s_load_dword s4, s[0:1], 0x0\n s_mov_b32 s4, 0", 64, -EPROTO, "writes s4 before" },
	{ "scalar load waited for by count", "s_load_dword s4, s[0:1], 0x0\n s_load_dword s5, s[0:1], 0x0\n s_waitcnt lgkmcnt(1)\n s_mov_b32 s6, s4", 64,
	  -EPROTO, "s4 before" },
	{ "global load read at once", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n v_mov_b32 v3, v2", 64, -EPROTO, "reads v2 before a wait for vmcnt" },
	{ "global load overwritten", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n v_mov_b32 v2, 0", 64, -EPROTO, "writes v2 before a wait for vmcnt" },
	{ "global load waited for", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n s_waitcnt vmcnt(0)\n v_mov_b32 v3, v2", 64, 0, NULL },
	{ "older load covered by count", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n global_load_dword v3, v1, s[4:5]\n s_waitcnt vmcnt(1)\n v_mov_b32 v4, v2",
	  64, 0, NULL },
	{ "younger load not covered", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n global_load_dword v3, v1, s[4:5]\n s_waitcnt vmcnt(1)\n v_mov_b32 v4, v3",
	  64, -EPROTO, "reads v3" },
	{ "store counts in vmcnt", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n global_store_dword v1, v0, s[6:7]\n s_waitcnt vmcnt(1)\n v_mov_b32 v4, v2", 64, 0,
	  NULL },
	{ "one weaker than needed", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n global_store_dword v1, v0, s[6:7]\n s_waitcnt vmcnt(2)\n v_mov_b32 v4, v2", 64,
	  -EPROTO, "reads v2" },
	{ "wrong counter", ARGUMENTS "global_load_dword v2, v1, s[4:5]\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v3, v2", 64, -EPROTO, "vmcnt" },
	{ "buffer load stored at once", BUFFER "buffer_load_dword v2, v1, s[8:11], 0 offen\n global_store_dword v1, v2, s[6:7]", 64, -EPROTO, "reads v2" },
	{ "LDS read read at once", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n v_mov_b32 v3, v2", 64, -EPROTO, "lgkmcnt" },
	{ "LDS read covered by count", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n ds_read_b32 v3, v1\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v4, v2",
	  64, 0, NULL },
	{ "LDS read that 14 others are behind", LDS_READ_BEFORE(14) "s_waitcnt lgkmcnt(15)\n v_mov_b32 v4, v2", 64, -EPROTO, "reads v2 before" },
	{ "LDS read that 15 others pushed out", LDS_READ_BEFORE(15) "s_waitcnt lgkmcnt(15)\n v_mov_b32 v4, v2", 64, 0, NULL },
	{ "LDS read that scalar loads did not push out",
	  LDS_READ_BEFORE(0) "n=8\n .rept 16\n s_load_dword s[n], s[0:1], 0x0\n n=n+1\n .endr\n v_mov_b32 v4, v2", 64, -EPROTO, "reads v2 before" },
	{ "LDS read behind a scalar load", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n s_load_dword s8, s[0:1], 0x0\n s_waitcnt lgkmcnt(1)\n v_mov_b32 v4, v2",
	  64, -EPROTO, "reads v2" },
	{ "flat load needs both counters", ARGUMENTS "v_mov_b32 v4, s4\n v_mov_b32 v5, s5\n flat_load_dword v2, v[4:5]\n s_waitcnt vmcnt(0)\n v_mov_b32 v3, v2", 64,
	  -EPROTO, "lgkmcnt" },
	{ "load to LDS read at once", BUFFER "s_mov_b32 m0, 0\n buffer_load_dword v1, s[8:11], 0 offen lds\n ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)", 64, -ENODATA,
	  "LDS byte 0 has not been written, or its load" },
	{ "load to LDS waited for", BUFFER "s_mov_b32 m0, 0\n buffer_load_dword v1, s[8:11], 0 offen lds\n s_waitcnt vmcnt(0)\n ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v3, v2",
	  64, 0, NULL },
	{ "pending store at the end", ARGUMENTS "global_store_dword v1, v0, s[6:7]", 64, 0, NULL },

	/* matrix results */
	{ "MFMA read by VALU after 6", MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n s_nop 5\n v_accvgpr_read_b32 v10, a0", 64, -EPROTO,
	  "6 wait states after the v_mfma_f32_16x16x16_f16" },
	{ "MFMA read by VALU after 7", MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n s_nop 6\n v_accvgpr_read_b32 v10, a0", 64, 0, NULL },
	{ "MFMA overwritten by VALU", MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n s_nop 5\n v_accvgpr_write_b32 a3, 0", 64, -EPROTO, "writes a3" },
	{ "MFMA stored too early", ARGUMENTS MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n s_nop 5\n global_store_dword v1, a0, s[6:7]", 64,
	  -EPROTO, "reads a0" },
	{ "MFMA forwarded as C", MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]", 64, 0, NULL },
	{ "MFMA result as A", MATRIX "v_mfma_f32_16x16x16_f16 v[4:7], v[4:5], v[8:9], 0\n s_nop 5\n v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[8:9], 0", 64, -EPROTO,
	  "6 wait states after" },
	{ "MFMA result as A in time", MATRIX "v_mfma_f32_16x16x16_f16 v[4:7], v[4:5], v[8:9], 0\n s_nop 6\n v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[8:9], 0", 64, 0,
	  NULL },
	{ "MFMA f32 is one shorter", MATRIX "v_mfma_f32_16x16x4_f32 a[0:3], v4, v6, a[0:3]\n s_nop 8\n v_accvgpr_read_b32 v10, a0", 64, -EPROTO, "9 wait states after" },
	{ "MFMA f32 in time", MATRIX "v_mfma_f32_16x16x4_f32 a[0:3], v4, v6, a[0:3]\n s_nop 9\n v_accvgpr_read_b32 v10, a0", 64, 0, NULL },

	/* undefined values */
	{ "VGPR never written", "v_mov_b32 v2, v9", 64, -ENODATA, "reads lane 0 of v9" },
	{ "VGPR written by half the lanes", "s_mov_b64 exec, 0xff\n v_mov_b32 v2, 0\n s_mov_b64 exec, -1\n v_mov_b32 v3, v2", 64, -ENODATA, "reads lane 8 of v2" },
	{ "SGPR never written", "s_add_u32 s4, s9, 1", 64, -ENODATA, "reads s9" },
	{ "VCC never written", "v_cndmask_b32 v1, 0, v0, vcc", 64, -ENODATA, "reads vcc_lo" },
	{ "AccVGPR never written", "v_accvgpr_read_b32 v1, a5", 64, -ENODATA, "a5" },
	{ "MFMA of lanes that EXEC left out", "s_mov_b64 exec, 0xff\n v_mov_b32 v4, 0\n v_mov_b32 v5, 0\n s_mov_b64 exec, -1\n s_nop 4\n v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[4:5], 0",
	  64, -ENODATA, "reads lane 8 of v4" },
	{ "readlane of an undefined lane", "s_mov_b64 exec, 1\n v_mov_b32 v2, 0\n s_mov_b64 exec, -1\n v_readlane_b32 s4, v2, 3", 64, -ENODATA, "lane 3 of v2" },
	{ "LDS never written", "v_lshlrev_b32 v1, 2, v0\n ds_read_b32 v2, v1", 64, -ENODATA, "LDS byte 0" },
	{ "one LDS byte never written", "v_lshlrev_b32 v1, 2, v0\n ds_write_b16 v1, v0\n ds_write_b8 v1, v0 offset:2\n ds_read_b32 v2, v1", 64, -ENODATA, "LDS byte 3" },
	{ "register beyond the allocation", "v_mov_b32 v32, 0", 64, -EFAULT, "beyond the kernel's allocation" },
	{ "AccVGPR beyond the allocation", "v_accvgpr_write_b32 a32, 0", 64, -EFAULT, "beyond the kernel's allocation" },

	/* bounds */
	{ "LDS one byte too far", "v_mov_b32 v1, 0x3fd\n v_mov_b32 v2, 0\n ds_write_b32 v1, v2", 64, -EFAULT, "4 bytes of LDS at 1021" },
	{ "LDS last dword", "v_mov_b32 v1, 0x3fc\n v_mov_b32 v2, 0\n ds_write_b32 v1, v2", 64, 0, NULL },
	{ "LDS by its offset", "v_mov_b32 v1, 0\n v_mov_b32 v2, 0\n ds_write_b32 v1, v2 offset:1024", 64, -EFAULT, "LDS at 1024" },
	{ "global load one byte too far", ARGUMENTS "global_load_dword v2, v1, s[4:5] offset:1", 64, -EFAULT, "lane 63: read of 4 bytes at 0x7000000000fd ends 1 bytes after 'in'" },
	{ "global load one byte before", ARGUMENTS "global_load_ubyte v2, v1, s[4:5] offset:-1", 64, -EFAULT, "begins 1 bytes before 'in'" },
	{ "global store one byte too far", ARGUMENTS "global_store_dword v1, v0, s[6:7] offset:1", 64, -EFAULT, "after 'out'" },
	{ "store to what is read only", ARGUMENTS "global_store_dword v1, v0, s[4:5]", 64, -EFAULT, "'in', which does not allow it" },
	{ "scalar load too far", "s_load_dwordx4 s[4:7], s[0:1], 0x34", 64, -EFAULT, "after 'kernel arguments'" },
	{ "buffer store one byte past the tensor", OUT_BUFFER "s_movk_i32 s10, 257\n v_mov_b32 v2, 0x100\n buffer_store_byte v0, v2, s[8:11], 0 offen", 64, -EFAULT,
	  "ends 1 bytes after 'out'" },
	{ "buffer load dropped by its range", BUFFER "v_mov_b32 v2, 0x100\n buffer_load_dword v3, v2, s[8:11], 0 offen\n s_waitcnt vmcnt(0)\n v_mov_b32 v4, v3", 64, 0,
	  NULL },
	{ "range includes soffset", BUFFER "s_movk_i32 s12, 256\n buffer_load_dword v3, v1, s[8:11], s12 offen\n s_waitcnt vmcnt(0)", 64, 0, NULL },
	{ "range too long for the tensor", BUFFER "s_movk_i32 s10, 512\n s_movk_i32 s12, 253\n buffer_load_dword v3, v1, s[8:11], s12 offen", 64, -EFAULT, "after 'in'" },

	/* workgroups */
	{ "barrier that one wave leaves out", "v_readfirstlane_b32 s4, v0\n s_cmp_eq_u32 s4, 0\n s_cbranch_scc1 1f\n s_barrier\n1:", 128, -EPROTO,
	  "waits at a barrier, but wave 0 has ended" },
	{ "barrier for all", "s_barrier", 128, 0, NULL },
	{ "LDS of another wave before it has waited", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_barrier\n v_xor_b32 v1, 0x100, v1\n ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)",
	  128, -EPROTO, "which has not waited" },
	{ "LDS of another wave in time", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n v_xor_b32 v1, 0x100, v1\n ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)",
	  128, 0, NULL },
	{ "LDS of another wave without a barrier", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n v_and_b32 v1, 0xff, v1\n ds_read_b32 v2, v1\n s_waitcnt lgkmcnt(0)",
	  128, -EPROTO, "LDS race: another wave has written to the 4 bytes at 0" },
	{ "LDS overwritten that another wave reads", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n v_readfirstlane_b32 s4, v0\n"
	  " s_cmp_eq_u32 s4, 0\n s_cbranch_scc1 1f\n ds_write_b32 v1, v0\n s_branch 2f\n1: ds_read_b32 v3, v1 offset:256\n2:", 128, -EPROTO,
	  "LDS race: another wave has read from the 4 bytes at 256" },
	{ "both waves write", "v_mov_b32 v1, 0\n ds_write_b32 v1, v0", 128, -EPROTO, "LDS race" },
	{ "both waves add", "v_lshlrev_b32 v1, 2, v0\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n v_mov_b32 v1, 0\n ds_add_u32 v1, v0", 128, 0, NULL },
	{ "endless loop", "1: s_branch 1b", 64, -ETIMEDOUT, "1000 instructions" },
	{ "trap", "s_trap 2", 64, -EFAULT, "traps" },
	{ "jump to nowhere", "s_mov_b64 s[4:5], 64\n s_setpc_b64 s[4:5]", 64, -EFAULT, "jump to 0x40" },
	{ "no instruction", ".long 0xffffffff", 64, -EILSEQ, "no instruction" },
};

static int run_case(const struct emu_object *object, size_t i, struct error *error)
{
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	uint8_t in[256] = { 0 }, out[256];
	uint64_t arguments[8] = { 0 };
	char name[16];
	assert_int_equal(emu_memory_new(&memory), 0);
	assert_int_equal(emu_memory_add(memory, "in", sizeof(in), EMU_READ, in, &arguments[0]), 0);
	assert_int_equal(emu_memory_add(memory, "out", sizeof(out), EMU_READ | EMU_WRITE, out, &arguments[1]), 0);
	snprintf(name, sizeof(name), "k%zu", i);
	struct emu_launch launch = {
		.kernel = emu_object_find(object, name), .grid = { 1, 1, 1 }, .workgroup = { cases[i].workgroup, 1, 1 },
		.kernarg = arguments, .kernarg_size = sizeof(arguments), .max_instructions = 1000,
	};
	assert_non_null(launch.kernel);
	return emu_launch(memory, &launch, NULL, error);
}

static void test_cases(void **state)
{
	const char *instructions[ARRAY_SIZE(cases)];
	unsigned failed = 0;
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		instructions[i] = cases[i].instructions;
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_kernels(instructions, ARRAY_SIZE(cases));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { .text = "" };
		int r = run_case(object, i, &error);
		if (r == cases[i].code && (r == 0 || strstr(error.text, cases[i].message)))
			continue;
		print_error("%s: %d, not %d: %s\n", cases[i].what, r, cases[i].code, error_text(&error, r));
		failed++;
	}
	assert_int_equal(failed, 0);
}

/* What a launch itself refuses. */
static void test_launch(void **state)
{
	static const char *const instructions[] = { "s_nop 0" };
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_kernels(instructions, 1);
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct error error;
	(void)state;
	assert_int_equal(emu_memory_new(&memory), 0);
	struct emu_launch launch = { .kernel = emu_object_find(object, "k0"), .grid = { 1, 1, 1 }, .workgroup = { 1025, 1, 1 } };
	assert_int_equal(emu_launch(memory, &launch, NULL, &error), -EINVAL);
	launch.workgroup[0] = 64;
	launch.dynamic_lds = 65536;
	assert_int_equal(emu_launch(memory, &launch, NULL, &error), -EINVAL);
	launch.dynamic_lds = 0;
	launch.grid[1] = 0;
	struct emu_stats stats;
	assert_int_equal(emu_launch(memory, &launch, &stats, &error), 0);
	assert_int_equal(stats.workgroups, 0);
	assert_null(emu_object_find(object, "k1"));
}

/* The flags that relax the rules, and ranges of whole accesses. */
static void test_flags(void **state)
{
	static const char *const instructions[] = {
		"v_mov_b32 v1, v9",
		MATRIX "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]\n v_accvgpr_read_b32 v10, a0",
		BUFFER "v_mov_b32 v2, 0xf8\n buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen\n s_waitcnt vmcnt(0)\n global_store_dword v1, v4, s[6:7]",
	};
	static const unsigned flags[] = { EMU_ALLOW_UNDEFINED, EMU_IGNORE_MFMA_WAIT, EMU_RANGE_WHOLE };
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_kernels(instructions, ARRAY_SIZE(instructions));
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
		_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
		uint32_t in[64], out[64] = { 0 };
		uint64_t arguments[8] = { 0 };
		struct error error = { .text = "" };
		char name[16];
		memset(in, 0x55, sizeof(in));
		assert_int_equal(emu_memory_new(&memory), 0);
		assert_int_equal(emu_memory_add(memory, "in", sizeof(in), EMU_READ, in, &arguments[0]), 0);
		assert_int_equal(emu_memory_add(memory, "out", sizeof(out), EMU_WRITE, out, &arguments[1]), 0);
		snprintf(name, sizeof(name), "k%zu", i);
		struct emu_launch launch = { .kernel = emu_object_find(object, name), .grid = { 1, 1, 1 }, .workgroup = { 64, 1, 1 },
					     .kernarg = arguments, .kernarg_size = sizeof(arguments) };
		int strict = emu_launch(memory, &launch, NULL, &error);
		assert_int_equal(strict < 0, flags[i] != EMU_RANGE_WHOLE);
		uint32_t first = out[0];
		launch.flags = flags[i];
		assert_int_equal(emu_launch(memory, &launch, NULL, &error), 0);
		if (flags[i] == EMU_RANGE_WHOLE) {	/* two of four dwords are in range */
			assert_int_equal(first, 0x55555555);
			assert_int_equal(out[0], 0);
		}
	}
}

/* Denormals as MODE says: a kernel descriptor without a word on it flushes those of f32 and keeps those of f16; s_setreg changes that. */
static void test_denormals(void **state)
{
	static const char *const instructions[] = {
		ARGUMENTS "v_mov_b32 v2, 3\n v_add_f32 v3, v2, v2\n global_store_dword v1, v3, s[6:7]",
		ARGUMENTS "v_mov_b32 v2, 3\n v_add_f16 v3, v2, v2\n global_store_dword v1, v3, s[6:7]",
		ARGUMENTS "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n v_mov_b32 v2, 3\n v_add_f32 v3, v2, v2\n global_store_dword v1, v3, s[6:7]",
		ARGUMENTS "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 6, 2), 0\n v_mov_b32 v2, 3\n v_add_f16 v3, v2, v2\n global_store_dword v1, v3, s[6:7]",
	};
	static const uint32_t expected[] = { 0, 6, 6, 0 };
	_cleanup_(emu_object_unref_p) struct emu_object *object = compile_kernels(instructions, ARRAY_SIZE(instructions));
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
		_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
		uint32_t out[64];
		uint64_t arguments[8] = { 0 };
		struct error error = { .text = "" };
		char name[16];
		memset(out, 0xcc, sizeof(out));
		assert_int_equal(emu_memory_new(&memory), 0);
		assert_int_equal(emu_memory_add(memory, "out", sizeof(out), EMU_WRITE, out, &arguments[1]), 0);
		snprintf(name, sizeof(name), "k%zu", i);
		struct emu_launch launch = { .kernel = emu_object_find(object, name), .grid = { 1, 1, 1 }, .workgroup = { 64, 1, 1 },
					     .kernarg = arguments, .kernarg_size = sizeof(arguments) };
		assert_int_equal(emu_launch(memory, &launch, NULL, &error), 0);
		assert_int_equal(out[63], expected[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases), cmocka_unit_test(test_launch), cmocka_unit_test(test_flags), cmocka_unit_test(test_denormals),
	};
	if (!compile_available())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
