/* SPDX-License-Identifier: MIT */
#include "tools/emulator/run.h"

#include "build/object/object.h"
#include "tools/emulator/emulator.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_ARGUMENTS 64
#define MAX_KERNARG 4096
#define MAX_BUFFER (UINT64_C(1) << 34)

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

enum type { I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64, N_TYPES };

static const struct { const char *name; unsigned size;
} types[N_TYPES] = {
	[I8] = {"i8", 1},   [U8] = {"u8", 1},   [I16] = {"i16", 2}, [U16] = {"u16", 2},   [I32] = {"i32", 4}, [U32] = {"u32", 4},
	[I64] = {"i64", 8}, [U64] = {"u64", 8}, [F16] = {"f16", 2}, [BF16] = {"bf16", 2}, [F32] = {"f32", 4}, [F64] = {"f64", 8},
};

struct memory_argument {
	uint8_t *bytes;
	size_t size;
	uint64_t address;
	const char *out;		/* part of argv */
	bool print;
	enum type print_type;
	uint64_t print_count;
};

struct job {
	struct emu_object *object;
	struct emu_memory *memory;
	struct emu_launch launch;
	struct memory_argument buffers[MAX_ARGUMENTS];
	unsigned n_buffers;
	uint8_t kernarg[MAX_KERNARG];
	size_t kernarg_size;
	bool stats;
	struct error error;
};

static void job_release(struct job *job)
{
	emu_memory_free(job->memory);
	emu_object_unref(job->object);
	for (unsigned i = 0; i < job->n_buffers; i++)
		free(job->buffers[i].bytes);
}

/* ---- words of the command line ---------------------------------------------------------------------------------------- */

static int parse_number(const char *text, uint64_t *ret_number)
{
	char *end;
	errno = 0;
	uint64_t number = text[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	if (errno || end == text)
		return -EINVAL;
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
	if (shift)
		end++;
	if (*end || number << shift >> shift != number)
		return -EINVAL;
	*ret_number = number << shift;
	return 0;
}

/* X[,Y[,Z]]; what is not given stays. */
static int parse_dimensions(const char *text, uint32_t dimensions[3])
{
	char copy[64], *save = NULL;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	unsigned n = 0;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		uint64_t number;
		if (n == 3 || parse_number(word, &number) < 0 || number > INT32_MAX)
			return -EINVAL;
		dimensions[n++] = (uint32_t)number;
	}
	return n > 0 ? 0 : -EINVAL;
}

static int find_type(const char *name, size_t length, enum type *ret_type)
{
	for (unsigned i = 0; i < N_TYPES; i++) {
		if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0) {
			*ret_type = (enum type)i;
			return 0;
		}
	}
	return -ENOENT;
}

