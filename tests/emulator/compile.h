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

/* The instructions of one kernel named "k", which gets a kernarg pointer in s[0:1], the workgroup id in s2, 32 VGPRs and 32 AccVGPRs,
 * 1024 bytes of LDS. */
struct emu_object *compile_kernel(const char *instructions);

/* The linked bytes of the same kernel; malloc memory. */
uint8_t *compile_kernel_bytes(const char *instructions, size_t *ret_size);
