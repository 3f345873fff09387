# SPDX-License-Identifier: MIT
"""
The program that runs the user's TensileLite: worker.py FOLDER, where FOLDER holds Tensile/__init__.py.

It loads TensileLite once and then answers requests, one at a time, until its input ends. Each is answered by a fork of it, so that nothing
of one kernel is left when the next one comes, and memory stays what it was.

Protocol. Descriptor 3 is a stream socket; nothing else is read or written, so that TensileLite may print what it likes. All numbers are
little endian.

    request: u32 length, then so many bytes: kind '\\n' body
    reply:   u32 length, then so many bytes: '+' body, or '-' and the reason as text

Bodies are JSON objects. `verdicts` is what the assembler said to the questions that TensileLite has about it: [target, options, text, verdict]
each. `solution` is what logic_write_solution() writes (build/logic/logic.h); a kernel that this TensileLite wants launched in another way than
"Launch" tells is refused.

    about     {}                                            -> {"version": "4.33.0", "targets": ["gfx803", ...]}
    caps      {targets, verdicts}                           -> {"missing": [[target, options, text], ...]} to be asked, and the request repeated;
                                                               or {"table": {target: {"AsmCaps": {...}, "ArchCaps": {...}, "AsmBugs": {...}}}}
    kernel    {target, verdicts, cov, name, solution}       -> {"wavefront": 64, "cov": 4} '\\n' assembly text
    helpers   {target, verdicts, cov, names, solutions}     -> {"files": [[name, text], ...]}: Kernels.cpp with the helper kernels of these names, and
                                                               all that it includes; without names, what all helper kernels include

`cov` is the code object version, 0 for TensileLite's own choice.

What TensileLite is asked for is what its TensileCreateLibrary asks for; facts about it are from hipBLASLt at 7d9fb683 (October 2024), files under
tensilelite/Tensile. It differs in this: label names carry random characters there, and here such that depend on the kernel's name alone.
Later ones, in rocm-libraries, run the assembler from inside of a compiled module, and write into the metadata what only generation tells
(TensileCreateLibrary/Run.py: passPostKernelInfoToLibrary); they are refused.
"""
import gc
import inspect
import io
import json
import os
import random
import signal
import socket
import struct
import sys
import tempfile
import traceback
import types

LARGEST_REQUEST = 1 << 30

# Kernels are made as for a compiler that preloads kernel arguments, which those since ROCm 6.2 do; our metadata assumes the same
# (SolutionStructs.py: assignDerivedParameters, "PreloadKernArgs"). Upstream asks the hipcc it finds, and without one takes it for too old.
HIP_VERSION = "6.2.41133"


class Refusal(Exception):
    """What the user has to be told in these words."""


class Printed(io.TextIOBase):
    """Keeps the end of what is printed: TensileLite prints why it gives up before it does."""

    def __init__(self):
        self.text = ""

    def writable(self):
        return True

    def write(self, text):
        self.text = (self.text + text)[-2000:]
        return len(text)


def call_with_programs(function, *arguments):
    """TensileLite of ROCm 6.4 hands on the names of programs that earlier ones have in their settings. None of them is run here."""
    names = inspect.signature(function).parameters
    return function(*arguments, **{name: "" for name in ("cxxCompiler", "assembler") if name in names})


