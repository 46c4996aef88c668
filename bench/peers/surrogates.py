"""Public tables of real trainings: YAHPO's surrogates, as tasks of a search.

Where the fidelity is the share of the data, a step is a twentieth of it. A
folder of data holds `yahpo/SCENARIO` with model.onnx, config_space.json and
encoding.json as its authors give them (slds-lmu/yahpo_data, Apache-2.0).
"""

import json
import math
import pathlib

import numpy as np
import onnxruntime

# The columns of a scenario's model, in its order; the instance is the first
# categorical one, and the fidelity the one that a step counts.
SCENARIOS = {
    "lcbench": {
        "instance": "OpenML_task_id", "fidelity": "epoch", "steps": 52,
        "numbers": ["epoch", "batch_size", "learning_rate", "momentum",
                    "weight_decay", "num_layers", "max_units", "max_dropout"],
        "words": ["OpenML_task_id"], "fixed": {},
        "target": 1, "direction": "maximize"},  # val_accuracy
    "rbv2_xgboost": {
        "instance": "task_id", "fidelity": "trainsize", "steps": 20,
        "numbers": ["nrounds", "eta", "gamma", "lambda", "alpha", "subsample",
                    "max_depth", "min_child_weight", "colsample_bytree",
                    "colsample_bylevel", "rate_drop", "skip_drop", "trainsize",
                    "repl"],
        "words": ["task_id", "booster", "num.impute.selected.cpo"],
        "fixed": {"repl": 10},
        "target": 0, "direction": "maximize"},  # acc
    "rbv2_rpart": {
        "instance": "task_id", "fidelity": "trainsize", "steps": 20,
        "numbers": ["cp", "maxdepth", "minbucket", "minsplit", "trainsize",
                    "repl"],
        "words": ["task_id", "num.impute.selected.cpo"],
        "fixed": {"repl": 10},
        "target": 0, "direction": "maximize"},
    "iaml_glmnet": {
        "instance": "task_id", "fidelity": "trainsize", "steps": 20,
        "numbers": ["alpha", "s", "trainsize"],
        "words": ["task_id"], "fixed": {},
        "target": 0, "direction": "minimize"},  # mmce
}

# Values that are drawn to know what the median configuration and the best one
# are worth.
DRAWS = 50_000


class Range:
    """A hyper-parameter of numbers.

    unit values: between 0 and 1, equally likely
    """

    def __init__(self, node):
        self.low, self.high = node["lower"], node["upper"]
        self.log = node["log"]
        self.whole = node["type"] == "uniform_int"

    def at(self, unit):
        """The number of a unit value."""
        low, high = self.low, self.high
        if self.whole:
            low, high = low - .5, high + .5
        if self.log:
            x = math.exp(math.log(low) + unit * (math.log(high)
                                                 - math.log(low)))
        else:
            x = low + unit * (high - low)
        x = min(max(x, self.low), self.high)
        return round(x) if self.whole else x


def open_ones(found):
    """Without every fourth, from the first on: these are kept back, so that
    nobody tunes on them.
    """
    return [x for i, x in enumerate(found) if i % 4]


def folded(unit):
    """Folds a range once, so that its ends lie at 1/4 and 3/4."""
    return abs((2 * unit + .5) % 2 - 1)


