#!/usr/bin/env python3
"""`hippo deploy`: what trainers take on the machines of others."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

import programs
from programs import Case, wait_for

VENV = pathlib.Path(__file__).resolve().parents[2] / ".cache/python-venv/bin"
VALIDATE = VENV / "kubernetes-validate"

JOBS = """
service: gpu-lab:4848
trainers:
  - {name: a100, count: 16, gpus: 1, cpus: 4, memory: 32Gi, time: 08:00:00}
  - {name: cpu, count: 2, cpus: 2, python: /venv/bin/python}
"""

PODS = """
service: {image: hippo:1, storage: 100Gi, storage_class: fast}
prometheus: http://prometheus.monitoring:9090
trainers:
  - name: spot
    image: hippo-trainer:1
    count: 0
    count_max: 16
    gpus: 1
    cpus: 4
    memory: 32Gi
    notice_seconds: 30
    nodes: {cloud.example.org/gpu: "true"}
    tolerate: [nvidia.com/gpu, cloud.example.org/spot]
  - {name: cpu, image: hippo-trainer:1, count: 2, queue: batch}
"""

# What runs commands for a host that is this machine, with a home of its own.
FAKE_SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
mkdir -p "$HOSTS/$2"
HOME="$HOSTS/$2" && export HOME && cd && shift 2 && exec sh -c "$*"
"""


class DeployCase(Case):
    def deploy(self, target, machines, *args, code=0):
        return self.hippo("deploy", target,
                          self.write("machines.yaml", machines), *args,
                          code=code)

    def make_keys(self, *names):
        self.hippo("keys", "init", "--keys", self.path("keys"))
        for name in names:
            self.hippo("keys", "add", name, "--role", "trainer", "--keys",
                       self.path("keys"))
        return f"keys: {self.path('keys')}"


