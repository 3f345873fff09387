/* SPDX-License-Identifier: MIT */
#include "fs/internal.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/statvfs.h>

/* Every operation begins with this. */
static struct fs *fs_of(fuse_req_t request)
{
	struct fs *fs = fuse_req_userdata(request);

	__atomic_fetch_add(&fs->n_requests, 1, __ATOMIC_RELAXED);
	return fs;
}

void handle_free(struct handle *handle)
{
	if (!handle)
		return;
	artifact_unref(handle->artifact);
	document_unref(handle->document);
	for (size_t i = 0; i < handle->n_names; i++)
		free(handle->names[i]);
	free(handle->names);
	free(handle);
}

static void handle_open(struct fs *fs, struct handle *handle)
{
	pthread_mutex_lock(&fs->lock);
	handle->next = fs->handles;
	if (handle->next)
		handle->next->previous = handle;
	fs->handles = handle;
	fs->n_handles++;
	pthread_mutex_unlock(&fs->lock);
}

void handle_close(struct fs *fs, struct handle *handle)
{
	pthread_mutex_lock(&fs->lock);
	*(handle->previous ? &handle->previous->next : &fs->handles) = handle->next;
	if (handle->next)
		handle->next->previous = handle->previous;
	fs->n_handles--;
	pthread_mutex_unlock(&fs->lock);
	handle_free(handle);
}

/* ---- answers ---------------------------------------------------------------------------------------------------------- */

static void fill_entry(struct fs *fs, struct node *node, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){ .ino = ino_of(fs, node), .generation = 1, .entry_timeout = fs->options.entry_timeout };
	entry->attr_timeout = node_attributes(fs, node, &entry->attr);
}

void reply_entry(struct fs *fs, struct node *node, fuse_req_t request)
{
	struct fuse_entry_param entry;

	fill_entry(fs, node, &entry);
	if (fuse_reply_entry(request, &entry) < 0)
		node_forget(fs, node, 1);	/* the kernel did not take it */
}

/* A name that does not exist: the kernel may remember that too. HIP looks for up to three names per object. */
static void reply_no_entry(struct fs *fs, fuse_req_t request)
{
	struct fuse_entry_param entry = { .entry_timeout = fs->options.entry_timeout };

	fuse_reply_entry(request, &entry);
}

void reply_attributes(struct fs *fs, struct node *node, fuse_req_t request)
{
	struct stat stat;

	double timeout = node_attributes(fs, node, &stat);
	fuse_reply_attr(request, &stat, timeout);
}

void reply_handle(struct fs *fs, fuse_req_t request, struct fuse_file_info *info, struct handle *handle)
{
	info->fh = (uint64_t)(uintptr_t)handle;
	handle_open(fs, handle);
	if (fuse_reply_open(request, info) == -ENOENT)	/* the opener was interrupted: there will be no RELEASE */
		handle_close(fs, handle);
}

/* ---- artifacts -------------------------------------------------------------------------------------------------------- */

enum { FILL_BYTES = 4 << 20 };		/* a file up to this size goes into the page cache as a whole */

/*
 * Before the first OPEN of a node is answered its bytes are stored in the kernel's page cache, for two reasons. A node that was looked up
 * before its size was known has size 0 in the kernel, and OPEN has no way to say another: sendfile, splice and mmap would find
 * nothing; a store makes the kernel take the size, and the last byte of a large file is enough for that. And one store is cheaper than
 * the READs that would follow, one round trip for every 128 KiB. Under a lock, and once: nobody can be reading before the first OPEN is
 * answered, so no page is locked by a READ that waits for us.
 */
static int fill_page_cache(struct fs *fs, struct node *node, const struct artifact *artifact)
{
	int r = 0;

	pthread_mutex_lock(&fs->store_lock);
	bool whole = artifact->size <= FILL_BYTES;
	if (artifact->size > 0 && !node->filled && (whole || !node->told)) {
		size_t offset = whole ? 0 : artifact->size - 1;
		struct fuse_bufvec bytes = FUSE_BUFVEC_INIT(artifact->size - offset);
		bytes.buf[0].mem = artifact->data + offset;
		r = fuse_lowlevel_notify_store(fs->session, ino_of(fs, node), (off_t)offset, &bytes, 0);
		if (r < 0 && node->told)
			r = 0;		/* READs will bring what the kernel had no room for */
	}
	if (r == 0)
		node->told = node->filled = true;
	pthread_mutex_unlock(&fs->store_lock);
	return r;
}

/* Binds, fills the page cache and opens. */
static void open_artifact(struct fs *fs, struct node *node, fuse_req_t request, struct fuse_file_info *info, struct artifact *artifact)
{
	int r = node_bind(fs, node, &artifact->hash, artifact->size);
	if (r == 0)
		r = fill_page_cache(fs, node, artifact);
	struct handle *handle = r == 0 ? calloc(1, sizeof(*handle)) : NULL;
	if (!handle) {
		fuse_reply_err(request, r < 0 ? -r : ENOMEM);
		return;
	}
	handle->artifact = artifact_ref(artifact);
	info->keep_cache = 1;		/* a node has one content for ever */
	reply_handle(fs, request, info, handle);
}

