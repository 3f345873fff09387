/* SPDX-License-Identifier: MIT */
/*
 * Two packages side by side: what differs, where, and whether that was to be expected.
 *
 *     struct report report = { .json = json };
 *     r = compare_folders(&report, "a", "b", &error);       // prints differences as they are found, or collects them for JSON
 *     report_finish(&report);                               // prints the rest
 *     if (report.n_differences) ...
 *
 * Expected is what two builds of the same kernels may differ in, whatever made them, and nothing at run time looks at:
 *     - the build id, and whether there is one
 *     - labels with a random part: where upstream needs a name that is not taken (LabelManager.getUniqueName and getUniqueNamePrefix), it has 16 random
 *       characters of A-Z and 0-9, between underscores or at an end of the name. They stand in .strtab, as names of local symbols
 *     - the symbol __hip_cuid_..., which clang makes of the path of a HIP source file, and where names are hashed
 *     - a code object that is bundled in one and bare in the other, or compressed
 *     - folders and order in TensileManifest.txt: the paths are those of the machine that built it
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <json-c/json.h>

struct report {
	bool json;
	const char *file;		/* that is being compared */
	size_t n_differences, n_files;
	struct json_object *list;	/* of differences */
	struct expected {
		const char *what;	/* static memory */
		const char *file;	/* the last that has it, to count each once */
		size_t n_files;
	} expected[8];
	size_t n_expected;
};

/* A difference. `section` and `kernel` may be NULL; a kernel's name has `length` bytes. */
PRINTF_LIKE(5, 6) void report_difference(struct report *report, const char *section, const char *kernel, size_t length, const char *format, ...);
void report_expected(struct report *report, const char *what);
bool report_is_expected(const struct report *report);	/* has the file something that was expected? */
void report_finish(struct report *report);

/* -ENOENT, -EACCES ...: trouble that keeps folders or files from being read. */
int compare_folders(struct report *report, const char *a, const char *b, struct error *error);

/* ---- kinds of files; -ENOMEM and -EBADMSG with what is wrong ------------------------------------------------------------ */

struct bytes {
	const uint8_t *data;
	size_t size;
};

int compare_code_objects(struct report *report, const struct bytes *a, const struct bytes *b, struct error *error);	/* bundles or bare */
int compare_msgpack(struct report *report, const char *section, const struct bytes *a, const struct bytes *b);
int compare_lists(struct report *report, const struct bytes *a, const struct bytes *b);				/* TensileManifest.txt */
void compare_texts(struct report *report, const struct bytes *a, const struct bytes *b);				/* the first line that differs */
void compare_bytes(struct report *report, const char *section, const struct bytes *a, const struct bytes *b);	/* the first byte that does */

static inline bool same_bytes(const struct bytes *a, const struct bytes *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}
