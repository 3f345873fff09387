/* SPDX-License-Identifier: MIT */
/*
 * Wait states: where s_nop is needed.
 *
 * Some results of gfx942 are not interlocked: for a number of wait states after the producer, a consumer sees the old value. An
 * instruction is one wait state, s_nop N is N + 1. Which pairs, and how many states, is the table in hazard_rules.inc; every row cites its
 * source: the function of LLVM's GCNHazardRecognizer.cpp that has the number (the only public source for most of MFMA on gfx940), and
 * the CDNA3 ISA document, section 4.5 "Manually inserted wait states (NOPs)", where that has it, too.
 *
 * Deliberately as LLVM 22 has it, so that LLVM's code passes and nothing that LLVM keeps apart is let through, with one exception:
 * LLVM takes packed VOP3P instructions for writers of half a register (it reads a modifier bit that means op_sel_hi there); we do not.
 * Beyond LLVM are the two rows for VCCZ and EXECZ as data, from the ISA document.
 *
 * A row cannot say what XNACK asks for: memory instructions in a row may be replayed together, so a load among them must not
 * overwrite an address of another, nor a store follow a load. One wait state between them ends the row.
 *
 * The producers that may still matter are carried forward through the control flow graph with their distance, the shortest of all
 * paths; no more than 19 wait states back count, so the work is linear in practice.
 */
#pragma once

#include "build/codegen/flow.h"

struct hazard_finding {
	uint32_t inst;		/* the consumer */
	uint32_t producer;
	unsigned missing;	/* wait states to add in front of inst */
	const char *rule;	/* "an MFMA result is read by VALU" */
	const char *source;
	bool xnack_only;	/* matters only where page faults are retried */
};

/*
 * Reports each instruction that comes too early after a producer, in order and with the rule that needs the most; as if the wait
 * states were then there. Returns 0 or -ENOMEM.
 */
int hazard_find(const struct flow *flow, void (*found)(void *userdata, const struct hazard_finding *finding), void *userdata);

/* The largest operand of s_nop: it waits for this + 1 states (CDNA3 ISA, SOPP, S_NOP: four bits). */
enum { HAZARD_MAX_NOP = 15 };
