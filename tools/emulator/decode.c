/* SPDX-License-Identifier: MIT */
/*
 * Instructions to operations: each is decoded once, bound to the function that runs it, and its register uses are listed, so that
 * checks and units need not look at operand rows again.
 */
#include "tools/emulator/internal.h"

#include <string.h>

/* ---- scalar operands -------------------------------------------------------------------------------------------------- */

uint32_t scalar_operand32(const struct wave *wave, const struct op *op, unsigned operand)
{
	static const uint32_t floats[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
					  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
	unsigned code = op->inst.operand[operand].code;
	if (code < 128)
		return wave->s[code];
	if (code <= 192)
		return code - 128;
	if (code <= 208)
		return 192 - code;	/* -1 .. -16, modulo 2^32 */
	if (code >= ISA_HALF && code <= ISA_HALF + 8)
		return floats[code - ISA_HALF];
	switch (code) {
	case ISA_LITERAL:
	case ISA_IMM:
		return op->inst.literal;
	case ISA_VCCZ:
		return scalar64(wave, ISA_VCC) == 0;
	case ISA_EXECZ:
		return wave_exec(wave) == 0;
	case ISA_SCC:
		return wave->scc;
	default:
		return 0;
	}
}

uint64_t scalar_operand64(const struct wave *wave, const struct op *op, unsigned operand)
{
	static const double floats[] = { 0.5, -0.5, 1, -1, 2, -2, 4, -4, 0.15915494309189532 };
	unsigned code = op->inst.operand[operand].code;
	uint64_t value;
	if (code < 127)
		return scalar64(wave, code);
	if (code >= ISA_HALF && code <= ISA_HALF + 8) {
		memcpy(&value, &floats[code - ISA_HALF], sizeof(value));
		return value;
	}
	switch (code) {
	case ISA_SHARED_BASE:
		return (uint64_t)SHARED_APERTURE << 32;
	case ISA_SHARED_BASE + 1:	/* the limits */
		return (uint64_t)SHARED_APERTURE << 32 | UINT32_MAX;
	case ISA_SHARED_BASE + 2:
		return (uint64_t)PRIVATE_APERTURE << 32;
	case ISA_SHARED_BASE + 3:
		return (uint64_t)PRIVATE_APERTURE << 32 | UINT32_MAX;
	case ISA_LITERAL:
		return (uint64_t)(int64_t)(int32_t)op->inst.literal;
	default:
		return (uint64_t)(int64_t)(int32_t)scalar_operand32(wave, op, operand);
	}
}

/* ---- operations that cannot run --------------------------------------------------------------------------------------- */

static int run_unknown(struct wave *wave, const struct op *op)
{
	(void)op;
	return error_set(wave->error, -EILSEQ, "this is no instruction of gfx942");
}

static int run_unsupported(struct wave *wave, const struct op *op)
{
	return error_set(wave->error, -ENOTSUP, "'%s' is not emulated", op->info->name);
}

static int run_beyond(struct wave *wave, const struct op *op)
{
	const struct kernel_entry *entry = (const struct kernel_entry *)wave->group->launch->kernel;
	(void)op;
	return error_set(wave->error, -EFAULT, "uses a register beyond the kernel's allocation (%u VGPRs, AccVGPRs from %u on)",
			 entry->kernel.vgprs, entry->kernel.accum_offset);
}

static int run_outside(struct wave *wave, const struct op *op)
{
	(void)op;
	return error_set(wave->error, -EFAULT, "execution runs past the end of the code");
}

/* ---- binding ---------------------------------------------------------------------------------------------------------- */

static void add_use(struct op *op, bool vector, struct reg_use use)
{
	struct reg_use *uses = vector ? op->vector : op->scalar;
	uint8_t *n = vector ? &op->n_vector : &op->n_scalar;
	if (*n < MAX_USES)
		uses[(*n)++] = use;
}

static uint8_t use_lanes_of(const struct op *op)
{
	if (op->info->unit == ISA_UNIT_MFMA)
		return USE_ALL;
	return valu_special(op->inst.op) && op->inst.op != ISA_V_SWAP_B32 ? USE_NONE : USE_EXEC;
}

/* Some instructions leave out their first operand: see struct isa_inst. */
static unsigned missing_first(const struct op *op)
{
	bool atomic = op->info->unit == ISA_UNIT_FLAT && op->info->kind == ISA_KIND_ATOMIC && !(op->inst.flags & ISA_SC0);
	bool to_lds = op->info->unit == ISA_UNIT_VMEM && op->inst.flags & ISA_LDS;
	return atomic || to_lds ? 1 : 0;
}

static bool reads_destination(const struct op *op)
{
	bool keeps = op->inst.form == ISA_FORM_SDWA && op->inst.dst_sel != 6 && op->inst.dst_unused == 2;
	return op->valu && (op->valu->flags & ROW_ACC) && !keeps;
}

static void list_uses(struct op *op)
{
	unsigned missing = missing_first(op);
	for (unsigned i = 0; i < op->inst.n_operands; i++) {
		const struct isa_operand *operand = &op->inst.operand[i];
		unsigned role = op->info->operand[i + missing].role;
		bool vector = operand->code >= ISA_VGPR0 && operand->code < ISA_AGPR0 + 256;
		struct reg_use use = { .count = operand->width, .operand = (uint8_t)i, .lanes = use_lanes_of(op) };
		if (!vector && operand->code >= 128)
			continue;
		use.first = vector ? operand->code - ISA_VGPR0 : operand->code;
		if (role != ISA_ROLE_DST || (i == 0 && reads_destination(op)))
			add_use(op, vector, use);
		use.write = true;
		if (role != ISA_ROLE_SRC)
			add_use(op, vector, use);
	}
	if (op->info->implicit_reads & ISA_IMPLICIT_VCC)
		add_use(op, false, (struct reg_use){ .first = ISA_VCC, .count = 2 });
}

static bool beyond_allocation(const struct op *op, const struct emu_kernel *kernel)
{
	unsigned vgprs = MIN(kernel->accum_offset, kernel->vgprs), agprs = kernel->vgprs - vgprs;
	for (unsigned i = 0; i < op->n_vector; i++) {
		unsigned first = op->vector[i].first, end = first + op->vector[i].count;
		if (first < 256 ? end > vgprs : end - 256 > agprs)
			return true;
	}
	for (unsigned i = 0; i < op->n_scalar; i++) {
		unsigned first = op->scalar[i].first, end = first + op->scalar[i].count;
		if (first < 102 && end > 102)
			return true;
		if (end > 128)
			return true;
	}
	return false;
}

static unit_fn find_unit(const struct emu_object *object, struct op *op)
{
	const struct bindings *bindings = &object->bindings;
	unsigned code = op->inst.op;
	switch ((enum isa_unit)op->info->unit) {
	case ISA_UNIT_SALU:
		op->salu = bindings->salu[code];
		if (op->salu)
			return salu_run;
		switch (code) {
		case ISA_S_GETPC_B64:
		case ISA_S_GETREG_B32:
		case ISA_S_MOVRELS_B32:
		case ISA_S_MOVRELS_B64:
		case ISA_S_MOVRELD_B32:
		case ISA_S_MOVRELD_B64:
			return control_run;
		}
		return op->info->kind != ISA_KIND_PLAIN ? control_run : run_unsupported;
	case ISA_UNIT_SMEM:
		return smem_run;
	case ISA_UNIT_VALU:
		op->valu = bindings->valu[code];
		return op->valu ? valu_run : valu_special(code) ? valu_special(code) : run_unsupported;
	case ISA_UNIT_MFMA:
		op->mfma = bindings->mfma[code];
		return op->mfma ? mfma_run : run_unsupported;
	case ISA_UNIT_VMEM:
	case ISA_UNIT_FLAT:
		op->memory = bindings->memory[code];
		if (!op->memory)
			return op->info->kind == ISA_KIND_CACHE ? valu_special(ISA_V_NOP) : run_unsupported;
		return op->info->unit == ISA_UNIT_VMEM ? buffer_run : flat_run;
	case ISA_UNIT_LDS:
		op->memory = bindings->memory[code];
		if (op->inst.flags & ISA_GDS)
			return run_unsupported;
		return op->memory || code == ISA_DS_SWIZZLE_B32 || code == ISA_DS_PERMUTE_B32 || code == ISA_DS_BPERMUTE_B32 ||
				       code == ISA_DS_NOP
			       ? ds_run
			       : run_unsupported;
	}
	return run_unsupported;
}

static void bind(const struct emu_object *object, const struct emu_kernel *kernel, struct op *op)
{
	op->info = isa_op_info(object->isa, op->inst.op);
	op->run = find_unit(object, op);
	op->target = -1;
	list_uses(op);
	if (beyond_allocation(op, kernel))
		op->run = run_beyond;
}

/* ---- decoding --------------------------------------------------------------------------------------------------------- */

static int grow(struct code *code, size_t *allocated)
{
	if (code->n_ops < *allocated)
		return 0;
	size_t more = MAX(*allocated * 2, 256);
	struct op *ops = reallocarray(code->ops, more, sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	code->ops = ops;
	*allocated = more;
	return 0;
}

static int decode_range(const struct emu_object *object, const struct emu_kernel *kernel, uint64_t address, size_t n_dwords,
			struct code *code, size_t *allocated)
{
	struct code_range *ranges = reallocarray(code->ranges, code->n_ranges + 1, sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	code->ranges = ranges;
	struct code_range *range = &ranges[code->n_ranges++];
	*range = (struct code_range){
		.address = address, .n_dwords = n_dwords, .index = malloc((n_dwords + 1) * sizeof(*range->index))};
	if (!range->index)
		return -ENOMEM;

	for (size_t at = 0; at <= n_dwords;) {
		uint32_t words[ISA_MAX_DWORDS] = { 0 };
		size_t n = MIN(n_dwords - at, (size_t)ISA_MAX_DWORDS);
		int r = grow(code, allocated);
		if (r < 0)
			return r;
		struct op *op = &code->ops[code->n_ops];
		*op = (struct op){ .address = address + at * 4, .target = -1, .run = run_outside };
		if (n > 0) {
			memcpy(words, object->image + address + at * 4, n * 4);
			r = isa_decode(object->isa, words, n, &op->inst);
			op->run = run_unknown;
			if (r > 0)
				bind(object, kernel, op);
		}
		size_t used = n > 0 && r > 0 ? (size_t)r : 1;
		op->size = (uint32_t)used * 4;
		for (size_t i = 0; i < used && at + i <= n_dwords; i++)
			range->index[at + i] = i == 0 ? (int32_t)code->n_ops : -1;
		code->n_ops++;
		at += used;
	}
	return 0;
}

const struct op *code_find(const struct code *code, uint64_t address)
{
	for (size_t i = 0; i < code->n_ranges; i++) {
		const struct code_range *range = &code->ranges[i];
		uint64_t offset = address - range->address;
		if (address < range->address || offset / 4 >= range->n_dwords || offset % 4)
			continue;
		int32_t index = range->index[offset / 4];
		return index < 0 ? NULL : &code->ops[index];
	}
	return NULL;
}

static void resolve_branches(struct code *code)
{
	for (size_t i = 0; i < code->n_ops; i++) {
		struct op *op = &code->ops[i];
		if (!op->info || op->info->kind != ISA_KIND_BRANCH)
			continue;
		uint64_t target = op->address + op->size + (uint64_t)((int64_t)(int16_t)op->inst.literal * 4);
		const struct op *found = code_find(code, target);
		if (found)
			op->target = (int32_t)(found - code->ops);
	}
}

struct code *code_free(struct code *code)
{
	if (!code)
		return NULL;
	for (size_t i = 0; i < code->n_ranges; i++)
		free(code->ranges[i].index);
	free(code->ranges);
	free(code->ops);
	free(code);
	return NULL;
}

/* Where the code that begins at `address` ends: by its symbol, else at the next kernel or function, else with the segment. */
static uint64_t end_of(const struct emu_object *object, uint64_t address, uint64_t size)
{
	uint64_t end = object->text_address + object->text_size;
	if (size > 0 && size <= end - address)
		return address + size;
	for (size_t i = 0; i < object->n_kernels; i++) {
		uint64_t other = object->kernels[i].kernel.entry;
		if (other > address && other < end)
			end = other;
	}
	return end;
}

int code_decode(const struct emu_object *object, const struct kernel_entry *entry, struct code **ret_code, struct error *error)
{
	uint64_t address = entry->kernel.entry;
	struct code *code = calloc(1, sizeof(*code));
	size_t allocated = 0;
	int r = code ? 0 : -ENOMEM;

	if (r == 0)
		r = decode_range(object, &entry->kernel, address, (end_of(object, address, entry->size) - address) / 4, code,
				 &allocated);
	for (size_t i = 0; r == 0 && i < object->n_functions; i++) {
		const struct function *function = &object->functions[i];
		r = decode_range(object, &entry->kernel, function->address, function->size / 4, code, &allocated);
	}
	if (r < 0) {
		code_free(code);
		return error_set(error, r, "no memory for the instructions of '%s'", entry->kernel.name);
	}
	resolve_branches(code);
	*ret_code = code;
	return 0;
}
