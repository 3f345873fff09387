/* SPDX-License-Identifier: MIT */
/*
 * What makes this stricter than hardware: an operation may use a register only when it is defined, when every load into it has been
 * waited for, and when an MFMA that writes it is done.
 *
 * Values arrive in the register file at once; what is checked is whether the program could know. A register that needs a closer look
 * has v_state set; the common case costs one byte test.
 *
 * Wait states after MFMA: LLVM GCNHazardRecognizer.cpp (checkMAIHazards90A, checkMAIVALUHazards) for gfx940.
 */
#include "tools/emulator/internal.h"

/* ---- MFMA ------------------------------------------------------------------------------------------------------------- */

static bool is_dgemm(const struct op *op)
{
	return op->inst.op == ISA_V_MFMA_F64_16X16X4_F64 || op->inst.op == ISA_V_MFMA_F64_4X4X4_4B_F64;
}

/* Source C of an MFMA; `whole` when it starts where the producer's result starts: then the result is forwarded. */
static unsigned wait_for_source_c(const struct op *producer, const struct op *op, bool whole)
{
	unsigned passes = producer->info->mfma_passes;
	bool small = producer->inst.op == ISA_V_MFMA_F64_4X4X4_4B_F64;
	if (whole) {
		if (small && op->inst.op == ISA_V_MFMA_F64_4X4X4_4B_F64)
			return 4;
		return passes == 2 ? 2 : 0;
	}
	if (is_dgemm(producer))
		return op->info->xdl ? 0 : small ? 4 : 9;
	if (op->info->xdl && !producer->info->xdl)
		return 0;
	return producer->info->xdl ? passes + 1 : passes;
}

static unsigned wait_for(const struct op *producer, const struct op *op, const struct reg_use *use)
{
	unsigned passes = producer->info->mfma_passes;
	bool small = producer->inst.op == ISA_V_MFMA_F64_4X4X4_4B_F64;
	if (op->info->unit == ISA_UNIT_MFMA && use->write && op->info->operand[0].role == ISA_ROLE_DST)
		return 0;	/* matrix results are written in order */
	if (op->info->unit == ISA_UNIT_MFMA && (use->operand == 3 || use->operand == 0)) {
		bool whole = op->inst.operand[use->operand].code == producer->inst.operand[0].code;
		return wait_for_source_c(producer, op, whole);
	}
	if (is_dgemm(producer)) {
		bool memory = op->info->unit != ISA_UNIT_VALU && op->info->unit != ISA_UNIT_MFMA && !use->write;
		return small ? (memory ? 9 : 6) : memory ? 18 : 11;
	}
	return producer->info->xdl ? passes + 3 : passes + 2;
}

void check_mfma_issued(struct wave *wave, const struct op *op, unsigned first, unsigned count)
{
	for (unsigned reg = first; reg < first + count; reg++) {
		wave->v_mfma[reg] = wave->clock;
		wave->v_mfma_op[reg] = op;
		wave->v_state[reg] |= STATE_MFMA;
		wave->v_defined[reg] = ALL_LANES;
	}
}

/* ---- counters --------------------------------------------------------------------------------------------------------- */

/* What a counter guarantees once it is down to n: everything at 0; else all but n of the operations have returned, and those that
 * return in any order may be among the returned ones. */
static void count_down(struct counter *counter, unsigned n)
{
	uint32_t unordered = counter->unordered_issued - counter->unordered_done;
	if (n == 0) {
		counter->done = counter->issued;
		counter->unordered_done = counter->unordered_issued;
	} else {
		uint32_t ordered = counter->issued - counter->done, outstanding = ordered + unordered;
		uint32_t returned = outstanding > n ? outstanding - n : 0;	/* at least so many, the unordered ones first */
		if (returned > unordered)
			counter->done += returned - unordered;
	}
}

static void deliver_to_lds(struct wave *wave)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < wave->n_dma; i++) {
		if (wave->dma[i].sequence <= wave->vm.done)
			lds_dma_arrive(wave, &wave->dma[i]);
		else
			wave->dma[kept++] = wave->dma[i];
	}
	wave->n_dma = kept;
}

