/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 over a sequence of values. Every value is preceded by its length or has a fixed one, so that no two sequences give the
 * same stream of bytes. Integers are little endian.
 *
 *     _cleanup_(digest_release) struct digest digest = { 0 };
 *     digest_init(&digest, "what the key is for");
 *     digest_string(&digest, name);
 *     digest_number(&digest, kind);
 *     r = digest_finish(&digest, &key);                     // -ENOMEM when any step failed
 */
#pragma once

#include "cachedb/cachedb.h"

#include <stdbool.h>

struct digest {
	void *context;		/* EVP_MD_CTX */
	bool failed;
};

void digest_init(struct digest *digest, const char *purpose);
void digest_bytes(struct digest *digest, const void *bytes, size_t size);
void digest_string(struct digest *digest, const char *string);
void digest_number(struct digest *digest, uint64_t number);

/* What tells an unchanged file from a changed one without reading it: device, inode, size, modification and change time. */
struct stat;
void digest_stat(struct digest *digest, const struct stat *st);

/* The content of a file, without its name. A message, and what open() and read() say. */
int digest_file(struct digest *digest, const char *path, struct error *error);

int digest_finish(struct digest *digest, struct cachedb_key *ret_key);
void digest_release(struct digest *digest);

#define KEY_TEXT_SIZE (2 * sizeof(struct cachedb_key) + 1)

/* As hexadecimal digits. Returns `text`, which has room for KEY_TEXT_SIZE bytes. */
char *key_to_text(const struct cachedb_key *key, char *text);

/* Its first bytes as a number, where a short one will do. */
static inline uint64_t key_number(const struct cachedb_key *key)
{
	uint64_t number;

	memcpy(&number, key->bytes, sizeof(number));
	return number;
}

static inline bool key_equal(const struct cachedb_key *a, const struct cachedb_key *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
