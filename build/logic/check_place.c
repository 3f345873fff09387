/* SPDX-License-Identifier: MIT */
/*
 * Rules about where a logic file lies and which devices it is for. They are those of the peer's TensileLogic as of 2026
 * (ValidChipId, and the sibling rule of ValidCorpusConsistency).
 */
#include "build/logic/check.h"
#include "build/logic/open.h"

#include <ctype.h>

#define CHIP_DIGITS 4

/* "Device 74a1": the four digits, or NULL. */
static const char *chip_id(const struct yaml_node *device)
{
	static const char prefix[] = "Device ";

	if (device->kind != YAML_SCALAR || strncmp(device->text, prefix, strlen(prefix)) != 0)
		return NULL;
	const char *id = device->text + strlen(prefix);
	return strlen(id) == CHIP_DIGITS && strspn(id, "0123456789abcdefABCDEF") == CHIP_DIGITS ? id : NULL;
}

static bool declares_chip(const struct yaml_node *devices, const char *id, size_t length)
{
	for (const struct yaml_node *device = devices->kind == YAML_LIST ? devices->first : NULL; device; device = device->next) {
		const char *declared = chip_id(device);
		if (declared && strlen(declared) == length && strncasecmp(declared, id, length) == 0)
			return true;
	}
	return false;
}

/* ---- chips of an architecture ----------------------------------------------------------------------------------------- */

/* Chips that a runtime tells apart. One that has no logic of its own takes that of the first (Architectures.py: GFX_CHIP_IDS,
 * SUPPORTED_CHIP_ID_FALLBACKS). */
struct chip_family {
	const char *arch;
	const char *chips[8];
};

