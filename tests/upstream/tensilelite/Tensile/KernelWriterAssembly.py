# SPDX-License-Identifier: MIT
import os
import random
import shutil
import signal
import sys

from .Common import globalParameters

made = []       # what a careless generator leaves behind


class KernelWriterAssembly:
    def __init__(self, minNaming, serialNaming):
        self.ti = None

    def setTensileInstructions(self, instructions):
        self.ti = instructions

    def getKernelName(self, kernel):
        return "named_by_tensilelite"

    def getReplacementKernelPath(self, kernel):
        name = kernel.get("CustomKernelName")
        return os.path.join(globalParameters["CustomKernelDirectory"], name + ".s") if name else None

    def _getKernelObjectAssemblyFile(self, kernel):
        path = os.path.join(globalParameters["WorkingPath"], "custom.s")
        shutil.copyfile(self.getReplacementKernelPath(kernel), path)
        return path

    def _getKernelSource(self, kernel):
        print("noise on stdout")
        os.write(1, b"more noise\n")
        self.behave(kernel)
        made.append(kernel)
        label = "label_" + "".join(random.choice("ABCDEFGH") for _ in range(16))
        name = self.getKernelName(kernel)
        return TEXT % {"name": name, "label": label, "made": len(made), "order": " ".join({"a", "b", "c", "d", "e"}),
                       "depth": kernel["DepthU"], "target": "gfx%d%d%x" % kernel["ISA"]}

    def behave(self, kernel):
        way = kernel.get("Behave")
        if way == "raise":
            raise RuntimeError("Generating kernel source resulted in error 4")
        if way == "exit":
            print("** kernel generation failure **")
            sys.exit(-1)
        if way == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if way == "leave":
            os._exit(3)
        if way == "hang":
            signal.pause()
        if way == "flood":
            os.write(2, b"x" * 3000000)
        if way == "edit":       # of TensileLite's own files, as its user may while kernels are made
            with open(os.path.join(os.path.dirname(__file__), "edited.py"), "w") as file:
                file.write("# edited\n")


TEXT = """
.amdgcn_target "amdgcn-amd-amdhsa--%(target)s"
.text
.globl %(name)s
.p2align 8
.type %(name)s,@function
%(name)s:
// %(order)s
s_mov_b32 s0, %(depth)d
s_mov_b32 s1, %(made)d
%(label)s:
s_cbranch_scc0 %(label)s
s_endpgm
.size %(name)s, .-%(name)s
"""
