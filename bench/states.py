#!/usr/bin/env python3
"""Measures large states: moved between trainers, and shared by trials.

    bench/states.py HIPPO HIPPO_TRAINER [--mib 5120] [--frozen-mib 400]

First a trainer without the state folder saves a state of random bytes in 40
arrays, and another one goes on from it. Prints the times of saving and loading
against `cp` of the same file, synced to the disk as a checkpoint is, and a copy
of it through a loopback socket, in this invocation, each with memory that was
used before, and the largest memory of service and trainers, where the training
process itself is not counted.

Then 20 trials train 4 MiB of a state whose other part is frozen. Prints the
bytes of their checkpoints against those that differ.

At last a PyTorch model of that size branches after each of some steps. Prints
for how long training stands still for a state that is saved: the time from the
end of a step to the begin of the next one, against torch.save of the state in
this invocation. Needs the right to mount, and PyTorch in `python3`.
"""

import argparse
import glob
import os
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from initial_state import peak_mib, timed, wait_for, write

TRAIN = """\
import random

import hippo_hpo as hippo


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.mib, self.changing = int(args["mib"]), int(args["changing_mib"])

    def init(self):
        self.w = 0.0
        self.draw(0)
        frozen = self.mib - self.changing
        self.frozen = [random.Random(i).randbytes((frozen << 20) // 40)
                       for i in range(40)]

    def draw(self, address):
        self.changes = random.Random(address).randbytes(self.changing << 20)

    def train(self, start, stop, hp):
        for step in range(start, stop):
            self.w += hp.lr(step)
        self.draw(repr((stop, self.w)))

    def evaluate(self):
        return {"loss": self.w}

    def state_dict(self):
        return {"w": self.w, "changes": self.changes, "frozen": self.frozen}

    def load_state_dict(self, state):
        self.w, self.changes = state["w"], state["changes"]
        self.frozen = state["frozen"]
"""

STUDY = """\
study: {name}
workload: {{python: train.py:Net, seed: 1, check: false,
            args: {{mib: {mib}, changing_mib: {changing}}}}}
objective: {{metric: loss, direction: minimize}}
max_steps: {steps}
space: {{lr: {lr}}}
algorithm: grid
"""


STANDS_STILL = """\
import time

import torch

import hippo_hpo as hippo


class Net(hippo.torch.Workload):
    ended = None

    def build(self):
        def layer(mib):
            return torch.nn.Parameter(torch.randn(mib << 18))
        self.model = torch.nn.ParameterList(
            [layer(int(self.args["mib"]) // 40) for _ in range(40)]
            + [layer(4)])
        self.optimizer = torch.optim.SGD([self.model[-1]], lr=0.1)

    def train_step(self, step, hp):
        if self.ended is not None:
            with open(self.args["log"], "a") as log:
                print(time.monotonic() - self.ended, file=log)
        hippo.torch.apply(self.optimizer, hp, step)
        # On the trunk long enough to write a state meanwhile.
        end = time.monotonic() + (3 if hp.lr(step) == 0.1 else 0.1)
        while time.monotonic() < end:
            self.optimizer.zero_grad()
            self.model[-1].square().sum().backward()
            self.optimizer.step()
            time.sleep(0.02)
        self.ended = time.monotonic()

    def evaluate(self):
        return {"loss": float(self.model[-1].detach().square().sum())}

    def load(self, path):
        super().load(path)
        self.ended = None


class Waits(Net):
    def save(self, path):  # of its own, so that training waits for it
        super().save(path)
"""

BRANCHES = """\
study: {name}
workload: {{python: still.py:{kind}, seed: 1, check: false,
            args: {{mib: {mib}, log: {log}}}}}
objective: {{metric: loss, direction: minimize}}
max_steps: 12
space:
  lr: {{choice: [{schedules}]}}
algorithm: grid
"""