static uint16_t to_bf16(float value)		/* to nearest even; a NaN stays one */
{
	uint32_t word;
	memcpy(&word, &value, sizeof(word));
	return value != value ? 0x7fc0 : (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

/* The bytes of a value of that type. */
static int parse_value(enum type type, const char *text, uint8_t ret_bytes[8])
{
	if (type < F16) {
		uint64_t number;
		if (parse_number(text, &number) < 0)
			return -EINVAL;
		unsigned bits = types[type].size * 8;
		int64_t as_signed = (int64_t)number;
		bool fits = bits == 64 || number >> bits == 0 || (as_signed < 0 && as_signed >= -(INT64_C(1) << (bits - 1)));
		if (!fits)
			return -ERANGE;
		memcpy(ret_bytes, &number, sizeof(number));
		return 0;
	}
	char *end;
	double value = strtod(text, &end);
	float single = (float)value;
	_Float16 half = (_Float16)value;
	uint16_t bfloat = to_bf16(single);
	if (end == text || *end)
		return -EINVAL;
	memcpy(ret_bytes,
	       type == F64   ? (void *)&value
	       : type == F32 ? (void *)&single
	       : type == F16 ? (void *)&half
			     : (void *)&bfloat,
	       types[type].size);
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

/* Reads up to `limit` bytes of a file. */
static int read_file(const char *path, size_t limit, uint8_t **ret_bytes, size_t *ret_size, struct error *error)
{
	FILE *file = fopen(path, "rb");
	struct stat st;
	if (!file)
		return error_set(error, -errno, "cannot open '%s': %m", path);
	if (fstat(fileno(file), &st) < 0 || st.st_size < 0) {
		fclose(file);
		return error_set(error, -EIO, "cannot read '%s'", path);
	}
	size_t size = MIN((size_t)st.st_size, limit);
	uint8_t *bytes = malloc(size + 1);
	errno = 0;			/* stays so where the file is shorter than it was */
	bool complete = bytes && fread(bytes, 1, size, file) == size;
	int r = !bytes ? -ENOMEM : errno ? -errno : -EIO;
	fclose(file);
	if (!complete) {
		free(bytes);
		return error_set(error, r, "cannot read '%s': %s", path, strerror(-r));
	}
	*ret_bytes = bytes;
	*ret_size = size;
	return 0;
}

static int write_file(const char *path, const uint8_t *bytes, size_t size, struct error *error)
{
	FILE *file = fopen(path, "wb");
	if (!file)
		return error_set(error, -errno, "cannot open '%s': %m", path);
	bool complete = fwrite(bytes, 1, size, file) == size;
	if (fclose(file) != 0 || !complete)
		return error_set(error, -EIO, "cannot write '%s'", path);
	return 0;
}

static int open_object(const char *path, struct job *job)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	_cleanup_buffer_ struct buffer elf = { 0 };
	size_t size;
	struct error inner = { 0 };
	int r = read_file(path, SIZE_MAX, &bytes, &size, &job->error);
	if (r < 0)
		return r;
	r = bundle_read(bytes, size, "gfx942", &elf, &inner);
	if (r == 0)
		r = emu_object_load(elf.data, elf.size, &job->object, &inner);
	return r < 0 ? error_set(&job->error, r, "'%s': %.900s", path, error_text(&inner, r)) : 0;
}

/* ---- arguments -------------------------------------------------------------------------------------------------------- */

static void fill_random(uint8_t *bytes, size_t size)
{
	uint32_t state = 1;
	for (size_t i = 0; i < size; i++) {
		state = state * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(state >> 24);
	}
}

static void fill_sequence(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i + 4 <= size; i += 4) {
		uint32_t word = (uint32_t)(i / 4);
		memcpy(bytes + i, &word, sizeof(word));
	}
}

static int fill_elements(struct memory_argument *buffer, enum type type, const char *text)
{
	uint8_t element[8];
	int r = parse_value(type, text, element);
	if (r < 0)
		return r;
	for (size_t i = 0; i + types[type].size <= buffer->size; i += types[type].size)
		memcpy(buffer->bytes + i, element, types[type].size);
	return 0;
}

static int fill_file(struct memory_argument *buffer, const char *path, struct error *error)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	size_t size;
	int r = read_file(path, buffer->size, &bytes, &size, error);
	if (r == 0)
		memcpy(buffer->bytes, bytes, size);
	return r;
}

static int parse_print(struct memory_argument *buffer, const char *text)
{
	const char *comma = strchr(text, ',');
	size_t length = comma ? (size_t)(comma - text) : strlen(text);
	if (find_type(text, length, &buffer->print_type) < 0)
		return -EINVAL;
	buffer->print = true;
	buffer->print_count = UINT64_MAX;
	return comma ? parse_number(comma + 1, &buffer->print_count) : 0;
}

