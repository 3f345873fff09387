/* SPDX-License-Identifier: MIT */
/*
 * Numbers in memory and as double, written from the formats' definitions and not from the code under test: IEEE binary32 and
 * binary16, bfloat16 (the upper half of binary32), and AMD's FNUZ 8-bit floats, which have one zero and one NaN (0x80) and no
 * infinity (exponent bias 8 for f8, 16 for bf8).
 */
#pragma once

#include "build/gemm/params.h"

#include <stddef.h>
#include <stdint.h>

/* The element at `place`, little endian, exactly. */
double value_load(enum gemm_type type, const void *place);

/* Rounds to nearest even and stores. Overflow gives infinity, in the 8-bit formats the largest number. */
void value_store(enum gemm_type type, void *place, double value);

/* Half the distance from the number next to `value` in this format: the error of one rounding. */
double value_half_ulp(enum gemm_type type, double value);

/* A pseudo-random sequence (splitmix64): the same for the same seed, everywhere. */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *random);
unsigned random_below(struct random *random, unsigned limit);	/* 0 .. limit - 1 */
double random_real(struct random *random);			/* -1 .. 1 */
