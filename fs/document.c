/* SPDX-License-Identifier: MIT */
/*
 * Control files are written when they are asked for, on the pool where they need logic to be parsed. A document is kept in its node for a
 * moment, so that a stat between open and read speaks of the same bytes. They are read with direct I/O: their size may change from one
 * open to the next.
 */
#include "fs/internal.h"

#include "base/clock.h"

#include <fcntl.h>

#define FRESH_US 1000000		/* how long a document serves further opens */
#define SUFFIX ".s"

struct document *document_ref(struct document *document)
{
	__atomic_fetch_add(&document->references, 1, __ATOMIC_RELAXED);
	return document;
}

struct document *document_unref(struct document *document)
{
	if (document && __atomic_sub_fetch(&document->references, 1, __ATOMIC_ACQ_REL) == 0) {
		buffer_release(&document->bytes);
		free(document);
	}
	return NULL;
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static int write_status(struct fs *fs, struct buffer *text)
{
	_cleanup_buffer_ struct buffer engine = { 0 };

	int r = engine_status(fs->engine, &engine);
	if (r < 0)
		return r;
	pthread_mutex_lock(&fs->ahead_lock);
	uint64_t ahead = fs->ahead_requests;
	pthread_mutex_unlock(&fs->ahead_lock);
	pthread_mutex_lock(&fs->lock);
	buffer_printf(text, "{\n  \"mount\":{\n    \"nodes\":%llu,\n    \"open\":%llu,\n    \"waiting\":%llu,\n    \"interrupted\":%llu,\n"
			    "    \"built_ahead\":%llu\n  },\n  \"engine\":",
		      (unsigned long long)fs->n_nodes, (unsigned long long)fs->n_handles, (unsigned long long)fs->n_waiters,
		      (unsigned long long)fs->n_interrupted, (unsigned long long)ahead);
	pthread_mutex_unlock(&fs->lock);
	buffer_append(text, engine.data, engine.size);
	buffer_append_string(text, "}\n");
	return 0;
}

static int write_error(struct fs *fs, struct engine_file *file, struct buffer *text)
{
	struct error error = { 0 };

	if (engine_failure(fs->engine, file, &error) == 0)
		return -ENOENT;		/* it went well meanwhile */
	buffer_append_string(text, error.text);
	buffer_append_string(text, "\n");
	return 0;
}

static int write_document(struct fs *fs, const struct subject *subject, struct buffer *text)
{
	switch (subject->kind) {
	case NODE_STATUS:
		return write_status(fs, text);
	case NODE_COVERAGE:
		return engine_coverage(fs->engine, NULL, text, NULL);
	case NODE_ERROR:
		return write_error(fs, subject->file, text);
	case NODE_LOGIC_FILE:
		return engine_explain(fs->engine, subject->file, text, NULL);
	case NODE_ASM_KERNEL:
		return engine_print_kernel(fs->engine, subject->file, subject->kernel, text, NULL);
	default:
		return -EISDIR;
	}
}

/* A recent document of the node (if `recent` will do), or a new one. */
static int get_document(struct fs *fs, struct node *node, bool recent, struct document **ret_document)
{
	struct document *document = NULL;

	pthread_mutex_lock(&fs->lock);
	if (recent && node->document && now_us() - node->document->made_us < FRESH_US)
		document = document_ref(node->document);
	pthread_mutex_unlock(&fs->lock);
	if (document) {
		*ret_document = document;
		return 0;
	}
	document = calloc(1, sizeof(*document));
	if (!document)
		return -ENOMEM;
	document->references = 1;
	int r = write_document(fs, &node->subject, &document->bytes);
	if (r == 0 && document->bytes.failed)
		r = -ENOMEM;
	if (r < 0) {
		document_unref(document);
		return r;
	}
	document->made_us = now_us();
	pthread_mutex_lock(&fs->lock);
	document_unref(node->document);
	node->document = document_ref(document);
	pthread_mutex_unlock(&fs->lock);
	*ret_document = document;
	return 0;
}

/* ---- kernels as names ------------------------------------------------------------------------------------------------- */

static int add_name(void *userdata, const char *name)
{
	struct handle *handle = userdata;
	char **names = reallocarray(handle->names, handle->n_names + 1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	handle->names = names;
	names[handle->n_names] = strdup(name);
	return names[handle->n_names++] ? 0 : -ENOMEM;
}

struct search {
	const char *name;		/* with SUFFIX */
	bool found;
};

static int compare_name(void *userdata, const char *name)
{
	struct search *search = userdata;
	size_t length = strlen(name);

	search->found = strncmp(search->name, name, length) == 0 && strcmp(search->name + length, SUFFIX) == 0;
	return search->found;
}

static int look_up_kernel(struct fs *fs, struct node *folder, const char *name, struct node **ret_node)
{
	struct search search = { .name = name };

	int r = engine_foreach_kernel(fs->engine, folder->subject.file, compare_name, &search, NULL);
	if (r < 0)
		return r;
	if (!search.found)
		return -ENOENT;
	_cleanup_free_ char *kernel = strndup(name, strlen(name) - strlen(SUFFIX));
	if (!kernel)
		return -ENOMEM;
	*ret_node = node_look_up(fs, &(struct subject){ .kind = NODE_ASM_KERNEL, .file = folder->subject.file, .kernel = kernel }, NULL);
	return *ret_node ? 0 : -ENOMEM;
}

/* ---- answering -------------------------------------------------------------------------------------------------------- */

/* What needs none is written at once: it is wanted most when all workers are busy. */
static bool needs_logic(const struct subject *subject)
{
	return subject->kind != NODE_STATUS && subject->kind != NODE_ERROR;
}

/* May it be the document of a moment ago? Of a status to look at only, as its numbers are to be those of now; of an error not, which may be none
 * any more. */
static bool may_be_recent(const struct waiter *waiter)
{
	const struct subject *subject = &waiter->node->subject;

	return needs_logic(subject) || (subject->kind == NODE_STATUS && waiter->what == WAIT_GETATTR);
}

/* What the work for a waiter gave. */
struct outcome {
	int status;
	struct node *node;		/* WAIT_LOOKUP: with one lookup that is the kernel's */
	struct handle *handle;		/* WAIT_OPEN, WAIT_OPENDIR */
};

static void work(struct waiter *waiter, struct outcome *outcome)
{
	struct fs *fs = waiter->fs;
	struct document *document = NULL;

	switch (waiter->what) {
	case WAIT_LOOKUP:
		outcome->status = look_up_kernel(fs, waiter->node, waiter->name, &outcome->node);
		return;
	case WAIT_GETATTR:
		outcome->status = get_document(fs, waiter->node, may_be_recent(waiter), &document);
		document_unref(document);
		return;
	default:
		break;
	}
	outcome->handle = calloc(1, sizeof(*outcome->handle));
	if (!outcome->handle)
		outcome->status = -ENOMEM;
	else if (waiter->what == WAIT_OPENDIR)
		outcome->status = engine_foreach_kernel(fs->engine, waiter->node->subject.file, add_name, outcome->handle, NULL);
	else
		outcome->status = get_document(fs, waiter->node, may_be_recent(waiter), &outcome->handle->document);
}

static void answer(struct waiter *waiter, struct outcome *outcome)
{
	struct fs *fs = waiter->fs;

	if (outcome->status < 0) {
		fuse_reply_err(waiter->request, outcome->status == -ENOENT || outcome->status == -ENOMEM ? -outcome->status : EIO);
	} else if (waiter->what == WAIT_LOOKUP) {
		reply_entry(fs, TAKE(outcome->node), waiter->request);
	} else if (waiter->what == WAIT_GETATTR) {
		reply_attributes(fs, waiter->node, waiter->request);
	} else {
		waiter->info.direct_io = waiter->what == WAIT_OPEN;
		reply_handle(fs, waiter->request, &waiter->info, TAKE(outcome->handle));
	}
}

static void run(void *userdata, bool cancelled)
{
	struct waiter *waiter = userdata;
	struct outcome outcome = { .status = cancelled ? -ECANCELED : 0 };

	if (!cancelled)
		work(waiter, &outcome);
	if (waiter_claim(waiter))
		answer(waiter, &outcome);
	if (outcome.node)
		node_forget(waiter->fs, outcome.node, 1);
	handle_free(outcome.handle);
	waiter_free(waiter);
}

void document_request(struct fs *fs, struct node *node, fuse_req_t request, enum waiting_for what, const struct fuse_file_info *info,
		      const char *name)
{
	struct waiter *waiter = waiter_new(fs, node, request, what, info, name);

	if (waiter && !needs_logic(&node->subject))
		run(waiter, false);
	else if (waiter)
		engine_call(fs->engine, run, waiter);
	else
		fuse_reply_err(request, ENOMEM);
}
