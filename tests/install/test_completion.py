# SPDX-License-Identifier: MIT
"""Completion by bash, zsh and fish: commands, options, values, folders and names of files, without building any."""
import re
import unittest

from common import SAMPLES, SOURCE, TENSILEFS, Scratch, main, need, run

COMPLETION = SOURCE / "data/completion"

# As bash calls a function: the words, the number of the last one, the answer in COMPREPLY (bash(1), Programmable Completion).
BASH = '''
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
complete -p tensilefs >/dev/null && _tensilefs "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' "${COMPREPLY[@]}"
'''
# As zsh's completion does, with what it offers to the user printed.
ZSH = '''
_describe() { print -l -- "${(@P)4:-${(@P)3}}" }
_files() { print -l -- ${words[CURRENT]}*(N) }
file=$1; shift
words=("$@"); CURRENT=$#
complete_it() { source $file }
complete_it
'''


class Completion(Scratch):
    def setUp(self):
        super().setUp()
        (self.folder / "logic").symlink_to(SAMPLES)
        self.commands = re.findall(r"^tensilefs ([a-z]+) ", run(TENSILEFS, "--help").stdout, re.M)

    def check(self, complete):
        """What all shells must offer; `complete` takes the words after `tensilefs` and gives the list of offers."""
        self.assertEqual(set(complete("")) - {"--help", "--version"}, set(self.commands))
        self.assertEqual(complete("cov"), ["coverage"])
        for command in self.commands:
            known = re.findall(r"^  (--[\w-]+)", run(TENSILEFS, command, "--help").stdout, re.M)
            with self.subTest(command):
                self.assertEqual(set(complete(command, "--")), set(known))
        self.assertEqual({"none", "plain", "compressed"} - set(complete("build", "--bundle", "")), set())
        self.assertEqual({"stats", "gc", "check", "clear"} - set(complete("cache", "")), set())
        self.assertEqual([name.rstrip("/") for name in complete("ls", "lo")], ["logic"])
        names = {name.split("/")[1] for name in self.do(TENSILEFS, "ls", SAMPLES).split()}
        self.assertEqual(names - set(complete("asm", "logic", "")), set())
        self.assertFalse((self.folder / "cache").exists(), "something was built")


class Bash(Completion):
    def complete(self, *words):
        return self.do("bash", "--norc", "-c", BASH, "bash", COMPLETION / "tensilefs.bash", "tensilefs", *words).splitlines()

    def test_bash(self):
        self.check(self.complete)

    def test_values_of_options(self):
        for command in self.commands:
            text = run(TENSILEFS, command, "--help").stdout
            for option in re.findall(r"^  (--[\w-]+) KIND", text, re.M):
                message = run(TENSILEFS, command, option, "nonsense").stdout
                with self.subTest(f"{command} {option}"):
                    self.assertEqual(self.complete(command, option, ""), re.findall(r"'([\w-]+)'", message.partition("is not one of")[2]))
        self.assertEqual(self.complete("build", "--bundle", "=", "com"), ["compressed"])
        self.assertEqual(self.complete("build", "--cache", "lo"), ["logic"])

    def test_mount_options(self):
        self.assertEqual(self.complete("mount", "-o", "jobs=2,no-c"), ["jobs=2,no-cache"])
        self.assertEqual(self.complete("mount", "-o", "idle"), ["idle_timeout="])

    def test_arguments_by_their_place(self):
        (self.folder / "one.yaml").touch()
        (self.folder / "other.txt").touch()
        self.assertEqual(self.complete("ls", "o"), ["one.yaml"])
        self.assertEqual(self.complete("build", "-j", "2", "logic", "lo"), ["logic"])
        self.assertEqual(self.complete("status", "lo"), ["logic"])
        self.do(TENSILEFS, "build", "--no-cache", "--bundle", "none", SAMPLES, "out")
        name = next((self.folder / "out/gfx942").glob("TensileLibrary_*.co"))
        kernels = self.complete("run", name, "")
        self.assertEqual(set(kernels), set(re.findall(r"^(\S+)", self.do(TENSILEFS, "run", name), re.M)))


class Zsh(Completion):
    @need("zsh")
    def test_zsh(self):
        def complete(*words):
            offers = self.do("zsh", "-fc", ZSH, "zsh", COMPLETION / "_tensilefs", "tensilefs", *words).splitlines()
            # zsh itself leaves out what does not begin like the word
            return [offer.split(":")[0] for offer in offers if offer.startswith(words[-1])]
        self.check(complete)


class Fish(Completion):
    @need("fish")
    def test_fish(self):
        def complete(*words):
            line = f"source {COMPLETION}/tensilefs.fish; complete -C 'tensilefs {' '.join(words)}'"
            return [offer.split("\t")[0] for offer in self.do("fish", "--no-config", "-c", line).splitlines()]
        self.check(complete)


del Completion		# it is no test by itself
main()
