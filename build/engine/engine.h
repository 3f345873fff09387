/* SPDX-License-Identifier: MIT */
/*
 * Names to bytes: the catalog of files, plans and their hashes, build jobs on one worker pool, single flight, the cache, the link.
 *
 *     struct engine *engine;
 *     r = engine_new(&options, &engine, &error);            // scans the heads of the logic folder
 *     file = engine_lookup(engine, "gfx942", name);         // the catalog, without building
 *     r = engine_stat(engine, file, &stat);                 // what is known of a file; never builds
 *     engine_request(engine, file, ENGINE_WAITED, cb, userdata);     // cb runs exactly once
 *     r = engine_get(engine, file, &artifact, &error);      // the same, waiting
 *     engine_unref(engine);
 *
 * A file is a pure function of its plan: what kind it is, its kernels with all their parameters (or the bytes of the library tree),
 * the generator, the linker and the options. The plan's SHA-256 is the key in the cache. One build per hash however many wait.
 * Nothing else - worker count, order, time, paths, environment - reaches the bytes.
 *
 * Knowing a hash means parsing logic. So that a second mount does not, the cache also keeps a memo from the identity of a file's
 * logic (device, inode, size, modification and change time of each file) to its hash; a memo only ever saves the parsing.
 *
 * Failures are kept in memory (engine_stat) and tried again at the next request; they are never stored. A cache that cannot be
 * written costs a warning and nothing else.
 *
 * Threads: every function may be called from any thread. No function but engine_get(), engine_unref() and those under "Explaining"
 * blocks on a build or on parsing. Knows nothing of FUSE. Never fork with an engine open.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "build/object/object.h"
#include "cachedb/cachedb.h"

#include <stdbool.h>

struct trace;
struct engine;
struct engine_file;		/* one file of the catalog; lives as long as the engine */

enum engine_kind {
	ENGINE_CODE_OBJECT,	/* <base>.co */
	ENGINE_HELPER,		/* Kernels.so-000-<arch>.hsaco: a bare code object, as upstream ships it */
	ENGINE_METADATA,	/* <base>.dat, also of a whole library */
	ENGINE_MASTER,		/* TensileLibrary_lazy_<arch>.dat */
	ENGINE_MAPPING,		/* TensileLiteLibrary_lazy_<arch>_Mapping.dat */
	ENGINE_MANIFEST,	/* TensileManifest.txt */
	ENGINE_RAW,		/* the code object inside a bundle; not listed, see engine_raw() */
};

enum engine_priority { ENGINE_WAITED, ENGINE_AHEAD };

/*
 * How the metadata is cut into files, and the code objects with it (TensileCreateLibrary --lazy-library-loading,
 * --separate-architectures).
 */
enum engine_library {
	ENGINE_LIBRARY_LAZY,		/* one of each problem type, and a master that leads to them */
	ENGINE_LIBRARY_SEPARATE,	/* TensileLibrary_<arch>.dat and .co */
	ENGINE_LIBRARY_MERGED,		/* TensileLibrary.dat of all architectures, TensileLibrary_<arch>.co */
};

struct engine_options {
	const char *logic;		/* folder or file */
	const char *arch;		/* only this architecture, of whose absence -ENOENT tells; NULL: all */
	const char *cache;		/* folder of the LMDB; NULL: no cache on disk */
	uint64_t cache_max_bytes;	/* 0: no limit */
	struct cachedb_min_free cache_min_free;
	bool cache_read_only;		/* look into the cache, but change nothing in it */
	const char *linker;		/* NULL: $TENSILEFS_LINKER, else ld.lld-22 ... ld.lld-17, ld.lld on PATH */
	unsigned linker_seconds;	/* how long one link may take; 0: five minutes */
	enum bundle_kind bundle;
	bool names_tensile;
	bool keep_all;			/* .dat with every solution, generated or not */
	bool metadata_only;		/* libraries' metadata alone; with keep_all also of architectures without kernels */
	bool library_yaml;		/* it is YAML, and ".yaml" takes the place of ".dat" */
	enum engine_library library;
	bool flat;			/* one folder for all architectures, in which files of one name are the same file */
	/* Folder of hand-written kernels; NULL: those of tensilelite, or of the hipBLASLt checkout that the logic is part of. */
	const char *custom_kernels;
	const char *build_id;		/* as in lld's --build-id=KIND; NULL: "none", or with tensilelite "sha1" as upstream */
	const char *tensilelite;	/* folder of the user's TensileLite, which makes the kernels; NULL: this program does */
	const char *python, *assembler, *hip_compiler;	/* for it; NULL: found on PATH */
	unsigned kernel_seconds;	/* how long one kernel may take it; 0: five minutes */
	unsigned code_object_version;	/* of its kernels: 4 or 5; 0: its own choice. Those of this program are of version 5 */
	unsigned jobs;			/* worker threads, and so programs at once; 0: affinity and cgroup quota */
	uint64_t memory_bytes;		/* that builds and their results may take; 0: half of the machine's, 4 GiB at most */
	bool gives_way;			/* builds let others have the CPU first: readers of what is built already, for one */
	unsigned quick_jobs;		/* more of them, for what needs no linker: it then waits for no build */
	struct trace *trace;		/* where it is written what is done when, see trace.h; outlives the engine; NULL: nowhere */
	/* Told, from any thread, what went wrong without stopping anything: the cache cannot be used, there is no HIP compiler.
	 * May be NULL. */
	void (*warn)(void *userdata, const char *message);
	void *warn_userdata;
};

