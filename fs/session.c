/* SPDX-License-Identifier: MIT */
#include "fs/internal.h"
#include "fs/mountpoint.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/major.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define FUSE_MINOR 229		/* of MISC_MAJOR: Linux Documentation/admin-guide/devices.txt */

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
	int64_t now = wall_ns();

	if (!fs)
		return -ENOMEM;
	*fs = (struct fs){
		.engine = engine,
		.options = *options,
		.uid = geteuid(),
		.gid = getegid(),
		.started_ns = now,
		.changed_ns = now,
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

/* ---- mounting --------------------------------------------------------------------------------------------------------- */

struct inside {
	const char *mountpoint;
	struct error *error;
};

/* What a build reads or runs must not lie inside the mount: the build would wait for itself. */
static int check_outside(void *userdata, const char *what, const char *path, bool walked)
{
	const struct inside *inside = userdata;

	if (mountpoint_hides(inside->mountpoint, path))
		return error_set(inside->error, -ELOOP, "%s '%s' lies inside the mountpoint '%s'", what, path, inside->mountpoint);
	if (walked && mountpoint_is_below(inside->mountpoint, path))
		return error_set(inside->error, -ELOOP, "the mountpoint '%s' lies inside %s '%s'", inside->mountpoint, what, path);
	return 0;
}

static int prepare_mountpoint(struct fs *fs, const char *mountpoint, struct error *error)
{
	int r = mountpoint_find(mountpoint, &fs->mountpoint, error);
	if (r == 0)
		r = engine_foreach_path(fs->engine, check_outside, &(struct inside){ fs->mountpoint, error });
	if (r == 0 && !fs->options.nonempty)	/* last: a cache that was just made inside of it is what matters then */
		r = mountpoint_check_empty(mountpoint, error);
	return r;
}

/* "/dev/fd/N", as in mount.fuse3(8): who started us has mounted already. Our children must not keep the mount alive. */
static bool is_mounted_already(const char *mountpoint, int *ret_fd)
{
	char end;

	return sscanf(mountpoint, "/dev/fd/%d%c", ret_fd, &end) == 1;
}

static int check_mounted(const char *mountpoint, int fd, struct error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != makedev(MISC_MAJOR, FUSE_MINOR))
		return error_set(error, -EBADF, "'%s' is not /dev/fuse", mountpoint);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* What libfuse says while it is listened to, as its log takes no pointer of ours. */
static _Thread_local struct buffer *heard;

static void hear(enum fuse_log_level level, const char *format, va_list arguments)
{
	char text[256];

	vsnprintf(text, sizeof(text), format, arguments);
	if (heard)			/* else it is another thread's */
		buffer_append_string(heard, text);
}

/* "fuse: unknown option(s): `-o frob'\n" becomes the reason of one message. */
static const char *reason_of(struct buffer *words, const char *otherwise)
{
	buffer_append(words, "", 1);
	if (words->failed || !words->data[0])
		return otherwise;
	char *text = (char *)words->data;
	text[strcspn(text, "\n")] = 0;
	return strncmp(text, "fuse: ", 6) == 0 ? text + 6 : text;
}

/* Says in one message of ours what libfuse would say in one of its own. */
static int open_session(struct fs *fs, const char *mountpoint, struct fuse_args *args, struct error *error)
{
	_cleanup_buffer_ struct buffer words = { 0 };
	int r = 0;

	heard = &words;
	fuse_set_log_func(hear);
	fs->session = fuse_session_new(args, &fs_operations, sizeof(fs_operations), fs);
	if (!fs->session)
		r = error_set(error, -EINVAL, "mount options: %s", reason_of(&words, "libfuse does not take them"));
	else if (fuse_session_mount(fs->session, mountpoint) != 0)
		r = error_set(error, -EIO, "cannot mount on '%s': %s", mountpoint, reason_of(&words, "/dev/fuse or fusermount3 refused"));
	fuse_set_log_func(NULL);
	heard = NULL;
	return r;
}

int fs_mount(struct fs *fs, const char *mountpoint, struct fuse_args *args, struct error *error)
{
	int fd;
	bool mounted = is_mounted_already(mountpoint, &fd);

	int r = mounted ? check_mounted(mountpoint, fd, error) : prepare_mountpoint(fs, mountpoint, error);
	return r < 0 ? r : open_session(fs, mounted ? mountpoint : fs->mountpoint, args, error);
}

/* ---- serving ---------------------------------------------------------------------------------------------------------- */

static void wake_up(int number)
{
}

/* Who mounted for us has to unmount, too, and does so before we hear of the end. */
static int unmount(struct fs *fs, bool lazily)
{
	if (!fs->mountpoint)
		return lazily ? 0 : -EPERM;
	return mountpoint_unmount(fs->mountpoint, lazily);
}

struct idleness {
	uint64_t requests;		/* as of the last look */
	unsigned seconds;		/* since when they have not grown */
};

static bool is_used(struct fs *fs)
{
	pthread_mutex_lock(&fs->lock);
	bool used = fs->n_handles || fs->n_waiters;
	pthread_mutex_unlock(&fs->lock);
	return used;
}

/* To be called once a second. Unmounting fails while somebody is in the mount, or has come since. */
static void unmount_when_idle(struct fs *fs, struct idleness *idle)
{
	uint64_t requests = __atomic_load_n(&fs->n_requests, __ATOMIC_RELAXED);

	idle->seconds = is_used(fs) || requests != idle->requests ? 0 : idle->seconds + 1;
	idle->requests = requests;
	if (idle->seconds >= fs->options.idle_timeout && unmount(fs, false) < 0)
		idle->seconds = 0;
}

static void end_session(struct fs *fs)
{
	fuse_session_exit(fs->session);
	pthread_kill(fs->serving, SIGUSR2);	/* out of the wait inside libfuse's loop */
}

/* A signal of `set`; 0 after `milliseconds` without one, unless these are 0. */
static int next_signal(const sigset_t *set, unsigned milliseconds)
{
	const struct timespec time = { .tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000 };
	int number = 0;

	if (milliseconds == 0)
		sigwait(set, &number);
	else
		number = sigtimedwait(set, NULL, &time);
	return number < 0 ? 0 : number;
}

/* The first signal unmounts: the session ends by itself with the last open file. The second ends the session. True when it goes on. */
static bool take_signal(struct fs *fs)
{
	pthread_mutex_lock(&fs->lock);
	unsigned before = fs->signals++;
	pthread_mutex_unlock(&fs->lock);
	if (before == 0 && unmount(fs, true) == 0)
		return true;
	end_session(fs);
	return false;
}

/* What somebody else has mounted may live on in another mount namespace, where nobody uses it: the kernel does not end that session. */
static void *wait_for_signals(void *userdata)
{
	struct fs *fs = userdata;
	struct idleness idle = { 0 };
	sigset_t set;

	end_signals(&set);
	sigaddset(&set, SIGUSR1);	/* fs_serve() is done */
	for (bool draining = false;;) {
		int number = next_signal(&set, draining ? 50 : fs->options.idle_timeout ? 1000 : 0);
		if (number == SIGUSR1)
			return NULL;
		if (number)
			draining = take_signal(fs) && !fs->mountpoint;
		else if (draining && !is_used(fs))
			end_session(fs);
		else if (!draining && fs->options.idle_timeout)
			unmount_when_idle(fs, &idle);
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
	if (fs->mountpoint && mountpoint_is_fuse(fs->mountpoint))
		mountpoint_remove_dead(fs->mountpoint);
	else if (r == -ECONNABORTED)	/* the kernel's word at times, when the last file of what was unmounted under load is closed */
		r = 0;
	if (r < 0)
		return error_set(error, r, "serving '%s' failed: %s", fs->mountpoint ? fs->mountpoint : "the mount", strerror(-r));
	return 0;
}
