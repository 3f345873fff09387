/* SPDX-License-Identifier: MIT */
#include "build/logic/problem.h"

#include <stddef.h>
#include <strings.h>

enum field_kind {
	IGNORED,	/* derived from the others, or about tensors that a GEMM has not; what the file says does not matter */
	TYPE,		/* int, a data type; -1 when absent */
	FLAG,		/* bool */
	VALUE,		/* struct logic_value, a bool or integer */
	TEXT,		/* struct logic_value, a string */
	SPECIAL,	/* has code of its own */
};

struct field {
	const char *key;
	enum field_kind kind;
	size_t offset;
	/* Default of FLAG and VALUE when normalised; as written, an absent key is off but for UseBeta and StridedBatched. */
	int normal;
};

#define AT(member) offsetof(struct logic_problem, member)

/* Every key of a problem type that hipBLASLt's logic files have, in strcmp order (parameter-values: PROBLEM TYPE KEYS). */
static const struct field fields[] = {
	{ "Activation", SPECIAL },
	{ "ActivationComputeDataType", TYPE, AT(activation_compute) },
	{ "ActivationHPA", IGNORED },
	{ "ActivationNoGuard", VALUE, AT(activation_no_guard) },
	{ "ActivationType", SPECIAL },
	{ "AllowNoFreeDims", IGNORED },
	{ "AssignedDerivedParameters", IGNORED },
	{ "Batched", FLAG, AT(batched) },
	{ "BetaOnlyUseBias", IGNORED },
	{ "BiasDataTypeList", SPECIAL },
	{ "BiasSrc", SPECIAL },
	{ "ComplexConjugateA", FLAG, AT(conjugate_a) },
	{ "ComplexConjugateB", FLAG, AT(conjugate_b) },
	{ "ComputeDataType", TYPE, AT(compute) },
	{ "ConvolutionConfig", IGNORED },
	{ "DataType", TYPE, AT(in) },
	{ "DataTypeA", TYPE, AT(a) },
	{ "DataTypeAmaxD", IGNORED },
	{ "DataTypeB", TYPE, AT(b) },
	{ "DataTypeE", TYPE, AT(e) },
	{ "DataTypeMetadata", IGNORED },
	{ "DestDataType", TYPE, AT(d) },
	{ "F32XdlMathOp", TYPE, AT(f32_xdl) },
	{ "Gradient", VALUE, AT(gradient) },
	{ "GroupedGemm", VALUE, AT(grouped) },
	{ "HighPrecisionAccumulate", VALUE, AT(hpa) },
	{ "Index0", IGNORED },
	{ "Index01A", IGNORED },
	{ "Index01B", IGNORED },
	{ "Index01Metadata", IGNORED },
	{ "Index1", IGNORED },
	{ "IndexAssignmentsA", IGNORED },
	{ "IndexAssignmentsB", IGNORED },
	{ "IndexAssignmentsLD", IGNORED },
	{ "IndexAssignmentsMetadata", IGNORED },
	{ "IndexUnroll", IGNORED },
	{ "IndexUnrollA", IGNORED },
	{ "IndexUnrollB", IGNORED },
	{ "IndexUnrollM", IGNORED },
	{ "IndicesBatch", IGNORED },
	{ "IndicesFree", IGNORED },
	{ "IndicesSummation", IGNORED },
	{ "MirrorDimsA", IGNORED },
	{ "MirrorDimsB", IGNORED },
	{ "MirrorDimsMetadata", IGNORED },
	{ "NumIndicesBatch", IGNORED },
	{ "NumIndicesC", IGNORED },
	{ "NumIndicesFree", IGNORED },
	{ "NumIndicesLD", IGNORED },
	{ "NumIndicesSummation", IGNORED },
	{ "OperationType", SPECIAL },
	{ "OutputAmaxD", VALUE, AT(amax_d) },
	{ "SetConstStrideA", IGNORED },
	{ "SetConstStrideB", IGNORED },
	{ "SetConstStrideBias", IGNORED },
	{ "SilentHighPrecisionAccumulate", FLAG, AT(silent_hpa) },
	{ "Sparse", SPECIAL },
	{ "StochasticRounding", FLAG, AT(stochastic_rounding) },
	{ "StridedBatched", VALUE, AT(strided_batched), 1 },
	{ "SupportUserArgs", VALUE, AT(user_args), 1 },
	{ "TLUA", IGNORED },
	{ "TLUB", IGNORED },
	{ "TLUMetadata", IGNORED },
	{ "Tensor0", IGNORED },
	{ "Tensor1", IGNORED },
	{ "TileA", IGNORED },
	{ "TileAwareSelection", IGNORED },
	{ "TileB", IGNORED },
	{ "TotalIndices", IGNORED },
	{ "TransposeA", FLAG, AT(trans_a) },
	{ "TransposeB", FLAG, AT(trans_b), 1 },
	{ "UseBeta", VALUE, AT(use_beta), 1 },
	{ "UseBias", VALUE, AT(use_bias) },
	{ "UseE", VALUE, AT(use_e) },
	{ "UseInitialStridesAB", VALUE, AT(initial_strides_ab) },
	{ "UseInitialStridesCD", VALUE, AT(initial_strides_cd) },
	{ "UseScaleAB", TEXT, AT(scale_ab) },
	{ "UseScaleAlphaVec", VALUE, AT(scale_alpha_vec) },
	{ "UseScaleCD", VALUE, AT(scale_cd) },
	{ "ZeroPadA", IGNORED },
	{ "ZeroPadB", IGNORED },
};

