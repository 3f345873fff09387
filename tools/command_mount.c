/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 312

#include "build/engine/cpus.h"
#include "fs/fs.h"
#include "tools/command.h"
#include "tools/daemon.h"
#include "tools/notify.h"

#include <fcntl.h>
#include <fuse_opt.h>
#include <getopt.h>
#include <limits.h>
#include <sys/resource.h>

#define USAGE "mount [-f] [-o OPTIONS] LOGIC MOUNTPOINT"

struct mount {
	struct options options;
	struct fs_options fs;
	struct daemon daemon;
	bool has_ahead, has_fsname;
	struct fuse_args args;		/* for libfuse */
	char **values;			/* of -o settings: struct options points into them */
	size_t n_values;
};

static void mount_release(struct mount *mount)
{
	options_release(&mount->options);
	fuse_opt_free_args(&mount->args);
	for (size_t i = 0; i < mount->n_values; i++)
		free(mount->values[i]);
	free(mount->values);
}

/* ---- -o --------------------------------------------------------------------------------------------------------------- */

/* What mount(8) and fstab may say to any file system, and we have nothing to do for. The mount is always read-only. */
static bool is_ignored(const char *option)
{
	static const char *const ignored[] = {
		"rw", "ro", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "async", "sync", "atime", "noatime", "nofail", "_netdev",
		"user", "nouser", "users", "owner", "group", "auto", "noauto", "defaults", "relatime", "norelatime", "diratime",
		"nodiratime", "dirsync",
	};
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (strcmp(option, ignored[i]) == 0)
			return true;
	return strncmp(option, "x-", 2) == 0 || strncmp(option, "X-", 2) == 0 || strncmp(option, "comment=", 8) == 0;
}

static int keep_value(struct mount *mount, char *value)
{
	char **values = reallocarray(mount->values, mount->n_values + 1, sizeof(*values));

	if (!values) {
		free(value);
		return -ENOMEM;
	}
	mount->values = values;
	values[mount->n_values++] = value;
	return 0;
}

static int set_number(const char *option, const char *value, unsigned least, unsigned most, unsigned *ret_number)
{
	char what[64];
	uint64_t number;

	snprintf(what, sizeof(what), "-o %s", option);
	if (parse_number(what, value, least, most, &number) < 0)
		return -EINVAL;
	*ret_number = (unsigned)number;
	return 0;
}

static int set_ahead(struct mount *mount, const char *value)
{
	mount->has_ahead = true;
	return set_number("ahead", value, 0, 1024, &mount->fs.ahead);
}

static int set_notify(struct mount *mount, const char *value)
{
	unsigned fd;

	if (set_number("notify_fd", value, 0, INT_MAX, &fd) < 0)
		return -EINVAL;
	if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0) {
		complain("-o notify_fd: descriptor %u is not open", fd);
		return -EINVAL;
	}
	mount->daemon.announce = (int)fd;
	return 0;
}

static int set_timeout(struct mount *mount, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number >= 0 && number <= 86400)) {
		complain("-o entry_timeout: '%s' is not a possible number of seconds", value);
		return -EINVAL;
	}
	mount->fs.entry_timeout = number;
	return 0;
}

