/* SPDX-License-Identifier: MIT */
/*
 * What the peer's names and indices need to know about all files of a build.
 *
 * The peer finds the parameters whose values differ between any two kernels of a build (SolutionStructs.getMinNaming). "Differs
 * from some other" can be merged: a file's summary says for each parameter whether it varies inside the file, and a digest of its
 * value in the first solution; a build varies where a file does or two files disagree.
 */
#include "build/logic/library.h"

#define SUMMARY_MAGIC 0x324d5553u	/* "SUM2" */

struct summary {
	uint32_t magic;
	uint32_t n_parameters;
	uint64_t table;			/* digest of the parameters' names: another version of the table means another summary */
	uint32_t n_solutions;
	int32_t smallest_index, largest_index;	/* after fixing; -1 without solutions */
	uint32_t n_named;		/* solutions that have a made-up name: not hand-written, not broken */
	struct {
		uint64_t digest;	/* of the first named solution's value */
		uint64_t varies;
	} parameters[N_PARAMETERS];
};

struct logic_naming {
	struct naming rules;
	struct file_index {
		const struct logic_file *file;
		struct summary summary;
		int first;
	} *files;			/* in sorted order of relative */
	size_t n_files;
};

static uint64_t table_digest(void)
{
	uint64_t digest = 0;

	for (int i = 0; i < N_PARAMETERS; i++) {
		struct logic_value name = { .type = YAML_STRING, .string = parameter_name(i) };
		digest = digest * 31 + logic_value_digest(&name);
	}
	return digest;
}

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

int logic_fix_indices(int *indices, size_t n)
{
	_cleanup_free_ int *sorted = n ? malloc(n * sizeof(*sorted)) : NULL;
	_cleanup_free_ bool *seen = calloc(n + 1, sizeof(*seen));
	int largest = -1;

	if ((n && !sorted) || !seen)
		return -ENOMEM;
	if (n)
		memcpy(sorted, indices, n * sizeof(*sorted));
	if (n)
		qsort(sorted, n, sizeof(*sorted), compare_int);
	largest = n ? MAX(sorted[n - 1], -1) : -1;
	for (size_t i = 0; i < n; i++) {
		const int *place = indices[i] < 0 ? NULL : bsearch(&indices[i], sorted, n, sizeof(*sorted), compare_int);
		if (place) {
			while (place > sorted && place[-1] == indices[i])	/* one flag for all that are equal */
				place--;
		}
		if (!place || seen[place - sorted])
			indices[i] = ++largest;
		else
			seen[place - sorted] = true;
	}
	return 0;
}

static void note_values(struct summary *summary, const struct solution *solution)
{
	for (int i = 0; i < N_PARAMETERS; i++) {
		uint64_t digest = logic_value_digest(&solution->value[i]);
		if (!summary->n_named)
			summary->parameters[i].digest = digest;
		else if (digest != summary->parameters[i].digest)
			summary->parameters[i].varies = 1;
	}
	summary->n_named++;
}

static int summarize(struct logic_document *document, struct summary *summary, struct error *error)
{
	_cleanup_free_ int *indices = calloc(document->solutions->n + 1, sizeof(*indices));
	struct error ignored;
	size_t n = 0;

	if (!indices)
		return -ENOMEM;
	for (const struct yaml_node *node = document->solutions->first; node; node = node->next) {
		_cleanup_arena_ struct arena arena = { 0 };
		struct solution solution = { 0 };
		bool broken;
		int r = logic_document_solution(&arena, document, node, &solution, &broken, &ignored);
		if (r < 0 && r != -EINVAL)
			return r;
		indices[n++] = broken ? -1 : number_of(&solution, P_SolutionIndex);
		if (!broken && !is_custom(&solution))
			note_values(summary, &solution);
	}
	int r = logic_fix_indices(indices, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		summary->largest_index = MAX(summary->largest_index, indices[i]);
		summary->smallest_index = i ? MIN(summary->smallest_index, indices[i]) : indices[i];
	}
	summary->n_solutions = (uint32_t)n;
	return r;
}

