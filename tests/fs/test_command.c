/* SPDX-License-Identifier: MIT */
/* The program without a mount. */
#include "tests/engine/trace_file.h"
#include "tests/fs/common.h"

#include <pwd.h>

static void test_wrong_calls_end_with_2(void **state)
{
	assert_int_equal(run(state, "frobnicate"), 2);
	must_complain_once(state, "there is no command 'frobnicate'");
	assert_int_equal(run(state, "build '%s'", sample_logic()), 2);
	must_complain_once(state, "usage: tensilefs build LOGIC OUT");
	assert_int_equal(run(state, "build --bundle round '%s' '%s/x'", sample_logic(), (char *)*state), 2);
	must_complain_once(state, "'round' is not one of 'none', 'plain', 'compressed'");
	assert_int_equal(run(state, "build -j many '%s' '%s/x'", sample_logic(), (char *)*state), 2);
	must_complain_once(state, "'many' is not a possible number");
	assert_int_equal(run(state, "--help"), 0);
	must_say(state, "out", "tensilefs build LOGIC OUT");
	assert_int_equal(run(state, "--version"), 0);
	must_say(state, "out", "tensilefs ");
}

static void test_each_command_explains_itself(void **state)
{
	static const struct { const char *command, *says; } helps[] = {
		{ "mount", "entry_timeout=SECONDS" }, { "build", "--metadata-only" }, { "ls", "usage: tensilefs ls LOGIC" },
		{ "show", "--custom-kernels DIR" },   { "hash", "--names KIND" },     { "asm", "usage: tensilefs asm LOGIC NAME" },
		{ "coverage", "--json" },	      { "check", "--json" },	      { "verify", "--quick" },
		{ "run", "--max-instructions N" },    { "cache", "--cache-size BYTES" }, { "caps", "--linker PROGRAM" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(helps); i++) {
		assert_int_equal(run(state, "%s --help", helps[i].command), 0);
		must_say(state, "out", helps[i].says);
		assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "err")), 0);
		assert_int_equal(run(state, "help %s", helps[i].command), 0);
		must_say(state, "out", helps[i].says);
	}
	assert_int_equal(run(state, "help frobnicate"), 2);
	must_complain_once(state, "there is no command 'frobnicate'");
}

static void test_wrong_options_are_named(void **state)
{
	assert_int_equal(run(state, "ls --frob '%s'", sample_logic()), 2);
	must_complain_once(state, "unknown option '--frob': see tensilefs ls --help");
	assert_int_equal(run(state, "build -Q '%s' x", sample_logic()), 2);
	must_complain_once(state, "unknown option '-Q'");
	assert_int_equal(run(state, "build '%s' x --arch", sample_logic()), 2);
	must_complain_once(state, "option '--arch' needs a value");
	assert_int_equal(run(state, "build '%s' x -j", sample_logic()), 2);
	must_complain_once(state, "option '-j' needs a value");
	assert_int_equal(run(state, "build --no-cache=3 '%s' x", sample_logic()), 2);
	must_complain_once(state, "unknown option '--no-cache=3'");
}

static void test_an_architecture_that_is_not_there_is_named(void **state)
{
	static const char *const commands[] = { "ls", "show", "hash", "asm", "coverage" };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		assert_int_equal(run(state, "%s --arch gfx90a '%s'%s", commands[i], sample_logic(), i == 3 ? " x" : ""), 1);
		must_complain_once(state, "the logic has no architecture 'gfx90a'");
	}
}

/* Of a library for many architectures, what is wrong with the others is of no concern. */
static void test_one_architecture_is_served_alone(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *out = in_scratch(state, "built");

	assert_int_equal(shell("cp -r '%s/../../tests/assets/logic/archs/gfx90a' '%s'", sample_logic(), logic), 0);
	assert_int_equal(run(state, "ls '%s'", logic), 1);
	must_complain_once(state, "architecture 'gfx90a' cannot be generated yet");
	assert_int_equal(run(state, "build --no-cache --linker '%s' --arch gfx942 '%s' '%s'", real_linker(), logic, out), 0);
	assert_int_equal(shell("test ! -s '%s' && test \"$(ls '%s')\" = gfx942", in_scratch(state, "err"), out), 0);
	assert_int_equal(run(state, "ls --arch gfx90a '%s'", logic), 1);
	must_complain_once(state, "architecture 'gfx90a' cannot be generated yet");
}

