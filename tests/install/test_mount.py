# SPDX-License-Identifier: MIT
"""mount(8), fstab and the automounter mount by name; the lines are those of the man page's examples."""
import re
import shlex
import unittest

from common import SAMPLES, SOURCE, TENSILEFS, Scratch, main, need, need_fuse, need_root, run

PAGE = (SOURCE / "data/man/mount.fuse.tensilefs.8").read_text()

# In a mount namespace, mount(8) finds the program under test as its helper, and nothing that is mounted outlives the test.
WORLD = """
mount -t tmpfs tmpfs over
mkdir over/upper over/work
helpers=$(readlink -f /sbin)
mount -t overlay overlay -o lowerdir=$helpers,upperdir=over/upper,workdir=over/work $helpers
ln -sf "$TENSILEFS" $helpers/mount.fuse.tensilefs
not() { if "$@"; then return 1; fi; }
"""

can_isolate = run("unshare", "--mount", "--propagation", "private", "sh", "-c",
                  "mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w && mount -t overlay overlay -o lowerdir=/sbin,upperdir=/mnt/u,workdir=/mnt/w /mnt"
                  ).returncode == 0


@need_root
@need_fuse
@need("mount", "unshare")
@unittest.skipUnless(can_isolate, "no mount namespaces or no overlay here")
class Mount(Scratch):
    def setUp(self):
        super().setUp()
        self.environment["TENSILEFS"] = TENSILEFS
        for name in ("over", "mnt"):
            (self.folder / name).mkdir()

    def here(self, text):
        """An example with the places of this test."""
        return text.replace("/srv/logic", str(SAMPLES)).replace("/mnt/tensile", f"{self.folder}/mnt").replace("/var/cache", f"{self.folder}/cache") \
            .replace("/kernels ", f"{self.folder}/kernels ").replace("/etc/auto.", f"{self.folder}/auto.")

    def isolated(self, script, status=0):
        return self.do("timeout", "40", "unshare", "--mount", "--propagation", "private", "bash", "-ec", WORLD + script, status=status)

    def examples(self, pattern):
        found = re.findall(pattern, PAGE, re.M)
        self.assertTrue(found, pattern)
        return [self.here(line) for line in found]

    def test_mount_by_type(self):
        commands = self.examples(r"^# (u?mount .*)$")
        self.isolated(f"""
            {commands[0]}
            test -s mnt/gfx942/TensileManifest.txt
            findmnt -n -o FSTYPE,SOURCE,OPTIONS mnt
            {commands[1]}
            not mountpoint -q mnt""")

    def test_lines_of_fstab(self):
        for line in self.examples(r"^(/srv/logic .* 0 0)$"):
            with self.subTest(line):
                (self.folder / "fstab").write_text(line + "\n")
                text = self.isolated("mount -T fstab $PWD/mnt; ls mnt/gfx942; findmnt -n -o FSTYPE,OPTIONS mnt; umount mnt")
                self.assertIn("TensileManifest.txt", text)
                self.assertRegex(text, r"fuse\.tensilefs +ro,")

    def test_what_mount_and_fstab_may_say(self):
        options = "rw,ro,dev,nodev,suid,nosuid,exec,noexec,async,atime,noatime,nofail,_netdev,user,auto,noauto,x-any.thing=1,relatime,comment=a"
        (self.folder / "fstab").write_text(f"{SAMPLES} {self.folder}/mnt fuse.tensilefs {options},no-cache 0 0\n")
        self.assertIn("gfx942", self.isolated("mount -T fstab $PWD/mnt; ls mnt; umount mnt"))

    def test_mounting_all_heeds_noauto(self):
        (self.folder / "other").mkdir()
        (self.folder / "fstab").write_text(f"{SAMPLES} {self.folder}/mnt fuse.tensilefs no-cache 0 0\n"
                                           f"{SAMPLES} {self.folder}/other fuse.tensilefs noauto,no-cache 0 0\n")
        self.isolated("mount -a -T fstab; mountpoint -q mnt; not mountpoint -q other; umount mnt")

    def test_a_rehearsal_mounts_nothing(self):
        self.isolated(f"mount -f -t fuse.tensilefs {shlex.quote(str(SAMPLES))} mnt; not mountpoint -q mnt")

    def test_a_mistake_is_told(self):
        text = self.isolated("mount -t fuse.tensilefs -o no-cache /no/such/logic mnt", status=1)
        self.assertIn("/no/such/logic", text)
        text = self.isolated(f"mount -t fuse.tensilefs -o no-cache,frobnicate {shlex.quote(str(SAMPLES))} mnt", status=1)
        self.assertIn("frobnicate", text)

    @need("automount")
    @unittest.skipUnless("autofs" in open("/proc/filesystems").read(), "no autofs in this kernel")
    def test_the_automounter_mounts_and_lets_go(self):
        master, entry = self.examples(r"^(/kernels .*)$")[0], self.examples(r"^(aquavanjaram .*)$")[0]
        (self.folder / "auto.master").write_text(re.sub(r"timeout=\d+", "timeout=1", master) + "\n")
        (self.folder / "auto.tensilefs").write_text(entry + "\n")
        self.isolated("""
            mkdir kernels
            # in a process group of its own: to those of its group it shows an empty folder
            setsid automount -f -v --pid-file $PWD/pid $PWD/auto.master &
            trap 'kill %1; wait' EXIT
            until grep -q " $PWD/kernels autofs " /proc/mounts; do sleep 0.1; done
            test -s kernels/aquavanjaram/gfx942/TensileManifest.txt
            grep -q " $PWD/kernels/aquavanjaram fuse.tensilefs " /proc/mounts
            # once unused it goes, and stays away: its own end does not call it back
            while grep -q " $PWD/kernels/aquavanjaram " /proc/mounts; do sleep 0.1; done
            sleep 1
            not grep -q " $PWD/kernels/aquavanjaram " /proc/mounts
            test -s kernels/aquavanjaram/gfx942/TensileManifest.txt""")


main()
