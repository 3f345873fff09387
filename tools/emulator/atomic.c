/* SPDX-License-Identifier: MIT */
/* Elements between memory and registers, and read-modify-write operations. */
#include "tools/emulator/internal.h"

#include <math.h>
#include <string.h>

static uint32_t short_element(const struct memory_row *row, const uint8_t *from)
{
	if (row->bytes == 1)
		return row->sign ? (uint32_t)(int8_t)*from : *from;
	uint16_t half;
	memcpy(&half, from, sizeof(half));
	return row->sign ? (uint32_t)(int16_t)half : half;
}

void memory_load_lane(struct wave *wave, const struct memory_row *row, unsigned reg, unsigned lane, const uint8_t *from)
{
	if (row->bytes < 4) {
		uint32_t value = short_element(row, from);
		if (row->d16)
			value = row->high ? value << 16 : value & 0xffff;
		wave->v[reg][lane] = value;
		return;
	}
	for (unsigned i = 0; i < memory_dwords(row); i++)
		memcpy(&wave->v[reg + i][lane], from + i * 4, 4);
}

void memory_store_lane(const struct wave *wave, const struct memory_row *row, unsigned reg, unsigned lane, uint8_t *to)
{
	if (row->bytes < 4) {
		uint32_t value = wave->v[reg][lane] >> (row->high ? 16 : 0);
		memcpy(to, &value, row->bytes);
		return;
	}
	for (unsigned i = 0; i < memory_dwords(row); i++)
		memcpy(to + i * 4, &wave->v[reg + i][lane], 4);
}

static double float_of(uint64_t word, unsigned bytes)
{
	if (bytes == 8) {
		double d;
		memcpy(&d, &word, sizeof(d));
		return d;
	}
	float f;
	uint32_t low = (uint32_t)word;
	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

/* The sum of two floats in double rounds to the same f32 as an f32 addition. */
static uint64_t word_of(double value, unsigned bytes)
{
	uint64_t word = 0;
	float f = (float)value;
	if (bytes == 8)
		memcpy(&word, &value, sizeof(value));
	else
		memcpy(&word, &f, sizeof(f));
	return word;
}

static uint16_t add_half(uint16_t a, uint16_t b)
{
	_Float16 x, y, sum;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	sum = (_Float16)((float)x + (float)y);
	memcpy(&a, &sum, sizeof(a));
	return a;
}

static uint16_t add_bfloat(uint16_t a, uint16_t b)
{
	double sum = float_of((uint64_t)a << 16, 4) + float_of((uint64_t)b << 16, 4);
	uint32_t word = (uint32_t)word_of(sum, 4);
	if (isnan(sum))
		return 0x7fc0;
	return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

static uint64_t packed(uint64_t old, uint64_t value, uint16_t (*add)(uint16_t, uint16_t))
{
	return add((uint16_t)old, (uint16_t)value) | (uint64_t)add((uint16_t)(old >> 16), (uint16_t)(value >> 16)) << 16;
}

static int64_t as_signed(uint64_t value, unsigned bytes)
{
	return bytes == 8 ? (int64_t)value : (int32_t)value;
}

uint64_t atomic_result(const struct memory_row *row, uint64_t old, uint64_t value, uint64_t compare)
{
	unsigned n = row->bytes;
	switch ((enum atomic_kind)row->atomic) {
	case ATOMIC_SWAP:
		return value;
	case ATOMIC_CMPSWAP:
		return old == compare ? value : old;
	case ATOMIC_CMPSWAP_FLOAT:
		return float_of(old, n) == float_of(compare, n) ? value : old;
	case ATOMIC_ADD:
		return old + value;
	case ATOMIC_SUB:
		return old - value;
	case ATOMIC_RSUB:
		return value - old;
	case ATOMIC_SMIN:
		return as_signed(old, n) < as_signed(value, n) ? old : value;
	case ATOMIC_UMIN:
		return MIN(old, value);
	case ATOMIC_SMAX:
		return as_signed(old, n) > as_signed(value, n) ? old : value;
	case ATOMIC_UMAX:
		return MAX(old, value);
	case ATOMIC_AND:
		return old & value;
	case ATOMIC_OR:
		return old | value;
	case ATOMIC_XOR:
		return old ^ value;
	case ATOMIC_MSKOR:
		return (old & ~compare) | value;
	case ATOMIC_INC:
		return old >= value ? 0 : old + 1;
	case ATOMIC_DEC:
		return old == 0 || old > value ? value : old - 1;
	case ATOMIC_ADD_FLOAT:
		return word_of(float_of(old, n) + float_of(value, n), n);
	case ATOMIC_MIN_FLOAT:
		return word_of(fmin(float_of(old, n), float_of(value, n)), n);
	case ATOMIC_MAX_FLOAT:
		return word_of(fmax(float_of(old, n), float_of(value, n)), n);
	case ATOMIC_PK_ADD_F16:
		return packed(old, value, add_half);
	case ATOMIC_PK_ADD_BF16:
		return packed(old, value, add_bfloat);
	}
	return old;
}

uint64_t atomic_run(struct wave *wave, const struct memory_row *row, uint8_t *place, uint64_t value, uint64_t compare)
{
	uint64_t old = 0;
	pthread_mutex_lock(wave->group->atomic_lock);
	memcpy(&old, place, row->bytes);
	uint64_t new = atomic_result(row, old, value, compare);
	memcpy(place, &new, row->bytes);
	pthread_mutex_unlock(wave->group->atomic_lock);
	return old;
}