static const struct chip_family *family_of(const char *arch)
{
	static const struct chip_family families[] = {
		{ "gfx950", { "75a0", "75a2", "75a3", "75a8", "75b0", "75b2", "75b3", "75b8" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (strcmp(families[i].arch, arch) == 0)
			return &families[i];
	return NULL;
}

/* Its place, or -1. */
static int place_in_family(const struct chip_family *family, const char *id, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(family->chips); i++)
		if (length == CHIP_DIGITS && strncasecmp(family->chips[i], id, length) == 0)
			return (int)i;
	return -1;
}

static void check_family(struct checking *checking, const struct yaml_node *devices, const struct chip_family *family)
{
	for (const struct yaml_node *device = devices->first; device; device = device->next) {
		const char *id = chip_id(device);
		if (id && place_in_family(family, id, strlen(id)) < 0)
			checking_tell(checking, device->line, -1, "%s has no chip %s", family->arch, id);
	}
}

static void check_devices(struct checking *checking, const struct yaml_node *devices)
{
	const struct chip_family *family = family_of(checking->document->arch);

	if (devices->kind != YAML_LIST || devices->n == 0) {
		checking_tell(checking, devices->line, -1, "the fourth entry is not a list of devices");
		return;
	}
	_cleanup_free_ bool *seen = calloc(1 << 4 * CHIP_DIGITS, sizeof(*seen));
	if (!seen)
		checking->status = -ENOMEM;
	for (const struct yaml_node *device = devices->first; device && seen; device = device->next) {
		const char *id = chip_id(device);
		bool *place = id ? &seen[strtoul(id, NULL, 16)] : NULL;
		if (!id)
			checking_tell(checking, device->line, -1, "'%.64s' is not 'Device ' and a chip id of four digits",
				      yaml_describe(device));
		else if (*place)
			checking_tell(checking, device->line, -1, "chip id %s stands in the list twice", id);
		else
			*place = true;
	}
	if (family)
		check_family(checking, devices, family);
}

/* ---- folders ---------------------------------------------------------------------------------------------------------- */

/* "gfx" and digits, and perhaps a variant */
static bool is_arch_folder(const char *folder, size_t length)
{
	size_t i = 3;

	if (length < 6 || strncmp(folder, "gfx", 3) != 0)
		return false;
	while (i < length && isxdigit((unsigned char)folder[i]))
		i++;
	return i >= 6 && (i == length || folder[i] == '_');
}

/* The folder of an architecture that is nearest to a file: its name in the path, or NULL. */
static const char *find_arch_folder(const char *path, size_t *ret_length)
{
	for (const char *slash = strrchr(path, '/'); slash;) {
		const char *begin = slash;
		while (begin > path && begin[-1] != '/')
			begin--;
		if (is_arch_folder(begin, (size_t)(slash - begin))) {
			*ret_length = (size_t)(slash - begin);
			return begin;
		}
		slash = begin > path ? begin - 1 : NULL;
	}
	return NULL;
}

/* "gfx950_id75a3" */
static void check_chip_folder(struct checking *checking, const struct yaml_node *devices, const char *id, size_t length)
{
	const struct chip_family *family = family_of(checking->document->arch);

	if (!declares_chip(devices, id, length))
		checking_tell(checking, devices->line, -1, "chip %.*s of the folder is not in the list of devices", (int)length, id);
	if (!family)
		return;
	if (place_in_family(family, id, length) <= 0)
		checking_tell(checking, devices->line, -1, "no chip %.*s of %s has a folder of its own", (int)length, id, family->arch);
	else if (declares_chip(devices, family->chips[0], CHIP_DIGITS))
		checking_tell(checking, devices->line, -1, "chip %s, which others fall back to, in a folder for %.*s", family->chips[0],
			      (int)length, id);
}

/* What follows the underscore: a number of CUs ("80cu"), a chip ("id75a3"), or "". */
static void check_variant(struct checking *checking, const struct yaml_node *root, const char *variant, size_t length)
{
	const struct logic_document *document = checking->document;
	const struct yaml_node *arch = yaml_at(root, LOGIC_ENTRY_ARCH), *devices = yaml_at(root, LOGIC_ENTRY_DEVICES);
	char *end;

	if (length > 2 && strncmp(variant, "id", 2) == 0) {
		check_chip_folder(checking, devices, variant + 2, length - 2);
		return;
	}
	unsigned long cus = strtoul(variant, &end, 10);
	if (length && end == variant + length - 2 && strncasecmp(end, "cu", 2) == 0) {
		if (cus != (unsigned long)document->cu_count)
			checking_tell(checking, arch->line, -1, "CUCount %d in a folder for %lu CUs", document->cu_count, cus);
	} else if (!length && document->cu_count) {
		checking_tell(checking, arch->line, -1, "CUCount %d in the folder for every number of CUs", document->cu_count);
	} else if (length == CHIP_DIGITS && family_of(document->arch) && strspn(variant, "0123456789abcdefABCDEF") >= length) {
		checking_tell(checking, devices->line, -1, "the folder %s_%.*s has to be called %s_id%.*s", document->arch, (int)length,
			      variant, document->arch, (int)length, variant);
	}
}

static void check_folder(struct checking *checking, const struct yaml_node *root, const char *folder, size_t length)
{
	const struct logic_document *document = checking->document;
	const char *underscore = memchr(folder, '_', length);
	size_t arch_length = underscore ? (size_t)(underscore - folder) : length;
	size_t variant_length = underscore ? length - arch_length - 1 : 0;

	if (strlen(document->arch) != arch_length || strncmp(folder, document->arch, arch_length) != 0)
		checking_tell(checking, yaml_at(root, LOGIC_ENTRY_ARCH)->line, -1, "architecture %s in a folder for %.*s", document->arch,
			      (int)arch_length, folder);
	check_variant(checking, root, underscore ? underscore + 1 : "", variant_length);
}

void check_place(struct checking *checking)
{
	const struct yaml_node *root = checking->document->yaml.root;
	size_t length;
	const char *folder = find_arch_folder(checking->document->file->relative, &length);

	check_devices(checking, yaml_at(root, LOGIC_ENTRY_DEVICES));
	if (folder)
		check_folder(checking, root, folder, length);
}

/* ---- siblings --------------------------------------------------------------------------------------------------------- */

/* Files of one name in the folder of an architecture are parts of one tuning, so they are for the same devices. */
struct sibling {
	const struct logic_file *file;
	size_t folder_length;		/* of the path to the architecture's folder, which is in it */
	const char *name;
	unsigned line;			/* of the list of devices; 0: it cannot be read */
	char *devices;			/* sorted, in small letters */
};

static int compare_digits(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The chips of a list as one text. */
static char *print_devices(struct arena *arena, const struct yaml_node *devices)
{
	const char **names = arena_new(arena, const char *, devices->n + 1);
	char *text = arena_alloc(arena, (size_t)devices->n * (CHIP_DIGITS + 1) + 1), *end = text;
	size_t n = 0;

	if (!names || !text)
		return NULL;
	for (const struct yaml_node *device = devices->first; device; device = device->next) {
		const char *id = chip_id(device);
		char *copy = id ? arena_strdup(arena, id) : NULL;
		if (id && !copy)
			return NULL;
		for (char *at = copy; at && *at; at++)
			*at = (char)tolower((unsigned char)*at);
		if (copy)
			names[n++] = copy;
	}
	if (n)
		qsort(names, n, sizeof(*names), compare_digits);
	for (size_t i = 0; i < n; i++)
		end = stpcpy(stpcpy(end, i ? " " : ""), names[i]);
	return text;
}

static int read_sibling(struct arena *arena, const struct logic_file *file, struct sibling *ret_sibling)
{
	_cleanup_yaml_ struct yaml yaml = { 0 };
	_cleanup_close_ int fd = -1;
	const char *slash = strrchr(file->relative, '/');
	struct sibling sibling = { .file = file, .name = slash ? slash + 1 : file->relative };
	size_t length;
	const char *folder = find_arch_folder(file->relative, &length);

	sibling.folder_length = folder ? (size_t)(folder - file->relative) + length : 0;
	int r = logic_file_open(file, &fd, NULL);
	if (r == 0)
		r = yaml_read(&yaml, file->path, fd, LOGIC_HEAD_ENTRIES, NULL);
	const struct yaml_node *devices = r == 0 ? yaml_at(yaml.root, LOGIC_ENTRY_DEVICES) : NULL;
	if (devices && devices->kind == YAML_LIST) {
		sibling.line = devices->line;
		sibling.devices = print_devices(arena, devices);
		r = sibling.devices ? 0 : -ENOMEM;
	}
	*ret_sibling = sibling;
	return r == -ENOMEM ? r : 0;	/* what else is wrong is told elsewhere */
}

static int compare_families(const struct sibling *x, const struct sibling *y)
{
	size_t shorter = MIN(x->folder_length, y->folder_length);
	int r = strncmp(x->file->relative, y->file->relative, shorter);

	if (r == 0 && x->folder_length != y->folder_length)
		r = x->folder_length < y->folder_length ? -1 : 1;
	return r ? r : strcmp(x->name, y->name);
}

static int compare_siblings(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;
	int r = compare_families(x, y);

	return r ? r : strcmp(x->file->relative, y->file->relative);
}

static void check_families(struct checking *checking, const struct sibling *siblings, size_t n)
{
	size_t first = 0;

	for (size_t i = 1; i < n; i++) {
		const struct sibling *sibling = &siblings[i], *eldest = &siblings[first];
		struct logic_document place = { .file = sibling->file };
		if (compare_families(sibling, eldest) != 0) {
			first = i;
			continue;
		}
		checking->document = &place;
		if (sibling->devices && eldest->devices && strcmp(sibling->devices, eldest->devices) != 0)
			checking_tell(checking, sibling->line, -1, "devices %s, but '%s' is for %s", sibling->devices, eldest->file->path,
				      eldest->devices);
	}
}

int logic_check_siblings(const struct logic_base *whole, logic_finding_callback callback, void *userdata)
{
	struct checking checking = { .callback = callback, .userdata = userdata };
	_cleanup_arena_ struct arena arena = { 0 };
	struct sibling *siblings = arena_new(&arena, struct sibling, whole->n_files + 1);
	int r = siblings ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < whole->n_files; i++)
		r = read_sibling(&arena, whole->files[i], &siblings[i]);
	if (r < 0)
		return r;
	qsort(siblings, whole->n_files, sizeof(*siblings), compare_siblings);
	check_families(&checking, siblings, whole->n_files);
	return checking.status;
}
