/* SPDX-License-Identifier: MIT */
/*
 * llvm-mc comes before clang of the same version: it starts faster (it links less), and both are the same code with the same defaults. What
 * clang's driver makes of its options for an amdgcn target was read off `clang -###`.
 */
#include "build/upstream/assembler_internal.h"

#include "cachedb/digest.h"

#include <elf.h>
#include <limits.h>
#include <sys/wait.h>

#define ASSEMBLER_OLDEST 17	/* the first release that knows gfx942 */
#define ASSEMBLER_SECONDS 300
#define OPTIONS_MOST 16		/* words in one set of options */

enum variant { VARIANT_CLANG, VARIANT_MC };

/* ---- one run ---------------------------------------------------------------------------------------------------------- */

/* Arguments, and the memory of those that had to be put together. */
struct arguments {
	const char *argv[4 * OPTIONS_MOST];
	size_t n;
	struct buffer words;		/* options cut at their spaces; stays where it is */
	char features[256], target[64], version[64];
};

static void arguments_release(struct arguments *arguments)
{
	buffer_release(&arguments->words);
}

static void add(struct arguments *arguments, const char *argument)
{
	arguments->argv[arguments->n++] = argument;
}

static void add_feature(struct arguments *arguments, char sign, const char *name, size_t length)
{
	size_t used = strlen(arguments->features);

	snprintf(arguments->features + used, sizeof(arguments->features) - used, "%s%c%.*s", used ? "," : "-mattr=", sign, (int)length, name);
}

/* "gfx90a:sramecc+:xnack-" */
static void add_processor(struct arguments *arguments, const char *name)
{
	size_t length = strcspn(name, ":");

	snprintf(arguments->target, sizeof(arguments->target), "-mcpu=%.*s", (int)MIN(length, (size_t)50), name);
	add(arguments, arguments->target);
	for (const char *at = name + length; *at == ':'; at += length) {
		length = 1 + strcspn(at + 1, ":");
		if (length > 2)
			add_feature(arguments, at[length - 1], at + 1, length - 2);
	}
}

/* Says one of clang's options in llvm-mc's words. */
static int add_translated(struct arguments *arguments, const char *option)
{
	static const char *const features[] = { "wavefrontsize64", "cumode", "tgsplit" };

	if (strncmp(option, "-mcpu=", 6) == 0) {
		add_processor(arguments, option + 6);
		return 0;
	}
	if (strncmp(option, "-mcode-object-version=", 22) == 0) {
		snprintf(arguments->version, sizeof(arguments->version), "--amdhsa-code-object-version=%.8s", option + 22);
		add(arguments, arguments->version);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		bool off = strncmp(option, "-mno-", 5) == 0;
		if (strncmp(option, "-m", 2) == 0 && strcmp(option + (off ? 5 : 2), features[i]) == 0) {
			add_feature(arguments, off ? '-' : '+', features[i], strlen(features[i]));
			return 0;
		}
	}
	return -EINVAL;
}

