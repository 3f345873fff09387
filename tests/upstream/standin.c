/* SPDX-License-Identifier: MIT */
/*
 * A worker that speaks the protocol of worker.py and does what the kind of a request says, also what no worker should. Every reply that it
 * gives ends in a body of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHANNEL 3
#define LARGEST (64 << 20)	/* bytes of a request */

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
		ssize_t n = read(CHANNEL, at, size);
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

	write_all(CHANNEL, &length, 4);
	write_all(CHANNEL, &mark, 1);
	write_all(CHANNEL, body, size);
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
	char text[8192] = "";

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			sprintf(text + strlen(text), "fd %d\n", fd);
	for (char **entry = environ; *entry; entry++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n", *entry);
	reply_text(text);
}

/* Something that would outlive it, known by its process id, which stands in the file of that name. */
static void leave_child(const char *path)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	FILE *file = fopen(path, "we");
	if (!file)
		exit(8);
	fprintf(file, "%d", (int)child);
	fclose(file);
	for (;;)
		pause();
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
	else if (strcmp(kind, "describe") == 0)
		describe();
	else if (strcmp(kind, "crash") == 0)
		fprintf(stderr, "a last word\n"), signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
	else if (strcmp(kind, "exit") == 0)
		fprintf(stderr, "a last word\n"), exit(7);
	else if (strcmp(kind, "hang") == 0)
		pause();
	else if (strcmp(kind, "flood") == 0)
		flood((size_t)atol(body)), reply_text("flooded");
	else if (strcmp(kind, "flood and exit") == 0)
		flood((size_t)atol(body)), exit(7);
	else if (strcmp(kind, "silence") == 0)	/* closes what its complaints would go to */
		close(1), close(2), reply_text("silent");
	else if (strcmp(kind, "nonsense") == 0)
		write_all(CHANNEL, "HTTP/1.0 200 OK\r\n", 17), pause();
	else if (strcmp(kind, "oversize") == 0)
		write_all(CHANNEL, &huge, 4), pause();
	else if (strcmp(kind, "empty") == 0)
		write_all(CHANNEL, &none, 4), pause();
	else if (strcmp(kind, "middle") == 0)
		write_all(CHANNEL, &large, 4), write_all(CHANNEL, "+half", 5), exit(0);
	else if (strcmp(kind, "twice") == 0)
		reply_text("once"), reply_text("twice");
	else if (strcmp(kind, "later") == 0)	/* ends when nobody asks */
		reply_text("bye"), exit(0);
	else if (strcmp(kind, "child") == 0)
		leave_child(body);
	else if (strcmp(kind, "memory") == 0)
		reply_text(mmap(NULL, (size_t)4 << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? "refused" : "granted");
	else
		reply('-', "unknown", 7);
}

int main(void)
{
	uint32_t size;

	while (read_all(&size, 4) == 0) {
		if (size > LARGEST)	/* it answers before it has read the rest */
			reply_text("too large"), pause();
		char *request = calloc(1, (size_t)size + 1);
		if (!request || read_all(request, size) < 0)
			return 1;
		char *end = strchr(request, '\n');
		if (!end)
			return 1;
		*end = 0;
		act(request, end + 1, size - (size_t)(end + 1 - request));
		free(request);
	}
	return 0;
}
