/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include "cachedb/digest.h"

#include <assert.h>

/* Forgets it then. */
static bool memo_differs(struct engine_file *file, const struct standpoint *standpoint, const struct cachedb_key *hash)
{
	struct cachedb_key memo;
	uint32_t mistakes;

	bool differs = known_read_memo(file, standpoint, &memo, &mistakes) == 0 && !key_equal(&memo, hash);
	if (differs && !file->engine->cache_read_only)
		known_drop_memo(file, standpoint);
	return differs;
}

int engine_rebuild(struct engine *engine, struct engine_file *file, struct artifact **ret_artifact, bool *ret_memo_is_wrong,
		   struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	_cleanup_(production_release) struct production production = { 0 };	/* goes before the edition */
	struct standpoint standpoint;
	struct cachedb_key hash;
	const struct tools *tools;

	assert(file->kind != ENGINE_RAW);
	int r = tools_identify(engine, file->kind, &tools, error);
	if (r == 0)
		r = standpoint_now(file, edition, &standpoint);
	if (r == 0)
		r = production_plan(file, edition, standpoint.tools, &production, &hash, error);
	if (r == 0)
		r = production_run(file, &production, &hash, ret_artifact, error);
	if (r == 0)
		*ret_memo_is_wrong = memo_differs(file, &standpoint, &hash);
	return r;
}
