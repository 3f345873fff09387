/* SPDX-License-Identifier: MIT */
#pragma once

/* A new folder in $TMPDIR or /tmp; malloc memory, NULL when it cannot be made. */
char *folder_make(void);

/* Deletes it with its contents and frees the name. What is still mounted there is unmounted, lazily, never deleted. 0, or -1 with errno set. */
int folder_remove(char *folder);

/* For cmocka: a test with a new folder of its own, whose name is *state. */
int scratch_make(void **state);
int scratch_remove(void **state);
