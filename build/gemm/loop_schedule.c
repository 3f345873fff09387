/* SPDX-License-Identifier: MIT */
/*
 * The MFMAs of a depthU in order, and what runs beside them.
 *
 * Everything else is a queue of steps per group, in an order that is right by itself; the queue is cut into equal parts, one
 * behind each MFMA but the last quarter of them, in which LDS reads come to their end. While group g is multiplied, its queue
 * reads the operands of group g + 1. The last group's queue prepares the next macro tile:
 *     one LDS buffer     barrier (all waves have read), LDS writes, barrier, reads of the next tile's first group
 *     two LDS buffers    (LDS writes in earlier groups,) barrier, the other buffer, reads of the next tile's first group
 * With a prefetch of two tiles, a load goes out as soon as its registers are written to LDS; with one, loads go out with the
 * first group.
 */
#include "build/gemm/loop.h"

#include <assert.h>

enum step_kind { STEP_READ, STEP_LOAD, STEP_WRITE, STEP_ADVANCE, STEP_BARRIER, STEP_TOGGLE };

struct step {
	uint8_t kind;			/* enum step_kind */
	uint8_t tensor;
	uint16_t block, step, group;	/* STEP_READ */
	uint16_t load;			/* STEP_LOAD, STEP_WRITE */
};

enum { MAX_STEPS = 1024 };		/* of each tensor at most 128 loads and writes, and 64 reads of a group */

struct queue {
	struct step steps[MAX_STEPS];
	unsigned count, done;
};

static void queue_add(struct queue *queue, struct step step)
{
	assert(queue->count < MAX_STEPS);
	queue->steps[queue->count++] = step;
}

/* ---- building queues -------------------------------------------------------------------------------------------------- */

static void add_read(const struct loop *loop, struct queue *queue, unsigned t, unsigned group, unsigned step, unsigned block)
{
	const struct loop_tensor *tensor = &loop->tensor[t];

	if (tensor->config->prefetch && block < loop_blocks(tensor) && step < loop_read_steps(loop, tensor))
		queue_add(queue, (struct step){ .kind = STEP_READ, .tensor = (uint8_t)t, .group = (uint16_t)group,
						.step = (uint16_t)step, .block = (uint16_t)block });
}

/* The operands of a group that are read ahead, in the order of the MFMAs that want them. */
static void add_reads(const struct loop *loop, struct queue *queue, unsigned group)
{
	unsigned blocks_a = loop_blocks(&loop->tensor[0]), blocks_b = loop_blocks(&loop->tensor[1]);

	for (unsigned s = 0; s < loop->config->k_fold; s++) {
		add_read(loop, queue, 0, group, s, 0);
		for (unsigned b = 0; b < blocks_b; b++)
			add_read(loop, queue, 1, group, s, b);
		for (unsigned b = 1; b < blocks_a; b++)
			add_read(loop, queue, 0, group, s, b);
	}
}

/* Loads and LDS writes number first .. last - 1, counted through both tensors. */
static void add_transfers(const struct loop *loop, struct queue *queue, unsigned first, unsigned last, bool write, bool load)
{
	for (unsigned i = first; i < last; i++) {
		unsigned t = i >= loop->tensor[0].config->loads, number = t ? i - loop->tensor[0].config->loads : i;
		struct step step = { .tensor = (uint8_t)t, .load = (uint16_t)number };
		if (write) {
			step.kind = STEP_WRITE;
			queue_add(queue, step);
		}
		if (load && number == 0) {
			step.kind = STEP_ADVANCE;
			queue_add(queue, step);
		}
		if (load) {
			step.kind = STEP_LOAD;
			queue_add(queue, step);
		}
	}
}

