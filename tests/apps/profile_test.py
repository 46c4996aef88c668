#!/usr/bin/env python3
"""`hippo profile`: how long training takes on this machine."""

import json

import programs
from own_code import OwnCode, study


class Profiles(OwnCode):
    def setUp(self):
        super().setUp()
        self.write("s.yaml", study())

    def test_what_is_measured_says_what_a_run_takes(self):
        said = self.hippo("profile", "s.yaml", "--trainers", 2, "-o",
                          "made.yaml").err
        self.assertIn("measures the values of the first trial", said)
        times = json.loads(self.hippo(
            "preview", "s.yaml", "--trainers", 2, "--profile", "made.yaml",
            "-f", "json").out)["times"]["merged"]
        self.assertGreater(times["wall_seconds"], 0)
        self.assertLess(times["wall_seconds"], times["device_seconds"])

    def test_trainers_do_not_share_a_gpu(self):
        said = self.hippo("profile", "s.yaml", "--trainers", 2, "--device",
                          "cuda:1", code=2).err
        self.assertIn("--trainers 2 with --device cuda:1", said)
        self.assertIn("leave --trainers out", said)

    def test_one_that_ends_beside_it_is_told(self):
        # The trainer is the parent of who watches over this process.
        self.after('above = open(f"/proc/{os.getppid()}/stat").read().split()',
                   'if "--repeat" in open(f"/proc/{above[3]}/cmdline").read():',
                   '    raise ValueError("no room for two")',
                   "time.sleep(0.3)  # the one that measures lasts longer",
                   head="import os\nimport time")
        said = self.hippo("profile", "s.yaml", "--trainers", 2, code=1).err
        self.assertIn("a trainer beside the one that measures has ended "
                      "(exit code 1)", said)
        self.assertIn("no room for two", said)


if __name__ == "__main__":
    programs.main()
