/* SPDX-License-Identifier: MIT */
/*
 * Rules for one solution that concern no other. They are those of the peer's TensileLogic (ValidMatrixInstruction, ValidWorkGroup,
 * ValidWorkGroupMappingXCC); what matrix instructions there are stands in Common.py (validMFMA, validSMFMA, validWMMA) and, for
 * gfx950, in LLVM's AMDGPUUsage and the CDNA4 ISA.
 */
#include "build/logic/check.h"

/* ---- matrix instructions ---------------------------------------------------------------------------------------------- */

enum target {
	GFX908 = 1 << 0, GFX90A = 1 << 1, GFX940 = 1 << 2, GFX950 = 1 << 3, GFX11 = 1 << 4, GFX12 = 1 << 5,
	CDNA = GFX908 | GFX90A | GFX940 | GFX950, CDNA2_ON = GFX90A | GFX940 | GFX950, CDNA3_ON = GFX940 | GFX950, RDNA = GFX11 | GFX12,
};

static enum target target_of(const char *arch)
{
	static const struct {
		const char *prefix;
		enum target target;
	} targets[] = {
		{ "gfx908", GFX908 }, { "gfx90a", GFX90A }, { "gfx94", GFX940 }, { "gfx950", GFX950 }, { "gfx11", GFX11 }, { "gfx12", GFX12 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (strncmp(arch, targets[i].prefix, strlen(targets[i].prefix)) == 0)
			return targets[i].target;
	return 0;
}

static const struct matrix_instruction {
	char types[12];			/* letters of the inputs, between spaces */
	uint8_t m, n, k, blocks;
	bool sparse;
	uint8_t targets;
} instructions[] = {
	{ " H ", 32, 32, 4, 2, false, CDNA },		{ " H ", 32, 32, 8, 1, false, CDNA },
	{ " H ", 16, 16, 4, 4, false, CDNA },		{ " H ", 16, 16, 16, 1, false, CDNA },
	{ " H ", 4, 4, 4, 16, false, CDNA },
	{ " S ", 32, 32, 1, 2, false, CDNA },		{ " S ", 32, 32, 2, 1, false, CDNA },
	{ " S ", 16, 16, 1, 4, false, CDNA },		{ " S ", 16, 16, 4, 1, false, CDNA },
	{ " S ", 4, 4, 1, 16, false, CDNA },
	{ " B ", 32, 32, 2, 2, false, CDNA },		{ " B ", 32, 32, 4, 1, false, CDNA },
	{ " B ", 16, 16, 2, 4, false, CDNA },		{ " B ", 16, 16, 8, 1, false, CDNA },
	{ " B ", 4, 4, 2, 16, false, CDNA },
	{ " B ", 32, 32, 4, 2, false, CDNA2_ON },	{ " B ", 32, 32, 8, 1, false, CDNA2_ON },
	{ " B ", 16, 16, 4, 4, false, CDNA2_ON },	{ " B ", 16, 16, 16, 1, false, CDNA2_ON },
	{ " B ", 4, 4, 4, 16, false, CDNA2_ON },
	{ " D ", 16, 16, 4, 1, false, CDNA2_ON },	{ " D ", 4, 4, 4, 4, false, CDNA2_ON },
	{ " X ", 32, 32, 4, 1, false, GFX940 },		{ " X ", 16, 16, 8, 1, false, GFX940 },
	{ " I8 ", 32, 32, 4, 2, false, CDNA },		{ " I8 ", 16, 16, 4, 4, false, CDNA },
	{ " I8 ", 4, 4, 4, 16, false, CDNA },
	{ " I8 ", 32, 32, 8, 1, false, GFX908 | GFX90A },	{ " I8 ", 16, 16, 16, 1, false, GFX908 | GFX90A },
	{ " I8 ", 32, 32, 16, 1, false, CDNA3_ON },	{ " I8 ", 16, 16, 32, 1, false, CDNA3_ON },
	{ " F8 B8 ", 32, 32, 16, 1, false, CDNA3_ON },	{ " F8 B8 ", 16, 16, 32, 1, false, CDNA3_ON },
	{ " F8B8 B8F8 ", 32, 32, 16, 1, false, CDNA3_ON },	{ " F8B8 B8F8 ", 16, 16, 32, 1, false, CDNA3_ON },
	{ " H B ", 32, 32, 16, 1, false, GFX950 },	{ " H B ", 16, 16, 32, 1, false, GFX950 },
	{ " I8 ", 32, 32, 32, 1, false, GFX950 },	{ " I8 ", 16, 16, 64, 1, false, GFX950 },
	{ " F8 B8 ", 32, 32, 64, 1, false, GFX950 },	{ " F8 B8 ", 16, 16, 128, 1, false, GFX950 },
	{ " F8B8 B8F8 ", 32, 32, 64, 1, false, GFX950 },	{ " F8B8 B8F8 ", 16, 16, 128, 1, false, GFX950 },
	{ " H B ", 32, 32, 16, 1, true, CDNA3_ON },	{ " H B ", 16, 16, 32, 1, true, CDNA3_ON },
	{ " I8 F8 B8 ", 32, 32, 32, 1, true, CDNA3_ON },	{ " I8 F8 B8 ", 16, 16, 64, 1, true, CDNA3_ON },
	{ " F8B8 B8F8 ", 32, 32, 32, 1, true, CDNA3_ON },	{ " F8B8 B8F8 ", 16, 16, 64, 1, true, CDNA3_ON },
	{ " H B I8 ", 16, 16, 16, 1, false, RDNA },
	{ " F8 B8 ", 16, 16, 16, 1, false, GFX12 },	{ " F8B8 B8F8 ", 16, 16, 16, 1, false, GFX12 },
};

static void check_matrix_instruction(struct checking *checking, unsigned line, int position, const struct solution *solution)
{
	const struct logic_document *document = checking->document;
	const struct logic_problem *problem = &document->problem;
	int type = problem->in == GEMM_F32 ? problem->f32_xdl : problem->in;
	const int *mi = solution->mi_block;
	char word[16];

	snprintf(word, sizeof(word), " %s ", logic_type(type)->letters);
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
		const struct matrix_instruction *instruction = &instructions[i];
		if (instruction->m == mi[0] && instruction->n == mi[1] && instruction->k == mi[2] && instruction->blocks == mi[3] &&
		    instruction->sparse == (problem->sparse != 0) && strstr(instruction->types, word) &&
		    instruction->targets & target_of(document->arch))
			return;
	}
	checking_tell(checking, line, position, "%s has no %smatrix instruction [%d, %d, %d, %d] for %s", document->arch,
		      problem->sparse ? "sparse " : "", mi[0], mi[1], mi[2], mi[3], logic_type(type)->name);
}

/* ---- work groups ------------------------------------------------------------------------------------------------------ */

static void check_work_group(struct checking *checking, unsigned line, int position, const struct solution *solution)
{
	const int32_t *group = solution->value[P_WorkGroup].items;
	int64_t threads = (int64_t)group[0] * group[1] * group[2];

	if (threads != solution->num_threads)
		checking_tell(checking, line, position, "WorkGroup [%d, %d, %d] has %lld threads, the other parameters give %d", group[0],
			      group[1], group[2], (long long)threads, solution->num_threads);
	if (number_of(solution, P_WavefrontSize) == 32 && !(target_of(checking->document->arch) & RDNA))
		checking_tell(checking, line, position, "WavefrontSize 32 on %s", checking->document->arch);
}

static unsigned line_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_node *node = yaml_get(map, key);

