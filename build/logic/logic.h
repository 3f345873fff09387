/* SPDX-License-Identifier: MIT */
/*
 * hipBLASLt's logic folders: YAML files with tuned solutions -> problem types, solutions, names, and the library metadata (.dat).
 *
 * Two steps, so that a mount costs little:
 *     logic_scan()   reads only the head of each file (entries 0 to 4: architecture and problem type) and gives the catalog: which
 *                    library bases ("TensileLibrary_HH_SH_..._gfx942") there are and which files each is merged from.
 *     logic_load()   parses all of the files of one base: solutions with every derived parameter, tables, merged in sorted path order.
 *
 * Errors name the file, line and column, and the key and value where there is one. A file that cannot be read spoils only its own
 * base. All structs are plain data in an arena owned by the object they came from; several bases may be loaded at once.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "build/gemm/params.h"

/* ---- catalog ---------------------------------------------------------------------------------------------------------- */

struct logic_file {
	const char *path;		/* as opened: folder + relative path */
	const char *relative;		/* to the scanned folder, the sort key; the end of `path` */
	bool named;			/* what was scanned is this file, no folder */
	const char *arch;		/* "gfx942" */
	int cu_count;			/* 0: any */
	uint64_t size;			/* bytes and modification time seen at the scan */
	int64_t mtime_ns;
};

struct logic_base {			/* one <name>.dat and <name>.co */
	const char *name;		/* file name without suffix: "TensileLibrary_..._gfx942" */
	const char *arch;		/* "": several */
	bool whole;			/* a library that is not loaded piece by piece: all that there is */
	const struct logic_file *const *files;	/* in sorted order of relative */
	size_t n_files;
	const char *fault;		/* NULL, or why it cannot be served: files of one name but different problem types */
};

struct logic_fault {			/* a file that was left out of the catalog */
	const char *path;
	const char *message;
};

struct logic_catalog {
	const struct logic_base *bases;	/* sorted by arch, then name */
	size_t n_bases;
	const char *const *archs;	/* sorted */
	size_t n_archs;
	const struct logic_base *wholes;	/* one for each of archs, "TensileLibrary_<arch>": its bases without fault */
	const struct logic_fault *faults;
	size_t n_faults;
};

/*
 * Walks `folder` for *.yaml (also one single file). Links of other users that lead out of it are not followed, and are faults.
 * -ENOENT when it does not exist, -ENODATA when it holds no logic at all; faults of single files are in the catalog.
 */
int logic_scan(const char *folder, struct logic_catalog **ret_catalog, struct error *error);
struct logic_catalog *logic_catalog_unref(struct logic_catalog *catalog);

/*
 * Every folder that logic_scan() looks into, from `folder` on. Stops when the callback returns non-zero and returns that. -ENOMEM.
 */
int logic_foreach_folder(const char *folder, int (*callback)(void *userdata, const char *path), void *userdata);

/* The whole of an arch, or NULL. */
const struct logic_base *logic_whole(const struct logic_catalog *catalog, const char *arch);

/* "TensileLibrary": the wholes of all archs that are wanted as one base, for free() before the catalog goes. */
int logic_join_wholes(const struct logic_catalog *catalog, bool (*wanted)(const void *userdata, const char *arch), const void *userdata,
		      struct logic_base **ret_whole);

/* ---- solutions -------------------------------------------------------------------------------------------------------- */

enum logic_names { LOGIC_NAMES_STABLE, LOGIC_NAMES_TENSILE };

struct logic_solution {
	const struct logic_file *file;
	unsigned line;			/* where it begins in the file */
	int index;			/* in the merged library; libraryLogicIndex is yaml_index */
	int yaml_index;
	const char *name;		/* solution name */
	const char *kernel_name;	/* symbol in the code object */
	const char *custom_kernel;	/* "" or its name */
	struct gemm_params params;	/* for the generator */
	const char *left_out;		/* NULL, or the reason the filter gave */
	bool mistaken;			/* for a mistake in the logic: left_out names file, line, key and value */
};

