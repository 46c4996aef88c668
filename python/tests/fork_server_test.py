"""One process that imports code, and a fork of it for each workload."""

import os
import random
import signal
import tempfile
import textwrap
import time
import unittest
from unittest import mock

import capnp
from hippo_hpo import _fork_server
from hippo_hpo._schema import process
from processes import is_alive
from trainer_end import Trainer

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipIf(torch is None, "torch is not installed")

# Metrics are what `facts` says.
CODE = """
    import atexit
    import os
    import random
    import signal
    import sys
    import time
    from threading import Thread

    import hippo_hpo as hippo

    class Net(hippo.Workload):
        def setup(self, seed, device, args):
            self.args = args

        def init(self):
            self.total = 0.0

        def train(self, start, stop, hp):
            self.total += hp.lr(start)

        def facts(self):
            return {}

        def evaluate(self):
            return {"process": os.getpid(), "parent": os.getppid(),
                    "total": self.total, **self.facts()}

        def state_dict(self):
            return self.total

        def load_state_dict(self, state):
            self.total = state
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.outside = folder.name
        self.folder = os.path.join(folder.name, "code")
        os.mkdir(self.folder)

    def start(self, code="", *options, name="Net"):
        """Starts a process for the class, or one that follows."""
        with open(os.path.join(self.folder, "train.py"), "w") as file:
            file.write(textwrap.dedent(CODE) + textwrap.dedent(code))
        trainer = Trainer(*(options or ["--renew"]), f"train.py:{name}",
                          cwd=self.folder)
        self.addCleanup(trainer.close)
        return trainer

    def describe(self, trainer):
        return trainer.ask("describe",
                           process.processProtocolVersion).description

    def begin(self, trainer, **args):
        """Begins a workload. @returns its metrics"""
        self.assertTrue(self.describe(trainer).renews)
        self.assertEqual(trainer.setup(**args).which(), "done")
        self.assertEqual(trainer.ask("init").which(), "done")
        return trainer.metrics()

    def facts(self, code, count=2):
        """Returns the metrics of workloads, one after the other."""
        trainer = self.start(code)
        result = []
        for _ in range(count):
            result.append(self.begin(trainer))
            self.assertEqual(trainer.ask("renew").which(), "done")
        return result


class Renewing(Case):
    """A workload begins as if the code had just been imported."""

    def test_code_is_imported_once_and_runs_in_forks(self):
        first, second = self.facts("""
            print("x", file=open("../imported", "a"))
            """)
        self.assertEqual(first["parent"], second["parent"])
        self.assertNotEqual(first["process"], second["process"])
        self.assertFalse(is_alive(int(first["process"])))
        with open(os.path.join(self.outside, "imported")) as file:
            self.assertEqual(file.read(), "x\n")

    def test_globals_and_environment_are_those_of_the_import(self):
        first, second, third = self.facts("""
            table = {"n": 0}
            os.environ["N"] = "0"

            class Net(Net):
                def setup(self, seed, device, args):
                    table["n"] += 1
                    os.environ["N"] += "1"
                    Net.count = getattr(Net, "count", 0) + 1
                    sys.path.append("elsewhere")
                    os.chdir("/")

                def facts(self):
                    return {"n": table["n"], "N": int(os.environ["N"]),
                            "count": Net.count,
                            "paths": sys.path.count("elsewhere")}
            """, 3)
        for x in first, second, third:
            self.assertEqual((x["n"], x["N"], x["count"], x["paths"]),
                             (1, 1, 1, 1))

    def test_generators_are_those_of_the_import(self):
        drawn = [x["drawn"] for x in self.facts("""
            random.seed(3)

            class Net(Net):
                def setup(self, seed, device, args):
                    self.drawn = random.random()

                def facts(self):
                    return {"drawn": self.drawn}
            """)]
        self.assertEqual(drawn, [random.Random(3).random()] * 2)

    @needs_torch
    def test_generators_and_modes_of_pytorch(self):
        first, second = self.facts("""
            import torch

            torch.manual_seed(3)

            class Net(Net):
                def setup(self, seed, device, args):
                    self.drawn = float(torch.rand(1))
                    self.summed = float((torch.ones(999, 99) / 7).sum())
                    self.found = torch.are_deterministic_algorithms_enabled()
                    torch.use_deterministic_algorithms(True)
                    self.kind = torch.get_default_dtype() == torch.float64
                    torch.set_default_dtype(torch.float64)

                def facts(self):
                    return {"drawn": self.drawn, "found": self.found,
                            "kind": self.kind, "summed": self.summed}
            """)
        torch.manual_seed(3)
        self.assertEqual(first["drawn"], float(torch.rand(1)))
        for name in "drawn", "found", "kind", "summed":
            self.assertEqual(first[name], second[name], name)

    def test_what_a_workload_has_started_ends_with_it(self):
        trainer = self.start("""
            class Net(Net):
                def setup(self, seed, device, args):
                    told, tell = os.pipe()
                    if os.fork() == 0:
                        os.setsid()
                        if os.fork():
                            os._exit(0)
                        signal.signal(signal.SIGTERM, signal.SIG_IGN)
                        os.write(tell, str(os.getpid()).encode())
                        time.sleep(600)
                    self.daemon = int(os.read(told, 20))

                def facts(self):
                    return {"daemon": self.daemon}
            """)
        daemon = int(self.begin(trainer)["daemon"])
        self.assertTrue(is_alive(daemon))
        trainer.ask("renew")
        self.assertFalse(is_alive(daemon))

    def test_it_ends_as_a_process_does_and_not_for_ever(self):
        trainer = self.start("""
            class Net(Net):
                def setup(self, seed, device, args):
                    if "slow" in args:
                        signal.pthread_sigmask(signal.SIG_BLOCK,
                                               [signal.SIGALRM])
                        atexit.register(time.sleep, 600)
                    atexit.register(lambda: self.said.write("bye\\n"))
                    self.said = open("../said", "a")  # nobody closes it
                    Thread(target=self.wait).start()

                def wait(self):
                    time.sleep(0.1)
                    self.said.write("good\\n")
            """)
        # One that is slow says good-bye first, and never gets to its files.
        for args, expected in (({}, "good\nbye\n"),
                               ({"slow": 1}, "good\nbye\n"),
                               ({}, "good\nbye\n" * 2)):
            self.begin(trainer, **args)
            self.assertEqual(trainer.ask("renew").which(), "done")
            with open(os.path.join(self.outside, "said")) as file:
                self.assertEqual(file.read(), expected)

    def test_a_state_of_one_is_read_by_the_next(self):
        trainer = self.start()
        self.begin(trainer)
        trainer.train(0, 1, lr=[0.1])
        path = os.path.join(self.outside, "state")
        trainer.ask("save", path)
        trainer.ask("renew")
        self.assertEqual(self.begin(trainer)["total"], 0)
        trainer.ask("load", path)
        self.assertEqual(trainer.metrics()["total"], 0.1)

    def test_each_function_is_tried_once(self):
        trainer = self.start("""
            @hippo.workload
            def tried(ctx):
                with open("../begun", "a") as file:
                    file.write(f"{ctx.args['x']}")
                state = {"x": 0.0}
                for step in ctx.steps(state=state):
                    state["x"] += ctx.hp.lr(step)
                    if ctx.args["x"] == 3:
                        state["x"] += random.Random().random()
                    yield lambda: {"x": state["x"]}
            """, "--renew", "--try", name="tried")
        begun = ""
        for x, count in ((1, 3), (1, 1), (2, 3), (1, 1), (2, 1), (3, 3),
                         (3, 3)):
            self.describe(trainer)
            trainer.setup(x=x)
            trainer.ask("init")
            said = trainer.train(0, 2, lr=[1])
            self.assertEqual(said.which(), "failed" if x == 3 else "done")
            trainer.ask("renew")
            begun += str(x) * count
            with open(os.path.join(self.outside, "begun")) as file:
                self.assertEqual(file.read(), begun)

    def test_one_that_fails_to_begin_can_be_renewed(self):
        trainer = self.start("""
            class Net(Net):
                def setup(self, seed, device, args):
                    assert "good" in args, "no good"
            """)
        self.describe(trainer)
        self.assertIn("no good", trainer.setup(bad=1).failed.message)
        trainer.ask("renew")
        self.begin(trainer, good=1)


class Ending(Case):
    """The process ends as its fork has."""

    def test_exit_codes_and_signals(self):
        code = """
            class Net(Net):
                def train(self, start, stop, hp):
                    if hp.lr(start) > 0:
                        os._exit(int(hp.lr(start)))
                    os.kill(os.getpid(), int(-hp.lr(start)))
            """
        for lr, expected in ((7, 7), (-signal.SIGKILL, -signal.SIGKILL),
                             (-signal.SIGSEGV, -signal.SIGSEGV)):
            trainer = self.start(code)
            self.begin(trainer)
            with self.assertRaises((capnp.KjException, OSError)):
                trainer.train(0, 1, lr=[lr])
            self.assertEqual(trainer.process.wait(30), expected)

    def test_trainer_that_goes(self):
        for renewed in False, True:
            trainer = self.start()
            found = self.begin(trainer)
            if renewed:
                trainer.ask("renew")
            self.assertEqual(trainer.close(), 0)
            self.assertFalse(is_alive(int(found["process"])))

    def test_fork_ends_with_its_parent(self):
        trainer = self.start()
        found = self.begin(trainer)
        trainer.process.kill()
        trainer.process.wait(30)
        deadline = time.monotonic() + 30
        while is_alive(int(found["process"])):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_code_hears_sigterm(self):
        trainer = self.start("""
            heard = []
            signal.signal(signal.SIGTERM, lambda *_: heard.append(1))

            class Net(Net):
                def facts(self):
                    return {"heard": len(heard)}
            """)
        for _ in range(2):
            found = self.begin(trainer)
            for name in "parent", "process":
                os.kill(int(found[name]), signal.SIGTERM)
            self.assertEqual(trainer.metrics()["heard"], 1)
            trainer.ask("renew")

    def test_sigterm_ends_both(self):
        trainer = self.start()
        found = self.begin(trainer)
        for name in "parent", "process":
            os.kill(int(found[name]), signal.SIGTERM)
        self.assertEqual(trainer.process.wait(30), -signal.SIGTERM)


class Sharing(Case):
    """Code that shares with its forks what they must not share has none."""

    def renews(self, code):
        trainer = self.start(code)
        result = self.describe(trainer).renews
        self.assertEqual(trainer.setup().which(), "done")
        self.assertEqual(trainer.ask("init").which(), "done")
        # As a fork it would be a child of the process that was started.
        self.assertEqual(trainer.metrics()["process"] == trainer.process.pid,
                         not result)
        return result

    def test_what_is_kept_in_memory_is_no_hindrance(self):
        with open(os.path.join(self.folder, "table"), "w") as file:
            file.write("from a table\n")
        self.assertTrue(self.renews("""
            with open("table") as file:
                table = file.read()
            nothing = open(os.devnull)
            """))

    @needs_torch
    def test_pytorch_is_no_hindrance(self):
        self.assertTrue(self.renews("""
            import torch
            import torch.utils.data

            has_cuda = torch.cuda.is_available()
            table = torch.ones(100, 100) @ torch.ones(100, 100)
            """))

    def test_hindrances(self):
        with open(os.path.join(self.folder, "table"), "w") as file:
            file.write("from a table\n")
        for code in ("table = open('table')",
                     "import socket; a, b = socket.socketpair()",
                     "open('made', 'w').close()",
                     "os.mkdir('folder')",
                     "open('table', 'a').write('more')",
                     "import tempfile; x = tempfile.TemporaryDirectory()",
                     "import mmap; x = mmap.mmap(-1, 4096)",
                     "import subprocess; x = subprocess.Popen(['sleep', '9'])",
                     "import threading; x = threading.Thread("
                     "target=time.sleep, args=(9,), daemon=True); x.start()"):
            with self.subTest(code):
                self.assertFalse(self.renews(code))

    def test_who_is_not_asked_to_renew_does_not_fork(self):
        trainer = self.start("open('made', 'w')", "--try")
        self.assertFalse(self.describe(trainer).renews)
        self.assertEqual(trainer.ask("renew").which(), "failed")

    def test_cuda_that_has_started(self):
        def driver(said):
            library = mock.Mock()
            library.cuDeviceGetCount.return_value = said
            return library
        for mapped, said, expected in (("libm.so.6", 0, False),
                                       ("libcuda.so.580", 3, False),
                                       ("libcuda.so.580", 0, True),
                                       ("libcuda.so.580", 100, True)):
            maps = mock.mock_open(read_data=f"7f-80 r-xp 0 fe:00 1 /{mapped}\n")
            with mock.patch("builtins.open", maps), \
                    mock.patch.object(_fork_server.ctypes, "CDLL",
                                      return_value=driver(said)):
                self.assertIs(_fork_server._has_started_cuda(), expected)


if __name__ == "__main__":
    unittest.main()
