# SPDX-License-Identifier: MIT
"""
Serves as build/upstream/worker.py does, but writes small kernels of its own: standin.py [WORKER.PY] FOLDER.

Beside FOLDER lie "requests", which gets the name of each kernel that is asked for; "processes", which gets the number of each process;
"loaders", which gets that of each process that loads; "running", which has a "+" more than "-" for each kernel that is being made; and
"behaviour", if there: lines "PART WHAT" with WHAT one of crash, hang, refuse, nonsense (assembly that is none), garbage (no reply) and flood
(a megabyte on stderr first), for kernels whose name contains PART; or share (a variable that one compilation sees) for helper kernels.
"""
import json
import os
import pathlib
import struct
import sys
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build" / "upstream"))
import worker

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


def note(file, text, end="\n"):
    with open(HERE / file, "a") as stream:
        stream.write(f"{text}{end}")


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


def reply_to(kind, request):
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


def answer(loaded, channel, request):
    note("processes", os.getpid())
    note("running", "+", "")
    kind, body = request.split(b"\n", 1)
    reply = reply_to(kind, json.loads(body))
    note("running", "-", "")
    channel.sendall(struct.pack("<I", len(reply)) + reply)


def load(folder):
    note("processes", os.getpid())
    note("loaders", os.getpid())


worker.main(load, answer)
