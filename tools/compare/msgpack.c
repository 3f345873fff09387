/* SPDX-License-Identifier: MIT */
/* Two values in MessagePack: the first difference on each way down is named by its path. */
#include "tools/compare/compare.h"

#include <inttypes.h>
#include <msgpack.h>

#define MOST 20				/* differences of one file that are told */

struct comparison {
	struct report *report;
	const char *section;
	struct buffer path;		/* "['solutions'][3]['index']" */
	size_t told;
};

static void print_value(const msgpack_object *value, struct buffer *out)
{
	char text[256];

	switch (value->type) {
	case MSGPACK_OBJECT_MAP:
		buffer_printf(out, "a map of %u", value->via.map.size);
		break;
	case MSGPACK_OBJECT_ARRAY:
		buffer_printf(out, "a list of %u", value->via.array.size);
		break;
	default:
		msgpack_object_print_buffer(text, sizeof(text), *value);
		buffer_append_string(out, text);
	}
}

static void tell(struct comparison *comparison, const msgpack_object *a, const msgpack_object *b)
{
	_cleanup_buffer_ struct buffer words = { 0 };

	if (comparison->told++ >= MOST)
		return;
	buffer_printf(&words, "%.*s is ", (int)comparison->path.size, (const char *)comparison->path.data);
	if (a)
		print_value(a, &words);
	buffer_append_string(&words, a ? ", and " : "only in the second: ");
	if (b)
		print_value(b, &words);
	else
		buffer_append_string(&words, "not there");
	buffer_append(&words, "", 1);
	if (!words.failed)
		report_difference(comparison->report, comparison->section, NULL, 0, "%s", (char *)words.data);
}

static void compare_values(struct comparison *comparison, const msgpack_object *a, const msgpack_object *b);

/* Goes on below a step of the path. */
static void descend(struct comparison *comparison, const msgpack_object *key, size_t index, const msgpack_object *a, const msgpack_object *b)
{
	size_t length = comparison->path.size;

	if (key && key->type == MSGPACK_OBJECT_STR)
		buffer_printf(&comparison->path, "['%.*s']", (int)key->via.str.size, key->via.str.ptr);
	else if (key && key->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
		buffer_printf(&comparison->path, "[%" PRIu64 "]", key->via.u64);
	else
		buffer_printf(&comparison->path, "[%zu]", index);
	if (a && b)
		compare_values(comparison, a, b);
	else
		tell(comparison, a, b);
	comparison->path.size = length;
}

/* What a list's entry is called, so that one that was added does not make all behind it different: AMDHSA metadata lists kernels. */
static const msgpack_object *name_of(const msgpack_object *entry)
{
	if (entry->type != MSGPACK_OBJECT_MAP)
		return NULL;
	for (uint32_t i = 0; i < entry->via.map.size; i++) {
		const msgpack_object_kv *pair = &entry->via.map.ptr[i];
		if (pair->key.type == MSGPACK_OBJECT_STR && pair->key.via.str.size == 7 && memcmp(pair->key.via.str.ptr, ".symbol", 7) == 0)
			return &pair->val;
	}
	return NULL;
}

static const msgpack_object *find_named(const msgpack_object_array *list, const msgpack_object *name)
{
	for (uint32_t i = 0; i < list->size; i++) {
		const msgpack_object *other = name_of(&list->ptr[i]);
		if (other && msgpack_object_equal(*other, *name))
			return &list->ptr[i];
	}
	return NULL;
}

static void compare_named(struct comparison *comparison, const msgpack_object_array *a, const msgpack_object_array *b)
{
	size_t before = comparison->told;

	for (uint32_t i = 0; i < a->size; i++) {
		const msgpack_object *name = name_of(&a->ptr[i]);
		if (name)
			descend(comparison, name, i, &a->ptr[i], find_named(b, name));
	}
	for (uint32_t i = 0; i < b->size; i++) {
		const msgpack_object *name = name_of(&b->ptr[i]);
		if (name && !find_named(a, name))
			descend(comparison, name, i, NULL, &b->ptr[i]);
	}
	if (comparison->told == before && comparison->told++ < MOST)
		report_difference(comparison->report, comparison->section, NULL, 0, "the kernels are in another order");
}

static void compare_arrays(struct comparison *comparison, const msgpack_object_array *a, const msgpack_object_array *b)
{
	for (uint32_t i = 0; i < MAX(a->size, b->size); i++)
		descend(comparison, NULL, i, i < a->size ? &a->ptr[i] : NULL, i < b->size ? &b->ptr[i] : NULL);
}

static const msgpack_object *find_key(const msgpack_object_map *map, const msgpack_object *key)
{
	for (uint32_t i = 0; i < map->size; i++)
		if (msgpack_object_equal(map->ptr[i].key, *key))
			return &map->ptr[i].val;
	return NULL;
}

static void compare_maps(struct comparison *comparison, const msgpack_object_map *a, const msgpack_object_map *b)
{
	size_t before = comparison->told;

	for (uint32_t i = 0; i < a->size; i++)
		descend(comparison, &a->ptr[i].key, i, &a->ptr[i].val, find_key(b, &a->ptr[i].key));
	for (uint32_t i = 0; i < b->size; i++)
		if (!find_key(a, &b->ptr[i].key))
			descend(comparison, &b->ptr[i].key, i, NULL, &b->ptr[i].val);
	if (comparison->told == before && comparison->told++ < MOST)
		report_difference(comparison->report, comparison->section, NULL, 0, "the keys of %s%.*s are in another order",
				  comparison->path.size ? "" : "the map", (int)comparison->path.size, (const char *)comparison->path.data);
}

static void compare_values(struct comparison *comparison, const msgpack_object *a, const msgpack_object *b)
{
	if (msgpack_object_equal(*a, *b))
		return;
	if (a->type != b->type || (a->type != MSGPACK_OBJECT_MAP && a->type != MSGPACK_OBJECT_ARRAY))
		tell(comparison, a, b);
	else if (a->type == MSGPACK_OBJECT_MAP)
		compare_maps(comparison, &a->via.map, &b->via.map);
	else if (a->via.array.size && name_of(&a->via.array.ptr[0]))
		compare_named(comparison, &a->via.array, &b->via.array);
	else
		compare_arrays(comparison, &a->via.array, &b->via.array);
}

int compare_msgpack(struct report *report, const char *section, const struct bytes *a, const struct bytes *b)
{
	struct comparison comparison = { .report = report, .section = section };
	msgpack_unpacked x, y;

	if (same_bytes(a, b))
		return 0;
	msgpack_unpacked_init(&x);
	msgpack_unpacked_init(&y);
	if (msgpack_unpack_next(&x, (const char *)a->data, a->size, NULL) == MSGPACK_UNPACK_SUCCESS &&
	    msgpack_unpack_next(&y, (const char *)b->data, b->size, NULL) == MSGPACK_UNPACK_SUCCESS)
		compare_values(&comparison, &x.data, &y.data);
	if (comparison.told == 0)	/* no MessagePack, or the same values in other words */
		compare_bytes(report, section, a, b);
	if (comparison.told > MOST)
		report_difference(report, section, NULL, 0, "%zu more values differ", comparison.told - MOST);
	msgpack_unpacked_destroy(&x);
	msgpack_unpacked_destroy(&y);
	buffer_release(&comparison.path);
	return 0;
}
