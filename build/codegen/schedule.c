/* SPDX-License-Identifier: MIT */
#include "build/codegen/schedule.h"

#include "build/codegen/ir_internal.h"

#include <assert.h>

void schedule_add(struct schedule *schedule, struct ir *stream, unsigned first_slot, unsigned last_slot, unsigned group)
{
	assert(first_slot <= last_slot);
	assert(group > 0);
	assert(schedule->n_streams < SCHEDULE_MAX_STREAMS);
	schedule->streams[schedule->n_streams++] =
		(struct schedule_stream){ .ir = stream, .first_slot = first_slot, .last_slot = last_slot, .group = group };
}

/* How many instructions of the stream are issued by the end of `slot`. */
static size_t issued_by(const struct schedule_stream *stream, size_t slot, size_t n_main)
{
	size_t first = MIN((size_t)stream->first_slot, n_main), last = MIN((size_t)stream->last_slot, n_main);
	size_t groups = ceil_div(stream->ir->count, stream->group);

	if (slot < first)
		return 0;
	if (slot >= last)
		return stream->ir->count;
	return MIN(ceil_div(groups * (slot - first + 1), last - first + 1) * stream->group, stream->ir->count);
}

void schedule_emit(struct schedule *schedule, struct ir *main_stream, struct ir *ir)
{
	size_t n_main = main_stream->count;
	size_t done[SCHEDULE_MAX_STREAMS] = { 0 };

	for (size_t slot = 0; slot <= n_main; slot++) {
		for (unsigned s = 0; s < schedule->n_streams; s++) {
			size_t until = issued_by(&schedule->streams[s], slot, n_main);
			ir_copy_range(ir, schedule->streams[s].ir, done[s], until);
			done[s] = until;
		}
		if (slot < n_main)
			ir_copy_range(ir, main_stream, slot, slot + 1);
	}
	for (unsigned s = 0; s < schedule->n_streams; s++)
		ir_drain(ir, schedule->streams[s].ir);
	ir_drain(ir, main_stream);
	schedule->n_streams = 0;
}
