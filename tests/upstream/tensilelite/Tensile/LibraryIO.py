# SPDX-License-Identifier: MIT
from joblib import Parallel, delayed

from .Common import gfxArch, printExit


class Helper:
    def __init__(self, name):
        self.name = name

    def getKernelName(self):
        return self.name

    def getHeaderFileString(self):
        if self.name.startswith("shared"):
            return "enum class %s {};\n" % self.name
        return 'extern "C" __global__ void %s();\n' % self.name

    def getSourceFileString(self):
        if self.name.startswith("shared"):
            return (False, "// nothing\n")
        return (self.name == "broken", "void %s() {}\n" % self.name)


class Kernel(dict):
    @property
    def _state(self):
        return self

    def getKernels(self):
        return [self]

    def getHelperKernelObjects(self):
        return [Helper(name) for name in self.get("Helpers", [])]


class Logic:
    def __init__(self, solutions):
        self.solutions = solutions


def parseLibraryLogicData(data, source):
    print("reading a solution of %s" % source)
    solutions = [Kernel(solution, ISA=gfxArch(data["ArchitectureName"]), WavefrontSize=64) for solution in data["Solutions"]]
    for solution in solutions:
        if solution["ProblemType"] != data["ProblemType"]:
            printExit("ProblemType in %s doesn't match solution(idx=%d)" % (source, solution["SolutionIndex"]))
    return Logic(solutions)
