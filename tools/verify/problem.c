/* SPDX-License-Identifier: MIT */
#include "tools/verify/problem.h"

#include "base/macro.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const tensor_names[PROBLEM_TENSORS] = { "A", "B", "C", "D", "bias", "scaleAlphaVec", "scaleA", "scaleB" };

enum { D_PATTERN = 0xa5 };

#define FAR_ADDRESS UINT64_C(0x100000000000)	/* below what the emulator chooses by itself */
#define FAR_ROOM (UINT64_C(64) << 30)

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

static uint8_t *element(const struct tensor *tensor, uint32_t row, uint32_t column, uint32_t batch)
{
	uint64_t index = row + (uint64_t)column * tensor->stride1 + batch * tensor->host_stride2;

	return tensor->data + index * gemm_type_bytes(tensor->type);
}

static bool is_far(const struct problem_shape *shape, enum problem_tensor which)
{
	return shape->far && shape->batch > 1 && which <= PROBLEM_D && !shape->broadcast[which];
}

static struct tensor make_tensor(const struct problem_shape *shape, enum problem_tensor which, enum gemm_type type, uint32_t rows,
				 uint32_t columns, uint32_t batch)
{
	struct tensor tensor = { .type = type, .rows = rows, .columns = columns, .batch = batch };
	unsigned bytes = gemm_type_bytes(type);

	tensor.stride1 = rows + shape->pad[which];
	tensor.stride2 = shape->broadcast[which] ? 0 : tensor.stride1 * columns + 2 * shape->pad[which];
	if (rows && columns)
		tensor.batch_size = ((size_t)(columns - 1) * tensor.stride1 + rows) * bytes;
	tensor.host_stride2 = tensor.stride2;
	if (is_far(shape, which)) {
		tensor.stride2 = 0xfffff12f - (uint32_t)which;
		tensor.host_stride2 = tensor.batch_size / bytes;
	}
	if (tensor.batch_size && batch)
		tensor.size = (size_t)(batch - 1) * tensor.host_stride2 * bytes + tensor.batch_size;
	return tensor;
}

static void lay_out(struct problem *problem)
{
	const struct gemm_problem_type *type = &problem->config->params.problem;
	const struct problem_shape *s = &problem->shape;
	struct tensor *tensor = problem->tensor;

	tensor[PROBLEM_A] = make_tensor(s, PROBLEM_A, type->a, type->trans_a ? s->k : s->m, type->trans_a ? s->m : s->k, s->batch);
	tensor[PROBLEM_B] = make_tensor(s, PROBLEM_B, type->b, type->trans_b ? s->n : s->k, type->trans_b ? s->k : s->n, s->batch);
	tensor[PROBLEM_C] = make_tensor(s, s->in_place ? PROBLEM_D : PROBLEM_C, type->c, s->m, s->n, s->batch);
	tensor[PROBLEM_D] = make_tensor(s, PROBLEM_D, type->d, s->m, s->n, s->batch);
	tensor[PROBLEM_BIAS] = make_tensor(s, PROBLEM_BIAS, s->bias_type, s->m, 1, s->batch);
	tensor[PROBLEM_SCALE_ALPHA_VEC] = make_tensor(s, PROBLEM_SCALE_ALPHA_VEC, GEMM_F32, s->m, 1, 1);
	tensor[PROBLEM_SCALE_A] = make_tensor(s, PROBLEM_SCALE_A, GEMM_F32, 1, 1, 1);
	tensor[PROBLEM_SCALE_B] = make_tensor(s, PROBLEM_SCALE_B, GEMM_F32, 1, 1, 1);
}

static double draw(enum problem_tensor which, bool integers, struct random *random)
{
	bool factor = which >= PROBLEM_SCALE_ALPHA_VEC;

	if (!integers)
		return factor ? 1 + random_real(random) / 2 : random_real(random);
	return factor ? (const double[]){ 1, 2, -1, 0.5 }[random_below(random, 4)] : (double)random_below(random, 5) - 2;
}

/* NaN everywhere, then the elements that the problem has. */
static void fill(struct tensor *tensor, enum problem_tensor which, bool integers, struct random *random)
{
	unsigned bytes = gemm_type_bytes(tensor->type);

	for (size_t at = 0; at + bytes <= tensor->size; at += bytes)
		value_store(tensor->type, tensor->data + at, NAN);
	for (uint32_t b = 0; b < tensor->batch; b++)
		for (uint32_t c = 0; c < tensor->columns; c++)
			for (uint32_t r = 0; r < tensor->rows; r++)
				value_store(tensor->type, element(tensor, r, c, b), draw(which, integers, random));
}