/* One problem type being read. */
struct reading {
	struct arena *arena;
	const struct yaml *yaml;
	struct error *error;
	bool normalise;
	struct logic_problem *problem;
	bool has_activation;		/* the key is there, whatever its value */
	bool has_bias_types, has_use_bias;
};

static void *member(struct logic_problem *problem, const struct field *field)
{
	return (uint8_t *)problem + field->offset;
}

static const void *const_member(const struct logic_problem *problem, const struct field *field)
{
	return (const uint8_t *)problem + field->offset;
}

static int wrong_value(struct reading *reading, const struct yaml_node *node, const char *wanted)
{
	return error_set(reading->error, -EINVAL, "'%s': line %u: %s is '%s', not %s", reading->yaml->path, node->line, node->key->text,
			 yaml_describe(node), wanted);
}

static void set_defaults(struct reading *reading)
{
	struct logic_problem *problem = reading->problem;

	*problem = (struct logic_problem){ .bias_src = -1 };
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		int on = reading->normalise ? fields[i].normal : 0;
		if (fields[i].kind == TYPE)
			*(int *)member(problem, &fields[i]) = -1;
		else if (fields[i].kind == FLAG)
			*(bool *)member(problem, &fields[i]) = on;
		else if (fields[i].kind == VALUE)
			*(struct logic_value *)member(problem, &fields[i]) = LOGIC_BOOL(on);
		else if (fields[i].kind == TEXT)
			*(struct logic_value *)member(problem, &fields[i]) = (struct logic_value){ .type = YAML_STRING, .string = "" };
	}
	problem->use_beta = problem->strided_batched = LOGIC_BOOL(1);
	problem->use_bias = problem->scale_alpha_vec = LOGIC_INT(0);
	if (reading->normalise)
		problem->bias_src = 3;
}

static int read_activation_type(struct reading *reading, const struct yaml_node *node)
{
	static const char *const names[] = { "none", "all", "hipblaslt_all" };

	for (int i = 0; node->kind == YAML_SCALAR && i < (int)ARRAY_SIZE(names); i++)
		if (strcasecmp(node->text, names[i]) == 0) {
			reading->problem->activation = (enum logic_activation)i;
			return 0;
		}
	return wrong_value(reading, node, "'none', 'all' or 'hipblaslt_all'");
}

static int read_bias_types(struct reading *reading, const struct yaml_node *node)
{
	struct logic_problem *problem = reading->problem;

	if (node->kind != YAML_LIST || node->n > LOGIC_MAX_BIAS_TYPES)
		return wrong_value(reading, node, "a list of data types");
	for (const struct yaml_node *child = node->first; child; child = child->next) {
		struct yaml_value value = yaml_scalar(child);
		int type = logic_type_parse(&value);
		if (type < 0)
			return wrong_value(reading, node, "a list of data types");
		unsigned i = problem->n_bias_types++;
		for (; i > 0 && problem->bias_types[i - 1] > type; i--)
			problem->bias_types[i] = problem->bias_types[i - 1];
		problem->bias_types[i] = type;
	}
	reading->has_bias_types = true;
	return 0;
}

