/* SPDX-License-Identifier: MIT */
#include "build/logic/library.h"

/* A base being loaded. */
struct loading {
	struct logic_library *library;
	const struct logic_options *options;
	const struct logic_naming *naming;	/* NULL: stable names */
	int next_index;				/* stable indices */
	struct error *error;
};

struct logic_library *logic_library_unref(struct logic_library *library)
{
	if (library) {
		for (size_t i = 0; i < library->n_tables; i++)
			for (size_t kind = 0; kind < N_LIBRARY_KINDS; kind++)
				free(library->tables[i].of[kind].rows);
		free(library->solutions);
		free(library->loaded);
		free(library->kernels);
		arena_release(&library->arena);
		free(library);
	}
	return NULL;
}

static int grow(void *array, size_t element, size_t allocated)
{
	void *larger = reallocarray(*(void **)array, allocated, element);

	if (!larger)
		return -ENOMEM;
	*(void **)array = larger;
	return 0;
}

static int reserve_solutions(struct logic_library *library, size_t more)
{
	size_t wanted = library->n_solutions + more;

	if (wanted <= library->allocated)
		return 0;
	int r = grow(&library->solutions, sizeof(*library->solutions), wanted);
	if (r == 0)
		r = grow(&library->loaded, sizeof(*library->loaded), wanted);
	if (r == 0)
		library->allocated = wanted;
	return r;
}

/* Why a solution that is sound is still left out: the generator's words, or NULL. */
static int ask_filter(struct loading *loading, const char *arch, const struct gemm_params *params, int expressible, struct error *reason)
{
	if (!loading->options->filter)
		return 0;
	return expressible < 0 ? expressible : loading->options->filter(loading->options->userdata, arch, params, reason);
}

static int check_helpers(const struct logic_problem *problem, const struct solution *solution, struct error *words)
{
	_cleanup_(buffer_release) struct buffer name = { 0 };

	int r = logic_launched_helper(problem, solution, &name);
	return r > 0 ? error_set(words, -EOPNOTSUPP, "helper kernel %.*s", (int)name.size, (const char *)name.data) : r;
}

/* 0: it is kept. `bad`: it has a mistake. */
static int is_left_out(struct loading *loading, const char *arch, const struct logic_problem *problem, const struct solution *solution, int bad,
		       struct logic_solution *public, struct error *words)
{
	int expressible = solution_to_gemm(problem, solution, &public->params, words);

	if (loading->options->without_helpers)
		return check_helpers(problem, solution, words);
	if (!loading->options->filter)
		return 0;
	return bad < 0 ? bad : ask_filter(loading, arch, &public->params, expressible, words);
}

static int add_solution(struct loading *loading, struct logic_document *document, const struct logic_problem *problem,
			const struct loaded_file *file, const struct yaml_node *node, size_t position)
{
	struct logic_library *library = loading->library;
	struct arena *arena = &library->arena;
	struct error reason = { 0 }, words = { 0 };
	bool broken;

	struct solution *solution = arena_new(arena, struct solution, 1);
	if (!solution)
		return -ENOMEM;
	int bad = logic_document_solution(arena, document, node, solution, &broken, &reason);
	if (bad < 0 && bad != -EINVAL)
		return bad;
	struct logic_solution *public = &library->solutions[library->n_solutions];
	*public = (struct logic_solution){
		.file = document->file, .line = node->line, .yaml_index = broken ? -1 : number_of(solution, P_SolutionIndex),
		.name = "", .kernel_name = "", .custom_kernel = broken ? "" : solution->value[P_CustomKernelName].string,
		.params.custom_kernel = "",
	};
	int left_out = broken ? bad : is_left_out(loading, document->arch, problem, solution, bad, public, &words);
	if (left_out == -ENOMEM)
		return left_out;
	if (left_out < 0) {
		public->mistaken = left_out == bad;
		public->left_out = arena_strdup(arena, error_text(public->mistaken ? &reason : &words, left_out));
		if (!public->left_out)
			return -ENOMEM;
	}
	library->loaded[library->n_solutions] = (struct loaded_solution){
		.solution = broken ? NULL : solution, .problem = problem,
		.place = { .file = file, .position = (uint32_t)position, .offset = node->offset, .column = node->column },
	};
	library->n_solutions++;
	return 0;
}

