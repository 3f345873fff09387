/* SPDX-License-Identifier: MIT */
/*
 * The user's own TensileLite as a generator: one solution in, one relocatable object out.
 *
 *     r = upstream_new(&options, &upstream, &error);
 *     r = upstream_identify(upstream, &identity, &error);        // goes into every hash
 *     r = upstream_kernel(upstream, &request, &object, &error);  // from any number of threads
 *     upstream_stop(upstream);                                   // kills what runs; what waits gets -ECANCELED
 *     upstream_unref(upstream);
 *
 *     request ──> worker (forked from a python3 that has loaded TensileLite) ──> assembly text ──> assembler ──> object
 *
 * The parts: worker.py is the program that imports TensileLite; workers.h runs it, and as many forks of it as there may be, which
 * share what was loaded; tensilelite.h sees when its files change; assembler.h assembles, and answers which instructions the
 * assembler knows; hip.h compiles helper kernels.
 * Nothing of TensileLite is part of this program: what it says and does is the checkout's that the user names.
 *
 * Kernels are made as for a compiler that preloads kernel arguments (ROCm 6.2 and later), as the metadata assumes it.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "cachedb/cachedb.h"

struct upstream;

struct upstream_options {
	const char *tensilelite;	/* folder that holds Tensile/__init__.py: hipBLASLt's "tensilelite"; which: see worker.py */
	const char *python;		/* NULL: python3 on PATH */
	const char *assembler;		/* NULL: see assembler.h */
	const char *hip_compiler;	/* NULL: see hip.h */
	unsigned workers;		/* kernels at once, at least 1 */
	unsigned code_object_version;	/* 4 or 5; 0: TensileLite's own choice */
	unsigned kernel_seconds;	/* how long one kernel may take; 0: five minutes */
	struct cachedb *cache;		/* keeps the capability tables; or NULL */
};

/* Starts nothing. -ENOENT, -ENOTDIR: `tensilelite` is no such folder (the message says which file was looked for). */
int upstream_new(const struct upstream_options *options, struct upstream **ret_upstream, struct error *error);
struct upstream *upstream_unref(struct upstream *upstream);	/* with nobody asking; accepts NULL, returns NULL */
DEFINE_CLEANUP(struct upstream *, upstream_unref)
void upstream_stop(struct upstream *upstream);

/*
 * What the generated objects depend on besides the request: a digest of TensileLite's files (their content, not their times or
 * paths), of the worker, the version of python, the version of the assembler, the code object version. The text lives as long as
 * the upstream, and equal texts are one pointer. Looked at again when a file's identity has changed, at most ten times a second.
 * Blocks on programs and on reading TensileLite the first time.
 */
int upstream_identify(struct upstream *upstream, const char **ret_identity, struct error *error);

/* The last identity that upstream_identify() found, or NULL. Never blocks on a program. */
const char *upstream_identity(struct upstream *upstream);

/*
 * A solution as TensileLite's own loader would see it: what logic_write_solution() wrote (build/logic/logic.h).
 */
struct upstream_solution {
	const char *arch;		/* "gfx942" */
	const char *kernel_name;	/* the symbol, and what the descriptor and the metadata are called */
	const void *text;
	size_t size;
};

/*
 * Generates and assembles one kernel. -EIO: the worker raised (the message has the end of its traceback), died, did not answer in
 * time (-ETIMEDOUT) or gave text that the assembler refuses (its first message); -ESTALE: TensileLite or a program changed
 * meanwhile; -ECANCELED after upstream_stop(). Others are not harmed.
 */
int upstream_kernel(struct upstream *upstream, const struct upstream_solution *solution, struct buffer *ret_object, struct error *error);

/* The same without the last step: the assembly text. */
int upstream_print(struct upstream *upstream, const struct upstream_solution *solution, struct buffer *ret_text, struct error *error);

/*
 * What TensileLite finds the assembler to be able to do, as a JSON object:
 * {"gfx942": {"AsmCaps": {...}, "ArchCaps": {...}, "AsmBugs": {...}}}. `arch` NULL: all targets it knows.
 */
int upstream_caps(struct upstream *upstream, const char *arch, struct buffer *ret_json, struct error *error);

/*
 * The helper kernels of an arch (Kernels.so-000-<arch>.hsaco): their sources as TensileLite writes them, compiled by the HIP compiler in parts, of which
 * any number at once. The objects of all parts, between the first and the last one, link to what one compilation of all would give
 * (device_text.h).
 *
 *     r = upstream_helpers_new(upstream, arch, &helpers, &error);              // compiles the headers alone; -ENOENT: no HIP compiler
 *     r = upstream_helpers_source(helpers, &part, &source, &key, &error);      // asks TensileLite; from any thread
 *     r = upstream_helpers_compile(helpers, source, &object, &metadata, &error);
 *     r = upstream_helpers_finish(helpers, &metadata, &first, &last, &error);
 */
struct upstream_helpers;

struct upstream_part {
	const char *const *names;	/* of helper kernels, in the order in which they are to stand in the source */
	size_t n_names;
	const struct upstream_solution *solutions;	/* each of the names is one that one of them asks for */
	size_t n_solutions;
	bool last;			/* of all parts */
	bool whole;			/* all of them: an object that needs no others */
};

int upstream_helpers_new(struct upstream *upstream, const char *arch, struct upstream_helpers **ret_helpers, struct error *error);
struct upstream_helpers *upstream_helpers_free(struct upstream_helpers *helpers);	/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct upstream_helpers *, upstream_helpers_free)

/* A source, and a digest of it and of all else that its object and metadata depend on. */
struct upstream_source;
int upstream_helpers_source(struct upstream_helpers *helpers, const struct upstream_part *part, struct upstream_source **ret_source,
			    struct cachedb_key *ret_key, struct error *error);
struct upstream_source *upstream_source_free(struct upstream_source *source);		/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct upstream_source *, upstream_source_free)

/*
 * Appends the metadata of the kernels, which is text. -ENOTSUP: these kernels cannot be compiled apart from others (device_text.h), or the
 * compiler's text is not understood; `whole` they can. -ESTALE: a program changed meanwhile.
 */
int upstream_helpers_compile(struct upstream_helpers *helpers, const struct upstream_source *source, struct buffer *ret_object,
			     struct buffer *metadata, struct error *error);

/* `metadata`: of all parts, in their order. Two objects: to be linked before all others, and behind them. -ENOTSUP as above. */
int upstream_helpers_finish(struct upstream_helpers *helpers, const struct buffer *metadata, struct buffer *ret_first, struct buffer *ret_last,
			    struct error *error);

/* The HIP compiler's identity for hashes of helper objects; -ENOENT when there is none. Lives as long as the upstream. */
int upstream_identify_hip(struct upstream *upstream, const char **ret_identity, struct error *error);