static int read_special(struct reading *reading, const struct yaml_node *node, const struct field *field)
{
	const char *key = field->key;
	int64_t number;

	if (strcmp(key, "Activation") == 0) {
		reading->has_activation = true;
		return 0;
	}
	if (strcmp(key, "ActivationType") == 0)
		return read_activation_type(reading, node);
	if (strcmp(key, "BiasDataTypeList") == 0)
		return read_bias_types(reading, node);
	if (strcmp(key, "BiasSrc") == 0) {
		const char *letter = node->kind == YAML_SCALAR && node->n == 1 ? strchr("ABCD", *node->text) : NULL;
		if (!letter)
			return wrong_value(reading, node, "A, B, C or D");
		reading->problem->bias_src = *letter - 'A';
		return 0;
	}
	if (strcmp(key, "OperationType") == 0)
		return node->kind == YAML_SCALAR && strcmp(node->text, "GEMM") == 0 ? 0 : wrong_value(reading, node, "GEMM");
	int r = yaml_int(reading->yaml, node, &number, reading->error);
	if (r < 0)
		return r;
	if (number < 0 || number > 2)
		return wrong_value(reading, node, "0, 1 or 2");
	reading->problem->sparse = (int)number;
	return 0;
}

static int read_field(struct reading *reading, const struct yaml_node *node, const struct field *field)
{
	struct yaml_value value = yaml_scalar(node);
	void *place = member(reading->problem, field);
	bool scalar = node->kind == YAML_SCALAR;

	switch (field->kind) {
	case IGNORED:
		return 0;
	case TYPE:
		*(int *)place = scalar ? logic_type_parse(&value) : -1;
		return *(int *)place >= 0 ? 0 : wrong_value(reading, node, "a data type");
	case FLAG:
		if (!scalar || (value.type != YAML_BOOL && value.type != YAML_INT))
			return wrong_value(reading, node, "true or false");
		*(bool *)place = value.integer != 0;
		return 0;
	case VALUE:
		if (!scalar || (value.type != YAML_BOOL && value.type != YAML_INT) || value.integer < 0 || value.integer > 3)
			return wrong_value(reading, node, "true, false or a number up to 3");
		*(struct logic_value *)place = (struct logic_value){ .type = value.type, .integer = value.integer };
		reading->has_use_bias |= place == &reading->problem->use_bias;
		return 0;
	case TEXT:
		if (!scalar || (strcmp(node->text, "") != 0 && strcmp(node->text, "Scalar") != 0 && strcmp(node->text, "Vector") != 0))
			return wrong_value(reading, node, "'', 'Scalar' or 'Vector'");
		((struct logic_value *)place)->string = !*node->text ? "" : *node->text == 'S' ? "Scalar" : "Vector";
		return 0;
	default:
		return read_special(reading, node, field);
	}
}

static int compare_field(const void *key, const void *field)
{
	return strcmp(key, ((const struct field *)field)->key);
}

static const void *find_field(const char *text)
{
	return bsearch(text, fields, ARRAY_SIZE(fields), sizeof(fields[0]), compare_field);
}

/*
 * The types a bias may have when the file does not say: of the input, the result and the computation (getBiasDataTypeListDefault).
 */
static unsigned default_bias_types(const struct logic_problem *problem, int *types)
{
	const int candidates[] = { problem->in, problem->compute, problem->d };
	unsigned n = 0;

	for (int type = 0; type < LOGIC_N_TYPES; type++)
		for (size_t i = 0; i < ARRAY_SIZE(candidates); i++)
			if (candidates[i] == type && type != GEMM_I8) {
				types[n++] = type;
				break;
			}
	return n;
}

void logic_problem_operands(const struct logic_problem *problem, int *ret_a, int *ret_b)
{
	int a = problem->a, b = problem->b;

	if (a == GEMM_F8BF8 || b == GEMM_F8BF8)
		a = GEMM_F8, b = GEMM_BF8;
	else if (a == GEMM_BF8F8 || b == GEMM_BF8F8)
		a = GEMM_BF8, b = GEMM_F8;
	*ret_a = a;
	*ret_b = b;
}

