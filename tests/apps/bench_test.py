#!/usr/bin/env python3
"""What bench/run makes of figures, and when its check of instructions fails."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))

import guard  # noqa: E402
import harness  # noqa: E402
from harness import Row  # noqa: E402


class Figures(unittest.TestCase):
    def test_ratios_are_of_rounds_and_above_one_where_ours_is_better(self):
        self.assertEqual(Row("", "/s", [4, 9], "x", [2, 3]).ratios(), [2, 3])
        self.assertEqual(Row("", "s", [2, 3], "x", [4, 9],
                             more_is_better=False).ratios(), [2, 3])

    def test_aims(self):
        self.assertIsNone(Row("", "", [1]).reached())
        self.assertTrue(Row("", "", [1, 5, 6], aim=5).reached())
        self.assertFalse(Row("", "", [1, 4, 6], aim=5).reached())
        self.assertTrue(Row("", "", [3], aim=3, more_is_better=False).reached())
        self.assertFalse(Row("", "", [4], aim=3, more_is_better=False).reached())
        self.assertTrue(Row("", "", [6], "x", [4], aim=1.5,
                            aim_of_ratio=True).reached())
        self.assertFalse(Row("", "", [6], "x", [5], aim=1.5,
                             aim_of_ratio=True).reached())

    def test_a_table_has_medians_and_spreads(self):
        text = harness.table([Row("speed", "/s", [10, 20, 30], "peer",
                                  [10, 10, 10], aim=25)])
        cells = [x.strip() for x in text.splitlines()[-1].split("|")]
        self.assertEqual(cells[1:-1], ["speed", "/s", "20", "peer", "10",
                                       "2.00", "100 %", "≥ 25", "**no**"])

    def test_sides_are_measured_in_turn(self):
        order = []
        bench = harness.Bench(2, "/", quick=False)
        values = bench.in_turn({"a": lambda: order.append("a") or 1,
                                "b": lambda: order.append("b") or 2})
        self.assertEqual(order, ["a", "b", "a", "b"])
        self.assertEqual(values, {"a": [1, 1], "b": [2, 2]})


class Instructions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        recorded = pathlib.Path(folder.name, "instructions.json")
        recorded.write_text('{"insert": 1000, "decide": 1000}')
        names = mock.Mock(stdout="insert\ndecide\n")
        for what in (mock.patch.object(guard, "RECORDED", recorded),
                     mock.patch.object(guard.subprocess, "run",
                                       return_value=names)):
            what.start()
            self.addCleanup(what.stop)

    def check(self, counts, record=False):
        with mock.patch.object(guard, "count",
                               side_effect=lambda _, name: counts[name]), \
             contextlib.redirect_stdout(io.StringIO()), \
             contextlib.redirect_stderr(io.StringIO()):
            return guard.check(record)

    def test_little_growth_is_allowed(self):
        self.assertEqual(self.check({"insert": 1099, "decide": 500}), 0)

    def test_more_fails(self):
        self.assertEqual(self.check({"insert": 1101, "decide": 1000}), 1)

    def test_it_can_be_recorded(self):
        self.assertEqual(self.check({"insert": 2000, "decide": 1}, True), 0)
        self.assertEqual(self.check({"insert": 2000, "decide": 1}), 0)
        self.assertEqual(self.check({"insert": 2000, "decide": 2}), 1)

    def test_a_path_that_is_not_recorded_fails(self):
        guard.RECORDED.write_text('{"insert": 1000}')
        self.assertEqual(self.check({"insert": 1000, "decide": 1000}), 1)


if __name__ == "__main__":
    unittest.main()
