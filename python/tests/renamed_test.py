"""Former names of arguments and keys."""

import inspect
import unittest
import unittest.mock
import warnings

import hippo_hpo as hippo
from hippo_hpo._hydra_sweep import Options

LESS = {"loss": "minimize"}


@hippo.workload
def train(ctx):
    for _step in ctx.steps(model={"w": 0.0}):
        yield lambda: {"loss": ctx.hp.lr(0)}


class Arguments(unittest.TestCase):
    def test_optimize_takes_them_and_refuses_both(self):
        for call in (hippo.optimize, hippo.preview, hippo.check):
            with self.subTest(call.__name__):
                with self.assertRaisesRegex(TypeError,
                                            "both max_steps= and steps=, "):
                    call(train, {"lr": 0.1}, steps=3, max_steps=3,
                         objective=LESS)
                with self.assertWarnsRegex(
                        DeprecationWarning,
                        rf"steps= of {call.__name__}\(\) is max_steps= now"
                ) as told, self.assertRaises(hippo.InvalidStudy):
                    call(train, {"lr": 0.1}, steps=0, objective=LESS)
                self.assertEqual(told.filename, __file__)

    def test_each_former_name_of_optimize(self):
        for former, name, bad in (("every", "eval_every", 0),
                                  ("concurrent", "max_concurrent", -1)):
            with self.subTest(former):
                with self.assertWarnsRegex(DeprecationWarning,
                                           f"{former}= .* is {name}= now"), \
                        self.assertRaises((hippo.InvalidStudy, hippo.Error)):
                    hippo.preview(train, {"lr": "nothing"}, max_steps=0,
                                  objective=LESS, **{former: bad})

    def test_fields(self):
        with self.assertWarns(DeprecationWarning):
            old = hippo.StudyFile("s", "w", {"metric": "f"}, steps=9, space={})
        with self.assertWarns(DeprecationWarning):
            self.assertEqual(9, old.steps)
        with self.assertWarns(DeprecationWarning):
            old.steps = 8
        self.assertEqual(8, old.max_steps)
        self.assertEqual(old, hippo.StudyFile("s", "w", {"metric": "f"}, 8, {}))
        with self.assertWarns(DeprecationWarning):
            options = Options(steps=5, every=2)
        self.assertEqual((5, 2), (options.max_steps, options.eval_every))

    def test_info_of_a_study_was_a_method(self):
        info = hippo.StudyInfo.__new__(hippo.StudyInfo)
        with self.assertWarnsRegex(
                DeprecationWarning,
                r"Study\.info\(\) is Study\.info now") as told:
            self.assertIs(info, info())
        self.assertEqual(told.filename, __file__)

    def test_signatures_have_the_names_of_today(self):
        for call in (hippo.optimize, hippo.preview, hippo.StudyFile):
            names = inspect.signature(call).parameters
            self.assertIn("max_steps", names)
            self.assertNotIn("steps", names)


class Keys(unittest.TestCase):
    old = """study: s
workload: w
objective: {metric: f, every: 2}
steps: {max: 9}
space: {lr: 0.1}
algorithm: {asha: {concurrent: 4}}
"""
    new = """study: s
workload: w
objective: {metric: f}
max_steps: 9
eval_every: 2
space: {lr: 0.1}
algorithm:
  asha: {max_concurrent: 4}
"""

    def test_a_file_with_former_keys_is_the_same_study(self):
        with self.assertWarns(DeprecationWarning) as told:
            old = hippo.StudyFile.from_yaml(self.old)
        self.assertEqual(
            ["the key 'every' of a study file is 'eval_every' now; the next "
             "release refuses the former name",
             "the key 'steps.max' of a study file is 'max_steps' now; the "
             "next release refuses the former name",
             "the key 'concurrent' of a study file is 'max_concurrent' now; "
             "the next release refuses the former name"],
            sorted((str(x.message) for x in told.warnings),
                   key=lambda x: self.old.index(x.split("'")[1][:5])))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            new = hippo.StudyFile.from_yaml(self.new)
        self.assertEqual(old, new)
        self.assertEqual(self.new, new.to_yaml())

    def test_both_names_of_a_key(self):
        for more, why in (("max_steps: 9", "'max_steps' and 'steps.max'"),
                          ("eval_every: 2", "'eval_every' and 'every'")):
            with self.assertRaisesRegex(hippo.InvalidStudy, why), \
                    warnings.catch_warnings():
                warnings.simplefilter("ignore")
                hippo.StudyFile.from_yaml(self.old + more + "\n")

    def test_every_of_several_metrics_is_one(self):
        text = self.old.replace(
            "{metric: f, every: 2}",
            "[{metric: f, every: 2}, {metric: g, every: 3}]")
        with self.assertRaisesRegex(hippo.InvalidStudy, "found 2 and 3"), \
                self.assertWarns(DeprecationWarning):
            hippo.StudyFile.from_yaml(text)


class Sweeper(unittest.TestCase):
    def test_former_options_and_defaults(self):
        from hydra_plugins.hippo_sweeper import HippoSweeper, HippoSweeperConf
        defaults = vars(HippoSweeperConf())
        defaults.pop("_target_")
        for given, wanted in (({}, (1, 1)), ({"steps": 9, "every": 3}, (9, 3)),
                              ({"max_steps": 9, "every": 3}, (9, 3))):
            sweeper = HippoSweeper(**{**defaults, **given})
            sweeper.config = sweeper.hydra_context = sweeper.launcher = None
            with unittest.mock.patch("hippo_hpo._hydra_sweep.sweep") as sweep, \
                    warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                sweeper.sweep([])
            options = sweep.call_args.args[0]
            self.assertEqual(wanted, (options.max_steps, options.eval_every))
            self.assertEqual(
                len(given.keys() & {"steps", "every"}),
                sum(x.category is DeprecationWarning for x in told))


if __name__ == "__main__":
    unittest.main()
