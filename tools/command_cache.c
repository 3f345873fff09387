/* SPDX-License-Identifier: MIT */
/* Looking after the cache. */
#include "base/array.h"
#include "build/engine/cpus.h"
#include "cachedb/digest.h"
#include "tools/care.h"

#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define USAGE \
	"cache stats|gc|check|clear|pin|unpin [LOGIC [NAME...]] [--cache DIR]\n\n" \
	"stats [--json]                      what is in it, and which files are pinned\n" \
	"gc [--cache-size N]                 remove what was used longest ago until N bytes stay, and give the space back to the\n" \
	"                                    file system, unless another process has the cache open\n" \
	"check [--repair] [--rebuild LOGIC]  read all of it, and compare with what the files of LOGIC are when they are made anew;\n" \
	"                                    ends with 1 when something was wrong, repaired or not\n" \
	"clear                               remove all but the pins\n" \
	"pin LOGIC [NAME...]                 never remove these files (all of LOGIC) as they are now: not after an edit\n" \
	"unpin LOGIC [NAME...]               remove the pins of these files, also of what they were before edits"

/* ---- stats ------------------------------------------------------------------------------------------------------------ */

struct ages {
	int64_t oldest, newest;		/* seconds since 1970; 0: there is no record */
};

static int note_age(void *userdata, const struct cachedb_key *key, const struct cachedb_info *info)
{
	struct ages *ages = userdata;

	ages->oldest = ages->oldest ? MIN(ages->oldest, info->last_used) : info->last_used;
	ages->newest = MAX(ages->newest, info->last_used);
	return 0;
}

