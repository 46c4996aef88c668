#!/usr/bin/env python3
"""What bench/run and bench/gpu make of figures, and when the check of
instructions fails."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))

sys.path.insert(0, os.path.join(ROOT, "bench", "peers"))

import guard  # noqa: E402
import harness  # noqa: E402
import public_methods  # noqa: E402
import public_peers  # noqa: E402
from harness import Row  # noqa: E402
from suite import public, public_ranks  # noqa: E402


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

    def test_what_never_came_is_a_dash(self):
        text = harness.table([Row("cost", "h", [2], "peer", [float("inf")],
                                  more_is_better=False, aim=3,
                                  aim_of_ratio=True)])
        cells = [x.strip() for x in text.splitlines()[-1].split("|")]
        self.assertEqual(cells[1:-1], ["cost", "h", "2", "peer", "–", "∞", "–",
                                       "≥ 3 ×", "yes"])

    def test_what_takes_no_time_is_done_at_once(self):
        bench = harness.Bench(1, "/", quick=False)
        with contextlib.redirect_stderr(io.StringIO()):
            values = bench.at_once({"a": lambda: 1, ("b", "c"): lambda: 2})
            self.assertEqual(values, {"a": 1, ("b", "c"): 2})
            with self.assertRaises(harness.Failed):
                bench.at_once({"a": lambda: 1, "b": lambda: bench.program("x")})

    def test_sides_are_measured_in_turn(self):
        order = []
        bench = harness.Bench(2, "/", quick=False)
        values = bench.in_turn({"a": lambda: order.append("a") or 1,
                                "b": lambda: order.append("b") or 2})
        self.assertEqual(order, ["a", "b", "a", "b"])
        self.assertEqual(values, {"a": [1, 1], "b": [2, 2]})


class Task:
    """Of public tables: a choice, and a range that is there with one word."""

    ranges = {"nr.rounds": mock.Mock(low=1, high=8, log=True, whole=True),
              "eta": mock.Mock(low=.1, high=1.0, log=False, whole=False)}
    choices = {"booster": ["linear", "tree"]}
    conditions = {"eta": ("booster", ["tree"])}
    fold = False
    steps = 3
    sign = -1


class Halves(public_peers.Peer):
    """Asks for two steps of a trial, then for the third."""

    def __init__(self):
        super().__init__(Task, 0)
        self.told_of = []

    def ask(self):
        at = 2 if self.told_of else 0
        return public_peers.Job({"x": 1}, at or 2, "handle", at)

    def tell(self, job, value):
        self.told_of.append((job.handle, job.at, value))


class Public(unittest.TestCase):
    def test_a_peer_hears_of_the_end_of_its_job_alone(self):
        peer = Halves()
        self.assertEqual(peer.next("worker")[:3], (0, 0, 1))
        peer.told("worker", (0, 0, 1, {}), 5)
        self.assertEqual(peer.told_of, [])
        self.assertEqual(peer.next("worker")[:3], (0, 1, 2))
        peer.told("worker", (0, 1, 2, {}), 4)
        self.assertEqual(peer.told_of, [("handle", 2, -4)], "less is better")
        self.assertEqual(peer.next("worker")[:3], (1, 2, 3))

    def test_a_space_has_conditions(self):
        self.assertEqual(
            public_methods.space_file(Task),
            "  nr_rounds: {log_int_uniform: [1, 8]}\n"
            '  booster: {choice: ["linear", {value: tree, '
            "with: {eta: {uniform: [0.1, 1.0]}}}]}")

    def test_units_are_values(self):
        with mock.patch.dict(Task.ranges, {"eta": mock.Mock(at=lambda x: -x)}):
            Task.ranges["nr.rounds"].at = lambda unit: 8 * unit
            self.assertEqual(Halves().at([.5, .25, 1.0]),
                             {"nr.rounds": 4, "eta": -.25, "booster": "tree"})

    def test_regrets(self):
        course = [(1, 50), (3, 90)]
        for budget, wanted in ((.5, 1), (1, 1), (2.9, 1), (3, .2)):
            self.assertAlmostEqual(
                public_ranks.regret(course, budget, (50, 100)), wanted)
        self.assertEqual(
            public_ranks.best_known({"t": {"a": [course], "b": [[]]}},
                                    {"t": (50, 80)}), {"t": (50, 90)})

    def test_ranks(self):
        self.assertEqual(public_ranks.ranks([3, 1, 3, 9]), [2.5, 1, 2.5, 4])
        by_task = {"s": {"a": 1, "b": 2}, "t": {"a": 1, "b": 1}}
        self.assertEqual(public_ranks.mean_ranks(by_task),
                         {"a": 1.25, "b": 1.75})

    def test_significance(self):
        # Of SciPy: chi2.sf, and studentized_range.ppf for the difference.
        for x, degrees, wanted in ((3.2, 1, .0736383), (3.2, 2, .2018965),
                                   (9, 3, .0292909), (20, 16, .2202206)):
            self.assertAlmostEqual(
                public_ranks.chi_square_beyond(x, degrees), wanted, places=6)
        # Demšar's example: 4 methods on 14 data sets.
        self.assertAlmostEqual(public_ranks.critical_difference(4, 14), 1.25,
                               places=2)
        same = {i: {"a": 0, "b": 1, "c": 2} for i in range(4)}
        self.assertAlmostEqual(public_ranks.friedman(same), .0183156, places=6)

    def test_where_peers_are_ahead(self):
        by_task = {"s": {"auto": .5, "gp": .1, "X": .4, "Y": .3},
                   "t": {"auto": .5, "gp": .6, "X": .6, "Y": .6},
                   "u": {"auto": .5, "gp": .6, "X": .1, "Y": .6}}
        self.assertEqual(public_ranks.behind_peers(by_task, ["auto", "gp"]),
                         [("u", .5, "X", .1), ("s", .5, "Y", .3)])
        text = "\n".join(public_ranks.section("Title", {10: by_task},
                                              ["auto", "gp"]))
        self.assertIn("at 10 on 2 of 3, most on u (0.500, X 0.100), s", text)

    def test_a_table_marks_what_is_not_behind(self):
        text = public_ranks.table(
            {10: {i: {"a": .25, "b": .5} for i in range(9)}}, .9)
        cells = [[x.strip() for x in line.split("|")[1:-1]]
                 for line in text.splitlines()]
        self.assertEqual(cells[2:], [["a", "0.250 ± 0.000 (**1.0**)"],
                                     ["b", "0.500 ± 0.000 (2.0)"]])

    def test_parts(self):
        self.assertEqual(
            public.part_of("workers=1|4; methods=gp|asha, gp, from 3;seeds=2"),
            {"workers": ["1", "4"], "methods": ["gp", "asha, gp, from 3"],
             "seeds": 2})
        for text in ("seed=3", "methods=nobody", "seeds=", "fold=1"):
            with self.assertRaises(harness.Failed, msg=text):
                public.part_of(text)

    def test_slow_methods_have_fewer_tasks_and_seeds(self):
        tables = mock.Mock(tasks=lambda _: [str(i) for i in range(25)])
        fast, all_of_them = public.tables_of(
            {"scenario": ["lcbench"], "fold": ["no"], "workers": ["4"]}, False,
            tables)
        self.assertEqual((len(fast.tasks), fast.seeds), (25, public.SEEDS))
        self.assertNotIn("HEBO", fast.methods)
        self.assertEqual(set(all_of_them.methods), set(public.METHODS))
        self.assertEqual((len(all_of_them.tasks), all_of_them.seeds),
                         (9, public.SLOW_SEEDS))
        (table,) = public.tables_of(
            {"scenario": ["bbob"], "methods": ["HEBO", "dehb"], "tasks": 5},
            False, tables)
        self.assertEqual(table.methods, ["HEBO"], "functions have one step")
        self.assertEqual(table.tasks, ["0", "5", "10", "15", "20"])
        self.assertEqual(table.seeds, public.SEEDS)
        (table,) = public.tables_of({"scenario": ["bbob"], "task": ["7"],
                                     "methods": ["gp"]}, False, tables)
        self.assertEqual(table.tasks, ["7"])
        with self.assertRaisesRegex(harness.Failed, "no open task '25'"):
            public.tables_of({"scenario": ["bbob"], "task": ["7", "25"]}, False,
                             tables)

    def test_seeds_are_kept(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name, "play")
        program.write_text("first")
        asked = []

        def play(command):
            first, last = (int(command[command.index(x) + 1])
                           for x in ("--first-seed", "--seeds"))
            asked.append((first, last))
            return [[[1, x]] for x in range(first, last)]

        bench = mock.Mock(program=lambda _: program, json=play)

        def courses(who, seeds, workers=1):
            with mock.patch.object(public, "KEPT", pathlib.Path(folder.name)), \
                 mock.patch.object(public, "data_folder"):
                return public.Public(bench).courses(who, "lcbench", "t", False,
                                                    workers, 60, seeds)

        self.assertEqual(len(courses("gp", 2)), 2)
        self.assertEqual(courses("gp", 5)[4], [[1, 4]])
        self.assertEqual(len(courses("gp", 1)), 1)
        courses("HEBO", 2)
        self.assertEqual(asked, [(0, 2), (2, 5), (0, 2)])
        program.write_text("second")
        courses("gp", 1)
        courses("HEBO", 2)
        self.assertEqual(asked[3:], [(0, 1)], "ours depend on the program")
        courses("HEBO", 2, workers=4)
        self.assertEqual(len(asked), 5)


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


# What programs do in place of those that train: note their arguments, and
# print figures.
NOTE = """#!/usr/bin/env python3
import json, os, sys
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(sys.argv) + "\\n")
"""
TRAINER = NOTE + """
several = sys.argv[6] == "16"
print(json.dumps({"examples_per_second": 500 if several else 200}))
"""
PEER = NOTE + """
print(json.dumps({"examples_per_second":
                  400 if "--compile" in sys.argv else 100}))
