/* SPDX-License-Identifier: MIT */
#include "fs/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

static void end_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void fs_block_signals(void)
{
	sigset_t set;

	end_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

int fs_new(struct engine *engine, const struct fs_options *options, struct fs **ret_fs, struct error *error)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	struct timespec now;

	if (!fs)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	*fs = (struct fs){
		.engine = engine,
		.options = *options,
		.uid = geteuid(),
		.gid = getegid(),
		.started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
		.changed_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
		.root.subject.kind = NODE_ROOT,
		.root.lookups = 1,
	};
	pthread_mutex_init(&fs->lock, NULL);
	pthread_mutex_init(&fs->store_lock, NULL);
	pthread_mutex_init(&fs->ahead_lock, NULL);
	pthread_cond_init(&fs->watch, NULL);
	engine_prepare(engine);
	*ret_fs = fs;
	return 0;
}

/* The kernel does not forget nodes one by one when a mount ends. */
static void free_nodes(struct fs *fs)
{
	for (size_t i = 0; i < NODE_BUCKETS; i++) {
		while (fs->buckets[i]) {
			struct node *node = fs->buckets[i];
			fs->buckets[i] = node->next_in_bucket;
			document_unref(node->document);
			free((char *)node->subject.kernel);
			free(node);
		}
	}
}

/* libfuse unmounts by path when the kernel has not ended the connection; after our own lazy unmount the path may be another's. */
static bool connection_has_ended(struct fs *fs)
{
	struct pollfd poll_fd = { .fd = fuse_session_fd(fs->session) };

	return poll_fd.fd >= 0 && poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLERR;
}

struct fs *fs_unref(struct fs *fs)
{
	if (!fs)
		return NULL;
	if (fs->session) {
		if (connection_has_ended(fs))
			fuse_session_unmount(fs->session);
		fuse_session_destroy(fs->session);
	}
	while (fs->handles)
		handle_close(fs, fs->handles);
	free_nodes(fs);
	pthread_cond_destroy(&fs->watch);
	pthread_mutex_destroy(&fs->ahead_lock);
	pthread_mutex_destroy(&fs->store_lock);
	pthread_mutex_destroy(&fs->lock);
	free(fs->mountpoint);
	free(fs);
	return NULL;
}

/* ---- unmounting ------------------------------------------------------------------------------------------------------- */

