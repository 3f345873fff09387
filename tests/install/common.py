# SPDX-License-Identifier: MIT
"""For the tests of what a user gets: pages, completions, units, an installed tree.

$TENSILEFS is the program under test, $SOURCE and $BUILD are the folders of the project. A test file ends with `main()`; one all of whose
tests are skipped counts as skipped.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TENSILEFS = os.environ["TENSILEFS"]
SOURCE = Path(os.environ["SOURCE"])
BUILD = Path(os.environ["BUILD"])
SAMPLES = SOURCE / "samples/logic"


def need(*programs):
    """A decorator: skips a test where a program is missing."""
    missing = [program for program in programs if not shutil.which(program)]
    return unittest.skipIf(missing, f"no {', '.join(missing)}")


need_root = unittest.skipIf(os.geteuid() != 0, "only root can do this")
need_fuse = unittest.skipUnless(os.access("/dev/fuse", os.R_OK | os.W_OK), "no /dev/fuse")


def run(*command, **options):
    """A finished process with its output as text; standard error is part of it."""
    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


class Scratch(unittest.TestCase):
    """A test case with a folder of its own, which is also where the cache lies."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), HOME=str(self.folder))
        self.environment["PATH"] = f"{Path(TENSILEFS).parent}:{self.environment['PATH']}"

    def do(self, *command, status=0, **options):
        """Runs a command, whose exit status must be `status`; what it prints."""
        options = {"env": self.environment, "cwd": self.folder} | options
        done = run(*command, **options)
        self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}")
        return done.stdout


def main():
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)
