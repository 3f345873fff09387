# SPDX-License-Identifier: MIT
"""
Speaks the protocol of build/upstream/worker.py and writes small kernels of its own: standin.py [WORKER.PY] FOLDER.

Beside FOLDER lie "requests", which gets the name of each kernel that is asked for; "processes", which gets the number of each process; and
"behaviour", if there: lines "PART WHAT" with WHAT one of crash, hang, refuse, nonsense (assembly that is none), garbage (no reply) and flood
(a megabyte on stderr first), for kernels whose name contains PART; or share (a variable that one compilation sees) for helper kernels.
"""
import json
import os
import pathlib
import socket
import struct
import sys
import time
import zlib

HERE = pathlib.Path(sys.argv[-1]).parent

KERNEL = """.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
	s_mov_b32 s0, {number:#x}
	s_endpgm
.amdhsa_kernel {name}
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 8
	.amdhsa_accum_offset 8
.end_amdhsa_kernel
"""


HELPER = """extern "C" __global__ void {name}(float *where)
{{
	where[threadIdx.x] = {value};
}}
"""


def note(file, text):
    with open(HERE / file, "a") as stream:
        stream.write(f"{text}\n")


def read_exactly(channel, size):
    data = b""
    while len(data) < size:
        piece = channel.recv(size - len(data))
        if not piece:
            sys.exit(0)
        data += piece
    return data


def behaviour(name):
    file = HERE / "behaviour"
    for line in file.read_text().splitlines() if file.exists() else []:
        part, what = line.split()
        if part in name:
            return what
    return ""


def kernel(request):
    name, what = request["name"], behaviour(request["name"])
    note("requests", name)
    if what == "crash":
        os.abort()
    if what == "hang":
        time.sleep(1000)
    if what == "refuse":
        return b"-this kernel is refused"
    if what == "garbage":
        return b"?"
    if what == "flood":
        sys.stderr.write("flood " * 200000)
    number = zlib.crc32(json.dumps(request["solution"], sort_keys=True).encode())
    text = "this is no instruction\n" if what == "nonsense" else KERNEL.format(target=request["target"], name=name, number=number)
    return b"+" + json.dumps({"wavefront": 64, "cov": request["cov"] or 4}).encode() + b"\n" + text.encode()


def helpers(names):
    note("requests", "helpers " + " ".join(names))
    source = "#include <hip/hip_runtime.h>\nstatic __device__ int count;\n"
    for name in names:
        source += HELPER.format(name=name, value="count++" if behaviour(name) == "share" else len(name))
    return b"+" + json.dumps({"files": [["Kernels.cpp", source]]}).encode()


def answer(kind, request):
    if kind == b"kernel":
        return kernel(request)
    if kind == b"about":
        return b'+{"version": "1.0", "targets": ["gfx942"]}'
    if kind == b"caps":
        table = {target: {"AsmCaps": {"SupportedISA": True}, "ArchCaps": {}, "AsmBugs": {}} for target in request["targets"]}
        return b"+" + json.dumps({"table": table}).encode()
    if kind == b"helpers":
        return helpers(request["names"])
    return b"-unknown request"


def main():
    channel = socket.socket(fileno=3)
    note("processes", os.getpid())
    while True:
        size = struct.unpack("<I", read_exactly(channel, 4))[0]
        kind, body = read_exactly(channel, size).split(b"\n", 1)
        reply = answer(kind, json.loads(body))
        channel.sendall(struct.pack("<I", len(reply)) + reply)


main()
