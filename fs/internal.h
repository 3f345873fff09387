/* SPDX-License-Identifier: MIT */
/*
 * The insides of the file system:
 *     node.c       what the kernel knows: nodes, their table, their attributes
 *     tree.c       names: which children a folder has
 *     operations.c one function per FUSE operation
 *     wait.c       requests that are parked, and their interruption
 *     document.c   the files of the control folder
 *     xattr.c      user.tensilefs.*
 *     ahead.c      building ahead of a sequential reader
 *     reload.c     edits of the logic
 *     session.c    mount, signals, unmount
 *
 * Locks: fs->lock is taken alone, or inside fs->store_lock; neither is held while the engine is called. fs->ahead_lock is taken alone.
 */
#pragma once

#define FUSE_USE_VERSION 312

#include "fs/fs.h"

#include <fuse_lowlevel.h>
#include <pthread.h>

enum node_kind {
	NODE_ROOT,
	NODE_ARCH,			/* folder */
	NODE_FILE,			/* an artifact */
	NODE_CONTROL,			/* /.tensilefs */
	NODE_STATUS, NODE_COVERAGE,
	NODE_ERRORS, NODE_ERROR,	/* folder, and a file in it */
	NODE_RAW, NODE_RAW_ARCH, NODE_RAW_FILE,
	NODE_LOGIC, NODE_LOGIC_ARCH, NODE_LOGIC_FILE,
	NODE_ASM, NODE_ASM_ARCH, NODE_ASM_FILE, NODE_ASM_KERNEL,	/* the third is a folder of kernels */
};

/* What a node stands for. */
struct subject {
	enum node_kind kind;
	size_t arch;			/* NODE_*_ARCH */
	struct engine_file *file;	/* NODE_*_FILE, NODE_ERROR, NODE_ASM_KERNEL; NODE_RAW_FILE: the one of kind ENGINE_RAW */
	const char *kernel;		/* NODE_ASM_KERNEL; the node's own copy there */
};

/* Bytes of a control file as of some moment; reference counted, immutable. */
struct document {
	unsigned references;
	uint64_t made_us;
	struct buffer bytes;
};

/*
 * One inode of the kernel. A node of an artifact begins unbound (its size is not known, the kernel is told 0 and asked to come back) or
 * bound to a content hash, and is bound for good then: other content gets another node.
 */
struct node {
	struct subject subject;
	struct node *next_in_bucket;

	/* protected by fs->lock */
	uint64_t lookups;		/* the kernel's references */
	unsigned references;		/* ours: parked requests */
	bool bound;
	struct cachedb_key hash;
	uint64_t size;
	struct document *document;	/* the last one made, or NULL */

	/* protected by fs->store_lock */
	bool told;			/* no process can have this node with another size than the exact one */
	bool filled;			/* the kernel was given what fill_page_cache() gives */
};

#define NODE_BUCKETS 4096

/* What an open file or folder holds; fi->fh points to it. */
struct handle {
	struct artifact *artifact;	/* or */
	struct document *document;	/* or */
	char **names;			/* of the kernels in a NODE_ASM_FILE */
	size_t n_names;
	struct handle *previous, *next;	/* in fs->handles; protected by fs->lock */
};

struct stream {				/* a sequential reader, as ahead.c sees it */
	const char *arch;
	size_t last;			/* index of the file it touched last */
	unsigned length;		/* files in sequence so far */
	uint64_t used;			/* for replacing the oldest */
	size_t load_end;		/* files up to this one, exclusive, were loaded ahead */
};

#define N_STREAMS 8

struct fs {
	struct engine *engine;
	struct fs_options options;
	struct fuse_session *session;
	char *mountpoint;		/* absolute; NULL: mounted by somebody else, see fs_mount() */
	uid_t uid;
	gid_t gid;
	int64_t started_ns;		/* wall clock: the time of control files */
	pthread_t serving;		/* the thread in fs_serve() */
	uint64_t n_requests;		/* atomic; grows while somebody uses the mount */

	pthread_mutex_t store_lock;	/* held over notify_store: see tell_size() */
	pthread_mutex_t lock;		/* protects all below, and what struct node says */
	struct node root;
	struct node *buckets[NODE_BUCKETS];
	uint64_t n_nodes, n_handles;
	struct handle *handles;		/* open ones: the kernel releases some only after the mount has ended */
	struct waiter *waiters[256];	/* by request */
	uint64_t n_waiters, n_watched, next_serial, n_interrupted;
	pthread_cond_t watch;		/* somebody is to be watched, or `ending` */
	int64_t changed_ns;		/* wall clock, when names came or went: the time of folders */
	bool ending;
	unsigned signals;		/* to end, so far */

	pthread_mutex_t ahead_lock;	/* protects the rest; taken alone */
	struct stream streams[N_STREAMS];
	uint64_t stream_clock;
	uint64_t ahead_requests;
};

