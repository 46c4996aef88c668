#!/usr/bin/env python3
"""The files of examples/deploy for SkyPilot and dstack: their tools take them,
and their commands start a trainer that leaves when its machine has to go."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import programs
from preemption_test import start_cloud
from programs import Case, wait_for

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"
VENV = ROOT / ".cache" / "launch-venv"

# The code by which the files know a trainer that was told to leave.
LEFT = 75


@unittest.skipUnless((VENV / "stamp").exists(),
                     "scripts/setup has not made .cache/launch-venv")
class Launchers(Case):
    def check(self, tool, *paths):
        """Shows files to their tool, which takes seconds to start.
        @returns of each what is in it, or the reasons against it as a text"""
        done = subprocess.run(
            [VENV / "bin" / "python", "-B",
             pathlib.Path(__file__).parent / "launch_files.py", tool, *paths],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=programs.PATIENCE)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return [json.loads(x) for x in done.stdout.splitlines()]

    def serve(self):
        """Starts a service with keys, and a stand-in for the cloud."""
        keys = self.path("keys")
        self.hippo("keys", "init", "--keys", keys)
        for name, role in (("spot", "trainer"), ("ada", "client")):
            self.hippo("keys", "add", name, "--role", role, "--keys", keys)
        self.start("serve", "--state", self.path("state"), "--keys", keys,
                   "--listen", "127.0.0.1:0", "--rpc", "127.0.0.1:0",
                   "--http", "127.0.0.1:0")
        self.trainers, self.rpc = wait_for("the service", lambda: re.findall(
            r"127\.0\.0\.1:\d+", self.stderr())[2:] and re.findall(
                r"127\.0\.0\.1:\d+", self.stderr()))[:2]
        self.cloud = start_cloud(self)

    def of_stand_in(self, text):
        """Commands that ask the stand-in in place of the cloud."""
        self.assertEqual(1, text.count("--cloud aws"))
        return text.replace(
            "--cloud aws", "--cloud aws --every 0.05 --address "
            f"http://127.0.0.1:{self.cloud.server_port}/")

    def launch(self, *command, **env):
        """Runs the commands of a file with the given variables."""
        with open(self.path("keys", "spot.pem")) as file:
            key = file.read().rstrip("\n")  # as $(cat ...) has it
        log = open(self.path("log"), "w")
        self.addCleanup(log.close)
        # As both tools do it: an interactive shell, whose signals come from
        # elsewhere.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, cwd=self.folder,
            env={**os.environ, "HOME": self.path("home"),
                 "TMPDIR": self.folder, "HIPPO_TRAINER_KEY": key,
                 "HIPPO_SERVICE": self.trainers, **env})
        self.addCleanup(self.end_session, process)
        wait_for("the trainer", lambda: self.trainer()
                 or process.poll() is not None)
        self.assertIsNone(process.poll(), self.log())
        return process

    @staticmethod
    def end_session(process):
        """Kills the shell and all that it has started, in whichever group."""
        if process.poll() is None:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError):
                    if os.getsid(int(pid)) == process.pid:
                        os.kill(int(pid), signal.SIGKILL)
        process.wait()

    def log(self):
        with open(self.path("log")) as file:
            return file.read()

    def trainer(self):
        """The trainer, as the service knows it; None: there has been none."""
        said = self.hippo("top", "--once", "--all", "-f", "json", "--columns",
                          "lost,notice_seconds", "--server", self.rpc,
                          "--keys", self.path("keys", "ada.pem")).out
        return next(iter(json.loads(said)), None)

    @staticmethod
    def words_of(pid):
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().split("\0")

    def assert_trainer(self, process):
        """The process has become the one that asks the cloud, and the trainer
        its only child; the key is a file of this user alone."""
        (child,) = programs.children(process.pid)
        self.assertTrue(self.words_of(process.pid)[1].endswith("/preemption"))
        words = self.words_of(child)
        self.assertEqual("hippo-trainer", os.path.basename(words[0]))
        self.assertEqual(120, self.trainer()["notice_seconds"])
        self.assertEqual("all", words[words.index("--device") + 1])
        key = words[words.index("--keys") + 1]
        self.assertEqual(0o600, os.stat(key).st_mode & 0o777)
        with open(f"/proc/{child}/environ") as file:
            self.assertNotIn("HIPPO_TRAINER_KEY", file.read())

    def assert_left(self, process):
        self.assertEqual(LEFT, process.wait(programs.PATIENCE), self.log())
        wait_for("its end", lambda: self.trainer()["lost"])
        self.assertEqual("has left", self.trainer()["lost"])

    def link(self, source, target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(source, target)

    def test_skypilot(self):
        file, = self.check("skypilot", DEPLOY / "skypilot.yaml")
        self.assertEqual([LEFT], file["resources"]["job_recovery"]
                         ["recover_on_exit_codes"])
        self.assertEqual({"HIPPO_TRAINER_KEY": None}, file["secrets"])
        self.assertEqual(["HIPPO_SERVICE"], list(file["envs"]))
        subprocess.run(["bash", "-n"], input=file["setup"], text=True,
                       check=True)
        self.serve()
        for there, here in file["file_mounts"].items():
            self.link(ROOT / here, there.replace("~", self.path("home")))
        # Made by `setup`.
        for name, program in (("hippo-trainer", programs.TRAINER),
                              ("python3", sys.executable)):
            self.assertIn(f"~/hippo/bin/{name}", file["run"])
            self.link(os.path.abspath(program),
                      self.path("home", "hippo", "bin", name))
        process = self.launch("bash", "-i", self.write(
            "run.sh", self.of_stand_in(file["run"])))
        self.assert_trainer(process)
        self.cloud.goes.set()
        self.assert_left(process)
        self.assertIn("preemption: the machine has to go", self.log())

    def test_dstack(self):
        file, fleet = self.check("dstack", DEPLOY / "dstack.yml",
                                 DEPLOY / "dstack-fleet.yml")
        for key in ("resources", "backends", "spot_policy"):
            self.assertEqual(file[key], fleet[key])
        self.assertIn("error", file["retry"]["on_events"])
        self.assertEqual(["HIPPO_SERVICE", "HIPPO_TRAINER_KEY"],
                         [x.partition("=")[0] for x in file["env"]])
        self.serve()
        # So the tool joins them.
        text = self.of_stand_in(" && ".join(file["commands"]))
        for x in file["files"]:
            here, there = x.split(":")
            self.assertIn(there, text)
            text = text.replace(there, str(DEPLOY / here))
        self.link(os.path.abspath(programs.TRAINER),
                  self.path("image", "hippo-trainer"))
        process = self.launch("sh", "-i", "-c", text, PATH=os.pathsep.join(
            [self.path("image"), os.environ["PATH"]]))
        self.assert_trainer(process)
        process.send_signal(signal.SIGINT)  # as its runner stops a task
        self.assert_left(process)

    def test_other_files_are_refused(self):
        mistakes = {
            "skypilot": [
                ("skypilot.yaml", "use_spot:", "use_spots:",
                 "'use_spots' was unexpected"),
                ("skypilot.yaml", "infra: aws", "infra: awss",
                 r"\$\.infra: 'awss' does not match"),
                ("skypilot.yaml", "[75]", "[256]", r"\$\.job_recovery: .*256"),
                ("skypilot.yaml", "num_nodes: 1", "num_nodes: a",
                 r"\$\.num_nodes: 'a' is not of type 'integer'"),
                ("skypilot.yaml", "file_mounts:", "mounts:",
                 "'mounts' was unexpected")],
            "dstack": [
                ("dstack.yml", "spot_policy: spot", "spot_policy: cheap",
                 "spot_policy"),
                ("dstack.yml", "no-capacity", "preemption", "on_events"),
                ("dstack.yml", "gpu: A100:1", "gpus: A100:1",
                 r"gpus\n +Extra inputs"),
                ("dstack.yml", "files:", "file:", r"file\n +Extra inputs"),
                ("dstack-fleet.yml", "0..8", "8..0", "nodes")]}
        for tool, rows in mistakes.items():
            paths = []
            for name, there, here, _ in rows:
                text = (DEPLOY / name).read_text()
                self.assertEqual(1, text.count(there), there)
                paths.append(self.write(f"{len(paths)}.yaml",
                                        text.replace(there, here)))
            for row, said in zip(rows, self.check(tool, *paths), strict=True):
                with self.subTest(row[2]):
                    self.assertIsInstance(said, str)
                    self.assertRegex(said, row[3])


if __name__ == "__main__":
    programs.main()
