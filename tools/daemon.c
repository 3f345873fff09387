/* SPDX-License-Identifier: MIT */
#include "tools/daemon.h"

#include "base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

static _Noreturn void wait_for_child(int ready)
{
	char byte;
	ssize_t n;

	do
		n = read(ready, &byte, 1);
	while (n < 0 && errno == EINTR);
	_exit(n == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int daemon_begin(bool foreground, struct daemon *daemon)
{
	int ends[2];

	daemon->ready = -1;
	signal(SIGPIPE, SIG_IGN);	/* whoever listened may be gone; that is not our end */
	if (foreground)
		return 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid < 0) {
		int r = -errno;
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	if (pid > 0) {
		close(ends[1]);
		wait_for_child(ends[0]);
	}
	close(ends[0]);
	daemon->ready = ends[1];
	return 0;
}

static void announce(struct daemon *daemon)
{
	if (daemon->announce < 0)
		return;
	ssize_t n = write(daemon->announce, "\n", 1);
	if (n != 1) {
		/* nobody listens any more */
	}
	close(daemon->announce);
	daemon->announce = -1;
}

void daemon_ready(struct daemon *daemon)
{
	announce(daemon);
	if (daemon->ready < 0)
		return;
	/* not before: to an automounter that waits for us, only its own process group may look at the mountpoint (autofs(5), autofs.rst) */
	setsid();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0) {
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);		/* dup2 leaves CLOEXEC off */
		close(null);
	}
	if (chdir("/") < 0) {
		/* then the folder it was started in stays in use; no harm to the work */
	}
	ssize_t n = write(daemon->ready, "", 1);
	if (n != 1) {
		/* the parent was killed: nobody asks */
	}
	close(daemon->ready);
	daemon->ready = -1;
}
