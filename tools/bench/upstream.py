#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
A package of TensileLite's kernels by TensileCreateLibrary and by tensilefs, beside each other on the same files and cores.

usage: upstream.py TENSILEFS TENSILELITE LOGIC WORK [-j N] [--python PYTHON] [--assembler PROGRAM] [--linker PROGRAM] [--hip-compiler PROGRAM]
                   [--cxx-compiler PROGRAM]

TENSILELITE is the tensilelite folder of a hipBLASLt checkout, LOGIC a folder of logic for gfx942, WORK a folder for what is made, which must not be
there. TensileCreateLibrary finds its tools as always: $ROCM_PATH, $PATH, and the compiler that it is to use by --cxx-compiler. What the programs say is in
WORK/*.log. Prints seconds of wall clock and of CPU, the largest memory of all
processes together (proportional set size) with the programs it is of, and whether the two packages are equal.
"""
import argparse
import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import time


def tree(root):
    """The processes below one, itself included."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    children.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(entry))
            except OSError:
                pass
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def memory(process):
    """The name of a program, and its proportional set size in KiB."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            size = int(re.search(r"^Pss: +(\d+)", file.read(), re.M)[1])
        with open(f"/proc/{process}/comm") as file:
            return file.read().strip(), size
    except (OSError, TypeError):
        return "", 0


def memories(root):
    """Of all programs below one: {name: KiB}."""
    sizes = {}
    for name, size in map(memory, tree(root)):
        sizes[name] = sizes.get(name, 0) + size
    return sizes


def measure(what, command, log, **options):
    before, begin, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), {}
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
    while process.poll() is None:
        most = max(most, memories(process.pid), key=lambda sizes: sum(sizes.values()))
        time.sleep(0.1 if time.monotonic() - begin < 10 else 0.5)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if process.returncode:
        sys.exit(f"{what}: '{' '.join(command)}' ended with status {process.returncode}, see '{log}'")
    parts = ", ".join(f"{name} {size / 1024:.0f}" for name, size in sorted(most.items(), key=lambda item: -item[1]) if size >= 1024)
    print(f"{what:44} {wall:8.1f} s  {cpu:8.1f} s of CPU  {sum(most.values()) / 1024:7.0f} MB ({parts})", flush=True)
    return wall, cpu, sum(most.values())


def edit_a_solution(logic):
    """A hint of the first solution of a file, which no name is made of."""
    for path in sorted(glob.glob(os.path.join(logic, "**", "*.yaml"), recursive=True)):
        with open(path) as file:
            text = file.read()
        edited = re.sub(r"(WorkGroupMapping: )(\d+)", lambda match: match[1] + str(int(match[2]) + 1), text, count=1)
        if edited != text:
            with open(path, "w") as file:
                file.write(edited)
            return
    sys.exit("no solution to edit")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("tensilefs", "tensilelite", "logic", "work"):
        parser.add_argument(name)
    parser.add_argument("-j", dest="jobs", default="2")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--cxx-compiler", default="amdclang++")
    for name in ("assembler", "linker", "hip-compiler"):
        parser.add_argument("--" + name)
    arguments = parser.parse_args()
    os.makedirs(arguments.work)
    work = os.path.abspath(arguments.work)
    logic, peer, ours, edited, cache = (os.path.join(work, name) for name in ("logic", "peer", "ours", "edited", "cache"))
    shutil.copytree(arguments.logic, logic)

    create = os.path.join(arguments.tensilelite, "Tensile", "bin", "TensileCreateLibrary")
    build = [arguments.tensilefs, "build", "-j", arguments.jobs, "--names", "tensile", "--bundle", "none", "--generator",
             "tensilelite:" + arguments.tensilelite, "--python", arguments.python]
    for name in ("assembler", "linker", "hip-compiler"):
        value = getattr(arguments, name.replace("-", "_"))
        build += ["--" + name, value] if value else []
    theirs = measure("TensileCreateLibrary", [
        arguments.python, create, "--merge-files", "--separate-architectures", "--lazy-library-loading", "--no-short-file-names", "--jobs",
        arguments.jobs, "--library-format", "msgpack", "--architecture", "gfx942", "--no-enumerate", "--cxx-compiler", arguments.cxx_compiler,
        "--code-object-version", "default", "--build-id", "sha1", logic, peer, "HIP"], peer + ".log", cwd=work)
    first = measure("tensilefs build, nothing cached", build + ["--cache", cache, logic, ours], ours + ".log")
    print(f"    {theirs[0] / first[0]:.2f} times faster, {theirs[1] / first[1]:.2f} times less CPU, {theirs[2] / first[2]:.1f} times less memory")
    edit_a_solution(logic)
    again = measure("tensilefs build, one solution edited", build + ["--cache", cache, logic, edited], edited + ".log")
    print(f"    {theirs[0] / again[0]:.1f} times faster, {theirs[1] / again[1]:.1f} times less CPU")
    name = sorted(glob.glob(os.path.join(ours, "gfx942", "*.co")), key=os.path.getsize)[0]
    mountpoint = os.path.join(work, "mnt")
    os.makedirs(mountpoint)
    options = ["-o", "no-cache"] + [word for word in build[2:]]
    begin = time.monotonic()
    subprocess.run([arguments.tensilefs, "mount"] + options + [logic, mountpoint], check=True)
    with open(os.path.join(mountpoint, "gfx942", os.path.basename(name)), "rb") as file:
        file.read()
    single = time.monotonic() - begin
    subprocess.run(["fusermount3", "-u", mountpoint], check=True)
    print(f"{'mount, and read the first code object':44} {single:8.1f} s\n    {theirs[0] / single:.1f} times faster", flush=True)
    compare = subprocess.run([arguments.tensilefs, "compare", os.path.join(peer, "library"), os.path.join(ours, "gfx942")], capture_output=True, text=True)
    with open(os.path.join(work, "compare.log"), "w") as log:
        log.write(compare.stdout + compare.stderr)
    print(*compare.stdout.splitlines()[-8:], sep="\n")


main()