/* One -o option, malloc memory, its own. */
static int take_mount_option(struct mount *mount, char *option)
{
	int r = keep_value(mount, option);
	if (r < 0 || is_ignored(option) || !*option)
		return r;
	char *value = strchr(option, '=');
	if (value)
		*value++ = 0;
	if (value && strcmp(option, "ahead") == 0)
		return set_ahead(mount, value);
	if (value && strcmp(option, "entry_timeout") == 0)
		return set_timeout(mount, value);
	if (value && strcmp(option, "idle_timeout") == 0)
		return set_number(option, value, 0, UINT_MAX, &mount->fs.idle_timeout);
	if (value && strcmp(option, "linker_timeout") == 0)
		return set_number(option, value, 1, UINT_MAX, &mount->options.engine.linker_seconds);
	if (value && strcmp(option, "kernel_timeout") == 0)
		return set_number(option, value, 1, UINT_MAX, &mount->options.engine.kernel_seconds);
	if (value && strcmp(option, "notify_fd") == 0)
		return set_notify(mount, value);
	if (!value && strcmp(option, "nonempty") == 0) {
		mount->fs.nonempty = true;
		return 0;
	}
	r = options_set(&mount->options, option, value);
	if (r != -ENOENT)
		return r;
	if (value && strcmp(option, "max_read") == 0 && set_number(option, value, 4096, UINT_MAX, &mount->fs.max_read) < 0)
		return -EINVAL;
	if (value)
		value[-1] = '=';
	mount->has_fsname = mount->has_fsname || strncmp(option, "fsname=", 7) == 0;
	return fuse_opt_add_arg(&mount->args, "-o") == 0 && fuse_opt_add_arg(&mount->args, option) == 0 ? 0 : -ENOMEM;
}

/* Splits at commas; a backslash keeps the next character, as in fuse_opt. It stays for libfuse's options, which unescape again. */
static int take_mount_options(struct mount *mount, const char *text)
{
	while (*text) {
		size_t length = 0;
		while (text[length] && text[length] != ',')
			length += text[length] == '\\' && text[length + 1] ? 2 : 1;
		char *option = strndup(text, length);
		int r = option ? take_mount_option(mount, option) : -ENOMEM;
		if (r < 0)
			return r;
		text += length + (text[length] == ',');
	}
	return 0;
}

/* What `mount` and df show, and that it is read-only. */
static int add_own_options(struct mount *mount, const char *logic)
{
	char *options = NULL;
	int r = fuse_opt_add_opt(&options, "ro,subtype=tensilefs");

	if (r == 0 && !mount->has_fsname) {
		_cleanup_free_ char *name = NULL;
		r = asprintf(&name, "fsname=%s", logic) < 0 ? -1 : fuse_opt_add_opt_escaped(&options, name);
	}
	if (r == 0)
		r = fuse_opt_add_arg(&mount->args, "-o") == 0 ? fuse_opt_add_arg(&mount->args, options) : -1;
	free(options);
	return r == 0 ? 0 : -ENOMEM;
}

/* ---- mounting --------------------------------------------------------------------------------------------------------- */

static void mounted(void *userdata)
{
	daemon_ready(userdata);
	/* what was mounted for us has to die with us: nobody else may keep it */
	notify_service("READY=1\nMAINPID=%d\nSTATUS=serving\nFDSTOREREMOVE=1\nFDNAME=" NOTIFY_MOUNT, (int)getpid());
}

static void warn(const char *message)
{
	complain("%s", message);
}

enum { QUICK_JOBS = 2 };	/* one may be at `coverage`, which is not as quick as the rest */

static int serve(struct mount *mount, const char *logic, const char *mountpoint)
{
	struct engine *engine = NULL;
	struct fs *fs = NULL;
	struct error error = { 0 };

	mount->options.engine.quick_jobs = QUICK_JOBS;
	int r = begin_trace(&mount->options);
	if (r == 0)
		r = open_engine(&mount->options, logic, &engine, NULL);
	if (r < 0)
		return r;
	mount->fs.flat = mount->options.engine.flat;
	mount->fs.ready = mounted;
	mount->fs.ready_userdata = &mount->daemon;
	mount->fs.warn = warn;
	mount->fs.trace = mount->options.engine.trace;
	r = fs_new(engine, &mount->fs, &fs, &error);
	if (r == 0)
		r = fs_mount(fs, mountpoint, &mount->args, &error);
	if (r == 0)
		r = fs_serve(fs, &error);
	if (r < 0)
		complain("%s", error_text(&error, r));
	notify_service("STOPPING=1");
	engine_unref(engine);
	fs_unref(fs);
	return r;
}

