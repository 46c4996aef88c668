#!/usr/bin/env python3
"""Measures how long an initial state takes to a service and to a trainer.

    bench/initial_state.py HIPPO HIPPO_TRAINER [--mib 1024]

A study names a file of random bytes under `from`. Prints the time of `hippo
submit` and of a trainer that does not see the state folder, against `cp` and
`sha256sum` of the same file in this invocation, and the largest memory of both
programs. Needs the right to mount (root, or `unshare --map-root-user`).
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

TRAIN = """\
import hippo_hpo as hippo


@hippo.workload(seed=1)
def train(ctx):
    with open(ctx.initial, "rb") as file:
        state = {"first": file.read(1)[0] + 0.5}
    for step in ctx.steps(state=state):
        state["first"] *= ctx.hp.lr(step)
        yield lambda: {"loss": state["first"]}
"""

STUDY = """\
study: tune
workload: {python: train.py:train, seed: 1, check: false, from: state.bin}
objective: {metric: loss, direction: minimize}
max_steps: 1
space: {lr: 0.5}
algorithm: grid
"""


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def timed(*command, **options):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)
    return time.monotonic() - begin


def peak_mib(process):
    """The largest memory of a process so far, less the files that it maps."""
    with open(f"/proc/{process.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024


def wait_for(ready, patience=600):
    end = time.monotonic() + patience
    while not (found := ready()):
        if time.monotonic() > end:
            sys.exit("waited in vain")
        time.sleep(0.01)
    return found


def measure(hippo, trainer, mib, folder):
    state, data = f"{folder}/state", f"{folder}/state.bin"
    write(f"{folder}/train.py", TRAIN)
    write(f"{folder}/study.yaml", STUDY)
    with open(data, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    copied = timed("cp", data, f"{folder}/copy")
    digested = timed("sha256sum", data)
    log = f"{folder}/service.log"
    with open(log, "w") as out:
        service = subprocess.Popen(
            [hippo, "serve", "--state", state, "--trainers", "0", "--listen",
             "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http", "127.0.0.1:0"],
            stderr=out)
    started = [service]
    try:
        def address(who):
            with open(log) as text:
                found = re.search(who + r" connect to (\S+)", text.read())
            return found and found[1]
        clients = wait_for(lambda: address("clients"))
        submitted = timed(hippo, "submit", f"{folder}/study.yaml", "--server",
                          clients)
        served = peak_mib(service)
        cache = f"{folder}/cache/hippo/initial"
        begin = time.monotonic()
        started.append(subprocess.Popen(
            ["unshare", "--mount", "sh", "-c",
             'mount -t tmpfs none "$0" && exec "$@"', state, trainer,
             "--connect", address("trainers")], stderr=subprocess.DEVNULL,
            env={**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}))
        wait_for(lambda: os.path.isdir(cache) and any(
            not name.endswith(".part") for name in os.listdir(cache)))
        fetched = time.monotonic() - begin
        return (copied, digested, submitted, fetched, served,
                peak_mib(service), peak_mib(started[1]))
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hippo")
    parser.add_argument("trainer")
    parser.add_argument("--mib", type=int, default=1024)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (copied, digested, submitted, fetched, sent, served, trained
         ) = measure(os.path.abspath(args.hippo),
                     os.path.abspath(args.trainer), args.mib,
                     os.path.abspath(folder))
    bound = copied + digested
    print(f"{args.mib} MiB     cp {copied:.1f} s, sha256sum {digested:.1f} s")
    print(f"hippo submit   {submitted:.1f} s, {submitted / bound:.2f} x cp and "
          "sha256sum")
    print(f"a trainer      {fetched:.1f} s from its start, "
          f"{fetched / bound:.2f} x")
    print(f"memory at most service {sent:.0f} MiB, then {served:.0f}; trainer "
          f"{trained:.0f}")


if __name__ == "__main__":
    main()
