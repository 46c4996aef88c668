#!/usr/bin/env python3
"""A service, three trainers and four studies, with a monkey among them.

For a while a seeded monkey kills and stops the service, its trainers and its
clients, cuts their connections, damages checkpoints and fills the disk. In the
end every study must be complete, every result that anybody has seen must still
be there and equal what training its trial alone gives, bit for bit, and nothing
may be left running.

    soak.py [--seconds 600] [--seed 1] [--example PROGRAM]

The environment says where the programs are: HIPPO, HIPPO_TRAINER. Needs the
Python client (python/). Filling the disk needs the right to mount one.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import hippo_hpo as hippo

HIPPO = os.environ["HIPPO"]
TRAINER = os.environ["HIPPO_TRAINER"]

TRAINERS = 3
TRAINER_TIMEOUT = 4  # seconds of silence after which a trainer is given up
DISK_BYTES = 48 << 20
CHECKPOINT_BUDGET = "8MB"
EVOLUTION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                         "examples", "client", "evolution.yaml")
PATIENCE = 240  # seconds in which everything must be complete in the end

LR = {"choice": [
    0.1, 0.05,
    {"multistep": {"initial": 0.1, "milestones": [3, 6], "gamma": 0.3}},
    {"multistep": {"initial": 0.1, "milestones": [3], "gamma": 0.1}},
    {"exponential": {"initial": 0.1, "gamma": {"choice": [0.8, 0.9]}}},
    {"warmup": {"steps": 2, "from": 0.01, "to": 0.1}}]}
BATCH = {"choice": [32, {"multistep": {
    "initial": 32, "milestones": [4], "gamma": 2}}]}


def study(name, algorithm, train, trials):
    return {
        "study": name,
        "workload": {"name": "fashion-mlp", "seed": 1,
                     "data": {"train": train, "validation": 512}},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "max_steps": 9,
        "space": {"lr": LR, "batch_size": BATCH},
        "algorithm": algorithm,
        "budget": {"trials": trials},
    }


def free_port():
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        return x.getsockname()[1]


class Proxy:
    """Passes connections on to a port, until it is told to cut them."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            self.pairs.append((near, far))
            for x, y in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(x, y),
                                 daemon=True).start()

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(1 << 16):
                sink.sendall(data)
        except OSError:
            pass
        for x in (source, sink):
            try:
                x.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        for pair in self.pairs:
            for x in pair:
                try:
                    x.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        self.pairs = []


class Program:
    """A process that is started again whenever it was killed."""

    def __init__(self, name, command, log, restart=True):
        self.name, self.command, self.restart = name, command, restart
        self.log = open(log, "ab")
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def leave(self, seconds=30):
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True


