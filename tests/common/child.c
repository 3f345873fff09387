/* SPDX-License-Identifier: MIT */
#include "tests/common/child.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static _Noreturn void begin_and_stay(bool (*begin)(void *userdata), void *userdata, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("CMOCKA_TEST_ABORT", "1", 1);		/* instead of going on with the next test */
	if (begin(userdata) && write(ready, "x", 1) == 1)
		pause();
	_exit(1);
}

pid_t child_hold(bool (*begin)(void *userdata), void *userdata)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0)
		begin_and_stay(begin, userdata, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

void child_end(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}
