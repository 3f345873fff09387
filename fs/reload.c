/* SPDX-License-Identifier: MIT */
/*
 * What the kernel remembers of names is taken back when the logic is edited: that there is no such file, which node a name has, when
 * a folder changed. Nodes are left alone: one that is open keeps its content, and one that is not is forgotten in time.
 */
#include "fs/internal.h"

#include "base/clock.h"

static const enum node_kind roots[] = { NODE_ROOT, NODE_RAW, NODE_LOGIC, NODE_ASM };
static const enum node_kind archs[] = { NODE_ARCH, NODE_RAW_ARCH, NODE_LOGIC_ARCH, NODE_ASM_ARCH };

/* Without a lock: the kernel may first want answers from us. A number that it has forgotten means nothing to it. */
static void forget_name(struct fs *fs, const struct subject *folder, const char *name)
{
	fuse_ino_t ino = node_number_in_kernel(fs, folder);

	if (ino)
		fuse_lowlevel_notify_inval_entry(fs->session, ino, name, strlen(name));
}

static void touch_folders(struct fs *fs)
{
	pthread_mutex_lock(&fs->lock);
	fs->changed_ns = wall_ns();
	pthread_mutex_unlock(&fs->lock);
}

static size_t arch_number(struct fs *fs, const char *name)
{
	size_t i = 0;

	while (strcmp(engine_arch(fs->engine, i), name) != 0)
		i++;
	return i;
}

void reload_changed(void *userdata, struct engine_file *file, enum engine_change change)
{
	struct fs *fs = userdata;
	const char *arch = engine_file_arch(file);

	pthread_mutex_lock(&fs->lock);
	bool ending = fs->ending || fs->signals;
	pthread_mutex_unlock(&fs->lock);
	if (ending)
		return;
	if (change != ENGINE_EDITED)
		touch_folders(fs);
	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		struct subject folder = { .kind = archs[i], .arch = arch_number(fs, arch) };
		forget_name(fs, &folder, engine_file_name(file));
	}
	if (fs->options.flat)
		forget_name(fs, &(struct subject){ .kind = NODE_ROOT }, engine_file_name(file));
	/* Every arch has one of these, so it comes and goes with the arch. */
	if (engine_file_kind(file) == ENGINE_HELPER && change != ENGINE_EDITED)
		for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
			forget_name(fs, &(struct subject){ .kind = roots[i] }, arch);
}
