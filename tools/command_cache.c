/* SPDX-License-Identifier: MIT */
#include "tools/command.h"

#define USAGE "cache stats|gc|check|clear [--cache DIR] [--cache-size BYTES]"

static int print_statistics(struct cachedb *db, const struct options *options)
{
	struct cachedb_statistics statistics;

	int r = cachedb_get_statistics(db, &statistics);
	if (r < 0)
		return r;
	printf("directory  %s\n", options->engine.cache);
	printf("entries    %llu\n", (unsigned long long)statistics.entries);
	printf("bytes      %llu\n", (unsigned long long)statistics.bytes);
	printf("map bytes  %llu\n", (unsigned long long)statistics.map_bytes);
	return 0;
}

static int collect(struct cachedb *db, const struct options *options)
{
	uint64_t freed = 0;

	int r = cachedb_gc(db, options->engine.cache_max_bytes, &freed);
	if (r == 0)
		printf("%llu bytes were removed\n", (unsigned long long)freed);
	return r;
}

static int check(struct cachedb *db, struct error *error)
{
	uint64_t checked = 0, bad = 0;

	int r = cachedb_check(db, &checked, &bad, error);
	if (r < 0)
		return r;
	printf("%llu entries were checked, %llu were damaged and removed\n", (unsigned long long)checked, (unsigned long long)bad);
	return bad ? error_set(error, -EBADMSG, "the cache had %llu damaged entries", (unsigned long long)bad) : 0;
}

static int act(struct cachedb *db, const char *action, const struct options *options, struct error *error)
{
	if (strcmp(action, "stats") == 0)
		return print_statistics(db, options);
	if (strcmp(action, "gc") == 0)
		return collect(db, options);
	if (strcmp(action, "check") == 0)
		return check(db, error);
	return cachedb_clear(db);
}

int command_cache(int argc, char **argv)
{
	static const char *const actions[] = { "stats", "gc", "check", "clear" };
	_cleanup_options_ struct options options = { 0 };
	struct cachedb *db = NULL;
	struct error error = { 0 };
	size_t i = 0;

	if (options_parse(argc, argv, OPTION_CACHE, 1, 1, USAGE, &options) < 0)
		return EXIT_USAGE;
	const char *action = argv[optind];
	while (i < ARRAY_SIZE(actions) && strcmp(action, actions[i]) != 0)
		i++;
	if (i == ARRAY_SIZE(actions) || (strcmp(action, "gc") == 0 && options.engine.cache_max_bytes == 0)) {
		complain(i == ARRAY_SIZE(actions) ? "usage: tensilefs " USAGE : "cache gc needs --cache-size: how much may stay");
		return EXIT_USAGE;
	}
	if (!options.engine.cache) {
		complain("there is no cache: neither --cache nor $HOME says where");
		return EXIT_FAILURE;
	}
	struct cachedb_options open = { .directory = options.engine.cache, .read_only = strcmp(action, "stats") == 0 };
	int r = cachedb_open(&open, &db, &error);
	if (r == 0)
		r = act(db, action, &options, &error);
	cachedb_close(db);
	if (r < 0)
		complain("%s", error_text(&error, r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
