#!/usr/bin/env python3
"""What runs wait for, and what is saved when they end before their time."""

import os
import re
import signal
import subprocess
import time

import programs
from own_code import OwnCode, Serving, study
from programs import read_report, send, trainers, wait_for

SLOW = {"choice": [0.1, 0.2, 0.3]}


class Ends(OwnCode):
    """Every signal that asks for an end."""

    def setUp(self):
        super().setUp()
        self.after('time.sleep(0.4)', 'print("step", step, flush=True)',
                   head="import time")
        self.write("s.yaml", study(steps=5, lr=SLOW))
        self.reference = None

    def middle(self, *args):
        """A run in the middle of a step."""
        run = self.begin("run", "s.yaml", "--state", "state", "--trainers", 1,
                         *args)
        self.first_trial(run)
        time.sleep(0.5)
        return run

    def trained(self):
        return read_report(self.path("state", "report", "latest",
                                     "report.json"))

    def go_on(self):
        """Goes on to the end. @returns the reports of both runs"""
        first = self.trained()
        self.assertTrue(first["interrupted"])
        self.hippo("run", "--resume", "state", "--trainers", 1)
        return first, self.trained()

    def assert_nothing_twice(self):
        first, second = self.go_on()
        self.assertEqual(first["trained_steps"] + second["trained_steps"],
                         second["unique_steps"])
        self.assertEqual(second["unique_steps"], 15)

    def test_each_signal_saves_what_runs(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                subprocess.run(["rm", "-rf", self.path("state")])
                run = self.middle()
                send(run, number)
                done = self.finish(run, 130)
                self.assertIn("go on with: hippo run --resume state",
                              done.err)
                self.assert_nothing_twice()

    def test_a_signal_that_a_group_gets_twice_counts_once(self):
        run = self.middle()
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM,
                       signal.SIGTERM, signal.SIGHUP):
            send(run, number)
        self.finish(run, 130)
        self.assert_nothing_twice()

    def test_trainers_may_be_asked_as_well(self):
        """As by those who send a signal to everything of a job."""
        run = self.middle()
        for pid in [*trainers(run.pid), run.pid]:
            os.kill(pid, signal.SIGTERM)
        done = self.finish(run, 130)
        self.assertNotIn("died", done.err)
        self.assert_nothing_twice()

    def test_nohup_keeps_hangups_away(self):
        run = self.start("run", "s.yaml", "--state", "state", "--trainers", 1,
                         cwd=self.folder, env={**os.environ, **self.env},
                         preexec_fn=lambda: signal.signal(signal.SIGHUP,
                                                          signal.SIG_IGN))
        self.first_trial(run)
        send(run, signal.SIGHUP)
        self.finish(run, 0)

    def test_a_step_beyond_the_grace_is_given_up(self):
        self.change("time.sleep(0.4)", "time.sleep(0.4 if lr < 0.2 else 60)")
        run = self.middle("--grace-seconds", "1")
        begin = time.monotonic()
        send(run, signal.SIGTERM)
        done = self.finish(run, 130)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("a step took longer than 1 s", done.err)
        self.assertTrue(self.trained()["interrupted"])

    def test_a_service_saves_what_its_own_trainers_train(self):
        service = self.begin(
            "serve", "--state", "state", "--listen", "127.0.0.1:0", "--rpc",
            "127.0.0.1:0", "--http", "127.0.0.1:0", "--trainers", 1)
        where = wait_for("the service", lambda: re.search(
            r"clients connect to (\S+)", self.stderr()))[1]
        self.env["HIPPO_SERVER"] = where
        self.hippo("submit", "s.yaml")
        wait_for("a trial", lambda: "COMPLETE" in self.hippo(
            "trials", "s").out)
        time.sleep(0.5)
        send(service, signal.SIGHUP)
        self.finish(service, 0)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        report = self.trained()
        self.assertEqual(report["reused_steps"] + report["trained_steps"],
                         15)
        printed = self.hippo("logs", "--state", "state", "s", "1").out
        self.assertEqual(printed, "".join(f"step {x}\n" for x in range(5)))


