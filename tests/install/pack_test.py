"""Packs the build, moves the folder, and runs what is in it with a LibTorch
that is found at run time.

The environment says where things are: HIPPO_BUILD, HIPPO_TORCH.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
MEBIBYTE = 1 << 20


class Pack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hippo-pack-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        packed = cls.folder / "packed"
        cls.said = subprocess.run(
            [ROOT / "scripts/pack", "--build", os.environ["HIPPO_BUILD"],
             packed], check=True, text=True, stdout=subprocess.PIPE).stdout
        cls.moved = packed.rename(cls.folder / "moved")
        # Another path than that which the programs were built with.
        cls.torch = cls.folder / "torch"
        cls.torch.symlink_to(os.environ["HIPPO_TORCH"])

    def run_program(self, name, *args, code=0, **variables):
        """Runs a program with no environment but the given one.

        Returns:
            what it has written: to standard output, to standard error, and what
            of the latter began with the number of its process.
        """
        process = subprocess.Popen(
            [self.moved / "bin" / name, *map(str, args)], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", **variables})
        out, err = process.communicate(timeout=280)
        self.assertEqual(process.returncode, code, out + err)
        own = re.findall(rf"(?m)^ *{process.pid}:\s*(.*)$", err)
        return out, err, own

    def test_size(self):
        size = sum(x.stat().st_size for x in self.moved.rglob("*")
                   if x.is_file())
        self.assertLess(size, 90 * MEBIBYTE)
        self.assertRegex(self.said, r"packed: \d+ MiB, for LibTorch \d")

    def libraries(self, program, *args):
        """The files that the loader opens."""
        *_, own = self.run_program(program, *args, LD_DEBUG="files")
        return [x.removeprefix("calling init: ") for x in own
                if x.startswith("calling init: ")]

    def test_programs_bring_their_libraries(self):
        bundled = str(self.moved / "bin/../lib/hippo/")
        for program, args in [
                ("hippo", ["--help"]),
                ("hippo-trainer", ["--torch-dir", self.torch, "--describe"])]:
            loaded = self.libraries(program, *args)
            self.assertTrue(any("libcapnp" in x for x in loaded), loaded)
            for name in loaded:
                self.assertTrue(
                    name.startswith((bundled, str(self.torch)))
                    or re.search(
                        r"/(ld-linux|lib(c|m|dl|rt|pthread|resolv|util)\.so)",
                        name), name)

    def test_torch_of_a_folder(self):
        for args, variables in [
                ([f"--torch-dir={self.torch}"], {}),
                (["--torch-dir", self.torch], {"HIPPO_TORCH_DIR": "/nowhere"}),
                ([], {"HIPPO_TORCH_DIR": str(self.torch)})]:
            told, *_ = self.run_program("hippo-trainer", *args, "--describe",
                                        **variables)
            self.assertIn("fashion-mlp", {x["name"] for x in json.loads(told)})

    def test_torch_of_python(self):
        python = self.folder / "python"
        (python / "torch").mkdir(parents=True)
        (python / "torch/__init__.py").write_text("1 / 0  # too slow\n")
        (python / "torch/lib").symlink_to(self.torch / "lib")
        version = python / "torch/version.py"
        version.write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\n")
        self.run_program("hippo-trainer", "--describe", PYTHONPATH=str(python))
        version.write_text("__version__ = '2.1.0+cu121'\n")
        _, why, _ = self.run_program("hippo-trainer", "--describe", code=2,
                                     PYTHONPATH=str(python))
        self.assertIn("is 2.1.0, and this program needs 2.11.0", why)

    def test_no_torch(self):
        for args, expected in [
                (["--torch-dir", "/nowhere"], "no LibTorch (lib/libtorch_cpu"),
                (["--torch-dir"], "--torch-dir: give a folder")]:
            _, why, _ = self.run_program("hippo-trainer", *args, code=2)
            self.assertIn(expected, why)

    def test_what_is_in_the_way_stays(self):
        mine = self.folder / "mine"
        mine.mkdir()
        (mine / "letter").write_text("dear")
        done = subprocess.run(
            [ROOT / "scripts/pack", "--build", os.environ["HIPPO_BUILD"], mine],
            text=True, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty", done.stderr)
        self.assertEqual((mine / "letter").read_text(), "dear")


if __name__ == "__main__":
    unittest.main()