class Printed(DeployCase):
    def assert_script(self, text):
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        if shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", "-s", "bash", "-"],
                                  input=text, text=True, capture_output=True)
            self.assertEqual("", done.stdout)

    def test_a_batch_script(self):
        text = self.deploy("slurm", JOBS, "--trainers", "a100").out
        self.assert_script(text)
        self.assertIn("#SBATCH --gpus=1\n", text)
        self.assert_script(self.deploy("slurm", JOBS.replace(
            "service:", "insecure: true\nservice:"), "--trainers", "cpu").out)

    def test_which_trainers_a_batch_script_is_for(self):
        done = self.deploy("slurm", JOBS, code=2)
        self.assertEqual("", done.out)
        self.assertIn("say by --trainers which of a100, cpu", done.err)
        done = self.deploy("slurm", JOBS, "--trainers", "a10", code=2)
        self.assertIn("has no trainers 'a10', did you mean 'a100'?", done.err)

    def test_a_script_for_ssh(self):
        self.assert_script(self.deploy("ssh", """
service: "[fd00::5]:4848"
trainers:
  - {name: gpu, hosts: [gpu1, ada@gpu2], gpus: 2}
  - {name: cpu, hosts: [big], count: 4, program: /opt/hippo/bin/hippo-trainer}
""").out)

    def test_errors_say_where(self):
        done = self.deploy("ssh", "service: gpu-lab\ntrainers:\n"
                           "  - {name: gpu, host: [gpu1]}\n", code=2)
        self.assertEqual("", done.out)
        lines = done.err.splitlines()
        self.assertEqual(3, len(lines), lines)
        for line, (position, said) in zip(sorted(lines), sorted([
                ("1:10: service", "there is no port"),
                ("3:5: trainers[0]", "'hosts' is missing"),
                ("3:17: trainers[0].host", "did you mean 'hosts'?")])):
            self.assertIn(f"machines.yaml:{position}: ", line)
            self.assertIn(said, line)
        self.assertIn("slurm, kubernetes or ssh",
                      self.hippo("deploy", code=2).err)
        self.assertIn("nothing.yaml", self.hippo(
            "deploy", "ssh", self.path("nothing.yaml"), code=2).err)

    def test_pods_need_their_keys(self):
        keys = f"keys: {self.path('keys')}"
        done = self.deploy("kubernetes", keys + PODS, code=2)
        self.assertIn("hippo keys init", done.err)
        self.make_keys("cpu")
        done = self.deploy("kubernetes", keys + PODS, code=2)
        self.assertEqual("", done.out)
        self.assertIn("hippo keys add spot --role trainer", done.err)

    def test_the_service_takes_its_options(self):
        text = self.deploy("kubernetes", self.make_keys("spot", "cpu")
                           + PODS).out
        known = self.hippo("serve", "--help").out
        command = text[text.index("- serve\n"):text.index("ports:\n          ")]
        options = re.findall(r"- (--[a-z-]+)", command)
        self.assertGreater(len(options), 5)
        for option in options:
            self.assertRegex(known, re.escape(option) + r"\b")

    @unittest.skipUnless(VALIDATE.exists(), "scripts/setup has not installed "
                         "kubernetes-validate")
    def test_pods_keep_to_the_schemas(self):
        for machines, others in (
                (self.make_keys("spot", "cpu") + PODS, 1),
                ("insecure: true" + PODS, 1),
                ("insecure: true" + PODS.replace("prometheus:", "#"), 0)):
            text = self.deploy("kubernetes", machines).out
            # Of what is no part of Kubernetes there are no schemas.
            parts = [x for x in text.split("\n---\n")
                     if "kind: ScaledObject" not in x]
            self.assertEqual(len(parts),
                             len(text.split("\n---\n")) - others)
            self.assertEqual("kind: Role\n" in text, others == 0)
            self.assertIn("kueue.x-k8s.io/queue-name: batch\n", text)
            done = subprocess.run(
                [VALIDATE, "--strict", "-k", "1.31",
                 self.write("pods.yaml", "\n---\n".join(parts))],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            self.assertEqual(0, done.returncode, done.stdout)


class Ssh(DeployCase):
    """The script, with hosts that are folders of this machine."""

    def setUp(self):
        super().setUp()
        keys = self.make_keys("cpu")
        self.service = self.start(
            "serve", "--state", self.path("state"), "--keys",
            self.path("keys"), "--listen", "127.0.0.1:0", "--rpc",
            "127.0.0.1:0", "--http", "127.0.0.1:0")
        ports = wait_for("the service", lambda: re.findall(
            r"127\.0\.0\.1:(\d+)", self.stderr())[2:] and re.findall(
                r"127\.0\.0\.1:(\d+)", self.stderr()))
        text = self.deploy("ssh", f"""
service: gpu-lab:4848
{keys}
trainers:
  - name: cpu
    hosts: [near, far]
    count: 2
    program: {os.path.abspath(programs.TRAINER)}
    notice_seconds: 60
""").out
        self.write("trainers.sh", text.replace("gpu-lab:4848",
                                               f"127.0.0.1:{ports[0]}"))
        os.mkdir(self.path("bin"))
        os.chmod(self.write("bin/ssh", FAKE_SSH), 0o755)
        self.hippo("keys", "add", "ada", "--role", "client", "--keys",
                   self.path("keys"))
        self.rpc = f"127.0.0.1:{ports[1]}"

    def trainers_sh(self, *args, code=0):
        done = subprocess.run(
            ["bash", self.path("trainers.sh"), *args], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=2 * programs.PATIENCE,
            env={**os.environ, "HOSTS": self.path("hosts"),
                 "PATH": self.path("bin") + ":" + os.environ["PATH"]})
        self.assertEqual(code, done.returncode, done.stdout)
        return sorted(done.stdout.splitlines())

    def connected(self):
        said = self.hippo("top", "--once", "--server", self.rpc,
                          "--keys", self.path("keys", "ada.pem")).out
        return len(re.findall(r"\bidle\b", said))

    def test_start_and_stop(self):
        self.addCleanup(lambda: self.trainers_sh("stop"))
        said = self.trainers_sh("start")
        self.assertEqual(4, len(said), said)
        for line, name in zip(said, ["far: cpu-1", "far: cpu-2", "near: cpu-1",
                                     "near: cpu-2"]):
            self.assertRegex(line, rf"^{name} runs, process \d+$")
        wait_for("the trainers", lambda: self.connected() == 4)
        key = pathlib.Path(self.path("hosts/near/.hippo/cpu.pem"))
        self.assertEqual(0o600, key.stat().st_mode & 0o777)
        # Again starts nothing: the same processes.
        self.assertEqual(said, self.trainers_sh("start"))
        self.assertEqual(said, self.trainers_sh("status"))
        self.trainers_sh("stop", "far")
        said = self.trainers_sh("status", code=1)
        self.assertIn("far: cpu-1 does not run; its log ends:", said)
        self.assertTrue([x for x in said if x.startswith("near: cpu-1 runs")])
        wait_for("two to leave", lambda: self.connected() == 2)

    def test_what_cannot_start(self):
        with open(self.path("trainers.sh")) as file:
            text = file.read()
        self.write("trainers.sh", text.replace(
            os.path.abspath(programs.TRAINER), "/nowhere/hippo-trainer"))
        self.assertEqual(["far: there is no /nowhere/hippo-trainer",
                          "near: there is no /nowhere/hippo-trainer"],
                         self.trainers_sh("start", code=1))
        self.assertEqual(["other is none of: near far"],
                         self.trainers_sh("status", "other", code=2))
        self.assertIn("usage", self.trainers_sh("begin", code=2)[0])
        os.remove(self.path("keys/cpu.pem"))
        self.assertIn("hippo keys add cpu --role trainer",
                      self.trainers_sh("start", code=2)[0])


if __name__ == "__main__":
    programs.main()