static void test_bad_input_is_told_once(void **state)
{
	assert_int_equal(run(state, "ls '%s/nothing'", (char *)*state), 1);
	must_complain_once(state, "/nothing");
	assert_int_equal(run(state, "build --no-cache '%s' '%s/x' --arch gfx90a", sample_logic(), (char *)*state), 1);
	must_complain_once(state, "no architecture 'gfx90a'");
	write_text(in_scratch(state, "in-the-way"), "");
	assert_int_equal(run(state, "run '%s/in-the-way'", (char *)*state), 1);
	must_complain_once(state, "in-the-way': neither an offload bundle nor an ELF file");
	assert_int_equal(run(state, "run '%s'", (char *)*state), 1);
	must_complain_once(state, "': Is a directory");
	assert_int_equal(run(state, "run '%s/none'", (char *)*state), 1);
	must_complain_once(state, "none': No such file or directory");
	assert_int_equal(run(state, "verify --seed -3 '%s'", sample_logic()), 2);
	must_complain_once(state, "--seed: '-3' is not a possible number");
	assert_int_equal(run(state, "build --no-cache '%s' '%s/in-the-way'", sample_logic(), (char *)*state), 1);
	must_complain_once(state, "in-the-way");
}

static void test_a_build_writes_a_trace_or_says_why_not(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *trace = in_scratch(state, "trace"), *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --no-cache --linker '%s' --trace '%s' '%s' '%s'", real_linker(), trace, logic, out), 0);
	struct json_object *events = trace_load(trace, true);
	assert_int_equal(trace_count_events(events, 'b', "build"), 6);
	assert_int_equal(trace_count_events(events, 'E', "write"), 6);
	assert_int_equal(trace_count_events(events, 'E', "link"), 2);
	json_object_put(events);
	assert_int_equal(run(state, "build --no-cache --trace '%s/none/t' '%s' '%s'", (char *)*state, logic, out), 1);
	must_complain_once(state, "none/t': No such file or directory");
	assert_int_equal(run(state, "mount --no-cache --trace '%s/none/t' '%s' '%s'", (char *)*state, logic, out), 1);
	must_complain_once(state, "none/t': No such file or directory");
	assert_int_equal(run(state, "build --no-cache --metadata-only --trace /dev/full '%s' '%s'", logic, out), 0);
	must_complain_once(state, "cannot write the trace '/dev/full' any more: No space left on device");
}

static void test_what_a_build_needs_must_not_lie_inside_the_mountpoint(void **state)
{
	const char *mountpoint = in_scratch(state, "mnt"), *logic = copy_logic(state, "mnt/logic", 1);

	assert_int_equal(run(state, "mount --no-cache '%s' '%s'", logic, mountpoint), 1);
	must_complain_once(state, "mnt/logic' lies inside the mountpoint");
	assert_int_equal(shell("rm -r '%s'", logic), 0);
	assert_int_equal(run(state, "mount --cache '%s/cache' '%s' '%s'", mountpoint, sample_logic(), mountpoint), 1);
	must_complain_once(state, "mnt/cache' lies inside the mountpoint");
	assert_int_equal(run(state, "mount --no-cache -o nonempty --trace '%s/trace' '%s' '%s'", mountpoint, sample_logic(), mountpoint), 1);
	must_complain_once(state, "the trace '");
	must_complain_once(state, "mnt/trace' lies inside the mountpoint");
	logic = copy_logic(state, "logic", 1);
	assert_int_equal(shell("mkdir '%s/mnt'", logic), 0);
	assert_int_equal(run(state, "mount --no-cache '%s' '%s/mnt'", logic, logic), 1);
	must_complain_once(state, "logic/mnt' lies inside the logic '");
}

static void test_without_home_the_cache_is_that_of_the_user(void **state)
{
	char directory[512];

	snprintf(directory, sizeof(directory), "%s/.cache/tensilefs", getpwuid(geteuid())->pw_dir);
	int status = shell("env -u HOME -u XDG_CACHE_HOME '%s' cache stats >'%s' 2>&1", tensilefs(), in_scratch(state, "out"));
	assert_in_range(status, 0, 1);		/* there is one, or there is none */
	must_say(state, "out", directory);
}

