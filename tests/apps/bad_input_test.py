#!/usr/bin/env python3
"""Whatever a user gets wrong: a clear message, exit code 2, nothing touched."""

import hashlib
import os
import re
import sqlite3
import subprocess

import programs
from programs import Case, study, trainers

GOOD = """\
study: good
workload:
  name: fashion-mlp
  data: {train: 256, validation: 128}
objective: {metric: val_accuracy}
max_steps: 3
space:
  lr:
    choice:
      - 0.1
      - multistep: {initial: 0.1, milestones: [1, 2], gamma: 0.5}
algorithm: grid
"""


class Bad(Case):
    def refused(self, *args, state="state"):
        """Runs hippo, which must refuse. @returns what it says"""
        before = self.contents(state)
        done = self.hippo(*args, code=2)
        self.assertEqual(done.out, "")
        self.assertEqual(self.contents(state), before)
        self.assertNotIn("terminate called", done.err)
        self.assertTrue(done.err.endswith("\n") and done.err.strip(), done.err)
        self.assertNotIn("\n\n", done.err)
        return done.err

    def refused_run(self, *args):
        return self.refused("run", *args, "--state", self.path("state"))

    def contents(self, name):
        """Every file in a folder with a digest; None if there is no folder."""
        if not os.path.exists(self.path(name)):
            return None
        result = {}
        for folder, _, files in os.walk(self.path(name)):
            for x in files:
                # What SQLite keeps beside a database comes and goes, and the
                # lock says who had it last.
                if x.endswith(("-shm", "-wal")) or x == "lock":
                    continue
                with open(os.path.join(folder, x), "rb") as data:
                    result[os.path.join(folder, x)] = hashlib.sha256(
                        data.read()).hexdigest()
        return result


OLD_KEYS = """\
study: old
workload: {name: fashion-mlp, data: {train: 256, validation: 128}}
objective: {metric: val_accuracy, every: 2}
%s
space: {lr: {uniform: [0.1, 0.2]}}
algorithm: {asha: {min: 1, concurrent: 4}}
budget: {trials: 5}
"""


class OldKeys(Bad):
    def test_the_printed_commands_replace_them(self):
        for steps in ("steps: {max: 6}", "steps:\n  max: 6", "steps: 6"):
            with self.subTest(steps):
                file = self.write("x.yaml", OLD_KEYS % steps)
                before = self.hippo("preview", "-f", "json", file)
                commands = re.findall(
                    r"warning: .*x\.yaml:\d+:.*Replace it: (sed .*)",
                    before.err)
                self.assertEqual(len(commands), 3, before.err)
                for command in commands:
                    subprocess.run(command, shell=True, check=True,
                                   cwd=self.folder)
                after = self.hippo("preview", "-f", "json", file)
                self.assertNotIn("is now", after.err)
                self.assertEqual(after.out, before.out)

    def test_both_names_of_a_key(self):
        file = self.write("x.yaml", OLD_KEYS % "steps: 6\nmax_steps: 6")
        said = self.refused_run(file)
        self.assertIn(f"{file}:4:1: steps: is the old name of max_steps, "
                      "which line 5 gives too: remove 'steps' here", said)

    def test_prove_is_the_former_name_of_check(self):
        done = subprocess.run([programs.TRAINER, "--prove", self.path("none")],
                              capture_output=True, text=True)
        self.assertIn("warning: --prove is now --check;", done.stderr)
        self.assertIn("none: cannot be read: No such file", done.stderr)


