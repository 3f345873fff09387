/* SPDX-License-Identifier: MIT */
#include "build/engine/plan.h"

#include "cachedb/digest.h"
#include "build/engine/generator_id.h"

#include <zstd.h>

/*
 * The canonical form of a kernel's parameters: every field in order of declaration as 32 bits, so that padding and pointers have no
 * part. A field that is missing here would let two different kernels have one hash, so the sizes are checked: whoever
 * adds a field adds it here too.
 */
_Static_assert(sizeof(struct gemm_problem_type) == 68, "write_problem() must write every field of struct gemm_problem_type");
_Static_assert(sizeof(struct gemm_params) == 240, "write_params() must write every field of struct gemm_params");

static void write_number(struct buffer *buffer, int64_t number)
{
	uint32_t value = (uint32_t)number;
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24) };

	buffer_append(buffer, bytes, sizeof(bytes));
}

static void write_numbers(struct buffer *buffer, const int *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		write_number(buffer, numbers[i]);
}

#define WRITE(field) write_number(buffer, p->field)
#define WRITE_ARRAY(field) write_numbers(buffer, p->field, ARRAY_SIZE(p->field))

static void write_problem(struct buffer *buffer, const struct gemm_problem_type *p)
{
	WRITE(a), WRITE(b), WRITE(c), WRITE(d), WRITE(compute), WRITE(mfma_in);
	WRITE(trans_a), WRITE(trans_b);
	WRITE(use_beta);
	WRITE(use_bias);
	WRITE(n_bias_types);
	for (size_t i = 0; i < MIN(p->n_bias_types, ARRAY_SIZE(p->bias_types)); i++)
		WRITE(bias_types[i]);
	WRITE(activation);
	WRITE(activation_compute);
	WRITE(scale_ab), WRITE(scale_cd), WRITE(scale_alpha_vec);
	WRITE(use_e), WRITE(gradient), WRITE(amax_d), WRITE(stochastic_rounding), WRITE(sparse);
	/* not `grouped`: it does not change the kernel */
	WRITE(user_args);
	WRITE(strided_batched);
}

static void write_params(struct buffer *buffer, const struct gemm_params *p)
{
	write_problem(buffer, &p->problem);
	WRITE_ARRAY(mi);
	WRITE_ARRAY(mi_wave_group), WRITE_ARRAY(mi_wave_tile);
	WRITE_ARRAY(macro_tile);
	WRITE(depth_u);
	WRITE(num_threads);
	WRITE(local_split_u), WRITE(global_split_u);
	WRITE(prefetch_global_read);
	WRITE(one_lds_buffer);
	WRITE(transpose_lds);
	WRITE_ARRAY(lds_pad), WRITE_ARRAY(lds_block_size_per_pad);
	WRITE_ARRAY(global_read_vector_width);
	WRITE_ARRAY(num_loads_coalesced);
	WRITE(local_read_vector_width);
	WRITE_ARRAY(vector_width);
	WRITE(source_swap);
	WRITE_ARRAY(assert_free_multiple);
	WRITE(assert_summation_multiple);
	WRITE_ARRAY(non_temporal);
	WRITE(direct_to_lds), WRITE_ARRAY(direct_to_vgpr), WRITE(stream_k);
	buffer_append(buffer, p->custom_kernel ? p->custom_kernel : "", strlen(p->custom_kernel ? p->custom_kernel : "") + 1);
}

/* What every linked object depends on. */
static void begin_object(struct digest *digest, const struct plan_options *options, const char *kind, const char *arch)
{
	digest_init(digest, kind);
	digest_string(digest, GENERATOR_ID);
	digest_string(digest, options->linker);
	digest_string(digest, arch);
}

int plan_hash_code_object(const struct plan_options *options, const char *arch, const struct logic_library *logic,
			  struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };
	_cleanup_buffer_ struct buffer buffer = { 0 };
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(logic, &n_solutions);
	const size_t *kernels = logic_kernels(logic, &n_kernels);

	begin_object(&digest, options, "tensilefs code object", arch);
	digest_number(&digest, options->bundle);
	/* The one part of a file that a library of the system writes: object.h. */
	digest_number(&digest, options->bundle == BUNDLE_COMPRESSED ? ZSTD_versionNumber() : 0);
	for (size_t i = 0; i < n_kernels; i++) {
		const struct logic_solution *solution = &solutions[kernels[i]];
		buffer.size = 0;
		write_params(&buffer, &solution->params);
		digest_string(&digest, solution->kernel_name);
		digest_bytes(&digest, buffer.data, buffer.size);
	}
	return buffer.failed ? -ENOMEM : digest_finish(&digest, ret_hash);
}

int plan_hash_helper(const struct plan_options *options, const char *arch, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	begin_object(&digest, options, "tensilefs helper object", arch);
	return digest_finish(&digest, ret_hash);
}

int plan_hash_metadata(const struct buffer *dat, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs metadata");
	digest_bytes(&digest, dat->data, dat->size);
	return digest_finish(&digest, ret_hash);
}

int plan_hash_raw(const struct cachedb_key *hash, struct cachedb_key *ret_hash)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs raw object");
	digest_bytes(&digest, hash->bytes, sizeof(hash->bytes));
	return digest_finish(&digest, ret_hash);
}

int plan_memo(const struct plan_options *options, enum engine_kind kind, const char *name, const struct cachedb_key *identity,
	      struct cachedb_key *ret_memo)
{
	_cleanup_(digest_release) struct digest digest = { 0 };

	digest_init(&digest, "tensilefs memo");
	digest_string(&digest, GENERATOR_ID);
	digest_string(&digest, options->linker ? options->linker : "");
	digest_number(&digest, options->bundle);
	digest_number(&digest, options->bundle == BUNDLE_COMPRESSED ? ZSTD_versionNumber() : 0);
	digest_number(&digest, options->names_tensile);
	digest_number(&digest, options->keep_all);
	digest_number(&digest, kind);
	digest_string(&digest, name);
	digest_bytes(&digest, identity->bytes, sizeof(identity->bytes));
	return digest_finish(&digest, ret_memo);
}