/* What SolutionStructs.ProblemType corrects in what the file says. */
static void correct(struct reading *reading)
{
	struct logic_problem *problem = reading->problem;
	bool half = problem->compute == GEMM_F16 && problem->in == GEMM_F16;
	bool bf16 = problem->compute == GEMM_BF16 && problem->in == GEMM_BF16;
	bool i8 = problem->compute == GEMM_I8 && problem->in == GEMM_I8;

	if (logic_value_true(&problem->hpa) && (half || bf16))
		problem->compute = GEMM_F32;
	if (logic_value_true(&problem->hpa) && i8)
		problem->compute = GEMM_I32;
	if (!reading->has_activation)
		problem->activation = LOGIC_ACTIVATION_NONE;
	if (problem->activation != LOGIC_ACTIVATION_NONE) {
		unsigned compute = logic_type(problem->compute)->quarter_registers;
		bool narrow = logic_type(problem->in)->quarter_registers < logic_type(problem->d)->quarter_registers;
		if (problem->activation_compute != problem->compute && problem->activation_compute != problem->d)
			problem->activation_compute = problem->compute;
		if (logic_type(problem->activation_compute)->quarter_registers != compute && narrow)
			problem->activation_compute = problem->compute;
	} else if (logic_value_true(&problem->use_e)) {
		problem->use_e = LOGIC_BOOL(0);
	}
	if (logic_value_true(&problem->gradient)) {
		if (problem->activation != LOGIC_ACTIVATION_NONE && !logic_value_true(&problem->use_e))
			problem->use_e = LOGIC_BOOL(1);
	} else {
		problem->bias_src = 3;
		problem->activation_no_guard = LOGIC_BOOL(0);
	}
	if (problem->activation == LOGIC_ACTIVATION_NONE)
		problem->activation_no_guard = LOGIC_BOOL(0);
	if (!reading->has_use_bias)
		problem->n_bias_types = 0;
}

/* Data types that follow from others, and the bias types. */
static void complete(struct reading *reading)
{
	struct logic_problem *problem = reading->problem;
	int types[LOGIC_MAX_BIAS_TYPES];

	problem->a = problem->a < 0 ? problem->in : problem->a;
	problem->b = problem->b < 0 ? problem->in : problem->b;
	problem->d = problem->d < 0 ? problem->in : problem->d;
	problem->e = problem->e < 0 ? problem->d : problem->e;
	problem->compute = problem->compute < 0 ? problem->d : problem->compute;
	problem->f32_xdl = problem->f32_xdl < 0 ? GEMM_F32 : problem->f32_xdl;
	problem->activation_compute = problem->activation_compute < 0 ? problem->compute : problem->activation_compute;
	if (reading->normalise)
		correct(reading);
	unsigned n = default_bias_types(problem, types);
	if (!reading->has_bias_types && reading->has_use_bias) {
		problem->n_bias_types = n;
		memcpy(problem->bias_types, types, sizeof(types));
	}
	problem->bias_types_default = problem->n_bias_types == n && memcmp(problem->bias_types, types, n * sizeof(*types)) == 0;
}

int logic_problem_read(struct arena *arena, const struct yaml *yaml, const struct yaml_node *map, bool normalise,
		       struct logic_problem *ret_problem, struct error *error)
{
	struct logic_problem problem;
	struct reading reading = { .arena = arena, .yaml = yaml, .error = error, .normalise = normalise, .problem = &problem };

	if (map->kind != YAML_MAP)
		return error_set(error, -EINVAL, "'%s': line %u: the problem type is %s, not a map", yaml->path, map->line,
				 yaml_describe(map));
	set_defaults(&reading);
	for (const struct yaml_node *node = map->first; node; node = node->next) {
		const struct field *field = yaml_meaning(node->key, YAML_PROBLEM_KEYS, find_field);
		if (!field)
			return error_set(error, -EINVAL, "'%s': line %u: unknown key '%s' of a problem type, value '%s'", yaml->path,
					 node->line, node->key->text, yaml_describe(node));
		int r = read_field(&reading, node, field);
		if (r < 0)
			return r;
	}
	if (problem.in < 0)
		return error_set(error, -EINVAL, "'%s': line %u: the problem type has no DataType", yaml->path, map->line);
	complete(&reading);
	*ret_problem = problem;
	return 0;
}

static bool equal_field(const struct logic_problem *a, const struct logic_problem *b, const struct field *field)
{
	const void *x = const_member(a, field), *y = const_member(b, field);

	switch (field->kind) {
	case TYPE:
		return *(const int *)x == *(const int *)y;
	case FLAG:
		return *(const bool *)x == *(const bool *)y;
	case VALUE:
	case TEXT:
		return logic_value_equal(x, y);
	default:
		return true;
	}
}

