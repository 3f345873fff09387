/* SPDX-License-Identifier: MIT */
#include "build/engine/internal.h"

#include "cachedb/digest.h"

enum { TAG_MEMO = 0x4d454d4f };		/* cachedb_info.tag; artifacts have their engine_kind */

int standpoint_now(struct engine_file *file, const struct edition *edition, struct standpoint *ret_standpoint)
{
	struct standpoint standpoint = { 0 };

	int r = tools_known(file->engine, file->kind, &standpoint.tools);
	if (r < 0)
		return r;
	r = engine_file_identity(file, edition, &standpoint.identity, &standpoint.settled);
	if (r == 0)
		*ret_standpoint = standpoint;
	return r;
}

static int memo_key(struct engine_file *file, const struct standpoint *standpoint, struct cachedb_key *ret_key)
{
	struct plan_options options = engine_plan_options(file->engine, standpoint->tools);

	return plan_memo(&options, file->kind, file->name, &standpoint->identity, ret_key);
}

int known_read_memo(struct engine_file *file, const struct standpoint *standpoint, struct cachedb_key *ret_hash, uint32_t *ret_mistakes)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	struct cachedb_info info;
	struct cachedb_key key;

	int r = memo_key(file, standpoint, &key);
	if (r == 0)
		r = engine_fetch(file->engine, &key, &info, &bytes);
	if (r < 0)
		return r;
	if (info.tag != TAG_MEMO || info.size != sizeof(ret_hash->bytes))
		return -ENOENT;
	memcpy(ret_hash->bytes, bytes, sizeof(ret_hash->bytes));
	*ret_mistakes = info.items;
	return 0;
}

void known_drop_memo(struct engine_file *file, const struct standpoint *standpoint)
{
	struct cachedb_key key;

	if (memo_key(file, standpoint, &key) == 0)
		cachedb_delete(file->engine->cache, &key);
}

static void note_hash(struct engine_file *file, const struct standpoint *standpoint, const struct cachedb_key *hash, uint32_t mistakes)
{
	pthread_mutex_lock(&file->engine->lock);
	if (file->planned && !key_equal(&file->hash, hash))
		file->sized = false;
	file->planned = true;
	file->identity = standpoint->identity;
	file->tools = standpoint->tools;
	file->hash = *hash;
	file->mistakes = mistakes;
	free(TAKE(file->stale));
	pthread_mutex_unlock(&file->engine->lock);
}

int known_hash(struct engine_file *file, const struct standpoint *standpoint, struct cachedb_key *ret_hash)
{
	uint32_t mistakes;
	bool known;

	pthread_mutex_lock(&file->engine->lock);
	known = file->planned && file->tools == standpoint->tools && key_equal(&file->identity, &standpoint->identity);
	if (known)
		*ret_hash = file->hash;
	pthread_mutex_unlock(&file->engine->lock);
	if (known)
		return 0;
	int r = known_read_memo(file, standpoint, ret_hash, &mistakes);
	if (r < 0)
		return -ENOENT;
	note_hash(file, standpoint, ret_hash, mistakes);
	return 0;
}

void known_set_hash(struct engine_file *file, const struct edition *edition, const struct standpoint *standpoint,
		    const struct cachedb_key *hash, uint32_t mistakes)
{
	struct cachedb_info info = { .tag = TAG_MEMO, .items = mistakes };
	struct cachedb_key identity, key;
	bool settled;

	/* Logic that changed while it was being read belongs to neither moment. */
	if (engine_file_identity(file, edition, &identity, &settled) < 0 || !key_equal(&identity, &standpoint->identity))
		return;
	note_hash(file, standpoint, hash, mistakes);
	if (standpoint->settled && memo_key(file, standpoint, &key) == 0)
		engine_keep(file->engine, &key, hash->bytes, sizeof(hash->bytes), &info);
}

int known_keep_hash(struct engine_file *file, const struct standpoint *standpoint, const char *reason, struct cachedb_key *ret_hash)
{
	int r = -ENOENT;

	pthread_mutex_lock(&file->engine->lock);
	if (file->planned && (file->stale || !key_equal(&file->identity, &standpoint->identity))) {
		file->identity = standpoint->identity;
		file->tools = standpoint->tools;
		free(file->stale);
		file->stale = strdup(reason);
		*ret_hash = file->hash;
		r = 0;
	}
	pthread_mutex_unlock(&file->engine->lock);
	return r;
}

void known_set_size(struct engine_file *file, const struct cachedb_key *hash, uint64_t size, uint64_t cost_us, uint32_t items)
{
	if (!file->planned || !key_equal(&file->hash, hash))
		return;
	file->sized = true;
	file->size = size;
	file->cost_us = cost_us;
	file->items = items;
}

bool engine_seen(struct engine_file *file, struct cachedb_key *ret_hash)
{
	pthread_mutex_lock(&file->engine->lock);
	bool seen = file->planned && file->sized;
	*ret_hash = file->hash;
	pthread_mutex_unlock(&file->engine->lock);
	return seen;
}

static void stat_known(struct engine_file *file, struct engine_stat *stat)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(file->engine);
	struct standpoint standpoint;
	struct cachedb_info info;

	if (standpoint_now(file, edition, &standpoint) < 0 || known_hash(file, &standpoint, &stat->hash) < 0)
		return;
	struct engine *engine = file->engine;
	pthread_mutex_lock(&engine->lock);
	stat->mistakes = file->mistakes;
	bool sized = file->sized && key_equal(&file->hash, &stat->hash);
	pthread_mutex_unlock(&engine->lock);
	if (!sized) {
		if (!engine->cache || cachedb_stat(engine->cache, &stat->hash, &info) < 0)
			return;
		pthread_mutex_lock(&engine->lock);
		known_set_size(file, &stat->hash, info.size, info.cost_us, info.items);
		pthread_mutex_unlock(&engine->lock);
	}
	pthread_mutex_lock(&engine->lock);
	if (file->sized && key_equal(&file->hash, &stat->hash)) {
		stat->known = true;
		stat->size = file->size;
		stat->cost_us = file->cost_us;
		stat->items = file->items;
	}
	pthread_mutex_unlock(&engine->lock);
}

void engine_stat(struct engine *engine, struct engine_file *file, struct engine_stat *ret_stat)
{
	struct engine_stat stat = { 0 };

	if (file->kind == ENGINE_RAW) {
		raw_stat(file, ret_stat);
		return;
	}
	stat_known(file, &stat);
	pthread_mutex_lock(&engine->lock);
	stat.state = stat.known ? ENGINE_BUILT : file->flight ? ENGINE_BUILDING : file->failure ? ENGINE_FAILED : ENGINE_UNBUILT;
	pthread_mutex_unlock(&engine->lock);
	*ret_stat = stat;
}

int engine_failure(struct engine *engine, struct engine_file *file, struct error *error)
{
	struct engine_file *built = file->parent ? file->parent : file;

	pthread_mutex_lock(&engine->lock);
	int r = built->failure;
	if (r < 0)
		error_set(error, r, "%s", built->failure_text ? built->failure_text : strerror(-r));
	pthread_mutex_unlock(&engine->lock);
	return r;
}
