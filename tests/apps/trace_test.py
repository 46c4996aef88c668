#!/usr/bin/env python3
"""The events of a service, written by HIPPO_TRACE, and done again."""

import json
import os
import re
import signal
import subprocess

import programs
from own_code import Serving, study
from programs import PATIENCE, send

SIMULATION = os.environ.get("HIPPO_SIMULATION")


class Trace(Serving):
    """Real programs over loopback."""

    def setUp(self):
        super().setUp()
        self.trace = self.path("trace")

    def lines(self):
        with open(self.trace, encoding="ascii") as file:
            return [json.loads(x) for x in file]

    def replay(self, code=0, trace=None):
        done = subprocess.run(
            [SIMULATION, "--replay", trace or self.trace],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def assert_replays(self, *cores):
        lines = self.lines()
        self.assertEqual({x["core"].split(" ")[0] for x in lines}, set(cores))
        said = self.replay()
        events = sum("event" in x for x in lines)
        self.assertGreater(events, 20)
        self.assertIn(f"{len(lines)} lines, {len(cores)} cores, {events} "
                      "events with equal effects, 0 left out", said)

    def test_a_run(self):
        self.run_study(study(), "state", "--trainers", 2,
                       env={"HIPPO_TRACE": self.trace})
        self.assert_replays("coordinator", "pool", "merger", "study")
        with open(self.trace, encoding="ascii") as file:
            places = set(re.findall(r'"gang":"(127\.0\.0\.1:[1-9]\d*)"',
                                    file.read()))
        self.assertEqual(len(places), 2, "where members of a gang meet")

        # One digit of a measurement is another one.
        with open(self.trace, encoding="ascii") as file:
            lines = file.readlines()
        number = next(i for i, x in enumerate(lines)
                      if '"event":"received"' in x and '["val",' in x)
        lines[number] = re.sub(r'(\["val",0\.\d)(\d)',
                               lambda x: x[1] + str((int(x[2]) + 1) % 10),
                               lines[number], count=1)
        with open(self.trace, "w", encoding="ascii") as file:
            file.writelines(lines)
        self.assertIn(f"line {number + 1}, study 1, received: ",
                      self.replay(1))

    def test_a_service(self):
        self.env["HIPPO_TRACE"] = self.trace
        service = self.serve()
        self.trainer()
        self.submit(study())
        self.await_end()
        send(service, signal.SIGTERM)
        self.finish(service, 0)
        self.assert_replays("coordinator", "pool", "merger", "study")

    def test_trainers(self):
        service = self.serve()
        around = ["env", "HIPPO_TRAINER_TRACE=" + self.trace]
        self.trainer(around=around)
        self.trainer(around=around)
        self.submit(study())
        self.await_end()
        send(service, signal.SIGTERM)
        self.finish(service, 0)
        folder, name = os.path.split(self.trace)
        traces = [x for x in os.listdir(folder) if x.startswith(name + ".")]
        self.assertEqual(len(traces), 2, "one for each process")
        events = 0
        for trace in traces:
            said = self.replay(trace=os.path.join(folder, trace))
            found = re.search(r"lines, 1 cores, (\d+) events with equal "
                              "effects, 0 left out", said)
            self.assertTrue(found, said)
            events += int(found[1])
        # One of them may have come when there was little left to train.
        self.assertGreaterEqual(events, 20)

    def test_a_file_that_cannot_be_written(self):
        self.write("s.yaml", study())
        done = self.hippo("run", "s.yaml", "--state", "state", code=2,
                          env={"HIPPO_TRACE": self.path("none", "trace")})
        self.assertIn("cannot write the trace", done.err)


if __name__ == "__main__":
    programs.main()
