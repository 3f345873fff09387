/* SPDX-License-Identifier: MIT */
/*
 * Edits of the logic: inotify on every folder of it and on the folder that holds it. An event begins a scan once edits have paused for a
 * moment; whatever the scan finds changed is in force from then on.
 */
#pragma once

#include "build/engine/engine.h"

struct watch;

int watch_new(struct engine *engine, engine_changed changed, void *userdata, struct watch **ret_watch, struct error *error);
struct watch *watch_unref(struct watch *watch);		/* waits for its thread; accepts NULL, returns NULL */
