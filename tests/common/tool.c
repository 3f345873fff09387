/* SPDX-License-Identifier: MIT */
#include "tests/common/tool.h"

#include "base/macro.h"

#include <stdio.h>
#include <string.h>

const char *tool(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)], command[512];

	snprintf(command, sizeof(command), "for v in 22 21 20 19 18 17; do command -v %s-$v || command -v /usr/lib/llvm-$v/bin/%s && exit; done; "
		 "command -v %s", name, name, name);
	FILE *pipe = popen(command, "r");
	if (!pipe)
		return NULL;
	char *line = fgets(path, sizeof(paths[0]), pipe);
	pclose(pipe);
	if (line)
		path[strcspn(path, "\n")] = 0;
	return line;
}
