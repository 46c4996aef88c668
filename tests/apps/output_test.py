#!/usr/bin/env python3
"""What every verb prints, and to where it may: whole, or a code that is not 0.

A new verb is to be added to COMMANDS, or to SILENT if it prints nothing.
"""

import os
import re
import shutil
import signal
import subprocess

import own_code
import programs
from own_code import Serving, study
from programs import HIPPO, PATIENCE, TRAINER, wait_for

MERGING = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                       "examples", "merging")

# What prints nothing on stdout: it is said to people, on stderr.
SILENT = {"serve", "watch", "pause", "resume", "retry", "stop", "cancel",
          "set-weight", "extend", "enqueue", "fork", "tell-past", "rm", "tell",
          "close"}

# How each other verb is called so that it prints something. DIR is a state,
# {n} another number each time.
COMMANDS = {
    "run": "run s.yaml --state run-{n} --trainers 1",
    "open": "open --state state --print",
    "gc": "gc --state DIR --dry-run",
    "backup": "backup --state DIR backup-{n}",
    "restore": "restore backup --state restored-{n}",
    "simulate": "simulate decay.yaml --profile profile.yaml --trainers 1 "
                "--report sim-{n}",
    "preview": "preview decay.yaml",
    "profile": "profile s.yaml --steps 2",
    "check": "check s.yaml --steps 2",
    "ask-tell": "ask-tell decay.yaml",
    "sequence": "sequence 0.1",
    "algorithms": "algorithms",
    "keys": "keys init --keys keys-{n}",
    "token": "token new --name ann-{n} --role viewer --state DIR",
    "completion": "completion bash",
    "deploy": "deploy ssh machines.yaml",
    "submit": "submit c{n}.yaml",
    "ls": "ls --state DIR",
    "show": "show s --state DIR",
    "trials": "trials s --state DIR",
    "best": "best s --state DIR",
    "importance": "importance many --state DIR",
    "top": "top --once",
    "scale": "scale fleet.yaml --on ray --python ./no-ray --max 1 --min 1 "
             "--once --dry-run --journal journal-{n}",
    "note": "note mine",
    "set-space": "set-space mine space.yaml --dry-run",
    "logs": "logs --state DIR",
    "export": "export s --csv --state DIR",
    "ask": "ask mine --params '{{\"lr\": 0.{n}}}'",
    "train": "train mine 0 --until 2",
}


def full():
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def closed():
    os.close(1)


def without_reader():
    ours, theirs = os.pipe()
    os.dup2(theirs, 1)
    os.close(ours)
    os.close(theirs)


