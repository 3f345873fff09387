/* SPDX-License-Identifier: MIT */
#include "fs/internal.h"

static const struct { const char *name; enum node_kind kind; } control_entries[] = {
	{ "asm", NODE_ASM },		/* sorted */
	{ "coverage", NODE_COVERAGE },
	{ "errors", NODE_ERRORS },
	{ "logic", NODE_LOGIC },
	{ "raw", NODE_RAW },
	{ "status", NODE_STATUS },
};

#define CONTROL_NAME ".tensilefs"

/* The kind of what a folder of archs, or of one arch's files, holds. */
static enum node_kind child_kind(enum node_kind folder)
{
	switch (folder) {
	case NODE_ROOT:		return NODE_ARCH;
	case NODE_ARCH:		return NODE_FILE;
	case NODE_RAW:		return NODE_RAW_ARCH;
	case NODE_RAW_ARCH:	return NODE_RAW_FILE;
	case NODE_LOGIC:	return NODE_LOGIC_ARCH;
	case NODE_LOGIC_ARCH:	return NODE_LOGIC_FILE;
	case NODE_ASM:		return NODE_ASM_ARCH;
	case NODE_ASM_ARCH:	return NODE_ASM_FILE;
	case NODE_ASM_FILE:	return NODE_ASM_KERNEL;
	case NODE_ERRORS:	return NODE_ERROR;
	default:		return NODE_CONTROL;	/* no such folder */
	}
}

/* How a file of the catalog looks in a folder of an arch; false: not there. */
static bool child_file(enum node_kind kind, struct engine_file *file, struct subject *ret_subject)
{
	struct engine_file *shown = file;

	if (kind == NODE_RAW_FILE)
		shown = engine_raw(file);
	else if (kind == NODE_ASM_FILE && engine_file_kind(file) != ENGINE_CODE_OBJECT)
		shown = NULL;
	if (!shown)
		return false;
	*ret_subject = (struct subject){ .kind = kind, .file = shown };
	return true;
}

static int child_of_archs(struct fs *fs, enum node_kind kind, const char *name, struct subject *ret_subject)
{
	for (size_t i = 0; i < engine_n_archs(fs->engine); i++) {
		if (strcmp(engine_arch(fs->engine, i), name) == 0 && engine_arch_present(fs->engine, i)) {
			*ret_subject = (struct subject){ .kind = kind, .arch = i };
			return 0;
		}
	}
	return -ENOENT;
}

static int child_of_arch(struct fs *fs, const struct node *folder, const char *name, struct subject *ret_subject)
{
	struct engine_file *file = engine_lookup(fs->engine, engine_arch(fs->engine, folder->subject.arch), name);

	return file && child_file(child_kind(folder->subject.kind), file, ret_subject) ? 0 : -ENOENT;
}

static int child_of_control(const char *name, struct subject *ret_subject)
{
	for (size_t i = 0; i < ARRAY_SIZE(control_entries); i++) {
		if (strcmp(control_entries[i].name, name) == 0) {
			*ret_subject = (struct subject){ .kind = control_entries[i].kind };
			return 0;
		}
	}
	return -ENOENT;
}

static int child_of_flat(struct fs *fs, const char *name, struct subject *ret_subject)
{
	struct engine_file *file = engine_lookup_flat(fs->engine, name);

	return file && child_file(NODE_FILE, file, ret_subject) ? 0 : -ENOENT;
}

static int child_of_errors(struct fs *fs, const char *name, struct subject *ret_subject)
{
	for (size_t arch = 0; arch < engine_n_archs(fs->engine); arch++) {
		struct engine_file *file = engine_lookup(fs->engine, engine_arch(fs->engine, arch), name);
		if (file && engine_failure(fs->engine, file, NULL) < 0) {
			*ret_subject = (struct subject){ .kind = NODE_ERROR, .file = file };
			return 0;
		}
	}
	return -ENOENT;
}

