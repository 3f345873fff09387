/* SPDX-License-Identifier: MIT */
/*
 * A record of what each thread did when, for https://ui.perfetto.dev and chrome://tracing: JSON in the Trace Event Format
 * (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), as an array.
 *
 *     r = trace_open(path, warn, userdata, &trace, &error);
 *     trace_begin(trace, "link", TRACE_WITH({ "bytes", .number = size }, { "file", .text = name }));
 *     ...
 *     trace_end(trace, "link", TRACE_WITH({ "status", .number = 0 }));	// on the same thread; spans nest
 *     trace_close(trace);
 *
 * Each event is written at once: nothing is held in memory, and a process that is killed leaves a file that can be loaded, as the
 * format lets the closing bracket be missing ("JSON Array Format") and no event is ever half there (see trace.c). Spans that had
 * begun show as not ended. Times are microseconds of CLOCK_MONOTONIC, and never fall within a thread. A thread is named when it
 * writes its first event.
 *
 * A file that cannot be written any more (disk full) costs one warning: what was written stays, and later events are dropped.
 *
 * Every function but trace_open() accepts NULL and does nothing then; any thread may call them. Names and keys are plain text
 * without any need for care: they are escaped.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

struct trace;

struct trace_value {
	const char *key;
	const char *text;		/* NULL: it is a number */
	uint64_t number;
};

/* Values for an event, at least one. */
#define TRACE_WITH(...) ((const struct trace_value[]){ __VA_ARGS__, { 0 } })
#define TRACE_PLAIN NULL		/* none */

int trace_open(const char *path, void (*warn)(void *userdata, const char *message), void *userdata, struct trace **ret_trace,
	       struct error *error);
struct trace *trace_close(struct trace *trace);		/* no thread may use it any more; returns NULL */

const char *trace_path(const struct trace *trace);

/* A span on the row of the calling thread. */
void trace_begin(struct trace *trace, const char *name, const struct trace_value *values);
void trace_end(struct trace *trace, const char *name, const struct trace_value *values);

/*
 * A span that belongs to no thread, as it begins on one and ends on another: somebody waits. `id` is its own among those that are
 * open.
 */
void trace_wait_begin(struct trace *trace, uint64_t id, const char *name, const struct trace_value *values);
void trace_wait_end(struct trace *trace, uint64_t id, const char *name, const struct trace_value *values);

/* Numbers that are drawn as curves. */
void trace_count(struct trace *trace, const char *name, const struct trace_value *values);