static void test_a_build_without_linker_writes_metadata_and_fails(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --no-cache --linker /no/ld.lld '%s' '%s'", logic, out), 1);
	must_say(state, "err", "the linker '/no/ld.lld' cannot be found or run");
	must_say(state, "err", "3 of 8 files could not be built");
	assert_int_equal(shell("test $(ls -A '%s/gfx942' | wc -l) = 5 && test $(ls '%s/gfx942'/*.dat | wc -l) = 4", out, out), 0);
	assert_int_equal(run(state, "build --no-cache --linker /no/ld.lld --metadata-only '%s' '%s'", logic, out), 0);
}

/* Every file is named, what is wrong is explained once. */
static void test_one_cause_is_explained_once(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *err = in_scratch(state, "err");

	assert_int_equal(run(state, "build --no-cache --linker /no/ld.lld '%s' '%s'", logic, in_scratch(state, "built")), 1);
	assert_int_equal(shell("test $(grep -c 'cannot be found or run' '%s') = 1", err), 0);
	assert_int_equal(shell("test $(grep -cE 'gfx942/.*: for the same reason as gfx942/' '%s') = 2", err), 0);
	assert_int_equal(shell("env --default-signal=XFSZ sh -c 'ulimit -f 1; \"$0\" build --no-cache --metadata-only \"$1\" \"$2\"' '%s' '%s' '%s' "
			       "2>'%s'", tensilefs(), logic, in_scratch(state, "limited"), err), 1);
	assert_int_equal(shell("test $(grep -c 'cannot write it into .*File too large' '%s') = 1", err), 0);
	assert_int_equal(shell("test -z \"$(ls -A '%s'/gfx942)\"", in_scratch(state, "limited")), 0);	/* and no half of a file is left */
	assert_int_equal(shell("rm -rf '%s/built/gfx942' && touch '%s/built/gfx942'", (char *)*state, (char *)*state), 0);
	assert_int_equal(run(state, "build --no-cache --metadata-only '%s' '%s'", logic, in_scratch(state, "built")), 1);
	assert_int_equal(shell("test $(grep -c 'cannot write it into .*Not a directory' '%s') = 1", err), 0);
	assert_int_equal(shell("test $(grep -cE 'gfx942/.*: for the same reason as gfx942/' '%s') = 2", err), 0);
}

static void test_a_build_is_silent_off_a_terminal_and_leaves_nothing_else(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --cache '%s' --linker '%s' -j 3 '%s' '%s'", in_scratch(state, "cache"), real_linker(), logic, out), 0);
	assert_int_equal(shell("test ! -s '%s' && test ! -s '%s'", in_scratch(state, "out"), in_scratch(state, "err")), 0);
	assert_int_equal(shell("test $(ls -A '%s/gfx942' | wc -l) = 8", out), 0);
	assert_int_equal(run(state, "ls '%s'", logic), 0);
	assert_int_equal(shell("cd '%s' && ls -d */* | LC_ALL=C sort | cmp - '%s'", out, in_scratch(state, "out")), 0);
}

static void test_a_faulty_file_makes_the_build_fail_and_the_rest_is_built(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *out = in_scratch(state, "built");

	write_text(in_scratch(state, "logic/strange.yaml"), "- {MinimumRequiredVersion: 4.33.0}\n- x\n- gfx777\n- []\n- {}\n- []\n");
	assert_int_equal(run(state, "build --no-cache --linker '%s' '%s' '%s'", real_linker(), logic, out), 1);
	must_say(state, "err", "strange.yaml': line 3");
	must_say(state, "err", "gfx777");
	assert_int_equal(shell("test $(ls -A '%s/gfx942' | wc -l) = 8", out), 0);
}

/* Also when all of it comes from the cache. */
static void test_a_mistaken_solution_is_named_and_makes_the_build_fail(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *out = in_scratch(state, "built"), *cache = in_scratch(state, "cache");

	assert_int_equal(shell("find '%s' -name '*.yaml' -exec sed -i '0,/^    DepthU:/s//    Bogus: 7\\n    DepthU:/' {} +", logic), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(run(state, "build --cache '%s' '%s' '%s'", cache, logic, out), 1);
		must_say(state, "err", "unknown parameter 'Bogus', value '7'");
		must_say(state, "err", ".yaml': line ");
		must_say(state, "err", "1 solution was left out");
	}
	assert_int_equal(shell("test -s '%s'/gfx942/*.co", out), 0);
}

