# SPDX-License-Identifier: MIT
from joblib import Parallel, delayed

from .Common import gfxArch, printExit


class Helper:
    def __init__(self, name):
        self.name = name

    def getKernelName(self):
        return self.name

    def getHeaderFileString(self):
        return 'extern "C" void %s();\n' % self.name

    def getSourceFileString(self):
        return (self.name == "broken", "void %s() {}\n" % self.name)


class Kernel(dict):
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