class TensileLite:
    """The user's TensileLite, loaded and set up as TensileCreateLibrary does, but for what it finds out by running programs."""

    def __init__(self, folder):
        if not os.path.isfile(os.path.join(folder, "Tensile", "Common.py")):
            raise Refusal(self.explain(folder))
        # Parallel.py wants it for what we do not use; it takes longer to load than all of TensileLite.
        sys.modules.setdefault("joblib", types.SimpleNamespace(Parallel=None, delayed=None, __version__="1.4"))
        sys.path.insert(0, folder)
        from Tensile import Common, LibraryIO, TensileInstructions
        from Tensile.KernelWriterAssembly import KernelWriterAssembly
        from Tensile.TensileInstructions import Base

        self.common, self.loader, self.instructions, self.base = Common, LibraryIO, TensileInstructions, Base
        self.writer = KernelWriterAssembly
        self.settings = Common.globalParameters
        self.settings.update(
            AsmCaps={}, ArchCaps={}, AsmBugs={}, HipClangVersion=HIP_VERSION, AssemblerPath="", PrintLevel=0, CpuThreads=1, ShortNames=False,
            MergeFiles=True, SeparateArchitectures=True, LazyLibraryLoading=True, CodeFromFiles=False, RuntimeLanguage="HIP")

    @staticmethod
    def explain(folder):
        if os.path.isdir(os.path.join(folder, "Tensile", "Common")):
            return ("'%s' is a TensileLite of 2025 or later, which asks the assembler through its compiled module rocisa and cannot be "
                    "driven; one with Tensile/Common.py can, such as that of ROCm 6.3" % folder)
        return "'%s' is no TensileLite: there is no Tensile/Common.py" % folder

    def about(self, request):
        return {"version": self.common.__version__, "targets": [self.instructions.getGfxName(isa) for isa in self.settings["SupportedISA"]]}

    # ---- what the assembler can do ----

    def set_up(self, targets, verdicts):
        """Fills the tables of capabilities from verdicts; returns the questions that have none."""
        known = {(target, options, text): verdict for target, options, text, verdict in verdicts}
        missing = []

        def answer(isa, assembler, text, debug=False, *options):
            # As Base.py: _tryAssembler, which adds this option for targets with both sizes.
            more = (*options, "-mwavefrontsize64") if isa[0] >= 10 else options
            question = (self.instructions.getGfxName(isa), " ".join(more), text)
            if question not in known and question not in missing:
                missing.append(question)
            return known.get(question, False)

        self.base._tryAssembler = answer
        instructions = self.instructions.TensileInstructions()
        for isa in map(self.isa, targets):
            instructions.init(isa, "", False)
            self.settings["AsmCaps"][isa] = instructions.getAsmCaps()
            self.settings["ArchCaps"][isa] = instructions.getArchCaps()
            self.settings["AsmBugs"][isa] = instructions.getAsmBugs()
        return missing

    def isa(self, target):
        isa = self.common.gfxArch(target)
        if isa not in self.settings["SupportedISA"]:
            raise Refusal("this TensileLite does not know '%s'" % target)
        return isa

    def caps(self, request):
        missing = self.set_up(request["targets"], request["verdicts"])
        if missing:
            return {"missing": missing}
        tables = ("AsmCaps", "ArchCaps", "AsmBugs")
        return {"table": {target: {name: self.settings[name][self.isa(target)] for name in tables} for target in request["targets"]}}

    def begin(self, request):
        """What kernels and helpers of a target begin with."""
        target = request["target"]
        if self.set_up([target], request["verdicts"]):
            raise Refusal("TensileLite has questions about the assembler that were not put to it")
        isa = self.isa(target)
        if not self.settings["AsmCaps"][isa]["SupportedISA"]:
            raise Refusal("the assembler does not know '%s'" % target)
        if request["cov"]:
            self.settings["CodeObjectVersion"] = "V%d" % request["cov"]
        self.settings["CurrentISA"] = isa
        self.settings["SupportedISA"] = [isa]
        self.settings["Architecture"] = target
        self.common.validParameters["ISA"] = [(0, 0, 0), isa]

    # ---- kernels ----

    def read_solution(self, document, name):
        """A Solution by TensileLite's own reader, from a logic file that has no other."""
        head = {key: document[key] for key in ("MinimumRequiredVersion", "ScheduleName", "ArchitectureName", "CUCount", "ProblemType")}
        solution = dict(document["Solution"], SolutionIndex=0, SolutionNameMin=name, KernelNameMin=name)
        table = {"indexOrder": None, "table": [0, 1], "distance": None}
        logic = call_with_programs(
            self.loader.parseLibraryLogicData,
            dict(head, DeviceNames=[], Solutions=[solution], ExactLogic=None, RangeLogic=None, LibraryType="FreeSize", Library=table), name)
        return logic.solutions[0]

    @staticmethod
    def check_launch(solution, told):
        """The host launches a kernel as our metadata tells it, which knows the TensileLite of one time."""
        if not told:
            return
        from Tensile import Contractions
        own = {"sizeMapping": Contractions.SizeMapping, "internalArgsSupport": Contractions.InternalArgsSupport}
        for part, cls in own.items():
            facts = cls.FromOriginalState(solution._state)
            for key in cls.StateKeys:
                value = getattr(facts, key)
                value = list(value) if isinstance(value, tuple) else value
                # What is not told the host takes for nothing.
                if told[part].get(key, value if not value else None) != value:
                    raise Refusal("this TensileLite wants the kernel launched in another way than the metadata tells, which is that of ROCm 6.3: %s.%s "
                                  "is %s, and %s" % (part, key, value, told[part].get(key, "not told")))

    def kernel(self, request):
        name = request["name"]
        self.begin(request)
        random.seed(name)
        solution = self.read_solution(request["solution"], name)
        self.check_launch(solution, request["solution"].get("Launch"))
        kernel = solution.getKernels()[0]
        kernel.duplicate = False
        writer = call_with_programs(self.writer, {}, [])
        writer.setTensileInstructions(self.instructions.TensileInstructions())
        writer.getKernelName = lambda kernel: name
        if writer.getReplacementKernelPath(kernel) is None:
            text = writer._getKernelSource(kernel)
        else:
            text = self.read_by_hand(writer, kernel)
        cov = self.instructions.getCOVFromParam(self.settings["CodeObjectVersion"])
        return json.dumps({"wavefront": kernel["WavefrontSize"], "cov": cov}) + "\n" + text

    def read_by_hand(self, writer, kernel):
        """A hand-written kernel, with what upstream does to its text."""
        with tempfile.TemporaryDirectory(prefix="tensilefs-") as folder:
            self.settings["WorkingPath"] = folder
            with open(writer._getKernelObjectAssemblyFile(kernel)) as file:
                return file.read()

    # ---- helper kernels ----

    def helpers(self, request):
        """A source with some helper kernels of all. What kernels share, such as activation functions, stands in headers of its own."""
        self.begin(request)
        objects = {}
        for document in request["solutions"]:
            for helper in self.read_solution(document, "").getHelperKernelObjects():
                objects.setdefault(helper.getKernelName(), helper)
        for name in request["names"]:
            if name not in objects:
                raise Refusal("no solution asks this TensileLite for the helper kernel '%s'" % name)
        # As TensileCreateLibrary.py: buildKernelSourceAndHeaderFiles and writeSolutionsAndKernels with merged files.
        head = self.common.CHeader
        source = head + '#include "Kernels.h"\n' + "".join(self.source_of(objects[name]) for name in request["names"])
        headers = {name: helper.getHeaderFileString() for name, helper in objects.items()}
        header = (head + "#pragma once\n#include <hip/hip_runtime.h>\n#include <hip/hip_ext.h>\n\n" + '#include "KernelHeader.h"\n\n' +
                  "".join(text for name, text in headers.items() if name in request["names"] or "__global__" not in text))
        return {"files": [["Kernels.cpp", source], ["Kernels.h", header]] + self.static_files()}

    @staticmethod
    def source_of(helper):
        error, source = helper.getSourceFileString()
        if error:
            raise Refusal("the helper kernel '%s' cannot be written: error %s" % (helper.getKernelName(), error))
        return source

    def static_files(self):
        folder = self.settings["SourcePath"]
        names = sorted(name for name in os.listdir(folder) if name.endswith(".h"))
        files = []
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                files.append([name, file.read()])
        return files


