#!/usr/bin/env python3
"""`hippo preview --machines`: which machines to take."""

import json

import programs
from simulate_test import RESNET, Simulating, study

KINDS = {
    "big": {"device": "V100-like", "price": 8, "count": 4, "start": 100,
            "profile": RESNET},
    "many": {"device": "V100-like", "price": 1, "count": 8, "trainers": 1,
             "start": 100, "profile": RESNET},
}


class MachinesCase(Simulating):
    def machines(self, kinds=KINDS):
        return self.write("machines.yaml", json.dumps({"machines": kinds}))


class Machines(MachinesCase):
    def preview(self, *args, code=0, machines=None):
        file = self.write("a.yaml", json.dumps(study("a", "grid")))
        return self.hippo("preview", file, "--machines",
                          machines or self.machines(), *args, code=code)

    def found(self, *args, code=0, machines=None):
        return json.loads(self.preview(*args, "-f", "json", code=code,
                                       machines=machines).out)

    def test_says_what_each_takes_and_costs(self):
        x = self.found()
        self.assertIsNone(x["chosen"])
        by_use = {y["use"]: y for y in x["candidates"]}
        self.assertIn("4xbig", by_use)
        self.assertIn("8xmany", by_use)
        # The same trainers at an eighth of the price.
        cheap = x["candidates"][x["cheapest"]]
        self.assertEqual(list(cheap["machines"]), ["many"])
        for y in x["candidates"]:
            if y["simulations"]:
                self.assertGreaterEqual(y["seconds"]["mean"], 100)
                self.assertLessEqual(y["seconds"]["low"],
                                     y["seconds"]["high"])
        for y in by_use.values():
            if y["use"].endswith("xbig") and y["simulations"]:
                machines = y["machines"]["big"]
                self.assertLessEqual(
                    y["cost"]["mean"],
                    machines * 8 * y["seconds"]["mean"] / 3600 + 1e-9)
        self.assertEqual(x, self.found())  # equal questions, equal answers

    def test_keeps_to_limits_or_says_that_nothing_does(self):
        free = self.found()
        soonest = free["candidates"][free["soonest"]]["seconds"]["mean"]
        x = self.found("--deadline", f"{soonest * 2:.0f}s")
        chosen = x["candidates"][x["chosen"]]
        self.assertLessEqual(chosen["seconds"]["high"] * 1.02, soonest * 2)
        done = self.preview("--deadline", "5m", "--budget", "0.01", code=1)
        self.assertIn("nearest in time", done.out)
        self.assertIn("nearest in cost", done.out)
        self.assertIn("take at most 5 min and cost at most 0.01", done.err)
        table = self.preview("--budget", "1000").out
        self.assertIn("<- cheapest", table)
        self.assertIn("soonest for 1000", table)
        self.assertIn("step times: big and many from", table)

    def test_warns_of_a_budget_that_the_first_rung_exceeds(self):
        def said(cost):
            file = self.write("b.yaml", json.dumps(
                {**study("b", "asha"), "budget": {"trials": 9, "cost": cost}}))
            return self.hippo("preview", file, "--machines",
                              self.machines()).err
        self.assertRegex(said(1e-6), r"warning: .*b.yaml:1:\d+: budget.cost: "
                         r"is spent before the first rung is done, .* on "
                         r"trainers of 1 an hour\n")
        self.assertNotIn("budget.cost", said(1e6))

    def test_says_what_interruptions_take(self):
        def lost(**more):
            kinds = {"safe": KINDS["many"], "spot": {
                **KINDS["many"], "interruptions": 6, "count": 2,
                "price": 0.1, **more}}
            x = self.found(machines=self.machines(kinds))
            return {y["use"]: y["lost_share"] for y in x["candidates"]
                    if y["simulations"] > 0}, self.preview(
                        machines=self.machines(kinds)).out
        without, said = lost()
        self.assertGreater(without["2xspot"], 0)
        self.assertLess(without["2xspot"], 0.5)
        self.assertEqual(without["8xsafe"], 0)
        self.assertRegex(said, r"(?m)^2 spot .* [1-9] %$")
        self.assertRegex(said, r"(?m)^8 safe .* -( |$)")
        self.assertIn(f"step times: safe and spot from {RESNET}\n", said)
        # Who is told in time keeps what it has.
        noticed, _ = lost(notice=120)
        self.assertLess(noticed["2xspot"], without["2xspot"])

    def test_what_nobody_measured_is_predicted(self):
        def profile(device, factor):
            return self.write(f"{device}.yaml", json.dumps({
                "device": device, "workload": "fashion-mlp",
                "step_seconds": {"by": "batch_size", "values": {
                    "64": 2 * factor, "128": factor}}}))

        found = json.loads(self.preview(
            "-f", "json", machines=self.machines({
                "big": {**KINDS["big"],
                        "profile": [RESNET, profile("V100-like", 1)]},
                "l4": {"device": "L4", "price": 1, "count": 4, "start": 100,
                       "profile": [profile("L4", 2)]}})).out)
        self.assertIn("from ", found["sources"]["big"])
        self.assertRegex(found["sources"]["l4"],
                         r"^predicted \(\+-[0-9]+ %\)$")
        by_use = {x["use"]: x for x in found["candidates"]}
        slow, fast = (by_use[x]["seconds"]["mean"] - 100
                      for x in ("4xl4", "4xbig"))
        self.assertAlmostEqual(slow / fast, 2, delta=0.3)

    def test_bad_input(self):
        def refused(*args, machines=None):
            return self.preview(*args, code=2, machines=machines).err

        self.assertIn("must be a span above 0", refused("--deadline", "-6h"))
        self.assertIn("machines.a: 'price' is missing", refused(
            machines=self.machines({"a": {"device": "V100-like"}})))
        self.assertIn("machines.a.price: must be a number from 0", refused(
            machines=self.machines({"a": {"device": "x", "price": -1}})))
        said = refused(machines=self.machines(
            {**KINDS, "a": {"device": "L4", "price": 1}}))
        self.assertIn("has no profile of 'resnet56-cifar10', and nothing",
                      said)
        self.assertIn("hippo profile", said)
        file = self.write("a.yaml", json.dumps(study("a", "grid")))
        self.assertIn("--machines", self.hippo(
            "preview", file, "--deadline", "6h", code=2).err)


