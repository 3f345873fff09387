/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "base/clock.h"
#include "build/logic/catalog.h"
#include "build/logic/open.h"

#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <sys/stat.h>

struct catalog {			/* the public catalog and what it lives in */
	struct logic_catalog public;
	struct arena arena;
	pthread_mutex_t lock;		/* of namings */
	struct logic_naming **namings;	/* one for each of archs; NULL until somebody asks */
};

/* A scan in progress. */
struct scan {
	struct catalog *catalog;
	struct logic_head **heads;
	struct logic_fault *faults;
	size_t n_heads, n_faults;
	size_t heads_allocated, faults_allocated;
	bool is_file;			/* a single one is scanned, no folder */
	size_t folder_length;		/* of the scanned folder with its slash, which relative paths leave out */
};

struct logic_catalog *logic_catalog_unref(struct logic_catalog *catalog)
{
	if (catalog) {
		struct catalog *all = (struct catalog *)catalog;
		for (size_t i = 0; all->namings && i < catalog->n_archs; i++)
			logic_naming_unref(all->namings[i]);
		pthread_mutex_destroy(&all->lock);
		arena_release(&all->arena);
		free(all);
	}
	return NULL;
}

/* The ISAs that the peer generates for (Common.py: SupportedISA, architectureMap). */
static bool known_arch(const char *arch)
{
	static const char *const archs[] = {
		"gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012",
		"gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201",
	};
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++)
		if (strcmp(arch, archs[i]) == 0)
			return true;
	return false;
}

int logic_read_arch(const struct yaml *yaml, const struct yaml_node *root, const char **ret_arch, int *ret_cu_count, struct error *error)
{
	const struct yaml_node *entry = yaml_at(root, LOGIC_ENTRY_ARCH), *arch = entry, *cus = NULL;
	int64_t cu_count = 0;

	if (entry->kind == YAML_MAP) {
		arch = yaml_get(entry, "Architecture");
		cus = yaml_get(entry, "CUCount");
	}
	if (!arch || arch->kind != YAML_SCALAR)
		return error_set(error, -EINVAL, "'%s': line %u: the third entry names no architecture", yaml->path, entry->line);
	if (!known_arch(arch->text))
		return error_set(error, -EINVAL, "'%s': line %u: unknown architecture '%.64s'", yaml->path, arch->line, arch->text);
	if (cus && yaml_scalar(cus).type != YAML_NULL) {
		int r = yaml_int(yaml, cus, &cu_count, error);
		if (r < 0)
			return r;
		if (cu_count < 1 || cu_count > 4096)
			return error_set(error, -EINVAL, "'%s': line %u: CUCount is %s", yaml->path, cus->line, cus->text);
	}
	*ret_arch = arch->text;
	*ret_cu_count = (int)cu_count;
	return 0;
}

/* What a head says, into the catalog's arena. */
static int read_head(struct scan *scan, const struct yaml *yaml, struct logic_head *head, struct error *error)
{
	struct arena *arena = &scan->catalog->arena;
	_cleanup_(buffer_release) struct buffer name = { 0 };
	const char *arch;

	if (yaml->root->kind != YAML_LIST || yaml->root->n < LOGIC_HEAD_ENTRIES)
		return error_set(error, -EINVAL, "'%s': line %u: not a logic file: a list of 12 entries is expected, and there are %u", yaml->path,
				 yaml->root->line, yaml->root->kind == YAML_LIST ? yaml->root->n : 0);
	int r = logic_read_arch(yaml, yaml->root, &arch, &head->file.cu_count, error);
	if (r < 0)
		return r;
	r = logic_problem_read(arena, yaml, yaml_at(yaml->root, LOGIC_ENTRY_PROBLEM), false, &head->problem, error);
	if (r < 0)
		return r;
	logic_problem_print_base(&head->problem, NULL, head->file.cu_count, arch, &name);
	if (name.failed)
		return -ENOMEM;
	head->file.arch = arena_strdup(arena, arch);
	head->base = arena_strndup(arena, (const char *)name.data, name.size);
	return head->file.arch && head->base ? 0 : -ENOMEM;
}

static int add_fault(struct scan *scan, const char *path, const char *message)
{
	struct arena *arena = &scan->catalog->arena;

	int r = ARRAY_GROW(scan->faults, scan->faults_allocated, scan->n_faults);
	if (r < 0)
		return r;
	struct logic_fault fault = { .path = arena_strdup(arena, path), .message = arena_strdup(arena, message) };
	if (!fault.path || !fault.message)
		return -ENOMEM;
	scan->faults[scan->n_faults++] = fault;
	return 0;
}

