/* SPDX-License-Identifier: MIT */
/*
 * Requests and single flight.
 *
 * A flight is one file on its way. It is made by the first request that does not find the bytes in memory; later requests for the
 * file join it. A worker takes the flight through: hash (known, memo, or plan) -> memory -> cache on disk -> build. Two files can
 * have one hash (two bases without a kernel, say): a flight that finds its hash being built by another follows that one, and its
 * worker is free again.
 *
 * A flight that somebody waits for begins in POOL_QUICK. A linked file goes no farther there than the cache on disk: where its hash
 * takes a plan, or its bytes a build, the flight begins again in POOL_WAITED. So does any whose tools have not been asked who they are.
 *
 * The waiting are told first, the cache on disk is written afterwards.
 */
#include "build/engine/internal.h"

#include "build/engine/trace.h"
#include "cachedb/digest.h"

#include <assert.h>

struct waiter {
	engine_callback callback;
	void *userdata;
	struct waiter *next;
};

struct flight {
	struct pool_task task;
	struct engine_file *file;
	uint64_t asked_us;
	struct activity *activity;	/* of the worker that is at it */
	struct cachedb_key hash;	/* once it is building */

	/* protected by engine->lock */
	struct waiter *waiters;
	bool waited;			/* one of them is ENGINE_WAITED */
	bool may_build;			/* its worker may take as long as it takes */
	bool has_identity;
	struct cachedb_key identity;	/* of the logic when it was asked for; an edit begins another flight */
	bool building;
	struct flight *next_build;	/* in engine->builds */
	struct flight *followers;	/* linked by next_follower */
	struct flight *next_follower;
};

enum { FOLLOWS = 1, LATER };		/* another flight brings the result; it takes a worker that may build */

/* ---- the end of a flight ---------------------------------------------------------------------------------------------- */

static void note_result(struct engine_file *file, int status, const struct artifact *artifact, const struct error *error)
{
	struct engine *engine = file->engine;

	if (artifact)
		known_set_size(file, &artifact->hash, artifact->size, artifact->cost_us, artifact->items);
	if (status == -ECANCELED)
		return;
	free(file->failure_text);
	file->failure = status;
	file->failure_text = status < 0 ? strdup(error_text(error, status)) : NULL;
	if (status < 0)
		engine->statistics.failures++;
}

static void deliver(struct flight *flight, int status, struct artifact *artifact, const struct error *error)
{
	struct engine_file *file = flight->file;
	struct engine *engine = file->engine;

	pthread_mutex_lock(&engine->lock);
	/* Someone came to want the bytes after only their presence was checked. */
	if (status == 0 && !artifact && flight->waited) {
		pthread_mutex_unlock(&engine->lock);
		pool_push(engine->pool, &flight->task, POOL_WAITED);
		return;
	}
	if (file->flight == flight)
		file->flight = NULL;
	note_result(file, status, artifact, error);
	struct waiter *waiters = flight->waiters;
	pthread_mutex_unlock(&engine->lock);

	while (waiters) {
		struct waiter *waiter = waiters;
		waiters = waiter->next;
		waiter->callback(waiter->userdata, status, artifact, error);
		free(waiter);
	}
	free(flight);
}

/* Tells the flight and those that follow it. */
static void finish(struct flight *flight, int status, struct artifact *artifact, const struct error *error)
{
	struct engine *engine = flight->file->engine;
	struct flight *followers = NULL;

	pthread_mutex_lock(&engine->lock);
	if (flight->building) {
		struct flight **at = &engine->builds;
		while (*at != flight)
			at = &(*at)->next_build;
		*at = flight->next_build;
		flight->building = false;
		followers = TAKE(flight->followers);
	}
	pthread_mutex_unlock(&engine->lock);
	deliver(flight, status, artifact, error);
	while (followers) {
		struct flight *follower = followers;
		followers = follower->next_follower;
		deliver(follower, status, artifact, error);
	}
}

/* ---- the way of a flight ---------------------------------------------------------------------------------------------- */

