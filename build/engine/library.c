/* SPDX-License-Identifier: MIT */
#include "build/engine/library.h"

#include "build/engine/identity.h"
#include "build/engine/naming.h"
#include "base/clock.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>

#define SHARED_IDENTITY_NS 100000000ll	/* how long it is taken for current */

struct entry {
	struct library library;		/* what callers see; its address is the entry's */
	struct libraries *owner;
	const struct logic_base *base;
	enum library_content content;
	uint64_t bytes;			/* of YAML */
	unsigned references;
	bool loading;
	int failure;			/* the load failed: waiters leave, the last frees it */
	struct error error;
	struct entry *older;
};

struct identity {
	struct cachedb_key key;
	bool settled;
};

struct shared_identity {		/* of many files: all of a build, or the hand-written kernels */
	int64_t seen_ns;		/* monotonic; 0: never */
	struct identity identity;
};

struct libraries {
	const struct logic_catalog *catalog;
	const struct logic_base *build;	/* or NULL */
	const char *custom_kernels;	/* or NULL */
	const struct generator *generator;
	uint64_t kept;			/* bytes of YAML */
	struct namings *namings;	/* NULL with LOGIC_NAMES_STABLE */
	pthread_mutex_t lock;		/* protects all below, and every entry but its finished library */
	pthread_cond_t loaded;
	struct entry *newest;		/* by last use */
	struct shared_identity *build_identities;	/* one for each of catalog->wholes; with `build` only one */
	struct shared_identity custom_identity;
};

int libraries_new(const struct logic_catalog *catalog, const struct logic_base *build, enum logic_names names, const char *custom_kernels,
		  const struct generator *generator, struct cachedb *cache, uint64_t kept, struct libraries **ret_libraries)
{
	struct libraries *libraries = calloc(1, sizeof(*libraries));

	if (!libraries)
		return -ENOMEM;
	libraries->catalog = catalog;
	libraries->build = build;
	libraries->custom_kernels = custom_kernels;
	libraries->generator = generator;
	libraries->kept = kept;
	libraries->build_identities = calloc(catalog->n_archs + 1, sizeof(*libraries->build_identities));
	if (!libraries->build_identities || (names == LOGIC_NAMES_TENSILE && namings_new(cache, &libraries->namings) < 0)) {
		free(libraries->build_identities);
		free(libraries);
		return -ENOMEM;
	}
	pthread_mutex_init(&libraries->lock, NULL);
	pthread_cond_init(&libraries->loaded, NULL);
	*ret_libraries = libraries;
	return 0;
}

static void entry_free(struct entry *entry)
{
	logic_library_unref(entry->library.logic);
	free(entry);
}

struct libraries *libraries_unref(struct libraries *libraries)
{
	if (!libraries)
		return NULL;
	while (libraries->newest) {
		struct entry *entry = libraries->newest;
		libraries->newest = entry->older;
		entry_free(entry);
	}
	namings_unref(libraries->namings);
	pthread_cond_destroy(&libraries->loaded);
	pthread_mutex_destroy(&libraries->lock);
	free(libraries->build_identities);
	free(libraries);
	return NULL;
}

/* ---- the list --------------------------------------------------------------------------------------------------------- */

static void list_remove(struct libraries *libraries, struct entry *entry)
{
	struct entry **at = &libraries->newest;

	while (*at != entry)
		at = &(*at)->older;
	*at = entry->older;
}

static void list_add(struct libraries *libraries, struct entry *entry)
{
	entry->older = libraries->newest;
	libraries->newest = entry;
}

/* Frees what nobody holds, beyond the limit. What is held counts too: it is memory all the same. */
static void list_trim(struct libraries *libraries)
{
	uint64_t bytes = 0;

	for (struct entry **at = &libraries->newest; *at;) {
		struct entry *entry = *at;
		bytes += entry->bytes;
		if (bytes > libraries->kept && entry->references == 0) {
			bytes -= entry->bytes;
			*at = entry->older;
			entry_free(entry);
		} else {
			at = &entry->older;
		}
	}
}

