#!/usr/bin/env python3
"""What scripts/gpu-day does with steps that end well, fail, crash, or are done:
on a CPU, and with programs that only say what tests would.

The environment says where the programs are: HIPPO_BUILD.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

# As a test program of three tests, of which the second one crashes.
CRASHING = """#!/bin/sh
case $* in *-*B.crashes*) wanted=B.last ;; *) wanted=B.crashes ;; esac
if [ $wanted = B.crashes ]; then
  echo "[ RUN      ] B.first"
  echo "[       OK ] B.first (1 ms)"
  echo "[ RUN      ] B.crashes"
  exit 139
fi
echo "[ RUN      ] B.last"
echo "[  FAILED  ] B.last, where GetParam() = 3 (1 ms)"
echo "[----------] Global test environment tear-down"
exit 1
"""


class GpuDay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-gpu-day-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def day(self, *args, code=0, programs=None):
        done = subprocess.run(
            [sys.executable, "-B", ROOT / "scripts/gpu-day", "--device", "cpu",
             "--brief", "--programs", programs or os.environ["HIPPO_BUILD"],
             "--out", self.folder / "out", *args],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=100)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def found(self):
        return json.loads((self.folder / "out/state.json").read_text())

    def test_what_is_done_is_not_done_again(self):
        said = self.day("facts", "kernels")
        for name in "facts", "kernels":
            self.assertEqual(self.found()[name]["how"], "done", said)
        self.assertRegex(self.found()["kernels"]["said"], r"^\d+ tests pass$")
        self.assertIn("$ ", (self.folder / "out/kernels.log").read_text())
        self.assertNotIn("kernels:", self.day("kernels"))
        self.assertIn("kernels:", self.day("kernels", "--again"))

    def test_a_call_begins_only_what_it_can_end(self):
        said = self.day("kernels", "--minutes", "0.1")
        self.assertIn("call again for: kernels", said)

    def test_what_crashes_is_named_and_the_others_run(self):
        programs = self.folder / "bin"
        programs.mkdir()
        for name in "hippo", "hippo-trainer", "training_tests":
            (programs / name).write_text(CRASHING)
            (programs / name).chmod(0o755)
        self.day("lanes", "promise", code=1, programs=self.folder)
        self.assertEqual(
            self.found()["lanes"]["said"],
            "2 of 3 tests fail: B.crashes (crashes), B.last")
        summary = (self.folder / "out/summary.txt").read_text()
        self.assertLess(summary.index("failed   lanes"),
                        summary.index("skipped  promise"))

    def test_a_step_that_is_none_is_refused(self):
        self.assertIn("no step 'kernel'; there are: facts, kernels",
                      self.day("kernel", code=2))


if __name__ == "__main__":
    unittest.main()
