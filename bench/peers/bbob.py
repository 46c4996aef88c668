"""The functions of coco's suites `bbob` and `bbob-mixint` as tasks of a search,
each training of one step.

A budget counts trainings by dimension. A task is called FUNCTION-DIMENSION; of
the functions every fourth, from the first on, is kept back in all dimensions.
"""

import cocoex
import numpy as np

from surrogates import DRAWS, Range, open_ones

DIMENSIONS = {"bbob": [2, 3, 5, 10], "bbob-mixint": [5, 10]}


class Function:
    """A function of a suite, its first instance; the interface of
    `surrogates.Task`.
    """

    about = {"direction": "minimize"}
    choices, conditions = {}, {}
    steps = 1
    sign = -1
    fold = False

    def __init__(self, data, scenario, name, fold=False):
        if fold:
            raise ValueError(f"{scenario} is not folded: its optima lie inside")
        function, self.unit = map(int, name.split("-"))
        suite = cocoex.Suite(scenario, "instances: 1",
                             f"dimensions: {self.unit}")
        self._problem = suite.get_problem_by_function_dimension_instance(
            function, self.unit, 1)
        whole = self._problem.number_of_integer_variables  # the first ones
        self.ranges = {
            f"x{i}": Range({"lower": int(low) if i < whole else low,
                            "upper": int(high) if i < whole else high,
                            "log": False,
                            "type": "uniform_int" if i < whole
                            else "uniform_float"})
            for i, (low, high) in enumerate(zip(
                self._problem.lower_bounds.tolist(),
                self._problem.upper_bounds.tolist()))}
        self._best = (cocoex.BareProblem(scenario, function, self.unit, 1)
                      .best_value() if scenario == "bbob" else float("inf"))

    @staticmethod
    def instances(data, scenario):
        return [f"{function}-{dimension}"
                for function in open_ones(range(1, 25))
                for dimension in DIMENSIONS[scenario]]

    def active(self, name, values):
        return True

    def measure(self, values, step):
        return float(self._problem([values[x] for x in self.ranges]))

    def bounds(self):
        """What the median configuration and the best known one are worth."""
        draw = np.random.default_rng(0)
        found = [self.measure({x: y.at(u) for (x, y), u in zip(
            self.ranges.items(), draw.random(len(self.ranges)))}, 1)
            for _ in range(DRAWS // 10)]
        return -float(np.median(found)), -min(self._best, *found)
