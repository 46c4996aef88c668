#!/usr/bin/env python3
"""Compares trials of several processes with processes started by hand.

    bench/ranks.py [--ranks 2] [--steps 300] [--rounds 7]

The same loop of DistributedDataParallel on Gloo is run by processes with the
variables that torchrun sets, and as a lease of as many steps by a workload
process of several ranks, in turns. Prints the time of the loop as a lease by
that of the processes, pair by pair, and the seconds until ranks whose neighbour
was killed have begun anew. (The torchrun of Debian 12's PyTorch does not run
with its Python; while a loop runs, torchrun only waits.)

Needs PyTorch and hippo_hpo in this interpreter: .cache/workload-venv/bin/python
with PYTHONPATH=build/dev/tests/python/package.
"""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))

from hippo_hpo._ranks import _free_port  # noqa: E402
from hippo_hpo._schema import process  # noqa: E402
from trainer_end import Trainer  # noqa: E402

# A transformer of two layers; what both programs do in a step.
COMMON = """\
import torch
import torch.distributed as dist

def make(seed):
    torch.manual_seed(seed)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
    net = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 2),
                              torch.nn.Linear(64, 64))
    model = torch.nn.parallel.DistributedDataParallel(net)
    return net, model, torch.optim.SGD(model.parameters(), 0.01)

def turn(model, opt, step):
    torch.manual_seed(step)
    x = torch.randn(8, 32, 64)
    opt.zero_grad()
    (model(x) - x).square().mean().backward()
    opt.step()
"""

SCRIPT = COMMON + """
import sys
import time

torch.set_num_threads(1)
dist.init_process_group("gloo")
net, model, opt = make(1)
steps = int(sys.argv[1])
turn(model, opt, 0)
dist.barrier()
begin = time.monotonic()
for step in range(1, steps):
    turn(model, opt, step)
if dist.get_rank() == 0:
    print(time.monotonic() - begin)
"""

LEASE = COMMON + """
import hippo_hpo as hippo

@hippo.workload
def train(ctx):
    if not dist.is_initialized():
        dist.init_process_group("gloo")
    net, model, opt = make(1)
    for step in ctx.steps(net=net, opt=opt):
        turn(model, opt, step)
        yield lambda: {"step": step}
"""


def by_hand(folder, ranks, steps):
    shared = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(_free_port()), "GLOO_SOCKET_IFNAME": "lo"}
    processes = [
        subprocess.Popen([sys.executable, str(folder / "script.py"),
                          str(steps)], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, **shared, "RANK": str(i),
                              "LOCAL_RANK": str(i)})
        for i in range(ranks)]
    said = [x.communicate()[0] for x in processes]
    if any(x.returncode for x in processes):
        sys.exit("a process by hand has failed")
    return float(said[0])


def started(folder, ranks):
    trainer = Trainer("--ranks", str(ranks), "",
                      str(folder / "lease.py") + ":train")
    trainer.ask("describe", process.processProtocolVersion)
    trainer.setup()
    trainer.ask("init")
    expect_done(trainer.train(0, 1))
    return trainer


def expect_done(answer):
    if answer.which() != "done":
        sys.exit(f"training has failed: {answer}")


def by_lease(folder, ranks, steps):
    trainer = started(folder, ranks)
    begin = time.monotonic()
    expect_done(trainer.train(1, steps))
    result = time.monotonic() - begin
    trainer.close()
    return result


def until_anew(folder, ranks):
    """The seconds from a rank's death to the end of the step after it."""
    trainer = started(folder, ranks)
    state = str(folder / "state")
    expect_done(trainer.ask("save", state))
    pid = trainer.process.pid
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    begin = time.monotonic()
    os.kill(int(children.split()[-1]), signal.SIGKILL)
    if trainer.train(1, 2).which() != "failed":
        sys.exit("a dead rank was not noticed")
    expect_done(trainer.ask("load", state))
    expect_done(trainer.train(1, 2))
    result = time.monotonic() - begin
    trainer.close()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    x = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "script.py").write_text(SCRIPT)
        (folder / "lease.py").write_text(LEASE)
        ratios, anew = [], []
        for i in range(x.rounds):
            runs = [by_hand, by_lease]
            times = {run: run(folder, x.ranks, x.steps)
                     for run in (runs if i % 2 else runs[::-1])}
            ratios.append(times[by_lease] / times[by_hand])
            anew.append(until_anew(folder, x.ranks))
            print(f"by hand {times[by_hand]:.2f} s, lease "
                  f"{times[by_lease]:.2f} s, ratio {ratios[-1]:.3f}, anew "
                  f"{anew[-1]:.1f} s", flush=True)
    print(f"{x.ranks} ranks, {x.steps} steps: lease / by hand median "
          f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to "
          f"{max(ratios):.3f}), anew median {statistics.median(anew):.1f} s, "
          f"at most {max(anew):.1f} s")


if __name__ == "__main__":
    main()
