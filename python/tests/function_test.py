"""Training functions, as trainers drive them, and how their code travels."""

import copy
import itertools
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import xml.etree.ElementTree
from unittest import mock

import hippo_hpo as hippo
from hippo_hpo._compare import differences
from hippo_hpo._source import source_of
from hippo_hpo._states import load_state
from hippo_hpo._trying import NotExact, try_out
from hippo_hpo.workload import HyperParameters

LR = [0.1, 0.1, 0.2, 0.2, 0.05, 0.05, 0.05]
FACTOR = 3
TABLE = {"a": [1, 2.5], "b": None}
loaded = 0


def load(n):
    global loaded
    loaded += 1
    return [i / n for i in range(n)]


class Net:
    def __init__(self, width):
        self.w = [random.random() for _ in range(int(width))]


@hippo.workload(seed=1)
def train(ctx):
    data = ctx.once(load, 8)
    net = Net(ctx.constant("width"))
    momentum = {"v": 0.0}
    for step in ctx.steps(net=net, momentum=momentum):
        for x in random.sample(data, 3):
            momentum["v"] = 0.9 * momentum["v"] + x * ctx.hp.lr(step)
        net.w[:] = [FACTOR * momentum["v"] + x * random.random() for x in net.w]
        yield lambda: {"sum": sum(net.w), "step": step + 1}


def hp(start, stop, **more):
    return HyperParameters(start, stop, {
        "lr": LR[start:stop], "width": [3.0], **more})


def made(function, **args):
    result = function.make_workload()
    result.setup(function.seed, "cpu", {**function.args, **args})
    return result


class Loading(unittest.TestCase):
    def test_a_state_of_any_form_is_loaded(self):
        """A class saves a state of its own form, a function its parts."""
        study = mock.Mock(**{"file.return_value.workload": "fashion-mlp"})
        for saved, loaded in (([1, 2], [1, 2]), ("text", "text"),
                              ({"w": 3}, {"w": 3}),
                              ({"step": 1, "parts": {"net": 4}, "metrics": {}},
                               {"net": 4})):
            def write(client, study, trial, step, path, *more):
                with open(path, "wb") as file:
                    pickle.dump(saved, file)
            with mock.patch("hippo_hpo._states.write_state", write):
                self.assertEqual(loaded, load_state(study, 0, 1, "cpu", 1))


