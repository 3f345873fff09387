/* SPDX-License-Identifier: MIT */
/* A child process that has begun something and then stays as it is until it is ended, with the test at the latest. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Comes back when begin() has come back true in the child; false fails the test. */
pid_t child_hold(bool (*begin)(void *userdata), void *userdata);
void child_end(pid_t child);
