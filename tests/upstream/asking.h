/* SPDX-License-Identifier: MIT */
/* What the tests of workers and of their loader have in common: asking, also from other threads, and looking at processes. */
#pragma once

#include "build/upstream/workers.h"
#include "tests/common/files.h"

#include <pthread.h>
#include <sys/types.h>

/* Workers of the stand-in; `seconds` for each request. */
struct workers *start(unsigned most, unsigned seconds);
struct workers *start_with(const struct workers_options *options);	/* argv NULL: the stand-in */

/* The reply as malloc memory with a NUL; NULL when there was none: then the code and the message are in *ret_code and *error. */
char *ask_for(struct workers *workers, const char *kind, const char *body, int *ret_code, struct error *error);
char *ask(struct workers *workers, const char *kind, const char *body);
void assert_echo(struct workers *workers, const char *text);

/* It fails in this way, with these words, and the next request is answered. */
void assert_fails(struct workers *workers, const char *kind, const char *body, int code, const char *words);

/* A request from a thread of its own. */
struct asker {
	struct workers *workers;
	const char *kind, *body;
	pthread_t thread;
	int code;
	struct error error;
};

void ask_begin(struct asker *asker, struct workers *workers, const char *kind, const char *body);
void ask_end(struct asker *asker);		/* waits for the answer */

/* ---- processes -------------------------------------------------------------------------------------------------------- */

void assert_no_children(void);

/* Lines of a file, which need not be there yet. The limit of what waits is the test's own timeout. */
size_t count_lines(const char *path);
void wait_for_lines(const char *path, size_t n);

/* The process whose number stands in a line of the file; it is somebody else's to wait for. */
pid_t pid_in(const char *path, size_t line);
void wait_until_dead(const char *path, size_t line);
