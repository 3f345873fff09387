# SPDX-License-Identifier: MIT
"""The systemd unit: as systemd judges it, and as it runs, locked in, under a systemd of its own."""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from common import BUILD, SAMPLES, SOURCE, TENSILEFS, Scratch, main, need, need_fuse, need_root, run

UNIT = BUILD / "data/systemd/tensilefs@.service"
SERVICE = "tensilefs@sample.service"


class Judged(Scratch):
    @need("systemd-analyze")
    def test_it_has_no_fault(self):
        """With its programs where they are before they are installed."""
        text = re.sub(r"\S+/tensilefs-premount", str(BUILD / "tools/tensilefs-premount"), UNIT.read_text())
        unit = self.folder / UNIT.name
        unit.write_text(re.sub(r"(?<=ExecStart=)\S+", TENSILEFS, text))
        self.assertEqual(self.do("systemd-analyze", "verify", "--man=no", unit), "")

    @need("systemd-analyze")
    def test_little_is_left_open(self):
        text = self.do("systemd-analyze", "security", "--offline=yes", "--no-pager", UNIT)
        self.assertLessEqual(float(re.search(r"Overall exposure level .*: ([\d.]+)", text)[1]), 1.0, text)


def can_boot():
    probe = run("unshare", "--mount", "--pid", "--fork", "--cgroup", "--uts", "--ipc", "--propagation", "private", "sh", "-c",
                "mount -t tmpfs tmpfs /run && mkdir /run/u /run/w /run/r && mount -t overlay overlay "
                "-o lowerdir=/,upperdir=/run/u,workdir=/run/w /run/r && mount -t cgroup2 cgroup2 /run/u")
    return probe.returncode == 0 and os.path.exists("/lib/systemd/systemd")


