/* SPDX-License-Identifier: MIT */
#include "tests/logic/common.h"

#include "tests/common/scratch.h"

#include <openssl/evp.h>
#include <sys/stat.h>

char *source_path(const char *relative)
{
	const char *root = getenv("SOURCE_ROOT");
	char *path;

	assert_non_null(root);
	assert_true(asprintf(&path, "%s/%s", root, relative) > 0);
	return path;
}

char *make_folder(void)
{
	char *folder = folder_make();

	assert_non_null(folder);
	return folder;
}

void remove_folder(char *folder)
{
	assert_int_equal(folder_remove(folder), 0);
}

void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(path);
}

char *replace(char *text, const char *old, const char *new)
{
	char *place = strstr(text, old), *result;

	assert_non_null(place);
	assert_true(asprintf(&result, "%.*s%s%s", (int)(place - text), text, new, place + strlen(old)) >= 0);
	free(text);
	return result;
}

char *sample(const char *relative)
{
	char *name, *path;

	assert_true(asprintf(&name, "samples/logic/%s", relative) > 0);
	path = source_path(name);
	char *text = read_text(path, NULL);
	free(name);
	free(path);
	return text;
}

struct logic_catalog *scan(const char *folder)
{
	struct logic_catalog *catalog;
	struct error error = { 0 };

	int r = logic_scan(folder, &catalog, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
	return catalog;
}

const struct logic_base *find_base(const struct logic_catalog *catalog, const char *name)
{
	for (size_t i = 0; i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].name, name) == 0)
			return &catalog->bases[i];
	fail_msg("no base '%s'", name);
	return NULL;
}

void sha256(const void *bytes, size_t size, char ret_hex[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;

	assert_true(EVP_Digest(bytes, size, digest, &length, EVP_sha256(), NULL));
	for (unsigned i = 0; i < 32; i++)
		sprintf(ret_hex + 2 * i, "%02x", digest[i]);
}

void expect_words(const char *text, const char *first, const char *second)
{
	if (!strstr(text, first) || !strstr(text, second))
		fail_msg("'%s' lacks '%s' or '%s'", text, first, second);
}
