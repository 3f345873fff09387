/* SPDX-License-Identifier: MIT */
/*
 * libtensilefs: the files of a hipBLASLt kernel library, made from its logic when they are asked for.
 *
 *     struct tensilefs_options options = { .logic = "/path/to/logic", .cache = "/var/cache/tensilefs" };
 *     struct tensilefs *library;
 *     char reason[TENSILEFS_REASON];
 *
 *     if (tensilefs_open(&options, &library, reason) < 0)
 *             fail(reason);
 *     tensilefs_foreach(library, "gfx942", print_name, NULL);
 *     if (tensilefs_get(library, "gfx942", "TensileLibrary_..._gfx942.co", &bytes, reason) == 0) {
 *             hipModuleLoadData(&module, bytes.data);
 *             tensilefs_bytes_release(&bytes);
 *     }
 *     tensilefs_close(library);
 *
 * Functions return 0 or a negative errno. `reason` may be NULL, or points to TENSILEFS_REASON bytes that get one line without full stop when
 * the result is negative. Any thread may call any function on an open library. A library must not be used after fork().
 */
#ifndef TENSILEFS_H
#define TENSILEFS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENSILEFS_REASON 1024		/* bytes, with the NUL */

struct tensilefs;

enum tensilefs_bundle {
	TENSILEFS_BUNDLE_PLAIN,		/* clang offload bundle */
	TENSILEFS_BUNDLE_COMPRESSED,	/* the same, with zstd */
	TENSILEFS_BUNDLE_NONE,		/* the code object itself */
};

enum tensilefs_library {		/* how the library is cut into files */
	TENSILEFS_LIBRARY_LAZY,		/* one .dat and .co for each problem type, and a .dat that leads to them */
	TENSILEFS_LIBRARY_SEPARATE,	/* one of each for an architecture */
	TENSILEFS_LIBRARY_MERGED,	/* one .dat for all architectures, one .co for each */
};

struct tensilefs_options {		/* zero is the default of everything but `logic` */
	const char *logic;		/* a folder of logic files, or one file */
	const char *cache;		/* a folder for built files; NULL: they are kept in memory only */
	uint64_t cache_max_bytes;	/* 0: no limit but that 5 % of the file system, or 4 GiB when that is less, stay free */
	const char *linker;		/* an ld.lld of version 17 or newer; NULL: $TENSILEFS_LINKER, or found on PATH */
	enum tensilefs_bundle bundle;
	int names_tensile;		/* kernel names as hipBLASLt's own build would give them */
	int keep_all;			/* metadata lists solutions that cannot be generated, too */
	unsigned jobs;			/* worker threads; 0: as many as the process may use CPUs */
	const char *custom_kernels;	/* folder of hand-written kernels; NULL: that of the hipBLASLt checkout around `logic` */
	int metadata_only;		/* no code objects; with keep_all also architectures that no kernels are generated for */
	int library_yaml;		/* metadata as YAML: ".yaml" instead of ".dat" */
	enum tensilefs_library library;
	const char *tensilelite;	/* the tensilelite folder of a hipBLASLt checkout, which then makes the kernels; NULL: this library does */
	const char *python, *assembler, *hip_compiler;	/* for it; NULL: found on PATH */
	const char *build_id;		/* "none", "fast", "md5", "sha1" or "0x..."; NULL: "none", or "sha1" with tensilelite */
};

/* -ENOENT, -ENODATA and others when there is no usable logic. Single logic files that cannot be used are left out: tensilefs_fault(). */
int tensilefs_open(const struct tensilefs_options *options, struct tensilefs **ret_library, char *reason);
void tensilefs_close(struct tensilefs *library);	/* waits for builds that run; accepts NULL */

/* Why part of the logic was left out: one line for each index from 0 on, then NULL. */
const char *tensilefs_fault(const struct tensilefs *library, size_t index);

/* Architectures by index, then NULL. */
const char *tensilefs_arch(const struct tensilefs *library, size_t index);

/* Calls back with the name of each file of an architecture, sorted; builds nothing. Stops when the callback returns non-zero and returns
 * that. -ENOENT for an architecture that the logic does not have. */
int tensilefs_foreach(struct tensilefs *library, const char *arch, int (*callback)(void *userdata, const char *name), void *userdata);

struct tensilefs_stat {
	int known;			/* size, hash, kernels and build_us are valid: the file was built here or is in the cache */
	uint64_t size;			/* bytes */
	uint8_t hash[32];		/* of everything that decides the bytes */
	uint32_t kernels;
	uint64_t build_us;		/* what building it took, microseconds of wall clock */
};

/* What is known of a file without building it; may ask the linker for its version. -ENOENT when there is no such file. */
int tensilefs_stat(struct tensilefs *library, const char *arch, const char *name, struct tensilefs_stat *ret_stat);

struct tensilefs_bytes {
	const void *data;
	size_t size;
	void *owner;			/* the library's */
};

/* The bytes of a file, built if need be. They stay valid and unchanged until they are released, also after tensilefs_close(). */
int tensilefs_get(struct tensilefs *library, const char *arch, const char *name, struct tensilefs_bytes *ret_bytes, char *reason);
void tensilefs_bytes_release(struct tensilefs_bytes *bytes);

/* JSON: which logic files and solutions a file is made of, and why solutions were left out. NUL-terminated, for free(). */
int tensilefs_explain(struct tensilefs *library, const char *arch, const char *name, char **ret_json, char *reason);

#ifdef __cplusplus
}
#endif

#endif
