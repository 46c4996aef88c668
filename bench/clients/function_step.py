"""Steps of a training function, in turn with those of a loop by hand.

    function_step.py SECONDS STEPS

Steps take about SECONDS each. Prints medians over STEPS of the processor time
that a step takes, in milliseconds: other load on the machine does not count.
"""

import json
import statistics
import sys
import time

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import hippo_hpo as hippo
import hippo_hpo.torch
from hippo_hpo.workload import HyperParameters

torch.set_num_threads(1)

WIDTH, BATCH = 512, 64


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, WIDTH), torch.nn.ReLU(),
                               torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(),
                               torch.nn.Linear(WIDTH, 10))


def data_of(batches):
    draw = torch.Generator().manual_seed(1)
    return TensorDataset(
        torch.randn(batches * BATCH, 64, generator=draw),
        torch.randint(10, (batches * BATCH,), generator=draw))


def pass_over(loader, model, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def by_hand(data):
    """A step of the loop as one writes it, again and again."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(number):
        for group in optimizer.param_groups:
            group["lr"] = 0.01
        pass_over(DataLoader(data, BATCH, shuffle=True), model, optimizer)
    return step


def driven(function):
    """One step of a training function, as a trainer drives it."""
    workload = function.make_workload()
    workload.setup(1, "cpu", {})
    workload.init()
    return lambda number: workload.train(
        number, number + 1, HyperParameters(number, number + 1, {"lr": [0.01]}))


def as_function(data):
    """The same as a function, driven as a trainer drives it."""
    @hippo.workload(seed=1)
    def train(ctx):
        model = network()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        for step in ctx.steps(model=model, optimizer=optimizer):
            hippo.torch.apply(optimizer, ctx.hp, step)
            pass_over(ctx.loader(data, step, BATCH), model, optimizer)
            yield lambda: {"loss": 0.0}
    return driven(train)


def empty_function():
    @hippo.workload
    def train(ctx):
        state = {}
        for step in ctx.steps(state=state):
            ctx.hp.lr(step)
            yield lambda: {"loss": 0.0}
    return driven(train)


def milliseconds(step, number):
    begin = time.process_time()
    step(number)
    return 1000 * (time.process_time() - begin)


def medians(sides, steps):
    spent = {name: [] for name in sides}
    for number in range(steps + 1):
        for name, step in sides.items():
            spent[name].append(milliseconds(step, number))
    # The first step of each also warms up.
    return {name: statistics.median(x[1:]) for name, x in spent.items()}


def main(seconds, steps):
    probe = by_hand(data_of(20))
    probe(0)
    batches = max(1, round(20 * 1000 * seconds / milliseconds(probe, 1)))
    data = data_of(batches)
    result = medians({"by_hand": by_hand(data), "function": as_function(data)},
                     steps)
    result["empty"] = medians({"empty": empty_function()}, 1000)["empty"]
    print(json.dumps(result))


main(float(sys.argv[1]), int(sys.argv[2]))
