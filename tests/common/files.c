/* SPDX-License-Identifier: MIT */
#include "tests/common/files.h"

#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

const char *in_scratch(void **state, const char *format, ...)
{
	static char names[1024][512];
	static unsigned next;
	char *name = names[next++ % ARRAY_SIZE(names)];
	va_list ap;

	int length = snprintf(name, sizeof(names[0]), "%s/", (char *)*state);
	va_start(ap, format);
	vsnprintf(name + length, sizeof(names[0]) - (size_t)length, format, ap);
	va_end(ap);
	return name;
}

void write_text(const char *path, const char *text)
{
	FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(text, 1, strlen(text), stream), strlen(text));
	assert_int_equal(fclose(stream), 0);
}

char *read_text(const char *path, size_t *ret_size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buffer buffer = { 0 };

	if (fd < 0)
		fail_msg("cannot open '%s': %s", path, strerror(errno));
	assert_int_equal(read_to_end(fd, &buffer), 0);
	buffer_append(&buffer, "", 1);
	if (ret_size)
		*ret_size = buffer.size - 1;
	return (char *)buffer.data;
}

const char *make_script(void **state, const char *name, const char *body)
{
	const char *path = in_scratch(state, "%s", name);
	_cleanup_buffer_ struct buffer script = { 0 };

	buffer_printf(&script, "#!/bin/sh\n%s\n", body);
	buffer_append(&script, "", 1);
	write_text(path, (char *)script.data);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

int shell(const char *format, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, format);
	int length = vsnprintf(command, sizeof(command), format, ap);
	va_end(ap);
	assert_true(length > 0 && (size_t)length < sizeof(command));
	int status = system(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