static void test_two_files_that_claim_one_artifact_are_named(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *list = in_scratch(state, "list");

	assert_int_equal(shell("find '%s' -name '*.yaml' > '%s'", logic, list), 0);
	_cleanup_free_ char *path = read_text(list, NULL);
	path[strcspn(path, "\n")] = 0;
	assert_int_equal(shell("cp '%s' '%s/other.yaml'", path, logic), 0);
	assert_int_equal(shell("sed -i 's/^\\( *\\)UseBeta: true/&\\n\\1StochasticRounding: true/' '%s/other.yaml'", logic), 0);
	assert_int_equal(run(state, "build --no-cache --linker '%s' '%s' '%s'", real_linker(), logic, in_scratch(state, "built")), 1);
	must_say(state, "err", "other.yaml");
	must_say(state, "err", "both claim");
	assert_int_equal(shell("test $(grep -c 'both claim' '%s') = 1", in_scratch(state, "err")), 0);
	must_say(state, "err", "_gfx942.co: for a reason told above");
}

static void test_looking_shows_parameters_hashes_and_assembly(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);
	char kernel[512];

	assert_int_equal(run(state, "show '%s'", logic), 0);
	must_say(state, "out", "DepthU");
	must_say(state, "out", "hint");
	assert_int_equal(run(state, "hash --linker '%s' '%s'", real_linker(), logic), 0);
	assert_int_equal(shell("test $(grep -cE '^[0-9a-f]{64}  gfx942/' '%s') = 6", in_scratch(state, "out")), 0);
	assert_int_equal(run(state, "asm '%s' \"$('%s' ls '%s' | grep '\\.co$' | cut -d/ -f2)\"", logic, tensilefs(), logic), 0);
	must_say(state, "out", "s_endpgm");
	_cleanup_free_ char *listing = read_text(in_scratch(state, "out"), NULL);
	snprintf(kernel, sizeof(kernel), "%.*s", (int)strcspn(listing, ":"), listing);
	assert_int_equal(run(state, "asm '%s' '%s'", logic, kernel), 0);
	must_say(state, "out", "s_endpgm");
	assert_int_equal(run(state, "asm '%s' nothing", logic), 1);
	must_complain_once(state, "there is no file, kernel or solution 'nothing'");
	assert_int_equal(run(state, "coverage '%s'", logic), 0);
	must_say(state, "out", "solutions are generated");
	assert_int_equal(run(state, "coverage --json '%s'", logic), 0);
	must_say(state, "out", "\"left_out\"");
	assert_int_equal(run(state, "caps --linker '%s'", real_linker()), 0);
	must_say(state, "out", "v_mfma_f32_16x16x16_f16");
	assert_int_equal(run(state, "caps --json --linker '%s' | python3 -c 'import json,sys; print(json.load(sys.stdin)[\"targets\"][\"gfx942\"])'",
			     real_linker()), 0);
	must_say(state, "out", "'v_mfma_f32_16x16x16_f16': 4");
	assert_int_equal(run(state, "caps --arch gfx1 --linker '%s'", real_linker()), 1);
	must_complain_once(state, "there is no target 'gfx1'");
	assert_int_equal(run(state, "caps --assembler /nowhere/clang --linker '%s'", real_linker()), 1);
	must_complain_once(state, "the assembler '/nowhere/clang' cannot be found or run");
	assert_int_equal(run(state, "caps --no-cache --generator tensilelite:'%s/../../tests/upstream/tensilelite'", sample_logic()), 0);
	must_say(state, "out", "                   gfx90a  gfx942 gfx1100\n");
	must_say(state, "out", "  HasMFMA                      1       1       0\n");
	must_say(state, "out", "  MaxVmcnt                    63      63      63\n");
	assert_int_equal(run(state, "caps --no-cache --generator tensilelite:'%s/../../tests/upstream/tensilelite' --assembler /nowhere/clang",
			     sample_logic()), 1);	/* and no table of zeros */
	must_complain_once(state, "the assembler '/nowhere/clang' cannot be found or run");
	assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "out")), 0);
	assert_int_equal(run(state, "caps --generator tensilelite:/nowhere"), 1);
	must_complain_once(state, "'/nowhere'");
	assert_int_equal(run(state, "caps --generator other"), 2);
	must_complain_once(state, "'other' is not 'native' or 'tensilelite:DIR'");
}

static void test_output_that_cannot_be_written_is_an_error(void **state)
{
	static const char *const commands[] = { "ls", "show", "coverage", "coverage --json", "ls --help" };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		assert_int_equal(shell("'%s' %s '%s' >/dev/full 2>'%s'", tensilefs(), commands[i], sample_logic(), in_scratch(state, "err")), 1);
		must_complain_once(state, "cannot write the output: No space left on device");
	}
}

