/* SPDX-License-Identifier: MIT */
/*
 * The engine's insides, shared by its own .c files:
 *     engine.c    the engine
 *     edition.c   the logic as of one scan
 *     tools.c, generator.h        what files depend on, and where kernels come from
 *     catalog.c   the files
 *     watch.c     edits of the logic
 *     request.c   requests and single flight
 *     known.c     what is known of a file without building it
 *     raw.c       the bare object inside a bundle
 *     produce.c   plan -> bytes
 *     native.c, tensilelite.c     the generators
 *     rebuild.c   the same past the cache, to compare with it
 *     activity.c  what workers are at, for the status and the trace
 *     memory.c    artifacts, and the recent ones that are kept in memory
 *     explain.c, lists.c, coverage.c, status.c
 *
 * Locks, in the order in which they are taken: engine->lock, then that of the pool or the memory. None is held while anything is
 * parsed, built, read from the cache, or called back.
 */
#pragma once

#include "base/clock.h"
#include "build/engine/engine.h"
#include "build/engine/edition.h"
#include "build/engine/library.h"
#include "build/engine/generator.h"
#include "build/engine/linker.h"
#include "build/engine/memory.h"
#include "build/engine/plan.h"
#include "build/engine/pool.h"
#include "build/logic/logic.h"

#include <pthread.h>

struct flight;
struct trace;
struct trace_value;

struct engine_file {
	struct engine *engine;
	enum engine_kind kind;
	char *name;
	const char *arch;
	size_t index;			/* in its arch */
	char *base;			/* name of its base; NULL: helper and master, raw */
	struct engine_file *parent;	/* ENGINE_RAW: the file that is unwrapped */
	struct engine_file *raw;	/* or NULL */

	/* protected by engine->lock */
	bool planned;			/* the next four are valid: logic with this identity and these tools give this hash */
	struct cachedb_key identity;
	const struct tools *tools;
	struct cachedb_key hash;
	uint32_t mistakes;		/* as in struct production */
	bool sized;			/* the next three are valid, for `hash` */
	uint64_t size, cost_us;
	uint32_t items;
	struct flight *flight;		/* being looked for or built, or NULL */
	int failure;			/* of the last build, or 0 */
	char *failure_text;
	char *stale;			/* why `hash` is that of the last good logic, not of what there is now; NULL: it is not */
	bool present, wanted;		/* see catalog.c */
};

struct engine_arch {
	char *name;
	struct engine_file **files;	/* by index */
	struct engine_file **by_name;	/* the first n_named, sorted */
	size_t n_files, n_named;
	bool present;			/* has files that are */
};

/* A worker and the file that it is at. */
struct activity {
	struct engine_file *file;
	uint64_t since_us;

	/* protected by engine->lock */
	const char *stage;		/* a literal; NULL: none of those that have a name */
	struct activity *next;
};

struct engine_statistics {		/* since the engine began */
	uint64_t builds, built_bytes, built_us, kernels, instructions;
	uint64_t kernel_hits;		/* that were in the cache one by one */
	uint64_t links, link_us, generate_us;	/* wall clock of the two halves of a build */
	uint64_t failures, shared;	/* requests that joined a flight */
	uint64_t memory_hits, cache_hits, cache_errors;
	uint64_t plans;			/* that had to be made from logic */
};

struct engine {
	enum bundle_kind bundle;
	bool names_tensile, keep_all, metadata_only, library_yaml, flat;
	enum engine_library library;
	char *logic, *cache_path, *custom_kernels;
	char *tensilelite;		/* or NULL */
	char *arch;			/* or NULL */
	void (*warn)(void *userdata, const char *message);
	void *warn_userdata;
	struct trace *trace;		/* or NULL */

	struct cachedb *cache;		/* or NULL */
	bool cache_read_only;
	uint64_t cache_max_bytes;	/* 0: no limit */
	struct pool *pool;
	struct program *linker;
	const struct generator *generator;
	char *build_id;			/* or NULL: the generator's */
	struct memory *memory;
	uint64_t logic_kept;		/* bytes of YAML that stay parsed for a while */
	struct watch *watch;		/* or NULL */

	pthread_mutex_t lock;		/* protects all below, and what struct engine_file says */
	struct edition *edition;
	struct engine_arch **archs;
	size_t n_archs;
	char *edit_failure;		/* why the logic as it is now cannot be used at all, or NULL */
	struct engine_statistics statistics;
	struct activity *activities;	/* newest first */
	struct flight *builds;		/* flights that are building, one per hash */
	bool warned;			/* about the cache */
	struct tools_entry *tools;	/* see tools.c */
};

struct plan_options engine_plan_options(const struct engine *engine, const struct tools *tools);
const char *engine_build_id(const struct engine *engine);

