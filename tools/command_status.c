/* SPDX-License-Identifier: MIT */
/*
 * What a mount is doing, from its control folder: as JSON, once, or in a terminal as a few lines that are renewed until the mount or the
 * reader ends.
 */
#include "tools/command.h"

#include <json-c/json.h>

#define USAGE "status [--json] MOUNTPOINT\n\nOn a terminal what it shows is renewed twice a second; ^C ends it."
#define RENEW_US 500000

static int read_status(const char *mountpoint, struct buffer *ret_text)
{
	_cleanup_free_ char *path = NULL;
	char bytes[4096];
	size_t n;

	if (asprintf(&path, "%s/.tensilefs/status", mountpoint) < 0)
		return -ENOMEM;
	FILE *stream = fopen(path, "re");
	if (!stream)
		return -errno;
	while ((n = fread(bytes, 1, sizeof(bytes), stream)))
		buffer_append(ret_text, bytes, n);
	int r = ferror(stream) ? -EIO : 0;
	fclose(stream);
	buffer_append(ret_text, "", 1);
	return r == 0 && ret_text->failed ? -ENOMEM : r;
}

/* A number two levels down, below `top`. */
static unsigned long long number(struct json_object *top, const char *group, const char *key)
{
	struct json_object *members, *value;

	return json_object_object_get_ex(top, group, &members) && json_object_object_get_ex(members, key, &value) ? json_object_get_uint64(value) : 0;
}

static size_t length(struct json_object *top, const char *key)
{
	struct json_object *list;

	return json_object_object_get_ex(top, key, &list) && json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static void print_lines(const char *text)
{
	struct json_object *all = json_tokener_parse(text), *engine;

	if (all && json_object_object_get_ex(all, "engine", &engine)) {
		printf("\033[H\033[2J");		/* from the top of an empty screen */
		printf("jobs     %llu of %llu workers busy, %llu queued, %llu ahead\n", number(engine, "jobs", "running"),
		       number(engine, "jobs", "workers"), number(engine, "jobs", "queued"), number(engine, "jobs", "queued_ahead"));
		printf("built    %llu files, %llu bytes, %llu kernels; %llu failures\n", number(engine, "built", "builds"),
		       number(engine, "built", "bytes"), number(engine, "built", "kernels"), number(engine, "built", "failures"));
		printf("cache    %llu hits in memory, %llu on disk; %llu bytes on disk\n", number(engine, "cache", "memory_hits"),
		       number(engine, "cache", "disk_hits"), number(engine, "cache", "disk_bytes"));
		printf("mount    %llu open, %llu waiting, %llu interrupted\n", number(all, "mount", "open"), number(all, "mount", "waiting"),
		       number(all, "mount", "interrupted"));
		printf("logic    %zu faults, %zu served as before a broken edit\n", length(engine, "faults"), length(engine, "stale"));
		fflush(stdout);
	}
	json_object_put(all);
}

int command_status(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };

	if (options_parse(argc, argv, OPTION_JSON, 1, 1, USAGE, &options) < 0)
		return EXIT_USAGE;
	bool live = isatty(STDOUT_FILENO) && !options.json;
	for (bool first = true;; first = false, usleep(RENEW_US)) {
		_cleanup_buffer_ struct buffer text = { 0 };
		int r = read_status(argv[optind], &text);
		if (r < 0 && !first)
			return EXIT_SUCCESS;		/* the mount has ended */
		if (r < 0) {
			complain("'%s' is no mount of tensilefs: %s", argv[optind], strerror(-r));
			return EXIT_FAILURE;
		}
		if (live) {
			print_lines((const char *)text.data);
			continue;
		}
		fputs((const char *)text.data, stdout);
		return end_output(EXIT_SUCCESS);
	}
}
