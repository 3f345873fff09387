/* SPDX-License-Identifier: MIT */
#pragma once

/* A new folder in $TMPDIR or /tmp; malloc memory, NULL when it cannot be made. */
char *folder_make(void);

/* Deletes it with its contents, but not what is mounted there, and frees the name. 0, or -1 with errno set. */
int folder_remove(char *folder);

/* For cmocka: a test with a new folder of its own, whose name is *state. */
int scratch_make(void **state);
int scratch_remove(void **state);
