/* SPDX-License-Identifier: MIT */
#include "tests/engine/common.h"

#include <pthread.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* ---- bytes ------------------------------------------------------------------------------------------------------------ */

/* All files of two engines are equal, byte by byte, and have the same hashes. */
static void must_be_equal(struct engine *a, struct engine *b)
{
	assert_int_equal(engine_n_files(a, 0), engine_n_files(b, 0));
	for (size_t i = 0; i < engine_n_files(a, 0); i++) {
		_cleanup_(artifact_unref_p) struct artifact *x = get(a, engine_file(a, 0, i)), *y = get(b, engine_file(b, 0, i));
		assert_string_equal(engine_file_name(engine_file(a, 0, i)), engine_file_name(engine_file(b, 0, i)));
		assert_memory_equal(&x->hash, &y->hash, sizeof(x->hash));
		assert_int_equal(x->size, y->size);
		assert_memory_equal(x->data, y->data, x->size);
	}
}

static void test_bytes_do_not_depend_on_workers_cache_or_place(void **state)
{
	struct engine *one = open_engine(&(struct engine_options){ .logic = sample_logic(), .bundle = BUNDLE_PLAIN, .jobs = 1 });
	struct engine *four = open_engine(&(struct engine_options){
		.logic = copy_logic(state, "elsewhere", 0), .bundle = BUNDLE_PLAIN, .jobs = 4, .cache = in_scratch(state, "cache") });

	must_be_equal(one, four);
	engine_unref(one);
	engine_unref(four);
}

static int add_name(void *userdata, const char *name)
{
	buffer_printf(userdata, "%s\n", name);
	return 0;
}

/* Names of the kernels of all code objects, a line each. */
static char *all_kernels(struct engine *engine)
{
	struct buffer names = { 0 };

	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		if (engine_file_kind(engine_file(engine, 0, i)) == ENGINE_CODE_OBJECT)
			assert_int_equal(engine_foreach_kernel(engine, engine_file(engine, 0, i), add_name, &names, NULL), 0);
	buffer_append(&names, "", 1);
	assert_false(names.failed);
	return (char *)names.data;
}

static void test_a_whole_library_has_the_kernels_of_its_parts(void **state)
{
	struct engine_options options = { .logic = copy_logic(state, "logic", 5), .bundle = BUNDLE_NONE, .jobs = 2 };
	struct engine *lazy = open_engine(&options);
	options.library = ENGINE_LIBRARY_SEPARATE;
	struct engine *separate = open_engine(&options);
	_cleanup_free_ char *parts = all_kernels(lazy), *whole = all_kernels(separate);
	unsigned n = 0;

	assert_int_equal(strlen(parts), strlen(whole));
	for (char *line = strtok(parts, "\n"); line; line = strtok(NULL, "\n"), n++)
		assert_non_null(strstr(whole, line));
	struct engine_file *object = engine_lookup(separate, "gfx942", "TensileLibrary_gfx942.co");
	_cleanup_(artifact_unref_p) struct artifact *artifact = get(separate, object);
	assert_int_equal(artifact->items, n);
	assert_non_null(memmem(artifact->data, artifact->size, whole, strcspn(whole, "\n")));
	_cleanup_(artifact_unref_p) struct artifact *metadata = get(separate, engine_lookup(separate, "gfx942", "TensileLibrary_gfx942.dat"));
	for (char *line = strtok(whole, "\n"); line; line = strtok(NULL, "\n"))
		assert_non_null(memmem(metadata->data, metadata->size, line, strlen(line)));
	_cleanup_(artifact_unref_p) struct artifact *manifest = get(separate, engine_lookup(separate, "gfx942", "TensileManifest.txt"));
	static const char files[] = "TensileLibrary_gfx942.dat\nKernels.so-000-gfx942.hsaco\nTensileLibrary_gfx942.co\n";
	assert_int_equal(manifest->size, strlen(files));
	assert_memory_equal(manifest->data, files, strlen(files));
	engine_unref(separate);
	engine_unref(lazy);
}