static void build_queue(const struct loop *loop, struct queue *queue, unsigned group)
{
	const struct gemm_config *config = loop->config;
	unsigned transfers = loop->tensor[0].config->loads + loop->tensor[1].config->loads;
	unsigned last = config->groups - 1, early = MAX(last, 1);	/* groups that write ahead when there are two buffers */
	bool two_tiles = config->prefetch == 2, two_buffers = config->lds_buffers == 2;

	queue->count = queue->done = 0;
	if (group < last)
		add_reads(loop, queue, group + 1);
	if (!two_tiles && group == 0)
		add_transfers(loop, queue, 0, transfers, false, true);
	if (two_tiles && two_buffers && group < early)
		add_transfers(loop, queue, transfers * group / early, transfers * (group + 1) / early, true, true);
	if (group < last)
		return;
	if (!two_buffers)
		queue_add(queue, (struct step){ .kind = STEP_BARRIER });
	if (!two_buffers || !two_tiles)
		add_transfers(loop, queue, 0, transfers, true, two_tiles);
	queue_add(queue, (struct step){ .kind = STEP_BARRIER });
	if (two_buffers)
		queue_add(queue, (struct step){ .kind = STEP_TOGGLE });
	add_reads(loop, queue, 0);
}

/* ---- emission --------------------------------------------------------------------------------------------------------- */

/* Makes the operands of a block from its raw registers, once a group. */
static void prepare(struct loop *loop, unsigned t, unsigned block, unsigned step)
{
	const struct loop_tensor *tensor = &loop->tensor[t];
	uint64_t bit = 1ull << (block * loop->config->k_fold + step);

	if (!tensor->config->permute || loop->prepared[t] & bit)
		return;
	loop->prepared[t] |= bit;
	loop_write_permute(loop, tensor, block, step);
}

/* The descriptor to the next tile; behind the last one there is nothing to load. */
static void write_advance(struct loop *loop, const struct loop_tensor *tensor)
{
	loop_write_advance(loop, tensor);
	loop_write_limit(loop, tensor);
	if (loop->config->prefetch == 2) {
		EMIT(loop->ir, ISA_S_CMP_EQ_U32, s1(loop->s_iterations), isa_int(0));
		EMIT(loop->ir, ISA_S_CSELECT_B32, s1(tensor->s_desc + 2), isa_int(0), s1(tensor->s_desc + 2));
	}
}

static void write_step(struct loop *loop, const struct step *step)
{
	const struct loop_tensor *tensor = &loop->tensor[step->tensor];

	switch ((enum step_kind)step->kind) {
	case STEP_READ:
		prepare(loop, step->tensor, step->block, step->step);	/* before its raw registers get the next group's */
		loop_write_lds_read(loop, tensor, step->group, step->block, step->step);
		break;
	case STEP_LOAD:
		loop_write_load(loop, tensor, step->load);
		break;
	case STEP_WRITE:
		loop_write_lds_write(loop, tensor, step->load);
		break;
	case STEP_ADVANCE:
		write_advance(loop, tensor);
		break;
	case STEP_BARRIER:
		EMIT(loop->ir, ISA_S_BARRIER);
		break;
	case STEP_TOGGLE:
		loop_write_toggle(loop);
		break;
	}
}

static void run_queue(struct loop *loop, struct queue *queue, unsigned until)
{
	while (queue->done < until)
		write_step(loop, &queue->steps[queue->done++]);
}

/* One MFMA of a group: rows of A in turn, each with all of B. */
struct mfma {
	unsigned step, w0, w1;
};

static struct mfma mfma_number(const struct gemm_config *config, unsigned n)
{
	unsigned a = config->tensor[0].wave_tile, b = config->tensor[1].wave_tile;

	return (struct mfma){ .step = n / (a * b), .w0 = n / b % a, .w1 = n % b };
}

static void prepare_mfma(struct loop *loop, const struct mfma *mfma)
{
	prepare(loop, 0, mfma->w0 / loop->config->tensor[0].vector_width, mfma->step);
	prepare(loop, 1, mfma->w1 / loop->config->tensor[1].vector_width, mfma->step);
}

