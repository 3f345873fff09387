/* SPDX-License-Identifier: MIT */
#include "build/logic/dat.h"

static int write_bytes(void *data, const char *bytes, size_t size)
{
	struct buffer *buffer = data;

	buffer_append(buffer, bytes, size);
	return buffer->failed ? -1 : 0;
}

void dat_packer_init(msgpack_packer *packer, struct buffer *buffer)
{
	msgpack_packer_init(packer, buffer, write_bytes);
}

void dat_string(msgpack_packer *packer, const char *string)
{
	size_t length = strlen(string);

	msgpack_pack_str(packer, length);
	msgpack_pack_str_body(packer, string, length);
}

void dat_map(msgpack_packer *packer, size_t n)
{
	msgpack_pack_map(packer, n);
}

void dat_list(msgpack_packer *packer, size_t n)
{
	msgpack_pack_array(packer, n);
}

void dat_bool(msgpack_packer *packer, bool value)
{
	if (value)
		msgpack_pack_true(packer);
	else
		msgpack_pack_false(packer);
}

void dat_int(msgpack_packer *packer, int64_t value)
{
	msgpack_pack_int64(packer, value);	/* in the fewest bytes */
}

void dat_ints(msgpack_packer *packer, const int32_t *values, size_t n)
{
	dat_list(packer, n);
	for (size_t i = 0; i < n; i++)
		dat_int(packer, values[i]);
}

void dat_value(msgpack_packer *packer, const struct logic_value *value)
{
	switch (value->type) {
	case YAML_NULL:
		msgpack_pack_nil(packer);
		return;
	case YAML_BOOL:
		return dat_bool(packer, value->integer != 0);
	case YAML_INT:
		return dat_int(packer, value->integer);
	case YAML_FLOAT:
		msgpack_pack_double(packer, value->real);
		return;
	case YAML_STRING:
		return dat_string(packer, value->string);
	default:
		return dat_ints(packer, value->items, value->n);
	}
}

void dat_key_string(msgpack_packer *packer, const char *key, const char *value)
{
	dat_string(packer, key);
	dat_string(packer, value);
}

void dat_key_bool(msgpack_packer *packer, const char *key, bool value)
{
	dat_string(packer, key);
	dat_bool(packer, value);
}

void dat_key_int(msgpack_packer *packer, const char *key, int64_t value)
{
	dat_string(packer, key);
	dat_int(packer, value);
}

void dat_key_value(msgpack_packer *packer, const char *key, const struct logic_value *value)
{
	dat_string(packer, key);
	dat_value(packer, value);
}

void dat_predicate(msgpack_packer *packer, const char *type)
{
	dat_map(packer, 2);
	dat_key_string(packer, "type", type);
	dat_string(packer, "value");
}

void dat_predicate_int(msgpack_packer *packer, const char *type, int64_t value)
{
	dat_predicate(packer, type);
	dat_int(packer, value);
}

void dat_predicate_value(msgpack_packer *packer, const char *type, const struct logic_value *value)
{
	dat_predicate(packer, type);
	dat_value(packer, value);
}

void dat_predicate_string(msgpack_packer *packer, const char *type, const char *value)
{
	dat_predicate(packer, type);
	dat_string(packer, value);
}

void dat_true_predicate(msgpack_packer *packer)
{
	dat_map(packer, 1);
	dat_key_string(packer, "type", "TruePred");
}

void dat_hardware_predicate(msgpack_packer *packer, const char *arch, int cu_count)
{
	dat_predicate(packer, "AMDGPU");
	if (cu_count) {
		dat_predicate(packer, "And");
		dat_list(packer, 2);
	}
	dat_predicate_string(packer, "Processor", arch);
	if (cu_count)
		dat_predicate_int(packer, "CUCount", cu_count);
}

const char *dat_activation_name(enum logic_activation activation)
{
	static const char *const names[] = {
		[LOGIC_ACTIVATION_NONE] = "None", [LOGIC_ACTIVATION_ALL] = "All", [LOGIC_ACTIVATION_HIPBLASLT_ALL] = "Hipblaslt_all",
	};
	return names[activation];
}

void dat_type_predicates(msgpack_packer *packer, const struct logic_problem *problem)
{
	int a, b;

	logic_problem_operands(problem, &a, &b);
	const int types[] = { a, b, problem->d, problem->d, problem->in };
	dat_predicate(packer, "TypesEqual");
	dat_list(packer, ARRAY_SIZE(types));
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		dat_string(packer, logic_type(types[i])->name);
	dat_predicate_value(packer, "HighPrecisionAccumulate", &problem->hpa);
	dat_predicate_string(packer, "Activation", dat_activation_name(problem->activation));
	dat_predicate_string(packer, "ActivationComputeType", logic_type(problem->activation_compute)->name);
	dat_predicate_value(packer, "ActivationNoGuard", &problem->activation_no_guard);
	dat_predicate_value(packer, "UseGradient", &problem->gradient);
	dat_predicate_value(packer, "UseBias", &problem->use_bias);
	dat_predicate_value(packer, "UseE", &problem->use_e);
	dat_predicate_value(packer, "StridedBatched", &problem->strided_batched);
	dat_predicate_value(packer, "GroupedGemm", &problem->grouped);
	dat_predicate_value(packer, "UseScaleAB", &problem->scale_ab);
	dat_predicate_value(packer, "UseScaleCD", &problem->scale_cd);
	dat_predicate_value(packer, "UseScaleAlphaVec", &problem->scale_alpha_vec);
	dat_predicate_int(packer, "Sparse", problem->sparse);
	dat_predicate_string(packer, "F32XdlMathOp", logic_type(problem->f32_xdl)->name);
	dat_predicate_value(packer, "SupportDeviceUserArguments", &problem->user_args);
}
