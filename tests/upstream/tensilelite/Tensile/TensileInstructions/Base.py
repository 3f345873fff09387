# SPDX-License-Identifier: MIT
def getGfxName(isa):
    return "gfx%d%d%x" % isa


def _tryAssembler(isa, assembler, text, debug=False, *options):
    raise RuntimeError("the assembler is not to be run from here")


class TensileInstructions:
    def init(self, isa, assembler, debug):
        ask = lambda text, *options: _tryAssembler(isa, assembler, text, debug, *options)
        self.caps = {
            "SupportedISA": ask(""),
            "HasMFMA": ask("v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]") or ask("v_mfma_f32_32x32x1_2b_f32 a[0:31], v0, v1, a[0:31]"),
            "Wave32": ask("v_add_nc_u32 v0, v0, v1", "-mno-wavefrontsize64") if isa[0] >= 11 else False,
            "Nonsense": ask("no_such_instruction"),
        }
        # What is asked next depends on an answer.
        self.caps["MaxVmcnt"] = 63 if ask("s_waitcnt vmcnt(63)") else 15 if ask("s_waitcnt vmcnt(15)") else 0
        self.isa = isa

    def getAsmCaps(self):
        return self.caps

    def getArchCaps(self):
        return {"HasWave32": self.isa[0] >= 10}

    def getAsmBugs(self):
        return {}