/*
 * -ENOENT, -ENODATA, -EACCES ... when the logic gives no catalog at all. Faults of single files are not errors: see engine_fault().
 */
int engine_new(const struct engine_options *options, struct engine **ret_engine, struct error *error);

/* Kills running linkers, waits for running jobs; queued ones are dropped and their callbacks told -ECANCELED. Accepts NULL, returns
 * NULL. */
struct engine *engine_unref(struct engine *engine);

/* ---- catalog ---------------------------------------------------------------------------------------------------------- */

/*
 * Archs are sorted, files are sorted by name; what engine_watch() adds later comes at the end. Numbers stay valid, as what is
 * removed keeps its own and is not "present" from then on.
 */
size_t engine_n_archs(struct engine *engine);
const char *engine_arch(struct engine *engine, size_t arch);
bool engine_arch_present(struct engine *engine, size_t arch);
size_t engine_n_files(struct engine *engine, size_t arch);
struct engine_file *engine_file(struct engine *engine, size_t arch, size_t i);
bool engine_file_present(struct engine_file *file);
struct engine_file *engine_lookup(struct engine *engine, const char *arch, const char *name);	/* NULL: none */

/* With engine_options.flat: the file that stands for all of that name, which is that of the first architecture. */
struct engine_file *engine_lookup_flat(struct engine *engine, const char *name);

/* The bare code object of a code object or helper; NULL for other kinds. Has the same name. */
struct engine_file *engine_raw(struct engine_file *file);

const char *engine_file_name(const struct engine_file *file);
const char *engine_file_arch(const struct engine_file *file);
enum engine_kind engine_file_kind(const struct engine_file *file);
size_t engine_file_index(const struct engine_file *file);	/* engine_file(engine, arch, index) == file */
uint64_t engine_file_logic_bytes(const struct engine_file *file);	/* size of its logic: how much work it is, roughly */
int64_t engine_file_time(const struct engine_file *file);	/* last change of its logic, nanoseconds since 1970 */

/*
 * Logic files that were left out, in any order; NULL past the end. "'a/b.yaml': line 3, column 7: ..." Not for use after
 * engine_watch().
 */
const char *engine_fault(struct engine *engine, size_t i);

/*
 * Follows edits of the logic until engine_unref(): files that are added, removed, renamed, rewritten. `changed` is called on a
 * thread of its own for each file of the catalog that an edit concerns, after the edit is in force. It may wait for requests.
 *
 * An edit that leaves a logic file broken changes nothing for the files that were known from it: their last good bytes go on being
 * served while they can be had, and engine_status() says so under "stale". -ENOSYS, -EMFILE, -ENOSPC ... when the system cannot
 * watch: then only edits of known files are seen, when these are asked for.
 */
enum engine_change { ENGINE_ADDED, ENGINE_REMOVED, ENGINE_EDITED };
typedef void (*engine_changed)(void *userdata, struct engine_file *file, enum engine_change change);
int engine_watch(struct engine *engine, engine_changed changed, void *userdata, struct error *error);

/* ---- artifacts -------------------------------------------------------------------------------------------------------- */

/* A finished artifact: reference counted, immutable. */
struct artifact {
	unsigned references;		/* use artifact_ref/unref */
	uint8_t *data;
	size_t size;
	struct cachedb_key hash;
	uint64_t cost_us;		/* what building it took, wall clock */
	uint32_t items;			/* kernels in it */
	struct memory *memory;		/* where its size counts */
};
struct artifact *artifact_ref(struct artifact *artifact);
struct artifact *artifact_unref(struct artifact *artifact);	/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct artifact *, artifact_unref)

/*
 * status 0 and the artifact (the callback takes its own reference), or a negative errno and a reason. Runs on a worker thread,
 * or inside engine_request() when the bytes are in memory already. Must not wait for another artifact.
 * With ENGINE_AHEAD the artifact is NULL when the bytes are in the cache on disk: nobody wants them yet.
 */
typedef void (*engine_callback)(void *userdata, int status, struct artifact *artifact, const struct error *error);

void engine_request(struct engine *engine, struct engine_file *file, enum engine_priority priority,
		    engine_callback callback, void *userdata);
int engine_get(struct engine *engine, struct engine_file *file, struct artifact **ret_artifact, struct error *error);

/*
 * Makes the file anew from its logic, whatever memory and cache have of it, and keeps nothing. Blocks on parsing and building, on
 * the caller's thread. `ret_memo_is_wrong`: the hash that the cache's memo leads to is another one, so that a mount would serve
 * other bytes; that memo is removed, if the cache may be written.
 */