static int add_file(struct scan *scan, const char *path, const struct stat *st)
{
	struct arena *arena = &scan->catalog->arena;
	struct error error = { 0 };
	_cleanup_close_ int fd = -1;
	_cleanup_yaml_ struct yaml yaml = { 0 };

	struct logic_head *head = arena_new(arena, struct logic_head, 1);
	char *copy = arena_strdup(arena, path);
	if (!head || !copy)
		return -ENOMEM;
	head->file = (struct logic_file){
		.path = copy, .relative = copy + scan->folder_length, .named = scan->is_file, .size = (uint64_t)st->st_size,
		.mtime_ns = timespec_ns(&st->st_mtim),
	};
	int r = logic_file_open(&head->file, &fd, &error);
	if (r == 0)
		r = yaml_read(&yaml, path, fd, LOGIC_HEAD_ENTRIES, &error);
	if (r == 0)
		r = read_head(scan, &yaml, head, &error);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return add_fault(scan, path, error_text(&error, r));
	r = ARRAY_GROW(scan->heads, scan->heads_allocated, scan->n_heads);
	if (r < 0)
		return r;
	scan->heads[scan->n_heads++] = head;
	return 0;
}

static bool is_logic_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot != name && strcmp(dot, ".yaml") == 0;
}

static int add_place_fault(struct scan *scan, const FTSENT *entry, const char *words)
{
	struct error error;

	error_set(&error, 0, "'%s': %s", entry->fts_path, words);
	return add_fault(scan, entry->fts_path, error.text);
}

/* `folder_length`: of the scanned folder with its slash. */
static bool leads_out(const FTSENT *entry, size_t folder_length)
{
	_cleanup_free_ char *folder = strndup(entry->fts_path, folder_length);
	_cleanup_close_ int fd = folder && entry->fts_level > 0 ? open_inside(folder, entry->fts_path + folder_length, O_PATH) : -1;

	return fd == -EXDEV;
}

static int visit(struct scan *scan, FTS *fts, FTSENT *entry)
{
	switch (entry->fts_info) {
	case FTS_D:
		if (!leads_out(entry, scan->folder_length))
			return 0;
		fts_set(fts, entry, FTS_SKIP);
		return add_place_fault(scan, entry, LEADS_OUT);
	case FTS_F:
		if (entry->fts_level > 0 && !is_logic_name(entry->fts_name))
			return 0;
		return add_file(scan, entry->fts_path, entry->fts_statp);
	case FTS_DC:
		return add_place_fault(scan, entry, "a folder that contains itself by a link");
	case FTS_SLNONE:
		return is_logic_name(entry->fts_name) ? add_place_fault(scan, entry, "a link that leads nowhere") : 0;
	case FTS_DEFAULT:
		return is_logic_name(entry->fts_name) ? add_place_fault(scan, entry, "neither a file nor a folder") : 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return add_place_fault(scan, entry, strerror(entry->fts_errno));
	default:
		return 0;
	}
}

static int walk(struct scan *scan, const char *folder)
{
	char *const roots[] = { (char *)folder, NULL };
	FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	int r = fts ? 0 : -errno;

	while (fts && r == 0) {
		errno = 0;
		FTSENT *entry = fts_read(fts);
		if (!entry) {
			r = -errno;
			break;
		}
		r = visit(scan, fts, entry);
	}
	if (fts)
		fts_close(fts);
	return r;
}

/* fts gives "folder/name", also for "folder/". */
static size_t length_with_slash(const char *folder)
{
	size_t length = strlen(folder);

	return length + (length && folder[length - 1] != '/');
}

int logic_foreach_folder(const char *folder, int (*callback)(void *userdata, const char *path), void *userdata)
{
	char *const roots[] = { (char *)folder, NULL };
	FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;
	int r = 0;

	if (!fts)
		return -errno;
	while (r == 0 && (entry = fts_read(fts))) {
		if (entry->fts_info != FTS_D)
			continue;
		if (leads_out(entry, length_with_slash(folder)))
			fts_set(fts, entry, FTS_SKIP);
		else
			r = callback(userdata, entry->fts_path);
	}
	fts_close(fts);
	return r;
}

static int compare_heads(const void *a, const void *b)
{
	const struct logic_head *x = *(struct logic_head *const *)a, *y = *(struct logic_head *const *)b;
	int r = strcmp(x->file.arch, y->file.arch);

	r = r ? r : strcmp(x->base, y->base);
	return r ? r : strcmp(x->file.relative, y->file.relative);
}

static int compare_faults(const void *a, const void *b)
{
	return strcmp(((const struct logic_fault *)a)->path, ((const struct logic_fault *)b)->path);
}

/* Files of one base have to agree in what the .dat cannot tell apart. */
static int check_base(struct arena *arena, struct logic_base *base)
{
	const struct logic_head *first = logic_head_of(base->files[0]);

	for (size_t i = 1; i < base->n_files; i++) {
		const struct logic_head *other = logic_head_of(base->files[i]);
		const char *key = logic_problem_conflict(&first->problem, &other->problem);
		if (!key)
			continue;
		base->fault = arena_printf(arena, "'%s' and '%s' both claim '%s' but differ in %s", first->file.path, other->file.path,
					   base->name, key);
		return base->fault ? 0 : -ENOMEM;
	}
	return 0;
}