class StudyFiles(Bad):
    def check(self, old, new, place, *texts):
        """Changes the good file; the error is at line:column, then its path."""
        self.assertEqual(GOOD.count(old), 1, old)
        file = self.write("x.yaml", GOOD.replace(old, new))
        said = self.refused_run(file)
        line, path = place
        self.assertIn(f"error: {file}:{line}: {path}", said)
        for text in texts:
            self.assertIn(text, said)
        self.assertEqual(self.refused("preview", file).splitlines()[0],
                         said.splitlines()[0])

    def test_no_such_file(self):
        said = self.refused_run(self.path("none.yaml"))
        self.assertEqual(said, f"hippo: {self.path('none.yaml')}: "
                               "cannot be read: No such file or directory\n")

    def test_folder_for_a_file(self):
        self.assertIn(f"{self.folder}: cannot be read: Is a directory",
                      self.refused_run(self.folder))

    def test_empty_file(self):
        self.assertIn("x.yaml:", self.refused_run(self.write("x.yaml", "")))

    def test_not_text(self):
        with open(self.path("x.yaml"), "wb") as out:
            out.write(bytes(range(256)) * 10)
        self.assertIn("x.yaml:", self.refused_run(self.path("x.yaml")))

    def test_not_yaml(self):
        self.check("{metric: val_accuracy}", "{metric: val_accuracy",
                   ("6:10", ""), "not valid YAML")

    def test_unknown_key(self):
        self.check("max_steps:", "max_stesp:", ("6:1", "max_stesp: "),
                   "did you mean 'max_steps'?", "Allowed: study, ")

    def test_unknown_parameter(self):
        self.check("gamma", "gama", ("11:61", "space.lr.choice[1].multistep"),
                   "'gama', did you mean 'gamma'?")

    def test_unknown_hyper_parameter(self):
        self.check("  lr:", "  learning_rate:", ("8:3", "space.learning_rate"),
                   "batch_size")

    def test_wrong_type(self):
        self.check("max_steps: 3", "max_steps: three", ("6:12", "max_steps: "),
                   "whole number", "found 'three'")

    def test_word_for_a_map(self):
        self.check("{metric: val_accuracy}", "[val_accuracy]",
                   ("5:13", "objective[0]: "))

    def test_empty_choice(self):
        self.check("""
      - 0.1
      - multistep: {initial: 0.1, milestones: [1, 2], gamma: 0.5}""", " []",
                   ("9:13", "space.lr.choice: "), "at least one option",
                   "found an empty list")

    def test_negative_learning_rate(self):
        self.check("- 0.1", "- -0.1", ("10:9", "space.lr.choice[0]: "),
                   "must be at least 0, found -0.1")

    def test_nan_learning_rate(self):
        self.check("- 0.1", "- .nan", ("10:9", "space.lr.choice[0]: "),
                   "found nan")

    def test_infinite_learning_rate(self):
        self.check("- 0.1", "- .inf", ("10:9", "space.lr.choice[0]: "))

    def test_unsorted_milestones(self):
        self.check("[1, 2]", "[2, 1]",
                   ("11:51", "space.lr.choice[1].multistep.milestones[1]: "),
                   "found 1 after 2")

    def test_batch_size_below_1(self):
        self.check("algorithm:", "  batch_size: 0\nalgorithm:",
                   ("12:15", "space.batch_size: "), "found 0")

    def test_batch_size_above_the_training_data(self):
        self.check("algorithm:", "  batch_size: 257\nalgorithm:",
                   ("12:15", "space.batch_size: "), "at most 256, found 257")

    def test_every_trial_diverges(self):
        """What only training shows is no bad input, but no success either."""
        file = self.write("x.yaml", re.sub(
            r"(?s)  lr:.*algorithm:", "  lr: {choice: [1e30, 1e31]}\nalgorithm:",
            GOOD))
        done = self.hippo("run", file, "--state", self.path("state"), code=1)
        self.assertIn("Trial 1 failed: ", done.err)
        self.assertIn("every trial of study 'good' failed", done.err)
        self.assertEqual({x["state"] for x in
                          self.report("state")["studies"][0]["trials"]},
                         {"FAILED"})

    def test_unknown_workload(self):
        self.check("fashion-mlp", "fashoin-mlp", ("3:9", "workload.name: "),
                   "did you mean 'fashion-mlp'?", "fashion-cnn")

    def test_unknown_workload_option(self):
        self.check("train: 256", "tarin: 256", ("4:10", "workload.data.tarin"),
                   "data.train")

    def test_unknown_metric(self):
        self.check("val_accuracy", "accuracy", ("5:21", "objective.metric: "),
                   "val_accuracy")

    def test_unknown_algorithm(self):
        self.check("algorithm: grid", "algorithm: gird", ("12:12", "algorithm"),
                   "did you mean 'grid'?")

    def test_grid_of_a_range_without_points(self):
        self.check("- 0.1", "- {uniform: [0.1, 0.2]}", ("12:12", "algorithm"))

    def test_two_errors_are_both_told(self):
        file = self.write("x.yaml", GOOD.replace("max_steps: 3", "max_steps: -3")
                          .replace("- 0.1", "- -0.1"))
        said = self.refused_run(file)
        self.assertEqual(said.count("error: "), 2, said)

    def test_one_bad_file_stops_the_good_ones(self):
        good = self.write("good.yaml", GOOD)
        bad = self.write("x.yaml", GOOD.replace("study: good", "stduy: x"))
        self.assertIn("x.yaml:1:1: ", self.refused_run(good, bad))

    def test_two_studies_of_one_name(self):
        one = self.write("one.yaml", GOOD)
        two = self.write("two.yaml", GOOD)
        said = self.refused_run(one, two)
        self.assertIn(f"error: {two}:1:8: study: ", said)
        self.assertIn("'good'", said)
        self.assertIn(one, said)

    def missing_data(self, data, *texts):
        file = self.write("x.yaml", GOOD.replace(
            "{train: 256, validation: 128}", data))
        said = self.refused_run(file)
        self.assertIn(f"error: {file}:", said)
        self.assertIn(": workload", said)
        for text in texts:
            self.assertIn(text, said)

    def test_missing_data_set(self):
        folder = self.path("nowhere")
        self.missing_data(f"{{train: 256, folder: {folder}}}", folder,
                          "dataset-fashion-mnist", "data.folder")

    def test_damaged_data_set(self):
        os.mkdir(self.path("data"))
        for name in ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"]:
            self.write("data/" + name, "not it")
        self.missing_data(f"{{folder: {self.path('data')}}}",
                          "train-images-idx3-ubyte")

    def test_too_large_a_data_set(self):
        self.missing_data("{train: 50000, validation: 20000}", "50000",
                          "20000", "60000")

    def test_odd_but_harmless(self):
        file = self.write("x.yaml", GOOD.replace("[1, 2]", "[1, 20]"))
        done = self.hippo("run", file, "--state", self.path("state"))
        self.assertIn(f"warning: {file}:11:51: "
                      "space.lr.choice[1].multistep.milestones[1]: ", done.err)
        self.assertIn("step 3", done.err)
        self.assertEqual(self.report("state")["asked_steps"], 6)


