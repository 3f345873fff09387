/* SPDX-License-Identifier: MIT */
/*
 * Tells a service manager how far we are, as sd_notify(3) describes it: a datagram of "KEY=value" lines to the socket that
 * $NOTIFY_SOCKET names. Nothing happens without one; that nobody listens is no failure of ours.
 */
#pragma once

#include "base/macro.h"

PRINTF_LIKE(1, 2) void notify_service(const char *format, ...);
