"""What the tests of code that studies bring have in common."""

import json
import os
import re
import socket
import stat
import subprocess

from programs import (HIPPO, PATIENCE, TRAINER, Case, Done, read_report,
                      results, wait_for)

# The trainer that trains built-in workloads; TRAINER has no LibTorch here.
TORCH_TRAINER = os.environ.get("TORCH_TRAINER")

# The state follows from the steps before it; nothing but floats.
TRAIN = """\
import random

import hippo_hpo as hippo


class Net(hippo.Workload):
    def setup(self, seed, device, args):
        self.seed, self.args = seed, args

    def init(self):
        self.state = {"w": 0.0, "v": 0.0}

    def train(self, start, stop, hp):
        for step in range(start, stop):
            draw = random.Random(f"{self.seed} {step}").random()
            momentum = hp.momentum(step) if "momentum" in hp else 0.5
            self.state["v"] = momentum * self.state["v"] + draw
            self.state["w"] += hp.lr(step) * self.state["v"]
            self.after(step, hp.lr(step))

    def after(self, step, lr):
        pass

    def evaluate(self):
        return {"val": self.state["w"] / 3}

    def state_dict(self):
        return dict(self.state)

    def load_state_dict(self, state):
        self.state = dict(state)
"""

# Three trials of 6 steps: 18 are asked for, 11 of them are different ones.
LR = {"choice": [
    0.1,
    {"multistep": {"initial": 0.1, "milestones": [3], "gamma": 0.1}},
    {"multistep": {"initial": 0.1, "milestones": [4], "gamma": 0.1}}]}
ASKED, UNIQUE = 18, 11


def python(**more):
    """A workload of the class in train.py."""
    return {"python": "train.py:Net", "seed": 1, **more}


def study(name="s", workload=None, steps=6, **space):
    return {"study": name,
            "workload": workload or python(),
            "objective": {"metric": "val", "direction": "maximize"},
            "max_steps": steps,
            "space": space or {"lr": LR},
            "algorithm": "grid"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class OwnCode(Case):
    """A folder with a study and its code, looked at from within."""

    def setUp(self):
        super().setUp()
        self.started = 0
        self.env = {"XDG_STATE_HOME": self.path("known")}
        self.write("train.py", TRAIN)

    def hippo(self, *args, code=0, env=None):
        """Runs hippo to its end, in the folder."""
        said = subprocess.run(
            [HIPPO, *map(str, args)], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
            cwd=self.folder, env={**os.environ, **self.env, **(env or {})})
        self.assertEqual(said.returncode, code, said.stdout + said.stderr)
        return Done(said.returncode, said.stdout, said.stderr)

    def begin(self, *args, env=None):
        """Starts hippo in the folder; it is ended with the test."""
        return self.start(*args, cwd=self.folder,
                          env={**os.environ, **self.env, **(env or {})})

    def change(self, old, new, name="train.py"):
        """Replaces a text that a file has once."""
        with open(self.path(name)) as file:
            text = file.read()
        self.assertEqual(text.count(old), 1, old)
        self.write(name, text.replace(old, new))

    def after(self, *lines, head="", name="train.py"):
        """Lets the class do something after each step."""
        body = "".join(f"        {x}\n" for x in lines)
        self.change("    def after(self, step, lr):\n        pass\n",
                    "    def after(self, step, lr):\n" + body, name)
        if head:
            self.change("import random\n", f"import random\n{head}\n", name)

    def program(self, name, text):
        """Writes a file that can be run."""
        path = self.write(name, text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def run_study(self, x, state="state", *args, code=0, env=None):
        """Runs a study. @returns its report, and what hippo has said"""
        self.write(x["study"] + ".yaml", x)
        done = self.hippo("run", x["study"] + ".yaml", "--state", state,
                          *args, code=code, env=env)
        report = read_report(self.path(state, "report", "latest",
                                       "report.json"))
        return report, done

    def assert_as_alone(self, x):
        """Expects the results that trials have without each other.
        @returns the report of the run in which they share"""
        shared, _ = self.run_study(x, "shared", "--trainers", 2)
        alone, _ = self.run_study(x, "alone", "--merge", "off")
        self.assertEqual(results(shared), results(alone))
        self.assertEqual(alone["trained_steps"], alone["asked_steps"])
        self.assertEqual(shared["trained_steps"], shared["unique_steps"])
        self.assertLess(shared["trained_steps"], shared["asked_steps"])
        for trial in shared["studies"][0]["trials"]:
            self.assertEqual(trial["state"], "COMPLETE")
            self.assertEqual(len(trial["results"]), x["max_steps"])
        return shared

    def read(self, *names):
        with open(self.path(*names)) as file:
            return file.read()

    def await_file(self, name):
        """Waits for a file and returns what a line of it says."""
        path = self.path(name)

        def whole():
            if os.path.exists(path):
                text = self.read(name)
                return text if text.endswith("\n") else None
            return None
        return wait_for(name, whole).strip()


class Serving(OwnCode):
    """With a service, and trainers that are started by hand."""

    def serve(self, *args, ports=None):
        """Starts a service; knows how to reach it from then on."""
        trainers, clients = ports or (0, 0)
        with open(self.path("stderr"), "w"):
            pass  # what the last one said
        service = self.begin(
            "serve", "--state", self.path("state"),
            "--listen", f"127.0.0.1:{trainers}",
            "--rpc", f"127.0.0.1:{clients}", "--http", "127.0.0.1:0",
            "--trainers", 0, *args)

        def find(who):
            self.assertIsNone(service.poll(), self.stderr())
            return re.findall(who + r" connect to (127\.0\.0\.1:\d+)",
                              self.stderr())
        self.address = wait_for("the service",
                                lambda: find("trainers"))[0]
        self.env["HIPPO_SERVER"] = wait_for("the service",
                                            lambda: find("clients"))[0]
        return service

    def trainer(self, *args, around=()):
        """Starts a trainer; `log` of it is the path of what it says."""
        self.started += 1
        log = self.path(f"trainer-{self.started}.log")
        with open(log, "w") as err:
            process = subprocess.Popen(
                [*around, TRAINER, "--connect", self.address,
                 *map(str, args)],
                stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        process.log = log
        self.addCleanup(self.end, process)
        return process

    def elsewhere(self):
        """How a program is started that does not see the state folder."""
        hidden = ("unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs none "$0" && exec "$@"', self.path("state"))
        if subprocess.run([*hidden, "true"], stdin=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("nothing can be hidden from a process here")
        return hidden

    def submit(self, x, *args, code=0):
        self.write(x["study"] + ".yaml", x)
        return self.hippo("submit", x["study"] + ".yaml", *args, code=code)

    def listed(self, name):
        """What `hippo ls` says of a study."""
        found = json.loads(self.hippo("ls", "-f", "json").out)
        return next(x for x in found if x["name"] == name)

    def await_end(self, name="s", state="COMPLETE"):
        wait_for(f"the end of {name}",
                 lambda: self.listed(name)["state"] == state)

    def await_line(self, text):
        """Waits until the service says something."""
        wait_for(text, lambda: text in self.stderr())
