"""SearchCV, on a service on demand, and the workload that it trains.

The environment says where the programs are: HIPPO, HIPPO_TRAINER.
"""

import os
import pickle
import random
import re
import tempfile
import time
import unittest
import warnings

import hippo_hpo as hippo
from hippo_hpo import choice, int_uniform, multistep, option, uniform
from hippo_hpo._compare import differences
from hippo_hpo.workload import HyperParameters

try:
    import numpy as np
    import sklearn.base
    import sklearn.exceptions
    import sklearn.model_selection
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils import estimator_checks
except ImportError:
    sklearn = None
else:
    from breaking_estimator import Breaking
    from hippo_hpo.sklearn import (SearchCV, SearchWorkload, _Coded, _Pickler,
                                   canonical)
    X, Y = load_iris(return_X_y=True)

HIPPO = os.environ.get("HIPPO", "")
TRAINER = os.environ.get("HIPPO_TRAINER", "")
PATIENCE = 180

needs_sklearn = unittest.skipIf(sklearn is None, "scikit-learn is missing")

if sklearn is not None:
    class OfThisScript(sklearn.base.ClassifierMixin,
                       sklearn.base.BaseEstimator):
        """Lies where trainers cannot import it."""

        def fit(self, x, y):
            return self


@needs_sklearn
class Training(unittest.TestCase):
    """What trainers drive, cut anywhere."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def made(self, estimator, space, steps, **more):
        search = SearchCV(estimator, space, max_steps=steps, **more)
        how = search._how(Y, sklearn.base.is_classifier(estimator))
        coded = _Coded(space)
        task = {"estimator": estimator, "x": X, "y": Y, "splits": list(
            StratifiedKFold(3).split(X, Y)), "scorers": search._scorers()[0],
            "decoded": coded.decoded, "words": coded.words,
            "whole": coded.whole, **how}
        path = os.path.join(self.folder, "data")
        with open(path, "wb") as file:
            _Pickler(file).dump(task)

        def make():
            workload = SearchWorkload()
            workload.setup(1, "cpu", {"data": path})
            return workload
        return make

    def cut(self, make, values, other, steps=6):
        """Trains straight, and in pieces in objects that have trained another
        trial before."""
        def hp(values, start, stop):
            return HyperParameters(start, stop, {
                name: x[start:stop] if isinstance(x, list) else x
                for name, x in values.items()})
        whole = make()
        whole.init()
        whole.train(0, steps, hp(values, 0, steps))
        for cuts in ([1], [4], [2, 3, 5]):
            x, at = make(), 0
            x.init()
            for to in [*cuts, steps]:
                x.train(at, to, hp(values, at, to))
                at = to
                if to == steps:
                    break
                x.evaluate()
                path = os.path.join(self.folder, "state")
                x.save(path)
                x = make()
                x.init()
                x.train(0, 2, hp(other, 0, 2))
                np.random.rand()
                x.load(path)
            self.assertEqual(whole.evaluate(), x.evaluate(), cuts)
            self.assertEqual([], differences(whole.state_dict(),
                                             x.state_dict()), cuts)
        other_whole = make()
        other_whole.init()
        other_whole.train(0, steps, hp(other, 0, steps))
        self.assertNotEqual([], differences(whole.state_dict(),
                                            other_whole.state_dict()))

    def test_partial_fit_cut_anywhere(self):
        make = self.made(
            SGDClassifier(loss="log_loss", learning_rate="constant", eta0=1,
                          average=True), {"eta0": [0.1], "alpha": [1.0]}, 6)
        self.cut(make, {"eta0": [0.1, 0.1, 0.05, 0.05, 0.02, 0.01],
                        "alpha": [1e-4] * 6},
                 {"eta0": [0.5] * 6, "alpha": [1e-3] * 6})

    def test_partial_fit_with_moments_cut_anywhere(self):
        make = self.made(MLPClassifier([4], batch_size=32), {"alpha": [1.0]},
                         6)
        self.cut(make, {"alpha": [1e-4] * 6}, {"alpha": [1e-1] * 6})

    def test_warm_start_cut_anywhere(self):
        make = self.made(RandomForestClassifier(n_estimators=2),
                         {"max_depth": [None, 1]}, 6)
        self.cut(make, {"max_depth": "None"}, {"max_depth": [1.0] * 6})

    def test_equal_tasks_have_equal_bytes(self):
        def bytes_of(word):
            path = os.path.join(self.folder, "x")
            with open(path, "wb") as file:
                _Pickler(file).dump({"a": "".join(["wo", "rd"]), "b": word,
                                     "x": np.arange(9.0)})
            with open(path, "rb") as file:
                return file.read()
        one = "".join(["wo", "rd"])
        self.assertEqual(bytes_of(one), bytes_of("".join(list("word"))))
        self.assertNotEqual(bytes_of(one), bytes_of("ward"))
        self.assertEqual("word", pickle.loads(bytes_of(one))["b"])


@needs_sklearn
class Spaces(unittest.TestCase):
    def test_what_no_study_file_has_comes_back(self):
        weights = {0: 1.0, 1: 2.0}
        x = _Coded({"depth": [None, 3, 4.5], "flag": (True, False),
                    "n": int_uniform(1, 3), "weight": choice(weights, "all"),
                    "solver": choice(option("sgd", rate=[1, None]), "adam")})
        self.assertEqual(
            {"choice": ["None", 3, 4.5]}, hippo.space.plain(x.space["depth"]))
        for name, said, meant in [
                ("depth", "None", None), ("depth", 3, 3), ("depth", 4.5, 4.5),
                ("flag", "True", True), ("n", 2, 2), ("rate", "None", None),
                ("weight", str(weights), weights), ("weight", "all", "all")]:
            found = x.form(name, said)
            self.assertEqual((meant, type(meant)), (found, type(found)))
        found = x.values({"param_n": 3.0, "param_depth": 4.5, "word_flag": 1.0,
                          "mean_test_score": 1.0})
        self.assertEqual({"n": 3, "depth": 4.5, "flag": False}, found)
        self.assertIs(int, type(found["n"]))

    def test_none_and_the_word_none_are_two(self):
        x = _Coded({"p": ["None", None]})
        first, second = hippo.space.plain(x.space["p"])["choice"]
        self.assertEqual("None", x.form("p", first))
        self.assertIsNone(x.form("p", second))

    def test_each_option_is_one_of_its_own(self):
        """Whatever else there is, and it comes back as it was."""
        thing = StandardScaler()
        options = [
            1, 1.0, True, 0, 0.0, -0.0, False, "1", "1.0", "True", None,
            "None", "", "'", "a\nb", "x" * 200, "x" * 201, thing, repr(thing),
            StandardScaler(), np.int64(1), np.float64(1), np.float32(0.1), 0.1,
            0.1 + 1e-15, 1 / 3, float("nan"), float("inf"), 2**60, 2**60 + 1,
            20240131123456, 10**400, (1, 2), [1, 2], object, object()]
        for seed in range(100):
            rng = random.Random(seed)
            some = rng.sample(options, rng.randint(1, len(options)))
            more = rng.choice([[], [int_uniform(1, 9)], [uniform(0, 1)]])
            x = _Coded({"p": choice(*some, *more)})
            told = hippo.space.plain(x.space["p"])["choice"][:len(some)]
            self.assertEqual(len(some), len({
                y if isinstance(y, str) else canonical(y) for y in told}))
            for given, y in zip(some, told):
                self.assertIsInstance(y, (int, float, str))
                found = x.form("p", y)
                self.assertTrue(found is given, (seed, given, found))
                kind, at = ("word", x.words["p"].index(y)) \
                    if isinstance(y, str) else ("param", canonical(y))
                self.assertIs(given, x.values({f"{kind}_p": at})["p"])

    def test_whole_numbers_of_ranges_stay_whole(self):
        x = _Coded({"n": int_uniform(1, 10**6), "m": choice(
            int_uniform(1, 5), 2.0, 0.5), "f": uniform(0, 4)})
        for name, said, meant in [("n", 654321.0, 654321), ("m", 2.0, 2),
                                  ("m", "2.0", 2.0), ("m", "0.5", 0.5),
                                  ("f", 2, 2.0)]:
            found = x.form(name, said)
            self.assertEqual((meant, type(meant)), (found, type(found)))

    def test_steps_that_cannot_be_trained(self):
        for estimator, more, why in [
                (StandardScaler(), {"max_steps": 1}, None),
                (make_pipeline(StandardScaler(), LogisticRegression()),
                 {"max_steps": 2}, "Pipeline has neither partial_fit nor"),
                (RandomForestClassifier(),
                 {"max_steps": 2, "resource": "n_trees"},
                 "resource is 'n_trees'"),
                (RandomForestClassifier(), {"max_steps": 2, "space":
                 {"n_estimators": [1]}}, "out of the space")]:
            with self.subTest(why):
                search = SearchCV(estimator, **{"space": {}, **more})
                if why is None:
                    self.assertEqual("fit", search._how(Y, False)["mode"])
                    continue
                with self.assertRaisesRegex(ValueError, why):
                    search._how(Y, True)


@needs_sklearn
@unittest.skipUnless(HIPPO and TRAINER, "HIPPO and HIPPO_TRAINER name nothing")
class Searching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.state = os.path.join(folder.name, "state")
        os.environ["HIPPO_PROGRAM"] = HIPPO
        cls.addClassCleanup(cls.leave)

    @classmethod
    def leave(cls):
        for client in hippo.optimizing._clients.values():
            client.close()
        hippo.optimizing._clients.clear()
        end = time.monotonic() + PATIENCE
        path = os.path.join(cls.state, "service.json")
        while os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.05)

    def search(self, estimator, space, **more):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of little sharing
            return SearchCV(estimator, space, state=self.state, trainers=2,
                            **{"algorithm": "grid", "cv": 3, **more})

    def test_it_is_the_loop_by_hand(self):
        estimator = SGDClassifier(loss="log_loss", learning_rate="constant",
                                  eta0=1.0, random_state=3)
        search = self.search(estimator, {
            "eta0": choice(0.02, multistep(0.02, [2], 0.1)),
            "alpha": [1e-4, 1e-2]}, max_steps=4).fit(X, Y)

        def trained(x, y, params, steps):
            model = sklearn.base.clone(estimator)
            for step in range(steps):
                falls = not isinstance(params["eta0"], float)
                model.set_params(alpha=params["alpha"], eta0=0.1 * 0.02
                                 if falls and step >= 2 else 0.02)
                model.partial_fit(x, y, classes=np.unique(Y))
            return model
        found = search.cv_results_
        self.assertEqual(4, len(found["params"]))
        for i, params in enumerate(found["params"]):
            by_step = []
            for steps in range(1, 5):
                by_step.append([
                    trained(X[a], Y[a], params, steps).score(X[b], Y[b])
                    for a, b in StratifiedKFold(3).split(X, Y)])
            best = np.argmax(np.mean(by_step, axis=1))
            self.assertEqual(best + 1, found["step"][i])
            self.assertEqual(by_step[best], [found[f"split{k}_test_score"][i]
                                             for k in range(3)])
        by_hand = trained(X, Y, search.best_params_, search.best_step_)
        np.testing.assert_array_equal(by_hand.coef_,
                                      search.best_estimator_.coef_)
        self.assertEqual(by_hand.score(X, Y), search.score(X, Y))
        self.assertEqual(max(found["mean_test_score"]), search.best_score_)
        self.assertEqual(1, found["rank_test_score"][search.best_index_])
        again = pickle.loads(pickle.dumps(search))
        np.testing.assert_array_equal(search.predict(X), again.predict(X))
        # Two of the four steps are the same for both schedules.
        self.assertEqual(4, search.study_.info.shared_steps)
        self.assertEqual(search.study_.file().space["alpha"],
                         choice(1e-4, 1e-2))

    def test_pipelines_and_several_scores(self):
        search = self.search(
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"logisticregression__C": [0.1, 10],
             "standardscaler": [StandardScaler(), "passthrough"]},
            scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss")
        search.fit(X, Y)
        expected = sklearn.model_selection.GridSearchCV(
            search.estimator,
            {"logisticregression__C": [0.1, 10],
             "standardscaler": [StandardScaler(), "passthrough"]},
            scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss",
            cv=3).fit(X, Y)
        self.assertEqual(expected.best_score_, search.best_score_)
        self.assertEqual(str(expected.best_params_), str(search.best_params_))
        for name in "accuracy", "neg_log_loss":
            self.assertEqual(
                sorted(expected.cv_results_[f"mean_test_{name}"]),
                sorted(search.cv_results_[f"mean_test_{name}"]))
        np.testing.assert_array_equal(expected.predict_proba(X),
                                      search.predict_proba(X))
        self.assertEqual(expected.score(X, Y), search.score(X, Y))
        np.testing.assert_array_equal(expected.classes_, search.classes_)

    def test_page(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                            "..", "docs", "sklearn.md")
        with open(path) as file:
            found = re.findall(r"^```python\n(.*?)^```$", file.read(),
                               re.DOTALL | re.MULTILINE)
        self.assertEqual(1, len(found))
        before = os.getcwd()
        os.chdir(os.path.dirname(self.state))
        try:
            names = {"__name__": "page"}
            exec(compile(found[0].replace('"hippo-state"', '"state"'),
                         path, "exec"), names)
        finally:
            os.chdir(before)
        search = names["search"]
        self.assertGreater(search.study_.info.shared_steps, 0)

    def test_failures_are_told(self):
        bad = LogisticRegression(solver="lbfgs", max_iter=1000)
        with self.assertRaisesRegex(ValueError, "all 1 trials failed.*l1"):
            self.search(bad, {"penalty": ["l1"]}).fit(X, Y)
        with self.assertWarnsRegex(sklearn.exceptions.FitFailedWarning,
                                   "1 of 2 trials failed"):
            search = self.search(bad, {"penalty": ["l1", "l2"]}).fit(X, Y)
        self.assertTrue(np.isnan(search.cv_results_["mean_test_score"]).any())
        self.assertEqual({"penalty": "l2"}, search.best_params_)
        with self.assertRaisesRegex(hippo.InvalidArgument,
                                    "OfThisScript is defined in the script"):
            self.search(OfThisScript(), {"a": [1]}).fit(X, Y)
        self.assertEqual([], [x for x in os.listdir(self.state + "/sklearn")
                              if x.endswith(".tmp")])

    def test_a_trial_that_fails_half_way_is_not_the_best(self):
        with self.assertWarnsRegex(sklearn.exceptions.FitFailedWarning,
                                   "1 of 2 trials failed.*it diverged"):
            search = self.search(
                Breaking(), {"quality": choice(
                    0.5, option(0.9, breaks_at=3))},
                max_steps=4).fit(X, Y)
        self.assertEqual({"quality": 0.5}, search.best_params_)
        self.assertEqual(0.5, search.best_score_)
        found = search.cv_results_
        self.assertEqual([1, 2], list(found["rank_test_score"]))
        self.assertTrue(np.isnan(found["mean_test_score"][1]))
        self.assertTrue(np.isnan(found["split0_test_score"][1]))
        study = search.study_
        self.assertEqual(["COMPLETE", "FAILED"],
                         [x.state for x in study.trials])
        self.assertIsNone(study.trials[1].value)
        self.assertEqual(0, study.best_trial.number)
        self.assertEqual(0, study.export()["best"]["trial"])

    def test_options_are_those_of_a_grid_search(self):
        for name, options in [
                ("max_features", [1, 1.0, None, "sqrt", np.int64(3)]),
                ("class_weight", [None, "balanced", {0: 2.0, 1: 1.0}])]:
            with self.subTest(name):
                theirs = sklearn.model_selection.GridSearchCV(
                    DecisionTreeClassifier(random_state=0), {name: options},
                    cv=3).fit(X, Y)
                ours = self.search(DecisionTreeClassifier(random_state=0),
                                   {name: options}).fit(X, Y)
                for mine, other in zip(ours.cv_results_["params"],
                                       theirs.cv_results_["params"]):
                    self.assertIs(mine[name], other[name])
                np.testing.assert_array_equal(
                    ours.cv_results_["mean_test_score"],
                    theirs.cv_results_["mean_test_score"])
                self.assertEqual(theirs.best_params_, ours.best_params_)

    def test_what_scikit_learn_asks_of_estimators(self):
        """A few of the checks: all take minutes."""
        search = self.search(LogisticRegression(max_iter=1000), {"C": [0.5]},
                             cv=2)
        for name in ("check_no_attributes_set_in_init",
                     "check_get_params_invariance", "check_set_params",
                     "check_dont_overwrite_attributes",
                     "check_estimators_unfitted", "check_dict_unchanged",
                     "check_n_features_in"):
            with self.subTest(name):
                if (check := getattr(estimator_checks, name, None)) is None:
                    continue
                check("SearchCV", sklearn.base.clone(search))


if __name__ == "__main__":
    unittest.main()
