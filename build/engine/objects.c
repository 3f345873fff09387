/* SPDX-License-Identifier: MIT */
#include "build/engine/objects.h"

#include "base/file.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HEADER_SIZE 60			/* of a member: ar.h */

struct objects {
	int fd;
	size_t n;
	pthread_mutex_t lock;		/* protects all below; held while a member is written */
	size_t next;			/* all before it are written */
	struct buffer *early;		/* by number: those that came and are not written */
	Elf64_Ehdr header;		/* of number 0 */
};

int objects_new(size_t n, struct objects **ret_objects)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	objects->n = n;
	objects->early = calloc(n + 1, sizeof(*objects->early));
	objects->fd = memfd_create("tensilefs-objects", MFD_CLOEXEC);
	int r = !objects->early ? -ENOMEM : objects->fd < 0 ? -errno : write_all(objects->fd, (const uint8_t *)"!<arch>\n", 8);
	if (r < 0) {
		close_p(&objects->fd);
		free(objects->early);
		free(objects);
		return r;
	}
	pthread_mutex_init(&objects->lock, NULL);
	*ret_objects = objects;
	return 0;
}

struct objects *objects_unref(struct objects *objects)
{
	if (!objects)
		return NULL;
	for (size_t i = objects->next; i < objects->n; i++)
		buffer_release(&objects->early[i]);
	close_p(&objects->fd);
	pthread_mutex_destroy(&objects->lock);
	free(objects->early);
	free(objects);
	return NULL;
}

/* A member is its header, its bytes, and a newline where these are odd. Its name is the number. */
static int write_member(struct objects *objects, size_t number, const struct buffer *object)
{
	char header[128];

	int length = snprintf(header, sizeof(header), "%zu.o/", number);
	length += snprintf(header + length, sizeof(header) - (size_t)length, "%*s%-12s%-6s%-6s%-8s%-10zu`\n", 16 - length, "", "0", "0", "0",
			   "644", object->size);
	if (length != HEADER_SIZE)	/* ten digits of size, twelve of number */
		return -EFBIG;
	int r = write_all(objects->fd, (const uint8_t *)header, HEADER_SIZE);
	if (r == 0)
		r = write_all(objects->fd, object->data, object->size);
	if (r == 0 && object->size % 2)
		r = write_all(objects->fd, (const uint8_t *)"\n", 1);
	return r;
}

/* Writes those whose turn it is; with the lock held. */
static int write_ready(struct objects *objects)
{
	int r = 0;

	while (r == 0 && objects->next < objects->n && objects->early[objects->next].size) {
		struct buffer *object = &objects->early[objects->next];
		if (objects->next == 0)
			memcpy(&objects->header, object->data, sizeof(objects->header));
		r = write_member(objects, objects->next, object);
		buffer_release(object);
		objects->next++;
	}
	return r;
}

int objects_add(struct objects *objects, size_t number, struct buffer *object, struct error *error)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)object->data;

	if (object->size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_type != ET_REL) {
		int r = error_set(error, -ENOEXEC, "%zu bytes that are no relocatable object", object->size);
		buffer_release(object);
		return r;
	}
	pthread_mutex_lock(&objects->lock);
	objects->early[number] = *object;
	*object = (struct buffer){ 0 };
	int r = write_ready(objects);
	pthread_mutex_unlock(&objects->lock);
	return r < 0 ? error_set(error, r, "cannot hand objects to the linker: %s", strerror(-r)) : 0;
}

int objects_archive(struct objects *objects, int *ret_fd, Elf64_Ehdr *ret_header)
{
	pthread_mutex_lock(&objects->lock);
	bool complete = objects->next == objects->n;
	pthread_mutex_unlock(&objects->lock);
	if (!complete)
		return -ENODATA;
	*ret_fd = objects->fd;
	*ret_header = objects->header;
	return 0;
}

uint64_t objects_bytes(const struct objects *objects)
{
	struct stat st;

	return fstat(objects->fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
}
