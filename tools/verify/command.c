/* SPDX-License-Identifier: MIT */
/* `tensilefs verify`: the kernels of a logic folder, or of code objects made from it, proven in the emulator. */
#include "build/engine/cpus.h"
#include "build/logic/logic.h"
#include "tools/command.h"
#include "tools/verify/values.h"
#include "tools/verify/verify.h"

#include <inttypes.h>

#define USAGE "verify LOGIC [FILE...] [--quick|--all] [--kernels N] [--seed N] [--arch A] [-j N]\n" \
	"\n" \
	"  --quick               4 kernels of each file, 4 launches a kernel\n" \
	"  --all                 launches with every M, N and K, not only with each once\n" \
	"  --kernels N           so many kernels of each file\n" \
	"  --seed N              other random values"

enum { QUICK_KERNELS = 4 };		/* of a file, with --quick */

DEFINE_CLEANUP(struct logic_catalog *, logic_catalog_unref)
DEFINE_CLEANUP(struct logic_library *, logic_library_unref)

struct verification {
	struct options options;
	struct verify_options verify;
	size_t kernels;			/* of a file at most; 0: all */
	struct engine *engine;
	const struct logic_catalog *catalog;
	size_t files;
	struct verify_summary total;
};

/* ---- options ---------------------------------------------------------------------------------------------------------- */

static int take_number(const char *name, const char *text, uint64_t *ret_number)
{
	return parse_number(name, text ? text : "", 0, UINT64_MAX, ret_number);
}

/* Takes the options that only this command has out of argv. */
static int take_options(struct verification *v, int *argc, char **argv)
{
	bool chosen = false;
	int kept = 0, r = 0;

	for (int i = 0; i < *argc; i++) {
		uint64_t number = 0;

		if (strcmp(argv[i], "--quick") == 0) {
			v->verify.depth = VERIFY_QUICK;
		} else if (strcmp(argv[i], "--all") == 0) {
			v->verify.depth = VERIFY_ALL;
		} else if (strcmp(argv[i], "--kernels") == 0 && (r = take_number(argv[i], argv[i + 1], &number)) == 0) {
			v->kernels = number;
			chosen = true;
			i++;
		} else if (strcmp(argv[i], "--seed") == 0 && (r = take_number(argv[i], argv[i + 1], &number)) == 0) {
			v->verify.seed = number;
			i++;
		} else {
			argv[kept++] = argv[i];
		}
		if (r < 0)
			return r;
	}
	argv[kept] = NULL;
	*argc = kept;
	if (v->verify.depth == VERIFY_QUICK && !chosen)
		v->kernels = QUICK_KERNELS;
	return 0;
}

/* ---- what a base has -------------------------------------------------------------------------------------------------- */

static int filter_generated(void *userdata, const char *arch, const struct gemm_params *params, struct error *error)
{
	struct gemm_config config;

	return gemm_config_init(params, &config, error);
}

struct selection {
	struct verify_kernel *kernels;
	struct gemm_config *configs;
	size_t n;
};

static void selection_release(struct selection *selection)
{
	free(selection->kernels);
	free(selection->configs);
}

/* All kernels, or `most` of them: a different choice with each seed. */
static int select_kernels(const struct logic_library *library, size_t most, uint64_t seed, struct selection *ret_selection)
{
	size_t n_solutions, n_kernels;
	const struct logic_solution *solutions = logic_solutions(library, &n_solutions);
	const size_t *kernels = logic_kernels(library, &n_kernels);
	struct random random = { seed };

	ret_selection->kernels = calloc(n_kernels + 1, sizeof(*ret_selection->kernels));
	ret_selection->configs = calloc(n_kernels + 1, sizeof(*ret_selection->configs));
	if (!ret_selection->kernels || !ret_selection->configs)
		return -ENOMEM;
	size_t wanted = most ? MIN(most, n_kernels) : n_kernels;
	for (size_t i = 0; i < n_kernels; i++) {
		const struct logic_solution *solution = &solutions[kernels[i]];
		size_t left = wanted - ret_selection->n;

		/* each kernel left has the same chance */
		if (random_next(&random) % (n_kernels - i) >= left)
			continue;
		int r = gemm_config_init(&solution->params, &ret_selection->configs[ret_selection->n], NULL);
		if (r < 0)
			return r;	/* the filter has let it pass */
		ret_selection->kernels[ret_selection->n] = (struct verify_kernel){
			.name = solution->kernel_name,
			.config = &ret_selection->configs[ret_selection->n],
		};
		ret_selection->n++;
	}
	return 0;
}

