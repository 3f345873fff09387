/* SPDX-License-Identifier: MIT */
/*
 * Which registers of one file (SGPR, VGPR or AccVGPR) are free. A generator takes runs and gives them back; the lowest free run that
 * fits is taken, so the same calls give the same registers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct regpool {
	uint64_t used[8];	/* bit i of word i / 64: register i is taken */
	unsigned limit;		/* registers 0 .. limit-1 exist; at most 512 */
	unsigned high;		/* highest register ever taken + 1 */
	bool failed;		/* a request was not met; checked once, by the generator's end */
};

/* Registers 0 .. limit-1, all free. */
void regpool_init(struct regpool *pool, unsigned limit);

/* The first of `count` registers in a row, aligned to `alignment` (1, 2, 4). Sets failed and returns 0 when there is none. */
unsigned regpool_take(struct regpool *pool, unsigned count, unsigned alignment);

/* Takes exactly these (kernel arguments, accumulators); asserts that they are free. */
void regpool_take_fixed(struct regpool *pool, unsigned first, unsigned count);

/* Gives back; asserts that they were taken. */
void regpool_give(struct regpool *pool, unsigned first, unsigned count);
