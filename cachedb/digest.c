/* SPDX-License-Identifier: MIT */
#include "cachedb/digest.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <openssl/evp.h>

static void update(struct digest *digest, const void *bytes, size_t size)
{
	if (!digest->failed && EVP_DigestUpdate(digest->context, bytes, size) != 1)
		digest->failed = true;
}

void digest_init(struct digest *digest, const char *purpose)
{
	digest->context = EVP_MD_CTX_new();
	digest->failed = !digest->context || EVP_DigestInit_ex(digest->context, EVP_sha256(), NULL) != 1;
	digest_string(digest, purpose);
}

void digest_number(struct digest *digest, uint64_t number)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(number >> (8 * i));
	update(digest, bytes, sizeof(bytes));
}

void digest_bytes(struct digest *digest, const void *bytes, size_t size)
{
	digest_number(digest, size);
	update(digest, bytes, size);
}

void digest_string(struct digest *digest, const char *string)
{
	digest_bytes(digest, string, strlen(string));
}

void digest_stat(struct digest *digest, const struct stat *st)
{
	digest_number(digest, st->st_dev);
	digest_number(digest, st->st_ino);
	digest_number(digest, (uint64_t)st->st_size);
	digest_number(digest, (uint64_t)timespec_ns(&st->st_mtim));
	digest_number(digest, (uint64_t)timespec_ns(&st->st_ctim));
}

int digest_file(struct digest *digest, const char *path, struct error *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_buffer_ struct buffer content = { 0 };

	int r = fd < 0 ? -errno : read_to_end(fd, &content);
	if (r < 0)
		return error_set(error, r, "cannot read '%s': %s", path, strerror(-r));
	digest_bytes(digest, content.data, content.size);
	return 0;
}

int digest_finish(struct digest *digest, struct cachedb_key *ret_key)
{
	unsigned size = 0;
	struct cachedb_key key;

	if (digest->failed || EVP_DigestFinal_ex(digest->context, key.bytes, &size) != 1 || size != sizeof(key.bytes))
		return -ENOMEM;
	*ret_key = key;
	return 0;
}

void digest_release(struct digest *digest)
{
	EVP_MD_CTX_free(digest->context);
	digest->context = NULL;
}

char *key_to_text(const struct cachedb_key *key, char *text)
{
	for (size_t i = 0; i < sizeof(key->bytes); i++)
		snprintf(&text[2 * i], 3, "%02x", key->bytes[i]);
	return text;
}
