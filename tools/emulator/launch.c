/* SPDX-License-Identifier: MIT */
/*
 * Launches: workgroups on threads, waves of a workgroup in turn from barrier to barrier, initial registers, hidden arguments.
 * Source: LLVM "User Guide for AMDGPU Backend": "Initial kernel execution state", "Kernel descriptor", "Kernel arguments".
 */
#include "tools/emulator/internal.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_LIMIT 100000000u
#define MAX_THREADS 64u
#define PACKET_SIZE 64		/* the dispatch packet of HSA */

enum { /* kernel_code_properties: user SGPRs in this order */
       PROPERTY_PRIVATE_BUFFER = 1,
       PROPERTY_DISPATCH_PTR = 2,
       PROPERTY_QUEUE_PTR = 4,
       PROPERTY_KERNARG_PTR = 8,
       PROPERTY_DISPATCH_ID = 16,
       PROPERTY_FLAT_SCRATCH = 32,
       PROPERTY_PRIVATE_SIZE = 64,
};

/* One launch, shared by its threads. */
struct run {
	const struct emu_launch *launch;
	const struct code *code;
	struct emu_memory *memory;
	uint64_t kernarg_address, packet_address, limit;
	uint8_t *kernarg;
	uint32_t lds_bytes;
	unsigned n_waves;
	pthread_mutex_t atomic_lock;
	/* protected by lock */
	pthread_mutex_t lock;
	uint64_t next, n_workgroups;	/* the next workgroup to start */
	struct emu_stats stats;
	int result;
	uint64_t failed;		/* the workgroup that `error` is about */
	struct error error;
};

/* ---- errors ----------------------------------------------------------------------------------------------------------- */

static int place_error(const struct wave *wave, const struct op *op, int code, const struct error *reason, struct error *error)
{
	const struct group *group = wave->group;
	char text[256] = "?";
	if (op->info)
		isa_print(isa_find("gfx942"), &op->inst, text, sizeof(text));
	return error_set(error, code, "kernel '%s', workgroup (%u, %u, %u), wave %u, 0x%" PRIx64 " '%s': %s",
			 group->launch->kernel->name, group->id[0], group->id[1], group->id[2], wave->index, op->address, text,
			 error_text(reason, code));
}

/* ---- waves ------------------------------------------------------------------------------------------------------------ */

/* s_set_gpr_idx_on: M0[7:0] is added to the VGPR numbers of the operands that M0[15:12] chooses (src0, src1, src2, dst). */
static int index_operands(struct wave *wave, const struct op *op, struct op *ret_op)
{
	unsigned index = wave->s[ISA_M0] & 0xff, which = wave->s[ISA_M0] >> 12 & 15;
	unsigned first = op->valu && op->valu->flags & ROW_MASK_OUT ? 2 : 1;
	*ret_op = *op;
	for (unsigned i = 0; i < op->inst.n_operands; i++) {
		unsigned bit = i < first ? 3 : i - first;
		struct isa_operand *operand = &ret_op->inst.operand[i];
		if (operand->code < ISA_VGPR0 || operand->code >= ISA_AGPR0 || !(which >> bit & 1))
			continue;
		if (operand->code - ISA_VGPR0 + index + operand->width > MIN(wave->group->launch->kernel->accum_offset, 256u))
			return error_set(wave->error, -EFAULT, "indexed register v%u is beyond the allocation",
					 operand->code - ISA_VGPR0 + index);
		operand->code = (uint16_t)(operand->code + index);
	}
	for (unsigned i = 0; i < ret_op->n_vector; i++)
		ret_op->vector[i].first = (uint16_t)(ret_op->inst.operand[ret_op->vector[i].operand].code - ISA_VGPR0);
	return 0;
}

static int run_one(struct wave *wave, const struct op *op)
{
	struct op indexed;
	if (wave->gpr_index && op->info && op->info->unit == ISA_UNIT_VALU) {
		int r = index_operands(wave, op, &indexed);
		if (r < 0)
			return r;
		op = &indexed;
	}
	int r = check_registers(wave, op);
	return r < 0 ? r : op->run(wave, op);
}

/* Runs until the wave ends or waits at a barrier. */
static int run_wave(struct wave *wave, uint64_t limit, struct error *error)
{
	while (!wave->ended && !wave->at_barrier) {
		const struct op *op = wave->pc;
		struct error reason;
		wave->pc = op + 1;
		wave->clock++;
		if (++wave->executed > limit) {
			error_set(&reason, -ETIMEDOUT, "the wave has executed %" PRIu64 " instructions and does not end", limit);
			return place_error(wave, op, -ETIMEDOUT, &reason, error);
		}
		reason.text[0] = 0;
		wave->error = &reason;
		int r = run_one(wave, op);
		if (r < 0)
			return place_error(wave, op, r, &reason, error);
	}
	if (wave->ended) {
		wave->vm.done = wave->vm.issued;
		wave->lgkm.done = wave->lgkm.issued;
	}
	return 0;
}

