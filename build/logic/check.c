/* SPDX-License-Identifier: MIT */
/*
 * Findings about logic that loads, or nearly: what a table or a solution says that cannot be meant. The files of a base are looked
 * at together, because their tables are merged.
 */
#include "build/logic/check.h"

#include <inttypes.h>

struct row {				/* of a table, with where it stands */
	const struct logic_file *file;
	unsigned line;
	int64_t key[4];
};

struct tables {				/* of a base */
	struct row *rows[N_LIBRARY_KINDS];
	size_t n_rows[N_LIBRARY_KINDS], allocated[N_LIBRARY_KINDS];
};

struct checked_solution {
	unsigned line;
	bool broken, listed;
	uint64_t digest;		/* of all parameters */
	int yaml_index;
	int multiple[3];		/* AssertFree0ElementMultiple, ...Free1..., ...Summation... */
};

void checking_tell(struct checking *checking, unsigned line, int solution, const char *format, ...)
{
	char text[768];
	va_list ap;

	if (checking->status)
		return;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	const struct logic_finding finding = {
		.path = checking->document->file->path, .line = line, .solution = solution, .text = text,
	};
	checking->status = checking->callback(checking->userdata, &finding);
}

void checking_tell_error(struct checking *checking, unsigned line, int solution, const char *text)
{
	const char *path = checking->document->file->path;
	size_t length = strlen(path);
	unsigned column;
	int end = 0;

	if (text[0] == '\'' && strncmp(text + 1, path, length) == 0 && text[length + 1] == '\'') {
		const char *rest = text + length + 2;
		if (sscanf(rest, ": line %u: %n", &line, &end) >= 1 && end)
			rest += end;
		else if (sscanf(rest, ": line %u, column %u: %n", &line, &column, &end) >= 2 && end)
			rest += end;
		else if (strncmp(rest, ": ", 2) == 0)
			rest += 2;
		text = rest;
	}
	checking_tell(checking, line, solution, "%s", text);
}

/* ---- solutions -------------------------------------------------------------------------------------------------------- */

static uint64_t digest_parameters(const struct solution *solution)
{
	uint64_t digest = 0;

	for (int i = 0; i < N_PARAMETERS; i++)
		if (i != P_SolutionIndex)
			digest = (digest ^ logic_value_digest(&solution->value[i])) * 0x9e3779b97f4a7c15u + (digest >> 29);
	return digest;
}

static int check_one(struct checking *checking, const struct yaml_node *node, int position, struct checked_solution *ret_checked)
{
	static const enum parameter multiples[] = {
		P_AssertFree0ElementMultiple, P_AssertFree1ElementMultiple, P_AssertSummationElementMultiple,
	};
	_cleanup_arena_ struct arena arena = { 0 };
	struct solution solution = { 0 };
	struct error error = { 0 };
	bool broken;

	int r = logic_document_solution(&arena, checking->document, node, &solution, &broken, &error);
	if (r < 0 && r != -EINVAL)
		return r;
	*ret_checked = (struct checked_solution){ .line = node->line, .broken = broken, .yaml_index = -1 };
	if (r < 0)
		checking_tell_error(checking, node->line, position, error_text(&error, r));
	if (broken)
		return 0;
	if (r == 0)
		check_solution(checking, node, position, &solution);
	ret_checked->digest = digest_parameters(&solution);
	ret_checked->yaml_index = number_of(&solution, P_SolutionIndex);
	for (size_t i = 0; i < ARRAY_SIZE(multiples); i++)
		ret_checked->multiple[i] = number_of(&solution, multiples[i]);
	return 0;
}

struct order {				/* for finding equals */
	uint64_t key;
	size_t position;
};

static int compare_orders(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

/* Tells each solution that repeats the index, or all parameters, of an earlier one. */
static int check_repeated(struct checking *checking, const struct checked_solution *solutions, size_t n, bool by_index)
{
	_cleanup_free_ struct order *orders = calloc(n + 1, sizeof(*orders));
	size_t n_orders = 0, first = 0;

	if (!orders)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!solutions[i].broken)
			orders[n_orders++] = (struct order){ by_index ? (uint64_t)solutions[i].yaml_index : solutions[i].digest, i };
	qsort(orders, n_orders, sizeof(*orders), compare_orders);
	for (size_t i = 1; i < n_orders; i++) {
		const struct checked_solution *solution = &solutions[orders[i].position], *original = &solutions[orders[first].position];
		if (orders[i].key != orders[first].key)
			first = i;
		else if (by_index)
			checking_tell(checking, solution->line, (int)orders[i].position, "SolutionIndex %d is that of solution %zu in line %u",
				      solution->yaml_index, orders[first].position, original->line);
		else
			checking_tell(checking, solution->line, (int)orders[i].position, "the same as solution %zu in line %u",
				      orders[first].position, original->line);
	}
	return 0;
}

