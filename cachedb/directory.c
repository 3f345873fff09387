/* SPDX-License-Identifier: MIT */
#include "cachedb/directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FORMAT "cachedb 1\n"		/* the layout of the tables in store.h and of struct record */

/* Parents are made private as well, as the XDG base directory specification asks for below $HOME. */
static int make_directories(const char *name)
{
	_cleanup_free_ char *path = strdup(name);

	if (!path)
		return -ENOMEM;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int check_private(const char *name, const struct stat *st, struct error *error)
{
	if (st->st_uid != geteuid())
		return error_set(error, -EPERM, "cache directory '%s' belongs to user %u, not to user %u who runs this", name,
				 (unsigned)st->st_uid, (unsigned)geteuid());
	if (st->st_mode & 022)
		return error_set(error, -EPERM, "cache directory '%s' can be written by others (mode %04o); 'chmod go-w' makes it safe",
				 name, (unsigned)st->st_mode & 07777);
	return 0;
}

/*
 * In a folder like /tmp anybody can make a link to one of our folders. Links of ours, and those that root has made, are followed.
 */
static int check_link(const char *name, struct error *error)
{
	struct stat st;

	if (lstat(name, &st) < 0 || !S_ISLNK(st.st_mode) || st.st_uid == geteuid() || st.st_uid == 0)
		return 0;
	return error_set(error, -EPERM, "cache directory '%s' is a link that belongs to user %u, not to user %u who runs this", name,
			 (unsigned)st.st_uid, (unsigned)geteuid());
}

/* The files in a directory that is private now may date from when it was not. */
static int check_files(const struct directory *directory, struct error *error)
{
	static const char *const files[] = { "format", "data.mdb", "lock.mdb" };
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (fstatat(directory->fd, files[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;	/* to be made, or its opening says why not */
		if (!S_ISREG(st.st_mode))
			return error_set(error, -EPERM, "'%s' in cache directory '%s' is a link or something else that is no file", files[i],
					 directory->name);
		if (st.st_uid != geteuid() || st.st_mode & 022)
			return error_set(error, -EPERM, "'%s' in cache directory '%s' can be written by others (user %u, mode %04o)",
					 files[i], directory->name, (unsigned)st.st_uid, (unsigned)st.st_mode & 07777);
	}
	return 0;
}

int directory_open(const char *name, bool read_only, struct directory *ret_directory, struct error *error)
{
	_cleanup_(directory_release) struct directory directory = DIRECTORY_INIT;
	struct stat st;
	int r = 0;

	if (!name || !name[0])
		return error_set(error, -EINVAL, "the name of the cache directory is empty");
	directory.name = strdup(name);
	if (!directory.name)
		return -ENOMEM;
	for (size_t i = strlen(name); i > 1 && name[i - 1] == '/'; i--)
		directory.name[i - 1] = 0;	/* a link with a slash behind it looks like a directory */
	name = directory.name;
	r = check_link(name, error);
	if (r < 0)
		return r;
	directory.fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory.fd < 0 && errno == ENOENT && !read_only) {
		r = make_directories(name);
		if (r < 0)
			return error_set(error, r, "cannot make cache directory '%s': %s", name, strerror(-r));
		directory.fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (directory.fd < 0 || fstat(directory.fd, &st) < 0) {
		r = -errno;
		return error_set(error, r, "cannot open cache directory '%s': %s", name, strerror(-r));
	}
	r = check_private(name, &st, error);
	if (!r)
		r = check_files(&directory, error);
	if (r < 0)
		return r;
	directory.dev = st.st_dev;
	directory.ino = st.st_ino;
	*ret_directory = directory;
	directory = (struct directory)DIRECTORY_INIT;
	return 0;
}

/*
 * The database is looked for before the format is read: the format is always written first, so a database without one is foreign,
 * also while another process is just setting the cache up.
 */
static int check_format(const struct directory *directory, int format_fd, bool read_only, struct error *error)
{
	char format[sizeof(FORMAT) + 16] = "";
	bool database = !faccessat(directory->fd, "data.mdb", F_OK, 0);
	ssize_t n = pread(format_fd, format, sizeof(format) - 1, 0);

	if (n < 0)
		return error_set(error, -errno, "cannot read the format of cache '%s': %s", directory->name, strerror(errno));
	if (!strcmp(format, FORMAT))
		return 0;
	if (n > 0) {
		format[strcspn(format, "\n")] = 0;
		return error_set(error, -EMEDIUMTYPE, "cache '%s' has format '%s', this program uses '%.*s'; remove it or choose another",
				 directory->name, format, (int)sizeof(FORMAT) - 2, FORMAT);
	}
	if (database)
		return error_set(error, -EMEDIUMTYPE, "directory '%s' holds a database that is no cache of this program",
				 directory->name);
	if (read_only)
		return error_set(error, -ENOENT, "there is no cache in '%s'", directory->name);
	n = pwrite(format_fd, FORMAT, strlen(FORMAT), 0);
	if (n != (ssize_t)strlen(FORMAT)) {
		int r = n < 0 ? -errno : -ENOSPC;
		if (ftruncate(format_fd, 0) < 0)
			r = -errno;
		return error_set(error, r, "cannot write to cache directory '%s': %s", directory->name, strerror(-r));
	}
	return 0;
}

int directory_enter(struct directory *directory, bool read_only, struct error *error)
{
	int flags = read_only ? O_RDONLY : O_RDWR | O_CREAT;
	_cleanup_close_ int fd = openat(directory->fd, "format", flags | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return error_set(error, -errno, "cannot open 'format' in cache directory '%s': %s", directory->name, strerror(errno));
	while (flock(fd, LOCK_SH) < 0)
		if (errno != EINTR)
			return error_set(error, -errno, "cannot lock cache '%s': %s", directory->name, strerror(errno));
	int r = check_format(directory, fd, read_only, error);
	if (r < 0)
		return r;
	directory->format_fd = fd;
	fd = -1;
	return 0;
}

void directory_release(struct directory *directory)
{
	close_p(&directory->format_fd);
	close_p(&directory->fd);
	free(directory->name);
	*directory = (struct directory)DIRECTORY_INIT;
}

void directory_mark_damaged(const struct directory *directory)
{
	_cleanup_close_ int fd = openat(directory->fd, "damaged", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool directory_is_damaged(const struct directory *directory)
{
	return !faccessat(directory->fd, "damaged", F_OK, 0);
}

int directory_be_alone(const struct directory *directory)
{
	if (flock(directory->format_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int r = errno == EWOULDBLOCK ? -EBUSY : -errno;
	directory_share(directory);		/* the attempt has dropped the shared lock: flock(2), "not ... atomic" */
	return r;
}

void directory_share(const struct directory *directory)
{
	while (flock(directory->format_fd, LOCK_SH) < 0 && errno == EINTR)
		;
}

/* The mark goes last: a crash in between leaves it, and the next one finishes the work. */
int directory_start_anew(const struct directory *directory)
{
	static const char *const files[] = { "data.mdb", "lock.mdb", "damaged" };
	int r = directory_be_alone(directory);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !r; i++)
		if (unlinkat(directory->fd, files[i], 0) < 0 && errno != ENOENT)
			r = -errno;
	directory_share(directory);
	return r;
}
