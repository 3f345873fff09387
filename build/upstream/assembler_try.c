/* SPDX-License-Identifier: MIT */
/*
 * Many snippets, one verdict each, few runs.
 *
 * Snippets of one target and one set of options are a group, and groups are judged by two threads. Of a group, all snippets that are nothing
 * but plain instructions are put into one input and judged by the lines that complaints name. What is left over is put into one more
 * input, which has to be accepted without a word: some faults are only looked for when nothing else was found, and no verdict is "accepted"
 * without a run that was content with it. Plain instructions have no effect on each other: they define no symbol, no macro and no state
 * of the assembler, open nothing that they do not close, and cannot renumber lines. Whatever is not plain (directives, labels, comments,
 * strings ...) is judged in a run of its own, and so is a group of which the assembler says something that names no line.
 *
 * A complaint about the target or the options (there is one for the empty input, too) refuses the whole group, but only when the assembler
 * proves afterwards that it can still assemble what it could before: a disk that is full must not look like a processor without instructions.
 */
#include "build/upstream/assembler_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define THREADS_MOST 2

/* ---- groups ----------------------------------------------------------------------------------------------------------- */

struct group {
	const struct assembler_snippet **snippets;	/* part of the sorted list */
	size_t n;
};

struct trial {
	struct program *program;
	const struct program_found *found;
	const struct assembler_snippet *first;		/* the caller's array; verdicts are in its order */
	bool *verdicts;
	struct group *groups;
	size_t n_groups;
	atomic_size_t next_group;
	atomic_int failed;				/* the first error; no further run starts */
	struct error *error;				/* written by who set `failed` */
};

static int compare(const void *a, const void *b)
{
	const struct assembler_snippet *x = *(const struct assembler_snippet *const *)a, *y = *(const struct assembler_snippet *const *)b;

	int order = strcmp(x->target, y->target);
	if (!order)
		order = strcmp(x->options, y->options);
	return order ? order : (x > y) - (x < y);
}

static void set_verdict(struct trial *trial, const struct assembler_snippet *snippet, bool verdict)
{
	trial->verdicts[snippet - trial->first] = verdict;
}

static int run(struct trial *trial, const struct assembler_snippet *snippet, const void *text, size_t size, struct assembler_result *ret_result,
	       struct error *error)
{
	_cleanup_buffer_ struct buffer options = { 0 };

	if (atomic_load(&trial->failed))
		return atomic_load(&trial->failed);
	buffer_printf(&options, "-mcpu=%s %s", snippet->target, snippet->options);
	buffer_append(&options, "", 1);
	if (options.failed)
		return -ENOMEM;
	return assembler_run(trial->program, trial->found,
			     &(struct assembler_run){ .triple = "amdgcn-amdhsa", .options = (char *)options.data, .text = text, .size = size },
			     ret_result, error);
}

/* ---- a run for one ---------------------------------------------------------------------------------------------------- */

static int run_one(struct trial *trial, const struct assembler_snippet *snippet, const char *text, struct assembler_result *ret_result,
		   struct error *error)
{
	int r = run(trial, snippet, text, strlen(text), ret_result, error);

	if (r < 0)
		return r;
	if (!assembler_crashed(ret_result))
		return 0;
	error_set(error, -EIO, "the assembler failed on '%.200s' for %s: %.600s", text, snippet->target, ret_result->error.text);
	assembler_result_release(ret_result);
	return -EIO;
}

/* Whether the assembler knows the group's target and options: it accepts nothing at all. */
static int knows_target(struct trial *trial, const struct group *group, bool *ret_knows, struct error *error)
{
	_cleanup_(assembler_result_release) struct assembler_result result = { 0 };

	int r = run_one(trial, group->snippets[0], "", &result, error);
	if (r < 0)
		return r;
	*ret_knows = assembler_is_content(&result);
	return *ret_knows ? 0 : assembler_check(trial->program, trial->found, error);
}

static int judge_alone(struct trial *trial, const struct group *group, const struct assembler_snippet *snippet, struct error *error)
{
	_cleanup_(assembler_result_release) struct assembler_result result = { 0 };
	struct assembler_complaint complaint;
	bool knows;

	int r = run_one(trial, snippet, snippet->text, &result, error);
	if (r < 0)
		return r;
	set_verdict(trial, snippet, assembler_is_content(&result));
	if (assembler_is_content(&result) || assembler_next_complaint((char *)result.said.data, &complaint))
		return 0;
	return knows_target(trial, group, &knows, error);
}