static void test_a_merged_library_has_only_what_is_served(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);

	assert_int_equal(shell("cp -r '%s/../../tests/assets/logic/archs/gfx90a' '%s'", sample_logic(), logic), 0);
	struct engine *engine = open_engine(&(struct engine_options){ .logic = logic, .jobs = 1, .library = ENGINE_LIBRARY_MERGED });
	assert_int_equal(engine_n_archs(engine), 1);
	_cleanup_(artifact_unref_p) struct artifact *artifact = get(engine, engine_lookup(engine, "gfx942", "TensileLibrary.dat"));
	assert_non_null(memmem(artifact->data, artifact->size, "gfx942", 6));
	assert_null(memmem(artifact->data, artifact->size, "gfx90a", 6));
	engine_unref(engine);
}

static void test_a_second_engine_builds_and_parses_nothing(void **state)
{
	struct engine_options options = {
		.logic = copy_logic(state, "logic", 4), .bundle = BUNDLE_PLAIN, .jobs = 2, .cache = in_scratch(state, "cache") };

	usleep(50000);			/* logic that changed this very moment is not remembered */
	struct engine *first = open_engine(&options);
	struct engine *plain = open_engine(&(struct engine_options){ .logic = options.logic, .bundle = BUNDLE_PLAIN, .jobs = 1 });
	must_be_equal(first, plain);
	assert_int_equal(status_number(first, "built", "builds"), engine_n_files(first, 0));
	engine_unref(first);

	struct engine *second = open_engine(&options);
	must_be_equal(second, plain);
	assert_int_equal(status_number(second, "built", "builds"), 0);
	assert_int_equal(status_number(second, "built", "plans"), 0);
	assert_int_equal(status_number(second, "cache", "disk_hits"), engine_n_files(second, 0));
	engine_unref(second);
	engine_unref(plain);
}

static void test_what_is_in_the_cache_is_known_without_building(void **state)
{
	struct engine_options options = {
		.logic = copy_logic(state, "logic", 2), .bundle = BUNDLE_PLAIN, .jobs = 2, .cache = in_scratch(state, "cache") };
	struct engine_stat stat;

	usleep(50000);
	struct engine *engine = open_engine(&options);
	struct engine_file *file = first_of_kind(engine, ENGINE_METADATA);
	engine_stat(engine, file, &stat);
	assert_false(stat.known);
	assert_int_equal(stat.state, ENGINE_UNBUILT);
	struct artifact *artifact = get(engine, file);
	size_t size = artifact->size;
	struct cachedb_key hash = artifact->hash;
	artifact_unref(artifact);
	engine_unref(engine);

	engine = open_engine(&options);
	engine_stat(engine, first_of_kind(engine, ENGINE_METADATA), &stat);
	assert_true(stat.known);
	assert_int_equal(stat.state, ENGINE_BUILT);
	assert_int_equal(stat.size, size);
	assert_memory_equal(&stat.hash, &hash, sizeof(hash));
	assert_int_equal(status_number(engine, "built", "builds"), 0);
	engine_unref(engine);
}

/* ---- single flight ---------------------------------------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	struct engine *engine;
	struct engine_file *file;
	struct artifact *artifact;
};

static void *read_file(void *userdata)
{
	struct reader *reader = userdata;

	if (engine_get(reader->engine, reader->file, &reader->artifact, NULL) < 0)
		reader->artifact = NULL;
	return NULL;
}

static void test_readers_of_one_file_share_one_build(void **state)
{
	char body[512];
	snprintf(body, sizeof(body), "echo x >> '%s'\nsleep 0.3\nexec %s \"$@\"", in_scratch(state, "count"), real_linker());
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = copy_logic(state, "logic", 2), .bundle = BUNDLE_PLAIN, .jobs = 4, .linker = make_linker(state, "slow-lld", body) });
	struct reader readers[16];

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		readers[i] = (struct reader){ .engine = engine, .file = first_of_kind(engine, ENGINE_CODE_OBJECT) };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_file, &readers[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		pthread_join(readers[i].thread, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		assert_non_null(readers[i].artifact);
		assert_ptr_equal(readers[i].artifact, readers[0].artifact);
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		artifact_unref(readers[i].artifact);
	assert_int_equal(status_number(engine, "built", "builds"), 1);
	engine_unref(engine);
	_cleanup_free_ char *count = read_text(in_scratch(state, "count"), NULL);
	assert_string_equal(count, "x\n");
}

/* ---- linkers ---------------------------------------------------------------------------------------------------------- */

