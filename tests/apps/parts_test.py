#!/usr/bin/env python3
"""States of which a large part never changes: it is stored and sent once."""

import glob
import os
import pickle
import signal
import unittest

import programs
from initial_state_test import BUCKET, OBJECT_VENV, Rclone
from own_code import Serving, study
from programs import results, send

FROZEN_MIB = 12


class Parts(Serving):
    """A workload whose state is a frozen backbone and two numbers."""

    def setUp(self):
        super().setUp()
        self.change("        return dict(self.state)\n", f"""\
        frozen = random.Random(1).randbytes({FROZEN_MIB} << 20)
        return {{**self.state, "frozen": frozen}}
""")
        self.change("        self.state = dict(state)\n", """\
        self.state = {"w": state["w"], "v": state["v"]}
        assert len(state["frozen"]) == """ + f"{FROZEN_MIB} << 20\n")

    def files(self, state="state"):
        """The sizes of the checkpoints of a state folder."""
        return sorted((os.path.getsize(x) for x in glob.glob(
            self.path(state, "checkpoints", "*", "*.ckpt"))), reverse=True)

    def assert_shared(self, sizes, copies=1):
        self.assertGreaterEqual(len(sizes), 3)
        for size in sizes[:copies]:
            self.assertGreater(size, FROZEN_MIB << 20)
        for size in sizes[copies:]:
            self.assertLess(size, 2 << 20)

    def exported(self, *args):
        self.hippo(*args, "weights.bin")
        with open(self.path("weights.bin"), "rb") as file:
            state = pickle.load(file)
        os.remove(self.path("weights.bin"))
        self.assertEqual(len(state["frozen"]), FROZEN_MIB << 20)
        return state


class Local(Parts):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        case.run_study(study(), "state", "--trainers", 1)
        cls.trained = case.path("state")

    def test_parts_in_common_are_stored_once(self):
        """Results are those of each trial alone, the checkpoints have one copy
        of the frozen part, and states are exported from them."""
        report = self.assert_as_alone(study())
        self.assert_shared(self.files("shared"))
        best = report["studies"][0]["best"]
        state = self.exported("best", "s", "--state", "shared", "--export")
        self.assertEqual(state["w"] / 3, float(best["value"]))
        self.exported("export", "s", 1, "--state", "shared", "--step", 4,
                      "--weights")

    def test_a_later_study_shares_with_an_earlier_one(self):
        self.copied(self.trained)
        before = self.files()
        self.run_study(study("t", lr=0.3), "state", "--trainers", 1)
        after = self.files()
        self.assertGreater(len(after), len(before))
        self.assert_shared(after)

    def test_a_damaged_part_costs_training_and_no_result(self):
        wanted = results(self.run_study(study(steps=9), "whole", "--trainers",
                                        1)[0])
        self.copied(self.trained)
        for path in glob.glob(self.path("state", "checkpoints", "*",
                                        "*.ckpt")):
            if os.path.getsize(path) > FROZEN_MIB << 20:
                with open(path, "r+b") as file:
                    file.seek(5 << 20)
                    file.write(b"damage")
        report, _ = self.run_study({**study("t"), "max_steps": 9}, "state",
                                   "--trainers", 1)
        self.assertEqual(results(report)["t"], wanted["s"])

    def test_gc_keeps_what_others_need(self):
        self.copied(self.trained)
        self.hippo("gc", "--state", "state", "--checkpoint-budget", "14MB")
        self.assert_shared([*self.files(), 0, 0])
        self.hippo("gc", "--state", "state", "--checkpoint-budget", "0")
        self.assertEqual(self.files(), [])

    def test_a_backup_has_all_parts(self):
        self.copied(self.trained)
        self.hippo("backup", "copy", "--state", "state")
        self.hippo("restore", "copy", "--state", "again")
        self.assertEqual(self.files("again"), self.files())
        self.exported("best", "s", "--state", "again", "--export")


class Remote(Parts):
    def test_trainers_without_the_folder(self):
        """Two trainers that see no folder share parts with each other's states,
        through kills of one of them."""
        wanted = results(self.run_study(study(steps=9), "reference",
                                        "--trainers", 1)[0])
        self.after("import time", "time.sleep(0.05)")
        service = self.serve()
        first = self.trainer(around=self.elsewhere())
        self.trainer(around=self.elsewhere())
        self.submit(study(steps=9))
        programs.wait_for("a checkpoint", self.files)
        send(first, signal.SIGKILL)
        first.wait(programs.PATIENCE)
        self.trainer(around=self.elsewhere())
        self.await_end()
        send(service, signal.SIGTERM)
        service.wait(programs.PATIENCE)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        self.assertEqual(results(self.report("state"))["s"], wanted["s"])
        # Two may have begun before there was anything to share.
        self.assert_shared(self.files(), sum(
            x > FROZEN_MIB << 20 for x in self.files()[:2]))


@unittest.skipUnless(os.path.exists(os.path.join(OBJECT_VENV, "bin",
                                                 "rclone")),
                     "there is no rclone: run scripts/setup")
class Objects(Parts):
    def test_parts_lie_in_the_store(self):
        os.mkdir(self.path("store"))
        store = Rclone(OBJECT_VENV, self.path("store"))
        self.addCleanup(store.end)
        self.env.update({"AWS_ACCESS_KEY_ID": store.id,
                         "AWS_SECRET_ACCESS_KEY": store.secret,
                         "AWS_EC2_METADATA_DISABLED": "true"})
        wanted = results(self.run_study(study(), "reference", "--trainers",
                                        1)[0])
        report, _ = self.run_study(
            study(), "state", "--trainers", 1, "--checkpoints", f"s3://{BUCKET}/lab",
            "--s3-endpoint", f"http://127.0.0.1:{store.port}")
        self.assertEqual(results(report), wanted)
        top = self.path("store", "objects", BUCKET, "lab")
        sizes = sorted((os.path.getsize(x) for x in glob.glob(
            os.path.join(top, "**", "*.ckpt*"), recursive=True)),
            reverse=True)
        self.assert_shared(sizes)
        self.assertEqual(self.files(), [])
        self.exported("best", "s", "--state", "state", "--export")


if __name__ == "__main__":
    programs.main()
