#!/usr/bin/env python3
"""Studies that begin from a state which Hippo did not make: a file, a folder,
or a state of another study."""

import hashlib
import os
import pickle
import shutil
import signal
import sys
import unittest

import programs
from own_code import Serving, python, study
from programs import results, send

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..",
                                "object_store"))
from stores import BUCKET, Rclone

OBJECT_VENV = os.environ["OBJECT_VENV"]


class Initial(Serving):
    def setUp(self):
        super().setUp()
        self.change('self.state = {"w": 0.0, "v": 0.0}',
                    'self.state = self.begin() or {"w": 0.0, "v": 0.0}')
        self.change("    def init(", """    def begin(self):
        import os
        if self.initial is None:
            return None
        at = os.path.join(self.initial, 'deep', 'w') \\
            if os.path.isdir(self.initial) else self.initial
        assert os.environ['HIPPO_INITIAL'] == self.initial
        with open(at, 'rb') as file:
            text = file.read()
        print('began from', os.path.basename(at), len(text))
        return {'w': float(text.split()[0]), 'v': 0.0}

    def init(""")
        os.makedirs(self.path("base", "deep"))
        self.write("base/deep/w", "7.5\n")
        self.write("base/config.json", "{}\n")
        self.write("w.txt", "7.5\n")

    def study(self, source, name="s"):
        return study(name, workload=python(**{"from": source}))

    def run_from(self, source, state="state"):
        self.run_study(self.study(source), state)
        return self.report(state)

    def key(self, state):
        return self.report(state)["studies"][0]["workload"]

    def digest(self, state):
        """The part of the key that says from where training begins."""
        return next(x for x in self.key(state).split(";")
                    if x.startswith("from="))


    def refused(self, source, *words):
        self.write("s.yaml", self.study(source))
        said = self.hippo("run", "s.yaml", "--state", "no", code=2).err
        for word in words:
            self.assertIn(word, said)
        self.assertFalse(os.path.exists(self.path("no")))


