"""Spaces as objects: there and back, and as the programs read them."""

import json
import os
import random
import subprocess
import tempfile
import unittest

import hippo_hpo as hippo
from hippo_hpo import space as forms
from hippo_hpo.space import from_plain, plain

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")


def number(rng):
    return rng.choice([0.5, 0.1, 0.25, 0.015625, 3e-05, 1])


def sequence(rng, depth):
    """A sequence of any family, with choices in it where there may be."""
    x = lambda: value(rng, depth - 1) if depth > 0 else number(rng)
    steps = lambda: rng.randint(3, 9) if rng.random() < 0.7 or depth <= 0 \
        else forms.choice(*rng.sample(range(3, 9), 2))
    return rng.choice([
        lambda: forms.constant(number(rng)),
        lambda: forms.multistep(x(), [2, steps()], x()),
        lambda: forms.step(x(), steps(), 0.5),
        lambda: forms.piecewise((0, x()), (3, number(rng))),
        lambda: forms.exponential(x(), 0.9, every=steps()),
        lambda: forms.linear(steps(), x(), 0.0),
        lambda: forms.polynomial(steps(), 2, x()),
        lambda: forms.cosine(steps(), x(), end=0.001),
        lambda: forms.cosine_restarts(steps(), x(), multiplier=2),
        lambda: forms.cyclic(0.001, x(), steps(), mode="triangular2"),
        lambda: forms.one_cycle(x(), 9, anneal="linear"),
        lambda: forms.rex(steps(), x(), beta=0.25),
        lambda: forms.warmup(steps(), 0, x(), then=forms.cosine(steps())),
        lambda: forms.reduce_on_plateau(x(), patience=2, factor=0.5),
        lambda: forms.wsd(x(), 1, decay=forms.percent(12.5), shape="cosine"),
        lambda: forms.wsd(x(), from_=0.01, stable=steps(), end=0.001),
        lambda: forms.inverse_sqrt(x(), steps()),
        lambda: forms.join((0, x()), (forms.percent(40),
                                      forms.linear(steps(), x(), 0.0))),
    ])()


def value(rng, depth):
    if depth <= 0:
        return number(rng)
    return rng.choice([
        lambda: number(rng),
        lambda: forms.uniform(0.25, 0.5, points=rng.randint(2, 5)),
        lambda: forms.log_uniform(0.001, 1, points=3),
        lambda: forms.uniform(0.25, 0.5, step=rng.choice([0.05, 0.0625])),
        lambda: forms.normal(0.5, 0.0625, points=rng.randint(2, 5)),
        lambda: forms.log_normal(-2, 0.5, points=3),
        lambda: forms.product(0.5, rng.choice([0.25, forms.choice(0.5, 0.75)])),
        lambda: forms.choice(*(value(rng, depth - 1)
                               for _ in range(rng.randint(1, 3)))),
    ])()


def space(rng):
    def leaf():
        return rng.choice([lambda: value(rng, 2), lambda: sequence(rng, 2),
                           lambda: forms.choice(sequence(rng, 1),
                                                value(rng, 1))])()
    return {"lr": leaf(),
            "momentum": rng.choice([
                forms.uniform(0, 0.9), forms.log_int_uniform(1, 1024),
                forms.int_uniform(1, 9, step=2), forms.normal(0, 1, step=0.5)]),
            "optimizer": forms.choice(
                forms.option("sgd", weight_decay=leaf()),
                forms.option("adamw"))}


def study_file(rng):
    """A study of any of the forms that docs/study-file.md has."""
    loss = {"metric": "val_loss", "direction": "minimize"}
    accuracy = {"metric": "val_accuracy"}
    several = rng.random() < 0.5
    more = {key: value for key, value in {
        "constraints": ["val_loss <= 2.5", "val_accuracy >= 0.25"],
        "stop_when": {"no_gain": 40} if several
        else rng.choice([{"value": 0.75, "no_gain": 4}, {"no_gain": 1}]),
        "weight": 2, "on_error": "continue", "devices": "any",
    }.items() if rng.random() < 0.5}
    one = not several and "constraints" not in more
    ordering = ["auto", "random",
                *([] if one else [{"nsga2": {"population": 8}}]),
                {"tpe": {"prefer_shared": rng.choice(["off", "ties"])}},
                {"asha": {"eta": 3, "min": 1, "sampler": "tpe"}},
                {"bohb": {"eta": 3, "min": 1}}]
    numbers = ["grid", {"gp": {"prefer_shared": "price"}},
               {"dehb": {"min": 1, "promote": "first-round"}},
               {"hyperband": {"min": 1}}, {"pbt": {"interval": 3}},
               {"pbt": {"interval": 3, "resample": {
                   "probability": 0.5,
                   "space": {"lr": forms.log_normal(-3, 0.5)}}}}]
    return hippo.StudyFile(
        "s", rng.choice(["fashion-mlp", {"name": "fashion-mlp", "seed": 3,
                                         "data": {"train": 640}}]),
        [accuracy, loss] if several else rng.choice([accuracy, loss]), 9,
        {"lr": forms.choice(0.125, forms.cosine(9, 0.125),
                            forms.log_uniform(0.001, 0.1, points=3))},
        rng.choice(ordering + numbers if one else ordering),
        rng.choice([{"trials": 6}, {"trials": 6, "seconds": 60},
                    {"trials": 6, "device_hours": 0.5},
                    {"trials": 6, "failed": 3}]),
        rng.randint(0, 2), more, eval_every=rng.randint(1, 3))