class Training(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "state")

    def straight(self, function, to):
        x = made(function)
        x.init()
        x.train(0, to, hp(0, to))
        return x

    def elsewhere(self, x):
        """The same state in an object that has trained another trial."""
        x.save(self.path)
        other = made(train)
        other.init()
        other.train(0, 3, HyperParameters(0, 3, {"lr": [0.7], "width": [9.0]}))
        other.evaluate()
        random.random()
        other.load(self.path)
        return other

    def test_cut_anywhere_it_is_the_same_to_the_bit(self):
        whole = self.straight(train, 7)
        for cuts in ([1], [3], [6], [2, 4], range(1, 7)):
            x = made(train)
            x.init()
            at = 0
            for cut in [*cuts, 7]:
                x.train(at, cut, hp(at, cut))
                at = cut
                if cut != 7:
                    x = self.elsewhere(x)
            self.assertEqual([], differences(whole.state_dict(),
                                             x.state_dict()), cuts)
            self.assertEqual(whole.evaluate(), x.evaluate())

    def test_measuring_changes_nothing(self):
        whole = self.straight(train, 7)
        x = made(train)
        x.init()
        for step in range(7):
            x.train(step, step + 1, hp(step, step + 1))
            self.assertEqual(step + 1, x.evaluate()["step"])
        self.assertEqual([], differences(whole.state_dict(), x.state_dict()))

    def test_what_measuring_draws_depends_on_the_step_alone(self):
        @hippo.workload
        def draws(ctx):
            net = Net(ctx.constant("width"))
            for step in ctx.steps(net=net):
                net.w[0] += ctx.hp.lr(step)
                yield lambda: {"noise": random.random()}
        once = self.straight(draws, 3).evaluate()
        x = self.straight(draws, 2)
        x.evaluate()
        random.seed(1)
        x.train(2, 3, hp(2, 3))
        random.seed(2)
        self.assertEqual(once, x.evaluate())

    def test_metrics_may_be_yielded_as_they_are(self):
        @hippo.workload
        def sums(ctx):
            net = {"w": 0.0}
            metrics = {}
            for step in ctx.steps(net=net):
                net["w"] += ctx.hp.lr(step)
                metrics["loss"] = net["w"]
                yield metrics
        for cut in range(1, 5):
            first = made(sums)
            first.init()
            first.train(0, cut, HyperParameters(0, cut, {"lr": LR[:cut]}))
            saved = first.state_dict()
            self.assertEqual({"loss": sum(LR[:cut])}, first.evaluate())
            rest = made(sums)
            rest.load_state_dict(saved)
            rest.train(cut, 5, HyperParameters(cut, 5, {"lr": LR[cut:5]}))
            self.assertEqual({"loss": sum(LR[:5])}, rest.evaluate())
            self.assertEqual(sum(LR[:cut]), saved["metrics"]["loss"])

    def test_training_leaves_states_alone(self):
        x = self.straight(train, 3)
        state = x.state_dict()
        before = copy.deepcopy(state)
        x.train(3, 7, hp(3, 7))
        self.assertEqual([], differences(before, state))
        again = made(train)
        for _ in range(2):
            again.load_state_dict(state)
            again.train(3, 7, hp(3, 7))
            self.assertEqual([], differences(before, state))
            self.assertEqual([], differences(x.state_dict(),
                                             again.state_dict()))

    def test_a_loaded_state_is_measured_without_training(self):
        x = self.straight(train, 4)
        self.assertEqual(x.evaluate(), self.elsewhere(x).evaluate())

    def test_the_initial_state_can_be_loaded(self):
        x = made(train)
        x.init()
        again = self.elsewhere(x)
        again.train(0, 7, hp(0, 7))
        self.assertEqual([], differences(self.straight(train, 7).state_dict(),
                                         again.state_dict()))

    def test_what_is_left_out_of_the_state_is_found(self):
        @hippo.workload
        def forgets(ctx):
            net, count = Net(ctx.constant("width")), 0
            for step in ctx.steps(net=net):
                count += 1
                net.w[0] += count * ctx.hp.lr(step)
                yield lambda: {"sum": sum(net.w)}
        whole = self.straight(forgets, 5)
        cut = self.straight(forgets, 2)
        cut.save(self.path)
        again = made(forgets)
        again.load(self.path)
        again.train(2, 5, hp(2, 5))
        self.assertNotEqual([], differences(whole.state_dict(),
                                            again.state_dict()))

    def test_data_are_loaded_once_a_process(self):
        before = loaded
        x = made(train)
        for _ in range(3):
            x.init()
            x.train(0, 2, hp(0, 2))
        self.assertEqual(before + 1, loaded)

    def test_one_step_without_yield(self):
        @hippo.workload(args={"shift": 2})
        def parabola(ctx):
            return (ctx.hp.x(0) - ctx.args["shift"]) ** 2
        x = made(parabola)
        x.init()
        x.train(0, 1, HyperParameters(0, 1, {"x": [5.0]}))
        self.assertEqual({"value": 9.0}, x.evaluate())
        x.save(self.path)
        again = made(parabola)
        again.load(self.path)
        self.assertEqual({"value": 9.0}, again.evaluate())
        with self.assertRaisesRegex(RuntimeError, "is one step"):
            again.train(1, 2, HyperParameters(1, 2, {"x": [5.0]}))

    def test_constants_and_values_wherever_training_was_cut(self):
        @hippo.workload
        def reads(ctx):
            hp, seen = ctx.hp, {"seen": []}
            for step in ctx.steps(seen=seen):
                seen["seen"].append((ctx.constant("width"), hp.lr(step),
                                     sorted(hp), "lr" in hp,
                                     hp.at(step)["lr"]))
                yield lambda: {"n": len(seen["seen"])}
        for cuts in ([7], [1, 7], [2, 3, 7]):
            x, at = made(reads), 0
            x.init()
            for cut in cuts:
                x.train(at, cut, hp(at, cut))
                x.load_state_dict(x.state_dict())
                at = cut
            self.assertEqual(
                [(3.0, y, ["lr", "width"], True, y) for y in LR],
                x.state_dict()["parts"]["seen"]["seen"])

    def refused(self, function, error, why, to=2, **values):
        x = made(hippo.workload(function))
        x.init()
        with self.assertRaisesRegex(error, why):
            x.train(0, to, HyperParameters(0, to, {"lr": [0.1], **values}))

    def test_names_of_other_libraries_are_translated(self):
        for name, why in (
                ("config", r"ctx has no 'config': .* ctx\.hp\.NAME\(step\)"),
                ("suggest_float", r"ctx\.constant\('NAME'\)"),
                ("report", r"ends with its measurements, `yield lambda"),
                ("get_checkpoint", r"ctx\.steps\(model=model, opt=opt\)"),
                ("nonsense", r"^ctx has no 'nonsense'$")):
            def asks(ctx):
                for step in ctx.steps():
                    getattr(ctx, name)
                    yield lambda: {}
            self.refused(asks, AttributeError, why)

    def test_errors(self):
        def ends(ctx):
            for step in ctx.steps():
                ctx.hp.lr(step)
                yield lambda: {}
                return
        self.refused(ends, RuntimeError, "ended at step 1: its loop must go on")

        def unread(ctx):
            for step in ctx.steps():
                yield lambda: {}
        self.refused(unread, ValueError, "nothing has read lr in the steps")

        def number(ctx):
            for step in ctx.steps():
                yield ctx.hp.lr(step)
        self.refused(number, TypeError, "yields 0.1: yield metrics by name")

        def outside(ctx):
            yield lambda: {}
        self.refused(outside, TypeError, r"outside of a loop over ctx\.steps")

        def twice(ctx):
            for _ in ctx.steps():
                for _ in ctx.steps():
                    yield lambda: {}
        self.refused(twice, RuntimeError, "a second time")

        def varies(ctx):
            ctx.constant("lr")
            for step in ctx.steps():
                yield lambda: {}
        self.refused(varies, ValueError, "lr is 0.2 at step 1, and was 0.1",
                     lr=[0.1, 0.2])

        def early(ctx):
            ctx.hp.lr(0)
            for step in ctx.steps():
                yield lambda: {}
        self.refused(early, TypeError, r"use ctx\.constant\('lr'\) before")

        def first_only(ctx):
            for step in ctx.steps():
                ctx.hp.lr(0)
                yield lambda: {}
        x = made(hippo.workload(first_only))
        x.init()
        with self.assertRaisesRegex(IndexError, r"in step 1: .*constant\('lr"):
            x.train(0, 2, HyperParameters(0, 2, {"lr": [0.1]}))
        self.assertEqual("in step 1", x.where())

        def nameless(ctx):
            for step in ctx.steps({}):
                yield lambda: {}
        self.refused(nameless, TypeError, "by name: ctx.steps")

        def never(ctx):
            for step in ctx.steps():
                ctx.hp.lr(step)
        self.refused(never, TypeError, "has no `yield`")

        def immutable(ctx):
            total = 0.0
            for step in ctx.steps(total=total):
                total += ctx.hp.lr(step)
                yield lambda: {"total": total}
        x = made(hippo.workload(immutable))
        x.init()
        x.train(0, 1, HyperParameters(0, 1, {"lr": [0.1]}))
        with self.assertRaisesRegex(TypeError, "total is a float, whose state"):
            x.state_dict()