/* ---- node.c ---- */

bool kind_is_folder(enum node_kind kind);
bool kind_is_artifact(enum node_kind kind);	/* NODE_FILE, NODE_RAW_FILE */

struct node *node_of(struct fs *fs, fuse_ino_t ino);
fuse_ino_t ino_of(const struct fs *fs, const struct node *node);

/* The node of a subject, with one more lookup; NULL: no memory. `stat` is for artifacts: what is known now. */
struct node *node_look_up(struct fs *fs, const struct subject *subject, const struct engine_stat *stat);
void node_forget(struct fs *fs, struct node *node, uint64_t lookups);
void node_ref(struct fs *fs, struct node *node);
void node_unref(struct fs *fs, struct node *node);

/* Binds a node to content. -ESTALE when it is bound to other content already. */
int node_bind(struct fs *fs, struct node *node, const struct cachedb_key *hash, uint64_t size);

/* The attributes, and for how many seconds they hold: very long for what is bound, 0 for what is not. */
double node_attributes(struct fs *fs, struct node *node, struct stat *ret_stat);

/* The number by which the kernel knows a folder; 0: it does not, or not any more. */
fuse_ino_t node_number_in_kernel(struct fs *fs, const struct subject *subject);

/* The inode number that a listing shows for a subject that has no node. */
uint64_t subject_number(const struct fs *fs, const struct subject *subject, const struct engine_stat *stat);

/* ---- tree.c ---- */

/* The child of that name. -ENOENT; -EAGAIN when only parsing can tell (the kernels of a NODE_ASM_FILE). */
int tree_child(struct fs *fs, const struct node *folder, const char *name, struct subject *ret_subject);

struct tree_entry {
	const char *name;		/* valid until the next call with the same entry */
	struct subject subject;
	char space[512];
};

/* The child at `position` (0 is the first) or the next after it; its position, or -1 at the end. Nothing is copied or held. */
ssize_t tree_entry(struct fs *fs, const struct node *folder, const struct handle *handle, size_t position, struct tree_entry *entry);

/* ---- wait.c ---- */

enum waiting_for { WAIT_LOOKUP, WAIT_GETATTR, WAIT_OPEN, WAIT_OPENDIR };

/* A parked request. It is answered once: by the work it waits for, or by an interruption, after which the work goes on. */
struct waiter {
	struct fs *fs;
	struct node *node;		/* a reference */
	fuse_req_t request;
	enum waiting_for what;
	struct fuse_file_info info;	/* WAIT_OPEN, WAIT_OPENDIR */
	char *name;			/* WAIT_LOOKUP */

	/* protected by fs->lock */
	struct waiter *next_in_bucket;
	uint64_t serial;
	bool parked;			/* not answered yet */
	bool armed;			/* libfuse is done with registering its interruption */
	bool watched;			/* was interrupted, and may be dying or begin to without further notice */
};

/* Parks a request; it may be answered with EINTR from here on. NULL: no memory, the request is yours still. */
struct waiter *waiter_new(struct fs *fs, struct node *node, fuse_req_t request, enum waiting_for what, const struct fuse_file_info *info,
			  const char *name);
/* True when the caller may answer it now: nobody else has or will. */
bool waiter_claim(struct waiter *waiter);
void waiter_free(struct waiter *waiter);

void *watch_interrupted(void *fs);		/* the body of a thread */

/* ---- operations.c ---- */

extern const struct fuse_lowlevel_ops fs_operations;
void handle_free(struct handle *handle);		/* one that is not open; accepts NULL */
void handle_close(struct fs *fs, struct handle *handle);

/* ---- document.c ---- */

/* Answers a LOOKUP, GETATTR, OPEN or OPENDIR in the control folder; may park it. */
void document_request(struct fs *fs, struct node *node, fuse_req_t request, enum waiting_for what, const struct fuse_file_info *info,
		      const char *name);
struct document *document_ref(struct document *document);
struct document *document_unref(struct document *document);	/* accepts NULL, returns NULL */

/* Answers what an operation that ended well has to say. */
void reply_attributes(struct fs *fs, struct node *node, fuse_req_t request);
void reply_entry(struct fs *fs, struct node *node, fuse_req_t request);
void reply_handle(struct fs *fs, fuse_req_t request, struct fuse_file_info *info, struct handle *handle);

/* ---- xattr.c ---- */

void fs_getxattr(fuse_req_t request, fuse_ino_t ino, const char *name, size_t size);
void fs_listxattr(fuse_req_t request, fuse_ino_t ino, size_t size);

/* ---- reload.c ---- */

void reload_changed(void *fs, struct engine_file *file, enum engine_change change);	/* an engine_changed */

/* ---- ahead.c ---- */

/* A file of the catalog is being opened, or looked at beyond its name. */
void ahead_touch(struct fs *fs, struct engine_file *file, bool opened);
