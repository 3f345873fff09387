/* SPDX-License-Identifier: MIT */
/*
 * What the parts of upstream.h share: upstream.c has its life and editions, questions.c what the assembler can do, requests.c
 * kernels, helpers.c helper kernels.
 *
 * Everything that objects depend on besides a request is one `edition`: TensileLite's files, python, the assembler. A change makes
 * another edition with workers of its own, as those of the old one are forked from what has loaded the old files; that ends when it
 * has been idle for a while. All editions are kept, as their texts are handed out.
 */
#pragma once

#include "build/upstream/assembler.h"
#include "build/upstream/hip.h"
#include "build/upstream/tensilelite.h"
#include "build/upstream/upstream.h"
#include "build/upstream/workers.h"

#include <json.h>
#include <pthread.h>

/* What the assembler said to the questions that are asked about targets. */
struct verdicts {
	char *targets;			/* a JSON list */
	char *json;			/* [[target, options, text, verdict], ...] */
	struct verdicts *next;
};

struct edition {
	char *identity;
	const char *interned;		/* the text of the first edition with this identity */
	struct workers *workers;
	pthread_mutex_t probe;		/* held while questions are put; protects `verdicts` */
	struct verdicts *verdicts;
	struct edition *older;
};

struct upstream {
	struct upstream_options options;	/* its strings are not kept */
	char *environment[5];		/* of the workers: "NAME=value", NULL-terminated, malloc memory */
	int program;			/* memfd with worker.py */
	char program_digest[KEY_TEXT_SIZE];
	struct tensilelite *tensilelite;
	struct program *python, *assembler, *hip;

	pthread_mutex_t look;		/* held while files and programs are looked at; taken before `lock` */
	int64_t looked_ms;
	pthread_mutex_t lock;		/* protects what follows; `edition` changes with both held */
	struct edition *edition;	/* the newest, or NULL */
	bool stopped;
};

/* The edition of now: of a look that is at most `age_ms` old. */
#define LOOK_MS 100
int upstream_current(struct upstream *upstream, int64_t age_ms, struct edition **ret_edition, struct error *error);

/* What was made belongs to an edition only if that is still the one of now. -ESTALE. */
int upstream_check(struct upstream *upstream, const struct edition *edition, struct error *error);

/* What workers have to be told about a target; asks the assembler the first time. The text lives as long as the edition. */
int upstream_verdicts(struct upstream *upstream, struct edition *edition, const char *target, const char **ret_json, struct error *error);

/* Parses the first `size` bytes of a reply, which have to be an object; json_object_put() it. -EPROTO. */
int upstream_parse(const struct buffer *reply, size_t size, struct json_object **ret_object, struct error *error);

/* The beginning of a request about a target. */
void upstream_begin_request(const struct upstream *upstream, const char *arch, const char *verdicts, struct buffer *body);

void append_json_string(struct buffer *json, const char *string);

/* The string at a place of a JSON list; "" when there is none. */
const char *string_at(struct json_object *list, size_t index);
