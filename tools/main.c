/* SPDX-License-Identifier: MIT */
#include "tools/command.h"
#include "tools/emulator/run.h"

#include <signal.h>

static const char help[] =
	"tensilefs mount [-f] [-o OPTIONS] LOGIC MOUNTPOINT  show the kernel library of a logic folder as files, made when they are read\n"
	"tensilefs build LOGIC OUT                           write the same files without a mount\n"
	"tensilefs ls LOGIC                                  list the files\n"
	"tensilefs show LOGIC [NAME]                         parameters of a file's solutions, or of one solution or kernel\n"
	"tensilefs hash LOGIC [NAME]                         the hashes that the files are cached under\n"
	"tensilefs asm LOGIC NAME                            a kernel, or all of a code object, as assembly\n"
	"tensilefs coverage LOGIC [--json]                   how many solutions are generated, and why not the others\n"
	"tensilefs check LOGIC [--json]                      what is wrong with logic: file, line and solution of each finding\n"
	"tensilefs verify LOGIC [FILE...]                    run kernels in the emulator against a reference\n"
	"tensilefs run FILE [KERNEL [ARGUMENT...]]           run one kernel of any code object on the CPU, or list its kernels\n"
	"tensilefs compare DIR DIR [--json]                  what differs in two packages: files, sections, kernels\n"
	"tensilefs status [--once|--json] MOUNTPOINT         what a mount is doing, live in a terminal\n"
	"tensilefs cache stats|gc|check|clear|pin|unpin      look after the cache\n"
	"tensilefs caps [--arch A]                           what each target, the linker and the assembler can do\n"
	"\n"
	"what decides the bytes:   --generator native|tensilelite:DIR (with --python, --assembler, --hip-compiler, --code-object-version)\n"
	"                          --bundle plain|compressed|none  --names stable|tensile  --keep-all  --linker PROGRAM  --build-id ID\n"
	"                          --library lazy|separate|merged  --library-format msgpack|yaml  --layout arch|flat\n"
	"                          --custom-kernels DIR (hand-written ones; else those of the hipBLASLt checkout around LOGIC)\n"
	"where they are kept:      --cache DIR  --no-cache  --cache-size BYTES (suffixes K, M, G, T)  --cache-min-free SIZE\n"
	"cache check:              --repair  --rebuild LOGIC\n"
	"build, check, coverage:   --arch A (also ls, show, hash, asm, verify, cache)\n"
	"build:                    --metadata-only (with lists of the kernels that go with it)  --fail-fast\n"
	"verify:                   --quick  --all  --kernels N (of each file)  --seed N\n"
	"mount, build, verify:     -j N, --jobs N (also coverage, cache)\n"
	"mount, build:             --memory SIZE  --trace FILE (what is done when, for ui.perfetto.dev)\n"
	"mount:                    -f, --foreground  -o LIST, --options LIST\n"
	"mount -o:                 each of the above by name (jobs=N, cache=DIR, no-cache, ...), ahead=N, entry_timeout=SECONDS, nonempty,\n"
	"                          idle_timeout=SECONDS, linker_timeout=SECONDS, kernel_timeout=SECONDS, notify_fd=N,\n"
	"                          allow_other and what else mount.fuse3(8) has\n"
	"\n"
	"tensilefs COMMAND --help says more of each.\n";

static int command_version(int argc, char **argv)
{
	puts("tensilefs " TENSILEFS_VERSION);
	return EXIT_SUCCESS;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "mount", command_mount },
	{ "build", command_build },
	{ "ls", command_ls },
	{ "show", command_show },
	{ "hash", command_hash },
	{ "asm", command_asm },
	{ "coverage", command_coverage },
	{ "check", command_check },
	{ "verify", command_verify },
	{ "run", command_run },
	{ "compare", command_compare },
	{ "status", command_status },
	{ "cache", command_cache },
	{ "caps", command_caps },
	{ "--version", command_version },
};

static int run(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
	complain("there is no command '%s'; see tensilefs --help", argv[0]);
	return EXIT_USAGE;
}

static int run_or_help(int argc, char **argv)
{
	bool help_wanted = strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0;

	if (help_wanted && argc > 1)
		return run(2, (char *[]){ argv[1], (char *)"--help", NULL });
	if (help_wanted) {
		fputs(help, stdout);
		return EXIT_SUCCESS;
	}
	return run(argc, argv);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	signal(SIGXFSZ, SIG_IGN);			/* a limit of file sizes is an error like a full disk */
	if (strncmp(name, "mount.", 6) == 0)		/* mount.fuse.tensilefs, mount.tensilefs */
		return command_mount_helper(argc, argv);
	if (argc < 2) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	return end_output(run_or_help(argc - 1, argv + 1));
}
