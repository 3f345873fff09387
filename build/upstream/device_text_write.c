/* SPDX-License-Identifier: MIT */
#include "build/upstream/device_text_internal.h"

static void append(struct buffer *out, struct span text)
{
	buffer_append(out, text.start, text.size);
}

/* A line for readers, or the section that is there for them. */
static bool is_remark(struct span line)
{
	return starts(line, ";") || starts(line, "\t.section\t.AMDGPU.csdata");
}

/* ---- what is common --------------------------------------------------------------------------------------------------- */

/* Defined by the prelude or the epilogue for all. What others do not see each part has for itself. */
static bool is_common(const struct device_text *common, enum piece_kind kind, struct span name)
{
	const struct piece *piece = device_text_find(common, kind, name);

	return piece && piece->global;
}

static bool has_locals(const struct device_text *text)
{
	for (size_t i = 0; i < text->n; i++)
		if ((text->pieces[i].kind == PIECE_FUNCTION || text->pieces[i].kind == PIECE_OBJECT) && !text->pieces[i].global)
			return true;
	return false;
}

/* Code in a section of its own stands behind the code of all parts; what others do not see has to stay with what uses it. */
static bool code_comes_last(const struct device_text *common, const struct piece *function)
{
	return starts(function->text, "\t.section\t") || has_locals(common);
}

enum function_part { FUNCTION_CODE = 1, FUNCTION_REST = 2 };	/* its code; its descriptor and what is said of it */

static void append_function(const struct piece *function, unsigned parts, struct buffer *out)
{
	struct span rest = function->text, line;
	bool code = true, ended = false;

	while (next_line(&rest, &line)) {
		code = code && !starts(line, "\t.section\t.rodata");
		if (parts & (code && !ended ? FUNCTION_CODE : FUNCTION_REST) && !is_remark(line))
			append(out, line);
		code = code || starts(line, "\t.end_amdhsa_kernel");
		ended = ended || ends_function(line);
	}
}

/* A descriptor is bound and seen as its function is. */
static void append_declarations(const struct piece *function, struct buffer *out)
{
	static const char *const declarations[] = { "\t.globl\t", "\t.weak\t", "\t.protected\t", "\t.hidden\t" };
	struct span rest = function->text, line;

	while (next_line(&rest, &line))
		for (size_t i = 0; i < ARRAY_SIZE(declarations); i++)
			if (starts(line, declarations[i]))
				append(out, line);
}

/* A symbol stands in the symbol table where it is named first: variables where code names them. */
static void declare_variables(const struct device_text *common, const struct piece *function, struct buffer *out)
{
	for (size_t i = 0; i < common->n; i++) {
		const struct piece *piece = &common->pieces[i];
		if (piece->kind == PIECE_OBJECT && piece->global && memmem(function->text.start, function->text.size, piece->name.start, piece->name.size))
			buffer_printf(out, "\t.globl\t%.*s\n", (int)piece->name.size, piece->name.start);
	}
}

static void append_all(const struct device_text *text, enum piece_kind kind, struct buffer *out)
{
	for (size_t i = 0; i < text->n; i++)
		if (text->pieces[i].kind == kind)
			append(out, text->pieces[i].text);
}

/* Without some of the lines. */
static void append_kept(const struct device_text *text, enum piece_kind kind, bool (*drops)(struct span line), struct buffer *out)
{
	struct span rest, line;

	for (size_t i = 0; i < text->n; i++)
		if (text->pieces[i].kind == kind)
			for (rest = text->pieces[i].text; next_line(&rest, &line);)
				if (!drops(line))
					append(out, line);
}

static bool tells_target(struct span line)
{
	return starts(line, "\t.amdgcn_target") || starts(line, "\t.amdhsa_code_object_version");
}

/* The latter name symbols whose address matters: of use for merging equal functions alone, and some of them stand elsewhere. */
static bool is_not_for_the_end(struct span line)
{
	return tells_target(line) || starts(line, "\t.addrsig");
}

static bool tells_no_target(struct span line)
{
	return !tells_target(line);
}