# ---- requests and replies ----

def read_exactly(channel, size):
    """None at the end of the stream."""
    data = bytearray()
    while len(data) < size:
        piece = channel.recv(min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)


def read_request(channel):
    head = read_exactly(channel, 4)
    if head is None:
        return None
    size = struct.unpack("<I", head)[0]
    if size > LARGEST_REQUEST:
        sys.exit("worker.py: a request of %d bytes" % size)
    return read_exactly(channel, size)


def reply(channel, mark, body):
    data = mark + (body if isinstance(body, str) else json.dumps(body)).encode()
    channel.sendall(struct.pack("<I", len(data)) + data)


def describe(failure, printed):
    """The end of a traceback, innermost place first, and what was printed before."""
    text = traceback.format_exception_only(type(failure), failure)[-1].strip()
    for frame in reversed(traceback.extract_tb(failure.__traceback__)[-3:]):
        text += "; at %s:%d in %s" % (os.path.basename(frame.filename), frame.lineno, frame.name)
    last = printed.text.strip().split("\n")[-1]
    return (text + ("; printed: " + last[-200:] if last else "")).replace("\n", " | ")


def answer(tensilelite, channel, request):
    sys.stdout = printed = Printed()
    try:
        kind, body = request.split(b"\n", 1)
        actions = {b"about": tensilelite.about, b"caps": tensilelite.caps, b"kernel": tensilelite.kernel, b"helpers": tensilelite.helpers}
        if kind not in actions:
            raise Refusal("unknown request")
        result = actions[kind](json.loads(body))
    except Refusal as refusal:
        return reply(channel, b"-", str(refusal))
    except (Exception, SystemExit) as failure:     # printExit() ends the program
        return reply(channel, b"-", describe(failure, printed))
    reply(channel, b"+", result)


def answer_in_fork(tensilelite, channel, request):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            answer(tensilelite, channel, request)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:      # ends as it did, so that it can be told
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    if status:
        sys.exit(status)


class Unusable:
    """Says why to every request."""

    def __init__(self, reason):
        self.reason = reason

    def refuse(self, request):
        raise Refusal(self.reason)

    about = caps = kernel = helpers = refuse


def load(folder):
    sys.stdout = printed = Printed()
    try:
        return TensileLite(folder)
    except Refusal as refusal:
        return Unusable(str(refusal))
    except (Exception, SystemExit) as failure:
        return Unusable("cannot load the TensileLite in '%s': %s" % (folder, describe(failure, printed)))


def main():
    channel = socket.socket(fileno=3)
    channel.set_inheritable(False)
    # Nothing that is loaded is ever garbage, and a fork ends before its garbage matters.
    gc.disable()
    tensilelite = load(sys.argv[1])
    gc.freeze()
    while True:
        request = read_request(channel)
        if request is None:
            return
        answer_in_fork(tensilelite, channel, request)


if __name__ == "__main__":
    main()
