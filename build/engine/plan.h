/* SPDX-License-Identifier: MIT */
/*
 * The logic hash of a file: SHA-256 over everything its bytes are a function of.
 *
 * Two keys for one file:
 *     plan_hash_*()   the hash itself, made from what the file consists of. Content in the cache is stored under it.
 *     plan_memo()     made from the identity of the logic files instead. Under it the cache keeps the hash, 32 bytes, so that
 *                     finding a hash again needs no parsing.
 */
#pragma once

#include "base/buffer.h"
#include "build/engine/engine.h"
#include "build/engine/generator.h"
#include "build/engine/library.h"
#include "build/engine/tools.h"

struct plan_options {
	enum bundle_kind bundle;
	bool names_tensile, keep_all, flat;
	enum engine_library library;
	const struct generator *generator;
	const char *build_id;
	const struct tools *tools;
};

int plan_hash_code_object(const struct plan_options *options, const char *arch, const struct logic_library *logic,
			  struct cachedb_key *ret_hash, struct error *error);

/* A helper kernel is known by its name: which of the solutions that ask for it speaks for it makes no difference. */
int plan_hash_helper(const struct plan_options *options, const char *arch, const struct helpers *helpers, struct cachedb_key *ret_hash);

/* One kernel of a generator that makes them one by one: its identity, and what it describes the solution as. */
int plan_hash_kernel(const char *generator, const char *arch, const char *name, const struct buffer *description, struct cachedb_key *ret_hash);

/* Helper kernels that are compiled together; `content`: of their source and what it depends on. */
int plan_hash_part(const struct cachedb_key *content, struct cachedb_key *ret_hash);

/* Metadata and master: a function of nothing but their bytes, which come straight from the library tree. */
int plan_hash_metadata(const struct buffer *dat, struct cachedb_key *ret_hash);

/* The bare object inside a bundle that has `hash`. */
int plan_hash_raw(const struct cachedb_key *hash, struct cachedb_key *ret_hash);

/* `identity` as of libraries_identity(), or any digest of what the file is made from. */
int plan_memo(const struct plan_options *options, enum engine_kind kind, const char *name, const struct cachedb_key *identity,
	      struct cachedb_key *ret_memo);