/* Numbers the solutions of a file, which are those from `first` on. */
static int number_solutions(struct loading *loading, const struct logic_document *document, size_t first)
{
	struct logic_library *library = loading->library;
	size_t n = library->n_solutions - first;
	int start = loading->naming ? logic_naming_first_index(loading->naming, document->file) : loading->next_index;

	loading->next_index += (int)n;
	if (start >= 0) {
		for (size_t i = 0; i < n; i++)
			library->solutions[first + i].index = start + (int)i;
		return 0;
	}
	_cleanup_free_ int *indices = calloc(n + 1, sizeof(*indices));
	if (!indices)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		indices[i] = library->solutions[first + i].yaml_index;
	int r = logic_fix_indices(indices, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		library->solutions[first + i].index = indices[i];
	return r;
}

static int bad_row(const struct logic_document *document, const struct yaml_node *node, const char *what, struct error *error)
{
	return error_set(error, -EINVAL, "'%s': line %u: %s", document->yaml.path, node->line, what);
}

/* Entry 6: what the numbers of a row's key are. */
static int read_order(struct loading *loading, const struct logic_document *document, struct library_table *table)
{
	const struct yaml_node *order = yaml_at(document->yaml.root, LOGIC_ENTRY_ORDER);
	uint8_t properties[4];
	unsigned n = 0;

	if (order->kind != YAML_LIST || order->n < 1 || order->n > 4)
		return bad_row(document, order, "the index order is not a list of up to four numbers", loading->error);
	for (const struct yaml_node *node = order->first; node; node = node->next) {
		int64_t number;
		int r = yaml_int(&document->yaml, node, &number, loading->error);
		if (r < 0)
			return r;
		if (number < 0 || number > 3)
			return bad_row(document, node, "an index of a GEMM is from 0 to 3", loading->error);
		properties[n++] = (uint8_t)number;
	}
	if (table->present && (table->n_properties != n || memcmp(table->properties, properties, n) != 0))
		return bad_row(document, order, "the index order is not that of the other files of this base", loading->error);
	table->n_properties = n;
	memcpy(table->properties, properties, n);
	return 0;
}

static int add_row(struct library_table *table, const struct library_row *row)
{
	if (table->n_rows == table->allocated) {
		size_t more = MAX(table->allocated * 2, 64);
		int r = grow(&table->rows, sizeof(*table->rows), more);
		if (r < 0)
			return r;
		table->allocated = more;
	}
	table->rows[table->n_rows++] = *row;
	return 0;
}

/* One row of entry 7: [[M, N, batch, K, ...], [position of a solution, speed]]. */
static int read_row(struct loading *loading, const struct logic_document *document, const struct yaml_node *node, size_t first,
		    struct library_table *table)
{
	const struct yaml_node *key = yaml_at(node, 0), *result = yaml_at(node, 1), *position = yaml_at(result, 0);
	const struct yaml_node *speed = yaml_at(result, 1);
	struct library_row row = { .solution = first };
	int64_t number;
	int r;

	if (!key || key->kind != YAML_LIST || key->n < table->n_properties || !position)
		return bad_row(document, node, "a row is not [[M, N, batch, K], [solution, speed]]", loading->error);
	key = key->first;
	for (unsigned i = 0; i < table->n_properties; i++, key = key->next) {
		r = yaml_int(&document->yaml, key, &row.key[i], loading->error);
		if (r < 0)
			return r;
	}
	r = yaml_int(&document->yaml, position, &number, loading->error);
	if (r < 0)
		return r;
	if (number < 0 || (uint64_t)number >= document->solutions->n)
		return error_set(loading->error, -EINVAL, "'%s': line %u: the row is about solution %lld, there are %u", document->yaml.path,
				 position->line, (long long)number, document->solutions->n);
	row.solution += (size_t)number;
	if (document->kind == KIND_EQUALITY) {
		struct yaml_value value = speed ? yaml_scalar(speed) : (struct yaml_value){ .type = YAML_STRING };
		if (value.type == YAML_INT)
			row.speed = LOGIC_INT(value.integer);
		else if (value.type == YAML_FLOAT)
			row.speed = (struct logic_value){ .type = YAML_FLOAT, .real = value.real };
		else
			return bad_row(document, result, "a row without speed", loading->error);
	}
	return add_row(table, &row);
}

static int compare_rows(const void *a, const void *b)
{
	const struct library_row *x = a, *y = b;

	for (size_t i = 0; i < ARRAY_SIZE(x->key); i++)
		if (x->key[i] != y->key[i])
			return x->key[i] < y->key[i] ? -1 : 1;
	return 0;
}

/* A stable sort: rows of equal keys keep their order, which decides between them at run time. */
static int sort_rows(struct library_table *table)
{
	size_t n = table->n_rows;
	_cleanup_free_ struct library_row *spare = malloc((n + 1) * sizeof(*spare));

	if (!spare)
		return -ENOMEM;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t from = 0; from < n; from += 2 * width) {
			size_t middle = MIN(from + width, n), end = MIN(from + 2 * width, n), a = from, b = middle;
			for (size_t i = from; i < end; i++)
				if (a < middle && (b == end || compare_rows(&table->rows[a], &table->rows[b]) <= 0))
					spare[i] = table->rows[a++];
				else
					spare[i] = table->rows[b++];
		}
		memcpy(table->rows, spare, n * sizeof(*spare));
	}
	return 0;
}

