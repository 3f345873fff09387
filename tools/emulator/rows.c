/* SPDX-License-Identifier: MIT */
/* What each memory instruction moves. Source: CDNA3 ISA, sections "LDS", "Memory buffer instructions", "Flat memory instructions". */
#include "tools/emulator/internal.h"

#define LOAD(OP, s, n, ...) { .op = ISA_##OP, .segment = s, .kind = MEMORY_LOAD, .bytes = n, __VA_ARGS__ }
#define STORE(OP, s, n, ...) { .op = ISA_##OP, .segment = s, .kind = MEMORY_STORE, .bytes = n, __VA_ARGS__ }
#define ATOMIC(OP, s, n, k) { .op = ISA_##OP, .segment = s, .kind = MEMORY_ATOMIC, .bytes = n, .atomic = ATOMIC_##k }

#define LOADS_AND_STORES(P, s)                                                                     \
	LOAD(P##_LOAD_UBYTE, s, 1), LOAD(P##_LOAD_SBYTE, s, 1, .sign = true), LOAD(P##_LOAD_USHORT, s, 2), \
	LOAD(P##_LOAD_SSHORT, s, 2, .sign = true), LOAD(P##_LOAD_DWORD, s, 4), LOAD(P##_LOAD_DWORDX2, s, 8), \
	LOAD(P##_LOAD_DWORDX3, s, 12), LOAD(P##_LOAD_DWORDX4, s, 16),                              \
	LOAD(P##_LOAD_UBYTE_D16, s, 1, .d16 = true), LOAD(P##_LOAD_UBYTE_D16_HI, s, 1, .d16 = true, .high = true), \
	LOAD(P##_LOAD_SBYTE_D16, s, 1, .d16 = true, .sign = true),                                 \
	LOAD(P##_LOAD_SBYTE_D16_HI, s, 1, .d16 = true, .high = true, .sign = true),                \
	LOAD(P##_LOAD_SHORT_D16, s, 2, .d16 = true), LOAD(P##_LOAD_SHORT_D16_HI, s, 2, .d16 = true, .high = true), \
	STORE(P##_STORE_BYTE, s, 1), STORE(P##_STORE_BYTE_D16_HI, s, 1, .high = true), STORE(P##_STORE_SHORT, s, 2), \
	STORE(P##_STORE_SHORT_D16_HI, s, 2, .high = true), STORE(P##_STORE_DWORD, s, 4), STORE(P##_STORE_DWORDX2, s, 8), \
	STORE(P##_STORE_DWORDX3, s, 12), STORE(P##_STORE_DWORDX4, s, 16)

#define INTEGER_ATOMIC(P, s, name, k) ATOMIC(P##_ATOMIC_##name, s, 4, k), ATOMIC(P##_ATOMIC_##name##_X2, s, 8, k)
#define ATOMICS(P, s)                                                                              \
	INTEGER_ATOMIC(P, s, SWAP, SWAP), INTEGER_ATOMIC(P, s, CMPSWAP, CMPSWAP), INTEGER_ATOMIC(P, s, ADD, ADD), \
	INTEGER_ATOMIC(P, s, SUB, SUB), INTEGER_ATOMIC(P, s, SMIN, SMIN), INTEGER_ATOMIC(P, s, UMIN, UMIN), \
	INTEGER_ATOMIC(P, s, SMAX, SMAX), INTEGER_ATOMIC(P, s, UMAX, UMAX), INTEGER_ATOMIC(P, s, AND, AND), \
	INTEGER_ATOMIC(P, s, OR, OR), INTEGER_ATOMIC(P, s, XOR, XOR), INTEGER_ATOMIC(P, s, INC, INC), \
	INTEGER_ATOMIC(P, s, DEC, DEC), ATOMIC(P##_ATOMIC_ADD_F32, s, 4, ADD_FLOAT), ATOMIC(P##_ATOMIC_PK_ADD_F16, s, 4, PK_ADD_F16), \
	ATOMIC(P##_ATOMIC_ADD_F64, s, 8, ADD_FLOAT), ATOMIC(P##_ATOMIC_MIN_F64, s, 8, MIN_FLOAT), \
	ATOMIC(P##_ATOMIC_MAX_F64, s, 8, MAX_FLOAT)

#define TO_LDS(P, s)                                                                               \
	LOAD(P##_LOAD_LDS_UBYTE, s, 1, .to_lds = true), LOAD(P##_LOAD_LDS_SBYTE, s, 1, .to_lds = true, .sign = true), \
	LOAD(P##_LOAD_LDS_USHORT, s, 2, .to_lds = true), LOAD(P##_LOAD_LDS_SSHORT, s, 2, .to_lds = true, .sign = true), \
	LOAD(P##_LOAD_LDS_DWORD, s, 4, .to_lds = true)

#define DS SEGMENT_LDS
#define DS_ATOMIC(name, suffix, n, k) ATOMIC(DS_##name##_##suffix, DS, n, k), ATOMIC(DS_##name##_RTN_##suffix, DS, n, k)
#define DS_BOTH(name, type, k) DS_ATOMIC(name, type##32, 4, k), DS_ATOMIC(name, type##64, 8, k)

static const struct memory_row rows[] = {
	LOADS_AND_STORES(BUFFER, SEGMENT_BUFFER), ATOMICS(BUFFER, SEGMENT_BUFFER),
	LOADS_AND_STORES(FLAT, SEGMENT_FLAT), ATOMICS(FLAT, SEGMENT_FLAT),
	ATOMIC(FLAT_ATOMIC_PK_ADD_BF16, SEGMENT_FLAT, 4, PK_ADD_BF16),
	LOADS_AND_STORES(GLOBAL, SEGMENT_GLOBAL), ATOMICS(GLOBAL, SEGMENT_GLOBAL), TO_LDS(GLOBAL, SEGMENT_GLOBAL),
	ATOMIC(GLOBAL_ATOMIC_PK_ADD_BF16, SEGMENT_GLOBAL, 4, PK_ADD_BF16),
	LOADS_AND_STORES(SCRATCH, SEGMENT_SCRATCH), TO_LDS(SCRATCH, SEGMENT_SCRATCH),

	LOAD(DS_READ_I8, DS, 1, .sign = true), LOAD(DS_READ_U8, DS, 1), LOAD(DS_READ_I16, DS, 2, .sign = true), LOAD(DS_READ_U16, DS, 2),
	LOAD(DS_READ_B32, DS, 4), LOAD(DS_READ_B64, DS, 8), LOAD(DS_READ_B96, DS, 12), LOAD(DS_READ_B128, DS, 16),
	LOAD(DS_READ_U8_D16, DS, 1, .d16 = true), LOAD(DS_READ_U8_D16_HI, DS, 1, .d16 = true, .high = true),
	LOAD(DS_READ_I8_D16, DS, 1, .d16 = true, .sign = true), LOAD(DS_READ_I8_D16_HI, DS, 1, .d16 = true, .high = true, .sign = true),
	LOAD(DS_READ_U16_D16, DS, 2, .d16 = true), LOAD(DS_READ_U16_D16_HI, DS, 2, .d16 = true, .high = true),
	LOAD(DS_READ2_B32, DS, 4, .pair = 1), LOAD(DS_READ2ST64_B32, DS, 4, .pair = 64), LOAD(DS_READ2_B64, DS, 8, .pair = 1),
	LOAD(DS_READ2ST64_B64, DS, 8, .pair = 64),
	STORE(DS_WRITE_B8, DS, 1), STORE(DS_WRITE_B16, DS, 2), STORE(DS_WRITE_B8_D16_HI, DS, 1, .high = true),
	STORE(DS_WRITE_B16_D16_HI, DS, 2, .high = true), STORE(DS_WRITE_B32, DS, 4), STORE(DS_WRITE_B64, DS, 8),
	STORE(DS_WRITE_B96, DS, 12), STORE(DS_WRITE_B128, DS, 16), STORE(DS_WRITE2_B32, DS, 4, .pair = 1),
	STORE(DS_WRITE2ST64_B32, DS, 4, .pair = 64), STORE(DS_WRITE2_B64, DS, 8, .pair = 1), STORE(DS_WRITE2ST64_B64, DS, 8, .pair = 64),
	DS_BOTH(ADD, U, ADD), DS_BOTH(SUB, U, SUB), DS_BOTH(RSUB, U, RSUB), DS_BOTH(INC, U, INC), DS_BOTH(DEC, U, DEC),
	DS_BOTH(MIN, I, SMIN), DS_BOTH(MAX, I, SMAX), DS_BOTH(MIN, U, UMIN), DS_BOTH(MAX, U, UMAX), DS_BOTH(AND, B, AND),
	DS_BOTH(OR, B, OR), DS_BOTH(XOR, B, XOR), DS_BOTH(MSKOR, B, MSKOR), DS_BOTH(CMPST, B, CMPSWAP), DS_BOTH(CMPST, F, CMPSWAP_FLOAT),
	DS_BOTH(MIN, F, MIN_FLOAT), DS_BOTH(MAX, F, MAX_FLOAT), DS_BOTH(ADD, F, ADD_FLOAT),
	DS_ATOMIC(PK_ADD, F16, 4, PK_ADD_F16), DS_ATOMIC(PK_ADD, BF16, 4, PK_ADD_BF16),
	ATOMIC(DS_WRXCHG_RTN_B32, DS, 4, SWAP), ATOMIC(DS_WRXCHG_RTN_B64, DS, 8, SWAP),
};

void memory_bind(const struct memory_row *ret_rows[ISA_OP_COUNT])
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ret_rows[rows[i].op] = &rows[i];
}
