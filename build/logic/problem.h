/* SPDX-License-Identifier: MIT */
/*
 * Problem types: entry 4 of a logic file, and the ProblemType of each solution. Internal to build/logic.
 *
 * The peer looks at a problem type in two ways, and file names depend on one, kernel names on the other:
 *     as written    the master library, the placeholders and the file's base name take the keys as they stand, absent ones off
 *                   (Contractions.ProblemType.FromOriginalState on the raw dict)
 *     normalised    solutions and kernel names, after SolutionStructs.ProblemType filled in defaults; SupportUserArgs, for one, is on there
 *                   when the file does not say
 */
#pragma once

#include "build/gemm/params.h"
#include "build/logic/types.h"

enum logic_activation { LOGIC_ACTIVATION_NONE, LOGIC_ACTIVATION_ALL, LOGIC_ACTIVATION_HIPBLASLT_ALL };

#define LOGIC_MAX_BIAS_TYPES 15

struct logic_problem {
	/* numbers of logic_type() */
	int a, b, in, d, e, compute, f32_xdl, activation_compute;
	bool trans_a, trans_b;
	bool conjugate_a, conjugate_b;
	bool batched;
	bool silent_hpa, stochastic_rounding;
	enum logic_activation activation;
	int sparse;
	int bias_src;			/* 0 to 3: A, B, C, D; -1: not given */
	unsigned n_bias_types;
	int bias_types[LOGIC_MAX_BIAS_TYPES];	/* ascending */
	bool bias_types_default;	/* they are what would have been taken had the file not said */
	/* kept as written, because true and 1 are different bytes in a .dat */
	struct logic_value use_beta, use_bias, use_e, gradient, scale_ab, scale_cd, scale_alpha_vec, hpa, initial_strides_ab, initial_strides_cd,
		strided_batched, grouped, activation_no_guard, amax_d, user_args;
};

/* Reads a map. Errors name file, line, key and value: -EINVAL for a key that is unknown, a value that is of the wrong kind, or an
 * operation that is no GEMM. Strings are copied to `arena`. */
int logic_problem_read(struct arena *arena, const struct yaml *yaml, const struct yaml_node *map, bool normalise,
		       struct logic_problem *ret_problem, struct error *error);

/* The first field in which two (normalised) problem types differ, or NULL. */
const char *logic_problem_difference(const struct logic_problem *a, const struct logic_problem *b);

/*
 * The same for two files that claim one library base, but only over fields that no predicate of the .dat can tell apart at run
 * time. What predicates do tell apart (OutputAmaxD, bias types, the activation's compute type) may differ: the peer merges such
 * files, and hipBLASLt has several.
 */
const char *logic_problem_conflict(const struct logic_problem *a, const struct logic_problem *b);

/* The types of A and B in memory, one each also where the file gives the mixed f8 types (Contractions.py:141). */
void logic_problem_operands(const struct logic_problem *problem, int *ret_a, int *ret_b);

#define LOGIC_OPERATION_SIZE 48

/* "Contraction_l_Ailk_Bljk_Cijk_Dijk" */
void logic_problem_operation(const struct logic_problem *problem, char ret_text[LOGIC_OPERATION_SIZE]);

/* The base name of the file's library, from the problem type as written: "TensileLibrary_HH_SH_..._gfx942". */
void logic_problem_print_base(const struct logic_problem *problem, const char *perf_metric, int cu_count, const char *arch,
			      struct buffer *text);

/*
 * How kernel names begin: "Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs". `grouped` false leaves GroupedGemm out. With `complete`
 * nothing is left out that changes code: names of LOGIC_NAMES_STABLE.
 */
void logic_problem_print_name(const struct logic_problem *problem, bool grouped, bool complete, struct buffer *text);

/* As the generator wants it. -EOPNOTSUPP for types it has no number for. */
int logic_problem_to_gemm(const struct logic_problem *problem, struct gemm_problem_type *ret_type, struct error *error);
