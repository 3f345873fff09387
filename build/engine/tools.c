/* SPDX-License-Identifier: MIT */
#include "build/engine/tools.h"

#include "build/engine/internal.h"

struct tools_entry {
	struct tools tools;		/* what callers see; its address is the entry's */
	struct tools_entry *older;
};

/* Both texts are compared as pointers: a linker's and a generator's live as long as the engine. */
static int intern(struct engine *engine, const char *linker, const char *generator, const struct tools **ret_tools)
{
	struct tools_entry *entry;
	int r = 0;

	pthread_mutex_lock(&engine->lock);
	for (entry = engine->tools; entry && (entry->tools.linker != linker || entry->tools.generator != generator); entry = entry->older)
		;
	if (!entry && (entry = malloc(sizeof(*entry)))) {
		*entry = (struct tools_entry){ .tools = { linker, generator }, .older = engine->tools };
		engine->tools = entry;
	}
	if (entry)
		*ret_tools = &entry->tools;
	else
		r = -ENOMEM;
	pthread_mutex_unlock(&engine->lock);
	return r;
}

int tools_identify(struct engine *engine, enum engine_kind kind, const struct tools **ret_tools, struct error *error)
{
	const struct program_found *linker = NULL;
	const char *generator;

	int r = kind_is_linked(kind) ? program_identify(engine->linker, &linker, error) : 0;
	if (r == 0)
		r = engine->generator->identify(engine->generator, kind, &generator, error);
	return r < 0 ? r : intern(engine, linker ? linker->identity : NULL, generator, ret_tools);
}

int tools_known(struct engine *engine, enum engine_kind kind, const struct tools **ret_tools)
{
	const char *linker = kind_is_linked(kind) ? engine_linker_version(engine) : NULL, *generator;

	if (kind_is_linked(kind) && !linker)
		return -EAGAIN;
	int r = engine->generator->identity(engine->generator, kind, &generator);
	return r < 0 ? r : intern(engine, linker, generator, ret_tools);
}

void tools_release(struct engine *engine)
{
	while (engine->tools) {
		struct tools_entry *entry = engine->tools;
		engine->tools = entry->older;
		free(entry);
	}
}
