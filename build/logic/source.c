/* SPDX-License-Identifier: MIT */
/*
 * Solutions as their files give them; see logic_write_solution().
 *
 * The text of a solution is four times what is kept of it, and most of it is never asked for. So only the place is kept, and the
 * text read again from there: in block style a map ends where a line is indented less than its keys. A file in which the place of a
 * solution is not known is read again as a whole.
 */
#include "build/logic/dat.h"
#include "build/logic/library.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

/* ---- JSON ------------------------------------------------------------------------------------------------------------- */

static void write_string(const char *text, size_t length, struct buffer *json)
{
	buffer_append_string(json, "\"");
	for (const char *end = text + length; text < end; text++)
		if (*text == '"' || *text == '\\')
			buffer_printf(json, "\\%c", *text);
		else if ((unsigned char)*text < ' ')
			buffer_printf(json, "\\u%04x", *text);
		else
			buffer_append(json, text, 1);
	buffer_append_string(json, "\"");
}

/* A number with a fraction or exponent, so that it is read as one. */
static void write_real(double real, struct buffer *json)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", real);
	buffer_printf(json, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void write_scalar(const struct yaml_node *node, struct buffer *json)
{
	struct yaml_value value = yaml_scalar(node);

	switch (value.type) {
	case YAML_NULL:
		return buffer_append_string(json, "null");
	case YAML_BOOL:
		return buffer_append_string(json, value.integer ? "true" : "false");
	case YAML_INT:
		return buffer_printf(json, "%" PRId64, value.integer);
	case YAML_FLOAT:
		return write_real(value.real, json);
	default:
		return write_string(value.string, strlen(value.string), json);
	}
}

static void write_node(const struct yaml_node *node, struct buffer *json);

static void write_member(const char *key, const struct yaml_node *node, struct buffer *json)
{
	write_string(key, strlen(key), json);
	buffer_append_string(json, ":");
	write_node(node, json);
}

static void write_node(const struct yaml_node *node, struct buffer *json)
{
	if (node->kind == YAML_SCALAR)
		return write_scalar(node, json);
	buffer_append_string(json, node->kind == YAML_LIST ? "[" : "{");
	for (const struct yaml_node *child = node->first; child; child = child->next) {
		if (child != node->first)
			buffer_append_string(json, ",");
		if (node->kind == YAML_LIST)
			write_node(child, json);
		else
			write_member(child->key->text, child, json);
	}
	buffer_append_string(json, node->kind == YAML_LIST ? "]" : "}");
}

/* What a .dat is made of. */
static void write_packed(const msgpack_object *object, struct buffer *json)
{
	bool map = object->type == MSGPACK_OBJECT_MAP;

	switch (object->type) {
	case MSGPACK_OBJECT_BOOLEAN:
		return buffer_append_string(json, object->via.boolean ? "true" : "false");
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		return buffer_printf(json, "%" PRId64, object->via.i64);
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		return write_real(object->via.f64, json);
	case MSGPACK_OBJECT_STR:
		return write_string(object->via.str.ptr, object->via.str.size, json);
	case MSGPACK_OBJECT_MAP:
	case MSGPACK_OBJECT_ARRAY:
		buffer_append_string(json, map ? "{" : "[");
		for (uint32_t i = 0; i < (map ? object->via.map.size : object->via.array.size); i++) {
			buffer_append_string(json, i ? "," : "");
			if (map) {
				write_packed(&object->via.map.ptr[i].key, json);
				buffer_append_string(json, ":");
			}
			write_packed(map ? &object->via.map.ptr[i].val : &object->via.array.ptr[i], json);
		}
		return buffer_append_string(json, map ? "}" : "]");
	default:
		return buffer_append_string(json, "null");
	}
}

static int write_launch(const struct loaded_solution *loaded, struct buffer *json)
{
	_cleanup_buffer_ struct buffer dat = { 0 };
	msgpack_unpacked unpacked;

	dat_pack_launch(loaded, &dat);
	if (dat.failed)
		return -ENOMEM;
	msgpack_unpacked_init(&unpacked);
	bool read = msgpack_unpack_next(&unpacked, (const char *)dat.data, dat.size, NULL) == MSGPACK_UNPACK_SUCCESS;
	if (read)
		write_packed(&unpacked.data, json);
	msgpack_unpacked_destroy(&unpacked);
	return read ? 0 : -ENOMEM;
}

static int write_solution(const struct loaded_solution *loaded, const struct yaml_node *map, struct buffer *json)
{
	bool first = true;

	buffer_printf(json, "{%s,\"Launch\":", loaded->place.file->head);
	int r = write_launch(loaded, json);
	if (r < 0)
		return r;
	buffer_append_string(json, ",\"Solution\":{");
	for (const struct yaml_node *node = map->first; node; node = node->next) {
		const char *key = node->key->text;
		if (strcmp(key, "SolutionIndex") == 0 || strcmp(key, "SolutionNameMin") == 0 || strcmp(key, "KernelNameMin") == 0)
			continue;
		if (!first)
			buffer_append_string(json, ",");
		write_member(key, node, json);
		first = false;
	}
	buffer_append_string(json, "}}");
	return 0;
}

/* ---- the head of a file ----------------------------------------------------------------------------------------------- */

static void write_head(const struct logic_document *document, struct buffer *json)
{
	const struct yaml_node *root = document->yaml.root;
	const struct yaml_node *version = yaml_get(yaml_at(root, LOGIC_ENTRY_VERSION), "MinimumRequiredVersion");

	if (version) {
		write_member("MinimumRequiredVersion", version, json);
		buffer_append_string(json, ",");
	}
	write_member("ScheduleName", yaml_at(root, LOGIC_ENTRY_SCHEDULE), json);
	buffer_append_string(json, ",\"ArchitectureName\":");
	write_string(document->arch, strlen(document->arch), json);
	if (document->cu_count)
		buffer_printf(json, ",\"CUCount\":%d,", document->cu_count);
	else
		buffer_append_string(json, ",\"CUCount\":null,");
	write_member("ProblemType", yaml_at(root, LOGIC_ENTRY_PROBLEM), json);
}

const struct loaded_file *loaded_file_new(struct arena *arena, const struct logic_document *document)
{
	struct loaded_file *file = arena_new(arena, struct loaded_file, 1);
	_cleanup_buffer_ struct buffer head = { 0 };

	write_head(document, &head);
	if (!file || head.failed)
		return NULL;
	*file = (struct loaded_file){ .path = document->file->path, .stamp = document->yaml.stamp,
				      .head = arena_strndup(arena, (const char *)head.data, head.size) };
	return file->head ? file : NULL;
}

/* ---- the text of a solution ------------------------------------------------------------------------------------------- */

static int changed(const struct loaded_file *file, struct error *error)
{
	return error_set(error, -ESTALE, "'%s' has changed since it was loaded", file->path);
}

/* Where the line ends in which the block does, from `at` on, the beginning of a line; NULL: it goes on behind `end`. */
static const char *find_end(const char *at, const char *end, unsigned column)
{
	while (at < end) {
		const char *line = at, *next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			return NULL;
		while (*at == ' ')
			at++;
		if (*at != '\n' && *at != '#' && (size_t)(at - line) < column)
			return line;
		at = next + 1;
	}
	return NULL;
}

/* The block at a place, indented as it is in the file. */
static int read_block(int fd, const struct solution_place *place, struct buffer *ret_text)
{
	enum { CHUNK = 16384 };
	size_t line = 0;		/* where the search goes on; in the first line there is nothing to find */
	off_t offset = place->offset;

	buffer_printf(ret_text, "%*s", place->column, "");
	for (;;) {
		char *chunk = buffer_extend(ret_text, CHUNK);
		if (!chunk)
			return -ENOMEM;
		ssize_t n = pread(fd, chunk, CHUNK, offset);
		ret_text->size -= n < 0 ? CHUNK : (size_t)(CHUNK - n);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		if (n < 0)
			continue;
		offset += n;
		const char *text = (const char *)ret_text->data, *end = find_end(text + line, text + ret_text->size, place->column);
		if (end) {
			ret_text->size = (size_t)(end - text);
			break;
		}
		const char *last = memrchr(text, '\n', ret_text->size);
		line = last ? (size_t)(last - text) + 1 : 0;
	}
	buffer_append(ret_text, "", 1);
	return ret_text->failed ? -ENOMEM : 0;
}

/* -EOPNOTSUPP: what stands there is not by itself a map. */
static int write_from_place(int fd, const struct loaded_solution *loaded, struct buffer *ret_json, struct error *error)
{
	const struct solution_place *place = &loaded->place;
	_cleanup_buffer_ struct buffer text = { 0 };
	_cleanup_yaml_ struct yaml yaml = { 0 };
	struct stat st;

	int r = read_block(fd, place, &text);
	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return error_set(error, r, "cannot read '%s': %s", place->file->path, strerror(-r));
	struct yaml_stamp stamp = yaml_stamp_of(&st);
	if (!yaml_stamp_equal(&stamp, &place->file->stamp))
		return changed(place->file, error);
	r = yaml_parse(&yaml, place->file->path, (const char *)text.data, text.size - 1, YAML_WHOLE, NULL);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || yaml.root->kind != YAML_MAP)
		return -EOPNOTSUPP;
	return write_solution(loaded, yaml.root, ret_json);
}

