/* SPDX-License-Identifier: MIT */
/* What the actions of `tensilefs cache` share. Each is told the cache, opened as it needs it, and prints its result. */
#pragma once

#include "tools/command.h"

typedef unsigned long long ull;		/* for printing */

struct care {
	struct cachedb *db;
	const struct options *options;
	const char *logic;		/* or NULL */
	char **names;			/* NULL-terminated */
	size_t findings, left;		/* what was wrong, and what of it is so after a repair */
	bool wrecked;
};

/* ---- pins.c ---- */

int care_pin(struct care *care, struct error *error);
int care_unpin(struct care *care, struct error *error);
