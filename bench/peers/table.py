"""The tables of bench/data as peers play them: a study's choices one by one,
what was measured for the values that they lead to, and courses of searches.
"""

import csv
import json
import math

import yaml

# An epoch of virtual time, in seconds, as the profiles of bench/data have it.
EPOCH = 60

# What is told to peers of training that has diverged: chance.
DIVERGED = 0.1


def key(value):
    """Values in a form that is equal if they are: numbers are floats."""
    if isinstance(value, dict):
        return tuple(sorted((x, key(y)) for x, y in value.items()))
    if isinstance(value, list):
        return tuple(key(x) for x in value)
    return value if isinstance(value, str) else float(value)


class Table:
    """What each trial of a study has measured after each epoch, and the leaves
    of its space: choices, and ranges with points.

    epochs: how far all of them were trained
    leaves: of each name how many ways it has, and whether they are in order
    low, high: of what was measured after the last epoch
    """

    def __init__(self, table, study):
        with open(table, newline="") as file:
            head, *rows = csv.reader(file)
        self.columns = [x for x in head if "@" not in x]
        count = len(self.columns)
        self.epochs = len(head) - count
        values = [[json.loads(x) for x in row[:count]] for row in rows]
        self._points = {name: sorted({row[i] for row in values
                                      if not isinstance(row[i], dict)})
                        for i, name in enumerate(self.columns)}
        self._measured = {
            key(dict(zip(self.columns, x))): [
                DIVERGED if math.isnan(float(y)) else float(y)
                for y in row[count:]]
            for x, row in zip(values, rows)}
        with open(study) as file:
            space = yaml.safe_load(file)["space"]
        self._space = {x: space[x] for x in self.columns}
        self.leaves = {}
        self._collect(self._space, "")
        last = [x[-1] for x in self._measured.values()]
        self.low, self.high = min(last), max(last)

    def _ways(self, node, path):
        """The alternatives of a leaf and whether they are in order, or None."""
        if not isinstance(node, dict):
            return None
        if "points" in node:
            return self._points[path.strip(".")], True
        if set(node) == {"choice"}:
            ways = node["choice"]
            numbers = all(isinstance(x, (int, float)) for x in ways)
            return ways, numbers and ways in (sorted(ways),
                                              sorted(ways, reverse=True))
        return None

    @staticmethod
    def _parts(node):
        if isinstance(node, dict):
            return node.items()
        return enumerate(node) if isinstance(node, list) else ()

    def _collect(self, node, path):
        found = self._ways(node, path)
        if found:
            ways, in_order = found
            self.leaves[path] = (len(ways), in_order)
            node = list(ways)
        for name, part in self._parts(node):
            self._collect(part, f"{path}.{name}")

    def _decide(self, node, path, pick):
        found = self._ways(node, path)
        if found:
            i = pick(path)
            return self._decide(found[0][i], f"{path}.{i}", pick)
        if isinstance(node, dict):
            return {x: self._decide(y, f"{path}.{x}", pick)
                    for x, y in node.items()}
        if isinstance(node, list):
            return [self._decide(x, f"{path}.{i}", pick)
                    for i, x in enumerate(node)]
        return node

    def play(self, pick):
        """What the trial measures after each epoch of which `pick` says, leaf
        by leaf, which way it goes. It is asked for leaves that matter only.
        """
        return self._measured[key(self._decide(self._space, "", pick))]


class Course:
    """How the best of a search got better: [virtual seconds, value]."""

    def __init__(self):
        self.gains = []

    def told(self, seconds, value):
        if not self.gains or value > self.gains[-1][1]:
            self.gains.append([seconds, value])