class Node:
    """A service without trainers, in a folder, and what it started."""

    def __init__(self, hippo, trainer, folder):
        self.hippo, self.program, self.folder = hippo, trainer, folder
        self.state = f"{folder}/state"
        write(f"{folder}/train.py", TRAIN)
        log = f"{folder}/service.log"
        with open(log, "w") as out:
            self.service = subprocess.Popen(
                [hippo, "serve", "--state", self.state, "--trainers", "0",
                 "--listen", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http",
                 "127.0.0.1:0"], stderr=out)
        self.trainers = []

        def address(who):
            with open(log) as text:
                found = re.search(who + r" connect to (\S+)", text.read())
            return found and found[1]
        self.clients = wait_for(lambda: address("clients"))
        self.port = address("trainers")

    def trainer(self, hidden=True):
        around = ["unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs none "$0" && exec "$@"', self.state]
        self.trainers.append(subprocess.Popen(
            [*(around if hidden else []), self.program, "--connect",
             self.port], stderr=subprocess.DEVNULL))
        return self.trainers[-1]

    def train(self, name, study=STUDY, **what):
        path = f"{self.folder}/{name}.yaml"
        write(path, study.format(name=name, **what))
        for verb in ("submit", path), ("watch", name):
            timed(self.hippo, *verb, "--server", self.clients,
                  stderr=subprocess.DEVNULL)

    def seconds(self, operation):
        """The mean time of an operation so far."""
        with sqlite3.connect(f"file:{self.state}/hippo.db?mode=ro",
                             uri=True) as database:
            rows = database.execute("SELECT count, seconds FROM timings WHERE"
                                    " what = ?", (operation,)).fetchall()
        return sum(x[1] for x in rows) / max(1e-9, sum(x[0] for x in rows))

    def files(self):
        return glob.glob(f"{self.state}/checkpoints/*/*.ckpt")

    def end(self):
        for process in [*self.trainers, self.service]:
            process.terminate()
            process.wait()


def link_seconds(path):
    """Copies a file through a loopback socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def take():
            with server.accept()[0] as peer, open(path + ".copy", "wb") as out:
                while data := peer.recv(1 << 20):
                    out.write(data)
        thread = threading.Thread(target=take)
        begin = time.monotonic()
        thread.start()
        with socket.create_connection(server.getsockname()) as to, \
                open(path, "rb") as file:
            to.sendfile(file)
        thread.join()
        spent = time.monotonic() - begin
    os.remove(path + ".copy")
    return spent


def fill_page_cache(folder):
    """Has all free memory used once, by the cache of an empty file.

    The host of a virtual machine takes back memory that is free, and gives it
    again page by page, at 200 MiB/s where that was seen: who comes first pays.
    """
    with open("/proc/meminfo") as lines:
        free = next(int(x.split()[1]) for x in lines if x.startswith("MemFree"))
    file, path = tempfile.mkstemp(dir=folder)
    os.truncate(file, free << 10)
    os.close(file)
    timed("cat", path)


def move(hippo, trainer, mib, folder):
    node = Node(hippo, trainer, folder)
    try:
        fill_page_cache(folder)
        first = node.trainer()
        node.train("first", mib=mib, changing=1, steps=1, lr=0.5)
        saved = node.seconds("save")
        memory = [peak_mib(node.service), peak_mib(first)]
        first.terminate()
        first.wait()
        fill_page_cache(folder)
        second = node.trainer()
        node.train("second", mib=mib, changing=1, steps=2, lr=0.5)
        loaded = node.seconds("load")
        memory += [peak_mib(node.service), peak_mib(second)]
        fill_page_cache(folder)
        path = max(node.files(), key=os.path.getsize)
        copied = timed("sh", "-c", 'cp "$0" "$1" && sync "$1"', path,
                       path + ".copy")
        os.remove(path + ".copy")
        linked = link_seconds(path)
    finally:
        node.end()
    bound = copied + linked
    print(f"{mib} MiB     cp and sync {copied:.1f} s, link {linked:.1f} s")
    print(f"save         {saved:.1f} s, {bound / saved:.2f} of the rate of cp "
          "and link")
    print(f"load         {loaded:.1f} s, {bound / loaded:.2f} of it")
    print("memory at most (MiB): service {:.0f}, trainer that saves {:.0f}; "
          "service {:.0f}, trainer that loads {:.0f}".format(*memory))


def share(hippo, trainer, frozen, folder):
    node = Node(hippo, trainer, folder)
    try:
        node.trainer(hidden=False)
        values = ", ".join(f"{0.1 + i / 100:.2f}" for i in range(20))
        node.train("shared", mib=frozen + 4, changing=4, steps=1,
                   lr=f"{{choice: [{values}]}}")
        sizes = [os.path.getsize(x) for x in node.files()]
    finally:
        node.end()
    differs = 4 * len(sizes)
    stored = sum(sizes) / (1 << 20)
    print(f"{len(sizes)} states of {frozen} MiB frozen and 4 that train: "
          f"{stored:.0f} MiB stored, {(stored - frozen) / differs:.2f} x what "
          f"differs, beside the frozen part ({len(sizes) * (frozen + 4)} MiB "
          "without sharing)")


def stand_still(hippo, trainer, frozen, folder):
    # One trial for each step at which it leaves the trunk: a save at each.
    schedules = ", ".join(f"{{piecewise: [[0, 0.1], [{step}, 0.05]]}}"
                          for step in range(2, 12))
    node = Node(hippo, trainer, folder)
    write(f"{folder}/still.py", STANDS_STILL)
    try:
        node.trainer(hidden=False)
        found = {}
        for kind in "Waits", "Net":
            log = f"{folder}/{kind}.log"
            node.train(f"still-{kind}", BRANCHES, kind=kind, mib=frozen,
                       log=log, schedules=schedules)
            with open(log) as gaps:
                gaps = sorted(1000 * float(x) for x in gaps)
            # Between other steps nothing is saved, and hardly any time passes.
            found[kind], others = gaps[-9:], gaps[:-9]
    finally:
        node.end()
    print("{} + 4 MiB in PyTorch: training stands still for {:.0f} ms a save "
          "(median; {:.0f} at most), for {:.0f} ms where it waits until the "
          "state is written, for {:.1f} ms between steps without a save".format(
              frozen, statistics.median(found["Net"]), found["Net"][-1],
              statistics.median(found["Waits"]), statistics.median(others)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hippo")
    parser.add_argument("trainer")
    parser.add_argument("--mib", type=int, default=5120)
    parser.add_argument("--frozen-mib", type=int, default=400)
    parser.add_argument("--only", default="",
                        choices=("move", "share", "stand_still"))
    args = parser.parse_args()
    programs = os.path.abspath(args.hippo), os.path.abspath(args.trainer)
    for measure, mib in ((move, args.mib), (share, args.frozen_mib),
                         (stand_still, args.frozen_mib)):
        if args.only not in ("", measure.__name__):
            continue
        with tempfile.TemporaryDirectory(dir=".") as folder:
            measure(*programs, mib, os.path.abspath(folder))


if __name__ == "__main__":
    sys.exit(main())
