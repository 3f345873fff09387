/* SPDX-License-Identifier: MIT */
/*
 * The yardstick of the benchmarks: about the least that a file system on libfuse's low level can do. It passes one flat folder through,
 * read-only: OPEN opens the file behind, READ answers straight from a map of it.
 *
 *     bare FOLDER MOUNTPOINT
 *
 * Serves in the foreground until it is unmounted or gets SIGTERM.
 */
#define FUSE_USE_VERSION 312

#include "base/macro.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FOR_EVER 86400.0

struct file {			/* its inode number is 2 plus its place */
	char *name;
	struct stat stat;
	char *bytes;
};

struct bare {
	int folder;
	struct file *files;
	size_t n_files;
};

static struct bare *bare_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

static struct stat stat_of(const struct bare *bare, fuse_ino_t ino)
{
	if (ino != FUSE_ROOT_ID)
		return bare->files[ino - 2].stat;
	return (struct stat){ .st_ino = ino, .st_mode = S_IFDIR | 0555, .st_nlink = 2 };
}

static void op_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct bare *bare = bare_of(request);
	struct fuse_entry_param entry = { .entry_timeout = FOR_EVER, .attr_timeout = FOR_EVER };

	for (size_t i = 0; i < bare->n_files; i++) {
		if (strcmp(bare->files[i].name, name) == 0) {
			entry.ino = i + 2;
			entry.attr = stat_of(bare, entry.ino);
		}
	}
	fuse_reply_entry(request, &entry);
}

static void op_getattr(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct stat stat = stat_of(bare_of(request), ino);

	fuse_reply_attr(request, &stat, FOR_EVER);
}

static void op_open(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct bare *bare = bare_of(request);
	int fd = openat(bare->folder, bare->files[ino - 2].name, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		fuse_reply_err(request, errno);
		return;
	}
	info->fh = (uint64_t)fd;
	info->keep_cache = 1;
	fuse_reply_open(request, info);
}

static void op_read(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	const struct file *file = &bare_of(request)->files[ino - 2];
	size_t end = (size_t)file->stat.st_size;

	if ((uint64_t)offset >= end)
		fuse_reply_buf(request, NULL, 0);
	else
		fuse_reply_buf(request, file->bytes + offset, MIN(size, end - (size_t)offset));
}

static void op_release(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info)
{
	close((int)info->fh);
	fuse_reply_err(request, 0);
}

static void op_readdir(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info)
{
	struct bare *bare = bare_of(request);
	_cleanup_free_ char *bytes = malloc(size);
	size_t used = 0;

	for (size_t i = (size_t)offset; bytes && i < bare->n_files; i++) {
		struct stat stat = stat_of(bare, i + 2);
		size_t added = fuse_add_direntry(request, bytes + used, size - used, bare->files[i].name, &stat, (off_t)i + 1);
		if (added > size - used)
			break;
		used += added;
	}
	fuse_reply_buf(request, bytes, used);
}

static void op_init(void *userdata, struct fuse_conn_info *connection)
{
	connection->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	connection->max_readahead = 1 << 20;
}

static const struct fuse_lowlevel_ops operations = {
	.init = op_init, .lookup = op_lookup, .getattr = op_getattr, .open = op_open,
	.read = op_read, .release = op_release, .readdir = op_readdir,
};

static int add_file(struct bare *bare, const char *name)
{
	_cleanup_close_ int fd = openat(bare->folder, name, O_RDONLY | O_CLOEXEC);
	struct file *files = reallocarray(bare->files, bare->n_files + 1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	bare->files = files;
	struct file *file = &files[bare->n_files];
	if (fd < 0 || fstat(fd, &file->stat) < 0)
		return -errno;
	if (!S_ISREG(file->stat.st_mode))
		return 0;
	size_t size = (size_t)file->stat.st_size;
	file->bytes = size ? mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0) : NULL;
	if (file->bytes == MAP_FAILED)
		return -errno;
	file->name = strdup(name);
	file->stat.st_ino = bare->n_files++ + 2;
	return file->name ? 0 : -ENOMEM;
}

static int read_folder(struct bare *bare, const char *name)
{
	DIR *entries = opendir(name);
	struct dirent *entry;
	int r = 0;

	if (!entries)
		return -errno;
	bare->folder = dirfd(entries);		/* stays open: it is what OPEN starts from */
	while (r == 0 && (entry = readdir(entries)))
		r = add_file(bare, entry->d_name);
	return r;
}

static int serve(struct bare *bare, const char *mountpoint)
{
	char *argv[] = { "bare", "-o", "ro,fsname=bare", NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	struct fuse_session *session = fuse_session_new(&args, &operations, sizeof(operations), bare);
	int r = -1;

	if (session && fuse_set_signal_handlers(session) == 0 && fuse_session_mount(session, mountpoint) == 0) {
		r = fuse_session_loop_mt(session, config);
		fuse_session_unmount(session);
	}
	if (session)
		fuse_session_destroy(session);
	fuse_loop_cfg_destroy(config);
	return r;
}

int main(int argc, char **argv)
{
	struct bare bare = { 0 };

	if (argc != 3) {
		fprintf(stderr, "bare: usage: bare FOLDER MOUNTPOINT\n");
		return EXIT_FAILURE;
	}
	int r = read_folder(&bare, argv[1]);
	if (r < 0) {
		fprintf(stderr, "bare: cannot read '%s': %s\n", argv[1], strerror(-r));
		return EXIT_FAILURE;
	}
	return serve(&bare, argv[2]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
