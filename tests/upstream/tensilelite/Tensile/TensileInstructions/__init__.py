# SPDX-License-Identifier: MIT
from .Base import TensileInstructions, getGfxName


def getCOVFromParam(version):
    return {"default": 4, "V4": 4, "V5": 5}[version]
