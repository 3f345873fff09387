# SPDX-License-Identifier: MIT
"""The man pages say what the program does: its commands, options, files and parameters, no more and no less."""
import os
import re
import unittest

from common import SAMPLES, SOURCE, TENSILEFS, Scratch, main, need, need_fuse, run

PAGES = {path.name: path for path in (SOURCE / "data/man").glob("*.[1-8]")}
COMMANDS = PAGES["tensilefs.1"]
MOUNT = PAGES["mount.fuse.tensilefs.8"]
LOGIC = PAGES["tensilefs.logic.5"]

# What these groups hold stands in the page's section OPTIONS.
GROUPS = {"cache options": "Cache options", "output options": "Output options"}


def sections(page, heading):
    """The text of each section (.Sh) or subsection (.Ss) by its title."""
    parts = re.split(rf"^\.{heading} (.*)$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def described(text):
    """The options that a list's items are about: `.It Fl j Ar N , Fl -jobs Ar N`."""
    return {flag for item in re.findall(r"^\.It (.*)$", text, re.M) for flag in re.findall(r"Fl (\S+)", item)}


def words(text, macro):
    """The arguments of a macro, wherever it stands at the beginning of a line or of an item."""
    lines = re.findall(rf"^\.(?:It )?{macro} (.*)$", text, re.M)
    return {word for line in lines for word in re.split(r"[ ,]+", line) if word not in ("", ".", ":", macro, "Ns")}


def help_text(command):
    return run(TENSILEFS, *command, "--help").stdout


def help_options(command):
    """Long options of a command and the short ones that its help names."""
    text = help_text([command])
    options = {f"-{name}" for name in re.findall(r"^  --([\w-]+)", text, re.M)}
    return options | set(re.findall(r"\(-(\w)\b", text)) | set(re.findall(r"\[-(\w)\b", text.splitlines()[0]))


def commands():
    return set(re.findall(r"^tensilefs ([a-z]+) ", help_text([]), re.M))


class CommandPage(unittest.TestCase):
    def setUp(self):
        self.page = sections(COMMANDS.read_text(), "Sh")
        self.commands = sections(self.page["COMMANDS"], "Ss")
        self.options = self.page["OPTIONS"]

    def synopsis(self, command):
        """The options of a command, from the lines before its text begins."""
        lines = self.commands[command].split("\n.Pp\n")[0]
        flags = set(re.findall(r"Fl (\S+)", lines)) | set(re.findall(r"\| (-\S+)", lines))
        for group, title in GROUPS.items():
            if f".Op Ar {group}" in lines:
                flags |= described(sections(self.options, "Ss")[title])
        return flags

    def test_it_has_every_command(self):
        self.assertEqual(set(self.commands), commands())

    def test_it_has_the_options_of_each_command(self):
        for command in commands():
            with self.subTest(command):
                self.assertEqual(self.synopsis(command), help_options(command) - {"-help"})

    def test_every_option_is_described(self):
        common = described(self.options)
        for command, text in self.commands.items():
            with self.subTest(command):
                self.assertEqual(self.synopsis(command) - described(text) - common, set())

    def test_it_has_what_the_cache_command_does(self):
        actions = re.search(r"tensilefs cache ([a-z|]+)", help_text(["cache"]))[1].split("|")
        self.assertEqual(set(actions) - set(re.findall(r"^\.It Cm (\w+)", self.commands["cache"], re.M)), set())

    def test_choices_of_an_option_are_named(self):
        for command in commands():
            for option in re.findall(r"^  --([\w-]+) KIND", help_text([command]), re.M):
                with self.subTest(option):
                    message = run(TENSILEFS, command, f"--{option}", "nonsense").stdout
                    for choice in re.findall(r"'([\w-]+)'", message.partition("is not one of")[2]):
                        self.assertRegex(COMMANDS.read_text(), rf"(?m)^\.Cm {choice}\b")


class FirstHelp(unittest.TestCase):
    """`tensilefs --help`, before any command: all options, but for those of the emulator."""

    def test_it_names_every_option(self):
        named = set(re.findall(r"(?<![\w-])--?[\w-]+", help_text([])))
        for command in commands() - {"run"}:
            with self.subTest(command):
                self.assertEqual({f"-{flag}" for flag in help_options(command)} - named, {"--help"} - named)


class MountPage(Scratch):
    def test_it_has_every_mount_option(self):
        text = help_text(["mount"])
        listed = text[text.index("--options"):text.index("--help")].splitlines()[1:]
        options = {re.match(r" *([\w-]*)", line)[1] for line in listed} - {""}
        options |= {name[1:] for name in help_options("mount") if len(name) > 1} - {"help", "foreground", "options"}
        items = re.findall(r"^\.It (Cm .*)$", MOUNT.read_text(), re.M)
        self.assertEqual(options - {word for item in items for word in re.split(r"[ ,]+", item)}, set())

    @need_fuse
    def test_it_has_the_control_folder_and_the_attributes(self):
        page, mount = MOUNT.read_text(), self.folder / "mnt"
        mount.mkdir()
        self.do(TENSILEFS, "mount", SAMPLES, mount)
        try:
            for name in os.listdir(mount / ".tensilefs"):
                self.assertRegex(page, rf"(?m)^\.It Pa \.tensilefs/{name}\b")
            artifact = next((mount / "gfx942").glob("*.co"))
            artifact.read_bytes()
            for name in os.listxattr(artifact):
                self.assertIn(f".It Va {name}\n", page)
            self.assertGreater(len(os.listxattr(artifact)), 3)
        finally:
            self.do("fusermount3", "-u", mount)


class LogicPage(unittest.TestCase):
    def setUp(self):
        self.page = LOGIC.read_text()
        self.parts = sections(self.page, "Ss")

    def test_every_parameter_has_its_role(self):
        table = (SOURCE / "build/logic/parameters.inc").read_text()
        roles = dict(re.findall(r"^PARAMETER\((\w+), .*, (\w+), \w+\)$", table, re.M))
        of = lambda role: {key for key, its in roles.items() if its == role}
        unread = set(re.findall(r"^(?:DERIVED|LEGACY|OTHER)\((\w+)\)$", table, re.M))
        self.assertEqual(words(self.parts["Semantic parameters"], "Va"), of("SEMANTIC"))
        self.assertEqual(words(self.parts["Parameters for the host"], "Va"), of("HOST"))
        self.assertEqual(words(self.parts["Hints"], "Va"), of("HINT") | of("IGNORED"))
        self.assertEqual(words(self.parts["Parameters that are not read"].split("\n.Sh ")[0], "Va"), unread)
        self.assertGreater(len(roles), 100)

    def test_every_key_of_a_problem_is_there(self):
        source = (SOURCE / "build/logic/problem.c").read_text()
        keys = dict(re.findall(r'^\t\{ "(\w+)", ([A-Z]+)\b', source, re.M))
        ignored = {key for key, kind in keys.items() if kind == "IGNORED"}
        items = "\n".join(line for line in self.parts["Keys that count"].splitlines() if line.startswith(".It"))
        self.assertEqual(words(items, "Va"), set(keys) - ignored)
        self.assertEqual(words(self.parts["Keys that do not count"].split("\n.Sh ")[0], "Va"), ignored)

    def test_every_type_of_data_is_there(self):
        source = (SOURCE / "build/logic/types.c").read_text()
        for number, letters, name in re.findall(r'\[(\d+)\] = \{ "(\w+)", "(\w+)"', source):
            self.assertIn(f".It {number} Ta {letters} Ta {name}\n", self.page)


class Examples(Scratch):
    """What stands under EXAMPLES after a $ is run."""

    def setUp(self):
        super().setUp()
        (self.folder / "logic").symlink_to(SAMPLES)
        # in the place of a program that uses hipBLASLt
        program = self.folder / "your-program"
        program.write_text('#!/bin/sh\nexec test -s "$HIPBLASLT_TENSILE_LIBPATH/TensileLibrary_lazy_gfx942.dat"\n')
        program.chmod(0o755)
        self.environment["PATH"] += f":{self.folder}"

    def run_examples(self, page):
        text = sections(page.read_text(), "Sh")["EXAMPLES"].replace(r"\e", "\\")
        lines = re.findall(r"^\$ (.*)$", text, re.M)
        self.assertGreater(len(lines), 2)
        self.do("bash", "-exc", "\n".join(lines))

    @need_fuse
    @need("getfattr", "fusermount3")
    def test_the_commands_do_what_they_are_for(self):
        self.addCleanup(run, "fusermount3", "-uqz", self.folder / "mnt")
        self.run_examples(COMMANDS)

    def test_the_logic_file_is_built_and_proven(self):
        literal = re.search(r"^\.Bd -literal[^\n]*\n(- \{.*?)^\.Ed", LOGIC.read_text(), re.M | re.S)[1]
        (self.folder / "example.yaml").write_text(literal)
        self.run_examples(LOGIC)


class Form(unittest.TestCase):
    @need("mandoc")
    def test_no_page_has_a_fault(self):
        for page in PAGES.values():
            faults = run("mandoc", "-T", "lint", page).stdout.splitlines()
            # which pages are installed where the test runs says nothing about ours
            faults = [line for line in faults if "referenced manual not found" not in line and "outdated mandoc.db" not in line]
            self.assertEqual(faults, [])


main()