/* A daemon leaves the folder it was started in, so what it needs later is named from the root. */
static int make_absolute(struct mount *mount, const char **path)
{
	char here[PATH_MAX], *absolute;

	if (!*path || **path == '/' || !getcwd(here, sizeof(here)))
		return 0;
	if (asprintf(&absolute, "%s/%s", here, *path) < 0)
		return -ENOMEM;
	*path = absolute;
	return keep_value(mount, absolute);
}

static int make_paths_absolute(struct mount *mount)
{
	struct engine_options *engine = &mount->options.engine;
	const char **const folders[] = { &mount->options.trace, &engine->cache, &engine->custom_kernels, &engine->tensilelite };
	const char **const programs[] = { &engine->linker, &engine->python, &engine->assembler, &engine->hip_compiler };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++)
		r = make_absolute(mount, folders[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(programs); i++)	/* without a slash it is looked for on PATH */
		if (*programs[i] && strchr(*programs[i], '/'))
			r = make_absolute(mount, programs[i]);
	return r;
}

static int settle_options(struct mount *mount, const char **logic)
{
	struct engine_options *engine = &mount->options.engine;

	int r = fuse_opt_add_arg(&mount->args, "tensilefs") == 0 ? 0 : -ENOMEM;
	if (r == 0 && mount->options.mount.size)
		r = take_mount_options(mount, (const char *)mount->options.mount.data);
	if (r == 0)
		r = add_own_options(mount, *logic);
	if (r < 0)
		return r;
	if (mount->options.no_cache)
		engine->cache = NULL;
	engine->gives_way = true;
	if (!mount->has_ahead)
		mount->fs.ahead = 2 * (engine->jobs ? engine->jobs : cpus_available());
	r = make_absolute(mount, logic);
	return r < 0 ? r : make_paths_absolute(mount);
}

/* A mount may be asked for thousands of files at once, and each link takes three descriptors; what it may have is the administrator's word. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int run(struct mount *mount, const char *logic, const char *mountpoint)
{
	int r = settle_options(mount, &logic);
	if (r < 0)
		return r;
	fs_block_signals();
	raise_descriptors();
	r = daemon_begin(mount->options.foreground, &mount->daemon);
	if (r < 0) {
		complain("cannot go into the background: %s", strerror(-r));
		return r;
	}
	return serve(mount, logic, mountpoint);
}

int command_mount(int argc, char **argv)
{
	_cleanup_(mount_release) struct mount mount = { .fs.entry_timeout = FS_ENTRY_TIMEOUT, .daemon.announce = -1 };

	int r = options_parse(argc, argv, OPTION_MOUNT | OPTION_CACHE | OPTION_JOBS | OPTION_MEMORY | OPTION_OUTPUT | OPTION_TRACE, 2, 2, USAGE, &mount.options);
	if (r < 0)
		return EXIT_USAGE;
	return run(&mount, argv[optind], argv[optind + 1]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * mount(8) calls: mount.fuse.tensilefs SPEC DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE] (mount(8), EXTERNAL HELPERS), where -f is a
 * rehearsal and -n, -s, -v say nothing to us.
 */
int command_mount_helper(int argc, char **argv)
{
	_cleanup_buffer_ struct buffer joined = { 0 };
	bool rehearsal = false;
	int letter;

	while ((letter = getopt(argc, argv, "sfnvrwN:o:t:")) >= 0) {
		if (letter == '?')
			return EXIT_USAGE;
		if (letter == 'f')
			rehearsal = true;
		if (letter == 'o')
			buffer_printf(&joined, "%s%s", joined.size ? "," : "", optarg);
	}
	buffer_append(&joined, "", 1);
	if (argc - optind != 2 || joined.failed) {
		complain("usage: mount.fuse.tensilefs LOGIC MOUNTPOINT [-o OPTIONS]");
		return EXIT_USAGE;
	}
	if (rehearsal)
		return EXIT_SUCCESS;
	char *const mount_argv[] = { "mount", "-o", (char *)joined.data, argv[optind], argv[optind + 1], NULL };
	return command_mount(5, (char **)mount_argv);
}