static void must_fail(struct engine *engine, struct engine_file *file, const char *words)
{
	struct artifact *artifact;
	struct error error = { 0 }, kept = { 0 };

	assert_true(engine_get(engine, file, &artifact, &error) < 0);
	if (!strstr(error.text, words))
		fail_msg("'%s' is not in '%s'", words, error.text);
	assert_true(engine_failure(engine, file, &kept) < 0);
	assert_string_equal(kept.text, error.text);
}

static void test_without_a_linker_metadata_still_works(void **state)
{
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = copy_logic(state, "logic", 1), .bundle = BUNDLE_PLAIN, .jobs = 1, .linker = "/no/such/ld.lld" });

	must_fail(engine, first_of_kind(engine, ENGINE_CODE_OBJECT), "the linker '/no/such/ld.lld' cannot be found");
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_METADATA)));
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_MASTER)));
	engine_unref(engine);
}

static void test_a_linker_that_is_too_old_or_none_is_named(void **state)
{
	const char *old = in_scratch(state, "old"), *other = in_scratch(state, "other");

	write_text(old, "#!/bin/sh\necho 'Debian LLD 14.0.6 (compatible with GNU linkers)'\n");
	write_text(other, "#!/bin/sh\necho 'GNU ld (GNU Binutils for Debian) 2.40'\n");
	assert_int_equal(chmod(old, 0755) | chmod(other, 0755), 0);
	struct engine *engine = open_engine(&(struct engine_options){ .logic = sample_logic(), .jobs = 1, .linker = old });
	must_fail(engine, first_of_kind(engine, ENGINE_HELPER), "is too old: 'Debian LLD 14.0.6");
	engine_unref(engine);
	engine = open_engine(&(struct engine_options){ .logic = sample_logic(), .jobs = 1, .linker = other });
	must_fail(engine, first_of_kind(engine, ENGINE_HELPER), "is not lld: it calls itself 'GNU ld");
	engine_unref(engine);
}

static void test_a_failed_link_is_told_not_stored_and_tried_again(void **state)
{
	const char *linker = make_linker(state, "lld", "echo 'error: no space for symbols' >&2\necho second line >&2\nexit 3");
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = copy_logic(state, "logic", 1), .bundle = BUNDLE_PLAIN, .jobs = 2, .linker = linker, .cache = in_scratch(state, "cache") });
	struct engine_file *file = first_of_kind(engine, ENGINE_CODE_OBJECT);
	struct engine_stat stat;
	char script[512];

	must_fail(engine, file, "ended with status 3: error: no space for symbols|second line");
	engine_stat(engine, file, &stat);
	assert_int_equal(stat.state, ENGINE_FAILED);
	assert_false(stat.known);
	snprintf(script, sizeof(script), "exec %s \"$@\"", real_linker());
	make_linker(state, "lld", script);
	artifact_unref(get(engine, file));
	assert_int_equal(engine_failure(engine, file, NULL), 0);
	engine_unref(engine);
}

static void test_a_killed_linker_and_one_without_output_fail(void **state)
{
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = sample_logic(), .jobs = 1, .linker = make_linker(state, "killed", "kill -9 $$") });
	must_fail(engine, first_of_kind(engine, ENGINE_HELPER), "was killed by signal 9");
	engine_unref(engine);
	engine = open_engine(&(struct engine_options){ .logic = sample_logic(), .jobs = 1, .linker = make_linker(state, "mute", "exit 0") });
	must_fail(engine, first_of_kind(engine, ENGINE_HELPER), "wrote 0 bytes that are no code object");
	engine_unref(engine);
}

static void note_status(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
	*(int *)userdata = status;
}

static struct engine_file *nth_object(struct engine *engine, size_t n)
{
	for (size_t i = 0; i < engine_n_files(engine, 0); i++)
		if (engine_file_kind(engine_file(engine, 0, i)) == ENGINE_CODE_OBJECT && n-- == 0)
			return engine_file(engine, 0, i);
	fail_msg("there are too few code objects");
	return NULL;
}