"""
NO_PEER = NOTE + """
sys.exit("ModuleNotFoundError: No module named 'torch'")
"""
STAGES = NOTE + """
print(json.dumps({"between": 0.5, "fork": 6, "mib": 2.1}))
"""
# Of a study alone, a trial needs a second; merged it needs half of one.
HIPPO = NOTE + """
RESULTS = [{"step": 1, "metrics": {}}]
files = [x for x in sys.argv if x.endswith(".yaml")]
trials = 10 * len(files)
each = 1 if "off" in sys.argv else 0.5
folder = sys.argv[sys.argv.index("--state") + 1] + "/report/latest"
os.makedirs(folder)
with open(folder + "/report.json", "w") as report:
    json.dump({"studies": [{"name": x, "trials": [
                   {"id": i, "results": RESULTS} for i in range(10)]}
                   for x in files],
               "device_seconds": trials * each, "trained_steps": 3 * trials,
               "asked_steps": 240, "merge_rate": 3, "k_wise_merge_rate": 2},
              report)
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        self.calls = self.build / "calls"
        for name, text in (("bench/trainer", TRAINER),
                           ("bench/stages", STAGES),
                           ("apps/hippo/hippo", HIPPO), ("python", PEER)):
            self.program(name, text)

    def program(self, name, text):
        path = self.build / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def gpu(self, *flags, code=0):
        """Returns what bench/gpu prints, and the table's cells by line."""
        done = subprocess.run(
            [sys.executable, "-B", os.path.join(ROOT, "bench", "gpu"),
             "--build", self.build, "--python", self.build / "python", *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "CALLS": str(self.calls)})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, [[x.strip() for x in line.split("|")[1:-1]]
                             for line in done.stdout.splitlines()
                             if line.startswith("| ")][2:]

    def calls_of(self, *words):
        """The arguments of the calls that have all of these words."""
        calls = map(json.loads, self.calls.read_text().splitlines())
        return [x[1:] for x in calls if set(words) <= set(" ".join(x).split())]

    def test_networks(self):
        out, rows = self.gpu("networks")
        self.assertEqual(len(rows), 18)
        what = "cifar-resnet20, batch 128, float32"
        self.assertEqual(
            [row[:6] + row[7:] for row in rows[:3]],
            [[what + ", 16 at once", "images/s", "500", "one at a time", "200",
              "2.50", "≥ 3 ×", "**no**"],
             [what, "images/s", "200", "PyTorch eager, tf32", "100", "2.00",
              "≥ 2 ×", "yes"],
             [what, "images/s", "200", "torch.compile, tf32", "400", "0.50",
              "≥ 1 ×", "**no**"]])
        self.assertIn(f"below its aim: {what}, 16 at once, one at a time; "
                      f"{what}, torch.compile, tf32", out)
        # PyTorch as it comes is measured once, for both kinds of 32 bits.
        self.assertEqual(len(self.calls_of("cifar-resnet20", "--precision",
                                           "tf32")), 2)

    def test_precisions_that_are_asked_for(self):
        _, rows = self.gpu("networks", "--precision", "bfloat16",
                           "--precision", "tf32", "--at-once", "8")
        self.assertEqual(len(rows), 12)
        self.assertEqual(rows[0][0],
                         "cifar-resnet20, batch 128, bfloat16, 8 at once")
        self.assertEqual([x[5] for x in self.calls_of("cifar-resnet56",
                                                      "precision=tf32")],
                         ["1", "8"])
        self.assertEqual(len(self.calls_of("--precision", "bfloat16")), 4)

    def test_bert(self):
        (row,) = self.gpu("bert")[1]
        self.assertEqual(row[0], "squad-bert-base, batch 32 × 384, bfloat16")
        self.assertEqual(row[-2:], ["≥ 1.1 ×", "yes"])
        ours, theirs = self.calls_of("squad-bert-base")
        for flag in ("data.length=384", "dropout=0.1", "precision=bfloat16"):
            self.assertIn(flag, ours)
        for flag, value in (("--length", "384"), ("--dropout", "0.1"),
                            ("--precision", "bfloat16"),
                            ("--batch-size", "32")):
            self.assertEqual(theirs[theirs.index(flag) + 1], value)

    def test_stages(self):
        rows = self.gpu("stages")[1]
        self.assertEqual([row[-1] for row in rows], ["yes", "**no**"] * 2)

    def test_studies_of_which_the_opponent_trains_one(self):
        out, rows = self.gpu("studies")
        pair, pair_alone, merged, alone = self.calls_of("run")
        for x, files, leases, merging in (
                (pair, 2, "16", True), (pair_alone, 2, "16", False),
                (merged, 8, "16", True), (alone, 1, "1", False)):
            self.assertEqual(sum(y.endswith(".yaml") for y in x), files)
            self.assertEqual(x[x.index("--at-once") + 1], leases)
            self.assertEqual("--merge" not in x, merging)
        self.assertEqual(rows[0][-2], "≥ 1.67 ×")
        # A tenth of a second is the programs', the rest what is added.
        self.assertAlmostEqual(float(rows[2][4]), 70, delta=2)
        self.assertEqual(rows[3][2:6], ["40", "one at a time", "80", "2.00"])
        self.assertEqual(rows[4][2:6], ["240", "one at a time", "240", "1.00"])
        self.assertIn("80 trials the opponent trained 10", out)

    def test_studies_that_merging_changes(self):
        self.program("apps/hippo/hippo", HIPPO.replace(
            '"step": 1', '"step": len(sys.argv)'))
        out, _ = self.gpu("studies", code=1)
        self.assertIn("failed: studies", out)

    def test_measured_profiles(self):
        self.program("apps/hippo/hippo", NOTE + """
print('''device: "H100"
workload: "x"
step_seconds:
  - {by: "batch_size", values: {32: 9, 64: 0.5, 128: 0.25, 256: 0.2, 512: 0.2}}
  - {by: "optimizer", values: {"adamw": 1.5, "sgd": 1}}
load_seconds: 0.001
save_seconds: 0.002
evaluate_seconds: 0.5
checkpoint_bytes: 2000000''')
""")
        self.program("bench/trainer", NOTE + """
count = int(sys.argv[6])
if count > 8:
    sys.exit("out of memory")
print(json.dumps({"examples_per_second": 100 * min(count, 3)}))
""")
        out = self.build / "profiles"
        subprocess.run(
            [sys.executable, "-B", os.path.join(ROOT, "bench",
                                                "measured_profiles.py"),
             "resnet56-cifar10", "--build", self.build, "--out", out],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "CALLS": str(self.calls)})
        text = (out / "resnet56-cifar10-h100.yaml").read_text()
        for line in ("device: H100",
                     # Of 5,120 of 40,000 images.
                     "step_seconds: {by: batch_size, values: {64: 3.906, "
                     "128: 1.953, 256: 1.562, 512: 1.562}}",
                     "at_once_gain: 3", "load_seconds: 0.001",
                     "checkpoint_bytes: 2000000", "  sharpness: 0.15 "):
            self.assertIn("\n" + line, text)
        self.assertNotIn("been measured", text)
        self.assertIn("1: 1.00, 2: 2.00, 4: 3.00, 8: 3.00.", text)

    def test_without_pytorch(self):
        self.program("python", NO_PEER)
        _, rows = self.gpu("bert", "--quick")
        self.assertEqual(rows[0][3:6], ["no PyTorch here", "", ""])
        out, rows = self.gpu("bert", "stages", code=1)
        self.assertIn("failed: bert", out)
        self.assertEqual(len(rows), 4, "the others go on")

    def test_what_is_not_there(self):
        (self.build / "bench" / "stages").unlink()
        self.assertIn("failed: stages", self.gpu("stages", code=1)[0])
        self.assertEqual(self.gpu("stage", code=1), ("", []))

    def test_the_studies_overlap(self):
        files = pathlib.Path(ROOT, "bench", "studies", "gpu").glob("*.yaml")
        done = subprocess.run(
            [os.environ["HIPPO"], "preview", *files, "-f", "json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual(len(told["studies"]), 8)
        for study in told["studies"]:
            self.assertLess(study["unique_steps"], study["asked_steps"])
        self.assertGreater(told["k_wise_merge_rate"], 1.2)


if __name__ == "__main__":
    unittest.main()