int tree_child(struct fs *fs, const struct node *folder, const char *name, struct subject *ret_subject)
{
	switch (folder->subject.kind) {
	case NODE_ROOT:
		if (strcmp(name, CONTROL_NAME) == 0) {
			*ret_subject = (struct subject){ .kind = NODE_CONTROL };
			return 0;
		}
		return fs->options.flat ? child_of_flat(fs, name, ret_subject) : child_of_archs(fs, NODE_ARCH, name, ret_subject);
	case NODE_RAW:
	case NODE_LOGIC:
	case NODE_ASM:
		return child_of_archs(fs, child_kind(folder->subject.kind), name, ret_subject);
	case NODE_ARCH:
	case NODE_RAW_ARCH:
	case NODE_LOGIC_ARCH:
	case NODE_ASM_ARCH:
		return child_of_arch(fs, folder, name, ret_subject);
	case NODE_CONTROL:
		return child_of_control(name, ret_subject);
	case NODE_ERRORS:
		return child_of_errors(fs, name, ret_subject);
	case NODE_ASM_FILE:
		return -EAGAIN;
	default:
		return -ENOTDIR;
	}
}

/* ---- listing ---------------------------------------------------------------------------------------------------------- */

static ssize_t entry_of_archs(struct fs *fs, enum node_kind kind, size_t position, struct tree_entry *entry)
{
	while (position < engine_n_archs(fs->engine) && !engine_arch_present(fs->engine, position))
		position++;
	if (position >= engine_n_archs(fs->engine))
		return -1;
	entry->name = engine_arch(fs->engine, position);
	entry->subject = (struct subject){ .kind = kind, .arch = position };
	return (ssize_t)position;
}

static ssize_t entry_of_arch(struct fs *fs, const struct node *folder, size_t position, struct tree_entry *entry)
{
	enum node_kind kind = child_kind(folder->subject.kind);

	for (; position < engine_n_files(fs->engine, folder->subject.arch); position++) {
		struct engine_file *file = engine_file(fs->engine, folder->subject.arch, position);
		if (engine_file_present(file) && child_file(kind, file, &entry->subject)) {
			entry->name = engine_file_name(file);
			return (ssize_t)position;
		}
	}
	return -1;
}

/* Is a file there in a folder of files of all archs? */
static bool is_listed(struct fs *fs, enum node_kind kind, struct engine_file *file)
{
	if (!engine_file_present(file))
		return false;
	return kind == NODE_ERROR ? engine_failure(fs->engine, file, NULL) < 0 :
				    engine_lookup_flat(fs->engine, engine_file_name(file)) == file;
}

/* Positions count all files of all archs, so that one stays valid when another file fails, comes or goes. */
static ssize_t entry_of_all(struct fs *fs, enum node_kind kind, size_t position, struct tree_entry *entry)
{
	size_t first = 0;

	for (size_t arch = 0; arch < engine_n_archs(fs->engine); arch++) {
		size_t n = engine_n_files(fs->engine, arch);
		for (; position < first + n; position++) {
			struct engine_file *file = engine_file(fs->engine, arch, position - first);
			if (!is_listed(fs, kind, file))
				continue;
			entry->name = engine_file_name(file);
			entry->subject = (struct subject){ .kind = kind, .file = file };
			return (ssize_t)position;
		}
		first += n;
	}
	return -1;
}

static ssize_t entry_of_kernels(const struct node *folder, const struct handle *handle, size_t position, struct tree_entry *entry)
{
	if (position >= handle->n_names)
		return -1;
	snprintf(entry->space, sizeof(entry->space), "%s.s", handle->names[position]);
	entry->name = entry->space;
	entry->subject = (struct subject){ .kind = NODE_ASM_KERNEL, .file = folder->subject.file, .kernel = handle->names[position] };
	return (ssize_t)position;
}

ssize_t tree_entry(struct fs *fs, const struct node *folder, const struct handle *handle, size_t position, struct tree_entry *entry)
{
	if (folder->subject.kind == NODE_ROOT && fs->options.flat)
		return entry_of_all(fs, NODE_FILE, position, entry);
	switch (folder->subject.kind) {
	case NODE_ROOT:
	case NODE_RAW:
	case NODE_LOGIC:
	case NODE_ASM:
		return entry_of_archs(fs, child_kind(folder->subject.kind), position, entry);
	case NODE_ARCH:
	case NODE_RAW_ARCH:
	case NODE_LOGIC_ARCH:
	case NODE_ASM_ARCH:
		return entry_of_arch(fs, folder, position, entry);
	case NODE_CONTROL:
		if (position >= ARRAY_SIZE(control_entries))
			return -1;
		entry->name = control_entries[position].name;
		entry->subject = (struct subject){ .kind = control_entries[position].kind };
		return (ssize_t)position;
	case NODE_ERRORS:
		return entry_of_all(fs, NODE_ERROR, position, entry);
	case NODE_ASM_FILE:
		return entry_of_kernels(folder, handle, position, entry);
	default:
		return -1;
	}
}
