/* SPDX-License-Identifier: MIT */
/*
 * user.tensilefs.* of an artifact. Asking never builds: what is not known yet is not there (ENODATA), but for the state.
 */
#include "cachedb/digest.h"
#include "fs/internal.h"

#include <inttypes.h>
#include <sys/xattr.h>

#define PREFIX "user.tensilefs."

static const char *state_name(enum engine_state state)
{
	switch (state) {
	case ENGINE_UNBUILT:	return "unbuilt";
	case ENGINE_BUILDING:	return "building";
	case ENGINE_BUILT:	return "built";
	case ENGINE_FAILED:	return "failed";
	}
	return "unknown";
}

static bool is_linked(const struct engine_file *file)
{
	return engine_file_kind(file) == ENGINE_CODE_OBJECT || engine_file_kind(file) == ENGINE_HELPER || engine_file_kind(file) == ENGINE_RAW;
}

static void print_hash(const struct cachedb_key *hash, struct buffer *value)
{
	char text[KEY_TEXT_SIZE];

	buffer_append_string(value, key_to_text(hash, text));
}

static const char *const names[] = { "state", "hash", "kernels", "build_ms", "linker", "error" };

/* -ENODATA when the file has no such attribute now. Values have no NUL at their end. */
static int get(struct fs *fs, struct engine_file *file, const char *name, struct buffer *value)
{
	struct engine_stat stat;
	struct error error = { 0 };

	engine_stat(fs->engine, file, &stat);
	const char *linker = is_linked(file) ? engine_linker_version(fs->engine) : NULL;
	if (strcmp(name, "state") == 0)
		buffer_append_string(value, state_name(stat.state));
	else if (strcmp(name, "hash") == 0 && stat.known)
		print_hash(&stat.hash, value);
	else if (strcmp(name, "kernels") == 0 && stat.known && is_linked(file))
		buffer_printf(value, "%" PRIu32, stat.items);
	else if (strcmp(name, "build_ms") == 0 && stat.known)
		buffer_printf(value, "%" PRIu64, stat.cost_us / 1000);
	else if (strcmp(name, "linker") == 0 && stat.known && linker)
		buffer_append_string(value, linker);
	else if (strcmp(name, "error") == 0 && engine_failure(fs->engine, file, &error) < 0)
		buffer_append_string(value, error.text);
	else
		return -ENODATA;
	return value->failed ? -ENOMEM : 0;
}

static void reply_value(fuse_req_t request, const struct buffer *value, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(request, value->size);
	else if (size < value->size)
		fuse_reply_err(request, ERANGE);
	else
		fuse_reply_buf(request, (const char *)value->data, value->size);
}

static struct engine_file *file_of(struct fs *fs, fuse_ino_t ino)
{
	const struct subject *subject = &node_of(fs, ino)->subject;

	return kind_is_artifact(subject->kind) ? subject->file : NULL;
}

void fs_getxattr(fuse_req_t request, fuse_ino_t ino, const char *name, size_t size)
{
	struct fs *fs = fuse_req_userdata(request);
	struct engine_file *file = file_of(fs, ino);
	_cleanup_buffer_ struct buffer value = { 0 };
	int r = -ENODATA;

	if (file && strncmp(name, PREFIX, strlen(PREFIX)) == 0)
		r = get(fs, file, name + strlen(PREFIX), &value);
	if (r < 0)
		fuse_reply_err(request, -r);
	else
		reply_value(request, &value, size);
}

void fs_listxattr(fuse_req_t request, fuse_ino_t ino, size_t size)
{
	struct fs *fs = fuse_req_userdata(request);
	struct engine_file *file = file_of(fs, ino);
	_cleanup_buffer_ struct buffer list = { 0 };

	for (size_t i = 0; file && i < ARRAY_SIZE(names); i++) {
		_cleanup_buffer_ struct buffer value = { 0 };
		if (get(fs, file, names[i], &value) < 0)
			continue;
		buffer_append_string(&list, PREFIX);
		buffer_append(&list, names[i], strlen(names[i]) + 1);
	}
	if (list.failed)
		fuse_reply_err(request, ENOMEM);
	else
		reply_value(request, &list, size);
}
