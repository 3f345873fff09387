/* SPDX-License-Identifier: MIT */
#include "build/logic/types.h"

#include <inttypes.h>
#include <strings.h>

static const struct logic_type types[LOGIC_N_TYPES] = {
	[0] = { "S", "Float", 4 },
	[1] = { "D", "Double", 8 },
	[2] = { "C", "ComplexFloat", 8 },
	[3] = { "Z", "ComplexDouble", 16 },
	[4] = { "H", "Half", 2 },
	[5] = { "4xi8", "Int8x4", 4 },
	[6] = { "I", "Int32", 4 },
	[7] = { "B", "BFloat16", 2 },
	[8] = { "I8", "Int8", 1 },
	[9] = { "I64", "Int64", 8 },
	[10] = { "X", "XFloat32", 4 },
	[11] = { "F8", "Float8", 1 },
	[12] = { "B8", "BFloat8", 1 },
	[13] = { "F8B8", "Float8BFloat8", 1 },
	[14] = { "B8F8", "BFloat8Float8", 1 },
};

const struct logic_type *logic_type(int number)
{
	return number >= 0 && number < LOGIC_N_TYPES ? &types[number] : NULL;
}

int logic_type_parse(const struct yaml_value *value)
{
	if (value->type == YAML_INT)
		return value->integer >= 0 && value->integer < LOGIC_N_TYPES ? (int)value->integer : -EINVAL;
	if (value->type == YAML_STRING)
		for (int i = 0; i < LOGIC_N_TYPES; i++)
			if (strcasecmp(value->string, types[i].letters) == 0 || strcasecmp(value->string, types[i].name) == 0)
				return i;
	return -EINVAL;
}

/* A number as a double when it is one; integers of logic files are far below 2^53. */
static bool as_number(const struct logic_value *value, double *ret_number)
{
	if (value->type == YAML_INT || value->type == YAML_BOOL)
		*ret_number = (double)value->integer;
	else if (value->type == YAML_FLOAT)
		*ret_number = value->real;
	else
		return false;
	return true;
}

bool logic_value_equal(const struct logic_value *a, const struct logic_value *b)
{
	double x, y;

	if (as_number(a, &x) && as_number(b, &y))
		return x == y;
	if (a->type != b->type)
		return false;
	if (a->type == YAML_STRING)
		return strcmp(a->string, b->string) == 0;
	if (a->type == LOGIC_LIST)
		return a->n == b->n && memcmp(a->items, b->items, a->n * sizeof(*a->items)) == 0;
	return true;
}

int logic_value_compare(const struct logic_value *a, const struct logic_value *b)
{
	double x, y;

	if (as_number(a, &x) && as_number(b, &y))
		return (x > y) - (x < y);
	if (a->type == YAML_STRING && b->type == YAML_STRING)
		return strcmp(a->string, b->string);
	return a->type - b->type;	/* the peer sorts no others */
}

static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		digest = (digest ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;	/* FNV-1a */
	return digest;
}

uint64_t logic_value_digest(const struct logic_value *value)
{
	uint64_t digest = 14695981039346656037u;
	double number;

	if (as_number(value, &number)) {
		number += 0.0;		/* -0.0 equals 0.0 */
		return digest_bytes(digest, &number, sizeof(number));
	}
	digest = digest_bytes(digest, &value->type, 1);
	if (value->type == YAML_STRING)
		return digest_bytes(digest, value->string, strlen(value->string));
	if (value->type == LOGIC_LIST)
		return digest_bytes(digest, value->items, value->n * sizeof(*value->items));
	return digest;
}

bool logic_value_true(const struct logic_value *value)
{
	switch (value->type) {
	case YAML_BOOL:
	case YAML_INT:
		return value->integer != 0;
	case YAML_FLOAT:
		return value->real != 0;
	case YAML_STRING:
		return *value->string != 0;
	case LOGIC_LIST:
		return value->n != 0;
	default:
		return false;
	}
}

void logic_value_print(const struct logic_value *value, struct buffer *text)
{
	switch (value->type) {
	case YAML_NULL:
		return buffer_append_string(text, "null");
	case YAML_BOOL:
		return buffer_append_string(text, value->integer ? "true" : "false");
	case YAML_INT:
		return buffer_printf(text, "%" PRId64, value->integer);
	case YAML_FLOAT:
		return buffer_printf(text, "%.17g", value->real);
	case YAML_STRING:
		return buffer_append_string(text, value->string);
	default:
		buffer_append_string(text, "[");
		for (unsigned i = 0; i < value->n; i++)
			buffer_printf(text, "%s%d", i ? ", " : "", value->items[i]);
		return buffer_append_string(text, "]");
	}
}
