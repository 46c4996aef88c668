"""A linear classifier of handwritten digits, with scikit-learn's partial_fit.

A step is an epoch. It is the loop that anybody would write around partial_fit,
with the order of an epoch drawn from (seed, epoch).
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

import hippo_hpo as hippo

TRAIN = 1200  # of the 1,797 images; the others are for validation


class Digits(hippo.Workload):
    def setup(self, seed, device, args):
        self.seed = seed
        x, self.y = load_digits(return_X_y=True)
        self.x = x / 16

    def init(self):
        self.model = SGDClassifier(loss="log_loss", learning_rate="constant",
                                   eta0=0.01, average=True)

    def train(self, start, stop, hp):
        for epoch in range(start, stop):
            rng = np.random.default_rng([self.seed, epoch])
            order = rng.permutation(TRAIN)
            self.model.set_params(eta0=hp.eta0(epoch), alpha=hp.alpha(epoch),
                                  random_state=int(rng.integers(2**31)))
            self.model.partial_fit(self.x[order], self.y[order],
                                   classes=np.arange(10))

    def evaluate(self):
        if not hasattr(self.model, "coef_"):
            return {"val_loss": np.log(10), "val_accuracy": 0.1}
        p = self.model.predict_proba(self.x[TRAIN:])
        y = self.y[TRAIN:]
        return {"val_loss": log_loss(y, p),
                "val_accuracy": (p.argmax(1) == y).mean()}

    def state_dict(self):
        return self.model

    def load_state_dict(self, state):
        self.model = state
