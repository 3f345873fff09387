/* SPDX-License-Identifier: MIT */
/* What scan.c knows beyond the public catalog. Internal to build/logic. */
#pragma once

#include "build/logic/logic.h"
#include "build/logic/problem.h"

struct logic_head {			/* of one file */
	struct logic_file file;
	struct logic_problem problem;	/* as written; normalised by logic_load() */
	const char *base;
};

/* Every struct logic_file of a catalog is the first member of a head. */
static inline const struct logic_head *logic_head_of(const struct logic_file *file)
{
	return (const struct logic_head *)file;
}

/* Entries of a logic file (LibraryIO.parseLibraryLogicList). */
enum logic_entry {
	LOGIC_ENTRY_VERSION, LOGIC_ENTRY_SCHEDULE, LOGIC_ENTRY_ARCH, LOGIC_ENTRY_DEVICES, LOGIC_ENTRY_PROBLEM, LOGIC_ENTRY_SOLUTIONS,
	LOGIC_ENTRY_ORDER, LOGIC_ENTRY_TABLE, LOGIC_ENTRY_RANGES, LOGIC_ENTRY_TILES, LOGIC_ENTRY_METRIC, LOGIC_ENTRY_KIND,
};

#define LOGIC_HEAD_ENTRIES (LOGIC_ENTRY_PROBLEM + 1)

/* Fills in catalog->wholes, when all else is there. -ENOMEM. */
int logic_make_wholes(struct arena *arena, struct logic_catalog *catalog);

/*
 * What LOGIC_NAMES_TENSILE knows about the files of an arch, made when it is first asked for and kept with the catalog. Any thread.
 */
int logic_catalog_naming(const struct logic_catalog *catalog, const char *arch, const struct logic_naming **ret_naming,
			 struct error *error);

/* The architecture entry: a name, or a map with a CU count (0: none). Both as logic_scan() checks them. */
int logic_read_arch(const struct yaml *yaml, const struct yaml_node *root, const char **ret_arch, int *ret_cu_count, struct error *error);
