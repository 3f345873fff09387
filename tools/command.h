/* SPDX-License-Identifier: MIT */
/*
 * The commands of `tensilefs`. Each gets argv from its own name on and returns the exit status: 0, 1 when something failed, 2 when
 * it was called wrongly. Only this layer prints: results to stdout, "tensilefs: ..." to stderr.
 */
#pragma once

#include "base/error.h"
#include "build/engine/engine.h"

enum { EXIT_USAGE = 2 };

int command_mount(int argc, char **argv);
int command_mount_helper(int argc, char **argv);	/* as mount(8) calls mount.fuse.tensilefs */
int command_build(int argc, char **argv);
int command_ls(int argc, char **argv);
int command_show(int argc, char **argv);
int command_hash(int argc, char **argv);
int command_asm(int argc, char **argv);
int command_coverage(int argc, char **argv);
int command_check(int argc, char **argv);
int command_verify(int argc, char **argv);
int command_cache(int argc, char **argv);
int command_status(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_caps(int argc, char **argv);

/* ---- what commands share ---------------------------------------------------------------------------------------------- */

PRINTF_LIKE(1, 2) void complain(const char *format, ...);

/* The exit status at the end of a command: `status`, unless what it printed could not be written, which is complained about. */
int end_output(int status);

/*
 * A decimal number from `least` to `most`, with an optional suffix K, M, G or T (powers of 1024). Complains about others, of
 * `what`: "--jobs".
 */
int parse_number(const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *ret_number);

/* Options; a command takes those in its mask, before, between and after its other arguments. */
enum {
	OPTION_ARCH = 1 << 0,		/* --arch A */
	OPTION_JOBS = 1 << 1,		/* -j N, --jobs N */
	OPTION_CACHE = 1 << 2,		/* --cache DIR, --no-cache, --cache-size BYTES, --cache-min-free SIZE */
	OPTION_OUTPUT = 1 << 3,		/* --bundle, --names, --library, --layout ...: what decides the files and their bytes */
	OPTION_METADATA = 1 << 4,	/* --metadata-only, --fail-fast */
	OPTION_JSON = 1 << 5,		/* --json */
	OPTION_MOUNT = 1 << 6,		/* -f, -o */
	OPTION_CUSTOM = 1 << 7,		/* --custom-kernels, which is also among OPTION_OUTPUT */
	OPTION_CARE = 1 << 8,		/* --repair, --rebuild: of the cache */
	OPTION_TRACE = 1 << 9,		/* --trace FILE */
	OPTION_ONCE = 1 << 10,		/* --once */
	OPTION_MEMORY = 1 << 11,	/* --memory SIZE */
};

struct options {
	struct engine_options engine;
	const char *arch, *trace;
	bool no_cache, fail_fast, json, once, foreground, repair;
	const char *rebuild;		/* logic to compare the cache with, or NULL */
	struct buffer mount;		/* all -o, joined with commas and NUL-terminated; or empty */
	char *default_cache;
};

void options_release(struct options *options);
#define _cleanup_options_ _cleanup_(options_release)

/*
 * Parses options and moves the other arguments to the end, as getopt does: they are argv[optind] ... argv[argc - 1], and there are
 * `least` to `most` of them. Complains and returns -EINVAL otherwise. For --help it prints `usage`, of which further lines are seen
 * only then, with what each accepted option means, and ends the program. Fills in the default cache, $XDG_CACHE_HOME/tensilefs or
 * ~/.cache/tensilefs, with OPTION_CACHE.
 */
int options_parse(int argc, char **argv, unsigned accepted, int least, int most, const char *usage, struct options *ret_options);

/* One setting by its long name, for -o too. -ENOENT: not a setting; -EINVAL: a value that is not possible (complained). */
int options_set(struct options *options, const char *name, const char *value);

/* Begins the trace, if one is wanted, for the engines that are opened then. options_release() ends it, so after engine_unref(). */
int begin_trace(struct options *options);

/* An engine on the logic, with warnings and the faults of single files complained about. Returns how many faults in ret_faults. */
int open_engine(const struct options *options, const char *logic, struct engine **ret_engine, size_t *ret_faults);
DEFINE_CLEANUP(struct engine *, engine_unref)

/* Calls back for every file, or those named `name` (NULL: all) of `arch` (NULL: all). Stops at the first failure. */
int foreach_file(struct engine *engine, const char *arch, const char *name, int (*callback)(void *userdata, struct engine_file *file),
		 void *userdata, size_t *ret_n);