class Local(Initial):
    def test_results_follow_from_the_content(self):
        """A file and a folder with the same weight give the same results; the
        same content at another place is the same training; another content is
        another key."""
        file = self.run_from("w.txt", "file")
        plain, _ = self.run_study(study(), "plain")
        self.assertNotEqual(results(file), results(plain))
        folder = self.run_from("base", "folder")
        self.assertEqual(results(file), results(folder))
        self.assertNotEqual(self.digest("file"), self.digest("folder"))
        self.assertNotIn("from=", self.key("plain"))
        os.rename(self.path("w.txt"), self.path("moved.txt"))
        self.assertEqual(
            self.run_from(self.path("moved.txt"), "file")["trained_steps"], 0)
        self.write("moved.txt", "7.25\n")
        other = self.run_from("moved.txt", "file")
        self.assertGreater(other["trained_steps"], 0)
        self.assertNotEqual(results(other), results(file))

    def test_merging_changes_no_bit(self):
        self.assert_as_alone(self.study("base"))

    def test_each_file_is_there_once(self):
        self.write("base/same", "7.5\n")
        self.run_from("base")
        self.run_from("w.txt")
        self.assertEqual(
            sorted(os.listdir(self.path("state", "checkpoints", "initial"))),
            sorted(hashlib.sha256(x).hexdigest() for x in (b"7.5\n", b"{}\n")))

    def test_check_covers_it(self):
        self.write("s.yaml", self.study("base"))
        self.assertIn("exact", self.hippo("check", "s.yaml").out)

    def test_best_state_is_exported(self):
        """By training again from the initial state, too."""
        self.run_from("base")
        self.hippo("best", "s", "--state", "state", "--export", "best.bin")
        with open(self.path("best.bin"), "rb") as file:
            self.assertIn("w", pickle.load(file))
        self.hippo("export", "s", 0, "--state", "state", "--step", 1,
                   "--weights", "first.bin")
        with open(self.path("first.bin"), "rb") as file:
            self.assertIn("w", pickle.load(file))

    def test_damaged_file_is_told(self):
        """A file that was damaged trains nothing."""
        self.run_from("base")
        held = self.path("state", "checkpoints", "initial",
                         hashlib.sha256(b"7.5\n").hexdigest())
        os.chmod(held, 0o644)
        with open(held, "wb") as file:
            file.write(b"9.9\n")
        self.write("t.yaml", {**self.study("base", "t"), "max_steps": 99})
        said = self.hippo("run", "t.yaml", "--state", "state", code=1).err
        self.assertIn("has another content", said)

    def test_gc_deletes_what_no_study_names(self):
        self.run_from("base")
        stray = self.path("state", "checkpoints", "initial", "0" * 64)
        with open(stray, "wb") as file:
            file.write(b"x" * 100)
        os.utime(stray, (1, 1))
        held = set(os.listdir(os.path.dirname(stray))) - {"0" * 64}
        said = self.hippo("gc", "--state", "state").out
        self.assertIn("a file of an initial state that no study names", said)
        self.assertEqual(set(os.listdir(os.path.dirname(stray))), held)

    def test_programs_and_files(self):
        """Programs that read files get the path in their request and in the
        environment."""
        self.program("prog", """#!/usr/bin/env python3
import json, os, sys
request = json.load(open(sys.argv[1]))
assert request["initial"] == os.environ["HIPPO_INITIAL"]
state = open(request["load"] + "/w").read() if request["load"] \\
    else open(request["initial"]).read()
with open(request["save"] + "/w", "w") as out:
    out.write(str(float(state) + request["to"] - request["from"]))
json.dump({"metrics": {"val": float(state)}}, open(sys.argv[2], "w"))
""")
        x = study(workload={"files": ["prog"], "from": "w.txt"}, lr=0.1)
        self.run_study(x)
        # The program measures the state that it began from.
        best = float(self.report("state")["studies"][0]["best"]["value"])
        self.assertEqual(best, 7.5 + 5)

    def test_mistakes(self):
        self.refused("nowhere.pt", "s.yaml:", "workload.from", "nowhere.pt",
                     "is not there")
        os.mkdir(self.path("empty"))
        self.refused("empty", "has no files")
        os.symlink(self.path("w.txt"), self.path("base", "link"))
        self.refused("base", "leads out of the folder", "cp -rL")
        os.remove(self.path("base", "link"))
        os.mkfifo(self.path("base", "pipe"))
        self.refused("base", "is no file but a pipe")
        os.remove(self.path("base", "pipe"))
        self.refused({"study": "s", "step": 3}, "'trial' is missing")
        self.refused({"study": "s", "trial": 0, "step": 0},
                     "workload.from.step")
        self.refused({"stdy": "s", "trial": 0, "step": 1}, "stdy")
        self.refused({"study": "nothing", "trial": 0, "step": 1}, "no")

    def test_state_of_another_study(self):
        """The weights of one study's trial are another one's beginning."""
        self.run_study(study("pretrain", lr=0.1), "state")
        self.change("return {'w': float(text.split()[0]), 'v': 0.0}",
                    "import pickle; return pickle.loads(text)")
        source = {"study": "pretrain", "trial": 0, "step": 4}
        self.run_study(self.study(source, "tune"), "state")
        first = self.report("state")
        self.hippo("export", "pretrain", 0, "--state", "state", "--step", 4,
                   "--weights", "four.pt")
        self.run_study(self.study("four.pt", "tune"), "other")
        self.assertEqual(results(first)["tune"],
                         results(self.report("other"))["tune"])
        self.assertEqual(self.digest("state"), self.digest("other"))
        self.assertEqual(["trial 0 of study pretrain at step 4"], [
            x["initial_state"] for x in first["studies"]
            if x["name"] == "tune"])
        self.assertIn("trial 0 of study pretrain at step 4", self.hippo(
            "show", "tune", "--state", "state").out)
        self.write("s.yaml", self.study({**source, "trial": 99}, "x"))
        self.assertIn("has no trial 99", self.hippo(
            "run", "s.yaml", "--state", "state", code=2).err)


