/* SPDX-License-Identifier: MIT */
#include "tools/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_service(const char *format, ...)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv("NOTIFY_SOCKET");
	char text[1024];
	va_list ap;

	if (!name || (*name != '/' && *name != '@') || strlen(name) >= sizeof(address.sun_path))
		return;
	va_start(ap, format);
	int length = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')		/* a name that is in no folder */
		address.sun_path[0] = 0;
	if (length > 0)
		sendto(fd, text, MIN((size_t)length, sizeof(text) - 1), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name)));
	close(fd);
}
