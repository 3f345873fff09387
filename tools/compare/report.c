/* SPDX-License-Identifier: MIT */
#include "tools/compare/compare.h"

static void add_string(struct json_object *object, const char *key, const char *text, size_t length)
{
	if (text)
		json_object_object_add(object, key, json_object_new_string_len(text, (int)length));
}

void report_difference(struct report *report, const char *section, const char *kernel, size_t length, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	report->n_differences++;
	if (!report->json) {
		printf("%s: ", report->file);
		if (section)
			printf("%s: ", section);
		if (kernel)
			printf("kernel '%.*s': ", (int)length, kernel);
		printf("%s\n", text ? text : "differs");
		return;
	}
	struct json_object *object = json_object_new_object();
	add_string(object, "file", report->file, strlen(report->file));
	add_string(object, "section", section, section ? strlen(section) : 0);
	add_string(object, "kernel", kernel, length);
	add_string(object, "difference", text ? text : "differs", strlen(text ? text : "differs"));
	if (!report->list)
		report->list = json_object_new_array();
	json_object_array_add(report->list, object);
}

void report_expected(struct report *report, const char *what)
{
	size_t i = 0;

	while (i < report->n_expected && strcmp(report->expected[i].what, what) != 0)
		i++;
	if (i == ARRAY_SIZE(report->expected))
		return;
	if (i == report->n_expected)
		report->expected[report->n_expected++] = (struct expected){ .what = what };
	report->expected[i].n_files += report->expected[i].file != report->file;
	report->expected[i].file = report->file;
}

bool report_is_expected(const struct report *report)
{
	for (size_t i = 0; i < report->n_expected; i++)
		if (report->expected[i].file == report->file)
			return true;
	return false;
}

static void finish_json(struct report *report)
{
	struct json_object *object = json_object_new_object(), *expected = json_object_new_array();

	for (size_t i = 0; i < report->n_expected; i++) {
		struct json_object *entry = json_object_new_object();
		add_string(entry, "what", report->expected[i].what, strlen(report->expected[i].what));
		json_object_object_add(entry, "files", json_object_new_uint64(report->expected[i].n_files));
		json_object_array_add(expected, entry);
	}
	json_object_object_add(object, "files", json_object_new_uint64(report->n_files));
	json_object_object_add(object, "equal", json_object_new_boolean(report->n_differences == 0));
	json_object_object_add(object, "differences", report->list ? report->list : json_object_new_array());
	json_object_object_add(object, "expected", expected);
	printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	report->list = NULL;
}

void report_finish(struct report *report)
{
	if (report->json) {
		finish_json(report);
		return;
	}
	for (size_t i = 0; i < report->n_expected; i++)
		printf("as expected, in %zu file%s: %s\n", report->expected[i].n_files, report->expected[i].n_files == 1 ? "" : "s",
		       report->expected[i].what);
	if (report->n_differences)
		printf("%zu difference%s in %zu file%s\n", report->n_differences, report->n_differences == 1 ? "" : "s", report->n_files, report->n_files == 1 ? "" : "s");
	else
		printf("%zu file%s equal\n", report->n_files, report->n_files == 1 ? " is" : "s are");
}
