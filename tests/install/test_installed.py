# SPDX-License-Identifier: MIT
"""What `meson install` gives: everything in its place, and a library that programs can be built with."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import BUILD, SAMPLES, SOURCE, Scratch, main, need, run


class Installed(Scratch):
    @classmethod
    def setUpClass(cls):
        options = run("meson", "introspect", BUILD, "--buildoptions").stdout
        cls.prefix = Path(re.search(r'"name": "prefix", "value": "([^"]+)"', options)[1])
        cls.tree = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.tree)
        run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.tree, check=True)

    def find(self, name):
        found = [path for path in self.tree.rglob("*") if path.name == name]		# rglob(name) finds no link that leads nowhere
        self.assertEqual(len(found), 1, f"{name}: {found}")
        return found[0]

    def test_everything_is_in_its_place(self):
        installed = {str(path.relative_to(self.tree / self.prefix.relative_to("/"))) for path in self.tree.rglob("*") if not path.is_dir()}
        libraries = os.path.dirname(next(name for name in installed if name.endswith("libtensilefs.so")))
        for name in ("bin/tensilefs", "sbin/mount.fuse.tensilefs", "libexec/tensilefs/tensilefs-premount", "include/tensilefs/tensilefs.h",
                     f"{libraries}/libtensilefs.so.0", f"{libraries}/pkgconfig/tensilefs.pc", "share/man/man1/tensilefs.1",
                     "share/man/man5/tensilefs.logic.5", "share/man/man8/mount.fuse.tensilefs.8", "lib/systemd/system/tensilefs@.service",
                     "share/doc/tensilefs/LICENSE", "share/doc/tensilefs/README.md", "share/doc/tensilefs/examples/library.c",
                     "share/bash-completion/completions/tensilefs", "share/zsh/site-functions/_tensilefs",
                     "share/fish/vendor_completions.d/tensilefs.fish"):
            self.assertIn(name, installed)

    def test_the_package_has_the_version_of_the_program(self):
        changelog = (SOURCE / "debian/changelog").read_text()
        self.assertEqual(self.do("tensilefs", "--version").split()[1], re.match(r"tensilefs \((.*)\)", changelog)[1])

    def test_the_mount_helper_is_the_program(self):
        link = self.find("mount.fuse.tensilefs")
        self.assertEqual(os.readlink(link), str(self.prefix / "bin/tensilefs"))

    def test_only_the_public_names_leave_the_library(self):
        names = re.findall(r"^\S+ [A-Z] (\w+)", self.do("nm", "-D", "--defined-only", self.find("libtensilefs.so")), re.M)
        header = self.find("tensilefs.h").read_text()
        self.assertEqual(set(names), set(re.findall(r"\b(tensilefs_\w+)\(", header)))

    @need("pkg-config", "cc")
    def test_a_program_is_built_with_the_installed_library(self):
        pc = self.find("tensilefs.pc")
        self.environment |= {"PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(self.tree),
                             "LD_LIBRARY_PATH": str(pc.parent.parent), "EXAMPLE_CACHE": str(self.folder / "kept")}
        flags = shlex.split(self.do("pkg-config", "--cflags", "--libs", "tensilefs"))
        self.do("cc", "-Wall", "-Wextra", "-Werror", "-o", "library", self.find("library.c"), *flags)

        names = re.findall(r" (gfx942/\S+)$", self.do("./library", SAMPLES), re.M)
        self.assertEqual(names, self.do("tensilefs", "ls", SAMPLES).split())
        code_object = next(name for name in names if name.endswith(".co"))
        done = subprocess.run(["./library", SAMPLES, *code_object.split("/")], env=self.environment, cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b'"solutions"', done.stderr)
        self.do("tensilefs", "build", SAMPLES, "built")
        self.assertEqual(done.stdout, (self.folder / "built" / code_object).read_bytes())
        self.assertRegex(self.do("./library", SAMPLES), rf"(?m)^ *{len(done.stdout)} bytes, +\d+ kernels +{re.escape(code_object)}$")
        self.assertIn("no", self.do("./library", "/no/such/logic", status=1))


main()
