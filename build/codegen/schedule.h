/* SPDX-License-Identifier: MIT */
/*
 * Interleaves instruction streams: a main stream that sets the pace (the MFMAs of a loop body) and side streams that are to be hidden
 * behind it (loads, LDS accesses, address arithmetic).
 *
 *     struct schedule schedule = { 0 };
 *     schedule_add(&schedule, loads, 0, 7, 1);       // one at a time, spread over slots 0 .. 7
 *     schedule_add(&schedule, lds_reads, 8, 15, 2);  // pairs stay together
 *     r = schedule_emit(&schedule, mfmas, ir);       // everything is appended to ir, the streams are left empty
 *
 * Slot i is the place in front of the main stream's instruction i; slot n, with n instructions in the main stream, is behind the
 * last. A side stream is spread evenly over its slots, keeps its order, and in a slot stands behind the streams that were added
 * before it. Nothing else moves anything: what one stream needs of another is the generator's business, by slots that do not overlap
 * (a stream whose slots end at i is complete before main instruction i + 1). Wait counts and wait states are found afterwards, from
 * what came out. The same input gives the same output.
 */
#pragma once

#include "build/codegen/ir.h"

enum { SCHEDULE_MAX_STREAMS = 16 };

struct schedule_stream {
	struct ir *ir;		/* borrowed until schedule_emit() */
	unsigned first_slot, last_slot;
	unsigned group;		/* instructions that stay together */
};

struct schedule {
	struct schedule_stream streams[SCHEDULE_MAX_STREAMS];
	unsigned n_streams;
};

/* Slots past the end of the main stream mean its last slot. Asserts first_slot <= last_slot, group > 0, and room for the stream. */
void schedule_add(struct schedule *schedule, struct ir *stream, unsigned first_slot, unsigned last_slot, unsigned group);

/* Appends main and side streams to `ir`, empties them and the schedule. Errors of a stream become errors of the ir. */
void schedule_emit(struct schedule *schedule, struct ir *main_stream, struct ir *ir);
