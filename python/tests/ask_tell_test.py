"""`hippo_hpo.Tuner`, with the real program that HIPPO names."""

import concurrent.futures
import math
import os
import tempfile
import unittest
import unittest.mock

import hippo_hpo as hippo

HIPPO = os.environ.get("HIPPO", "")


def loss(work):
    """Less for small `lr`, and with every step."""
    return work.params["lr"] + 1 / work.to_step


def played(tuner):
    """What was asked until there was nothing more."""
    asked = []
    while (work := tuner.ask()) is not None:
        asked.append(work)
        tuner.tell(work, loss(work))
    return asked


@unittest.skipUnless(HIPPO, "HIPPO names no program")
class AskTell(unittest.TestCase):
    def setUp(self):
        names = unittest.mock.patch.dict(os.environ, HIPPO_PROGRAM=HIPPO)
        names.start()
        self.addCleanup(names.stop)

    def tuner(self, space=None, objective="loss", **options):
        result = hippo.Tuner(space or {"lr": hippo.uniform(0, 1)}, objective,
                             **options)
        self.addCleanup(result.close)
        return result

    def test_every_algorithm_plays_to_its_end(self):
        for algorithm in ("random", {"asha": {"min": 1, "sampler": "gp"}},
                          "dehb", {"pbt": {"population": 4, "interval": 3}}):
            with self.subTest(algorithm):
                own = "pbt" in algorithm
                tuner = self.tuner(max_steps=9, algorithm=algorithm, seed=1,
                                   trials=None if own else 12)
                states = {}
                while (work := tuner.ask()) is not None:
                    self.assertEqual(work.start is None, work.from_step == 0)
                    if work.start is not None:
                        self.assertEqual(work.start[1], work.from_step)
                        self.assertIn(work.start, states)
                    states[work.trial, work.to_step] = work
                    tuner.tell(work, loss(work))
                self.assertEqual("its algorithm has nothing left to train",
                                 tuner.end)
                best = min(states.values(), key=loss)
                self.assertEqual((best.trial, best.to_step),
                                 (tuner.best.trial, tuner.best.step))
                self.assertEqual(loss(best), tuner.best.value)
                self.assertEqual(best.params, tuner.best.params)

    def test_auto_says_what_it_has_taken(self):
        tuner = self.tuner(max_steps=27, total_steps=270)
        (name, options), = tuner.algorithm.items()
        self.assertNotEqual("auto", name)
        self.assertIsInstance(options, dict)

    def test_a_budget_of_steps_ends_it(self):
        tuner = self.tuner(max_steps=9, algorithm="random", total_steps=31)
        asked = played(tuner)
        self.assertEqual(31, sum(x.to_step - x.from_step for x in asked))
        self.assertEqual("its budget.steps, 31, is spent", tuner.end)

    def test_values_are_functions_of_the_step(self):
        tuner = self.tuner({"lr": hippo.multistep(1.0, [2], 0.5),
                            "batch": hippo.choice(16, 32), "kind": "sgd"},
                           max_steps=4, algorithm="grid", eval_every=4)
        work = tuner.ask()
        self.assertEqual([1.0, 1.0, 0.5, 0.5],
                         [work.hp.lr(x) for x in range(4)])
        self.assertEqual({"batch": 16, "kind": "sgd", "lr": 0.5}, work.hp.at(3))
        self.assertIsInstance(work.hp.batch(0), int)
        self.assertRaises(IndexError, work.hp.lr, 4)
        self.assertEqual(16, work.params["batch"])

    def test_what_trials_have_in_common_is_asked_for_once(self):
        tuner = self.tuner(
            {"lr": hippo.choice(1.0, hippo.multistep(1.0, [2], 0.5))},
            max_steps=3, algorithm="grid")
        asked = []
        while (work := tuner.ask()) is not None:
            asked.append((work.trial, work.from_step, work.start))
            tuner.tell(work, 1 / work.to_step)
        self.assertEqual({(0, 0, None), (0, 1, (0, 1)), (0, 2, (0, 2)),
                          (1, 2, (0, 2))}, set(asked))

    def test_work_is_out_as_often_as_it_is_asked_for(self):
        tuner = self.tuner(max_steps=3, algorithm="random", trials=5)
        out = [tuner.ask() for _ in range(5)]
        self.assertEqual(set(range(5)), {x.trial for x in out})
        self.assertIsNone(tuner.ask())
        self.assertEqual("", tuner.end)
        for work in reversed(out):
            tuner.tell(work, loss(work))
        self.assertEqual(4, tuner.ask().trial)

    def test_threads_share_it(self):
        tuner = self.tuner(max_steps=4, algorithm="random", trials=20)

        def work():
            count = 0
            while (x := tuner.ask()) is not None:
                tuner.tell(x, loss(x))
                count += x.to_step - x.from_step
            return count
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            counts = [x.result() for x in [pool.submit(work)
                                           for _ in range(4)]]
        self.assertEqual(80, sum(counts))

    def test_failures_and_several_metrics(self):
        tuner = self.tuner(objective={"loss": "minimize", "ms": "minimize"},
                           constraints=["ms <= 8"], algorithm="random",
                           trials=4)
        for number, ms in enumerate((9, 5, 4, 1)):
            work = tuner.ask()
            with self.assertRaisesRegex(hippo.InvalidArgument,
                                        "the value of 'ms' is missing"):
                tuner.tell(work, 1.0)
            if number == 3:
                tuner.tell(work, failed=True)
            else:
                tuner.tell(work, {"loss": number, "ms": ms})
        self.assertEqual([{"loss": 1, "ms": 5}, {"loss": 2, "ms": 4}],
                         [x.values for x in tuner.front])
        self.assertRaisesRegex(hippo.InvalidArgument, "front",
                               lambda: tuner.best)

    def test_a_journal_goes_on_where_it_was(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = os.path.join(folder, "j")
            options = {"max_steps": 9, "algorithm": {"asha": {"min": 1}},
                       "trials": 15, "seed": 4}
            whole = [(x.trial, x.to_step) for x in
                     played(self.tuner(**options))]
            asked = []
            with self.tuner(**options, journal=journal) as tuner:
                for _ in range(20):
                    work = tuner.ask()
                    asked.append((work.trial, work.to_step))
                    tuner.tell(work, loss(work))
                lost = tuner.ask()
                with self.assertRaisesRegex(hippo.Error, "another process"):
                    self.tuner(**options, journal=journal)
            with open(journal, "a", encoding="utf-8") as file:
                file.write('{"told": [0, ')  # killed while it wrote
            for _ in range(2):  # what was out is out again, once only
                with self.tuner(**options, journal=journal) as again:
                    self.assertEqual(lost, again.ask())
            again = self.tuner(**options, journal=journal)
            asked += [(x.trial, x.to_step) for x in played(again)]
            self.assertEqual(whole, asked)
            again.close()
            with self.assertRaisesRegex(hippo.InvalidStudy, "another study"):
                self.tuner(**{**options, "seed": 5}, journal=journal)
            with open(journal, encoding="utf-8") as file:
                lines = file.readlines()
            for number, bad in ((1, "no line of a journal\n"),
                                (9, '{"told": [3]}\n'),
                                (2, '{"asked": [7, 1]}\n')):
                with open(journal, "w", encoding="utf-8") as file:
                    file.writelines([*lines[:number - 1], bad,
                                     *lines[number:]])
                with self.subTest(bad), self.assertRaisesRegex(
                        hippo.InvalidStudy, f"j:{number}: "):
                    self.tuner(**options, journal=journal)

    def test_mistakes(self):
        tuner = self.tuner(max_steps=2, algorithm="random", trials=2)
        work = tuner.ask()
        for bad in (math.nan, math.inf):
            with self.assertRaisesRegex(hippo.InvalidArgument,
                                        "must be a finite number, found"):
                tuner.tell(work, bad)
        self.assertRaises(hippo.InvalidArgument, tuner.tell, work)
        self.assertRaises(hippo.InvalidArgument, tuner.tell, work, 1,
                          failed=True)
        tuner.tell(work, 1)
        with self.assertRaisesRegex(hippo.InvalidArgument,
                                    "has its value at step 1 already"):
            tuner.tell(work, 1)
        tuner.close()
        tuner.close()
        self.assertRaises(hippo.Closed, tuner.ask)
        for text, options in (
                ("algorithm: .*client", {"algorithm": "client"}),
                ("unknown algorithm 'ashaa', did you mean 'asha'",
                 {"algorithm": "ashaa", "trials": 3}),
                ("needs `budget.trials`", {"algorithm": "random"})):
            with self.subTest(text), \
                    self.assertRaisesRegex(hippo.InvalidStudy, text):
                self.tuner(**options)


if __name__ == "__main__":
    unittest.main()
