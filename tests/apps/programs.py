"""Runs hippo as a user would, and looks at what it leaves.

The environment says where the programs are: HIPPO, HIPPO_TRAINER.
"""

import copy
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

HIPPO = os.environ["HIPPO"]
TRAINER = os.environ["HIPPO_TRAINER"]
# Fashion-MNIST unpacked (plain_data.py), which every trainer reads whole.
PLAIN_DATA = os.environ.get("PLAIN_DATA")

# On a busy machine everything takes long; nothing here waits this long twice.
PATIENCE = 180

LR = {"choice": [
    {"constant": 0.1},
    {"multistep": {"initial": 0.1, "milestones": [4, 6], "gamma": 0.1}},
    {"warmup": {"steps": 2, "from": 0.01, "to": 0.1,
                "then": {"cosine": {"horizon": 7, "end": 0.001}}}}]}
BATCH_SIZE = {"choice": [
    32, {"multistep": {"initial": 32, "milestones": [4], "gamma": 2}}]}
MOMENTUM = {"choice": [0.9, {"piecewise": [[0, 0.8], [3, 0.9]]}]}


def fashion(train):
    """The images of a study."""
    return {"train": train, "validation": 128,
            **({"folder": PLAIN_DATA} if PLAIN_DATA else {})}


def study(name, algorithm, every=1, steps=9, train=256, **space):
    """A study over 12 combinations, or over another space."""
    return {
        "study": name,
        "workload": {"name": "fashion-mlp", "seed": 1,
                     "data": fashion(train)},
        "objective": {"metric": "val_accuracy", "direction": "maximize"},
        "max_steps": steps,
        "eval_every": every,
        "space": copy.deepcopy(space or {
            "lr": LR, "batch_size": BATCH_SIZE, "momentum": MOMENTUM}),
        "algorithm": algorithm,
    }


def summing(pause_ms=50, **more):
    """A workload of a program that adds up its learning rates, and lets so
    long pass at each step."""
    return {"command": [os.environ["SUM_PROCESS"]], "packages": {"sum": "1"},
            "args": {"pause_ms": pause_ms}, **more}


SHA = {"sha": {"eta": 3, "min": 1}}


def on_terminal(command, columns=80, heard=lambda process, text: None, **popen):
    """Runs a command on a terminal. After each part of its output
    `heard(process, text)` gets all of it so far.

    @returns its exit code and its output
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs,
                               **popen)

    def end():
        """What is written last may be lost once no one has the terminal open,
        so it is kept open until this mark has come."""
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.write(theirs, b"\0")

    ending = threading.Thread(target=end)
    ending.start()
    said = b""
    try:
        while not said.endswith(b"\0"):
            said += os.read(ours, 65536)
            heard(process, said.decode(errors="replace"))
    finally:
        ending.join()
        os.close(theirs)
        os.close(ours)
    return process.returncode, said[:-1].decode()


class Done:
    """A program that has ended."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err


def is_alive(pid):
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def with_variable(name, value):
    """The processes of this user that have a variable of that value."""
    wanted = f"{name}={value}".encode()
    result = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    result.append(int(pid))
        except OSError:
            continue  # another user's, or it has ended
    return result


def children(pid):
    """The processes that a process has started."""
    result = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if int(fields[1]) == pid and fields[0] not in "ZX":
            result.append(int(name))
    return result


def trainers(pid):
    """The trainers of a hippo, in the order in which they were started."""
    result = []
    for child in sorted(children(pid)):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as line:
                if b"--connect" in line.read():
                    result.append(child)
        except OSError:
            pass
    return result


def wait_for(what, condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


class Case(unittest.TestCase):
    """A test with a folder of its own, in which no process is left behind."""

    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hippo-apps-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    @classmethod
    def first_case(cls, begin=None):
        """Returns a case whose folder lasts until all tests of the class have
        ended, for what these have in common.

        Args:
            begin: the class whose `setUp` begins it; by default this one.
        """
        case = cls()
        (begin or cls).setUp(case)
        cls.addClassCleanup(case.doCleanups)
        return case

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        """Writes a study file and returns its path."""
        with open(self.path(name), "w") as out:
            out.write(content if isinstance(content, str)
                      else json.dumps(content, indent=1))
        return self.path(name)

    def copied(self, state):
        """Copies a state folder to that of this test, which may change it."""
        return shutil.copytree(state, self.path("state"), symlinks=True)

    def studies(self, *xs):
        return [self.write(x["study"] + ".yaml", x) for x in xs]

    def start(self, *args, **options):
        """Starts hippo; it is ended with the test."""
        err = open(self.path("stderr"), "w+")
        self.addCleanup(err.close)
        options.setdefault("stderr", err)
        process = subprocess.Popen(
            [HIPPO, *map(str, args)], stdin=subprocess.DEVNULL, text=True,
            stdout=options.pop("stdout", subprocess.PIPE), **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()

    def stderr(self):
        with open(self.path("stderr")) as said:
            return said.read()

    def finish(self, process, code, seconds=PATIENCE):
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.fail(f"hippo does not end:\n{self.stderr()}")
        err = self.stderr()
        self.assertEqual(process.returncode, code, err)
        return Done(process.returncode, out, err)

    def hippo(self, *args, code=0, env=None):
        """Runs hippo to its end."""
        before = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        said = subprocess.run(
            [HIPPO, *map(str, args)], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
            env={**before, **(env or {})})
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return Done(said.returncode, said.stdout, said.stderr)

    def run_studies(self, files, state, *args, code=0):
        """Runs studies and returns their report."""
        self.hippo("run", *files, "--state", self.path(state), *args,
                   code=code)
        return self.report(state)

    def report(self, state):
        return read_report(self.path(state, "report", "latest", "report.json"))

    def first_trial(self, process):
        """Waits until a trial has ended, in the middle of the run."""
        wait_for("the first trial",
                 lambda: "Trial" in self.stderr() or process.poll())
        self.assertIsNone(process.poll(), self.stderr())

    def assert_nothing_half_written(self, state, killed=0):
        """@param killed trainers, each of which may have left a checkpoint
        that it was writing: it is removed ten minutes later"""
        half = [os.path.join(folder, name)
                for folder, _, files in os.walk(self.path(state))
                for name in files
                if ".tmp" in name or name.endswith((".new", ".part"))]
        left = [x for x in half if x.endswith(".part")]
        self.assertEqual(half, left)
        self.assertLessEqual(len(left), killed, left)


def read_report(path):
    """Numbers with a point stay the text that they are: equal means equal."""
    with open(path) as text:
        return json.load(text, parse_float=str)


def results(report):
    """What the promise is about: states and results of every trial."""
    return {
        x["name"]: {
            "best": x["best"],
            "trials": {y["id"]: (y["state"], y["steps"], y["params"],
                                 y["results"])
                       for y in x["trials"]},
        } for x in report["studies"]}


def send(process, number):
    os.kill(process.pid, number)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
