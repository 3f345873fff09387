/* SPDX-License-Identifier: MIT */
#include "tools/verify/verify.h"

#include "base/buffer.h"
#include "build/gemm/arguments.h"
#include "build/object/object.h"
#include "tools/verify/launch.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_PROBLEMS = 3, MAX_SIZES = 8, QUICK_LAUNCHES = 4, NORMAL_LAUNCHES = 16 };

/* ---- the values that a kernel is tried with --------------------------------------------------------------------------- */

struct sizes {
	uint32_t value[MAX_SIZES];
	unsigned n;
};

static void add_size(struct sizes *sizes, int64_t size, int multiple)
{
	uint32_t value = (uint32_t)round_up((uint64_t)MAX(size, 0), (uint64_t)MAX(multiple, 1));

	for (unsigned i = 0; i < sizes->n; i++)
		if (sizes->value[i] == value)
			return;
	sizes->value[sizes->n++] = value;
}

static struct sizes free_sizes(unsigned tile, int multiple)
{
	struct sizes sizes = { 0 };

	add_size(&sizes, 1, multiple);
	add_size(&sizes, tile - 1, multiple);
	add_size(&sizes, tile, multiple);
	add_size(&sizes, tile + 1, multiple);
	add_size(&sizes, 2 * tile + tile / 2 + 3, multiple);
	return sizes;
}

static struct sizes k_sizes(unsigned depth, int multiple)
{
	struct sizes sizes = { 0 };

	add_size(&sizes, 0, multiple);
	add_size(&sizes, 1, multiple);
	add_size(&sizes, depth - 1, multiple);
	add_size(&sizes, depth, multiple);
	add_size(&sizes, depth + 1, multiple);
	add_size(&sizes, 2 * depth, multiple);
	add_size(&sizes, 4 * depth + depth / 2 + 3, multiple);
	return sizes;
}

enum c_kind { C_NAN, C_NULL, C_ONE, C_HALF, C_IN_PLACE, C_KINDS };
enum batch_kind { BATCH_ONE, BATCH_STRIDED, BATCH_BROADCAST, BATCH_FAR, BATCH_KINDS };

/* Every axis goes through its values in a rotated order of its own, so launches that follow each other meet all values of each. */
enum axis { AXIS_M, AXIS_N, AXIS_K, AXIS_C, AXIS_ALPHA, AXIS_BATCH, AXIS_BIAS, AXIS_ACTIVATION, AXIS_TYPE, AXIS_WGM, AXES };

struct draw {
	const struct gemm_config *config;
	bool as_host;
	struct sizes m, n, k;
	unsigned start[AXES];
	unsigned launch;		/* which one, from 0 */
	struct random random;
};

static void draw_init(struct draw *draw, const struct verify_kernel *kernel, const struct verify_options *options)
{
	const struct gemm_config *config = kernel->config;
	const struct gemm_params *params = &config->params;

	*draw = (struct draw){
		.config = config,
		.as_host = options->as_host,
		.m = free_sizes(config->tensor[0].macro_tile, params->assert_free_multiple[0]),
		.n = free_sizes(config->tensor[1].macro_tile, params->assert_free_multiple[1]),
		.k = k_sizes(config->depth_u, params->assert_summation_multiple),
		.random.state = options->seed,
	};
	for (const char *c = kernel->name; *c; c++)
		draw->random.state = (draw->random.state ^ (uint8_t)*c) * 0x100000001b3;	/* FNV-1a */
	for (enum axis i = 0; i < AXES; i++)
		draw->start[i] = random_below(&draw->random, 1 << 16);
}

static unsigned choose(const struct draw *draw, enum axis axis, unsigned n)
{
	/* the axes turn at different speeds, so that their values meet in changing company */
	return (draw->start[axis] + draw->launch + draw->launch / n * (unsigned)axis) % n;
}

static void choose_epilogue(struct draw *draw, struct problem_shape *shape)
{
	static const uint32_t activations[] = { GEMM_ACTIVATION_NONE, GEMM_ACTIVATION_RELU, GEMM_ACTIVATION_GELU };
	const struct gemm_problem_type *type = &draw->config->params.problem;
	unsigned bias = choose(draw, AXIS_BIAS, type->n_bias_types + 1u);

	shape->null[PROBLEM_BIAS] = !type->use_bias || bias == type->n_bias_types;
	shape->bias_type = type->n_bias_types ? type->bias_types[bias % type->n_bias_types] : GEMM_F32;
	if (type->activation)
		shape->activation = activations[choose(draw, AXIS_ACTIVATION, ARRAY_SIZE(activations))];
	for (enum problem_tensor i = PROBLEM_SCALE_ALPHA_VEC; i <= PROBLEM_SCALE_B; i++) {
		bool exists = i == PROBLEM_SCALE_ALPHA_VEC ? type->scale_alpha_vec : type->scale_ab;
		shape->null[i] = !exists || !random_below(&draw->random, 4);
	}
}