	return node ? node->line : map->line;
}

/* The runtime asks the same of the CUs that are there (WorkgroupMappingXCCCheck), so another solution is dead weight. */
static void check_mapping(struct checking *checking, const struct yaml_node *node, int position, const struct solution *solution)
{
	const struct yaml_node *raw = yaml_get(node, "WorkGroupMappingXCC");
	int64_t xccs = raw ? yaml_scalar(raw).integer : number_of(solution, P_WorkGroupMappingXCC);
	int group = number_of(solution, P_WorkGroupMappingXCCGroup), cus = checking->document->cu_count;
	unsigned line = line_of(node, "WorkGroupMappingXCC");

	if (xccs == -1)
		return;
	if (xccs < 1 || xccs & (xccs - 1))
		checking_tell(checking, line, position, "WorkGroupMappingXCC %lld is not -1 and no power of two", (long long)xccs);
	else if (group > 0 && group % xccs)
		checking_tell(checking, line, position, "WorkGroupMappingXCCGroup %d is no multiple of WorkGroupMappingXCC %lld", group,
			      (long long)xccs);
	else if (group == -1 && cus && cus % xccs)
		checking_tell(checking, line, position, "WorkGroupMappingXCC %lld does not divide %d CUs", (long long)xccs, cus);
}

void check_solution(struct checking *checking, const struct yaml_node *node, int position, const struct solution *solution)
{
	if (is_custom(solution))	/* what a hand-written kernel is made of is its own business */
		return;
	if (solution->mi)
		check_matrix_instruction(checking, line_of(node, "MatrixInstruction"), position, solution);
	check_work_group(checking, line_of(node, "WorkGroup"), position, solution);
	check_mapping(checking, node, position, solution);
}
