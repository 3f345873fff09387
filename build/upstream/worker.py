# SPDX-License-Identifier: MIT
"""
The program that runs the user's TensileLite: worker.py FOLDER, where FOLDER holds Tensile/__init__.py.

It loads TensileLite once and then forks a child for each request, so that all share what was loaded, nothing of one kernel is left when the
next one comes, and memory stays what it was.

Protocol. The process that is started is the loader. It finds at descriptor 3 a SOCK_SEQPACKET socket, over which requests are handed to it,
and at 5 its leash, a pipe. A message on 3 is one byte with three descriptors (SCM_RIGHTS), which are one request:

    channel      a stream socket, over which the child reads the request and writes the reply
    complaints   a pipe, which becomes descriptors 1 and 2 of the child; nothing else is written to them, so that TensileLite may print
                 what it likes
    leash        a stream socket, of the child and the loader

The loader takes its leash before it loads. Then it forks a child for each message, at once, however many there are; it writes nothing to 3,
and exits when that ends. The child leads a process group of its own, takes its leash, keeps the channel and the complaints, which the loader
closes, reads one request, writes one reply and exits; when the reply is complete it may be killed. Over the leash the loader tells, and
closes it after the last of these:

    i32 process id      when it has forked the child
    i32 status          as waitpid() gives it, when the child has ended and what is left of its group has been killed
    i32 -errno          instead of both, when it cannot fork

To take a leash is to make the kernel kill one's process group when the other end is closed or shut down (F_SETOWN, F_SETSIG, O_ASYNC);
nothing is ever written there. So no child needs a loader that lives and listens to be ended, and whatever happens to the other side, nobody
is left behind.

All numbers are little endian. What the channel carries:

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
import fcntl
import gc
import inspect
import io
import json
import os
import random
import select
import signal
import socket
import struct
import sys
import tempfile
import traceback
import types

LARGEST_REQUEST = 1 << 30
CONTROL, LEASH = 3, 5       # descriptors

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
                differs = told[part][key] != value if key in told[part] else bool(value)
                if differs:
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


# ---- processes ----

def take(leash):
    """Dies from now on, with the whole group, when the other end is let go of, or has been."""
    fcntl.fcntl(leash, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(leash, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(leash, fcntl.F_SETFL, fcntl.fcntl(leash, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([leash], [], [], 0)[0]:
        os.killpg(0, signal.SIGKILL)


def tell(leash, number):
    try:
        os.write(leash, struct.pack("<i", number))
    except OSError:
        pass        # nobody wants to know


class Loader:
    """Forks a child for each request that is handed over, and tells how it ended."""

    def __init__(self, tensilelite, answer):
        self.tensilelite = tensilelite
        self.answer = answer
        self.control = socket.socket(fileno=CONTROL)
        self.leashes = {}       # of children, by process id
        self.woken, self.waker = os.pipe()      # readable when a child has ended
        os.set_blocking(self.woken, False)
        os.set_blocking(self.waker, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.waker, warn_on_full_buffer=False)

    def run(self):
        while True:
            ready = select.select([self.control, self.woken], [], [])[0]
            if self.woken in ready:
                os.read(self.woken, 4096)
                self.reap()
            if self.control in ready:
                message, fds, _, _ = socket.recv_fds(self.control, 1, 3)
                if not message:
                    return
                self.fork(*fds)

    def fork(self, channel, complaints, leash):
        try:
            child = os.fork()
        except OSError as failure:
            tell(leash, -failure.errno)
            os.close(leash)
        else:
            if child == 0:
                self.be_child(channel, complaints, leash)
            tell(leash, child)
            self.leashes[child] = leash
        os.close(channel)
        os.close(complaints)

    def be_child(self, channel, complaints, leash):
        status = 1
        try:
            os.setpgid(0, 0)
            take(leash)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for fd in (CONTROL, LEASH, self.woken, self.waker, *self.leashes.values()):
                os.close(fd)
            for fd in (channel, leash):
                os.set_inheritable(fd, False)
            os.dup2(complaints, 1)
            os.dup2(complaints, 2)
            os.close(complaints)
            stream = socket.socket(fileno=channel)
            request = read_request(stream)
            if request is not None:
                self.answer(self.tensilelite, stream, request)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def reap(self):
        while self.leashes:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            try:        # what it has left behind; nobody else has its number before it is waited for
                os.killpg(ended.si_pid, signal.SIGKILL)
            except OSError:
                pass
            status = os.waitpid(ended.si_pid, 0)[1]
            leash = self.leashes.pop(ended.si_pid, None)
            if leash is not None:       # it is no child of what was loaded
                tell(leash, status)
                os.close(leash)


def main(load, answer):
    for fd in (CONTROL, LEASH):
        os.set_inheritable(fd, False)
    take(LEASH)
    # Nothing that is loaded is ever garbage, and a child ends before its garbage matters.
    gc.disable()
    tensilelite = load(sys.argv[-1])
    gc.freeze()
    sys.stderr.flush()      # or each child would say it again
    Loader(tensilelite, answer).run()


if __name__ == "__main__":
    main(load, answer)