struct logic_library;			/* all of one base */

/*
 * Loads a base. `filter` is asked for every solution in order: 0 keeps it, a negative errno leaves it out of kernels and .dat
 * with the reason in `error`. NULL keeps all (--keep-all). Solutions of a whole stand in the order of all files.
 *
 * Before the filter is asked, a solution is left out when it has a parameter that is unknown or of the wrong kind, or parameters
 * that contradict each other (left_out then names file, line, key and value), or says something struct gemm_params has no word
 * for (left_out is a few words like those of the generator). Keeping all keeps those too, as the peer does, but for solutions
 * that are too broken to have a name. Left-out solutions keep their index, so the indices of the others do not depend on what can
 * be generated.
 */
typedef int (*logic_filter)(void *userdata, const char *arch, const struct gemm_params *params, struct error *error);

struct logic_naming;

struct logic_options {
	enum logic_names names;
	logic_filter filter;
	void *userdata;
	/*
	 * For LOGIC_NAMES_TENSILE. NULL: made from the whole of the arch at the first load that needs it, and kept with the
	 * catalog.
	 */
	const struct logic_naming *naming;
	/*
	 * Folder with sources <name>.s of hand-written kernels (hipBLASLt: tensilelite/Tensile/CustomKernels). They say which
	 * arguments such a kernel takes, which the .dat passes on to the host. NULL: the logic's word is taken.
	 */
	const char *custom_kernels;
	/* Leave out solutions that launch helper kernels (of Kernels.so-000-<arch>.hsaco) beside their own. */
	bool without_helpers;
};

/*
 * Looks for the folder with hand-written kernels in the hipBLASLt checkout that `folder` is part of: it is in an ancestor. The
 * result is malloc memory, or NULL when there is none.
 */
int logic_find_custom_kernels(const char *folder, char **ret_folder);

int logic_load(const struct logic_catalog *catalog, const struct logic_base *base, const struct logic_options *options,
	       struct logic_library **ret_library, struct error *error);
struct logic_library *logic_library_unref(struct logic_library *library);

/*
 * LOGIC_NAMES_TENSILE makes names from the parameters that vary among all solutions of a build, and numbers solutions through
 * over all files of it in sorted order. So every file has to be looked at once; what is needed of a file is its summary,
 * about a kilobyte that depends on nothing but the file's bytes (and the version of this library, which is in it): keep it under
 * the file's digest.
 *
 *     r = logic_naming_new(logic_whole(catalog, "gfx942"), get_summary, cache, &naming, &error);
 *
 * `get` gives the summary of a file, from a cache or from logic_summarize(); NULL stands for the latter. A file without a readable
 * summary counts as one without solutions; its own base will say why. LOGIC_NAMES_STABLE needs none of this: names come from a
 * solution's own parameters, indices from the name of the base; those of a whole begin at 0.
 */
typedef int (*logic_get_summary)(void *userdata, const struct logic_file *file, struct buffer *ret_summary, struct error *error);

int logic_summarize(const struct logic_file *file, struct buffer *ret_summary, struct error *error);
int logic_naming_new(const struct logic_base *whole, logic_get_summary get, void *userdata, struct logic_naming **ret_naming,
		     struct error *error);
struct logic_naming *logic_naming_unref(struct logic_naming *naming);

/* Every solution of the base, left-out ones included, in library order. */
const struct logic_solution *logic_solutions(const struct logic_library *library, size_t *ret_n);

/*
 * Solutions that are left out for a mistake in the logic: calls back with what is wrong with each, and where. Stops when the
 * callback returns non-zero and returns that.
 */
int logic_foreach_mistake(const struct logic_library *library, int (*callback)(void *userdata, const char *message), void *userdata);

/* The unique kernels of the kept solutions, in the order of their first solution: indices into logic_solutions(). */
const size_t *logic_kernels(const struct logic_library *library, size_t *ret_n);

