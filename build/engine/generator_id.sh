#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the header that identifies the generator: a digest of the sources that decide what bytes a file has. Contents only, in the
# order given, so that the place of the source tree has no part in it.
# usage: generator_id.sh OUTPUT SOURCE...
set -eu
output=$1
shift
id=$(cat "$@" | sha256sum | cut -c1-32)
printf '/* SPDX-License-Identifier: MIT */\n#pragma once\n\n#define GENERATOR_ID "tensilefs %s"\n' "$id" > "$output"