const char *logic_problem_difference(const struct logic_problem *a, const struct logic_problem *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!equal_field(a, b, &fields[i]))
			return fields[i].key;
	if (a->activation != b->activation)
		return "ActivationType";
	if (a->sparse != b->sparse)
		return "Sparse";
	if (a->bias_src != b->bias_src)
		return "BiasSrc";
	if (a->n_bias_types != b->n_bias_types || memcmp(a->bias_types, b->bias_types, a->n_bias_types * sizeof(*a->bias_types)) != 0)
		return "BiasDataTypeList";
	return NULL;
}

const char *logic_problem_conflict(const struct logic_problem *a, const struct logic_problem *b)
{
	/* not among the predicates of ContractionPredicates that a solution is selected by */
	if (a->compute != b->compute)
		return "ComputeDataType";
	if (logic_value_true(&a->use_e) && a->e != b->e)
		return "DataTypeE";
	if (a->stochastic_rounding != b->stochastic_rounding)
		return "StochasticRounding";
	if (!logic_value_equal(&a->initial_strides_ab, &b->initial_strides_ab))
		return "UseInitialStridesAB";
	if (!logic_value_equal(&a->initial_strides_cd, &b->initial_strides_cd))
		return "UseInitialStridesCD";
	if (logic_value_true(&a->scale_alpha_vec) != logic_value_true(&b->scale_alpha_vec))
		return "UseScaleAlphaVec";
	return NULL;
}

int logic_problem_to_gemm(const struct logic_problem *problem, struct gemm_problem_type *ret_type, struct error *error)
{
	const int used[] = { problem->a, problem->b, problem->in, problem->d, problem->compute, problem->activation_compute };
	struct gemm_problem_type type = {
		.c = problem->d, .d = problem->d, .compute = problem->compute, .mfma_in = problem->in,
		.trans_a = problem->trans_a, .trans_b = problem->trans_b,
		.use_beta = logic_value_true(&problem->use_beta),
		.use_bias = (uint8_t)problem->use_bias.integer,
		.activation = problem->activation != LOGIC_ACTIVATION_NONE,
		.activation_compute = problem->activation_compute,
		.scale_ab = *problem->scale_ab.string != 0,
		.scale_cd = logic_value_true(&problem->scale_cd),
		.scale_alpha_vec = logic_value_true(&problem->scale_alpha_vec),
		.use_e = logic_value_true(&problem->use_e),
		.gradient = logic_value_true(&problem->gradient),
		.amax_d = logic_value_true(&problem->amax_d),
		.stochastic_rounding = problem->stochastic_rounding,
		.sparse = problem->sparse != 0,
		.grouped = logic_value_true(&problem->grouped),
		.user_args = logic_value_true(&problem->user_args),
		.strided_batched = logic_value_true(&problem->strided_batched),
	};

	int a, b;
	logic_problem_operands(problem, &a, &b);
	type.a = a;
	type.b = b;
	for (size_t i = 0; i < ARRAY_SIZE(used); i++)
		if (used[i] == 2 || used[i] == 3 || used[i] == 5 || used[i] == 9)	/* complex, packed int8, int64 */
			return error_set(error, -EOPNOTSUPP, "data type %s", logic_type(used[i])->name);
	if (problem->in == GEMM_F32 && problem->f32_xdl != GEMM_F32)
		type.mfma_in = problem->f32_xdl;
	if (problem->scale_ab.string[0] == 'V')
		return error_set(error, -EOPNOTSUPP, "UseScaleAB Vector");
	if (problem->scale_alpha_vec.integer > 1)
		return error_set(error, -EOPNOTSUPP, "UseScaleAlphaVec %d", (int)problem->scale_alpha_vec.integer);
	if (problem->activation == LOGIC_ACTIVATION_ALL)
		return error_set(error, -EOPNOTSUPP, "ActivationType all");
	if (!problem->batched || problem->conjugate_a || problem->conjugate_b || logic_value_true(&problem->initial_strides_ab) ||
	    logic_value_true(&problem->initial_strides_cd))
		return error_set(error, -EOPNOTSUPP, "a problem without batches, with conjugates or with initial strides");
	type.n_bias_types = (uint8_t)MIN(problem->n_bias_types, ARRAY_SIZE(type.bias_types));
	for (unsigned i = 0; i < type.n_bias_types; i++)
		type.bias_types[i] = problem->bias_types[i];
	*ret_type = type;
	return 0;
}