/* ---- one code object -------------------------------------------------------------------------------------------------- */

static void print_result(void *userdata, const struct verify_kernel *kernel, const struct verify_result *result)
{
	if (result->status == 0)
		printf("ok      %s: %u launches, %" PRIu64 " instructions, largest error %.2f of its bound\n", kernel->name, result->launches,
		       result->instructions, result->worst);
	else
		printf("FAILED  %s: %s\n", kernel->name, error_text(&result->error, result->status));
	fflush(stdout);
}

static void add_summary(struct verify_summary *total, const struct verify_summary *summary)
{
	total->kernels += summary->kernels;
	total->failed += summary->failed;
	total->launches += summary->launches;
	total->instructions += summary->instructions;
	total->worst = MAX(total->worst, summary->worst);
}

/* The base that NAME.co is made from. */
static const struct logic_base *find_base(const struct logic_catalog *catalog, const char *arch, const char *file)
{
	const char *suffix = strrchr(file, '.');
	size_t length = suffix ? (size_t)(suffix - file) : strlen(file);

	for (size_t i = 0; i < catalog->n_bases; i++) {
		const struct logic_base *base = &catalog->bases[i];
		if (strncmp(base->name, file, length) == 0 && !base->name[length] && (!arch || strcmp(base->arch, arch) == 0))
			return base;
	}
	return NULL;
}

static int verify_bytes(struct verification *v, const struct logic_base *base, const uint8_t *bytes, size_t size, struct error *error)
{
	_cleanup_(logic_library_unref_p) struct logic_library *library = NULL;
	_cleanup_(selection_release) struct selection selection = { 0 };
	struct logic_options options = {
		.names = v->options.engine.names_tensile ? LOGIC_NAMES_TENSILE : LOGIC_NAMES_STABLE,
		.filter = filter_generated,
	};
	struct verify_summary summary = { 0 };	/* stays so when the code object is damaged, which is -EBADMSG as well */

	if (base->fault)
		return error_set(error, -EINVAL, "%s", base->fault);
	int r = logic_load(v->catalog, base, &options, &library, error);
	if (r == 0)
		r = select_kernels(library, v->kernels, v->verify.seed, &selection);
	if (r < 0)
		return r;
	printf("%s/%s.co: %zu kernels\n", base->arch, base->name, selection.n);
	if (selection.n == 0)
		return 0;
	r = verify_code_object(bytes, size, base->arch, selection.kernels, selection.n, &v->verify, print_result, NULL, &summary, error);
	if (r == 0 || r == -EBADMSG)
		add_summary(&v->total, &summary);
	return r;
}

/* A file of the catalog; its bytes come from the cache or are built now. */
static int verify_file(struct verification *v, struct engine_file *file)
{
	_cleanup_(artifact_unref_p) struct artifact *artifact = NULL;
	const struct logic_base *base = find_base(v->catalog, engine_file_arch(file), engine_file_name(file));
	struct error error = { 0 };

	v->files++;
	int r = engine_get(v->engine, file, &artifact, &error);
	if (r == 0)
		r = base ? verify_bytes(v, base, artifact->data, artifact->size, &error) : -ENOENT;
	if (r < 0)
		complain("'%s': %s", engine_file_name(file), error_text(&error, r));
	return r;
}

