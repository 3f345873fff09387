# SPDX-License-Identifier: MIT
"""
Forks as build/upstream/worker.py does, by its own code, for what standin.c answers, too: forking.py STARTS [hang].

Each start adds a line with the process id to the file STARTS, and then hangs, if it is told so.
"""
import os
import pathlib
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "build" / "upstream"))
import worker


def load(folder):
    add_pid(sys.argv[1], os.getpid())
    if sys.argv[2:] == ["hang"]:
        signal.pause()


def add_pid(path, pid):
    with open(path, "a") as file:
        file.write("%d\n" % pid)


def leave_child(path):
    child = os.fork()
    if child == 0:
        os.closerange(3, 256)       # as what is executed has them closed
        signal.pause()
    for pid in (os.getppid(), child, os.getpid()):
        add_pid(path, pid)


def wait_for_file(path):
    while not os.path.exists(path):
        time.sleep(0.001)


def answer(loaded, channel, request):
    kind, body = request.decode().split("\n", 1)
    if "child" in kind:
        leave_child(body)
    if "wait" in kind:
        wait_for_file(body)
    if "crash" in kind:
        print("a last word", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "child":
        signal.pause()
    worker.reply(channel, b"+", body)


worker.main(load, answer)
