/* SPDX-License-Identifier: MIT */
/*
 * A file is the process's name, then a comma and a line for each event. A kill may interrupt a write, but between pages of the file
 * only (generic_perform_write() of Linux copies page by page and looks for fatal signals in between); so no event lies across the
 * border of two: spaces, which JSON does not mind, fill up a page that has too little room. A write that fails is taken back.
 */
#include "build/engine/trace.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <pthread.h>

#define PAGE 4096
#define MOST_TEXT 1000			/* bytes of a value, so that an event fits a page */
#define MOST_THREADS 256		/* that get a name */

struct trace {
	char *path;
	void (*warn)(void *userdata, const char *message);	/* or NULL */
	void *userdata;
	pthread_mutex_t lock;		/* protects all below */
	int fd;				/* -1: it has failed */
	uint64_t size;			/* of the file */
	pid_t named[MOST_THREADS];
	size_t n_named;
};

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static void fail(struct trace *trace, int r)
{
	char message[512];

	if (ftruncate(trace->fd, (off_t)trace->size) < 0) {
		/* it is a pipe, or worse off than we knew: what is there stays */
	}
	close(trace->fd);
	trace->fd = -1;
	snprintf(message, sizeof(message), "cannot write the trace '%.300s' any more: %s", trace->path, strerror(-r));
	if (trace->warn)
		trace->warn(trace->userdata, message);
}

/* With the lock held. */
static void write_text(struct trace *trace, const char *text, size_t size)
{
	static const uint8_t spaces[PAGE] = { [0 ... PAGE - 1] = ' ' };
	size_t room = PAGE - trace->size % PAGE;
	int r = 0;

	if (trace->fd < 0)
		return;
	if (size > room)
		r = write_all(trace->fd, spaces, room);
	if (r == 0)
		r = write_all(trace->fd, (const uint8_t *)text, size);
	if (r < 0)
		fail(trace, r);
	else
		trace->size += size > room ? room + size : size;
}

/* With the lock held. */
static void write_event(struct trace *trace, struct json_object *event)
{
	_cleanup_buffer_ struct buffer line = { 0 };

	buffer_printf(&line, "%s\n%s", trace->size ? "," : "[",
		      json_object_to_json_string_ext(event, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	if (!line.failed)
		write_text(trace, (const char *)line.data, line.size);
	json_object_put(event);
}

/* ---- events ----------------------------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character that a text begins with; 0: it begins with none. */
static size_t character_size(const char *text)
{
	unsigned char first = (unsigned char)*text;
	size_t size = first < 0x80 ? 1 : first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	for (size_t i = 1; i < size; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	return size;
}

/* JSON is UTF-8, but names of files are any bytes: what is no character, or was cut off, becomes '?'. */
static void add_text(struct json_object *object, const char *key, const char *text)
{
	char copy[MOST_TEXT + 1];

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *at = copy; *at;) {
		size_t size = character_size(at);
		if (size == 0)
			*at = '?';
		at += MAX(size, (size_t)1);
	}
	json_object_object_add(object, key, json_object_new_string(copy));
}

static struct json_object *new_event(char phase, const char *name, const struct trace_value *values)
{
	struct json_object *event = json_object_new_object(), *members = json_object_new_object();

	add_text(event, "ph", (char[]){ phase, 0 });
	json_object_object_add(event, "pid", json_object_new_int(getpid()));
	json_object_object_add(event, "tid", json_object_new_int(gettid()));
	if (phase != 'M')		/* names hold for all time */
		json_object_object_add(event, "ts", json_object_new_uint64(now_us()));
	add_text(event, "name", name);
	for (; values && values->key; values++) {
		if (values->text)
			add_text(members, values->key, values->text);
		else
			json_object_object_add(members, values->key, json_object_new_uint64(values->number));
	}
	json_object_object_add(event, "args", members);
	return event;
}

/* With the lock held. */
static void name_thread(struct trace *trace)
{
	pid_t thread = gettid();
	char name[16];

	for (size_t i = 0; i < trace->n_named; i++)
		if (trace->named[i] == thread)
			return;
	if (trace->n_named == ARRAY_SIZE(trace->named) || pthread_getname_np(pthread_self(), name, sizeof(name)) != 0)
		return;
	trace->named[trace->n_named++] = thread;
	write_event(trace, new_event('M', "thread_name", TRACE_WITH({ "name", .text = name })));
}

static void emit(struct trace *trace, struct json_object *event)
{
	pthread_mutex_lock(&trace->lock);
	name_thread(trace);
	write_event(trace, event);
	pthread_mutex_unlock(&trace->lock);
}

void trace_begin(struct trace *trace, const char *name, const struct trace_value *values)
{
	if (trace)
		emit(trace, new_event('B', name, values));
}

void trace_end(struct trace *trace, const char *name, const struct trace_value *values)
{
	if (trace)
		emit(trace, new_event('E', name, values));
}

void trace_count(struct trace *trace, const char *name, const struct trace_value *values)
{
	if (trace)
		emit(trace, new_event('C', name, values));
}

static void emit_wait(struct trace *trace, char phase, uint64_t id, const char *name, const struct trace_value *values)
{
	struct json_object *event = new_event(phase, name, values);
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)id);
	add_text(event, "id", text);
	add_text(event, "cat", "wait");
	emit(trace, event);
}

void trace_wait_begin(struct trace *trace, uint64_t id, const char *name, const struct trace_value *values)
{
	if (trace)
		emit_wait(trace, 'b', id, name, values);
}

void trace_wait_end(struct trace *trace, uint64_t id, const char *name, const struct trace_value *values)
{
	if (trace)
		emit_wait(trace, 'e', id, name, values);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

int trace_open(const char *path, void (*warn)(void *userdata, const char *message), void *userdata, struct trace **ret_trace,
	       struct error *error)
{
	struct trace *trace = calloc(1, sizeof(*trace));

	if (!trace || !(trace->path = strdup(path))) {
		free(trace);
		return -ENOMEM;
	}
	trace->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (trace->fd < 0) {
		int r = error_set(error, -errno, "cannot write a trace to '%s': %s", path, strerror(errno));
		free(trace->path);
		free(trace);
		return r;
	}
	trace->warn = warn;
	trace->userdata = userdata;
	pthread_mutex_init(&trace->lock, NULL);
	write_event(trace, new_event('M', "process_name", TRACE_WITH({ "name", .text = "tensilefs" })));
	*ret_trace = trace;
	return 0;
}

struct trace *trace_close(struct trace *trace)
{
	if (!trace)
		return NULL;
	write_text(trace, "\n]\n", 3);
	close_p(&trace->fd);
	pthread_mutex_destroy(&trace->lock);
	free(trace->path);
	free(trace);
	return NULL;
}

const char *trace_path(const struct trace *trace)
{
	return trace ? trace->path : NULL;
}
