/* SPDX-License-Identifier: MIT */
/* The AMDHSA metadata note. Source: LLVM "User Guide for AMDGPU Backend", "Code object V5 metadata". Fields that are missing stay 0. */
#include "tools/emulator/internal.h"

#include <msgpack.h>

static bool is_key(const msgpack_object *key, const char *name)
{
	return key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) && memcmp(key->via.str.ptr, name, key->via.str.size) == 0;
}

static const msgpack_object *map_get(const msgpack_object *map, const char *name, msgpack_object_type type)
{
	if (map->type != MSGPACK_OBJECT_MAP)
		return NULL;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *pair = &map->via.map.ptr[i];
		if (is_key(&pair->key, name))
			return pair->val.type == type ? &pair->val : NULL;
	}
	return NULL;
}

static uint32_t get_number(const msgpack_object *map, const char *name)
{
	const msgpack_object *value = map_get(map, name, MSGPACK_OBJECT_POSITIVE_INTEGER);
	return value && value->via.u64 <= UINT32_MAX ? (uint32_t)value->via.u64 : 0;
}

static char *get_string(const msgpack_object *map, const char *name)
{
	const msgpack_object *value = map_get(map, name, MSGPACK_OBJECT_STR);
	return value ? strndup(value->via.str.ptr, value->via.str.size) : strdup("");
}

static int read_arguments(const msgpack_object *list, struct kernel_entry *entry)
{
	uint32_t n = list->via.array.size;
	struct emu_argument *arguments = calloc(MAX(n, 1u), sizeof(*arguments));
	if (!arguments)
		return -ENOMEM;
	entry->arguments = arguments;
	for (uint32_t i = 0; i < n; i++) {
		const msgpack_object *argument = &list->via.array.ptr[i];
		arguments[i] = (struct emu_argument){
			.name = get_string(argument, ".name"),
			.value_kind = get_string(argument, ".value_kind"),
			.offset = get_number(argument, ".offset"),
			.size = get_number(argument, ".size"),
		};
		entry->kernel.n_arguments = i + 1;
		if (!arguments[i].name || !arguments[i].value_kind)
			return -ENOMEM;
	}
	return 0;
}

static struct kernel_entry *find_entry(struct emu_object *object, const msgpack_object *name)
{
	for (size_t i = 0; name && i < object->n_kernels; i++) {
		if (is_key(name, object->kernels[i].name))
			return &object->kernels[i];
	}
	return NULL;
}

static int read_kernel(const msgpack_object *map, struct emu_object *object)
{
	struct kernel_entry *entry = find_entry(object, map_get(map, ".name", MSGPACK_OBJECT_STR));
	if (!entry)
		return 0;
	struct emu_kernel *kernel = &entry->kernel;
	kernel->max_workgroup = get_number(map, ".max_flat_workgroup_size");
	kernel->meta_lds_bytes = get_number(map, ".group_segment_fixed_size");
	kernel->meta_kernarg_bytes = get_number(map, ".kernarg_segment_size");
	kernel->wavefront_size = get_number(map, ".wavefront_size");
	const msgpack_object *arguments = map_get(map, ".args", MSGPACK_OBJECT_ARRAY);
	return arguments && !entry->arguments ? read_arguments(arguments, entry) : 0;
}

static int read_kernels(const msgpack_object *root, struct emu_object *object)
{
	const msgpack_object *kernels = map_get(root, "amdhsa.kernels", MSGPACK_OBJECT_ARRAY);
	for (uint32_t i = 0; kernels && i < kernels->via.array.size; i++) {
		int r = read_kernel(&kernels->via.array.ptr[i], object);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- size of hostile MessagePack -------------------------------------------------------------------------------------- */

struct walk {
	const uint8_t *bytes;
	size_t size, at;
};

static bool take(struct walk *walk, size_t n, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (n > walk->size - walk->at)
		return false;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | walk->bytes[walk->at + i];
	walk->at += n;
	*ret_number = number;
	return true;
}

static bool skip(struct walk *walk, uint64_t n)
{
	if (n > walk->size - walk->at)
		return false;
	walk->at += n;
	return true;
}

/* Passes one value; the values inside an array or a map are added to `pending`. Source: the MessagePack specification. */
static bool walk_value(struct walk *walk, uint64_t *pending)
{
	static const uint8_t fixed[] = { [0xca - 0xc0] = 4, [0xcb - 0xc0] = 8, [0xcc - 0xc0] = 1, [0xcd - 0xc0] = 2, [0xce - 0xc0] = 4,
					 [0xcf - 0xc0] = 8, [0xd0 - 0xc0] = 1, [0xd1 - 0xc0] = 2, [0xd2 - 0xc0] = 4, [0xd3 - 0xc0] = 8,
					 [0xd4 - 0xc0] = 2, [0xd5 - 0xc0] = 3, [0xd6 - 0xc0] = 5, [0xd7 - 0xc0] = 9, [0xd8 - 0xc0] = 17 };
	uint64_t type, n;
	if (!take(walk, 1, &type))
		return false;
	if (type < 0x80 || type >= 0xe0)
		return true;
	if (type < 0xa0) {
		*pending += (type & 15) * (type < 0x90 ? 2u : 1u);
		return true;
	}
	if (type < 0xc0)
		return skip(walk, type & 31);
	if (type >= 0xdc) {			/* array 16, 32, map 16, 32 */
		if (!take(walk, type & 1 ? 4 : 2, &n))
			return false;
		*pending += n * (type >= 0xde ? 2u : 1u);
		return true;
	}
	if (type >= 0xd9)			/* string 8, 16, 32 */
		return take(walk, (size_t)1 << (type - 0xd9), &n) && skip(walk, n);
	if (type >= 0xc4 && type <= 0xc6)	/* bytes 8, 16, 32 */
		return take(walk, (size_t)1 << (type - 0xc4), &n) && skip(walk, n);
	if (type >= 0xc7 && type <= 0xc9)	/* extension 8, 16, 32: a type byte more */
		return take(walk, (size_t)1 << (type - 0xc7), &n) && skip(walk, n + 1);
	return skip(walk, fixed[type - 0xc0]);
}

/* Whether all the values that arrays and maps promise can be there: the library allocates by what is promised. */
static bool is_complete(const uint8_t *bytes, size_t size)
{
	struct walk walk = { .bytes = bytes, .size = size };
	for (uint64_t pending = 1; pending > 0; pending--) {
		if (pending > size - walk.at || !walk_value(&walk, &pending))
			return false;
	}
	return true;
}

int metadata_read(const uint8_t *bytes, size_t size, struct emu_object *object, struct error *error)
{
	msgpack_unpacked result;
	size_t offset = 0;
	if (!is_complete(bytes, size))
		return error_set(error, -EINVAL, "damaged code object: its metadata is cut off");
	msgpack_unpacked_init(&result);
	msgpack_unpack_return state = msgpack_unpack_next(&result, (const char *)bytes, size, &offset);
	int r = state == MSGPACK_UNPACK_SUCCESS	? read_kernels(&result.data, object)
		: state == MSGPACK_UNPACK_NOMEM_ERROR ? -ENOMEM
						      : error_set(error, -EINVAL, "damaged code object: its metadata is no MessagePack");
	msgpack_unpacked_destroy(&result);
	return r;
}