class CommandLine(Bad):
    def setUp(self):
        super().setUp()
        self.file = self.write("good.yaml", GOOD)

    def test_unknown_flag(self):
        said = self.refused_run(self.file, "--traners", 2)
        self.assertIn("--traners, did you mean '--trainers'?", said)

    def test_unknown_verb(self):
        said = self.refused("rnu", self.file)
        self.assertIn("'rnu', did you mean 'run'?", said)

    def test_no_verb(self):
        self.assertIn("--help", self.refused())

    def test_no_files(self):
        self.assertIn("study files", self.refused("run"))

    def test_files_and_resume(self):
        self.assertIn("--resume", self.refused_run(
            self.file, "--resume", self.path("state")))

    def test_no_trainers(self):
        for number in ["0", "-1", "1.5", "many", "100000"]:
            with self.subTest(number):
                self.assertIn("--trainers", self.refused_run(
                    self.file, "--trainers", number))

    def test_unknown_choices(self):
        for flag in ["--merge", "--scheduler"]:
            with self.subTest(flag):
                said = self.refused_run(self.file, flag, "maybe")
                self.assertIn(flag, said)
                self.assertIn("maybe", said)

    def test_no_such_trainer_program(self):
        said = self.refused_run(self.file, "--trainer-program",
                                self.path("none"))
        self.assertIn(self.path("none"), said)

    def test_no_such_workload_library(self):
        said = self.refused_run(self.file, "--workload",
                                self.path("libnone.so"))
        self.assertIn("libnone.so", said)

    def test_help(self):
        for verb in ["run", "preview", "best"]:
            with self.subTest(verb):
                done = self.hippo(verb, "--help")
                self.assertIn(f"Example: hippo {verb} ", done.out)
                self.assertEqual(done.err, "")
                self.assertEqual(done.out, self.hippo("help", verb).out)
        self.assertIn("preview", self.hippo("--help").out)
        for words in [["help"], ["help", "help"], ["help", "--help"]]:
            with self.subTest(words):
                self.assertEqual(self.hippo("--help").out,
                                 self.hippo(*words).out)
        self.assertIn("unknown verb 'previw', did you mean 'preview'?",
                      self.refused("help", "previw"))


