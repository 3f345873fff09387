/* SPDX-License-Identifier: MIT */
#include "build/codegen/dedup.h"

#include "build/codegen/access.h"
#include "build/codegen/ir_internal.h"

/*
 * What a register holds: a constant (operand code and literal), or what `code` held when that register had been written `version`
 * times. Versions run through the whole kernel, so nothing has to be swept when a run of code ends: `run` tells old knowledge apart.
 */
struct known {
	uint32_t run;		/* 0: nothing is known */
	uint16_t code;
	uint32_t literal;
	uint32_t version;
};

struct dedup {
	struct ir *ir;
	uint64_t *removed;
	uint64_t *labelled;	/* instructions that a label stands in front of */
	uint32_t run;
	uint32_t vector_run;	/* also changes when EXEC does */
	bool knows;		/* anything at all in this run; else no write needs to be followed */
	uint32_t versions[ACCESS_REGISTERS];
	struct known known[ACCESS_REGISTERS];
	size_t n_removed;
};

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool get_bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static uint32_t run_of(const struct dedup *dedup, unsigned reg)
{
	return access_is_vector(reg) ? dedup->vector_run : dedup->run;
}

static void start_run(struct dedup *dedup)
{
	dedup->run++;
	dedup->vector_run++;
	dedup->knows = false;
}

/* A plain move: one register given to another, or a constant. Modifiers, SDWA and DPP make it something else. */
static bool is_move(const struct isa_inst *inst)
{
	if (inst->op == ISA_S_MOV_B32 || inst->op == ISA_S_MOV_B64)
		return true;
	return inst->op == ISA_V_MOV_B32 && (inst->form == ISA_FORM_AUTO || inst->form == ISA_FORM_SHORT || inst->form == ISA_FORM_VOP3) &&
	       inst->operand[1].mod == 0 && inst->flags == 0 && inst->omod == 0;
}

static bool is_stable_register(unsigned code)
{
	return code < ISA_INT0 || (code >= ISA_VGPR0 && code < ACCESS_REGISTERS);
}

/* VCCZ, EXECZ, SCC and the like change without being written. */
static bool is_constant(unsigned code)
{
	return (code >= ISA_INT0 && code < ISA_SHARED_BASE) || (code >= ISA_HALF && code <= ISA_HALF + 8) || code == ISA_LITERAL;
}

/* What dword `i` of the destination gets. Returns false when that is not known (half of a 64-bit constant is not spelt out here). */
static bool value_of(const struct dedup *dedup, const struct isa_inst *inst, unsigned i, struct known *ret_value)
{
	const struct isa_operand *source = &inst->operand[1];
	struct known value = { .run = run_of(dedup, inst->operand[0].code) };

	if (is_constant(source->code)) {
		value.code = source->code;
		value.literal = source->code == ISA_LITERAL ? inst->literal : 0;
		value.version = inst->op == ISA_S_MOV_B64 ? i + 1 : 0;	/* tells the halves of 64-bit constants from plain ones */
	} else if (is_stable_register(source->code)) {
		value.code = (uint16_t)(source->code + i);
		value.version = dedup->versions[source->code + i];
	} else {
		return false;
	}
	*ret_value = value;
	return true;
}

static bool is_same(const struct known *a, const struct known *b)
{
	return a->run == b->run && a->code == b->code && a->literal == b->literal && a->version == b->version;
}

static unsigned width_of(const struct isa_inst *inst)
{
	return inst->op == ISA_S_MOV_B64 ? 2 : 1;
}

static bool is_redundant(const struct dedup *dedup, const struct isa_inst *inst)
{
	for (unsigned i = 0; i < width_of(inst); i++) {
		struct known value;

		if (!value_of(dedup, inst, i, &value) || !is_same(&dedup->known[inst->operand[0].code + i], &value))
			return false;
	}
	return true;
}

static void forget_writes(struct dedup *dedup, const struct isa_op_info *info, const struct isa_inst *inst)
{
	struct access_range writes[ACCESS_MAX];
	unsigned n = access_get_writes(info, inst, writes);

	for (unsigned i = 0; i < n; i++) {
		for (unsigned reg = writes[i].first; reg < writes[i].first + writes[i].count; reg++) {
			dedup->versions[reg]++;
			dedup->known[reg].run = 0;
		}
		if (writes[i].first <= ISA_EXEC + 1 && writes[i].first + writes[i].count > ISA_EXEC)
			dedup->vector_run++;
	}
}

static void learn(struct dedup *dedup, const struct isa_inst *inst, const struct known *values, unsigned n)
{
	unsigned destination = inst->operand[0].code;

	for (unsigned i = 0; i < n; i++) {
		/* What overwrote itself (s_mov_b64 s[2:3], s[2:3] and the like) is not worth knowing. */
		unsigned code = values[i].code;
		if (is_stable_register(code) && code >= destination && code < destination + n)
			continue;
		dedup->known[destination + i] = values[i];
		dedup->known[destination + i].run = run_of(dedup, destination);
		dedup->knows = true;
	}
}

static void visit(struct dedup *dedup, size_t index)
{
	const struct isa_inst *inst = &dedup->ir->insts[index];
	const struct isa_op_info *info = isa_op_info(dedup->ir->isa, inst->op);
	struct known values[2];
	unsigned n = 0;

	if (get_bit(dedup->labelled, index))
		start_run(dedup);
	if (is_move(inst)) {
		if (is_redundant(dedup, inst)) {
			set_bit(dedup->removed, index);
			dedup->n_removed++;
			return;
		}
		while (n < width_of(inst) && value_of(dedup, inst, n, &values[n]))
			n++;
	}
	if (dedup->knows)
		forget_writes(dedup, info, inst);
	learn(dedup, inst, values, n);
	if (info->kind == ISA_KIND_BRANCH || info->kind == ISA_KIND_JUMP)
		start_run(dedup);
}

int ir_dedup(struct ir *ir)
{
	size_t words = ir->count / 64 + 1;
	_cleanup_free_ struct dedup *dedup = calloc(1, sizeof(*dedup));
	_cleanup_free_ uint64_t *removed = calloc(words, sizeof(*removed));
	_cleanup_free_ uint64_t *labelled = calloc(words, sizeof(*labelled));
	if (!dedup || !removed || !labelled)
		return ir_fail(ir, -ENOMEM, "no memory");

	for (size_t i = 0; i < ir->n_labels; i++) {
		if (ir->labels[i].position != IR_NOWHERE)
			set_bit(labelled, ir->labels[i].position);
	}
	dedup->ir = ir;
	dedup->removed = removed;
	dedup->labelled = labelled;
	start_run(dedup);
	for (size_t i = 0; i < ir->count; i++)
		visit(dedup, i);
	return dedup->n_removed ? ir_rebuild(ir, NULL, 0, removed) : 0;
}