/* Adds the rows of a file whose solutions are those from `first` on. */
static int read_table(struct loading *loading, const struct logic_document *document, size_t first, struct library_table *table)
{
	const struct yaml_node *rows = yaml_at(document->yaml.root, LOGIC_ENTRY_TABLE);
	int r;

	if (document->kind == KIND_FREE_SIZE) {
		table->present = true;
		for (size_t i = first; i < loading->library->n_solutions; i++) {
			r = add_row(table, &(struct library_row){ .solution = i });
			if (r < 0)
				return r;
		}
		return 0;
	}
	r = read_order(loading, document, table);
	if (r < 0)
		return r;
	table->present = true;
	if (rows->kind != YAML_LIST)
		return bad_row(document, rows, "the table is not a list of rows", loading->error);
	for (const struct yaml_node *node = rows->first; node; node = node->next) {
		r = read_row(loading, document, node, first, table);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The head may have changed since the scan: then the file belongs to another base, or to another place in a whole. */
static int check_head(struct loading *loading, const struct logic_document *document)
{
	struct logic_library *library = loading->library;
	const struct logic_head *scanned = logic_head_of(document->file);
	_cleanup_(buffer_release) struct buffer name = { 0 };
	struct logic_problem head;

	int r = logic_problem_read(&library->arena, &document->yaml, yaml_at(document->yaml.root, LOGIC_ENTRY_PROBLEM), false, &head,
				   loading->error);
	if (r < 0)
		return r;
	logic_problem_print_base(&head, NULL, document->cu_count, document->arch, &name);
	if (name.failed)
		return -ENOMEM;
	if (name.size != strlen(scanned->base) || memcmp(name.data, scanned->base, name.size) != 0)
		return error_set(loading->error, -ESTALE, "'%s' has changed: it now belongs to '%.*s'", document->file->path,
				 (int)name.size, (const char *)name.data);
	const char *difference = library->base->whole ? logic_problem_difference(&head, &scanned->problem) : NULL;
	if (difference)
		return error_set(loading->error, -ESTALE, "'%s' has changed: its %s is another one", document->file->path, difference);
	return 0;
}

static int load_file(struct loading *loading, const struct logic_file *file, struct library_tables *tables)
{
	struct logic_library *library = loading->library;
	_cleanup_(logic_document_release) struct logic_document document = { 0 };
	size_t first = library->n_solutions;

	document.custom_kernels = loading->options->custom_kernels;
	int r = logic_document_read(&library->arena, file, &document, loading->error);
	if (r == 0)
		r = check_head(loading, &document);
	if (r == 0)
		r = reserve_solutions(library, document.solutions->n);
	if (r < 0)
		return r;
	struct logic_problem *problem = arena_new(&library->arena, struct logic_problem, 1);
	const struct loaded_file *loaded = loaded_file_new(&library->arena, &document);
	if (!problem || !loaded)
		return -ENOMEM;
	*problem = document.problem;
	for (const struct yaml_node *node = document.solutions->first; node; node = node->next) {
		r = add_solution(loading, &document, problem, loaded, node, library->n_solutions - first);
		if (r < 0)
			return r;
	}
	r = number_solutions(loading, &document, first);
	return r < 0 ? r : read_table(loading, &document, first, &tables->of[document.kind]);
}

static int name_solutions(struct loading *loading)
{
	struct logic_library *library = loading->library;
	const struct naming *rules = loading->naming ? logic_naming_rules(loading->naming) : NULL;
	_cleanup_(buffer_release) struct buffer text = { 0 };

	for (size_t i = 0; i < library->n_solutions; i++) {
		const struct loaded_solution *loaded = &library->loaded[i];
		struct logic_solution *public = &library->solutions[i];
		if (!loaded->solution)
			continue;
		text.size = 0;
		solution_print_name(public->file->arch, loaded->problem, loaded->solution, rules, &text);
		size_t length = text.size;
		solution_print_kernel_name(public->file->arch, loaded->problem, loaded->solution, rules, &text);
		if (text.failed)
			return -ENOMEM;
		public->name = arena_strndup(&library->arena, (const char *)text.data, length);
		public->kernel_name = arena_strndup(&library->arena, (const char *)text.data + length, text.size - length);
		if (!public->name || !public->kernel_name)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t digest_text(const char *text)
{
	const struct logic_value value = { .type = YAML_STRING, .string = text };

	return logic_value_digest(&value);
}

/* Kernels are solutions' first appearances by kernel name. */
static int find_kernels(struct logic_library *library)
{
	size_t n_slots = 16;

	while (n_slots < library->n_solutions * 2)
		n_slots *= 2;
	_cleanup_free_ size_t *slots = calloc(n_slots, sizeof(*slots));	/* 1 + index of a solution; 0 is free */
	library->kernels = calloc(library->n_solutions + 1, sizeof(*library->kernels));
	if (!slots || !library->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < library->n_solutions; i++) {
		const struct logic_solution *solution = &library->solutions[i];
		if (solution->left_out)
			continue;
		size_t slot = digest_text(solution->kernel_name) % n_slots;
		while (slots[slot] && strcmp(library->solutions[slots[slot] - 1].kernel_name, solution->kernel_name) != 0)
			slot = (slot + 1) % n_slots;
		if (slots[slot])
			continue;
		slots[slot] = i + 1;
		library->kernels[library->n_kernels++] = i;
	}
	return 0;
}

/*
 * Where a base's indices begin when they must not depend on other bases: 16,384 ranges of 65,536, chosen by the digest of the
 * base's name. Bases whose digests meet take the next free range in the order of their names, so uniqueness within an arch is
 * kept.
 */
int logic_stable_first_index(const struct logic_catalog *catalog, const struct logic_base *base)
{
	enum { N_RANGES = 16384 };
	_cleanup_free_ bool *taken = calloc(N_RANGES, sizeof(*taken));

	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *other = &catalog->bases[i];
		if (strcmp(other->arch, base->arch) != 0)
			continue;
		unsigned range = digest_text(other->name) % N_RANGES;
		for (unsigned tries = 0; taken[range] && tries < N_RANGES; tries++)
			range = (range + 1) % N_RANGES;
		taken[range] = true;
		if (strcmp(other->name, base->name) == 0)
			return (int)(range << 16);
	}
	return 0;
}

static int make_tables(struct logic_library *library)
{
	const struct logic_base *base = library->base;

	if (base->whole) {
		int r = dat_tree_new(&library->arena, base->files, base->n_files, DAT_BY_PREDICATES, &library->tree);
		if (r < 0)
			return r;
	}
	library->n_tables = base->whole ? library->tree.n_branches : 1;
	library->tables = arena_new(&library->arena, struct library_tables, library->n_tables);
	return library->tables ? 0 : -ENOMEM;
}

static int load_files(struct loading *loading)
{
	struct logic_library *library = loading->library;
	const struct logic_base *base = library->base;
	int first = loading->next_index;

	for (size_t i = 0; i < base->n_files; i++) {
		int r = load_file(loading, base->files[i], &library->tables[base->whole ? library->tree.branch_of[i] : 0]);
		if (r < 0)
			return r;
	}
	if (!loading->naming && !base->whole && loading->next_index - first > LIBRARY_MOST_SOLUTIONS)
		return error_set(loading->error, -E2BIG, "'%s' has %zu solutions, at most %d are possible", base->name,
				 library->n_solutions, LIBRARY_MOST_SOLUTIONS);
	for (size_t i = 0; i < library->n_tables; i++)
		for (int kind = 0; kind < N_LIBRARY_KINDS; kind++) {
			int r = kind == KIND_FREE_SIZE ? 0 : sort_rows(&library->tables[i].of[kind]);
			if (r < 0)
				return r;
		}
	int r = name_solutions(loading);
	return r < 0 ? r : find_kernels(library);
}

static int load(const struct logic_catalog *catalog, struct loading *loading)
{
	const struct logic_options *options = loading->options;
	struct logic_library *library = loading->library;
	const struct logic_base *base = library->base;

	int r = make_tables(library);
	if (r == 0 && options->names == LOGIC_NAMES_TENSILE) {
		loading->naming = options->naming;
		if (!loading->naming)
			r = logic_catalog_naming(catalog, base->arch, &loading->naming, loading->error);
	} else if (r == 0 && !base->whole) {
		loading->next_index = logic_stable_first_index(catalog, base);
		r = MIN(loading->next_index, 0);
	}
	return r < 0 ? r : load_files(loading);
}

int logic_load(const struct logic_catalog *catalog, const struct logic_base *base, const struct logic_options *options,
	       struct logic_library **ret_library, struct error *error)
{
	static const struct logic_options standard = { .names = LOGIC_NAMES_STABLE };
	struct loading loading = { .options = options ? options : &standard, .error = error };

	if (base->fault)
		return error_set(error, -EINVAL, "%s", base->fault);
	loading.library = calloc(1, sizeof(*loading.library));
	if (!loading.library)
		return -ENOMEM;
	loading.library->base = base;
	int r = load(catalog, &loading);
	if (r < 0) {
		logic_library_unref(loading.library);
		return r;
	}
	*ret_library = loading.library;
	return 0;
}

const struct logic_solution *logic_solutions(const struct logic_library *library, size_t *ret_n)
{
	*ret_n = library->n_solutions;
	return library->solutions;
}

int logic_foreach_mistake(const struct logic_library *library, int (*callback)(void *userdata, const char *message), void *userdata)
{
	int r = 0;

	for (size_t i = 0; i < library->n_solutions && r == 0; i++)
		if (library->solutions[i].mistaken)
			r = callback(userdata, library->solutions[i].left_out);
	return r;
}

const size_t *logic_kernels(const struct logic_library *library, size_t *ret_n)
{
	*ret_n = library->n_kernels;
	return library->kernels;
}

static const char *role_words(enum parameter parameter)
{
	static const char *const words[] = {
		[ROLE_SEMANTIC] = "semantic", [ROLE_HINT] = "hint", [ROLE_IGNORED] = "hint, ignored", [ROLE_HOST] = "host",
	};
	return words[parameter_role(parameter)];
}

int logic_solution_foreach_parameter(const struct logic_library *library, size_t index,
				     int (*callback)(void *userdata, const char *key, const char *value, const char *role), void *userdata)
{
	const struct solution *solution = index < library->n_solutions ? library->loaded[index].solution : NULL;
	_cleanup_(buffer_release) struct buffer text = { 0 };

	if (!solution)
		return index < library->n_solutions ? 0 : -EINVAL;
	const struct {
		const char *key;
		int value;
	} derived[] = {
		{ "LocalSplitU", solution->local_split_u },
		{ "MacroTile0", solution->macro_tile[0] },
		{ "MacroTile1", solution->macro_tile[1] },
		{ "NumElementsPerThread", solution->elements_per_thread },
		{ "NumThreads", solution->num_threads },
		{ "_GlobalAccumulation", solution->global_accumulation },
		{ "_WorkspaceSizePerElemBias", solution->workspace_per_element_bias },
		{ "_WorkspaceSizePerElemC", solution->workspace_per_element_c },
		{ "_staggerStrideShift", solution->stagger_stride_shift },
	};
	for (int i = 0; i < N_PARAMETERS; i++) {
		if (solution->value[i].type == YAML_NULL)
			continue;
		text.size = 0;
		logic_value_print(&solution->value[i], &text);
		buffer_append(&text, "", 1);
		int r = text.failed ? -ENOMEM : callback(userdata, parameter_name(i), (const char *)text.data, role_words(i));
		if (r)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
		char value[16];
		snprintf(value, sizeof(value), "%d", derived[i].value);
		int r = callback(userdata, derived[i].key, value, "derived");
		if (r)
			return r;
	}
	return 0;
}
