/* SPDX-License-Identifier: MIT */
/*
 * Clang offload bundles.
 * Sources: clang documentation "Clang Offload Bundler", "Bundled Binary File Layout" and "Compression and Decompression"; LLVM
 * llvm/include/llvm/Object/OffloadBundle.h for the headers of the compressed form; hipBLASLt's Tensile/Toolchain/Component.py for
 * the targets and the alignment.
 *
 *     plain        "__CLANG_OFFLOAD_BUNDLE__", u64 entries, then for each u64 offset, u64 size, u64 length of the id, the id
 *     compressed   "CCOB", u16 version, u16 method (0 zlib, 1 zstd), the sizes, u64 the first half of the MD5 of the plain bundle, data
 *                  version 1: u32 unpacked size; 2: u32 total size, u32 unpacked size; 3: the same with u64
 *
 * All numbers are little endian.
 */
#include "build/object/object.h"

#include <elf.h>
#include <endian.h>
#include <openssl/evp.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define PLAIN_MAGIC "__CLANG_OFFLOAD_BUNDLE__"
#define COMPRESSED_MAGIC "CCOB"
#define MAGIC_LENGTH(magic) (sizeof(magic) - 1)

#define HOST_ID "host-x86_64-unknown-linux-gnu-"
#define DEVICE_ID_PREFIX "hipv4-amdgcn-amd-amdhsa--"
#define BUNDLE_ALIGNMENT 4096		/* the page size: the runtime maps the code object in place */

#define CCOB_VERSION 3			/* LLVM 21 and 22 write it by default */
#define CCOB_METHOD_ZLIB 0
#define CCOB_METHOD_ZSTD 1

#define ZSTD_LEVEL 3			/* clang-offload-bundler's default, with long distance matching */
#define MAX_UNPACKED ((uint64_t)2 << 30)
#define UNPACK_STEP ((size_t)1 << 20)	/* memory grows with what the data holds, not with what the header claims */

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

static void append16(struct buffer *out, uint16_t value)
{
	uint16_t little = htole16(value);
	buffer_append(out, &little, sizeof(little));
}

static void append64(struct buffer *out, uint64_t value)
{
	uint64_t little = htole64(value);
	buffer_append(out, &little, sizeof(little));
}

static void append_entry(struct buffer *out, uint64_t size, const char *id)
{
	append64(out, BUNDLE_ALIGNMENT);
	append64(out, size);
	append64(out, strlen(id));
	buffer_append_string(out, id);
}

/* The header fits into the first page by far, so the host's empty object and the device's both lie at the second. */
static void write_plain(struct buffer *out, const char *arch, const uint8_t *elf, size_t elf_size)
{
	char device_id[128];

	snprintf(device_id, sizeof(device_id), DEVICE_ID_PREFIX "%s", arch);
	buffer_append(out, PLAIN_MAGIC, MAGIC_LENGTH(PLAIN_MAGIC));
	append64(out, 2);
	append_entry(out, 0, HOST_ID);
	append_entry(out, elf_size, device_id);
	buffer_align(out, BUNDLE_ALIGNMENT);
	buffer_append(out, elf, elf_size);
}

static int truncated_md5(const uint8_t *bytes, size_t size, uint64_t *ret_hash)
{
	uint8_t md5[EVP_MAX_MD_SIZE];
	uint64_t little;

	if (!EVP_Digest(bytes, size, md5, NULL, EVP_md5(), NULL))
		return -EIO;
	memcpy(&little, md5, sizeof(little));
	*ret_hash = le64toh(little);
	return 0;
}

