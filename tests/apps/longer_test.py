#!/usr/bin/env python3
"""Studies whose trials are made longer while they run, and afterwards."""

import json

import programs
from own_code import Serving, free_port, study
from programs import wait_for


class Longer(Serving):
    def setUp(self):
        super().setUp()
        self.after("time.sleep(0.15)", head="import time")

    def exported(self, name="s", *where):
        """The results of each trial, by its number."""
        whole = json.loads(self.hippo("export", name, "--json", *where).out,
                           parse_float=str)
        return {x["id"]: x["results"] for x in whole["trials"]}

    def extend(self, steps, name="s", code=0):
        return self.hippo("extend", name, "--steps", steps, code=code)

    def assert_as_whole(self, steps):
        """Expects the results of a study that was so long from the first."""
        self.await_end()
        self.run_study(study("whole", steps=steps), "whole", "--trainers", 1)
        alone = self.exported("whole", "--state", self.path("whole"))
        self.assertEqual(3, len(alone))
        for results in alone.values():
            self.assertEqual(steps, len(results))
        self.assertEqual(alone, self.exported())

    def test_a_study_that_has_ended_goes_on_and_survives_its_service(self):
        ports = free_port(), free_port()
        service = self.serve(ports=ports)
        self.trainer()
        self.submit(study(steps=4))
        self.await_end()
        before = self.exported()
        done = self.extend(9)
        self.assertEqual("study s has 3 trials of 9 steps now\n", done.err)
        wait_for("a step", lambda: self.exported() != before)
        service.kill()
        service.wait()
        service = self.serve(ports=ports)
        self.await_end()
        for no, known in self.exported().items():
            self.assertEqual(before[no], known[:len(before[no])])
            self.assertEqual(9, len(known))
        # Once more, and killed at once.
        self.extend(11)
        service.kill()
        service.wait()
        self.serve(ports=ports)
        self.assert_as_whole(11)

    def test_a_study_that_runs_and_studies_that_are_refused(self):
        self.serve()
        self.trainer()
        self.submit(study(steps=6))
        wait_for("a step", lambda: any(self.exported().values()))
        self.assertIn("trials have 6 steps already", self.extend(6, code=2).err)
        self.extend(8)
        self.assert_as_whole(8)
        self.submit({**study("short", steps=6),
                     "algorithm": {"hyperband": {"eta": 2}},
                     "budget": {"trials": 2}})
        self.assertIn("algorithm hyperband plans its trials for 6 steps, and "
                      "not for longer ones: submit a new study with max_steps:"
                      " 12;", self.extend(12, "short", code=2).err)


if __name__ == "__main__":
    programs.main()
