/* SPDX-License-Identifier: MIT */
/*
 * Building ahead of a sequential reader. cp, tar and rsync read one file after another and would keep one build going at a time; the next
 * files are built while they read. A stream is a reader that went from one file to the next one in a folder; "next" leaves out
 * files that are built already, as a reader sorts or skips these in its own way. The second file in sequence begins the building, and it
 * goes on only as the reader does: at most options.ahead files beyond the last one touched are asked for, all others at later touches.
 * For a reader that opens files, the next few that the cache has on disk are loaded into memory.
 */
#include "fs/internal.h"

#define SKIP_MOST 64		/* files that may lie between two of a sequence */
#define LOAD_MOST 4		/* files that are loaded ahead */

/* What is known of a file; one that was known once is not looked at again, as its logic would have to be. */
static struct engine_stat look(struct fs *fs, struct engine_file *file)
{
	struct engine_stat stat = { 0 };

	stat.known = engine_seen(file, &stat.hash);
	if (!stat.known)
		engine_stat(fs->engine, file, &stat);
	return stat;
}

static bool is_built(struct fs *fs, size_t arch, size_t index)
{
	struct engine_file *file = engine_file(fs->engine, arch, index);

	return !engine_file_present(file) || look(fs, file).known;	/* of one that is gone nothing is to be built */
}

static size_t arch_number(struct fs *fs, const char *arch)
{
	size_t i = 0;

	while (strcmp(engine_arch(fs->engine, i), arch) != 0)
		i++;
	return i;
}

/* Is `index` the next file after `last`, but for built ones? */
static bool follows(struct fs *fs, size_t arch, size_t last, size_t index)
{
	if (index <= last || index - last > SKIP_MOST)
		return false;
	while (++last < index)
		if (!is_built(fs, arch, last))
			return false;
	return true;
}

/* The sequence that this file continues, begins, or is the last of so far: `ret_again`. With ahead_lock held. */
static struct stream *note_touch(struct fs *fs, size_t arch, const struct engine_file *file, bool *ret_again)
{
	const char *name = engine_file_arch(file);
	size_t index = engine_file_index(file);
	struct stream *oldest = &fs->streams[0];

	fs->stream_clock++;
	for (size_t i = 0; i < N_STREAMS; i++) {
		struct stream *stream = &fs->streams[i];
		if (stream->arch == name && (stream->last == index || follows(fs, arch, stream->last, index))) {
			*ret_again = stream->last == index;
			stream->used = fs->stream_clock;
			stream->last = index;
			stream->length += !*ret_again;
			return stream;
		}
		if (stream->used < oldest->used)
			oldest = stream;
	}
	*oldest = (struct stream){ .arch = name, .last = index, .length = 1, .used = fs->stream_clock };
	*ret_again = false;
	return oldest;
}

/* Whoever wants the result will ask for it. */
static void ahead_done(void *userdata, int status, struct artifact *artifact, const struct error *error)
{
}

/* Asks for the files after one: unbuilt ones are built, built ones from `load` to `load_end` - 1 are brought into memory. */
static void go_ahead(struct fs *fs, size_t arch, size_t index, size_t load, size_t load_end)
{
	unsigned builds = fs->options.ahead;
	size_t end = MIN(engine_n_files(fs->engine, arch), index + SKIP_MOST);

	while (++index < end && builds > 0) {
		struct engine_file *next = engine_file(fs->engine, arch, index);
		if (!engine_file_present(next))
			continue;
		struct engine_stat stat = look(fs, next);
		if (stat.known && index >= load && index < load_end)
			engine_request(fs->engine, next, ENGINE_WAITED, ahead_done, NULL);
		if (stat.known || stat.state == ENGINE_FAILED)
			continue;
		builds--;
		if (stat.state == ENGINE_BUILDING)
			continue;
		pthread_mutex_lock(&fs->ahead_lock);
		fs->ahead_requests++;
		pthread_mutex_unlock(&fs->ahead_lock);
		engine_request(fs->engine, next, ENGINE_AHEAD, ahead_done, NULL);
	}
}

/* It comes first in a folder, and whoever waits for a compiler will want the rest afterwards: that begins without a second file. */
static bool is_slow_helper(struct fs *fs, struct engine_file *file)
{
	return engine_file_kind(file) == ENGINE_HELPER && engine_compiles_helpers(fs->engine) && !look(fs, file).known;
}

void ahead_touch(struct fs *fs, struct engine_file *file, bool opened)
{
	size_t arch = arch_number(fs, engine_file_arch(file)), index = engine_file_index(file), load, load_end = 0;
	bool again;

	if (fs->options.ahead == 0)
		return;
	bool slow = is_slow_helper(fs, file);
	pthread_mutex_lock(&fs->ahead_lock);
	struct stream *stream = note_touch(fs, arch, file, &again);
	bool sequential = stream->length >= 2 || slow;
	load = MAX(stream->load_end, index + 1);
	if (sequential && opened)
		stream->load_end = load_end = index + 1 + MIN(LOAD_MOST, fs->options.ahead);
	pthread_mutex_unlock(&fs->ahead_lock);
	if (sequential && (!again || load < load_end))
		go_ahead(fs, arch, index, load, load_end);
}