static void choose_c(struct draw *draw, struct problem_shape *shape)
{
	const struct gemm_problem_type *type = &draw->config->params.problem;
	enum c_kind kind = type->use_beta ? choose(draw, AXIS_C, C_KINDS) : C_NULL;

	if (kind == C_IN_PLACE && type->c != type->d)
		kind = C_HALF;
	shape->beta = (const double[]){ 0, 0, 1, -0.5, 2 }[kind];
	shape->null[PROBLEM_C] = kind == C_NULL;
	shape->in_place = kind == C_IN_PLACE;
}

/* One of the edge sizes, or, as one more value, any size up to two tiles. */
static uint32_t choose_size(struct draw *draw, enum axis axis)
{
	const struct sizes *sizes = axis == AXIS_M ? &draw->m : &draw->n;
	const struct gemm_config *config = draw->config;
	unsigned tensor = axis == AXIS_M ? 0 : 1, i = choose(draw, axis, sizes->n + 1);
	int multiple = MAX(config->params.assert_free_multiple[tensor], 1);

	if (i < sizes->n)
		return sizes->value[i];
	return (uint32_t)round_up(1 + random_below(&draw->random, 2 * config->tensor[tensor].macro_tile), (uint64_t)multiple);
}

static struct problem_shape choose_shape(struct draw *draw)
{
	static const double alphas[] = { 1, 0, -2, 1, 0.5 };
	struct problem_shape shape = { .alpha = alphas[choose(draw, AXIS_ALPHA, ARRAY_SIZE(alphas))] };
	enum batch_kind batch = choose(draw, AXIS_BATCH, BATCH_KINDS);

	shape.m = choose_size(draw, AXIS_M);
	shape.n = choose_size(draw, AXIS_N);
	shape.k = draw->k.value[choose(draw, AXIS_K, draw->k.n)];
	shape.null[PROBLEM_A] = shape.null[PROBLEM_B] = shape.alpha == 0 || !shape.k;
	shape.integers = random_below(&draw->random, 2);
	shape.misaligned = random_below(&draw->random, 3);
	choose_epilogue(draw, &shape);
	choose_c(draw, &shape);
	shape.batch = batch == BATCH_ONE ? 1 : 2;
	shape.far = batch == BATCH_FAR;
	shape.broadcast[batch == BATCH_BROADCAST ? PROBLEM_B : PROBLEM_BIAS] = true;
	if (batch == BATCH_BROADCAST)
		shape.broadcast[PROBLEM_A] = shape.broadcast[PROBLEM_C] = random_below(&draw->random, 2);
	for (enum problem_tensor i = PROBLEM_A; i <= PROBLEM_D && random_below(&draw->random, 3); i++)
		shape.pad[i] = random_below(&draw->random, 20);
	return shape;
}

/* A small neighbour in the same group: tiles of its own, or none at all. */
static struct problem_shape neighbour(const struct draw *draw, struct problem_shape shape, unsigned i)
{
	shape.m = i == 1 ? 0 : draw->m.value[0];
	shape.n = draw->n.value[0];
	shape.k = draw->k.value[1];
	shape.alpha = 1;
	shape.null[PROBLEM_A] = shape.null[PROBLEM_B] = false;
	return shape;
}

/* What steers the order of work and must not change results. */
static void draw_hints(struct draw *draw, struct launch *launch)
{
	static const int wgms[] = { 1, 2, 8, 0, -3, 32767 }, dies[] = { 1, 8, 3, 2, 0, 4 };
	unsigned i = choose(draw, AXIS_WGM, ARRAY_SIZE(wgms));

	launch->internal_args = (uint32_t)random_next(&draw->random) << 16 | random_below(&draw->random, 2);
	launch->wgm = wgms[i];
	launch->wgmxcc = dies[i];
	launch->surplus = random_below(&draw->random, 2);
}

