/* SPDX-License-Identifier: MIT */
#include "build/codegen/regpool.h"

#include <assert.h>

static bool is_used(const struct regpool *pool, unsigned reg)
{
	return pool->used[reg / 64] >> (reg % 64) & 1;
}

/* How many registers from `first` on are free, counting no further than `enough`. */
static unsigned free_run(const struct regpool *pool, unsigned first, unsigned enough)
{
	unsigned n = 0;

	while (n < enough && first + n < pool->limit && !is_used(pool, first + n))
		n++;
	return n;
}

static void mark_used(struct regpool *pool, unsigned first, unsigned count)
{
	for (unsigned reg = first; reg < first + count; reg++)
		pool->used[reg / 64] |= UINT64_C(1) << (reg % 64);
	if (pool->high < first + count)
		pool->high = first + count;
}

void regpool_init(struct regpool *pool, unsigned limit)
{
	assert(limit <= sizeof(pool->used) * 8);
	*pool = (struct regpool){ .limit = limit };
}

unsigned regpool_take(struct regpool *pool, unsigned count, unsigned alignment)
{
	assert(count > 0);
	assert(alignment == 1 || alignment == 2 || alignment == 4);

	for (unsigned first = 0; first + count <= pool->limit; first += alignment) {
		if (free_run(pool, first, count) < count)
			continue;
		mark_used(pool, first, count);
		return first;
	}
	pool->failed = true;
	return 0;
}

void regpool_take_fixed(struct regpool *pool, unsigned first, unsigned count)
{
	assert(first + count <= pool->limit);
	assert(free_run(pool, first, count) == count);
	mark_used(pool, first, count);
}

void regpool_give(struct regpool *pool, unsigned first, unsigned count)
{
	/* What a failed request returned was never taken; the failure itself is reported at the generator's end. */
	for (unsigned reg = first; reg < first + count; reg++) {
		assert(is_used(pool, reg) || pool->failed);
		pool->used[reg / 64] &= ~(UINT64_C(1) << (reg % 64));
	}
}
