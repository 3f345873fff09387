/* SPDX-License-Identifier: MIT */
/*
 * The peer's names (--names tensile) depend on every solution of a build, so every logic file has to have been looked at once. What is
 * needed of a file, its summary, is kept in the cache under the file's identity. All threads that come for the names of a build while
 * they are being made take part in reading its files.
 */
#pragma once

#include "base/error.h"
#include "build/logic/logic.h"
#include "cachedb/cachedb.h"

struct namings;

/* The cache (or NULL) must outlive it. */
int namings_new(struct cachedb *cache, struct namings **ret_namings);
struct namings *namings_unref(struct namings *namings);		/* accepts NULL, returns NULL */

/* `identity` is that of all files of the whole, which must outlive the namings. The naming lives as long as these. */
int namings_get(struct namings *namings, const struct logic_base *whole, const struct cachedb_key *identity,
		const struct logic_naming **ret_naming, struct error *error);
