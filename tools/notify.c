/* SPDX-License-Identifier: MIT */
#include "tools/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* -ENOTCONN without a manager that could be told. */
static int find_manager(struct sockaddr_un *ret_address, socklen_t *ret_length)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv("NOTIFY_SOCKET");

	if (!name || (*name != '/' && *name != '@') || strlen(name) >= sizeof(address.sun_path))
		return -ENOTCONN;
	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')		/* a name that is in no folder */
		address.sun_path[0] = 0;
	*ret_address = address;
	*ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	return 0;
}

/* `descriptor` -1: none goes with the text. */
static int tell(const char *text, size_t length, int descriptor)
{
	union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control = { 0 };
	struct sockaddr_un address;
	struct iovec part = { (void *)text, length };
	struct msghdr message = { .msg_name = &address, .msg_iov = &part, .msg_iovlen = 1 };

	int r = find_manager(&address, &message.msg_namelen);
	if (r < 0)
		return r;
	if (descriptor >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
	}
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	r = sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
	close(fd);
	return r;
}

void notify_service(const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	int length = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (length > 0)
		tell(text, MIN((size_t)length, sizeof(text) - 1), -1);
}

int notify_keep_mount(int descriptor)
{
	static const char text[] = "FDSTORE=1\nFDNAME=" NOTIFY_MOUNT;

	return tell(text, strlen(text), descriptor);
}
