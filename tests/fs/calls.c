/* SPDX-License-Identifier: MIT */
#include "tests/fs/calls.h"

#include "base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST (1 << 20)			/* bytes that the files here have at most */

static int put(int out, const void *bytes, size_t size)
{
	return write(out, bytes, size) == (ssize_t)size ? 0 : -EIO;
}

static int put_number(int out, long long number)
{
	return dprintf(out, "%lld\n", number) > 0 ? 0 : -EIO;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		exit(1);
	return fd;
}

/* Reads with a function like read(2) that keeps its own place, until it gives nothing. */
static int drain(int fd, int out, ssize_t (*step)(int fd, char *bytes, size_t size, off_t at), size_t piece)
{
	_cleanup_free_ char *bytes = malloc(piece);
	off_t at = 0;
	ssize_t n;

	while ((n = step(fd, bytes, piece, at)) > 0) {
		if (put(out, bytes, (size_t)n) < 0)
			return -EIO;
		at += n;
	}
	return n < 0 ? -errno : 0;
}

static ssize_t step_read(int fd, char *bytes, size_t size, off_t at)
{
	return read(fd, bytes, size);
}

static ssize_t step_pread(int fd, char *bytes, size_t size, off_t at)
{
	return pread(fd, bytes, size, at);
}

static ssize_t step_readv(int fd, char *bytes, size_t size, off_t at)
{
	struct iovec parts[] = { { bytes, size / 3 }, { bytes + size / 3, size - size / 3 } };

	return readv(fd, parts, 2);
}

static ssize_t step_preadv2(int fd, char *bytes, size_t size, off_t at)
{
	struct iovec part = { bytes, size };

	return preadv2(fd, &part, 1, at, 0);
}

static int by_read(const char *path, int out)
{
	return drain(open_file(path), out, step_read, 4096);
}

static int by_small_reads(const char *path, int out)
{
	return drain(open_file(path), out, step_read, 7);
}

static int by_one_read(const char *path, int out)
{
	return drain(open_file(path), out, step_read, MOST);
}

static int by_pread(const char *path, int out)
{
	return drain(open_file(path), out, step_pread, 1000);
}

static int by_readv(const char *path, int out)
{
	return drain(open_file(path), out, step_readv, 3000);
}

static int by_preadv2(const char *path, int out)
{
	return drain(open_file(path), out, step_preadv2, 5000);
}

static int by_stdio(const char *path, int out)
{
	FILE *stream = fopen(path, "re");
	char bytes[300];
	size_t n;
	int r = 0;

	if (!stream)
		return -errno;
	while (r == 0 && (n = fread(bytes, 1, sizeof(bytes), stream)))
		r = put(out, bytes, n);
	fclose(stream);
	return r;
}

/* What a size is good for: as many bytes as fstat says, in one read. */
static int by_size(const char *path, int out)
{
	int fd = open_file(path);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	_cleanup_free_ char *bytes = malloc((size_t)st.st_size + 1);
	if (put_number(out, read(fd, bytes, (size_t)st.st_size)) < 0)
		return -EIO;
	return put(out, bytes, (size_t)st.st_size);
}

/* AT_STATX_DONT_SYNC is not among the ways: it asks for what the kernel has at hand, which is no size before the first question for it. */
static int by_statx(const char *path, int out)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_FORCE_SYNC, STATX_SIZE | STATX_TYPE, &st) < 0)
		return -errno;
	if (put_number(out, (long long)st.stx_size) < 0)
		return -EIO;
	return drain(open_file(path), out, step_read, 4096);
}

static int by_seek(const char *path, int out)
{
	int fd = open_file(path);

	if (put_number(out, lseek(fd, 0, SEEK_END)) < 0 || lseek(fd, -100, SEEK_END) < 0)
		return -EIO;
	return drain(fd, out, step_read, 64);
}

