"""The package against a real service, whose programs the environment names:
HIPPO, HIPPO_TRAINER."""

import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import hippo_hpo as hippo
from examples_test import run_optuna

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")

# On a busy machine everything takes long; nothing here waits this long twice.
PATIENCE = 120


def why_not():
    """Why there is no service to test against; None: there is."""
    if not (os.path.exists(HIPPO) and os.path.exists(TRAINER)):
        return "HIPPO and HIPPO_TRAINER do not name the programs"
    done = subprocess.run([HIPPO, "serve", "--help"], capture_output=True)
    return None if done.returncode == 0 else "hippo has no verb serve"


def setUpModule():
    why = why_not()
    if why is not None:
        raise unittest.SkipTest(why)


def drop_at(step, rate=0.1):
    return {"momentum": 0.9, "lr": {"multistep": {
        "initial": rate, "milestones": [step], "gamma": 0.1}}}


# Fashion-MNIST unpacked, which every trainer reads whole.
DATA = {"train": 256, "validation": 128}
if "PLAIN_DATA" in os.environ:
    DATA["folder"] = os.environ["PLAIN_DATA"]


def study_file(name, algorithm, **more):
    return {
        "study": name,
        "workload": {"name": "fashion-mlp", "seed": 1,
                     "data": DATA},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "max_steps": 9,
        "space": {"lr": {"choice": [0.1, drop_at(3)["lr"], drop_at(6)["lr"]]},
                  "momentum": {"choice": [0.8, 0.9]}},
        "algorithm": algorithm,
        **more,
    }


SHA = {"sha": {"eta": 3, "min": 1}}
BY_HAND = {"client": {"interval": 1}}


