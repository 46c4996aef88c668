#!/usr/bin/env python3
"""`hippo best`: the best trial and its weights."""

import collections
import glob
import json
import math
import os
import pickle
import struct
import zipfile

import programs
from programs import SHA, Case, study


class Weights(pickle.Unpickler):
    """Allows what torch.load(weights_only=True) allows, and less."""

    def __init__(self, archive, folder):
        super().__init__(archive.open(folder + "/data.pkl"))
        self.archive = archive
        self.folder = folder

    def find_class(self, module, name):
        return {("torch._utils", "_rebuild_tensor_v2"):
                    lambda data, offset, shape, *_: (tuple(shape), data),
                ("torch", "FloatStorage"): "float",
                ("collections", "OrderedDict"): collections.OrderedDict,
                }[module, name]

    def persistent_load(self, pid):
        _, _, key, _, size = pid
        data = self.archive.read(f"{self.folder}/data/{key}")
        return struct.unpack(f"<{size}f", data)


def read_weights(path):
    """Returns {name: (shape, numbers)}."""
    with zipfile.ZipFile(path) as archive:
        return Weights(archive,
                       archive.namelist()[0].split("/")[0]).load()


def read(path):
    with open(path, "rb") as data:
        return data.read()


class Best(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls.first_case()
        cls.files = case.studies(study("with-sha", SHA, every=2),
                                 study("with-grid", "grid"))
        cls.first_state = case.path("s")
        case.hippo("run", *cls.files, "--state", cls.first_state,
                   "--trainers", 1)
        with open(cls.first_state + "/report/latest/report.json") as text:
            cls.found = {x["name"]: x["best"]
                         for x in json.load(text)["studies"]}

    def export(self, state, name="model.pt", study_name="with-grid"):
        done = self.hippo("best", study_name, "--state", state, "--export",
                          self.path(name))
        self.assertIn("weights: " + self.path(name), done.err)
        return read(self.path(name))

    def test_text(self):
        done = self.hippo("best", "with-sha", "--state", self.first_state)
        best = self.found["with-sha"]
        self.assertRegex(done.out, rf"trial {best['trial']} \([A-Z]+\) at step "
                                   rf"{best['step']}, ")
        for name in ["lr", "batch_size", "momentum"]:
            self.assertIn(name, done.out)
        self.assertEqual(done.err, "")

    def test_json(self):
        for name, best in self.found.items():
            done = self.hippo("best", name, "--state", self.first_state, "-f",
                              "json")
            told = json.loads(done.out)
            self.assertIn(told.pop("state"), ["COMPLETE", "PRUNED"])
            self.assertEqual(told, {"study": name, "metric": "val_accuracy",
                                    **best})

    def test_weights(self):
        self.export(self.first_state)
        weights = read_weights(self.path("model.pt"))
        self.assertEqual({len(shape) for shape, _ in weights.values()},
                         {1, 2})
        shapes = [shape for shape, _ in weights.values()]
        self.assertIn((128, 784), shapes)
        self.assertIn((10, 128), shapes)
        for shape, numbers in weights.values():
            self.assertEqual(len(numbers), math.prod(shape))
            self.assertTrue(all(map(math.isfinite, numbers)))
            self.assertTrue(any(numbers))

    def test_weights_without_checkpoints(self):
        """They are trained again, to the bit."""
        states = {}
        alone = self.path("alone")
        self.hippo("run", *self.files, "--state", alone, "--merge", "off",
                   "--trainers", 1)
        for state in self.copied(self.first_state), alone:
            for name in self.found:
                kept = self.export(state, "kept.pt", name)
                self.assertEqual(states.setdefault(name, kept), kept)
            files = sorted(glob.glob(state + "/checkpoints/*/*"))
            self.assertGreater(len(files), 12)
            for name, some in zip(self.found, [files[::2], files[1::2]]):
                for x in some:
                    os.remove(x)
                self.assertEqual(self.export(state, "again.pt", name),
                                 states[name])

    def test_weights_of_another_kind_of_device(self):
        """What is kept is exported anywhere; what is not is trained again only
        where it becomes the same."""
        state = self.copied(self.first_state)
        kept = self.export(state)
        self.hippo("best", "with-grid", "--state", state, "--threads", 2,
                   "--export", self.path("kept.pt"))
        self.assertEqual(read(self.path("kept.pt")), kept)
        for x in glob.glob(state + "/checkpoints/*/*"):
            os.remove(x)
        done = self.hippo("best", "with-grid", "--state", state, "--threads",
                          2, "--export", self.path("none.pt"), code=1)
        self.assertRegex(done.err, "state of step 9 was not kept.* from step 0 "
                                   "by a device of the kind.*1-thread.*this is "
                                   ".*2-thread.*--device and --threads")
        self.assertFalse(os.path.exists(self.path("none.pt")))

    def test_weights_with_damaged_checkpoints(self):
        state = self.copied(self.first_state)
        kept = self.export(state)
        for x in glob.glob(state + "/checkpoints/*/*"):
            with open(x, "r+b") as checkpoint:
                checkpoint.seek(1000)
                checkpoint.write(b"damage")
        self.assertEqual(self.export(state, "again.pt"), kept)

    def test_unknown_study(self):
        done = self.hippo("best", "with-gird", "--state", self.first_state,
                          code=2)
        self.assertEqual(done.out, "")
        self.assertIn("'with-gird', did you mean 'with-grid'?", done.err)
        self.assertIn("with-sha with-grid",
                      self.hippo("best", "zzz", "--state",
                                 self.first_state, code=2).err)

    def test_no_state(self):
        done = self.hippo("best", "with-grid", "--state", self.path("none"),
                          code=2)
        self.assertEqual(done.out, "")
        self.assertIn(self.path("none"), done.err)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_nowhere_to_export(self):
        done = self.hippo("best", "with-grid", "--state", self.first_state,
                          "--export", self.path("none", "model.pt"), code=1)
        self.assertIn(self.path("none", "model.pt"), done.err)

    def test_leaves_nothing_behind(self):
        os.mkdir(self.path("tmp"))
        for target in ["model.pt", "none/model.pt"]:
            self.hippo("best", "with-grid", "--state", self.first_state,
                       "--export", self.path(target), env={"TMPDIR": self.path("tmp")},
                       code=0 if target == "model.pt" else 1)
            self.assertEqual(os.listdir(self.path("tmp")), [])


if __name__ == "__main__":
    programs.main()
