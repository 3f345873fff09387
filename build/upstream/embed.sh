#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a C array of a file's bytes, to be part of the program.
# usage: embed.sh OUTPUT NAME INPUT
set -eu
{
	printf '/* SPDX-License-Identifier: MIT */\nstatic const unsigned char %s[] = {\n' "$2"
	od -An -v -tu1 "$3" | sed 's/[0-9][0-9]*/&,/g'
	printf '};\n'
} > "$1"