static void print_time(const char *title, int64_t seconds)
{
	char text[64];
	time_t when = seconds;
	struct tm tm;

	if (seconds && localtime_r(&when, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
		printf("%s%s\n", title, text);
}

static void print_limit(const struct cachedb_statistics *statistics, const struct options *options)
{
	if (options->engine.cache_max_bytes)
		printf("limit         %llu\n", (ull)options->engine.cache_max_bytes);
	printf("disk          %llu free, %llu of them are kept free\n", (ull)statistics->system_free, (ull)statistics->system_keep);
}

/* One line for all pins of an architecture of a folder. */
struct pin_group {
	char *label;			/* without the name */
	uint64_t pins, missing, bytes;
};

struct pin_groups {
	struct pin_group *list;
	size_t n, allocated;
};

static struct pin_group *find_group(struct pin_groups *groups, const char *label, size_t length)
{
	for (size_t i = 0; i < groups->n; i++)
		if (strlen(groups->list[i].label) == length && strncmp(groups->list[i].label, label, length) == 0)
			return &groups->list[i];
	if (ARRAY_GROW(groups->list, groups->allocated, groups->n) < 0)
		return NULL;
	groups->list[groups->n] = (struct pin_group){ .label = strndup(label, length) };
	return groups->list[groups->n].label ? &groups->list[groups->n++] : NULL;
}

static int group_pin(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info)
{
	const char *slash = strrchr(pin->label, '/');
	struct pin_group *group = find_group(userdata, pin->label, slash ? (size_t)(slash - pin->label) : strlen(pin->label));

	if (!group)
		return -ENOMEM;
	group->pins++;
	group->missing += !info;
	group->bytes += info ? info->size : 0;
	return 0;
}

static int print_pins(struct cachedb *db)
{
	struct pin_groups groups = { 0 };

	int r = cachedb_foreach_pin(db, group_pin, &groups);
	for (size_t i = 0; i < groups.n; i++) {
		const struct pin_group *group = &groups.list[i];
		if (r == 0)
			printf("pinned        %s: %llu files of %llu bytes, %llu of them are not in the cache\n", group->label, (ull)group->pins,
			       (ull)group->bytes, (ull)group->missing);
		free(group->label);
	}
	free(groups.list);
	return r;
}

static int print_text(struct care *care, const struct cachedb_statistics *statistics, const struct ages *ages)
{
	printf("directory     %s\n", care->options->engine.cache);
	printf("entries       %llu\n", (ull)statistics->entries);
	printf("bytes         %llu\n", (ull)statistics->bytes);
	printf("file          %llu, %llu of them are free for new entries\n", (ull)statistics->file_bytes, (ull)statistics->free_bytes);
	print_limit(statistics, care->options);
	printf("lookups       %llu found, %llu not\n", (ull)statistics->all_hits, (ull)statistics->all_misses);
	printf("evicted       %llu\n", (ull)statistics->all_evictions);
	print_time("oldest use    ", ages->oldest);
	print_time("latest use    ", ages->newest);
	return print_pins(care->db);
}

static void add(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static int add_pin(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info)
{
	struct json_object *object = json_object_new_object();
	char hash[KEY_TEXT_SIZE];

	json_object_object_add(object, "label", json_object_new_string(pin->label));
	json_object_object_add(object, "hash", json_object_new_string(key_to_text(&pin->key, hash)));
	json_object_object_add(object, "bytes", info ? json_object_new_uint64(info->size) : NULL);
	json_object_array_add(userdata, object);
	return 0;
}

static int print_json(struct care *care, const struct cachedb_statistics *statistics, const struct ages *ages)
{
	struct json_object *object = json_object_new_object(), *pins = json_object_new_array();

	json_object_object_add(object, "directory", json_object_new_string(care->options->engine.cache));
	add(object, "entries", statistics->entries);
	add(object, "bytes", statistics->bytes);
	add(object, "file_bytes", statistics->file_bytes);
	add(object, "free_bytes", statistics->free_bytes);
	add(object, "map_bytes", statistics->map_bytes);
	add(object, "limit_bytes", care->options->engine.cache_max_bytes);
	add(object, "disk_free_bytes", statistics->system_free);
	add(object, "disk_kept_free_bytes", statistics->system_keep);
	add(object, "hits", statistics->all_hits);
	add(object, "misses", statistics->all_misses);
	add(object, "evictions", statistics->all_evictions);
	add(object, "oldest_use", (uint64_t)ages->oldest);
	add(object, "latest_use", (uint64_t)ages->newest);
	add(object, "pinned_entries", statistics->pinned_entries);
	add(object, "pinned_bytes", statistics->pinned_bytes);
	int r = cachedb_foreach_pin(care->db, add_pin, pins);
	json_object_object_add(object, "pins", pins);
	if (r == 0)
		printf("%s\n", json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	return r;
}

static int print_statistics(struct care *care, struct error *error)
{
	struct cachedb_statistics statistics;
	struct ages ages = { 0 };

	int r = cachedb_get_statistics(care->db, &statistics);
	if (r == 0)
		r = cachedb_foreach(care->db, note_age, &ages);
	if (r < 0)
		return r;
	return care->options->json ? print_json(care, &statistics, &ages) : print_text(care, &statistics, &ages);
}

/* ---- gc, clear -------------------------------------------------------------------------------------------------------- */

static int collect(struct care *care, struct error *error)
{
	uint64_t removed = 0, freed = 0, limit = care->options->engine.cache_max_bytes;

	int r = limit ? cachedb_gc(care->db, limit, &removed) : 0;
	if (r < 0)
		return r;
	r = cachedb_compact(care->db, &freed, error);
	if (r == -EBUSY || r == -ENOSPC)	/* there is room in the file all the same */
		complain("%s", error_text(error, r));
	else if (r < 0)
		return r;
	printf("%llu bytes were removed, the file became %llu bytes smaller\n", (ull)removed, (ull)freed);
	return 0;
}

static int clear(struct care *care, struct error *error)
{
	return cachedb_clear(care->db);
}

/* ---- check ------------------------------------------------------------------------------------------------------------ */

static void tell(void *userdata, const char *finding)
{
	complain("%s", finding);
}

struct comparison {
	struct care *care;
	struct engine *engine;

	pthread_mutex_t lock;		/* protects all below */
	pthread_cond_t done_one;
	size_t running, made, absent, wrong, left;	/* as in struct care */
};

struct compared {
	struct comparison *comparison;
	struct engine_file *file;
};

static size_t first_difference(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
	size_t i = 0;

	while (i < MIN(a_size, b_size) && a[i] == b[i])
		i++;
	return i;
}

static int replace(struct cachedb *db, const struct artifact *made, const struct cachedb_info *info, struct error *error)
{
	int r = cachedb_delete(db, &made->hash);

	return r < 0 && r != -ENOENT ? r : cachedb_put(db, &made->hash, made->data, made->size, info, error);
}

/* 1 when they differ, and are the same by now with --repair. */
static int compare_bytes(struct comparison *comparison, struct engine_file *file, const struct artifact *made, bool *ret_absent, struct error *error)
{
	struct care *care = comparison->care;
	_cleanup_free_ uint8_t *kept = NULL;
	struct cachedb_info info;

	int r = cachedb_get(care->db, &made->hash, &info, &kept);
	*ret_absent = r == -ENOENT;
	if (r == -ENOENT)
		return 0;
	if (r < 0 || (info.size == made->size && memcmp(kept, made->data, made->size) == 0))
		return r;
	complain("%s/%s: the cache has other bytes from byte %zu on (%llu in all, made anew %zu)", engine_file_arch(file), engine_file_name(file),
		 first_difference(kept, (size_t)info.size, made->data, made->size), (ull)info.size, made->size);
	r = care->options->repair ? replace(care->db, made, &info, error) : 0;
	return r < 0 ? r : 1;
}

static void compare_file(void *userdata, bool cancelled)
{
	struct compared *job = userdata;
	struct comparison *comparison = job->comparison;
	_cleanup_(artifact_unref_p) struct artifact *made = NULL;
	struct error error = { 0 };
	bool memo_is_wrong = false, absent = false;

	int r = cancelled ? -ECANCELED : engine_rebuild(comparison->engine, job->file, &made, &memo_is_wrong, &error);
	if (r == 0)
		r = compare_bytes(comparison, job->file, made, &absent, &error);
	if (r < 0)
		complain("%s/%s: %s", engine_file_arch(job->file), engine_file_name(job->file), error_text(&error, r));
	if (memo_is_wrong)
		complain("%s/%s: the cache has noted another hash for this logic", engine_file_arch(job->file), engine_file_name(job->file));
	pthread_mutex_lock(&comparison->lock);
	comparison->running--;
	comparison->made++;
	comparison->absent += absent;
	comparison->wrong += r != 0 || memo_is_wrong;
	comparison->left += r < 0;
	pthread_cond_signal(&comparison->done_one);
	pthread_mutex_unlock(&comparison->lock);
	free(job);
}

/* As many files on their way as there are threads: each has its logic and its kernels in memory. */
static int start_comparison(void *userdata, struct engine_file *file)
{
	struct comparison *comparison = userdata;
	struct compared *job = malloc(sizeof(*job));

	if (!job)
		return -ENOMEM;
	*job = (struct compared){ comparison, file };
	pthread_mutex_lock(&comparison->lock);
	while (comparison->running >= comparison->care->options->engine.jobs)
		pthread_cond_wait(&comparison->done_one, &comparison->lock);
	comparison->running++;
	pthread_mutex_unlock(&comparison->lock);
	engine_call(comparison->engine, compare_file, job);
	return 0;
}

static int rebuild(struct care *care)
{
	struct comparison comparison = { .care = care, .lock = PTHREAD_MUTEX_INITIALIZER, .done_one = PTHREAD_COND_INITIALIZER };
	struct options options = *care->options;
	size_t faults, n;

	options.engine.cache_read_only = !options.repair;
	int r = open_engine(&options, options.rebuild, &comparison.engine, &faults);
	if (r < 0)
		return -ECANCELED;		/* complained about */
	r = foreach_file(comparison.engine, NULL, NULL, start_comparison, &comparison, &n);
	pthread_mutex_lock(&comparison.lock);
	while (comparison.running > 0)
		pthread_cond_wait(&comparison.done_one, &comparison.lock);
	pthread_mutex_unlock(&comparison.lock);
	engine_unref(comparison.engine);
	care->findings += comparison.wrong + faults;
	care->left += comparison.left + faults;
	printf("%zu files were made anew: %zu are wrong in the cache, %zu are not in it\n", comparison.made, comparison.wrong, comparison.absent);
	return r;
}

static int check(struct care *care, struct error *error)
{
	struct cachedb_check found;

	int r = cachedb_check(care->db, tell, NULL, &found, error);
	if (r == -EIO && care->options->repair) {	/* the tree itself */
		complain("%s", error_text(error, r));
		care->wrecked = true;
		return -ECANCELED;
	}
	if (r < 0)
		return r;
	printf("%llu entries of %llu bytes were checked, %llu are damaged\n", (ull)found.records, (ull)found.bytes, (ull)found.bad);
	care->findings += found.bad + found.orphans + found.sum_is_wrong;
	if (care->options->rebuild)
		r = rebuild(care);
	if (r < 0 || !care->findings || !care->options->repair)
		return r;
	if (care->left == 0)
		printf("what was wrong has been repaired\n");
	else
		printf("%zu of %zu faults are no faults of the cache or could not be repaired\n", care->left, care->findings);
	return 0;
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

enum { TAKES_LOGIC = 1, READS_ONLY = 2, GUARDED = 4 };

static const struct action {
	const char *name;
	unsigned flags;
	int (*run)(struct care *care, struct error *error);
} actions[] = {
	{ "stats", READS_ONLY, print_statistics },
	{ "gc", 0, collect },
	{ "check", READS_ONLY | GUARDED, check },
	{ "clear", 0, clear },
	{ "pin", TAKES_LOGIC, care_pin },
	{ "unpin", TAKES_LOGIC, care_unpin },
};

static const struct action *find_action(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(name, actions[i].name) == 0)
			return &actions[i];
	return NULL;
}

static int act(const struct action *action, struct care *care)
{
	const struct engine_options *engine = &care->options->engine;
	struct cachedb_options open = {
		.directory = engine->cache,
		.max_bytes = engine->cache_max_bytes,
		.min_free = engine->cache_min_free,
		.read_only = action->flags & READS_ONLY && !care->options->repair,
	};
	struct error error = { 0 };

	int r = cachedb_open(&open, &care->db, &error);
	if (r == 0)
		r = action->run(care, &error);
	care->db = cachedb_close(care->db);
	if (r < 0 && r != -ECANCELED)
		complain("%s", error_text(&error, r));
	return r < 0 || care->findings ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void begin_anew(const struct care *care)
{
	struct error error = { 0 };

	int r = cachedb_begin_anew(care->options->engine.cache, &error);
	complain("%s", r < 0 ? error_text(&error, r) : "it has been begun anew, without what was in it");
}

/* A database that cannot be opened would be begun anew without a word. */
static bool can_be_opened(const struct care *care)
{
	struct cachedb_options open = { .directory = care->options->engine.cache, .read_only = true };
	struct cachedb *db = NULL;
	struct error error = { 0 };

	int r = cachedb_open(&open, &db, &error);
	cachedb_close(db);
	if (r == -EIO)
		complain("%s", error_text(&error, r));
	return r != -EIO;
}

enum { EXIT_WRECKED = 3 };		/* of the child */

static int check_and_exit(const struct action *action, struct care *care)
{
	if (care->options->repair && !can_be_opened(care))
		return EXIT_WRECKED;
	int status = end_output(act(action, care));
	return care->wrecked ? EXIT_WRECKED : status;
}

/*
 * LMDB trusts its tree and may crash on a damaged one, so checking is the work of a child. After a crash nothing of the database
 * can be trusted, and repairing it means to begin anew.
 */
static int act_guarded(const struct action *action, struct care *care)
{
	int status;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0)
		exit(check_and_exit(action, care));
	if (child < 0 || waitpid(child, &status, 0) != child) {
		complain("cannot run a process for the check: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (signal)
		complain("the database in '%s' is damaged: reading it ended with signal %d", care->options->engine.cache, signal);
	bool wrecked = signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT || (!signal && WEXITSTATUS(status) == EXIT_WRECKED);
	if (wrecked && care->options->repair)
		begin_anew(care);
	return signal || wrecked ? EXIT_FAILURE : WEXITSTATUS(status);
}

int command_cache(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	struct care care = { .options = &options };

	if (options_parse(argc, argv, OPTION_CACHE | OPTION_CARE | OPTION_JSON | OPTION_ARCH | OPTION_JOBS | OPTION_OUTPUT, 1, argc, USAGE,
			  &options) < 0)
		return EXIT_USAGE;
	const struct action *action = find_action(argv[optind]);
	if (action && action->flags & TAKES_LOGIC)
		care.logic = argv[optind + 1];
	care.names = &argv[optind + 1 + (care.logic != NULL)];
	if (!action || (action->flags & TAKES_LOGIC && !care.logic) || (!(action->flags & TAKES_LOGIC) && care.names[0])) {
		complain("usage: tensilefs %.*s", (int)strcspn(USAGE, "\n"), USAGE);
		return EXIT_USAGE;
	}
	if (!options.engine.cache) {
		complain("there is no cache: neither --cache nor $HOME says where");
		return EXIT_FAILURE;
	}
	if (options.engine.jobs == 0)
		options.engine.jobs = cpus_available();
	return action->flags & GUARDED ? act_guarded(action, &care) : act(action, &care);
}
