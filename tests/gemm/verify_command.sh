#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `tensilefs verify`: what it prints and how it ends, for good kernels, for a damaged one, and for wrong use.
#
#     verify_command.sh TENSILEFS LOGIC
set -euo pipefail
[ -n "${TENSILEFS_LINKER:-}" ] || { echo "no ld.lld" >&2; exit 77; }
tensilefs=$1 logic=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$*" >&2
	[ -e "$work/log" ] && tail -5 "$work/log" >&2
	exit 1
}

expect() {	# status, then the command
	local want=$1 status=0
	shift
	"$@" >"$work/log" 2>&1 || status=$?
	[ $status = "$want" ] || fail "'$*' ended with $status instead of $want"
}

name=$("$tensilefs" ls "$logic" | sed -n 's,^gfx942/\(.*\.co\)$,\1,p' | head -n 1)
[ -n "$name" ] || fail "the logic has no code object"

expect 0 "$tensilefs" verify "$logic" "$name" --quick --kernels 2 --no-cache
[ "$(grep -c '^ok ' "$work/log")" -le 2 ] || fail "more kernels than asked for"
grep -Eq '^([0-9]+) of \1 kernels proven in [0-9]+ launches' "$work/log" || fail "no final line"
cp "$work/log" "$work/first"
expect 0 "$tensilefs" verify "$logic" "$name" --quick --kernels 2 --no-cache -j 1
cmp -s "$work/first" "$work/log" || fail "the same seed gave another run"

# A copy of the file, and one whose first kernel stops at once: it leaves D as it was.
expect 0 "$tensilefs" build "$logic" "$work/out" --no-cache --bundle none
copy=$work/out/gfx942/$name
expect 0 "$tensilefs" verify "$logic" "$copy" --quick --kernels 1 --no-cache
python3 - "$copy" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
offset, = struct.unpack_from("<Q", data, 40)		# e_shoff
size, count, names = struct.unpack_from("<3H", data, 58)
sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
strings = sections[names][4]
for section in sections:
    start = strings + section[0]
    if data[start:data.index(0, start)] == b".text":
        for at in range(section[4], section[4] + section[5], 256):
            data[at:at + 4] = struct.pack("<I", 0xbf810000)	# s_endpgm
open(sys.argv[1], "wb").write(data)
PY
expect 1 "$tensilefs" verify "$logic" "$copy" --quick --kernels 1 --no-cache
grep -q '^FAILED .*D\[0, 0, 0\]' "$work/log" || fail "the message does not say what is wrong"

# A code object and a bundle that end too early.
expect 0 "$tensilefs" build "$logic" "$work/bundled" --no-cache
for whole in "$work/out/gfx942/$name" "$work/bundled/gfx942/$name"; do
	head -c 3000 "$whole" >"$work/$name"
	expect 1 "$tensilefs" verify "$logic" "$work/$name" --quick --no-cache
	grep -q '^0 of 0 kernels proven in 0 launches, 0 instructions' "$work/log" || fail "a damaged file counts as kernels"
	grep -q "^tensilefs: '$work/$name': " "$work/log" || fail "the damaged file is not named"
done

expect 1 "$tensilefs" verify "$logic" nothing.co --no-cache
expect 1 "$tensilefs" verify "$work/none" --no-cache
expect 2 "$tensilefs" verify
expect 2 "$tensilefs" verify "$logic" --kernels few
expect 2 "$tensilefs" verify "$logic" --seed
