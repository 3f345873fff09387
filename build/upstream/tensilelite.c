/* SPDX-License-Identifier: MIT */
#include "build/upstream/tensilelite.h"

#include "base/clock.h"

#include <fts.h>
#include <sys/stat.h>

/*
 * A file that was written a moment ago may be written again without another time or size: the clock that stamps files goes in
 * steps. What was read of such files is not relied on.
 */
#define SETTLED_NS (INT64_C(1000000000))

struct tensilelite {
	char *folder, *package;		/* FOLDER, FOLDER/Tensile */
	bool known, settled;
	struct cachedb_key stamp;	/* of names, sizes and times */
	char digest[KEY_TEXT_SIZE];
};

int tensilelite_new(const char *folder, struct tensilelite **ret_tensilelite, struct error *error)
{
	_cleanup_free_ char *absolute = realpath(folder, NULL), *package = NULL, *file = NULL;

	if (!absolute)
		return error_set(error, -errno, "cannot open '%s': %s", folder, strerror(errno));
	if (asprintf(&package, "%s/Tensile", absolute) < 0 || asprintf(&file, "%s/__init__.py", package) < 0)
		return -ENOMEM;
	if (access(file, R_OK) < 0)
		return error_set(error, -errno, "'%s' is no TensileLite: cannot read '%s': %s", folder, file, strerror(errno));
	struct tensilelite *tensilelite = calloc(1, sizeof(*tensilelite));
	if (!tensilelite)
		return -ENOMEM;
	tensilelite->folder = TAKE(absolute);
	tensilelite->package = TAKE(package);
	*ret_tensilelite = tensilelite;
	return 0;
}

struct tensilelite *tensilelite_unref(struct tensilelite *tensilelite)
{
	if (tensilelite) {
		free(tensilelite->folder);
		free(tensilelite->package);
		free(tensilelite);
	}
	return NULL;
}

const char *tensilelite_folder(const struct tensilelite *tensilelite)
{
	return tensilelite->folder;
}

/* ---- walking ---------------------------------------------------------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), n = strlen(suffix);

	return length > n && strcmp(name + length - n, suffix) == 0;
}

static bool matters(const char *name)
{
	return has_suffix(name, ".py") || has_suffix(name, ".s") || has_suffix(name, ".h");
}

/* The C++ library of the host, its tests and tools, and what python makes. */
static bool is_elsewhere(const FTSENT *entry)
{
	static const char *const names[] = { "__pycache__", "Tests", "lib", "client", "cmake", "bin" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(entry->fts_name, names[i]) == 0)
			return true;
	return entry->fts_name[0] == '.';
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Calls `visit` for every file that matters, in an order of names. */
typedef int (*visitor)(void *userdata, const FTSENT *entry, const char *relative);

static int walk(const struct tensilelite *tensilelite, visitor visit, void *userdata, struct error *error)
{
	char *const roots[] = { tensilelite->package, NULL };
	FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	size_t skipped = strlen(tensilelite->package) + 1;
	FTSENT *entry;
	int r = 0;

	if (!fts)
		return -errno;
	while (r == 0 && (entry = fts_read(fts))) {
		if (entry->fts_info == FTS_D && entry->fts_level > 0 && is_elsewhere(entry))
			fts_set(fts, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || (entry->fts_info == FTS_NS && matters(entry->fts_name)))
			r = error_set(error, -entry->fts_errno, "cannot read '%s': %s", entry->fts_path, strerror(entry->fts_errno));
		else if (entry->fts_info == FTS_F && matters(entry->fts_name))
			r = visit(userdata, entry, entry->fts_path + skipped);
	}
	fts_close(fts);
	return r;
}

/* ---- looking ---------------------------------------------------------------------------------------------------------- */

struct looking {
	struct digest digest;
	int64_t newest_ns;
};

static int look_at(void *userdata, const FTSENT *entry, const char *relative)
{
	struct looking *looking = userdata;

	digest_string(&looking->digest, relative);
	digest_stat(&looking->digest, entry->fts_statp);
	looking->newest_ns = MAX(looking->newest_ns, timespec_ns(&entry->fts_statp->st_ctim));
	return 0;
}

static int look(const struct tensilelite *tensilelite, struct cachedb_key *ret_stamp, bool *ret_settled, struct error *error)
{
	struct looking looking = { 0 };

	digest_init(&looking.digest, "tensilelite files");
	int r = walk(tensilelite, look_at, &looking, error);
	if (r == 0)
		r = digest_finish(&looking.digest, ret_stamp);
	digest_release(&looking.digest);
	*ret_settled = wall_ns() - looking.newest_ns > SETTLED_NS;
	return r;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

struct reading {
	struct digest digest;
	struct error *error;
};

static int read_file(void *userdata, const FTSENT *entry, const char *relative)
{
	struct reading *reading = userdata;

	digest_string(&reading->digest, relative);
	return digest_file(&reading->digest, entry->fts_path, reading->error);
}

static int read_all(struct tensilelite *tensilelite, struct error *error)
{
	struct reading reading = { .error = error };
	struct cachedb_key key;

	digest_init(&reading.digest, "tensilelite");
	int r = walk(tensilelite, read_file, &reading, error);
	if (r == 0)
		r = digest_finish(&reading.digest, &key);
	digest_release(&reading.digest);
	if (r == 0)
		key_to_text(&key, tensilelite->digest);
	return r;
}

int tensilelite_identify(struct tensilelite *tensilelite, char ret_digest[static KEY_TEXT_SIZE], struct error *error)
{
	struct cachedb_key before, after = { 0 };
	bool settled;

	int r = look(tensilelite, &before, &settled, error);
	if (r < 0)
		return r;
	bool same = tensilelite->known && tensilelite->settled && key_equal(&before, &tensilelite->stamp);
	for (unsigned tries = 0; !same; tries++) {
		r = tries < 5 ? read_all(tensilelite, error) :
				error_set(error, -EAGAIN, "'%s' changes while it is read", tensilelite->package);
		if (r == 0)
			r = look(tensilelite, &after, &settled, error);
		if (r < 0) {
			tensilelite->known = false;
			return r;
		}
		same = key_equal(&before, &after);
		before = after;
		tensilelite->known = true;
		tensilelite->settled = settled;
		tensilelite->stamp = after;
	}
	memcpy(ret_digest, tensilelite->digest, KEY_TEXT_SIZE);
	return 0;
}
