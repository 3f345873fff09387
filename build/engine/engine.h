/* SPDX-License-Identifier: MIT */
/*
 * Names to bytes: the catalog of files, plans and their hashes, build jobs on one worker pool, single flight, the cache, the link.
 *
 *     struct engine *engine;
 *     r = engine_new(&options, &engine, &error);            // scans the heads of the logic folder
 *     engine_foreach_file(engine, "gfx942", cb, userdata);  // names, without building
 *     r = engine_stat(engine, file, &stat);                 // from the cache index; -EINPROGRESS-free: never builds
 *     engine_request(engine, file, PRIORITY_WAITED, cb, userdata);   // cb runs on a worker thread, exactly once
 *     r = engine_get(engine, file, &artifact, &error);      // the same, waiting
 *
 * A file is a pure function of its plan; its hash is SHA-256 over the plan (kernel parameters or library tree), the generator version, the
 * linker's version and the options. One build per hash however many wait. Failures are kept in memory (for status and xattrs) and tried
 * again on the next request. Knows nothing of FUSE.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "build/object/object.h"
#include "cachedb/cachedb.h"

#include <stdbool.h>

struct engine;
struct engine_file;		/* one file of the catalog; lives as long as the engine */

enum engine_kind { ENGINE_CODE_OBJECT, ENGINE_HELPER, ENGINE_METADATA, ENGINE_MASTER, ENGINE_RAW };

enum engine_priority { ENGINE_WAITED, ENGINE_AHEAD };

struct engine_options {
	const char *logic;		/* folder or file */
	const char *cache;		/* folder of the LMDB; NULL: no cache on disk */
	uint64_t cache_max_bytes;
	const char *linker;		/* NULL: find ld.lld-22, ld.lld, ... , ld.lld-17 on PATH */
	enum bundle_kind bundle;
	bool names_tensile;
	bool keep_all;			/* .dat with every solution, generated or not */
	unsigned jobs;			/* worker threads; 0: affinity and cgroup quota */
};

int engine_new(const struct engine_options *options, struct engine **ret_engine, struct error *error);
struct engine *engine_unref(struct engine *engine);	/* waits for running jobs, drops queued ones */

/* A finished artifact: reference counted, immutable. */
struct artifact {
	unsigned references;		/* use artifact_ref/unref */
	uint8_t *data;
	size_t size;
	struct cachedb_key hash;
	struct cachedb_info info;
};
struct artifact *artifact_ref(struct artifact *artifact);
struct artifact *artifact_unref(struct artifact *artifact);

typedef void (*engine_callback)(void *userdata, int status, struct artifact *artifact, const struct error *error);

void engine_request(struct engine *engine, struct engine_file *file, enum engine_priority priority,
		    engine_callback callback, void *userdata);
int engine_get(struct engine *engine, struct engine_file *file, struct artifact **ret_artifact, struct error *error);

/* Size if it is known without building (built in this process, or the hash is known and in the cache index); -ENODATA otherwise. */
int engine_size(struct engine *engine, struct engine_file *file, uint64_t *ret_size);

/* Catalog. */
size_t engine_n_archs(const struct engine *engine);
const char *engine_arch(const struct engine *engine, size_t i);
size_t engine_n_files(const struct engine *engine, const char *arch);
struct engine_file *engine_file(struct engine *engine, const char *arch, size_t i);	/* sorted by name */
struct engine_file *engine_lookup(struct engine *engine, const char *arch, const char *name);	/* NULL: none */
const char *engine_file_name(const struct engine_file *file);
const char *engine_file_arch(const struct engine_file *file);
enum engine_kind engine_file_kind(const struct engine_file *file);
