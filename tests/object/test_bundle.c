/* SPDX-License-Identifier: MIT */
/* Bundles compared with those of clang-offload-bundler, read in every form, and refused when they are broken. */
#include "tests/object/common.h"

#include <endian.h>
#include <openssl/evp.h>
#include <zlib.h>
#include <zstd.h>

#define TARGETS "host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx942"

/* Bytes that look like a code object to bundle_read() and compress about as well as one. */
static struct buffer sample_elf(size_t size)
{
	struct buffer elf = { 0 };
	uint32_t state = 1;

	buffer_append(&elf, ELFMAG, SELFMAG);
	while (elf.size < size) {
		state = state * 1664525 + 1013904223;
		uint8_t byte = (uint8_t)(state >> 28 ? state >> 24 & 3 : state >> 16);
		buffer_append(&elf, &byte, 1);
	}
	assert_false(elf.failed);
	return elf;
}

static struct buffer bundle_of(enum bundle_kind kind, const struct buffer *elf)
{
	struct buffer bundle = { 0 };

	assert_int_equal(bundle_write(kind, "gfx942", elf->data, elf->size, &bundle), 0);
	return bundle;
}

static void expect_elf(const struct buffer *bundle, const char *arch, const struct buffer *elf)
{
	_cleanup_buffer_ struct buffer found = { 0 };
	struct error error = { 0 };
	int r = bundle_read(bundle->data, bundle->size, arch, &found, &error);

	if (r < 0)
		fail_msg("bundle_read: %d: %s", r, error.text);
	assert_int_equal(found.size, elf->size);
	assert_memory_equal(found.data, elf->data, elf->size);
}

static void expect_failure(const struct buffer *bundle, const char *arch, int code, const char *words)
{
	struct buffer found = { 0 };
	struct error error = { 0 };

	assert_int_equal(bundle_read(bundle->data, bundle->size, arch, &found, &error), code);
	assert_null(found.data);
	if (!strstr(error.text, words))
		fail_msg("'%s' does not say '%s'", error.text, words);
}

/* Runs clang-offload-bundler on the code object, for "host" and the given devices, which all get the same bytes. */
static struct buffer peer_bundle(const struct buffer *elf, const char *targets, const char *options)
{
	write_file("device.co", elf->data, elf->size);
	_cleanup_free_ char *inputs = strdup("-input=/dev/null");
	for (const char *comma = strchr(targets, ','); comma; comma = strchr(comma + 1, ',')) {
		char *more;
		assert_true(asprintf(&more, "%s -input=device.co", inputs) > 0);
		free(inputs);
		inputs = more;
	}
	free(run("%s -type=o -bundle-align=4096 -targets=%s %s -output=peer.bundle %s", tool("clang-offload-bundler"), targets, inputs,
		 options));
	return read_file("peer.bundle");
}

/* ---- with the peer ---------------------------------------------------------------------------------------------------- */

static void test_plain_bundle_equals_the_peers_byte_for_byte(void **state)
{
	static const size_t sizes[] = { 4, 5, 4095, 4096, 4097, 100000 };
	static const char *const spellings[] = {
		TARGETS,
		"host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa-unknown-gfx942",	/* as hipBLASLt's build writes it */
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t j = 0; j < ARRAY_SIZE(spellings); j++) {
			_cleanup_buffer_ struct buffer elf = sample_elf(sizes[i]), ours = bundle_of(BUNDLE_PLAIN, &elf);
			_cleanup_buffer_ struct buffer peer = peer_bundle(&elf, spellings[j], "");
			assert_int_equal(ours.size, peer.size);
			assert_memory_equal(ours.data, peer.data, peer.size);
		}
}

/* The frame's header is the peer's but for the total size, which depends on the version of libzstd. */
static void test_compressed_bundle_has_the_peers_header_and_content(void **state)
{
	_cleanup_buffer_ struct buffer elf = sample_elf(300000), ours = bundle_of(BUNDLE_COMPRESSED, &elf);
	_cleanup_buffer_ struct buffer peer = peer_bundle(&elf, TARGETS, "-compress");
	uint64_t total;

	assert_memory_equal(ours.data, peer.data, 8);
	memcpy(&total, ours.data + 8, 8);
	assert_int_equal(le64toh(total), ours.size);
	assert_memory_equal(ours.data + 16, peer.data + 16, 16);
	assert_true(ours.size < elf.size && ours.size < peer.size + peer.size / 50);
	expect_elf(&peer, "gfx942", &elf);
}

