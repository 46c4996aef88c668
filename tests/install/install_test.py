"""Installs the build, and uses what is installed as its users would: builds
examples/custom_workload out of tree and runs its study.

The environment says where things are: CMAKE, CXX, HIPPO_BUILD.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

CMAKE = os.environ["CMAKE"]
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/custom_workload"


def run(*command, code=0):
    """Runs a command, checks its exit code and returns what it wrote."""
    done = subprocess.run([str(x) for x in command], text=True, timeout=280,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != code:
        raise AssertionError(f"{command} exits with {done.returncode}, not "
                             f"{code}:\n{done.stdout}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hippo-install-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        cls.hippo = cls.prefix / "bin/hippo"
        build = cls.folder / "build"
        run(CMAKE, "--install", os.environ["HIPPO_BUILD"], "--prefix",
            cls.prefix)
        run(CMAKE, "-S", EXAMPLE, "-B", build,
            f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}")
        run(CMAKE, "--build", build)
        cls.library = build / "libtwo_moons.so"

    def run_study(self, name, *flags):
        """Runs the example's study and returns its part of the report."""
        state = self.folder / name
        run(self.hippo, "run", EXAMPLE / "study.yaml", "--workload",
            self.library, "--trainers", 2, "--state", state, "--quiet", *flags)
        report = json.loads((state / "report/latest/report.json").read_text())
        return report, report["studies"][0]

    def test_merged_equals_alone(self):
        merged_report, merged = self.run_study("on")
        alone_report, alone = self.run_study("off", "--merge", "off")
        self.assertEqual(len(merged["trials"]), 20)
        keys = ("id", "state", "params", "steps", "results")
        for x, y in zip(merged["trials"], alone["trials"], strict=True):
            self.assertEqual({k: x[k] for k in keys}, {k: y[k] for k in keys})
        self.assertEqual(merged["best"], alone["best"])
        self.assertEqual(merged_report["trained_steps"],
                         merged_report["unique_steps"])
        self.assertEqual(alone_report["trained_steps"],
                         merged_report["asked_steps"])
        self.assertLess(merged_report["trained_steps"],
                        alone_report["trained_steps"])
        # And it learns: a coin has a loss of 0.69.
        self.assertLess(merged["best"]["value"], 0.1)

    def test_misspelt_workload(self):
        study = self.folder / "misspelt.yaml"
        text = (EXAMPLE / "study.yaml").read_text()
        study.write_text(text.replace("two-moons", "two-mons"))
        said = run(self.hippo, "run", study, "--workload", self.library,
                   "--state", self.folder / "misspelt", code=2)
        self.assertIn("two-mons", said)
        self.assertIn("did you mean 'two-moons'?", said)

    def test_trainers_without_the_library(self):
        """Nobody waits for ever for trainers that cannot train."""
        trainer = self.folder / "forgetful-trainer"
        trainer.write_text(f"""#!/bin/sh
            case "$*" in
              *--connect*)
                set -- $(printf '%s\\n' "$@" | sed '/^--workload$/,+1d') ;;
            esac
            exec {self.prefix}/bin/hippo-trainer "$@"
            """)
        trainer.chmod(0o755)
        said = run(self.hippo, "run", EXAMPLE / "study.yaml", "--workload",
                   self.library, "--trainer-program", trainer, "--state",
                   self.folder / "forgetful", "--quiet", code=1)
        self.assertIn("trainers can train 'two-moons': start one with the "
                      "library that it is in", said)

    def test_headers_need_nothing_else(self):
        include = self.prefix / "include"
        everything = self.folder / "everything.cpp"
        headers = sorted(include.rglob("*.hpp"))
        self.assertIn(include / "hippo/train/workload.hpp", headers)
        everything.write_text("".join(
            f"#include <{x.relative_to(include)}>\n" for x in headers))
        needed = run(os.environ["CXX"], "-std=c++20", f"-I{include}", "-M",
                     everything)
        for library in ("nlohmann", "yaml-cpp", "xxhash", "torch", "caf/",
                        "capnp"):
            self.assertNotIn(library, needed)

    def test_exceptions_cross_the_library(self):
        """What a library throws is known by its type to who loads it, whether
        or not the program exports the same class."""
        run(CMAKE, "-S", pathlib.Path(__file__).parent / "loader", "-B",
            self.folder / "loader", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}")
        run(CMAKE, "--build", self.folder / "loader")
        library = self.folder / "loader/liblost.so"
        for program in "exporting", "hiding":
            said = run(self.folder / "loader" / program, library)
            self.assertEqual(said, "missing_data: the moons are gone\n")
        study = self.folder / "lost.yaml"
        study.write_text("study: s\nworkload: lost\nobjective: {metric: m}\n"
                         "max_steps: 1\nspace: {x: 1}\n")
        said = run(self.prefix / "bin/hippo-trainer", "--workload", library,
                   "--prepare", study, code=2)
        self.assertIn("the moons are gone", said)


if __name__ == "__main__":
    unittest.main()
