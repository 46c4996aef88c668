#!/usr/bin/env python3
"""What the pages about merging show is what the program prints."""

import json
import os
import re

import programs
from programs import Case

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MERGING = os.path.join(ROOT, "examples", "merging")

STUDY = """
study: {name}
workload: {{name: fashion-cnn, seed: 1}}
objective: {{metric: val_accuracy}}
max_steps: 80
space: {space}
algorithm: {algorithm}
budget: {{trials: 24}}
"""


def page(name):
    with open(os.path.join(ROOT, "docs", name)) as text:
        return text.read()


def example(name):
    return os.path.join(MERGING, name + ".yaml")


class Pages(Case):
    def preview(self, *files):
        return json.loads(self.hippo("preview", *files, "-f", "json").out)

    def preview_of(self, space, algorithm="random"):
        return self.preview(self.write("x.yaml", STUDY.format(
            name="x", space=space, algorithm=algorithm)))

    def test_spaces_that_share(self):
        rows = re.findall(r"(?m)^\| \d \| `(.+?)` \| (\S+) \| `(.+?)` \| "
                          r"(\S+) \|$", page("sharing.md"))
        self.assertEqual(len(rows), 7)
        for before, p_before, after, p_after in rows:
            with self.subTest(after):
                trials = set()
                for space, p in [(before, p_before), (after, p_after)]:
                    x = self.preview_of(space)
                    self.assertEqual(f"{x['merge_rate']:.2f}", p, space)
                    trials.add(x["trials"])
                self.assertEqual(len(trials), 1, "no fair comparison")

    def test_early_stops(self):
        text = page("sharing.md")
        space = re.search(r"(?m)^\| 2 \|.* \| `(.+?)` \| \S+ \|$", text)[1]
        rows = re.findall(r"(?m)^\| `(.+)` \| (\d+) \| (\d+) \| (\S+) \|$",
                          text)
        self.assertEqual(len(rows), 6)
        for algorithm, asked, unique, p in rows:
            with self.subTest(algorithm):
                x = self.preview_of(space, algorithm)
                x = x.get("estimate", x)
                self.assertEqual(
                    (str(x["asked_steps"]), str(x["unique_steps"]),
                     f"{x['merge_rate']:.2f}"), (asked, unique, p))

    def test_rates(self):
        text = page("merging.md")
        for files in [["decay"], ["decay", "batch"]]:
            x = self.preview(*map(example, files))
            line = (f"p           {x['asked_steps']} / {x['unique_steps']}  ")
            self.assertIn(line, text)
            self.assertRegex(text, re.escape(line)
                             + f" += {x['merge_rate']:.2f}\n")
        self.assertIn(f" = {x['k_wise_merge_rate']:.2f}\n", text)
        x = self.preview(example("decay-sha"))["estimate"]
        self.assertIn(f"Now {x['asked_steps']} steps are asked for", text)
        self.assertIn(f"p = {x['merge_rate']:.2f}", text)

    def test_pictures(self):
        for name, files in [("decay", ["decay"]),
                            ("decay-sha", ["decay-sha"]),
                            ("two-studies", ["decay", "batch"])]:
            self.hippo("simulate", *map(example, files), "--trainers", 2,
                       "--profile", example("profile"), "--report",
                       self.path("r"))
            with open(self.path("r", "stage-tree.svg")) as drawn:
                with self.subTest(name):
                    self.assertEqual(
                        drawn.read(), page(f"images/merging-{name}.svg"),
                        "run scripts/docs-images")


if __name__ == "__main__":
    programs.main()
