/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a compact tree with line numbers. Internal to build/logic.
 *
 *     _cleanup_yaml_ struct yaml yaml = { 0 };
 *     r = yaml_read(&yaml, path, fd, YAML_WHOLE, &error);    // or only the first entries of the file's list
 *     for (const struct yaml_node *entry = yaml.root->first; entry; entry = entry->next)
 *             ...
 *
 * libyaml's events are the parser, but for texts so simple that a line at a time does; what is built here is bounded in memory and
 * depth, and refuses what a logic file never needs and an attacker loves: aliases, duplicate keys, keys that are not scalars,
 * several documents, lines and files of absurd size. Errors are located: "'path': line 12, column 3: ...".
 *
 * Scalars stay text until somebody asks. yaml_scalar() resolves them as the peer's loader does (CustomYamlLoader.parse_scalar):
 * true/yes, false/no, null/~/empty when plain, integers, anything else that reads as a float, or a string. Quotes do not make a
 * number a string there, so they do not here.
 */
#pragma once

#include "base/error.h"
#include "build/logic/arena.h"

#include <stdbool.h>

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

enum yaml_vocabulary { YAML_SOLUTION_KEYS, YAML_PROBLEM_KEYS, N_YAML_VOCABULARIES };

struct yaml_key {			/* interned: equal keys of one file are the same pointer */
	const char *text;
	uint32_t n;			/* bytes of it */
	uint32_t hash;
	uint32_t seen;			/* number of the last map that had it; duplicates */
	bool known[N_YAML_VOCABULARIES];
	const void *meaning[N_YAML_VOCABULARIES];	/* see yaml_meaning() */
	struct yaml_key *follower;	/* the key that came next the last time: maps of one kind have their keys in one order */
	struct yaml_key *next;		/* in its hash bucket */
};

struct yaml_node {
	uint8_t kind;			/* enum yaml_kind */
	bool plain;			/* a scalar without quotes */
	uint16_t column;		/* of a list or map in block style: where it begins in its line, from 0 */
	uint32_t line;			/* from 1 */
	uint32_t n;			/* scalar: bytes; list, map: children */
	uint32_t offset;		/* of a list or map in block style: where it begins; 0: not known, or in flow style */
	const struct yaml_key *key;	/* of this child of a map, else NULL */
	union {
		const char *text;	/* scalar, with a terminating NUL */
		struct yaml_node *first;/* list, map */
	};
	struct yaml_node *next;		/* sibling */
};

struct yaml_stamp {			/* tells one state of a file from another; zero when the text came from memory */
	uint64_t device, inode, size;
	int64_t mtime_ns, ctime_ns;
};

#define YAML_KEY_BUCKETS 1024

struct yaml {
	struct arena arena;
	const struct yaml_node *root;
	const char *path;		/* the caller's, for messages */
	struct yaml_stamp stamp;
	struct yaml_key *buckets[YAML_KEY_BUCKETS];
	uint32_t n_maps, n_keys;
};

#define YAML_WHOLE 0

void yaml_release(struct yaml *yaml);
#define _cleanup_yaml_ _cleanup_(yaml_release)

/*
 * Reads an open file. With n_entries > 0 the root has to be a list, and reading stops after that many entries (or the list's end),
 * having looked at no more of the file than that takes. `path` must live as long as `yaml`. -errno of read, -EINVAL for bad YAML,
 * -EFBIG for more than the limits.
 */
int yaml_read(struct yaml *yaml, const char *path, int fd, unsigned n_entries, struct error *error);

struct stat;
struct yaml_stamp yaml_stamp_of(const struct stat *st);
bool yaml_stamp_equal(const struct yaml_stamp *a, const struct yaml_stamp *b);

/* The same from memory; text[size] has to be a NUL. */
int yaml_parse(struct yaml *yaml, const char *path, const char *text, size_t size, unsigned n_entries, struct error *error);

/* The child of a map, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

/* What a key is in a vocabulary: what `find` gives for its text, which is asked once for each file. */
static inline const void *yaml_meaning(const struct yaml_key *key, enum yaml_vocabulary vocabulary, const void *(*find)(const char *text))
{
	struct yaml_key *noted = (struct yaml_key *)key;	/* one thread reads a file */

	if (!noted->known[vocabulary]) {
		noted->meaning[vocabulary] = find(key->text);
		noted->known[vocabulary] = true;
	}
	return noted->meaning[vocabulary];
}

/* Whether two nodes say the same in the same words. Keys are compared as of one file. */
bool yaml_equal(const struct yaml_node *a, const struct yaml_node *b);

/* Child number `index` of a list, or NULL. */
const struct yaml_node *yaml_at(const struct yaml_node *list, size_t index);

enum yaml_type { YAML_NULL, YAML_BOOL, YAML_INT, YAML_FLOAT, YAML_STRING };

struct yaml_value {
	enum yaml_type type;
	union {
		int64_t integer;	/* also 0 or 1 of a bool */
		double real;
		const char *string;	/* the node's text */
	};
};

struct yaml_value yaml_scalar(const struct yaml_node *node);

/* An integer or bool that fits; -EINVAL otherwise, with a message that names file, line, key and value. */
int yaml_int(const struct yaml *yaml, const struct yaml_node *node, int64_t *ret_value, struct error *error);

/* A few words for a value in a message: its text, or "a list", "a map". */
const char *yaml_describe(const struct yaml_node *node);
