/* SPDX-License-Identifier: MIT */
/* Links in a folder of logic: where they may lead, and whose they are. */
#include "build/logic/open.h"
#include "tests/logic/common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD "gfx942/Equality/sample_Cijk_Alik_Bljk_BBS_BH_UserArgs.yaml"
#define SOMEBODY 12345

static void link_of(uid_t owner, const char *target, const char *place)
{
	assert_int_equal(symlink(target, place), 0);
	assert_int_equal(lchown(place, owner, (gid_t)-1), 0);
}

/*
 * Whoever writes logic does not make us read other files: not by links of any kind, and not by one that is put there after the
 * scan.
 */
static void links_that_lead_out_of_the_folder_are_named_and_not_read(void **state)
{
	char *outside = make_folder(), *folder = make_folder(), *good = sample(GOOD), place[4096], target[4096];
	struct logic_catalog *catalog;
	struct logic_options options = { 0 };
	struct logic_library *library;
	struct error error = { 0 };

	if (geteuid() != 0)
		skip();			/* it takes root to make links of others */
	write_file(outside, "secret.yaml", good, strlen(good));
	write_file(folder, "good.yaml", good, strlen(good));
	snprintf(target, sizeof(target), "%s/secret.yaml", outside);
	snprintf(place, sizeof(place), "%s/absolute.yaml", folder);
	link_of(SOMEBODY, target, place);
	snprintf(place, sizeof(place), "%s/folder", folder);
	link_of(SOMEBODY, outside, place);
	snprintf(target, sizeof(target), "..%s/secret.yaml", strrchr(outside, '/'));
	snprintf(place, sizeof(place), "%s/relative.yaml", folder);
	link_of(SOMEBODY, target, place);

	assert_int_equal(logic_scan(folder, &catalog, &error), 0);
	assert_int_equal(catalog->n_bases, 1);
	assert_int_equal(catalog->bases[0].n_files, 1);
	assert_int_equal(catalog->n_faults, 3);
	expect_words(catalog->faults[0].message, "/absolute.yaml'", "a link of another user leads out of the folder");
	expect_words(catalog->faults[1].message, "/folder'", "a link of another user leads out of the folder");
	expect_words(catalog->faults[2].message, "/relative.yaml'", "a link of another user leads out of the folder");

	snprintf(place, sizeof(place), "%s/good.yaml", folder);
	assert_int_equal(unlink(place), 0);
	link_of(SOMEBODY, target, place);
	assert_int_equal(logic_load(catalog, &catalog->bases[0], &options, &library, &error), -EXDEV);
	expect_words(error.text, "/good.yaml'", "a link of another user leads out of the folder");
	logic_catalog_unref(catalog);

	/* one that stays inside is as good as a file, and a link that the user names is what the user wants */
	assert_int_equal(unlink(place), 0);
	write_file(folder, "real", good, strlen(good));
	link_of(SOMEBODY, "real", place);
	assert_int_equal(logic_scan(folder, &catalog, &error), 0);
	assert_int_equal(catalog->n_bases, 1);
	logic_catalog_unref(catalog);
	snprintf(place, sizeof(place), "%s/absolute.yaml", folder);
	assert_int_equal(logic_scan(place, &catalog, &error), 0);
	assert_int_equal(logic_load(catalog, &catalog->bases[0], &options, &library, &error), 0);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
	free(good);
	remove_folder(folder);
	remove_folder(outside);
}

struct renaming {
	char from[4096], to[4096];
	atomic_bool stop;
};

static void *rename_for_ever(void *userdata)
{
	struct renaming *renaming = userdata;

	while (!atomic_load(&renaming->stop))
		if (rename(renaming->from, renaming->to) < 0 || rename(renaming->to, renaming->from) < 0)
			break;
	return NULL;
}

static void renames_elsewhere_do_not_hide_what_links_lead_to(void **state)
{
	char *folder = make_folder(), *elsewhere = make_folder(), place[4096];
	struct renaming renaming = { .stop = false };
	pthread_t thread;
	unsigned opened = 0;

	snprintf(place, sizeof(place), "%s/inner", folder);
	assert_int_equal(mkdir(place, 0700), 0);
	write_file(folder, "real", "x", 1);
	snprintf(place, sizeof(place), "%s/inner/link", folder);
	assert_int_equal(symlink("../real", place), 0);
	snprintf(renaming.from, sizeof(renaming.from), "%s/one", elsewhere);
	snprintf(renaming.to, sizeof(renaming.to), "%s/other", elsewhere);
	assert_int_equal(mkdir(renaming.from, 0700), 0);
	assert_int_equal(pthread_create(&thread, NULL, rename_for_ever, &renaming), 0);
	for (unsigned i = 0; i < 50000; i++) {
		int fd = open_inside(folder, "inner/link", O_RDONLY);
		opened += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	atomic_store(&renaming.stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(opened, 50000);
	remove_folder(folder);
	remove_folder(elsewhere);
}

/* A library that is put together from links, of files and of a folder. */
static void our_own_links_lead_anywhere(void **state)
{
	char *outside = make_folder(), *folder = make_folder(), *good = sample(GOOD), place[4096], target[4096];
	struct logic_catalog *catalog;
	struct logic_options options = { 0 };
	struct logic_library *library;
	struct error error = { 0 };

	write_file(outside, "elsewhere.yaml", good, strlen(good));
	snprintf(target, sizeof(target), "..%s/elsewhere.yaml", strrchr(outside, '/'));
	snprintf(place, sizeof(place), "%s/linked.yaml", folder);
	link_of(geteuid(), target, place);
	snprintf(place, sizeof(place), "%s/folder", folder);
	link_of(geteuid(), outside, place);

	assert_int_equal(logic_scan(folder, &catalog, &error), 0);
	assert_int_equal(catalog->n_faults, 0);
	assert_int_equal(catalog->n_bases, 1);
	assert_int_equal(catalog->bases[0].n_files, 2);
	assert_string_equal(catalog->bases[0].files[0]->relative, "folder/elsewhere.yaml");
	assert_int_equal(logic_load(catalog, &catalog->bases[0], &options, &library, &error), 0);
	logic_library_unref(library);
	logic_catalog_unref(catalog);
	free(good);
	remove_folder(folder);
	remove_folder(outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_that_lead_out_of_the_folder_are_named_and_not_read),
		cmocka_unit_test(our_own_links_lead_anywhere),
		cmocka_unit_test(renames_elsewhere_do_not_hide_what_links_lead_to),
	};
	return cmocka_run_group_tests_name("links", tests, NULL, NULL);
}