/* Values that are tuned for. GSU, and from bit 16 on StaggerU, its stride's shift, its mapping: hipBLASLt, ContractionSolution.cpp,
 * kernelArgs(). */
static void draw_host_hints(struct draw *draw, struct launch *launch)
{
	static const int wgms[] = { 1, 2, 4, 8, 16, 32 };
	static const uint32_t staggers[] = { 0, 4, 8, 16, 32 };
	uint32_t stagger = staggers[random_below(&draw->random, ARRAY_SIZE(staggers))], shift = random_below(&draw->random, 4);

	launch->internal_args = random_below(&draw->random, 5) << 29 | shift << 24 | stagger << 16 | 1;
	launch->wgm = wgms[choose(draw, AXIS_WGM, ARRAY_SIZE(wgms))];
	launch->wgmxcc = 1;
}

/* ---- one launch ------------------------------------------------------------------------------------------------------- */

static int run_launch(struct draw *draw, const struct emu_kernel *kernel, const struct problem_shape *shapes, unsigned n_shapes,
		      struct verify_result *result)
{
	_cleanup_(emu_memory_free_p) struct emu_memory *memory = NULL;
	struct problem problems[MAX_PROBLEMS] = { 0 };
	struct error reason = { 0 };
	struct emu_stats stats;
	struct launch launch = {
		.kernel = kernel,
		.argument_type = choose(draw, AXIS_TYPE, draw->config->params.problem.user_args ? 3 : 2),
		.problems = problems,
		.n_problems = n_shapes,
		.wgmxccg = -1,
	};

	if (draw->as_host)
		draw_host_hints(draw, &launch);
	else
		draw_hints(draw, &launch);
	if (launch.argument_type == GEMM_ARGUMENTS_INLINE)
		launch.n_problems = 1;
	int r = emu_memory_new(&memory);
	launch.memory = memory;
	for (unsigned i = 0; r == 0 && i < launch.n_problems; i++) {
		struct problem_shape shape = shapes[i];

		if (launch.argument_type == GEMM_ARGUMENTS_USER)
			shape.broadcast[PROBLEM_BIAS] = true;	/* these arguments have no bias stride */
		r = problem_init(&problems[i], draw->config, &shape, &draw->random, memory, i, &reason);
	}
	if (r == 0)
		r = launch_run(&launch, &stats, &reason);
	unsigned faulty = 0;
	for (unsigned i = 0; r == 0 && i < launch.n_problems; i++) {
		r = problem_check(&problems[i], &result->worst, &reason);
		faulty = i;
	}
	if (r == 0) {
		result->launches++;
		result->instructions += stats.instructions;
	} else {
		char shape[256];
		problem_describe(&problems[faulty], shape, sizeof(shape));
		error_set(&result->error, r, "launch %u, argument type %u, GEMM %u of %u (%s), WGM %d, WGMXCC %d: %s", draw->launch,
			  launch.argument_type, faulty, launch.n_problems, shape, launch.wgm, launch.wgmxcc, error_text(&reason, r));
	}
	for (unsigned i = 0; i < launch.n_problems; i++)
		problem_release(&problems[i]);
	return r;
}

static int run_drawn(struct draw *draw, const struct emu_kernel *kernel, const struct problem_shape *first, struct verify_result *result)
{
	struct problem_shape shapes[MAX_PROBLEMS] = { *first };

	for (unsigned i = 1; i < MAX_PROBLEMS; i++)
		shapes[i] = neighbour(draw, *first, i);
	return run_launch(draw, kernel, shapes, MAX_PROBLEMS, result);
}

/* ---- one kernel ------------------------------------------------------------------------------------------------------- */

static int run_all_sizes(struct draw *draw, const struct emu_kernel *kernel, struct verify_result *result)
{
	int r = 0;

	for (unsigned m = 0; m < draw->m.n; m++) {
		for (unsigned n = 0; n < draw->n.n; n++) {
			for (unsigned k = 0; r == 0 && k < draw->k.n; k++, draw->launch++) {
				struct problem_shape shape = choose_shape(draw);

				shape.m = draw->m.value[m];
				shape.n = draw->n.value[n];
				shape.k = draw->k.value[k];
				r = run_drawn(draw, kernel, &shape, result);
			}
		}
	}
	return r;
}

static void verify_one(const struct verify_kernel *kernel, const struct emu_object *object, const struct verify_options *options,
		       struct verify_result *result)
{
	const struct emu_kernel *code = emu_object_find(object, kernel->name);
	unsigned launches = options->depth == VERIFY_QUICK ? QUICK_LAUNCHES : NORMAL_LAUNCHES;
	struct draw draw;

