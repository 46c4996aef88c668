#!/usr/bin/env python3
"""Trials of several processes on several trainers."""

import os
import shutil
import signal

from own_code import Serving, python, study
from programs import (PATIENCE, is_alive, main, results, send, wait_for,
                      with_variable)
from ranks_test import TRAIN

RANKS = 4


def ranks_study(**more):
    return study("s", python(ranks=RANKS, **more))


def ancestors(process):
    """Returns the processes that have started a process, the nearest first."""
    result = []
    while process > 1:
        with open(f"/proc/{process}/stat") as file:
            # After the name, which may have blanks.
            process = int(file.read().rpartition(")")[2].split()[1])
        result.append(process)
    return result


class GangRanks(Serving):
    def setUp(self):
        super().setUp()
        self.write("train.py", TRAIN)
        # By which the processes of ranks are known. Trainers have it, too.
        os.environ["GANG_RANKS_TEST"] = self.folder
        self.addCleanup(os.environ.pop, "GANG_RANKS_TEST")

    def members(self, count):
        """Starts so many trainers that have all ranks together."""
        return [self.trainer("--gang-listen", "127.0.0.1", "--ranks",
                             RANKS // count) for _ in range(count)]

    def alone(self, x):
        """The results of one trainer with all ranks."""
        report, _ = self.run_study(x, "alone", "--merge", "off")
        return results(report)

    def ranks(self):
        """The processes by rank, once there are all."""
        mine = with_variable("GANG_RANKS_TEST", self.folder)
        found = {}
        for number in range(RANKS):
            found[number] = [x for x in with_variable("RANK", number)
                             if x in mine]
        return found if all(len(x) == 1 for x in found.values()) else None

    def finish(self, service):
        """Ends the service. @returns the results of its study"""
        self.await_end()
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        return results(self.report("state"))

    def test_members_give_the_results_of_one_trainer(self):
        expected = self.alone(ranks_study())
        for count in 2, 4:
            with self.subTest(count=count):
                service = self.serve()
                trainers = self.members(count)
                self.submit(ranks_study())
                self.assertEqual(expected, self.finish(service))
                for x in trainers:
                    self.end(x)
                wait_for("the end of all ranks", lambda: not with_variable(
                    "GANG_RANKS_TEST", self.folder))
                shutil.rmtree(self.path("state"))

    def test_a_member_that_is_killed_or_stopped_costs_steps_alone(self):
        expected = self.alone(ranks_study())
        for number in signal.SIGKILL, signal.SIGSTOP:
            with self.subTest(number=number):
                service = self.serve()
                trainers = self.members(2)
                # Only an argument of the code differs.
                self.submit(ranks_study(args={"seconds": 0.5}))
                before = wait_for("all ranks", self.ranks)
                others = [x for found in before.values() for x in found
                          if trainers[0].pid in ancestors(x)]
                self.assertEqual(RANKS // 2, len(others))
                os.kill(trainers[1].pid, number)
                late = self.trainer("--gang-listen", "127.0.0.1",
                                    "--ranks", 2)
                wait_for("the end of the other member's", lambda: not any(
                    is_alive(x) for x in others))
                os.kill(trainers[1].pid, signal.SIGKILL)
                wait_for("the next ones", self.ranks)
                self.assertEqual(expected, self.finish(service))
                for x in trainers[0], late:
                    self.end(x)
                shutil.rmtree(self.path("state"))

    def test_a_trainer_that_cannot_start_its_ranks_says_why(self):
        expected = self.alone(ranks_study())
        service = self.serve()
        good = self.trainer("--gang-listen", "127.0.0.1", "--ranks", 2)
        wait_for("it", lambda: "registered as number" in self.read(good.log))
        bad = self.trainer("--gang-listen", "127.0.0.1", "--ranks", 2,
                           "--python", self.path("no-such-python"))
        self.submit(ranks_study())

        def waiting():
            return self.listed("s").get("waiting") or ""
        wait_for("the reason", lambda: "no-such-python" in waiting())
        self.assertRegex(waiting(), rf"\S+:{bad.pid}\)")
        with open(self.path("state", "hippo.log")) as log:
            self.assertRegex(log.read(), rf"trainer \d+ \(\S+:{bad.pid}\).*"
                             "no-such-python")
        self.end(bad)
        late = self.trainer("--gang-listen", "127.0.0.1", "--ranks", 2)
        self.assertEqual(expected, self.finish(service))
        for x in good, late:
            self.end(x)

    def test_what_a_rank_raises_is_the_trials_error(self):
        self.after("if self.rank == 3 and step == 3: raise ValueError('no')",
                   "if step == 3: time.sleep(1000)")
        service = self.serve()
        self.members(2)
        self.submit(ranks_study())
        wait_for("the end", lambda: self.listed("s")["state"] in (
            "COMPLETE", "FAILED"))
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)
        self.hippo("run", "--resume", "state", "--trainers", 1, code=1)
        for trial in self.report("state")["studies"][0]["trials"]:
            self.assertEqual("FAILED", trial["state"])
            self.assertIn("in step 3: ValueError: no (rank 3 of 4)",
                          trial["failure"])
            self.assertIn("train.py", trial["failure"])


if __name__ == "__main__":
    main()
