/* SPDX-License-Identifier: MIT */
#include "tests/gemm/common.h"

#include "base/file.h"
#include "build/gemm/arguments.h"
#include "build/object/object.h"
#include "tests/common/tool.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct gemm_params default_params(void)
{
	return (struct gemm_params){
		.problem = {
			.a = GEMM_F16, .b = GEMM_F16, .c = GEMM_F16, .d = GEMM_F16, .compute = GEMM_F32, .mfma_in = GEMM_F16,
			.trans_a = true,
			.use_beta = true,
			.activation_compute = GEMM_F32,
			.user_args = true,
			.strided_batched = true,
		},
		.mi = { 16, 16, 16, 1 },
		.mi_wave_group = { 1, 1 },
		.mi_wave_tile = { 1, 1 },
		.depth_u = 32,
		.local_split_u = 1,
		.global_split_u = 1,
		.prefetch_global_read = 2,
		.transpose_lds = 1,
		.local_read_vector_width = 8,
		.vector_width = { 1, 1 },
		.source_swap = 1,
		.assert_free_multiple = { 1, 1 },
		.assert_summation_multiple = 1,
		.custom_kernel = "",
	};
}

/* The widest global read, at most the one wanted, and the fewest loads along the contiguous dimension that fit. */
static void complete_reads(struct gemm_params *params, int t, bool tlu, enum gemm_type type)
{
	int coalesced = tlu ? params->macro_tile[t] : params->depth_u, perpendicular = tlu ? params->depth_u : params->macro_tile[t];
	int widest = params->global_read_vector_width[t];

	if (!widest)
		widest = 16 / (int)gemm_type_bytes(type);
	for (int width = widest; width >= 1; width /= 2) {
		for (int loads = 1; loads <= coalesced / width; loads++) {
			int lanes = coalesced / width / loads;

			if (lanes * loads * width != coalesced || params->num_threads % lanes ||
			    perpendicular % (params->num_threads / lanes))
				continue;
			params->global_read_vector_width[t] = width;
			params->num_loads_coalesced[t] = loads;
			return;
		}
	}
}

void complete_params(struct gemm_params *params)
{
	params->num_threads = 64 * params->mi_wave_group[0] * params->mi_wave_group[1];
	for (int t = 0; t < 2; t++)
		params->macro_tile[t] = params->mi_wave_group[t] * params->mi_wave_tile[t] * params->mi[t];
	complete_reads(params, 0, !params->problem.trans_a, params->problem.a);
	complete_reads(params, 1, params->problem.trans_b, params->problem.b);
}

static const char *find_linker(void)
{
	const char *given = getenv("LD_LLD"), *linker = given && *given ? given : tool("ld.lld");

	if (!linker) {
		fprintf(stderr, "no ld.lld\n");
		exit(77);
	}
	return linker;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	abort();
}

static void write_object(const struct test_kernel *kernels, size_t n, struct buffer *ret_object)
{
	_cleanup_free_ struct object_kernel *objects = calloc(n, sizeof(*objects));
	_cleanup_free_ struct object_argument *arguments = calloc(n * GEMM_ARGUMENT_COUNT, sizeof(*arguments));
	struct error error = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct gemm_code *code = &kernels[i].code;
		struct gemm_argument_layout layout;
		struct object_argument *list = arguments + i * GEMM_ARGUMENT_COUNT;
		size_t n_arguments = 0;

		gemm_argument_layout(&kernels[i].config.params.problem, &layout);
		for (enum gemm_argument a = 0; a < GEMM_ARGUMENT_COUNT; a++) {
			const struct gemm_argument_info *info = gemm_argument_info(a);
			if (layout.offset[a] != GEMM_ARGUMENT_ABSENT)
				list[n_arguments++] = (struct object_argument){
					.name = info->name,
					.value_kind = info->pointer ? "global_buffer" : "by_value",
					.value_type = info->type,
					.address_space = info->pointer ? "generic" : NULL,
					.offset = layout.offset[a],
					.size = info->size,
				};
		}
		objects[i] = (struct object_kernel){
			.name = kernels[i].name,
			.code = code->code.data,
			.code_size = code->code.size,
			.vgprs = code->vgprs,
			.agprs = code->agprs,
			.sgprs = code->sgprs,
			.lds_bytes = code->lds_bytes,
			.kernarg_bytes = code->kernarg_bytes,
			.workgroup_size = code->workgroup_size,
			.arguments = list,
			.n_arguments = n_arguments,
		};
	}
	if (object_write("gfx942", objects, n, ret_object, &error) < 0)
		fail(error.text);
}

static void read_file(const char *path, struct buffer *ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read_to_end(fd, ret_bytes) < 0)
		fail("no linked code object");
}

void link_kernels(const struct test_kernel *kernels, size_t n, struct buffer *ret_elf)
{
	const char *linker = find_linker();
	_cleanup_buffer_ struct buffer object = { 0 };
	char folder[] = "/tmp/tensilefs-test-XXXXXX", in[64], out[64];
	int status;
	pid_t pid;

	write_object(kernels, n, &object);
	if (!mkdtemp(folder))
		fail("no temporary folder");
	snprintf(in, sizeof(in), "%s/kernels.o", folder);
	snprintf(out, sizeof(out), "%s/kernels.co", folder);
	FILE *file = fopen(in, "wb");
	if (!file || fwrite(object.data, 1, object.size, file) != object.size || fclose(file))
		fail("cannot write the object");
	char *const argv[] = { "ld.lld", "-shared", "-o", out, in, NULL };
	if (posix_spawn(&pid, linker, NULL, NULL, argv, environ) || waitpid(pid, &status, 0) < 0 || status)
		fail("ld.lld failed");
	read_file(out, ret_elf);
	unlink(in);
	unlink(out);
	rmdir(folder);
}