static struct entry *list_find(struct libraries *libraries, const struct logic_base *base, enum library_content content,
			       const struct cachedb_key *identity)
{
	for (struct entry *entry = libraries->newest; entry; entry = entry->older)
		if (entry->base == base && entry->content == content && key_equal(&entry->library.identity, identity) && !entry->failure)
			return entry;
	return NULL;
}

/* ---- loading ---------------------------------------------------------------------------------------------------------- */

/* The whole that a base is named in. */
static const struct logic_base *build_of(const struct libraries *libraries, const struct logic_base *base)
{
	return libraries->build ? libraries->build : logic_whole(libraries->catalog, base->arch);
}

static int load(struct entry *entry, struct error *error)
{
	struct libraries *libraries = entry->owner;
	struct logic_options options = { .custom_kernels = libraries->custom_kernels };

	if (entry->content == LIBRARY_GENERATED) {
		int r = libraries->generator->choose(libraries->generator, entry->base, &options, error);
		if (r < 0)
			return r;
	}
	if (libraries->namings) {
		const struct logic_base *build = build_of(libraries, entry->base);
		int r = namings_get(libraries->namings, build, &entry->library.identity, &options.naming, error);
		if (r < 0)
			return r;
		options.names = LOGIC_NAMES_TENSILE;
	}
	return logic_load(libraries->catalog, entry->base, &options, &entry->library.logic, error);
}

/* With the lock held; gives it away while the files are parsed. */
static int load_new(struct libraries *libraries, const struct logic_base *base, enum library_content content,
		    const struct cachedb_key *identity, struct entry **ret_entry, struct error *error)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	*entry = (struct entry){ .owner = libraries, .base = base, .content = content, .references = 1, .loading = true };
	entry->library.identity = *identity;
	for (size_t i = 0; i < base->n_files; i++)
		entry->bytes += base->files[i]->size;
	list_add(libraries, entry);
	pthread_mutex_unlock(&libraries->lock);
	struct error failure = { 0 };
	int r = load(entry, &failure);
	pthread_mutex_lock(&libraries->lock);
	entry->loading = false;
	if (r < 0) {
		entry->failure = r;
		entry->error = failure;
		error_set(error, r, "%s", error_text(&failure, r));
	}
	pthread_cond_broadcast(&libraries->loaded);
	*ret_entry = entry;
	return r;
}

static void release(struct entry *entry)
{
	if (--entry->references == 0 && entry->failure) {
		list_remove(entry->owner, entry);
		entry_free(entry);
	}
}

int libraries_get(struct libraries *libraries, const struct logic_base *base, enum library_content content, struct library **ret_library,
		  struct error *error)
{
	struct cachedb_key identity;
	bool settled;

	if (base->fault)
		return error_set(error, -EINVAL, "%s", base->fault);
	int r = libraries_identity(libraries, base, &identity, &settled);
	if (r < 0)
		return r;
	pthread_mutex_lock(&libraries->lock);
	struct entry *entry = list_find(libraries, base, content, &identity);
	if (entry) {
		entry->references++;
		while (entry->loading)
			pthread_cond_wait(&libraries->loaded, &libraries->lock);
		r = entry->failure;
		if (r < 0)
			error_set(error, r, "%s", error_text(&entry->error, r));
		list_remove(libraries, entry);
		list_add(libraries, entry);
	} else {
		r = load_new(libraries, base, content, &identity, &entry, error);
	}
	if (r < 0 && entry)
		release(entry);
	list_trim(libraries);
	pthread_mutex_unlock(&libraries->lock);
	if (r == 0)
		*ret_library = &entry->library;
	return r;
}

struct library *library_unref(struct library *library)
{
	struct entry *entry = (struct entry *)library;	/* its first member */

	if (!entry)
		return NULL;
	struct libraries *libraries = entry->owner;
	pthread_mutex_lock(&libraries->lock);
	release(entry);
	list_trim(libraries);
	pthread_mutex_unlock(&libraries->lock);
	return NULL;
}

/* ---- identity --------------------------------------------------------------------------------------------------------- */

static int digest_base(const struct logic_base *base, struct identity *ret_identity)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct identity identity = { .settled = true };

	digest_init(&digest, "tensilefs logic identity");
	for (size_t i = 0; i < base->n_files; i++)
		digest_file_identity(&digest, base->files[i]->path, &identity.settled);
	int r = digest_finish(&digest, &identity.key);
	if (r == 0)
		*ret_identity = identity;
	return r;
}

