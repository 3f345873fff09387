/* SPDX-License-Identifier: MIT */
#include "fs/internal.h"

#include <assert.h>
#include <sys/stat.h>

#define FOR_EVER 86400.0		/* seconds; bound content never changes */

bool kind_is_folder(enum node_kind kind)
{
	switch (kind) {
	case NODE_FILE:
	case NODE_STATUS:
	case NODE_COVERAGE:
	case NODE_ERROR:
	case NODE_RAW_FILE:
	case NODE_LOGIC_FILE:
	case NODE_ASM_KERNEL:
		return false;
	default:
		return true;
	}
}

bool kind_is_artifact(enum node_kind kind)
{
	return kind == NODE_FILE || kind == NODE_RAW_FILE;
}

/* A node's number for the kernel is its address: the kernel gives back only what it was given, and not after it forgot it. */
struct node *node_of(struct fs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &fs->root : (struct node *)(uintptr_t)ino;
}

fuse_ino_t ino_of(const struct fs *fs, const struct node *node)
{
	return node == &fs->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)	/* FNV-1a, 64 bits */
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

#define MIX_BEGIN 0xcbf29ce484222325ull

/*
 * A number is made of the kind, the place in the order of names, and a hash: of the content where that is known. So other content has
 * another number, and programs that sort a folder by number before they read it (cp -r does) read in the order of names, which building
 * and reading ahead follow.
 */
#define NUMBER(kind, place, hash) ((uint64_t)(kind) << 58 | ((uint64_t)(place) & 0x3fffff) << 36 | ((hash) & 0xfffffffffull))

static uint64_t file_number(const struct subject *subject, const struct cachedb_key *hash)
{
	const char *arch = engine_file_arch(subject->file);
	uint64_t mixed = mix(MIX_BEGIN, arch, strlen(arch));

	if (hash)
		mixed = mix(mixed, hash->bytes, sizeof(hash->bytes));
	return NUMBER(subject->kind, engine_file_index(subject->file) + 1, mixed ^ mixed >> 36);
}

static uint64_t provisional_number(const struct subject *subject)
{
	if (subject->kind == NODE_ROOT)
		return FUSE_ROOT_ID;
	if (subject->kernel)
		return file_number(subject, NULL) ^ (mix(MIX_BEGIN, subject->kernel, strlen(subject->kernel)) & 0xfffffffffull);
	if (subject->file)
		return file_number(subject, NULL);
	return NUMBER(subject->kind, 0, subject->arch + 2);
}

uint64_t subject_number(const struct fs *fs, const struct subject *subject, const struct engine_stat *stat)
{
	return stat && stat->known ? file_number(subject, &stat->hash) : provisional_number(subject);
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

static size_t bucket_of(const struct subject *subject)
{
	uint64_t hash = mix(MIX_BEGIN, &subject->kind, sizeof(subject->kind));

	hash = mix(hash, &subject->arch, sizeof(subject->arch));
	hash = mix(hash, &subject->file, sizeof(subject->file));
	if (subject->kernel)
		hash = mix(hash, subject->kernel, strlen(subject->kernel));
	return (size_t)(hash ^ hash >> 32) % NODE_BUCKETS;
}

static bool same_subject(const struct subject *a, const struct subject *b)
{
	return a->kind == b->kind && a->arch == b->arch && a->file == b->file && (a->kernel != NULL) == (b->kernel != NULL) &&
	       (!a->kernel || strcmp(a->kernel, b->kernel) == 0);
}

/* Does the node serve what is known now? An unbound one can still become anything. */
static bool suits(const struct node *node, const struct engine_stat *stat)
{
	return !node->bound || (stat && stat->known && memcmp(&node->hash, &stat->hash, sizeof(node->hash)) == 0);
}

static struct node *find(struct fs *fs, size_t bucket, const struct subject *subject, const struct engine_stat *stat)
{
	struct node *unbound = NULL;

	for (struct node *node = fs->buckets[bucket]; node; node = node->next_in_bucket) {
		if (!same_subject(&node->subject, subject) || !suits(node, stat))
			continue;
		if (node->bound)
			return node;
		unbound = node;
	}
	return unbound;
}

static struct node *add(struct fs *fs, size_t bucket, const struct subject *subject)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->subject = *subject;
	if (subject->kernel && !(node->subject.kernel = strdup(subject->kernel))) {
		free(node);
		return NULL;
	}
	node->next_in_bucket = fs->buckets[bucket];
	fs->buckets[bucket] = node;
	fs->n_nodes++;
	return node;
}

