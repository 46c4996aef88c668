"""The functions of bench/fronts.cpp, and what peers find on them."""

import math

STEPS = 27
VARIABLES = 6


def measured(function, x, at):
    g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
    share = x[0] / g
    second = {
        "zdt1": lambda: g * (1 - math.sqrt(share)),
        "zdt2": lambda: g * (1 - share * share),
        "zdt3": lambda: g * (1 - math.sqrt(share)
                             - share * math.sin(10 * math.pi * x[0])),
    }[function]()
    left = 1 - at / STEPS
    return x[0] + .3 * left * (1 - x[1]), second + 2 * left * (1 + x[2])


class Course:
    """What was measured at the last step by each mark."""

    def __init__(self, marks):
        self._marks = marks
        self._spent = 0
        self._points = []
        self.at_marks = []

    def over(self):
        return len(self.at_marks) == len(self._marks)

    def spend(self, steps):
        self._spent += steps
        while not self.over() \
                and self._spent > self._marks[len(self.at_marks)] * STEPS:
            self.at_marks.append(list(self._points))

    def found(self, point):
        self._points.append(list(point))
