/* SPDX-License-Identifier: MIT */
/*
 * Speaks the protocol of worker.py and does what the kind of a request says, also what no worker should: standin [STARTS [FIRST]].
 *
 * Each start adds a line with the process id to the file STARTS; the first one does what FIRST says, which no loader should:
 *
 *     die, hang           ends with status 3, or pauses, instead of loading
 *     flood, flood hang   says a lot while it loads, and is sound, or pauses, after that
 *     flood forever
 *     speak               writes to the socket over which requests are handed to it
 *     drop, nonsense      does not fork for the first request, or reports what is no report, and goes on
 *     poor                cannot fork for the first request, and goes on
 *     deaf                does not wait for its children
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL 3
#define LEASH 5
#define LARGEST (64 << 20)	/* bytes of a request */
#define MOST_CHILDREN 64

static int channel = -1;	/* of a child */
static char description[8192];	/* what the loader was started with */

/* ---- what a child says ------------------------------------------------------------------------------------------------ */

static void write_all(int fd, const void *bytes, size_t size)
{
	for (const char *at = bytes; size;) {
		ssize_t n = write(fd, at, size);
		if (n <= 0)
			exit(9);
		at += n;
		size -= (size_t)n;
	}
}

static int read_all(void *bytes, size_t size)
{
	for (char *at = bytes; size;) {
		ssize_t n = read(channel, at, size);
		if (n <= 0)
			return -1;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

static void reply(char mark, const void *body, size_t size)
{
	uint32_t length = (uint32_t)size + 1;

	write_all(channel, &length, 4);
	write_all(channel, &mark, 1);
	write_all(channel, body, size);
}

static void reply_text(const char *text)
{
	reply('+', text, strlen(text));
}

static void flood(size_t bytes)
{
	char line[1024];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (size_t i = 0; i < bytes; i += sizeof(line))
		write_all(2, line, sizeof(line));
	write_all(2, "the last line\n", 14);
}

/* Open descriptors and the environment, a line each. */
static void describe(void)
{
	extern char **environ;
	char *end = description;

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			end += sprintf(end, "fd %d\n", fd);
	for (char **entry = environ; *entry; entry++)
		end += snprintf(end, (size_t)(description + sizeof(description) - end) / 2, "%s\n", *entry);
}

static void add_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		exit(8);
	write_all(fd, text, strlen(text));
	close(fd);
}

static void add_pid(const char *path, pid_t pid)
{
	char line[16];

	snprintf(line, sizeof(line), "%d\n", (int)pid);
	add_text(path, line);
}

static void pause_forever(void)
{
	for (;;)
		pause();
}

/* Something that would outlive it; the file gets the process ids of all. */
static void leave_child(const char *path)
{
	pid_t child = fork();

	if (child == 0) {
		close_range(3, ~0u, 0);		/* as what is executed has them closed */
		pause_forever();
	}
	add_pid(path, getppid());
	add_pid(path, child);
	add_pid(path, getpid());
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK) < 0)
		usleep(1000);
}

/* While it runs there is a "+" more than "-" in the file. */
static void count(const char *path)
{
	add_text(path, "+");
	usleep(20000);
	add_text(path, "-");
}

static void act(const char *kind, char *body, size_t size)
{
	static const uint32_t large = 1000, huge = UINT32_MAX, none = 0;
	char number[16];

	if (strcmp(kind, "echo") == 0)
		reply('+', body, size);
	else if (strcmp(kind, "refuse") == 0)
		reply('-', body, size);
	else if (strcmp(kind, "pid") == 0)
		snprintf(number, sizeof(number), "%d", (int)getpid()), reply_text(number);
	else if (strcmp(kind, "loader") == 0)
		snprintf(number, sizeof(number), "%d", (int)getppid()), reply_text(number);
	else if (strcmp(kind, "describe") == 0)
		reply_text(description);
	else if (strcmp(kind, "crash") == 0)
		fprintf(stderr, "a last word\n"), signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
	else if (strcmp(kind, "exit") == 0)
		fprintf(stderr, "a last word\n"), exit(7);
	else if (strcmp(kind, "hang") == 0)
		pause_forever();
	else if (strcmp(kind, "flood") == 0)
		flood((size_t)atol(body)), reply_text("flooded");
	else if (strcmp(kind, "flood and exit") == 0)
		flood((size_t)atol(body)), exit(7);
	else if (strcmp(kind, "silence") == 0)	/* closes what its complaints would go to */
		close(1), close(2), reply_text("silent");
	else if (strcmp(kind, "nonsense") == 0)
		write_all(channel, "HTTP/1.0 200 OK\r\n", 17), pause_forever();
	else if (strcmp(kind, "oversize") == 0)
		write_all(channel, &huge, 4), pause_forever();
	else if (strcmp(kind, "empty") == 0)
		write_all(channel, &none, 4), pause_forever();
	else if (strcmp(kind, "middle") == 0)
		write_all(channel, &large, 4), write_all(channel, "+half", 5), exit(0);
	else if (strcmp(kind, "twice") == 0)
		reply_text("once"), reply_text("twice");
	else if (strcmp(kind, "stay") == 0)	/* says that it does, and does */
		snprintf(number, sizeof(number), "%d", (int)getpid()), reply_text(number), pause_forever();
	else if (strcmp(kind, "child") == 0)
		leave_child(body), pause_forever();
	else if (strcmp(kind, "child and crash") == 0)
		leave_child(body), raise(SIGKILL);
	else if (strcmp(kind, "child and answer") == 0)
		leave_child(body), reply_text("done"), pause_forever();
	else if (strcmp(kind, "wait") == 0)
		wait_for_file(body), reply_text("waited");
	else if (strcmp(kind, "wait and crash") == 0)
		wait_for_file(body), fprintf(stderr, "a last word\n"), raise(SIGKILL);
	else if (strcmp(kind, "count") == 0)
		count(body), reply_text("counted");
	else if (strcmp(kind, "memory") == 0)
		reply_text(mmap(NULL, (size_t)4 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? "refused" : "granted");
	else
		reply('-', "unknown", 7);
}

static int answer(void)
{
	uint32_t size;

	if (read_all(&size, 4) < 0)
		return 1;
	if (size > LARGEST)	/* it answers before it has read the rest */
		reply_text("too large"), pause_forever();
	char *request = calloc(1, (size_t)size + 1);
	if (!request || read_all(request, size) < 0)
		return 1;
	char *end = strchr(request, '\n');
	if (!end)
		return 1;
	*end = 0;
	act(request, end + 1, size - (size_t)(end + 1 - request));
	free(request);
	return 0;
}

/* ---- the loader ------------------------------------------------------------------------------------------------------- */

static struct {
	pid_t pid;
	int leash;
} children[MOST_CHILDREN];

/* Dies from now on, with the whole group, when the other end is let go of, or has been. */
static void take(int leash)
{
	if (fcntl(leash, F_SETOWN, -getpgrp()) < 0 || fcntl(leash, F_SETSIG, SIGKILL) < 0 ||
	    fcntl(leash, F_SETFL, fcntl(leash, F_GETFL) | O_ASYNC) < 0)
		exit(10);
	if (poll(&(struct pollfd){ .fd = leash, .events = POLLIN }, 1, 0))
		kill(0, SIGKILL);
}

static void tell(int leash, int32_t number)
{
	if (send(leash, &number, sizeof(number), MSG_NOSIGNAL) < 0)
		return;		/* nobody wants to know */
}

/* The descriptors of a request; what has ended when there are no more. */
static int receive(int fds[3])
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr aligned;
	} control;
	char byte;
	struct msghdr message = { .msg_iov = &(struct iovec){ &byte, 1 }, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };

	if (recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC) <= 0)
		return -1;
	if (!CMSG_FIRSTHDR(&message) || CMSG_FIRSTHDR(&message)->cmsg_len != CMSG_LEN(3 * sizeof(int)))
		exit(11);
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 3 * sizeof(int));
	return 0;
}