class Task:
    """One data set of a scenario: what is searched, and what it measures.

    ranges: Range by name, in order
    choices: words by name
    conditions: by the name of a hyper-parameter that has one: that of a choice,
        and the words of it with which it is there
    unit: trainings that one of a search's budget stands for
    fold: whether each range is folded, and then is searched between 0 and 1;
        the first step is left out, as the first measurement tells nothing
    """

    unit = 1

    def __init__(self, data, scenario, instance, fold=False):
        about = SCENARIOS[scenario]
        folder = pathlib.Path(data) / "yahpo" / scenario
        space = json.loads((folder / "config_space.json").read_text())
        nodes = {x["name"]: x for x in space["hyperparameters"]}
        self.fold = fold
        self.about = about
        self.steps = about["steps"] - (1 if fold else 0)
        self.sign = 1 if about["direction"] == "maximize" else -1
        given = {about["instance"], about["fidelity"], *about["fixed"]}
        self.ranges = {x: Range(nodes[x]) for x in about["numbers"]
                       if x not in given}
        self.choices = {x: nodes[x]["choices"] for x in about["words"]
                        if x not in given}
        self.conditions = {
            x["child"]: (x["parent"], x.get("values", [x.get("value")]))
            for x in space["conditions"]}
        self._codes = json.loads((folder / "encoding.json").read_text())
        self._fixed = {**about["fixed"], about["instance"]: instance}
        options = onnxruntime.SessionOptions()
        options.inter_op_num_threads = options.intra_op_num_threads = 1
        self._model = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), sess_options=options)
        self._curves = {}

    @staticmethod
    def instances(data, scenario):
        """The data sets that may be looked at, by number."""
        about = SCENARIOS[scenario]
        space = json.loads((pathlib.Path(data) / "yahpo" / scenario
                            / "config_space.json").read_text())
        found = next(x["choices"] for x in space["hyperparameters"]
                     if x["name"] == about["instance"])
        return open_ones(sorted(found, key=int))

    def active(self, name, values):
        """Whether a hyper-parameter is there, beside the values of choices."""
        parent, wanted = self.conditions.get(name, (None, None))
        return parent is None or values.get(parent) in wanted

    def numbers_of(self, values):
        """The numbers that the model reads: `values` has those of the ranges as
        unit values where they are folded, else as they are.
        """
        if not self.fold:
            return values
        return {x: self.ranges[x].at(folded(y)) if x in self.ranges else y
                for x, y in values.items()}

    def rows(self, values, steps):
        values = {**self.numbers_of(values), **self._fixed}
        values = {x: y for x, y in values.items() if self.active(x, values)}
        words = [self._codes[x].get(str(values.get(x, "#na#")), 0)
                 for x in self.about["words"]]
        numbers = []
        for step in steps:
            at = step + (1 if self.fold else 0)
            fidelity = at if self.about["fidelity"] == "epoch" else (
                at / self.about["steps"])
            numbers.append([fidelity if x == self.about["fidelity"]
                            else float(values.get(x, 0))
                            for x in self.about["numbers"]])
        return [words] * len(numbers), numbers

    def measured(self, rows):
        words, numbers = rows
        return self._model.run(None, {
            "x_cat": np.array(words, dtype=np.int32),
            "x_cont": np.array(numbers, dtype=np.float32),
        })[0][:, self.about["target"]]

    def measure(self, values, step):
        """The objective of values at a step."""
        key = tuple(sorted(values.items()))
        if key not in self._curves:
            self._curves[key] = self.measured(
                self.rows(values, range(1, self.steps + 1)))
        return float(self._curves[key][step - 1])

    def bounds(self):
        """What the median configuration and the best known one are worth after
        the last step. Half of those that are drawn lie in corners, where the
        best of a surrogate often is.
        """
        draw = np.random.default_rng(0)
        words, numbers = [], []
        for i in range(DRAWS):
            unit = draw.random(len(self.ranges))
            if i % 2:
                corner = draw.random(len(unit)) < .5
                unit = np.where(corner, np.round(unit), unit)
            if self.fold:  # where the ends lie
                values = dict(zip(self.ranges, (unit + .5) / 2))
            else:
                values = {x: y.at(u) for (x, y), u
                          in zip(self.ranges.items(), unit)}
            for x, y in self.choices.items():
                values[x] = y[draw.integers(len(y))]
            own = self.rows(values, [self.steps])
            words += own[0]
            numbers += own[1]
        found = self.sign * self.measured((words, numbers))
        return float(np.median(found[::2])), float(found.max())