static int by_seek_data(const char *path, int out)
{
	int fd = open_file(path);

	return put_number(out, lseek(fd, 0, SEEK_DATA)) < 0 || put_number(out, lseek(fd, 0, SEEK_HOLE)) < 0 ? -EIO : 0;
}

static int past_the_end(const char *path, int out)
{
	int fd = open_file(path);
	char byte;

	return put_number(out, pread(fd, &byte, 1, 1 << 30)) < 0 || put_number(out, read(fd, &byte, 1)) < 0 ? -EIO : 0;
}

static int by_sendfile(const char *path, int out)
{
	int fd = open_file(path);
	ssize_t n;

	while ((n = sendfile(out, fd, NULL, MOST)) > 0)
		;
	return n < 0 ? -errno : 0;
}

static int by_sendfile_at(const char *path, int out)
{
	int fd = open_file(path);
	off_t at = 11;

	return put_number(out, sendfile(out, fd, &at, 50)) < 0 || put_number(out, at) < 0 ? -EIO : 0;
}

static int by_splice(const char *path, int out)
{
	int fd = open_file(path), ends[2];
	ssize_t n;

	if (pipe(ends) < 0)
		return -errno;
	while ((n = splice(fd, NULL, ends[1], NULL, 65536, 0)) > 0)
		while (n > 0)
			n -= splice(ends[0], NULL, out, NULL, (size_t)n, 0);
	return n < 0 ? -errno : 0;
}

static int by_copy_file_range(const char *path, int out)
{
	int fd = open_file(path);
	ssize_t n;

	while ((n = copy_file_range(fd, NULL, out, NULL, MOST, 0)) > 0)
		;
	if (n < 0 && (errno == EXDEV || errno == EOPNOTSUPP || errno == EINVAL))	/* as cp does */
		return by_sendfile(path, out);
	return n < 0 ? -errno : 0;
}

static int by_map(const char *path, int out, int flags, int protection, bool advise)
{
	int fd = open_file(path);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	char *bytes = mmap(NULL, (size_t)st.st_size, protection, flags, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	if (advise)
		madvise(bytes, (size_t)st.st_size, MADV_WILLNEED);
	close(fd);			/* the map outlives the descriptor */
	if (protection & PROT_WRITE)
		bytes[0] ^= 1;		/* a copy of the page is ours */
	return put(out, bytes, (size_t)st.st_size);
}

static int by_shared_map(const char *path, int out)		/* as HIP does */
{
	return by_map(path, out, MAP_SHARED, PROT_READ, false);
}

static int by_private_map(const char *path, int out)
{
	return by_map(path, out, MAP_PRIVATE, PROT_READ, false);
}

static int by_written_map(const char *path, int out)
{
	return by_map(path, out, MAP_PRIVATE, PROT_READ | PROT_WRITE, false);
}

static int by_populated_map(const char *path, int out)
{
	return by_map(path, out, MAP_SHARED | MAP_POPULATE, PROT_READ, false);
}

static int by_advised_map(const char *path, int out)
{
	return by_map(path, out, MAP_SHARED, PROT_READ, true);
}

static int by_executable_map(const char *path, int out)		/* as dlopen does with segments */
{
	return by_map(path, out, MAP_PRIVATE, PROT_READ | PROT_EXEC, false);
}

/* A map of a length that is known from elsewhere, without any stat: the first page. */
static int by_blind_map(const char *path, int out)
{
	const char *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, open_file(path), 0);

	return bytes == MAP_FAILED ? -errno : put(out, bytes, 300);
}

static int by_readahead(const char *path, int out)
{
	int fd = open_file(path);

	if (readahead(fd, 0, MOST) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED) != 0)
		return -EIO;
	return drain(fd, out, step_read, 4096);
}

static int by_random_reads(const char *path, int out)
{
	int fd = open_file(path);
	char bytes[100];
	ssize_t n;

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (off_t at = 900; at >= 0; at -= 100)
		if ((n = pread(fd, bytes, sizeof(bytes), at)) < 0 || put(out, bytes, (size_t)n) < 0)
			return -EIO;
	return 0;
}

