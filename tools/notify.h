/* SPDX-License-Identifier: MIT */
/*
 * Tells a service manager how far we are, as sd_notify(3) describes it: a datagram of "KEY=value" lines to the socket that
 * $NOTIFY_SOCKET names.
 */
#pragma once

#include "base/macro.h"

/* Nothing happens without a manager; that nobody listens is no failure of ours. */
PRINTF_LIKE(1, 2) void notify_service(const char *format, ...);

/* Under this name the manager keeps a descriptor that was mounted for the service, and gives it to the service's main process. */
#define NOTIFY_MOUNT "mount"

/* Hands a descriptor of /dev/fuse to the manager to keep. -ENOTCONN without one. */
int notify_keep_mount(int descriptor);
