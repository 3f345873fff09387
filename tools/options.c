/* SPDX-License-Identifier: MIT */
#include "tools/command.h"

#include "build/engine/trace.h"

#include <getopt.h>
#include <pwd.h>

void complain(const char *format, ...)
{
	va_list ap;

	flockfile(stderr);
	fputs("tensilefs: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

int end_output(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	complain("cannot write the output: %s", strerror(errno ? errno : EIO));
	return EXIT_FAILURE;
}

void options_release(struct options *options)
{
	options->engine.trace = trace_close(options->engine.trace);
	buffer_release(&options->mount);
	free(options->default_cache);
	options->default_cache = NULL;
}

/* ---- values ----------------------------------------------------------------------------------------------------------- */

int parse_number(const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *ret_number)
{
	static const char suffixes[] = "KMGT";
	char *end;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;
	unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
	if (errno || end == text || *text == '-' || (*end && (!suffix || end[1])) || number > most >> shift || number << shift < least) {
		complain("%s: '%s' is not a possible number", what, text);
		return -EINVAL;
	}
	*ret_number = number << shift;
	return 0;
}

static int parse_setting(const char *name, const char *text, uint64_t most, uint64_t *ret_number)
{
	char what[64];

	snprintf(what, sizeof(what), "--%s", name);
	return parse_number(what, text, 0, most, ret_number);
}

#define MOST_CHOICES 3

/* The place of the text among choices that end with NULL or are as many as there can be. */
static int parse_choice(const char *name, const char *text, const char *const choices[MOST_CHOICES], unsigned *ret_choice)
{
	for (unsigned i = 0; i < MOST_CHOICES && choices[i]; i++) {
		if (strcmp(text, choices[i]) == 0) {
			*ret_choice = i;
			return 0;
		}
	}
	complain("--%s: '%s' is not one of '%s', '%s'%s%s%s", name, text, choices[0], choices[1], choices[2] ? ", '" : "",
		 choices[2] ? choices[2] : "", choices[2] ? "'" : "");
	return -EINVAL;
}

/* "10%" of the file system, or a number of bytes. */
static int set_min_free(struct options *options, const char *name, const char *text)
{
	struct cachedb_min_free *min_free = &options->engine.cache_min_free;
	_cleanup_free_ char *digits = strdup(text);
	char *percent = digits ? strchr(digits, '%') : NULL;
	uint64_t number;

	if (!digits)
		return -ENOMEM;
	if (percent && !percent[1])
		*percent = 0;
	int r = parse_setting(name, digits, percent ? 99 : INT64_MAX, &number);
	if (r == 0)
		*min_free = percent ? (struct cachedb_min_free){ (unsigned)number, UINT64_MAX } : (struct cachedb_min_free){ 100, number };
	return r;
}

static int set_number(struct options *options, const char *name, const char *value)
{
	uint64_t number;
	bool jobs = strcmp(name, "jobs") == 0;

	int r = parse_setting(name, value, jobs ? 1024 : INT64_MAX, &number);
	if (r < 0)
		return r;
	if (jobs)
		options->engine.jobs = (unsigned)number;
	else if (strcmp(name, "memory") == 0)
		options->engine.memory_bytes = number;
	else
		options->engine.cache_max_bytes = number;
	return 0;
}

/* A setting that is one of a few words. */
static int set_choice(struct options *options, const char *name, const char *value)
{
	enum { BUNDLE, NAMES, FORMAT, LIBRARY, LAYOUT, VERSION };
	static const struct {
		const char *name, *choices[MOST_CHOICES];
	} settings[] = {
		[BUNDLE] = { "bundle", { "none", "plain", "compressed" } },	/* in the order of enum bundle_kind */
		[NAMES] = { "names", { "stable", "tensile" } },
		[FORMAT] = { "library-format", { "msgpack", "yaml" } },
		[LIBRARY] = { "library", { "lazy", "separate", "merged" } },	/* in the order of enum engine_library */
		[LAYOUT] = { "layout", { "arch", "flat" } },
		[VERSION] = { "code-object-version", { "default", "4", "5" } },
	};
	unsigned setting = 0, choice;

	while (setting < ARRAY_SIZE(settings) && strcmp(settings[setting].name, name) != 0)
		setting++;
	if (setting == ARRAY_SIZE(settings))
		return -ENOENT;
	int r = parse_choice(name, value, settings[setting].choices, &choice);
	if (r < 0)
		return r;
	switch (setting) {
	case BUNDLE:
		options->engine.bundle = (enum bundle_kind)choice;
		return 0;
	case NAMES:
		options->engine.names_tensile = choice == 1;
		return 0;
	case FORMAT:
		options->engine.library_yaml = choice == 1;
		return 0;
	case LIBRARY:
		options->engine.library = (enum engine_library)choice;
		return 0;
	case VERSION:
		options->engine.code_object_version = choice ? choice + 3 : 0;
		return 0;
	default:
		options->engine.flat = choice == 1;
		return 0;
	}
}

/* "native", or "tensilelite:" and a folder. */
static int set_generator(struct options *options, const char *value)
{
	static const char upstream[] = "tensilelite:";

	if (strncmp(value, upstream, strlen(upstream)) == 0 && value[strlen(upstream)]) {
		options->engine.tensilelite = value + strlen(upstream);
		return 0;
	}
	if (strcmp(value, "native") == 0) {
		options->engine.tensilelite = NULL;
		return 0;
	}
	complain("--generator: '%s' is not 'native' or 'tensilelite:DIR'", value);
	return -EINVAL;
}

/* What lld takes, but for "uuid": that is another one each time. */
static int set_build_id(struct options *options, const char *value)
{
	static const char *const kinds[] = { "none", "fast", "md5", "sha1" };
	bool known = strncmp(value, "0x", 2) == 0 && value[2] && strspn(value + 2, "0123456789abcdefABCDEF") == strlen(value + 2);

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		known = known || strcmp(value, kinds[i]) == 0;
	if (!known) {
		complain("--build-id: '%s' is not one of 'none', 'fast', 'md5', 'sha1', '0x' with hexadecimal digits", value);
		return -EINVAL;
	}
	options->engine.build_id = value;
	return 0;
}

/* Settings whose value is taken as it is. */
static const char **find_text(struct options *options, const char *name)
{
	const struct {
		const char *name, **value;
	} texts[] = {
		{ "cache", &options->engine.cache },
		{ "trace", &options->trace },
		{ "custom-kernels", &options->engine.custom_kernels },
		{ "linker", &options->engine.linker },
		{ "python", &options->engine.python },
		{ "assembler", &options->engine.assembler },
		{ "hip-compiler", &options->engine.hip_compiler },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(name, texts[i].name) == 0)
			return texts[i].value;
	return NULL;
}

int options_set(struct options *options, const char *name, const char *value)
{
	const char **text = find_text(options, name);

	if (strcmp(name, "no-cache") == 0 || strcmp(name, "keep-all") == 0) {
		*(*name == 'n' ? &options->no_cache : &options->engine.keep_all) = true;
		return 0;
	}
	if (!value)
		return -ENOENT;
	if (strcmp(name, "jobs") == 0 || strcmp(name, "cache-size") == 0 || strcmp(name, "memory") == 0)
		return set_number(options, name, value);
	if (strcmp(name, "cache-min-free") == 0)
		return set_min_free(options, name, value);
	if (strcmp(name, "generator") == 0)
		return set_generator(options, value);
	if (strcmp(name, "build-id") == 0)
		return set_build_id(options, value);
	if (!text)
		return set_choice(options, name, value);
	*text = value;
	return 0;
}

/* Services and mounts at boot have no $HOME. */
static const char *home_folder(void)
{
	const char *home = getenv("HOME");
	const struct passwd *user = home && *home == '/' ? NULL : getpwuid(geteuid());

	return user ? user->pw_dir : home;
}

static int set_default_cache(struct options *options)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = home_folder();
	int length;

	if (options->no_cache) {
		options->engine.cache = NULL;
		return 0;
	}
	if (options->engine.cache)
		return 0;
	if (xdg && *xdg == '/')
		length = asprintf(&options->default_cache, "%s/tensilefs", xdg);
	else if (home && *home == '/')
		length = asprintf(&options->default_cache, "%s/.cache/tensilefs", home);
	else
		length = 0;
	if (length == 0) {
		complain("nothing is kept on disk: neither $XDG_CACHE_HOME nor $HOME says where; --cache DIR does");
		return 0;
	}
	if (length < 0) {
		options->default_cache = NULL;
		return -ENOMEM;
	}
	options->engine.cache = options->default_cache;
	return 0;
}

/* ---- the command line ------------------------------------------------------------------------------------------------- */

static const struct {
	struct option option;
	unsigned mask;
	const char *value, *help;	/* value: NULL when it takes none */
} known_options[] = {
	{ { "arch", required_argument, NULL, 'a' }, OPTION_ARCH, "A", "only this architecture" },
	{ { "jobs", required_argument, NULL, 'j' }, OPTION_JOBS, "N", "threads, and programs at once (-j N; 0, the default: as many as there are CPUs to use)" },
	{ { "memory", required_argument, NULL, 's' }, OPTION_MEMORY, "SIZE",
	  "what builds and files in use may take of memory (half of the machine's, 4G at most)" },
	{ { "cache", required_argument, NULL, 's' }, OPTION_CACHE, "DIR", "where built files are kept ($XDG_CACHE_HOME/tensilefs)" },
	{ { "no-cache", no_argument, NULL, 's' }, OPTION_CACHE, NULL, "keep nothing on disk" },
	{ { "cache-size", required_argument, NULL, 's' }, OPTION_CACHE, "BYTES", "how much may be kept (suffixes K, M, G, T; no limit)" },
	{ { "cache-min-free", required_argument, NULL, 's' }, OPTION_CACHE, "SIZE",
	  "what the cache leaves free of its file system: N% or bytes (5%, but no more than 4G)" },
	{ { "bundle", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND", "how code objects are wrapped: plain (the default), compressed, none" },
	{ { "names", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND", "of kernels: stable (the default), or hipBLASLt's: tensile" },
	{ { "generator", required_argument, NULL, 's' }, OPTION_OUTPUT, "WHAT",
	  "of kernels: native (the default); or tensilelite:DIR, that of the hipBLASLt\n"
	  "checkout (ROCm 6.3 or 6.4) whose tensilelite folder DIR is" },
	{ { "python", required_argument, NULL, 's' }, OPTION_OUTPUT, "PROGRAM", "that runs TensileLite (python3)" },
	{ { "assembler", required_argument, NULL, 's' }, OPTION_OUTPUT, "PROGRAM",
	  "for its kernels: amdclang, clang or llvm-mc (the newest of them)" },
	{ { "hip-compiler", required_argument, NULL, 's' }, OPTION_OUTPUT, "PROGRAM", "for its helper kernels (what there is of amdclang++, hipcc, clang)" },
	{ { "code-object-version", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND", "of its kernels: default (its own choice), 4, 5" },
	{ { "build-id", required_argument, NULL, 's' }, OPTION_OUTPUT, "ID",
	  "of code objects: none (the default of native), fast, md5, sha1 (of TensileLite),\n"
	  "0x with hexadecimal digits" },
	{ { "keep-all", no_argument, NULL, 's' }, OPTION_OUTPUT, NULL, "leave solutions that are not generated in the .dat files" },
	{ { "linker", required_argument, NULL, 's' }, OPTION_OUTPUT, "PROGRAM", "which ld.lld to use ($TENSILEFS_LINKER, else the newest)" },
	{ { "custom-kernels", required_argument, NULL, 's' }, OPTION_OUTPUT | OPTION_CUSTOM, "DIR",
	  "hand-written kernels (those of the hipBLASLt checkout around LOGIC)" },
	{ { "metadata-only", no_argument, NULL, 'm' }, OPTION_METADATA, NULL, "no kernels: only .dat files, with lists of the kernels" },
	{ { "library-format", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND", "of metadata: msgpack (the default, .dat), yaml (.yaml)" },
	{ { "library", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND",
	  "how it is cut into files: lazy (the default), one for each problem type; separate,\n"
	  "one for each architecture; merged, one .dat for all" },
	{ { "layout", required_argument, NULL, 's' }, OPTION_OUTPUT, "KIND", "arch: a folder for each architecture (the default); flat: one for all" },
	{ { "repair", no_argument, NULL, 'r' }, OPTION_CARE, NULL, "check: remove what is damaged" },
	{ { "rebuild", required_argument, NULL, 'R' }, OPTION_CARE, "LOGIC", "check: compare with the files of LOGIC, made anew" },
	{ { "fail-fast", no_argument, NULL, 'q' }, OPTION_METADATA, NULL, "end at the first file that cannot be made; the others are not" },
	{ { "json", no_argument, NULL, 'J' }, OPTION_JSON, NULL, "for programs to read" },
	{ { "once", no_argument, NULL, 'O' }, OPTION_ONCE, NULL, "show it once, also on a terminal" },
	{ { "trace", required_argument, NULL, 's' }, OPTION_TRACE, "FILE", "write what is done when, for ui.perfetto.dev and chrome://tracing" },
	{ { "foreground", no_argument, NULL, 'f' }, OPTION_MOUNT, NULL, "do not go into the background (-f)" },
	{ { "options", required_argument, NULL, 'o' }, OPTION_MOUNT, "LIST",
	  "mount options (-o LIST): each of these by name (jobs=N, no-cache ...), or\n"
	  "ahead=N               files built ahead of a sequential reader\n"
	  "entry_timeout=SECONDS how long the kernel may keep a name\n"
	  "idle_timeout=SECONDS  unmount when nobody has used it for that long\n"
	  "linker_timeout=SECONDS how long a link may take (300)\n"
	  "kernel_timeout=SECONDS how long TensileLite may take for a kernel (300)\n"
	  "notify_fd=N           a descriptor that gets a newline when the mount is ready\n"
	  "nonempty              mount over a folder that is not empty\n"
	  "allow_other           let other users in, and what else mount.fuse3(8) has" },
	{ { "help", no_argument, NULL, 'h' }, ~0u, NULL, "this text" },
};

#define HELP_COLUMN 24

static _Noreturn void print_help(unsigned accepted, const char *usage)
{
	printf("usage: tensilefs %s\n\n", usage);
	for (size_t i = 0; i < ARRAY_SIZE(known_options); i++) {
		const char *value = known_options[i].value, *line = known_options[i].help;
		if (!(known_options[i].mask & accepted))
			continue;
		int used = printf("  --%s%s%s", known_options[i].option.name, value ? " " : "", value ? value : "");
		for (int length; *line; line += length + (line[length] == '\n'), used = 0) {
			length = (int)strcspn(line, "\n");
			printf("%*s%.*s\n", HELP_COLUMN - used, "", length, line);
		}
	}
	exit(end_output(EXIT_SUCCESS));
}

/* What getopt_long() did not take; `letter` is its answer. */
static int complain_option(const char *command, int letter, const char *word)
{
	bool is_long = strncmp(word, "--", 2) == 0 && (letter == ':' || optopt == 0 || strchr(word, '='));
	const char short_name[] = { '-', (char)optopt, 0 };

	complain(letter == ':' ? "option '%s' needs a value: see tensilefs %s --help" : "unknown option '%s': see tensilefs %s --help",
		 is_long ? word : short_name, command);
	return -EINVAL;
}

/* One that getopt_long() has taken. */
static int take_option(struct options *options, int letter, const char *long_name)
{
	switch (letter) {
	case 'a':
		options->arch = optarg;
		return 0;
	case 'j':
		return options_set(options, "jobs", optarg);
	case 's':
		return options_set(options, long_name, optarg);
	case 'm':
		options->engine.metadata_only = true;
		return 0;
	case 'q':
		options->fail_fast = true;
		return 0;
	case 'J':
		options->json = true;
		return 0;
	case 'O':
		options->once = true;
		return 0;
	case 'r':
		options->repair = true;
		return 0;
	case 'R':
		options->rebuild = optarg;
		return 0;
	case 'f':
		options->foreground = true;
		return 0;
	default:				/* -o */
		if (options->mount.size)
			options->mount.data[options->mount.size - 1] = ',';	/* in place of the NUL */
		buffer_append(&options->mount, optarg, strlen(optarg) + 1);
		return options->mount.failed ? -ENOMEM : 0;
	}
}

int options_parse(int argc, char **argv, unsigned accepted, int least, int most, const char *usage, struct options *ret_options)
{
	struct options options = { .engine = { .bundle = BUNDLE_PLAIN, .cache_min_free = CACHEDB_MIN_FREE } };
	struct option long_options[ARRAY_SIZE(known_options) + 1] = { 0 };
	char short_options[16] = ":h";
	size_t n = 0;
	int letter, number, r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known_options); i++)
		if (known_options[i].mask & accepted)
			long_options[n++] = known_options[i].option;
	if (accepted & OPTION_JOBS)
		strcat(short_options, "j:");
	if (accepted & OPTION_MOUNT)
		strcat(short_options, "fo:");
	optind = 0;
	opterr = 0;
	while (r == 0 && (letter = getopt_long(argc, argv, short_options, long_options, &number)) >= 0) {
		if (letter == 'h')
			print_help(accepted, usage);
		if (letter == '?' || letter == ':')
			r = complain_option(argv[0], letter, argv[optind - 1]);
		else
			r = take_option(&options, letter, letter == 's' ? long_options[number].name : NULL);
	}
	if (r == 0 && (argc - optind < least || argc - optind > most)) {
		complain("usage: tensilefs %.*s", (int)strcspn(usage, "\n"), usage);
		r = -EINVAL;
	}
	if (r == 0 && accepted & OPTION_CACHE)
		r = set_default_cache(&options);
	if (r < 0) {
		options_release(&options);
		return r;
	}
	*ret_options = options;
	return 0;
}

/* ---- the engine ------------------------------------------------------------------------------------------------------- */

static void warn(void *userdata, const char *message)
{
	complain("%s", message);
}

int begin_trace(struct options *options)
{
	struct error error = { 0 };
	int r = 0;

	if (options->trace)
		r = trace_open(options->trace, warn, NULL, &options->engine.trace, &error);
	if (r < 0)
		complain("%s", error_text(&error, r));
	return r;
}

int open_engine(const struct options *options, const char *logic, struct engine **ret_engine, size_t *ret_faults)
{
	struct engine_options engine = options->engine;
	struct error error = { 0 };
	size_t n = 0;

	engine.logic = logic;
	engine.arch = options->arch;
	engine.warn = warn;
	int r = engine_new(&engine, ret_engine, &error);
	if (r < 0) {
		complain("%s", error_text(&error, r));
		return r;
	}
	for (const char *fault; (fault = engine_fault(*ret_engine, n)); n++)
		complain("%s", fault);
	if (ret_faults)
		*ret_faults = n;
	return 0;
}

int foreach_file(struct engine *engine, const char *arch, const char *name, int (*callback)(void *userdata, struct engine_file *file),
		 void *userdata, size_t *ret_n)
{
	int r = 0;

	*ret_n = 0;
	for (size_t a = 0; r == 0 && a < engine_n_archs(engine); a++) {
		if (arch && strcmp(engine_arch(engine, a), arch) != 0)
			continue;
		for (size_t i = 0; r == 0 && i < engine_n_files(engine, a); i++) {
			struct engine_file *file = engine_file(engine, a, i);
			if (name && strcmp(engine_file_name(file), name) != 0)
				continue;
			++*ret_n;
			r = callback(userdata, file);
		}
	}
	return r;
}