static void free_zstd_context(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

static int compress_zstd(const struct buffer *plain, struct buffer *out)
{
	_cleanup_(free_zstd_context) ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(plain->size);
	void *place = buffer_extend(out, bound);

	if (!context || !place)
		return -ENOMEM;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_enableLongDistanceMatching, 1)))
		return -EIO;
	size_t packed = ZSTD_compress2(context, place, bound, plain->data, plain->size);
	if (ZSTD_isError(packed))
		return ZSTD_getErrorCode(packed) == ZSTD_error_memory_allocation ? -ENOMEM : -EIO;
	out->size -= bound - packed;
	return 0;
}

static int write_compressed(const struct buffer *plain, struct buffer *out)
{
	uint64_t hash;
	int r = truncated_md5(plain->data, plain->size, &hash);

	if (r < 0)
		return r;
	buffer_append(out, COMPRESSED_MAGIC, MAGIC_LENGTH(COMPRESSED_MAGIC));
	append16(out, CCOB_VERSION);
	append16(out, CCOB_METHOD_ZSTD);
	size_t total_size = out->size;
	append64(out, 0);
	append64(out, plain->size);
	append64(out, hash);
	r = compress_zstd(plain, out);
	if (r < 0)
		return r;
	uint64_t little = htole64(out->size);
	memcpy(out->data + total_size, &little, sizeof(little));
	return 0;
}

