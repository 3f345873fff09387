/* SPDX-License-Identifier: MIT */
#include "build/upstream/device_text.h"

#include "base/array.h"

struct span {
	const char *start;
	size_t size;
};

enum piece_kind {
	PIECE_PREAMBLE,			/* target and version */
	PIECE_FUNCTION,			/* its code, and its descriptor if it is a kernel */
	PIECE_PADDING,			/* behind the last function, and what else concerns all of them */
	PIECE_OBJECT,			/* a variable or constant */
	PIECE_END,			/* .ident and the like */
	PIECE_KERNEL,			/* metadata of one */
	PIECE_METADATA,			/* the rest of it */
};

struct piece {
	enum piece_kind kind;
	struct span name, text;
	bool global;			/* other objects see it */
	struct span section;		/* of an object: the directive of what stands before it, which it repeats only when its own is another */
};

struct device_text {
	struct piece *pieces;		/* in the order of the text */
	size_t n, allocated;
};

/* ---- lines ------------------------------------------------------------------------------------------------------------ */

static bool starts(struct span line, const char *with)
{
	size_t length = strlen(with);

	return line.size >= length && memcmp(line.start, with, length) == 0;
}

static bool equal(struct span a, struct span b)
{
	return a.size == b.size && (a.size == 0 || memcmp(a.start, b.start, a.size) == 0);	/* one without a name may be at NULL */
}

static const char *find(struct span text, const char *what)
{
	return !text.size ? NULL : memmem(text.start, text.size, what, strlen(what));
}

/* Cuts the first line off, with its end. */
static bool next_line(struct span *rest, struct span *ret_line)
{
	const char *end = rest->size ? memchr(rest->start, '\n', rest->size) : NULL;
	size_t size = end ? (size_t)(end - rest->start) + 1 : rest->size;

	*ret_line = (struct span){ rest->start, size };
	rest->start += size;
	rest->size -= size;
	return size > 0;
}

/* What stands behind a prefix, up to the end of the word. */
static struct span word_at(const char *start, const char *end)
{
	const char *stop = start;

	while (stop < end && !strchr(" ,\t\n", *stop))
		stop++;
	return (struct span){ start, (size_t)(stop - start) };
}

static struct span word_behind(struct span line, const char *prefix)
{
	return word_at(line.start + strlen(prefix), line.start + line.size);
}

static bool is_section(struct span line)
{
	return starts(line, "\t.text") || starts(line, "\t.section\t") || starts(line, "\t.data\n") || starts(line, "\t.bss\n");
}

/* Does a directive of the text name a symbol? */
static bool declares(struct span text, const char *directive, struct span name)
{
	struct span line;

	while (next_line(&text, &line))
		if (starts(line, directive) && equal(word_behind(line, directive), name))
			return true;
	return false;
}

/* A directive with this comment; what a string of the source says is in quotes. */
static bool begins_function(struct span line, struct span *ret_name)
{
	static const char comment[] = "; -- Begin function ";
	const char *found = starts(line, "\t.") ? find(line, comment) : NULL;

	if (!found || memchr(line.start, '"', (size_t)(found - line.start)))
		return false;
	*ret_name = word_at(found + strlen(comment), line.start + line.size);
	return true;
}

/* A comment alone in its line. */
static bool ends_function(struct span line)
{
	for (; starts(line, " "); line.size--)
		line.start++;
	return starts(line, "; -- End function");
}

static void append(struct buffer *out, struct span text)
{
	buffer_append(out, text.start, text.size);
}

/* A line for readers, or the section that is there for them. */
static bool is_remark(struct span line)
{
	return starts(line, ";") || starts(line, "\t.section\t.AMDGPU.csdata");
}

/* ---- parsing ---------------------------------------------------------------------------------------------------------- */

static int add(struct device_text *parsed, enum piece_kind kind, struct span name, const char *start, const char *end)
{
	struct span text = { start, (size_t)(end - start) };

	if (ARRAY_GROW(parsed->pieces, parsed->allocated, parsed->n) < 0)
		return -ENOMEM;
	bool global = name.size && (declares(text, "\t.globl\t", name) || declares(text, "\t.weak\t", name));
	parsed->pieces[parsed->n++] = (struct piece){ .kind = kind, .name = name, .text = text, .global = global };
	return 0;
}

