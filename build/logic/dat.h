/* SPDX-License-Identifier: MIT */
/* MessagePack as the .dat files have it, and the pieces that the files of a base and the master share. Internal to build/logic. */
#pragma once

#include "build/logic/problem.h"

#include <msgpack.h>

/* A packer that appends to a buffer; running out of memory shows in buffer->failed. */
void dat_packer_init(msgpack_packer *packer, struct buffer *buffer);

void dat_string(msgpack_packer *packer, const char *string);
void dat_map(msgpack_packer *packer, size_t n);
void dat_list(msgpack_packer *packer, size_t n);
void dat_bool(msgpack_packer *packer, bool value);
void dat_int(msgpack_packer *packer, int64_t value);
void dat_ints(msgpack_packer *packer, const int32_t *values, size_t n);
void dat_value(msgpack_packer *packer, const struct logic_value *value);

/* A map entry: key and value. */
void dat_key_string(msgpack_packer *packer, const char *key, const char *value);
void dat_key_bool(msgpack_packer *packer, const char *key, bool value);
void dat_key_int(msgpack_packer *packer, const char *key, int64_t value);
void dat_key_value(msgpack_packer *packer, const char *key, const struct logic_value *value);

/* {"type": type, "value": (what the caller packs next)} */
void dat_predicate(msgpack_packer *packer, const char *type);

/* Whole predicates. */
void dat_predicate_int(msgpack_packer *packer, const char *type, int64_t value);
void dat_predicate_value(msgpack_packer *packer, const char *type, const struct logic_value *value);
void dat_predicate_string(msgpack_packer *packer, const char *type, const char *value);
void dat_true_predicate(msgpack_packer *packer);
void dat_hardware_predicate(msgpack_packer *packer, const char *arch, int cu_count);

/* The predicates that tell problem types apart (Contractions.ProblemType.predicates, includeType). */
#define DAT_TYPE_PREDICATES 16
void dat_type_predicates(msgpack_packer *packer, const struct logic_problem *problem);

/* "None", "Hipblaslt_all" ... */
const char *dat_activation_name(enum logic_activation activation);

/* The parts of a solution by which the host launches its kernel: {"sizeMapping": {...}, "internalArgsSupport": {...}}. */
struct loaded_solution;
void dat_pack_launch(const struct loaded_solution *loaded, struct buffer *ret_dat);
