#!/usr/bin/env python3
"""Trials whose model is sharded over ranks (FSDP2), on one trainer and two."""

import json
import os
import re

from own_code import Serving, python, study
from programs import main, results

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def shown():
    """The example of docs/own-code.md."""
    with open(os.path.join(ROOT, "docs", "own-code.md")) as page:
        found, = re.findall(r"^```python\n((?:(?!^```).)*fully_shard.*?)^```$",
                            page.read(), re.DOTALL | re.MULTILINE)
    return found


def sharded_study():
    """Two trials of three steps, of which they have the first in common."""
    x = study("s", python(ranks=2) | {"python": "train.py:train"}, steps=3,
              lr={"choice": [0.1, {"piecewise": [[0, 0.1], [1, 0.01]]}]})
    x["objective"] = {"metric": "loss", "direction": "minimize"}
    return x


class Sharded(Serving):
    def setUp(self):
        super().setUp()
        self.write("train.py", shown())

    def exported(self, state):
        """The bytes of the last state of a trial."""
        path = self.path(state + ".weights")
        self.hippo("export", "s", 1, "--weights", path, "--state", state)
        with open(path, "rb") as file:
            return file.read()

    def test_on_two_trainers_merged_as_alone_on_one(self):
        # Each process imports PyTorch, which takes seconds.
        alone, _ = self.run_study(sharded_study(), "alone", "--merge", "off",
                                  "--trainers", 1)
        self.serve()
        for _ in range(2):
            self.trainer("--gang-listen", "127.0.0.1", "--ranks", 1)
        self.submit(sharded_study())
        self.await_end()
        self.assertEqual(1, self.listed("s")["shared"])
        told = json.loads(self.hippo("export", "s", "--json").out,
                          parse_float=str)
        self.assertEqual(results(alone), results({"studies": [told]}))
        self.assertEqual(self.exported("alone"), self.exported("state"))


if __name__ == "__main__":
    main()
