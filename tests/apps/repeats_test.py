#!/usr/bin/env python3
"""Studies whose trials are trained with several seeds: what they measure is
what studies of one seed each measure, summed up by hand."""

import json
import math
import os
import signal
import statistics

import programs
from programs import SHA, Case, results, study, trainers

SEEDS = (1, 2, 3)
STEPS = 6
# 20 configurations that share much.
SPACE = {"lr": {"choice": [0.1] + [
            {"multistep": {"initial": 0.1, "milestones": [at],
                           "gamma": gamma}}
            for at in (3, 4, 5) for gamma in (0.1, 0.2, 0.5)]},
         "batch_size": {"choice": [32, 64]}}


def of_seed(name, seed, algorithm="grid"):
    result = study(name, algorithm, every=2, steps=STEPS, train=128, **SPACE)
    result["workload"]["seed"] = seed
    return result


def repeated(name, algorithm="grid", repeats=len(SEEDS), **more):
    return {**of_seed(name, SEEDS[0], algorithm), "repeats": repeats, **more}


def tables(report):
    """The measurements of each study by trial and step."""
    return {x["name"]: {(y["id"], z["step"]): {
        name: float(value) for name, value in z["metrics"].items()}
        for y in x["trials"] for z in y["results"]} for x in report["studies"]}


