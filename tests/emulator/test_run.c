/* SPDX-License-Identifier: MIT */
/* The command line of `tensilefs run`: arguments reach the kernel, buffers come from files and go to files, faults give the right status. */
#include "tests/emulator/compile.h"
#include "tools/emulator/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WORDS 512

struct files {
	char folder[64], object[96], in[96], out[96];
};

static void write_bytes(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

static int setup(void **state)
{
	struct files *files = calloc(1, sizeof(*files));
	uint32_t in[WORDS];
	size_t size;
	if (!files)
		return -1;
	strcpy(files->folder, "/tmp/tensilefs-run-XXXXXX");
	if (!mkdtemp(files->folder))
		return -1;
	snprintf(files->object, sizeof(files->object), "%s/k.co", files->folder);
	snprintf(files->in, sizeof(files->in), "%s/in", files->folder);
	snprintf(files->out, sizeof(files->out), "%s/out", files->folder);
	uint8_t *bytes = compile_c_bytes(TENSILEFS_SOURCE "/tests/emulator/kernels/machine.c", "-O2", &size);
	write_bytes(files->object, bytes, size);
	free(bytes);
	for (uint32_t i = 0; i < WORDS; i++)
		in[i] = i * 2654435761u;
	write_bytes(files->in, in, sizeof(in));
	*state = files;
	return 0;
}

static int teardown(void **state)
{
	struct files *files = *state;
	unlink(files->object);
	unlink(files->in);
	unlink(files->out);
	rmdir(files->folder);
	free(files);
	return 0;
}

/* command_run() on "run" and the words, which it may cut up. */
static int run(const char *const *words)
{
	char *argv[16] = { strdup("run") };
	int argc = 1;
	while (words[argc - 1]) {
		argv[argc] = strdup(words[argc - 1]);
		argc++;
	}
	char *owned[16];
	memcpy(owned, argv, sizeof(owned));
	int status = command_run(argc, argv);
	for (int i = 0; i < argc; i++)
		free(owned[i]);
	return status;
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

static void read_words(const char *path, uint32_t *words, size_t n)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(words, sizeof(*words), n, file), n);
	assert_int_equal(fgetc(file), EOF);
	fclose(file);
}

static void test_files(void **state)
{
	const struct files *files = *state;
	char out[128], in[128];
	uint32_t words[WORDS];
	snprintf(out, sizeof(out), "buf:2K:out=%s", files->out);
	snprintf(in, sizeof(in), "buf:2K:@%s:read", files->in);
	assert_int_equal(RUN(files->object, "lds_reverse", "--grid", "2", "--block", "256", "--threads", "2", "--stats", out, in), 0);
	read_words(files->out, words, WORDS);
	for (uint32_t i = 0; i < WORDS; i++)
		assert_int_equal(words[i], (i / 256 * 256 + 255 - i % 256) * 2654435761u);
}

/* Scalars at their natural offsets, and at given ones: buffers(out, in, bytes, soffset). */
static void test_scalars(void **state)
{
	const struct files *files = *state;
	char out[128], in[128];
	uint32_t first[4], second[4];
	snprintf(out, sizeof(out), "buf:16:byte=0xcc:out=%s:print=u32", files->out);
	snprintf(in, sizeof(in), "buf:16:u32=7");
	assert_int_equal(RUN(files->object, "buffers", out, in, "u32:16", "u32:0"), 0);
	read_words(files->out, first, 4);
	assert_int_equal(first[1] & 0xffff, 7);		/* in[1] ^ a byte of it, which is 0 */
	assert_int_equal(first[2], 14);
	assert_int_equal(first[3], 7);
	assert_int_equal(RUN(files->object, "buffers", "20=u32:0", "16=u32:16", "0=buf:16:zero", "8=buf:16:u32=7"), 0);
	snprintf(out, sizeof(out), "0=buf:16:byte=0xcc:out=%s", files->out);
	assert_int_equal(RUN(files->object, "buffers", "20=u32:0", "16=u32:16", out, "8=buf:16:u32=7"), 0);
	read_words(files->out, second, 4);
	assert_memory_equal(first, second, sizeof(first));
}

static void test_faults(void **state)
{
	const struct files *files = *state;
	assert_int_equal(RUN("--stats"), 2);
	assert_int_equal(RUN(files->object, "--grid", "x"), 2);
	assert_int_equal(RUN(files->object, "--no-such-option"), 2);
	assert_int_equal(RUN(files->object), 0);				/* the list */
	assert_int_equal(RUN("/nonexistent"), 1);
	assert_int_equal(RUN(files->in), 1);					/* no object */
	assert_int_equal(RUN(files->object, "nobody"), 1);
	assert_int_equal(RUN(files->object, "lds_reverse", "buf:1K"), 1);	/* the second pointer is missing */
	assert_int_equal(RUN(files->object, "lds_reverse", "--block", "256", "buf:1K", "buf:1023:read"), 1);	/* one byte short */
	assert_int_equal(RUN(files->object, "lds_reverse", "--block", "256", "buf:1K", "buf:1K:read"), 0);
	assert_int_equal(RUN(files->object, "lds_reverse", "u8:256"), 1);
	assert_int_equal(RUN(files->object, "lds_reverse", "u8"), 1);
	assert_int_equal(RUN(files->object, "lds_reverse", "f99:1"), 1);
	assert_int_equal(RUN(files->object, "lds_reverse", "buf:8:what"), 1);
	assert_int_equal(RUN(files->object, "lds_reverse", "9999=u32:1"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_files), cmocka_unit_test(test_scalars), cmocka_unit_test(test_faults) };
	if (!compile_available())
		return 77;
	return cmocka_run_group_tests(tests, setup, teardown);
}
