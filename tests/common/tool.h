/* SPDX-License-Identifier: MIT */
#pragma once

/* "llvm-mc" -> the path of llvm-mc-22, of the one in /usr/lib/llvm-22/bin, or of the newest down to 17, or of llvm-mc; NULL when there is none.
 * Static memory, the last 8 stay valid. */
const char *tool(const char *name);