int engine_rebuild(struct engine *engine, struct engine_file *file, struct artifact **ret_artifact, bool *ret_memo_is_wrong,
		   struct error *error);

enum engine_state { ENGINE_UNBUILT, ENGINE_BUILDING, ENGINE_BUILT, ENGINE_FAILED };

struct engine_stat {
	enum engine_state state;
	uint32_t mistakes;		/* solutions left out for a mistake in the logic, as far as the file's plan is known */
	bool known;			/* the next three are valid */
	struct cachedb_key hash;
	uint64_t size, cost_us;
	uint32_t items;
};

/* What is known without building: made in this process, or the memo and the cache's index have it. */
void engine_stat(struct engine *engine, struct engine_file *file, struct engine_stat *ret_stat);

/* Was the file known when somebody last looked, and with what content? Looks at nothing itself: for guesses about many files. */
bool engine_seen(struct engine_file *file, struct cachedb_key *ret_hash);

/* Why the last build of this file failed: a negative errno and a message; 0 when it did not. */
int engine_failure(struct engine *engine, struct engine_file *file, struct error *error);

/* ---- explaining (these parse logic, and block while they do) ---------------------------------------------------------- */

/*
 * Runs on the pool, for callers that must not block; it is to run no program. Not run when the engine ends first: then `cancelled`
 * is true.
 */
void engine_call(struct engine *engine, void (*call)(void *userdata, bool cancelled), void *userdata);

/* The plan's hash, from the memo or by parsing. */
int engine_hash(struct engine *engine, struct engine_file *file, struct cachedb_key *ret_hash, struct error *error);

/* Names of the kernels of a code object, in its order; stops when the callback returns non-zero and returns that. */
int engine_foreach_kernel(struct engine *engine, struct engine_file *file, int (*callback)(void *userdata, const char *name),
			  void *userdata, struct error *error);

/*
 * What all files of an arch (NULL: of all) consist of, appended as text: "<base> <kernel>" lines for the kernels of its code
 * objects, in the order of the bases' first logic files and of the kernels in a code object, and the names of the helper kernels
 * that their solutions need.
 */
int engine_list_kernels(struct engine *engine, const char *arch, struct buffer *ret_kernels, struct buffer *ret_helpers,
			struct error *error);

/*
 * What is wrong with each solution that is left out for a mistake in the logic: file, line, key and value. Parses the logic;
 * engine_stat() says whether there are any. Stops when the callback returns non-zero and returns that.
 */
int engine_foreach_mistake(struct engine *engine, struct engine_file *file, int (*callback)(void *userdata, const char *message),
			   void *userdata, struct error *error);

/* A kernel as assembly text. -ENOENT when the file has no kernel of that name. */
int engine_print_kernel(struct engine *engine, struct engine_file *file, const char *kernel, struct buffer *ret_text, struct error *error);

/* JSON: the logic files a file is made of, and its solutions: index, line, name, kernel, and the reason of one that is left out. */
int engine_explain(struct engine *engine, struct engine_file *file, struct buffer *ret_json, struct error *error);

/*
 * Every parameter of the solutions whose name or kernel name is `name` (NULL: all), with its role: "semantic", "hint", ... A
 * solution that is left out ends with the key "", the reason as value and the role "left out". Stops when the callback returns
 * non-zero.
 */
typedef int (*engine_parameter_callback)(void *userdata, const char *solution, const char *key, const char *value, const char *role);
int engine_foreach_parameter(struct engine *engine, struct engine_file *file, const char *name, engine_parameter_callback callback,
			     void *userdata, struct error *error);

/*
 * JSON: {"gfx942": {"solutions": n, "generated": n, "custom": n, "left_out": [{"reason": "...", "solutions": n}]}}, reasons by
 * falling number. `arch` NULL: all. A base that cannot be read counts nowhere and is named in "faults".
 */
int engine_coverage(struct engine *engine, const char *arch, struct buffer *ret_json, struct error *error);

/* JSON: jobs and what they are at, queue, cache, bytes, times, what failed. Does not block. */
int engine_status(struct engine *engine, struct buffer *ret_json);

/* Does a compiler take its time for a helper object, once for all that it serves? */
bool engine_compiles_helpers(struct engine *engine);

/*
 * Begins to look for the linker, so that the hashes of linked files can be known before the first of them is asked for. Does not
 * block.
 */
void engine_prepare(struct engine *engine);

/* The linker's version, when it has been found already; NULL before. */
const char *engine_linker_version(struct engine *engine);

/*
 * Everything of the options that must not lie inside a mount of this engine: calls back with the path of logic, cache, trace and
 * linker. `walked`: all that it holds is looked at, so that the mount must not lie inside of it either.
 */
typedef int (*engine_path_callback)(void *userdata, const char *what, const char *path, bool walked);
int engine_foreach_path(struct engine *engine, engine_path_callback callback, void *userdata);
