#!/usr/bin/env python3
"""What reaches training code: arguments and values of the types that the study
file has, whatever the code is written in."""

import json
import random
import sqlite3
import sys
import unittest

from own_code import OwnCode, study

# Writes down what it is given.
NET = """\
import hippo_hpo as hippo


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.args = args

    def init(self):
        self.x = 0

    def train(self, start, stop, hp):
        with open(self.args["out"], "a") as out:
            for step in range(start, stop):
                print(repr((step, hp.at(step), self.args)), file=out)
        self.x = stop

    def evaluate(self):
        return {"val": self.x}

    def state_dict(self):
        return self.x

    def load_state_dict(self, state):
        self.x = state
"""

FUNCTION = """\
import hippo_hpo as hippo


@hippo.workload
def train(ctx):
    net = {"x": 0}
    layers = ctx.constant("layers")
    layers.append(7)  # a list of its own
    for step in ctx.steps(net=net):
        print(repr((step, ctx.hp.at(step), ctx.args, layers)))
        net["x"] += 1
        yield lambda: {"val": net["x"]}
"""

FILES = """\
#!/usr/bin/env python3
import json, sys
request = json.load(open(sys.argv[1]))
print(repr((request["values"], request["args"])))
open(request["save"] + "/x", "w").write("x")
json.dump({"metrics": {"val": request["to"]}}, open(sys.argv[2], "w"))
"""

ARGS = {"i": 12, "f": 12.0, "b": True, "w": "12", "n": None,
        "l": [1, 2.0, [None]], "big": 2**60 + 1,
        "deep": {"er": "08", "e=r": 1e-3}}
GIVEN = {"i": 12, "f": 12.0, "b": True, "w": "12", "n": None,
         "l": [1, 2.0, [None]], "big": 2**60 + 1, "deep.er": "08",
         "deep.e=r": 1e-3}
SPACE = {"i": 3, "f": 3.0, "b": False, "w": "1e-3",
         "layers": {"choice": [[64, {"a": 1}]]},
         "none": {"choice": [None]}, "map": {"constant": {"b": 1, "a": 2.0}},
         "double": {"step": {"initial": 3, "size": 1, "gamma": 2}},
         "half": {"step": {"initial": 3, "size": 1, "gamma": 0.5}},
         "all": {"int_uniform": [5, 6], "points": 2}}
VALUES = {"i": 3, "f": 3.0, "b": False, "w": "1e-3", "layers": [64, {"a": 1}],
          "none": None, "map": {"a": 2.0, "b": 1}, "all": 5}


def in_order(x):
    """Maps are sorted, so that equal ones are printed alike."""
    if isinstance(x, dict):
        return {name: in_order(x[name]) for name in sorted(x)}
    return [in_order(y) for y in x] if isinstance(x, list) else x


def at(step):
    return in_order({**VALUES, "double": 3 * 2**step, "half": 3 * 0.5**step})


def any_value(draw, depth=0):
    """A value of any type, as likely as not one that looks like another."""
    kind = draw.randrange(9 if depth < 2 else 7)
    if kind == 0:
        return None
    if kind == 1:
        return draw.random() < 0.5
    if kind == 2:
        return draw.randrange(-2**63, 2**63) >> draw.randrange(64)
    if kind == 3:
        x = draw.uniform(-9, 9) * 10**draw.randrange(-9, 9)
        return float(f"{x:.11e}")  # of as many digits as are kept
    if kind == 4:
        return float(draw.randrange(9))
    if kind < 7:
        return draw.choice(["sgd", "1", "1.0", "1e-3", "08", "true", "null", "",
                            "~", "é", "a: b", "#", "[1]", "1234e56", "<<"])
    return {f"k{i}": any_value(draw, depth + 1)
            for i in range(draw.randrange(3))} if kind == 7 else \
        [any_value(draw, depth + 1) for _ in range(draw.randrange(3))]


