/* SPDX-License-Identifier: MIT */
/*
 * Loaded logic, shared by the .co, the .dat and the questions about one base while it is recent.
 *
 *     r = libraries_get(libraries, base, LIBRARY_GENERATED, &library, &error);
 *     ... logic_solutions(library->logic, &n) ...
 *     library_unref(library);
 *
 * What nobody holds is kept until a number of bytes of logic files are kept, the oldest going first. Threads that want the same
 * base at the same time share one parse.
 */
#pragma once

#include "base/error.h"
#include "build/engine/generator.h"
#include "build/logic/logic.h"
#include "cachedb/cachedb.h"

#include <stdbool.h>


struct libraries;

enum library_content {
	LIBRARY_GENERATED,		/* solutions that the generator cannot make are left out */
	LIBRARY_ALL,
};

struct library {
	struct logic_library *logic;
	struct cachedb_key identity;	/* of the logic files, from before they were read */
};

/*
 * The catalog, the folder of hand-written kernels (or NULL), the generator and the cache (or NULL) must outlive it. `build` is the
 * whole whose kernels are named together, see LOGIC_NAMES_TENSILE; NULL: those of each arch are. `kept`: bytes of YAML; its parsed
 * form takes a few times as much.
 */
int libraries_new(const struct logic_catalog *catalog, const struct logic_base *build, enum logic_names names, const char *custom_kernels,
		  const struct generator *generator, struct cachedb *cache, uint64_t kept, struct libraries **ret_libraries);
struct libraries *libraries_unref(struct libraries *libraries);	/* nothing may be held any more; accepts NULL, returns NULL */

int libraries_get(struct libraries *libraries, const struct logic_base *base, enum library_content content, struct library **ret_library,
		  struct error *error);
struct library *library_unref(struct library *library);		/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct library *, library_unref)

/* The mapping of an arch, see logic_write_mapping(). */
int libraries_write_mapping(struct libraries *libraries, const char *arch, struct buffer *ret_dat, struct error *error);

/*
 * The identity of all the logic that a base depends on, see identity.h: its own files, or all of the build where names depend on
 * them, and the sources of hand-written kernels. What is not its own is looked at ten times a second at most, which is harmless: an
 * identity that is older than the content read under it never comes back.
 */
int libraries_identity(struct libraries *libraries, const struct logic_base *base, struct cachedb_key *ret_identity, bool *ret_settled);
