/* SPDX-License-Identifier: MIT */
/* What the tests of the logic reader share: files of the sample, temporary folders, edited copies. Failures end the test. */
#pragma once

#include "build/logic/logic.h"
#include "tests/common/files.h"

/* "<source root>/<relative>"; malloc memory. The source root comes from the environment variable SOURCE_ROOT. */
char *source_path(const char *relative);

/* A new folder (tests/common/scratch.h); remove_folder() deletes it with its contents. */
char *make_folder(void);
void remove_folder(char *folder);

/* Writes folder/name, making the folders in between. */
void write_file(const char *folder, const char *name, const void *bytes, size_t size);

/* A copy of `text` in which the first `old` is `new`; `old` has to be there. Frees `text`. */
char *replace(char *text, const char *old, const char *new);

/* The text of a sample file under samples/logic. */
char *sample(const char *relative);

/* Scans a folder that is known to be sound. */
struct logic_catalog *scan(const char *folder);

const struct logic_base *find_base(const struct logic_catalog *catalog, const char *name);

/* Lower-case hex SHA-256. */
void sha256(const void *bytes, size_t size, char ret_hex[65]);

/* The text has both. */
void expect_words(const char *text, const char *first, const char *second);