/* Sorted heads into bases and archs. */
static int group(struct scan *scan)
{
	struct logic_catalog *catalog = &scan->catalog->public;
	struct arena *arena = &scan->catalog->arena;
	struct logic_base *bases = arena_new(arena, struct logic_base, scan->n_heads);
	const char **archs = arena_new(arena, const char *, scan->n_heads);
	const struct logic_file **files = arena_new(arena, const struct logic_file *, scan->n_heads);

	if (!bases || !archs || !files)
		return -ENOMEM;
	for (size_t i = 0; i < scan->n_heads; i++) {
		const struct logic_head *head = scan->heads[i], *before = i ? scan->heads[i - 1] : NULL;
		bool new_arch = !before || strcmp(before->file.arch, head->file.arch) != 0;
		files[i] = &head->file;
		if (new_arch)
			archs[catalog->n_archs++] = head->file.arch;
		if (new_arch || strcmp(before->base, head->base) != 0)
			bases[catalog->n_bases++] = (struct logic_base){ .name = head->base, .arch = head->file.arch, .files = &files[i] };
		bases[catalog->n_bases - 1].n_files++;
	}
	for (size_t i = 0; i < catalog->n_bases; i++) {
		int r = check_base(arena, &bases[i]);
		if (r < 0)
			return r;
	}
	catalog->bases = bases;
	catalog->archs = archs;
	scan->catalog->namings = arena_new(arena, struct logic_naming *, catalog->n_archs);
	return scan->catalog->namings ? logic_make_wholes(arena, catalog) : -ENOMEM;
}

static int keep_faults(struct scan *scan)
{
	struct logic_catalog *catalog = &scan->catalog->public;
	struct logic_fault *faults = arena_new(&scan->catalog->arena, struct logic_fault, scan->n_faults);

	if (!faults)
		return -ENOMEM;
	if (scan->n_faults) {
		memcpy(faults, scan->faults, scan->n_faults * sizeof(*faults));
		qsort(faults, scan->n_faults, sizeof(*faults), compare_faults);
	}
	catalog->faults = faults;
	catalog->n_faults = scan->n_faults;
	return 0;
}

static int finish(struct scan *scan, const char *folder, struct error *error)
{
	if (!scan->n_heads && !scan->n_faults)
		return error_set(error, -ENODATA, "'%s' has no logic files (*.yaml)", folder);
	if (scan->n_heads)
		qsort(scan->heads, scan->n_heads, sizeof(*scan->heads), compare_heads);
	int r = keep_faults(scan);
	if (r < 0)
		return r;
	if (!scan->n_heads)
		return error_set(error, -ENODATA, "'%s' has no usable logic file: %s", folder, scan->catalog->public.faults[0].message);
	return group(scan);
}

int logic_scan(const char *folder, struct logic_catalog **ret_catalog, struct error *error)
{
	struct scan scan = { 0 };
	struct stat st;

	if (stat(folder, &st) < 0)
		return error_set(error, -errno, "cannot open '%s': %s", folder, strerror(errno));
	scan.catalog = calloc(1, sizeof(*scan.catalog));
	if (!scan.catalog)
		return -ENOMEM;
	pthread_mutex_init(&scan.catalog->lock, NULL);
	const char *slash = strrchr(folder, '/');
	scan.is_file = !S_ISDIR(st.st_mode);
	scan.folder_length = !scan.is_file ? length_with_slash(folder) : slash ? (size_t)(slash - folder) + 1 : 0;
	int r = walk(&scan, folder);
	if (r == 0)
		r = finish(&scan, folder, error);
	free(scan.heads);
	free(scan.faults);
	if (r < 0) {
		logic_catalog_unref(&scan.catalog->public);
		return error && !error->text[0] ? error_set(error, r, "cannot read '%s': %s", folder, strerror(-r)) : r;
	}
	*ret_catalog = &scan.catalog->public;
	return 0;
}

int logic_catalog_naming(const struct logic_catalog *catalog, const char *arch, const struct logic_naming **ret_naming,
			 struct error *error)
{
	struct catalog *all = (struct catalog *)catalog;	/* what is seen through the pointer does not change */
	size_t i = 0;
	int r = 0;

	while (i < catalog->n_archs && strcmp(catalog->archs[i], arch) != 0)
		i++;
	if (i == catalog->n_archs)
		return -ENOENT;
	pthread_mutex_lock(&all->lock);
	if (!all->namings[i])
		r = logic_naming_new(&catalog->wholes[i], NULL, NULL, &all->namings[i], error);
	if (r == 0)
		*ret_naming = all->namings[i];
	pthread_mutex_unlock(&all->lock);
	return r;
}
