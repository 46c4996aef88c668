"""Which devices hippo-trainer takes, and hippo run gives to its trainers.
FAKE_DRIVER is the folder of a GPU driver that knows two GPUs which cannot
compute."""

import os
import subprocess

from programs import PATIENCE, SHA, TRAINER, Case, main, study

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


class Runs(Case):
    def setUp(self):
        super().setUp()
        self.files = self.studies(study("small", SHA))

    def run_on(self, *flags, code=0, status=0):
        """Runs a study with flags, and says what hippo says.

        Args:
            status: of the driver's start.
        """
        done = self.hippo(
            "run", *self.files, "--state", self.path("s"), *flags, code=code,
            env={"LD_LIBRARY_PATH": FAKE_DRIVER,
                 "FAKE_GPU_STATUS": str(status)})
        return done.err

    def trainer_that_notes(self, replaced="cuda:*"):
        """A trainer program that notes its arguments, and trains on the CPU
        instead of some GPUs."""
        program = self.write("trainer", f"""#!/bin/bash
echo "$@" >> {self.path("calls")}
exec {TRAINER} "${{@/#{replaced}/cpu}}"
""")
        os.chmod(program, 0o755)
        return program

    def devices_of_calls(self, flag):
        """The devices of each call of that program with a flag."""
        with open(self.path("calls")) as calls:
            words = [x.split() for x in calls if flag in x]
        return sorted([y for x, y in zip(call, call[1:]) if x == "--device"]
                      for call in words)

    def test_the_cpu_has_many_trainers(self):
        self.run_on("--device", "cpu", "--trainers", 2, "--trainer-program",
                    self.trainer_that_notes())
        self.assertEqual(self.devices_of_calls("--connect"),
                         [["cpu"], ["cpu"]])

    def test_each_gpu_has_a_trainer(self):
        self.run_on("--device", "cuda:1", "--device", "cuda:0",
                    "--trainer-program", self.trainer_that_notes())
        self.assertEqual(self.devices_of_calls("--connect"),
                         [["cuda:0"], ["cuda:1"]])
        self.assertEqual(self.devices_of_calls("--prepare"),
                         [["cuda:0", "cuda:1"]])

    def test_precision_that_nobody_chose_is_named(self):
        told = "float32, since the study does not say which; on a GPU"
        chosen = study("chosen", SHA)
        chosen["workload"]["precision"] = "float32"
        program = self.trainer_that_notes()
        gpu = ("--device", "cuda:0", "--trainer-program", program)
        found = [self.run_on(*gpu).count(told),
                 self.run_on("--device", "cpu").count(told),
                 self.run_on(*gpu, "--quiet").count(told)]
        self.files = self.studies(chosen)
        found.append(self.run_on(*gpu).count(told))
        self.assertEqual(found, [1, 0, 0, 0])

    def test_one_gpu_that_cannot_be_used(self):
        # It runs until the other trainer has died.
        self.files = self.studies(study("long", SHA, train=2048))
        program = self.trainer_that_notes(replaced="cuda:0")
        err = self.run_on("--device", "cuda:0", "--device", "cuda:1",
                          "--trainer-program", program)
        self.assertIn("died with exit code 2; the others take over", err)
        self.assertIn("device cuda:1 cannot be used: Fake A10", err)

    def test_no_gpu_that_can_be_used(self):
        for devices in (["all"], ["cuda:0", "cuda:1"]):
            flags = [y for x in devices for y in ("--device", x)]
            err = self.run_on(*flags, code=2)
            self.assertIn("nothing to train on: device cuda:0 cannot be used: "
                          "Fake H100", err)
            self.assertIn("device cuda:1 cannot be used: Fake A10", err)
            self.assertNotIn("warning", err)

    def test_all_without_a_gpu_is_the_cpu(self):
        no_device = 100
        self.run_on("--device", "all", status=no_device)
        trainer, = self.report("s")["trainers"]
        self.assertIn("cpu", trainer["device"])

    def test_what_makes_no_sense(self):
        for flags, why in (
                (["cuda:0", "--trainers", 2],
                 "--trainers is for the CPU: a GPU has as many"),
                (["cpu", "--device", "cuda:0"],
                 "the CPU does not train beside GPUs"),
                (["all", "--device", "cuda:0"], "is every GPU"),
                (["gpu"], "no device 'gpu': give cpu, cuda:N or all")):
            with self.subTest(flags):
                self.assertIn(why, self.run_on("--device", *flags, code=2))
                self.assertFalse(os.path.exists(self.path("s")))