static unsigned put_scalars(struct wave *wave, unsigned sgpr, const void *words, unsigned n)
{
	for (unsigned i = 0; i < n; i++, sgpr++) {
		uint32_t word;
		memcpy(&word, (const uint8_t *)words + i * 4, sizeof(word));
		scalar_write32(wave, sgpr, word);
	}
	return sgpr;
}

static void set_scalars(struct wave *wave, const struct run *run)
{
	const struct emu_kernel *kernel = run->launch->kernel;
	unsigned sgpr = 0, user = kernel->pgm_rsrc2 >> 1 & 31;
	if (kernel->properties & PROPERTY_PRIVATE_BUFFER)
		sgpr += 4;
	if (kernel->properties & PROPERTY_DISPATCH_PTR)
		sgpr = put_scalars(wave, sgpr, &run->packet_address, 2);
	if (kernel->properties & PROPERTY_QUEUE_PTR)
		sgpr += 2;
	if (kernel->properties & PROPERTY_KERNARG_PTR)
		sgpr = put_scalars(wave, sgpr, &run->kernarg_address, 2);
	if (kernel->properties & PROPERTY_DISPATCH_ID)
		sgpr = put_scalars(wave, sgpr, &(uint64_t){ 1 }, 2);
	if (kernel->properties & PROPERTY_FLAT_SCRATCH)
		sgpr += 2;
	if (kernel->properties & PROPERTY_PRIVATE_SIZE)
		sgpr = put_scalars(wave, sgpr, &kernel->private_bytes, 1);
	for (unsigned i = 0; i < kernel->preload_dwords && sgpr < user; i++)
		sgpr = put_scalars(wave, sgpr, run->kernarg + ((size_t)kernel->preload_offset + i) * 4, 1);

	sgpr = user;	/* the system's follow */
	for (unsigned dimension = 0; dimension < 3; dimension++) {
		if (kernel->pgm_rsrc2 >> (7 + dimension) & 1)
			scalar_write32(wave, sgpr++, wave->group->id[dimension]);
	}
	scalar_write64(wave, ISA_FLAT_SCRATCH, 0);
	scalar_write64(wave, ISA_XNACK_MASK, 0);
}

/* Work-item ids are packed in v0: x | y << 10 | z << 20. */
static uint64_t set_lanes(struct wave *wave, const struct run *run)
{
	const uint32_t *size = run->launch->workgroup;
	uint64_t exec = 0;
	for (unsigned lane = 0; lane < WAVE; lane++) {
		uint32_t id = wave->index * WAVE + lane;
		if (id >= size[0] * size[1] * size[2])
			break;
		exec |= UINT64_C(1) << lane;
		wave->v[0][lane] = id % size[0] | id / size[0] % size[1] << 10 | id / size[0] / size[1] << 20;
	}
	wave->v_defined[0] = exec;
	return exec;
}

static void start_wave(struct wave *wave, const struct run *run, struct group *group, unsigned index)
{
	const struct emu_kernel *kernel = run->launch->kernel;
	uint32_t rsrc1 = kernel->pgm_rsrc1;

	memset((char *)wave + offsetof(struct wave, v_defined), 0, sizeof(*wave) - offsetof(struct wave, v_defined));
	memset(wave->s_state, SCALAR_UNDEFINED, sizeof(wave->s_state));
	wave->index = index;
	wave->group = group;
	wave->mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23;
	control_set_mode(wave);
	set_scalars(wave, run);
	scalar_write64(wave, ISA_EXEC, set_lanes(wave, run));
	wave->pc = code_find(run->code, kernel->entry + (kernel->preload_dwords ? 256 : 0));
}

/* ---- workgroups ------------------------------------------------------------------------------------------------------- */

static int at_barrier(const struct group *group, struct error *error)
{
	const struct wave *waiting = NULL, *ended = NULL;
	for (unsigned i = 0; i < group->n_waves; i++) {
		if (group->waves[i].ended)
			ended = &group->waves[i];
		else
			waiting = &group->waves[i];
	}
	if (!waiting || !ended)
		return waiting != NULL;
	struct error reason;
	error_set(&reason, -EPROTO, "waits at a barrier, but wave %u has ended", ended->index);
	return place_error(waiting, waiting->pc - 1, -EPROTO, &reason, error);
}