/* One WHAT of a buffer argument. */
static int parse_what(struct memory_argument *buffer, const char *what, unsigned *access, struct error *error)
{
	const char *equals = strchr(what, '=');
	uint64_t number;
	enum type type;
	if (strcmp(what, "zero") == 0)
		return 0;
	if (strcmp(what, "seq") == 0) {
		fill_sequence(buffer->bytes, buffer->size);
		return 0;
	}
	if (strcmp(what, "random") == 0) {
		fill_random(buffer->bytes, buffer->size);
		return 0;
	}
	if (strcmp(what, "read") == 0) {
		*access = EMU_READ;
		return 0;
	}
	if (what[0] == '@')
		return fill_file(buffer, what + 1, error);
	if (strncmp(what, "out=", 4) == 0) {
		buffer->out = what + 4;
		return 0;
	}
	if (strncmp(what, "print=", 6) == 0)
		return parse_print(buffer, what + 6);
	if (strncmp(what, "byte=", 5) == 0 && parse_number(what + 5, &number) == 0 && number < 256) {
		memset(buffer->bytes, (int)number, buffer->size);
		return 0;
	}
	if (equals && find_type(what, (size_t)(equals - what), &type) == 0)
		return fill_elements(buffer, type, equals + 1);
	return -EINVAL;
}

/* SIZE[:WHAT...]; the text is cut into words. */
static int parse_buffer(struct job *job, char *text, uint8_t ret_bytes[8])
{
	char *save = NULL, *word = strtok_r(text, ":", &save), name[32];
	unsigned access = EMU_READ | EMU_WRITE;
	uint64_t size;
	if (!word || parse_number(word, &size) < 0 || size > MAX_BUFFER)
		return -EINVAL;
	struct memory_argument *buffer = &job->buffers[job->n_buffers];
	*buffer = (struct memory_argument){ .bytes = calloc(1, size + 1), .size = size };
	if (!buffer->bytes)
		return -ENOMEM;
	job->n_buffers++;
	while ((word = strtok_r(NULL, ":", &save))) {
		int r = parse_what(buffer, word, &access, &job->error);
		if (r < 0)
			return r;
	}
	snprintf(name, sizeof(name), "buffer %u", job->n_buffers);
	int r = emu_memory_add(job->memory, name, buffer->size, access, buffer->bytes, &buffer->address);
	memcpy(ret_bytes, &buffer->address, 8);
	return r;
}

static int parse_argument(struct job *job, char *text)
{
	char *equals = strchr(text, '='), *colon = strchr(text, ':');
	uint64_t offset = UINT64_MAX;
	uint8_t bytes[8] = { 0 };
	enum type type;
	unsigned size = 8;
	int r;
	if (equals && colon && equals < colon) {
		*equals = 0;
		if (parse_number(text, &offset) < 0)
			return -EINVAL;
		text = equals + 1;
	}
	if (!colon || job->n_buffers == MAX_ARGUMENTS)
		return -EINVAL;
	if (strncmp(text, "buf:", 4) == 0) {
		r = parse_buffer(job, colon + 1, bytes);
	} else {
		r = find_type(text, (size_t)(colon - text), &type);
		size = r == 0 ? types[type].size : 0;
		r = r == 0 ? parse_value(type, colon + 1, bytes) : -EINVAL;
	}
	if (r < 0)
		return r;
	if (offset == UINT64_MAX)
		offset = round_up(job->kernarg_size, size);
	if (offset > MAX_KERNARG - size)
		return -ERANGE;
	memcpy(job->kernarg + offset, bytes, size);
	job->kernarg_size = MAX(job->kernarg_size, (size_t)offset + size);
	return 0;
}

/* ---- options ---------------------------------------------------------------------------------------------------------- */

#define USAGE "usage: tensilefs run FILE [KERNEL [OPTION...] [ARGUMENT...]]\n"

