/* SPDX-License-Identifier: MIT */
#include "tools/compare/compare.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct names {				/* of the files in a folder and those below it, relative, sorted */
	char **names;
	size_t n;
};

static void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->names[i]);
	free(names->names);
}

/* Takes over the name. */
static int add_name(struct names *names, char *name)
{
	char **more = reallocarray(names->names, names->n + 1, sizeof(*more));

	if (!more) {
		free(name);
		return -ENOMEM;
	}
	names->names = more;
	more[names->n++] = name;
	return 0;
}

static char *join(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0 ? NULL : path;
}

static int list_folder(const char *root, const char *below, struct names *names, struct error *error);

static int list_entry(const char *root, char *name, struct names *names, struct error *error)
{
	_cleanup_free_ char *path = join(root, name);
	struct stat st;

	if (!path || stat(path, &st) < 0) {
		int r = path ? error_set(error, -errno, "cannot look at '%s': %s", path, strerror(errno)) : -ENOMEM;
		free(name);
		return r;
	}
	if (!S_ISDIR(st.st_mode))
		return add_name(names, name);
	int r = list_folder(root, name, names, error);
	free(name);
	return r;
}

/* What begins with a dot is no part of a package. */
static int list_folder(const char *root, const char *below, struct names *names, struct error *error)
{
	_cleanup_free_ char *path = *below ? join(root, below) : strdup(root);
	DIR *folder = path ? opendir(path) : NULL;
	int r = 0;

	if (!folder)
		return path ? error_set(error, -errno, "cannot open '%s': %s", path, strerror(errno)) : -ENOMEM;
	for (struct dirent *entry; r == 0 && (entry = readdir(folder));) {
		char *name = entry->d_name[0] == '.' ? NULL : join(below, entry->d_name);
		if (entry->d_name[0] != '.')
			r = name ? list_entry(root, name, names, error) : -ENOMEM;
	}
	closedir(folder);
	return r;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_files(const char *root, struct names *names, struct error *error)
{
	int r = list_folder(root, "", names, error);

	if (names->n)
		qsort(names->names, names->n, sizeof(names->names[0]), compare_strings);
	return r;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static int read_file(const char *root, const char *name, struct buffer *bytes, struct error *error)
{
	_cleanup_free_ char *path = join(root, name);
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (!path)
		return -ENOMEM;
	int r = fd < 0 ? -errno : read_to_end(fd, bytes);
	return r < 0 ? error_set(error, r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

static bool ends_with(const char *name, const char *suffix)
{
	size_t length = strlen(name), n = strlen(suffix);

	return length >= n && strcmp(name + length - n, suffix) == 0;
}

static int compare_content(struct report *report, const struct bytes *a, const struct bytes *b)
{
	const char *name = report->file;
	struct error error = { 0 };
	int r = 0;

	if (ends_with(name, ".co") || ends_with(name, ".hsaco")) {
		r = compare_code_objects(report, a, b, &error);
		if (r < 0 && r != -ENOMEM) {
			report_difference(report, NULL, NULL, 0, "%s", error_text(&error, r));
			r = 0;
		}
	} else if (ends_with(name, ".dat")) {
		r = compare_msgpack(report, NULL, a, b);
	} else if (ends_with(name, "TensileManifest.txt")) {
		r = compare_lists(report, a, b);
	} else if (ends_with(name, ".yaml") || ends_with(name, ".txt")) {
		compare_texts(report, a, b);
	} else {
		compare_bytes(report, NULL, a, b);
	}
	return r;
}

static int compare_file(struct report *report, const char *a, const char *b, const char *name, struct error *error)
{
	_cleanup_buffer_ struct buffer x = { 0 }, y = { 0 };

	int r = read_file(a, name, &x, error);
	if (r == 0)
		r = read_file(b, name, &y, error);
	if (r < 0)
		return r;
	return compare_content(report, &(struct bytes){ x.data, x.size }, &(struct bytes){ y.data, y.size });
}

int compare_folders(struct report *report, const char *a, const char *b, struct error *error)
{
	_cleanup_(names_release) struct names x = { 0 }, y = { 0 };
	size_t i = 0, k = 0;

	int r = list_files(a, &x, error);
	if (r == 0)
		r = list_files(b, &y, error);
	while (r == 0 && (i < x.n || k < y.n)) {
		int order = i == x.n ? 1 : k == y.n ? -1 : strcmp(x.names[i], y.names[k]);
		report->file = order <= 0 ? x.names[i] : y.names[k];
		report->n_files++;
		if (order)
			report_difference(report, NULL, NULL, 0, "only in the %s", order < 0 ? "first" : "second");
		else
			r = compare_file(report, a, b, report->file, error);
		i += order <= 0;
		k += order >= 0;
	}
	return r;
}