static int judge_each(struct trial *trial, const struct group *group, struct error *error)
{
	int r = 0;

	for (size_t i = 0; i < group->n && r == 0; i++)
		r = judge_alone(trial, group, group->snippets[i], error);
	return r;
}

/* ---- a run for many --------------------------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* "v_add_u32 v0, v1, v2": a name that starts with a small letter and has an underscore, not followed by a colon (a label); then only what
 * operands and modifiers need. A point stands only in numbers: by itself it is the current address. */
static bool is_plain_line(const char *line, size_t length)
{
	static const char operands[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ \t,[]():.+-|";
	size_t name = 0;

	while (name < length && is_word(line[name]))
		name++;
	if (name == 0 || line[0] < 'a' || !memchr(line, '_', name))
		return false;
	size_t at = name;
	while (at < length && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (at < length && (at == name || line[at] == ':'))
		return false;
	for (; at < length; at++)
		if (!memchr(operands, line[at], sizeof(operands) - 1) || (line[at] == '.' && (line[at - 1] < '0' || line[at - 1] > '9')))
			return false;
	return true;
}

static bool is_plain(const char *text)
{
	while (*text) {
		text += strspn(text, " \t\n");
		size_t length = strcspn(text, "\n");
		if (length && !is_plain_line(text, length))
			return false;
		text += length;
	}
	return true;
}

static unsigned count_lines(const char *text)
{
	unsigned n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* An empty line behind each: a complaint about what is missing at the end may name it. */
static void write_batch(const struct group *batch, struct buffer *buffer)
{
	for (size_t i = 0; i < batch->n; i++) {
		buffer_append_string(buffer, batch->snippets[i]->text);
		buffer_append_string(buffer, "\n\n");
	}
}

/* The snippet to which a line of the batch belongs, or NULL. */
static const struct assembler_snippet **find_owner(const struct group *batch, unsigned line)
{
	unsigned end = 1;

	for (size_t i = 0; i < batch->n; i++) {
		end += count_lines(batch->snippets[i]->text) + 1;
		if (line && line < end)
			return &batch->snippets[i];
	}
	return NULL;
}

/* Whether all that it says is complaints that name a line, each with two lines that show the place. */
static bool names_only_lines(const char *said)
{
	struct assembler_complaint complaint;

	while (*said) {
		const char *next = assembler_next_complaint(said, &complaint);
		if (!next || complaint.start != said)
			return false;
		for (unsigned i = 0; i < 2 && *next; i++) {
			next += strcspn(next, "\n");
			next += *next == '\n';
		}
		said = next;
	}
	return true;
}

/* Gives those that complaints name their verdict and takes them out of the batch. */
static int remove_refused(struct trial *trial, struct group *batch, const char *said)
{
	_cleanup_free_ bool *refused = calloc(batch->n, 1);
	struct assembler_complaint complaint;
	size_t left = 0;

	if (!refused)
		return -ENOMEM;
	while ((said = assembler_next_complaint(said, &complaint))) {
		const struct assembler_snippet **owner = find_owner(batch, complaint.line);
		if (owner)
			refused[owner - batch->snippets] = true;
	}
	for (size_t i = 0; i < batch->n; i++)
		if (refused[i])
			set_verdict(trial, batch->snippets[i], false);
		else
			batch->snippets[left++] = batch->snippets[i];
	batch->n = left;
	return 0;
}

static void accept_all(struct trial *trial, const struct group *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		set_verdict(trial, batch->snippets[i], true);
}

/*
 * One run for the batch. *ret_done: all have their verdict, or none is left; otherwise some have it and are taken out. -EAGAIN: it said or
 * did what says nothing about single snippets.
 */
static int judge_batch(struct trial *trial, struct group *batch, bool *ret_done, struct error *error)
{
	_cleanup_(assembler_result_release) struct assembler_result result = { 0 };
	_cleanup_buffer_ struct buffer text = { 0 };
	size_t before = batch->n;

	write_batch(batch, &text);
	if (text.failed)
		return -ENOMEM;
	int r = run(trial, batch->snippets[0], text.data, text.size, &result, error);
	if (r < 0)
		return r;
	*ret_done = assembler_is_content(&result);
	if (*ret_done) {
		accept_all(trial, batch);
		return 0;
	}
	if (assembler_crashed(&result) || !names_only_lines((char *)result.said.data))
		return -EAGAIN;
	r = remove_refused(trial, batch, (char *)result.said.data);
	*ret_done = batch->n == 0;
	return r < 0 || batch->n < before ? r : -EAGAIN;
}

/* ---- a group ---------------------------------------------------------------------------------------------------------- */

/* Puts the plain ones in front and returns how many there are. */
static size_t sort_plain(struct group *group)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++)
		if (is_plain(group->snippets[i]->text)) {
			const struct assembler_snippet *plain = group->snippets[i];
			group->snippets[i] = group->snippets[n];
			group->snippets[n++] = plain;
		}
	return n;
}

static int judge_group(struct trial *trial, struct group *group, struct error *error)
{
	size_t n_plain = sort_plain(group);
	struct group batch = { group->snippets, n_plain }, others = { group->snippets + n_plain, group->n - n_plain };
	bool done = batch.n == 0, knows;
	int r = 0;

	while (r == 0 && !done)
		r = judge_batch(trial, &batch, &done, error);
	if (r == -EAGAIN) {
		r = knows_target(trial, group, &knows, error);
		if (r < 0 || !knows)
			return r;	/* a verdict is "refused" until it is set */
		r = judge_each(trial, &batch, error);
	}
	return r < 0 ? r : judge_each(trial, &others, error);
}

static void *judge_groups(void *userdata)
{
	struct trial *trial = userdata;
	struct error error;
	size_t i;

	while (!atomic_load(&trial->failed) && (i = atomic_fetch_add(&trial->next_group, 1)) < trial->n_groups) {
		error.text[0] = 0;
		int none = 0, r = judge_group(trial, &trial->groups[i], &error);
		if (r < 0 && atomic_compare_exchange_strong(&trial->failed, &none, r))
			error_set(trial->error, r, "%s", error_text(&error, r));
	}
	return NULL;
}

/* ---- all -------------------------------------------------------------------------------------------------------------- */

static size_t make_groups(const struct assembler_snippet **sorted, size_t n, struct group *groups)
{
	size_t n_groups = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(sorted[i]->target, sorted[i - 1]->target) != 0 || strcmp(sorted[i]->options, sorted[i - 1]->options) != 0)
			groups[n_groups++] = (struct group){ .snippets = sorted + i };
		groups[n_groups - 1].n++;
	}
	return n_groups;
}