static void expect_peer_reads(const struct buffer *bundle, const struct buffer *elf)
{
	write_file("ours.bundle", bundle->data, bundle->size);
	_cleanup_free_ char *list = run("%s -type=o -list -input=ours.bundle", tool("clang-offload-bundler"));
	assert_non_null(strstr(list, "hipv4-amdgcn-amd-amdhsa--gfx942"));
	assert_non_null(strstr(list, "host-x86_64-unknown-linux-gnu-"));
	free(run("%s -type=o -unbundle -targets=hipv4-amdgcn-amd-amdhsa--gfx942 -input=ours.bundle -output=back.co",
		 tool("clang-offload-bundler")));
	_cleanup_buffer_ struct buffer back = read_file("back.co");
	assert_int_equal(back.size, elf->size);
	assert_memory_equal(back.data, elf->data, elf->size);
}

static void test_peer_lists_and_unbundles_ours(void **state)
{
	_cleanup_buffer_ struct buffer elf = sample_elf(70000);
	_cleanup_buffer_ struct buffer plain = bundle_of(BUNDLE_PLAIN, &elf), compressed = bundle_of(BUNDLE_COMPRESSED, &elf);

	expect_peer_reads(&plain, &elf);
	expect_peer_reads(&compressed, &elf);
}

static void test_peers_bundle_of_several_targets_is_searched(void **state)
{
	_cleanup_buffer_ struct buffer elf = sample_elf(5000);
	_cleanup_buffer_ struct buffer peer = peer_bundle(&elf, "host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,"
							  "hip-amdgcn-amd-amdhsa--gfx942", "");

	expect_elf(&peer, "gfx942", &elf);
	expect_elf(&peer, "gfx90a", &elf);
	expect_failure(&peer, "gfx94", -ENOENT, "no code object for 'gfx94'");
	expect_failure(&peer, "gfx9422", -ENOENT, "no code object for 'gfx9422'");
	expect_failure(&peer, "gfx1100", -ENOENT, "no code object for 'gfx1100'");
}

/* ---- forms ------------------------------------------------------------------------------------------------------------ */

