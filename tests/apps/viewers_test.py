#!/usr/bin/env python3
"""Viewers that people have: TensorBoard, and Prometheus with Grafana."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest
import urllib.request

import programs
from programs import Case

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "examples" / "deploy"
PROMTOOL = shutil.which("promtool") or shutil.which(
    ROOT / ".cache" / "prometheus" / "usr" / "bin" / "promtool")

# What reads the event files with the real TensorBoard, in a Python that has it.
READ = """
import json, sys
from tensorboard.backend.event_processing import event_multiplexer
from tensorboard.plugins.hparams import plugin_data_pb2
runs = event_multiplexer.EventMultiplexer().AddRunsFromDirectory(sys.argv[1])
runs.Reload()
result = {}
for run, known in runs.Runs().items():
    meta = runs.SummaryMetadata(run, "_hparams_/session_start_info")
    start = plugin_data_pb2.HParamsPluginData.FromString(
        meta.plugin_data.content).session_start_info
    result[run] = {
        "scalars": {tag: [[x.step, x.value] for x in runs.Scalars(run, tag)]
                    for tag in known["scalars"]},
        "hparams": {name: x.number_value if x.HasField("number_value")
                    else x.string_value for name, x in start.hparams.items()}}
print(json.dumps(result))
"""


def crc32c(data):
    x = 0xffffffff
    for byte in data:
        x ^= byte
        for _ in range(8):
            x = x >> 1 ^ (0x82f63b78 if x & 1 else 0)
    return x ^ 0xffffffff


def masked(data):
    x = crc32c(data)
    return ((x >> 15 | x << 17) + 0xa282ead8) & 0xffffffff


def records(path):
    data = path.read_bytes()
    while data:
        size, check = struct.unpack("<QI", data[:12])
        assert check == masked(data[:8]), "the checksum of a length"
        event, (check,) = data[12:12 + size], struct.unpack(
            "<I", data[12 + size:16 + size])
        assert check == masked(event), "the checksum of a record"
        yield event
        data = data[16 + size:]


def fields(message):
    """The fields of a message: (number, value), bytes not taken apart."""
    at = 0

    def varint():
        nonlocal at
        result = shift = 0
        while True:
            byte = message[at]
            at += 1
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            value, at = message[at:at + size], at + size
            if key & 7 == 1:
                (value,) = struct.unpack("<d", value)
            elif key & 7 == 5:
                (value,) = struct.unpack("<f", value)
        yield key >> 3, value


class TensorBoard(Case):
    @classmethod
    def setUpClass(cls):
        assert crc32c(b"123456789") == 0xe3069283

    def setUp(self):
        super().setUp()
        study = programs.study("viewed", "grid", steps=2, train=128)
        state = self.path("state")
        self.hippo("run", *self.studies(study), "--state", state, "--trainers",
                   1)
        self.hippo("export", "viewed", "--state", state, "--tensorboard",
                   self.path("board"))
        self.trials = json.loads(self.hippo(
            "export", "viewed", "--state", state, "--json").out)["trials"]
        self.board = pathlib.Path(self.path("board"))

    def expected(self, trial):
        """A trial's values: {metric: [[step, value], ...]}."""
        result = {}
        for x in trial["results"]:
            for name, value in x["metrics"].items():
                near = struct.unpack("<f", struct.pack("<f", value))[0]
                result.setdefault(name, []).append([x["step"], near])
        return result

    def test_a_folder_has_one_study(self):
        to = ["--tensorboard", self.path("board")]
        self.hippo("export", "viewed", "--state", self.path("state"), *to)
        other = self.path("other")
        self.hippo("run", *self.studies(programs.study(
            "viewed", "grid", steps=1, train=128)), "--state", other,
            "--trainers", 1)
        said = self.hippo("export", "viewed", "--state", other, *to, code=2)
        self.assertIn("has the trials of another study", said.err)

    def test_its_files_hold_what_was_measured(self):
        folders = sorted(self.board.iterdir())
        self.assertEqual([f"trial-{x['id']:05}" for x in self.trials],
                         [x.name for x in folders])
        for folder, trial in zip(folders, self.trials):
            scalars = {}
            for event in records(folder / "events.out.tfevents.hippo"):
                event = dict(fields(event))
                if 5 in event:
                    value = dict(fields(dict(fields(event[5]))[1]))
                    if 2 in value:
                        scalars.setdefault(value[1].decode(), []).append(
                            [event[2], value[2]])
            self.assertEqual(self.expected(trial), scalars)

    @unittest.skipUnless(os.environ.get("TENSORBOARD_PYTHON")
                         or importlib.util.find_spec("tensorboard"),
                         "there is no TensorBoard; TENSORBOARD_PYTHON says "
                         "which Python has it")
    def test_tensorboard_reads_them(self):
        done = subprocess.run(
            [os.environ.get("TENSORBOARD_PYTHON", sys.executable), "-c", READ,
             self.board], check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        for trial in self.trials:
            run = found[f"trial-{trial['id']:05}"]
            self.assertEqual(self.expected(trial), run["scalars"])
            self.assertEqual(set(trial["params"]), set(run["hparams"]))
            for name, value in trial["params"].items():
                if isinstance(value, (int, float)):
                    self.assertEqual(value, run["hparams"][name])


class Prometheus(Case):
    """The dashboard and the alerts ask for what the service tells."""

    def test_what_is_asked_for_is_there(self):
        server = self.start("serve", "--state", self.path("state"), "--listen",
                            "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--http",
                            "127.0.0.1:0")
        self.addCleanup(self.end, server)
        page = programs.wait_for("the service", lambda: re.search(
            r"people look at (\S+)", pathlib.Path(
                self.path("stderr")).read_text()))[1]
        told = set(re.findall(r"# TYPE (hippo_\w+) ", urllib.request.urlopen(
            page + "metrics").read().decode()))
        board = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
        self.assertEqual(len(board["panels"]),
                         len({x["id"] for x in board["panels"]}))
        for name in "grafana-dashboard.json", "alerts.yml":
            asked = set(re.findall(r"hippo_\w+", (DEPLOY / name).read_text()))
            self.assertGreater(len(asked), 4)
            self.assertEqual(set(), asked - told, name)
        self.assertIn("hippo_leases_waiting", told)  # autoscalers ask for it

    @unittest.skipUnless(PROMTOOL, "there is no promtool: scripts/setup "
                         "takes it out of Debian's package prometheus")
    def test_the_rules_are_rules(self):
        checked = subprocess.run(
            [PROMTOOL, "check", "rules", DEPLOY / "alerts.yml"], check=True,
            capture_output=True, text=True)
        self.assertRegex(checked.stdout, r"SUCCESS: \d+ rules found")


if __name__ == "__main__":
    unittest.main()
