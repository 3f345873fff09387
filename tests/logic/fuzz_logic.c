/* SPDX-License-Identifier: MIT */
/*
 * Fuzz driver of the logic reader: any bytes may be a logic file, and all they may do is to be read or refused.
 *
 *     fuzz_logic                 a fixed number of mutations of the sample's files from a fixed seed: the regression test
 *     fuzz_logic N SEED          N mutations from a seed
 *     fuzz_logic FILE...         these files as they are (finds of earlier runs)
 *
 * With clang, -fsanitize=fuzzer and -DLIBFUZZER the same function is driven by libFuzzer. Run with address and undefined
 * sanitizers.
 */
#include "build/logic/logic.h"
#include "build/logic/tree_build.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int keep(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	return params->depth_u % 3 ? 0 : -EOPNOTSUPP;
}

static void use_library(struct logic_library *library)
{
	_cleanup_(buffer_release) struct buffer dat = { 0 };
	size_t n, n_kernels;
	const struct logic_solution *solutions = logic_solutions(library, &n);
	const size_t *kernels = logic_kernels(library, &n_kernels);

	for (size_t i = 0; i < n_kernels; i++)
		if (kernels[i] >= n || !*solutions[kernels[i]].kernel_name)
			abort();
	if (logic_write_dat(library, &dat) < 0 || !dat.size)
		abort();
	logic_library_unref(library);
}

static void use_catalog(struct logic_catalog *catalog)
{
	for (size_t i = 0; i < catalog->n_bases; i++)
		for (int names = LOGIC_NAMES_STABLE; names <= LOGIC_NAMES_TENSILE; names++) {
			struct logic_options options = { .names = names, .filter = names == LOGIC_NAMES_STABLE ? keep : NULL };
			struct logic_library *library;
			struct error error = { 0 };
			int r = logic_load(catalog, &catalog->bases[i], &options, &library, &error);
			if (r == 0)
				use_library(library);
			else if (r != -ENOMEM && !error.text[0])
				abort();	/* every refusal says why */
		}
	for (size_t i = 0; i < catalog->n_archs; i++) {
		_cleanup_(buffer_release) struct buffer dat = { 0 };
		logic_write_master(catalog, catalog->archs[i], &dat);
	}
}

static void compare_trees(const struct yaml_node *a, const struct yaml_node *b)
{
	if (a->kind != b->kind || a->plain != b->plain || a->line != b->line || a->n != b->n || !a->key != !b->key ||
	    (a->key && strcmp(a->key->text, b->key->text) != 0) || !a->next != !b->next)
		abort();
	if (a->kind == YAML_SCALAR) {
		if (strcmp(a->text, b->text) != 0)
			abort();
		return;
	}
	for (a = a->first, b = b->first; a; a = a->next, b = b->next)
		compare_trees(a, b);
}

/* What the fast reader accepts has the same tree by libyaml's events. */
static void compare_readers(const uint8_t *bytes, size_t size)
{
	_cleanup_yaml_ struct yaml plain = { .path = "f.yaml" }, events = { .path = "f.yaml" };
	_cleanup_free_ char *text = malloc(size + 1);
	struct error error = { 0 };

	if (size)
		memcpy(text, bytes, size);
	text[size] = 0;
	if (yaml_parse_plain(&plain, text, size) < 0)
		return;
	if (yaml_parse_events(&events, -1, text, size, YAML_WHOLE, &error) < 0) {
		fprintf(stderr, "only the fast reader accepts: %s\n", error.text);
		abort();
	}
	compare_trees(plain.root, events.root);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char path[64];
	struct logic_catalog *catalog;
	struct error error = { 0 };

	compare_readers(bytes, size);
	if (!*path)
		snprintf(path, sizeof(path), "/tmp/fuzz-logic-%d.yaml", getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || close(fd) < 0)
		abort();
	int r = logic_scan(path, &catalog, &error);
	if (r == 0) {
		use_catalog(catalog);
		logic_catalog_unref(catalog);
	} else if (r != -ENOMEM && !error.text[0]) {
		abort();
	}
	unlink(path);
	return 0;
}

#ifndef LIBFUZZER
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;		/* xorshift64 */
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int load_bytes(const char *path, struct buffer *ret_bytes)
{
	uint8_t chunk[65536];
	ssize_t n;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buffer_append(ret_bytes, chunk, (size_t)n);
	return n < 0 ? -errno : ret_bytes->failed ? -ENOMEM : 0;
}