static int write_from_whole(int fd, const struct loaded_solution *loaded, struct buffer *ret_json, struct error *error)
{
	const struct loaded_file *file = loaded->place.file;
	_cleanup_yaml_ struct yaml yaml = { 0 };

	int r = yaml_read(&yaml, file->path, fd, YAML_WHOLE, error);
	if (r == -ENOMEM)
		return r;
	const struct yaml_node *map = r < 0 ? NULL : yaml_at(yaml_at(yaml.root, LOGIC_ENTRY_SOLUTIONS), loaded->place.position);
	if (!map || map->kind != YAML_MAP || !yaml_stamp_equal(&yaml.stamp, &file->stamp))
		return changed(file, error);
	return write_solution(loaded, map, ret_json);
}

int logic_write_solution(const struct logic_library *library, size_t index, struct buffer *ret_text, struct error *error)
{
	if (index >= library->n_solutions || !library->loaded[index].solution)
		return error_set(error, -EINVAL, "'%s' has no readable solution %zu", library->base->name, index);
	const struct solution_place *place = &library->loaded[index].place;
	_cleanup_close_ int fd = open(place->file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_buffer_ struct buffer json = { 0 };

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return changed(place->file, error);
	if (fd < 0)
		return error_set(error, -errno, "cannot open '%s': %s", place->file->path, strerror(errno));
	int r = place->offset ? write_from_place(fd, &library->loaded[index], &json, error) : -EOPNOTSUPP;
	if (r == -EOPNOTSUPP)
		r = write_from_whole(fd, &library->loaded[index], &json, error);
	if (r == 0)
		buffer_append(ret_text, json.data, json.size);
	return r < 0 ? r : json.failed || ret_text->failed ? -ENOMEM : 0;
}