/* The only worker waits for a linker that does not end. What needs none, and an object that the cache has, are there all the same. */
static void test_a_stuck_linker_keeps_nobody_else_waiting(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *stuck = in_scratch(state, "stuck"), *started = in_scratch(state, "started");
	_cleanup_buffer_ struct buffer json = { 0 };
	char body[1024];
	int status = 1;

	snprintf(body, sizeof(body), "if [ -e '%s' ]; then touch '%s'; sleep 1000; fi\nexec %s \"$@\"", stuck, started, real_linker());
	struct engine_options options = { .logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 1, .quick_jobs = 1, .cache = in_scratch(state, "cache"),
					  .linker = make_linker(state, "lld", body) };
	usleep(50000);			/* logic that changed this very moment is not remembered */
	struct engine *engine = open_engine(&options);
	artifact_unref(get(engine, nth_object(engine, 0)));
	engine_unref(engine);
	write_text(stuck, "");

	engine = open_engine(&options);
	engine_request(engine, nth_object(engine, 1), ENGINE_WAITED, note_status, &status);
	assert_int_equal(shell("for i in $(seq 2000); do [ -e '%s' ] && exit 0; sleep 0.01; done; exit 1", started), 0);
	artifact_unref(get(engine, nth_object(engine, 0)));
	artifact_unref(get(engine, engine_raw(nth_object(engine, 0))));
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_METADATA)));
	artifact_unref(get(engine, first_of_kind(engine, ENGINE_MASTER)));
	assert_int_equal(engine_coverage(engine, NULL, &json, NULL), 0);
	assert_int_equal(status, 1);
	assert_int_equal(status_number(engine, "jobs", "running"), 1);
	engine_unref(engine);
	assert_int_equal(status, -ECANCELED);
}

static void test_an_engine_that_ends_waits_for_no_linker(void **state)
{
	char body[512];
	snprintf(body, sizeof(body), "touch '%s'\nsleep 1000", in_scratch(state, "started"));
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = sample_logic(), .jobs = 1, .linker = make_linker(state, "hangs", body) });
	int status = 1;

	engine_request(engine, first_of_kind(engine, ENGINE_HELPER), ENGINE_WAITED, note_status, &status);
	assert_int_equal(shell("for i in $(seq 2000); do [ -e '%s' ] && exit 0; sleep 0.01; done; exit 1", in_scratch(state, "started")), 0);
	time_t begin = time(NULL);
	engine_unref(engine);
	assert_int_equal(status, -ECANCELED);
	assert_true(time(NULL) - begin < 30);
}

static void test_the_linker_gets_no_descriptor_but_its_own(void **state)
{
	char body[512];
	snprintf(body, sizeof(body), "ls /proc/self/fd | tr '\\n' ' ' > '%s'\nexec %s \"$@\"", in_scratch(state, "fds"), real_linker());
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = sample_logic(), .jobs = 2, .cache = in_scratch(state, "cache"), .linker = make_linker(state, "lld", body) });

	artifact_unref(get(engine, first_of_kind(engine, ENGINE_HELPER)));
	engine_unref(engine);
	_cleanup_free_ char *fds = read_text(in_scratch(state, "fds"), NULL);
	assert_string_equal(fds, "0 1 2 3 4 ");		/* 4 is ls reading the folder */
}

/* ---- the cache that fails --------------------------------------------------------------------------------------------- */

static void must_work_with_one_warning(const char *logic, const char *cache)
{
	struct warnings warnings = { 0 };
	struct engine *engine = open_engine(&(struct engine_options){
		.logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 2, .cache = cache, .warn = note_warning, .warn_userdata = &warnings });
	struct engine *plain = open_engine(&(struct engine_options){ .logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 1 });

	must_be_equal(engine, plain);
	engine_unref(engine);
	engine_unref(plain);
	assert_int_equal(warnings.n, 1);
	assert_true(warnings.last[0]);
}

static void test_a_cache_that_cannot_be_opened_costs_one_warning(void **state)
{
	const char *file = in_scratch(state, "file");

	write_text(file, "in the way");
	must_work_with_one_warning(copy_logic(state, "logic", 2), in_scratch(state, "file/cache"));
}

static void test_a_full_disk_costs_one_warning(void **state)
{
	const char *disk = in_scratch(state, "disk");

	assert_int_equal(mkdir(disk, 0700), 0);
	if (mount("none", disk, "tmpfs", 0, "size=96k,mode=0700") < 0)
		skip();
	const char *cache = in_scratch(state, "disk/cache");
	must_work_with_one_warning(copy_logic(state, "logic", 6), cache);
	assert_int_equal(umount2(disk, MNT_DETACH), 0);
}

/* ---- plans ------------------------------------------------------------------------------------------------------------ */

