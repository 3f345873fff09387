/* SPDX-License-Identifier: MIT */
/*
 * A .dat as YAML, for builds with --library-format yaml: the text that PyYAML's dump has for the same content. Maps are sorted by
 * key; what holds nothing but scalars is in flow style; strings that would be read as something else are quoted; floats are the
 * shortest that read back the same. Layout, the 80 columns of flow style included, is libyaml's and PyYAML's alike.
 */
#include "build/logic/logic.h"

#include <ctype.h>
#include <math.h>
#include <msgpack.h>
#include <yaml.h>

static int write_bytes(void *data, unsigned char *bytes, size_t size)
{
	struct buffer *buffer = data;

	buffer_append(buffer, bytes, size);
	return !buffer->failed;
}

/* An event that could not be made has no type, and the emitter would not know what to do with it. */
static int emit(yaml_emitter_t *emitter, int made, yaml_event_t *event)
{
	return made && yaml_emitter_emit(emitter, event) ? 0 : -ENOMEM;
}

static int emit_text(yaml_emitter_t *emitter, const char *text, size_t length, yaml_scalar_style_t style)
{
	bool plain = style == YAML_PLAIN_SCALAR_STYLE;
	yaml_event_t event;

	return emit(emitter,
		    yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)length, plain, 1, style), &event);
}

/* ---- scalars ---------------------------------------------------------------------------------------------------------- */

/* As Python's repr: 0.1, 1e+16 (with the ".0" that YAML 1.1 wants before an exponent), 1.5e-05. */
static void print_real(double value, char text[64])
{
	char digits[32];
	int precision = 0, exponent;

	if (!isfinite(value)) {
		strcpy(text, isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf");
		return;
	}
	do
		snprintf(digits, sizeof(digits), "%.*e", precision, value);
	while (strtod(digits, NULL) != value && precision++ < 17);
	exponent = atoi(strchr(digits, 'e') + 1);
	if (exponent >= -4 && exponent < 16) {
		snprintf(text, 64, "%.*f", MAX(precision - exponent, 1), value);
		return;
	}
	*strchr(digits, 'e') = 0;
	snprintf(text, 64, "%s%se%+03d", digits, strchr(digits, '.') ? "" : ".0", exponent);
}

static bool is_number(const char *text, size_t length)
{
	size_t i = *text == '-' || *text == '+', n = 0;

	for (; i < length && (isdigit((unsigned char)text[i]) || text[i] == '_'); i++, n++)
		;
	if (n && i < length && text[i] == '.')
		for (i++; i < length && (isdigit((unsigned char)text[i]) || text[i] == '_'); i++)
			;
	return n && i == length && isdigit((unsigned char)text[*text == '-' || *text == '+']);
}

/* Whether a string without quotes would be read as something else (PyYAML's resolver, YAML 1.1). */
static bool needs_quotes(const char *text, size_t length)
{
	static const char *const words[] = { "", "~", "null", "true", "false", "yes", "no", "on", "off" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == length && strncasecmp(text, words[i], length) == 0)
			return true;
	return length && is_number(text, length);
}

static int emit_string(yaml_emitter_t *emitter, const char *text, size_t length)
{
	return emit_text(emitter, text, length, needs_quotes(text, length) ? YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE);
}

static int emit_scalar(yaml_emitter_t *emitter, const msgpack_object *object)
{
	char text[64] = "null";

	switch (object->type) {
	case MSGPACK_OBJECT_STR:
		return emit_string(emitter, object->via.str.ptr, object->via.str.size);
	case MSGPACK_OBJECT_BOOLEAN:
		strcpy(text, object->via.boolean ? "true" : "false");
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)object->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		snprintf(text, sizeof(text), "%lld", (long long)object->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		print_real(object->via.f64, text);
		break;
	default:
		break;
	}
	return emit_text(emitter, text, strlen(text), YAML_PLAIN_SCALAR_STYLE);
}

/* ---- lists and maps --------------------------------------------------------------------------------------------------- */

static bool is_scalar(const msgpack_object *object)
{
	return object->type != MSGPACK_OBJECT_ARRAY && object->type != MSGPACK_OBJECT_MAP;
}

static int compare_keys(const void *a, const void *b)
{
	const msgpack_object_str *x = &((const msgpack_object_kv *)a)->key.via.str, *y = &((const msgpack_object_kv *)b)->key.via.str;
	int r = memcmp(x->ptr, y->ptr, MIN(x->size, y->size));

	return r ? r : (x->size > y->size) - (x->size < y->size);
}

static int emit_object(yaml_emitter_t *emitter, const msgpack_object *object);

static int emit_list(yaml_emitter_t *emitter, const msgpack_object_array *list)
{
	yaml_sequence_style_t style = YAML_FLOW_SEQUENCE_STYLE;
	yaml_event_t event;

	for (uint32_t i = 0; i < list->size; i++)
		if (!is_scalar(&list->ptr[i]))
			style = YAML_BLOCK_SEQUENCE_STYLE;
	int r = emit(emitter, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style), &event);
	for (uint32_t i = 0; r == 0 && i < list->size; i++)
		r = emit_object(emitter, &list->ptr[i]);
	return r < 0 ? r : emit(emitter, yaml_sequence_end_event_initialize(&event), &event);
}

