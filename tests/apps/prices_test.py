#!/usr/bin/env python3
"""What a service knows of the machines that its trainers are on."""

import json
import re
import subprocess
import urllib.request

import programs
from programs import Case, study

# All that there is here has one device: trainers say which they are on.
KINDS = {"dear": {"device": "cpu", "price": 36_000, "interruptions": 1},
         "cheap": {"device": "cpu", "price": 7_200, "trainers": 2,
                   "notice": 90},
         "gpu": {"device": "H100", "price": 1}}


def endless(name, **budget):
    """A study that does not come to its end by itself."""
    return {**study(name, "grid", steps=20_000, every=10), "budget": budget}


class Prices(Case):
    def machines(self, kinds):
        return self.write("machines.yaml", {"machines": kinds})

    def serve(self, *args):
        with open(self.path("service.log"), "w") as log:
            service = self.start(
                "serve", "--state", self.path("s"), "--rpc", "127.0.0.1:0",
                "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *args,
                stdout=subprocess.DEVNULL, stderr=log)

        def address(what):
            return programs.wait_for("the service", lambda: re.search(
                what + r" (\S+)", self.log()))[1]
        self.address = address("clients connect to")
        self.trainers_to = address("trainers connect to")
        self.page = address("people look at")
        return service

    def log(self):
        with open(self.path("service.log")) as text:
            return text.read()

    def trainer(self, *args):
        trainer = subprocess.Popen(
            [programs.TRAINER, "--connect", self.trainers_to, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, trainer)
        return trainer

    def ask(self, *args, code=0):
        return self.hippo(*args, "--server", self.address, code=code)

    def json(self, *args):
        return json.loads(self.ask(*args, "-f", "json").out)

    def get(self, path):
        with urllib.request.urlopen(self.page + path) as answer:
            return answer.read().decode()

    def named(self, name, *columns):
        row, = self.json("ls", "--filter", f"name={name}", "--columns",
                         ",".join(columns))
        return [row[x] for x in columns]

    def test_what_trainers_and_studies_cost(self):
        self.serve("--machines", self.machines(KINDS))
        for machine in ["dear", "cheap", "gqu"]:
            self.trainer("--machine", machine)
        self.trainer()
        top = programs.wait_for("all trainers", lambda: (
            lambda x: len(x) == 4 and x)(self.json("top", "--columns",
                                                   "machine,price,unpriced,"
                                                   "notice_seconds")))
        known = {x["machine"]: x for x in top if x["machine"]}
        self.assertEqual({x: (y["price"], y["notice_seconds"])
                          for x, y in known.items()},
                         {"dear": (36_000, 0), "cheap": (3600, 90)})
        why = sorted(x["unpriced"] for x in top if not x["machine"])
        self.assertIn("could be of 'dear' and 'cheap'", why[0])
        self.assertIn("--machine", why[0])
        self.assertEqual(why[1], "there is no kind of machine 'gqu', "
                                 "did you mean 'gpu'?")
        for x in why:
            self.assertIn("costs is not known: " + x, self.log())
        # It ends by its cost.
        self.ask("submit", *self.studies(endless("some", cost=20)))
        self.ask("watch", "some", "--quiet")
        state, reason, cost, budget = self.named("some", "state", "reason",
                                                 "cost", "budget")
        self.assertEqual((state, reason, budget), (
            "COMPLETE", "its budget.cost, 20, is spent", 20))
        self.assertGreaterEqual(cost, 20 - 1e-6)
        metrics = {x: float(y) for x, y in re.findall(
            r'^hippo_(\w+_cost_total\{machine="\w+"\}) (\S+)$',
            self.get("metrics"), re.M)}
        self.assertEqual(len(metrics), 4)
        self.assertGreaterEqual(
            sum(y for x, y in metrics.items() if x.startswith("work")),
            20 - 1e-6)
        trainers = json.loads(self.get("api/trainers"))
        dear, = (x for x in trainers if x["machine"] == "dear")
        self.assertGreater(dear["idle_cost"], 0)
        info = json.loads(self.get("api/studies/some"))
        self.assertEqual((info["cost_max"], info["deadline_seconds_left"]),
                         (20, None))
        self.assertIn("of 20", self.ask("show", "some").out)

    def test_deadlines_and_costs_survive_a_restart(self):
        machines = self.machines({"here": {"device": "cpu", "price": 3600}})
        service = self.serve("--machines", machines)
        self.trainer()
        self.ask("submit", *self.studies(
            endless("soon", deadline="12s", cost=1e6),
            endless("later", deadline="2h")))
        programs.wait_for("a cost", lambda: (self.named("later", "cost")[0]
                                             or 0) > 1)
        before, = self.named("later", "cost")
        shown = self.ask("show", "later").out
        self.assertRegex(shown, r"deadline in (2 h|1 h 59 min)")
        service.kill()
        service.wait()
        self.serve("--machines", machines)
        self.trainer()
        self.ask("watch", "soon", "--quiet")
        self.assertEqual(self.named("soon", "state", "reason"), [
            "COMPLETE", "its deadline, 12s after it was submitted, has come"])
        cost, deadline = self.named("later", "cost",
                                    "deadline_seconds_left")
        self.assertGreaterEqual(cost, before)
        self.assertLess(deadline, 7200 - 1)

    def test_what_cannot_be_kept_to_is_refused(self):
        self.serve()
        file, = self.studies(endless("dear", cost=3))
        said = self.ask("submit", file, code=2).err
        self.assertIn("budget.cost: what trainers cost is not known here: say "
                      "so with --machines", said)
        file, = self.studies(endless("late", deadline="2020-01-31T18:00Z"))
        self.assertIn("budget.deadline: 2020-01-31T18:00Z is past",
                      self.ask("submit", file, code=2).err)
        self.assertEqual(self.json("ls"), [])
        bad = self.machines({"a": {"device": "cpu"}})
        self.assertIn("machines.a: 'price' is missing", self.hippo(
            "serve", "--state", self.path("t"), "--machines", bad,
            code=2).err)

    def test_a_run_says_what_it_cost(self):
        file, = self.studies(study("small", "grid"))
        x = self.run_studies([file], "s", "--trainers", 2, "--machines",
                             self.machines({"here": {"device": "cpu",
                                                     "price": 1800,
                                                     "trainers": 2}}))
        here = x["machines"]["here"]
        self.assertEqual((float(here["price"]), here["trainers"]), (900, 2))
        self.assertEqual({y["machine"] for y in x["trainers"]}, {"here"})
        self.assertAlmostEqual(float(x["cost"]), float(here["work_cost"])
                               + float(here["idle_cost"]))
        cost = float(x["studies"][0]["cost"])
        self.assertAlmostEqual(
            cost, float(x["studies"][0]["device_seconds"]) * 900 / 3600)
        self.assertLessEqual(cost, float(here["work_cost"]))


if __name__ == "__main__":
    programs.main()