class OwnValues(OwnCode):
    def trials(self, *columns):
        said = self.hippo("trials", "s", "--state", "state", "--columns",
                          ",".join(columns), "-f", "json").out
        return json.loads(said)

    def test_a_class(self):
        self.write("train.py", NET)
        out = self.path("out")
        self.run_study(study(workload={"python": "train.py", "args": {
            **ARGS, "out": out}}, steps=3, **SPACE))
        lines = self.read("out").splitlines()
        self.assertEqual(len(lines), 6)  # of two trials, in any order
        self.assertEqual([x for x in lines if "{'all': 5," in x], [
            repr((step, at(step), in_order({**GIVEN, "out": out})))
            for step in range(3)])
        told = self.trials("trial", "params")[0]["params"]
        for name in ("i", "f", "b", "w", "none"):
            self.assertEqual(repr(told[name]), repr(VALUES[name]))

    def test_a_function(self):
        self.write("train.py", FUNCTION)
        self.run_study(study(workload={"python": "train.py", "args": ARGS},
                             steps=2, **SPACE))
        self.assertEqual(
            self.hippo("logs", "--state", "state", "s", 0).out,
            "".join(repr((step, at(step), in_order(GIVEN), [64, {"a": 1}, 7]))
                    + "\n" for step in range(2)))

    def test_a_program_of_files(self):
        self.program("train.py", FILES)
        self.run_study(study(workload={"files": ["train.py"], "args": ARGS},
                             steps=1, **SPACE))
        self.assertEqual(
            self.hippo("logs", "--state", "state", "s", 0).out,
            f"{({}, in_order(GIVEN))!r}\n"
            f"{({x: [y] for x, y in at(0).items()}, in_order(GIVEN))!r}\n")

    def test_values_of_any_kind(self):
        """Generated options and arguments, through a real process."""
        self.write("train.py", NET)
        out = self.path("out")
        draw = random.Random(1)
        args = {f"a{i}": any_value(draw, 1) for i in range(60)}
        args = {name: [x] if isinstance(x, dict) else x
                for name, x in args.items()}
        options = {repr(x): x for x in (any_value(draw) for _ in range(150))}
        self.run_study(study(workload={"python": "train.py", "args": {
            **args, "out": out}}, steps=1, x={"choice": [
                {"constant": x} if isinstance(x, dict) else x
                for x in options.values()]}))
        given = in_order({**args, "out": out})
        self.assertEqual(
            sorted(self.read("out").splitlines()),
            sorted(repr((0, {"x": in_order(x)}, given))
                   for x in options.values()))

    def test_a_number_and_its_word_have_their_own_results(self):
        self.write("train.py", NET.replace(
            '{"val": self.x}', '{"val": len(str(self.args["width"] * 3))}'))
        for name, width in [("number", 12), ("word", "12"), ("float", 12.0),
                            ("again", 12)]:
            x = study(workload={"python": "train.py", "args": {
                "width": width, "out": self.path("out")}}, lr=0.1)
            report, _ = self.run_study({**x, "study": name})
            self.assertEqual(float(report["studies"][0]["best"]["value"]),
                             len(str(width * 3)), name)
            self.assertEqual(report["trained_steps"] == 0, name == "again")

    def test_a_study_of_before_is_given_what_it_was_then(self):
        """By whichever verb it goes on."""
        # So slowly that the service can pause the study between two failures.
        self.write("train.py", "import os, time\n\n" + NET.replace(
            "        with open(", "        if not os.path.exists("
            "self.args['out'] + '.on'):\n"
            "            time.sleep(0.5)\n"
            "            raise ValueError('off')\n        with open(", 1))
        out = self.path("out")
        self.write("s.yaml", json.dumps(study(workload={
            "python": "train.py", "args": {"out": out}}, steps=1,
            n={"choice": list(range(1, 13))})))
        # It pauses when three have failed alike, or some more meanwhile.
        self.hippo("run", "s.yaml", "--state", "state", "--trainers", 1,
                   code=1)
        db = sqlite3.connect(self.path("state", "hippo.db"))
        with db:
            db.execute("UPDATE studies SET typed = 0")
        db.close()
        self.write("out.on", "")
        self.hippo("run", "--resume", "state", "--trainers", 1)
        said = self.read("out").splitlines()
        self.assertIn(len(said), range(1, 10))
        self.assertEqual(said, [repr((0, {"n": float(13 - i)}, {"out": out}))
                                for i in range(len(said), 0, -1)])

    def test_what_is_told_is_what_was_trained(self):
        self.write("train.py", NET)
        out = self.path("out")
        _, said = self.run_study(study(
            workload={"python": "train.py", "args": {"out": out}}, steps=1,
            data_seed=20240131123456, x=0.1234567890123456))
        self.assertIn("space.x: has more than 12 digits, and is trained with "
                      "as 0.123456789012", said.err)
        self.assertIn("{'data_seed': 20240131123456, 'x': 0.123456789012}",
                      self.read("out"))
        self.assertEqual(self.trials("params")[0]["params"],
                         {"data_seed": 20240131123456, "x": 0.123456789012})
        csv = self.read("state", "report", "latest", "trials.csv")
        self.assertIn("20240131123456", csv)
        self.assertNotIn("0.1234567890123", csv)


if __name__ == "__main__":
    sys.exit(unittest.main())