/* Sources of hand-written kernels, in whatever order the folder has them: their digests are added up. */
static int digest_custom(const char *folder, struct identity *ret_identity)
{
	DIR *entries = opendir(folder);
	struct identity sum = { .settled = true };
	int r = 0;

	for (struct dirent *entry; r == 0 && entries && (entry = readdir(entries));) {
		_cleanup_(digest_release) struct digest digest = { 0 };
		struct cachedb_key key;
		char path[PATH_MAX];
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path) || entry->d_name[0] == '.')
			continue;
		digest_init(&digest, "tensilefs hand-written kernel");
		digest_string(&digest, entry->d_name);
		digest_file_identity(&digest, path, &sum.settled);
		r = digest_finish(&digest, &key);
		for (size_t i = 0; r == 0 && i < sizeof(key.bytes); i++)
			sum.key.bytes[i] = (uint8_t)(sum.key.bytes[i] + key.bytes[i]);
	}
	if (entries)
		closedir(entries);
	if (r == 0)
		*ret_identity = sum;
	return r;
}

/* Looks again after a while; with the lock held. `build` NULL: the hand-written kernels. */
static int refresh(struct libraries *libraries, const struct logic_base *build, struct shared_identity *kept)
{
	int64_t now = now_ns();

	if (kept->seen_ns && now - kept->seen_ns <= SHARED_IDENTITY_NS)
		return 0;
	int r = build ? digest_base(build, &kept->identity) : digest_custom(libraries->custom_kernels, &kept->identity);
	kept->seen_ns = r == 0 ? now : 0;
	return r;
}

static int refresh_build(struct libraries *libraries, const struct logic_base *base, struct identity *ret_identity)
{
	const struct logic_base *build = build_of(libraries, base);
	struct shared_identity *kept = &libraries->build_identities[libraries->build ? 0 : build - libraries->catalog->wholes];

	int r = refresh(libraries, build, kept);
	if (r == 0)
		*ret_identity = kept->identity;
	return r;
}

static int join(const struct identity *logic, const struct identity *custom, struct identity *ret_identity)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	struct identity joined = { .settled = logic->settled && custom->settled };

	digest_init(&digest, "tensilefs logic identity with hand-written kernels");
	digest_bytes(&digest, logic->key.bytes, sizeof(logic->key.bytes));
	digest_bytes(&digest, custom->key.bytes, sizeof(custom->key.bytes));
	int r = digest_finish(&digest, &joined.key);
	if (r == 0)
		*ret_identity = joined;
	return r;
}

int libraries_identity(struct libraries *libraries, const struct logic_base *base, struct cachedb_key *ret_identity, bool *ret_settled)
{
	struct identity identity, custom;
	bool shared = libraries->namings || base->whole;
	int r = shared ? 0 : digest_base(base, &identity);

	if (r < 0)
		return r;
	pthread_mutex_lock(&libraries->lock);
	if (shared)
		r = refresh_build(libraries, base, &identity);
	if (r == 0 && libraries->custom_kernels) {
		r = refresh(libraries, NULL, &libraries->custom_identity);
		custom = libraries->custom_identity.identity;
	}
	pthread_mutex_unlock(&libraries->lock);
	if (r == 0 && libraries->custom_kernels)
		r = join(&identity, &custom, &identity);
	if (r < 0)
		return r;
	*ret_identity = identity.key;
	*ret_settled = identity.settled;
	return 0;
}

/* ---- the mapping ------------------------------------------------------------------------------------------------------ */

int libraries_write_mapping(struct libraries *libraries, const char *arch, struct buffer *ret_dat, struct error *error)
{
	const struct logic_base *whole = logic_whole(libraries->catalog, arch);
	const struct logic_naming *naming = NULL;
	struct cachedb_key identity;
	bool settled;

	if (libraries->namings && whole) {
		int r = libraries_identity(libraries, whole, &identity, &settled);
		if (r == 0)
			r = namings_get(libraries->namings, build_of(libraries, whole), &identity, &naming, error);
		if (r < 0)
			return r;
	}
	return logic_write_mapping(libraries->catalog, arch, naming, ret_dat);
}
