/* SPDX-License-Identifier: MIT */
/*
 * The data types of logic files, under the numbers that logic files use for them (enum gemm_type has the ones kernels are made
 * for), and the values of parameters. Internal to build/logic.
 */
#pragma once

#include "base/buffer.h"
#include "build/logic/tree.h"

struct logic_type {
	const char *letters;		/* in file and kernel names: "S", "H", "F8B8" */
	const char *name;		/* in .dat files: "Float", "Half", "Float8BFloat8" */
	unsigned quarter_registers;	/* size in bytes; 0 is no type */
};

#define LOGIC_N_TYPES 15

/* NULL for a number that is no type. */
const struct logic_type *logic_type(int number);

/* The number of a type that is given as such, or by its letters or name in any case. -EINVAL. */
int logic_type_parse(const struct yaml_value *value);

enum { LOGIC_LIST = YAML_STRING + 1 };	/* continues enum yaml_type */

struct logic_value {
	uint8_t type;			/* enum yaml_type, LOGIC_LIST; YAML_NULL is also "absent" */
	uint8_t n;			/* of a list */
	union {
		int64_t integer;	/* YAML_INT, YAML_BOOL */
		double real;
		const char *string;
		const int32_t *items;
	};
};

#define LOGIC_INT(v) ((struct logic_value){ .type = YAML_INT, .integer = (v) })
#define LOGIC_BOOL(v) ((struct logic_value){ .type = YAML_BOOL, .integer = (v) })

/* Equal as the peer compares: true is 1, and 1 is 1.0. */
bool logic_value_equal(const struct logic_value *a, const struct logic_value *b);

/* Less than, equal to or greater than 0, as the peer sorts: numbers by size, strings by their characters. */
int logic_value_compare(const struct logic_value *a, const struct logic_value *b);

/* The same for hashing: equal values have equal digests. */
uint64_t logic_value_digest(const struct logic_value *value);

/* Whether it counts as true: not 0, not "", not absent. */
bool logic_value_true(const struct logic_value *value);

void logic_value_print(const struct logic_value *value, struct buffer *text);
