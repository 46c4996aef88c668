"""Packs the build for Debian, and looks into the package.

The environment says where the build is: HIPPO_BUILD. To install it into a
fresh root file system: scripts/try-deb.
"""

import gzip
import os
import pathlib
import re
import subprocess
import tempfile
import unittest


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hippo-deb-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run(
            ["cpack", "--config",
             os.path.join(os.environ["HIPPO_BUILD"], "CPackConfig.cmake"),
             "-B", cls.folder], check=True, stdout=subprocess.DEVNULL)
        cls.package, = cls.folder.glob("*.deb")
        cls.root = cls.folder / "root"
        subprocess.run(["dpkg-deb", "-x", cls.package, cls.root], check=True)

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.package, name],
                              check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def output(self, *command):
        return subprocess.run(command, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def test_what_it_says(self):
        self.assertEqual("hippo", self.field("Package"))
        self.assertRegex(self.package.name, r"^hippo_[\d.]+_\w+\.deb$")
        needs = self.field("Depends")
        for name in ("libc6", "libcaf-core", "libcapnp", "libcurl4",
                     "libsqlite3", "passwd"):
            self.assertIn(name, needs)

    def test_what_it_holds(self):
        found = {str(x.relative_to(self.root))
                 for x in self.root.rglob("*") if x.is_file()}
        self.assertEqual({
            "usr/bin/hippo", "usr/lib/systemd/system/hippo.service",
            "usr/lib/systemd/system/hippo-trainer.service",
            "usr/share/doc/hippo/copyright"},
            {x for x in found if "/man/" not in x})
        verbs = re.findall(
            r"(?m)^  ([a-z]+)  ",
            self.output(self.root / "usr/bin/hippo", "--help"))
        self.assertGreater(len(verbs), 30)
        for name in ["hippo", "hippo-keys-add",
                     *("hippo-" + x for x in verbs)]:
            self.assertIn(f"usr/share/man/man1/{name}.1.gz", found)
        page = gzip.decompress((
            self.root / "usr/share/man/man1/hippo-run.1.gz").read_bytes())
        self.assertIn(rb"hippo\-run \- Run studies on this machine", page)
        self.assertIn(rb"\-\-trainers", page)

    def test_units_start_what_there_is(self):
        units = self.root / "usr/lib/systemd/system"
        text = (units / "hippo.service").read_text().replace("\\\n", " ")
        words = re.search("(?m)^ExecStart=(.*)$", text)[1].split()
        program = self.root / words[0].lstrip("/")
        known = subprocess.run([program, words[1], "--help"], check=True,
                               text=True, stdout=subprocess.PIPE).stdout
        for word in words:
            if word.startswith("--"):
                self.assertIn(word + " ", known)

    def test_scripts_are_scripts(self):
        subprocess.run(["dpkg-deb", "-e", self.package,
                        self.folder / "control"], check=True)
        for name in "postinst", "prerm":
            script = self.folder / "control" / name
            self.assertEqual(0o755, script.stat().st_mode & 0o777)
            subprocess.run(["sh", "-n", script], check=True)


if __name__ == "__main__":
    unittest.main()