static void test_code_object_comes_back_from_every_kind(void **state)
{
	static const size_t sizes[] = { 4, 100, 5000, 3000000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (int kind = BUNDLE_NONE; kind <= BUNDLE_COMPRESSED; kind++) {
			_cleanup_buffer_ struct buffer elf = sample_elf(sizes[i]), bundle = bundle_of(kind, &elf);
			_cleanup_buffer_ struct buffer again = bundle_of(kind, &elf);
			expect_elf(&bundle, "gfx942", &elf);
			assert_int_equal(bundle.size, again.size);
			assert_memory_equal(bundle.data, again.data, again.size);
		}
}

/* A frame of any version and method, made here from the description of the format. */
static struct buffer frame_of(const struct buffer *plain, unsigned version, unsigned method)
{
	struct buffer frame = { 0 };
	uint8_t md5[EVP_MAX_MD_SIZE], *packed;
	uLongf size = compressBound(plain->size);
	size_t width = version == 3 ? 8 : 4, header = 4 + 2 + 2 + (version > 1 ? width : 0) + width + 8;

	size = MAX(size, ZSTD_compressBound(plain->size));
	packed = malloc(size);
	if (method == 0)
		assert_int_equal(compress2(packed, &size, plain->data, plain->size, 6), Z_OK);
	else
		size = ZSTD_compress(packed, size, plain->data, plain->size, 1);
	uint64_t total = htole64(header + size), unpacked = htole64(plain->size);
	buffer_append(&frame, "CCOB", 4);
	buffer_append(&frame, &(uint16_t){ htole16((uint16_t)version) }, 2);
	buffer_append(&frame, &(uint16_t){ htole16((uint16_t)method) }, 2);
	if (version > 1)
		buffer_append(&frame, &total, width);
	buffer_append(&frame, &unpacked, width);
	EVP_Digest(plain->data, plain->size, md5, NULL, EVP_md5(), NULL);
	buffer_append(&frame, md5, 8);
	buffer_append(&frame, packed, size);
	free(packed);
	assert_false(frame.failed);
	return frame;
}

static void test_all_versions_and_methods_of_frames_are_read(void **state)
{
	_cleanup_buffer_ struct buffer elf = sample_elf(1500000), plain = bundle_of(BUNDLE_PLAIN, &elf);

	for (unsigned version = 1; version <= 3; version++)
		for (unsigned method = 0; method <= 1; method++) {
			_cleanup_buffer_ struct buffer frame = frame_of(&plain, version, method);
			expect_elf(&frame, "gfx942", &elf);
			write_file("frame", frame.data, frame.size);
			free(run("%s -type=o -list -input=frame >/dev/null", tool("clang-offload-bundler")));
		}
}

/* An entry with target features must not win over the one without, wherever it stands. */
static void test_entry_without_features_is_preferred(void **state)
{
	_cleanup_buffer_ struct buffer a = sample_elf(5000), b = sample_elf(6000);

	write_file("a.co", a.data, a.size);
	write_file("b.co", b.data, b.size);
	free(run("%s -type=o -targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx942:xnack+,"
		 "hipv4-amdgcn-amd-amdhsa--gfx942:xnack- -input=/dev/null -input=a.co -input=b.co -output=two.bundle",
		 tool("clang-offload-bundler")));
	_cleanup_buffer_ struct buffer two = read_file("two.bundle");
	expect_elf(&two, "gfx942:xnack+", &a);
	expect_elf(&two, "gfx942:xnack-", &b);
	/* the bundler refuses to mix "any" with "xnack-", so the name of the second entry is changed by hand */
	uint8_t *name = memmem(two.data, two.size, "gfx942:xnack-", 13);
	assert_non_null(name);
	uint64_t length;
	memcpy(&length, name - strlen("hipv4-amdgcn-amd-amdhsa--") - 8, 8);
	length -= strlen(":xnack-");
	memcpy(name - strlen("hipv4-amdgcn-amd-amdhsa--") - 8, &length, 8);
	expect_elf(&two, "gfx942", &b);
}

/* ---- broken ----------------------------------------------------------------------------------------------------------- */

static void put_number(struct buffer *bundle, size_t offset, uint64_t value, size_t size)
{
	uint64_t little = htole64(value);

	assert_true(offset + size <= bundle->size);
	memcpy(bundle->data + offset, &little, size);
}

static void test_other_bytes_are_enoexec(void **state)
{
	static const char *const texts[] = { "", "C", "CCO", "#!/bin/sh", "__CLANG_OFFLOAD_BUNDLE_", "!<arch>\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buffer bytes = { .data = (uint8_t *)texts[i], .size = strlen(texts[i]) };
		expect_failure(&bytes, "gfx942", -ENOEXEC, "neither an offload bundle nor an ELF file");
	}
}

static void test_broken_plain_bundles_are_refused(void **state)
{
	/* offsets: count 24; host entry 32, 40, 48, its name 56 (30 bytes); device entry 86, 94, 102 */
	static const struct { size_t offset; uint64_t value; const char *words; } faults[] = {
		{ 24, UINT64_MAX, "list of entries" }, { 24, 1, "no code object" }, { 24, 0, "no code object" },
		{ 48, UINT64_MAX, "list of entries" }, { 48, 20000, "list of entries" }, { 102, UINT64_MAX - 8, "list of entries" },
		{ 86, UINT64_MAX, "beyond the end" }, { 86, 9097, "beyond the end" }, { 94, UINT64_MAX, "beyond the end" },
		{ 94, 5001, "beyond the end" }, { 86, (uint64_t)1 << 63, "beyond the end" },
	};
	_cleanup_buffer_ struct buffer elf = sample_elf(5000);

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		_cleanup_buffer_ struct buffer bundle = bundle_of(BUNDLE_PLAIN, &elf);
		put_number(&bundle, faults[i].offset, faults[i].value, 8);
		expect_failure(&bundle, "gfx942", strstr(faults[i].words, "no code") ? -ENOENT : -EBADMSG, faults[i].words);
	}
	_cleanup_buffer_ struct buffer bundle = bundle_of(BUNDLE_PLAIN, &elf);
	for (bundle.size--; bundle.size >= 24; bundle.size -= MIN(bundle.size, bundle.size > 200 ? 97u : 1u))
		expect_failure(&bundle, "gfx942", -EBADMSG, "the offload bundle");
}

