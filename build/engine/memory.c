/* SPDX-License-Identifier: MIT */
#include "build/engine/memory.h"

#include "cachedb/digest.h"

#include <pthread.h>

#define N_BUCKETS 1024

struct slot {
	struct artifact *artifact;
	struct slot *next_in_bucket;
	struct slot *newer, *older;
};

struct memory {
	unsigned references;		/* atomic; the engine's, and one of each artifact */
	uint64_t used;			/* atomic; by artifacts that are kept or held */
	uint64_t kept, limit;		/* constant */
	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t given_back;
	uint64_t reserved;
	uint64_t bytes, entries;
	struct slot *newest, *oldest;
	struct slot *buckets[N_BUCKETS];
};

/* ---- artifacts -------------------------------------------------------------------------------------------------------- */

static void memory_free(struct memory *memory)
{
	if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	pthread_cond_destroy(&memory->given_back);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

int artifact_new(struct memory *memory, uint8_t *data, size_t size, const struct cachedb_key *hash, struct artifact **ret_artifact)
{
	struct artifact *artifact = calloc(1, sizeof(*artifact));

	if (!artifact) {
		free(data);
		return -ENOMEM;
	}
	uint8_t *fitted = size ? realloc(data, size) : NULL;	/* buffers grow by doubling: give the rest back */
	*artifact = (struct artifact){ .references = 1, .data = fitted ? fitted : data, .size = size, .hash = *hash };
	artifact->memory = memory;
	__atomic_fetch_add(&memory->references, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&memory->used, size, __ATOMIC_RELAXED);
	*ret_artifact = artifact;
	return 0;
}

struct artifact *artifact_ref(struct artifact *artifact)
{
	__atomic_fetch_add(&artifact->references, 1, __ATOMIC_RELAXED);
	return artifact;
}

struct artifact *artifact_unref(struct artifact *artifact)
{
	if (artifact && __atomic_sub_fetch(&artifact->references, 1, __ATOMIC_ACQ_REL) == 0) {
		__atomic_fetch_sub(&artifact->memory->used, artifact->size, __ATOMIC_RELAXED);
		memory_free(artifact->memory);
		free(artifact->data);
		free(artifact);
	}
	return NULL;
}

/* ---- the recent ones -------------------------------------------------------------------------------------------------- */

int memory_new(uint64_t kept, uint64_t limit, struct memory **ret_memory)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return -ENOMEM;
	memory->references = 1;
	memory->kept = kept;
	memory->limit = limit;
	pthread_mutex_init(&memory->lock, NULL);
	pthread_cond_init(&memory->given_back, NULL);
	*ret_memory = memory;
	return 0;
}

static struct slot **bucket_of(struct memory *memory, const struct cachedb_key *hash)
{
	return &memory->buckets[(hash->bytes[0] | hash->bytes[1] << 8) % N_BUCKETS];
}

static void list_remove(struct memory *memory, struct slot *slot)
{
	*(slot->newer ? &slot->newer->older : &memory->newest) = slot->older;
	*(slot->older ? &slot->older->newer : &memory->oldest) = slot->newer;
}

static void list_add(struct memory *memory, struct slot *slot)
{
	slot->newer = NULL;
	slot->older = memory->newest;
	*(memory->newest ? &memory->newest->newer : &memory->oldest) = slot;
	memory->newest = slot;
}

static void drop_oldest(struct memory *memory)
{
	struct slot *slot = memory->oldest;
	struct slot **at = bucket_of(memory, &slot->artifact->hash);

	while (*at != slot)
		at = &(*at)->next_in_bucket;
	*at = slot->next_in_bucket;
	list_remove(memory, slot);
	memory->bytes -= slot->artifact->size;
	memory->entries--;
	artifact_unref(slot->artifact);
	free(slot);
}

struct memory *memory_unref(struct memory *memory)
{
	if (!memory)
		return NULL;
	while (memory->oldest)
		drop_oldest(memory);
	memory_free(memory);
	return NULL;
}

static struct slot *find(struct memory *memory, const struct cachedb_key *hash)
{
	for (struct slot *slot = *bucket_of(memory, hash); slot; slot = slot->next_in_bucket)
		if (key_equal(&slot->artifact->hash, hash))
			return slot;
	return NULL;
}

struct artifact *memory_find(struct memory *memory, const struct cachedb_key *hash)
{
	struct artifact *artifact = NULL;

	pthread_mutex_lock(&memory->lock);
	struct slot *slot = find(memory, hash);
	if (slot) {
		list_remove(memory, slot);
		list_add(memory, slot);
		artifact = artifact_ref(slot->artifact);
	}
	pthread_mutex_unlock(&memory->lock);
	return artifact;
}

void memory_add(struct memory *memory, struct artifact *artifact)
{
	struct slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return;		/* it is only a cache */
	pthread_mutex_lock(&memory->lock);
	if (find(memory, &artifact->hash)) {
		free(slot);
	} else {
		struct slot **bucket = bucket_of(memory, &artifact->hash);
		slot->artifact = artifact_ref(artifact);
		slot->next_in_bucket = *bucket;
		*bucket = slot;
		list_add(memory, slot);
		memory->bytes += artifact->size;
		memory->entries++;
		while (memory->bytes > memory->kept && memory->oldest != slot)
			drop_oldest(memory);
	}
	pthread_mutex_unlock(&memory->lock);
}

void memory_usage(struct memory *memory, uint64_t *ret_bytes, uint64_t *ret_entries)
{
	pthread_mutex_lock(&memory->lock);
	*ret_bytes = memory->bytes;
	*ret_entries = memory->entries;
	pthread_mutex_unlock(&memory->lock);
}

/* ---- the limit -------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static bool fits(const struct memory *memory, uint64_t bytes)
{
	uint64_t used = __atomic_load_n(&memory->used, __ATOMIC_RELAXED) + memory->reserved;

	return used <= memory->limit && bytes <= memory->limit - used;
}

int memory_reserve(struct memory *memory, struct reservation *ret_reservation, uint64_t bytes)
{
	int r = 0;

	pthread_mutex_lock(&memory->lock);
	while (r == 0 && !fits(memory, bytes)) {
		if (memory->oldest)
			drop_oldest(memory);
		else if (memory->reserved)
			pthread_cond_wait(&memory->given_back, &memory->lock);
		else
			r = -ENOMEM;
	}
	if (r == 0)
		memory->reserved += bytes;
	pthread_mutex_unlock(&memory->lock);
	if (r == 0)
		*ret_reservation = (struct reservation){ memory, bytes };
	return r;
}

void memory_give_back(struct reservation *reservation)
{
	struct memory *memory = reservation->memory;

	if (!memory)
		return;
	pthread_mutex_lock(&memory->lock);
	memory->reserved -= reservation->bytes;
	pthread_cond_broadcast(&memory->given_back);
	pthread_mutex_unlock(&memory->lock);
	*reservation = (struct reservation){ 0 };
}

uint64_t memory_used(struct memory *memory)
{
	pthread_mutex_lock(&memory->lock);
	uint64_t reserved = memory->reserved;
	pthread_mutex_unlock(&memory->lock);
	return reserved + __atomic_load_n(&memory->used, __ATOMIC_RELAXED);
}

uint64_t memory_limit(const struct memory *memory)
{
	return memory->limit;
}