static int emit_map(yaml_emitter_t *emitter, const msgpack_object_map *map)
{
	yaml_mapping_style_t style = YAML_FLOW_MAPPING_STYLE;
	yaml_event_t event;

	for (uint32_t i = 0; i < map->size; i++)
		if (!is_scalar(&map->ptr[i].val))
			style = YAML_BLOCK_MAPPING_STYLE;
	if (map->size)
		qsort(map->ptr, map->size, sizeof(*map->ptr), compare_keys);
	int r = emit(emitter, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style), &event);
	for (uint32_t i = 0; r == 0 && i < map->size; i++) {
		r = emit_scalar(emitter, &map->ptr[i].key);
		if (r == 0)
			r = emit_object(emitter, &map->ptr[i].val);
	}
	return r < 0 ? r : emit(emitter, yaml_mapping_end_event_initialize(&event), &event);
}

static int emit_object(yaml_emitter_t *emitter, const msgpack_object *object)
{
	if (object->type == MSGPACK_OBJECT_ARRAY)
		return emit_list(emitter, &object->via.array);
	if (object->type == MSGPACK_OBJECT_MAP)
		return emit_map(emitter, &object->via.map);
	return emit_scalar(emitter, object);
}

static int emit_document(yaml_emitter_t *emitter, const msgpack_object *object)
{
	yaml_event_t event;

	int r = emit(emitter, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
	if (r == 0)
		r = emit(emitter, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 0), &event);
	if (r == 0)
		r = emit_object(emitter, object);
	if (r == 0)
		r = emit(emitter, yaml_document_end_event_initialize(&event, 0), &event);
	return r < 0 ? r : emit(emitter, yaml_stream_end_event_initialize(&event), &event);
}

int logic_dat_to_yaml(const struct buffer *dat, struct buffer *ret_yaml)
{
	_cleanup_(buffer_release) struct buffer text = { 0 };
	msgpack_unpacked unpacked;
	yaml_emitter_t emitter;

	msgpack_unpacked_init(&unpacked);
	if (msgpack_unpack_next(&unpacked, (const char *)dat->data, dat->size, NULL) != MSGPACK_UNPACK_SUCCESS) {
		msgpack_unpacked_destroy(&unpacked);
		return -EINVAL;
	}
	int r = yaml_emitter_initialize(&emitter) ? 0 : -ENOMEM;
	if (r == 0) {
		yaml_emitter_set_output(&emitter, write_bytes, &text);
		r = emit_document(&emitter, &unpacked.data);
		yaml_emitter_delete(&emitter);
	}
	msgpack_unpacked_destroy(&unpacked);
	if (r < 0)
		return r;
	*ret_yaml = text;
	text = (struct buffer){ 0 };
	return 0;
}
