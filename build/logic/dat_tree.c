/* SPDX-License-Identifier: MIT */
#include "build/logic/dat_tree.h"

/* ---- branches --------------------------------------------------------------------------------------------------------- */

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

/* In the order of the 16 predicates of dat_type_predicates(); 0 when they do not tell the two apart. */
static int compare_predicates(const struct logic_problem *x, const struct logic_problem *y)
{
	int ax, bx, ay, by;

	logic_problem_operands(x, &ax, &bx);
	logic_problem_operands(y, &ay, &by);
	const int compared[] = {
		COMPARE(ax, ay), COMPARE(bx, by), COMPARE(x->d, y->d), COMPARE(x->in, y->in),
		logic_value_compare(&x->hpa, &y->hpa),
		strcmp(dat_activation_name(x->activation), dat_activation_name(y->activation)),
		COMPARE(x->activation_compute, y->activation_compute),
		logic_value_compare(&x->activation_no_guard, &y->activation_no_guard),
		logic_value_compare(&x->gradient, &y->gradient),
		logic_value_compare(&x->use_bias, &y->use_bias),
		logic_value_compare(&x->use_e, &y->use_e),
		logic_value_compare(&x->strided_batched, &y->strided_batched),
		logic_value_compare(&x->grouped, &y->grouped),
		logic_value_compare(&x->scale_ab, &y->scale_ab),
		logic_value_compare(&x->scale_cd, &y->scale_cd),
		logic_value_compare(&x->scale_alpha_vec, &y->scale_alpha_vec),
		COMPARE(x->sparse, y->sparse),
		COMPARE(x->f32_xdl, y->f32_xdl),
		logic_value_compare(&x->user_args, &y->user_args),
	};
	for (size_t i = 0; i < ARRAY_SIZE(compared); i++)
		if (compared[i])
			return compared[i];
	return 0;
}

static bool same_hardware(const struct dat_branch *x, const struct dat_branch *y)
{
	return x->head->file.cu_count == y->head->file.cu_count && strcmp(x->head->file.arch, y->head->file.arch) == 0;
}

/* The number of the branch that a file belongs to, which is added when it is the first of it. */
static size_t add_file(struct dat_tree *tree, const struct logic_file *file)
{
	struct dat_branch *branch = &tree->branches[tree->n_branches];

	*branch = (struct dat_branch){
		.head = logic_head_of(file), .number = tree->n_branches, .hardware = tree->n_branches, .operation = tree->n_branches,
	};
	logic_problem_operation(&branch->head->problem, branch->name);
	for (size_t i = 0; i < tree->n_branches; i++) {
		const struct dat_branch *other = &tree->branches[i];
		if (!same_hardware(other, branch))
			continue;
		branch->hardware = other->hardware;
		if (strcmp(other->name, branch->name) != 0)
			continue;
		branch->operation = other->operation;
		if (compare_predicates(&other->head->problem, &branch->head->problem) == 0)
			return other->number;
	}
	return tree->n_branches++;
}

static int compare_operations(const struct dat_branch *x, const struct dat_branch *y)
{
	int cu_x = x->head->file.cu_count, cu_y = y->head->file.cu_count;

	if (cu_x != cu_y)
		return cu_x > cu_y ? -1 : 1;
	int r = cu_x ? 0 : strcmp(x->head->file.arch, y->head->file.arch);	/* Hardware.py: __lt__ */
	if (r == 0)
		r = COMPARE(x->hardware, y->hardware);
	return r ? r : COMPARE(x->operation, y->operation);
}

static int compare_by_name(const void *a, const void *b)
{
	const struct dat_branch *x = a, *y = b;
	size_t length_x = strlen(x->head->base), length_y = strlen(y->head->base);
	int r = compare_operations(x, y);

	if (r == 0)
		r = COMPARE(length_x, length_y);
	return r ? r : COMPARE(x->number, y->number);
}

static int compare_by_predicates(const void *a, const void *b)
{
	const struct dat_branch *x = a, *y = b;
	int r = compare_operations(x, y);

	return r ? r : compare_predicates(&x->head->problem, &y->head->problem);
}

