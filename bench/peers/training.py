"""Trials of a study as a user of a peer writes them, and what they cost."""

import argparse
import json
import os
import pathlib
import threading
import time

import torch

import fashion
import schedules


class Trial:
    """A model in training, with a configuration as in a study file.

    data: what fashion.read_data() returns
    """

    def __init__(self, configuration, data):
        torch.set_num_threads(1)
        torch.manual_seed(1)
        self.configuration = configuration
        self.training, self.validation = data
        # What suits it best: pooling is many times faster in this layout.
        self.model = fashion.Cnn().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1,
                                         fused=True)
        self.epoch = 0

    def train(self):
        """Trains the next epoch. Returns the accuracy thereafter."""
        now = {name: schedules.value(x, self.epoch)
               for name, x in self.configuration.items()}
        for group in self.optimizer.param_groups:
            group.update((x, now[x]) for x in ("lr", "momentum",
                                               "weight_decay"))
        fashion.train_epoch(self.model, self.optimizer, self.training,
                            int(now["batch_size"]))
        self.epoch += 1
        return fashion.accuracy(self.model, self.validation)


class Cost:
    """Wall time and core-seconds of this process and its descendants while in
    the context.

    Processes come and go, and not all are waited for by their parents, so the
    kernel's sums over children are not enough. All are looked at twice a
    second instead; what one did after the last look at it is not counted, at
    most half a second for each.
    """

    def __enter__(self):
        self.seen = {}  # core-seconds by process and when that began
        self.look()
        self.base = sum(self.seen.values())
        self.begin = time.time()
        self.left = threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def __exit__(self, *_):
        self.wall_seconds = time.time() - self.begin
        self.left.set()
        self.watcher.join()
        self.look()
        self.core_seconds = sum(self.seen.values()) - self.base

    def watch(self):
        while not self.left.wait(0.5):
            self.look()

    def look(self):
        tick = os.sysconf("SC_CLK_TCK")
        parents, spent = {}, {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                stat = (folder / "stat").read_text()
            except OSError:
                continue  # it has just ended
            # Of proc(5), from the third field on: 4 is the parent, 14 and 15
            # are the user's and the system's time, 22 is when it began.
            fields = stat.rpartition(")")[2].split()
            process = int(folder.name)
            parents[process] = int(fields[1])
            spent[process, fields[19]] = (int(fields[11])
                                          + int(fields[12])) / tick
        for key, seconds in spent.items():
            at = key[0]
            while at not in (0, os.getpid()):
                at = parents.get(at, 0)
            if at:
                self.seen[key] = seconds


def parser(text):
    result = argparse.ArgumentParser(description=text)
    result.add_argument("--study", type=pathlib.Path, required=True,
                        help="JSON: configurations, file, epochs, train, "
                        "validation (images), asha (eta, min; or null)")
    return result


def tell(cost, history):
    """Prints what the suite reads.

    history: (time, accuracy) of each epoch of each trial
    """
    improvements, best = [], 0
    for at, accuracy in sorted(history):
        if accuracy > best:
            best = accuracy
            improvements.append((at - cost.begin, best))
    print(json.dumps({"wall_seconds": cost.wall_seconds,
                      "core_seconds": cost.core_seconds,
                      "epochs": len(history), "improvements": improvements}))
