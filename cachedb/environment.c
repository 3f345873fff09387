/* SPDX-License-Identifier: MIT */
#include "cachedb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FIRST_MAP_SIZE ((size_t)16 << 20)
#define MAX_READERS 1024
#define FREE_TABLE 0		/* LMDB's own: transaction -> number and list of the pages that it freed; see mdb_stat(1) -f */
#define LOCK_FILE_BYTES ((MAX_READERS + 2) * 64)	/* a slot is a cache line; so is each half of the head */
#define N_TABLES 3

bool environment_is_damaged(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND;
}

int environment_count_free(MDB_txn *txn, size_t first, uint64_t *ret_pages)
{
	uint64_t pages = 0;
	MDB_val name, value;
	MDB_cursor *cursor;
	size_t n, page;
	int rc = mdb_cursor_open(txn, FREE_TABLE, &cursor);

	if (rc)
		return rc;
	while (!(rc = mdb_cursor_get(cursor, &name, &value, MDB_NEXT))) {
		memcpy(&n, value.mv_data, sizeof(n));
		for (size_t i = 1; i <= MIN(n, value.mv_size / sizeof(n) - 1); i++) {
			memcpy(&page, (const uint8_t *)value.mv_data + i * sizeof(page), sizeof(page));
			pages += page >= first;
		}
	}
	mdb_cursor_close(cursor);
	*ret_pages = pages;
	return rc == MDB_NOTFOUND ? 0 : rc;
}

/* Beside the transaction of a writer. */
static int count_free(MDB_env *env, size_t first, uint64_t *ret_pages)
{
	MDB_txn *txn;
	int rc = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);

	if (rc)
		return rc;
	rc = environment_count_free(txn, first, ret_pages);
	mdb_txn_abort(txn);
	return rc;
}

/*
 * A file that ends before a page that is used would kill us with SIGBUS at the first touch of what is missing. LMDB does not write pages
 * that a transaction took and gave back (mdb_page_flush: P_LOOSE), so that the last ones may be missing and nothing is lost: these
 * are in the list of free pages. With the write lock, so that nobody else makes the file longer; a reader alone cannot, and
 * has to take it for damaged.
 */
static int check_length(MDB_env *env, bool read_only)
{
	MDB_envinfo info;
	MDB_stat stat;
	struct stat st;
	uint64_t n;
	int fd, rc = mdb_env_get_fd(env, &fd);

	if (!rc)
		rc = mdb_env_info(env, &info);
	if (!rc)
		rc = mdb_env_stat(env, &stat);
	if (rc)
		return rc;
	if (fstat(fd, &st) < 0)
		return errno;
	size_t pages = (size_t)st.st_size / stat.ms_psize, needed = info.me_last_pgno + 1;
	if (pages >= needed)
		return 0;
	if (read_only)
		return MDB_CORRUPTED;
	if (ftruncate(fd, (off_t)(needed * stat.ms_psize)) < 0)
		return errno;
	rc = count_free(env, pages, &n);
	if (rc || n != needed - pages) {
		if (ftruncate(fd, st.st_size) < 0)
			return errno;
		return rc ? rc : MDB_CORRUPTED;
	}
	return 0;
}

static int open_tables(MDB_env *env, bool read_only, struct store_tables *ret_tables)
{
	unsigned flags = read_only ? 0 : MDB_CREATE;
	struct store_tables tables;
	MDB_txn *txn;
	int rc = mdb_txn_begin(env, NULL, read_only ? MDB_RDONLY : 0, &txn);

	if (rc)
		return rc;
	rc = check_length(env, read_only);
	if (!rc)
		rc = mdb_dbi_open(txn, "state", flags, &tables.state);
	if (!rc)
		rc = mdb_dbi_open(txn, "index", flags, &tables.index);
	if (!rc)
		rc = mdb_dbi_open(txn, "values", flags, &tables.values);
	if (rc) {
		mdb_txn_abort(txn);
		return rc;
	}
	rc = mdb_txn_commit(txn);
	if (!rc)
		*ret_tables = tables;
	return rc;
}

/*
 * LMDB maps its lock file, makes it as long as MAX_READERS asks for, and writes to it in memory: on a full disk that is a SIGBUS.
 * So the blocks are had before. The size is left to LMDB, which takes the number of reader slots from it. Not while this process
 * has the database open: closing the file here would drop LMDB's locks.
 */
static int reserve_lock_file(const struct directory *directory)
{
	_cleanup_close_ int fd = openat(directory->fd, "lock.mdb", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return errno;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOCK_FILE_BYTES) < 0 && errno != EOPNOTSUPP && errno != ENOSYS)
		return errno;
	return 0;
}

/*
 * NOTLS: a thread may come and go, its reader slot is that of its transaction. NOMETASYNC: one fsync a commit instead of two; a
 * power failure may lose the last commit but not the database. Never WRITEMAP: a full disk would be a SIGBUS.
 */
int environment_open(const struct directory *directory, bool read_only, MDB_env **ret_env, struct store_tables *ret_tables)
{
	char path[64];
	MDB_env *env;
	int fd, rc = mdb_env_create(&env);

	if (rc)
		return rc;
	/* By descriptor: whatever happens to the name, this is the directory that was checked. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", directory->fd);
	rc = mdb_env_set_mapsize(env, FIRST_MAP_SIZE);
	if (!rc)
		rc = mdb_env_set_maxdbs(env, N_TABLES);
	if (!rc)
		rc = mdb_env_set_maxreaders(env, MAX_READERS);
	if (!rc && !read_only)
		rc = reserve_lock_file(directory);
	if (!rc)
		rc = mdb_env_open(env, path, MDB_NOTLS | MDB_NOMETASYNC | (read_only ? MDB_RDONLY : 0), 0600);
	if (!rc)
		rc = mdb_reader_check(env, NULL);
	if (!rc)
		rc = mdb_env_get_fd(env, &fd);
	if (!rc && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		rc = errno;
	if (!rc)
		rc = open_tables(env, read_only, ret_tables);
	if (rc) {
		mdb_env_close(env);
		return rc;
	}
	*ret_env = env;
	return 0;
}
