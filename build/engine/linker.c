/* SPDX-License-Identifier: MIT */
/*
 * Input and output are memfds: nothing is written to a disk, and nothing is left behind when a process dies. The archive is opened as
 * /proc/self/fd/3; "-o -" makes lld write to its stdout from memory (LLVM lib/Support/FileOutputBuffer.cpp: "-" never makes a
 * temporary file beside the output).
 */
#include "build/engine/linker.h"

#include <elf.h>

/* ---- finding ---------------------------------------------------------------------------------------------------------- */

/* An lld that is new enough. */
static int ask(struct program *program, const char *path, char **ret_identity, unsigned *ret_variant, struct error *error)
{
	_cleanup_free_ char *line = NULL;

	int r = program_ask(program, (const char *const[]){ path, "--version", NULL }, &line, error);
	if (r < 0)
		return r;
	line[strcspn(line, "\n")] = 0;
	const char *number = strstr(line, "LLD ");
	if (!number)
		return error_set(error, -EINVAL, "'%s' is not lld: it calls itself '%.100s'", path, line);
	if (atoi(number + 4) < LINKER_OLDEST)
		return error_set(error, -EINVAL, "'%s' is too old: '%.100s', version %d or newer is needed", path, line, LINKER_OLDEST);
	*ret_identity = TAKE(line);
	return 0;
}

static const char *const names[] = { "ld.lld-22", "ld.lld-21", "ld.lld-20", "ld.lld-19", "ld.lld-18", "ld.lld-17", "ld.lld", NULL };

static const struct program_kind kind = {
	.what = "linker",
	.names = names,
	.missing = "no ld.lld (version 17 or newer) on PATH: install lld or name one with --linker",
	.seconds = LINKER_SECONDS,
	.ask = ask,
};

int linker_new(const char *wanted, struct program **ret_linker)
{
	return program_new(&kind, wanted, ret_linker);
}

/* ---- linking ---------------------------------------------------------------------------------------------------------- */

static bool lies_within(uint64_t offset, uint64_t size, size_t whole)
{
	return offset <= whole && size <= whole - offset;
}

static bool segments_lie_within(const Elf64_Ehdr *header, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		memcpy(&segment, bytes + header->e_phoff + i * sizeof(segment), sizeof(segment));
		if (!lies_within(segment.p_offset, segment.p_filesz, size))
			return false;
	}
	return header->e_phnum > 0;
}

/* lld writes headers first and section headers last, so that an output that was cut off shows in what lies outside of it. */
static bool is_whole_code_object(const uint8_t *bytes, size_t size, const Elf64_Ehdr *origin)
{
	Elf64_Ehdr header;

	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return memcmp(header.e_ident, origin->e_ident, sizeof(header.e_ident)) == 0 && header.e_type == ET_DYN &&
	       header.e_machine == origin->e_machine && header.e_flags == origin->e_flags && header.e_phentsize == sizeof(Elf64_Phdr) &&
	       header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shnum > 0 &&
	       lies_within(header.e_phoff, (uint64_t)header.e_phnum * sizeof(Elf64_Phdr), size) &&
	       lies_within(header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr), size) && segments_lie_within(&header, bytes, size);
}

int linker_link(struct program *linker, const struct link *link, struct objects *objects, struct buffer *ret_linked, struct error *error)
{
	const char *path = program_latest(linker)->path;
	_cleanup_buffer_ struct buffer linked = { 0 };
	_cleanup_free_ char *build_id = NULL;
	Elf64_Ehdr origin;
	char threads[32];
	int input;

	if (asprintf(&build_id, "--build-id=%s", link->build_id) < 0) {
		build_id = NULL;
		return -ENOMEM;
	}
	snprintf(threads, sizeof(threads), "--threads=%u", link->threads);
	const char *const argv[] = { path, "-shared", "--no-undefined", build_id, threads, "-o", "-", "--whole-archive", "/proc/self/fd/3", NULL };
	int r = objects_archive(objects, &input, &origin);
	if (r == 0)
		r = program_run(linker, &(struct program_call){ .argv = argv, .input_fd = &input }, &linked, error);
	if (r < 0)
		return r;
	if (!is_whole_code_object(linked.data, linked.size, &origin))
		return error_set(error, -EIO, "'%s' wrote %zu bytes that are no code object", path, linked.size);
	*ret_linked = linked;
	linked = (struct buffer){ 0 };
	return 0;
}
