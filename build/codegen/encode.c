/* SPDX-License-Identifier: MIT */
/*
 * From instructions to machine code.
 *
 * Branches hold a signed distance of 16 bits in dwords, counted from the instruction after them. Code is first encoded as if every
 * branch could reach; in the rare kernel where one cannot, the far branches are found to a fixed point (making one longer may put
 * another out of reach), replaced by their long form once, and everything is encoded again.
 */
#include "build/codegen/ir_internal.h"

#include <assert.h>

enum { REACH = 32767 };		/* what simm16 can jump over, forwards; one more backwards, which is not worth a case */

/*
 * Constants that the encoding holds within the instruction (CDNA3 ISA, "Scalar and vector source operands"): a generator that
 * emits a computed literal needs not look at its value. Floats are spelt as their bits; they mean these bits to every 32-bit
 * operand, integer or not.
 */
static bool find_inline_constant(uint32_t literal, uint8_t type, uint16_t *ret_code)
{
	static const uint32_t floats[] = { 0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
					   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983 };
	int32_t value = (int32_t)literal;

	if (type != ISA_TYPE_B32 && type != ISA_TYPE_I32 && type != ISA_TYPE_F32)
		return false;
	if (value >= 0 && value <= 64) {
		*ret_code = (uint16_t)(ISA_INT0 + value);
		return true;
	}
	if (value < 0 && value >= -16) {
		*ret_code = (uint16_t)(ISA_INT_NEG1 - 1 - value);
		return true;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(floats); i++) {
		if (literal == floats[i]) {
			*ret_code = (uint16_t)(ISA_HALF + i);
			return true;
		}
	}
	return false;
}

static void count_register(unsigned code, unsigned width, struct ir_stats *stats)
{
	if (code >= ISA_AGPR0)
		stats->agprs = MAX(stats->agprs, code + width - ISA_AGPR0);
	else if (code >= ISA_VGPR0)
		stats->vgprs = MAX(stats->vgprs, code + width - ISA_VGPR0);
	else if (code < ISA_FLAT_SCRATCH)
		stats->sgprs = MAX(stats->sgprs, code + width);
	else if (code == ISA_VCC || code == ISA_VCC + 1)
		stats->uses_vcc = true;
}

/* Counts registers and makes literals inline constants where that is possible. */
static void prepare_operands(const struct isa_op_info *info, struct isa_inst *inst, struct ir_stats *stats)
{
	for (unsigned i = 0; i < inst->n_operands; i++) {
		struct isa_operand *operand = &inst->operand[i];

		if (operand->width > 0)
			count_register(operand->code, operand->width, stats);
		else if (operand->code == ISA_LITERAL && info->operand[i].field != ISA_FIELD_LITERAL)
			/* v_fmamk and the like have a dword of their own for it, always. */
			find_inline_constant(inst->literal, info->operand[i].type, &operand->code);
	}
}

static void count_inst(const struct isa_op_info *info, struct ir_stats *stats)
{
	stats->waits += info->kind == ISA_KIND_WAIT;
	stats->nops += info->kind == ISA_KIND_NOP;
	stats->uses_vcc |= ((info->implicit_reads | info->implicit_writes) & ISA_IMPLICIT_VCC) != 0;
}

static int fail_inst(struct ir *ir, const struct isa_inst *inst, int error)
{
	char line[256];

	if (isa_print(ir->isa, inst, line, sizeof(line)) < 0)
		snprintf(line, sizeof(line), "%s", isa_op_info(ir->isa, inst->op)->name);
	return ir_fail(ir, error, "'%s' cannot be encoded", line);
}

/* Encodes one instruction, with zero where a distance belongs. Returns the number of dwords. */
static int encode_inst(const struct ir *ir, const struct isa_inst *inst, uint32_t *ret_dwords)
{
	if (!ir_refers_to_label(ir, inst))
		return isa_encode(ir->isa, inst, ret_dwords);

	struct isa_inst placeless = *inst;
	placeless.literal = 0;
	return isa_encode(ir->isa, &placeless, ret_dwords);
}

