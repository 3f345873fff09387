/* SPDX-License-Identifier: MIT */
/*
 * Where kernels come from: the one thing of the engine that there are two of.
 *
 *     native.c       this program's own: machine code from build/gemm, all kernels of a file in one relocatable object
 *     tensilelite.c  the user's TensileLite (build/upstream): an object for each kernel, kept in the cache one by one, so that an edit of one
 *                    solution generates one kernel
 *
 * A generator says what its bytes depend on, which solutions it makes, and makes them; plans, links, bundles and the cache of files are
 * the same for both. Its functions may be called from any thread.
 */
#pragma once

#include "build/engine/engine.h"
#include "build/engine/objects.h"
#include "build/logic/logic.h"

/* The helper kernels that the solutions of an arch ask for, in the order in which they do, and solutions that ask for them: some one for each. */
struct helpers {
	struct helper {
		char *name;
		size_t solution;		/* that asks for it: its index below */
	} *helpers;
	size_t n_helpers;
	struct helper_solution {
		char *kernel_name;
		struct buffer text;		/* of logic_write_solution() */
	} *solutions;
	size_t n_solutions;
};
void helpers_release(struct helpers *helpers);

struct generated {
	struct objects *objects;	/* to be linked */
	size_t kernels;			/* in it */
};

struct generator {
	const char *build_id;		/* how what it makes is linked, unless the user says: lld's --build-id=KIND */
	bool shares_helpers;		/* one object serves any logic: it does not depend on struct helpers */

	void (*stop)(const struct generator *generator);	/* what runs and what comes ends with -ECANCELED */
	void (*free)(const struct generator *generator);	/* after stop() */

	bool (*serves)(const struct generator *generator, const char *arch);

	/* What files of a kind depend on besides this program, the linker and the logic; NULL: nothing. Equal texts are one pointer, which lives as
	 * long as the generator. identify() may run programs; identity() tells what it found last, or -EAGAIN. */
	int (*identify)(const struct generator *generator, enum engine_kind kind, const char **ret_identity, struct error *error);
	int (*identity)(const struct generator *generator, enum engine_kind kind, const char **ret_identity);

	/* Appends everything of a solution that decides the bytes of its kernel. */
	int (*describe)(const struct logic_library *logic, size_t solution, struct buffer *out, struct error *error);

	/* Fills in which solutions of a base are made. May run programs. */
	int (*choose)(const struct generator *generator, const struct logic_base *base, struct logic_options *options, struct error *error);

	/* All kernels of a library, in its order, as the file's plan has them. `identity` is what the plan was made with; -ESTALE when it is another by now. */
	int (*make)(struct engine_file *file, const struct logic_library *logic, const char *identity, struct generated *ret_generated,
		    struct error *error);
	int (*make_helpers)(struct engine_file *file, const struct helpers *helpers, const char *identity, struct generated *ret_generated,
			    struct error *error);

	/* A kernel as assembly text. */
	int (*print)(struct engine_file *file, const struct logic_library *logic, size_t solution, struct buffer *ret_text, struct error *error);
};

extern const struct generator native_generator;

/* -ENOENT, -ENOTDIR: options->tensilelite is none. Runs no program. The cache, or NULL, must outlive it. */
int tensilelite_generator_new(const struct engine_options *options, unsigned jobs, struct cachedb *cache, const struct generator **ret_generator,
			      struct error *error);