static void write_mfma(struct loop *loop, unsigned group, const struct mfma *mfma)
{
	const struct gemm_config *config = loop->config;
	static const uint16_t ops[3][2] = {
		{ ISA_V_MFMA_F32_16X16X4_F32, ISA_V_MFMA_F32_32X32X2_F32 },
		{ ISA_V_MFMA_F32_16X16X16_F16, ISA_V_MFMA_F32_32X32X8_F16 },
		{ ISA_V_MFMA_F32_16X16X16_BF16, ISA_V_MFMA_F32_32X32X8_BF16 },
	};
	enum gemm_type in = config->params.problem.mfma_in;
	unsigned op = ops[in == GEMM_F32 ? 0 : in == GEMM_F16 ? 1 : 2][config->mi_m == 32];
	struct isa_operand a = loop_operand(loop, &loop->tensor[0], group, mfma->w0, mfma->step);
	struct isa_operand b = loop_operand(loop, &loop->tensor[1], group, mfma->w1, mfma->step);
	unsigned acc = (mfma->w1 * config->tensor[0].wave_tile + mfma->w0) * config->acc_per_mfma;
	struct isa_operand c = isa_agpr(acc, config->acc_per_mfma);

	EMIT(loop->ir, op, c, config->source_swap ? b : a, config->source_swap ? a : b, c);
}

/* Reads that could not go ahead. */
static void write_late_reads(struct loop *loop, unsigned group)
{
	for (unsigned t = 0; t < 2; t++) {
		const struct loop_tensor *tensor = &loop->tensor[t];
		if (tensor->config->prefetch)
			continue;
		for (unsigned s = 0; s < loop_read_steps(loop, tensor); s++)
			for (unsigned b = 0; b < loop_blocks(tensor); b++)
				loop_write_lds_read(loop, tensor, group, b, s);
	}
}

/* Operands are made from raw registers a few MFMAs early: an MFMA has to stay two wait states behind the VALU that writes them. */
static void write_group(struct loop *loop, struct queue *queue, unsigned group)
{
	enum { AHEAD = 2, LONG = 16 };
	const struct gemm_config *config = loop->config;
	unsigned mfmas = config->k_fold * config->tensor[0].wave_tile * config->tensor[1].wave_tile, prepared = 0;

	write_late_reads(loop, group);
	/* reads ahead are over by now: one wait in place of one for each operand */
	if (mfmas >= LONG && config->tensor[0].prefetch && config->tensor[1].prefetch)
		EMIT_LITERAL(loop->ir, isa_waitcnt_pack(63, 7, 0), ISA_S_WAITCNT, IR_IMM);
	loop->prepared[0] = loop->prepared[1] = 0;
	for (unsigned n = 0; n < mfmas; n++) {
		struct mfma mfma;
		for (; prepared < MIN(n + AHEAD + 1, mfmas); prepared++) {
			mfma = mfma_number(config, prepared);
			prepare_mfma(loop, &mfma);
		}
		mfma = mfma_number(config, n);
		write_mfma(loop, group, &mfma);
		run_queue(loop, queue, MIN(queue->count * (n + 1) * 4 / (mfmas * 3), queue->count));
	}
}

void loop_write_body(struct loop *loop)
{
	struct queue queue;

	for (unsigned group = 0; group < loop->config->groups; group++) {
		ir_comment(loop->ir, "group %u", group);
		build_queue(loop, &queue, group);
		write_group(loop, &queue, group);
	}
}

void loop_write_first_reads(struct loop *loop)
{
	struct queue queue = { .count = 0 };

	loop->prepared[0] = loop->prepared[1] = UINT64_MAX;	/* nothing raw is waiting */
	add_reads(loop, &queue, 0);
	run_queue(loop, &queue, queue.count);
}

void loop_write_multiply(struct loop *loop)
{
	const struct gemm_config *config = loop->config;
	ir_label_id done = ir_label_new(loop->ir, "multiplied");
	struct queue queue;

	loop_write_first_reads(loop);
	for (unsigned group = 0; group < config->groups; group++) {
		ir_comment(loop->ir, "last tile, group %u", group);
		if (group) {
			EMIT_LITERAL(loop->ir, group * config->group_k, ISA_S_CMP_LE_U32, s1(loop->s_valid), IR_LITERAL);
			ir_branch(loop->ir, ISA_S_CBRANCH_SCC1, done);
		}
		queue.count = queue.done = 0;
		if (group + 1 < config->groups)
			add_reads(loop, &queue, group + 1);
		write_group(loop, &queue, group);
	}
	ir_label(loop->ir, done);
}