def helper(x):
    """Is named by what travels."""
    return x * FACTOR + sum(TABLE["a"])


@hippo.workload(seed=7, packages=["numpy"])
def travels(ctx, *, parse=json.loads):
    root = xml.etree.ElementTree.fromstring("<a/>")
    net = Net(1)
    for step in ctx.steps(net=net):
        net.w[0] += helper(ctx.hp.lr(step)) + len(root)
        yield lambda: {"w": net.w[0], "parsed": parse("1")}


not_named = object()


def made_of(names, measure_changes, draws_alone, seconds=0.0):
    """A function with two parts, of which it names some in its state."""
    @hippo.workload(seed=1)
    def train(ctx):
        own = random.Random(7)
        parts = {"net": {"w": 0.0}, "speed": {"v": 0.0}}

        def measure():
            parts["net"]["w"] += measure_changes
            return {"loss": parts["net"]["w"]}
        for step in ctx.steps(**{x: parts[x] for x in names}):
            time.sleep(seconds)
            draw = own.random() if draws_alone else random.random()
            parts["speed"]["v"] = 0.9 * parts["speed"]["v"] + draw
            parts["net"]["w"] += ctx.hp.lr(step) * parts["speed"]["v"]
            yield measure
    return train


class Trying(unittest.TestCase):
    """Two steps in one go and in parts, before anything is told."""

    def after(self, function, steps):
        x = made(function)
        x.init()
        x.train(0, steps, HyperParameters(0, steps, {"lr": LR[:steps]}))
        return x

    def test_what_is_wrong_is_found_and_nothing_else(self):
        for names, changes, alone, steps in itertools.product(
                [("net", "speed"), ("net",), ("speed",)], (0.0, 1.0),
                (False, True), (1, 2, 3)):
            is_exact = len(names) == 2 and not changes and not alone
            function = made_of(names, changes, alone)
            with self.subTest(names=names, changes=changes, alone=alone,
                              steps=steps):
                x = self.after(function, steps)
                try:
                    try_out(x, {"lr": LR[:steps]}, 0.0)
                except NotExact as why:
                    self.assertFalse(is_exact)
                    self.assertRegex(
                        str(why),
                        r"in parts, (net\.w|speed\.v|metrics\.loss) is ")
                    continue
                self.assertTrue(is_exact)
                # It is where it was.
                x.train(steps, 6, HyperParameters(steps, 6,
                                                  {"lr": LR[steps:6]}))
                self.assertEqual([], differences(
                    self.after(function, 6).state_dict(), x.state_dict()))

    def test_what_takes_long_is_not_tried(self):
        function = made_of(("net",), 0.0, False, 0.02)
        x = self.after(function, 1)
        before = x.state_dict()
        with mock.patch("hippo_hpo._trying.SECONDS_MAX", 0.01):
            try_out(x, {"lr": LR[:1]}, 0.02)
            self.assertEqual([], differences(before, x.state_dict()))
            # A tenth of what came before is enough.
            with self.assertRaises(NotExact):
                try_out(x, {"lr": LR[:1]}, 5.0)

    def test_nothing_is_printed_meanwhile(self):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
            import hippo_hpo as hippo
            from hippo_hpo._trying import try_out
            from hippo_hpo.workload import HyperParameters

            @hippo.workload
            def train(ctx):
                net = {"w": 0}
                for step in ctx.steps(net=net):
                    print("step", step)
                    yield lambda: {"w": net["w"]}
            x = train.make_workload()
            x.setup(1, "cpu", {})
            x.init()
            x.train(0, 1, HyperParameters(0, 1, {}))
            try_out(x, {}, 0.0)
            x.train(1, 2, HyperParameters(1, 2, {}))
            """)], capture_output=True, text=True, check=True)
        self.assertEqual(("step 0\nstep 1\n", ""), (done.stdout, done.stderr))

    def test_what_fails_itself_is_told_by_the_training(self):
        @hippo.workload
        def fails(ctx):
            net = {"w": 0.0}
            for step in ctx.steps(net=net):
                net["w"] += 1 / (1 - step) + 0 * ctx.hp.lr(step)
                yield lambda: {"w": net["w"]}
        x = self.after(fails, 1)
        try_out(x, {"lr": LR[:1]}, 0.0)
        with self.assertRaises(ZeroDivisionError):
            x.train(1, 2, HyperParameters(1, 2, {"lr": LR[1:2]}))
        self.assertEqual("in step 1", x.where())


class Sources(unittest.TestCase):
    def test_all_that_is_named_travels_and_nothing_else(self):
        text = source_of(travels).text
        for x in ["import hippo_hpo as hippo", "import json", "import random",
                  "import xml.etree.ElementTree", "FACTOR = 3", "TABLE = {",
                  "class Net:", "def helper(x):", "seed=7"]:
            self.assertIn(x, text)
        for x in ["not_named", "LR =", "def load", "unittest", "import os"]:
            self.assertNotIn(x, text)

    def test_the_text_does_the_same(self):
        names = {"__name__": "travelled"}
        exec(compile(source_of(travels).text, "travels.py", "exec"), names)
        for function in (travels, names["travels"]):
            x = made(function)
            x.init()
            x.train(0, 3, HyperParameters(0, 3, {"lr": [0.5, 0.25, 0.125]}))
            function.result = x.evaluate()
        self.assertEqual(travels.result, names["travels"].result)

    def of_file(self, text, name="mine"):
        """What travels of `train` in a file of this text."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name + ".py")
            with open(path, "w") as file:
                file.write(textwrap.dedent(text))
            sys.path.insert(0, folder)
            try:
                sys.modules.pop(name, None)
                module = __import__(name)
                return source_of(module.train)
            finally:
                sys.path.remove(folder)
                sys.modules.pop(name, None)

    FILE = """
        import hippo_hpo as hippo
        import math
        {before}
        @hippo.workload
        def train(ctx):
            for step in ctx.steps():
                yield lambda: {{"x": math.sqrt({body})}}
        """

    def test_what_is_not_named_changes_no_byte(self):
        texts = {self.of_file(self.FILE.format(before=before, body="2")).text
                 for before in ["", "# a comment", "OTHER = 3",
                                "import os\n        def f(): pass"]}
        self.assertEqual(1, len(texts))
        self.assertNotIn(self.of_file(self.FILE.format(before="", body="3"))
                         .text, texts)

    def refused(self, why, before="", body="1"):
        with self.assertRaisesRegex(hippo.InvalidStudy, why):
            self.of_file(self.FILE.format(before=before, body=body))

    def test_what_cannot_travel_is_refused_by_name(self):
        self.refused("uses DATA, a global object, which does not travel.*once",
                     "DATA = object()", "DATA")
        self.refused("it uses f, a global function|f is a lambda",
                     "f = lambda x: x", "f(1)")
        with self.assertRaisesRegex(hippo.InvalidStudy, "top level"):
            @hippo.workload
            def inner(ctx):
                return 1.0
            source_of(inner)

    def test_ones_own_modules_travel_as_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {
                    "entry.py": "import hippo_hpo as hippo\nimport outer_x\n"
                    "@hippo.workload\ndef train(ctx):\n"
                    "    return outer_x.value()\n",
                    "outer_x.py": "from inner_x import two\n"
                    "def value():\n    return two\n",
                    "inner_x.py": "two = 2\n", "other_x.py": ""}.items():
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            sys.path.insert(0, folder)
            try:
                found = source_of(__import__("entry").train)
            finally:
                sys.path.remove(folder)
            self.assertEqual({"outer_x.py", "inner_x.py"}, set(found.files))
            self.assertIn("import outer_x", found.text)


if __name__ == "__main__":
    unittest.main()