static struct cachedb_key hash_of(const char *logic, enum engine_kind kind)
{
	struct engine *engine = open_engine(&(struct engine_options){ .logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 1 });
	struct cachedb_key hash;
	struct error error = { 0 };

	int r = engine_hash(engine, first_of_kind(engine, kind), &hash, &error);
	if (r < 0)
		fail_msg("%s", error_text(&error, r));
	engine_unref(engine);
	return hash;
}

static const char *only_file(void **state, const char *folder)
{
	const char *path = in_scratch(state, "only.yaml");

	assert_int_equal(shell("mv \"$(find '%s' -name '*.yaml')\" '%s'", folder, path), 0);
	return path;
}

static void test_the_hash_follows_what_matters_and_nothing_else(void **state)
{
	const char *path = only_file(state, copy_logic(state, "logic", 1));
	struct cachedb_key before = hash_of(path, ENGINE_CODE_OBJECT), after;

	shell("sed -i '1i# a comment' '%s'", path);
	after = hash_of(path, ENGINE_CODE_OBJECT);
	assert_memory_equal(&before, &after, sizeof(before));
	replace_text(path, "WorkGroupMapping: ", "WorkGroupMapping: 1");	/* the host passes it: the kernel stays, the .dat does not */
	struct cachedb_key metadata = hash_of(path, ENGINE_METADATA);
	after = hash_of(path, ENGINE_CODE_OBJECT);
	assert_memory_equal(&before, &after, sizeof(before));
	replace_text(path, "WorkGroupMapping: 1", "WorkGroupMapping: ");
	after = hash_of(path, ENGINE_METADATA);
	assert_memory_not_equal(&metadata, &after, sizeof(metadata));
	replace_text(path, "LdsPadA: 16", "LdsPadA: 8");
	after = hash_of(path, ENGINE_CODE_OBJECT);
	assert_memory_not_equal(&before, &after, sizeof(before));
}

static void test_an_edit_gives_other_bytes_in_the_same_engine(void **state)
{
	const char *path = only_file(state, copy_logic(state, "logic", 1));
	struct engine *engine = open_engine(&(struct engine_options){ .logic = path, .bundle = BUNDLE_PLAIN, .jobs = 2 });
	struct engine_file *file = first_of_kind(engine, ENGINE_CODE_OBJECT);

	_cleanup_(artifact_unref_p) struct artifact *before = get(engine, file);
	_cleanup_(artifact_unref_p) struct artifact *again = get(engine, file);
	assert_ptr_equal(before, again);
	usleep(20000);
	replace_text(path, "LdsPadA: 16", "LdsPadA: 8");
	_cleanup_(artifact_unref_p) struct artifact *after = get(engine, file);
	assert_memory_not_equal(&before->hash, &after->hash, sizeof(after->hash));
	engine_unref(engine);
}

static void test_bundles_and_raw_objects_hold_the_same_code(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	static const enum bundle_kind kinds[] = { BUNDLE_NONE, BUNDLE_PLAIN, BUNDLE_COMPRESSED };
	struct artifact *raw[3], *file[3];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct engine *engine = open_engine(&(struct engine_options){ .logic = logic, .bundle = kinds[i], .jobs = 1 });
		struct engine_file *object = first_of_kind(engine, ENGINE_CODE_OBJECT);
		assert_null(engine_raw(first_of_kind(engine, ENGINE_METADATA)));
		raw[i] = get(engine, engine_raw(object));
		file[i] = get(engine, object);
		engine_unref(engine);
	}
	assert_memory_equal(raw[0]->data, "\177ELF", 4);
	assert_memory_equal(file[1]->data, "__CLANG_OFFLOAD_BUNDLE__", 24);
	assert_memory_equal(file[2]->data, "CCOB", 4);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		assert_int_equal(raw[i]->size, raw[0]->size);
		assert_memory_equal(raw[i]->data, raw[0]->data, raw[0]->size);
	}
	assert_int_equal(file[0]->size, raw[0]->size);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		artifact_unref(raw[i]);
		artifact_unref(file[i]);
	}
}

/* ---- bad logic -------------------------------------------------------------------------------------------------------- */

