/* SPDX-License-Identifier: MIT */
/*
 * How trees are built, for the two readers behind yaml_read(): events.c takes any YAML, plain.c a simple form of it fast. Internal
 * to both.
 */
#pragma once

#include "build/logic/tree.h"

#define TREE_LARGEST ((size_t)1 << 30)	/* bytes of nodes and texts */
#define TREE_LONGEST_LINE (1u << 20)
#define TREE_DEEPEST 32
/* Different ones. hipBLASLt's files have less than 500, and finding one takes longer the more there are. */
#define TREE_MOST_KEYS 16384

struct tree_builder {
	struct yaml *yaml;
	unsigned depth;
	struct yaml_node *open[TREE_DEEPEST];	/* lists and maps without their end */
	struct yaml_node **tail[TREE_DEEPEST];	/* where the next child of open[i] goes */
	const struct yaml_key *key[TREE_DEEPEST];	/* of open[i], a map, whose value comes next */
	struct yaml_key *last_key;
};

/* Adds a node to the innermost open list or map, or makes it the root. NULL: no memory. */
struct yaml_node *tree_add(struct tree_builder *builder, enum yaml_kind kind, uint32_t line);

/* Opens a list or map that was added; there has to be room for it. */
void tree_open(struct tree_builder *builder, struct yaml_node *node);

/* Closes the innermost. For a map returns the child whose key appeared before, or NULL. */
const struct yaml_node *tree_close(struct tree_builder *builder);

/* The key of the next child of the innermost open map. -ENOMEM, -E2BIG. */
int tree_set_key(struct tree_builder *builder, const char *text, size_t length);

/*
 * 0; -ENOMEM; or -EOPNOTSUPP when the text is not of the simple form, good or bad: then `yaml` has to be released and read by
 * events.
 */
int yaml_parse_plain(struct yaml *yaml, const char *text, size_t size);

/* Any YAML, by libyaml's events. `fd` -1: from memory. */
int yaml_parse_events(struct yaml *yaml, int fd, const void *bytes, size_t size, unsigned n_entries, struct error *error);