class StateFolder(Bad):
    def setUp(self):
        super().setUp()
        self.file = self.write("good.yaml", GOOD)

    def test_another_version(self):
        self.hippo("run", self.file, "--state", self.path("state"))
        database = sqlite3.connect(self.path("state", "hippo.db"))
        with database:
            database.execute("UPDATE meta SET value = '99' "
                             "WHERE key = 'version'")
        database.close()
        for args in [["run", self.file, "--state", self.path("state")],
                     ["run", "--resume", self.path("state")],
                     ["best", "good", "--state", self.path("state")]]:
            with self.subTest(args[0]):
                said = self.refused(*args)
                self.assertIn("version 99", said)
                self.assertIn(self.path("state"), said)

    def test_in_use(self):
        # A long run, so that it is still there.
        long = self.studies(study("long", "grid", train=8000))
        process = self.start("run", *long, "--state", self.path("state"),
                             "--trainers", 1)
        self.first_trial(process)
        for args in [["run", self.file, "--state", self.path("state")],
                     ["run", "--resume", self.path("state")]]:
            said = self.hippo(*args, code=2)
            self.assertEqual(said.out, "")
            self.assertIn(f"in use by process {process.pid}", said.err)
        self.assertEqual(len(trainers(process.pid)), 1)
        process.kill()
        process.wait()
        # A lock that nobody holds any more is none.
        self.hippo("run", self.file, "--state", self.path("state"))

    def test_other_things(self):
        os.mkdir(self.path("state"))
        self.write("state/thesis.tex", "years of work")
        said = self.refused_run(self.file)
        self.assertIn("thesis.tex", said)

    def test_a_file(self):
        self.write("state", "a file")
        before = os.stat(self.path("state"))
        done = self.hippo("run", self.file, "--state", self.path("state"),
                          code=2)
        self.assertIn(self.path("state"), done.err)
        self.assertEqual(os.stat(self.path("state")).st_size, before.st_size)

    def test_damaged_database(self):
        self.hippo("run", self.file, "--state", self.path("state"))
        with open(self.path("state", "hippo.db"), "r+b") as database:
            database.write(b"not a database any more" * 10)
        said = self.refused_run(self.file)
        self.assertIn(self.path("state"), said)

    def test_resume_without_state(self):
        said = self.refused("run", "--resume", self.path("state"))
        self.assertIn(self.path("state"), said)

    def test_resume_an_empty_state(self):
        os.mkdir(self.path("state"))
        said = self.refused("run", "--resume", self.path("state"))
        self.assertIn("no Hippo state", said)


if __name__ == "__main__":
    programs.main()
