#!/usr/bin/env python3
"""Studies that are given another space while they run, and afterwards."""

import json

import programs
from own_code import Serving, free_port, study
from programs import wait_for


class Space(Serving):
    def setUp(self):
        super().setUp()
        self.after("time.sleep(0.15)", head="import time")

    def trials(self, name="s", *where):
        """The values and results of each trial, by its number."""
        whole = json.loads(self.hippo("export", name, "--json", *where).out,
                           parse_float=str)
        return {x["id"]: (x["params"], x["results"]) for x in whole["trials"]}

    def set_space(self, lr, *more, name="s", code=0):
        self.write("space.yaml", {"space": {"lr": lr}})
        return self.hippo("set-space", name, "space.yaml", *more, code=code)

    def test_a_grid_is_completed_and_survives_its_service(self):
        ports = free_port(), free_port()
        service = self.serve(ports=ports)
        self.trainer()
        self.submit({**study(steps=4, lr={"choice": [0.1, 0.2]}),
                     "algorithm": "grid"})
        self.await_end()
        before = self.trials()
        wider = {"choice": [0.3, 0.2, 0.4, 0.1]}
        told = self.set_space(wider, "--dry-run").out
        self.assertIn('  lr: {"choice":[0.1,0.2]} -> {"choice":[0.3,0.2,0.4,'
                      "0.1]}\n", told)
        self.assertIn("  2 trials begun inside of it", told)
        self.assertIn("and then 4 trials in all; nothing was changed", told)
        self.assertEqual(before, self.trials())
        self.assertIn("has a new space", self.set_space(wider).out)
        service.kill()
        service.wait()
        service = self.serve(ports=ports)
        wait_for("a further trial", lambda: len(self.trials()) > 2)
        service.kill()
        service.wait()
        self.serve(ports=ports)
        self.await_end()
        now = self.trials()
        for no, known in before.items():
            self.assertEqual(known, now[no])
        self.run_study({**study("whole", steps=4, lr=wider),
                        "algorithm": "grid"}, "whole", "--trainers", 1)
        alone = self.trials("whole", "--state", self.path("whole"))

        def by_values(trials):
            return sorted(map(repr, trials.values()))

        self.assertEqual(by_values(alone), by_values(now))

    def test_a_study_that_runs_and_studies_that_are_refused(self):
        self.serve()
        self.trainer()
        self.submit({**study(steps=4, lr={"uniform": [0.1, 0.2]}),
                     "algorithm": "random", "budget": {"trials": 4}})
        wait_for("a step", lambda: any(y for _, y in self.trials().values()))
        self.assertIn("lr.uniform", self.set_space({"uniform": [0.4, 0.3]},
                                                   code=2).err)
        self.set_space({"uniform": [0.3, 0.4]})
        self.await_end()
        rates = [float(x["lr"]) for x, _ in self.trials().values()]
        self.assertEqual(4, len(rates))
        self.assertTrue(all(0.1 <= x <= 0.2 or 0.3 <= x <= 0.4 for x in rates))
        self.assertLess(0.3, max(rates))
        self.submit({**study("short", steps=6),
                     "algorithm": {"hyperband": {"eta": 2}},
                     "budget": {"trials": 2}})
        self.assertIn("algorithm hyperband plans all of its trials at once",
                      self.set_space(0.1, name="short", code=2).err)


if __name__ == "__main__":
    programs.main()
