/* SPDX-License-Identifier: MIT */
/*
 * Wait counts: where s_waitcnt is needed, and for how much.
 *
 * The hardware counts what a wave has outstanding and delivers in order of issue within one kind (CDNA3 ISA, "Data dependency
 * resolution"; LLVM SIInsertWaitcnts.cpp is the second source of each rule below):
 *
 *   vmcnt    vector memory: loads, stores and atomics alike (gfx9 has no counter of its own for stores), in order. buffer_wbl2 counts,
 *            buffer_inv does not. At most 63.
 *   lgkmcnt  LDS in order; scalar memory and messages out of order, so that with one of them outstanding, or with several kinds, only
 *            zero says anything. At most 15.
 *   both     flat instructions, which may go either way: only zero says anything.
 *   expcnt   nothing that exists on gfx942 and is used here (no exports, no GDS).
 *
 * An instruction must wait
 *   - when it reads a register that an outstanding load writes;
 *   - when it writes one, unless both writes are vector memory loads, which arrive in order;
 *   - s_barrier: for all LDS accesses of this wave, and for loads to LDS (buffer_load ... lds). The barrier itself waits for
 *     nothing (LLVM: FeatureBackOffBarrier), and data behind it belong to other waves. Stores to memory are not waited for: a
 *     barrier orders a workgroup's LDS, and a kernel that hands global memory from wave to wave writes its own s_waitcnt;
 *   - LDS reads: for loads to LDS that this wave has outstanding. Which addresses they meet is not looked at. (LLVM 22 leaves this
 *     and the barrier to the program; everything else here is what LLVM does.)
 * Registers that a store or an LDS write reads may be overwritten at once: they are read at issue on gfx9, as far as wait counts are
 * concerned (hazard.h has the exception). s_endpgm waits for nothing.
 *
 * Waits that stand in the code are believed. The analysis is a forward one over the control flow graph, with the most recent
 * of all paths where paths meet, so what it asks for is enough on each path and not more than some path needs.
 */
#pragma once

#include "build/codegen/flow.h"

enum { WAIT_VM, WAIT_LGKM, WAIT_COUNTERS };
enum { WAIT_NONE = 255 };	/* of a count: no need to wait */

enum wait_reason {
	WAIT_FOR_READ,		/* it reads a register that is being loaded */
	WAIT_FOR_WRITE,		/* it writes one */
	WAIT_FOR_BARRIER,	/* LDS accesses in front of s_barrier */
	WAIT_FOR_LDS_LOAD,	/* memory to LDS, in front of an LDS read or s_barrier */
};

struct wait_finding {
	uint32_t inst;			/* in front of this instruction */
	uint8_t count[WAIT_COUNTERS];	/* outstanding operations allowed, or WAIT_NONE */
	uint8_t reason[WAIT_COUNTERS];	/* enum wait_reason, of the strictest need */
	uint16_t reg[WAIT_COUNTERS];	/* the register in question, as in access.h; 0 where there is none */
};

/* Reports each instruction that needs a wait it does not have, in order; as if the wait were then there. Returns 0 or -ENOMEM. */
int wait_find(const struct flow *flow, void (*found)(void *userdata, const struct wait_finding *finding), void *userdata);

/* "reads a register that is still being loaded (vmcnt)", for messages. */
const char *wait_reason_text(unsigned reason);
