/* SPDX-License-Identifier: MIT */
/*
 * Fuzz driver of bundle_read(). Built with -DFUZZ_WITH_LIBFUZZER and clang -fsanitize=fuzzer it searches; built plainly it is a regression
 * test: it reads the files that are named (finds that are kept as assets), then a fixed number of mutations of good bundles, always the
 * same ones. Memory errors are for the sanitizers to see; what is checked here is the contract: a known error code and nothing handed out,
 * or bytes.
 */
#include "build/object/object.h"

#include <elf.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer elf = { 0 };
	struct error error = { 0 };
	int r = bundle_read(data, size, "gfx942", &elf, &error);

	if (r == 0) {
		buffer_release(&elf);
		return 0;
	}
	if (elf.data || (r != -ENOEXEC && r != -EBADMSG && r != -ENOENT && r != -EFBIG) || !error.text[0])
		abort();
	return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER

#define ROUNDS 20000

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* A few bytes, a number with interesting bits, or the length; most of it in the headers, where the format is. */
static void mutate(struct buffer *bytes, uint64_t *state)
{
	static const uint64_t numbers[] = { 0, 1, 2, 3, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, UINT64_MAX - 7 };

	for (unsigned n = 1 + next_random(state) % 4; n && bytes->size; n--) {
		size_t reach = next_random(state) % 8 ? MIN(bytes->size, 140u) : bytes->size;
		size_t at = next_random(state) % reach;
		uint64_t number = numbers[next_random(state) % ARRAY_SIZE(numbers)];
		switch (next_random(state) % 8) {
		case 0:
			bytes->size = at;
			break;
		case 1:
		case 2:
			memcpy(bytes->data + at, &number, MIN(sizeof(number), bytes->size - at));
			break;
		default:
			bytes->data[at] = (uint8_t)next_random(state);
		}
	}
}

static int fuzz_from(const struct buffer *seed, uint64_t state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		/* an allocation of exact size, so that a read beyond its end is seen */
		struct buffer copy = { .data = malloc(seed->size), .size = seed->size };
		if (!copy.data)
			return -ENOMEM;
		memcpy(copy.data, seed->data, seed->size);
		mutate(&copy, &state);
		uint8_t *exact = malloc(MAX(copy.size, 1u));
		if (exact) {
			memcpy(exact, copy.data, copy.size);
			LLVMFuzzerTestOneInput(exact, copy.size);
		}
		free(exact);
		free(copy.data);
	}
	return 0;
}

static int fuzz_mutations(void)
{
	uint8_t elf[3000] = ELFMAG;

	for (size_t i = SELFMAG; i < sizeof(elf); i++)
		elf[i] = (uint8_t)(i * i >> 5);
	for (int kind = BUNDLE_PLAIN; kind <= BUNDLE_COMPRESSED; kind++) {
		_cleanup_buffer_ struct buffer seed = { 0 };
		if (bundle_write(kind, "gfx942", elf, sizeof(elf), &seed) < 0 || fuzz_from(&seed, (uint64_t)kind) < 0)
			return 1;
	}
	return 0;
}

static int read_asset(const char *path)
{
	_cleanup_buffer_ struct buffer bytes = { 0 };
	uint8_t part[4096];
	size_t n;
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(stderr, "cannot open '%s': %s\n", path, strerror(errno));
		return 1;
	}
	while ((n = fread(part, 1, sizeof(part), file)))
		buffer_append(&bytes, part, n);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes.data, bytes.size);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (read_asset(argv[i]))
			return 1;
	return fuzz_mutations();
}

#endif