int logic_summarize(const struct logic_file *file, struct buffer *ret_summary, struct error *error)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_(logic_document_release) struct logic_document document = { 0 };
	struct summary summary = {
		.magic = SUMMARY_MAGIC, .n_parameters = N_PARAMETERS, .table = table_digest(), .smallest_index = -1, .largest_index = -1,
	};

	int r = logic_document_read(&arena, file, &document, error);
	if (r == 0)
		r = summarize(&document, &summary, error);
	if (r < 0)
		return r;
	buffer_append(ret_summary, &summary, sizeof(summary));
	return ret_summary->failed ? -ENOMEM : 0;
}

static int get_fresh(void *userdata, const struct logic_file *file, struct buffer *ret_summary, struct error *error)
{
	return logic_summarize(file, ret_summary, error);
}

static int load_summary(struct file_index *entry, logic_get_summary get, void *userdata)
{
	_cleanup_(buffer_release) struct buffer bytes = { 0 };
	struct summary *summary = &entry->summary;
	struct error ignored = { 0 };

	int r = get(userdata, entry->file, &bytes, &ignored);
	if (r == -ENOMEM || r == -ECANCELED)
		return r;
	if (r == 0 && bytes.size == sizeof(*summary))
		memcpy(summary, bytes.data, sizeof(*summary));
	if (summary->magic != SUMMARY_MAGIC || summary->n_parameters != N_PARAMETERS || summary->table != table_digest())
		*summary = (struct summary){ .smallest_index = -1, .largest_index = -1 };
	return 0;
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(((const struct file_index *)a)->file->relative, ((const struct file_index *)b)->file->relative);
}

static void merge_summaries(struct logic_naming *naming)
{
	const struct file_index *first = NULL;
	int next = 0;

	for (size_t i = 0; i < naming->n_files; i++) {
		const struct summary *summary = &naming->files[i].summary;
		/* the first file's library is the one that the others are merged into: it is not renumbered */
		naming->files[i].first = i ? next : -1;
		next = i ? next + (int)summary->n_solutions : summary->largest_index + 1;
		if (!summary->n_named)
			continue;
		first = first ? first : &naming->files[i];
		naming->rules.arch_varies |= strcmp(first->file->arch, naming->files[i].file->arch) != 0;
		for (int p = 0; p < N_PARAMETERS; p++)
			naming->rules.varies[p] |= summary->parameters[p].varies ||
						   summary->parameters[p].digest != first->summary.parameters[p].digest;
	}
}

int logic_naming_new(const struct logic_base *whole, logic_get_summary get, void *userdata, struct logic_naming **ret_naming,
		     struct error *error)
{
	struct logic_naming *naming = calloc(1, sizeof(*naming));
	int r = naming ? 0 : -ENOMEM;

	if (r == 0) {
		naming->n_files = whole->n_files;
		naming->files = calloc(whole->n_files + 1, sizeof(*naming->files));
		r = naming->files ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < whole->n_files; i++) {
		naming->files[i].file = whole->files[i];
		r = load_summary(&naming->files[i], get ? get : get_fresh, userdata);
	}
	if (r < 0) {
		logic_naming_unref(naming);
		return r;
	}
	merge_summaries(naming);
	*ret_naming = naming;
	return 0;
}

struct logic_naming *logic_naming_unref(struct logic_naming *naming)
{
	if (naming) {
		free(naming->files);
		free(naming);
	}
	return NULL;
}

const struct naming *logic_naming_rules(const struct logic_naming *naming)
{
	return &naming->rules;
}

static const struct file_index *find(const struct logic_naming *naming, const struct logic_file *file)
{
	const struct file_index wanted = { .file = file };

	return bsearch(&wanted, naming->files, naming->n_files, sizeof(wanted), compare_files);
}

int logic_naming_first_index(const struct logic_naming *naming, const struct logic_file *file)
{
	const struct file_index *found = find(naming, file);

	return found ? found->first : 0;
}

int logic_naming_smallest_index(const struct logic_naming *naming, const struct logic_file *file)
{
	const struct file_index *found = find(naming, file);

	if (!found || !found->summary.n_solutions)
		return -1;
	return found->first >= 0 ? found->first : found->summary.smallest_index;
}