class Witness(threading.Thread):
    """Writes down everything that a client gets to see."""

    def __init__(self, address, studies):
        super().__init__(daemon=True)
        self.address, self.studies = address, studies
        self.seen = collections.defaultdict(dict)  # study -> event id -> what
        self.over = threading.Event()
        self.failures = []

    def run(self):
        while not self.over.is_set():
            try:
                with hippo.connect(self.address, timeout=5) as client:
                    while not self.over.is_set():
                        for study in list(self.studies):
                            self.look(client.study(study))
                        self.over.wait(0.1)
            except hippo.Error:
                self.over.wait(0.2)
            except Exception as why:  # pylint: disable=broad-except
                self.failures.append(repr(why))
                return

    def look(self, study):
        seen = self.seen[study.id]
        after = max(seen, default=0)
        for event in study.events(after=after):
            seen[event.id] = (event.trial, event.step, dict(event.metrics or {}))


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="hippo-soak-")
        self.disk = os.path.join(self.folder, "disk")
        os.mkdir(self.disk)
        self.mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "hippo-soak",
             self.disk], stderr=subprocess.DEVNULL).returncode == 0
        self.state = os.path.join(self.disk, "state")
        self.ports = [free_port() for _ in range(3)]
        self.rpc = f"127.0.0.1:{self.ports[1]}"
        self.proxy = Proxy(self.ports[0])
        self.counts = collections.Counter()
        self.rounds = 0
        self.studies = []
        self.trainers = []
        self.clients = []
        self.example = None

    # -- what runs ------------------------------------------------------------

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve_command(self, *more):
        return [HIPPO, "serve", "--state", self.state,
                "--listen", f"127.0.0.1:{self.ports[0]}",
                "--rpc", self.rpc, "--http", f"127.0.0.1:{self.ports[2]}",
                "--trainer-timeout", str(TRAINER_TIMEOUT),
                "--checkpoint-budget", CHECKPOINT_BUDGET, *more]

    def start(self):
        self.service = Program("service", self.serve_command(),
                               self.path("service.log"))
        for i in range(TRAINERS):
            port = self.proxy.port if i == 0 else self.ports[0]
            self.trainers.append(Program(
                f"trainer {i}",
                [TRAINER, "--connect", f"127.0.0.1:{port}"],
                self.path(f"trainer-{i}.log")))
        with self.again(lambda: hippo.connect(self.rpc, timeout=60)) as client:
            train = self.options.train
            for x in (study("soak-sha", {"sha": {"eta": 3, "min": 1}}, train, 18),
                      study("soak-tpe", {"tpe": {"startup": 4,
                                                 "max_concurrent": 3}},
                            train, 10)):
                self.studies.append(client.submit(x).id)
        self.witness = Witness(self.rpc, self.studies)
        self.witness.start()
        # A study from the command line, one from Python, one from C++.
        with open(self.path("cli.yaml"), "w") as out:
            json.dump(study("soak-asha", {"asha": {"eta": 3, "min": 1}},
                            self.options.train, 16), out)
        said = subprocess.run(
            [HIPPO, "submit", self.path("cli.yaml"), "--server", self.rpc],
            stdout=subprocess.PIPE, text=True, check=True)
        asha = int(said.stdout.split()[-1])
        self.studies.append(asha)
        self.clients = [Program(
            "command line", [HIPPO, "watch", str(asha), "--server", self.rpc],
            self.path("watch.log"))]
        python = threading.Thread(target=self.drive, daemon=True)
        python.start()
        self.drivers = [python]
        if self.options.example:
            self.example = Program(
                "C++ client",
                [self.options.example, self.rpc, EVOLUTION],
                self.path("example.log"))

    def drive(self):
        """A client that decides, and does not mind what happens meanwhile."""
        chooser = random.Random(7)
        spec = study("soak-client", "client", self.options.train, 12)
        rates = [0.1, 0.05, {"multistep": {"initial": 0.1, "milestones": [3, 6],
                                           "gamma": 0.3}}]
        client = self.again(lambda: hippo.connect(self.rpc, timeout=PATIENCE))
        mine = self.again(lambda: client.submit(spec))
        self.studies.append(mine.id)
        for _ in range(8):
            params = {"lr": chooser.choice(rates), "batch_size": 32}
            trial = self.again(lambda: mine.ask(params))  # may leave one unused
            for until in (2, 5, 9):
                values = trial.train(until)
                if values["val_accuracy"] < 0.2:
                    break
                time.sleep(self.options.seconds / 60)
        self.again(mine.close)

    @staticmethod
    def again(f):
        """Calls until it works: what is not repeated for us we do repeat."""
        for _ in range(600):
            try:
                return f()
            except (hippo.Disconnected, hippo.Timeout):
                time.sleep(0.2)
        raise AssertionError("the service does not come back")

    # -- the monkey -----------------------------------------------------------

    def faults(self):
        result = [
            ("kill the service", 3, self.kill_service),
            ("stop the service for a while", 1, self.stop_service),
            ("kill a trainer", 4, self.kill_trainer),
            ("stop a trainer for long", 2, self.stop_trainer),
            ("let a trainer leave", 2, self.leave_trainer),
            ("cut a connection", 3, self.proxy.cut),
            ("kill a client", 1, self.kill_client),
            ("damage a checkpoint", 3, self.damage_checkpoint),
        ]
        if self.mounted:
            result.append(("fill the disk", 2, self.fill_disk))
        return result

    def kill_service(self):
        self.service.kill()
        time.sleep(self.random.random())
        self.service.start()

    def stop_service(self):
        self.service.signal(signal.SIGSTOP)
        time.sleep(1 + 2 * self.random.random())
        self.service.signal(signal.SIGCONT)

    def kill_trainer(self):
        x = self.random.choice(self.trainers)
        x.kill()
        x.start()

    def stop_trainer(self):
        x = self.random.choice(self.trainers)
        x.signal(signal.SIGSTOP)
        time.sleep(TRAINER_TIMEOUT + 2)
        x.signal(signal.SIGCONT)

    def leave_trainer(self):
        x = self.random.choice(self.trainers)
        if not x.leave():
            raise AssertionError(f"{x.name} does not leave")
        x.start()

    def kill_client(self):
        x = self.random.choice(self.clients)
        x.kill()
        x.start()

    def damage_checkpoint(self):
        files = [os.path.join(folder, name)
                 for folder, _, names in os.walk(
                     os.path.join(self.state, "checkpoints"))
                 for name in sorted(names) if name.endswith(".ckpt")]
        if not files:
            return
        path = self.random.choice(files)
        try:
            if self.random.random() < 0.5:
                os.remove(path)
                return
            with open(path, "r+b") as file:
                file.seek(self.random.randrange(os.path.getsize(path)))
                file.write(b"\x55\xaa")
        except OSError:
            pass  # the service was quicker

    def fill_disk(self):
        path = os.path.join(self.disk, "filler")
        try:
            with open(path, "wb") as file:
                while True:
                    file.write(b"x" * (1 << 16))
        except OSError:
            pass
        time.sleep(2 + 2 * self.random.random())
        os.remove(path)

    def figure(self, name):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.ports[2]}/metrics", timeout=10) as page:
            for line in page.read().decode().splitlines():
                if line.startswith(name + " "):
                    return int(float(line.split()[-1]))
        raise AssertionError(f"no figure {name}")

    def keep_busy(self):
        """Submits one more study when there is little left to do."""
        with self.again(lambda: hippo.connect(self.rpc, timeout=60)) as client:
            if sum(not x.ended for x in self.again(client.studies)) > 2:
                return
            self.rounds += 1
            algorithm = [{"sha": {"eta": 3, "min": 1}},
                         {"asha": {"eta": 3, "min": 1}},
                         {"tpe": {"startup": 4, "max_concurrent": 4}}][
                             self.rounds % 3]
            more = study(f"soak-{self.rounds}", algorithm, self.options.train,
                         14)
            more["space"]["lr"] = {"multistep": {
                "initial": {"log_uniform": [0.01, 0.2], "points": 4},
                "milestones": [self.random.randrange(2, 8)],
                "gamma": {"choice": [0.1, 0.3, self.random.uniform(0.4, 0.9)]}}}
            self.studies.append(self.again(lambda: client.submit(more)).id)

    def torment(self):
        faults = self.faults()
        end = time.monotonic() + self.options.seconds
        while time.monotonic() < end:
            self.keep_busy()
            name, _, f = self.random.choices(
                faults, [weight for _, weight, _ in faults])[0]
            self.counts[name] += 1
            print(f"{self.options.seconds - (end - time.monotonic()):6.1f} s  "
                  f"{name}", flush=True)
            f()
            time.sleep(self.random.uniform(0.5, 4))

    # -- afterwards -----------------------------------------------------------

    def wait_for_all(self):
        deadline = time.monotonic() + PATIENCE
        for thread in self.drivers:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the Python client is not done"
        # What is not repeated for it ends the example: it may begin anew then.
        while self.example and self.example.process.wait(PATIENCE) != 0:
            assert time.monotonic() < deadline, "the C++ client is not done"
            self.counts["start the C++ client anew"] += 1
            self.example.start()
        with self.again(lambda: hippo.connect(self.rpc, timeout=60)) as client:
            self.studies = [x.id for x in client.studies()]
            for x in client.studies():
                if x.name in ("evolution", "soak-client") and not x.ended:
                    # Its client is gone, or never heard of its submission.
                    with contextlib.suppress(hippo.InvalidArgument):  # it ended
                        self.again(client.study(x.id).close)
            while True:
                infos = client.studies()
                if all(x.ended for x in infos):
                    break
                assert time.monotonic() < deadline, \
                    f"not complete: {[(x.name, x.state) for x in infos]}"
                time.sleep(0.5)
            for x in infos:
                assert x.state == "COMPLETE", (x.name, x.state, x.reason)
        self.trained = self.figure("hippo_trained_steps_total")
        self.measured = self.figure("hippo_results")

    def check_what_was_seen(self):
        """Nothing that a client has seen may be lost or changed."""
        count = 0
        with self.again(lambda: hippo.connect(self.rpc, timeout=60)) as client:
            self.results = {}
            for number in self.studies:
                x = client.study(number)
                now = {e.id: (e.trial, e.step, dict(e.metrics or {}))
                       for e in x.events()}
                for event, what in self.witness.seen[number].items():
                    assert now.get(event) == what, (number, event, what)
                    count += 1
                trials = {t.number: t for t in x.trials}
                for trial, step, values in now.values():
                    if values:
                        self.results.setdefault(
                            (number, trial),
                            (x.info.workload, trials[trial].params, {})
                        )[2][step] = values
                # A learning rate may be too high; nothing else may fail.
                failed = [t for t in trials.values() if t.state == "FAILED"
                          and "diverged" not in t.failure]
                assert not failed, [(t.number, t.failure) for t in failed]
        assert count > 0, "the witness has seen nothing"
        return count

    def check_alone(self):
        """Every result must be what training its trial alone gives."""
        state = self.path("alone")
        port = free_port()
        alone = Program(
            "alone",
            [HIPPO, "serve", "--state", state, "--merge", "off",
             "--trainers", "2", "--listen", "127.0.0.1:0",
             "--rpc", f"127.0.0.1:{port}", "--http", "127.0.0.1:0"],
            self.path("alone.log"))
        compared = 0
        try:
            with self.again(lambda: hippo.connect(
                    f"127.0.0.1:{port}", timeout=60)) as client:
                spec = study("alone", "client", self.options.train,
                             len(self.results) + 1)
                evolved = study("evolved", "client", 2048, 100)
                one = client.submit(spec)
                other = client.submit(evolved)
                wanted = collections.defaultdict(dict)
                for (workload, params, results) in self.results.values():
                    key = json.dumps(params, sort_keys=True)
                    wanted[workload, key].update(results)
                pending = []
                for (workload, key), results in wanted.items():
                    place = one if workload == one.info.workload else other
                    trial = place.ask(json.loads(key))
                    pending.append((trial, place, results,
                                    trial.train_async(max(results))))
                for trial, place, results, future in pending:
                    try:
                        future.result(PATIENCE)
                    except hippo.TrialFailed as why:
                        raise AssertionError(
                            f"alone it fails: {trial.params} has {results}"
                        ) from why
                for place in (one, other):
                    truth = collections.defaultdict(dict)
                    for e in place.events():
                        if e.metrics:
                            truth[e.trial][e.step] = dict(e.metrics)
                    for trial, where, results, _ in pending:
                        if where is not place:
                            continue
                        for step, values in results.items():
                            assert truth[trial.number][step] == values, \
                                (trial.params, step, values)
                            compared += 1
        finally:
            alone.leave()
        return compared

    def end(self):
        self.witness.over.set()
        programs = [self.service, *self.trainers, *self.clients]
        if self.example:
            programs.append(self.example)
        clean = [x.name for x in reversed(programs) if not x.leave()]
        assert not clean, f"had to be killed in the end: {clean}"

    def sizes(self):
        database = sum(os.path.getsize(os.path.join(self.state, x))
                       for x in os.listdir(self.state)
                       if x.startswith("hippo.db"))
        checkpoints = sum(
            os.path.getsize(os.path.join(folder, name))
            for folder, _, names in os.walk(
                os.path.join(self.state, "checkpoints")) for name in names)
        return database, checkpoints

    def clean(self):
        for x in [self.service, *self.trainers, *self.clients]:
            x.signal(signal.SIGCONT)
            x.kill()
        if self.mounted:
            subprocess.run(["umount", "--lazy", self.disk], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--train", type=int, default=2048,
                        help="training examples: how long a step takes")
    parser.add_argument("--example", help="examples/client, built")
    options = parser.parse_args()
    soak = Soak(options)
    begin = time.monotonic()
    good = False
    try:
        soak.start()
        soak.torment()
        soak.wait_for_all()
        seen = soak.check_what_was_seen()
        database, checkpoints = soak.sizes()
        soak.end()
        compared = soak.check_alone()
        good = True
    finally:
        if not good:
            for name in sorted(os.listdir(soak.folder)):
                if name.endswith(".log"):
                    with open(soak.path(name), errors="replace") as log:
                        lines = log.read().splitlines()[-15:]
                    print(f"-- {name}", *lines, sep="\n", file=sys.stderr)
        soak.clean()
    print(f"\nseed {options.seed}, {time.monotonic() - begin:.0f} s in all")
    for name, count in sorted(soak.counts.items()):
        print(f"  {count:4}  {name}")
    if not soak.mounted:
        print("        (no disk to fill: no right to mount one)")
    print(f"events that clients saw, all there in the end: {seen}")
    print(f"results equal to training alone, bit for bit:  {compared}")
    # Each step is measured. More steps than results were trained again: their
    # reports or checkpoints were lost or given up, or they diverge.
    print(f"studies: {len(soak.studies)}; steps trained: {soak.trained}; "
          f"distinct results: {soak.measured}")
    print(f"database {database >> 10} KiB, checkpoints {checkpoints >> 10} KiB")


if __name__ == "__main__":
    main()
