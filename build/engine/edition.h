/* SPDX-License-Identifier: MIT */
/*
 * The logic as of one scan: its catalog, and what has been parsed of it. Reference counted, so that work which began before an edit of
 * the logic ends with what it began with.
 *
 *     _cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
 *     base = edition_base(edition, file->arch, file->base, &error);
 *     r = libraries_get(edition->libraries, base, ...);     // release before the edition
 *
 * An edit that leaves a file unreadable holds back the base that the file was part of: the other editions of the base are known to have
 * been whole, and a base without one of its files would silently be another. What is held back is not planned anew.
 */
#pragma once

#include "build/engine/engine.h"
#include "build/engine/library.h"

struct held_base {
	char *arch, *name;		/* arch "": that of all architectures */
	char *path, *reason;		/* the file that cannot be read, and why */
};

struct edition {
	unsigned references;		/* use edition_ref/unref */
	enum engine_library library;
	struct logic_catalog *catalog;
	struct logic_base *all;		/* with ENGINE_LIBRARY_MERGED: of all architectures that are served; else NULL */
	struct libraries *libraries;
	char **faults;			/* NULL-terminated */
	struct held_base *held;
	size_t n_held;
};

/* Scans the logic. `before` is the edition that was good until now, or NULL. */
int edition_new(struct engine *engine, const struct edition *before, struct edition **ret_edition, struct error *error);
struct edition *edition_ref(struct edition *edition);
struct edition *edition_unref(struct edition *edition);		/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct edition *, edition_unref)

/* The bases that files are made of, in any order; NULL past the end. */
const struct logic_base *edition_base_at(const struct edition *edition, size_t i);

/* Names of the bases that an arch has code objects of, also of those that are held back: sorted, in an array to be freed. */
int edition_base_names(const struct edition *edition, const char *arch, const char ***ret_names, size_t *ret_n);

/* The base of that name; NULL with -ENOENT or, for one that is held back, -EINVAL and the reason in `error`. */
const struct logic_base *edition_base(const struct edition *edition, const char *arch, const char *name, struct error *error);

/* The one that is held back, or of `name` NULL the first of the arch; NULL: none. */
const struct held_base *edition_held(const struct edition *edition, const char *arch, const char *name);

/* Does the scan know logic of that arch, of whatever use? */
bool edition_has_arch(const struct edition *edition, const char *arch);

/* Are the files of a base those of the other edition, as far as a scan can tell? A base that both lack counts as the same. */
bool edition_same_base(const struct edition *a, const struct edition *b, const char *arch, const char *name);
