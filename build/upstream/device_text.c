/* SPDX-License-Identifier: MIT */
#include "build/upstream/device_text_internal.h"

#include "base/array.h"

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

/* Keys of an entry are sorted, so that the symbol is not the first. */
int device_text_read_kernels(struct device_text *parsed, struct span *rest)
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
		r = device_text_read_kernels(parsed, &rest);
	}
	return r < 0 ? r : add(parsed, PIECE_METADATA, none, rest.start, rest.start + rest.size);
}

const struct piece *device_text_find(const struct device_text *text, enum piece_kind kind, struct span name)
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
		function = device_text_find(parsed, PIECE_FUNCTION, piece->name);
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
