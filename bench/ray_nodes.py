#!/usr/bin/env python3
"""Measures trainers in a Ray cluster whose nodes are killed.

    bench/ray_nodes.py HIPPO HIPPO_TRAINER [--seconds 300] [--every 20]
                       [--rounds 15] [--only kills|overhead]
                       [--niceness 15]

Two studies run on three nodes of a Ray cluster on this machine, each with a
trainer; a node is killed every 20 s and replaced. Prints the steps trained by
those of `hippo run` of the same files, the seconds until all trainers were
registered again, and whether all results are equal.

Then a trainer in Ray and one by hand train equal studies at the same time, and
their steps/s are compared pair by pair. Ray runs its processes with niceness
15, so they yield to others; --niceness 0 compares trainers of equal rights.

Needs Ray and hippo_hpo in this interpreter: .cache/ray-venv/bin/python with
PYTHONPATH=build/dev/tests/python/package. With default settings Ray notices a
killed node after about 20 s; here it looks every second.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent
                       / "python" / "tests"))

# Ray's messages go where it pleases; figures go to the standard output.
FIGURES = os.fdopen(os.dup(1), "w")

STEP_SECONDS = 0.25
STEPS = 40


def study(name, log, rates, milestones):
    return json.dumps({
        "study": name,
        "workload": {"python": "train.py:Net", "seed": 1, "check": False,
                     "args": {"log": log}},
        "objective": {"metric": "loss", "direction": "minimize"},
        "max_steps": STEPS, "eval_every": 5, "algorithm": "grid",
        "space": {"lr": {"choice": [
            rate if at is None else {"multistep": {
                "initial": rate, "milestones": [at], "gamma": 0.5}}
            for rate in rates for at in milestones]}}})


def by_hand(name, steps):
    """A study of one trial, whose steps compute and time themselves."""
    return json.dumps({
        "study": name,
        "workload": {"python": "count.py:Count", "seed": 1, "check": False,
                     "args": {"round": name}},
        "objective": {"metric": "loss", "direction": "minimize"},
        "max_steps": steps, "eval_every": steps, "algorithm": "grid",
        "space": {"lr": {"choice": [0.1]}}})


COUNT = """\
import time

import hippo_hpo as hippo


class Count(hippo.Workload):
    def setup(self, seed, device, args):
        pass

    def init(self):
        self.w, self.steps = 0.0, 0
        self.seconds = self.cpu_seconds = 0.0

    def train(self, start, stop, hp):
        begin, cpu_begin = time.monotonic(), time.process_time()
        for step in range(start, stop):
            for i in range(2000):
                self.w = 0.9 * self.w + hp.lr(step)
            self.steps += 1
        self.seconds += time.monotonic() - begin
        self.cpu_seconds += time.process_time() - cpu_begin

    def evaluate(self):
        return {"loss": self.w, "speed": self.steps / self.seconds,
                "cpu_speed": self.steps / self.cpu_seconds}

    def state_dict(self):
        return {"w": self.w}

    def load_state_dict(self, state):
        self.init()
        self.w = state["w"]