static int add_options(struct arguments *arguments, enum variant variant, const char *options, struct error *error)
{
	char *rest;

	buffer_append(&arguments->words, options, strlen(options) + 1);
	if (arguments->words.failed)
		return -ENOMEM;
	for (char *word = strtok_r((char *)arguments->words.data, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (arguments->n >= OPTIONS_MOST)
			return error_set(error, -E2BIG, "too many options for the assembler: '%.200s'", options);
		if (variant == VARIANT_CLANG)
			add(arguments, word);
		else if (add_translated(arguments, word) < 0)
			return error_set(error, -EINVAL, "llvm-mc has no option like '%.100s' of clang: name a clang as assembler", word);
	}
	return 0;
}

static int arguments_init(struct arguments *arguments, const struct program_found *found, const struct assembler_run *run, struct error *error)
{
	static const char *const clang[] = { "-x", "assembler", "-target" }, *const mc[] = { "-filetype=obj", "-triple" };
	bool is_clang = found->variant == VARIANT_CLANG;

	add(arguments, found->path);
	for (size_t i = 0; i < (is_clang ? ARRAY_SIZE(clang) : ARRAY_SIZE(mc)); i++)
		add(arguments, is_clang ? clang[i] : mc[i]);
	add(arguments, run->triple);
	int r = add_options(arguments, found->variant, run->options, error);
	if (r < 0)
		return r;
	if (is_clang)
		add(arguments, "-c");
	else if (arguments->features[0])
		add(arguments, arguments->features);
	add(arguments, "-o");
	add(arguments, "-");
	add(arguments, ASSEMBLER_INPUT);
	add(arguments, NULL);
	return 0;
}

void assembler_result_release(struct assembler_result *result)
{
	buffer_release(&result->object);
	buffer_release(&result->said);
}

int assembler_run(struct program *program, const struct program_found *found, const struct assembler_run *run,
		  struct assembler_result *ret_result, struct error *error)
{
	_cleanup_(arguments_release) struct arguments arguments = { 0 };
	_cleanup_(assembler_result_release) struct assembler_result result = { .status = -1 };

	int r = arguments_init(&arguments, found, run, error);
	if (r < 0)
		return r;
	r = program_run(program,
			&(struct program_call){ .argv = arguments.argv, .input = run->text, .input_size = run->size, .said = &result.said,
						.status = &result.status },
			&result.object, &result.error);
	if (r < 0 && result.status <= 0)	/* it did not end by itself, or what it wrote cannot be read */
		return error_set(error, r, "%s", error_text(&result.error, r));
	buffer_append(&result.said, "", 1);
	if (result.said.failed || result.object.failed)
		return -ENOMEM;
	result.said.size--;
	*ret_result = result;
	result = (struct assembler_result){ 0 };
	return 0;
}

/* Both end with 1 when they refuse the input; clang's driver ends with another number when the assembler inside it crashed. */
bool assembler_crashed(const struct assembler_result *result)
{
	return !WIFEXITED(result->status) || WEXITSTATUS(result->status) > 1;
}

/* ---- what it says ----------------------------------------------------------------------------------------------------- */

/* "/proc/self/fd/3:12:1: error: invalid instruction": the line of the input, or 0. */
static unsigned parse_line(const char *line)
{
	static const char prefix[] = ASSEMBLER_INPUT ":";
	char *end;

	if (strncmp(line, prefix, strlen(prefix)) != 0)
		return 0;
	unsigned long number = strtoul(line + strlen(prefix), &end, 10);
	return *end == ':' ? (unsigned)MIN(number, (unsigned long)UINT_MAX) : 0;
}

const char *assembler_next_complaint(const char *at, struct assembler_complaint *ret_complaint)
{
	while (*at) {
		const char *start = at;
		at += strcspn(at, "\n");
		at += *at == '\n';
		unsigned line = parse_line(start);
		if (line) {
			*ret_complaint = (struct assembler_complaint){ .line = line, .start = start };
			return at;
		}
	}
	return NULL;
}

static void find_line(const char *text, size_t size, unsigned number, const char **ret_line, size_t *ret_length)
{
	const char *end = text + size, *at = text;

	for (; number > 1 && at; number--) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at)
		at = end;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *stop = memchr(at, '\n', (size_t)(end - at));
	*ret_line = at;
	*ret_length = (size_t)((stop ? stop : end) - at);
}

/* The first error, with its line in the input; or how it ended. An error in a macro is followed by a note with the line that uses the macro. */
static int explain(const struct program_found *found, const struct assembler_run *run, const struct assembler_result *result, struct error *error)
{
	struct assembler_complaint complaint;
	const char *said = (const char *)result->said.data, *line;
	size_t length;

	const char *message = strstr(said, ": error: ");
	if (assembler_crashed(result) || !message)
		return error_set(error, -EIO, "%s", result->error.text);
	while (message > said && message[-1] != '\n')
		message--;
	if (!assembler_next_complaint(message, &complaint))
		return error_set(error, -EIO, "%s", result->error.text);
	message = strstr(message, ": error: ") + strlen(": error: ");
	find_line(run->text, run->size, complaint.line, &line, &length);
	return error_set(error, -EIO, "'%s' refuses line %u: %.*s: '%.*s'", found->path, complaint.line, (int)MIN(strcspn(message, "\n"), (size_t)300),
			 message, (int)MIN(length, (size_t)300), line);
}

/* ---- finding ---------------------------------------------------------------------------------------------------------- */

static bool is_whole_object(const struct buffer *object)
{
	Elf64_Ehdr header;

	if (object->size < sizeof(header))
		return false;
	memcpy(&header, object->data, sizeof(header));
	return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_REL &&
	       header.e_machine == EM_AMDGPU && header.e_shentsize == sizeof(Elf64_Shdr) && header.e_shoff <= object->size &&
	       header.e_shnum <= (object->size - header.e_shoff) / sizeof(Elf64_Shdr);
}

/* As assembler_assemble(). */
static int assemble(struct program *program, const struct program_found *found, const struct assembler_run *run, struct buffer *ret_object,
		    struct error *error)
{
	_cleanup_(assembler_result_release) struct assembler_result result = { 0 };

	int r = assembler_run(program, found, run, &result, error);
	if (r < 0)
		return r;
	if (result.status != 0)
		return explain(found, run, &result, error);
	if (!is_whole_object(&result.object))
		return error_set(error, -EIO, "'%s' wrote %zu bytes that are no object", found->path, result.object.size);
	*ret_object = result.object;
	result.object = (struct buffer){ 0 };
	return 0;
}

int assembler_check(struct program *program, const struct program_found *found, struct error *error)
{
	_cleanup_buffer_ struct buffer object = { 0 };
	const struct assembler_run run = { .triple = "amdgcn-amd-amdhsa", .options = "-mcpu=gfx942", .text = "s_endpgm\n", .size = 9 };

	return assemble(program, found, &run, &object, error);
}

