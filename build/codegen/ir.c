/* SPDX-License-Identifier: MIT */
/* Building and printing. The passes are in their own files; encode.c makes the machine code. */
#include "build/codegen/ir_internal.h"

#include "base/array.h"
#include "build/codegen/dedup.h"

#include <assert.h>

int ir_new(const struct isa *isa, struct ir **ret_ir)
{
	struct ir *ir = calloc(1, sizeof(*ir));
	if (!ir)
		return -ENOMEM;
	ir->isa = isa;
	*ret_ir = ir;
	return 0;
}

struct ir *ir_unref(struct ir *ir)
{
	if (!ir)
		return NULL;
	free(ir->insts);
	free(ir->labels);
	free(ir->comments);
	buffer_release(&ir->text);
	free(ir);
	return NULL;
}

const struct isa *ir_isa(const struct ir *ir)
{
	return ir->isa;
}

int ir_fail(struct ir *ir, int error, const char *format, ...)
{
	if (!ir->error) {
		va_list ap;

		va_start(ap, format);
		vsnprintf(ir->error_words.text, sizeof(ir->error_words.text), format, ap);
		va_end(ap);
		ir->error = error;
	}
	return ir->error;
}

/* Keeps a string, NUL and all, and returns where it is. */
static uint32_t keep_text(struct ir *ir, const char *text)
{
	size_t place = ir->text.size;

	buffer_append(&ir->text, text, strlen(text) + 1);
	if (ir->text.failed)
		ir_fail(ir, -ENOMEM, "no memory");
	return (uint32_t)place;
}

static const char *text_at(const struct ir *ir, uint32_t place)
{
	return ir->text.failed ? "" : (const char *)ir->text.data + place;
}

ir_label_id ir_label_new(struct ir *ir, const char *name)
{
	if (ARRAY_GROW(ir->labels, ir->allocated_labels, ir->n_labels) < 0) {
		ir_fail(ir, -ENOMEM, "no memory");
		return 0;
	}
	ir->labels[ir->n_labels] = (struct ir_label){ .name = keep_text(ir, name), .position = IR_NOWHERE };
	return (ir_label_id)ir->n_labels++;
}

void ir_label(struct ir *ir, ir_label_id label)
{
	if (ir->error)
		return;
	assert(label < ir->n_labels);
	assert(ir->labels[label].position == IR_NOWHERE);
	ir->labels[label].position = (uint32_t)ir->count;
}

struct isa_inst *ir_emit(struct ir *ir, unsigned op, const struct isa_operand *operands, unsigned n_operands)
{
	assert(n_operands <= ISA_MAX_OPERANDS);
	assert(!ir->finished);

	struct isa_inst *inst = &ir->spare;
	if (ARRAY_GROW(ir->insts, ir->allocated, ir->count) == 0)
		inst = &ir->insts[ir->count++];
	else
		ir_fail(ir, -ENOMEM, "no memory");

	const struct isa_op_info *info = isa_op_info(ir->isa, op);
	*inst = (struct isa_inst){
		.op = (uint16_t)op,
		.n_operands = (uint8_t)n_operands,
		.op_sel_hi = info->packed ? (uint8_t)((1u << (info->n_operands - 1)) - 1) : 0,	/* one bit a source */
		.row_mask = 0xf,
		.bank_mask = 0xf,
		.dst_sel = 6,
		.src0_sel = 6,
		.src1_sel = 6,
	};
	/* One by one: callers have just put them together so, and a wider load would have to wait for those stores. */
	for (unsigned i = 0; i < n_operands; i++)
		inst->operand[i] = operands[i];
	return inst;
}

void ir_branch(struct ir *ir, unsigned op, ir_label_id label)
{
	assert(isa_op_info(ir->isa, op)->kind == ISA_KIND_BRANCH);
	assert(ir->error || label < ir->n_labels);
	EMIT_LITERAL(ir, label, op, IR_IMM);
}

void ir_set_long_branch_sgpr(struct ir *ir, unsigned pair)
{
	assert(pair % 2 == 0);
	ir->long_branch_sgpr = pair;
	ir->has_long_branch_sgpr = true;
}

void ir_call(struct ir *ir, ir_label_id callee, unsigned link_sgpr)
{
	assert(link_sgpr % 2 == 0);
	assert(ir->error || callee < ir->n_labels);
	EMIT_LITERAL(ir, callee, ISA_S_CALL_B64, isa_sgpr(link_sgpr, 2), IR_IMM);
}

static void add_comment(struct ir *ir, uint32_t position, const char *line)
{
	if (ARRAY_GROW(ir->comments, ir->allocated_comments, ir->n_comments) < 0) {
		ir_fail(ir, -ENOMEM, "no memory");
		return;
	}
	ir->comments[ir->n_comments++] = (struct ir_comment){ .position = position, .line = keep_text(ir, line) };
}

void ir_comment(struct ir *ir, const char *format, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	add_comment(ir, (uint32_t)ir->count, line);
}

static bool is_removed(const uint64_t *removed, size_t i)
{
	return removed && (removed[i / 64] >> (i % 64) & 1);
}