static int by_direct_reads(const char *path, int out)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	void *bytes = NULL;
	ssize_t n;
	int r = 0;

	if (fd < 0 || posix_memalign(&bytes, 4096, MOST) != 0)
		return -errno;
	while (r == 0 && (n = read(fd, bytes, MOST)) > 0)
		r = put(out, bytes, (size_t)n);
	free(bytes);
	return r;
}

static int by_path_descriptor(const char *path, int out)
{
	char name[64];

	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return drain(open_file(name), out, step_read, 4096);
}

static int by_two_descriptors(const char *path, int out)
{
	int first = open_file(path), second = open_file(path);

	int r = drain(first, out, step_read, 4096);
	return r < 0 ? r : drain(second, out, step_pread, 512);
}

static int by_poll(const char *path, int out)
{
	struct pollfd poll_fd = { .fd = open_file(path), .events = POLLIN };

	if (put_number(out, poll(&poll_fd, 1, 0)) < 0 || put_number(out, poll_fd.revents) < 0)
		return -EIO;
	return drain(poll_fd.fd, out, step_read, 4096);
}

/* One submission by the bare system calls: liburing is not needed for this. */
static int by_io_uring(const char *path, int out)
{
	struct io_uring_params p = { 0 };
	_cleanup_free_ char *bytes = malloc(MOST);
	int fd = open_file(path);

	int ring = (int)syscall(SYS_io_uring_setup, 2, &p);
	if (ring < 0)
		return -errno;
	size_t sq_size = p.sq_off.array + p.sq_entries * sizeof(unsigned), cq_size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	char *sq = mmap(NULL, sq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, cq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = mmap(NULL, p.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		return -errno;
	sqes[0] = (struct io_uring_sqe){ .opcode = IORING_OP_READ, .fd = fd, .addr = (uint64_t)(uintptr_t)bytes, .len = MOST };
	((unsigned *)(sq + p.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	const struct io_uring_cqe *done = (const struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return done->res < 0 ? done->res : put(out, bytes, (size_t)done->res);
}

static int by_write_modes(const char *path, int out)	/* a plain file of mode 0444 refuses others than root; the mount refuses all */
{
	return put_number(out, access(path, F_OK)) < 0 || put_number(out, access(path, R_OK)) < 0 || put_number(out, access(path, X_OK)) < 0 ?
	       -EIO : 0;
}

const struct call calls[] = {
	{ "read", by_read, false },
	{ "read, seven bytes at a time", by_small_reads, false },
	{ "read, all at once", by_one_read, false },
	{ "pread", by_pread, false },
	{ "readv", by_readv, false },
	{ "preadv2", by_preadv2, false },
	{ "fread", by_stdio, false },
	{ "fstat, read", by_size, false },
	{ "statx, read", by_statx, false },
	{ "lseek to the end", by_seek, false },
	{ "lseek to data and holes", by_seek_data, false },
	{ "reads past the end", past_the_end, false },
	{ "sendfile", by_sendfile, false },
	{ "sendfile from the middle", by_sendfile_at, false },
	{ "splice", by_splice, false },
	{ "copy_file_range", by_copy_file_range, false },
	{ "shared map", by_shared_map, false },
	{ "private map", by_private_map, false },
	{ "private map that is written to", by_written_map, false },
	{ "populated map", by_populated_map, false },
	{ "map with advice", by_advised_map, false },
	{ "executable map", by_executable_map, true },
	{ "map without stat", by_blind_map, false },
	{ "readahead", by_readahead, false },
	{ "reads in random order", by_random_reads, false },
	{ "direct reads", by_direct_reads, true },
	{ "O_PATH", by_path_descriptor, false },
	{ "two descriptors", by_two_descriptors, false },
	{ "poll", by_poll, false },
	{ "io_uring", by_io_uring, true },
	{ "access", by_write_modes, false },
	{ NULL, NULL, false },
};
