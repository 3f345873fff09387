/* SPDX-License-Identifier: MIT */
/* What the steps of solution_derive() share; see derive.c. Internal to it. */
#pragma once

#include "build/logic/parameters.h"

struct arch_traits {
	const char *arch;
	bool mfma;
	uint8_t wmma;			/* generation; 0 none */
	bool nt_bit;			/* memory instructions have nt: NonTemporal values from 4 up (AsmCaps HasNTModifier) */
	bool preload;			/* kernel arguments can be preloaded into SGPRs */
};

struct deriving {
	const struct arch_traits *arch;
	const struct logic_problem *problem;
	struct solution *solution;
	struct error *error;
	bool no_reject;			/* hand-written kernels may break the rules (NoReject) */
	int failure;
};

static inline int get(const struct deriving *deriving, enum parameter parameter)
{
	return number_of(deriving->solution, parameter);
}

static inline void set(struct deriving *deriving, enum parameter parameter, int value)
{
	deriving->solution->value[parameter] = LOGIC_INT(value);
}

static inline int bytes_of(int type)
{
	return (int)logic_type(type)->quarter_registers;
}

/* Vector widths that are left open, before the loads are laid out; LDS and stores, after. */
void derive_automatic_widths(struct deriving *deriving);
void derive_automatic_lds(struct deriving *deriving);