static int verify_all_files(struct verification *v)
{
	int r = 0;

	for (size_t a = 0; a < engine_n_archs(v->engine); a++) {
		if (v->options.arch && strcmp(engine_arch(v->engine, a), v->options.arch) != 0)
			continue;
		for (size_t i = 0; i < engine_n_files(v->engine, a); i++) {
			struct engine_file *file = engine_file(v->engine, a, i);
			int one = engine_file_kind(file) == ENGINE_CODE_OBJECT ? verify_file(v, file) : 0;
			r = r < 0 ? r : one;
		}
	}
	return r;
}

static int read_bytes(const char *path, struct buffer *ret_bytes)
{
	FILE *stream = fopen(path, "rbe");
	size_t n;
	int r = 0;

	if (!stream)
		return -errno;
	do {
		void *place = buffer_extend(ret_bytes, 65536);
		if (!place) {
			r = -ENOMEM;
			break;
		}
		n = fread(place, 1, 65536, stream);
		ret_bytes->size -= 65536 - n;
	} while (n);
	if (ferror(stream))
		r = -EIO;
	fclose(stream);
	return r;
}

/* The name of a file of the catalog, or the path of a copy of one. */
static int verify_named(struct verification *v, const char *name)
{
	const char *slash = strrchr(name, '/'), *file_name = slash ? slash + 1 : name;
	const struct logic_base *base = find_base(v->catalog, v->options.arch, file_name);
	_cleanup_buffer_ struct buffer bytes = { 0 };
	struct error error = { 0 };

	if (!base) {
		complain("'%s' is no code object of this logic", name);
		return -ENOENT;
	}
	if (access(name, F_OK) < 0) {
		struct engine_file *file = engine_lookup(v->engine, base->arch, file_name);
		if (file && engine_file_kind(file) == ENGINE_CODE_OBJECT)
			return verify_file(v, file);
		complain("there is no file '%s'", name);
		return -ENOENT;
	}
	v->files++;
	int r = read_bytes(name, &bytes);
	if (r == 0)
		r = verify_bytes(v, base, bytes.data, bytes.size, &error);
	if (r < 0)
		complain("'%s': %s", name, error_text(&error, r));
	return r;
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

static int run(struct verification *v, int argc, char **argv)
{
	int r = 0;

	if (argc == 1)
		r = verify_all_files(v);
	for (int i = 1; i < argc; i++) {
		int one = verify_named(v, argv[i]);
		r = r < 0 ? r : one;
	}
	if (r == 0 && !v->files) {
		complain("the logic has no code object for '%s'", v->options.arch ? v->options.arch : "any architecture");
		r = -ENOENT;
	}
	printf("%zu of %zu kernels proven in %" PRIu64 " launches, %" PRIu64 " instructions; largest error %.2f of its bound\n",
	       v->total.kernels - v->total.failed, v->total.kernels, v->total.launches, v->total.instructions, v->total.worst);
	return r;
}

int command_verify(int argc, char **argv)
{
	_cleanup_(logic_catalog_unref_p) struct logic_catalog *catalog = NULL;
	_cleanup_(engine_unref_p) struct engine *engine = NULL;
	_cleanup_options_ struct options options = { 0 };
	struct verification v = { .verify.depth = VERIFY_NORMAL };
	struct error error = { 0 };
	size_t faults;

	if (take_options(&v, &argc, argv) < 0 ||
	    options_parse(argc, argv, OPTION_ARCH | OPTION_JOBS | OPTION_CACHE | OPTION_OUTPUT, 1, INT32_MAX, USAGE, &options) < 0)
		return EXIT_USAGE;
	if (open_engine(&options, argv[optind], &engine, &faults) < 0)
		return EXIT_FAILURE;
	int r = logic_scan(argv[optind], &catalog, &error);
	if (r < 0) {
		complain("%s", error_text(&error, r));
		return EXIT_FAILURE;
	}
	v.options = options;
	v.verify.as_host = options.engine.tensilelite != NULL;
	v.verify.threads = options.engine.jobs ? options.engine.jobs : cpus_available();
	v.engine = engine;
	v.catalog = catalog;
	r = run(&v, argc - optind, argv + optind);
	return r < 0 || faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
