"""A service whose trainers keep checkpoints in an object store."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import unittest

import programs
from programs import (HIPPO, PATIENCE, SHA, TRAINER, Case, results, send, study,
                      wait_for)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..",
                                "object_store"))
from stores import BUCKET, Link, Rclone

VENV = os.environ["OBJECT_VENV"]
TRAIN = 512


@unittest.skipUnless(os.path.exists(os.path.join(VENV, "bin", "rclone")),
                     "there is no rclone: run scripts/setup")
class Checkpoints(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case(Case)
        files = case.studies(study("sha", SHA, every=2, train=TRAIN))
        cls.reference = case.run_studies(files, "state", "--trainers", 1)

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("store"))
        self.store = Rclone(VENV, self.path("store"))
        self.addCleanup(self.store.end)
        self.link = Link(self.store.port)
        self.addCleanup(self.link.end)
        self.files = self.studies(study("sha", SHA, every=2, train=TRAIN))
        self.logs = 0

    def launch(self, *command, env=None):
        self.logs += 1
        path = self.path(f"log-{self.logs}")
        with open(path, "w") as out:
            process = subprocess.Popen(
                [str(x) for x in command], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, env=env or self.store.environment())
        process.log = path
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def said(process):
        with open(process.log) as log:
            return log.read()

    def serve(self, *args):
        service = self.launch(
            HIPPO, "serve", "--state", self.path("state"), "--listen",
            "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
            *args)
        wait_for("the service", lambda: "people look" in self.said(service))
        self.address, self.clients = (
            re.search(f"{who} connect to (.*)", self.said(service))[1]
            for who in ("trainers", "clients"))
        return service

    def place(self):
        return ("--checkpoints", f"s3://{BUCKET}/lab/a", "--s3-endpoint",
                f"http://127.0.0.1:{self.link.port}")

    def trainer(self, env=None):
        return self.launch(TRAINER, "--connect", self.address, env=env)

    def submit(self, *args):
        return self.hippo("submit", *self.files, "--server", self.clients,
                          *args)

    def await_end(self):
        wait_for("its end", lambda: json.loads(self.hippo(
            "ls", "--server", self.clients, "-f", "json").out)[0]["state"]
            == "COMPLETE")

    def objects(self):
        top = self.path("store", "objects", BUCKET)
        return [os.path.relpath(os.path.join(where, x), top)
                for where, _, names in os.walk(top) for x in names]

    def known(self):
        with sqlite3.connect(f"file:{self.path('state', 'hippo.db')}?mode=ro",
                             uri=True) as db:
            return {f"{file}.{digest & (1 << 64) - 1:016x}"
                    for file, digest in
                    db.execute("SELECT file, digest FROM checkpoints")}

    def stop(self, service):
        send(service, signal.SIGTERM)
        service.wait(PATIENCE)

    def files_in_state(self):
        return [x for _, _, names in os.walk(self.path("state", "checkpoints"))
                for x in names if x.endswith(".ckpt")]

    def assert_as_alone(self):
        told = json.loads(self.hippo(
            "export", "sha", "--json", "--state", self.path("state")).out,
            parse_float=str)
        self.assertEqual(results({"studies": [told]}), results(self.reference))

    def test_lie_in_the_store_and_nowhere_else(self):
        service = self.serve(*self.place())
        trainer = self.trainer()
        self.submit("--wait")
        self.stop(service)
        self.assertEqual(self.files_in_state(), [])
        known = self.known()
        self.assertGreater(len(known), 3)
        found = self.objects()
        self.assertEqual({x.split("/")[-1] for x in found}, known)
        for x in found:
            self.assertRegex(x, r"^lab/a/[0-9a-f]{16}/n\d+-s\d+-l\d+\.ckpt\.")
        # Secrets are nowhere.
        for text in (self.said(service), self.said(trainer)):
            self.assertNotIn(self.store.secret, text)
        for where, _, names in os.walk(self.path("state")):
            for name in names:
                with open(os.path.join(where, name), "rb") as file:
                    self.assertNotIn(self.store.secret.encode(), file.read(),
                                     name)

        # hippo gc knows where they are, and takes what nobody knows if it is
        # old.
        folder = os.path.dirname(found[0])
        stray = self.path("store", "objects", BUCKET, folder, "n9-s9-l9.ckpt.0")
        with open(stray, "w") as file:
            file.write("x")
        os.utime(stray, (1e9, 1e9))
        env = self.store.environment()

        def unknown():  # rclone looks again after a second
            plan, = json.loads(self.hippo(
                "gc", "--state", self.path("state"), "--dry-run", "-f", "json",
                env=env).out)["workloads"]
            return plan["unknown_files"]

        self.assertEqual(
            [x["file"] for x in wait_for("the stray object", unknown)],
            [f"s3+http://us-east-1@127.0.0.1:{self.link.port}/{BUCKET}/{folder}"
             "/n9-s9-l9.ckpt.0"])
        self.hippo("gc", "--state", self.path("state"), "--checkpoint-budget",
                   0, env=env)
        self.assertEqual(self.objects(), [])
        self.assertEqual(self.known(), set())
        self.assert_as_alone()

    def test_beyond_the_budget_are_deleted_there(self):
        service = self.serve(*self.place(), "--checkpoint-budget", "3MB")
        self.trainer()
        self.submit("--wait")
        wait_for("deletion", lambda: {x.split("/")[-1] for x in self.objects()}
                 == self.known())
        self.assertIn("evicted", self.said(service))
        self.stop(service)
        self.assert_as_alone()

    def test_of_a_trainer_that_is_killed_while_it_uploads(self):
        service = self.serve(*self.place())
        self.link.bytes_per_second = 200_000
        first = self.trainer()
        self.submit()
        wait_for("half a checkpoint", lambda: self.link.sent > 100_000)
        first.kill()
        first.wait()
        self.link.bytes_per_second = None
        self.trainer()
        self.await_end()
        self.assertLessEqual(self.known(),
                             {x.split("/")[-1] for x in self.objects()})
        self.stop(service)

    def test_with_a_wrong_secret_the_study_waits_and_says_why(self):
        service = self.serve(*self.place())
        wrong = self.trainer(
            self.store.environment(AWS_SECRET_ACCESS_KEY="wrong-secret"))
        self.submit()
        wait_for("the reason", lambda: "status 403" in self.said(service))
        self.assertNotIn("wrong-secret",
                         self.said(service) + self.said(wrong))
        send(wrong, signal.SIGTERM)
        wrong.wait(PATIENCE)
        self.trainer()
        self.await_end()
        self.stop(service)
        self.assert_as_alone()

    def test_of_a_store_that_has_too_much_to_do(self):
        service = self.serve(*self.place())
        self.link.refusals = 20
        self.trainer()
        self.submit("--wait")
        self.assertEqual(self.link.refusals, 0)
        self.stop(service)
        self.assert_as_alone()

    def test_of_hippo_run_are_in_the_store_and_used_again(self):
        env = self.store.environment()
        run = self.launch(HIPPO, "run", *self.files, "--state",
                          self.path("state"), "--trainers", "1", *self.place())
        self.assertEqual(run.wait(PATIENCE), 0, self.said(run))
        self.assertEqual(self.files_in_state(), [])
        self.assertEqual({x.split("/")[-1] for x in self.objects()},
                         self.known())
        self.assertEqual(results(self.report("state")),
                         results(self.reference))
        # Studies that come later start from what is there.
        more = self.studies(study("more", SHA, every=1, train=TRAIN))
        self.hippo("run", *more, "--state", self.path("state"),
                   "--trainers", 1, env=env)
        self.assertEqual(self.files_in_state(), [])
        self.assertLessEqual({x.split("/")[-1] for x in self.objects()},
                             self.known())

        # Weights are read with the credentials of whoever wants them.
        weights = self.path("model.pt")
        best = ("best", "sha", "--state", self.path("state"), "--export",
                weights)
        self.hippo(*best, env=env)
        with open(weights, "rb") as file:
            there = file.read()
        said = self.hippo(*best, code=1, env=self.store.environment(
            AWS_SECRET_ACCESS_KEY="wrong-secret")).err
        self.assertIn("status 403", said)
        # A lost object costs training from the one before.
        for x in self.objects():
            os.remove(self.path("store", "objects", BUCKET, x))
        os.remove(weights)
        self.hippo(*best, env=env)
        with open(weights, "rb") as file:
            self.assertEqual(file.read(), there)

    def test_a_backup_names_the_store_and_what_is_there(self):
        env = self.store.environment()
        run = self.launch(HIPPO, "run", *self.files, "--state",
                          self.path("state"), "--trainers", "1", *self.place())
        self.assertEqual(run.wait(PATIENCE), 0, self.said(run))
        known = self.known()
        lost = self.objects()[0]
        os.remove(self.path("store", "objects", BUCKET, lost))

        def backup():  # rclone looks again after a second
            said = self.hippo("backup", "--state", self.path("state"),
                              self.path("copy"), env=env).out
            return said if "are missing" in said else None

        said = wait_for("what is lost", backup)
        self.assertIn(f"{len(known) - 1} checkpoints are in s3+http://", said)
        self.assertIn("1 checkpoints are missing", said)
        os.rename(self.path("state"), self.path("before"))
        self.hippo("restore", self.path("copy"), "--state", self.path("state"),
                   env=env)
        self.assertEqual(self.known(), known - {lost.split("/")[-1]})
        self.hippo("run", "--resume", self.path("state"), "--trainers", 1,
                   env=env)
        self.assertEqual(results(self.report("state")),
                         results(self.reference))
        self.assertEqual(self.files_in_state(), [])
        said = self.hippo("backup", "--state", self.path("state"),
                          self.path("other"), code=1,
                          env=self.store.environment(
                              AWS_SECRET_ACCESS_KEY="wrong-secret")).err
        self.assertIn("status 403", said)

    def test_are_in_the_folder_again_if_somebody_says_so(self):
        service = self.serve(*self.place())
        self.stop(service)
        service = self.serve()  # it is remembered
        self.assertIn(f"checkpoints are in s3+http://us-east-1@127.0.0.1:"
                      f"{self.link.port}/{BUCKET}/lab/a", self.said(service))
        self.stop(service)
        service = self.serve("--checkpoints", "folder")
        self.assertNotIn("s3+http", self.said(service))
        self.trainer()
        self.submit("--wait")
        self.stop(service)
        self.assertGreater(len(self.files_in_state()), 0)
        self.assertEqual(self.objects(), [])

    def test_in_the_folder_of_before_are_found(self):
        run = self.start("run", *self.files, "--state", self.path("state"),
                         "--trainers", 1)
        self.first_trial(run)
        send(run, signal.SIGINT)
        self.finish(run, 130)
        self.assertGreater(len(self.files_in_state()), 0)
        service = self.serve(*self.place())
        self.trainer()
        self.await_end()
        self.stop(service)
        self.assert_as_alone()

    def test_bad_places_are_refused(self):
        for place, why in (
                (("--checkpoints", "gs://a"), "s3://BUCKET/PREFIX"),
                (("--checkpoints", "s3://a/b c"), "letters, digits"),
                (("--checkpoints", "s3://a", "--s3-endpoint", "minio:9000"),
                 "https://HOST[:PORT]"),
                (("--s3-endpoint", "http://minio:9000"), "--checkpoints")):
            done = self.hippo("serve", "--state", self.path("other"), *place,
                              code=2)
            self.assertIn(why, done.err)


if __name__ == "__main__":
    programs.main()