/* Encodes all and notes at which dword each instruction starts. */
static int encode_insts(struct ir *ir, struct buffer *code, uint32_t *starts, struct ir_stats *stats)
{
	size_t base = code->size;
	uint32_t at = 0;

	/* Room for the longest that it can be, so that no instruction has to ask for its own. */
	assert(base % 4 == 0);
	uint32_t *place = buffer_extend(code, (ir->count + 1) * ISA_MAX_DWORDS * 4);
	if (!place)
		return ir_fail(ir, -ENOMEM, "no memory");
	code->size = base;
	for (size_t i = 0; i < ir->count; i++) {
		struct isa_inst *inst = &ir->insts[i];
		const struct isa_op_info *info = isa_op_info(ir->isa, inst->op);

		count_inst(info, stats);
		prepare_operands(info, inst, stats);
		int n = encode_inst(ir, inst, place + at);
		if (n < 0)
			return fail_inst(ir, inst, n);
		starts[i] = at;
		at += (uint32_t)n;
	}
	starts[ir->count] = at;
	stats->instructions = ir->count;
	stats->dwords = at;
	code->size = base + (size_t)at * 4;
	return 0;
}

static int64_t distance(const struct ir *ir, const uint32_t *starts, size_t branch)
{
	uint32_t target = ir->labels[ir->insts[branch].literal].position;

	return (int64_t)starts[target] - (int64_t)starts[branch] - 1;
}

static bool is_far(int64_t dwords)
{
	return dwords < -REACH || dwords > REACH;
}

static bool is_conditional(const struct isa_inst *inst)
{
	return inst->op != ISA_S_BRANCH && inst->op != ISA_S_CALL_B64;
}

/* The opposite condition, or ISA_OP_INVALID for a branch that has none. */
static unsigned invert_branch(unsigned op)
{
	static const uint16_t pairs[][2] = {
		{ ISA_S_CBRANCH_SCC0, ISA_S_CBRANCH_SCC1 },
		{ ISA_S_CBRANCH_VCCZ, ISA_S_CBRANCH_VCCNZ },
		{ ISA_S_CBRANCH_EXECZ, ISA_S_CBRANCH_EXECNZ },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (op == pairs[i][0])
			return pairs[i][1];
		if (op == pairs[i][1])
			return pairs[i][0];
	}
	return ISA_OP_INVALID;
}

enum { LONG_DWORDS = 5 };	/* s_getpc, s_add with literal, s_addc with inline constant, s_setpc or s_swappc */

/* Moves the starts apart until every branch that is not marked far reaches its label. Returns how many are far. */
static size_t find_far_branches(const struct ir *ir, uint32_t *starts, bool *far)
{
	size_t n_far = 0;
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < ir->count; i++) {
			if (far[i] || !ir_refers_to_label(ir, &ir->insts[i]) || !is_far(distance(ir, starts, i)))
				continue;
			uint32_t growth = LONG_DWORDS - 1 + is_conditional(&ir->insts[i]);
			for (size_t k = i + 1; k <= ir->count; k++)
				starts[k] += growth;
			far[i] = true;
			n_far++;
			changed = true;
		}
	}
	return n_far;
}

struct insertion_list {
	struct ir_insertion *items;
	size_t count;
	uint32_t position;
};

static struct isa_inst *insert(struct insertion_list *list, unsigned op, const struct isa_operand *operands, unsigned n_operands)
{
	struct ir_insertion *item = &list->items[list->count++];

	*item = (struct ir_insertion){ .position = list->position, .inst = { .op = (uint16_t)op, .n_operands = (uint8_t)n_operands } };
	memcpy(item->inst.operand, operands, n_operands * sizeof(*operands));
	return &item->inst;
}

#define INSERT(list, op, ...)                                                                      \
	insert(list, op, (const struct isa_operand[]){ __VA_ARGS__ },                              \
	       sizeof((const struct isa_operand[]){ __VA_ARGS__ }) / sizeof(struct isa_operand))