/* Lazily: the name is gone at once, open files live on; else only a mount that nobody uses. Normal users need the setuid helper for it. */
static int unmount(const char *mountpoint, bool lazily)
{
	const char *const argv[] = { "fusermount3", "-u", lazily ? "-qz" : "-q", "--", mountpoint, NULL };
	int status;
	pid_t pid;

	if (umount2(mountpoint, (lazily ? MNT_DETACH : 0) | UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EPERM)
		return -errno;
	int r = -posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status == 0 ? 0 : -EPERM;
}

/* ---- mounting --------------------------------------------------------------------------------------------------------- */

static bool is_empty(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	bool empty = true;

	if (!folder)
		return true;		/* mounting will say what is wrong */
	while (empty && (entry = readdir(folder)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(folder);
	return empty;
}

static bool is_mounted(const char *path)
{
	char parent[PATH_MAX];
	struct stat here, above;

	if ((size_t)snprintf(parent, sizeof(parent), "%s/..", path) >= sizeof(parent))
		return false;
	return stat(path, &here) == 0 && stat(parent, &above) == 0 && here.st_dev != above.st_dev;
}

/* A connection that was aborted leaves its mount behind, as a killed daemon does. statfs() always asks the daemon, where stat() would
 * take attributes that the kernel still has. */
static int remove_dead_mount(const char *mountpoint)
{
	struct statfs buffer;

	return statfs(mountpoint, &buffer) < 0 && errno == ENOTCONN ? unmount(mountpoint, true) : 0;
}

/* A folder, after a dead mount on it is gone; its absolute name, malloc memory. */
static int find_mountpoint(const char *mountpoint, char **ret_path, struct error *error)
{
	struct stat st;

	int r = remove_dead_mount(mountpoint);
	if (r < 0)
		return error_set(error, r, "'%s' is a dead mount that cannot be removed: %s", mountpoint, strerror(-r));
	if (stat(mountpoint, &st) < 0)
		return error_set(error, -errno, "cannot mount on '%s': %s", mountpoint, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return error_set(error, -ENOTDIR, "cannot mount on '%s': it is not a folder", mountpoint);
	char *path = realpath(mountpoint, NULL);
	if (!path)
		return error_set(error, -errno, "cannot mount on '%s': %s", mountpoint, strerror(errno));
	*ret_path = path;
	return 0;
}

static int check_empty(struct fs *fs, const char *mountpoint, struct error *error)
{
	if (fs->options.nonempty || is_empty(mountpoint))
		return 0;
	if (is_mounted(mountpoint))
		return error_set(error, -EBUSY, "something is mounted on '%s' already", mountpoint);
	return error_set(error, -ENOTEMPTY, "'%s' is not empty: what it holds would be hidden (-o nonempty mounts anyway)", mountpoint);
}

struct inside {
	const char *mountpoint;
	struct error *error;
};

/* What a build reads or runs must not lie inside the mount: the build would wait for itself. */
static int check_outside(void *userdata, const char *what, const char *path)
{
	const struct inside *inside = userdata;
	_cleanup_free_ char *real = realpath(path, NULL);
	size_t length = strlen(inside->mountpoint);

	if (!real || strncmp(real, inside->mountpoint, length) != 0 || (real[length] && real[length] != '/'))
		return 0;
	return error_set(inside->error, -ELOOP, "%s '%s' lies inside the mountpoint '%s'", what, path, inside->mountpoint);
}

int fs_mount(struct fs *fs, const char *mountpoint, struct fuse_args *args, struct error *error)
{
	int r = find_mountpoint(mountpoint, &fs->mountpoint, error);
	if (r == 0)
		r = engine_foreach_path(fs->engine, check_outside, &(struct inside){ fs->mountpoint, error });
	if (r == 0)		/* last: a cache that was just made inside of it is what matters then */
		r = check_empty(fs, mountpoint, error);
	if (r < 0)
		return r;
	fs->session = fuse_session_new(args, &fs_operations, sizeof(fs_operations), fs);
	if (!fs->session)
		return error_set(error, -EINVAL, "libfuse does not take the mount options");
	if (fuse_session_mount(fs->session, fs->mountpoint) != 0)
		return error_set(error, -EIO, "cannot mount on '%s': /dev/fuse or fusermount3 refused", mountpoint);
	return 0;
}

/* ---- serving ---------------------------------------------------------------------------------------------------------- */

static void wake_up(int number)
{
}

struct idleness {
	uint64_t requests;		/* as of the last look */
	unsigned seconds;		/* since when they have not grown */
};

/* To be called once a second. Unmounting fails while somebody is in the mount, or has come since. */
static void unmount_when_idle(struct fs *fs, struct idleness *idle)
{
	uint64_t requests = __atomic_load_n(&fs->n_requests, __ATOMIC_RELAXED);

	pthread_mutex_lock(&fs->lock);
	bool used = fs->n_handles || fs->n_waiters || requests != idle->requests;
	pthread_mutex_unlock(&fs->lock);
	idle->seconds = used ? 0 : idle->seconds + 1;
	idle->requests = requests;
	if (idle->seconds >= fs->options.idle_timeout && unmount(fs->mountpoint, false) < 0)
		idle->seconds = 0;
}

/* A signal of `set`; 0 after a second without one, where idleness counts. */
static int next_signal(const struct fs *fs, const sigset_t *set)
{
	const struct timespec second = { .tv_sec = 1 };
	int number = 0;

	if (fs->options.idle_timeout == 0)
		sigwait(set, &number);
	else
		number = sigtimedwait(set, NULL, &second);
	return number < 0 ? 0 : number;
}

/* The first signal unmounts: the session ends by itself with the last open file. The second ends the session. */
static void *wait_for_signals(void *userdata)
{
	struct fs *fs = userdata;
	struct idleness idle = { 0 };
	sigset_t set;

	end_signals(&set);
	sigaddset(&set, SIGUSR1);	/* fs_serve() is done */
	for (;;) {
		int number = next_signal(fs, &set);
		if (number == SIGUSR1)
			return NULL;
		if (number == 0) {
			if (fs->options.idle_timeout)
				unmount_when_idle(fs, &idle);
			continue;
		}
		pthread_mutex_lock(&fs->lock);
		unsigned before = fs->signals++;
		pthread_mutex_unlock(&fs->lock);
		if (before == 0 && unmount(fs->mountpoint, true) == 0)
			continue;
		fuse_session_exit(fs->session);
		pthread_kill(fs->serving, SIGUSR2);	/* out of the wait inside libfuse's loop */
	}
}

static int start_threads(struct fs *fs, pthread_t *ret_signals, pthread_t *ret_watch)
{
	struct sigaction action = { .sa_handler = wake_up };
	sigset_t usr1;

	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR2, &action, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	fs->serving = pthread_self();
	int r = -pthread_create(ret_signals, NULL, wait_for_signals, fs);
	if (r < 0)
		return r;
	pthread_setname_np(*ret_signals, "tfs-signals");
	r = -pthread_create(ret_watch, NULL, watch_interrupted, fs);
	if (r < 0) {
		pthread_kill(*ret_signals, SIGUSR1);
		pthread_join(*ret_signals, NULL);
		return r;
	}
	pthread_setname_np(*ret_watch, "tfs-watch");
	return 0;
}

static void stop_threads(struct fs *fs, pthread_t signals, pthread_t watch)
{
	pthread_kill(signals, SIGUSR1);
	pthread_join(signals, NULL);
	pthread_mutex_lock(&fs->lock);
	fs->ending = true;
	pthread_cond_signal(&fs->watch);
	pthread_mutex_unlock(&fs->lock);
	pthread_join(watch, NULL);
}

int fs_serve(struct fs *fs, struct error *error)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	pthread_t signals, watch;

	if (!config)
		return -ENOMEM;
	int r = start_threads(fs, &signals, &watch);
	if (r == 0) {
		struct error unwatched = { 0 };
		if (engine_watch(fs->engine, reload_changed, fs, &unwatched) < 0 && fs->options.warn)
			fs->options.warn(unwatched.text);
		r = fuse_session_loop_mt(fs->session, config);
		stop_threads(fs, signals, watch);
	}
	fuse_loop_cfg_destroy(config);
	remove_dead_mount(fs->mountpoint);
	if (r < 0)
		return error_set(error, r, "serving '%s' failed: %s", fs->mountpoint, strerror(-r));
	return 0;
}