static void add_stats(struct emu_stats *sum, const struct wave *wave)
{
	const struct emu_stats *one = &wave->stats;
	sum->salu += one->salu;
	sum->smem += one->smem;
	sum->valu += one->valu;
	sum->mfma += one->mfma;
	sum->vmem += one->vmem;
	sum->flat += one->flat;
	sum->lds += one->lds;
	sum->waits += one->waits;
	sum->barriers += one->barriers;
	sum->instructions += wave->executed;
	sum->waves++;
}

static int run_group(const struct run *run, struct group *group, uint64_t number, struct emu_stats *stats, struct error *error)
{
	const uint32_t *grid = run->launch->grid;
	int r;
	group->id[0] = (uint32_t)(number % grid[0]);
	group->id[1] = (uint32_t)(number / grid[0] % grid[1]);
	group->id[2] = (uint32_t)(number / grid[0] / grid[1]);
	memset(group->lds_defined, 0, group->lds_bytes);
	memset(group->lds_writer, 0, round_up(group->lds_bytes, 4));
	lds_barrier(group);
	for (unsigned i = 0; i < group->n_waves; i++)
		start_wave(&group->waves[i], run, group, i);
	do {
		for (unsigned i = 0; i < group->n_waves; i++) {
			struct wave *wave = &group->waves[i];
			wave->at_barrier = false;
			r = run_wave(wave, run->limit, error);
			if (r < 0)
				return r;
		}
		r = at_barrier(group, error);
		lds_barrier(group);
	} while (r > 0);
	for (unsigned i = 0; i < group->n_waves; i++)
		add_stats(stats, &group->waves[i]);
	stats->workgroups++;
	return r;
}

static void group_release(struct group *group)
{
	free(group->waves);
	free(group->lds);
	free(group->lds_defined);
	free(group->lds_writer);
	free(group->lds_written);
	free(group->lds_read);
	free(group->private_memory);
}

