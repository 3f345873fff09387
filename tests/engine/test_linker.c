/* SPDX-License-Identifier: MIT */
/* Linkers that do not do what they should. */
#include "build/engine/linker.h"
#include "build/object/elf_file.h"
#include "build/object/object.h"
#include "tests/engine/common.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int link_with(struct program *linker, struct buffer *ret_linked, struct error *error)
{
	_cleanup_(objects_unref_p) struct objects *objects = NULL;
	struct buffer object = { 0 };
	const struct program_found *found;

	assert_int_equal(objects_new(1, &objects), 0);
	assert_int_equal(object_write("gfx942", NULL, 0, &object, NULL), 0);
	assert_int_equal(objects_add(objects, 0, &object, NULL), 0);
	int r = program_identify(linker, &found, error);
	return r < 0 ? r : linker_link(linker, &(struct link){ .threads = 1, .build_id = "none" }, objects, ret_linked, error);
}

static struct program *new_linker(const char *path)
{
	struct program *linker;

	assert_int_equal(linker_new(path, &linker), 0);
	return linker;
}

/* Links with a script around the real linker, which is "$LLD" in it. */
PRINTF_LIKE(3, 4) static int link_through(void **state, struct error *error, const char *format, ...)
{
	_cleanup_buffer_ struct buffer linked = { 0 };
	char body[512];
	va_list ap;

	int length = snprintf(body, sizeof(body), "LLD=%s\n", real_linker());
	va_start(ap, format);
	vsnprintf(body + length, sizeof(body) - (size_t)length, format, ap);
	va_end(ap);
	struct program *linker = new_linker(make_linker(state, "wrapper", body));
	int r = link_with(linker, &linked, error);
	program_unref(linker);
	return r;
}

static void test_an_output_that_was_cut_off_is_refused(void **state)
{
	_cleanup_buffer_ struct buffer whole = { 0 };
	struct program *linker = new_linker(real_linker());
	struct error error = { 0 };

	assert_int_equal(link_with(linker, &whole, &error), 0);
	program_unref(linker);
	assert_int_equal(link_through(state, &error, "\"$LLD\" \"$@\" | head -c %zu", whole.size), 0);
	size_t cuts[] = { 1, 4, 63, 64, 200, whole.size / 2, whole.size - 1 };
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		assert_int_equal(link_through(state, &error, "\"$LLD\" \"$@\" | head -c %zu", cuts[i]), -EIO);
		assert_non_null(strstr(error.text, "bytes that are no code object"));
	}
}

static void test_other_files_are_refused(void **state)
{
	struct error error = { 0 };

	assert_int_equal(link_through(state, &error, "cat /bin/sh"), -EIO);				/* of another processor */
	assert_int_equal(link_through(state, &error, "cat /proc/self/fd/3"), -EIO);			/* not linked */
	assert_int_equal(link_through(state, &error, "printf '\\177ELF'; head -c 5000 /dev/zero"), -EIO);
	assert_non_null(strstr(error.text, "wrote 5004 bytes that are no code object"));
}

/* Whether the process whose number is in a file runs; a zombie does not. */
static bool is_running(const char *path)
{
	return shell("grep -q '^State:[[:space:]]*[RSD]' /proc/$(cat '%s')/status 2>/dev/null", path) == 0;
}

static void test_a_linker_that_hangs_is_killed_with_what_it_started(void **state)
{
	const char *child = in_scratch(state, "child");
	_cleanup_buffer_ struct buffer linked = { 0 }, body = { 0 };
	struct error error = { 0 };

	buffer_printf(&body, "sleep 1000 & echo $! > '%s'\necho working >&2\nwait", child);
	buffer_append(&body, "", 1);
	struct program *linker = new_linker(make_linker(state, "hangs", (char *)body.data));
	program_set_limit(linker, 1);
	assert_int_equal(link_with(linker, &linked, &error), -ETIMEDOUT);
	assert_non_null(strstr(error.text, "did not end within 1 seconds and was killed: working"));
	program_unref(linker);
	for (double end = seconds() + 10; is_running(child) && seconds() < end;)
		usleep(10000);
	assert_false(is_running(child));
}