	if (!code) {
		result->status = error_set(&result->error, -ENOENT, "the code object has no kernel of this name");
		return;
	}
	draw_init(&draw, kernel, options);
	if (options->depth == VERIFY_ALL) {
		result->status = run_all_sizes(&draw, code, result);
		return;
	}
	for (; result->status == 0 && draw.launch < launches; draw.launch++) {
		struct problem_shape shape = choose_shape(&draw);

		result->status = run_drawn(&draw, code, &shape, result);
	}
}

/* ---- all kernels ------------------------------------------------------------------------------------------------------ */

struct work {
	const struct emu_object *object;
	const struct verify_kernel *kernels;
	size_t n_kernels;
	const struct verify_options *options;
	struct verify_result *results;
	bool *done;			/* protected by lock */
	pthread_mutex_t lock;
	pthread_cond_t finished;
	atomic_size_t next;
};

static void *verify_thread(void *userdata)
{
	struct work *work = userdata;

	for (;;) {
		size_t i = atomic_fetch_add(&work->next, 1);
		if (i >= work->n_kernels)
			return NULL;
		verify_one(&work->kernels[i], work->object, work->options, &work->results[i]);
		pthread_mutex_lock(&work->lock);
		work->done[i] = true;
		pthread_cond_signal(&work->finished);
		pthread_mutex_unlock(&work->lock);
	}
}

static void note_result(const struct verify_kernel *kernel, const struct verify_result *result, struct verify_summary *summary,
			struct error *error)
{
	if (result->status < 0 && !summary->failed++)
		error_set(error, -EBADMSG, "kernel '%s': %s", kernel->name, error_text(&result->error, result->status));
	summary->kernels++;
	summary->launches += result->launches;
	summary->instructions += result->instructions;
	summary->worst = MAX(summary->worst, result->worst);
}

/* Reports in order while the threads work on. */
static void collect(struct work *work, verify_report report, void *userdata, struct verify_summary *summary, struct error *error)
{
	for (size_t i = 0; i < work->n_kernels; i++) {
		pthread_mutex_lock(&work->lock);
		while (!work->done[i])
			pthread_cond_wait(&work->finished, &work->lock);
		pthread_mutex_unlock(&work->lock);
		note_result(&work->kernels[i], &work->results[i], summary, error);
		if (report)
			report(userdata, &work->kernels[i], &work->results[i]);
	}
}

static int run_threads(struct work *work, verify_report report, void *userdata, struct verify_summary *summary, struct error *error)
{
	unsigned n = MAX(work->options->threads, 1u), started = 0;
	_cleanup_free_ pthread_t *threads = calloc(n, sizeof(*threads));

	if (!threads)
		return -ENOMEM;
	while (started < n && pthread_create(&threads[started], NULL, verify_thread, work) == 0)
		started++;
	if (!started)
		return error_set(error, -EAGAIN, "cannot start a thread");
	collect(work, report, userdata, summary, error);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return summary->failed ? -EBADMSG : 0;
}

int verify_code_object(const uint8_t *bytes, size_t size, const char *arch, const struct verify_kernel *kernels, size_t n_kernels,
		       const struct verify_options *options, verify_report report, void *userdata, struct verify_summary *ret_summary,
		       struct error *error)
{
	_cleanup_(emu_object_unref_p) struct emu_object *object = NULL;
	_cleanup_buffer_ struct buffer elf = { 0 };
	_cleanup_free_ struct verify_result *results = calloc(n_kernels + 1, sizeof(*results));
	_cleanup_free_ bool *done = calloc(n_kernels + 1, sizeof(*done));
	struct verify_summary summary = { 0 };

	if (!results || !done)
		return -ENOMEM;
	int r = bundle_read(bytes, size, arch, &elf, error);
	if (r < 0)
		return r;
	r = emu_object_load(elf.data, elf.size, &object, error);
	if (r < 0)
		return r;
	struct work work = {
		.object = object,
		.kernels = kernels,
		.n_kernels = n_kernels,
		.options = options,
		.results = results,
		.done = done,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.finished = PTHREAD_COND_INITIALIZER,
	};
	r = run_threads(&work, report, userdata, &summary, error);
	if (r == 0 || r == -EBADMSG)
		*ret_summary = summary;
	return r;
}
