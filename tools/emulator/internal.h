/* SPDX-License-Identifier: MIT */
/*
 * The emulator from inside: decoded operations, the state of a wave and of its workgroup, and who does what.
 *
 *     elf.c, metadata.c   bytes -> struct emu_object
 *     decode.c            instructions -> struct op, each bound to the function that runs it
 *     launch.c            workgroups, waves, barriers, threads
 *     check.c             what makes this stricter than hardware: definedness, pending loads, MFMA wait states
 *     salu.c, smem.c, valu.c (with lanes*.c), mfma.c, buffer.c, flat.c, lds.c   the units
 *
 * A unit's function gets the wave and the operation, after check_registers() has found all register operands readable and
 * writable; it returns 0 or a negative errno with a reason in wave->error. The program counter already points behind the operation.
 */
#pragma once

#include "build/isa/isa.h"
#include "tools/emulator/emulator.h"
#include "tools/emulator/lanes.h"

#include <pthread.h>

#define WAVE 64			/* lanes */
#define VGPRS 512		/* 0..255 VGPRs, 256..511 AccVGPRs: operand code - ISA_VGPR0 */
#define MAX_WAVES 16		/* of a workgroup: 1024 work-items */
#define MAX_LDS 65536u

#define ALL_LANES UINT64_MAX

/* Apertures of flat addresses (their high dword); our own choice, as a driver would choose them. */
#define SHARED_APERTURE 0x10000u
#define PRIVATE_APERTURE 0x20000u

/* Where a launch maps what belongs to it; regions of the caller lie elsewhere (emu_memory_add() starts at 0x700000000000). */
#define CODE_ADDRESS UINT64_C(0x600000000000)	/* address 0 of the code object */
#define KERNARG_ADDRESS UINT64_C(0x610000000000)
#define PACKET_ADDRESS UINT64_C(0x620000000000)

struct wave;
struct op;

/* One scalar operation: values of one or two dwords, in one. */
struct scalar_args {
	uint64_t a, b;		/* sources; a 16-bit constant is sign-extended */
	uint64_t d;		/* the destination, its old value on entry */
	uint32_t scc;
};

typedef int (*unit_fn)(struct wave *wave, const struct op *op);
typedef void (*scalar_fn)(struct scalar_args *args);

/* A run of registers that an operation reads or writes. VGPR numbers count as in wave->v, SGPR numbers as operand codes. */
struct reg_use {
	uint16_t first;
	uint8_t count;
	bool write;
	uint8_t lanes;		/* enum use_lanes */
	uint8_t operand;	/* which of inst.operand */
};

enum use_lanes { USE_EXEC, USE_ALL, USE_NONE };	/* the lanes that must be defined where the register is read */

#define MAX_USES 8

struct op {
	unit_fn run;
	const struct valu_row *valu;	/* by unit */
	scalar_fn salu;
	const struct mfma_row *mfma;
	const struct memory_row *memory;
	const struct isa_op_info *info;
	uint64_t address;		/* in the code object; the program sees it CODE_ADDRESS higher */
	uint32_t size;			/* bytes */
	int32_t target;			/* branches: index of the operation jumped to, -1 when there is none */
	uint8_t n_vector, n_scalar;
	struct reg_use vector[MAX_USES], scalar[MAX_USES];
	struct isa_inst inst;
};

/* The instructions a kernel can reach: its own and those of the object's other functions. */
struct code {
	struct op *ops;
	size_t n_ops;
	struct code_range {
		uint64_t address;
		size_t n_dwords;
		int32_t *index;		/* of the operation that starts at a dword; -1 inside an instruction */
	} *ranges;
	size_t n_ranges;
};

/* One event counter of s_waitcnt. Loads that may return in any order (scalar, flat) are only known to be back at a wait for 0. */
struct counter {
	uint32_t issued, done;			/* in order */
	uint32_t unordered_issued, unordered_done;
};