/* Lines that belong to what stands before them: to a function that has ended, or to the beginning. */
static bool belongs_to_begin(struct span line)
{
	static const char *const own[] = { ";", " ", "\n", "\t.set ", "\t.section\t.AMDGPU.csdata", "\t.amdgcn_target", "\t.amdhsa_code_object_version" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (starts(line, own[i]))
			return true;
	return false;
}

/* Where what follows all functions begins; `rest` starts behind the code of the last one, or at the beginning. */
static const char *find_padding(struct span rest, bool functions)
{
	struct span line;

	while (next_line(&rest, &line))
		if (!belongs_to_begin(line) && (functions || !starts(line, "\t.text")))
			return line.start;
	return rest.start;
}

/* Functions, and the preamble before them. Returns where they end in *ret_end. -EPROTO: one does not end. */
static int parse_functions(struct device_text *parsed, struct span body, const char **ret_end)
{
	const char *start = body.start;
	enum piece_kind kind = PIECE_PREAMBLE;
	struct span line, before = { body.start, 0 }, rest = body, name = { NULL, 0 }, next, behind = body;
	bool open = false;

	while (next_line(&rest, &line)) {
		if (ends_function(line)) {
			behind = rest;
			open = false;
		} else if (begins_function(line, &next)) {
			const char *first = is_section(before) ? before.start : line.start;
			int r = open ? -EPROTO : add(parsed, kind, name, start, first);
			if (r < 0)
				return r;
			kind = PIECE_FUNCTION;
			name = next;
			start = first;
			open = true;
		}
		before = line;
	}
	if (open)
		return -EPROTO;
	*ret_end = find_padding(behind, kind == PIECE_FUNCTION);
	return add(parsed, kind, name, start, *ret_end);
}

/* The name of a variable, if a line begins one: its type, or its visibility before that. */
static bool begins_object(struct span line, struct span *ret_name)
{
	static const char *const visibilities[] = { "\t.protected\t", "\t.hidden\t" };

	for (size_t i = 0; i < ARRAY_SIZE(visibilities); i++)
		if (starts(line, visibilities[i])) {
			*ret_name = word_behind(line, visibilities[i]);
			return true;
		}
	*ret_name = word_behind(line, "\t.type\t");
	return starts(line, "\t.type\t") && find(line, ",@object");
}

static struct span last_section(struct span text, struct span before)
{
	struct span line;

	while (next_line(&text, &line))
		if (is_section(line))
			before = line;
	return before;
}

static int parse_rest(struct device_text *parsed, struct span rest)
{
	struct span line, name = { NULL, 0 }, next, section = { NULL, 0 };
	enum piece_kind kind = PIECE_PADDING;
	const char *start = rest.start;
	int r = 0;

	while (r == 0 && next_line(&rest, &line)) {
		bool ends = starts(line, "\t.ident\t") || starts(line, "\t.section\t\".note.GNU-stack\"");
		if (kind == PIECE_END || (!ends && (!begins_object(line, &next) || (kind == PIECE_OBJECT && equal(next, name)))))
			continue;
		r = add(parsed, kind, name, start, line.start);
		if (r < 0)
			return r;
		parsed->pieces[parsed->n - 1].section = section;
		section = last_section(parsed->pieces[parsed->n - 1].text, section);
		kind = ends ? PIECE_END : PIECE_OBJECT;
		name = ends ? (struct span){ NULL, 0 } : next;
		start = line.start;
	}
	return r < 0 ? r : add(parsed, kind, name, start, rest.start);
}

/* What a kernel is called: its descriptor is NAME.kd, which YAML takes for nothing else, as it does a kernel "y". */
static struct span kernel_name(struct span line)
{
	static const char key[] = "    .symbol:", suffix[] = ".kd";
	const char *start = line.start + strlen(key);
	struct span name = word_at(start + strspn(start, " '"), line.start + line.size);

	if (name.size && name.start[name.size - 1] == '\'')
		name.size--;
	name.size -= MIN(name.size, strlen(suffix));
	return name;
}

/* Kernels are a list; keys of an entry are sorted, so that the symbol is not the first. Leaves what stands behind them in `rest`. */
static int parse_kernels(struct device_text *parsed, struct span *rest)
{
	const char *start = NULL;
	struct span line, name = { NULL, 0 };
	int r = 0;

	while (r == 0 && rest->size && rest->start[0] == ' ') {
		next_line(rest, &line);
		if (starts(line, "  - ")) {
			r = start ? add(parsed, PIECE_KERNEL, name, start, line.start) : 0;
			start = line.start;
			name = (struct span){ NULL, 0 };
		}
		if (starts(line, "    .symbol:"))
			name = kernel_name(line);
	}
	return r == 0 && start ? add(parsed, PIECE_KERNEL, name, start, rest->start) : r;
}

static int parse_metadata(struct device_text *parsed, struct span rest)
{
	const char *list = find(rest, "\namdhsa.kernels:");
	const struct span none = { NULL, 0 };
	struct span line;
	int r = 0;

	if (list) {
		rest.size -= (size_t)(list + 1 - rest.start);
		rest.start = list + 1;
		next_line(&rest, &line);
		r = parse_kernels(parsed, &rest);
	}
	return r < 0 ? r : add(parsed, PIECE_METADATA, none, rest.start, rest.start + rest.size);
}

static const struct piece *find_piece(const struct device_text *text, enum piece_kind kind, struct span name)
{
	for (size_t i = 0; i < text->n; i++)
		if (text->pieces[i].kind == kind && equal(text->pieces[i].name, name))
			return &text->pieces[i];
	return NULL;
}

/* Lines of what belongs to no function and is taken apart or left out: one that is not known might be code. */
static bool is_known(enum piece_kind kind, struct span line)
{
	static const char *const preamble[] = { ";", " ", "\n", "\t.text", "\t.amdgcn_target", "\t.amdhsa_code_object_version" };
	static const char *const padding[] = { ";", " ", "\n", "\t.text", "\t.p2alignl ", "\t.fill ", "\t.set ", "\t.section\t.AMDGPU." };
	bool is_preamble = kind == PIECE_PREAMBLE;

	for (size_t i = 0; i < (is_preamble ? ARRAY_SIZE(preamble) : ARRAY_SIZE(padding)); i++)
		if (starts(line, is_preamble ? preamble[i] : padding[i]))
			return true;
	return false;
}

/* -EPROTO: there are lines that are not understood, or kernels without code, descriptor or metadata. */
static int check_pieces(const struct device_text *parsed)
{
	size_t described = 0, kernels = 0;
	struct span rest, line;

	for (size_t i = 0; i < parsed->n; i++) {
		const struct piece *piece = &parsed->pieces[i], *function;
		if (piece->kind == PIECE_PREAMBLE || piece->kind == PIECE_PADDING)
			for (rest = piece->text; next_line(&rest, &line);)
				if (!is_known(piece->kind, line))
					return -EPROTO;
		described += piece->kind == PIECE_FUNCTION && find(piece->text, "\n\t.amdhsa_kernel ");
		if (piece->kind != PIECE_KERNEL)
			continue;
		function = find_piece(parsed, PIECE_FUNCTION, piece->name);
		if (!function || !declares(function->text, "\t.amdhsa_kernel ", piece->name))
			return -EPROTO;
		kernels++;
	}
	return described == kernels ? 0 : -EPROTO;
}

static int parse(struct device_text *parsed, struct span body, struct span metadata)
{
	const char *padding;

	int r = parse_functions(parsed, body, &padding);
	if (r == 0)
		r = parse_rest(parsed, (struct span){ padding, (size_t)(body.start + body.size - padding) });
	if (r == 0)
		r = parse_metadata(parsed, metadata);
	return r < 0 ? r : check_pieces(parsed);
}

int device_text_parse(const struct buffer *text, struct device_text **ret_parsed, struct error *error)
{
	static const char begin[] = "\n\t.amdgpu_metadata\n", end[] = "\n\t.end_amdgpu_metadata\n";
	const struct span all = { (const char *)text->data, text->size };
	const char *metadata = find(all, begin), *stop = find(all, end);
	_cleanup_(device_text_free_p) struct device_text *parsed = calloc(1, sizeof(*parsed));

	if (!parsed)
		return -ENOMEM;
	int r = -EPROTO;
	if (metadata && stop && stop > metadata) {
		const char *behind = metadata + strlen(begin);
		r = parse(parsed, (struct span){ all.start, (size_t)(metadata + 1 - all.start) }, (struct span){ behind, (size_t)(stop + 1 - behind) });
	}
	if (r == -EPROTO)
		return error_set(error, r, "the HIP compiler wrote %zu bytes that are no assembly text for a device", text->size);
	if (r == 0)
		*ret_parsed = TAKE(parsed);
	return r;
}

struct device_text *device_text_free(struct device_text *text)
{
	if (text) {
		free(text->pieces);
		free(text);
	}
	return NULL;
}

/* ---- what is common --------------------------------------------------------------------------------------------------- */

/* Defined by the prelude or the epilogue for all. What others do not see each part has for itself. */
static bool is_common(const struct device_text *common, enum piece_kind kind, struct span name)
{
	const struct piece *piece = find_piece(common, kind, name);

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
	const struct piece *a = find_piece(part, PIECE_METADATA, none), *b = find_piece(common, PIECE_METADATA, none);

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

	int r = kernels ? parse_kernels(kernels, &rest) : -ENOMEM;
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
