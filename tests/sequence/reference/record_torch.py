#!/usr/bin/env python3
"""Records what PyTorch's lr_scheduler classes give for many schedules.

  record_torch.py          writes torch.json beside this file
  record_torch.py --check  compares with torch.json instead

Needs torch of the version below; exits with 77 (skip) if --check lacks it.
Each case holds a hyper-parameter as a study file has it, the number of steps,
the value at each of them and, if it is driven by results, those: pairs of the
steps trained by then and the value (null: NaN).
"""

import math
import random
import sys
import warnings

from recording import finish, skip

VERSION = "2.11.0"

try:
    import torch
    from torch.optim import lr_scheduler as lr
except ImportError as why:
    skip(f"there is no torch here: {why}")
if torch.__version__.split("+")[0] != VERSION:
    skip(f"torch is {torch.__version__}, the recording is of {VERSION}")

cases = []


def record(name, sequence, steps, base, make):
    """Runs the scheduler that `make` builds on an optimiser from `base`."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=base)
    scheduler = make(optimizer)
    values = []
    for _ in range(steps):
        values.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        scheduler.step()
    cases.append({"class": name, "sequence": sequence, "steps": steps,
                  "values": values})


def simple():
    for initial, size, gamma in [(0.1, 7, 0.1), (0.37, 3, 0.5), (64, 10, 2),
                                 (0.05, 1, 0.97), (0.2, 5, 0.3)]:
        record("StepLR", {"step": {"initial": initial, "size": size,
                                   "gamma": gamma}}, 60, initial,
               lambda o: lr.StepLR(o, size, gamma))
    for initial, at, gamma in [(0.1, [30, 50], 0.1), (0.3, [1, 2, 3], 0.7),
                               (0.01, [5], 10), (1.5, [10, 11, 40], 0.2)]:
        record("MultiStepLR",
               {"multistep": {"initial": initial, "milestones": at,
                              "gamma": gamma}}, 60, initial,
               lambda o: lr.MultiStepLR(o, at, gamma))
    for initial, gamma in [(0.1, 0.9), (0.37, 0.95), (1, 0.5), (0.001, 1.1),
                           (0.25, 0.999)]:
        record("ExponentialLR",
               {"exponential": {"initial": initial, "gamma": gamma}}, 60,
               initial, lambda o: lr.ExponentialLR(o, gamma))
    for value, factor, total in [(0.1, 0.5, 10), (0.3, 0.25, 4)]:
        record("ConstantLR",
               {"piecewise": [[0, value * factor], [total, value]]}, 20,
               value, lambda o: lr.ConstantLR(o, factor, total))


def curves():
    for base, first, last, total in [
            (0.1, 0.1, 1, 10), (0.1, 1, 0.1, 80), (0.05, 0.5, 1, 7),
            (0.3, 1, 0, 33), (2, 0.01, 0.7, 13)]:
        record("LinearLR",
               {"linear": {"from": base * first, "to": base * last,
                           "horizon": total}}, total + 10, base,
               lambda o: lr.LinearLR(o, first, last, total))
    for initial, power, total in [(0.1, 2, 40), (0.1, 1, 40), (0.3, 0.5, 17),
                                  (0.37, 0.9, 25), (1, 3, 9)]:
        record("PolynomialLR",
               {"polynomial": {"initial": initial, "horizon": total,
                               "power": power}}, total + 8, initial,
               lambda o: lr.PolynomialLR(o, total, power))
    for initial, end, total in [(0.1, 0, 80), (0.1, 0.001, 12),
                                (0.37, 0.03, 50), (0.01, 0.1, 20),
                                (3e-4, 3e-6, 100)]:
        record("CosineAnnealingLR",
               {"cosine": {"initial": initial, "end": end, "horizon": total}},
               total + 1, initial,
               lambda o: lr.CosineAnnealingLR(o, total, end))
    for initial, end, period, multiplier in [
            (0.1, 0, 10, 1), (0.1, 0.001, 5, 2), (0.37, 0.05, 3, 3),
            (1, 0, 20, 1), (0.02, 0.01, 1, 2), (0.1, 0, 1, 1), (0.3, 0, 2, 1)]:
        record("CosineAnnealingWarmRestarts",
               {"cosine_restarts": {"initial": initial, "end": end,
                                    "period": period,
                                    "multiplier": multiplier}}, 90, initial,
               lambda o: lr.CosineAnnealingWarmRestarts(o, period, multiplier,
                                                        end))


def cyclic():
    for low, high, up, down in [(0.01, 0.1, 10, 10), (0.001, 0.37, 4, 9),
                                (0, 1, 5, 3), (0.1, 0.02, 6, 6),
                                (0.03, 0.1, 1, 2), (0.05, 0.1, 3, 7)]:
        for mode, gamma in [("triangular", 1), ("triangular2", 1),
                            ("exp_range", 0.95), ("exp_range", 1.01)]:
            form = {"low": low, "high": high, "up": up, "down": down,
                    "mode": mode}
            if mode == "exp_range":
                form["gamma"] = gamma
            record("CyclicLR " + mode, {"cyclic": form}, 70, low,
                   lambda o: lr.CyclicLR(o, low, high, up, down, mode, gamma,
                                         cycle_momentum=False))


def one_cycle():
    for top, horizon, rise in [(0.1, 100, 30), (0.37, 41, 7), (1, 60, 20),
                               (0.05, 11, 4)]:
        for anneal in ["cosine", "linear"]:
            for three in [False, True]:
                record("OneCycleLR",
                       {"one_cycle": {"max": top, "horizon": horizon,
                                      "rise": rise, "anneal": anneal,
                                      "three_phase": three}},
                       horizon + 1, top,
                       lambda o: lr.OneCycleLR(
                           o, top, horizon + 1,
                           pct_start=(rise + 1) / (horizon + 1),
                           anneal_strategy=anneal[:3] if anneal == "cosine"
                           else anneal, three_phase=three,
                           cycle_momentum=False))
    record("OneCycleLR",
           {"one_cycle": {"max": 0.2, "horizon": 50, "initial": 0.05,
                          "end": 0.0005, "rise": 10}}, 51, 0.2,
           lambda o: lr.OneCycleLR(o, 0.2, 51, pct_start=11 / 51,
                                   div_factor=4, final_div_factor=100,
                                   cycle_momentum=False))
    record("OneCycleLR", {"one_cycle": {"max": 0.2, "horizon": 50}}, 51, 0.2,
           lambda o: lr.OneCycleLR(o, 0.2, 51, pct_start=16 / 51,
                                   cycle_momentum=False))


def sequential():
    for steps, start, base, then, make in [
            (5, 0.1, 0.1, {"cosine": {"horizon": 40}},
             lambda o: lr.CosineAnnealingLR(o, 40)),
            (8, 0.25, 0.2, {"cosine_restarts": {"period": 6, "multiplier": 2}},
             lambda o: lr.CosineAnnealingWarmRestarts(o, 6, 2)),
            (10, 0.01, 1, {"polynomial": {"horizon": 30, "power": 2}},
             lambda o: lr.PolynomialLR(o, 30, 2)),
            (4, 0.5, 0.37, {"step": {"size": 6, "gamma": 0.5}},
             lambda o: lr.StepLR(o, 6, 0.5)),
            (3, 0.2, 0.1, {"linear": {"to": 0.01, "horizon": 20}},
             lambda o: lr.LinearLR(o, 1, 0.1, 20)),
            (6, 0.1, 0.05, {"multistep": {"milestones": [9, 20],
                                          "gamma": 0.1}},
             lambda o: lr.MultiStepLR(o, [9, 20], 0.1)),
            (7, 0.1, 0.01, {"cyclic": {"high": 0.1, "up": 5}},
             lambda o: lr.CyclicLR(o, 0.01, 0.1, 5, cycle_momentum=False))]:
        record("SequentialLR",
               {"warmup": {"steps": steps, "from": base * start, "to": base,
                           "then": then}}, steps + 30, base,
               lambda o: lr.SequentialLR(
                   o, [lr.LinearLR(o, start, 1, steps), make(o)], [steps]))


def plateau():
    rng = random.Random(1)

    def metric(kind, t):
        if kind == "flat":
            return 0.5
        if kind == "noisy":
            return round(0.9 - math.exp(-t / 10) + rng.uniform(-0.1, 0.1), 4)
        if kind == "falling":
            return round(1 / (1 + t) + 0.2, 4)
        if kind == "broken":
            return math.nan if t % 3 == 0 else round(rng.random(), 3)
        return round(-1 + 0.01 * min(t, 15), 4)  # "rising", below 0

    for mode in ["min", "max"]:
        for kind in ["flat", "noisy", "falling", "broken", "rising"]:
            for options in [{"patience": 2},
                            {"factor": 0.5, "patience": 0, "threshold": 0.05,
                             "threshold_mode": "abs", "cooldown": 2},
                            {"factor": 0.3, "patience": 3, "threshold": 0.02,
                             "threshold_mode": "rel", "cooldown": 4,
                             "min": 0.005},
                            {"factor": 0.2, "patience": 1, "epsilon": 0.001}]:
                names = {"min": "min_lr", "epsilon": "eps"}
                every = rng.choice([1, 1, 2, 5])
                optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
                scheduler = lr.ReduceLROnPlateau(
                    optimizer, mode,
                    **{names.get(k, k): v for k, v in options.items()})
                values, seen = [], []
                for t in range(60):
                    if t > 0 and t % every == 0:
                        x = metric(kind, t)
                        seen.append([t, None if math.isnan(x) else x])
                        scheduler.step(x)
                    values.append(float(optimizer.param_groups[0]["lr"]))
                cases.append({
                    "class": "ReduceLROnPlateau",
                    "sequence": {"reduce_on_plateau": {"initial": 0.1,
                                                       **options}},
                    "direction": mode + "imize", "observed": seen,
                    "steps": 60, "values": values})


def main():
    warnings.simplefilter("ignore")
    for part in [simple, curves, cyclic, one_cycle, sequential, plateau]:
        part()
    return finish("torch.json", {"torch": VERSION}, cases)


if __name__ == "__main__":
    sys.exit(main())
