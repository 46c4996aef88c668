#!/usr/bin/env python3
"""Records what Transformers' get_wsd_schedule and get_inverse_sqrt_schedule,
and PyTorch's SequentialLR of three schedulers, give for many schedules.

  record_transformers.py          writes transformers.json beside this file
  record_transformers.py --check  compares with transformers.json instead

Needs transformers and torch of the versions below; exits with 77 (skip) if
--check lacks them. Cases are those of record_torch.py.
"""

import sys
import warnings

from recording import finish, skip

VERSIONS = {"transformers": "5.24.0", "torch": "2.11.0"}

try:
    import torch
    import transformers
    from torch.optim import lr_scheduler as lr
    from transformers import get_inverse_sqrt_schedule, get_wsd_schedule
except ImportError as why:
    skip(f"there is no transformers here: {why}")
for module in (torch, transformers):
    if module.__version__.split("+")[0] != VERSIONS[module.__name__]:
        skip(f"{module.__name__} is {module.__version__}, the recording is of "
             f"{VERSIONS[module.__name__]}")

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


def wsd():
    for peak, warmup, stable, decay, least in [
            (3e-3, 10, 70, 20, 0), (0.1, 0, 90, 10, 0), (0.37, 7, 0, 40, 0.1),
            (1, 13, 29, 58, 0.01), (2e-4, 100, 300, 100, 0)]:
        total = warmup + stable + decay
        for shape in ["linear", "cosine", "1-sqrt"]:
            record(f"get_wsd_schedule {shape}",
                   {"wsd": {"peak": peak, "from": peak * least,
                            "warmup": warmup, "decay": decay, "shape": shape,
                            "end": peak * least}}, total, peak,
                   lambda o: get_wsd_schedule(
                       o, warmup, decay, num_stable_steps=stable,
                       decay_type=shape, min_lr_ratio=least))


def inverse_sqrt():
    for peak, warmup in [(0.1, 10), (3e-3, 100), (0.7, 1), (0.05, 0)]:
        record("get_inverse_sqrt_schedule",
               {"inverse_sqrt": {"peak": peak, "warmup": warmup}}, 400, peak,
               lambda o: get_inverse_sqrt_schedule(o, warmup))


def join():
    """Schedulers that work out a value from the step alone, so that each
    begins from the optimiser's base value, whatever the one before left."""
    def factor(of):
        return lambda o: lr.LambdaLR(o, of)

    base = 0.2
    constant = (0.1, factor(lambda t: 0.5))
    step = ({"step": {"initial": base, "size": 7, "gamma": 0.5}},
            factor(lambda t: 0.5 ** (t // 7)))
    decay = ({"exponential": {"initial": base, "gamma": 0.9}},
             factor(lambda t: 0.9 ** t))
    line = ({"linear": {"from": base, "to": 0, "horizon": 20}},
            factor(lambda t: max(0, 1 - t / 20)))
    square = ({"polynomial": {"initial": base, "horizon": 25, "power": 2}},
              factor(lambda t: max(0, 1 - t / 25) ** 2))
    for parts, at in [([constant, line, decay], [12, 40]),
                      ([line, step, square], [9, 30]),
                      ([decay, square, constant], [15, 35]),
                      ([step, decay, line], [21, 50])]:
        record("SequentialLR",
               {"join": [[begin, part[0]] for begin, part
                         in zip([0, *at], parts)]}, 80, base,
               lambda o: lr.SequentialLR(o, [make(o) for _, make in parts],
                                         list(at)))


def main():
    warnings.simplefilter("ignore")
    for part in [wsd, inverse_sqrt, join]:
        part()
    return finish("transformers.json", VERSIONS, cases)


if __name__ == "__main__":
    sys.exit(main())
