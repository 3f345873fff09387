/* SPDX-License-Identifier: MIT */
/* A loaded base. load.c fills it, dat_library.c writes it. Internal to build/logic. */
#pragma once

#include "build/logic/dat_tree.h"
#include "build/logic/parameters.h"

enum library_kind { KIND_EQUALITY, KIND_FREE_SIZE, KIND_GRID, N_LIBRARY_KINDS };	/* in the order of their predicates */

#define LIBRARY_MOST_SOLUTIONS 65536	/* of a file, and under LOGIC_NAMES_STABLE of a base; hipBLASLt's largest base has 1,300 */

struct library_row {			/* problem size -> solution */
	int64_t key[4];
	size_t solution;		/* index into solutions */
	struct logic_value speed;	/* Equality only */
};

struct library_table {
	bool present;			/* a file of this kind was merged */
	unsigned n_properties;
	uint8_t properties[4];		/* 0 batch, 1 K, 2 M, 3 N: the numbers of the index order */
	struct library_row *rows;	/* sorted by key; FreeSize: in order of solutions */
	size_t n_rows, allocated;
};

struct library_tables {
	struct library_table of[N_LIBRARY_KINDS];
};

/*
 * Where the text of a solution is, so that it need not be kept: logic_write_solution() reads it again.
 */
struct solution_place {
	const struct loaded_file *file;
	uint32_t position;		/* in the file's list, from 0 */
	uint32_t offset;		/* of its map, which is in block style and begins at `column`; 0: not known */
	uint16_t column;
};

struct loaded_file {
	const char *path;
	struct yaml_stamp stamp;	/* when it was loaded */
	const char *head;		/* what its entries 0 to 4 say, as members of a JSON object */
};

struct logic_library {
	struct arena arena;
	const struct logic_base *base;
	struct logic_solution *solutions;
	struct loaded_solution {
		struct solution *solution;
		const struct logic_problem *problem;	/* normalised, of its file */
		struct solution_place place;
	} *loaded;			/* one for each of solutions */
	size_t n_solutions, allocated;
	size_t *kernels, n_kernels;
	struct dat_tree tree;		/* of a whole */
	struct library_tables *tables;	/* of the branches of a whole, by number; else one */
	size_t n_tables;
};

/* A logic file while its solutions are read. */
struct logic_document {
	struct yaml yaml;
	const struct logic_file *file;
	const char *arch;		/* in the tree */
	int cu_count;
	struct logic_problem problem;	/* normalised */
	const struct yaml_node *solutions;
	const struct yaml_node *agreed;	/* the last ProblemType of a solution that was that of the file, or NULL */
	enum library_kind kind;
	const char *custom_kernels;	/* folder with sources of hand-written kernels, or NULL */
};

/* Parses a whole file and checks its entries. Strings of the problem are copied to `arena`. */
int logic_document_read(struct arena *arena, const struct logic_file *file, struct logic_document *document, struct error *error);
void logic_document_release(struct logic_document *document);

/*
 * Reads and derives one solution of a document. 0, or -EINVAL when it has to be left out for the reason in `error`. *ret_broken
 * is set when it cannot even be named. -ENOMEM and other codes are real failures.
 */
int logic_document_solution(struct arena *arena, struct logic_document *document, const struct yaml_node *node,
			    struct solution *solution, bool *ret_broken, struct error *error);

/* What logic_write_solution() has to know of a file while it is loaded. NULL: no memory. */
const struct loaded_file *loaded_file_new(struct arena *arena, const struct logic_document *document);

/*
 * 1 when the solution launches a helper kernel beside its own, and the name of one; 0 when it launches none.
 * (ContractionSolution.cpp: solve...GemmGPU.)
 */
int logic_launched_helper(const struct logic_problem *problem, const struct solution *solution, struct buffer *name);

/* What LOGIC_NAMES_TENSILE knows about all files of a build; see logic.h. */
const struct naming *logic_naming_rules(const struct logic_naming *naming);

/* The index of the first solution of a file; -1 for the first file of all, whose solutions keep the indices they have. */
int logic_naming_first_index(const struct logic_naming *naming, const struct logic_file *file);

/* The smallest index of a file's solutions; -1 when it has none. */
int logic_naming_smallest_index(const struct logic_naming *naming, const struct logic_file *file);

/* Where the indices of a base begin under LOGIC_NAMES_STABLE. -ENOMEM. */
int logic_stable_first_index(const struct logic_catalog *catalog, const struct logic_base *base);

/* Makes indices that are missing or taken unique, after the largest (SolutionLibrary.FixSolutionIndices). */
int logic_fix_indices(int *indices, size_t n);
