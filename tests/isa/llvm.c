/* SPDX-License-Identifier: MIT */
#include "tests/isa/llvm.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define TARGET "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942"

struct folder {
	char path[96];
};

static int folder_make(struct folder *folder)
{
	snprintf(folder->path, sizeof(folder->path), "%s/isa-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(folder->path) ? 0 : -errno;
}

static void folder_file(const struct folder *folder, const char *name, char ret_path[128])
{
	snprintf(ret_path, 128, "%s/%s", folder->path, name);
}

static void folder_remove(const struct folder *folder)
{
	static const char *const names[] = { "a.s", "a.o", "a.txt" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		folder_file(folder, names[i], path);
		unlink(path);
	}
	rmdir(folder->path);
}

bool llvm_available(void)
{
	const char *mc = getenv("LLVM_MC"), *objdump = getenv("LLVM_OBJDUMP");

	return mc && *mc && objdump && *objdump;
}

/* Runs a tool to its end, with stdout into `out` when that is given. -EBADMSG when the tool fails. */
static int run(char *const argv[], const char *out)
{
	posix_spawn_file_actions_t actions;
	int status, r;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	if (out)
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	r = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		return -r;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EBADMSG;
}

static int write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	int r;

	if (!file)
		return -errno;
	r = fputs(text, file) < 0 ? -EIO : 0;
	return fclose(file) || r ? -EIO : 0;
}

/* One line of the listing is "\tTEXT   // ADDRESS: DWORD DWORD ...": the comment tells it from headings and labels. */
static int parse_line(char *line, struct llvm_line *ret_line)
{
	struct llvm_line result = { 0 };
	char *comment = strstr(line, "// "), *to = line, *colon;

	if (!comment || !(colon = strchr(comment, ':')))
		return 0;
	*comment = '\0';
	for (char *word = strtok(line, " \t"); word; word = strtok(NULL, " \t")) {
		size_t length = strlen(word);

		if (to != line)
			*to++ = ' ';
		memmove(to, word, length);
		to += length;
	}
	*to = '\0';
	for (char *word = strtok(colon + 1, " \t\n"); word && result.n_dwords < 3 && *word != '<'; word = strtok(NULL, " \t\n"))
		result.dwords[result.n_dwords++] = (uint32_t)strtoul(word, NULL, 16);
	result.text = strdup(line);
	if (!result.text)
		return -ENOMEM;
	*ret_line = result;
	return 1;
}

static int read_listing(const char *path, struct llvm_listing *ret_listing)
{
	struct llvm_listing listing = { 0 };
	FILE *file = fopen(path, "r");
	char text[1024];
	size_t room = 0;
	int r = 0;

	if (!file)
		return -errno;
	while (r >= 0 && fgets(text, sizeof(text), file)) {
		if (listing.n == room) {
			struct llvm_line *line;

			room = room ? room * 2 : 1024;
			line = realloc(listing.line, room * sizeof(*line));
			if (!line) {
				r = -ENOMEM;
				break;
			}
			listing.line = line;
		}
		r = parse_line(text, &listing.line[listing.n]);
		if (r > 0)
			listing.n++;
	}
	fclose(file);
	if (r < 0) {
		llvm_listing_release(&listing);
		return r;
	}
	*ret_listing = listing;
	return 0;
}

static int assemble_in(const struct folder *folder, const char *source, struct llvm_listing *ret_listing)
{
	char s[128], o[128], txt[128];
	char *mc[] = { getenv("LLVM_MC"), TARGET, "-filetype=obj", "-o", o, s, NULL };
	char *objdump[] = { getenv("LLVM_OBJDUMP"), "-d", "-z", "--mcpu=gfx942", "--no-show-raw-insn", o, NULL };
	int r;

	folder_file(folder, "a.s", s);
	folder_file(folder, "a.o", o);
	folder_file(folder, "a.txt", txt);
	r = write_file(s, source);
	if (r == 0)
		r = run(mc, NULL);
	if (r == 0)
		r = run(objdump, txt);
	return r < 0 ? r : read_listing(txt, ret_listing);
}

int llvm_assemble(const char *source, struct llvm_listing *ret_listing)
{
	struct folder folder;
	int r;

	r = folder_make(&folder);
	if (r < 0)
		return r;
	r = assemble_in(&folder, source, ret_listing);
	folder_remove(&folder);
	return r;
}

int llvm_disassemble(const uint32_t *dwords, size_t n, struct llvm_listing *ret_listing)
{
	char *source = malloc(n * 18 + 1), *to = source;
	int r;

	if (!source)
		return -ENOMEM;
	*to = '\0';
	for (size_t i = 0; i < n; i++)
		to += sprintf(to, ".long 0x%08x\n", dwords[i]);
	r = llvm_assemble(source, ret_listing);
	free(source);
	return r;
}

void llvm_listing_release(struct llvm_listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->line[i].text);
	free(listing->line);
	*listing = (struct llvm_listing){ 0 };
}