static void test_a_linker_that_hangs_in_silence_is_killed(void **state)
{
	struct program *linker = new_linker(make_linker(state, "silent", "exec 2>&-\nsleep 1000"));
	_cleanup_buffer_ struct buffer linked = { 0 };
	struct error error = { 0 };

	program_set_limit(linker, 1);
	assert_int_equal(link_with(linker, &linked, &error), -ETIMEDOUT);
	program_unref(linker);
}

static void test_what_a_linker_leaves_behind_is_not_waited_for(void **state)
{
	const char *child = in_scratch(state, "child");
	struct error error = { 0 };

	assert_int_equal(link_through(state, &error, "sleep 1000 & echo $! > '%s'\n\"$LLD\" \"$@\"", child), 0);
	for (double end = seconds() + 10; is_running(child) && seconds() < end;)
		usleep(10000);
	assert_false(is_running(child));
}

static void test_no_signal_is_ignored_in_a_linker(void **state)
{
	struct error error = { 0 };

	signal(SIGUSR1, SIG_IGN);
	assert_int_equal(link_through(state, &error, "grep SigIgn /proc/self/status >&2\nexit 1"), -EIO);
	signal(SIGUSR1, SIG_DFL);
	const char *ignored = strstr(error.text, "SigIgn: ");
	assert_non_null(ignored);
	assert_int_equal(strtoull(ignored + strlen("SigIgn: "), NULL, 16) & 1u << (SIGUSR1 - 1), 0);
}

/* An object with one kernel of its own name. */
static struct buffer numbered_object(size_t number)
{
	static const uint32_t code[] = { 0xbf800000, 0xbf810000 };		/* s_nop 0; s_endpgm */
	struct buffer object = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "kernel_%zu", number);
	struct object_kernel kernel = { .name = name, .code = (const uint8_t *)code, .code_size = sizeof(code), .vgprs = 8, .sgprs = 8, .workgroup_size = 64 };
	assert_int_equal(object_write("gfx942", &kernel, 1, &object, NULL), 0);
	return object;
}

static void link_numbered(size_t n, const size_t *order, const char *build_id, struct buffer *ret_linked)
{
	_cleanup_(objects_unref_p) struct objects *objects = NULL;
	struct program *linker = new_linker(real_linker());
	struct error error = { 0 };
	const struct program_found *found;

	assert_int_equal(objects_new(n, &objects), 0);
	for (size_t i = 0; i < n; i++) {
		size_t number = order ? order[i] : i;
		struct buffer object = numbered_object(number);
		assert_int_equal(objects_add(objects, number, &object, &error), 0);
	}
	assert_int_equal(program_identify(linker, &found, &error), 0);
	assert_int_equal(linker_link(linker, &(struct link){ .threads = 2, .build_id = build_id }, objects, ret_linked, &error), 0);
	program_unref(linker);
}

static void test_objects_are_linked_in_the_order_of_their_numbers(void **state)
{
	static const size_t order[] = { 4, 1, 0, 3, 2 };
	_cleanup_buffer_ struct buffer in_order = { 0 }, out_of_order = { 0 };
	_cleanup_(elf_release) struct elf elf = { 0 };

	link_numbered(ARRAY_SIZE(order), NULL, "none", &in_order);
	link_numbered(ARRAY_SIZE(order), order, "none", &out_of_order);
	assert_int_equal(in_order.size, out_of_order.size);
	assert_memory_equal(in_order.data, out_of_order.data, in_order.size);
	assert_int_equal(elf_read(in_order.data, in_order.size, &elf, NULL), 0);
	assert_int_equal(elf.n_kernels, ARRAY_SIZE(order));
	for (size_t i = 0; i < elf.n_kernels; i++) {
		assert_int_equal(elf.kernels[i].name_length, strlen("kernel_0"));
		assert_int_equal(elf.kernels[i].name[strlen("kernel_")], '0' + i);
	}
	assert_null(elf_find(&elf, ".note.gnu.build-id"));
}

