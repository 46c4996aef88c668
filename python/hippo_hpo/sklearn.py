"""Search for hyper-parameters with scikit-learn's interface.

    from hippo_hpo.sklearn import SearchCV

    search = SearchCV(SGDClassifier(loss="log_loss"),
                      {"alpha": log_uniform(1e-6, 1e-2, points=5),
                       "eta0": multistep(0.1, [6, choice(9, 10)], 0.1)},
                      max_steps=12, trials=20, cv=5)
    search.fit(X, y)
    search.best_params_, search.best_score_, search.predict(X)

It is used as scikit-learn's `RandomizedSearchCV` is. Trials that begin alike
are trained once as far as they do: estimators with `partial_fit` or
`warm_start` are trained in `max_steps`, all others in one.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import io
import math
import numbers
import os
import pickle
import random
import re
import sys
import time
import types
import warnings
from collections.abc import Mapping
from typing import Any

import numpy
import sklearn.base
import sklearn.exceptions
import sklearn.metrics
import sklearn.model_selection
import sklearn.utils
import sklearn.utils.metaestimators
from sklearn.model_selection._search import BaseSearchCV

from ._renamed import renamed_fields
from ._source import source_of
from ._whole import whole_file
from .client import Client
from .errors import InvalidArgument
from .optimizing import Code, optimize, packages_of, service_of
from .records import has_result
from .space import Form, Option, from_plain
from .workload import HyperParameters, Value, Workload

__all__ = ["SearchCV"]


def canonical(x: float) -> float:
    """Returns the number that stands for `x` in a study, of 12 digits."""
    return float(f"{x:.11e}") + 0.0 if math.isfinite(x) else x


def given(task: Mapping[str, Any], name: str, value: Any) -> Any:
    """Returns what the estimator is given for a value of a study.

    Args:
        task: or whatever else has `decoded` and `whole` of a `_Coded`.
    """
    if isinstance(value, str):
        return task["decoded"].get((name, value), value)
    number = canonical(float(value))
    if (name, number) in task["decoded"]:
        return task["decoded"][name, number]
    return int(number) if name in task["whole"] and number.is_integer() \
        else number


def advance(task: Mapping[str, Any], model: Any, step: int,
            values: Mapping[str, Any], x: Any, y: Any,
            address: tuple[int, int]) -> None:
    """Trains an estimator by one step.

    Args:
        values: of hyper-parameters, as the estimator takes them.
        address: seed and fold: what is drawn is a function of these and the
            step.
    """
    rng = numpy.random.default_rng([*address, step])
    random.seed(int(rng.integers(2**63)))
    numpy.random.seed(int(rng.integers(2**32)))
    model.set_params(**copy.deepcopy(dict(values)))
    mode, more = task["mode"], [] if y is None else [y]
    if mode == "partial_fit":
        if task["classes"] is not None:
            model.partial_fit(x, *more, classes=task["classes"])
        else:
            model.partial_fit(x, *more)
        return
    if mode == "warm_start":
        model.set_params(warm_start=True)
        if task["resource"] is not None:
            model.set_params(**{
                task["resource"]: (step + 1) * task["per_step"]})
    model.fit(x, *more)


class SearchWorkload(Workload):
    """Trains an estimator on each fold of a cross validation."""

    def setup(self, seed: int, device: str, args: dict[str, Any]) -> None:
        self._seed = seed
        with open(str(args["data"]), "rb") as file:
            self._task = pickle.load(file)
        self._metrics: dict[str, float] | None = None

    def init(self) -> None:
        task = self._task
        self._models = [sklearn.base.clone(task["estimator"])
                        for _ in task["splits"]]
        self._values: dict[str, Any] = {}
        self._metrics = None

    def _split(self, fold: int, of: int) -> Any:
        """What a fold trains on, and for `of` 1 what it is tested on."""
        task = self._task
        train = task["splits"][fold][0]
        indices = task["splits"][fold][of]
        return sklearn.utils.metaestimators._safe_split(
            task["estimator"], task["x"], task["y"], indices,
            train if of else None)

    def train(self, start: int, stop: int, hp: HyperParameters) -> None:
        task = self._task
        for fold, model in enumerate(self._models):
            x, y = self._split(fold, 0)
            for step in range(start, stop):
                values = {name: given(task, name, value)
                          for name, value in hp.at(step).items()}
                advance(task, model, step, values, x, y, (self._seed, fold))
        if start < stop:
            self._values = hp.at(stop - 1)
            self._metrics = None

    def evaluate(self) -> dict[str, float]:
        """Returns the scores, and the values of hyper-parameters in the last
        step, by which the best trial is trained again."""
        if self._metrics is None:
            self._metrics = self._measured()
        return self._metrics

    def _measured(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, scorer in self._task["scorers"].items():
            scores = []
            for fold, model in enumerate(self._models):
                numpy.random.seed(fold)
                x, y = self._split(fold, 1)
                scores.append(float(scorer(model, x, y)))
                found[f"split{fold}_test_{name}"] = scores[-1]
            found[f"mean_test_{name}"] = float(numpy.mean(scores))
        for name, value in self._values.items():
            if isinstance(value, str):
                words = self._task["words"][name]
                found[f"word_{name}"] = float(words.index(value))
            else:
                found[f"param_{name}"] = float(value)
        return found

    def state_dict(self) -> Any:
        return copy.deepcopy({"models": self._models, "values": self._values,
                              "metrics": self._metrics})

    def load_state_dict(self, state: Any) -> None:
        state = copy.deepcopy(state)
        self._models, self._values = state["models"], state["values"]
        self._metrics = state["metrics"]


@renamed_fields(steps="max_steps")
class SearchCV(BaseSearchCV):  # type: ignore[misc]
    """Searches the values of an estimator's parameters by a study.

    Args:
        estimator: a scikit-learn estimator. It and the scorers must come from
            modules, not from the script itself or a notebook.
        space: hyper-parameters by name, as for `estimator.set_params`: objects
            of `hippo_hpo.space`, and lists, which are choices. An option may
            be any value that the estimator accepts.
        trials: the largest number of trials; None: the algorithm decides.
        algorithm: as in a study file: ``"tpe"``, ``{"asha": {"eta": 3}}``.
        max_steps: the steps of a trial. With more than 1, a step is one
            call of `partial_fit`, or, for an estimator without it, one more
            `fit` with `warm_start`.
        resource: for `warm_start`: the parameter that gives the total amount
            of fitting, by default ``"n_estimators"`` if there is one. Each step
            adds the estimator's value of it.
        scoring: as for `GridSearchCV`; several are a list or a map.
        refit: whether to train the best trial on all data; with several
            scores the name of the deciding one.
        cv: as for `GridSearchCV`.
        seed: the seed of all randomness.
        name: the study's name; None: that of the estimator's class.
        state: the folder of the service on demand, as for `hippo.local`.
            Trainers read the data from its folder ``sklearn``.
        trainers: as for `hippo.local`.
        verbose: 1: show progress.

    Attributes:
        cv_results_: as in `GridSearchCV`, without times, which sharing makes
            meaningless, and with ``step``: the best step of the trial, which
            all scores belong to.
        best_estimator_, best_params_, best_score_, best_index_: those of the
            best trial. A parameter with a schedule has the form of `space`.
        best_step_: the number of steps of the best trial and of
            `best_estimator_`.
        study_: the study; it is not pickled.
    """

    _required_parameters = ["estimator", "space"]

    def __init__(self, estimator: Any, space: Mapping[str, Any], *,
                 trials: int | None = None,
                 algorithm: str | Mapping[str, Any] = "random",
                 max_steps: int = 1, resource: str | None = None,
                 scoring: Any = None, refit: bool | str = True,
                 cv: Any = None, seed: int = 0, name: str | None = None,
                 state: str = "hippo-state", trainers: int | str = "auto",
                 verbose: int = 0) -> None:
        super().__init__(estimator, scoring=scoring, refit=refit, cv=cv,
                         verbose=verbose)
        self.space = space
        self.trials = trials
        self.algorithm = algorithm
        self.max_steps = max_steps
        self.resource = resource
        self.seed = seed
        self.name = name
        self.state = state
        self.trainers = trainers

    def fit(self, X: Any, y: Any = None, *, groups: Any = None,
            client: Client | None = None) -> SearchCV:
        """Runs the study and waits for its end.

        Args:
            groups: groups of samples, for `cv`.
            client: client of a service whose trainers can read the folder
                `state`; None: a service on demand.

        Raises:
            ValueError: all trials failed; the text gives the reason. TypeError
                instead if the first one failed by a TypeError.
        """
        scorers, decides = self._scorers()
        X, y, groups = sklearn.utils.indexable(X, y, groups)
        is_classifier = sklearn.base.is_classifier(self.estimator)
        cv = sklearn.model_selection.check_cv(self.cv, y,
                                              classifier=is_classifier)
        splits = [(numpy.asarray(a), numpy.asarray(b))
                  for a, b in cv.split(X, y, groups)]
        if not splits:
            raise ValueError(f"cv={self.cv!r} has no splits")
        coded = _Coded(self.space)
        task = {"estimator": sklearn.base.clone(self.estimator), "x": X,
                "y": y, "splits": splits, "scorers": scorers,
                "decoded": coded.decoded, "words": coded.words,
                "whole": coded.whole, **self._how(y, is_classifier)}
        if client is None:
            service_of(self.state, self.trainers)  # makes the folder its own
        study = optimize(
            self._code(task), coded.space,
            objective={f"mean_test_{decides}": "maximize"},
            max_steps=self.max_steps, trials=self.trials,
            algorithm=self.algorithm,
            name=self.name or type(self.estimator).__name__, seed=self.seed,
            on_error="continue", client=client, state=self.state,
            trainers=self.trainers, progress=bool(self.verbose))
        self.study_ = study
        self.n_splits_ = len(splits)
        self.multimetric_ = isinstance(self.scoring, (list, tuple, set, dict))
        self.scorer_ = scorers if self.multimetric_ else scorers["score"]
        self._read(study.export(), list(scorers), decides, coded)
        if self.refit:
            self._train_best(task)
        return self

    def _scorers(self) -> tuple[dict[str, Any], str]:
        """All scorers by name, and the name of the one that decides."""
        if not isinstance(self.scoring, (list, tuple, set, dict)):
            return {"score": sklearn.metrics.check_scoring(
                self.estimator, self.scoring)}, "score"
        found = {name: sklearn.metrics.check_scoring(
                     self.estimator, self.scoring[name]
                     if isinstance(self.scoring, dict) else name)
                 for name in sorted(self.scoring)}
        if self.refit not in found or not isinstance(self.refit, str):
            raise ValueError(f"refit is {self.refit!r}: with several scores it "
                             f"names the one that decides: one of "
                             f"{', '.join(found)}")
        return found, self.refit

    def _how(self, y: Any, is_classifier: bool) -> dict[str, Any]:
        """How steps are trained."""
        estimator = self.estimator
        known = estimator.get_params()
        how: dict[str, Any] = {"mode": "fit", "classes": None,
                               "resource": None, "per_step": 0}
        if self.max_steps == 1 and self.resource is None:
            return how
        if self.resource is None and hasattr(estimator, "partial_fit"):
            how["mode"] = "partial_fit"
            if is_classifier and "classes" in inspect.signature(
                    estimator.partial_fit).parameters:
                how["classes"] = numpy.unique(numpy.asarray(y))
            return how
        if "warm_start" not in known:
            raise ValueError(
                f"max_steps is {self.max_steps}, but "
                f"{type(estimator).__name__} has neither partial_fit nor "
                "warm_start: it is trained in one step")
        resource = self.resource or (
            "n_estimators" if "n_estimators" in known else None)
        how["mode"] = "warm_start"
        if resource is None:
            return how
        if not isinstance(known.get(resource), int):
            raise ValueError(f"resource is {resource!r}: it must name a "
                             "parameter of the estimator that is a whole "
                             "number, which is what each step adds")
        if resource in self.space:
            raise ValueError(f"{resource} is what steps add to: take it out of "
                             "the space")
        return {**how, "resource": resource, "per_step": known[resource]}

    def _code(self, task: Mapping[str, Any]) -> Code:
        """Writes what trainers need into the state folder, which its service
        has made."""
        folder = os.path.join(os.path.abspath(self.state), "sklearn")
        os.makedirs(folder, exist_ok=True)
        pickled = io.BytesIO()
        pickler = _Pickler(pickled)
        pickler.dump(task)
        digest = hashlib.sha256(pickled.getbuffer()).hexdigest()
        path = os.path.join(folder, f"{digest}.pickle")
        with whole_file(path) as part, open(part, "wb") as file:
            file.write(pickled.getbuffer())
        main = getattr(sys.modules["__main__"], "__file__", None)
        source = source_of(SearchWorkload, modules=pickler.modules,
                           home=os.path.dirname(os.path.abspath(main))
                           if main else os.getcwd())
        own = {x.__name__.partition(".")[0] for x in pickler.modules}
        return Code(source, "SearchWorkload", self.seed, {"data": path},
                    sorted({*packages_of(source.text, own)}))

    def _read(self, report: Mapping[str, Any], names: list[str], decides: str,
              coded: _Coded) -> None:
        """Makes the attributes of what a study has found."""
        trials = report["trials"]
        if not trials:
            raise ValueError("the study had no trials")
        at = f"mean_test_{decides}"
        rows: list[Mapping[str, float]] = []
        self._histories: list[list[dict[str, Any]]] = []
        steps = []
        for trial in trials:
            results = [x for x in trial["results"]
                       if has_result(trial["state"])
                       and x["metrics"].get(at) is not None]
            best = max(results, default=None, key=lambda x: x["metrics"][at])
            rows.append(best["metrics"] if best else {})
            steps.append(best["step"] if best else 0)
            self._histories.append([coded.values(x["metrics"])
                                    for x in results])
        failed = [x["failure"] or "it is not known why" for x in trials
                  if not has_result(x["state"])]
        if not any(rows):
            why = failed[0] if failed else "nothing was measured"
            raise (TypeError if ": TypeError: " in why.split("\n")[0]
                   else ValueError)(f"all {len(trials)} trials failed; the "
                                    f"first because of: {why}")
        if failed:
            warnings.warn(f"{len(failed)} of {len(trials)} trials failed; the "
                          f"first because of: {failed[0]}",
                          sklearn.exceptions.FitFailedWarning, stacklevel=3)
        params = [{name: coded.form(name, x)
                   for name, x in trial["params"].items()} for trial in trials]
        found: dict[str, Any] = {"params": params, "step": numpy.array(steps)}
        for name in sorted({name for x in params for name in x}):
            column: Any = numpy.ma.MaskedArray(
                numpy.empty(len(params), dtype=object), mask=True)
            for i, x in enumerate(params):
                if name in x:
                    column[i] = x[name]
            found[f"param_{name}"] = column
        for name in names:
            splits = numpy.array(
                [[x.get(f"split{i}_test_{name}", numpy.nan) for x in rows]
                 for i in range(self.n_splits_)])
            for i, scores in enumerate(splits):
                found[f"split{i}_test_{name}"] = scores
            mean = splits.mean(axis=0)
            found[f"mean_test_{name}"] = mean
            found[f"std_test_{name}"] = splits.std(axis=0)
            last = numpy.where(numpy.isnan(mean), -numpy.inf, mean)
            found[f"rank_test_{name}"] = numpy.array(
                [1 + int((last > x).sum()) for x in last], dtype=numpy.int32)
        self.cv_results_ = found
        self.best_index_ = int(numpy.argmin(found[f"rank_test_{decides}"]))
        self.best_score_ = float(found[at][self.best_index_])
        self.best_params_ = params[self.best_index_]
        self.best_step_ = steps[self.best_index_]

    def _train_best(self, task: Mapping[str, Any]) -> None:
        begin = time.time()
        drawn = random.getstate(), numpy.random.get_state()
        model = sklearn.base.clone(task["estimator"])
        try:
            for step in range(self.best_step_):
                advance(task, model, step,
                        self._histories[self.best_index_][step], task["x"],
                        task["y"], (self.seed, self.n_splits_))
        finally:
            random.setstate(drawn[0])
            numpy.random.set_state(drawn[1])
        self.best_estimator_ = model
        self.refit_time_ = time.time() - begin
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        # The study is a connection, which others do not have.
        return {key: x for key, x in super().__getstate__().items()
                if key != "study_"}

    def _run_search(self, evaluate_candidates: Any) -> None:
        raise NotImplementedError("a study does this")


class _Coded:
    """A space as a study file can have it, and the way back.

    A study file knows numbers, of 12 digits, and words. A number is one where
    no other option of the same hyper-parameter is the same number, as 1, 1.0
    and True are; what is not, is told as a word.

    Attributes:
        space: of the study file.
        decoded: what the estimator is given, by name and value of the study.
        words: all words of a hyper-parameter, by name.
        whole: the names of those that have a range of whole numbers.
    """

    def __init__(self, space: Mapping[str, Any]) -> None:
        self.decoded: dict[tuple[str, Value], Any] = {}
        self.words: dict[str, list[str]] = {}
        self.whole: set[str] = set()
        self._drawn: set[str] = set()  # those that have another range
        for name, x in space.items():
            self._find_ranges(name, x)
        self.space = {name: self._space(name, x) for name, x in space.items()}

    def values(self, metrics: Mapping[str, float]) -> dict[str, Any]:
        """Returns what the estimator was given in a step, by what was measured
        after it."""
        found: dict[str, Any] = {}
        for key, x in metrics.items():
            kind, _, name = key.partition("_")
            if kind in ("param", "word"):
                found[name] = self._given(
                    name, self.words[name][int(x)] if kind == "word" else x)
        return found

    def form(self, name: str, x: Any) -> Any:
        """Returns what `params` of a trial stands for."""
        if isinstance(x, (int, float, str)):
            return self._given(name, x)
        return self._decode(name, from_plain(x))

    def _given(self, name: str, x: Value) -> Any:
        return given({"decoded": self.decoded, "whole": self.whole}, name, x)

    def _decode(self, name: str, x: Any) -> Any:
        """A sequence with the options that stand in it as they were given."""
        if isinstance(x, Form) and x.name == "piecewise":
            return Form(x.name, [[at, self.form(name, y)] for at, y in x.body])
        if isinstance(x, Form) and x.name == "constant":
            return Form(x.name, self.form(name, x.body))
        return x

    def _find_ranges(self, name: str, x: Any) -> None:
        if isinstance(x, Option):
            for key, y in x.brings.items():
                self._find_ranges(key, y)
        elif isinstance(x, Form) and x.name == "choice":
            for y in x.body:
                self._find_ranges(name, y)
        elif isinstance(x, Form):
            if x.name.endswith("int_uniform"):
                self.whole.add(name)
            elif x.name.endswith(("uniform", "normal")):
                self._drawn.add(name)

    def _space(self, name: str, x: Any) -> Any:
        if isinstance(x, (list, tuple, numpy.ndarray)):
            x = Form("choice", list(x))
        if isinstance(x, Form):
            if x.name == "choice":
                return Form("choice", [self._space(name, y)
                                       if isinstance(y, (Form, Option))
                                       else self._leaf(name, y)
                                       for y in x.body])
            if x.name == "constant":
                return Form("constant", self._leaf(name, x.body))
            if x.name == "piecewise":
                return Form("piecewise", [
                    [at, self._leaf(name, y) if not isinstance(y, Form)
                     else self._space(name, y)] for at, y in x.body])
            return x
        if isinstance(x, Option):
            return Option(self._leaf(name, x.value),
                          {key: self._space(key, y)
                           for key, y in x.brings.items()})
        return self._leaf(name, x)

    def _leaf(self, name: str, x: Any) -> Any:
        number = self._number(name, x)
        if number is not None \
                and _is_same(self.decoded.setdefault((name, number), x), x):
            return int(number) if isinstance(x, numbers.Integral) else number
        # Without addresses, which differ from process to process.
        word = x if isinstance(x, str) \
            else re.sub(r" at 0x[0-9a-f]+", "", repr(x))
        if not word or not word.isprintable() or len(word) > WORD_MAX:
            word = repr(word)[:WORD_MAX]
        while not _is_same(self.decoded.setdefault((name, word), x), x):
            word += "'"
        words = self.words.setdefault(name, [])
        if word not in words:
            words.append(word)
        return word

    def _number(self, name: str, x: Any) -> float | None:
        """The number that stands for an option; None: a word does."""
        if not isinstance(x, numbers.Real) or isinstance(x, bool):
            return None
        try:
            number = canonical(float(x))
        except (OverflowError, ValueError):
            return None
        is_whole = isinstance(x, numbers.Integral)
        if not math.isfinite(number) \
                or (is_whole and not number.is_integer()) \
                or (name in self.whole and not is_whole) \
                or (name in self._drawn and is_whole):
            return None
        return number


# How long a word is that stands for an option, unless others are alike.
WORD_MAX = 80


def _is_same(x: Any, y: Any) -> bool:
    """Whether two options are one to an estimator: 1 and True are not."""
    return x is y or (
        type(x) is type(y) and repr(x) == repr(y)
        and isinstance(x, (str, numbers.Number, numpy.generic)))


# Its methods can be overridden; those of the fast one cannot.
_SlowPickler: Any = getattr(pickle, "_Pickler")


class _Pickler(_SlowPickler):  # type: ignore[misc]
    """Gives equal values equal bytes, whichever words are one object.

    Attributes:
        modules: from which classes and functions come.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=5)
        self.modules: list[types.ModuleType] = []

    def memoize(self, x: Any) -> None:
        if type(x) not in (str, bytes):
            super().memoize(x)

    def save_global(self, x: Any, name: str | None = None) -> None:
        home = getattr(x, "__module__", None)
        if home == "__main__":
            raise InvalidArgument(
                f"{getattr(x, '__qualname__', x)} is defined in the script or "
                "notebook itself, where trainers cannot import it: put it in a "
                "module beside it")
        if home in sys.modules and sys.modules[home] not in self.modules:
            self.modules.append(sys.modules[home])
        super().save_global(x, name)

    # What saves classes and functions is looked up here, past `save_global`.
    dispatch = {**_SlowPickler.dispatch, types.FunctionType: save_global}