static void be_child(const int fds[3], int ended)
{
	sigset_t none;

	setpgid(0, 0);
	take(fds[2]);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(CONTROL);
	close(LEASH);
	close(ended);
	for (int i = 0; i < MOST_CHILDREN; i++)
		if (children[i].pid)
			close(children[i].leash);
	dup2(fds[1], 1);
	dup2(fds[1], 2);
	close(fds[1]);
	channel = fds[0];
	exit(answer());
}

static void start_child(const int fds[3], int ended)
{
	int i = 0;

	while (children[i].pid)
		if (++i == MOST_CHILDREN)
			exit(12);
	pid_t child = fork();
	if (child == 0)
		be_child(fds, ended);
	children[i].pid = child;
	children[i].leash = fds[2];
	tell(fds[2], child);
	close(fds[0]);
	close(fds[1]);
}

static void reap(void)
{
	siginfo_t info;
	int status;

	while (info.si_pid = 0, waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
		kill(-info.si_pid, SIGKILL);
		waitpid(info.si_pid, &status, 0);
		for (int i = 0; i < MOST_CHILDREN; i++)
			if (children[i].pid == info.si_pid) {
				tell(children[i].leash, status);
				close(children[i].leash);
				children[i].pid = 0;
			}
	}
}

static void misload(const char *how)
{
	if (strcmp(how, "die") == 0)
		fprintf(stderr, "nothing to load\n"), exit(3);
	if (strcmp(how, "speak") == 0)
		write_all(CONTROL, "x", 1);
	while (strncmp(how, "flood", 5) == 0) {
		flood(3000000);
		if (strcmp(how, "flood forever") != 0)
			break;
	}
	if (strcmp(how, "hang") == 0 || strcmp(how, "flood hang") == 0)
		pause_forever();
}

/* What comes of the first request; whether it came to that. */
static int mishandle(const char *how, const int fds[3])
{
	if (strcmp(how, "poor") == 0)
		tell(fds[2], -EAGAIN);
	else if (strcmp(how, "nonsense") == 0)
		write_all(fds[2], "HTTP/1.0 200 OK\r\n", 17);
	else if (strcmp(how, "drop") != 0)
		return 0;
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	return 1;
}

static void load(const char *how)
{
	sigset_t ends;
	int fds[3];

	misload(how);
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	int ended = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd polled[] = { { .fd = CONTROL, .events = POLLIN }, { .fd = strcmp(how, "deaf") == 0 ? -1 : ended, .events = POLLIN } };
	for (;;) {
		struct signalfd_siginfo info;
		poll(polled, 2, -1);
		if (polled[1].revents && read(ended, &info, sizeof(info)) > 0)
			reap();
		if (!polled[0].revents)
			continue;
		if (receive(fds) < 0)
			return;
		if (!mishandle(how, fds))
			start_child(fds, ended);
		else
			how = "";
	}
}

int main(int argc, char **argv)
{
	const char *starts = argc > 1 ? argv[1] : NULL, *how = argc > 2 && access(starts, F_OK) < 0 ? argv[2] : "";

	describe();
	take(LEASH);
	if (starts)
		add_pid(starts, getpid());
	load(how);
	return 0;
}
