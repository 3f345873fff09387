/* SPDX-License-Identifier: MIT */
/*
 * A program that uses libtensilefs: opens a library, lists it, and gets the bytes of one file.
 *
 *     cc -o library library.c $(pkg-config --cflags --libs tensilefs)
 *     ./library LOGIC                   the files, and what is known of each without building it
 *     ./library LOGIC ARCH FILE         writes the file's bytes to standard output, and tells on standard error what it is made of
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tensilefs/tensilefs.h>

struct listing {
	struct tensilefs *library;
	const char *arch;
};

static int print_file(void *userdata, const char *name)
{
	const struct listing *listing = userdata;
	struct tensilefs_stat stat;

	int r = tensilefs_stat(listing->library, listing->arch, name, &stat);
	if (r < 0)
		return r;
	if (stat.known)
		printf("%10" PRIu64 " bytes, %3" PRIu32 " kernels  %s/%s\n", stat.size, stat.kernels, listing->arch, name);
	else
		printf("                 not built  %s/%s\n", listing->arch, name);
	return 0;
}

static int list(struct tensilefs *library)
{
	struct listing listing = { .library = library };
	int r = 0;

	for (size_t i = 0; r == 0 && (listing.arch = tensilefs_arch(library, i)); i++)
		r = tensilefs_foreach(library, listing.arch, print_file, &listing);
	return r;
}

static int print_bytes(struct tensilefs *library, const char *arch, const char *name, char *reason)
{
	struct tensilefs_bytes bytes;
	char *json;

	int r = tensilefs_explain(library, arch, name, &json, reason);
	if (r < 0)
		return r;
	fprintf(stderr, "%s\n", json);
	free(json);
	r = tensilefs_get(library, arch, name, &bytes, reason);		/* builds it when need be */
	if (r < 0)
		return r;
	fwrite(bytes.data, 1, bytes.size, stdout);
	tensilefs_bytes_release(&bytes);
	return 0;
}

int main(int argc, char **argv)
{
	struct tensilefs_options options = { .logic = argv[1], .cache = getenv("EXAMPLE_CACHE") };
	char reason[TENSILEFS_REASON] = "";
	struct tensilefs *library;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: %s LOGIC [ARCH FILE]\n", argv[0]);
		return 2;
	}
	int r = tensilefs_open(&options, &library, reason);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], reason);
		return 1;
	}
	r = argc == 2 ? list(library) : print_bytes(library, argv[2], argv[3], reason);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", argv[1], *reason ? reason : strerror(-r));
	tensilefs_close(library);
	return r < 0;
}