static void judge_in_threads(struct trial *trial)
{
	pthread_t threads[THREADS_MOST - 1];
	size_t n = 0;

	while (n < ARRAY_SIZE(threads) && n + 1 < trial->n_groups && pthread_create(&threads[n], NULL, judge_groups, trial) == 0)
		pthread_setname_np(threads[n++], "assembler");
	judge_groups(trial);
	while (n)
		pthread_join(threads[--n], NULL);
}

int assembler_try(struct program *assembler, const struct assembler_snippet *snippets, size_t n, bool *ret_verdicts, struct error *error)
{
	_cleanup_free_ const struct assembler_snippet **sorted = calloc(n + 1, sizeof(*sorted));
	_cleanup_free_ struct group *groups = calloc(n + 1, sizeof(*groups));
	_cleanup_free_ bool *verdicts = calloc(n + 1, sizeof(*verdicts));
	struct trial trial = { .program = assembler, .first = snippets, .verdicts = verdicts, .groups = groups, .error = error };

	if (!sorted || !groups || !verdicts)
		return -ENOMEM;
	int r = program_identify(assembler, &trial.found, error);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		sorted[i] = &snippets[i];
	qsort(sorted, n, sizeof(*sorted), compare);
	trial.n_groups = make_groups(sorted, n, groups);
	judge_in_threads(&trial);
	r = atomic_load(&trial.failed);
	if (r == 0)
		memcpy(ret_verdicts, verdicts, n * sizeof(*verdicts));
	return r;
}
