/* SPDX-License-Identifier: MIT */
/*
 * The upper levels of a library tree, hardware -> operation -> problem type, as the master and the whole libraries have them; what
 * a problem type leads to is packed by the caller. Internal to build/logic.
 *
 *     r = dat_tree_new(&arena, files, n, DAT_BY_NAME, &tree);
 *     dat_tree_pack(packer, &tree, pack_placeholder, userdata);
 *
 * The peer builds one tree for each file and merges them in the order of the files (SolutionLibrary.py: merge). What comes of it:
 * hardware with higher CU counts first, then by processor; operations in the order of their first files; under an operation one
 * branch for each problem type that predicates can tell apart.
 */
#pragma once

#include "build/logic/catalog.h"
#include "build/logic/dat.h"

enum dat_order {			/* of the problem types of an operation */
	DAT_BY_NAME,			/* shorter library names first, then by first files: where they lead to placeholders */
	DAT_BY_PREDICATES,		/* where they lead to tables */
};

struct dat_branch {
	const struct logic_head *head;	/* of the first file with this hardware, operation and problem type */
	size_t number;			/* from 0, by first files */
	/* By what branches are sorted: numbers of the first branches with the same hardware, and with the same operation, too. */
	size_t hardware, operation;
	char name[LOGIC_OPERATION_SIZE];	/* of the operation */
};

struct dat_tree {
	struct dat_branch *branches;	/* in the order of the tree */
	size_t n_branches;
	size_t *branch_of;		/* file -> number of its branch */
};

/* `files` are those of a catalog, in the order in which they are merged. All memory is the arena's. -ENOMEM. */
int dat_tree_new(struct arena *arena, const struct logic_file *const *files, size_t n_files, enum dat_order order,
		 struct dat_tree *ret_tree);

typedef void (*dat_pack_branch)(msgpack_packer *packer, const struct dat_branch *branch, const void *userdata);
void dat_tree_pack(msgpack_packer *packer, const struct dat_tree *tree, dat_pack_branch pack, const void *userdata);