/* Does this kind of file go through the linker? */
bool kind_is_linked(enum engine_kind kind);

/* The logic as it is now: a reference. */
struct edition *engine_edition(struct engine *engine);

/* Has the user asked for this arch, or for all? And can files be made for it? */
bool engine_wants(const struct engine *engine, const char *arch);
bool engine_serves(const struct engine *engine, const char *arch);

/* A digest of what the file is made from, that costs a stat per logic file. -ENOENT when there is no such logic. */
int engine_file_identity(struct engine_file *file, const struct edition *edition, struct cachedb_key *ret_identity, bool *ret_settled);

/* engine_call() for what may take long. */
void engine_call_in(struct engine *engine, enum pool_queue queue, void (*call)(void *userdata, bool cancelled), void *userdata);

/* Tells the program once that the cache has failed. */
void engine_cache_failed(struct engine *engine, const char *message);

/* Into the cache on disk and out of it. There may be none, and it may fail: then nothing is kept, or nothing is there (-ENOENT). */
void engine_keep(struct engine *engine, const struct cachedb_key *key, const void *data, size_t size, const struct cachedb_info *info);
int engine_fetch(struct engine *engine, const struct cachedb_key *key, struct cachedb_info *ret_info, uint8_t **ret_data);

/* ---- produce.c ---- */

/*
 * Gets ready to make a file: parses, hashes. `ret_production` holds what producing needs (the loaded library, or the finished
 * bytes of metadata); release it.
 */
struct production {
	struct activity *activity;	/* yours, that the stages of production_run() are told; or NULL */
	struct library *library;
	struct helpers helpers;
	const struct tools *tools;
	struct buffer bytes;		/* of what is not linked: all of the file */
	uint32_t mistakes;		/* solutions that are left out for a mistake in the logic */
};
int production_plan(struct engine_file *file, const struct edition *edition, const struct tools *tools, struct production *ret_production,
		    struct cachedb_key *ret_hash, struct error *error);
int production_run(struct engine_file *file, struct production *production, const struct cachedb_key *hash,
		   struct artifact **ret_artifact, struct error *error);
void production_release(struct production *production);

/* ---- lists.c ---- */

/* The helper kernels of an arch, for a generator that does not share them. Parses all of its logic. */
int helpers_collect(struct engine *engine, const struct edition *edition, const char *arch, struct helpers *ret_helpers, struct error *error);

/* ---- activity.c ---- */

/* `asked_us`: when the work was asked for. The caller keeps the activity where it is until it ends. */
void activity_begin(struct activity *activity, struct engine_file *file, uint64_t asked_us);
void activity_end(struct activity *activity, const char *outcome);

/* A part of the work; stages do not nest. The values are for the trace. Without an activity (NULL) nothing is told. */
void stage_begin(struct activity *activity, const char *stage, const struct trace_value *values);
void stage_end(struct activity *activity, const struct trace_value *values);

/* ---- manifest.c ---- */

int manifest_write(const struct engine *engine, const struct edition *edition, const char *arch, struct buffer *ret_text);

/* ---- known.c ---- */

/* The moment that a file's plan belongs to. */
struct standpoint {
	struct cachedb_key identity;
	bool settled;
	const struct tools *tools;
};

/* -EAGAIN when a program is needed that is not known yet. Never blocks on one. */
int standpoint_now(struct engine_file *file, const struct edition *edition, struct standpoint *ret_standpoint);

/* The hash, from this process or the cache's memo. -ENOENT: it takes a plan to know it. */
int known_hash(struct engine_file *file, const struct standpoint *standpoint, struct cachedb_key *ret_hash);

/* What the cache's memo alone says: the hash, and the number of mistakes. -ENOENT. */
int known_read_memo(struct engine_file *file, const struct standpoint *standpoint, struct cachedb_key *ret_hash, uint32_t *ret_mistakes);

void known_drop_memo(struct engine_file *file, const struct standpoint *standpoint);

/* Notes the hash of a plan that was made from logic; writes the memo too. */
void known_set_hash(struct engine_file *file, const struct edition *edition, const struct standpoint *standpoint,
		    const struct cachedb_key *hash, uint32_t mistakes);

/* Logic that cannot be used: the hash of the last good one stands for it, if there is one (-ENOENT), until it is edited again. */
int known_keep_hash(struct engine_file *file, const struct standpoint *standpoint, const char *reason, struct cachedb_key *ret_hash);

/* Notes what is known of the bytes behind `hash`; with engine->lock held. */
void known_set_size(struct engine_file *file, const struct cachedb_key *hash, uint64_t size, uint64_t cost_us, uint32_t items);

/* ---- raw.c ---- */

void raw_request(struct engine_file *file, engine_callback callback, void *userdata);
void raw_stat(struct engine_file *file, struct engine_stat *ret_stat);
