/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a solution: one table (parameters.inc), their values, and the kernel names made from them. Internal to
 * build/logic.
 */
#pragma once

#include "build/logic/problem.h"

enum parameter {
#define PARAMETER(key, ...) P_##key,
#define DERIVED(key)
#define LEGACY(key)
#define OTHER(key)
#include "build/logic/parameters.inc"
#undef PARAMETER
#undef DERIVED
#undef LEGACY
#undef OTHER
	N_PARAMETERS
};

enum parameter_role { ROLE_SEMANTIC, ROLE_HINT, ROLE_IGNORED, ROLE_HOST };
enum parameter_naming { NAMING_ALWAYS, NAMING_CHANGED, NAMING_STABLE, NAMING_TENSILE, NAMING_ARG, NAMING_NEVER };

/* A key of a solution. */
struct parameter_key {
	const char *key;
	int parameter;			/* enum parameter, or one of the following */
	uint8_t kind;
};

enum { KEY_DERIVED = -1, KEY_LEGACY = -2, KEY_OTHER = -3 };

/* NULL when there is no such key. */
const struct parameter_key *parameter_find(const char *key);

const char *parameter_name(enum parameter parameter);
enum parameter_role parameter_role(enum parameter parameter);
enum parameter_naming parameter_naming(enum parameter parameter);
const struct logic_value *parameter_default(enum parameter parameter);

/*
 * One solution after derivation. `value` is read from the file or defaults, and corrected by solution_derive(); what follows has no
 * place in the file.
 */
struct solution {
	struct logic_value value[N_PARAMETERS];
	bool mi;			/* uses matrix instructions */
	int mi_block[6];		/* M, N, K, B, BM, BN */
	int mi_output_width;
	int thread_tile[2], sub_group[2];
	int macro_tile[2];
	int local_split_u, num_threads;
	int elements_per_thread;
	int stagger_stride_shift;
	/* 0 none, 1 SingleBuffer, 2 MultipleBuffer, 3 MultipleBufferSingleKernel, 4 PartialsBuffer */
	int global_accumulation;
	int workspace_per_element_c, workspace_per_element_bias;	/* bytes */
	/* InternalSupportParams */
	struct logic_value kernarg_version, user_gsu, custom_wgm, custom_stagger_u, universal_args;
};

/*
 * Reads the keys of a solution's map into a solution that is zero; lists go to `arena`. -EINVAL with file, line, key and value for
 * a key that is unknown or a value of the wrong kind.
 */
int solution_read(struct arena *arena, const struct yaml *yaml, const struct yaml_node *map, struct solution *solution,
		  struct error *error);

/*
 * Replaces parameters of a hand-written kernel by those that its source in `folder` gives under custom.config, which is what the
 * kernel really is and supports; the logic's are those it was tuned under. -ENOENT without such a source, -EINVAL for a bad one.
 */
int solution_read_custom(struct arena *arena, const char *folder, struct solution *solution, struct error *error);

/* Corrects and completes what solution_read() left: see derive.c. -EINVAL, with a reason of a few words, when parameters contradict
 * each other. The solution is complete enough for names and the .dat also then. */
int solution_derive(struct arena *arena, const char *arch, const struct logic_problem *problem, struct solution *solution,
		    struct error *error);

/*
 * Compares what a file says with what was derived: a file with another MacroTile than its parameters give was edited by hand or is
 * of an incompatible version. Same errors.
 */
int solution_check(const struct yaml_node *map, const struct solution *solution, struct error *error);

/* As the generator wants it. -EOPNOTSUPP with a reason when it cannot be said in its terms. */
int solution_to_gemm(const struct logic_problem *problem, const struct solution *solution, struct gemm_params *ret_params,
		     struct error *error);

/* ---- names ------------------------------------------------------------------------------------------------------------ */

/* Which parameters vary among the kernels of a build, for the peer's naming. */
struct naming {
	bool varies[N_PARAMETERS];
	bool arch_varies;
};

/* Names are made per the peer's rules with `naming`, or stable ones without (NULL). */
void solution_print_name(const char *arch, const struct logic_problem *problem, const struct solution *solution,
			 const struct naming *naming, struct buffer *text);
void solution_print_kernel_name(const char *arch, const struct logic_problem *problem, const struct solution *solution,
				const struct naming *naming, struct buffer *text);

static inline int number_of(const struct solution *solution, enum parameter parameter)
{
	return (int)solution->value[parameter].integer;
}

static inline bool is_custom(const struct solution *solution)
{
	return *solution->value[P_CustomKernelName].string != 0;
}
