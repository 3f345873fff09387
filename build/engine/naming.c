/* SPDX-License-Identifier: MIT */
#include "build/engine/naming.h"

#include "build/engine/generator_id.h"
#include "build/engine/identity.h"

#include <pthread.h>

enum { TAG_SUMMARY = 0x534d5259 };	/* cachedb_info.tag */

struct summary {
	const struct logic_file *file;
	struct buffer bytes;
	int status;			/* or a failure to make it */
};

struct naming {				/* of one whole at one moment; kept to the end, as a load may be using it */
	const struct logic_base *whole;
	struct cachedb_key identity;
	struct summary *summaries;
	size_t n_summaries;
	size_t next, done;		/* summaries begun and ended */
	bool making, finished;
	struct logic_naming *naming;	/* when finished; NULL: it failed */
	struct naming *older;
};

struct namings {
	struct cachedb *cache;
	pthread_mutex_t lock;		/* protects all below, but a summary while one thread makes it */
	pthread_cond_t progress;
	struct naming *newest;
};

int namings_new(struct cachedb *cache, struct namings **ret_namings)
{
	struct namings *namings = calloc(1, sizeof(*namings));

	if (!namings)
		return -ENOMEM;
	namings->cache = cache;
	pthread_mutex_init(&namings->lock, NULL);
	pthread_cond_init(&namings->progress, NULL);
	*ret_namings = namings;
	return 0;
}

static void naming_free(struct naming *naming)
{
	for (size_t i = 0; i < naming->n_summaries; i++)
		buffer_release(&naming->summaries[i].bytes);
	free(naming->summaries);
	logic_naming_unref(naming->naming);
	free(naming);
}

struct namings *namings_unref(struct namings *namings)
{
	if (!namings)
		return NULL;
	while (namings->newest) {
		struct naming *naming = namings->newest;
		namings->newest = naming->older;
		naming_free(naming);
	}
	pthread_cond_destroy(&namings->progress);
	pthread_mutex_destroy(&namings->lock);
	free(namings);
	return NULL;
}

/* ---- summaries -------------------------------------------------------------------------------------------------------- */

static int summary_key(const struct logic_file *file, struct cachedb_key *ret_key, bool *ret_settled)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	*ret_settled = true;
	digest_init(&digest, "tensilefs logic summary");
	digest_string(&digest, GENERATOR_ID);
	digest_file_identity(&digest, file->path, ret_settled);
	return digest_finish(&digest, ret_key);
}

static int read_summary(struct namings *namings, const struct cachedb_key *key, struct buffer *ret_bytes)
{
	struct cachedb_info info;
	uint8_t *bytes;

	int r = namings->cache ? cachedb_get(namings->cache, key, &info, &bytes) : -ENOENT;
	if (r < 0)
		return r;
	if (info.tag != TAG_SUMMARY) {
		free(bytes);
		return -ENOENT;
	}
	*ret_bytes = (struct buffer){ .data = bytes, .size = (size_t)info.size, .allocated = (size_t)info.size };
	return 0;
}

/* A cache that cannot be written is noticed, and complained about, where files are stored. */
static void make_summary(struct namings *namings, struct summary *summary)
{
	struct cachedb_info info = { .tag = TAG_SUMMARY };
	struct cachedb_key key;
	bool settled;

	summary->status = summary_key(summary->file, &key, &settled);
	if (summary->status < 0 || read_summary(namings, &key, &summary->bytes) == 0)
		return;
	summary->status = logic_summarize(summary->file, &summary->bytes, NULL);
	if (summary->status == 0 && settled && namings->cache)
		cachedb_put(namings->cache, &key, summary->bytes.data, summary->bytes.size, &info, NULL);
}

static int give_summary(void *userdata, const struct logic_file *file, struct buffer *ret_summary, struct error *error)
{
	const struct naming *naming = userdata;
	size_t i = 0;

	while (naming->summaries[i].file != file)
		i++;
	if (naming->summaries[i].status < 0)
		return naming->summaries[i].status;
	buffer_append(ret_summary, naming->summaries[i].bytes.data, naming->summaries[i].bytes.size);
	return ret_summary->failed ? -ENOMEM : 0;
}

/* ---- namings ---------------------------------------------------------------------------------------------------------- */

static struct naming *naming_new(struct namings *namings, const struct logic_base *whole, const struct cachedb_key *identity)
{
	struct naming *naming = calloc(1, sizeof(*naming));

	if (!naming || !(naming->summaries = calloc(whole->n_files + 1, sizeof(*naming->summaries)))) {
		free(naming);
		return NULL;
	}
	naming->whole = whole;
	naming->identity = *identity;
	for (size_t i = 0; i < whole->n_files; i++)
		naming->summaries[naming->n_summaries++].file = whole->files[i];
	naming->older = namings->newest;
	namings->newest = naming;
	return naming;
}

static struct naming *find(struct namings *namings, const struct logic_base *whole, const struct cachedb_key *identity)
{
	for (struct naming *naming = namings->newest; naming; naming = naming->older)
		if (naming->whole == whole && key_equal(&naming->identity, identity))
			return naming;
	return NULL;
}

/* Does one piece of the work, or waits for others to do theirs. With the lock held, which is given away meanwhile. */
static void advance(struct namings *namings, struct naming *naming, struct error *error)
{
	if (naming->next < naming->n_summaries) {
		struct summary *summary = &naming->summaries[naming->next++];
		pthread_mutex_unlock(&namings->lock);
		make_summary(namings, summary);
		pthread_mutex_lock(&namings->lock);
		naming->done++;
	} else if (naming->done == naming->n_summaries && !naming->making) {
		struct logic_naming *made = NULL;
		naming->making = true;
		pthread_mutex_unlock(&namings->lock);
		int r = logic_naming_new(naming->whole, give_summary, naming, &made, error);
		pthread_mutex_lock(&namings->lock);
		naming->naming = r == 0 ? made : NULL;
		naming->making = false;
		naming->finished = true;
	} else {
		pthread_cond_wait(&namings->progress, &namings->lock);
		return;
	}
	pthread_cond_broadcast(&namings->progress);
}

int namings_get(struct namings *namings, const struct logic_base *whole, const struct cachedb_key *identity,
		const struct logic_naming **ret_naming, struct error *error)
{
	int r = 0;

	pthread_mutex_lock(&namings->lock);
	struct naming *naming = find(namings, whole, identity);
	if (!naming)
		naming = naming_new(namings, whole, identity);
	while (naming && !naming->finished)
		advance(namings, naming, error);
	if (naming && naming->naming)
		*ret_naming = naming->naming;
	else
		r = error_set(error, -ENOMEM, "the names of '%s' cannot be made", whole->name);
	if (naming && !naming->naming)
		naming->finished = false;	/* the next to come tries again */
	pthread_mutex_unlock(&namings->lock);
	return r;
}
