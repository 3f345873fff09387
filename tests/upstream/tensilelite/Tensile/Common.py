# SPDX-License-Identifier: MIT
import os

__version__ = "0.1"
globalParameters = {
    "SupportedISA": [(9, 0, 10), (9, 4, 2), (11, 0, 0)],
    "CodeObjectVersion": "default",
    "SourcePath": os.path.join(os.path.dirname(__file__), "Source"),
    "CustomKernelDirectory": os.path.join(os.path.dirname(__file__), "CustomKernels"),
}
validParameters = {}
CHeader = "// made by a stand-in\n"


def printExit(message):
    print("Tensile::FATAL: %s" % message)
    raise SystemExit(-1)


def gfxArch(name):
    digits = name[3:]
    return (int(digits[:-2]), int(digits[-2]), int(digits[-1], 16)) if name.startswith("gfx") and len(digits) > 2 else None