static const char help[] =
	USAGE
	"\n"
	"Lists the kernels of a code object or offload bundle, or runs one on the CPU.\n"
	"\n"
	"  --grid X[,Y[,Z]]      workgroups (1)\n"
	"  --block X[,Y[,Z]]     work-items of a workgroup (64)\n"
	"  --lds BYTES           dynamic LDS\n"
	"  --threads N           host threads (1)\n"
	"  --max-instructions N  of one wave (100 million)\n"
	"  --allow-undefined     registers and LDS that were never written may be read\n"
	"  --range-whole         one dword out of range puts a whole buffer access out of range\n"
	"  --ignore-mfma-wait    missing wait states of matrix instructions are no error\n"
	"  --stats               count executed instructions\n"
	"  --help                this text\n"
	"\n"
	"Arguments fill the kernel arguments from their start, each aligned to its size, or at OFFSET=:\n"
	"  i8:N u8:N i16:N u16:N i32:N u32:N i64:N u64:N f16:X bf16:X f32:X f64:X   a value\n"
	"  buf:SIZE[:WHAT...]    the address of SIZE bytes (suffixes K, M), filled with WHAT:\n"
	"                        zero, seq, random, byte=N, TYPE=X, @PATH; read: not to be written;\n"
	"                        out=PATH: written there afterwards; print=TYPE[,N]: printed afterwards\n";

static int take_option(struct job *job, int option, const char *value)
{
	uint64_t number = 0;
	switch (option) {
	case 'g':
		return parse_dimensions(value, job->launch.grid);
	case 'b':
		return parse_dimensions(value, job->launch.workgroup);
	case 's':
		job->stats = true;
		return 0;
	case 'h':
		fputs(help, stdout);
		exit(fflush(stdout) == 0 ? 0 : STATUS_FAILED);
	case 'u':
		job->launch.flags |= EMU_ALLOW_UNDEFINED;
		return 0;
	case 'r':
		job->launch.flags |= EMU_RANGE_WHOLE;
		return 0;
	case 'w':
		job->launch.flags |= EMU_IGNORE_MFMA_WAIT;
		return 0;
	}
	if (option == '?' || parse_number(value, &number) < 0 || (option != 'm' && number > UINT32_MAX))
		return -EINVAL;
	if (option == 'l')
		job->launch.dynamic_lds = (uint32_t)number;
	else if (option == 't')
		job->launch.threads = (unsigned)number;
	else
		job->launch.max_instructions = number;
	return 0;
}

static int parse_options(int argc, char **argv, struct job *job)
{
	static const struct option options[] = {
		{ "grid", required_argument, NULL, 'g' },      { "block", required_argument, NULL, 'b' },
		{ "lds", required_argument, NULL, 'l' },       { "threads", required_argument, NULL, 't' },
		{ "max-instructions", required_argument, NULL, 'm' },
		{ "allow-undefined", no_argument, NULL, 'u' }, { "range-whole", no_argument, NULL, 'r' },
		{ "ignore-mfma-wait", no_argument, NULL, 'w' }, { "stats", no_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },            { NULL, 0, NULL, 0 },
	};
	int option, index;
	optind = 0;
	while ((option = getopt_long(argc, argv, "h", options, &index)) != -1) {
		if (take_option(job, option, optarg) == 0)
			continue;
		if (option != '?')	/* getopt has said what is wrong with the others */
			fprintf(stderr, "tensilefs: run: --%s '%s' is not possible\n", options[index].name, optarg);
		return -EINVAL;
	}
	return 0;
}

/* ---- results ---------------------------------------------------------------------------------------------------------- */

static void print_element(enum type type, const uint8_t *bytes)
{
	int64_t number = 0;
	uint64_t word = 0;
	double d;
	float f;
	_Float16 half;
	uint16_t bfloat;
	unsigned bits = types[type].size * 8;
	memcpy(&word, bytes, types[type].size);
	number = (int64_t)(word << (64 - bits)) >> (64 - bits);
	switch (type) {
	case F64:
		memcpy(&d, bytes, sizeof(d));
		printf(" %.17g", d);
		return;
	case F32:
		memcpy(&f, bytes, sizeof(f));
		printf(" %.9g", (double)f);
		return;
	case F16:
		memcpy(&half, bytes, sizeof(half));
		printf(" %.5g", (double)half);
		return;
	case BF16:
		memcpy(&bfloat, bytes, sizeof(bfloat));
		word = (uint64_t)bfloat << 16;
		memcpy(&f, &word, sizeof(f));
		printf(" %.4g", (double)f);
		return;
	case I8:
	case I16:
	case I32:
	case I64:
		printf(" %" PRId64, number);
		return;
	default:
		printf(" %" PRIu64, word);
		return;
	}
}

