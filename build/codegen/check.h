/* SPDX-License-Identifier: MIT */
/*
 * Does machine code wait wherever it must? The rules are those of wait.h and hazard.h, so code that ir_finish() made passes, and so
 * does what LLVM compiles for gfx942.
 *
 *     r = ir_check(isa, code, size, report, &userdata);
 *
 * `code` is one kernel from its first instruction on, with everything it can reach by branches; other functions may follow. What is no
 * instruction behind s_endpgm, s_branch or s_setpc is padding, and the end. Addresses that are put together with s_getpc_b64,
 * s_add_u32, s_addc_u32 are followed; other calls are taken to go to code that waits for itself.
 */
#pragma once

#include "build/isa/isa.h"

struct check_problem {
	size_t offset;		/* bytes: the instruction that comes too early */
	size_t producer;	/* bytes: what it collides with (wait states), else equal to offset */
	const char *rule;
	const char *source;
	bool xnack_only;	/* matters only where page faults are retried; hand-written kernels often ignore it */
	char missing[64];	/* "s_waitcnt vmcnt(3) for v12", "s_nop 4" */
};

/*
 * Calls `report` for each place where something is missing. Returns the number of problems, -EILSEQ when there is a word that is no
 * instruction, -EINVAL when a branch leads out of the code or into the middle of an instruction, or -ENOMEM.
 */
int ir_check(const struct isa *isa, const uint8_t *code, size_t size,
	     void (*report)(void *userdata, const struct check_problem *problem), void *userdata);
