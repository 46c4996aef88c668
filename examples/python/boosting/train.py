"""Gradient boosting of handwritten digits with XGBoost; a step is a round."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

import hippo_hpo as hippo

TRAIN = 1200  # of the 1,797 images; the others are for validation


class Boosting(hippo.Workload):
    def setup(self, seed, device, args):
        self.params = {
            "objective": "multi:softprob", "num_class": 10,
            "tree_method": "hist", "max_depth": int(args.get("max_depth", 4)),
            "nthread": 1,  # sums of floats depend on how work is divided
            "seed": seed % 2**31, "seed_per_iteration": True}
        x, y = load_digits(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(x))
        x, self.y = x[order], y[order]
        self.train_set = xgb.DMatrix(x[:TRAIN], self.y[:TRAIN], nthread=1)
        self.validation_set = xgb.DMatrix(x[TRAIN:], nthread=1)

    def init(self):
        self.model = None

    def booster(self, **params):
        """A new one: one that has trained holds more than its trees do."""
        return xgb.Booster({**self.params, **params}, [self.train_set],
                           self.model)

    def train(self, start, stop, hp):
        for step in range(start, stop):
            booster = self.booster(**hp.at(step))
            booster.update(self.train_set, step)
            self.model = booster.save_raw("ubj")

    def evaluate(self):
        if self.model is None:
            return {"val_loss": np.log(10), "val_accuracy": 0.1}
        p = self.booster().predict(self.validation_set).astype(float)
        y = self.y[TRAIN:]
        return {"val_loss": log_loss(y, p / p.sum(1, keepdims=True)),
                "val_accuracy": (p.argmax(1) == y).mean()}

    def state_dict(self):
        return {"model": self.model}

    def load_state_dict(self, state):
        self.model = state["model"]