int ir_rebuild(struct ir *ir, const struct ir_insertion *insertions, size_t n_insertions, const uint64_t *removed)
{
	if (n_insertions == 0 && !removed)
		return 0;

	size_t allocated = ir->count + n_insertions;
	_cleanup_free_ struct isa_inst *insts = malloc(MAX(allocated, (size_t)1) * sizeof(*insts));
	_cleanup_free_ uint32_t *moved_to = malloc((ir->count + 1) * sizeof(*moved_to));
	if (!insts || !moved_to)
		return ir_fail(ir, -ENOMEM, "no memory");

	size_t n = 0, next = 0;
	for (size_t i = 0; i <= ir->count; i++) {
		moved_to[i] = (uint32_t)n;
		while (next < n_insertions && insertions[next].position == i)
			insts[n++] = insertions[next++].inst;
		if (i < ir->count && !is_removed(removed, i))
			insts[n++] = ir->insts[i];
	}
	assert(next == n_insertions);

	for (size_t i = 0; i < ir->n_labels; i++) {
		if (ir->labels[i].position != IR_NOWHERE)
			ir->labels[i].position = moved_to[ir->labels[i].position];
	}
	for (size_t i = 0; i < ir->n_comments; i++)
		ir->comments[i].position = moved_to[ir->comments[i].position];
	free(ir->insts);
	ir->insts = TAKE(insts);
	ir->count = n;
	ir->allocated = allocated;
	return 0;
}

/* Every label that is used must have a place. */
static int check_labels(struct ir *ir)
{
	for (size_t i = 0; i < ir->count && !ir->error; i++) {
		const struct isa_inst *inst = &ir->insts[i];

		if (ir_refers_to_label(ir, inst) && ir->labels[inst->literal].position == IR_NOWHERE)
			ir_fail(ir, -EINVAL, "label '%s' is used and never placed", text_at(ir, ir->labels[inst->literal].name));
	}
	return ir->error;
}

static int run_passes(struct ir *ir, struct buffer *code, struct ir_stats *stats)
{
	if (ir->error || check_labels(ir) < 0 || ir_dedup(ir) < 0 || ir_wait(ir) < 0)
		return ir->error;
	return ir_encode(ir, code, stats);
}

int ir_finish(struct ir *ir, struct buffer *code, struct error *error, struct ir_stats *ret_stats)
{
	struct ir_stats stats = { 0 };

	assert(!ir->finished);
	int r = run_passes(ir, code, &stats);
	ir->finished = true;
	if (r < 0)
		return error_set(error, r, "%s", ir->error_words.text);
	if (ret_stats)
		*ret_stats = stats;
	return 0;
}

/* Names need not be unique, and may hold what assemblers do not take. The number makes them so. */
static void print_label_name(const struct ir *ir, uint32_t label, struct buffer *text)
{
	for (const char *c = text_at(ir, ir->labels[label].name); *c; c++)
		buffer_printf(text, "%c", (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ? *c : '_');
	buffer_printf(text, "_%u", label);
}

static void print_inst(const struct ir *ir, const struct isa_inst *inst, struct buffer *text)
{
	char line[256];

	buffer_append_string(text, "\t");
	if (ir_refers_to_label(ir, inst)) {
		buffer_append_string(text, isa_op_info(ir->isa, inst->op)->name);
		if (inst->op == ISA_S_CALL_B64)
			buffer_printf(text, " s[%u:%u],", inst->operand[0].code, inst->operand[0].code + 1);
		buffer_append_string(text, " ");
		print_label_name(ir, inst->literal, text);
	} else if (isa_print(ir->isa, inst, line, sizeof(line)) >= 0) {
		buffer_append_string(text, line);
	} else {
		buffer_printf(text, "; %s cannot be printed", isa_op_info(ir->isa, inst->op)->name);
	}
	buffer_append_string(text, "\n");
}

/* The labels in order of their places: first[p] .. first[p + 1] of `ids` stand at p. One counting sort. */
static int labels_by_position(const struct ir *ir, uint32_t **ret_first, uint32_t **ret_ids)
{
	_cleanup_free_ uint32_t *first = calloc(ir->count + 3, sizeof(*first));
	_cleanup_free_ uint32_t *ids = calloc(ir->n_labels + 1, sizeof(*ids));
	if (!first || !ids)
		return -ENOMEM;

	for (size_t i = 0; i < ir->n_labels; i++) {
		if (ir->labels[i].position != IR_NOWHERE)
			first[ir->labels[i].position + 2]++;
	}
	for (size_t p = 2; p < ir->count + 3; p++)
		first[p] += first[p - 1];
	for (size_t i = 0; i < ir->n_labels; i++) {
		if (ir->labels[i].position != IR_NOWHERE)
			ids[first[ir->labels[i].position + 1]++] = (uint32_t)i;
	}
	*ret_first = TAKE(first);
	*ret_ids = TAKE(ids);
	return 0;
}

void ir_print(const struct ir *ir, struct buffer *text)
{
	_cleanup_free_ uint32_t *first = NULL, *ids = NULL;

	if (labels_by_position(ir, &first, &ids) < 0) {
		text->failed = true;
		return;
	}
	size_t comment = 0;
	for (size_t i = 0; i <= ir->count; i++) {
		for (uint32_t l = first[i]; l < first[i + 1]; l++) {
			print_label_name(ir, ids[l], text);
			buffer_append_string(text, ":\n");
		}
		for (; comment < ir->n_comments && ir->comments[comment].position <= i; comment++)
			buffer_printf(text, "\t; %s\n", text_at(ir, ir->comments[comment].line));
		if (i < ir->count)
			print_inst(ir, &ir->insts[i], text);
	}
}