static int insert_long_branch(struct ir *ir, struct insertion_list *list, const uint32_t *starts, size_t branch)
{
	const struct isa_inst inst = ir->insts[branch];
	unsigned pair = ir->long_branch_sgpr;
	struct isa_operand low = isa_sgpr(pair, 1), high = isa_sgpr(pair + 1, 1), both = isa_sgpr(pair, 2);

	list->position = (uint32_t)branch;
	if (is_conditional(&inst)) {
		unsigned opposite = invert_branch(inst.op);
		if (opposite == ISA_OP_INVALID)
			return ir_fail(ir, -ERANGE, "%s cannot reach that far", isa_op_info(ir->isa, inst.op)->name);
		ir_label_id past = ir_label_new(ir, "near");
		if (ir->error)
			return ir->error;
		ir->labels[past].position = (uint32_t)branch + 1;
		INSERT(list, opposite, IR_IMM)->literal = past;
	}

	/* s_getpc_b64 gives the address of the instruction after it. */
	uint32_t getpc = starts[branch] + is_conditional(&inst);
	int64_t bytes = 4 * ((int64_t)starts[ir->labels[inst.literal].position] - (int64_t)getpc - 1);
	INSERT(list, ISA_S_GETPC_B64, both);
	INSERT(list, ISA_S_ADD_U32, low, low, IR_LITERAL)->literal = (uint32_t)bytes;
	INSERT(list, ISA_S_ADDC_U32, high, high, isa_int(bytes < 0 ? -1 : 0));
	if (inst.op == ISA_S_CALL_B64)
		INSERT(list, ISA_S_SWAPPC_B64, inst.operand[0], both);
	else
		INSERT(list, ISA_S_SETPC_B64, both);
	return 0;
}

/* Gives far branches their long form. `starts` are those of the short form and become useless. */
static int lengthen_branches(struct ir *ir, uint32_t *starts)
{
	_cleanup_free_ bool *far = calloc(ir->count + 1, sizeof(*far));
	_cleanup_free_ uint64_t *removed = calloc(ir->count / 64 + 1, sizeof(*removed));
	if (!far || !removed)
		return ir_fail(ir, -ENOMEM, "no memory");

	size_t n_far = find_far_branches(ir, starts, far);
	if (!ir->has_long_branch_sgpr)
		return ir_fail(ir, -ERANGE, "a branch over more than 128 KiB needs a pair of SGPRs");
	_cleanup_free_ struct ir_insertion *insertions = calloc(n_far * LONG_DWORDS, sizeof(*insertions));
	if (!insertions)
		return ir_fail(ir, -ENOMEM, "no memory");

	struct insertion_list list = { .items = insertions };
	for (size_t i = 0; i < ir->count; i++) {
		if (!far[i])
			continue;
		if (insert_long_branch(ir, &list, starts, i) < 0)
			return ir->error;
		removed[i / 64] |= UINT64_C(1) << (i % 64);
	}
	return ir_rebuild(ir, insertions, list.count, removed);
}

/* Puts the distances in. Returns how many branches do not reach. */
static size_t resolve_branches(const struct ir *ir, const uint32_t *starts, uint8_t *code)
{
	size_t n_far = 0;

	for (size_t i = 0; i < ir->count; i++) {
		if (!ir_refers_to_label(ir, &ir->insts[i]))
			continue;
		int64_t dwords = distance(ir, starts, i);
		n_far += is_far(dwords);
		int16_t simm16 = (int16_t)dwords;
		memcpy(code + (size_t)starts[i] * 4, &simm16, sizeof(simm16));
	}
	return n_far;
}

static int encode_once(struct ir *ir, struct buffer *code, struct ir_stats *stats, bool may_lengthen, size_t *ret_n_far)
{
	size_t base = code->size;
	_cleanup_free_ uint32_t *starts = malloc((ir->count + 1) * sizeof(*starts));
	if (!starts)
		return ir_fail(ir, -ENOMEM, "no memory");

	*stats = (struct ir_stats){ 0 };
	int r = encode_insts(ir, code, starts, stats);
	if (r < 0)
		return r;
	*ret_n_far = resolve_branches(ir, starts, code->data + base);
	if (*ret_n_far == 0)
		return 0;
	assert(may_lengthen);
	code->size = base;
	return lengthen_branches(ir, starts);
}

int ir_encode(struct ir *ir, struct buffer *code, struct ir_stats *stats)
{
	size_t n_far = 0;
	int r = encode_once(ir, code, stats, true, &n_far);

	if (r < 0 || n_far == 0)
		return r;
	return encode_once(ir, code, stats, false, &n_far);
}