/* C is all NaN when beta is 0: it must not matter. */
static void fill_all(struct problem *problem, struct random *random)
{
	const struct problem_shape *shape = &problem->shape;

	for (enum problem_tensor i = 0; i < PROBLEM_TENSORS; i++) {
		struct tensor *tensor = &problem->tensor[i];

		if (!tensor->data || i == PROBLEM_D)
			continue;
		fill(tensor, i, shape->integers, random);
		for (size_t at = 0; i == PROBLEM_C && shape->beta == 0 && at < tensor->size; at += gemm_type_bytes(tensor->type))
			value_store(tensor->type, tensor->data + at, NAN);
	}
	struct tensor *d = &problem->tensor[PROBLEM_D];
	memset(d->data, D_PATTERN, d->size);
	if (shape->in_place) {
		fill(d, PROBLEM_C, shape->integers, random);
		memcpy(problem->c_before, d->data, d->size);
	}
}

/* One region for all batches, or one for each. A place is first taken by an empty region; the tensor begins `misaligned` elements later. */
static int add_regions(const struct problem *problem, enum problem_tensor which, struct emu_memory *memory, struct tensor *tensor)
{
	unsigned access = which == PROBLEM_D ? EMU_READ | EMU_WRITE : EMU_READ, bytes = gemm_type_bytes(tensor->type);
	unsigned shift = problem->shape.misaligned * bytes;
	char name[64];
	uint64_t place;
	int r = 0;

	snprintf(name, sizeof(name), "%s of GEMM %u", tensor_names[which], problem->index);
	if (is_far(&problem->shape, which)) {
		/* a 4 GiB boundary in its middle: carries into the upper half of addresses */
		tensor->address = FAR_ADDRESS + (problem->index * PROBLEM_TENSORS + (uint64_t)which) * FAR_ROOM + shift -
				  tensor->batch_size / 2 / 16 * 16;
		for (uint32_t b = 0; r == 0 && b < tensor->batch; b++)
			r = emu_memory_add_at(memory, name, tensor->address + (uint64_t)b * tensor->stride2 * bytes,
					      tensor->batch_size, access, tensor->data + b * tensor->batch_size);
		return r;
	}
	if (!shift)
		return emu_memory_add(memory, name, tensor->size, access, tensor->data, &tensor->address);
	r = emu_memory_add(memory, name, 0, access, tensor->data, &place);
	if (r < 0)
		return r;
	tensor->address = place + shift;
	return emu_memory_add_at(memory, name, tensor->address, tensor->size, access, tensor->data);
}

/* A problem that is not strided batched passes A, B, C, D and bias as arrays of pointers. */
static int make_argument(const struct problem *problem, enum problem_tensor which, struct emu_memory *memory, struct tensor *tensor)
{
	size_t size = tensor->batch * sizeof(uint64_t);

	tensor->argument = tensor->address;
	if (problem->config->params.problem.strided_batched || which > PROBLEM_BIAS || !tensor->address)
		return 0;
	int r = emu_memory_add(memory, "pointers", size, EMU_READ, NULL, &tensor->argument);
	if (r < 0)
		return r;
	uint64_t *pointers = emu_memory_host(memory, tensor->argument, size);
	for (uint32_t b = 0; b < tensor->batch; b++)
		pointers[b] = tensor->address + (uint64_t)b * tensor->stride2 * gemm_type_bytes(tensor->type);
	return 0;
}

int problem_init(struct problem *ret_problem, const struct gemm_config *config, const struct problem_shape *shape, struct random *random,
		 struct emu_memory *memory, unsigned index, struct error *error)
{
	*ret_problem = (struct problem){ .config = config, .shape = *shape, .index = index };
	lay_out(ret_problem);
	for (enum problem_tensor i = 0; i < PROBLEM_TENSORS; i++) {
		struct tensor *tensor = &ret_problem->tensor[i];
		bool alias = shape->in_place && i == PROBLEM_C;

		if (shape->null[i] || alias)
			continue;
		tensor->data = malloc(MAX(tensor->size, (size_t)1));
		if (!tensor->data)
			return -ENOMEM;
		int r = add_regions(ret_problem, i, memory, tensor);
		if (r < 0)
			return error_set(error, r, "no place for %s of GEMM %u in the emulator's memory", tensor_names[i], index);
	}
	if (shape->in_place) {
		ret_problem->tensor[PROBLEM_C].address = ret_problem->tensor[PROBLEM_D].address;
		ret_problem->c_before = malloc(MAX(ret_problem->tensor[PROBLEM_D].size, (size_t)1));
		if (!ret_problem->c_before)
			return -ENOMEM;
	}
	for (enum problem_tensor i = 0; i < PROBLEM_TENSORS; i++) {
		int r = make_argument(ret_problem, i, memory, &ret_problem->tensor[i]);
		if (r < 0)
			return r;
	}
	fill_all(ret_problem, random);
	return 0;
}

