#!/usr/bin/env python3
"""`hippo sequence`: what a sequence of a study file means."""

import json
import math
import os
import xml.etree.ElementTree as ElementTree

import programs
from programs import Case

WARMUP = ("warmup: {steps: 10, from: 0, to: 0.1, "
          "then: {cosine: {horizon: 70}}}")


class Sequence(Case):
    def show(self, *args):
        return self.hippo("sequence", *args).out

    def json(self, *args):
        return json.loads(self.show(*args, "-f", "json"))

    def refused(self, *args):
        done = self.hippo("sequence", *args, code=2)
        self.assertEqual(done.out, "")
        return done.err

    def test_pieces_and_values(self):
        out = self.json(WARMUP, "--steps", 90)
        self.assertEqual(out["steps"], 90)
        (x,) = out["sequences"]
        self.assertIs(x["responsive"], False)
        self.assertEqual([(y["begin"], y["form"]) for y in x["pieces"]],
                         [(0, "0"), (1, "0.01"), (2, "line(0,0.01,1)@0"),
                          (11, "0.0999496533271"), (12, "cos(0.1,0,70)@10"),
                          (81, "0")])
        self.assertEqual(x["pieces"][2]["first"], 0.02)
        self.assertEqual(x["pieces"][2]["last"], 0.1)
        self.assertEqual(len(x["values"]), 90)
        for step, value in enumerate(x["values"]):
            passed = min(max(step - 10, 0) / 70, 1)
            expected = 0.01 * step if step < 10 else 0.05 * (
                1 + math.cos(math.pi * passed))
            self.assertAlmostEqual(value, expected, delta=1e-12)

    def test_table(self):
        out = self.show(WARMUP)
        lines = out.splitlines()
        self.assertEqual(lines[0].split(), ["step", "values", "form"])
        self.assertEqual(lines[3].split(),
                         ["2", "0.02", "..", "0.1", "line(0,0.01,1)@0"])
        self.assertEqual(lines[-1].split(), ["0", "100"])
        self.assertIn("*****", out)
        self.assertTrue(out.isascii())
        self.assertNotIn("\x1b", out)
        self.assertLessEqual(max(map(len, lines)), 80)

    def on_a_terminal(self, **env):
        code, said = programs.on_terminal(
            [programs.HIPPO, "sequence", WARMUP],
            env={**{k: v for k, v in os.environ.items()
                    if k != "LANG" and not k.startswith("LC_")}, **env})
        self.assertEqual(code, 0)
        return said

    def test_on_a_terminal_finer(self):
        for env in [{"LANG": "C.UTF-8"}, {"LC_ALL": "de_DE.utf8"}]:
            self.assertRegex(self.on_a_terminal(**env), "[\u2801-\u28ff]")
        for env in [{}, {"LANG": "C"}, {"LANG": "C.UTF-8", "LC_ALL": "C"}]:
            self.assertTrue(self.on_a_terminal(**env).isascii())

    def test_results(self):
        plateau = "reduce_on_plateau: {initial: 0.1, patience: 0}"
        (x,) = self.json(plateau, "--observe", "3:0.5,4:0.6,6:0.6",
                         "--steps", 9)["sequences"]
        self.assertIs(x["responsive"], True)
        self.assertEqual(x["values"], [0.1] * 6 + [0.01] * 3)
        (x,) = self.json(plateau, "--observe", "3:0.5,4:0.6", "--observe",
                         "6:nan", "--direction", "minimize", "--steps",
                         9)["sequences"]
        self.assertEqual(x["values"], [0.1] * 4 + [0.01] * 2 + [0.001] * 3)
        self.assertIn("--observe", self.show(plateau))

    def test_alternatives(self):
        out = self.json("linear: {from: {choice: [1, 2]}, to: 0, horizon: 4}",
                        "--steps", 3)
        self.assertEqual([x["values"] for x in out["sequences"]],
                         [[1, 0.75, 0.5], [2, 1.5, 1]])

    def test_words(self):
        out = self.show("piecewise: [[0, adamw], [5, sgd]]")
        self.assertEqual([x.split() for x in out.splitlines()[1:]],
                         [["0", "adamw", "adamw"], ["5", "sgd", "sgd"]])
        self.assertIn("no picture",
                      self.refused("adamw", "--svg", self.path("x.svg")))

    def test_picture(self):
        path = self.path("x.svg")
        self.show(WARMUP, "--svg", path, "--title", "a & b")
        root = ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("a & b", [x.text for x in root.iter()])
        for text, names in [
                ("linear: {from: {choice: [1, 1.5]}, to: 0, horizon: 9}",
                 ["1", "1.5"]),
                ("{choice: [0.1, {cosine: {initial: 1, horizon: 9}}]}",
                 ["0.1", "{cosine:{initial:1,horizon:9}}"]),
                ("warmup: {steps: 3, from: 0, to: 1, then: {choice: ["
                 "{cosine: {horizon: 9}}, {rex: {horizon: 9}}]}}",
                 ["cosine:{horizon:9}", "rex:{horizon:9}"])]:
            self.show(text, "--svg", path)
            shown = [x.text for x in ElementTree.parse(path).getroot().iter()
                     if "fill:" in x.get("style", "")]
            self.assertEqual(shown, names)
        self.hippo("sequence", "0.1", "--svg", self.path("no", "x.svg"),
                   code=1)

    def test_errors(self):
        self.assertEqual(
            self.refused("cosine: {initial: 1, horizn: 9}"),
            "error: sequence:1:30: cosine.horizn: unknown parameter of cosine "
            "'horizn', did you mean 'horizon'? Allowed: initial, end, "
            "horizon\n"
            "error: sequence:1:9: cosine: 'horizon' is missing\n")
        self.assertIn("did you mean 'cosine'?", self.refused("cosin: {}"))
        self.assertIn("must be STEP:VALUE, e.g. 3:0.5, found '3'",
                      self.refused("1", "--observe", "3"))
        self.assertIn("found '3:x'", self.refused("1", "--observe", "3:x"))
        self.assertIn("increasing steps, found 2 after 3",
                      self.refused("1", "--observe", "3:1,2:1"))
        self.assertIn("--steps", self.refused("1", "--steps", 0))
        self.assertIn("--help", self.refused())

    def test_help_has_an_example(self):
        self.assertIn("Example: hippo sequence 'cosine:", self.show("--help"))


if __name__ == "__main__":
    programs.main()