static void test_broken_frames_are_refused(void **state)
{
	/* version 3: version 4, method 6, total 8, unpacked 16, hash 24, data 32 */
	static const struct { size_t offset, size; uint64_t value; int code; const char *words; } faults[] = {
		{ 4, 2, 0, -EBADMSG, "version 0" }, { 4, 2, 4, -EBADMSG, "version 4" }, { 6, 2, 2, -EBADMSG, "unknown method 2" },
		{ 6, 2, 0, -EBADMSG, "does not unpack" }, { 8, 8, UINT64_MAX, -EBADMSG, "says that it has" },
		{ 8, 8, 31, -EBADMSG, "says that it has" }, { 8, 8, 32, -EBADMSG, "does not unpack" }, { 8, 8, 100, -EBADMSG, "does not unpack" },
		{ 16, 8, UINT64_MAX, -EFBIG, "at most 2147483648" }, { 16, 8, (uint64_t)2 << 30, -EBADMSG, "does not unpack" },
		{ 16, 8, 9095, -EBADMSG, "does not unpack" }, { 16, 8, 9097, -EBADMSG, "does not unpack" },
		{ 16, 8, 0, -EBADMSG, "does not unpack" }, { 24, 8, 1, -EBADMSG, "checksum" }, { 32, 8, 0, -EBADMSG, "does not unpack" },
	};
	_cleanup_buffer_ struct buffer elf = sample_elf(5000);

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		_cleanup_buffer_ struct buffer bundle = bundle_of(BUNDLE_COMPRESSED, &elf);
		put_number(&bundle, faults[i].offset, faults[i].value, faults[i].size);
		expect_failure(&bundle, "gfx942", faults[i].code, faults[i].words);
	}
	_cleanup_buffer_ struct buffer bundle = bundle_of(BUNDLE_COMPRESSED, &elf);
	for (bundle.size--; bundle.size >= 4; bundle.size -= bundle.size > 100 ? 13 : 1)
		expect_failure(&bundle, "gfx942", -EBADMSG, "compressed offload bundle");
}

static void test_frame_around_a_frame_is_refused(void **state)
{
	_cleanup_buffer_ struct buffer elf = sample_elf(500), inner = bundle_of(BUNDLE_COMPRESSED, &elf);
	_cleanup_buffer_ struct buffer frame = frame_of(&inner, 3, 1);

	expect_failure(&frame, "gfx942", -EBADMSG, "something else than a bundle");
}

/* clang-offload-bundler looks for llvm-objcopy on PATH, and Debian has it there only with its version in the name. */
static void extend_path(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s:/usr/lib/llvm-22/bin", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	if (setenv("PATH", path, 1) < 0)
		abort();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain_bundle_equals_the_peers_byte_for_byte),
		TEST(test_compressed_bundle_has_the_peers_header_and_content),
		TEST(test_peer_lists_and_unbundles_ours),
		TEST(test_peers_bundle_of_several_targets_is_searched),
		TEST(test_code_object_comes_back_from_every_kind),
		TEST(test_all_versions_and_methods_of_frames_are_read),
		TEST(test_entry_without_features_is_preferred),
		TEST(test_other_bytes_are_enoexec),
		TEST(test_broken_plain_bundles_are_refused),
		TEST(test_broken_frames_are_refused),
		TEST(test_frame_around_a_frame_is_refused),
	};

	extend_path();
	if (!tool("clang-offload-bundler"))
		return SKIPPED;
	return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
