/* SPDX-License-Identifier: MIT */
/*
 * Relocatable objects on their way to the linker, in a memory file: one `ar` archive, of which the linker takes every member. So any number of
 * them costs one descriptor and one word of a command line.
 *
 *     r = objects_new(n, &objects);
 *     r = objects_add(objects, i, &object, &error);         // each number once, from any thread, in any order
 *     r = linker_link(linker, &link, objects, &linked, &error);
 *
 * They stand in the archive in the order of their numbers. One that is early waits in memory until those before it have come.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <elf.h>

struct objects;

int objects_new(size_t n, struct objects **ret_objects);
struct objects *objects_unref(struct objects *objects);	/* accepts NULL, returns NULL */
DEFINE_CLEANUP(struct objects *, objects_unref)

/* Takes over the bytes, also when it fails. -ENOEXEC: no relocatable ELF of 64 bits. */
int objects_add(struct objects *objects, size_t number, struct buffer *object, struct error *error);

/* All have come: the archive as a descriptor, which the objects keep, and the ELF header of the first. -ENODATA: some have not. */
int objects_archive(struct objects *objects, int *ret_fd, Elf64_Ehdr *ret_header);

uint64_t objects_bytes(const struct objects *objects);		/* of the archive, as far as it is written */
