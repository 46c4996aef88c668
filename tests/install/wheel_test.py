#!/usr/bin/env python3
"""scripts/wheel: what its wheels hold, and that they work once installed.

The environment says where the build and LibTorch are: HIPPO_BUILD, HIPPO_TORCH.
"""

import email
import gzip
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).parents[2]
VENV = ROOT / ".cache/python-venv/bin"

STUDY = """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    state = {"x": 0.0}
    for step in ctx.steps(state=state):
        state["x"] += ctx.hp.lr(step)
        yield lambda: {"x": state["x"]}

if __name__ == "__main__":
    study = hippo.optimize(train, {"lr": hippo.choice(0.25, 0.5)}, max_steps=3,
                           objective={"x": "maximize"}, algorithm="grid",
                           trainers=1, progress=False)
    print(study.best_value)
"""


BUILT_IN = """
study: built-in
workload: {name: fashion-mlp, seed: 1}
objective: {metric: val_accuracy, direction: maximize}
max_steps: 2
space: {lr: {choice: [0.1, 0.2]}}
algorithm: grid
"""


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hippo-wheels-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        done = subprocess.run(
            [ROOT / "scripts/wheel", "--build", os.environ["HIPPO_BUILD"],
             cls.folder / "wheels"], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.wheels = sorted((cls.folder / "wheels").iterdir())
        # As pip would, but for what comes from an index.
        cls.site = cls.install("site", cls.wheels)
        (cls.site / "torch").symlink_to(os.environ["HIPPO_TORCH"])
        cls.client, = (x for x in cls.wheels if "trainer" not in x.name)
        cls.plain_site = cls.install("plain-site", [cls.client])

    @classmethod
    def install(cls, name, wheels):
        site = cls.folder / name
        subprocess.run(
            [VENV / "pip", "install", "--quiet", "--no-index", "--no-deps",
             "--disable-pip-version-check", "--target", site, *wheels],
            check=True)
        return site

    def run_there(self, *command, site=None, code=0):
        environment = {k: v for k, v in os.environ.items()
                       if not k.startswith(("HIPPO", "LD_"))}
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True,
            timeout=280,
            env={**environment, "PYTHONPATH": str(site or self.site)})
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stderr if code else done.stdout

    def test_names_and_requirements(self):
        self.assertEqual(2, len(self.wheels))
        requirements = {}
        for wheel in self.wheels:
            self.assertRegex(wheel.name, r"-py3-none-manylinux_2_\d+_x86_64")
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                meta, = (x for x in names if x.endswith("/METADATA"))
                about = email.message_from_bytes(archive.read(meta))
                requirements[about["Name"]] = about.get_all("Requires-Dist")
                for name in names:
                    self.assertNotRegex(name, "libtorch|libc10|/libc.so|tests")
        self.assertEqual({"hippo-hpo", "hippo-hpo-trainer"}, set(requirements))
        self.assertNotIn("torch", " ".join(
            x for x in requirements["hippo-hpo"] if "extra ==" not in x))
        version = re.search("(?m)^version = \"(.*)\"", (
            ROOT / "python/pyproject.toml").read_text())[1]
        self.assertIn(f"hippo-hpo=={version}",
                      requirements["hippo-hpo-trainer"])
        self.assertRegex(" ".join(requirements["hippo-hpo-trainer"]),
                         r"torch==\d+\.\d+\.\d+")

    def test_an_older_glibc_is_enough(self):
        for wheel in self.wheels:
            self.assertIn("-manylinux_2_28_x86_64.", wheel.name)
        self.assertRegex(" ".join(subprocess.run(
            [VENV / "python", "-m", "auditwheel", "show", self.client],
            env={**os.environ,
                 "LD_LIBRARY_PATH": self.site / "hippo_hpo/lib/hippo"},
            capture_output=True, text=True, check=True).stdout.split()),
            'the following platform tag: "manylinux_2_2[0-8]_x86_64"')
        # The trainer's other libraries are those of the package torch.
        files = [x for folder in ("bin", "lib/hippo")
                 for x in (self.site / "hippo_hpo" / folder).iterdir()]
        told = subprocess.run(["readelf", "--version-info", "--wide", *files],
                              capture_output=True, text=True, check=True)
        found = {tuple(map(int, x.split("."))) for x in
                 re.findall(r"GLIBC_([\d.]+)", told.stdout)}
        self.assertGreater(len(found), 3)
        self.assertLessEqual(max(found), (2, 28))
        # Nothing that they ask for is missing.
        for program in "hippo", "hippo-trainer", "hippo-trainer-plain":
            said = subprocess.run(
                ["ldd", "-r", self.site / "hippo_hpo/bin" / program],
                capture_output=True, text=True)
            self.assertNotRegex(said.stdout + said.stderr,
                                "undefined symbol|not found")

    def test_man_pages(self):
        pages = self.site / "share/man/man1"
        verbs = re.findall(r"(?m)^  ([a-z]+)  ", self.run_there(
            self.site / "bin/hippo", "--help"))
        self.assertGreater(len(verbs), 30)
        for verb in verbs:
            self.assertTrue((pages / f"hippo-{verb}.1.gz").exists(), verb)
        page = gzip.decompress((pages / "hippo-run.1.gz").read_bytes())
        self.assertIn(rb"hippo\-run \- Run studies on this machine", page)
        self.assertIn(rb"\-\-trainers", page)

    def test_programs_bring_their_libraries(self):
        for name in "hippo", "hippo-trainer":
            said = self.run_there("ldd", self.site / "hippo_hpo/bin" / name)
            self.assertNotIn("not found", said)
            self.assertNotIn(str(ROOT / "build"), said)
            for line in re.findall(r"=> (\S+) ", said):
                self.assertRegex(
                    line, rf"^({re.escape(str(self.site))}/|.*/"
                          r"lib(c|m|dl|rt|pthread|resolv|util|gcc_s)\.so)")
        self.assertIn("hippo", self.run_there(self.site / "bin/hippo",
                                              "--version"))
        self.assertIn("fashion-mlp", self.run_there(
            self.site / "bin/hippo-trainer", "--describe"))

    def test_studies_bring_their_code_without_libtorch(self):
        bin = self.plain_site / "hippo_hpo/bin"
        self.assertEqual({"hippo", "hippo-trainer-plain"},
                         {x.name for x in bin.iterdir()})
        for program in bin.iterdir():
            said = self.run_there("ldd", program, site=self.plain_site)
            self.assertNotRegex(said, "not found|torch|cuda|libgomp")
        self.assertLess(self.client.stat().st_size, 40e6)
        script = self.folder / "plain_study.py"
        script.write_text(STUDY)
        self.assertEqual("1.5\n", self.run_there(
            VENV / "python", script, site=self.plain_site))
        study = self.folder / "built-in.yaml"
        study.write_text(BUILT_IN)
        said = self.run_there(
            self.plain_site / "bin/hippo", "run", study, "--state",
            self.folder / "plain-state", site=self.plain_site, code=2)
        self.assertIn("pip install 'hippo-hpo[builtin]'", said)
        self.assertEqual("hippo-trainer", self.run_there(
            self.plain_site / "bin/hippo-trainer", "--version",
            site=self.plain_site).split()[0])

    def test_a_study_of_a_function(self):
        script = self.folder / "study.py"
        script.write_text(STUDY)
        self.assertEqual("1.5\n", self.run_there(VENV / "python", script))


if __name__ == "__main__":
    unittest.main()