/* Begins the build of flight->hash, unless it is in memory by now or another flight has begun it. */
static int begin_build(struct flight *flight, struct artifact **ret_artifact)
{
	struct engine *engine = flight->file->engine;
	struct flight *other;
	int r = 0;

	pthread_mutex_lock(&engine->lock);
	for (other = engine->builds; other && !key_equal(&other->hash, &flight->hash); other = other->next_build)
		;
	if (other) {
		flight->next_follower = other->followers;
		other->followers = flight;
		engine->statistics.shared++;
		r = FOLLOWS;
	} else if (!(*ret_artifact = memory_find(engine->memory, &flight->hash))) {
		flight->building = true;
		flight->next_build = engine->builds;
		engine->builds = flight;
	}
	pthread_mutex_unlock(&engine->lock);
	return r;
}

static int reserve(struct flight *flight, uint64_t bytes, struct reservation *ret_reservation, struct error *error)
{
	struct memory *memory = flight->file->engine->memory;

	int r = memory_reserve(memory, ret_reservation, bytes);
	if (r < 0)
		error_set(error, r, "'%s' takes about %llu MiB of memory; the limit (--memory) is %llu MiB, and files in use have %llu of them",
			  flight->file->name, (unsigned long long)ceil_div(bytes, 1 << 20), (unsigned long long)memory_limit(memory) >> 20,
			  (unsigned long long)memory_used(memory) >> 20);
	return r;
}

/* What building takes at most, as seen with the tuned library: its logic as a tree and its kernels, before and after the link. */
static uint64_t build_bytes(const struct engine_file *file)
{
	return (1 << 20) + 12 * engine_file_logic_bytes(file);
}

/* Without an artifact when there is none. What is reserved already suffices. */
static int load_from_cache(struct flight *flight, struct reservation *reservation, struct artifact **ret_artifact, struct error *error)
{
	struct engine *engine = flight->file->engine;
	struct cachedb_info info;
	struct artifact *artifact;
	uint8_t *bytes;
	int r = 0;

	if (!reservation->memory && cachedb_stat(engine->cache, &flight->hash, &info) == 0)
		r = reserve(flight, info.size, reservation, error);
	if (r < 0)
		return r;
	stage_begin(flight->activity, "cache get", TRACE_PLAIN);
	bool found = engine_fetch(engine, &flight->hash, &info, &bytes) == 0;
	stage_end(flight->activity, TRACE_WITH({ "bytes", .number = found ? info.size : 0 }));
	if (!found)
		return 0;
	r = artifact_new(engine->memory, bytes, (size_t)info.size, &flight->hash, &artifact);
	if (r < 0)
		return r;
	artifact->cost_us = info.cost_us;
	artifact->items = info.items;
	memory_add(engine->memory, artifact);
	pthread_mutex_lock(&engine->lock);
	engine->statistics.cache_hits++;
	pthread_mutex_unlock(&engine->lock);
	*ret_artifact = artifact;
	return 0;
}

static bool is_waited(struct flight *flight)
{
	struct engine *engine = flight->file->engine;

	pthread_mutex_lock(&engine->lock);
	bool waited = flight->waited;
	pthread_mutex_unlock(&engine->lock);
	return waited;
}

/* Looks for the bytes of flight->hash. 1 when they need not be had: nobody waits and the disk has them. */
static int look_for_bytes(struct flight *flight, struct reservation *reservation, struct artifact **ret_artifact, struct error *error)
{
	struct engine *engine = flight->file->engine;
	struct cachedb_info info;

	*ret_artifact = memory_find(engine->memory, &flight->hash);
	if (*ret_artifact || !engine->cache)
		return 0;
	if (!is_waited(flight) && cachedb_stat(engine->cache, &flight->hash, &info) == 0)
		return 1;
	return load_from_cache(flight, reservation, ret_artifact, error);
}

static int plan(struct flight *flight, const struct edition *edition, const struct standpoint *standpoint, struct production *production,
		struct error *error)
{
	struct engine *engine = flight->file->engine;

