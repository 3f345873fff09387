/* SPDX-License-Identifier: MIT */
/*
 * Going into the background in a way that scripts can rely on: the command returns when the work has really begun, with its status.
 *
 *     struct daemon daemon = { .announce = fd };            // or -1
 *     r = daemon_begin(foreground, &daemon);                // the parent stays here until the child is ready, and exits
 *     ... engine, mount; complaints still go to stderr ...
 *     daemon_ready(&daemon);                                // the parent exits with 0; stdio is /dev/null from here on
 *
 * A child that ends without daemon_ready() makes the parent exit with 1. Must be called before any thread is made.
 */
#pragma once

#include <stdbool.h>

struct daemon {
	int ready;		/* the write end of a pipe, or -1 */
	int announce;		/* a descriptor that gets a newline and is closed at daemon_ready(), or -1 */
};

int daemon_begin(bool foreground, struct daemon *daemon);
void daemon_ready(struct daemon *daemon);