@unittest.skipUnless(os.path.exists(os.path.join(OBJECT_VENV, "bin",
                                                 "rclone")),
                     "there is no rclone: run scripts/setup")
class Objects(Initial):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("store"))
        self.store = Rclone(OBJECT_VENV, self.path("store"))
        self.addCleanup(self.store.end)
        self.env.update({
            "AWS_ACCESS_KEY_ID": self.store.id,
            "AWS_SECRET_ACCESS_KEY": self.store.secret,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.store.port}"})

    def test_objects_are_as_files(self):
        """An object is as its file, and what lies below a prefix as a folder;
        others whose names begin alike are not taken."""
        with open(self.path("base", "empty"), "w"):
            pass
        top = self.path("store", "objects", BUCKET)
        shutil.copytree(self.path("base"), os.path.join(top, "base"))
        shutil.copy(self.path("w.txt"), os.path.join(top, "w.txt"))
        os.mkdir(os.path.join(top, "base-2"))
        self.write("store/objects/" + BUCKET + "/base-2/w", "1\n")
        self.write("store/objects/" + BUCKET + "/w.txt.old", "2\n")
        for source in "base", "w.txt":
            here = self.run_from(source, "here")
            there = self.run_from(f"s3://{BUCKET}/{source}", "there")
            self.assertEqual(results(here), results(there))
            self.assertEqual(self.digest("here"), self.digest("there"))
        self.refused(f"s3://{BUCKET}/nothing", "there is no object")


class Remote(Initial):
    def cache(self):
        folder = self.path("cache", "hippo", "initial")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def times(self):
        """When each file of the cache was written."""
        return {x: os.stat(self.path("cache", "hippo", "initial", x))
                .st_mtime_ns for x in self.cache()}

    def test_trainer_without_the_folder(self):
        """It fetches each file once, and has it when it comes back."""
        large = os.urandom(3 << 20)
        with open(self.path("base", "deep", "large"), "wb") as file:
            file.write(large)
        wanted = results(self.run_from("base", "reference"))
        os.environ["XDG_CACHE_HOME"] = self.path("cache")
        self.addCleanup(os.environ.pop, "XDG_CACHE_HOME")
        service = self.serve()
        trainer = self.trainer(around=self.elsewhere())
        self.submit(self.study("base"))
        os.rename(self.path("base"), self.path("moved"))
        self.await_end()
        self.assertEqual(len(self.cache()), 3)
        times = self.times()
        send(trainer, signal.SIGTERM)
        trainer.wait(programs.PATIENCE)
        self.trainer(around=self.elsewhere())
        self.submit({**self.study("moved", "t"), "max_steps": 9})
        self.await_end("t")
        self.assertEqual(self.times(), times)
        send(service, signal.SIGTERM)
        service.wait(programs.PATIENCE)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report)["s"], wanted["s"])
        self.assertEqual(report["trained_steps"], 0)

    def test_python_client_sends_it(self):
        import hippo_hpo
        self.run_from("base", "reference")
        self.serve()
        self.trainer()
        address = self.env["HIPPO_SERVER"]
        self.write("s.yaml", self.study("base"))
        with hippo_hpo.connect(address) as client:
            made = client.submit(self.path("s.yaml"))
            made.wait()
            workload = made.info.workload
        self.assertIn(self.digest("reference"), workload)
        self.await_end()
        with self.assertRaisesRegex(hippo_hpo.InvalidStudy, "is not there"):
            with hippo_hpo.connect(address) as client:
                self.write("t.yaml", self.study("nowhere"))
                client.submit(self.path("t.yaml"))


if __name__ == "__main__":
    programs.main()
