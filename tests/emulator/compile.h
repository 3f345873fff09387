/* SPDX-License-Identifier: MIT */
/*
 * Code objects made by LLVM at test time: C through clang, assembly through llvm-mc, both linked by ld.lld.
 *
 * Tools are found as NAME-22, as NAME, or in /usr/lib/llvm-22/bin. compile_available() says whether all are there: a test program
 * exits with 77 (skipped) when they are not. The other functions fail the running cmocka test, with the tool's own words on stderr.
 */
#pragma once

#include "tools/emulator/emulator.h"

bool compile_available(void);

/* C source (a path) with more clang options, separated by blanks. */
struct emu_object *compile_c(const char *source, const char *options);

/* The linked bytes of the same; malloc memory. */
uint8_t *compile_c_bytes(const char *source, const char *options, size_t *ret_size);

/*
 * Kernels k0, k1 ... from their instructions (an s_endpgm is added). Each gets a kernarg pointer in s[0:1] (64 bytes of arguments), the
 * workgroup id in s2, the work-item id in v0, 32 VGPRs, 32 AccVGPRs and 1024 bytes of LDS.
 */
struct emu_object *compile_kernels(const char *const *instructions, size_t n);

/* The linked bytes of the same; malloc memory. */
uint8_t *compile_kernel_bytes(const char *const *instructions, size_t n, size_t *ret_size);
