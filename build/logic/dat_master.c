/* SPDX-License-Identifier: MIT */
/* TensileLibrary_lazy_<arch>.dat: a tree that leads to the names of the libraries that have the solutions. */
#include "build/logic/dat_tree.h"

static void pack_placeholder(msgpack_packer *packer, const struct dat_branch *branch, const void *userdata)
{
	dat_predicate_string(packer, "Placeholder", branch->head->base);
}

int logic_write_master(const struct logic_catalog *catalog, const char *arch, struct buffer *ret_dat)
{
	const struct logic_base *whole = logic_whole(catalog, arch);
	_cleanup_(buffer_release) struct buffer dat = { 0 };
	_cleanup_arena_ struct arena arena = { 0 };
	struct dat_tree tree;
	msgpack_packer packer;

	if (!whole || whole->fault)
		return -ENOENT;
	int r = dat_tree_new(&arena, whole->files, whole->n_files, DAT_BY_NAME, &tree);
	if (r < 0)
		return r;
	dat_packer_init(&packer, &dat);
	dat_map(&packer, 2);
	dat_string(&packer, "solutions");
	dat_list(&packer, 0);
	dat_string(&packer, "library");
	dat_tree_pack(&packer, &tree, pack_placeholder, NULL);
	if (dat.failed)
		return -ENOMEM;
	*ret_dat = dat;
	dat = (struct buffer){ 0 };
	return 0;
}