static void test_more_than_ten_thousand_objects_are_linked_and_get_a_build_id(void **state)
{
	enum { N = 10001 };
	_cleanup_buffer_ struct buffer linked = { 0 };
	_cleanup_(elf_release) struct elf elf = { 0 };

	link_numbered(N, NULL, "sha1", &linked);
	assert_int_equal(elf_read(linked.data, linked.size, &elf, NULL), 0);
	assert_int_equal(elf.n_kernels, N);
	assert_non_null(elf_find(&elf, ".note.gnu.build-id"));
}

static void test_what_is_no_object_is_not_linked(void **state)
{
	_cleanup_(objects_unref_p) struct objects *objects = NULL;
	struct buffer text = { 0 };
	struct error error = { 0 };
	Elf64_Ehdr header;
	int fd;

	buffer_append_string(&text, "this is assembly text, which is longer than the header of an ELF file of sixty-four bytes");
	assert_int_equal(objects_new(1, &objects), 0);
	assert_int_equal(objects_add(objects, 0, &text, &error), -ENOEXEC);
	assert_non_null(strstr(error.text, "no relocatable object"));
	assert_int_equal(objects_archive(objects, &fd, &header), -ENODATA);
}

struct stopped {
	struct program *linker;
	const char *started;
};

static void *stop_when_started(void *userdata)
{
	const struct stopped *stopped = userdata;

	for (double end = seconds() + 20; access(stopped->started, F_OK) < 0 && seconds() < end;)
		usleep(2000);
	program_stop(stopped->linker);
	return NULL;
}

static void test_stopping_ends_a_running_link_at_once(void **state)
{
	struct stopped stopped = { .started = in_scratch(state, "started") };
	_cleanup_buffer_ struct buffer linked = { 0 }, body = { 0 };
	struct error error = { 0 };
	double begin = seconds();
	pthread_t thread;

	buffer_printf(&body, "touch '%s'\nsleep 1000", stopped.started);
	buffer_append(&body, "", 1);
	stopped.linker = new_linker(make_linker(state, "slow", (char *)body.data));
	assert_int_equal(pthread_create(&thread, NULL, stop_when_started, &stopped), 0);
	assert_int_equal(link_with(stopped.linker, &linked, &error), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(link_with(stopped.linker, &linked, &error), -ECANCELED);	/* and nothing runs from now on */
	program_unref(stopped.linker);
	assert_true(seconds() - begin < 30);
}

static void test_the_newest_linker_says_why_none_works(void **state)
{
	_cleanup_free_ char *path = strdup(getenv("PATH"));
	struct program *linker = new_linker(NULL);
	struct error error = { 0 };
	const struct program_found *found;

	write_text(in_scratch(state, "ld.lld-22"), "#!/bin/sh\necho 'no memory left' >&2\nexit 127\n");
	write_text(in_scratch(state, "ld.lld"), "#!/bin/sh\necho 'LLD 14.0.6'\n");
	assert_int_equal(shell("chmod +x '%s'/ld.lld*", (char *)*state), 0);
	setenv("PATH", *state, 1);
	int r = program_identify(linker, &found, &error);
	setenv("PATH", path, 1);
	program_unref(linker);
	assert_int_equal(r, -ENOENT);
	assert_non_null(strstr(error.text, "no memory left"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_output_that_was_cut_off_is_refused),
		TEST(test_other_files_are_refused),
		TEST(test_a_linker_that_hangs_is_killed_with_what_it_started),
		TEST(test_a_linker_that_hangs_in_silence_is_killed),
		TEST(test_what_a_linker_leaves_behind_is_not_waited_for),
		TEST(test_no_signal_is_ignored_in_a_linker),
		TEST(test_objects_are_linked_in_the_order_of_their_numbers),
		TEST(test_more_than_ten_thousand_objects_are_linked_and_get_a_build_id),
		TEST(test_what_is_no_object_is_not_linked),
		TEST(test_stopping_ends_a_running_link_at_once),
		TEST(test_the_newest_linker_says_why_none_works),
	};
	return cmocka_run_group_tests_name("linker", tests, NULL, NULL);
}
