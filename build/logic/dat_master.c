/* SPDX-License-Identifier: MIT */
/*
 * TensileLibrary_lazy_<arch>.dat: from hardware, operation and problem type to the name of the library that has the solutions.
 *
 * The peer builds one tree for each file and merges them in the order of the files (SolutionLibrary.merge). What comes of it:
 * hardware rows with higher CU counts first, operations in the order of their first files, and under an operation one row for
 * each problem type in the order of first files, but shorter library names first.
 */
#include "build/logic/catalog.h"
#include "build/logic/dat.h"

struct master_row {
	const struct logic_head *head;	/* of the first file with this hardware, operation and problem type */
	char operation[LOGIC_OPERATION_SIZE];
	size_t order;			/* of its file */
	size_t operation_order;		/* of the first file with the same hardware and operation */
};

struct master {
	const char *arch;
	const struct logic_head **heads;	/* of the arch, in sorted order of files */
	size_t n_heads;
	struct master_row *rows;
	size_t n_rows;
};

static int compare_heads(const void *a, const void *b)
{
	return strcmp((*(const struct logic_head *const *)a)->file.relative, (*(const struct logic_head *const *)b)->file.relative);
}

static int compare_rows(const void *a, const void *b)
{
	const struct master_row *x = a, *y = b;
	int cu_x = x->head->file.cu_count, cu_y = y->head->file.cu_count;

	if (cu_x != cu_y)
		return cu_x > cu_y ? -1 : 1;
	if (x->operation_order != y->operation_order)
		return x->operation_order < y->operation_order ? -1 : 1;
	size_t length_x = strlen(x->head->base), length_y = strlen(y->head->base);
	if (length_x != length_y)
		return length_x < length_y ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Whether the 16 predicates of both are the same; dat_type_predicates() has their list. */
static bool same_predicates(const struct logic_problem *x, const struct logic_problem *y)
{
	int ax, bx, ay, by;

	logic_problem_operands(x, &ax, &bx);
	logic_problem_operands(y, &ay, &by);
	return ax == ay && bx == by && x->d == y->d && x->in == y->in && logic_value_equal(&x->hpa, &y->hpa) &&
	       x->activation == y->activation && x->activation_compute == y->activation_compute &&
	       logic_value_equal(&x->activation_no_guard, &y->activation_no_guard) && logic_value_equal(&x->gradient, &y->gradient) &&
	       logic_value_equal(&x->use_bias, &y->use_bias) && logic_value_equal(&x->use_e, &y->use_e) &&
	       logic_value_equal(&x->strided_batched, &y->strided_batched) && logic_value_equal(&x->grouped, &y->grouped) &&
	       logic_value_equal(&x->scale_ab, &y->scale_ab) && logic_value_equal(&x->scale_cd, &y->scale_cd) &&
	       logic_value_equal(&x->scale_alpha_vec, &y->scale_alpha_vec) && x->sparse == y->sparse && x->f32_xdl == y->f32_xdl &&
	       logic_value_equal(&x->user_args, &y->user_args);
}

static void add_head(struct master *master, size_t order)
{
	struct master_row *row = &master->rows[master->n_rows];

	*row = (struct master_row){ .head = master->heads[order], .order = order, .operation_order = order };
	logic_problem_operation(&row->head->problem, row->operation);
	for (size_t i = 0; i < master->n_rows; i++) {
		const struct master_row *other = &master->rows[i];
		if (other->head->file.cu_count != row->head->file.cu_count || strcmp(other->operation, row->operation) != 0)
			continue;
		row->operation_order = other->operation_order;
		if (same_predicates(&other->head->problem, &row->head->problem))
			return;
	}
	master->n_rows++;
}

static size_t count_while(const struct master *master, size_t from, bool same_operation)
{
	size_t i = from;

	while (i < master->n_rows && master->rows[i].head->file.cu_count == master->rows[from].head->file.cu_count &&
	       (!same_operation || master->rows[i].operation_order == master->rows[from].operation_order))
		i++;
	return i - from;
}

/* Problem[TruePred] -> Problem[And(16)] -> Placeholder */
static void pack_operation(msgpack_packer *packer, const struct master *master, size_t from, size_t n)
{
	dat_string(packer, master->rows[from].operation);
	dat_map(packer, 2);
	dat_key_string(packer, "type", "Problem");
	dat_string(packer, "rows");
	dat_list(packer, 1);
	dat_map(packer, 2);
	dat_string(packer, "predicate");
	dat_true_predicate(packer);
	dat_string(packer, "library");
	dat_map(packer, 2);
	dat_key_string(packer, "type", "Problem");
	dat_string(packer, "rows");
	dat_list(packer, n);
	for (size_t i = from; i < from + n; i++) {
		dat_map(packer, 2);
		dat_string(packer, "predicate");
		dat_predicate(packer, "And");
		dat_list(packer, DAT_TYPE_PREDICATES);
		dat_type_predicates(packer, &master->rows[i].head->problem);
		dat_string(packer, "library");
		dat_predicate_string(packer, "Placeholder", master->rows[i].head->base);
	}
}

static void pack_hardware(msgpack_packer *packer, const struct master *master, size_t from, size_t n)
{
	size_t n_operations = 0;

	for (size_t i = from; i < from + n; i += count_while(master, i, true))
		n_operations++;
	dat_map(packer, 2);
	dat_string(packer, "predicate");
	dat_hardware_predicate(packer, master->arch, master->rows[from].head->file.cu_count);
	dat_string(packer, "library");
	dat_map(packer, 3);
	dat_key_string(packer, "type", "ProblemMap");
	dat_string(packer, "property");
	dat_map(packer, 1);
	dat_key_string(packer, "type", "OperationIdentifier");
	dat_string(packer, "map");
	dat_map(packer, n_operations);
	for (size_t i = from; i < from + n;) {
		size_t length = count_while(master, i, true);
		pack_operation(packer, master, i, length);
		i += length;
	}
}

static void pack_master(msgpack_packer *packer, const struct master *master)
{
	size_t n_hardware = 0;

	for (size_t i = 0; i < master->n_rows; i += count_while(master, i, false))
		n_hardware++;
	dat_map(packer, 2);
	dat_string(packer, "solutions");
	dat_list(packer, 0);
	dat_string(packer, "library");
	dat_map(packer, 2);
	dat_key_string(packer, "type", "Hardware");
	dat_string(packer, "rows");
	dat_list(packer, n_hardware);
	for (size_t i = 0; i < master->n_rows;) {
		size_t length = count_while(master, i, false);
		pack_hardware(packer, master, i, length);
		i += length;
	}
}

/* Heads of all files of an arch whose base can be served. */
static size_t collect(const struct logic_catalog *catalog, struct master *master)
{
	size_t n = 0;

	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (base->fault || strcmp(base->arch, master->arch) != 0)
			continue;
		for (size_t k = 0; k < base->n_files; k++, n++)
			if (master->heads)
				master->heads[n] = logic_head_of(base->files[k]);
	}
	return n;
}

int logic_write_master(const struct logic_catalog *catalog, const char *arch, struct buffer *ret_dat)
{
	_cleanup_(buffer_release) struct buffer dat = { 0 };
	_cleanup_arena_ struct arena arena = { 0 };
	struct master master = { .arch = arch };
	msgpack_packer packer;

	master.n_heads = collect(catalog, &master);
	if (!master.n_heads)
		return -ENOENT;
	master.heads = arena_new(&arena, const struct logic_head *, master.n_heads);
	master.rows = arena_new(&arena, struct master_row, master.n_heads);
	if (!master.heads || !master.rows)
		return -ENOMEM;
	collect(catalog, &master);
	qsort(master.heads, master.n_heads, sizeof(*master.heads), compare_heads);
	for (size_t i = 0; i < master.n_heads; i++)
		add_head(&master, i);
	qsort(master.rows, master.n_rows, sizeof(*master.rows), compare_rows);
	dat_packer_init(&packer, &dat);
	pack_master(&packer, &master);
	if (dat.failed)
		return -ENOMEM;
	*ret_dat = dat;
	dat = (struct buffer){ 0 };
	return 0;
}
