"""Which devices hippo-trainer takes. FAKE_DRIVER is the folder of a GPU driver
that knows two GPUs which cannot compute."""

import os
import subprocess

from programs import PATIENCE, TRAINER, Case, main

FAKE_DRIVER = os.environ["FAKE_DRIVER"]


class Devices(Case):
    def describe(self, *devices, code=0, status=0):
        """Says what the trainer writes to standard output and to the log.

        Args:
            status: of the driver's start.
        """
        flags = [y for x in devices for y in ("--device", x)]
        done = subprocess.run(
            [TRAINER, "--describe", *flags], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=PATIENCE,
            env={**os.environ, "LD_LIBRARY_PATH": FAKE_DRIVER,
                 "FAKE_GPU_STATUS": str(status)})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_the_last_device_that_cannot_be_used(self):
        out, err = self.describe("all", code=2)
        self.assertEqual(out, "")
        *skipped, end = err.splitlines()
        self.assertEqual(len(skipped), 2, err)
        for number, name in enumerate(["Fake H100", "Fake A10"]):
            why = f"device cuda:{number} cannot be used: {name}: "
            self.assertIn(why, skipped[number])
            self.assertIn("warning", skipped[number])
            self.assertIn(why, end)
        self.assertIn("nothing to train on", end)
        _, err = self.describe("cuda:1", code=2)
        self.assertIn("device cuda:1 cannot be used: Fake A10: ", err)

    def test_others_are_taken_instead(self):
        for devices in ("all", "cpu"), ("cuda:1", "cpu"), ("cpu", "cuda:7"):
            out, err = self.describe(*devices)
            self.assertIn("fashion-mlp", out)
            self.assertIn("it is skipped", err)
        self.assertIn("no device cuda:7: the number of GPUs is 2", err)

    def test_a_driver_that_does_not_start(self):
        out, err = self.describe("all", status=803)
        self.assertIn("fashion-mlp", out)
        self.assertIn("driver does not start: CUDA error 803", err)
        _, err = self.describe("cuda:0", status=803, code=2)
        self.assertIn("driver does not start: CUDA error 803", err)

    def test_no_gpu(self):
        no_device = 100
        out, err = self.describe("all", status=no_device)
        self.assertIn("fashion-mlp", out)
        self.assertEqual(err, "")

    def test_names_that_no_device_has(self):
        for name in "cuda", "cuda:", "cuda:x", "gpu", "cpu:0":
            _, err = self.describe(name, "cpu", code=2)
            self.assertIn(f"no device '{name}': give cpu, cuda:N or all", err)


if __name__ == "__main__":
    main()
