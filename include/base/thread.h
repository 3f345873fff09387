/* SPDX-License-Identifier: MIT */
/* Threads that take none of the program's signals: these are for the threads that the program itself has started. Header only. */
#pragma once

#include <pthread.h>
#include <signal.h>

/* A negative errno when there can be no more. `name`: 15 characters at most. */
static inline int thread_start(const char *name, void *(*run)(void *userdata), void *userdata, pthread_t *ret_thread)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);	/* it inherits the mask of its creator */
	int r = -pthread_create(ret_thread, NULL, run, userdata);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		pthread_setname_np(*ret_thread, name);
	return r;
}
