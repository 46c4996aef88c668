#!/usr/bin/env python3
"""`hippo algorithms`, and the pages and messages that speak of its options."""

import ast
import json
import os
import re
import subprocess
import sys

import programs
from programs import Case

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


class Algorithms(Case):
    def listed(self, *names):
        return json.loads(self.hippo("algorithms", *names, "-f", "json").out)

    def names(self):
        return [x["name"] for x in self.listed()["algorithms"]]

    def test_json_has_each_option(self):
        asha, = self.listed("asha")["algorithms"]
        self.assertEqual([x["name"] for x in asha["options"]],
                         ["eta", "min", "max", "sampler", "mode",
                          "max_concurrent", "prefer_shared"])
        eta, least, _, sampler, mode, concurrent, _ = asha["options"]
        self.assertEqual(eta, {
            "name": "eta", "type": "whole", "min": 2, "max": None, "words": [],
            "values": "a whole number of at least 2", "default": "3",
            "meaning": "of n trials on a rung, n / eta continue",
            "since": "0.1.0"})
        self.assertEqual(least["values"], "a whole number from 1 to `max`")
        self.assertEqual(sampler["words"],
                         ["random", "grid", "tpe", "gp", "nsga2"])
        self.assertEqual((mode["type"], mode["default"]),
                         ("word", "promotion"))
        self.assertEqual(concurrent["words"], ["auto"])
        self.assertEqual(self.listed("gp")["samplers"][0]["options"][0]["name"],
                         "startup")

    def test_text_is_for_people(self):
        done = self.hippo("algorithms").out
        for name in self.names():
            self.assertRegex(done, rf"(?m)^{name} +\S")
        self.assertTrue(all(len(x) <= 80 for x in done.splitlines()))
        done = self.hippo("algorithms", "bohb").out
        self.assertIn("algorithm bohb: `hyperband` with learned values\n", done)
        self.assertRegex(done, r"(?m)^eta +a whole number of at least 2; "
                               r"default 3: ")
        self.assertIn("It has the sampler tpe, and takes its options.", done)

    def test_unknown_names_find_the_right_ones(self):
        self.assertIn("unknown algorithm 'ashaa', did you mean 'asha'?",
                      self.hippo("algorithms", "ashaa", code=2).err)

    def test_messages_list_the_same(self):
        done = self.hippo("preview", self.write("x.yaml", json.dumps({
            **programs.study("x", "gird"), "algorithm": "gird"})), code=2)
        named = re.search(r"\(must be (.+)\)", done.err)[1]
        self.assertEqual(sorted(re.split(", | or ", named)),
                         sorted(self.names()))

    def test_the_page_has_the_same_options(self):
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(ROOT, "scripts/docs-options"),
             programs.HIPPO, "--check"], text=True, capture_output=True,
            timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_page_has_each_algorithm(self):
        page = text_of("docs", "algorithms.md")
        for name in self.names():
            self.assertIn(f"\n| `{name}` | ", page)

    def test_python_names_the_same(self):
        """The names that `optimize` proposes for classes of other libraries,
        and the algorithms in its docstrings."""
        names = self.names()
        text = text_of("python", "hippo_hpo", "_arguments.py")
        known = ast.literal_eval(
            re.search(r"known = (\{.*?\})", text, re.DOTALL)[1])
        self.assertGreater(len(known), 10)
        for name in known.values():
            self.assertIn(name, names)
        options = {x["name"]: [y["name"] for y in x["options"]]
                   for x in self.listed()["algorithms"]}
        folder = os.path.join("python", "hippo_hpo")
        shown = 0
        for file in sorted(os.listdir(os.path.join(ROOT, folder))):
            if not file.endswith(".py"):
                continue
            for name, given in re.findall(
                    r'\{\\?"(\w+)\\?": \{((?:\\?"\w+\\?": [\w.]+(?:, )?)+)\}\}',
                    text_of(folder, file)):
                if name not in names:
                    continue
                for option in re.findall(r'\\?"(\w+)\\?":', given):
                    self.assertIn(option, options[name], file)
                    shown += 1
        self.assertGreaterEqual(shown, 3)


if __name__ == "__main__":
    programs.main()