enum {				/* wave->v_state[]: why a register needs a closer look */
	STATE_VM = 1,
	STATE_LGKM = 2,
	STATE_MFMA = 4,
	STATE_UNORDERED = 8,	/* the load counted as unordered (flat) */
};

enum { SCALAR_DEFINED, SCALAR_UNDEFINED, SCALAR_PENDING };

/* An LDS write by the memory system (buffer_load ... lds) that has not been waited for. */
struct lds_dma {
	uint32_t sequence;
	uint32_t address;	/* of lane 0; lanes follow at 4 bytes */
	uint64_t lanes;
	uint32_t data[WAVE];
};

#define MAX_DMA 64

struct group;

struct wave {
	uint32_t v[VGPRS][WAVE] __attribute__((aligned(64)));
	uint64_t v_defined[VGPRS];
	uint8_t v_state[VGPRS];
	uint32_t v_vm[VGPRS], v_lgkm[VGPRS];	/* sequence numbers of the loads that fill a register */
	uint64_t v_mfma[VGPRS];			/* clock at which an MFMA was issued that writes the register */
	const struct op *v_mfma_op[VGPRS];
	uint32_t s[128] __attribute__((aligned(8)));	/* by operand code */
	uint8_t s_state[128];
	uint32_t scc;
	uint32_t mode;			/* MODE register: FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE */
	bool gpr_index;			/* s_set_gpr_idx_on */
	uint64_t clock;			/* wait states so far: one per instruction, s_nop more */
	uint64_t executed;
	struct counter vm, lgkm;
	struct lds_dma dma[MAX_DMA];
	unsigned n_dma;
	const struct op *pc;		/* the next operation */
	bool ended, at_barrier;
	unsigned index;			/* in the workgroup */
	struct group *group;
	struct error *error;		/* the reason, without the place */
	struct region *last_region;
	struct emu_stats stats;
	uint32_t exec_lanes[WAVE] __attribute__((aligned(64)));	/* EXEC as lane masks, for exec_lanes_of */
	uint64_t exec_lanes_of;
	struct lane_context lanes;
	uint32_t scratch[6][2 * WAVE] __attribute__((aligned(64)));	/* operands of the VALU operation under way */
};

struct group {
	const struct emu_launch *launch;
	const struct code *code;
	struct emu_memory *memory;
	uint32_t id[3];
	unsigned n_waves;
	struct wave *waves;
	uint32_t lds_bytes;
	uint8_t *lds;
	uint8_t *lds_defined;		/* per byte */
	uint32_t *lds_writer;		/* per dword: who wrote last, see lds.c */
	uint8_t *lds_written, *lds_read;	/* per byte: who wrote and who read since the last barrier, see lds.c */
	pthread_mutex_t *atomic_lock;	/* of the launch: held for each read-modify-write of memory */
	uint8_t *private_memory;	/* private_bytes for each lane of each wave */
	uint32_t private_bytes;		/* per lane, rounded up to dwords */
};

static inline uint64_t wave_exec(const struct wave *wave)
{
	return wave->s[ISA_EXEC] | (uint64_t)wave->s[ISA_EXEC + 1] << 32;
}

static inline uint64_t scalar64(const struct wave *wave, unsigned code)
{
	return wave->s[code] | (uint64_t)wave->s[code + 1] << 32;
}

/* ---- elf.c, metadata.c ------------------------------------------------------------------------------------------------- */

/* Which row of its unit belongs to an opcode; NULL where there is none. */
struct bindings {
	const struct valu_row *valu[ISA_OP_COUNT];
	const struct mfma_row *mfma[ISA_OP_COUNT];
	const struct memory_row *memory[ISA_OP_COUNT];
	scalar_fn salu[ISA_OP_COUNT];
};

struct emu_object {
	struct bindings bindings;
	const struct isa *isa;
	uint8_t *image;			/* loaded segments from address 0 on */
	size_t image_size;
	uint64_t text_address, text_size;	/* the executable segment */
	struct kernel_entry {
		struct emu_kernel kernel;	/* must be first: emu_kernel pointers are converted back */
		uint64_t size;			/* bytes of code by the symbol table, 0 when it does not say */
		char *name;
		struct emu_argument *arguments;
		struct code *code;		/* decoded at the first launch; protected by emu_object.lock */
	} *kernels;
	size_t n_kernels;
	struct function { uint64_t address, size; } *functions;	/* code that is no kernel */
	size_t n_functions;
	pthread_mutex_t lock;
};

