/* SPDX-License-Identifier: MIT */
/* Bytes, texts, and lists of files. */
#include "tools/compare/compare.h"

void compare_bytes(struct report *report, const char *section, const struct bytes *a, const struct bytes *b)
{
	size_t size = MIN(a->size, b->size), i = 0;

	if (same_bytes(a, b))
		return;
	while (i < size && a->data[i] == b->data[i])
		i++;
	if (i == size)
		report_difference(report, section, NULL, 0, "%zu bytes, and %zu", a->size, b->size);
	else if (a->size == b->size)
		report_difference(report, section, NULL, 0, "byte %zu is 0x%02x, and 0x%02x", i, a->data[i], b->data[i]);
	else
		report_difference(report, section, NULL, 0, "byte %zu is 0x%02x, and 0x%02x; %zu bytes, and %zu", i, a->data[i], b->data[i], a->size,
				  b->size);
}

/* The line at the front of `text`, which moves on behind it. */
static struct bytes take_line(struct bytes *text)
{
	const uint8_t *end = text->size ? memchr(text->data, '\n', text->size) : NULL;
	struct bytes line = { .data = text->data, .size = end ? (size_t)(end - text->data) : text->size };
	size_t used = line.size + (end != NULL);

	text->data += used;
	text->size -= used;
	return line;
}

void compare_texts(struct report *report, const struct bytes *a, const struct bytes *b)
{
	struct bytes x = *a, y = *b;
	size_t number = 0;

	if (same_bytes(a, b))
		return;
	while (x.size || y.size) {
		struct bytes left = take_line(&x), right = take_line(&y);
		number++;
		if (!same_bytes(&left, &right)) {
			report_difference(report, NULL, NULL, 0, "line %zu is '%.*s', and '%.*s'", number, (int)MIN(left.size, (size_t)200), left.data,
					  (int)MIN(right.size, (size_t)200), right.data);
			return;
		}
	}
	report_difference(report, NULL, NULL, 0, "the ends of lines differ");
}

static int compare_names(const void *a, const void *b)
{
	const struct bytes *x = a, *y = b;
	int r = memcmp(x->data, y->data, MIN(x->size, y->size));

	return r ? r : (x->size > y->size) - (x->size < y->size);
}

/* The names in a list of paths, sorted; to be freed. */
static struct bytes *sorted_names(const struct bytes *text, size_t *ret_n)
{
	struct bytes left = *text, *names = calloc(text->size + 1, sizeof(*names));
	size_t n = 0;

	while (names && left.size) {
		struct bytes line = take_line(&left);
		const uint8_t *slash = line.size ? memrchr(line.data, '/', line.size) : NULL;
		size_t skip = slash ? (size_t)(slash + 1 - line.data) : 0;
		if (line.size > skip)
			names[n++] = (struct bytes){ .data = line.data + skip, .size = line.size - skip };
	}
	if (names)
		qsort(names, n, sizeof(*names), compare_names);
	*ret_n = n;
	return names;
}

int compare_lists(struct report *report, const struct bytes *a, const struct bytes *b)
{
	size_t n_a, n_b, i = 0, k = 0, before = report->n_differences;
	_cleanup_free_ struct bytes *x = sorted_names(a, &n_a), *y = sorted_names(b, &n_b);

	if (!x || !y)
		return -ENOMEM;
	while (i < n_a || k < n_b) {
		int order = i == n_a ? 1 : k == n_b ? -1 : compare_names(&x[i], &y[k]);
		if (order)
			report_difference(report, NULL, NULL, 0, "only the %s lists '%.*s'", order < 0 ? "first" : "second",
					  (int)(order < 0 ? x[i].size : y[k].size), order < 0 ? x[i].data : y[k].data);
		i += order <= 0;
		k += order >= 0;
	}
	if (report->n_differences == before && !same_bytes(a, b))
		report_expected(report, "folders and order of the paths in the list of files");
	return 0;
}