struct node *node_look_up(struct fs *fs, const struct subject *subject, const struct engine_stat *stat)
{
	size_t bucket = bucket_of(subject);
	bool known = stat && stat->known;

	if (subject->kind == NODE_ROOT)
		return &fs->root;
	pthread_mutex_lock(&fs->lock);
	struct node *node = find(fs, bucket, subject, stat);
	if (!node) {
		node = add(fs, bucket, subject);
		if (node)
			node->told = known;	/* it is new: nobody else sees it yet */
	}
	if (node) {
		node->lookups++;
		if (known && !node->bound) {
			node->bound = true;
			node->hash = stat->hash;
			node->size = stat->size;
		}
	}
	pthread_mutex_unlock(&fs->lock);
	return node;
}

fuse_ino_t node_number_in_kernel(struct fs *fs, const struct subject *subject)
{
	fuse_ino_t ino = 0;

	if (subject->kind == NODE_ROOT)
		return FUSE_ROOT_ID;
	pthread_mutex_lock(&fs->lock);
	const struct node *node = find(fs, bucket_of(subject), subject, NULL);
	if (node && node->lookups)
		ino = ino_of(fs, node);
	pthread_mutex_unlock(&fs->lock);
	return ino;
}

/* With fs->lock held. */
static void drop_unused(struct fs *fs, struct node *node)
{
	if (node->lookups || node->references || node == &fs->root)
		return;
	struct node **at = &fs->buckets[bucket_of(&node->subject)];
	while (*at != node)
		at = &(*at)->next_in_bucket;
	*at = node->next_in_bucket;
	fs->n_nodes--;
	document_unref(node->document);
	free((char *)node->subject.kernel);
	free(node);
}

void node_forget(struct fs *fs, struct node *node, uint64_t lookups)
{
	pthread_mutex_lock(&fs->lock);
	if (node != &fs->root) {
		assert(node->lookups >= lookups);
		node->lookups -= lookups;
		drop_unused(fs, node);
	}
	pthread_mutex_unlock(&fs->lock);
}

void node_ref(struct fs *fs, struct node *node)
{
	pthread_mutex_lock(&fs->lock);
	node->references++;
	pthread_mutex_unlock(&fs->lock);
}

void node_unref(struct fs *fs, struct node *node)
{
	pthread_mutex_lock(&fs->lock);
	node->references--;
	drop_unused(fs, node);
	pthread_mutex_unlock(&fs->lock);
}

int node_bind(struct fs *fs, struct node *node, const struct cachedb_key *hash, uint64_t size)
{
	int r = 0;

	pthread_mutex_lock(&fs->lock);
	if (!node->bound) {
		node->bound = true;
		node->hash = *hash;
		node->size = size;
	} else if (memcmp(&node->hash, hash, sizeof(*hash)) != 0) {
		r = -ESTALE;
	}
	pthread_mutex_unlock(&fs->lock);
	return r;
}

/* ---- attributes ------------------------------------------------------------------------------------------------------- */

static void set_times(struct stat *stat, int64_t ns)
{
	struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	stat->st_atim = stat->st_mtim = stat->st_ctim = time;
}

double node_attributes(struct fs *fs, struct node *node, struct stat *ret_stat)
{
	const struct subject *subject = &node->subject;
	bool folder = kind_is_folder(subject->kind);
	uint64_t size = 0;
	struct stat stat = {
		.st_mode = folder ? S_IFDIR | 0555 : S_IFREG | 0444,
		.st_nlink = folder ? 2 : 1,
		.st_uid = fs->uid,
		.st_gid = fs->gid,
		.st_blksize = 4096,
	};

	pthread_mutex_lock(&fs->lock);
	bool bound = node->bound;
	if (bound)
		size = node->size;
	else if (node->document)
		size = node->document->bytes.size;
	stat.st_ino = bound ? file_number(subject, &node->hash) : provisional_number(subject);
	int64_t time = folder ? fs->changed_ns : fs->started_ns;
	pthread_mutex_unlock(&fs->lock);
	stat.st_size = (off_t)size;
	stat.st_blocks = (blkcnt_t)ceil_div(size, 512);
	set_times(&stat, kind_is_artifact(subject->kind) ? engine_file_time(subject->file) : time);
	*ret_stat = stat;
	return folder || bound ? FOR_EVER : 0;
}