/* Reads an AMDHSA metadata note (MessagePack) into the kernels it names. */
int metadata_read(const uint8_t *bytes, size_t size, struct emu_object *object, struct error *error);

/* ---- decode.c ---------------------------------------------------------------------------------------------------------- */

int code_decode(const struct emu_object *object, const struct kernel_entry *entry, struct code **ret_code, struct error *error);
struct code *code_free(struct code *code);
const struct op *code_find(const struct code *code, uint64_t address);	/* NULL when no instruction starts there */

/* The 32-bit or 64-bit value of a scalar operand: SGPR, constant or literal, taken as its type says. */
uint32_t scalar_operand32(const struct wave *wave, const struct op *op, unsigned operand);
uint64_t scalar_operand64(const struct wave *wave, const struct op *op, unsigned operand);

/* ---- check.c ----------------------------------------------------------------------------------------------------------- */

int check_registers(struct wave *wave, const struct op *op);
void check_wait(struct wave *wave, unsigned vmcnt, unsigned lgkmcnt);

/* Counts an instruction that loads no register: one of vector memory, of LDS, a flat one. */
void check_count_vm(struct wave *wave);
void check_count_lgkm(struct wave *wave);
void check_count_flat(struct wave *wave);

/* Marks VGPRs as written by a load that is counted now. lanes: those that get a value. */
void check_load_vm(struct wave *wave, unsigned first, unsigned count, uint64_t lanes);
void check_load_lgkm(struct wave *wave, unsigned first, unsigned count, uint64_t lanes);
void check_load_flat(struct wave *wave, unsigned first, unsigned count, uint64_t lanes);
void check_load_scalar(struct wave *wave, unsigned first, unsigned count);
void check_mfma_issued(struct wave *wave, const struct op *op, unsigned first, unsigned count);

/* Writes SGPRs that are at once readable. */
static inline void scalar_write32(struct wave *wave, unsigned code, uint32_t value)
{
	wave->s[code] = value;
	wave->s_state[code] = SCALAR_DEFINED;
}

static inline void scalar_write64(struct wave *wave, unsigned code, uint64_t value)
{
	scalar_write32(wave, code, (uint32_t)value);
	scalar_write32(wave, code + 1, (uint32_t)(value >> 32));
}

/* ---- memory.c ---------------------------------------------------------------------------------------------------------- */

struct region {
	char *name;
	uint64_t address;
	size_t size;
	unsigned access;
	uint8_t *data;
	bool owned;
};

void memory_remove(struct emu_memory *memory, uint64_t address);	/* the region that begins there */

/* The host bytes of a device access, or NULL with wave->error set. */
uint8_t *memory_access(struct wave *wave, uint64_t address, size_t size, bool write, unsigned lane);

/* ---- rows.c, atomic.c --------------------------------------------------------------------------------------------------- */

enum memory_segment { SEGMENT_BUFFER, SEGMENT_FLAT, SEGMENT_GLOBAL, SEGMENT_SCRATCH, SEGMENT_LDS };

enum memory_kind { MEMORY_LOAD, MEMORY_STORE, MEMORY_ATOMIC };

enum atomic_kind { ATOMIC_SWAP, ATOMIC_CMPSWAP, ATOMIC_CMPSWAP_FLOAT, ATOMIC_ADD, ATOMIC_SUB, ATOMIC_RSUB, ATOMIC_SMIN, ATOMIC_UMIN,
		   ATOMIC_SMAX, ATOMIC_UMAX, ATOMIC_AND, ATOMIC_OR, ATOMIC_XOR, ATOMIC_MSKOR, ATOMIC_INC, ATOMIC_DEC, ATOMIC_ADD_FLOAT,
		   ATOMIC_MIN_FLOAT, ATOMIC_MAX_FLOAT, ATOMIC_PK_ADD_F16, ATOMIC_PK_ADD_BF16 };

