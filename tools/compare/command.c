/* SPDX-License-Identifier: MIT */
#include "tools/command.h"
#include "tools/compare/compare.h"

enum { EXIT_TROUBLE = 2 };

int command_compare(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	struct error error = { 0 };

	if (options_parse(argc, argv, OPTION_JSON, 2, 2,
			  "compare DIR DIR [--json]\n\nThe exit status is 0 when they are equal, 1 when something differs that is not as expected, 2 when one cannot be read.",
			  &options) < 0)
		return EXIT_USAGE;
	struct report report = { .json = options.json };
	int r = compare_folders(&report, argv[optind], argv[optind + 1], &error);
	if (r < 0) {
		complain("%s", error_text(&error, r));
		json_object_put(report.list);
		return EXIT_TROUBLE;
	}
	report_finish(&report);
	return end_output(report.n_differences ? EXIT_FAILURE : EXIT_SUCCESS);
}
