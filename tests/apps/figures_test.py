#!/usr/bin/env python3
"""What reports count, counted anew: from trials' parameters and from how far
each trial came, with nothing else that the program says."""

import programs
from report_test import value_at
from simulate_test import Simulating, study

ALGORITHMS = [
    "grid", {"random": {}}, {"tpe": {"startup": 3}},
    {"sha": {"eta": 2, "min": 4}}, {"asha": {"eta": 2, "min": 2}},
    {"asha": {"eta": 2, "min": 2, "mode": "stopping"}},
    {"hyperband": {"eta": 2, "min": 2}},
    {"bohb": {"eta": 2, "min": 2, "startup": 3}},
    {"dehb": {"eta": 2, "min": 2}},
    {"median": {"grace": 4, "min_others": 2}},
    {"pbt": {"population": 6, "interval": 4}}]


def values_of(trial, trials, steps):
    """Its values at each of its first steps; a fork has its origin's first."""
    params = dict(trial["params"])
    forked = params.pop("forked", None)
    own = [tuple(f"{name}={value_at(x, step):.9g}"
                 for name, x in params.items()) for step in range(steps)]
    if forked is None:
        return own
    at = min(forked["at"], steps)
    return values_of(trials[forked["from"]], trials, at) + own[at:]


def states_of(study_report):
    """For each trial the states that it went through, by their values."""
    trials = study_report["trials"]
    result = []
    for trial in trials:
        values = values_of(trial, trials, trial["steps"])
        result.append({tuple(values[:n]) for n in range(1, len(values) + 1)})
    return result


class Figures(Simulating):
    def check(self, report):
        everything, delivered, shared, alone = set(), 0, 0, 0
        for x in report["studies"]:
            states = states_of(x)
            own = set().union(*states)
            self.assertEqual(x["delivered_steps"], sum(map(len, states)))
            self.assertEqual(x["unique_steps"], len(own))
            self.assertEqual(x["shared_steps"],
                             sum(y["shared_steps"] for y in x["trials"]))
            self.assertLessEqual(x["delivered_steps"], x["asked_steps"])
            for trial in x["trials"]:
                self.assertLessEqual(trial["shared_steps"], trial["steps"])
            everything |= own
            delivered += x["delivered_steps"]
            shared += x["shared_steps"]
            alone += len(own)
        self.assertEqual(report["delivered_steps"], delivered)
        self.assertEqual(report["unique_steps"], len(everything))
        self.assertEqual(report["shared_steps"], delivered - len(everything))
        self.assertEqual(shared, delivered - len(everything))
        self.assertEqual(report["merge_rate"], delivered / len(everything))
        self.assertEqual(report["k_wise_merge_rate"],
                         alone / len(everything))
        self.assertAlmostEqual(
            report["saved_device_seconds"] / report["alone_device_seconds"],
            shared / delivered)
        # Training may have gone on while a trial was given up.
        self.assertGreaterEqual(report["trained_steps"], len(everything))

    def test_of_every_algorithm(self):
        for i, algorithm in enumerate(ALGORITHMS):
            with self.subTest(algorithm):
                file = self.write(f"{i}.yaml", study(f"s{i}", algorithm))
                self.check(self.simulated(f"r{i}", file))

    def test_of_studies_together(self):
        files = [self.write(f"{i}.yaml", study(f"s{i}", algorithm, every=1 + i))
                 for i, algorithm in enumerate(ALGORITHMS[:6])]
        self.check(self.simulated("r", *files))

    def test_of_a_budget_of_time(self):
        for name in ["grid", "random"]:
            with self.subTest(name):
                rates = [round(0.001 * n, 3) for n in range(1, 61)]
                file = self.write(name + ".yaml", study(
                    name, name, budget={"seconds": 900},
                    space={"lr": {"choice": rates}}))
                report = self.simulated(name, file, trainers=1)
                self.check(report)
                self.assertLess(report["delivered_steps"],
                                report["asked_steps"] / 2)
                steps = [x["steps"] for x in report["studies"][0]["trials"]]
                begun = [no for no, x in enumerate(steps) if x > 0]
                self.assertEqual(begun, list(range(len(begun))))


if __name__ == "__main__":
    programs.main()
