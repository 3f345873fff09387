/* SPDX-License-Identifier: MIT */
/* A small object with all that the reader looks at: metadata, a function that is no kernel, constants. */
#include "kernel.h"

static const u32 table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };

static __attribute__((noinline)) u32 look_up(u32 i)
{
	return table[i & 7];
}

KERNEL look_up_all(GLOBAL u32 *out)
{
	out[local_id()] = look_up(local_id());
}