	stage_begin(flight->activity, "plan", TRACE_WITH({ "logic_bytes", .number = engine_file_logic_bytes(flight->file) }));
	int r = production_plan(flight->file, edition, standpoint->tools, production, &flight->hash, error);
	stage_end(flight->activity, TRACE_PLAIN);
	if (r < 0)
		return r;
	production->activity = flight->activity;
	known_set_hash(flight->file, edition, standpoint, &flight->hash, production->mistakes);
	pthread_mutex_lock(&engine->lock);
	engine->statistics.plans++;
	pthread_mutex_unlock(&engine->lock);
	return 0;
}

/* An edit broke the logic of a file: what it was before serves on, if its bytes can still be had. */
static int keep_last_good(struct flight *flight, const struct standpoint *standpoint, int status, struct reservation *reservation,
			  struct artifact **ret_artifact, struct error *error)
{
	if (status == -ENOMEM || known_keep_hash(flight->file, standpoint, error_text(error, status), &flight->hash) < 0)
		return status;
	return look_for_bytes(flight, reservation, ret_artifact, NULL) == 1 || *ret_artifact ? 0 : status;
}

static int build(struct flight *flight, struct production *production, struct artifact **ret_artifact, struct error *error)
{
	struct engine *engine = flight->file->engine;
	uint64_t begin = now_us();

	int r = production_run(flight->file, production, &flight->hash, ret_artifact, error);
	if (r < 0)
		return r;
	(*ret_artifact)->cost_us = now_us() - begin;
	memory_add(engine->memory, *ret_artifact);
	pthread_mutex_lock(&engine->lock);
	engine->statistics.builds++;
	engine->statistics.built_bytes += (*ret_artifact)->size;
	engine->statistics.built_us += (*ret_artifact)->cost_us;
	pthread_mutex_unlock(&engine->lock);
	return 0;
}

/* Without running one of them. */
static bool knows_tools(struct engine *engine, enum engine_kind kind)
{
	const char *identity;

	return (!kind_is_linked(kind) || program_current(engine->linker)) &&
	       engine->generator->identity(engine->generator, kind, &identity) == 0;
}

/* The moment that a flight belongs to. LATER when a program has to be run to know it. */
static int find_standpoint(struct flight *flight, const struct edition *edition, struct standpoint *ret_standpoint, struct error *error)
{
	struct engine_file *file = flight->file;
	const struct tools *tools;

	if (!flight->may_build && !knows_tools(file->engine, file->kind))
		return LATER;
	int r = tools_identify(file->engine, file->kind, &tools, error);
	if (r == 0)
		r = standpoint_now(file, edition, ret_standpoint);
	return r == -ENOENT && !error->text[0] ? error_set(error, r, "the logic of '%s' has been removed", file->name) : r;
}

/*
 * 0 with the artifact (NULL: in the cache, and nobody waits), FOLLOWS, LATER, or a failure. `ret_built`: it is not in the cache
 * yet.
 */
static int fly(struct flight *flight, struct artifact **ret_artifact, bool *ret_built, struct error *error)
{
	struct engine_file *file = flight->file;
	bool only_looks = kind_is_linked(file->kind) && !flight->may_build;
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(file->engine);
	_cleanup_(production_release) struct production production = { 0 };	/* goes before the edition */
	_cleanup_(memory_give_back) struct reservation reservation = { 0 };
	struct standpoint standpoint;
	bool planned = false;

	int r = find_standpoint(flight, edition, &standpoint, error);
	if (r)
		return r;
	if (known_hash(file, &standpoint, &flight->hash) < 0) {
		if (only_looks)
			return LATER;
		r = reserve(flight, build_bytes(file), &reservation, error);
		if (r < 0)
			return r;
		r = plan(flight, edition, &standpoint, &production, error);
		if (r < 0)
			return keep_last_good(flight, &standpoint, r, &reservation, ret_artifact, error);
		planned = true;
	}
	r = look_for_bytes(flight, &reservation, ret_artifact, error);
	if (r || *ret_artifact)
		return MIN(r, 0);
	if (only_looks)
		return LATER;
	if (!planned) {		/* the hash was known and its bytes are gone */
		memory_give_back(&reservation);
		r = reserve(flight, build_bytes(file), &reservation, error);
		if (r == 0)
			r = plan(flight, edition, &standpoint, &production, error);
		if (r < 0)
			return r;
	}
	r = begin_build(flight, ret_artifact);
	if (r || *ret_artifact)
		return r;
	*ret_built = true;
	return build(flight, &production, ret_artifact, error);
}

