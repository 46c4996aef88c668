"""The functions of bench/search.cpp, as that program measures them."""

import math
import subprocess

STEPS = 81

# Ranges from 0 to 1, and choices of 0 or 1 after them.
SIZES = {"hartmann3": (3, 0), "hartmann6": (6, 0), "branin": (2, 0),
         "ones4": (4, 4), "ones8": (8, 8), "ones16": (16, 16)}


class Function:
    """A function with the noise of one seed, in a process of its own."""

    def __init__(self, program, name, seed):
        self.ranges, self.choices = SIZES[name]
        self._process = subprocess.Popen(
            [program, "serve", name, str(seed)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()

    def measure(self, values, step):
        """Returns what the values measure at a step, and their regret."""
        words = [str(step), *(f"{x:.17g}" for x in values)]
        self._process.stdin.write(" ".join(words) + "\n")
        value, regret = self._process.stdout.readline().split()
        return float(value), float(regret)


class Course:
    """What a search has found whenever so many trainings were spent: the regret
    of what measured best at the last step.
    """

    def __init__(self, marks):
        self.regrets = []
        self._marks = marks
        self._spent = 0
        self._best = math.inf
        self._regret = None

    def over(self):
        return len(self.regrets) == len(self._marks)

    def told(self, value, regret, step, cost):
        """A trial has measured `value` at `step`, for `cost` steps."""
        self._spent += cost
        while not self.over() and (
                self._spent > self._marks[len(self.regrets)] * STEPS):
            self.regrets.append(self._regret)
        if step == STEPS and value < self._best:
            self._best, self._regret = value, regret
