/* SPDX-License-Identifier: MIT */
/*
 * Pins are labelled "<logic folder>: <arch>/<file>". A pin holds the bytes that a file has now: their hash. After an edit of the
 * logic the file has other bytes, which are not pinned, and the old ones stay until they are unpinned, which goes by the label.
 */
#include "base/array.h"
#include "tools/care.h"

struct pinning {
	struct care *care;
	struct engine *engine;		/* of pin */
	char *folder;			/* LOGIC as an absolute path, if it is there */
	struct cachedb_pin *pins;	/* with labels of their own */
	size_t n, allocated;
};

static void pinning_release(struct pinning *pinning)
{
	for (size_t i = 0; i < pinning->n; i++)
		free((char *)pinning->pins[i].label);
	free(pinning->pins);
	free(pinning->folder);
	engine_unref(pinning->engine);
}

static int name_folder(struct pinning *pinning)
{
	pinning->folder = realpath(pinning->care->logic, NULL);
	if (!pinning->folder)			/* deleted logic can have pins */
		pinning->folder = strdup(pinning->care->logic);
	return pinning->folder ? 0 : -ENOMEM;
}

/* Takes over the label. */
static int list_pin(struct pinning *pinning, const struct cachedb_key *key, char *label)
{
	if (!label || ARRAY_GROW(pinning->pins, pinning->allocated, pinning->n) < 0) {
		free(label);
		return -ENOMEM;
	}
	pinning->pins[pinning->n++] = (struct cachedb_pin){ *key, label };
	return 0;
}

static int pin_file(void *userdata, struct engine_file *file)
{
	struct pinning *pinning = userdata;
	struct cachedb_key hash;
	struct error error = { 0 };
	char *label;

	int r = engine_hash(pinning->engine, file, &hash, &error);
	if (r < 0) {
		complain("%s/%s: %s", engine_file_arch(file), engine_file_name(file), error_text(&error, r));
		return -ECANCELED;
	}
	if (asprintf(&label, "%s: %s/%s", pinning->folder, engine_file_arch(file), engine_file_name(file)) < 0)
		return -ENOMEM;
	return list_pin(pinning, &hash, label);
}

int care_pin(struct care *care, struct error *error)
{
	_cleanup_(pinning_release) struct pinning pinning = { .care = care };
	struct cachedb_statistics statistics;
	size_t n, faults;

	int r = name_folder(&pinning);
	if (r == 0)
		r = open_engine(care->options, care->logic, &pinning.engine, &faults) < 0 ? -ECANCELED : 0;
	if (r == 0 && !care->names[0])
		r = foreach_file(pinning.engine, NULL, NULL, pin_file, &pinning, &n);
	for (size_t i = 0; r == 0 && care->names[i]; i++) {
		r = foreach_file(pinning.engine, NULL, care->names[i], pin_file, &pinning, &n);
		if (r == 0 && n == 0)
			return error_set(error, -ENOENT, "there is no file '%s'", care->names[i]);
	}
	if (r == 0)
		r = cachedb_pin(care->db, pinning.pins, pinning.n, error);
	if (r == 0)
		r = cachedb_get_statistics(care->db, &statistics);
	if (r == 0)
		printf("%zu files are pinned; %llu bytes of the cache are now\n", pinning.n, (ull)statistics.pinned_bytes);
	return r;
}

/* "<folder>: <arch>/<name>" */
static bool is_chosen(const struct pinning *pinning, const char *label)
{
	const struct care *care = pinning->care;
	const char *arch = care->options->arch;
	size_t length = strlen(pinning->folder);

	if (strncmp(label, pinning->folder, length) != 0 || strncmp(label + length, ": ", 2) != 0)
		return false;
	const char *file = label + length + 2, *slash = strchr(file, '/');
	if (!slash || (arch && (strlen(arch) != (size_t)(slash - file) || strncmp(file, arch, strlen(arch)) != 0)))
		return false;
	for (size_t i = 0; care->names[i]; i++)
		if (strcmp(slash + 1, care->names[i]) == 0)
			return true;
	return !care->names[0];
}

static int choose_pin(void *userdata, const struct cachedb_pin *pin, const struct cachedb_info *info)
{
	struct pinning *pinning = userdata;

	return is_chosen(pinning, pin->label) ? list_pin(pinning, &pin->key, strdup(pin->label)) : 0;
}

int care_unpin(struct care *care, struct error *error)
{
	_cleanup_(pinning_release) struct pinning pinning = { .care = care };

	int r = name_folder(&pinning);
	if (r == 0)
		r = cachedb_foreach_pin(care->db, choose_pin, &pinning);
	if (r == 0 && pinning.n == 0)
		return error_set(error, -ENOENT, "nothing of '%s' is pinned under %s", care->logic, care->names[0] ? "such a name" : "it");
	if (r == 0)
		r = cachedb_unpin(care->db, pinning.pins, pinning.n, error);
	if (r == 0)
		printf("%zu pins were removed\n", pinning.n);
	return r;
}