static void store(struct activity *activity, const struct artifact *artifact)
{
	struct engine_file *file = activity->file;
	struct cachedb_info info = { .cost_us = artifact->cost_us, .tag = file->kind, .items = artifact->items };

	if (!file->engine->cache)
		return;
	stage_begin(activity, "cache put", TRACE_WITH({ "bytes", .number = artifact->size }));
	engine_keep(file->engine, &artifact->hash, artifact->data, artifact->size, &info);
	stage_end(activity, TRACE_PLAIN);
}

/* Another flight will end a FOLLOWS, and may have done so already. */
static void hand_over(struct flight *flight, struct activity *activity, int way)
{
	activity_end(activity, way == LATER ? "has to be built" : "another file has the same content");
	if (way == LATER) {
		flight->may_build = true;
		pool_push(activity->file->engine->pool, &flight->task, POOL_WAITED);
	}
}

static void run_flight(struct pool_task *task, bool cancelled)
{
	struct flight *flight = (struct flight *)task;		/* its first member */
	_cleanup_(artifact_unref_p) struct artifact *artifact = NULL;
	struct activity activity;
	struct error error = { 0 };
	bool built = false;

	if (cancelled) {
		finish(flight, -ECANCELED, NULL, NULL);
		return;
	}
	activity_begin(&activity, flight->file, flight->asked_us);
	flight->activity = &activity;
	int r = fly(flight, &artifact, &built, &error);
	if (r > 0) {
		hand_over(flight, &activity, r);
		return;
	}
	finish(flight, r, artifact, &error);
	if (r == 0 && built)
		store(&activity, artifact);
	activity_end(&activity, r < 0 ? error_text(&error, r) : built ? "built" : "found");
}

/* ---- requests --------------------------------------------------------------------------------------------------------- */

static struct artifact *find_in_memory(struct engine_file *file, const struct standpoint *standpoint)
{
	struct engine *engine = file->engine;
	struct artifact *artifact = NULL;

	pthread_mutex_lock(&engine->lock);
	if (file->planned && file->tools == standpoint->tools && key_equal(&file->identity, &standpoint->identity))
		artifact = memory_find(engine->memory, &file->hash);
	if (artifact)
		engine->statistics.memory_hits++;
	pthread_mutex_unlock(&engine->lock);
	if (artifact && engine->cache)		/* else what is used most would be the oldest on disk */
		cachedb_touch(engine->cache, &artifact->hash);
	return artifact;
}

/* Joins the file's flight; a flight for other logic than now's is left to those it has. With engine->lock held. */
static bool join_flight(struct engine_file *file, const struct cachedb_key *identity, enum engine_priority priority, struct waiter *waiter)
{
	struct flight *flight = file->flight;

	if (!flight || (identity && flight->has_identity && !key_equal(&flight->identity, identity)))
		return false;
	waiter->next = flight->waiters;
	flight->waiters = waiter;
	file->engine->statistics.shared++;
	if (priority == ENGINE_WAITED && !flight->waited) {
		flight->waited = true;
		pool_raise(file->engine->pool, &flight->task);
	}
	return true;
}

static struct flight *new_flight(struct engine_file *file, const struct cachedb_key *identity, enum engine_priority priority,
				 struct waiter *waiter)
{
	struct flight *flight = calloc(1, sizeof(*flight));

