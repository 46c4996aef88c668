"""An estimator of sklearn_test.py, which trainers import from here."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Breaking(ClassifierMixin, BaseEstimator):
    """It scores `quality`, and breaks in a step of its training."""

    def __init__(self, quality=0.5, breaks_at=0):
        self.quality = quality
        self.breaks_at = breaks_at

    def partial_fit(self, X, y, classes=None):
        self.calls_ = getattr(self, "calls_", 0) + 1
        self.classes_ = classes
        if self.calls_ == self.breaks_at:
            raise ValueError("it diverged")
        return self

    def fit(self, X, y):
        return self.partial_fit(X, y, np.unique(y))

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y):
        return self.quality
