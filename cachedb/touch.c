/* SPDX-License-Identifier: MIT */
#include "cachedb/touch.h"

#define N_SLOTS (2 * TOUCHES_MAX)	/* at most half full, so that probing ends soon */

void touches_init(struct touches *touches)
{
	*touches = (struct touches){ 0 };
	pthread_mutex_init(&touches->lock, NULL);
}

void touches_destroy(struct touches *touches)
{
	free(touches->slots);
	pthread_mutex_destroy(&touches->lock);
}

/* Keys are digests: any of their bits are a good hash. */
static struct touch *find_slot(struct touch *slots, const struct cachedb_key *key)
{
	uint32_t hash;

	memcpy(&hash, key->bytes, sizeof(hash));
	for (size_t i = hash % N_SLOTS;; i = (i + 1) % N_SLOTS)
		if (!slots[i].used_ns || !memcmp(&slots[i].key, key, sizeof(*key)))
			return &slots[i];
}

bool touches_add(struct touches *touches, const struct cachedb_key *key, int64_t used_ns)
{
	pthread_mutex_lock(&touches->lock);
	if (!touches->slots)
		touches->slots = calloc(N_SLOTS, sizeof(*touches->slots));
	if (touches->slots) {
		struct touch *slot = find_slot(touches->slots, key);
		if (slot->used_ns) {
			slot->used_ns = MAX(slot->used_ns, used_ns);
		} else if (touches->used < TOUCHES_MAX) {
			*slot = (struct touch){ *key, used_ns };
			touches->used++;
		}
	}
	bool full = touches->used == TOUCHES_MAX;
	pthread_mutex_unlock(&touches->lock);
	return full;
}

void touches_count(struct touches *touches, uint64_t hits, uint64_t misses)
{
	pthread_mutex_lock(&touches->lock);
	touches->hits += hits;
	touches->misses += misses;
	pthread_mutex_unlock(&touches->lock);
}

struct touch_list touches_take(struct touches *touches)
{
	pthread_mutex_lock(&touches->lock);
	struct touch_list list = {
		.slots = touches->slots,
		.n_slots = touches->slots ? N_SLOTS : 0,
		.hits = touches->hits,
		.misses = touches->misses,
	};
	touches->slots = NULL;
	touches->used = 0;
	touches->hits = touches->misses = 0;
	pthread_mutex_unlock(&touches->lock);
	return list;
}