class Service:
    """A service of this machine, which ends with the test."""

    def __init__(self, folder, rpc="127.0.0.1:0"):
        self.process = subprocess.Popen(
            [HIPPO, "serve", "--state", os.path.join(folder, "state"),
             "--trainers", "2", "--rpc", rpc, "--listen", "127.0.0.1:0",
             "--http", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.said = []
        self._address = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.address = self._address.get(timeout=PATIENCE)
        if self.address is None:
            raise AssertionError("".join(self.said))

    def _read(self):
        for line in self.process.stderr:
            self.said.append(line)
            if "clients connect to " in line:
                self._address.put(line.rpartition(" ")[2].strip())
        self._address.put(None)

    def kill(self):
        self.process.kill()
        self._join()

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._join()

    def _join(self):
        self.process.wait()
        self._reader.join(PATIENCE)
        self.process.stderr.close()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.service = self.start()
        self.client = hippo.connect(self.service.address, timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def start(self, rpc="127.0.0.1:0"):
        service = Service(self.folder, rpc)
        self.addCleanup(service.end)
        return service

    def finish(self, study):
        info = study.wait(progress=False, timeout=PATIENCE)
        self.assertEqual("COMPLETE", info.state, info.reason)
        return info


    def until(self, condition):
        """Waits for what soon follows a command."""
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)


class Clients(Case):
    def test_a_study_from_submission_to_results(self):
        text = study_file("mnist", "grid")
        preview = self.client.preview(text)
        self.assertEqual((0, preview["unique_steps"]),
                         (preview["known_steps"], preview["new_steps"]))
        study = self.client.submit(text)
        seen = list(study.events(follow=True))
        info = self.finish(study)
        self.assertEqual(("mnist", 6, 6),
                         (info.name, info.trials, info.finished))
        trials = study.trials
        self.assertEqual(list(range(6)), [x.number for x in trials])
        best = max(trials, key=lambda x: x.value)
        self.assertEqual(best.value, study.best_value)
        self.assertEqual(best.value, max(
            x.metrics["val_accuracy"] for x in seen if x.metrics))
        self.assertEqual(seen, list(study.events()))
        self.assertEqual(text, json.loads(study.text))
        self.assertEqual(2, len(self.client.trainers()))
        # Once more: all is known, and equal.
        self.assertEqual(0, self.client.preview(text)["new_steps"])
        again = self.client.submit(text)
        self.finish(again)
        self.assertEqual([(x.value, x.step) for x in trials],
                         [(x.value, x.step) for x in again.trials])
        self.assertEqual([study.id, again.id],
                         [x.id for x in self.client.studies()])
        self.assertEqual(again.id, self.client.study("mnist").id)

    def test_notes_tags_and_what_is_hidden_outlive_the_end(self):
        study = self.client.submit(study_file(
            "mnist", "grid", space={"lr": {"choice": [0.1, 0.05, 0.02]},
                                    "momentum": 0.9}))
        self.finish(study)
        study.set_note("a baseline")
        study.add_tags("paper", "a b")
        study.remove_tags("paper")
        info = study.info
        self.assertEqual(("a baseline", ("a b",), False),
                         (info.note, info.tags, info.removed))
        best = study.best_trial.number
        study.remove(best)
        self.assertNotEqual(best, study.best_trial.number)
        self.assertEqual((2, 2), (len(study.trials), study.info.trials))
        self.assertNotIn(best, [x.number for x in study.trials])
        study.restore(best)
        self.assertEqual(best, study.best_trial.number)
        self.assertEqual(3, len(study.trials))
        listed = [x.id for x in self.client.studies()]
        study.remove()
        self.assertEqual([x for x in listed if x != study.id],
                         [x.id for x in self.client.studies()])
        self.assertEqual(listed,
                         [x.id for x in self.client.studies(removed=True)])
        self.assertEqual("COMPLETE", study.info.state)
        study.restore()
        self.assertEqual(listed, [x.id for x in self.client.studies()])
        for call, why in ((lambda: study.remove(7), "no trial 7"),
                          (lambda: study.restore(best), "is not removed"),
                          (lambda: study.restore(), "is not removed"),
                          (lambda: study.add_tags("a,b"), "without commas"),
                          (lambda: study.remove_tags("x"), "no tag 'x'"),
                          (lambda: study.extend(cost=1), "no budget.cost")):
            with self.assertRaises(hippo.InvalidArgument) as failed:
                call()
            self.assertIn(why, str(failed.exception))

    def test_a_fork_is_the_trial_whose_values_it_has(self):
        study = self.client.submit(study_file(
            "mnist", "grid", space={"lr": {"choice": [0.1, 0.05]},
                                    "momentum": 0.9}))
        self.finish(study)
        self.assertEqual(3, study.fork(0, 4, {"lr": 0.01}))
        self.finish(study)
        fork = study.trials[2]
        drop = {"join": [[0, 0.1], [4, 0.01]]}
        self.assertEqual(({"lr": drop, "momentum": 0.9}, 9, 4),
                         (fork.params, fork.delivered_steps, fork.shared_steps))
        self.assertEqual("fork of trial 0 at step 4", fork.chosen)
        self.assertEqual(4, study.enqueue({"lr": 0.2}, outside=True))
        self.finish(study)
        self.assertEqual({"lr": 0.2, "momentum": 0.9}, study.trials[3].params)
        with self.assertRaises(hippo.InvalidArgument) as failed:
            study.fork(0, 9, {"lr": 0.01})
        self.assertIn("from 1 to 8", str(failed.exception))
        # Alone it is the same, to the bit; here nothing of it is trained again.
        with tempfile.TemporaryDirectory() as folder:
            apart = Service(folder)
            self.addCleanup(apart.end)
            with hippo.connect(apart.address, timeout=PATIENCE) as client:
                for place, new in (self.client, 0), (client, 9):
                    alone = study_file("alone", "grid", space={
                        "lr": {"piecewise": drop["join"]}, "momentum": 0.9})
                    self.assertEqual(new, place.preview(alone)["new_steps"])
                    alone = place.submit(alone)
                    self.finish(alone)
                    self.assertEqual(fork.value, alone.trials[0].value)
            apart.end()

    def test_errors_are_word_for_word(self):
        with self.assertRaises(hippo.InvalidStudy) as failed:
            self.client.submit(study_file("bad", SHA, spice=1), "bad.yaml")
        self.assertIn("bad.yaml:", str(failed.exception))
        self.assertIn("spice", str(failed.exception))
        self.client.submit(study_file("mnist", BY_HAND))
        with self.assertRaises(hippo.UnknownStudy) as failed:
            self.client.study("mist")
        self.assertIn("'mnist'", str(failed.exception))
        with self.assertRaises(hippo.InvalidArgument):
            self.client.study("mnist").best_value

    def test_studies_are_paused_weighed_and_cancelled(self):
        study = self.client.submit(study_file("mnist", BY_HAND))
        study.pause()
        self.until(lambda: study.state == "PAUSED")
        study.resume()
        self.until(lambda: study.state == "RUNNING")
        study.set_weight(2.5)
        self.until(lambda: study.info.weight == 2.5)
        with self.assertRaises(hippo.InvalidArgument):
            study.set_weight(-1)
        study.cancel("enough")
        info = study.wait(progress=False, timeout=PATIENCE)
        self.assertEqual("CANCELLED", info.state)
        self.assertIn("enough", info.reason)


class Algorithms(Case):
    def test_trials_are_trained_told_and_shared(self):
        study = self.client.submit(study_file("mine", BY_HAND))
        early, late = study.ask(drop_at(3)), study.ask(drop_at(6))
        self.assertEqual((0, 1), (early.number, late.number))
        first, second = study.train_many([(early, 3), (late, 3)])
        self.assertEqual(first, second)
        self.assertTrue(math.isfinite(first["val_accuracy"]))
        self.assertEqual(first, early.train(3))  # asking again is harmless
        study.tell(early, state="PRUNED")
        late.train(9)
        with self.assertRaises(hippo.InvalidArgument):
            study.ask({"lr": "fast"})
        drawn = study.ask()
        self.assertIn("momentum", drawn.params)
        study.close()
        self.finish(study)
        states = [x.state for x in study.trials]
        self.assertEqual(["PRUNED", "COMPLETE"], states[:2])

    def test_a_trial_that_diverges_raises(self):
        study = self.client.submit(study_file("mine", BY_HAND))
        trial = study.ask(drop_at(3, rate=1e30))
        with self.assertRaises(hippo.TrialFailed) as failed:
            trial.train(9)
        self.assertEqual("FAILED", failed.exception.state)
        self.assertEqual(study.trials[0].failure, str(failed.exception))


class Restarts(Case):
    def test_training_goes_on_after_a_kill(self):
        study = self.client.submit(study_file(
            "mine", BY_HAND, max_steps=200))
        trial = study.ask(drop_at(3))
        seen = trial.train(3)
        pending = trial.train_async(200)
        # It is on its way.
        next(x for x in study.events(follow=True) if x.step > 3)
        self.service.kill()
        self.service = self.start(self.service.address)
        self.assertIn("val_accuracy", pending.result(PATIENCE))
        self.assertEqual(seen, trial.train(3))
        study.close()
        self.finish(study)


class Examples(Case):
    def test_optuna(self):
        said = run_optuna(self.service.address, "--trials", "6")
        self.assertIn("6 trials", said)
        self.assertIn("best: 0.", said)
        info = self.client.studies()[0]
        self.assertEqual("COMPLETE", info.state)
        self.assertGreater(info.asked_steps, 0)


class OwnCode(Case):
    """Code that a study brings, sent by this package and by the command
    line."""

    TRAIN = """import hippo_hpo as hippo

class Sum(hippo.Workload):
    def init(self):
        self.total = 0.0
    def train(self, start, stop, hp):
        for step in range(start, stop):
            self.total += hp.lr(step)
            print("step", step)
    def evaluate(self):
        return {"total": self.total}
    def state_dict(self):
        return self.total
    def load_state_dict(self, state):
        self.total = state
"""

    def test_runs_and_shares(self):
        os.mkdir(folder := os.path.join(self.folder, "mine"))
        with open(os.path.join(folder, "train.py"), "w") as file:
            file.write(self.TRAIN)
        study = {
            "study": "own",
            "workload": {"python": "train.py:Sum",
                         "python_executable": sys.executable},
            "objective": {"metric": "total", "direction": "maximize"},
            "max_steps": 4,
            "space": {"lr": {"choice": [0.5, {"piecewise": [[0, 0.5],
                                                            [2, 1]]}]}},
            "algorithm": "grid"}
        path = os.path.join(folder, "study.yaml")
        with open(path, "w") as file:
            json.dump(study, file)
        own = self.client.submit(path)
        own.wait()
        self.assertEqual(own.best_value, 3.0)
        self.assertEqual(json.loads(own.text), study)
        for trial in (0, 1):
            self.assertEqual(own.output(trial),
                             "".join(f"step {i}\n" for i in range(4)))
        with self.assertRaisesRegex(hippo.InvalidArgument, "no trial 2"):
            own.output(2)
        done = subprocess.run([HIPPO, "submit", "--server",
                               self.service.address, path],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.client.study(int(done.stdout))
        self.assertEqual(again.info.workload, own.info.workload)


if __name__ == "__main__":
    unittest.main()