class Output(Serving):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.case = case = cls.first_case(Serving)
        case.write("s.yaml", study())
        case.write("many.yaml", study("many", steps=1, lr={
            "choice": [x / 10 for x in range(1, 13)]}))
        case.hippo("run", "s.yaml", "many.yaml", "--state", "DIR",
                   "--trainers", 1)
        case.hippo("backup", "--state", "DIR", "backup")
        case.serve()
        case.trainer()
        for name in ("decay.yaml", "profile.yaml"):
            shutil.copy(os.path.join(MERGING, name), case.folder)
        case.write("machines.yaml", {
            "service": "gpu-lab:4848", "insecure": True,
            "trainers": [{"name": "cpu", "hosts": ["big"]}]})
        case.write("space.yaml", {"space": {"lr": 0.5}})
        case.write("fleet.yaml", {
            "service": "gpu-lab:4848", "insecure": True,
            "trainers": [{"name": "cpu"}]})
        # An engine of Ray that runs nothing.
        os.chmod(case.write("no-ray", "#!/bin/sh\nwhile read -r x; do echo "
                            """'{"trainers": []}'; done\n"""), 0o755)
        mine = {**study("mine", lr={"uniform": [0.0, 1.0]}),
                "algorithm": "client"}
        case.submit(mine)
        case.hippo("ask", "mine", "--params", '{"lr": 0.5}')
        cls.count = 0

    def setUp(self):
        pass  # all are in the folder of the class

    def call(self, verb, prepare=None):
        """Runs a verb. @returns its code, what it printed and what it said"""
        type(self).count += 1
        n = self.count
        case = self.case
        case.write(f"c{n}.yaml", {**study(f"c{n}"), "algorithm": "client"})
        words = [x.strip("'") if x.startswith("'") else x for x in
                 re.findall(r"'[^']*'|\S+", COMMANDS[verb].format(n=n))]
        said = subprocess.run(
            [HIPPO, *words], stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE,
            cwd=case.folder, env={**os.environ, **case.env},
            preexec_fn=prepare)
        return said.returncode, said.stdout, said.stderr

    def test_every_verb_is_here(self):
        text = self.case.hippo("--help").out
        verbs = set(re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.M))
        self.assertIn("ls", verbs)
        self.assertEqual(verbs, SILENT | set(COMMANDS))
        calls = [(verb, None, 0) for verb in sorted(verbs)]
        calls += [("run", prepare, 1) for prepare in (full, closed)]
        for verb, prepare, code in calls:
            said = subprocess.run(
                [HIPPO, verb, "--help"], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, preexec_fn=prepare)
            self.assertEqual(said.returncode, code, verb)

    def test_what_is_whole_is_a_success(self):
        for verb in COMMANDS:
            with self.subTest(verb):
                code, out, err = self.call(verb)
                self.assertEqual(code, 0, err)
                self.assertNotEqual(out, "")

    def test_a_disk_that_is_full(self):
        for verb in COMMANDS:
            with self.subTest(verb):
                code, _, err = self.call(verb, full)
                self.assertEqual(code, 1, err)
                self.assertIn(": cannot write to stdout: No space left", err)

    def test_one_that_is_closed(self):
        for verb in COMMANDS:
            with self.subTest(verb):
                code, _, err = self.call(verb, closed)
                self.assertEqual(code, 1, err)
                self.assertIn(": cannot write to stdout", err)

    def test_a_reader_that_has_gone(self):
        for verb in COMMANDS:
            with self.subTest(verb):
                code, _, err = self.call(verb, without_reader)
                self.assertEqual(code, -signal.SIGPIPE, err)
                self.assertNotIn("stdout", err)

    def test_the_trainers_modes(self):
        """Those that print; `hippo` hears of it by their code."""
        path = self.case.path("packed.yaml")
        with open(path, "w") as out:
            out.write(self.case.hippo("show", "s", "--state", "DIR",
                                      "--text").out)
        for args in (["--describe"], ["--help"]):
            for prepare, code in [(None, 0), (full, 1), (closed, 1),
                                  (without_reader, -signal.SIGPIPE)]:
                said = subprocess.run(
                    [TRAINER, *args], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, preexec_fn=prepare)
                self.assertEqual(said.returncode, code, said.stderr)

    def test_a_log_that_is_followed_ends_with_its_reader(self):
        with open(self.case.path("hears"), "w"):
            pass
        process = subprocess.Popen(
            [HIPPO, "logs", "-f"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, cwd=self.case.folder,
            env={**os.environ, **self.case.env})
        self.assertTrue(process.stdout.readline())
        process.stdout.close()

        def ended():
            self.call("submit")  # something new is logged
            return process.poll()
        self.assertEqual(wait_for("its end", ended), -signal.SIGPIPE)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()


class Files(own_code.OwnCode):
    """Files that options name."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs",
                           self.path("small")]).returncode != 0:
            self.skipTest("no disk can be mounted here")
        self.addCleanup(subprocess.run, ["umount", self.path("small")])
        self.write("s.yaml", study())
        self.hippo("run", "s.yaml", "--state", "DIR", "--trainers", 1)

    def test_nothing_half_is_left_on_a_full_disk(self):
        with open(self.path("small", "fill"), "w") as out:
            out.write("x" * 4096)
        for args in (["export", "s", "--json", "--state", "DIR", "-o"],
                     ["export", "s", "--state", "DIR", "--tensorboard"],
                     ["sequence", "0.1", "--svg"]):
            done = self.hippo(*args, "small/" + args[0] + args[-1], code=1)
            self.assertIn("No space left", done.err)
            left = [x for _, _, files in os.walk(self.path("small"))
                    for x in files]
            self.assertEqual(left, ["fill"], args)


if __name__ == "__main__":
    programs.main()