void problem_release(struct problem *problem)
{
	for (enum problem_tensor i = 0; i < PROBLEM_TENSORS; i++)
		free(problem->tensor[i].data);
	free(problem->c_before);
	*problem = (struct problem){ 0 };
}

/* ---- the reference ---------------------------------------------------------------------------------------------------- */

struct reference {		/* one batch */
	double *a, *b;		/* [m][k] and [n][k] */
	double *scale, *bias;	/* [m] */
};

static void reference_release(struct reference *reference)
{
	free(reference->a);
	free(reference->b);
	free(reference->scale);
	free(reference->bias);
}

/* [free][k], whichever of the two lies side by side in memory. */
static double *decode_matrix(const struct tensor *tensor, bool k_first, uint32_t batch)
{
	uint32_t k = k_first ? tensor->rows : tensor->columns, n = k_first ? tensor->columns : tensor->rows;
	double *values = malloc(((size_t)n * k + 1) * sizeof(*values));

	for (uint32_t i = 0; values && tensor->data && i < n; i++)
		for (uint32_t j = 0; j < k; j++)
			values[(size_t)i * k + j] =
				value_load(tensor->type, k_first ? element(tensor, j, i, batch) : element(tensor, i, j, batch));
	return values;
}

static double *decode_vector(const struct tensor *tensor, uint32_t batch, double otherwise)
{
	double *values = malloc(((size_t)tensor->rows + 1) * sizeof(*values));

	for (uint32_t i = 0; values && i < tensor->rows; i++)
		values[i] = tensor->data ? value_load(tensor->type, element(tensor, i, 0, batch)) : otherwise;
	return values;
}

static double scalar(const struct tensor *tensor)
{
	return tensor->data ? value_load(tensor->type, tensor->data) : 1;
}

static int reference_init(const struct problem *problem, uint32_t batch, struct reference *ret_reference)
{
	const struct gemm_problem_type *type = &problem->config->params.problem;
	const struct tensor *tensor = problem->tensor;
	double common = problem->shape.alpha * scalar(&tensor[PROBLEM_SCALE_A]) * scalar(&tensor[PROBLEM_SCALE_B]);

	*ret_reference = (struct reference){
		.a = decode_matrix(&tensor[PROBLEM_A], type->trans_a, batch),
		.b = decode_matrix(&tensor[PROBLEM_B], !type->trans_b, batch),
		.scale = decode_vector(&tensor[PROBLEM_SCALE_ALPHA_VEC], 0, 1),
		.bias = decode_vector(&tensor[PROBLEM_BIAS], batch, 0),
	};
	if (!ret_reference->a || !ret_reference->b || !ret_reference->scale || !ret_reference->bias)
		return -ENOMEM;
	for (uint32_t i = 0; i < problem->shape.m; i++)
		ret_reference->scale[i] *= common;
	return 0;
}

struct expected {
	double value, bound;	/* D before its rounding; bound of the error without it */
};

static void apply_activation(uint32_t activation, double u, struct expected *e)
{
	double x = e->value;

	if (activation == GEMM_ACTIVATION_RELU) {
		e->value = x > 0 ? x : 0;
	} else if (activation == GEMM_ACTIVATION_GELU) {
		const double k0 = 0.7978845608028654, k1 = 0.044715;
		e->value = 0.5 * x * (1 + tanh(k0 * x * (1 + k1 * x * x)));
		e->bound = 1.13 * e->bound + 16 * u * fabs(x);
	}
}

static struct expected expect(const struct problem *problem, const struct reference *reference, uint32_t m, uint32_t n, double c)
{
	const struct problem_shape *shape = &problem->shape;
	uint32_t k = shape->alpha == 0 ? 0 : shape->k;
	const double *a = reference->a + (size_t)m * shape->k, *b = reference->b + (size_t)n * shape->k;
	double sum = 0, size = 0, u = 0x1p-24, scale = reference->scale[m];