int bundle_write(enum bundle_kind kind, const char *arch, const uint8_t *elf, size_t elf_size, struct buffer *ret_bundle)
{
	_cleanup_buffer_ struct buffer plain = { 0 }, packed = { 0 };
	struct buffer *result = &plain;

	if (kind == BUNDLE_NONE)
		buffer_append(&plain, elf, elf_size);
	else
		write_plain(&plain, arch, elf, elf_size);
	if (plain.failed)
		return -ENOMEM;
	if (kind == BUNDLE_COMPRESSED) {
		int r = write_compressed(&plain, &packed);
		if (r < 0)
			return r;
		result = &packed;
	}
	*ret_bundle = *result;
	*result = (struct buffer){ 0 };
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

struct reader {				/* never beyond `left`; a read that is too long sets `failed` and gives 0 */
	const uint8_t *at;
	size_t left;
	bool failed;
};

static const uint8_t *take(struct reader *reader, uint64_t size)
{
	if (reader->failed || size > reader->left) {
		reader->failed = true;
		return NULL;
	}
	const uint8_t *bytes = reader->at;
	reader->at += size;
	reader->left -= size;
	return bytes;
}

static uint64_t take_number(struct reader *reader, size_t size)
{
	uint64_t little = 0;
	const uint8_t *bytes = take(reader, size);

	if (bytes)
		memcpy(&little, bytes, size);
	return le64toh(little);
}

static bool has_magic(const uint8_t *bytes, size_t size, const char *magic)
{
	return size >= strlen(magic) && !memcmp(bytes, magic, strlen(magic));
}

/* "hip" or "hipv4", the triple with or without its environment, and the target: "gfx942" or "gfx942:sramecc+:xnack-". */
static bool entry_target(const char *id, size_t length, const char **ret_target, size_t *ret_length)
{
	static const char *const prefixes[] = {
		DEVICE_ID_PREFIX, "hipv4-amdgcn-amd-amdhsa-unknown-", "hip-amdgcn-amd-amdhsa--", "hip-amdgcn-amd-amdhsa-unknown-",
		"hip-amdgcn-amd-amdhsa-",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t prefix = strlen(prefixes[i]);
		if (length >= prefix && !memcmp(id, prefixes[i], prefix)) {
			*ret_target = id + prefix;
			*ret_length = length - prefix;
			return true;
		}
	}
	return false;
}

struct entry {
	uint64_t offset, size;
	bool found, exact;
};

static void consider_entry(struct entry *best, const char *id, size_t length, const char *arch, uint64_t offset, uint64_t size)
{
	const char *target;
	size_t target_length, arch_length = strlen(arch);

	if (!entry_target(id, length, &target, &target_length) || target_length < arch_length || memcmp(target, arch, arch_length))
		return;
	bool exact = target_length == arch_length;
	if (!exact && target[arch_length] != ':')
		return;
	if (!best->found || (exact && !best->exact))
		*best = (struct entry){ .offset = offset, .size = size, .found = true, .exact = exact };
}

static int read_plain(const uint8_t *bytes, size_t size, const char *arch, struct buffer *out, struct error *error)
{
	struct reader reader = { .at = bytes, .left = size };
	struct entry best = { 0 };

	take(&reader, MAGIC_LENGTH(PLAIN_MAGIC));
	uint64_t count = take_number(&reader, 8);
	for (uint64_t i = 0; i < count && !reader.failed; i++) {
		uint64_t offset = take_number(&reader, 8);
		uint64_t entry_size = take_number(&reader, 8);
		uint64_t length = take_number(&reader, 8);
		const char *id = (const char *)take(&reader, length);
		if (id)
			consider_entry(&best, id, length, arch, offset, entry_size);
	}
	if (reader.failed)
		return error_set(error, -EBADMSG, "the offload bundle ends within its list of entries");
	if (!best.found)
		return error_set(error, -ENOENT, "the offload bundle holds no code object for '%s'", arch);
	if (best.offset > size || best.size > size - best.offset)
		return error_set(error, -EBADMSG, "the code object for '%s' reaches beyond the end of the offload bundle", arch);
	buffer_append(out, bytes + best.offset, best.size);
	return out->failed ? -ENOMEM : 0;
}

struct frame {				/* the parsed header of a compressed bundle */
	uint64_t version, method, unpacked_size, hash;
	const uint8_t *data;
	size_t data_size;
};

static int read_frame(const uint8_t *bytes, size_t size, struct frame *ret_frame, struct error *error)
{
	struct reader reader = { .at = bytes, .left = size };
	struct frame frame;
	uint64_t total = size;

	take(&reader, MAGIC_LENGTH(COMPRESSED_MAGIC));
	frame.version = take_number(&reader, 2);
	frame.method = take_number(&reader, 2);
	if (!reader.failed && (frame.version < 1 || frame.version > 3))
		return error_set(error, -EBADMSG, "the compressed offload bundle has version %u, known are 1 to 3",
				 (unsigned)frame.version);
	size_t width = frame.version == 3 ? 8 : 4;
	if (frame.version >= 2)
		total = take_number(&reader, width);
	frame.unpacked_size = take_number(&reader, width);
	frame.hash = take_number(&reader, 8);
	if (reader.failed)
		return error_set(error, -EBADMSG, "the compressed offload bundle ends within its header");
	size_t header_size = size - reader.left;
	if (total < header_size || total > size)
		return error_set(error, -EBADMSG, "the compressed offload bundle says that it has %llu bytes, but there are %zu",
				 (unsigned long long)total, size);
	if (frame.unpacked_size > MAX_UNPACKED)
		return error_set(error, -EFBIG, "the compressed offload bundle unpacks to %llu bytes, at most %llu are accepted",
				 (unsigned long long)frame.unpacked_size, (unsigned long long)MAX_UNPACKED);
	frame.data = reader.at;
	frame.data_size = total - header_size;
	*ret_frame = frame;
	return 0;
}

/* Where the next piece of unpacked data goes: at most UNPACK_STEP bytes, at most one more than the header claims. */
static uint8_t *next_piece(struct buffer *out, uint64_t unpacked_size, size_t *ret_size)
{
	*ret_size = MIN(UNPACK_STEP, unpacked_size + 1 - out->size);
	return buffer_extend(out, *ret_size);
}

static void free_unpacker(ZSTD_DCtx **context)
{
	ZSTD_freeDCtx(*context);
}

static int unpack_zstd(const struct frame *frame, struct buffer *out)
{
	_cleanup_(free_unpacker) ZSTD_DCtx *context = ZSTD_createDCtx();
	ZSTD_inBuffer in = { frame->data, frame->data_size, 0 };
	size_t wanted = 1;

	if (!context)
		return -ENOMEM;
	while (wanted && out->size <= frame->unpacked_size) {
		size_t room, before = in.pos;
		void *place = next_piece(out, frame->unpacked_size, &room);
		if (!place)
			return -ENOMEM;
		ZSTD_outBuffer piece = { place, room, 0 };
		wanted = ZSTD_decompressStream(context, &piece, &in);
		out->size -= room - piece.pos;
		if (ZSTD_isError(wanted) || (wanted && !piece.pos && in.pos == before))
			return -EBADMSG;
	}
	return 0;
}

static int unpack_zlib(const struct frame *frame, struct buffer *out)
{
	z_stream stream = { .next_in = (Bytef *)frame->data, .avail_in = (uInt)MIN(frame->data_size, UINT32_MAX) };
	int r = inflateInit(&stream);

	if (r != Z_OK)
		return r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	while (r == Z_OK && out->size <= frame->unpacked_size) {
		size_t room;
		stream.next_out = next_piece(out, frame->unpacked_size, &room);
		if (!stream.next_out) {
			r = Z_MEM_ERROR;
			break;
		}
		stream.avail_out = (uInt)room;
		r = inflate(&stream, Z_NO_FLUSH);	/* Z_BUF_ERROR when the data ends too early */
		out->size -= stream.avail_out;
	}
	inflateEnd(&stream);
	return r == Z_STREAM_END ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int unpack(const struct frame *frame, struct buffer *out, struct error *error)
{
	uint64_t hash;
	int r;

	if (frame->method == CCOB_METHOD_ZSTD)
		r = unpack_zstd(frame, out);
	else if (frame->method == CCOB_METHOD_ZLIB)
		r = unpack_zlib(frame, out);
	else
		return error_set(error, -EBADMSG, "the compressed offload bundle uses the unknown method %u", (unsigned)frame->method);
	if (r == -EBADMSG || (!r && out->size != frame->unpacked_size))
		return error_set(error, -EBADMSG, "the compressed offload bundle does not unpack to the %llu bytes that it names",
				 (unsigned long long)frame->unpacked_size);
	if (!r)
		r = truncated_md5(out->data, out->size, &hash);
	if (!r && hash != frame->hash)
		return error_set(error, -EBADMSG, "the checksum of the compressed offload bundle is wrong");
	return r;
}

static int read_compressed(const uint8_t *bytes, size_t size, const char *arch, struct buffer *out, struct error *error)
{
	_cleanup_buffer_ struct buffer plain = { 0 };
	struct frame frame = { 0 };
	int r = read_frame(bytes, size, &frame, error);

	if (!r)
		r = unpack(&frame, &plain, error);
	if (r < 0)
		return r;
	if (!has_magic(plain.data, plain.size, PLAIN_MAGIC))
		return error_set(error, -EBADMSG, "the compressed offload bundle holds something else than a bundle");
	return read_plain(plain.data, plain.size, arch, out, error);
}

int bundle_read(const uint8_t *bytes, size_t size, const char *arch, struct buffer *ret_elf, struct error *error)
{
	_cleanup_buffer_ struct buffer elf = { 0 };
	int r;

	if (has_magic(bytes, size, ELFMAG)) {
		buffer_append(&elf, bytes, size);
		r = elf.failed ? -ENOMEM : 0;
	} else if (has_magic(bytes, size, PLAIN_MAGIC)) {
		r = read_plain(bytes, size, arch, &elf, error);
	} else if (has_magic(bytes, size, COMPRESSED_MAGIC)) {
		r = read_compressed(bytes, size, arch, &elf, error);
	} else {
		r = error_set(error, -ENOEXEC, "neither an offload bundle nor an ELF file");
	}
	if (r < 0)
		return r;
	*ret_elf = elf;
	elf = (struct buffer){ 0 };
	return 0;
}