/* The range of a line that begins at or before `at`. */
static void find_line(const struct buffer *bytes, size_t at, size_t *ret_from, size_t *ret_to)
{
	size_t from = at, to = at;

	while (from > 0 && bytes->data[from - 1] != '\n')
		from--;
	while (to < bytes->size && bytes->data[to] != '\n')
		to++;
	*ret_from = from;
	*ret_to = MIN(to + 1, bytes->size);
}

static void exchange(struct buffer *bytes, size_t from, size_t to, const void *with, size_t size)
{
	_cleanup_(buffer_release) struct buffer old = *bytes;

	*bytes = (struct buffer){ 0 };
	buffer_append(bytes, old.data, from);
	buffer_append(bytes, with, size);
	buffer_append(bytes, old.data + to, old.size - to);
}

static void mutate(struct buffer *bytes, uint64_t *state)
{
	static const char *const words[] = {
		"0", "-1", "99999999999", "4294967296", "-2147483648", "[]", "{}", "null", "''", "true", "1.5", "nan", "[1, 2", "&a", "*a",
		"- ", "? ", ": ", "\t", "\n", "!!int", "|", ">", "%", "\xff", "\xef\xbb\xbf", "[0, 0, 0, 0, 0, 0]", "[1]", "1e400", "0x7f",
	};
	size_t at = next_random(state) % MAX(bytes->size, 1), from, to;
	const char *word = words[next_random(state) % ARRAY_SIZE(words)];

	if (!bytes->size)
		return;
	find_line(bytes, at, &from, &to);
	switch (next_random(state) % 7) {
	case 0:		/* a bit */
		bytes->data[at] ^= 1u << next_random(state) % 8;
		break;
	case 1:		/* a line goes */
		exchange(bytes, from, to, "", 0);
		break;
	case 2: {	/* a line comes twice */
		_cleanup_(buffer_release) struct buffer line = { 0 };
		buffer_append(&line, bytes->data + from, to - from);
		exchange(bytes, from, from, line.data, line.size);
		break;
	}
	case 3:		/* the file ends */
		bytes->size = at;
		break;
	case 4:		/* a word comes in */
		exchange(bytes, at, at, word, strlen(word));
		break;
	default: {	/* a value changes */
		uint8_t *colon = memchr(bytes->data + from, ':', to - from);
		if (colon && to > from && bytes->data[to - 1] == '\n')
			exchange(bytes, (size_t)(colon - bytes->data) + 2 > to - 1 ? to - 1 : (size_t)(colon - bytes->data) + 2, to - 1, word,
			       strlen(word));
	}
	}
}

static int run_mutations(unsigned long n, uint64_t seed)
{
	static const char *const files[] = {
		"Equality/sample_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml",
		"FreeSize/sample_Cijk_Ailk_Bljk_HHS_BH_Bias_GG_HAS_SAV_UserArgs.yaml",
		"GridBased/sample_Cijk_Alik_Bjlk_F8H_HHS_BH_SAB_UserArgs.yaml",
		"GridBased/sample_Cijk_Ailk_Bjlk_SB_Bias_HAS_SAV_UserArgs.yaml",
	};
	uint64_t state = seed | 1;

	for (unsigned long i = 0; i < n; i++) {
		_cleanup_(buffer_release) struct buffer bytes = { 0 };
		char path[1024];
		snprintf(path, sizeof(path), "%s/samples/logic/gfx942/%s", getenv("SOURCE_ROOT") ? getenv("SOURCE_ROOT") : ".",
			 files[i % ARRAY_SIZE(files)]);
		int r = load_bytes(path, &bytes);
		if (r < 0) {
			fprintf(stderr, "cannot read '%s': %s\n", path, strerror(-r));
			return 1;
		}
		for (uint64_t k = 1 + next_random(&state) % 4; k > 0; k--)
			mutate(&bytes, &state);
		LLVMFuzzerTestOneInput(bytes.data, bytes.size);
	}
	printf("%lu mutations\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 1)
		return run_mutations(1500, 0x1d872b41);
	if (argc == 3 && strspn(argv[1], "0123456789") == strlen(argv[1]))
		return run_mutations(strtoul(argv[1], NULL, 10), strtoull(argv[2], NULL, 0));
	for (int i = 1; i < argc; i++) {
		_cleanup_(buffer_release) struct buffer bytes = { 0 };
		if (load_bytes(argv[i], &bytes) < 0)
			return 1;
		LLVMFuzzerTestOneInput(bytes.data, bytes.size);
	}
	return 0;
}
#endif