class Repeats(Case):
    """20 configurations with 3 seeds."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.alone = case.run_studies(
            case.studies(*(of_seed(f"seed{x}", x) for x in SEEDS)), "alone",
            "--trainers", 1)
        cls.file = case.studies(repeated("repeated"))[0]
        cls.preview = json.loads(
            case.hippo("preview", cls.file, "--format", "json").out)
        cls.together = case.run_studies([cls.file], "together", "--trainers", 2)
        cls.state = case.path("together")

    def check(self, report):
        self.assertEqual(results(report), results(self.together))

    def test_results_are_those_computed_by_hand(self):
        alone, together = tables(self.alone), tables(self.together)
        table = together["repeated"]
        self.assertEqual(len(table), 20 * STEPS / 2)
        for at, found in table.items():
            by_seed = [alone[f"seed{x}"][at] for x in SEEDS]
            self.assertEqual(
                found.keys(),
                {*by_seed[0], "val_accuracy.std",
                 *(f"val_accuracy.seed{x}" for x in SEEDS)})
            for name in by_seed[0]:
                self.assertTrue(math.isclose(
                    found[name], statistics.fmean(x[name] for x in by_seed),
                    rel_tol=1e-12), (at, name))
            values = [x["val_accuracy"] for x in by_seed]
            self.assertTrue(math.isclose(
                found["val_accuracy.std"], statistics.stdev(values),
                rel_tol=1e-9, abs_tol=1e-12), at)
            for seed, value in zip(SEEDS, values):
                self.assertEqual(found[f"val_accuracy.seed{seed}"], value)
        spreads = [x["val_accuracy.std"] for x in table.values()]
        self.assertGreater(max(spreads), 0)

    def test_steps_are_those_of_the_preview_and_of_the_seeds_alone(self):
        for key in "asked_steps", "unique_steps":
            self.assertEqual(self.together[key], self.alone[key], key)
        self.assertEqual(self.together["asked_steps"], 20 * STEPS * len(SEEDS))
        self.assertEqual(self.together["trained_steps"],
                         self.together["unique_steps"])
        told = self.preview["studies"][0]
        self.assertEqual(told["asked_steps"], self.together["asked_steps"])
        self.assertEqual(told["unique_steps"], self.together["unique_steps"])
        of_it = self.together["studies"][0]
        self.assertEqual(of_it["asked_steps"], self.together["asked_steps"])
        self.assertEqual(of_it["delivered_steps"],
                         self.together["delivered_steps"])
        self.assertEqual(of_it["shared_steps"], self.together["shared_steps"])

    def test_the_first_seed_is_shared_with_studies_of_that_seed(self):
        self.copied(self.state)
        one = self.run_studies(self.studies(of_seed("one", SEEDS[0])), "state",
                               "--trainers", 1)
        self.assertEqual(one["trained_steps"], 0)
        self.assertEqual(tables(one)["one"], tables(self.alone)["seed1"])

    def test_neither_merging_nor_the_number_of_trainers_matters(self):
        self.check(self.run_studies([self.file], "off", "--merge", "off",
                                    "--trainers", 1))

    def test_a_service_that_is_killed_goes_on(self):
        process = self.start("run", self.file, "--state", self.path("state"),
                             "--trainers", 2)
        self.first_trial(process)
        own = trainers(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        for pid in own:
            programs.wait_for("its trainer to end",
                              lambda pid=pid: not programs.is_alive(pid))
        report = self.run_studies([self.file], "state", "--trainers", 2)
        self.check(report)
        self.assertLess(report["trained_steps"], report["unique_steps"])

    def test_what_people_see(self):
        state = ("--state", self.state)
        table = tables(self.together)["repeated"]
        said = json.loads(
            self.hippo("best", "repeated", *state, "--format", "json").out)
        best = table[said["trial"], said["step"]]
        self.assertEqual(said["value"],
                         max(x["val_accuracy"] for x in table.values()))
        self.assertEqual(said["spread"], best["val_accuracy.std"])
        self.assertRegex(self.hippo("best", "repeated", *state).out,
                         r"val_accuracy [\d.]+ \+- [\d.]+ over 3 seeds\n")
        for x in json.loads(self.hippo("trials", "repeated", *state,
                                       "--format", "json").out):
            self.assertEqual(
                x["spread"],
                table[x["trial"], x["step"]]["val_accuracy.std"])
        listed, = json.loads(self.hippo(
            "ls", *state, "--format", "json", "--columns",
            "seeds,asked,steps").out)
        steps = 20 * STEPS * len(SEEDS)
        self.assertEqual(listed, {"seeds": 3, "asked": steps, "steps": steps})


class Decisions(Case):
    """An algorithm sees nothing but the summary."""

    def test_sha_promotes_by_the_summary(self):
        def found(report, name):
            """What trials measured, by their values and the step."""
            study, = (x for x in report["studies"] if x["name"] == name)
            return {(json.dumps(x["params"], sort_keys=True), y["step"]):
                    float(y["metrics"]["val_accuracy"])
                    for x in study["trials"] for y in x["results"]}

        summaries = {"median": statistics.median, "worst": min}
        sha = {"sha": {"eta": 3, "min": 2}}
        report = self.run_studies(self.studies(
            *(of_seed(f"seed{x}", x) for x in SEEDS),
            *(repeated(f"of-{x}", sha, {"seeds": 3, "summary": x})
              for x in summaries)), "state", "--trainers", 2)
        alone = [found(report, f"seed{x}") for x in SEEDS]
        for summary, sum_up in summaries.items():
            own = found(report, f"of-{summary}")
            for at, value in own.items():
                self.assertEqual(value, sum_up(x[at] for x in alone))
            at_rung = {x: y for (x, step), y in own.items() if step == 2}
            self.assertEqual(len(at_rung), 20)
            further = {x for x, step in own if step > 2}
            self.assertEqual(
                sorted(at_rung[x] for x in further),
                sorted(at_rung.values())[-len(further):])

    def test_a_trial_fails_with_one_of_its_seeds(self):
        bad = repeated("bad", SHA, on_error="continue")
        bad["space"] = {"lr": {"choice": [0.1, 1e30]}}
        # More trainers would fail with several seeds at a time.
        report = self.run_studies(self.studies(bad), "state", "--trainers", 1)
        states = {x["state"] for x in report["studies"][0]["trials"]}
        self.assertIn("FAILED", states)
        said = self.hippo("trials", "bad", "--state", self.path("state"),
                          "--format", "json").out
        self.assertIn('"failure": "seed 1, at step 1: ', said)


if __name__ == "__main__":
    programs.main()