class Waits(Serving):
    """Whoever waits says for what."""

    def small_disk(self, name, size):
        if os.geteuid() != 0:
            self.skipTest("only root can mount a small disk")
        os.makedirs(self.path(name), exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}",
                           "tmpfs", self.path(name)]).returncode != 0:
            self.skipTest("no disk can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path(name)])

    def wide(self):
        """States that are too large for a small disk, with branches."""
        self.change('return dict(self.state)',
                    'return {**self.state, "pad": b"p" * 300_000}')
        return study(steps=6)

    def waiting(self, *args):
        shown = self.hippo("show", "s", *args).out
        return re.search(r"^waiting +(.*)$", shown, re.M)[1]

    def test_a_run_without_room_for_checkpoints(self):
        self.small_disk("state/checkpoints", "100k")
        self.write("s.yaml", self.wide())
        run = self.begin("run", "s.yaml", "--state", "state", "--trainers", 1)
        wait_for("the word", lambda: "waits: " in self.stderr(), 30)
        self.assertRegex(self.stderr(), r"study s waits: .*No space left on "
                                        r"device")
        self.assertIn("No space left", self.waiting("--state", "state"))
        self.assertIn("waiting",
                      self.hippo("ls", "--state", "state").out)
        # There is room again.
        subprocess.run(["mount", "-o", "remount,size=100m",
                        self.path("state/checkpoints")], check=True)
        self.finish(run, 0)
        self.assertEqual(self.stderr().count("waits: "), 1)
        self.assertEqual(self.waiting("--state", "state"), "-")

    def test_a_service_without_room_for_checkpoints(self):
        self.small_disk("state/checkpoints", "100k")
        service = self.serve()
        self.trainer()
        self.submit(self.wide())
        wait_for("the word", lambda: "No space left" in self.waiting(), 30)
        self.assertIn("No space left", self.hippo("ls", "-f", "json").out)
        wait_for("the log's word", lambda: "study s waits: "
                 in self.hippo("logs").out, 30)
        subprocess.run(["mount", "-o", "remount,size=100m",
                        self.path("state/checkpoints")], check=True)
        self.hippo("watch", "s")
        self.assertEqual(self.waiting(), "-")
        self.assertIsNone(service.poll())

    def test_without_trainers_and_while_paused(self):
        self.serve()
        self.submit(study())
        self.assertIn("no trainer is connected", self.waiting())
        wait_for("the word in the folder", lambda: "no trainer"
                 in self.waiting("--state", "state"), 30)
        self.hippo("pause", "s")
        self.assertEqual(self.waiting(), "-")

    def test_nothing_is_told_once_nobody_works_there(self):
        service = self.serve()
        self.submit(study())
        wait_for("the word in the folder", lambda: "no trainer"
                 in self.waiting("--state", "state"), 30)
        service.kill()
        service.wait()
        self.assertEqual(self.waiting("--state", "state"), "-")

    def test_missing_data(self):
        self.change("    def setup(self, seed, device, args):\n",
                    "    def setup(self, seed, device, args):\n"
                    "        raise hippo.MissingData('no images in /none')\n")
        self.serve()
        self.trainer()
        self.submit(study())
        wait_for("the word", lambda: "no images in /none" in self.waiting(),
                 30)


class ReadOnly(OwnCode):
    """A state in which nothing may be written."""

    VERBS = ["ls", "trials s", "best s", "show s", "export s --csv",
             "export s --json", "logs", "logs s 0",
             "gc --dry-run", "gc --dry-run -f json"]

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        os.chmod(self.folder, 0o755)

    def said(self, state, who=(), verbs=None):
        """What each verb prints of a state."""
        result = {}
        for verb in verbs or self.VERBS:
            said = subprocess.run(
                [*who, programs.HIPPO, *verb.split(), "--state",
                 self.path(state)], stdin=subprocess.DEVNULL, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd="/", env={**os.environ, **self.env, "TMPDIR": "/tmp"})
            self.assertEqual(said.returncode, 0, verb + said.stderr)
            result[verb] = said.stdout
        return result

    def assert_read_only(self, state, expected):
        nobody = ("setpriv", "--reuid=65534", "--regid=65534",
                  "--clear-groups")
        subprocess.run(["chmod", "-R", "a+rX", self.path(state)], check=True)
        self.assertEqual(self.said(state, nobody), expected)
        os.makedirs(self.path("ro"), exist_ok=True)
        for how in (["--bind", self.path(state)], ["-o", "remount,ro,bind"]):
            if subprocess.run(["mount", *how, self.path("ro")]).returncode:
                self.skipTest("nothing can be mounted here")
        try:
            self.assertEqual(self.said("ro"), expected)
        finally:
            subprocess.run(["umount", self.path("ro")])

    def test_after_a_run_and_after_one_that_was_killed(self):
        self.run_study(study(), "state", "--trainers", 1)
        self.assert_read_only("state", self.said("state"))
        self.after("time.sleep(0.3)", head="import time")
        self.write("t.yaml", study("t"))
        run = self.begin("run", "t.yaml", "--state", "state", "--trainers", 1)
        self.first_trial(run)
        run.kill()
        run.wait()
        self.assertGreater(os.path.getsize(self.path("state/hippo.db-wal")), 0)
        subprocess.run(["cp", "-r", self.path("state"), self.path("copy")])
        os.unlink(self.path("copy/hippo.db-shm"))
        expected = self.said("state")
        self.assertIn(" t ", expected["ls"])
        # As it was left, and as a snapshot has it.
        self.assert_read_only("copy", expected)


class LateThreads(OwnCode):
    """Threads that end when the process exits."""

    def test_nothing_is_freed_twice(self):
        late = os.environ.get("LATE_THREADS")
        if not late:
            self.skipTest("a sanitizer has an allocator of its own")
        self.env |= {"LD_PRELOAD": f"{late}:libc_malloc_debug.so.0",
                     "MALLOC_CHECK_": "3"}
        self.run_study(study(), "state", "--trainers", 1)
        for verb in "ls", "show s", "best s":
            self.hippo(*verb.split(), "--state", "state")


if __name__ == "__main__":
    programs.main()
