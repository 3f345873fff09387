/* SPDX-License-Identifier: MIT */
/* One whole logic file: its entries, and its solutions one at a time. */
#include "build/logic/library.h"
#include "build/logic/open.h"

void logic_document_release(struct logic_document *document)
{
	yaml_release(&document->yaml);
}

static int bad_entry(const struct logic_document *document, const struct yaml_node *node, const char *what, struct error *error)
{
	return error_set(error, -EINVAL, "'%s': line %u: %s", document->yaml.path, node->line, what);
}

static int read_kind(struct logic_document *document, struct error *error)
{
	static const char *const names[] = {
		[KIND_EQUALITY] = "Equality", [KIND_FREE_SIZE] = "FreeSize", [KIND_GRID] = "GridBased",
	};
	const struct yaml_node *node = yaml_at(document->yaml.root, LOGIC_ENTRY_KIND);

	for (int i = 0; node->kind == YAML_SCALAR && i < (int)ARRAY_SIZE(names); i++)
		if (strcmp(node->text, names[i]) == 0) {
			document->kind = (enum library_kind)i;
			return 0;
		}
	return error_set(error, -EINVAL, "'%s': line %u: library type '%.64s' is not Equality, FreeSize or GridBased", document->yaml.path,
			 node->line, yaml_describe(node));
}

int logic_document_read(struct arena *arena, const struct logic_file *file, struct logic_document *document, struct error *error)
{
	struct yaml *yaml = &document->yaml;
	_cleanup_close_ int fd = -1;

	document->file = file;
	int r = logic_file_open(file, &fd, error);
	if (r == 0)
		r = yaml_read(yaml, file->path, fd, YAML_WHOLE, error);
	if (r < 0)
		return r;
	const struct yaml_node *root = yaml->root;
	if (root->kind != YAML_LIST || root->n <= LOGIC_ENTRY_KIND)
		return bad_entry(document, root, "not a logic file: a list of 12 entries is expected", error);
	r = logic_read_arch(yaml, root, &document->arch, &document->cu_count, error);
	if (r < 0)
		return r;
	r = logic_problem_read(arena, yaml, yaml_at(root, LOGIC_ENTRY_PROBLEM), true, &document->problem, error);
	if (r < 0)
		return r;
	document->solutions = yaml_at(root, LOGIC_ENTRY_SOLUTIONS);
	if (document->solutions->kind != YAML_LIST)
		return bad_entry(document, document->solutions, "the sixth entry is not a list of solutions", error);
	if (document->solutions->n > LIBRARY_MOST_SOLUTIONS)
		return error_set(error, -E2BIG, "'%s': line %u: there are %u solutions, at most %d are possible", yaml->path,
				 document->solutions->line, document->solutions->n, LIBRARY_MOST_SOLUTIONS);
	const struct yaml_node *metric = yaml_at(root, LOGIC_ENTRY_METRIC);
	if (metric->kind != YAML_SCALAR || (*metric->text && strcmp(metric->text, "null") && strcmp(metric->text, "DeviceEfficiency")))
		return error_set(error, -EINVAL, "'%s': line %u: performance metric '%.64s' is not DeviceEfficiency", yaml->path,
				 metric->line, yaml_describe(metric));
	return read_kind(document, error);
}

/* A solution repeats the problem type of its file. */
static int check_problem(struct arena *arena, struct logic_document *document, const struct yaml_node *node, bool custom,
			 struct error *error)
{
	const struct yaml_node *map = yaml_get(node, "ProblemType");
	struct logic_problem problem;

	if (!map)
		return bad_entry(document, node, "a solution without ProblemType", error);
	if (document->agreed && yaml_equal(map, document->agreed))
		return 0;
	int r = logic_problem_read(arena, &document->yaml, map, true, &problem, error);
	if (r < 0)
		return r;
	if (custom)	/* a hand-written kernel's activation is not looked at (LibraryIO.py:293) */
		problem.activation = document->problem.activation;
	const char *key = logic_problem_difference(&document->problem, &problem);
	if (key && !custom)
		return error_set(error, -EINVAL, "'%s': line %u: the ProblemType of this solution has another %s than that of the file",
				 document->yaml.path, map->line, key);
	if (!custom)
		document->agreed = map;
	return 0;
}

int logic_document_solution(struct arena *arena, struct logic_document *document, const struct yaml_node *node,
			    struct solution *solution, bool *ret_broken, struct error *error)
{
	struct error reason = { 0 }, ignored;

	*ret_broken = false;
	if (node->kind != YAML_MAP) {
		*ret_broken = true;
		return bad_entry(document, node, "a solution that is not a map", error);
	}
	int r = solution_read(arena, &document->yaml, node, solution, error);
	if (r == -ENOMEM)
		return r;
	if (is_custom(solution) && document->custom_kernels) {
		int custom = solution_read_custom(arena, document->custom_kernels, solution, r < 0 ? &ignored : error);
		if (custom == -ENOMEM)
			return custom;
		r = r < 0 || custom == 0 ? r : -EINVAL;
	}
	int problem = check_problem(arena, document, node, is_custom(solution), r < 0 ? &ignored : error);
	if (problem == -ENOMEM)
		return problem;
	r = r < 0 ? r : problem;
	int derived = solution_derive(arena, document->arch, &document->problem, solution, &reason);
	*ret_broken = !solution->num_threads;
	if (derived == 0)
		derived = solution_check(node, solution, &reason);
	if (r == 0 && derived < 0)
		r = error_set(error, derived, "'%s': line %u: %s", document->yaml.path, node->line, reason.text);
	return r;
}
