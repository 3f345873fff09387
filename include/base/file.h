/* SPDX-License-Identifier: MIT */
/* What every writer of files needs. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
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
