/* SPDX-License-Identifier: MIT */
/*
 * How much of the logic is generated, and why not the rest. Every base has to be parsed for this; all workers do.
 * In the numbers of an arch: solutions = generated + the sum over left_out; custom is how many of the generated are hand-written kernels.
 */
#include "build/engine/internal.h"

#include <json-c/json.h>

struct reason {
	char *text;
	uint64_t solutions;
};

struct tally {				/* one base, or a whole arch */
	uint64_t solutions, generated, custom;
	struct reason *reasons;
	size_t n_reasons;
	char *fault;			/* this base cannot be read */
	bool failed;			/* no memory */
};

struct survey {
	struct edition *edition;
	const struct logic_base **bases;
	struct tally *tallies;		/* one each */
	size_t n;
};

static void tally_release(struct tally *tally)
{
	for (size_t i = 0; i < tally->n_reasons; i++)
		free(tally->reasons[i].text);
	free(tally->reasons);
	free(tally->fault);
	*tally = (struct tally){ 0 };
}

static void add_reason(struct tally *tally, const char *text, uint64_t solutions)
{
	for (size_t i = 0; i < tally->n_reasons; i++) {
		if (strcmp(tally->reasons[i].text, text) == 0) {
			tally->reasons[i].solutions += solutions;
			return;
		}
	}
	struct reason *reasons = realloc(tally->reasons, (tally->n_reasons + 1) * sizeof(*reasons));
	char *copy = strdup(text);
	if (reasons)
		tally->reasons = reasons;
	if (!reasons || !copy) {
		free(copy);
		tally->failed = true;
		return;
	}
	reasons[tally->n_reasons++] = (struct reason){ .text = copy, .solutions = solutions };
}

static int survey_base(void *userdata, size_t i, struct error *error)
{
	struct survey *survey = userdata;
	struct tally *tally = &survey->tallies[i];
	_cleanup_(library_unref_p) struct library *library = NULL;
	size_t n;

	int r = libraries_get(survey->edition->libraries, survey->bases[i], LIBRARY_GENERATED, &library, error);
	if (r < 0) {
		tally->fault = strdup(error_text(error, r));
		return tally->fault ? 0 : -ENOMEM;
	}
	const struct logic_solution *solutions = logic_solutions(library->logic, &n);
	tally->solutions = n;
	for (size_t k = 0; k < n; k++) {
		if (solutions[k].left_out)
			add_reason(tally, solutions[k].left_out, 1);
		else
			tally->generated++;
		tally->custom += !solutions[k].left_out && solutions[k].custom_kernel[0];
	}
	return tally->failed ? -ENOMEM : 0;
}

static void merge(struct tally *sum, const struct tally *tally)
{
	sum->solutions += tally->solutions;
	sum->generated += tally->generated;
	sum->custom += tally->custom;
	for (size_t i = 0; i < tally->n_reasons; i++)
		add_reason(sum, tally->reasons[i].text, tally->reasons[i].solutions);
}

static int compare_reasons(const void *a, const void *b)
{
	const struct reason *x = a, *y = b;

	return x->solutions != y->solutions ? (x->solutions < y->solutions ? 1 : -1) : strcmp(x->text, y->text);
}

static struct json_object *describe(struct tally *sum)
{
	struct json_object *object = json_object_new_object(), *list = json_object_new_array();

	if (sum->n_reasons)
		qsort(sum->reasons, sum->n_reasons, sizeof(sum->reasons[0]), compare_reasons);
	for (size_t i = 0; i < sum->n_reasons; i++) {
		struct json_object *reason = json_object_new_object();
		json_object_object_add(reason, "reason", json_object_new_string(sum->reasons[i].text));
		json_object_object_add(reason, "solutions", json_object_new_uint64(sum->reasons[i].solutions));
		json_object_array_add(list, reason);
	}
	json_object_object_add(object, "solutions", json_object_new_uint64(sum->solutions));
	json_object_object_add(object, "generated", json_object_new_uint64(sum->generated));
	json_object_object_add(object, "custom", json_object_new_uint64(sum->custom));
	json_object_object_add(object, "left_out", list);
	return object;
}

static int survey_arch(struct engine *engine, struct edition *edition, const char *arch, struct json_object *result)
{
	const struct logic_catalog *catalog = edition->catalog;
	struct survey survey = { .edition = edition };
	struct tally sum = { 0 };

	survey.bases = calloc(catalog->n_bases + 1, sizeof(*survey.bases));
	survey.tallies = calloc(catalog->n_bases + 1, sizeof(*survey.tallies));
	int r = survey.bases && survey.tallies ? 0 : -ENOMEM;
	for (size_t i = 0; r == 0 && i < catalog->n_bases; i++)
		if (strcmp(catalog->bases[i].arch, arch) == 0)
			survey.bases[survey.n++] = &catalog->bases[i];
	if (r == 0)
		r = pool_parallel(engine->pool, survey.n, survey_base, &survey, NULL);
	if (r == 0) {
		struct json_object *faults = json_object_new_array();
		for (size_t i = 0; i < survey.n; i++) {
			if (survey.tallies[i].fault)
				json_object_array_add(faults, json_object_new_string(survey.tallies[i].fault));
			else
				merge(&sum, &survey.tallies[i]);
		}
		struct json_object *object = describe(&sum);
		json_object_object_add(object, "faults", faults);
		json_object_object_add(result, arch, object);
	}
	r = r == 0 && sum.failed ? -ENOMEM : r;
	tally_release(&sum);
	for (size_t i = 0; i < survey.n; i++)
		tally_release(&survey.tallies[i]);
	free(survey.tallies);
	free(survey.bases);
	return r;
}

int engine_coverage(struct engine *engine, const char *arch, struct buffer *ret_json, struct error *error)
{
	_cleanup_(edition_unref_p) struct edition *edition = engine_edition(engine);
	const struct logic_catalog *catalog = edition->catalog;
	struct json_object *result = json_object_new_object();
	bool found = false;
	int r = 0;

	for (size_t i = 0; i < catalog->n_archs && r == 0; i++) {
		if (!engine_serves(engine, catalog->archs[i]) || (arch && strcmp(catalog->archs[i], arch) != 0))
			continue;
		found = true;
		r = survey_arch(engine, edition, catalog->archs[i], result);
	}
	if (r == 0 && !found)
		r = error_set(error, -ENOENT, "the logic has no architecture '%s'", arch);
	if (r == 0) {
		buffer_append_string(ret_json, json_object_to_json_string_ext(result, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
		buffer_append_string(ret_json, "\n");
		r = ret_json->failed ? -ENOMEM : 0;
	}
	json_object_put(result);
	return r;
}