	for (uint32_t i = 0; i < k; i++) {
		sum += a[i] * b[i];
		size += fabs(a[i] * b[i]);
	}
	struct expected e = { .value = scale * sum };
	e.bound = fabs(scale) * u * (k + 8) * size + 4 * u * fabs(e.value);
	if (shape->beta != 0) {
		e.value += shape->beta * c;
		e.bound += u * fabs(e.value);
	}
	e.value += reference->bias[m];
	e.bound += u * fabs(e.value) + 0x1p-126;
	if (shape->integers)
		e.bound = 0;
	apply_activation(shape->activation, u, &e);
	return e;
}

/* ---- the judgement ---------------------------------------------------------------------------------------------------- */

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* How far `got` is from what is expected, as a part of what is allowed: above 1 is wrong. */
static double badness(enum gemm_type type, const struct expected *e, double got)
{
	uint8_t place[8];

	value_store(type, place, e->value);
	if (same(value_load(type, place), got))
		return 0;
	if (e->bound == 0)
		return INFINITY;
	/* the rounding of whatever lies within the bound, at its worst; the largest numbers may round to infinity */
	double edge = fabs(e->value) + e->bound, allowed = e->bound + value_half_ulp(type, edge);
	value_store(type, place, edge);
	if (isinf(got) && isinf(value_load(type, place)) && signbit(got) == signbit(e->value))
		return 1;
	double part = fabs(got - e->value) / allowed;
	return isnan(part) ? INFINITY : part;
}

static int check_batch(const struct problem *problem, const struct reference *reference, uint32_t batch, double *worst,
		       struct error *error)
{
	const struct tensor *d = &problem->tensor[PROBLEM_D];
	struct tensor c = problem->tensor[PROBLEM_C];

	if (problem->shape.in_place)
		c.data = problem->c_before;
	for (uint32_t n = 0; n < problem->shape.n; n++) {
		for (uint32_t m = 0; m < problem->shape.m; m++) {
			double before = c.data ? value_load(c.type, element(&c, m, n, batch)) : 0;
			struct expected e = expect(problem, reference, m, n, before);
			double got = value_load(d->type, element(d, m, n, batch)), part = badness(d->type, &e, got);

			*worst = MAX(*worst, part);
			if (part <= 1)
				continue;
			if (e.bound == 0)
				return error_set(error, -EBADMSG, "D[%u, %u, %u] is %.9g instead of %.9g", m, n, batch, got, e.value);
			return error_set(error, -EBADMSG, "D[%u, %u, %u] is %.9g instead of %.9g, which is %.3g times the error bound", m,
					 n, batch, got, e.value, part);
		}
	}
	return 0;
}

/* Everything in D's extent that is no element of D is as it was. */
static int check_gaps(const struct problem *problem, struct error *error)
{
	const struct tensor *d = &problem->tensor[PROBLEM_D];
	unsigned bytes = gemm_type_bytes(d->type);
	_cleanup_free_ uint8_t *owned = calloc(d->size / bytes + 1, 1);

	if (!owned)
		return -ENOMEM;
	for (uint32_t b = 0; b < d->batch; b++)
		for (uint32_t c = 0; c < d->columns; c++)
			for (uint32_t r = 0; r < d->rows; r++)
				owned[(size_t)(element(d, r, c, b) - d->data) / bytes] = 1;
	for (size_t at = 0; at < d->size; at++) {
		uint8_t before = problem->c_before ? problem->c_before[at] : D_PATTERN;

		if (!owned[at / bytes] && d->data[at] != before)
			return error_set(error, -EBADMSG, "D was written between its columns, %zu bytes from its start", at);
	}
	return 0;
}

int problem_check(const struct problem *problem, double *worst, struct error *error)
{
	int r = check_gaps(problem, error);

	for (uint32_t batch = 0; r == 0 && batch < problem->shape.batch; batch++) {
		_cleanup_(reference_release) struct reference reference = { 0 };

		r = reference_init(problem, batch, &reference);
		if (r == 0)
			r = check_batch(problem, &reference, batch, worst, error);
	}
	return r;
}

void problem_describe(const struct problem *problem, char *text, size_t size)
{
	const struct problem_shape *s = &problem->shape;

	snprintf(text, size, "M %u, N %u, K %u, batch %u, alpha %g, beta %g, activation %u, %s data%s%s%s%s%s", s->m, s->n, s->k, s->batch,
		 s->alpha, s->beta, s->activation, s->integers ? "integer" : "real", s->in_place ? ", C is D" : "",
		 s->null[PROBLEM_BIAS] ? "" : ", bias ", s->null[PROBLEM_BIAS] ? "" : gemm_type_name(s->bias_type),
		 s->misaligned ? ", misaligned" : "", s->far ? ", far apart" : "");
}