/* What a memory instruction does, beside its address: one row per opcode. */
struct memory_row {
	uint16_t op;
	uint8_t segment, kind;
	uint8_t bytes;			/* of one element in memory; LDS read2 and write2 have two of them */
	uint8_t atomic;			/* enum atomic_kind */
	bool sign;			/* sign-extend an element shorter than a dword */
	bool d16;			/* a load that fills one half of the register and zeroes the other */
	bool high;			/* of the register: d16 loads and 16-bit or 8-bit stores */
	bool to_lds;			/* a load whose destination is LDS */
	uint8_t pair;			/* LDS: 1 two offsets in elements, 64 in units of 64 elements */
};

void memory_bind(const struct memory_row *ret_rows[ISA_OP_COUNT]);

/* The new value in memory of a read-modify-write; `compare` is for compare-and-swap, and the mask of mskor. */
uint64_t atomic_result(const struct memory_row *row, uint64_t old, uint64_t value, uint64_t compare);

/* Moves one lane's element between registers and bytes. */
void memory_load_lane(struct wave *wave, const struct memory_row *row, unsigned reg, unsigned lane, const uint8_t *from);
void memory_store_lane(const struct wave *wave, const struct memory_row *row, unsigned reg, unsigned lane, uint8_t *to);

/* A read-modify-write of the element at `place`, which lanes and workgroups do one at a time. */
uint64_t atomic_run(struct wave *wave, const struct memory_row *row, uint8_t *place, uint64_t value, uint64_t compare);

static inline unsigned memory_dwords(const struct memory_row *row)
{
	return (row->bytes + 3u) / 4;
}

static inline uint64_t vector_value(const struct wave *wave, unsigned reg, unsigned lane, unsigned bytes)
{
	return wave->v[reg][lane] | (bytes == 8 ? (uint64_t)wave->v[reg + 1][lane] << 32 : 0);
}

/* ---- lds.c ------------------------------------------------------------------------------------------------------------- */

int lds_read(struct wave *wave, uint32_t address, void *bytes, size_t size, unsigned lane);
int lds_write(struct wave *wave, uint32_t address, const void *bytes, size_t size, unsigned lane);

void lds_barrier(struct group *group);	/* what was read and written before it is ordered with what follows */

/* Reads one lane's element from memory. `userdata` is what the unit knows of the access. */
typedef int (*lane_fetch)(struct wave *wave, const void *userdata, unsigned lane, uint8_t bytes[16]);

/* A load with LDS as its destination, at M0[15:0] + the immediate offset + 4 * lane: the bytes are undefined from here until the wait
 * that covers the load. */
int lds_dma_load(struct wave *wave, const struct op *op, lane_fetch fetch, const void *userdata);
void lds_dma_arrive(struct wave *wave, const struct lds_dma *dma);

/* ---- units ------------------------------------------------------------------------------------------------------------- */

void salu_bind(scalar_fn ret_functions[ISA_OP_COUNT]);
int salu_run(struct wave *wave, const struct op *op);
int control_run(struct wave *wave, const struct op *op);	/* branches, waits, barrier, mode */
void control_set_mode(struct wave *wave);		/* makes wave->mode effective */
int smem_run(struct wave *wave, const struct op *op);
void valu_bind(const struct valu_row *ret_rows[ISA_OP_COUNT]);
int valu_run(struct wave *wave, const struct op *op);
unit_fn valu_special(unsigned op);				/* lane access: v_readlane and relatives */
void mfma_bind(const struct mfma_row *ret_rows[ISA_OP_COUNT]);
int mfma_run(struct wave *wave, const struct op *op);
int buffer_run(struct wave *wave, const struct op *op);
int flat_run(struct wave *wave, const struct op *op);
int ds_run(struct wave *wave, const struct op *op);
