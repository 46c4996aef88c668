#!/usr/bin/env python3
"""Training that sends in as much as it can: names, values, output."""

import json
import os
import unittest

from programs import wait_for
from rude import RudeCase, victim

# Prints metrics: how many, how long their names, and what they begin with.
SCRIPT = r"""#!/bin/sh
{ printf '{"metrics": {"m": 1.5'
  awk -v count=COUNT -v size=SIZE -v first="FIRST" 'BEGIN {
    pad = sprintf("%*s", size, ""); gsub(/ /, "x", pad)
    for (i = 0; i < count; i++)
      printf ", \"%s\": 1", substr(first "n" i "-" pad, 1, size) }'
  printf '}}'; } > "$2"
"""


class Names(RudeCase):
    def program(self, count, size, first=""):
        with open(self.path("run.sh"), "w") as out:
            out.write(SCRIPT.replace("COUNT", str(count))
                      .replace("SIZE", str(size)).replace("FIRST", first))
        os.chmod(self.path("run.sh"), 0o755)

    def submit_own(self, name, trials=1):
        self.submit({"study": name, "workload": {"files": ["run.sh"]},
                     "objective": {"metric": "m", "direction": "minimize"},
                     "max_steps": 1,
                     "space": {"a": {"uniform": [0, 1]}}, "on_error":
                     "continue", "algorithm": "random",
                     "budget": {"trials": trials}})

    def trials_of(self, name, seconds=120):
        wait_for(f"{name} to end", lambda: self.state_of(name) not in
                 ("WAITING", "RUNNING"), seconds)
        return json.loads(self.ask("export", name, "--json").stdout)["trials"]

    def test_names_of_one_result_are_bounded_in_bytes(self):
        self.program(4000, 1000)
        self.submit_own("long")
        one, = self.trials_of("long")
        self.assertEqual(one["state"], "FAILED")
        self.assertIn("65536 are allowed", one["failure"])
        # At the limit they are taken.
        self.program(64, 1000)
        self.submit_own("short")
        one, = self.trials_of("short")
        self.assertEqual(one["state"], "COMPLETE")
        self.submit(victim())
        self.assert_unharmed(victim())

    def test_names_that_differ_from_trial_to_trial_are_bounded_in_all(self):
        before = self.memory()
        self.program(60, 1000,
                     "$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')")
        self.submit_own("many", trials=100)
        trials = self.trials_of("many")
        states = [x["state"] for x in trials]
        self.assertGreater(states.count("COMPLETE"), 30)
        self.assertGreater(states.count("FAILED"), 10)
        failed = next(x for x in trials if x["state"] == "FAILED")
        self.assertIn("differ from result to result", failed["failure"])
        self.assertLess(self.memory() - before, 100)
        self.submit(victim())
        self.assert_unharmed(victim())


if __name__ == "__main__":
    unittest.main()
