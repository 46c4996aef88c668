#!/usr/bin/env python3
"""Every way in which a run ends early: nothing runs on, nothing is lost."""

import os
import signal
import time

import programs
from programs import (SHA, Case, children, is_alive, results, send, study,
                      trainers, wait_for)

# One step of these takes about 25 ms, so that a run can be met in the middle.
TRAIN = 1024


class Leaving(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = case.studies(study("sha", SHA, every=2, train=TRAIN),
                                 study("grid", "grid", every=3, train=TRAIN))
        cls.reference = case.run_studies(cls.files, "state", "--trainers", 2)

    def start_run(self, *args, trainer_count=2):
        """@returns hippo in the middle of its run, and its trainers"""
        process = self.start("run", *self.files, "--state",
                             self.path("state"), "--trainers", trainer_count,
                             *args)
        self.first_trial(process)
        started = trainers(process.pid)
        self.assertEqual(len(started), trainer_count)
        return process, started

    def assert_gone(self, pids, seconds=10):
        wait_for("the trainers' end",
                 lambda: not any(map(is_alive, pids)), seconds)


class Interrupt(Leaving):
    def check(self, number):
        process, started = self.start_run()
        send(process, number)
        done = self.finish(process, 130)
        self.assertFalse(any(map(is_alive, started)))
        self.assertNotIn("died", done.err)
        self.assertIn("interrupted: the trainers finish", done.err)
        self.assertIn("go on with: hippo run --resume " + self.path("state"),
                      done.err)
        self.assert_nothing_half_written("state")
        first = self.report("state")
        self.assertIs(first["interrupted"], True)
        self.assertLess(first["delivered_steps"], first["asked_steps"])
        for x in first["studies"]:
            for y in x["trials"]:
                self.assertIn(y["state"], ["PENDING", "RUNNING", "PAUSED",
                                           "COMPLETE", "PRUNED"])
        return first

    def test_interrupt_and_resume(self):
        first = self.check(signal.SIGINT)
        self.hippo("run", "--resume", self.path("state"), "--trainers", 2)
        second = self.report("state")
        self.assertEqual(results(second), results(self.reference))
        self.assertIs(second["interrupted"], False)
        unique = self.reference["unique_steps"]
        # Over the life of the folder: as if nothing had come between.
        for name in ["asked_steps", "delivered_steps", "unique_steps",
                     "shared_steps", "merge_rate", "k_wise_merge_rate"]:
            self.assertEqual(second[name], self.reference[name], name)
        for x in [self.reference, second]:
            self.assertAlmostEqual(
                float(x["saved_device_seconds"])
                / float(x["alone_device_seconds"]),
                x["shared_steps"] / x["delivered_steps"])
        both = first["trained_steps"] + second["trained_steps"]
        # What ran was saved: nothing is trained twice.
        self.assertEqual(both, unique)
        # What was measured before is as it was.
        before, after = results(first), results(second)
        for name in before:
            for no, trial in before[name]["trials"].items():
                self.assertEqual(trial[3],
                                 after[name]["trials"][no][3][:len(trial[3])])

    def test_terminate(self):
        self.check(signal.SIGTERM)

    def test_resume_by_the_same_command(self):
        self.check(signal.SIGINT)
        report = self.run_studies(self.files, "state", "--trainers", 2)
        self.assertEqual(results(report), results(self.reference))
        self.assertGreater(report["reused_steps"], 0)

    def test_an_edited_study_leaves_the_first_one_alone(self):
        process, _ = self.start_run()
        send(process, signal.SIGINT)
        self.finish(process, 130)
        edited = self.studies(study("sha", "grid", train=TRAIN, steps=1,
                                    lr=0.1))
        done = self.hippo("run", *edited, "--state", self.path("state"))
        self.assertRegex(done.err, r"not ended and are left alone: 1 \(sha\), "
                                   r"2 \(grid\);.*--study NUMBER goes on")
        self.hippo("run", "--resume", self.path("state"), "--study", 1,
                   "--study", 2)
        self.assertEqual(results(self.report("state")),
                         results(self.reference))
        done = self.hippo("run", "--resume", self.path("state"), "--study", 9,
                          code=2)
        self.assertIn("9", done.err)

    def test_interrupt_at_once(self):
        """Before the trainers have even registered."""
        process = self.start("run", *self.files, "--state",
                             self.path("state"), "--trainers", 2)
        started = wait_for("a trainer", lambda: process.poll()
                           or trainers(process.pid))
        send(process, signal.SIGINT)
        self.finish(process, 130)
        self.assertFalse(any(map(is_alive, started)))
        self.assert_nothing_half_written("state")
        self.run_studies(self.files, "state", "--trainers", 2)

    def test_interrupt_merge_off(self):
        process, _ = self.start_run("--merge", "off")
        send(process, signal.SIGINT)
        self.finish(process, 130)
        self.hippo("run", "--resume", self.path("state"), "--merge", "off")
        self.assertEqual(results(self.report("state")),
                         results(self.reference))

    def test_twice(self):
        # One step takes seconds, and Ctrl-C once waits for it.
        files = self.studies(
            study("slow", "grid", train=50000, batch_size=8,
                  lr={"choice": [0.01, 0.02]}))
        process = self.start("run", *files, "--state",
                             self.path("state"), "--trainers", 2)
        started = wait_for("work", lambda: self.busy_trainers(process))
        send(process, signal.SIGINT)
        wait_for("the word", lambda: "interrupted" in self.stderr())
        self.assertIsNone(process.poll())
        # Two signals within `interrupt_guard::repetition` count once.
        time.sleep(0.1)
        send(process, signal.SIGINT)
        done = self.finish(process, 130)
        # A run that waits for its steps says at its end how to go on.
        self.assertNotIn("go on with:", done.err)
        self.assert_gone(started)

    def busy_trainers(self, process):
        """The trainers, once both have used a second of processor time."""
        self.assertIsNone(process.poll(), self.stderr())
        started = trainers(process.pid)
        ticks = []
        for pid in started:
            with open(f"/proc/{pid}/stat") as stat:
                ticks.append(int(stat.read().rpartition(")")[2].split()[11]))
        second = os.sysconf("SC_CLK_TCK")
        return len(ticks) == 2 and min(ticks) > second and started


class Death(Leaving):
    def test_kill_hippo(self):
        process, started = self.start_run()
        process.kill()
        process.wait()
        self.assert_gone(started, 5)
        report = self.run_studies(self.files, "state", "--trainers", 2)
        self.assertGreater(report["reused_steps"], 0)
        self.assertEqual(results(report), results(self.reference))

    def test_kill_all_trainers(self):
        process, started = self.start_run()
        for pid in started:
            os.kill(pid, signal.SIGKILL)
        done = self.finish(process, 1)
        self.assertEqual(done.err.count("died with signal 9 (Killed)"), 2)
        self.assertIn("hippo: no trainer is left; what is done is kept",
                      done.err)
        self.assertTrue(self.report("state")["interrupted"])
        report = self.run_studies(self.files, "state", "--trainers", 2)
        self.assertGreater(report["reused_steps"], 0)
        self.assertEqual(results(report), results(self.reference))

    def test_the_only_trainer_dies(self):
        process, started = self.start_run(trainer_count=1)
        os.kill(started[0], signal.SIGKILL)
        done = self.finish(process, 1)
        self.assertNotIn("the others", done.err)

    def test_stopped_trainer_does_not_hinder_leaving(self):
        """One that neither works nor answers nor dies."""
        process, started = self.start_run()
        os.kill(started[0], signal.SIGSTOP)
        send(process, signal.SIGINT)
        self.finish(process, 130)
        self.assertFalse(any(map(is_alive, started)))

    def test_nothing_is_left_of_a_run(self):
        process, started = self.start_run()
        self.finish(process, 0)
        self.assertEqual(children(process.pid), [])
        self.assertFalse(any(map(is_alive, started)))
        self.assert_nothing_half_written("state")


if __name__ == "__main__":
    programs.main()