	if (!flight)
		return NULL;
	*flight = (struct flight){
		.task.run = run_flight,
		.file = file,
		.asked_us = now_us(),
		.waiters = waiter,
		.waited = priority == ENGINE_WAITED,
		.may_build = priority == ENGINE_AHEAD,
		.has_identity = identity != NULL,
	};
	if (identity)
		flight->identity = *identity;
	file->flight = flight;
	return flight;
}

static enum pool_queue first_queue(const struct flight *flight)
{
	if (!flight->waited)
		return POOL_AHEAD;
	return flight->may_build ? POOL_WAITED : POOL_QUICK;
}

void engine_request(struct engine *engine, struct engine_file *file, enum engine_priority priority, engine_callback callback, void *userdata)
{
	struct standpoint standpoint;
	struct flight *flight = NULL;

	assert(file->engine == engine);
	if (file->kind == ENGINE_RAW) {
		raw_request(file, callback, userdata);
		return;
	}
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	bool known = standpoint_now(file, edition, &standpoint) == 0;	/* not before the tools are */
	_cleanup_(artifact_unref_p) struct artifact *artifact = known ? find_in_memory(file, &standpoint) : NULL;
	if (artifact) {
		callback(userdata, 0, artifact, NULL);
		return;
	}
	struct waiter *waiter = malloc(sizeof(*waiter));
	if (!waiter) {
		callback(userdata, -ENOMEM, NULL, NULL);
		return;
	}
	*waiter = (struct waiter){ .callback = callback, .userdata = userdata };

	pthread_mutex_lock(&engine->lock);
	bool joined = join_flight(file, known ? &standpoint.identity : NULL, priority, waiter);
	if (!joined)
		flight = new_flight(file, known ? &standpoint.identity : NULL, priority, waiter);
	if (flight)	/* under the lock, so that a joiner finds it in a queue or running */
		pool_push(engine->pool, &flight->task, first_queue(flight));
	pthread_mutex_unlock(&engine->lock);
	if (!joined && !flight) {
		free(waiter);
		callback(userdata, -ENOMEM, NULL, NULL);
	}
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

struct get {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool finished;
	int status;
	struct artifact *artifact;
	struct error *error;
};

static void get_finished(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
	struct get *get = userdata;

	pthread_mutex_lock(&get->lock);
	get->finished = true;
	get->status = status;
	if (status == 0)
		get->artifact = artifact_ref(artifact);
	else
		error_set(get->error, status, "%s", error_text(error, status));
	pthread_cond_signal(&get->done);
	pthread_mutex_unlock(&get->lock);
}

int engine_get(struct engine *engine, struct engine_file *file, struct artifact **ret_artifact, struct error *error)
{
	struct get get = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER, .error = error };

	engine_request(engine, file, ENGINE_WAITED, get_finished, &get);
	pthread_mutex_lock(&get.lock);
	while (!get.finished)
		pthread_cond_wait(&get.done, &get.lock);
	pthread_mutex_unlock(&get.lock);
	pthread_cond_destroy(&get.done);
	pthread_mutex_destroy(&get.lock);
	if (get.status == 0)
		*ret_artifact = get.artifact;
	return get.status;
}

struct call {
	struct pool_task task;
	void (*call)(void *userdata, bool cancelled);
	void *userdata;
};

static void run_call(struct pool_task *task, bool cancelled)
{
	struct call *call = (struct call *)task;		/* its first member */

	call->call(call->userdata, cancelled);
	free(call);
}

void engine_call_in(struct engine *engine, enum pool_queue queue, void (*call)(void *userdata, bool cancelled), void *userdata)
{
	struct call *queued = malloc(sizeof(*queued));

	if (!queued) {
		call(userdata, true);
		return;
	}
	*queued = (struct call){ .task.run = run_call, .call = call, .userdata = userdata };
	pool_push(engine->pool, &queued->task, queue);
}

void engine_call(struct engine *engine, void (*call)(void *userdata, bool cancelled), void *userdata)
{
	engine_call_in(engine, POOL_QUICK, call, userdata);
}
