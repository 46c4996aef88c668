"""Workloads in processes of their own, driven as a trainer drives them."""

import fcntl
import os
import sys
import tempfile
import textwrap
import unittest

import hippo_hpo as hippo
from hippo_hpo._schema import process
from trainer_end import Trainer

SUM = """
    import hippo_hpo as hippo

    class Sum(hippo.Workload):
        def setup(self, seed, device, args):
            self.seed, self.device, self.args = seed, device, args

        def init(self):
            self.total = 0.0

        def train(self, start, stop, hp):
            for step in range(start, stop):
                if hp.lr(step) < 0:
                    raise ValueError("a negative rate")
                self.total += hp["lr"](step)

        def evaluate(self):
            return {"total": self.total, "scaled":
                    self.total * self.args["scale"]}

        def size(self):
            return {"operations": 4.0, "samples": 3} if self.args else {"x": 1}

        def state_dict(self):
            return {"total": self.total}

        def load_state_dict(self, state):
            self.total = state["total"]

    class NoWorkload:
        pass
"""


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "train.py")
        with open(self.path, "w") as file:
            file.write(textwrap.dedent(SUM))

    def start(self, name="Sum", *packages):
        trainer = Trainer(f"{self.path}:{name}", *packages)
        self.addCleanup(trainer.close)
        return trainer

    def ready(self):
        trainer = self.start()
        trainer.ask("describe", process.processProtocolVersion)
        self.assertEqual(trainer.setup(scale=10).which(), "done")
        self.assertEqual(trainer.ask("init").which(), "done")
        return trainer

    def test_describes_itself(self):
        said = self.start("Sum", "pycapnp", "no-such-package").ask(
            "describe", process.processProtocolVersion).description
        self.assertEqual(said.name, "Sum")
        versions = {x.name: x.version for x in said.versions}
        self.assertEqual(versions["python"], sys.version.split()[0])
        self.assertNotEqual(versions["pycapnp"], "")
        self.assertEqual(versions["no-such-package"], "")

    def test_trains_and_measures(self):
        trainer = self.ready()
        self.assertEqual(trainer.train(0, 3, lr=[1, 2, 4]).which(), "done")
        self.assertEqual(trainer.train(3, 5, lr=[0.5]).which(), "done")
        self.assertEqual(trainer.metrics(), {"total": 8.0, "scaled": 80.0})

    def test_tells_how_much_there_is_to_compute(self):
        size = self.ready().ask("init").size
        self.assertEqual((size.operations, size.parameters, size.samples),
                         (4, 0, 3))
        trainer = self.start()
        trainer.ask("describe", process.processProtocolVersion)
        trainer.setup()
        self.assertIn("size() has x; it may have operations",
                      trainer.ask("init").failed.message)

    def test_time_before_the_loop_is_no_time_of_steps(self):
        with open(self.path, "a") as file:
            file.write(textwrap.dedent("""
                import time

                @hippo.workload
                def slow(ctx):
                    time.sleep(0.2)
                    state = {"x": 0}
                    for step in ctx.steps(state=state):
                        state["x"] += ctx.hp.lr(step)
                        yield lambda: {"x": state["x"]}
                """))
        for options in [], ["--try"]:
            trainer = Trainer(*options, f"{self.path}:slow")
            self.addCleanup(trainer.close)
            trainer.ask("describe", process.processProtocolVersion)
            trainer.setup()
            trainer.ask("init")
            first = trainer.train(0, 2, lr=[1])
            self.assertEqual("done", first.which(), first)
            # To try the code it is begun anew, and afterwards once more.
            self.assertGreater(first.setupNanos, 0.5e9 if options else 0.2e9)
            if options:
                self.assertGreater(trainer.train(2, 3, lr=[1]).setupNanos,
                                   0.2e9)
            else:
                self.assertEqual(0, trainer.train(2, 3, lr=[1]).setupNanos)
            self.assertEqual(0, trainer.train(3, 4, lr=[1]).setupNanos)

    def test_goes_on_in_another_process(self):
        first, other = self.ready(), self.ready()
        file = os.path.join(self.folder.name, "state")
        first.train(0, 3, lr=[1, 2, 4])
        self.assertEqual(first.ask("save", file).which(), "done")
        other.train(0, 1, lr=[100])
        self.assertEqual(other.ask("load", file).which(), "done")
        other.train(3, 4, lr=[1])
        self.assertEqual(other.metrics()["total"], 8.0)

    def captured(self, trainer, name):
        """Captures the state; returns the path of the file, and what opens it
        or says why there is none, once the process lets it be seen."""
        path = os.path.join(self.folder.name, name)
        file = open(path, "xb")
        self.addCleanup(file.close)
        self.assertEqual(trainer.ask("capture", path).which(), "done")

        def result():
            fcntl.flock(file, fcntl.LOCK_SH)
            if os.path.exists(path + ".failed"):
                with open(path + ".failed") as failed:
                    return failed.read()
            with open(path + ".whole", "rb") as whole:
                return whole.read()
        return result

    def test_a_captured_state_is_the_one_of_that_moment(self):
        with open(self.path, "a") as file:
            file.write(textwrap.dedent("""
                import time

                class Slow(Sum):
                    def _write(self, state, path):
                        time.sleep(0.3)
                        super()._write(state, path)

                class Own(Sum):
                    def save(self, path):
                        with open(path, "w") as file:
                            file.write(repr(self.total))

                    def load(self, path):
                        with open(path) as file:
                            self.total = float(file.read())

                class Unwritable(Sum):
                    def state_dict(self):
                        return {"total": self.total, "file": open(__file__)}

                @hippo.workload
                def train(ctx):
                    state = {"x": 0, "y": [1] * 1000}
                    for step in ctx.steps(state=state):
                        state["x"] += ctx.hp.lr(step)
                        yield lambda: {"total": state["x"]}
                """))
        for name in "Slow", "Own", "train":
            trainer = self.start(name)
            self.assertTrue(trainer.ask(
                "describe", process.processProtocolVersion
            ).description.captures)
            trainer.setup(scale=10)
            trainer.ask("init")
            trainer.train(0, 3, lr=[1, 2, 4])
            path = os.path.join(self.folder.name, name)
            trainer.ask("save", path)
            first = self.captured(trainer, name + "-1")
            self.assertEqual(trainer.train(3, 4, lr=[1]).which(), "done")
            later = self.captured(trainer, name + "-2")
            trainer.train(4, 5, lr=[1])
            with open(path, "rb") as saved:
                self.assertEqual(saved.read(), first())
            self.assertNotEqual(first(), later())
            self.assertEqual(trainer.metrics()["total"], 9)
            trainer.ask("load", os.path.join(self.folder.name,
                                             name + "-2.whole"))
            self.assertEqual(trainer.metrics()["total"], 8)
        trainer = self.start("Unwritable")
        trainer.setup(scale=10)
        trainer.ask("init")
        self.assertIn("cannot pickle", self.captured(trainer, "no")())
        self.assertEqual(trainer.train(0, 1, lr=[1]).which(), "done")

    def test_a_captured_state_that_is_cut_short_is_not_whole(self):
        with open(self.path, "a") as file:
            file.write(textwrap.dedent("""
                import os, signal

                class Killed(Sum):
                    def _write(self, state, path):
                        os.kill(os.getpid(), signal.SIGKILL)
                """))
        trainer = self.start("Killed")
        trainer.setup(scale=10)
        trainer.ask("init")
        with self.assertRaises(FileNotFoundError):
            self.captured(trainer, "state")()
        self.assertEqual(trainer.train(0, 1, lr=[1]).which(), "done")

    def test_an_exception_is_told_with_its_traceback(self):
        trainer = self.ready()
        failed = trainer.train(0, 1, lr=[-1]).failed
        self.assertEqual(failed.message,
                         "in step 0: ValueError: a negative rate")
        self.assertIn('train.py", line', failed.details)
        self.assertNotIn("workload_process.py", failed.details)
        trainer.ask("init")  # it is as good as ever
        self.assertEqual(trainer.metrics()["total"], 0.0)

    def test_an_unknown_hyper_parameter(self):
        failed = self.ready().train(0, 1, rate=[1]).failed
        self.assertIn("the study has no hyper-parameter 'lr'; it has: rate",
                      failed.message)

    def test_what_is_no_workload(self):
        for name, why in {"Sam": "no subclass of hippo.Workload or function "
                                 "with @hippo.workload that is called Sam; it "
                                 "has: Sum",
                          "NoWorkload": "it has: Sum"}.items():
            said = self.start(name).ask("describe", 1)
            self.assertIn(why, said.failed.message)

    def test_another_version_is_refused(self):
        said = self.start().ask("describe", 999)
        self.assertIn("install the same release", said.failed.message)

    def test_arguments_and_values_have_their_types(self):
        with open(self.path, "a") as file:
            file.write(textwrap.dedent("""
                class Types(Sum):
                    def train(self, start, stop, hp):
                        hp.at(start)["json"].append(3)  # a list of its own
                        assert repr(hp.at(start)) == self.args["values"], \\
                            hp.at(start)
                        del self.args["values"]
                        assert repr(self.args) == "{'a': 1, 'b': 1.5, " \\
                            "'c': 12.0, 'd': True, 'e': '12', 'f': None, " \\
                            "'g': [1, 2.0], 'h': 1180591620717411303424}"
                """))
        trainer = self.start("Types")
        trainer.ask("describe", process.processProtocolVersion)
        exact = {"c": "12.0", "d": "true", "e": '"12"', "f": "null",
                 "g": "[1,2.0]", "h": str(2**70)}
        values = {"json": ("[1,null]", "json"), "plain": ([2.0], "plain"),
                  "truth": ([1.0], "truth"), "whole": ([2.0, 3.0], "whole"),
                  "word": ("1", "plain")}

        def arguments(x):
            expected = "{'json': [1, None], 'plain': 2.0, 'truth': True, " \
                "'whole': 2, 'word': '1'}"
            numbers = {"a": 1, "b": 1.5, "c": 12, "d": 1}
            args = x.init("args", 9)
            for to, name in zip(args, "abcdefgh"):
                to.name, to.json = name, exact.get(name, "")
                to.value.number = numbers.get(name, 0)
            args[8].name, args[8].value.word = "values", expected

        def steps(x):
            setattr(x, "from", 4)
            x.to = 6
            for to, (name, (value, kind)) in zip(
                    x.init("values", len(values)), values.items()):
                to.name, to.type = name, kind
                if isinstance(value, str):
                    to.word = value
                else:
                    to.numbers = value
        self.assertEqual(trainer.ask("setup", arguments).which(), "done")
        self.assertEqual(trainer.ask("init").which(), "done")
        answer = trainer.ask("train", steps)
        self.assertEqual(answer.which(), "done", answer)

    def test_ends_with_its_trainer(self):
        self.assertEqual(self.ready().close(), 0)


class Values(unittest.TestCase):
    hp = hippo.HyperParameters(4, 8, {"lr": [1.0, 2.0], "kind": "adam"})

    def test_ways_to_ask(self):
        self.assertEqual(self.hp.lr(4), 1.0)
        self.assertEqual(self.hp["lr"](7), 2.0)
        self.assertEqual(self.hp.at(5), {"kind": "adam", "lr": 2.0})
        self.assertEqual(list(self.hp), ["kind", "lr"])

    def test_other_steps_and_names(self):
        for step in (3, 8):
            with self.assertRaisesRegex(IndexError, r"not in \[4, 8\)"):
                self.hp.lr(step)
        with self.assertRaises(KeyError):
            self.hp["rate"]
        self.assertFalse(hasattr(self.hp, "rate"))

    def test_what_was_read(self):
        hp = hippo.HyperParameters(0, 1, {"lr": [1.0], "momentum": [0.9]})
        hp.lr(0)
        self.assertEqual(hp.read, {"lr"})


if __name__ == "__main__":
    unittest.main()