/* A digest of the program, for one whose version does not say from which sources it is. */
static int print_digest(const char *path, const char *line, char **ret_identity, struct error *error)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct cachedb_key key;

	digest_init(&digest, "assembler");
	int r = digest_file(&digest, path, error);
	if (r == 0)
		r = digest_finish(&digest, &key);
	if (r < 0)
		return r;
	return asprintf(ret_identity, "%s %016llx", line, (unsigned long long)key_number(&key)) < 0 ? -ENOMEM : 0;
}

/*
 * A release is the same code whoever packaged it. AMD's own compiler, and what is between releases, is named by the whole line, which has
 * the revision in brackets ("AMD clang version 18.0.0git (https://... 24455 ...)"), or by a digest when it has none.
 */
static int name_version(const char *path, const char *line, const char *number, char **ret_identity, struct error *error)
{
	size_t length = strcspn(number, " \t");
	bool is_release = strspn(number, "0123456789.") == length && strncmp(line, "AMD ", 4) != 0;

	if (is_release)
		return asprintf(ret_identity, "LLVM %.*s", (int)length, number) < 0 ? -ENOMEM : 0;
	if (!strchr(line, '('))
		return print_digest(path, line, ret_identity, error);
	return (*ret_identity = strdup(line)) ? 0 : -ENOMEM;
}

/* The line with "clang version 22.1.8" or "LLVM version 22.1.8" in it, NUL-terminated, and where the number starts. */
static char *find_version(char *text, const char **ret_number, enum variant *ret_variant)
{
	static const char *const words[] = { [VARIANT_CLANG] = "clang version ", [VARIANT_MC] = "LLVM version " };
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			const char *found = strstr(line, words[i]);
			if (!found)
				continue;
			*ret_number = found + strlen(words[i]);
			*ret_variant = (enum variant)i;
			return line + strspn(line, " ");
		}
	return NULL;
}

static int ask_version(struct program *program, const char *path, char **ret_identity, enum variant *ret_variant, struct error *error)
{
	_cleanup_free_ char *text = NULL;
	const char *number;

	int r = program_ask(program, (const char *const[]){ path, "--version", NULL }, &text, error);
	if (r < 0)
		return r;
	_cleanup_free_ char *first = strndup(text, MIN(strcspn(text, "\n"), (size_t)100));
	const char *line = find_version(text, &number, ret_variant);
	if (!line)
		return error_set(error, -EINVAL, "'%s' is neither clang nor llvm-mc: it calls itself '%s'", path, first ? first : "");
	if (atoi(number) < ASSEMBLER_OLDEST)
		return error_set(error, -EINVAL, "'%s' is too old: '%.100s', version %d or newer is needed", path, line, ASSEMBLER_OLDEST);
	return name_version(path, line, number, ret_identity, error);
}

static int ask(struct program *program, const char *path, char **ret_identity, unsigned *ret_variant, struct error *error)
{
	_cleanup_free_ char *identity = NULL;
	enum variant variant = VARIANT_CLANG;

	int r = ask_version(program, path, &identity, &variant, error);
	if (r == 0)
		r = assembler_check(program, &(struct program_found){ .path = path, .variant = variant }, error);
	if (r < 0)
		return r;
	*ret_variant = variant;
	*ret_identity = TAKE(identity);
	return 0;
}

static const char *const names[] = {
	"amdclang", "llvm/bin/amdclang", "bin/amdclang", "llvm/bin/clang",	/* the last three below ROCm's folder */
	"llvm-mc-22", "clang-22", "llvm-mc-21", "clang-21", "llvm-mc-20", "clang-20", "llvm-mc-19", "clang-19", "llvm-mc-18", "clang-18",
	"llvm-mc-17", "clang-17", "llvm-mc", "clang", NULL,
};

static const struct program_kind kind = {
	.what = "assembler",
	.names = names,
	.missing = "no assembler for AMD GPUs: install ROCm's amdclang, or clang or llvm (version 17 or newer), or name one with --assembler",
	.seconds = ASSEMBLER_SECONDS,
	.ask = ask,
};

int assembler_new(const char *wanted, struct program **ret_assembler)
{
	return program_new(&kind, wanted, ret_assembler);
}

/* ---- assembling ------------------------------------------------------------------------------------------------------- */

int assembler_assemble(struct program *assembler, const struct assembler_options *options, const void *text, size_t size,
		       struct buffer *ret_object, struct error *error)
{
	const struct program_found *found;
	char words[160], version[40] = "";

	int r = program_identify(assembler, &found, error);
	if (r < 0)
		return r;
	if (options->code_object_version)
		snprintf(version, sizeof(version), "-mcode-object-version=%u ", options->code_object_version);
	snprintf(words, sizeof(words), "%s-mcpu=%.80s%s", version, options->arch,
		 options->wavefront_size == 64 ? " -mwavefrontsize64" : options->wavefront_size == 32 ? " -mno-wavefrontsize64" : "");
	return assemble(assembler, found,
			&(struct assembler_run){ .triple = "amdgcn-amd-amdhsa", .options = words, .text = text, .size = size }, ret_object, error);
}