/*
 * An instruction that a full counter has no room for is held back until older ones have returned (ROCm/rocm-systems, pull request 10926, of
 * CDNA3's counters). Code relies on it: TensileLite's kernels need no wait for a load that 15 others are behind.
 */
enum { VM_MOST = 63, LGKM_MOST = 15 };

static void make_room(struct counter *counter, unsigned most)
{
	if (counter->issued - counter->done + counter->unordered_issued - counter->unordered_done >= most)
		count_down(counter, most - 1);
}

void check_count_vm(struct wave *wave)
{
	make_room(&wave->vm, VM_MOST);
	wave->vm.issued++;
	if (wave->n_dma)
		deliver_to_lds(wave);
}

void check_count_lgkm(struct wave *wave)
{
	make_room(&wave->lgkm, LGKM_MOST);
	wave->lgkm.issued++;
}

void check_count_flat(struct wave *wave)
{
	make_room(&wave->vm, VM_MOST);
	make_room(&wave->lgkm, LGKM_MOST);
	wave->vm.unordered_issued++;
	wave->lgkm.unordered_issued++;
	if (wave->n_dma)
		deliver_to_lds(wave);
}

/* ---- loads ------------------------------------------------------------------------------------------------------------ */

static void mark_loaded(struct wave *wave, unsigned first, unsigned count, uint64_t lanes, unsigned state)
{
	for (unsigned reg = first; reg < first + count; reg++) {
		wave->v_state[reg] = (uint8_t)((wave->v_state[reg] & STATE_MFMA) | state);
		wave->v_defined[reg] |= lanes;
	}
}

void check_load_vm(struct wave *wave, unsigned first, unsigned count, uint64_t lanes)
{
	check_count_vm(wave);
	for (unsigned reg = first; reg < first + count; reg++)
		wave->v_vm[reg] = wave->vm.issued;
	mark_loaded(wave, first, count, lanes, STATE_VM);
}

void check_load_lgkm(struct wave *wave, unsigned first, unsigned count, uint64_t lanes)
{
	check_count_lgkm(wave);
	for (unsigned reg = first; reg < first + count; reg++)
		wave->v_lgkm[reg] = wave->lgkm.issued;
	mark_loaded(wave, first, count, lanes, STATE_LGKM);
}

void check_load_flat(struct wave *wave, unsigned first, unsigned count, uint64_t lanes)
{
	check_count_flat(wave);
	for (unsigned reg = first; reg < first + count; reg++) {
		wave->v_vm[reg] = wave->vm.unordered_issued;
		wave->v_lgkm[reg] = wave->lgkm.unordered_issued;
	}
	mark_loaded(wave, first, count, lanes, STATE_VM | STATE_LGKM | STATE_UNORDERED);
}

void check_load_scalar(struct wave *wave, unsigned first, unsigned count)
{
	make_room(&wave->lgkm, LGKM_MOST);
	wave->lgkm.unordered_issued++;
	for (unsigned i = 0; i < count; i++)
		wave->s_state[first + i] = SCALAR_PENDING;
}

void check_wait(struct wave *wave, unsigned vmcnt, unsigned lgkmcnt)
{
	if (vmcnt < VM_MOST) {
		count_down(&wave->vm, vmcnt);
		deliver_to_lds(wave);
	}
	if (lgkmcnt < LGKM_MOST) {
		count_down(&wave->lgkm, lgkmcnt);
		if (lgkmcnt == 0) {
			for (unsigned i = 0; i < ARRAY_SIZE(wave->s_state); i++) {
				if (wave->s_state[i] == SCALAR_PENDING)
					wave->s_state[i] = SCALAR_DEFINED;
			}
		}
	}
}

/* ---- uses ------------------------------------------------------------------------------------------------------------- */

static int wrong(struct wave *wave, const struct reg_use *use, unsigned reg, int code, const char *why)
{
	return error_set(wave->error, code, "%s %s%u %s", use->write ? "writes" : "reads", reg < 256 ? "v" : "a", reg & 255, why);
}