int dat_tree_new(struct arena *arena, const struct logic_file *const *files, size_t n_files, enum dat_order order,
		 struct dat_tree *ret_tree)
{
	struct dat_tree tree = {
		.branches = arena_new(arena, struct dat_branch, n_files + 1),
		.branch_of = arena_new(arena, size_t, n_files + 1),
	};

	if (!tree.branches || !tree.branch_of)
		return -ENOMEM;
	for (size_t i = 0; i < n_files; i++)
		tree.branch_of[i] = add_file(&tree, files[i]);
	qsort(tree.branches, tree.n_branches, sizeof(*tree.branches), order == DAT_BY_NAME ? compare_by_name : compare_by_predicates);
	*ret_tree = tree;
	return 0;
}

/* ---- packing ---------------------------------------------------------------------------------------------------------- */

struct packing {
	msgpack_packer *packer;
	const struct dat_tree *tree;
	dat_pack_branch pack;
	const void *userdata;
};

/* How many branches there are from one on that share its hardware, or with `operation` also its operation. */
static size_t count_alike(const struct dat_tree *tree, size_t from, bool operation)
{
	const struct dat_branch *first = &tree->branches[from];
	size_t i = from;

	while (i < tree->n_branches && tree->branches[i].hardware == first->hardware &&
	       (!operation || tree->branches[i].operation == first->operation))
		i++;
	return i - from;
}

/* Begins {"type": type, "rows": [n times {"predicate": ..., "library": ...}]}. */
static void begin_rows(msgpack_packer *packer, const char *type, size_t n)
{
	dat_map(packer, 2);
	dat_key_string(packer, "type", type);
	dat_string(packer, "rows");
	dat_list(packer, n);
}

/* Problem[TruePred] -> Problem[And(16)] -> what the caller packs */
static void pack_operation(const struct packing *packing, size_t from, size_t n)
{
	msgpack_packer *packer = packing->packer;

	begin_rows(packer, "Problem", 1);
	dat_map(packer, 2);
	dat_string(packer, "predicate");
	dat_true_predicate(packer);
	dat_string(packer, "library");
	begin_rows(packer, "Problem", n);
	for (size_t i = from; i < from + n; i++) {
		const struct dat_branch *branch = &packing->tree->branches[i];
		dat_map(packer, 2);
		dat_string(packer, "predicate");
		dat_predicate(packer, "And");
		dat_list(packer, DAT_TYPE_PREDICATES);
		dat_type_predicates(packer, &branch->head->problem);
		dat_string(packer, "library");
		packing->pack(packer, branch, packing->userdata);
	}
}

static void pack_hardware(const struct packing *packing, size_t from, size_t n)
{
	const struct dat_tree *tree = packing->tree;
	const struct logic_file *file = &tree->branches[from].head->file;
	msgpack_packer *packer = packing->packer;
	size_t n_operations = 0, length;

	for (size_t i = from; i < from + n; i += count_alike(tree, i, true))
		n_operations++;
	dat_map(packer, 2);
	dat_string(packer, "predicate");
	dat_hardware_predicate(packer, file->arch, file->cu_count);
	dat_string(packer, "library");
	dat_map(packer, 3);
	dat_key_string(packer, "type", "ProblemMap");
	dat_string(packer, "property");
	dat_map(packer, 1);
	dat_key_string(packer, "type", "OperationIdentifier");
	dat_string(packer, "map");
	dat_map(packer, n_operations);
	for (size_t i = from; i < from + n; i += length) {
		length = count_alike(tree, i, true);
		dat_string(packer, tree->branches[i].name);
		pack_operation(packing, i, length);
	}
}

void dat_tree_pack(msgpack_packer *packer, const struct dat_tree *tree, dat_pack_branch pack, const void *userdata)
{
	const struct packing packing = { packer, tree, pack, userdata };
	size_t n_hardware = 0, length;

	for (size_t i = 0; i < tree->n_branches; i += count_alike(tree, i, false))
		n_hardware++;
	begin_rows(packer, "Hardware", n_hardware);
	for (size_t i = 0; i < tree->n_branches; i += length) {
		length = count_alike(tree, i, false);
		pack_hardware(&packing, i, length);
	}
}
