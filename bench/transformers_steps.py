#!/usr/bin/env python3
"""Time of a step of `hippo_hpo.transformers` beside that of a stock Trainer.

    bench/transformers_steps.py [--steps 50] [--rounds 5] [--width 128]

Both train the same BERT on the same batches in one process, in turns. Prints
the medians of a step and their ratio: with one call of `train` for all steps,
and with calls of 10. PYTHONPATH names the package, as it is installed.
"""

import argparse
import statistics
import tempfile
import time

import torch
import transformers

import hippo_hpo.transformers
from hippo_hpo.workload import HyperParameters

LENGTH = 64


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, i):
        return {"input_ids": (torch.arange(LENGTH) * (i + 1)) % 1000,
                "attention_mask": torch.ones(LENGTH, dtype=torch.long),
                "labels": i % 2}


def model(width):
    return transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=1000, hidden_size=width, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=4 * width))


def arguments(**more):
    return transformers.TrainingArguments(
        tempfile.gettempdir(), use_cpu=not torch.cuda.is_available(),
        per_device_train_batch_size=16, lr_scheduler_type="constant",
        report_to=[], save_strategy="no", logging_strategy="no",
        disable_tqdm=True, **more)


def made(width, given):
    class Bench(hippo_hpo.transformers.Workload):
        step_is = "iteration"

        def arguments(self):
            return given

        def model_init(self, constant):
            return model(width)

        def datasets(self):
            return Rows(), Rows()

    x = Bench()
    x.setup(1, "cuda:0" if torch.cuda.is_available() else "cpu", {})
    # Equal kernels on both sides.
    torch.use_deterministic_algorithms(False)
    x.init()
    return x


def seconds(function):
    clock = (time.perf_counter if torch.cuda.is_available()
             else time.process_time)  # others may use the same cores
    begin = clock()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name, value in ("steps", 50), ("rounds", 5), ("width", 128):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    given = arguments(max_steps=options.steps)
    stock = transformers.Trainer(model=model(options.width), args=given,
                                 train_dataset=Rows())
    stock.remove_callback(transformers.PrinterCallback)
    ours, at = made(options.width, given), 0

    def train(calls):
        nonlocal at
        for _ in range(calls):
            to = at + options.steps // calls
            ours.train(at, to, HyperParameters(at, to, {
                "learning_rate": [1e-4]}))
            at = to

    calls = max(1, options.steps // 10)
    sides = {"stock": stock.train, "one call": lambda: train(1),
             f"{calls} calls": lambda: train(calls)}
    times = {name: [] for name in sides}
    for turn in range(options.rounds + 1):  # the first one warms up
        for name, function in sides.items():
            taken = seconds(function) / options.steps
            if turn:
                times[name].append(taken)
    for name, found in times.items():
        ratio = statistics.median(
            x / y for x, y in zip(found, times["stock"]))
        print(f"{name}: {statistics.median(found) * 1e3:.2f} ms a step, "
              f"{ratio:.3f} of the stock Trainer")


if __name__ == "__main__":
    main()
