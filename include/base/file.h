/* SPDX-License-Identifier: MIT */
/* What every reader and writer of files needs. */
#pragma once

#include "base/buffer.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Goes on after short counts and interruptions. Returns 0 or a negative errno; part of the bytes may be written then. */
static inline int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Appends what is left of a file, also of one whose size is not known or changes. Returns 0 or a negative errno. */
static inline int read_to_end(int fd, struct buffer *buffer)
{
	uint8_t bytes[65536];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) != 0)
		if (n > 0)
			buffer_append(buffer, bytes, (size_t)n);
		else if (errno != EINTR)
			return -errno;
	return buffer->failed ? -ENOMEM : 0;
}

/* Appends the whole file, wherever its offset is. Returns 0 or a negative errno; -EIO when it became shorter meanwhile. */
static inline int read_whole(int fd, struct buffer *buffer)
{
	struct stat st;
	size_t done = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return 0;
	uint8_t *place = buffer_extend(buffer, (size_t)st.st_size);
	if (!place)
		return -ENOMEM;
	while (done < (size_t)st.st_size) {
		ssize_t n = pread(fd, place + done, (size_t)st.st_size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}