class Spaces(unittest.TestCase):
    def test_percentages_are_written_as_they_are(self):
        self.assertEqual([forms.percent(x) for x in (20, 12.5, 1e-4, 100, 1e3)],
                         ["20%", "12.5%", "0.0001%", "100%", "1000%"])
        for wrong in (0, -1, float("nan"), float("inf")):
            with self.assertRaises(hippo.InvalidArgument):
                forms.percent(wrong)

    def test_lengths_and_shares_there_and_back(self):
        x = hippo.StudyFile(
            "s", "fashion-mlp", {"metric": "val_loss"},
            forms.choice(10, 20, forms.int_uniform(30, 50, points=3)),
            {"lr": forms.wsd(0.1, 2, decay=forms.percent(20)),
             "mix": forms.simplex("momentum", "weight_decay", points=5)},
            "grid")
        again = hippo.StudyFile.from_yaml(x.to_yaml())
        self.assertEqual(again, x)
        self.assertEqual(x.to_map()["max_steps"], {"choice": [
            10, 20, {"int_uniform": [30, 50], "points": 3}]})
        self.assertEqual(repr(again.space["mix"]),
                         "simplex(momentum='share', weight_decay='share', "
                         "points=5)")

    @unittest.skipUnless(HIPPO and TRAINER, "there are no programs")
    def test_whole_files_there_and_back_and_taken(self):
        """What comes back is the same, and the programs take all of it."""
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(40):
                x = study_file(random.Random(seed))
                again = hippo.StudyFile.from_yaml(x.to_yaml())
                self.assertEqual(again, x)
                self.assertEqual(again.to_yaml(), x.to_yaml())
                x.study = f"s{seed}"
                with open(os.path.join(folder, f"{x.study}.yaml"), "w") as out:
                    out.write(x.to_yaml())
            done = subprocess.run(
                [HIPPO, "preview", *os.listdir(folder), "--trainer-program",
                 TRAINER], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_there_and_back(self):
        for seed in range(300):
            x = space(random.Random(seed))
            with self.subTest(seed):
                self.assertEqual({k: from_plain(v)
                                  for k, v in plain(x).items()}, x)
                names = {k: getattr(forms, k) for k in forms.__all__}
                self.assertEqual(eval(repr(x), names), x)
                study = hippo.StudyFile("s", "toy", {"metric": "m"}, 9, x,
                                        {"asha": {"eta": 3, "min": 1}},
                                        {"trials": 3}, 2, {"weight": 2})
                again = hippo.StudyFile.from_yaml(study.to_yaml())
                self.assertEqual(again, study)
                self.assertEqual(again.to_yaml(), study.to_yaml())

    @unittest.skipUnless(HIPPO, "HIPPO names no program")
    def test_the_reader_takes_each_for_what_it_is(self):
        """By YAML and by JSON: the same canonical forms."""
        for seed in range(60):
            x = plain(sequence(random.Random(seed), 0))
            text = hippo.StudyFile("s", "toy", {}, 9, {"lr": x}).to_yaml()
            text = text[text.index("lr:") + 3:text.index("algorithm:")]
            with self.subTest(x=x):
                found = [self.sequence(y) for y in
                         ("\n" + text if "\n" in text.strip() else text,
                          json.dumps(x))]
                self.assertEqual(found[0], found[1])
                self.assertEqual(9, len(found[0]["sequences"][0]["values"]))

    def sequence(self, text):
        done = subprocess.run([HIPPO, "sequence", text, "--steps", "9", "-f",
                               "json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, text + done.stderr)
        return json.loads(done.stdout)

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "one by one"):
            forms.choice([1, 2])
        with self.assertRaisesRegex(TypeError, "of nothing"):
            forms.choice()
        with self.assertRaisesRegex(hippo.InvalidStudy, "'space' is missing"):
            hippo.StudyFile.from_map({"study": "s", "workload": "w",
                                      "objective": {}, "max_steps": 1})

    def test_reads_as_it_is_written(self):
        x = forms.warmup(2, 0.01, 0.1, then=forms.cosine(10, end=0.001))
        self.assertEqual(
            plain(x), {"warmup": {"steps": 2, "from": 0.01, "to": 0.1, "then":
                                  {"cosine": {"end": 0.001, "horizon": 10}}}})
        self.assertEqual(repr(x), "warmup(steps=2, from_=0.01, to=0.1, "
                                  "then=cosine(end=0.001, horizon=10))")


if __name__ == "__main__":
    unittest.main()
