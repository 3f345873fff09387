/* SPDX-License-Identifier: MIT */
#include "build/engine/linker.h"
#include "build/isa/isa.h"
#include "tools/command.h"

static const char *const targets[] = { "gfx942" };

static const char *const units[] = {
	[ISA_UNIT_SALU] = "scalar ALU", [ISA_UNIT_SMEM] = "scalar memory", [ISA_UNIT_VALU] = "vector ALU", [ISA_UNIT_MFMA] = "matrix",
	[ISA_UNIT_VMEM] = "buffer memory", [ISA_UNIT_FLAT] = "flat memory", [ISA_UNIT_LDS] = "LDS",
};

static void print_target(const char *name, const struct isa *isa)
{
	size_t counts[ARRAY_SIZE(units)] = { 0 };

	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++)
		counts[isa_op_info(isa, op)->unit]++;
	printf("%s\n", name);
	for (size_t unit = 0; unit < ARRAY_SIZE(units); unit++)
		printf("\t%-16s %zu instructions\n", units[unit], counts[unit]);
	for (unsigned op = ISA_OP_INVALID + 1; op < ISA_OP_COUNT; op++) {
		const struct isa_op_info *info = isa_op_info(isa, op);
		if (info->unit == ISA_UNIT_MFMA)
			printf("\t%-36s %u passes\n", info->name, info->mfma_passes);
	}
}

static int print_linker(const char *wanted)
{
	struct linker *linker = NULL;
	struct error error = { 0 };
	const char *version;

	int r = linker_new(wanted, &linker);
	if (r == 0)
		r = linker_identify(linker, &version, &error);
	if (r == 0) {
		_cleanup_free_ char *path = linker_path(linker);
		printf("linker\n\t%s\n\t%s\n", path ? path : "", version);
	} else {
		complain("%s", error_text(&error, r));
	}
	linker_unref(linker);
	return r;
}

int command_caps(int argc, char **argv)
{
	_cleanup_options_ struct options options = { 0 };
	bool found = false;

	if (options_parse(argc, argv, OPTION_ARCH | OPTION_OUTPUT, 0, 0, "caps [--arch A] [--linker PROGRAM]", &options) < 0)
		return EXIT_USAGE;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		if (options.arch && strcmp(options.arch, targets[i]) != 0)
			continue;
		found = true;
		print_target(targets[i], isa_find(targets[i]));
	}
	if (!found) {
		complain("there is no target '%s'", options.arch);
		return EXIT_FAILURE;
	}
	const char *wanted = options.engine.linker ? options.engine.linker : getenv("TENSILEFS_LINKER");
	return print_linker(wanted && *wanted ? wanted : NULL) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
