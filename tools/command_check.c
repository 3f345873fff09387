/* SPDX-License-Identifier: MIT */
/* tensilefs check: what is wrong with logic, a line for each finding. Builds nothing. */
#include "tools/command.h"

#include "build/logic/logic.h"

#include <json-c/json.h>

struct report {
	struct json_object *list;	/* NULL: print lines */
	size_t n;
};

static int tell(void *userdata, const struct logic_finding *finding)
{
	struct report *report = userdata;

	report->n++;
	if (report->list) {
		struct json_object *object = json_object_new_object();
		json_object_object_add(object, "file", json_object_new_string(finding->path));
		json_object_object_add(object, "line", finding->line ? json_object_new_int64(finding->line) : NULL);
		json_object_object_add(object, "solution", finding->solution >= 0 ? json_object_new_int(finding->solution) : NULL);
		json_object_object_add(object, "message", json_object_new_string(finding->text));
		json_object_array_add(report->list, object);
		return 0;
	}
	printf("%s:", finding->path);
	if (finding->line)
		printf("%u:", finding->line);
	if (finding->solution >= 0)
		printf(" solution %d:", finding->solution);
	printf(" %s\n", finding->text);
	return 0;
}

/* A message of the scan names the file, which a finding says by itself. */
static int tell_fault(struct report *report, const struct logic_fault *fault)
{
	struct logic_finding finding = { .path = fault->path, .solution = -1, .text = fault->message };
	size_t length = strlen(fault->path);
	unsigned column;
	int end = 0;

	if (fault->message[0] == '\'' && strncmp(fault->message + 1, fault->path, length) == 0 && fault->message[length + 1] == '\'') {
		const char *rest = fault->message + length + 2;
		finding.text = rest + 2 * (strncmp(rest, ": ", 2) == 0);
		if ((sscanf(rest, ": line %u: %n", &finding.line, &end) >= 1 && end) ||
		    (sscanf(rest, ": line %u, column %u: %n", &finding.line, &column, &end) >= 2 && end))
			finding.text = rest + end;
	}
	return tell(report, &finding);
}

static int check(const struct logic_catalog *catalog, const struct options *options, const char *custom_kernels, struct report *report)
{
	bool found = false;
	int r = 0;

	for (size_t i = 0; i < catalog->n_faults && !options->arch; i++)
		tell_fault(report, &catalog->faults[i]);
	for (size_t i = 0; r == 0 && i < catalog->n_bases; i++) {
		if (options->arch && strcmp(options->arch, catalog->bases[i].arch) != 0)
			continue;
		found = true;
		r = logic_check(&catalog->bases[i], custom_kernels, tell, report);
	}
	for (size_t i = 0; r == 0 && i < catalog->n_archs; i++)
		if (!options->arch || strcmp(options->arch, catalog->archs[i]) == 0)
			r = logic_check_siblings(&catalog->wholes[i], tell, report);
	if (!found && options->arch)
		complain("the logic has no architecture '%s'", options->arch);
	return r == 0 && !found && options->arch ? -ENOENT : r;
}

int command_check(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	_cleanup_free_ char *custom_kernels = NULL;
	struct logic_catalog *catalog;
	struct report report = { 0 };
	struct error error = { 0 };

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_JSON | OPTION_CUSTOM, 1, 1, "check LOGIC [--arch A] [--json] [--custom-kernels DIR]",
			  &options) < 0)
		return EXIT_USAGE;
	int r = logic_scan(argv[optind], &catalog, &error);
	if (r < 0) {
		complain("%s", error_text(&error, r));
		return EXIT_FAILURE;
	}
	if (!options.engine.custom_kernels)
		r = logic_find_custom_kernels(argv[optind], &custom_kernels);
	report.list = options.json ? json_object_new_array() : NULL;
	if (r == 0)
		r = check(catalog, &options, options.engine.custom_kernels ? options.engine.custom_kernels : custom_kernels, &report);
	if (report.list && r == 0)
		printf("%s\n", json_object_to_json_string_ext(report.list, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(report.list);
	logic_catalog_unref(catalog);
	if (r < 0 && r != -ENOENT)
		complain("cannot check '%s': %s", argv[optind], strerror(-r));
	return r < 0 || report.n ? EXIT_FAILURE : EXIT_SUCCESS;
}
