/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow by doubling.
 *
 *     if (ARRAY_GROW(list->items, list->allocated, list->count) < 0)
 *             return -ENOMEM;                                 // the array is as it was
 *     list->items[list->count++] = item;
 */
#pragma once

#include "base/macro.h"

#include <errno.h>

static inline int array_grow(void **array, size_t *allocated, size_t count, size_t element)
{
	if (count < *allocated)
		return 0;

	size_t more = MAX(*allocated * 2, (size_t)64);
	void *moved = realloc(*array, more * element);
	if (!moved)
		return -ENOMEM;
	*array = moved;
	*allocated = more;
	return 0;
}

/* Makes room for one more element behind `count`. Returns 0 or -ENOMEM. */
#define ARRAY_GROW(array, allocated, count) array_grow((void **)&(array), &(allocated), count, sizeof(*(array)))