static int group_init(const struct run *run, struct group *group)
{
	uint32_t private_bytes = (uint32_t)round_up(run->launch->kernel->private_bytes, 16);
	*group = (struct group){
		.launch = run->launch, .code = run->code, .memory = run->memory, .n_waves = run->n_waves, .lds_bytes = run->lds_bytes,
		.atomic_lock = (pthread_mutex_t *)&run->atomic_lock, .private_bytes = private_bytes,
	};
	group->waves = aligned_alloc(64, round_up(sizeof(*group->waves), 64) * run->n_waves);
	group->lds = calloc(1, run->lds_bytes + 16u);
	group->lds_defined = calloc(1, run->lds_bytes + 16u);
	group->lds_writer = calloc(1, run->lds_bytes + 16u);
	group->lds_written = calloc(1, run->lds_bytes + 16u);
	group->lds_read = calloc(1, run->lds_bytes + 16u);
	group->private_memory = calloc((size_t)run->n_waves * WAVE, private_bytes + 1u);
	if (group->waves)
		memset(group->waves, 0, sizeof(*group->waves) * run->n_waves);
	if (group->waves && group->lds && group->lds_defined && group->lds_writer && group->lds_written && group->lds_read &&
	    group->private_memory)
		return 0;
	group_release(group);
	return -ENOMEM;
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

/* The next workgroup's number, or false when there is none or something has failed. */
static bool take(struct run *run, uint64_t *ret_number)
{
	pthread_mutex_lock(&run->lock);
	bool more = run->next < run->n_workgroups && run->result == 0;
	if (more)
		*ret_number = run->next++;
	pthread_mutex_unlock(&run->lock);
	return more;
}

/* Of several failures the one of the first workgroup is reported. */
static void fail(struct run *run, int code, uint64_t number, const struct error *error)
{
	pthread_mutex_lock(&run->lock);
	if (run->result == 0 || number < run->failed) {
		run->result = code;
		run->failed = number;
		run->error = *error;
	}
	pthread_mutex_unlock(&run->lock);
}

static void merge_stats(struct run *run, const struct emu_stats *stats)
{
	const uint64_t *from = (const uint64_t *)stats;
	uint64_t *to = (uint64_t *)&run->stats;
	pthread_mutex_lock(&run->lock);
	for (size_t i = 0; i < sizeof(*stats) / sizeof(uint64_t); i++)
		to[i] += from[i];
	pthread_mutex_unlock(&run->lock);
}

static void *worker(void *argument)
{
	struct run *run = argument;
	struct group group;
	struct emu_stats stats = { 0 };
	struct error error = { .text = "no memory for the waves of a workgroup" };
	uint64_t number;
	if (group_init(run, &group) < 0) {
		fail(run, -ENOMEM, 0, &error);
		return NULL;
	}
	while (take(run, &number)) {
		int r = run_group(run, &group, number, &stats, &error);
		if (r < 0)
			fail(run, r, number, &error);
	}
	merge_stats(run, &stats);
	group_release(&group);
	return NULL;
}

static void run_threads(struct run *run)
{
	pthread_t threads[MAX_THREADS];
	unsigned wanted = (unsigned)MIN((uint64_t)MIN(MAX(run->launch->threads, 1u), MAX_THREADS), run->n_workgroups), started = 0;
	for (; started + 1 < wanted; started++) {
		if (pthread_create(&threads[started], NULL, worker, run) != 0)
			break;	/* fewer threads do the same work */
	}
	worker(run);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* ---- kernel arguments ------------------------------------------------------------------------------------------------- */

static void put_argument(uint8_t *kernarg, size_t size, const struct emu_argument *argument, uint64_t value)
{
	if (argument->size <= sizeof(value) && argument->offset <= size && argument->size <= size - argument->offset)
		memcpy(kernarg + argument->offset, &value, argument->size);
}

/* Hidden arguments that the caller did not pass. */
static void put_hidden(const struct run *run, size_t size)
{
	static const char axes[] = "xyz";
	const struct emu_launch *launch = run->launch;
	const struct emu_kernel *kernel = launch->kernel;
	for (size_t i = 0; i < kernel->n_arguments; i++) {
		const struct emu_argument *argument = &kernel->arguments[i];
		size_t length = strlen(argument->value_kind);
		const char *axis = length ? strchr(axes, argument->value_kind[length - 1]) : NULL;
		if (argument->offset < launch->kernarg_size)
			continue;
		if (strncmp(argument->value_kind, "hidden_block_count_", 19) == 0 && axis)
			put_argument(run->kernarg, size, argument, launch->grid[axis - axes]);
		else if (strncmp(argument->value_kind, "hidden_group_size_", 18) == 0 && axis)
			put_argument(run->kernarg, size, argument, launch->workgroup[axis - axes]);
		else if (strcmp(argument->value_kind, "hidden_grid_dims") == 0)
			put_argument(run->kernarg, size, argument, 3);
		else if (strcmp(argument->value_kind, "hidden_shared_base") == 0)
			put_argument(run->kernarg, size, argument, SHARED_APERTURE);
		else if (strcmp(argument->value_kind, "hidden_private_base") == 0)
			put_argument(run->kernarg, size, argument, PRIVATE_APERTURE);
		else if (strcmp(argument->value_kind, "hidden_dynamic_lds_size") == 0)
			put_argument(run->kernarg, size, argument, launch->dynamic_lds);
	}
}

static void fill_packet(uint8_t packet[PACKET_SIZE], const struct run *run)
{
	const struct emu_launch *launch = run->launch;
	memset(packet, 0, PACKET_SIZE);
	for (unsigned i = 0; i < 3; i++) {
		uint16_t group = (uint16_t)launch->workgroup[i];
		uint32_t grid = launch->grid[i] * launch->workgroup[i];
		memcpy(packet + 4 + i * 2, &group, sizeof(group));
		memcpy(packet + 12 + i * 4, &grid, sizeof(grid));
	}
	memcpy(packet + 24, &launch->kernel->private_bytes, 4);
	memcpy(packet + 28, &run->lds_bytes, 4);
	memcpy(packet + 40, &run->kernarg_address, 8);
}

/* ---- the launch ------------------------------------------------------------------------------------------------------- */

static int check_launch(const struct emu_launch *launch, struct error *error)
{
	const struct emu_kernel *kernel = launch->kernel;
	uint64_t size = (uint64_t)launch->workgroup[0] * launch->workgroup[1] * launch->workgroup[2];
	for (unsigned i = 0; i < 3; i++) {
		if (launch->workgroup[i] == 0 || launch->workgroup[i] > 1024)
			return error_set(error, -EINVAL, "kernel '%s': workgroup size %u is not in 1 .. 1024", kernel->name,
					 launch->workgroup[i]);
	}
	if (size > 1024 || (kernel->max_workgroup && size > kernel->max_workgroup))
		return error_set(error, -EINVAL, "kernel '%s': %" PRIu64 " work-items in a workgroup, at most %u are allowed",
				 kernel->name, size, kernel->max_workgroup ? kernel->max_workgroup : 1024);
	if ((uint64_t)kernel->lds_bytes + launch->dynamic_lds > MAX_LDS)
		return error_set(error, -EINVAL, "kernel '%s': %u bytes of LDS and %u dynamic ones are more than %u", kernel->name,
				 kernel->lds_bytes, launch->dynamic_lds, MAX_LDS);
	if (launch->kernarg_size > 1u << 20 || (launch->kernarg_size > 0 && !launch->kernarg))
		return error_set(error, -EINVAL, "kernel '%s': impossible kernel arguments", kernel->name);
	if (kernel->pgm_rsrc1 >> 12 & 15)
		return error_set(error, -ENOTSUP, "kernel '%s': only rounding to nearest is emulated", kernel->name);
	return 0;
}

static int get_code(const struct emu_kernel *kernel, const struct code **ret_code, struct error *error)
{
	struct kernel_entry *entry = (struct kernel_entry *)kernel;
	struct emu_object *object = (struct emu_object *)kernel->object;
	int r = 0;
	pthread_mutex_lock(&object->lock);
	if (!entry->code)
		r = code_decode(object, entry, &entry->code, error);
	*ret_code = entry->code;
	pthread_mutex_unlock(&object->lock);
	if (r == 0 && !code_find(entry->code, kernel->entry + (kernel->preload_dwords ? 256 : 0)))
		return error_set(error, -EINVAL, "kernel '%s': no instruction at its entry", kernel->name);
	return r;
}

/* Maps the launch's own regions (arguments, dispatch packet, code object) for its time. */
static int run_mapped(struct run *run, size_t kernarg_size, uint8_t packet[PACKET_SIZE])
{
	const struct emu_object *object = run->launch->kernel->object;
	const uint64_t mapped[] = { KERNARG_ADDRESS, PACKET_ADDRESS, CODE_ADDRESS };
	unsigned n = 0;
	int r = emu_memory_add_at(run->memory, "kernel arguments", KERNARG_ADDRESS, kernarg_size, EMU_READ, run->kernarg);
	if (r == 0) {
		n++;
		r = emu_memory_add_at(run->memory, "dispatch packet", PACKET_ADDRESS, PACKET_SIZE, EMU_READ, packet);
	}
	if (r == 0) {
		n++;
		r = emu_memory_add_at(run->memory, "code object", CODE_ADDRESS, object->image_size, EMU_READ, object->image);
	}
	if (r == 0) {
		n++;
		run_threads(run);
		r = run->result;
	}
	while (n-- > 0)
		memory_remove(run->memory, mapped[n]);
	return r;
}

int emu_launch(struct emu_memory *memory, const struct emu_launch *launch, struct emu_stats *ret_stats, struct error *error)
{
	if (!memory || !launch || !launch->kernel)
		return -EINVAL;
	int r = check_launch(launch, error);
	if (r < 0)
		return r;

	const struct emu_kernel *kernel = launch->kernel;
	size_t kernarg_size = round_up(MAX(launch->kernarg_size, (size_t)kernel->kernarg_bytes), 16) + 16;
	_cleanup_free_ uint8_t *kernarg = calloc(1, kernarg_size + ((size_t)kernel->preload_offset + kernel->preload_dwords) * 4);
	uint8_t packet[PACKET_SIZE];
	struct run run = {
		.launch = launch,
		.memory = memory,
		.kernarg = kernarg,
		.kernarg_address = KERNARG_ADDRESS,
		.packet_address = PACKET_ADDRESS,
		.limit = launch->max_instructions ? launch->max_instructions : DEFAULT_LIMIT,
		.lds_bytes = kernel->lds_bytes + launch->dynamic_lds,
		.n_waves = (launch->workgroup[0] * launch->workgroup[1] * launch->workgroup[2] + WAVE - 1) / WAVE,
		.n_workgroups = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
	};
	if (!kernarg)
		return -ENOMEM;
	r = get_code(kernel, &run.code, error);
	if (r < 0)
		return r;
	if (launch->kernarg_size > 0)
		memcpy(kernarg, launch->kernarg, launch->kernarg_size);
	put_hidden(&run, kernarg_size);
	fill_packet(packet, &run);
	pthread_mutex_init(&run.lock, NULL);
	pthread_mutex_init(&run.atomic_lock, NULL);
	if (run.n_workgroups > 0)
		r = run_mapped(&run, kernarg_size - 16, packet);
	pthread_mutex_destroy(&run.lock);
	pthread_mutex_destroy(&run.atomic_lock);
	if (r < 0)
		return error_set(error, r, "%s", error_text(&run.error, r));
	if (ret_stats)
		*ret_stats = run.stats;
	return 0;
}