"""


def measure_kills(case, hippo_ray, seconds, every):
    rates = [0.01 * (i + 1) for i in range(max(2, round(seconds * 0.065)))]
    files = [case.write(f"{name}.yaml", study(name, case.log, rates, at))
             for name, at in (("a", [None, 10, 20, 30]),
                              ("b", [None, 5, 15, 25, 35]))]
    alone = os.path.join(case.folder, "alone")
    subprocess.run([case.hippo, "run", *files, "--quiet", "--trainers", "3",
                    "--state", alone], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "HIPPO_TEST_SECONDS": "0"})
    unique = case.steps()
    trainers, clients = case.serve()
    client = case.connect(clients)
    back = []
    with hippo_ray.trainers(trainers, num=3, key=case.key,
                            name="bench") as fleet:
        fleet.wait_ready()
        begin = time.monotonic()
        studies = [client.submit(x) for x in files]
        while time.monotonic() < begin + seconds \
                and not all(x.info.ended for x in studies):
            next_one = begin + every * (len(back) + 1)
            time.sleep(max(0, next_one - time.monotonic()))
            lost = case.nodes.pop(0)
            killed = time.monotonic()
            case.cluster.remove_node(lost, allow_graceful=False)
            case.nodes.append(case.cluster.add_node(**case.node))
            while any(
                    x.state == "ready" and x.pid and not case.is_alive(x.pid)
                    for x in fleet.states()):
                time.sleep(0.05)
            fleet.wait_ready()
            back.append(time.monotonic() - killed)
            print(f"  {time.monotonic() - begin:5.0f} s: node {len(back)} "
                  f"killed, trainers back after {back[-1]:.1f} s",
                  file=sys.stderr, flush=True)
        infos = [x.wait(progress=False) for x in studies]
        wall = time.monotonic() - begin
    trained = case.steps() - unique
    equal = all(case.results(alone, x) == case.results(case.state, x)
                for x in ("a", "b"))
    count = sum(len(case.results(alone, x)) for x in ("a", "b"))
    print(f"{len(back)} nodes killed in {wall:.0f} s: studies "
          f"{', '.join(x.state for x in infos)}, "
          f"{sum(x.failed for x in infos)} failed trials", file=FIGURES)
    print(f"{count} results, "
          f"{'equal to' if equal else 'DIFFERENT from'} hippo run",
          file=FIGURES)
    print(f"trained / unique {trained} / {unique} = {trained / unique:.4f}",
          file=FIGURES)
    print(f"trainers back: median {statistics.median(back):.1f} s, "
          f"longest {max(back):.1f} s", file=FIGURES, flush=True)


MEASURED_BY = """
SELECT r.trainer, m.name, m.value
FROM results r JOIN metrics m USING (workload, node, step)
JOIN studies s ON s.name = ? JOIN events e USING (workload, node, step)
WHERE e.study = s.id AND e.kind = 'measured'"""


def measure_overhead(case, hippo_ray, rounds):
    """Both trainers train at the same time, so that both have the same load
    beside them."""
    case.write("count.py", COUNT)
    trainers, clients = case.serve()
    client = case.connect(clients)
    ratios = {"speed": [], "cpu_speed": []}
    by_itself = subprocess.Popen(
        [case.trainer, "--connect", trainers, "--keys", case.key],
        stderr=subprocess.DEVNULL)
    try:
        with hippo_ray.trainers(trainers, num=1, key=case.key,
                                name="paired") as fleet:
            fleet.wait_ready()
            while len(client.trainers()) < 2:
                time.sleep(0.1)
            for i in range(rounds):
                compare(case, client, i, by_itself.pid, ratios)
    finally:
        by_itself.terminate()
        by_itself.wait()
    for name, unit in ("speed", "steps/s"), ("cpu_speed", "steps/CPU second"):
        found = ratios[name]
        print(f"{unit} in Ray by those of a trainer by hand: median "
              f"{statistics.median(found):.4f}, {min(found):.4f} to "
              f"{max(found):.4f}, {len(found)} pairs", file=FIGURES,
              flush=True)


def compare(case, client, number, pid, ratios):
    """Trains two studies at once, and adds the ratios of their speeds. A pair
    that one trainer has trained alone counts for nothing."""
    names = [f"{x}{number}" for x in "ab"]
    studies = [client.submit(case.write(f"{x}.yaml", by_hand(x, 1000)))
               for x in names]
    for x in studies:
        x.wait(progress=False)
    sides = {}
    with contextlib.closing(sqlite3.connect(
            os.path.join(case.state, "hippo.db"))) as found:
        for name in names:
            for trainer, metric, value in found.execute(MEASURED_BY, (name,)):
                side = "hand" if trainer.endswith(f":{pid}") else "ray"
                sides.setdefault(side, {})[metric] = value
    if len(sides) == 2:
        for name, found in ratios.items():
            found.append(sides["ray"][name] / sides["hand"][name])
        print(f"  in Ray {sides['ray']['speed']:.1f} steps/s, by hand "
              f"{sides['hand']['speed']:.1f}: {ratios['speed'][-1]:.4f}",
              file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("hippo")
    parser.add_argument("trainer")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--niceness", type=int, default=15)
    parser.add_argument("--only", choices=["kills", "overhead"])
    options = parser.parse_args()
    os.dup2(2, 1)
    os.environ["RAY_worker_niceness"] = str(options.niceness)
    os.environ["HIPPO"] = os.path.abspath(options.hippo)
    os.environ["HIPPO_TRAINER"] = os.path.abspath(options.trainer)
    import ray_test  # the cluster and the service of the tests
    ray_test.SECONDS = STEP_SECONDS
    import hippo_hpo.ray

    class Case(ray_test.Trainers):
        hippo, trainer = ray_test.HIPPO, ray_test.TRAINER
        node = ray_test.NODE
        is_alive = staticmethod(ray_test.is_alive)
        results = staticmethod(ray_test.results)

    Case.setUpClass()
    try:
        for name, measure in (
                ("kills", lambda case: measure_kills(
                    case, hippo_hpo.ray, options.seconds, options.every)),
                ("overhead", lambda case: measure_overhead(
                    case, hippo_hpo.ray, options.rounds))):
            if options.only in (None, name):
                case = Case("test_refusals")
                case.setUp()
                try:
                    measure(case)
                finally:
                    case.doCleanups()
    finally:
        Case.doClassCleanups()


if __name__ == "__main__":
    main()