static void test_peer_names_depend_on_the_whole_library(void **state)
{
	const char *some = copy_logic(state, "some", 2), *all = copy_logic(state, "all", 0);
	static const char *const names[] = { "stable", "tensile" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_int_equal(run(state, "hash --names %s --linker '%s' '%s'", names[i], real_linker(), all), 0);
		assert_int_equal(shell("grep '\\.co$' '%s' | sort > '%s'", in_scratch(state, "out"), in_scratch(state, "whole")), 0);
		assert_int_equal(run(state, "hash --names %s --linker '%s' '%s'", names[i], real_linker(), some), 0);
		assert_int_equal(shell("grep '\\.co$' '%s' | grep -qFf - '%s'", in_scratch(state, "out"), in_scratch(state, "whole")), (int)i);
	}
}

/* Digests of what the peer writes, made with all solutions kept. */
static void must_match_peer(void **state, const char *logic, const char *arch, const char *sums, const char *wanted)
{
	const char *out = in_scratch(state, "built");

	assert_int_equal(run(state, "build --no-cache --metadata-only --keep-all --names tensile '%s' '%s'", logic, out), 0);
	assert_int_equal(shell("cd '%s/%s' && grep '%s' '%s/../../tests/assets/logic/%s' >../sums && sha256sum -c --quiet ../sums", out, arch,
			       wanted, sample_logic(), sums), 0);
}

static void test_metadata_alone_is_the_peers(void **state)
{
	must_match_peer(state, sample_logic(), "gfx942", "sample-peer.sha256", "dat$");
	must_match_peer(state, sample_logic(), "gfx942", "sample-lists.sha256", "txt$");
	assert_int_equal(shell("cd '%s' && test $(ls -A gfx942 | wc -l) = $(($(ls gfx942/*.dat | wc -l) + 2))", in_scratch(state, "built")), 0);
}

static void test_metadata_of_architectures_without_kernels_is_the_peers(void **state)
{
	const char *logic = in_scratch(state, "archs");

	assert_int_equal(shell("cp -r '%s/../../tests/assets/logic/archs' '%s'", sample_logic(), logic), 0);
	must_match_peer(state, logic, ".", "archs-peer.sha256", "  gfx");
	assert_int_equal(shell("cd '%s' && test $(ls | wc -l) = 10 && test $(ls -d */* | wc -l) = $(wc -l <../sums)", in_scratch(state, "built")), 0);
	assert_int_equal(run(state, "check '%s'", logic), 0);
	/* where kernels are wanted there are none, and that is said */
	assert_int_equal(run(state, "build --no-cache --linker /no/ld.lld --metadata-only '%s' '%s-kept'", logic, in_scratch(state, "built")), 1);
	must_say(state, "err", "architecture 'gfx90a' cannot be generated yet");
}

/* The manifest lists what there is but itself and the mapping, which came when manifests went. */
static void test_layouts_and_formats_of_the_peer(void **state)
{
	const char *logic = copy_logic(state, "logic", 2), *out = in_scratch(state, "built"), *kept = in_scratch(state, "assets");

	assert_int_equal(run(state, "build --no-cache --linker '%s' --library-format yaml '%s' '%s'", real_linker(), logic, out), 0);
	assert_int_equal(shell("cd '%s/gfx942' && ls | grep -v -e Manifest -e _Mapping | LC_ALL=C sort >../is && LC_ALL=C sort TensileManifest.txt | "
			       "cmp - ../is", out), 0);
	assert_int_equal(shell("cd '%s/gfx942' && head -n 1 TensileLibrary_lazy_gfx942.yaml | grep -qx -e --- && test ! -e *_gfx942.dat", out), 0);
	/* YAML as the peer's own writer has it */
	assert_int_equal(shell("cp -r '%s/../../tests/assets/logic' '%s'", sample_logic(), kept), 0);
	assert_int_equal(run(state, "build --no-cache --metadata-only --keep-all --names tensile --library-format yaml '%s' '%s-yaml'", sample_logic(),
			     out), 0);
	assert_int_equal(shell("cd '%s-yaml/gfx942' && sha256sum -c --quiet '%s/sample-yaml.sha256'", out, kept), 0);
	/* one folder for several architectures */
	assert_int_equal(run(state, "build --no-cache --metadata-only --keep-all --layout flat '%s/archs' '%s-flat'", kept, out), 0);
	assert_int_equal(run(state, "build --no-cache --metadata-only --keep-all '%s/archs' '%s-archs'", kept, out), 0);
	assert_int_equal(shell("cd '%s-archs' && for f in */*.dat; do cmp $f ../built-flat/${f#*/} || exit 1; done", out), 0);
	assert_int_equal(shell("cd '%s-archs' && cat */kernels.txt | cmp - ../built-flat/kernels.txt && cat */helpers.txt | awk '!n[$0]++' | "
			       "cmp - ../built-flat/helpers.txt",
			       out), 0);
	assert_int_equal(run(state, "build --no-cache --linker '%s' --layout flat '%s' '%s-one'", real_linker(), logic, out), 0);
	assert_int_equal(shell("cd '%s-one' && test $(ls | wc -l) = 8 && grep -q hsaco TensileManifest.txt", out), 0);
	assert_int_equal(run(state, "build --layout round '%s' x", logic), 2);
	must_complain_once(state, "--layout: 'round' is not one of 'arch', 'flat'");
}