/*
 * Names of the kernels that the kept solutions need of Kernels.so-000-<arch>.hsaco, as the peer names them and in the order in
 * which its solutions ask for them, with the index of a solution that asks. A name may be told more than once. Stops when the
 * callback returns non-zero and returns that.
 */
typedef int (*logic_helper_callback)(void *userdata, const char *name, size_t solution);
int logic_foreach_helper(const struct logic_library *library, logic_helper_callback callback, void *userdata);

/*
 * A solution as its file gives it, for a generator that reads it for itself: one JSON object with the solution's map under
 * "Solution", keys in the file's order, and what the head of the file says under the names that upstream's loader uses
 * (LibraryIO.parseLibraryLogicList). Scalars have the types that this loader gives them (CustomYamlLoader.parse_scalar).
 * Under "Launch" stands what the .dat tells the host of launching the kernel, to which the generator has to keep.
 *
 *     {"MinimumRequiredVersion":"4.33.0","ScheduleName":"aquavanjaram","ArchitectureName":"gfx942","CUCount":80,"ProblemType":{...},
 *      "Launch":{"sizeMapping":{"waveNum":4,...},"internalArgsSupport":{"version":2,...}},"Solution":{"1LDSBuffer":0,...}}
 *
 * SolutionIndex, SolutionNameMin and KernelNameMin are left out: they say where a solution stands and what it is called, so that
 * the text of one does not change with its neighbours. Reads the few kilobytes of the file again that this takes; any number of
 * threads at once. -ESTALE when the file is no longer the one that was loaded.
 */
int logic_write_solution(const struct logic_library *library, size_t solution, struct buffer *ret_text, struct error *error);

/* The .dat of the base, MessagePack: its solutions, and the tables that lead to them; that of a whole begins with the hardware. */
int logic_write_dat(const struct logic_library *library, struct buffer *ret_dat);

/*
 * What is wrong with logic, also where it loads: everything that logic_load() would complain about, and matrix instructions, work
 * groups and mappings that the architecture does not have, files in the folder of another architecture, solutions that repeat
 * others or that no table leads to, rows that no problem reaches or that repeat others. Files that the catalog left out are in its
 * faults. Stops when the callback returns non-zero and returns that. -ENOMEM.
 */
struct logic_finding {
	const char *path;
	unsigned line;			/* from 1; 0: the file as a whole */
	int solution;			/* position in the file's list, from 0; -1: not about one solution */
	const char *text;
};
typedef int (*logic_finding_callback)(void *userdata, const struct logic_finding *finding);
int logic_check(const struct logic_base *base, const char *custom_kernels, logic_finding_callback callback, void *userdata);

/*
 * The same for what files of different bases have in common: those of one name in the folder of an architecture are for the same
 * devices.
 */
int logic_check_siblings(const struct logic_base *whole, logic_finding_callback callback, void *userdata);

/* The same content as YAML (TensileCreateLibrary --library-format yaml). -EINVAL: not MessagePack. */
int logic_dat_to_yaml(const struct buffer *dat, struct buffer *ret_yaml);

/*
 * TensileLibrary_lazy_<arch>.dat: from hardware and problem type to the name of a base. Needs only the catalog (bases without
 * fault).
 */
int logic_write_master(const struct logic_catalog *catalog, const char *arch, struct buffer *ret_dat);

/*
 * TensileLiteLibrary_lazy_<arch>_Mapping.dat: the smallest index in each base -> the base's name. `naming` NULL: of
 * LOGIC_NAMES_STABLE.
 */
int logic_write_mapping(const struct logic_catalog *catalog, const char *arch, const struct logic_naming *naming, struct buffer *ret_dat);

/*
 * Every parameter of a solution with its value as text, whether it is semantic, a hint, or derived, and whether the generator uses
 * it; for `tensilefs show`. Stops when the callback returns non-zero.
 */
int logic_solution_foreach_parameter(const struct logic_library *library, size_t solution,
				     int (*callback)(void *userdata, const char *key, const char *value, const char *role), void *userdata);