static void test_a_broken_base_leaves_the_others_alone(void **state)
{
	const char *logic = copy_logic(state, "logic", 3);
	struct error error = { 0 };
	size_t failed = 0;

	assert_int_equal(shell("printf '%s' >> \"$(find '%s' -name '*.yaml' | sort | head -n 1)\"", "  - [ {]\\n", logic), 0);
	struct engine *engine = open_engine(&(struct engine_options){ .logic = logic, .bundle = BUNDLE_PLAIN, .jobs = 2 });
	for (size_t i = 0; i < engine_n_files(engine, 0); i++) {
		struct artifact *artifact = NULL;
		if (engine_get(engine, engine_file(engine, 0, i), &artifact, &error) < 0) {
			failed++;
			assert_non_null(strstr(error.text, ".yaml': line "));
		}
		artifact_unref(artifact);
	}
	assert_int_equal(failed, 2);		/* its .co and its .dat */
	engine_unref(engine);
}

static void test_logic_that_is_not_there_is_one_error(void **state)
{
	struct engine *engine;
	struct error error = { 0 };

	assert_true(engine_new(&(struct engine_options){ .logic = in_scratch(state, "nothing") }, &engine, &error) < 0);
	assert_non_null(strstr(error.text, "nothing"));
	write_text(in_scratch(state, "a.yaml"), "- {MinimumRequiredVersion: 4.33.0}\n- x\n- gfx777\n- []\n- {}\n- []\n");
	assert_true(engine_new(&(struct engine_options){ .logic = *state }, &engine, &error) < 0);
	assert_non_null(strstr(error.text, "gfx777"));
}

/* ---- explaining ------------------------------------------------------------------------------------------------------- */

struct printing {
	struct engine *engine;
	struct engine_file *file;
	size_t kernels;
};

static int print_kernel(void *userdata, const char *name)
{
	struct printing *printing = userdata;
	_cleanup_buffer_ struct buffer text = { 0 };
	struct error error = { 0 };

	if (engine_print_kernel(printing->engine, printing->file, name, &text, &error) < 0)
		fail_msg("%s: %s", name, error.text);
	buffer_append(&text, "", 1);
	assert_non_null(strstr((const char *)text.data, "v_mfma_"));
	assert_non_null(strstr((const char *)text.data, "s_endpgm"));
	printing->kernels++;
	return 0;
}

static void test_every_kernel_can_be_printed(void **state)
{
	struct engine *engine = open_engine(&(struct engine_options){ .logic = sample_logic(), .bundle = BUNDLE_PLAIN, .jobs = 1 });
	struct engine_file *file = first_of_kind(engine, ENGINE_CODE_OBJECT);
	_cleanup_(artifact_unref_p) struct artifact *artifact = get(engine, file);
	_cleanup_buffer_ struct buffer text = { 0 };
	struct error error = { 0 };
	struct printing printing = { engine, file, 0 };

	assert_int_equal(engine_foreach_kernel(engine, file, print_kernel, &printing, &error), 0);
	assert_int_equal(printing.kernels, artifact->items);
	assert_true(printing.kernels > 0);
	assert_int_equal(engine_print_kernel(engine, file, "no such kernel", &text, &error), -ENOENT);
	engine_unref(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_do_not_depend_on_workers_cache_or_place),
		TEST(test_a_whole_library_has_the_kernels_of_its_parts),
		TEST(test_a_merged_library_has_only_what_is_served),
		TEST(test_a_second_engine_builds_and_parses_nothing),
		TEST(test_what_is_in_the_cache_is_known_without_building),
		TEST(test_readers_of_one_file_share_one_build),
		TEST(test_without_a_linker_metadata_still_works),
		TEST(test_a_linker_that_is_too_old_or_none_is_named),
		TEST(test_a_failed_link_is_told_not_stored_and_tried_again),
		TEST(test_a_killed_linker_and_one_without_output_fail),
		TEST(test_a_stuck_linker_keeps_nobody_else_waiting),
		TEST(test_an_engine_that_ends_waits_for_no_linker),
		TEST(test_the_linker_gets_no_descriptor_but_its_own),
		TEST(test_a_cache_that_cannot_be_opened_costs_one_warning),
		TEST(test_a_full_disk_costs_one_warning),
		TEST(test_the_hash_follows_what_matters_and_nothing_else),
		TEST(test_an_edit_gives_other_bytes_in_the_same_engine),
		TEST(test_bundles_and_raw_objects_hold_the_same_code),
		TEST(test_a_broken_base_leaves_the_others_alone),
		TEST(test_logic_that_is_not_there_is_one_error),
		TEST(test_every_kernel_can_be_printed),
	};
	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
