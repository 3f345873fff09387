/* SPDX-License-Identifier: MIT */
/*
 * The compiler runs in a folder of its own that is removed afterwards, with the sources and what the compiler of a distribution has to be
 * handed: symbolic links to the device library. What it would do is asked with -###, which tells of anything that is missing and names
 * the files that go into the object; that costs a fiftieth of what compiling an empty kernel does.
 */
#include "build/upstream/hip.h"

#include "base/file.h"
#include "cachedb/digest.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>

#define HIP_SECONDS 3600	/* for one compilation; that of the whole library takes a few minutes */
#define HIP_OLDEST 17		/* the first clang that knows gfx942 */

/* What a compiler has to be handed; struct program_found.variant. */
enum {
	HAND_LIBRARY = 1 << 0,		/* the device library */
	HAND_VERSION_5 = 1 << 1,	/* code object version 5: there is no device library for its own choice, 6 */
	IS_HIPCC = 1 << 2,		/* takes other options */
};

/* ---- the folder ------------------------------------------------------------------------------------------------------- */

struct folder {
	char path[PATH_MAX / 2];	/* "" until it is there */
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void folder_release(struct folder *folder)
{
	if (folder->path[0])
		nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static int folder_make(struct folder *folder, struct error *error)
{
	const char *tmp = getenv("TMPDIR");
	struct folder made;

	snprintf(made.path, sizeof(made.path), "%s/tensilefs-hip-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(made.path))
		return error_set(error, -errno, "cannot make a folder in '%s': %s", tmp && *tmp ? tmp : "/tmp", strerror(errno));
	*folder = made;
	return 0;
}

static int fail_in(const struct folder *folder, const char *what, struct error *error)
{
	return error_set(error, -errno, "cannot write '%s' in '%s': %s", what, folder->path, strerror(errno));
}

static int folder_link(const struct folder *folder, const char *target, const char *name, struct error *error)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%.200s", folder->path, name);
	return symlink(target, path) < 0 && errno != EEXIST ? fail_in(folder, name, error) : 0;
}

static int folder_write(const struct folder *folder, const struct hip_source *source, struct error *error)
{
	char path[PATH_MAX];

	if (strchr(source->name, '/'))
		return error_set(error, -EINVAL, "'%.200s' is no name for a source file", source->name);
	snprintf(path, sizeof(path), "%s/%.200s", folder->path, source->name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : write_all(fd, source->text, source->size);
	if (r < 0) {
		errno = -r;
		return fail_in(folder, source->name, error);
	}
	return 0;
}

/* ---- what is handed to the compiler ----------------------------------------------------------------------------------- */

/* Where distributions keep the device library (Debian: rocm-device-libs). */
static const char *const library_folders[] = { "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/usr/lib/amdgcn/bitcode", "/usr/lib64/amdgcn/bitcode",
					       "/usr/share/amdgcn/bitcode" };

/* Processors that can do with the library of another: the versions are one instruction set (LLVM's AMDGPUUsage), gfx940 came first. */
static const char *const stand_ins[][2] = { { "oclc_isa_version_942.bc", "oclc_isa_version_940.bc" },
					    { "oclc_isa_version_941.bc", "oclc_isa_version_940.bc" } };

static int link_library_file(const struct folder *folder, const char *from, const char *name, struct error *error)
{
	char target[PATH_MAX];

	snprintf(target, sizeof(target), "%s/%.200s", from, name);
	int r = folder_link(folder, target, name, error);
	for (size_t i = 0; i < ARRAY_SIZE(stand_ins) && r == 0; i++)
		if (strcmp(name, stand_ins[i][1]) == 0) {
			char other[PATH_MAX];
			snprintf(other, sizeof(other), "%s/%s", from, stand_ins[i][0]);
			if (access(other, F_OK) < 0)
				r = folder_link(folder, target, stand_ins[i][0], error);
		}
	return r;
}

static int link_library(const struct folder *folder, struct error *error)
{
	for (size_t i = 0; i < ARRAY_SIZE(library_folders); i++) {
		DIR *from = opendir(library_folders[i]);
		if (!from)
			continue;
		int r = 0;
		for (struct dirent *entry; r == 0 && (entry = readdir(from));)
			if (entry->d_name[0] != '.')
				r = link_library_file(folder, library_folders[i], entry->d_name, error);
		closedir(from);
		return r;
	}
	return error_set(error, -ENOENT, "there is no device library for AMD GPUs: install rocm-device-libs");
}

/* ---- commands --------------------------------------------------------------------------------------------------------- */

struct command {
	const char *argv[32];
	size_t n;
	char arch[64], library[PATH_MAX], here[PATH_MAX];
};

static void add(struct command *command, const char *argument)
{
	command->argv[command->n++] = argument;
	command->argv[command->n] = NULL;
}

/*
 * Upstream's options (TensileCreateLibrary.py, buildSourceCodeObjectFile), with three differences: the compiler stops at assembly text, which is
 * assembled and linked as kernels are; the number in the name of the symbol __hip_cuid_... is no digest of the path; and what is handed to
 * the compiler.
 */
static void command_init(struct command *command, const struct program_found *found, const struct folder *folder, const char *arch)
{
	command->n = 0;
	add(command, found->path);
	if (found->variant & IS_HIPCC) {
		add(command, "--genco");
	} else {
		static const char *const options[] = { "--cuda-device-only", "-x", "hip", "-O3" };
		for (size_t i = 0; i < ARRAY_SIZE(options); i++)
			add(command, options[i]);
	}
	add(command, "-D__HIP_HCC_COMPAT_MODE__=1");
	add(command, "-std=c++17");
	add(command, "--no-gpu-bundle-output");
	add(command, "-cuid=0");
	snprintf(command->arch, sizeof(command->arch), "--offload-arch=%.40s", arch);
	add(command, command->arch);
	snprintf(command->here, sizeof(command->here), "-I%s", folder->path);
	add(command, command->here);
	if (found->variant & HAND_LIBRARY) {
		snprintf(command->library, sizeof(command->library), "--rocm-device-lib-path=%s", folder->path);
		add(command, command->library);
	}
	if (found->variant & HAND_VERSION_5)
		add(command, "-mcode-object-version=5");
}

/* Assembly text on its stdout. */
static void add_output(struct command *command, const char *source)
{
	add(command, source);
	add(command, "-S");
	add(command, "-o");
	add(command, "-");
}

static int hand_over(const struct folder *folder, unsigned variant, struct error *error)
{
	return variant & HAND_LIBRARY ? link_library(folder, error) : 0;
}

/* The line with the first error, without the path of our folder; NULL: there is none. */
static const char *find_complaint(const struct folder *folder, const char *said)
{
	const char *line = strstr(said, "error: ");
	size_t prefix = strlen(folder->path);

	while (line && line > said && line[-1] != '\n')
		line--;
	return line && strncmp(line, folder->path, prefix) == 0 ? line + prefix + 1 : line;
}

/* -ENOPKG: there is no device library that it finds and that fits. */
static int run(struct program *program, const struct folder *folder, const struct command *command, struct buffer *ret_output, struct buffer *said,
	       struct error *error)
{
	int r = program_run(program, &(struct program_call){ .argv = command->argv, .said = said }, ret_output, error);

	buffer_append(said, "", 1);
	if (said->failed)
		return -ENOMEM;
	const char *text = (const char *)said->data, *complaint = r == -EIO ? find_complaint(folder, text) : NULL;
	if (!complaint)
		return r;
	if (strstr(text, "cannot find HIP runtime"))
		return error_set(error, -ENOENT, "'%s' finds no HIP headers: install ROCm, or libamdhip64-dev", command->argv[0]);
	if (strstr(text, "cannot find ROCm device library"))
		r = -ENOPKG;
	return error_set(error, r, "'%.200s' fails: %.*s", command->argv[0], (int)MIN(strcspn(complaint, "\n"), (size_t)600), complaint);
}

/* ---- who it is -------------------------------------------------------------------------------------------------------- */

static const char includes[] = "#include <hip/hip_runtime.h>\n#include <hip/hip_ext.h>\n#include <hip/hip_fp16.h>\n";
static const struct hip_source probe = { .name = "probe.cpp", .text = includes, .size = sizeof(includes) - 1 };

/* The next word in quotes of a line that -### printed, cut out of it; NULL at its end. */
static char *next_word(char **at)
{
	char *start = strchr(*at, '"');
	char *end = start ? strchr(start + 1, '"') : NULL;

	if (!end)
		return NULL;
	*end = 0;
	*at = end + 1;
	return start + 1;
}

/* Takes in the parts of the device library that go into an object. `said` is what -### printed. */
static int digest_parts(struct digest *digest, char *said, struct error *error)
{
	bool compiles = false;
	char *rest;

	for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *word = line[0] == ' ' ? next_word(&line) : NULL;
		compiles = compiles || word;
		while (word && (word = next_word(&line)))
			if (strcmp(word, "-mlink-builtin-bitcode") == 0 && (word = next_word(&line))) {
				int r = digest_file(digest, word, error);
				if (r < 0)
					return r;
			}
	}
	return compiles ? 0 : error_set(error, -EINVAL, "the HIP compiler does not say how it would compile");
}

/* The headers as the compiler sees them. */
static int digest_headers(struct program *program, const struct program_found *found, const struct folder *folder, const char *source,
			  struct digest *digest, struct error *error)
{
	_cleanup_buffer_ struct buffer text = { 0 }, said = { 0 };
	struct command command;

	command_init(&command, found, folder, "gfx942");
	add(&command, "-E");
	add(&command, "-P");
	add(&command, source);
	int r = run(program, folder, &command, &text, &said, error);
	if (r < 0)
		return r;
	if (text.size && memmem(text.data, text.size, "__AMDGCN_WAVEFRONT_SIZE", 23))	/* a macro of clang until version 21 */
		return error_set(error, -EINVAL, "the HIP headers are too old for '%s': they ask for __AMDGCN_WAVEFRONT_SIZE", found->path);
	digest_bytes(digest, text.data, text.size);
	return 0;
}

/* Asks what it would do and takes that in. -ENOPKG as run(). */
static int look(struct program *program, const struct program_found *found, struct digest *digest, struct error *error)
{
	_cleanup_(folder_release) struct folder folder = { 0 };
	_cleanup_buffer_ struct buffer output = { 0 }, said = { 0 };
	struct command command;
	char source[PATH_MAX];

	int r = folder_make(&folder, error);
	if (r == 0)
		r = hand_over(&folder, found->variant, error);
	if (r == 0)
		r = folder_write(&folder, &probe, error);
	if (r < 0)
		return r;
	command_init(&command, found, &folder, "gfx942");
	snprintf(source, sizeof(source), "%s/%s", folder.path, probe.name);
	add(&command, "-###");
	add_output(&command, source);
	r = run(program, &folder, &command, &output, &said, error);
	if (r == 0)
		r = digest_parts(digest, (char *)said.data, error);
	return r < 0 ? r : digest_headers(program, found, &folder, source, digest, error);
}

static int ask_version(struct program *program, const char *path, char **ret_version, unsigned *ret_variant, struct error *error)
{
	_cleanup_free_ char *text = NULL;

	int r = program_ask(program, (const char *const[]){ path, "--version", NULL }, &text, error);
	if (r < 0)
		return r;
	const char *line = strstr(text, "clang version ");
	*ret_variant = strncmp(text, "HIP version", 11) == 0 ? IS_HIPCC : 0;
	if (!line)
		return error_set(error, -EINVAL, "'%s' is no HIP compiler: it calls itself '%.*s'", path, (int)strcspn(text, "\n"), text);
	if (atoi(line + strlen("clang version ")) < HIP_OLDEST)
		return error_set(error, -EINVAL, "'%s' is too old: '%.*s', version %d or newer is needed", path, (int)strcspn(line, "\n"), line, HIP_OLDEST);
	while (line > text && line[-1] != '\n')
		line--;
	*ret_version = strndup(line, strcspn(line, "\n"));
	return *ret_version ? 0 : -ENOMEM;
}

static int ask(struct program *program, const char *path, char **ret_identity, unsigned *ret_variant, struct error *error)
{
	static const unsigned hands[] = { 0, HAND_LIBRARY, HAND_LIBRARY | HAND_VERSION_5 };
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct program_found found = { .path = path };
	_cleanup_free_ char *version = NULL;
	struct cachedb_key key;
	unsigned kind;

	int r = ask_version(program, path, &version, &kind, error);
	if (r < 0)
		return r;
	r = -ENOPKG;
	for (size_t i = 0; r == -ENOPKG && i < ARRAY_SIZE(hands); i++) {
		digest_release(&digest);
		digest_init(&digest, "hip compiler");
		found.variant = kind | hands[i];
		r = look(program, &found, &digest, error);
	}
	if (r == 0)
		r = digest_finish(&digest, &key);
	if (r < 0)
		return r;
	if (asprintf(ret_identity, "%s, libraries and headers %016llx", version, (unsigned long long)key_number(&key)) < 0)
		return -ENOMEM;
	*ret_variant = found.variant;
	return 0;
}

/* A distribution's HIP is older than its newest clang: what fits Debian's of 2022 is clang up to 19. */
static const char *const names[] = {
	"amdclang++", "bin/amdclang++", "llvm/bin/amdclang++", "llvm/bin/clang++", "hipcc", "bin/hipcc",
	"clang++-19", "clang++-18", "clang++-17", "clang++-20", "clang++-21", "clang++-22", "clang++", NULL,
};

static const struct program_kind kind = {
	.what = "HIP compiler",
	.names = names,
	.missing = "no HIP compiler: install ROCm's amdclang++, or clang-19 with libamdhip64-dev and rocm-device-libs, or name one with --hip-compiler",
	.seconds = HIP_SECONDS,
	.ask = ask,
};

int hip_new(const char *wanted, struct program **ret_hip)
{
	return program_new(&kind, wanted, ret_hip);
}

/* ---- compiling -------------------------------------------------------------------------------------------------------- */

int hip_compile(struct program *hip, const char *arch, const struct hip_source *sources, size_t n_sources, struct buffer *ret_text, struct error *error)
{
	_cleanup_(folder_release) struct folder folder = { 0 };
	_cleanup_buffer_ struct buffer said = { 0 };
	const struct program_found *found;
	struct command command;
	char source[PATH_MAX];

	int r = program_identify(hip, &found, error);
	if (r == 0)
		r = folder_make(&folder, error);
	if (r == 0)
		r = hand_over(&folder, found->variant, error);
	for (size_t i = 0; i < n_sources && r == 0; i++)
		r = folder_write(&folder, &sources[i], error);
	if (r < 0)
		return r;
	snprintf(source, sizeof(source), "%s/%.200s", folder.path, sources[0].name);
	command_init(&command, found, &folder, arch);
	add_output(&command, source);
	return run(hip, &folder, &command, ret_text, &said, error);
}
