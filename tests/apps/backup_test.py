#!/usr/bin/env python3
"""What `hippo backup` copies while a service works, and what goes on of it."""

import json
import os
import shutil
import signal
import tempfile

import programs
from own_code import Serving, python, study
from programs import results, send, wait_for

# A step ends once there is a file of its number.
GATE = ["while step and not os.path.exists(self.args['gate'] + str(step)):",
        "    time.sleep(0.01)"]


class Moving(Serving):
    """A service that goes on on another machine."""

    def setUp(self):
        super().setUp()
        self.after(*GATE, head="import os\nimport time")
        self.study = study(workload=python(args={"gate": self.path("gate")}))
        self.backup = self.path("backup")

    def open_gates(self, *steps):
        for step in steps:
            self.write(f"gate{step}", "")

    def reference(self):
        self.open_gates(*range(1, 6))
        self.write("s.yaml", self.study)
        self.hippo("run", "s.yaml", "--state", "reference")
        for step in range(1, 6):
            os.remove(self.path(f"gate{step}"))
        return results(self.report("reference"))

    def checkpoints(self):
        return {name for _, _, names in os.walk(self.backup)
                for name in names if name.endswith(".ckpt")}

    def results_of(self, trial):
        said = self.hippo("trials", "s", "-f", "json").out
        return json.loads(said)[trial]["step"]

    def test_goes_on_elsewhere_bit_for_bit(self):
        wanted = self.reference()
        service = self.serve()
        trainer = self.trainer()
        self.submit(self.study)
        self.open_gates(1, 2, 3)
        wait_for("a result", lambda: self.results_of(0))
        said = self.hippo("backup", "--state", "state", self.backup).out
        self.assertRegex(said, r": 1 studies, \d+ checkpoints \(\d+ copied")
        self.open_gates(4)
        wait_for("a checkpoint", lambda: "copied, 0 MB" in self.hippo(
            "backup", "--state", "state", self.backup).out
            and self.checkpoints())
        for process in [service, trainer]:
            process.kill()
            process.wait()
        shutil.rmtree(self.path("state"))
        # What is left of the old machine is the backup.
        gates = [self.path(f"gate{step}") for step in range(1, 6)]
        self.folder = tempfile.mkdtemp(prefix="hippo-apps-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        said = self.hippo("ls", "--state", self.backup).out
        self.assertIn("RUNNING", said)
        self.hippo("restore", self.backup, "--state", "state")
        self.hippo("restore", self.backup, "--state", "state", code=2)
        service = self.serve()
        self.trainer()
        for gate in gates:
            with open(gate, "w"):
                pass
        self.await_end()
        send(service, signal.SIGTERM)
        service.wait(60)
        self.hippo("run", "--resume", "state", "--trainers", 1)
        report = self.report("state")
        self.assertEqual(results(report), wanted)
        self.assertEqual(report["trained_steps"], 0)


if __name__ == "__main__":
    programs.main()
