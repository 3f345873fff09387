/* SPDX-License-Identifier: MIT */
/*
 * The catalog of an engine as a read-only FUSE file system.
 *
 *     r = fs_new(engine, &options, &fs, &error);
 *     r = fs_mount(fs, mountpoint, &args, &error);          // visible from here on
 *     r = fs_serve(fs, &error);                             // until it is unmounted, or SIGTERM or SIGINT
 *     engine_unref(engine);                                 // jobs may still answer requests of the session
 *     fs_unref(fs);
 *
 * What the mount shows:
 *     /<arch>/<file>                       the catalog; with options.flat /<file>
 *     /.tensilefs/                         found by name, never listed: status, coverage, errors/<file>, raw/<arch>/<file>,
 *                                          logic/<arch>/<file>, asm/<arch>/<file>/<kernel>.s
 *
 * Edits of the logic are followed: see engine_watch(). Names that came or went are taken back from the kernel's memory at once.
 *
 * LOOKUP and READDIR never build. GETATTR and OPEN of an unbuilt file park their request on its build and are answered from the worker
 * that ends it; session threads never wait. READ answers from the bytes that the open handle holds.
 *
 * SIGTERM, SIGINT and SIGHUP must be blocked in the caller before it makes any thread (fs_block_signals). The first one unmounts
 * lazily: nothing new can be opened by path, what is pending is answered, and open files are served until the last is closed. The second
 * ends at once.
 */
#pragma once

#include "base/error.h"
#include "build/engine/engine.h"

struct fs;
struct fuse_args;

struct fs_options {
	double entry_timeout;		/* seconds for which the kernel may keep a name, or that there is none */
	unsigned ahead;			/* files that are built ahead of a sequential reader; 0: none */
	unsigned idle_timeout;		/* seconds without a request, an open file or a user after which it unmounts itself; 0: never */
	bool nonempty;			/* mount over a folder that is not empty */
	bool flat;			/* as in engine_options */
	unsigned max_read;		/* as in the mount option of libfuse, which wants to hear it twice; 0: the kernel's */
	struct trace *trace;		/* that requests which are not answered at once are written to, by who asks; NULL: to none */
	void (*ready)(void *userdata);	/* called once, on a thread of fs_serve(), when the kernel and we have agreed to talk; or NULL */
	void *ready_userdata;
	void (*warn)(const char *message);	/* told what is wrong but stops nothing: edits of the logic cannot be watched; or NULL */
};

#define FS_ENTRY_TIMEOUT 1.0		/* an edit that cannot be watched (NFS, the target of a link) is seen after this long */

void fs_block_signals(void);

int fs_new(struct engine *engine, const struct fs_options *options, struct fs **ret_fs, struct error *error);
struct fs *fs_unref(struct fs *fs);		/* after engine_unref(); accepts NULL, returns NULL */

/*
 * Mounts on an empty folder. A dead mount (ENOTCONN) that lies there is removed first. -ENOTEMPTY, -EBUSY (something is mounted there),
 * -ELOOP (logic, cache or linker lie inside the mountpoint), -EIO when the kernel or fusermount3 refuse. `args` are for libfuse: mount
 * options it knows.
 *
 * `mountpoint` may be "/dev/fd/N", a descriptor of /dev/fuse that is mounted already (mount.fuse3(8), drop_privileges): whoever did it has
 * checked the folder, and unmounts it before the first signal. -EBADF when the descriptor is something else.
 */
int fs_mount(struct fs *fs, const char *mountpoint, struct fuse_args *args, struct error *error);

/* Serves requests. 0 when it was unmounted or told to end. */
int fs_serve(struct fs *fs, struct error *error);
