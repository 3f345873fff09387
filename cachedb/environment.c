/* SPDX-License-Identifier: MIT */
#include "cachedb/environment.h"

#include <fcntl.h>
#include <sys/stat.h>

#define FIRST_MAP_SIZE ((size_t)16 << 20)
#define MAX_READERS 1024
#define LOCK_FILE_BYTES ((MAX_READERS + 2) * 64)	/* a slot is a cache line; so is each half of the head */
#define N_TABLES 3

bool environment_is_damaged(int rc)
{
	return rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_PAGE_NOTFOUND;
}

/* A file that ends before its last page would kill us with SIGBUS at the first touch of what is missing. */
static int check_length(MDB_env *env)
{
	MDB_envinfo info;
	MDB_stat stat;
	struct stat st;
	int fd, rc = mdb_env_get_fd(env, &fd);

	if (!rc)
		rc = mdb_env_info(env, &info);
	if (!rc)
		rc = mdb_env_stat(env, &stat);
	if (rc)
		return rc;
	if (fstat(fd, &st) < 0)
		return errno;
	return (uint64_t)st.st_size < (info.me_last_pgno + 1) * (uint64_t)stat.ms_psize ? MDB_CORRUPTED : 0;
}

static int open_tables(MDB_env *env, bool read_only, struct store_tables *ret_tables)
{
	unsigned flags = read_only ? 0 : MDB_CREATE;
	struct store_tables tables;
	MDB_txn *txn;
	int rc = mdb_txn_begin(env, NULL, read_only ? MDB_RDONLY : 0, &txn);

	if (rc)
		return rc;
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
		rc = check_length(env);
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