static void artifact_arrived(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
	struct waiter *waiter = userdata;
	struct fs *fs = waiter->fs;

	if (waiter_claim(waiter)) {
		if (status < 0)
			fuse_reply_err(waiter->request, EIO);	/* the reason: xattr and /.tensilefs/errors */
		else if (waiter->what == WAIT_OPEN)
			open_artifact(fs, waiter->node, waiter->request, &waiter->info, artifact);
		else if ((status = node_bind(fs, waiter->node, &artifact->hash, artifact->size)) < 0)
			fuse_reply_err(waiter->request, -status);
		else
			reply_attributes(fs, waiter->node, waiter->request);
	}
	waiter_free(waiter);
}

static void request_artifact(struct fs *fs, struct node *node, fuse_req_t request, enum waiting_for what, struct fuse_file_info *info)
{
	struct waiter *waiter = waiter_new(fs, node, request, what, info, NULL);

	if (waiter)
		engine_request(fs->engine, node->subject.file, ENGINE_WAITED, artifact_arrived, waiter);
	else
		fuse_reply_err(request, ENOMEM);
}

/* ---- names ------------------------------------------------------------------------------------------------------------ */

static void op_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fs_of(request);
	struct node *folder = node_of(fs, parent);
	struct engine_stat stat = { 0 };
	struct subject subject;

	int r = tree_child(fs, folder, name, &subject);
	if (r == -EAGAIN) {
		document_request(fs, folder, request, WAIT_LOOKUP, NULL, name);
		return;
	}
	if (r == -ENOENT) {
		reply_no_entry(fs, request);
		return;
	}
	if (r < 0) {
		fuse_reply_err(request, -r);
		return;
	}
	if (kind_is_artifact(subject.kind))
		engine_stat(fs->engine, subject.file, &stat);
	struct node *node = node_look_up(fs, &subject, &stat);
	if (node)
		reply_entry(fs, node, request);
	else
		fuse_reply_err(request, ENOMEM);
}

static void op_forget(fuse_req_t request, fuse_ino_t ino, uint64_t lookups)
{
	node_forget(fs_of(request), node_of(fs_of(request), ino), lookups);
	fuse_reply_none(request);
}