static int put_results(struct job *job)
{
	for (unsigned i = 0; i < job->n_buffers; i++) {
		const struct memory_argument *buffer = &job->buffers[i];
		unsigned size = types[buffer->print_type].size;
		if (buffer->out) {
			int r = write_file(buffer->out, buffer->bytes, buffer->size, &job->error);
			if (r < 0)
				return r;
		}
		if (!buffer->print)
			continue;
		printf("buffer %u:", i + 1);
		for (uint64_t k = 0; k < MIN(buffer->print_count, buffer->size / size); k++)
			print_element(buffer->print_type, buffer->bytes + k * size);
		printf("\n");
	}
	return 0;
}

static void print_stats(const struct emu_stats *stats)
{
	printf("workgroups %" PRIu64 ", waves %" PRIu64 ", instructions %" PRIu64 ": vector %" PRIu64 ", matrix %" PRIu64
	       ", scalar %" PRIu64 ", scalar memory %" PRIu64 ", buffer %" PRIu64 ", flat %" PRIu64 ", LDS %" PRIu64
	       "; waits %" PRIu64 ", barriers %" PRIu64 "\n",
	       stats->workgroups, stats->waves, stats->instructions, stats->valu, stats->mfma, stats->salu, stats->smem,
	       stats->vmem, stats->flat, stats->lds, stats->waits, stats->barriers);
}

static void list_kernels(const struct emu_object *object)
{
	for (size_t i = 0; i < emu_object_n_kernels(object); i++) {
		const struct emu_kernel *kernel = emu_object_kernel(object, i);
		unsigned vgprs = MIN(kernel->vgprs, kernel->accum_offset);
		printf("%s: %u bytes of arguments, %u of LDS, %u of scratch, %u VGPRs, %u AccVGPRs", kernel->name,
		       kernel->kernarg_bytes, kernel->lds_bytes, kernel->private_bytes, vgprs, kernel->vgprs - vgprs);
		if (kernel->max_workgroup)
			printf(", up to %u work-items", kernel->max_workgroup);
		printf("\n");
	}
}

static int run_kernel(struct job *job, int n, char **words)
{
	struct emu_stats stats;
	int r = emu_memory_new(&job->memory);
	job->launch.kernel = emu_object_find(job->object, words[1]);
	if (r == 0 && !job->launch.kernel)
		return error_set(&job->error, -ENOENT, "'%s' has no kernel '%s'", words[0], words[1]);
	for (int i = 2; r == 0 && i < n; i++) {
		_cleanup_free_ char *original = strdup(words[i]);
		r = parse_argument(job, words[i]);
		if (r < 0 && !job->error.text[0])
			return error_set(&job->error, r, "argument '%s' is not possible", original ? original : words[i]);
	}
	if (r < 0)
		return r;
	job->launch.kernarg = job->kernarg;
	job->launch.kernarg_size = job->kernarg_size;
	r = emu_launch(job->memory, &job->launch, &stats, &job->error);
	if (r < 0)
		return r;
	if (job->stats)
		print_stats(&stats);
	return put_results(job);
}

int command_run(int argc, char **argv)
{
	_cleanup_(job_release) struct job job = { .launch = { .grid = { 1, 1, 1 }, .workgroup = { 64, 1, 1 } } };
	if (parse_options(argc, argv, &job) < 0 || optind == argc) {
		fputs(USAGE, stderr);
		return STATUS_USAGE;
	}
	int r = open_object(argv[optind], &job);
	if (r == 0 && optind + 1 == argc)
		list_kernels(job.object);
	else if (r == 0)
		r = run_kernel(&job, argc - optind, argv + optind);
	if (r == 0)
		return 0;
	fprintf(stderr, "tensilefs: run: %s\n", error_text(&job.error, r));
	return STATUS_FAILED;
}
