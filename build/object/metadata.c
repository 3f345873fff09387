/* SPDX-License-Identifier: MIT */
/*
 * The AMDHSA metadata of code object version 5: a MessagePack map in an ELF note of name "AMDGPU".
 * Source: LLVM "User Guide for AMDGPU Backend", "Code Object V5 Metadata". Keys stand in alphabetic order, as LLVM writes them.
 */
#include "build/object/object_internal.h"

#include <elf.h>
#include <msgpack.h>

#define NOTE_NAME "AMDGPU"
#define NOTE_TYPE_METADATA 32		/* NT_AMDGPU_METADATA */
#define NOTE_ALIGNMENT 4
#define WAVEFRONT_SIZE 64

static int append_packed(void *data, const char *bytes, size_t size)
{
	struct buffer *out = data;

	buffer_append(out, bytes, size);
	return out->failed ? -1 : 0;
}

static void pack_string(msgpack_packer *packer, const char *string)
{
	msgpack_pack_str_with_body(packer, string, strlen(string));
}

static void pack_number(msgpack_packer *packer, const char *key, uint64_t value)
{
	pack_string(packer, key);
	msgpack_pack_uint64(packer, value);
}

static void pack_text(msgpack_packer *packer, const char *key, const char *value)
{
	pack_string(packer, key);
	pack_string(packer, value);
}

static void pack_argument(msgpack_packer *packer, const struct object_argument *argument)
{
	msgpack_pack_map(packer, 4 + (argument->address_space != NULL) + (argument->value_type != NULL));
	if (argument->address_space)
		pack_text(packer, ".address_space", argument->address_space);
	pack_text(packer, ".name", argument->name);
	pack_number(packer, ".offset", argument->offset);
	pack_number(packer, ".size", argument->size);
	pack_text(packer, ".value_kind", argument->value_kind);
	if (argument->value_type)
		pack_text(packer, ".value_type", argument->value_type);
}

static void pack_symbol(msgpack_packer *packer, const char *kernel_name)
{
	size_t length = strlen(kernel_name);

	pack_string(packer, ".symbol");
	msgpack_pack_str(packer, length + strlen(".kd"));
	msgpack_pack_str_body(packer, kernel_name, length);
	msgpack_pack_str_body(packer, ".kd", strlen(".kd"));
}

static void pack_kernel(msgpack_packer *packer, const struct object_kernel *kernel)
{
	msgpack_pack_map(packer, 14);
	pack_number(packer, ".agpr_count", kernel->agprs);
	pack_string(packer, ".args");
	msgpack_pack_array(packer, kernel->n_arguments);
	for (size_t i = 0; i < kernel->n_arguments; i++)
		pack_argument(packer, &kernel->arguments[i]);
	pack_number(packer, ".group_segment_fixed_size", kernel->lds_bytes);
	pack_number(packer, ".kernarg_segment_align", 8);
	pack_number(packer, ".kernarg_segment_size", kernel->kernarg_bytes);
	pack_number(packer, ".max_flat_workgroup_size", kernel->workgroup_size);
	pack_text(packer, ".name", kernel->name);
	pack_number(packer, ".private_segment_fixed_size", kernel->private_bytes);
	pack_number(packer, ".sgpr_count", descriptor_total_sgprs(kernel));
	pack_number(packer, ".sgpr_spill_count", 0);
	pack_symbol(packer, kernel->name);
	pack_number(packer, ".vgpr_count", descriptor_total_vgprs(kernel));
	pack_number(packer, ".vgpr_spill_count", 0);
	pack_number(packer, ".wavefront_size", WAVEFRONT_SIZE);
}

static void pack_metadata(struct buffer *out, const struct object_arch *arch, const struct object_kernel *kernels, size_t n_kernels)
{
	msgpack_packer packer;
	char target[64];

	snprintf(target, sizeof(target), "amdgcn-amd-amdhsa--%s", arch->name);
	msgpack_packer_init(&packer, out, append_packed);
	msgpack_pack_map(&packer, 3);
	pack_string(&packer, "amdhsa.kernels");
	msgpack_pack_array(&packer, n_kernels);
	for (size_t i = 0; i < n_kernels; i++)
		pack_kernel(&packer, &kernels[i]);
	pack_text(&packer, "amdhsa.target", target);
	pack_string(&packer, "amdhsa.version");
	msgpack_pack_array(&packer, 2);
	msgpack_pack_uint64(&packer, 1);
	msgpack_pack_uint64(&packer, 2);
}

void metadata_append_note(struct buffer *out, const struct object_arch *arch, const struct object_kernel *kernels, size_t n_kernels)
{
	size_t start = out->size;

	buffer_extend(out, sizeof(Elf64_Nhdr));
	buffer_append(out, NOTE_NAME, sizeof(NOTE_NAME));
	buffer_align(out, NOTE_ALIGNMENT);
	size_t metadata = out->size;
	pack_metadata(out, arch, kernels, n_kernels);
	if (out->failed)
		return;

	Elf64_Nhdr header = {
		.n_namesz = sizeof(NOTE_NAME),
		.n_descsz = (Elf64_Word)(out->size - metadata),
		.n_type = NOTE_TYPE_METADATA,
	};
	memcpy(out->data + start, &header, sizeof(header));
	buffer_align(out, NOTE_ALIGNMENT);
}