class Ranks(MachinesCase):
    """Trials of several processes."""

    def test_ranks_need_as_many_trainers_of_one_kind(self):
        self.write("train.py", "")
        wide = self.write("wide.yaml", {
            "study": "wide", "workload": {"python": "train.py:Net", "seed": 1,
                                          "ranks": 4},
            "objective": {"metric": "val", "direction": "maximize"},
            "max_steps": 5, "eval_every": 5,
            "space": {"lr": {"choice": [0.1, 0.2, 0.3]}}, "algorithm": "grid"})
        profile = self.write("code.yaml", {
            "device": "none", "workload": {
                "name": "python",
                "hyper_parameters": {"lr": {"default": 0.1, "min": 0}},
                "metrics": {"val": "maximize"}},
            "step_seconds": 720})
        kind = {"device": "none", "price": 2, "profile": profile}
        file = self.machines({"few": {**kind, "count": 3},
                              "one": {**kind, "count": 16},
                              "two": {**kind, "count": 8, "trainers": 2}})
        done = self.hippo("preview", wide, "--machines", file, "-f", "json")
        self.assertIn("machines.few: is left out: it has 3 trainers, and "
                      "trials of study 'wide' have 4 ranks", done.err)
        x = json.loads(done.out)
        for y in x["candidates"]:
            self.assertGreaterEqual(max(
                y["machines"].get("one", 0), 2 * y["machines"].get("two", 0)),
                4)
            if y["simulations"] and y["use"] == "2xtwo":
                # Three trials of an hour each, one after the other.
                self.assertAlmostEqual(3 * 3600, y["seconds"]["mean"])
                self.assertAlmostEqual(3 * 2 * 2, y["cost"]["mean"])
        self.assertIn("2xtwo", [y["use"] for y in x["candidates"]])
        said = self.hippo("preview", wide, "--machines", self.machines(
            {"few": {**kind, "count": 3}, "lone": {**kind, "count": 1}}),
            code=2).err
        self.assertIn(
            "machines: study 'wide' needs 4 trainers of one kind at once "
            "(trials of 4 ranks); there are 3 of few, 1 of lone: raise "
            "'count' or 'trainers' of one", said)


if __name__ == "__main__":
    programs.main()