/* A text without functions tells its target at its end. */
static void append_preamble(const struct device_text *text, struct buffer *out)
{
	append_all(text, PIECE_PREAMBLE, out);
	append_kept(text, PIECE_END, tells_no_target, out);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

int device_text_prelude(const struct device_text *common, struct buffer *out)
{
	append_preamble(common, out);
	for (size_t i = 0; i < common->n; i++) {
		const struct piece *piece = &common->pieces[i];
		if (piece->kind != PIECE_FUNCTION)
			continue;
		if (code_comes_last(common, piece)) {
			append_declarations(piece, out);
			declare_variables(common, piece, out);
			append_function(piece, FUNCTION_REST, out);
		} else {
			append_function(piece, FUNCTION_CODE | FUNCTION_REST, out);
		}
	}
	return out->failed ? -ENOMEM : 0;
}

static bool mentions(const struct device_text *text, enum piece_kind kind, const char *what)
{
	for (size_t i = 0; i < text->n; i++)
		if (text->pieces[i].kind == kind && find(text->pieces[i].text, what))
			return true;
	return false;
}

/*
 * What stands behind the functions of a part: the code of the next one follows as if it were of the same section. The rest of the padding is the
 * epilogue's, if the compiler writes it there: that of 22 does only when the headers have code that is in no section of its own.
 */
static void append_padding(const struct device_text *part, const struct device_text *common, bool last, struct buffer *out)
{
	bool refers = mentions(part, PIECE_FUNCTION, "amdgpu.max_"), filled = mentions(common, PIECE_PADDING, "\t.fill ");
	struct span rest, line;

	buffer_append_string(out, last ? "\t.text\n" : "\t.text\n\t.p2align\t8\n");
	for (size_t i = 0; i < part->n; i++)
		if (part->pieces[i].kind == PIECE_PADDING)
			for (rest = part->pieces[i].text; next_line(&rest, &line);)
				if ((last && (starts(line, "\t.p2alignl ") || (!filled && starts(line, "\t.fill ")))) || (refers && starts(line, "\t.set ")))
					append(out, line);
}

static bool is_writable(const struct piece *object)
{
	struct span section = last_section(object->text, object->section);

	return starts(section, "\t.data") || starts(section, "\t.bss") || find(section, ",\"aw") || find(object->text, "\t.comm\t");
}

/* A variable that no other object sees is one for each part: that is another program. Constants may be. */
static int check_variables(const struct device_text *text, struct error *error)
{
	for (size_t i = 0; i < text->n; i++) {
		const struct piece *piece = &text->pieces[i];
		if (piece->kind == PIECE_OBJECT && !piece->global && is_writable(piece))
			return error_set(error, -ENOTSUP, "the helper kernels share the variable '%.*s'", (int)MIN(piece->name.size, (size_t)200),
					 piece->name.start);
	}
	return 0;
}

static int check_metadata(const struct device_text *part, const struct device_text *common, struct error *error)
{
	const struct span none = { NULL, 0 };
	const struct piece *a = device_text_find(part, PIECE_METADATA, none), *b = device_text_find(common, PIECE_METADATA, none);

	return a && b && equal(a->text, b->text) ? 0 : error_set(error, -ENOTSUP, "the helper kernels have metadata besides that of kernels");
}

/* How many registers and how much stack a function takes that is called by its address, is said of the functions of one compilation. */
static int check_calls(const struct device_text *part, struct error *error)
{
	if (mentions(part, PIECE_FUNCTION, "\t.amdhsa_uses_dynamic_stack 1\n") || mentions(part, PIECE_FUNCTION, ".has_indirect_call, 1\n"))
		return error_set(error, -ENOTSUP, "the helper kernels call functions by their addresses");
	return 0;
}

int device_text_part(const struct device_text *part, const struct device_text *common, bool last, struct buffer *out, struct buffer *metadata,
		     struct error *error)
{
	int r = check_metadata(part, common, error);

	if (r == 0)
		r = check_variables(part, error);
	if (r == 0)
		r = check_variables(common, error);
	if (r == 0)
		r = check_calls(part, error);
	if (r < 0)
		return r;
	append_preamble(part, out);
	for (size_t i = 0; i < part->n; i++) {
		const struct piece *piece = &part->pieces[i];
		if (piece->kind == PIECE_FUNCTION && !is_common(common, PIECE_FUNCTION, piece->name))
			append_function(piece, FUNCTION_CODE | FUNCTION_REST, out);
		if (piece->kind == PIECE_KERNEL && !is_common(common, PIECE_FUNCTION, piece->name))
			append(metadata, piece->text);
	}
	append_padding(part, common, last, out);
	for (size_t i = 0; i < part->n; i++)
		if (part->pieces[i].kind == PIECE_OBJECT && !is_common(common, PIECE_OBJECT, part->pieces[i].name)) {
			append(out, part->pieces[i].section);
			append(out, part->pieces[i].text);
		}
	append_kept(part, PIECE_END, is_not_for_the_end, out);
	return out->failed || metadata->failed ? -ENOMEM : 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct span *x = &((const struct piece *)a)->name, *y = &((const struct piece *)b)->name;
	int order = memcmp(x->start, y->start, MIN(x->size, y->size));

	return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* A template may give the same kernel in several parts. */
static int check_kernels(const struct buffer *metadata, struct error *error)
{
	_cleanup_(device_text_free_p) struct device_text *kernels = calloc(1, sizeof(*kernels));
	struct span rest = { (const char *)metadata->data, metadata->size };

	int r = kernels ? device_text_read_kernels(kernels, &rest) : -ENOMEM;
	if (r < 0)
		return r;
	if (kernels->n > 0)
		qsort(kernels->pieces, kernels->n, sizeof(*kernels->pieces), compare_names);
	for (size_t i = 1; i < kernels->n; i++)
		if (equal(kernels->pieces[i - 1].name, kernels->pieces[i].name))
			return error_set(error, -ENOTSUP, "the helper kernels have '%.*s' in several sources", (int)MIN(kernels->pieces[i].name.size, (size_t)200),
					 kernels->pieces[i].name.start);
	return 0;
}

int device_text_epilogue(const struct device_text *common, const struct buffer *metadata, struct buffer *out, struct error *error)
{
	int r = check_kernels(metadata, error);

	if (r < 0)
		return r;
	append_preamble(common, out);
	for (size_t i = 0; i < common->n; i++)
		if (common->pieces[i].kind == PIECE_FUNCTION && code_comes_last(common, &common->pieces[i]))
			append_function(&common->pieces[i], FUNCTION_CODE, out);
	append_kept(common, PIECE_PADDING, is_remark, out);
	append_all(common, PIECE_OBJECT, out);
	append_kept(common, PIECE_END, is_not_for_the_end, out);
	buffer_append_string(out, "\t.amdgpu_metadata\n---\namdhsa.kernels:\n");
	append_all(common, PIECE_KERNEL, out);
	buffer_append(out, metadata->data, metadata->size);
	append_all(common, PIECE_METADATA, out);
	buffer_append_string(out, "\t.end_amdgpu_metadata\n");
	return out->failed ? -ENOMEM : 0;
}