@need_root
@need_fuse
@need("systemctl", "nsenter", "unshare", "meson")
class Running(unittest.TestCase):
    """One systemd serves all of these tests."""

    @classmethod
    def setUpClass(cls):
        if not can_boot():
            raise unittest.SkipTest("no systemd can be booted here")
        log = tempfile.TemporaryFile("w+")
        cls.addClassCleanup(log.close)
        boot = subprocess.Popen([Path(__file__).with_name("boot.sh"), BUILD, SAMPLES], stdout=log, stderr=log)
        cls.addClassCleanup(boot.wait)
        cls.first = cls.find_first(boot)
        if not cls.first:
            log.seek(0)
            raise AssertionError(f"systemd did not come up: {log.read()}")
        cls.addClassCleanup(os.kill, cls.first, signal.SIGKILL)

    @staticmethod
    def find_first(boot):
        """The process that is PID 1 inside, once it is systemd: the only child of `unshare`."""
        while boot.poll() is None:
            for parent in run("pgrep", "-P", boot.pid, "unshare").stdout.split():
                for child in run("pgrep", "-P", parent).stdout.split():
                    if run("nsenter", "-t", child, "-m", "test", "-S", "/run/systemd/private").returncode == 0:
                        return int(child)
            time.sleep(0.05)
        return None

    def setUp(self):
        self.inside("systemctl", "is-system-running", "--wait", status=None)
        self.configure("LOGIC=/srv/logic")
        self.addCleanup(self.inside, "systemctl", "reset-failed", status=None)
        self.addCleanup(self.inside, "systemctl", "stop", SERVICE, status=None)

    def inside(self, *command, status=0):
        done = run("nsenter", "-t", self.first, "-m", "-p", "-u", "-i", "-C", "env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                   f"TENSILEFS_LINKER={os.environ['TENSILEFS_LINKER']}", *command)
        if status is not None:
            self.assertEqual(done.returncode, status, f"{command}:\n{done.stdout}\n{self.what_happened()}")
        return done.stdout

    def what_happened(self):
        return self.inside("sh", "-c", f"systemctl --no-pager --full status {SERVICE}; cat /run/log", status=None)

    def configure(self, logic):
        self.inside("sh", "-c", f"printf '%s\\n' {logic} MOUNTPOINT=/mnt/tensile OPTIONS=cache-size=1G >/etc/tensilefs/sample.conf")
        self.inside("sh", "-c", f"mkdir -p /run/systemd/system/{SERVICE}.d && "
                    f"printf '[Service]\\nStandardError=append:/run/log\\n' >/run/systemd/system/{SERVICE}.d/log.conf && systemctl daemon-reload")

    def main_process(self):
        return self.inside("systemctl", "show", "--property=MainPID", "--value", SERVICE).strip()

    def is_mounted(self):
        return " /mnt/tensile " in self.inside("cat", "/proc/1/mountinfo")

    def test_a_locked_in_service_serves_everybody(self):
        self.inside("systemctl", "start", SERVICE)
        # the same bytes as without walls
        self.inside("sh", "-ec", "cp -r /mnt/tensile/gfx942 /tmp/copy; tensilefs build --no-cache /srv/logic /tmp/built; "
                    "diff -r /tmp/built/gfx942 /tmp/copy")
        self.inside("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", "test -s /mnt/tensile/gfx942/TensileManifest.txt")

        pid = self.main_process()
        process = self.inside("cat", f"/proc/{pid}/status")
        for line in ("NoNewPrivs:\t1", "Seccomp:\t2", "CapBnd:\t0000000000000000", "CapEff:\t0000000000000000"):
            self.assertIn(line, process)
        self.assertNotRegex(process, r"Uid:\t0\b")
        self.assertEqual(re.findall(r"^ *(\w+):", self.inside("cat", f"/proc/{pid}/net/dev"), re.M), ["lo"])
        self.assertIn("Read-only", self.inside("nsenter", "-t", pid, "-m", "touch", "/usr/x", status=1))
        self.assertRegex(self.inside("cat", f"/proc/{pid}/mountinfo"), r" /var/cache/private/tensilefs rw,\S*noexec")
        self.assertEqual(self.inside("sh", "-c", "stat -c %a /var/cache/private/tensilefs; test -s /var/cache/tensilefs/data.mdb").strip(), "700")

        # an edit is seen from inside the walls, too
        self.inside("sh", "-c", "rm /srv/logic/gfx942/Equality/*; sleep 1; test $(ls /mnt/tensile/gfx942 | wc -l) -lt $(ls /tmp/copy | wc -l)")

        self.inside("systemctl", "stop", SERVICE)
        self.assertFalse(self.is_mounted())
        self.assertEqual(self.inside("systemctl", "is-failed", SERVICE, status=1).strip(), "inactive")

    def test_a_killed_service_comes_back(self):
        self.inside("systemctl", "start", SERVICE)
        before = self.main_process()
        self.inside("kill", "-9", before)
        self.inside("sh", "-c", f"for i in $(seq 100); do [ $(systemctl show --property=MainPID --value {SERVICE}) != {before} ] && "
                    f"systemctl -q is-active {SERVICE} && exit; sleep 0.1; done; exit 1")
        self.inside("sh", "-c", "test -s /mnt/tensile/gfx942/TensileManifest.txt && test $(grep -c ' /mnt/tensile ' /proc/1/mountinfo) = 1")

    def test_a_service_that_cannot_start_leaves_no_mount(self):
        self.configure("LOGIC=/no/such/logic")
        self.inside("systemctl", "start", SERVICE, status=1)
        self.inside("systemctl", "stop", SERVICE)
        self.assertFalse(self.is_mounted())
        self.assertIn("/no/such/logic", self.what_happened())

    @unittest.skipUnless(os.path.exists("/dev/autofs"), "no autofs in this kernel")
    def test_systemd_mounts_a_line_of_fstab_when_it_is_looked_at(self):
        page = (SOURCE / "data/man/mount.fuse.tensilefs.8").read_text()
        line = re.search(r"^/srv/logic .*x-systemd\.automount.*$", page, re.M)[0].replace("idle-timeout=10min", "idle-timeout=1s")
        self.inside("sh", "-ec", f"""
            ln -sf $(command -v tensilefs) /sbin/mount.fuse.tensilefs
            echo '{line}' >>/etc/fstab
            systemctl daemon-reload
            systemctl start mnt-tensile.automount
            test -s /mnt/tensile/gfx942/TensileManifest.txt
            grep -q ' /mnt/tensile fuse.tensilefs ' /proc/mounts
            while grep -q ' /mnt/tensile fuse.tensilefs ' /proc/mounts; do sleep 0.1; done
            sleep 1
            if grep -q ' /mnt/tensile fuse.tensilefs ' /proc/mounts; then exit 1; fi
            test -s /mnt/tensile/gfx942/TensileManifest.txt
            systemctl stop mnt-tensile.automount""")


class Premount(Scratch):
    """The program that mounts for the unit."""

    def setUp(self):
        super().setUp()
        self.program = BUILD / "tools/tensilefs-premount"

    @need_root
    @need_fuse
    def test_it_mounts_only_for_a_service_manager(self):
        text = self.do(self.program, SAMPLES, self.folder / "mnt", status=1)
        self.assertIn("NOTIFY_SOCKET", text)
        self.assertFalse(os.path.ismount(self.folder / "mnt"))

    @need_root
    @need_fuse
    def test_what_it_mounts_is_served_by_descriptor_until_it_is_unused(self):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(str(self.folder / "notify"))
        manager.settimeout(20)
        self.environment["NOTIFY_SOCKET"] = str(self.folder / "notify")
        mount = self.folder / "mnt"
        self.addCleanup(run, "umount", "-ql", mount)

        self.do(self.program, SAMPLES, mount)
        message, descriptors, _, _ = socket.recv_fds(manager, 1024, 1)
        self.assertEqual(message, b"FDSTORE=1\nFDNAME=mount")
        daemon = subprocess.Popen([TENSILEFS, "mount", "-f", "--no-cache", SAMPLES, f"/dev/fd/{descriptors[0]}"], pass_fds=descriptors,
                                  env=self.environment)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        os.close(descriptors[0])
        self.assertIn(b"READY=1\n", manager.recv(1024))
        with open(mount / "gfx942/TensileManifest.txt", "rb") as file:
            daemon.terminate()
            self.assertIn(b"lazy", file.read())
            self.assertIsNone(daemon.poll())
        self.assertEqual(daemon.wait(20), 0)

    def test_mistakes_are_named(self):
        self.do(self.program, SAMPLES, status=2)
        (self.folder / "full/logic").mkdir(parents=True)
        self.assertIn("not empty", self.do(self.program, SAMPLES, self.folder / "full", status=1))
        self.assertIn("/no", self.do(self.program, SAMPLES, "/no/such/mnt", status=1))

    def test_a_descriptor_that_is_not_fuse_is_refused(self):
        text = self.do("sh", "-c", f"exec '{TENSILEFS}' mount -f '{SAMPLES}' /dev/fd/5 5</dev/null", status=1)
        self.assertIn("'/dev/fd/5' is not /dev/fuse", text)


main()
