"""Installs the build, and builds examples/client out of tree against what is
installed.

The environment says where things are: CMAKE, CXX, HIPPO_BUILD, FAKE_SERVICE.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

CMAKE = os.environ["CMAKE"]
EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/client"


def run(*command, code=0):
    """Runs a command, checks its exit code and returns what it wrote."""
    done = subprocess.run([str(x) for x in command], text=True, timeout=280,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != code:
        raise AssertionError(f"{command} exits with {done.returncode}, not "
                             f"{code}:\n{done.stdout}")
    return done.stdout


class InstalledClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="hippo-client-")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / "prefix"
        cls.build = pathlib.Path(folder.name) / "build"
        run(CMAKE, "--install", os.environ["HIPPO_BUILD"], "--prefix",
            cls.prefix)
        run(CMAKE, "-S", EXAMPLE, "-B", cls.build,
            f"-DCMAKE_PREFIX_PATH={cls.prefix}",
            f"-DCMAKE_CXX_COMPILER={os.environ['CXX']}")
        run(CMAKE, "--build", cls.build)

    def test_example(self):
        with subprocess.Popen([os.environ["FAKE_SERVICE"]], text=True,
                              stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as service:
            address = "127.0.0.1:" + service.stdout.readline().strip()
            said = run(self.build / "evolution", address,
                       EXAMPLE / "evolution.yaml")
            self.assertRegex(said, "^COMPLETE: .* best 1.69 with ")
            service.stdin.close()

    def test_nobody_answers(self):
        said = run(self.build / "evolution", "127.0.0.1:1",
                   EXAMPLE / "evolution.yaml", code=1)
        self.assertIn("cannot connect to a service at 127.0.0.1:1", said)

    def test_the_example_is_short(self):
        lines = (EXAMPLE / "evolution.cpp").read_text().splitlines()
        self.assertLess(len(lines), 80)

    def test_the_header_needs_nothing_else(self):
        include = self.prefix / "include"
        source = self.build / "header.cpp"
        source.write_text("#include <hippo/net/client/client.hpp>\n")
        needed = run(os.environ["CXX"], "-std=c++20", f"-I{include}", "-M",
                     source)
        for library in ("nlohmann", "capnp", "kj/", "caf/"):
            self.assertNotIn(library, needed)


if __name__ == "__main__":
    unittest.main()
