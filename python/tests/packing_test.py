"""How the code that a study brings gets into its text."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

import hippo_hpo as hippo
from hippo_hpo._packing import BYTES_MAX, DIVIDER, pack, study_of
from hippo_hpo.errors import Error, InvalidStudy

HIPPO = os.environ.get("HIPPO", "")

STUDY = """study: s
workload: {workload}
objective: {{metric: total, direction: minimize}}
max_steps: 4
space: {{lr: {{choice: [0.1, 0.2]}}}}
algorithm: grid
"""


class Packing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, content="", mode=0o644):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes)
                       else content.encode())
        os.chmod(path, mode)

    def pack(self, workload):
        """Returns the text of a study and the code beside it."""
        text = STUDY.format(workload=workload)
        packed = pack(text, "s.yaml", self.folder)
        self.assertEqual(study_of(packed), text)
        return packed, json.loads(packed.partition(DIVIDER)[2])

    def test_what_brings_no_code_stays(self):
        for text in ("", "not: [yaml", "- a", "workload: fashion-mlp",
                     "workload: {name: fashion-mlp, seed: 1}", "a\n---\nb",
                     STUDY.format(workload="toy")):
            self.assertEqual(pack(text, "s.yaml", self.folder), text)
            self.assertEqual(study_of(text), text)

    def test_a_class(self):
        self.write("train.py", "# caf\u00e9\n")
        self.write("lib/data.bin", b"\xff\x00")
        self.write("run", "#!/bin/sh\n", 0o755)
        packed, code = self.pack("{python: ./train.py:Net, files: "
                                 "[lib/data.bin, run, ../x, absent], "
                                 "packages: [pycapnp, no-such-package]}")
        self.assertEqual(code["files"], {
            "train.py": {"text": "# caf\u00e9\n"},
            "lib/data.bin": {"hex": "ff00"},
            "run": {"text": "#!/bin/sh\n", "executable": True}})
        self.assertEqual(code["versions"]["python"], sys.version.split()[0])
        self.assertIn("hippo-hpo", code["versions"])
        self.assertTrue(code["versions"]["pycapnp"])
        self.assertEqual(code["versions"]["no-such-package"], "")
        self.assertNotIn("python", code)
        self.assertEqual(pack(packed, "s.yaml", self.folder), packed)

    def test_an_initial_state(self):
        """Names and digests of its files, whatever the place."""
        self.write("train.py")
        self.write("w.pt", "weights")
        self.write("base/config.json", "{}")
        self.write("base/deep/w", "weights")
        digest = hashlib.sha256(b"weights").hexdigest()
        _, code = self.pack("{python: train.py, from: w.pt}")
        self.assertEqual(code["initial"], {
            "files": {"state.pt": {"sha256": digest, "bytes": 7}},
            "folder": False,
            "path": os.path.realpath(os.path.join(self.folder, "w.pt"))})
        packed, code = self.pack("{python: train.py, from: base}")
        self.assertEqual(code["initial"]["files"]["deep/w"],
                         {"sha256": digest, "bytes": 7})
        self.assertEqual(set(code["initial"]["files"]),
                         {"config.json", "deep/w"})
        self.assertTrue(code["initial"]["folder"])
        self.assertEqual(pack(packed, "s.yaml", self.folder), packed)
        _, code = self.pack("{python: train.py}")
        self.assertNotIn("initial", code)

    def test_the_state_of_a_trial(self):
        self.write("train.py")
        self.write("fetched.pt", "weights")
        asked = []

        def fetch(source):
            asked.append(source)
            return os.path.join(self.folder, "fetched.pt")
        text = "study: s\nworkload: {python: train.py, from: %s}\n"
        source = "{study: s, trial: 1, step: 2}"
        packed = pack(text % source, "s.yaml", self.folder, fetch)
        self.assertEqual(asked, [{"study": "s", "trial": 1, "step": 2}])
        self.assertIn(hashlib.sha256(b"weights").hexdigest(), packed)
        with self.assertRaisesRegex(InvalidStudy, "must have study, trial and "
                                                  "step, found study, stp"):
            pack(text % "{study: s, stp: 1}", "s.yaml", self.folder, fetch)

        def refuse(source):
            raise Error("study s has no trial 1")
        with self.assertRaisesRegex(
                InvalidStudy, "s.yaml: workload.from: study s has no trial 1"):
            pack(text % source, "s.yaml", self.folder, refuse)

    def test_what_cannot_be_an_initial_state(self):
        self.write("train.py")
        os.mkdir(os.path.join(self.folder, "empty"))
        self.write("linked/w", "weights")
        os.symlink("/etc/hostname", os.path.join(self.folder, "linked", "out"))
        self.write("piped/w", "weights")
        os.mkfifo(os.path.join(self.folder, "piped", "pipe"))
        for source, why in (
                ("nowhere", "is not there"), ("empty", "has no files"),
                ("linked", "is a link that leads to /etc/hostname: copy the "
                           "folder with cp -rL"),
                ("piped", "is no file but a pipe"),
                ("{study: s, trial: 1, step: 2}", "hippo submit"),
                ("s3://bucket/base", "hippo submit")):
            with self.assertRaisesRegex(InvalidStudy,
                                        "s.yaml: workload.from: .*" + why):
                self.pack(f"{{python: train.py, from: {source}}}")

    def test_a_link_out_of_the_folder(self):
        with tempfile.TemporaryDirectory() as other:
            secret = os.path.join(other, "secret")
            with open(secret, "w", encoding="utf-8") as file:
                file.write("mine")
            os.symlink(other, os.path.join(self.folder, "lib"))
            os.symlink(secret, os.path.join(self.folder, "near"))
            for name in ("near", "lib/secret"):
                with self.assertRaisesRegex(
                        InvalidStudy, f"the file '{name}' is a symbolic link "
                        f"that leads to {os.path.realpath(secret)}, out of"):
                    self.pack(f"{{python: train.py, files: [{name}]}}")
        self.write("train.py", "x")
        os.symlink("train.py", os.path.join(self.folder, "inside.py"))
        _, code = self.pack("{python: inside.py, files: [near]}")
        self.assertEqual(code["files"], {"inside.py": {"text": "x"}})

    def test_what_is_no_file_is_not_waited_for(self):
        os.mkfifo(os.path.join(self.folder, "pipe"))
        self.assertEqual(self.pack("{files: [pipe]}")[1]["files"], {})

    def test_programs(self):
        self.write("mine", "x")
        self.assertEqual(self.pack("{command: [./mine, --flag]}")[1],
                         {"files": {"mine": {"text": "x"}}, "versions": {}})
        self.assertEqual(self.pack("{files: [mine]}")[1]["files"],
                         {"mine": {"text": "x"}})
        self.assertEqual(self.pack("{command: [julia, mine]}")[1]["files"], {})

    def test_another_interpreter(self):
        self.write("train.py")
        self.write("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n', 0o755)
        code = self.pack("{python: train.py, python_executable: ./python}")[1]
        self.assertEqual(code["python"], os.path.join(self.folder, "python"))
        self.assertEqual(code["versions"]["python"], sys.version.split()[0])
        for name in ("./absent", "/bin/false"):
            with self.assertRaisesRegex(hippo.InvalidStudy,
                                        "s.yaml: workload: .* cannot run "
                                        "workloads: .*Install Hippo's Python"):
                self.pack(f"{{python: train.py, python_executable: {name}}}")

    def test_too_much(self):
        for size in (BYTES_MAX, 3 * BYTES_MAX):
            self.write("train.py", "x" * size)
            with self.assertRaisesRegex(hippo.InvalidStudy,
                                        "more than 1048576 bytes together"):
                self.pack("{python: train.py}")

    @unittest.skipUnless(os.path.exists(HIPPO), "HIPPO names no program")
    def test_hippo_reads_it(self):
        self.write("train.py", "# \u2028 \U0001f600 \x1b \x7f\n")
        packed, _ = self.pack("{python: train.py:Net, packages: [pycapnp]}")
        self.write("packed.yaml", packed)
        done = subprocess.run(
            [HIPPO, "preview", "-f", "json",
             os.path.join(self.folder, "packed.yaml")],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["asked_steps"], 8)


if __name__ == "__main__":
    unittest.main()
