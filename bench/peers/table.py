"""The tables of bench/data as peers play them: what was measured for the values
of a study, and courses of searches.
"""

import csv
import json
import math

from space import Space
from studies import space_of

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
    """What each trial of a study has measured after each epoch.

    epochs: how far all of them were trained
    space: what decides a trial
    low, high: of what was measured after the last epoch
    """

    def __init__(self, table, study):
        with open(table, newline="") as file:
            head, *rows = csv.reader(file)
        self.columns = [x for x in head if "@" not in x]
        count = len(self.columns)
        self.epochs = len(head) - count
        values = [[json.loads(x) for x in row[:count]] for row in rows]
        points = {name: sorted({row[i] for row in values
                                if not isinstance(row[i], dict)})
                  for i, name in enumerate(self.columns)}
        self._measured = {
            key(dict(zip(self.columns, x))): [
                DIVERGED if math.isnan(float(y)) else float(y)
                for y in row[count:]]
            for x, row in zip(values, rows)}
        space = space_of(study)
        self.space = Space({x: space[x] for x in self.columns}, points)
        last = [x[-1] for x in self._measured.values()]
        self.low, self.high = min(last), max(last)

    def play(self, values):
        """What a trial of these values measures after each epoch."""
        return self._measured[key(values)]


class Course:
    """How the best of a search got better: [virtual seconds, value]."""

    def __init__(self):
        self.gains = []

    def told(self, seconds, value):
        if not self.gains or value > self.gains[-1][1]:
            self.gains.append([seconds, value])