static void op_forget_multi(fuse_req_t request, size_t n, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < n; i++)
		node_forget(fs_of(request), node_of(fs_of(request), forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(request);
}

static bool is_bound(struct fs *fs, struct node *node)
{
	pthread_mutex_lock(&fs->lock);
	bool bound = node->bound;
	pthread_mutex_unlock(&fs->lock);
	return bound;
}

static void op_getattr(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct fs *fs = fs_of(request);
	struct node *node = node_of(fs, ino);
	struct engine_stat stat;

	if (kind_is_folder(node->subject.kind)) {
		reply_attributes(fs, node, request);
		return;
	}
	if (!kind_is_artifact(node->subject.kind)) {
		document_request(fs, node, request, WAIT_GETATTR, NULL, NULL);
		return;
	}
	if (node->subject.kind == NODE_FILE)
		ahead_touch(fs, node->subject.file, false);
	if (!is_bound(fs, node)) {
		engine_stat(fs->engine, node->subject.file, &stat);
		if (!stat.known) {
			request_artifact(fs, node, request, WAIT_GETATTR, NULL);
			return;
		}
		node_bind(fs, node, &stat.hash, stat.size);	/* or somebody else has: either answers */
	}
	reply_attributes(fs, node, request);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static void op_open(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct fs *fs = fs_of(request);
	struct node *node = node_of(fs, ino);

	if ((info->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(request, EROFS);
	} else if (kind_is_artifact(node->subject.kind)) {
		if (node->subject.kind == NODE_FILE)
			ahead_touch(fs, node->subject.file, true);
		request_artifact(fs, node, request, WAIT_OPEN, info);
	} else {
		document_request(fs, node, request, WAIT_OPEN, info, NULL);
	}
}

static void op_read(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	const struct handle *handle = (const struct handle *)(uintptr_t)info->fh;
	/* Held here, too: who has got the answer may close the file before libfuse has returned from giving it. */
	struct artifact *artifact = handle->artifact ? artifact_ref(handle->artifact) : NULL;
	struct document *document = artifact ? NULL : document_ref(handle->document);
	const uint8_t *data = artifact ? artifact->data : document->bytes.data;
	size_t end = artifact ? artifact->size : document->bytes.size;

	if ((uint64_t)offset >= end)
		fuse_reply_buf(request, NULL, 0);
	else
		fuse_reply_buf(request, (const char *)data + offset, MIN(size, end - (size_t)offset));
	document_unref(document);
	artifact_unref(artifact);
}

static void op_release(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	handle_close(fs_of(request), (struct handle *)(uintptr_t)info->fh);
	fuse_reply_err(request, 0);
}

/* ---- folders ---------------------------------------------------------------------------------------------------------- */

static void op_opendir(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct fs *fs = fs_of(request);
	struct node *node = node_of(fs, ino);

	if (node->subject.kind == NODE_ASM_FILE) {
		document_request(fs, node, request, WAIT_OPENDIR, info, NULL);
		return;
	}
	struct handle *handle = calloc(1, sizeof(*handle));
	if (handle)
		reply_handle(fs, request, info, handle);
	else
		fuse_reply_err(request, ENOMEM);
}

/* Appends one entry; returns its size, which is more than `room` when it did not fit. */
static size_t add_entry(fuse_req_t request, char *place, size_t room, bool plus, const struct tree_entry *entry, off_t next)
{
	struct fs *fs = fs_of(request);
	struct engine_stat stat = { 0 };
	bool artifact = kind_is_artifact(entry->subject.kind);
	struct fuse_entry_param param = { 0 };

	if (artifact && plus)
		engine_stat(fs->engine, entry->subject.file, &stat);
	else if (artifact)	/* names alone cost no look at logic or cache; a number that follows content is had by asking */
		stat.known = engine_seen(entry->subject.file, &stat.hash);
	param.attr.st_ino = subject_number(fs, &entry->subject, &stat);
	param.attr.st_mode = kind_is_folder(entry->subject.kind) ? S_IFDIR : S_IFREG;
	if (!plus)
		return fuse_add_direntry(request, place, room, entry->name, &param.attr, next);
	/* Control files are looked up one by one, if at all: their attributes are not for the asking. */
	struct node *node = artifact ? node_look_up(fs, &entry->subject, &stat) : NULL;
	if (node)
		fill_entry(fs, node, &param);
	size_t size = fuse_add_direntry_plus(request, place, room, entry->name, &param, next);
	if (node && size > room)
		node_forget(fs, node, 1);
	return size;
}

static size_t add_dot(fuse_req_t request, char *place, size_t room, bool plus, const struct node *node, off_t position)
{
	struct fuse_entry_param param = { .attr.st_mode = S_IFDIR };
	const char *name = position == 0 ? "." : "..";

	param.attr.st_ino = subject_number(fs_of(request), &node->subject, NULL);
	return plus ? fuse_add_direntry_plus(request, place, room, name, &param, position + 1) :
		      fuse_add_direntry(request, place, room, name, &param.attr, position + 1);
}

/* Offsets: 0 is before ".", 1 before "..", 2 + n before the child at position n. */
static void list(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info, bool plus)
{
	struct fs *fs = fs_of(request);
	struct node *node = node_of(fs, ino);
	const struct handle *handle = (const struct handle *)(uintptr_t)info->fh;
	_cleanup_free_ char *bytes = malloc(size);
	struct tree_entry entry;
	size_t used = 0, added;

	if (!bytes) {
		fuse_reply_err(request, ENOMEM);
		return;
	}
	for (; offset < 2; offset++, used += added) {
		added = add_dot(request, bytes + used, size - used, plus, node, offset);
		if (added > size - used) {
			fuse_reply_buf(request, bytes, used);
			return;
		}
	}
	for (;;) {
		ssize_t position = tree_entry(fs, node, handle, (size_t)offset - 2, &entry);
		if (position < 0)
			break;
		added = add_entry(request, bytes + used, size - used, plus, &entry, position + 3);
		if (added > size - used)
			break;
		used += added;
		offset = position + 3;
	}
	fuse_reply_buf(request, bytes, used);
}

static void op_readdir(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	list(request, ino, size, offset, info, false);
}

static void op_readdirplus(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	list(request, ino, size, offset, info, true);
}

/* ---- the rest --------------------------------------------------------------------------------------------------------- */

static void op_statfs(fuse_req_t request, fuse_ino_t ino)
{
	struct fs *fs = fs_of(request);
	struct statvfs statfs = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255, .f_flag = ST_RDONLY };

	for (size_t i = 0; i < engine_n_archs(fs->engine); i++)
		statfs.f_files += engine_n_files(fs->engine, i);
	fuse_reply_statfs(request, &statfs);
}

static void op_access(fuse_req_t request, fuse_ino_t ino, int mask)
{
	struct fs *fs = fs_of(request);
	bool folder = kind_is_folder(node_of(fs, ino)->subject.kind);

	fuse_reply_err(request, mask & W_OK ? EROFS : mask & X_OK && !folder ? EACCES : 0);
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	struct fs *fs = userdata;

	connection->want |= connection->capable & (FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS |
						   FUSE_CAP_ASYNC_READ);
	/* A node's content never changes, so there is nothing to revalidate; and replies come from memory, not from a pipe. */
	connection->want &= ~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	connection->max_background = 64;
	connection->congestion_threshold = 48;
	connection->max_readahead = 1 << 20;
	connection->max_read = fs->options.max_read;
	if (fs->options.ready)
		fs->options.ready(fs->options.ready_userdata);
}

const struct fuse_lowlevel_ops fs_operations = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_release,
	.statfs = op_statfs,
	.access = op_access,
	.getxattr = fs_getxattr,
	.listxattr = fs_listxattr,
};