/* A vector memory load may overwrite the register of another one that is under way: they return in order. */
static bool returns_in_order(const struct op *op)
{
	return op->memory && op->memory->kind == MEMORY_LOAD && op->memory->segment != SEGMENT_FLAT &&
	       op->memory->segment != SEGMENT_LDS;
}

static int look_closer(struct wave *wave, const struct op *op, const struct reg_use *use, unsigned reg)
{
	unsigned state = wave->v_state[reg];
	bool unordered = state & STATE_UNORDERED;
	if (state == STATE_VM && use->write && returns_in_order(op))
		return 0;
	if (state & STATE_VM && wave->v_vm[reg] > (unordered ? wave->vm.unordered_done : wave->vm.done))
		return wrong(wave, use, reg, -EPROTO, "before a wait for vmcnt covers the load into it");
	if (state & STATE_LGKM && wave->v_lgkm[reg] > (unordered ? wave->lgkm.unordered_done : wave->lgkm.done))
		return wrong(wave, use, reg, -EPROTO, "before a wait for lgkmcnt covers the load into it");
	if (state & STATE_MFMA && !(wave->group->launch->flags & EMU_IGNORE_MFMA_WAIT)) {
		const struct op *producer = wave->v_mfma_op[reg];
		uint64_t passed = wave->clock - wave->v_mfma[reg] - 1;
		unsigned needed = wait_for(producer, op, use);
		if (passed < needed)
			return error_set(wave->error, -EPROTO, "%s %s%u %u wait states after the %s that writes it; %u are needed",
					 use->write ? "writes" : "reads", reg < 256 ? "v" : "a", reg & 255, (unsigned)passed,
					 producer->info->name, needed);
		if (passed < 19)
			return 0;	/* another kind of use may have to wait longer */
	}
	wave->v_state[reg] = 0;
	return 0;
}

static int undefined_lanes(struct wave *wave, unsigned reg, uint64_t lanes)
{
	if (wave->group->launch->flags & EMU_ALLOW_UNDEFINED)
		return 0;
	return error_set(wave->error, -ENODATA, "reads lane %d of %s%u, which has never been written", __builtin_ctzll(lanes),
			 reg < 256 ? "v" : "a", reg & 255);
}

static void scalar_name(char *name, size_t size, unsigned code)
{
	if (code < 102)
		snprintf(name, size, "s%u", code);
	else if (code == ISA_VCC || code == ISA_VCC + 1)
		snprintf(name, size, "vcc_%s", code == ISA_VCC ? "lo" : "hi");
	else if (code == ISA_M0)
		snprintf(name, size, "m0");
	else
		snprintf(name, size, "scalar register %u", code);
}

static int check_scalar(struct wave *wave, const struct reg_use *use)
{
	char name[32];
	for (unsigned reg = use->first; reg < (unsigned)use->first + use->count; reg++) {
		unsigned state = wave->s_state[reg];
		if (state == SCALAR_DEFINED ||
		    (state == SCALAR_UNDEFINED && (use->write || wave->group->launch->flags & EMU_ALLOW_UNDEFINED)))
			continue;
		scalar_name(name, sizeof(name), reg);
		if (state == SCALAR_PENDING)
			return error_set(wave->error, -EPROTO, "%s %s before s_waitcnt lgkmcnt(0) covers the scalar load into it",
					 use->write ? "writes" : "reads", name);
		return error_set(wave->error, -ENODATA, "reads %s, which has never been written", name);
	}
	return 0;
}

int check_registers(struct wave *wave, const struct op *op)
{
	uint64_t exec = wave_exec(wave);
	for (unsigned i = 0; i < op->n_scalar; i++) {
		int r = check_scalar(wave, &op->scalar[i]);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < op->n_vector; i++) {
		const struct reg_use *use = &op->vector[i];
		uint64_t lanes = use->write || use->lanes == USE_NONE ? 0 : use->lanes == USE_ALL ? ALL_LANES : exec;
		for (unsigned reg = use->first; reg < (unsigned)use->first + use->count; reg++) {
			int r = wave->v_state[reg] ? look_closer(wave, op, use, reg) : 0;
			if (r == 0 && lanes & ~wave->v_defined[reg])
				r = undefined_lanes(wave, reg, lanes & ~wave->v_defined[reg]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
