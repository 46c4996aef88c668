"""Gradient descent on a noisy parabola, by the step."""

import random

import hippo_hpo as hippo


class Wave(hippo.Workload):
    def setup(self, seed, device, args):
        self.seed = seed

    def init(self):
        self.x = 1.0

    def train(self, start, stop, hp):
        for step in range(start, stop):
            noise = random.Random(1000 * self.seed + step).gauss(0, 0.05)
            self.x -= hp.lr(step) * (self.x + noise)

    def evaluate(self):
        return {"error": abs(self.x)}

    def state_dict(self):
        return {"x": self.x}

    def load_state_dict(self, state):
        self.x = state["x"]