class Members(Case):
    """Threads that compute the parts of a workload together."""

    def trainer(self, *args, code=0):
        """Says what a trainer writes."""
        done = subprocess.run(
            [TRAINER, *args], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_bad_numbers(self):
        for number in "0", "3", "128", "two":
            self.assertIn(
                "--members: must be a power of two from 1 to 64, found "
                f"'{number}'",
                self.trainer("--connect", "127.0.0.1:1", "--members", number,
                             code=2))
        self.assertIn(
            "--members is for built-in workloads, and --ranks for code that "
            "studies bring",
            self.trainer("--connect", "127.0.0.1:1", "--members", "2",
                         "--ranks", "2", code=2))

    def test_they_train_studies_of_parts(self):
        whole = study("parts", SHA)
        whole["workload"]["parts"] = 4
        file, = self.studies(whole)
        for number in "1", "2", "8":
            self.assertIn("no bit differed", self.trainer(
                "--check", file, "--members", number))

    def test_a_profile_says_how_fast_they_are(self):
        whole = study("parts", "grid", lr={"choice": [0.1]})
        whole["workload"]["parts"] = 4
        file, = self.studies(whole)
        done = self.hippo("profile", file, "--members", "1,2,4")
        self.assertIn("measures 2 members\nmeasures 4 members\n", done.err)
        self.assertRegex(done.out,
                         r"\nmembers: \{2: [\d.e-]+, 4: [\d.e-]+\}\n")
        profile = self.write("made.yaml", done.out)
        self.hippo("simulate", file, "--profile", profile, "--trainers", 4,
                   "--report", self.path("report"))
        said = self.hippo("profile", file, "--members", "8", code=1).err
        self.assertIn("--members 8: at most 4 can train 'fashion-mlp'", said)
        self.assertIn(
            "must be a power of two from 1 to 64, found '3'",
            self.hippo("profile", file, "--members", "3", code=2).err)
        self.assertIn("--other-members requires --check or --measure",
                      self.trainer("--prepare", file, "--other-members", "2",
                                   code=2))

    def test_bad_places_for_gangs(self):
        for place, why in (
                ("0.0.0.0", "must be a host by which other trainers reach"),
                ("[::]:4901", "must be a host by which other trainers reach"),
                ("10.0.0.7:port", "must be HOST or HOST:PORT, such as"),
                ("[::1", "must be HOST or HOST:PORT, such as"),
                ("auto:port", "must be HOST or HOST:PORT, such as auto,"),
                ("auto:65536", "must be HOST or HOST:PORT, such as auto,"),
                ("no-such-host.invalid", "cannot listen at no-such-host.inv"),
                ("203.0.113.7:4901", "cannot listen at 203.0.113.7:4901")):
            with self.subTest(place):
                said = self.trainer("--connect", "127.0.0.1:1",
                                    "--gang-listen", place, code=2)
                self.assertIn("--gang-listen: ", said)
                self.assertIn(why, said)
        for place in "127.0.0.1", "auto":
            self.assertIn(
                "--members joins devices of one trainer, and --gang-listen "
                "joins trainers: give one of them",
                self.trainer("--connect", "127.0.0.1:1", "--members", "2",
                             "--gang-listen", place, code=2))
        self.assertIn("--gang-listen requires --connect", self.trainer(
            "--describe", "--gang-listen", "127.0.0.1", code=2))


if __name__ == "__main__":
    main()
