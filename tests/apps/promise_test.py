#!/usr/bin/env python3
"""A result does not depend on how it came about: neither on what was shared,
nor on the order, the number of trainers or the death of one."""

import os
import random
import signal
import subprocess

import programs
from programs import SHA, Case, results, study, trainers, wait_for

ASHA = {"asha": {"eta": 3, "min": 1}}


class MergedEqualsAlone(Case):
    """Two studies that overlap, in every combination."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = case.studies(study("sha", SHA, every=2, train=512),
                                 study("grid", "grid", every=3, train=512))
        cls.reference = case.run_studies(cls.files, "state", "--trainers", 2)
        cls.state = case.path("state")

    def check(self, *args):
        report = self.run_studies(self.files, "state", *args)
        self.assertEqual(results(report), results(self.reference))
        self.assertEqual(report["trained_steps"], report["unique_steps"])
        return report

    def test_reference(self):
        self.assertEqual(self.reference["trained_steps"],
                         self.reference["unique_steps"])
        self.assertLess(self.reference["unique_steps"],
                        self.reference["asked_steps"])

    def test_merge_off(self):
        report = self.check("--merge", "off", "--trainers", 2)
        self.assertEqual(report["trained_steps"], report["asked_steps"])

    def test_breadth_first_by_1_trainer(self):
        self.check("--scheduler", "breadth-first", "--trainers", 1)

    def test_trial_by_trial_by_3_trainers(self):
        self.check("--scheduler", "trial", "--trainers", 3)

    def test_a_trainer_dies(self):
        process = self.start("run", *self.files, "--state",
                             self.path("state"), "--trainers", 2)
        self.first_trial(process)
        victim = trainers(process.pid)[0]
        os.kill(victim, signal.SIGKILL)
        done = self.finish(process, 0)
        self.assertRegex(done.err, r"trainer [12] died with signal 9 "
                                   r"\(Killed\); the others take over")
        report = self.report("state")
        self.assertEqual(results(report), results(self.reference))
        lost = [x for x in report["trainers"] if x["lost"]]
        self.assertEqual(len(lost), 1, report["trainers"])
        self.assertTrue(lost[0]["name"].endswith(f":{victim}"), lost)
        # What the dead one had begun is trained again, and only that.
        self.assertLessEqual(report["trained_steps"],
                             report["unique_steps"] + 9)
        self.assert_nothing_half_written("state", killed=1)

    def test_trainers_die_one_after_the_other(self):
        process = self.start("run", *self.files, "--state",
                             self.path("state"), "--trainers", 3)
        all_three = wait_for("3 trainers", lambda: process.poll() or (
            len(trainers(process.pid)) == 3 and trainers(process.pid)))
        os.kill(all_three[0], signal.SIGKILL)  # perhaps before it is known
        self.first_trial(process)
        os.kill(all_three[1], signal.SIGKILL)
        done = self.finish(process, 0)
        self.assertEqual(done.err.count("died with signal 9"), 2, done.err)
        self.assertEqual(results(self.report("state")),
                         results(self.reference))

    def test_again_with_the_same_state(self):
        self.copied(self.state)
        first = self.reference
        again = self.run_studies(self.files, "state", "--trainers", 1)
        self.assertEqual(results(again), results(first))
        self.assertEqual(again["trained_steps"], 0)
        self.assertEqual(again["reused_steps"], first["unique_steps"])
        self.assertEqual(again["merge_rate"], first["merge_rate"])
        # Nothing was trained for these trials: all of it was there.
        self.assertEqual(again["shared_steps"], again["delivered_steps"])
        self.assertEqual(again["saved_device_seconds"],
                         again["alone_device_seconds"])
        self.assertGreater(float(again["saved_device_seconds"]), 0)

    def test_asynchronous_results_agree_where_they_meet(self):
        files = self.studies(study("asha", ASHA))
        runs = [self.run_studies(files, name, *args)
                for name, *args in [("a", "--trainers", 2),
                                    ("b", "--merge", "off", "--trainers", 1)]]
        tables = [{(y["id"], z["step"]): z["metrics"]
                   for y in x["studies"][0]["trials"] for z in y["results"]}
                  for x in runs]
        common = tables[0].keys() & tables[1].keys()
        self.assertGreaterEqual(len(common), 12)
        for at in common:
            self.assertEqual(tables[0][at], tables[1][at], at)


class OnAGpu(Case):
    """The same on a GPU, one lease at a time and several at once."""

    gpu = ("--device", "cuda:0")

    def prepare(self, **workload):
        """Returns the files of two studies, unless there is no GPU."""
        probe = subprocess.run(
            [programs.TRAINER, *self.gpu, "--describe"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        if probe.returncode == 2:
            self.skipTest(probe.stderr.splitlines()[-1])
        those = [study("sha", SHA, every=2, train=512),
                 study("grid", "grid", every=3, train=512)]
        for x in those:
            x["workload"].update(workload, name="fashion-cnn")
        return self.studies(*those)

    def check(self, leases, **workload):
        """Whether merged training, of so many leases at once, gives what
        training alone gives, one after another."""
        files = self.prepare(**workload)
        merged = self.run_studies(files, "merged", *self.gpu, "--at-once",
                                  leases)
        alone = self.run_studies(files, "alone", *self.gpu, "--at-once", 1,
                                 "--merge", "off")
        self.assertEqual(results(alone), results(merged))
        self.assertLess(merged["trained_steps"], alone["trained_steps"])

    def test_one_at_a_time(self):
        self.check(1)

    def test_at_once(self):
        self.check(16)

    def test_at_once_in_bfloat16(self):
        self.check(16, precision="bfloat16")

    def test_at_once_unmerged(self):
        files = self.prepare()
        runs = [self.run_studies(files, f"at-once-{x}", *self.gpu, "--at-once",
                                 x, "--merge", "off") for x in (1, 16)]
        self.assertEqual(*map(results, runs))

    def test_one_of_two_trainers_dies(self):
        files = self.prepare()
        process = self.start("run", *files, "--state", self.path("killed"),
                             *self.gpu, *self.gpu)
        self.first_trial(process)
        os.kill(trainers(process.pid)[0], signal.SIGKILL)
        self.finish(process, 0)
        alone = self.run_studies(files, "alone", *self.gpu, "--at-once", 1,
                                 "--merge", "off")
        self.assertEqual(results(self.report("killed")), results(alone))


def random_sequence(rng, steps, low, high):
    """A sequence of numbers from low to high, on a coarse grid."""
    def number():
        return round(rng.choice([low, (low + high) / 2, high]), 6)

    kind = rng.choice(["constant", "multistep", "piecewise", "linear",
                       "cosine", "warmup", "exponential"])
    if kind == "constant":
        return number()
    if kind == "multistep":
        return {kind: {"initial": high, "gamma": rng.choice([0.5, 0.9]),
                       "milestones": sorted(rng.sample(range(1, steps), 2))}}
    if kind == "piecewise":
        return {kind: [[0, number()], [rng.randrange(1, steps), number()]]}
    if kind == "linear":
        return {kind: {"from": low, "to": high, "horizon": steps}}
    if kind == "cosine":
        return {kind: {"initial": high, "end": low, "horizon": steps}}
    if kind == "exponential":
        return {kind: {"initial": high, "gamma": rng.choice([0.8, 0.9])}}
    return {kind: {"steps": 2, "from": low, "to": high,
                   "then": rng.choice([
                       {"constant": high},
                       {"exponential": {"initial": high, "gamma": 0.9}}])}}


def random_study(rng, name, workload_seed):
    steps = rng.randrange(3, 9)
    sizes = [32, 48, {"multistep": {"initial": 32, "gamma": 2,
                                    "milestones": [rng.randrange(1, steps)]}}]
    ranges = {"lr": (0.01, 0.1), "momentum": (0.5, 0.9),
              "weight_decay": (0.0001, 0.001), "dropout": (0.1, 0.4),
              "label_smoothing": (0.0, 0.1)}
    space = {"lr": {"choice": [random_sequence(rng, steps, *ranges["lr"])
                               for _ in range(3)]},
             "batch_size": {"choice": rng.sample(sizes, 2)}}
    for other in rng.sample(sorted(ranges), 2):
        space[other] = {"choice": [random_sequence(rng, steps, *ranges[other])
                                   for _ in range(2)]}
    if rng.random() < 0.5:
        space["optimizer"] = {"piecewise": [
            [0, "sgd"], [rng.randrange(1, steps), "adamw"]]}
    algorithm = rng.choice(["grid", "random", SHA, {"sha": {"eta": 2,
                                                            "min": 2}}])
    result = study(name, algorithm, every=rng.randrange(1, 4), steps=steps,
                   train=rng.choice([200, 256]), **space)
    result["workload"]["seed"] = workload_seed
    result["objective"]["metric"] = rng.choice(["val_accuracy", "val_loss"])
    del result["objective"]["direction"]
    result["budget"] = {"trials": rng.randrange(4, 10)}
    result["seed"] = rng.randrange(100)
    return result


class RandomStudies(Case):
    """Small studies that nobody would write, each from a seed. The first ones
    have grid, random and sha; HIPPO_SEEDS runs so many times as many."""

    def test_seeds(self):
        for seed in range(5, 5 + 2 * int(os.environ.get("HIPPO_SEEDS", 1))):
            with self.subTest(seed):
                self.check(seed)

    def check(self, seed):
        rng = random.Random(seed)
        files = self.studies(*(random_study(rng, f"s{i}", rng.randrange(2))
                               for i in range(rng.randrange(2, 4))))
        policy = ["critical-path", "breadth-first", "trial"]
        merged = self.run_studies(
            files, f"merged-{seed}", "--trainers", rng.randrange(1, 3),
            "--scheduler", rng.choice(policy))
        alone = self.run_studies(
            files, f"alone-{seed}", "--trainers", rng.randrange(1, 3),
            "--scheduler", rng.choice(policy), "--merge", "off")
        self.assertEqual(results(merged), results(alone))
        self.assertEqual(merged["trained_steps"], merged["unique_steps"])
        self.assertEqual(alone["trained_steps"], alone["asked_steps"])
        self.assertEqual(merged["asked_steps"], alone["asked_steps"])


class Averaged(Case):
    """The mean of weights is measured (`objective.average`)."""

    @staticmethod
    def study(name, **average):
        x = study(name, "grid", every=2, lr={
            "choice": [0.1, {"multistep": {"initial": 0.1, "milestones": [5],
                                           "gamma": 0.5}}]})
        if average:
            x["objective"]["average"] = average
        return x

    def test_a_mean_does_not_depend_on_what_is_shared(self):
        files = self.studies(self.study("of-3", of=3, every=2),
                             self.study("of-2", of=2, every=2),
                             self.study("plain"))
        report = self.run_studies(files, "merged", "--trainers", 2)
        self.assertLess(report["unique_steps"], report["asked_steps"])
        alone = self.run_studies(files, "alone", "--merge", "off",
                                 "--trainers", 1)
        merged = results(report)
        self.assertEqual(merged, results(alone))
        for other in "of-2", "plain":
            self.assertNotEqual(merged["of-3"], merged[other])
        self.assertIn("average.every=2;average.of=3",
                      report["studies"][0]["workload"])


if __name__ == "__main__":
    programs.main()
