/* SPDX-License-Identifier: MIT */
/* For tests of traces: reads one as strictly as JSON is, and checks what every trace must keep. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>

/*
 * The events, an array. `whole`: the process closed it; else it may have been killed, and the closing bracket is put there, as the viewers
 * do. Fails the test where an event has not the members that its phase needs, where times fall within a thread, where spans
 * do not nest, or, in a whole one, where something began and did not end.
 */
struct json_object *trace_load(const char *path, bool whole);

const char *event_text(const struct json_object *event, const char *key);	/* "" where there is none */
bool event_is(const struct json_object *event, char phase, const char *name);
const char *event_arg(const struct json_object *event, const char *key);	/* a number too; "" where there is none */

/* How many events of that phase and name there are. */
size_t trace_count_events(const struct json_object *trace, char phase, const char *name);
