/* SPDX-License-Identifier: MIT */
/* What the steps of logic_check() share; see check.c. Internal to it. */
#pragma once

#include "build/logic/library.h"

struct checking {			/* one file */
	struct logic_document *document;
	logic_finding_callback callback;
	void *userdata;
	int status;			/* what the callback returned, when it wants to stop; or -ENOMEM */
};

/* Tells a finding; `solution` is its position in the file or -1, `line` 0 for the whole file. */
PRINTF_LIKE(4, 5) void checking_tell(struct checking *checking, unsigned line, int solution, const char *format, ...);

/* Tells an error of the reader, whose text begins with file and line. */
void checking_tell_error(struct checking *checking, unsigned line, int solution, const char *text);

/* Folder, architecture, CU count and chip ids belong together: see check_place.c. */
void check_place(struct checking *checking);

/* What a sound solution may still get wrong. `node` is its map. */
void check_solution(struct checking *checking, const struct yaml_node *node, int position, const struct solution *solution);
