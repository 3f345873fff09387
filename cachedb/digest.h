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
int digest_finish(struct digest *digest, struct cachedb_key *ret_key);
void digest_release(struct digest *digest);

#define KEY_TEXT_SIZE (2 * sizeof(struct cachedb_key) + 1)

/* As hexadecimal digits. Returns `text`, which has room for KEY_TEXT_SIZE bytes. */
char *key_to_text(const struct cachedb_key *key, char *text);

static inline bool key_equal(const struct cachedb_key *a, const struct cachedb_key *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}