static void test_whole_libraries_are_those_of_the_peer(void **state)
{
	static const char *const formats[] = { "msgpack", "yaml" };
	const char *assets = in_scratch(state, "assets"), *out = in_scratch(state, "wholes"), *options = "--metadata-only --keep-all --names tensile";

	assert_int_equal(shell("cp -r '%s/../../tests/assets/logic' '%s' && mkdir '%s'", sample_logic(), assets, out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		assert_int_equal(run(state, "build --no-cache %s --layout flat --library separate --library-format %s '%s' '%s/separate'", options,
				     formats[i], sample_logic(), out), 0);
		assert_int_equal(run(state, "build --no-cache %s --layout flat --library merged --library-format %s '%s/archs' '%s/merged'",
				     options, formats[i], assets, out), 0);
	}
	assert_int_equal(shell("cd '%s' && sha256sum -c --quiet '%s/wholes-peer.sha256' && test $(ls * | grep -c dat) = 2", out, assets), 0);
	/* in folders of architectures, each has the one for all */
	assert_int_equal(run(state, "build --no-cache %s --library merged '%s/archs' '%s/folders'", options, assets, out), 0);
	assert_int_equal(shell("cd '%s/folders' && for f in */TensileLibrary.dat; do cmp $f ../merged/TensileLibrary.dat || exit 1; done", out), 0);
	assert_int_equal(run(state, "build --library round '%s' x", sample_logic()), 2);
	must_complain_once(state, "--library: 'round' is not one of 'lazy', 'separate', 'merged'");
}

static void test_hand_written_kernels_are_found_beside_the_logic(void **state)
{
	const char *logic = copy_logic(state, "hipBLASLt/library/Logic", 1), *out = in_scratch(state, "built");
	const char *kernels = in_scratch(state, "hipBLASLt/tensilelite/Tensile/CustomKernels"), *options = "--no-cache --metadata-only --keep-all";

	assert_int_equal(shell("mkdir -p '%s' && sed -i \"s/CustomKernelName: ''/CustomKernelName: by_hand/\" $(find '%s' -name '*.yaml')", kernels,
			       logic), 0);
	assert_int_equal(run(state, "build %s '%s' '%s'", options, logic, out), 0);
	assert_int_equal(shell("grep -qa by_hand '%s'/gfx942/*.dat && cp -r '%s' '%s-without'", out, out, out), 0);
	write_text(in_scratch(state, "hipBLASLt/tensilelite/Tensile/CustomKernels/by_hand.s"),
		   "---\ncustom.config:\n  InternalSupportParams: {KernArgsVersion: 0, SupportUserGSU: False, SupportCustomWGM: False}\n...\n");
	assert_int_equal(run(state, "build %s '%s' '%s'", options, logic, out), 0);
	assert_int_not_equal(shell("diff -rq '%s' '%s-without' >/dev/null", out, out), 0);
	assert_int_equal(shell("mv '%s' '%s.elsewhere'", kernels, kernels), 0);
	assert_int_equal(run(state, "build %s --custom-kernels '%s.elsewhere' '%s' '%s-given'", options, kernels, logic, out), 0);
	assert_int_equal(shell("diff -r '%s' '%s-given'", out, out), 0);
}

static void test_checking_logic_tells_file_line_and_solution(void **state)
{
	const char *logic = copy_logic(state, "logic", 1);

	assert_int_equal(run(state, "check '%s'", logic), 0);
	assert_int_equal(shell("test ! -s '%s'", in_scratch(state, "out")), 0);
	assert_int_equal(shell("cd '%s' && sed -i 's/WorkGroupMapping: 8/WorkGroupMappingXCC: 5/' $(find . -name '*.yaml')", logic), 0);
	assert_int_equal(run(state, "check '%s'", logic), 1);
	assert_int_equal(shell("grep -Eq '^%s/.*[.]yaml:[0-9]+: solution 0: WorkGroupMappingXCC 5 ' '%s'", logic, in_scratch(state, "out")), 0);
	write_text(in_scratch(state, "logic/broken.yaml"), "- 1\n- [\n");
	assert_int_equal(run(state, "check --json '%s'", logic), 1);
	_cleanup_free_ char *text = read_text(in_scratch(state, "out"), NULL);
	struct json_object *list = json_tokener_parse(text), *first = json_object_array_get_idx(list, 0), *value;
	assert_true(json_object_object_get_ex(first, "file", &value));
	assert_string_equal(json_object_get_string(value), in_scratch(state, "logic/broken.yaml"));
	assert_true(json_object_object_get_ex(first, "line", &value));
	assert_int_equal(json_object_get_int(value), 3);
	assert_true(json_object_object_get_ex(first, "message", &value));
	assert_null(strstr(json_object_get_string(value), "broken.yaml"));
	json_object_put(list);
	assert_int_equal(run(state, "check --arch gfx90a '%s'", logic), 1);
	must_complain_once(state, "no architecture 'gfx90a'");
}

static void test_the_cache_can_be_looked_after(void **state)
{
	const char *logic = copy_logic(state, "logic", 1), *cache = in_scratch(state, "cache");

	assert_int_equal(run(state, "build --cache '%s' --linker '%s' '%s' '%s'", cache, real_linker(), logic, in_scratch(state, "built")), 0);
	assert_int_equal(run(state, "cache stats --cache '%s'", cache), 0);
	must_say(state, "out", "entries       ");
	assert_int_equal(run(state, "cache check --cache '%s'", cache), 0);
	must_say(state, "out", " 0 are damaged");
	assert_int_equal(run(state, "cache gc --cache '%s'", cache), 0);
	assert_int_equal(run(state, "cache gc --cache '%s' --cache-size 1K", cache), 0);
	assert_int_equal(run(state, "cache clear --cache '%s'", cache), 0);
	assert_int_equal(run(state, "cache stats --cache '%s'", cache), 0);
	must_say(state, "out", "entries       0\n");
	assert_int_equal(run(state, "cache polish"), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_wrong_calls_end_with_2),
		TEST(test_each_command_explains_itself),
		TEST(test_wrong_options_are_named),
		TEST(test_an_architecture_that_is_not_there_is_named),
		TEST(test_one_architecture_is_served_alone),
		TEST(test_bad_input_is_told_once),
		TEST(test_a_build_writes_a_trace_or_says_why_not),
		TEST(test_what_a_build_needs_must_not_lie_inside_the_mountpoint),
		TEST(test_without_home_the_cache_is_that_of_the_user),
		TEST(test_a_build_without_linker_writes_metadata_and_fails),
		TEST(test_one_cause_is_explained_once),
		TEST(test_a_build_is_silent_off_a_terminal_and_leaves_nothing_else),
		TEST(test_a_faulty_file_makes_the_build_fail_and_the_rest_is_built),
		TEST(test_a_mistaken_solution_is_named_and_makes_the_build_fail),
		TEST(test_two_files_that_claim_one_artifact_are_named),
		TEST(test_looking_shows_parameters_hashes_and_assembly),
		TEST(test_output_that_cannot_be_written_is_an_error),
		TEST(test_peer_names_depend_on_the_whole_library),
		TEST(test_metadata_alone_is_the_peers),
		TEST(test_metadata_of_architectures_without_kernels_is_the_peers),
		TEST(test_layouts_and_formats_of_the_peer),
		TEST(test_whole_libraries_are_those_of_the_peer),
		TEST(test_hand_written_kernels_are_found_beside_the_logic),
		TEST(test_checking_logic_tells_file_line_and_solution),
		TEST(test_the_cache_can_be_looked_after),
	};
	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
