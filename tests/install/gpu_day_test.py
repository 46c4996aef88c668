#!/usr/bin/env python3
"""What scripts/gpu-day does with steps that end well, fail, crash, or are done:
on a CPU, and with programs that only say what tests would.

The environment says where the programs are: HIPPO_BUILD.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]

# As a test program of four tests, of which the second one crashes and the
# third one is skipped.
CRASHING = """#!/bin/sh
case $* in
  *--gtest_list_tests*)
    printf '%s\\n' B/Resume. '  mlp_a  # GetParam() = 1' '  mlp_crashes'
    printf '%s\\n' '  mlp_skipped' '  mlp_last' '  other'
    exit ;;
  *mlp_crashes*)
    echo "[ RUN      ] B/Resume.mlp_a"
    echo "[       OK ] B/Resume.mlp_a (1 ms)"
    echo "[ RUN      ] B/Resume.mlp_crashes"
    exit 139 ;;
  *mlp_a*|*other*)
    echo "was not to be run: $*"
    exit 1 ;;
esac
echo "[ RUN      ] B/Resume.mlp_skipped"
echo "file.cpp:12: Skipped"
echo "there is no such engine"
echo "[  SKIPPED ] B/Resume.mlp_skipped (0 ms)"
echo "[ RUN      ] B/Resume.mlp_last"
echo "[LAST] B/Resume.mlp_last, where GetParam() = 3 (1 ms)"
echo "[----------] Global test environment tear-down"
echo "[  SKIPPED ] 1 test, listed below:"
echo "[  SKIPPED ] B/Resume.mlp_skipped"
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
            timeout=280)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def found(self):
        return json.loads((self.folder / "out/state.json").read_text())

    def test_what_is_done_is_not_done_again(self):
        build = pathlib.Path(os.environ["HIPPO_BUILD"])
        # Some tests of a program that has many.
        self.stand_for_tests(
            f"#!/bin/sh\nexec {build}/tests/train/cuda_kernels_tests "
            "--gtest_filter='CudaConvolutionPlan.*' \"$@\"\n")
        said = self.day("facts") + self.day("kernels", programs=self.folder)
        for name in "facts", "kernels":
            self.assertEqual(self.found()[name]["how"], "done", said)
        self.assertRegex(self.found()["kernels"]["said"], r"^\d+ tests pass$")
        self.assertIn("$ ", (self.folder / "out/kernels.log").read_text())
        for flags, done in ([], False), (["--again"], True):
            said = self.day("kernels", *flags, programs=self.folder)
            self.assertEqual("kernels:" in said, done, said)

    def test_a_call_begins_only_what_it_can_end(self):
        said = self.day("kernels", "--minutes", "0.1")
        self.assertIn("call again for: kernels", said)

    def stand_for_tests(self, text):
        """Lets a program stand for the tests of training."""
        for name in ("hippo", "hippo-trainer", "training_tests",
                     "cuda_kernels_tests"):
            path = self.folder / "bin" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)

    def test_what_crashes_is_named_and_the_others_run(self):
        self.stand_for_tests(CRASHING.replace("LAST", "  FAILED  "))
        self.day("resume", "promise", code=1, programs=self.folder)
        self.assertEqual(
            self.found()["resume"]["said"], "2 of 3 tests fail: "
            "B/Resume.mlp_crashes (crashes), B/Resume.mlp_last")
        summary = (self.folder / "out/summary.txt").read_text()
        self.assertLess(summary.index("failed   resume"),
                        summary.index("skipped  promise"))
        self.assertIn("needs a GPU", summary)

    def test_a_summary_says_why_tests_were_skipped(self):
        self.stand_for_tests(CRASHING.replace("exit 139", "")
                      .replace("LAST", "       OK "))
        self.day("resume", programs=self.folder)
        self.assertIn("2 tests pass; 1 skipped: there is no such engine",
                      (self.folder / "out/summary.txt").read_text())

    def test_tests_that_are_not_there_are_told(self):
        self.stand_for_tests(CRASHING)
        self.day("snapshots", code=1, programs=self.folder)
        self.assertEqual(self.found()["snapshots"]["said"],
                         "training_tests has no test '*Snapshot*mlp*'")

    def test_images_are_the_same_everywhere(self):
        script = ROOT / "scripts/make-images"
        subprocess.run([sys.executable, script, self.folder / "images"],
                       check=True)
        self.assertEqual(
            [hashlib.sha256((self.folder / "images" / f"train-{name}-ubyte")
                            .read_bytes()).hexdigest()[:16]
             for name in ("images-idx3", "labels-idx1")],
            ["d4a3a24f87f702bd", "d171e3d202d16b20"])

    def test_a_step_that_is_none_is_refused(self):
        self.assertIn("no step 'kernel'; there are: facts, kernels",
                      self.day("kernel", code=2))


if __name__ == "__main__":
    unittest.main()
