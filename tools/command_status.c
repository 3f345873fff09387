/* SPDX-License-Identifier: MIT */
/*
 * What a mount is doing, from its control folder: as JSON, or as lines for people. In a terminal the lines are renewed until the
 * mount or the reader ends; they are drawn over those before, and nothing of the terminal is changed, so that ^C needs no care at
 * any moment.
 */
#include "tools/command.h"

#include "base/clock.h"

#include <json-c/json.h>
#include <sys/ioctl.h>

#define USAGE "status [--once] [--json] MOUNTPOINT\n\nOn a terminal what it shows is renewed twice a second; ^C ends it."
#define RENEW_US 500000

typedef unsigned long long ull;

static int read_status(const char *mountpoint, struct buffer *ret_text)
{
	_cleanup_free_ char *path = NULL;
	char bytes[4096];
	size_t n;

	if (asprintf(&path, "%s/.tensilefs/status", mountpoint) < 0) {
		path = NULL;
		return -ENOMEM;
	}
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

/* ---- what JSON says --------------------------------------------------------------------------------------------------- */

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

/* NULL and what is not there are 0, "", and an empty list. */
static ull number(struct json_object *object, const char *key)
{
	return json_object_get_uint64(member(object, key));
}

static const char *text(struct json_object *object, const char *key)
{
	const char *value = json_object_get_string(member(object, key));

	return value ? value : "";
}

static size_t length(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

struct size { char text[32]; };

static struct size size_of(ull bytes)
{
	static const char units[] = "BKMGT";
	double value = (double)bytes;
	unsigned unit = 0;
	struct size size;

	for (; value >= 1024 && units[unit + 1]; unit++)
		value /= 1024;
	snprintf(size.text, sizeof(size.text), unit ? "%.1f%c" : "%.0f%c", value, units[unit]);
	return size;
}

/* Numbers of one moment, to see how fast they grow. */
struct sample {
	double seconds;
	ull builds, answers;
};

static struct sample sample_of(struct json_object *engine)
{
	struct json_object *cache = member(engine, "cache");
	struct sample sample = { .seconds = (double)now_ns() * 1e-9, .builds = number(member(engine, "built"), "builds") };

	sample.answers = number(cache, "memory_hits") + number(cache, "disk_hits") + sample.builds;
	return sample;
}

static void add_rate(struct buffer *out, ull now, ull before, double seconds)
{
	if (seconds > 0)
		buffer_printf(out, ", %.1f/s", (double)(now - before) / seconds);
}

static void add_jobs(struct buffer *out, struct json_object *all, struct json_object *jobs)
{
	struct json_object *mount = member(all, "mount");

	buffer_printf(out, "workers  %llu of %llu busy, and %llu with what needs no linker\n", number(jobs, "running"), number(jobs, "workers"),
		      number(jobs, "running_quick"));
	buffer_printf(out, "queue    %llu waited for, %llu ahead of readers\n", number(jobs, "queued") + number(jobs, "queued_quick"),
		      number(jobs, "queued_ahead"));
	buffer_printf(out, "mount    %llu open, %llu waiting, %llu interrupted\n", number(mount, "open"), number(mount, "waiting"),
		      number(mount, "interrupted"));
}

static void add_built(struct buffer *out, struct json_object *engine, const struct sample *now, const struct sample *before)
{
	struct json_object *built = member(engine, "built"), *cache = member(engine, "cache");
	double seconds = before ? now->seconds - before->seconds : 0, percent = now->answers ? 100.0 / (double)now->answers : 0;
	ull limit = number(cache, "disk_limit_bytes");

	buffer_printf(out, "built    %llu files", now->builds);
	add_rate(out, now->builds, before ? before->builds : 0, seconds);
	buffer_printf(out, "; %s, %llu kernels; %llu failures\n", size_of(number(built, "bytes")).text, number(built, "kernels"),
		      number(built, "failures"));
	buffer_printf(out, "asked    %llu times", now->answers);
	add_rate(out, now->answers, before ? before->answers : 0, seconds);
	buffer_printf(out, "; %.1f%% were in memory, %.1f%% on disk, %.1f%% were built\n", percent * (double)number(cache, "memory_hits"),
		      percent * (double)number(cache, "disk_hits"), percent * (double)now->builds);
	buffer_printf(out, "memory   %s in %llu files\n", size_of(number(cache, "memory_bytes")).text, number(cache, "memory_entries"));
	if (!*text(cache, "directory")) {
		buffer_append_string(out, "cache    none on disk\n");
		return;
	}
	buffer_printf(out, "cache    %s%s%s in %s; %llu evicted, %llu errors\n", size_of(number(cache, "disk_bytes")).text, limit ? " of " : "",
		      limit ? size_of(limit).text : "", text(cache, "directory"), number(cache, "disk_evictions"), number(cache, "disk_errors"));
}

static void add_work(struct buffer *out, struct json_object *work)
{
	if (length(work))
		buffer_append_string(out, "\n elapsed  stage      file\n");
	for (size_t i = 0; i < length(work); i++) {
		struct json_object *entry = json_object_array_get_idx(work, i);
		buffer_printf(out, "%7.1fs  %-9s  %s/%s\n", (double)number(entry, "elapsed_ms") / 1000, text(entry, "stage"), text(entry, "arch"),
			      text(entry, "name"));
	}
}

static void add_reasons(struct buffer *out, const char *title, struct json_object *list)
{
	if (length(list))
		buffer_printf(out, "\n%s\n", title);
	for (size_t i = 0; i < length(list); i++) {
		struct json_object *entry = json_object_array_get_idx(list, i);
		if (json_object_is_type(entry, json_type_string))
			buffer_printf(out, "  %s\n", json_object_get_string(entry));
		else
			buffer_printf(out, "  %s%s%s: %s\n", text(entry, "arch"), *text(entry, "arch") ? "/" : "", text(entry, "name"),
				      text(entry, "reason"));
	}
}

/* Rates are those since the sample, which there is none of at `first`; then it is the one of now. */
static int describe(const char *status, struct sample *sample, bool first, struct buffer *out)
{
	struct json_object *all = json_tokener_parse(status), *engine = member(all, "engine");

	if (!engine) {
		json_object_put(all);
		return -EBADMSG;
	}
	struct sample now = sample_of(engine);
	buffer_printf(out, "logic    %s\nlinker   %s\n", text(engine, "logic"), *text(engine, "linker") ? text(engine, "linker") : "none yet");
	add_jobs(out, all, member(engine, "jobs"));
	add_built(out, engine, &now, first ? NULL : sample);
	add_work(out, member(member(engine, "jobs"), "work"));
	add_reasons(out, "could not be made:", member(engine, "failed"));
	add_reasons(out, "served as they were before an edit:", member(engine, "stale"));
	add_reasons(out, "left out of the logic:", member(engine, "faults"));
	buffer_append(out, "", 1);
	*sample = now;
	json_object_put(all);
	return out->failed ? -ENOMEM : 0;
}

/* Over what was there, as much as the terminal has room for. */
static void draw(const char *lines)
{
	struct winsize window = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
	unsigned rows = window.ws_row ? window.ws_row : 24, columns = window.ws_col ? window.ws_col : 80;
	fputs("\033[H", stdout);
	for (unsigned row = 1; row < rows && *lines; row++) {
		int size = (int)strcspn(lines, "\n");
		printf("%.*s\033[K\n", MIN(size, (int)columns), lines);
		lines += size + (lines[size] == '\n');
	}
	fputs(*lines ? "  ...\033[K\033[J" : "\033[J", stdout);
	fflush(stdout);
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

static int show(const char *status, bool live, struct sample *sample, bool first)
{
	_cleanup_buffer_ struct buffer lines = { 0 };

	int r = describe(status, sample, first, &lines);
	if (r < 0) {
		complain("the status cannot be read: %s", strerror(-r));
		return r;
	}
	if (live)
		draw((const char *)lines.data);
	else
		fputs((const char *)lines.data, stdout);
	return 0;
}

int command_status(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	struct sample sample = { 0 };

	if (options_parse(argc, argv, OPTION_JSON | OPTION_ONCE, 1, 1, USAGE, &options) < 0)
		return EXIT_USAGE;
	bool live = isatty(STDOUT_FILENO) && !options.json && !options.once;
	for (bool first = true;; first = false, usleep(RENEW_US)) {
		_cleanup_buffer_ struct buffer status = { 0 };
		int r = read_status(argv[optind], &status);
		if (r < 0 && !first)
			return EXIT_SUCCESS;		/* the mount has ended */
		if (r < 0) {
			complain("'%s' is no mount of tensilefs: %s", argv[optind], strerror(-r));
			return EXIT_FAILURE;
		}
		if (options.json)
			fputs((const char *)status.data, stdout);
		else
			r = show((const char *)status.data, live, &sample, first);
		if (!live || r < 0)
			return end_output(r < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
	}
}