/* ---- tables ----------------------------------------------------------------------------------------------------------- */

static int add_row(struct tables *tables, enum library_kind kind, const struct row *row)
{
	if (tables->n_rows[kind] == tables->allocated[kind]) {
		size_t more = MAX(tables->allocated[kind] * 2, 64);
		struct row *larger = reallocarray(tables->rows[kind], more, sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		tables->rows[kind] = larger;
		tables->allocated[kind] = more;
	}
	tables->rows[kind][tables->n_rows[kind]++] = *row;
	return 0;
}

/* An exact row is taken for one size alone: one that its own solution refuses is never taken. */
static void check_refused(struct checking *checking, const struct yaml_node *node, const struct yaml_node *order, const int64_t *key,
			  int position, const struct checked_solution *solution)
{
	static const struct {
		const char *what;
		int multiple;		/* index, -1: none */
	} properties[] = { { "batch", -1 }, { "K", 2 }, { "M", 0 }, { "N", 1 } };
	unsigned i = 0;

	for (const struct yaml_node *number = order->first; number; number = number->next, i++) {
		int64_t property = yaml_scalar(number).integer;
		int multiple = properties[property].multiple < 0 ? 1 : solution->multiple[properties[property].multiple];
		if (multiple > 1 && key[i] % multiple)
			checking_tell(checking, node->line, position,
				      "no problem reaches this row: its solution asks for %s in multiples of %d, not %" PRId64,
				      properties[property].what, multiple, key[i]);
	}
}

static int check_row(struct checking *checking, const struct yaml_node *node, struct checked_solution *solutions, struct tables *tables)
{
	const struct logic_document *document = checking->document;
	const struct yaml_node *order = yaml_at(document->yaml.root, LOGIC_ENTRY_ORDER), *key = yaml_at(node, 0);
	const struct yaml_node *place = yaml_at(yaml_at(node, 1), 0), *number;
	struct row row = { .file = document->file, .line = node->line };
	struct error error = { 0 };
	int64_t position;
	unsigned i = 0;

	if (!key || key->kind != YAML_LIST || key->n < order->n || !place) {
		checking_tell(checking, node->line, -1, "a row is not [[M, N, batch, K], [solution, speed]]");
		return 0;
	}
	int r = yaml_int(&document->yaml, place, &position, &error);
	if (r == 0 && (position < 0 || (uint64_t)position >= document->solutions->n)) {
		checking_tell(checking, place->line, -1, "the row is about solution %" PRId64 ", there are %u", position,
			      document->solutions->n);
		return 0;
	}
	for (number = key->first; r == 0 && i < order->n; number = number->next, i++) {
		r = yaml_int(&document->yaml, number, &row.key[i], &error);
		if (r == 0 && row.key[i] < 1)
			checking_tell(checking, node->line, (int)position, "no problem reaches this row: a size of %" PRId64, row.key[i]);
	}
	if (r < 0) {
		checking_tell_error(checking, node->line, -1, error_text(&error, r));
		return 0;
	}
	solutions[position].listed = true;
	if (document->kind == KIND_EQUALITY && !solutions[position].broken)
		check_refused(checking, node, order, row.key, (int)position, &solutions[position]);
	return add_row(tables, document->kind, &row);
}

static bool order_is_sound(const struct yaml_node *order)
{
	if (order->kind != YAML_LIST || order->n < 1 || order->n > 4)
		return false;
	for (const struct yaml_node *number = order->first; number; number = number->next) {
		struct yaml_value value = number->kind == YAML_SCALAR ? yaml_scalar(number) : (struct yaml_value){ .type = YAML_NULL };
		if (value.type != YAML_INT || value.integer < 0 || value.integer > 3)
			return false;
	}
	return true;
}

static int check_table(struct checking *checking, struct checked_solution *solutions, struct tables *tables)
{
	const struct logic_document *document = checking->document;
	const struct yaml_node *order = yaml_at(document->yaml.root, LOGIC_ENTRY_ORDER);
	const struct yaml_node *rows = yaml_at(document->yaml.root, LOGIC_ENTRY_TABLE);
	int r = 0;

	if (document->kind == KIND_FREE_SIZE)	/* every solution is listed */
		return 0;
	if (!order_is_sound(order)) {
		checking_tell(checking, order->line, -1, "the index order is not a list of up to four numbers from 0 to 3");
		return 0;
	}
	if (rows->kind != YAML_LIST || rows->n == 0) {
		checking_tell(checking, rows->line, -1, "the table has no rows, so no problem reaches these solutions");
		return 0;
	}
	for (const struct yaml_node *node = rows->first; r == 0 && node; node = node->next)
		r = check_row(checking, node, solutions, tables);
	for (unsigned i = 0; i < document->solutions->n; i++)
		if (!solutions[i].listed)
			checking_tell(checking, solutions[i].line, (int)i, "no row of the table is about this solution");
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	for (size_t i = 0; i < ARRAY_SIZE(x->key); i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	int r = strcmp(x->file->relative, y->file->relative);
	return r ? r : x->line < y->line ? -1 : x->line > y->line;
}

/*
 * The row before `i` that is for the same sizes and the same problem type: files whose types the predicates tell apart share a
 * base.
 */
static const struct row *earlier(const struct row *rows, size_t i)
{
	for (size_t k = i; k-- > 0 && memcmp(rows[k].key, rows[i].key, sizeof(rows[i].key)) == 0;)
		if (rows[k].file == rows[i].file ||
		    !logic_problem_difference(&logic_head_of(rows[k].file)->problem, &logic_head_of(rows[i].file)->problem))
			return &rows[k];
	return NULL;
}

/* A search for these sizes ends at one of the rows. */
static void check_duplicates(struct checking *checking, struct tables *tables)
{
	for (int kind = 0; kind < N_LIBRARY_KINDS; kind++) {
		struct row *rows = tables->rows[kind];
		if (tables->n_rows[kind])
			qsort(rows, tables->n_rows[kind], sizeof(*rows), compare_rows);
		for (size_t i = 1; i < tables->n_rows[kind]; i++) {
			const struct row *first = earlier(rows, i);
			struct logic_document place = { .file = rows[i].file };
			checking->document = &place;
			if (first && first->file == rows[i].file)
				checking_tell(checking, rows[i].line, -1, "the row in line %u is for the same sizes", first->line);
			else if (first)
				checking_tell(checking, rows[i].line, -1, "the row in '%s', line %u, is for the same sizes", first->file->path,
					      first->line);
		}
	}
	checking->document = NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static int check_document(struct checking *checking, struct tables *tables)
{
	const struct logic_document *document = checking->document;
	_cleanup_free_ struct checked_solution *solutions = calloc(document->solutions->n + 1, sizeof(*solutions));
	size_t n = 0;
	int r = solutions ? 0 : -ENOMEM;

	check_place(checking);
	if (document->solutions->n == 0)
		checking_tell(checking, document->solutions->line, -1, "there are no solutions");
	for (const struct yaml_node *node = document->solutions->first; r == 0 && node; node = node->next, n++)
		r = check_one(checking, node, (int)n, &solutions[n]);
	if (r == 0)
		r = check_repeated(checking, solutions, n, true);
	if (r == 0)
		r = check_repeated(checking, solutions, n, false);
	return r < 0 ? r : check_table(checking, solutions, tables);
}

static int check_file(struct checking *checking, const struct logic_file *file, const char *custom_kernels, struct tables *tables)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_(logic_document_release) struct logic_document document = { .custom_kernels = custom_kernels };
	struct error error = { 0 };

	checking->document = &document;
	int r = logic_document_read(&arena, file, &document, &error);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		checking_tell_error(checking, 0, -1, error_text(&error, r));
	else
		r = check_document(checking, tables);
	checking->document = NULL;
	return r == -ENOMEM ? r : checking->status;
}

int logic_check(const struct logic_base *base, const char *custom_kernels, logic_finding_callback callback, void *userdata)
{
	struct checking checking = { .callback = callback, .userdata = userdata };
	struct tables tables = { 0 };
	int r = 0;

	if (base->fault) {
		const struct logic_finding finding = { .path = base->files[0]->path, .solution = -1, .text = base->fault };
		r = callback(userdata, &finding);
	}
	for (size_t i = 0; r == 0 && i < base->n_files; i++)
		r = check_file(&checking, base->files[i], custom_kernels, &tables);
	if (r == 0) {
		check_duplicates(&checking, &tables);
		r = checking.status;
	}
	for (int kind = 0; kind < N_LIBRARY_KINDS; kind++)
		free(tables.rows[kind]);
	return r;
}
